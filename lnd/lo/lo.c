/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loopback. Sending is receiving: the header goes straight into the core, and recv()
 * copies from the memory of the message that is being sent. If the core parks the
 * message, the sender's is held until recv() comes.
 */
#include <errno.h>

#include <internal/lnd.h>

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

static int lo_send(struct lx_ni *ni, struct lx_msg *msg)
{
	const struct lx_rx_from from = { .nid = ni->nid };

	return lx_lnd_parse(ni, &msg->hdr, &from, msg);
}

static void lo_recv(struct lx_ni *ni, void *rx, struct lx_msg *msg, const struct lx_payload *dst,
		    size_t rlen)
{
	struct lx_msg *sent = rx;

	if (msg && dst && dst->length)
		lx_iov_copy(dst->iov, dst->offset, sent->payload.iov, sent->payload.offset,
			    dst->length);
	if (msg)
		lx_lnd_finalize(msg, 0);
	lx_lnd_finalize(sent, 0);
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
