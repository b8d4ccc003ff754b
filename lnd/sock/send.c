/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending to a peer: on the connection that fits the message best (spec socklnd.md 7), or on the
 * next one to come up. Dials missing connections.
 */
#include <errno.h>

#include "priv.h"

/*
 * A peer that we have dialled once we dial until it has all connections. A peer that dialled us
 * makes the others itself.
 */
static void dial_missing(struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	if (!conn || peer->dialled)
		lx_sock_connect_start(peer);
}

/* There is no connection, and no attempt to make one. */
static bool unreachable(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	return !conn && peer->dial == LX_SOCK_DIAL_IDLE;
}

/* The connection for a message; dials if some are missing. NULL: it has to wait for one. */
static struct lx_sock_conn *conn_for(struct lx_sock_peer *peer, size_t payload)
{
	struct lx_sock_conn *conn = lx_sock_peer_batching(peer, payload);

	if (!conn) {
		conn = lx_sock_peer_pick(peer, false, payload, false);
		dial_missing(peer, conn);
	}
	return conn;
}

int lx_sock_send_msg(struct lx_sock_peer *peer, struct lx_msg *msg)
{
	struct lx_sock_conn *conn;
	struct lx_sock_tx *tx;
	int r;

	if (msg->routing && !msg->slow)
		lx_sock_offload_forwarding(peer, &msg->hdr.dst_nid, msg->target_is_router);
	conn = peer->held ? NULL : conn_for(peer, msg->payload.length);
	if (!peer->held && unreachable(peer, conn))
		return -EHOSTUNREACH;
	if (conn && lx_sock_tx_batch(conn, msg))
		return 0;
	r = lx_sock_tx_new(peer->net->host, msg, &tx);
	if (r)
		return r;
	if (conn)
		lx_sock_tx_queue(conn, tx);
	else
		r = lx_sock_peer_wait(peer, tx);
	return r;
}

int lx_sock_send_noop(struct lx_sock_peer *peer, uint64_t cookie, bool nonblk)
{
	struct lx_sock_conn *conn = lx_sock_peer_pick(peer, true, 0, nonblk);
	struct lx_sock_tx *tx;
	int r;

	dial_missing(peer, conn);
	if (unreachable(peer, conn))
		return -EHOSTUNREACH;
	r = lx_sock_tx_new(peer->net->host, NULL, &tx);
	if (r)
		return r;
	tx->head.cookie[1] = cookie;
	tx->nonblk = nonblk;
	if (conn) {
		lx_sock_tx_queue(conn, tx);
		return 0;
	}
	r = lx_sock_peer_wait(peer, tx);
	if (r)
		lx_sock_tx_free(tx);
	return r;
}

int lx_sock_send_ack(struct lx_sock_conn *conn, uint64_t cookie, bool nonblk)
{
	struct lx_sock_peer *peer = conn->peer;

	if (!conn->read_only)
		conn = lx_sock_peer_pick(peer, true, 0, nonblk);
	if (conn)
		return lx_sock_tx_queue_ack(conn, cookie, nonblk);
	return lx_sock_send_noop(peer, cookie, nonblk);
}
