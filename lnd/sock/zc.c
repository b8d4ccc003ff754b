/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Zero copy, in two layers with one purpose - memory is not given back while it may still
 * be read:
 *
 * - the kernel's: a send with MSG_ZEROCOPY does not copy the bytes; the socket's error queue
 *   reports when the kernel does not need them any more;
 * - socklnd's (spec socklnd.md 8): the receiver acknowledges a message with a cookie once it
 *   has all of it.
 *
 * We ask for an acknowledgement only together with MSG_ZEROCOPY, since otherwise there is
 * nothing to gain by waiting. If the kernel reports a few times in a row that it has copied
 * (loopback, veth), the connection goes back to ordinary sends.
 *
 *	tx->todo:  SEND ── last byte taken ──┐
 *	           KERNEL ── completions ────┼──▶ none left: lx_lnd_finalize()
 *	           ACK ── cookie comes back ─┘
 */
#include <errno.h>
#include <time.h>

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "priv.h"

#define COPIED_MAX 4
#define PAYLOAD_MIN 2048

bool lx_sock_zc_force;

void lx_sock_zc_setup(struct lx_sock_conn *conn)
{
	int one = 1;

	if (conn->version < LX_SOCK_V2)
		return;
	if (!lx_sock_zc_force &&
	    (conn->loopback || conn->net->netif.loopback || !conn->net->netif.offload))
		return;
	conn->zc_on = !setsockopt(conn->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
}

void lx_sock_zc_prepare(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	size_t payload = lx_sock_tx_payload(tx);
	struct lx_sock_peer *peer = conn->peer;

	if (!conn->zc_on || tx->piped || conn->closing ||
	    lx_sock_tun.zc_min_payload >= LX_SOCK_ZC_OFF || payload < PAYLOAD_MIN ||
	    payload < (size_t)lx_sock_tun.zc_min_payload)
		return;
	tx->zero_copy = true;
	tx->todo |= LX_SOCK_TX_ACK;
	tx->head.cookie[0] = peer->next_cookie;
	peer->next_cookie = lx_proto_cookie_next(peer->next_cookie);
	tx->deadline_ns = lx_sock_now() + lx_sock_net_timeout_ns(conn->net);
	lx_list_append(&peer->zc, &tx->zc_link);
}

/* ---- the kernel ----------------------------------------------------------- */

void lx_sock_zc_sent(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	if (!tx->zc_count)
		tx->zc_first = conn->zc_next;
	conn->zc_next++;
	tx->zc_count++;
	tx->zc_open++;
	tx->todo |= LX_SOCK_TX_KERNEL;
}

/* How many of the sends @lo .. @hi belong to this tx. The numbers wrap. */
static uint32_t overlap(const struct lx_sock_tx *tx, uint32_t lo, uint32_t hi)
{
	uint32_t n = 0;

	/* A tx has few sends; a report may span many. */
	for (uint32_t i = 0; i < tx->zc_count; i++)
		n += tx->zc_first + i - lo <= hi - lo;
	return n;
}

static void completed(struct lx_list *list, uint32_t lo, uint32_t hi)
{
	struct lx_sock_tx *tx, *next;

	lx_list_for_each_safe (tx, next, list, at.link) {
		if (!tx->zc_open)
			continue;
		tx->zc_open -= overlap(tx, lo, hi);
		if (!tx->zc_open)
			lx_sock_tx_clear(tx, LX_SOCK_TX_KERNEL);
	}
}

static void take_report(struct lx_sock_conn *conn, const struct sock_extended_err *report)
{
	if (report->ee_errno || report->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return;
	if (!(report->ee_code & SO_EE_CODE_ZEROCOPY_COPIED))
		conn->zc_copied = 0;
	else if (++conn->zc_copied >= COPIED_MAX && !lx_sock_zc_force)
		conn->zc_on = false;
	completed(&conn->sent, report->ee_info, report->ee_data);
	completed(&conn->sending, report->ee_info, report->ee_data);
}

void lx_sock_zc_reap(struct lx_sock_conn *conn)
{
	char control[CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in6))];
	struct cmsghdr *cmsg;

	for (;;) {
		struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };

		if (recvmsg(conn->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
			if ((cmsg->cmsg_level == SOL_IP && cmsg->cmsg_type == IP_RECVERR) ||
			    (cmsg->cmsg_level == SOL_IPV6 && cmsg->cmsg_type == IPV6_RECVERR))
				take_report(conn, (void *)CMSG_DATA(cmsg));
		}
	}
}

/* ---- the peer ------------------------------------------------------------- */

int lx_sock_zc_acked(struct lx_sock_conn *conn, const struct lx_sock_msg *head)
{
	struct lx_sock_peer *peer = conn->peer;
	struct lx_sock_tx *tx, *next;
	struct lx_acked acked;
	struct lx_list found;
	unsigned int n = 0;
	int r;

	r = lx_proto_acked(conn->version, head, &acked);
	if (r || !acked.expected)
		return r;
	/* Ending a message may put the next one on the peer's list: take ours off first. */
	lx_list_init(&found);
	lx_list_for_each_safe (tx, next, &peer->zc, zc_link) {
		if (!lx_acked_has(&acked, tx->head.cookie[0]))
			continue;
		lx_list_del(&tx->zc_link);
		lx_list_append(&found, &tx->zc_link);
		n++;
	}
	while ((tx = lx_list_pop(&found, struct lx_sock_tx, zc_link))) {
		lx_sock_tx_clear(tx, LX_SOCK_TX_ACK);
	}
	return n < acked.expected ? -EPROTO : 0;
}
