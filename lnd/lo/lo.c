/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loopback. Sending is receiving: the core parses the header of the message that is being sent,
 * and the payload is copied from one to the other, at once or when the core calls recv().
 */

#include "../../user/base/iov.h"
#include "lo.h"

static int lo_startup(struct lx_ni *ni)
{
	ni->tun = (struct lx_ni_tunables){ 0 };
	ni->dev_cpt = 0;
	return 0;
}

static void lo_shutdown(struct lx_ni *ni)
{
	lx_lnd_stopped(ni);
}

/* @rx: the message that is being sent; @msg: the one received. The sender hears of it first. */
static void lo_recv(struct lx_ni *ni, void *rx, struct lx_msg *msg)
{
	struct lx_msg *sent = rx;

	if (msg && msg->payload.length)
		lx_iov_copy(msg->payload.iov, msg->payload.offset, sent->payload.iov,
			    sent->payload.offset, msg->payload.length);
	lx_lnd_finalize(sent, 0);
	if (msg)
		lx_lnd_finalize(msg, 0);
}

static int lo_send(struct lx_ni *ni, struct lx_msg *msg)
{
	const struct lx_rx_from from = { .nid = ni->nid };
	struct lx_msg *received;
	int r = lx_lnd_parse(ni, &msg->hdr, &from, msg, &received);

	if (r == LX_RX_NOW)
		lo_recv(ni, msg, received);
	return r < 0 ? r : 0;
}

const struct lx_lnd lx_lo_lnd = {
	.name = "lo",
	.net_type = LX_NET_LO,
	.no_credits = true,
	.startup = lo_startup,
	.shutdown = lo_shutdown,
	.send = lo_send,
	.recv = lo_recv,
};
