/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's fast path, as this transport uses it (docs/fastpath.md).
 *
 * A connection on which messages to be routed come in becomes a *stream*: programs at
 * the interface carry what they can of it, the rest arrives here as ever. Connections
 * to a next hop become *lanes*: the programs send on them, and we do not.
 *
 * Everything is called with the node lock held. Without a fast path all of it does
 * nothing.
 */
#ifndef LX_SOCK_FP_H
#define LX_SOCK_FP_H

#include "priv.h"

/*
 * Whether the kernel may forward messages that come or go by an NI: it is not switched off, and
 * the programs are on its interface.
 */
bool lx_fp_on(const struct lx_sock_net *net);

/* Each second: begins, once the node has been given a fast path; counts. */
void lx_fp_tick(struct lx_sock_host *host);
/* The host is going; all connections are closed. */
void lx_fp_stop(struct lx_sock_host *host);

/**
 * lx_fp_message - a header has been read
 * @len: of the message, all of it; @hdr: NULL for a NOOP
 * Returns false: earlier messages of the peer are still on lanes, so this one has to
 * wait; rx.waits is set, and the connection is posted LX_SOCK_CONN_RX when it may have
 * become otherwise.
 */
bool lx_fp_message(struct lx_sock_conn *conn, const struct lx_hdr *hdr, size_t len);
/* Whether a message that had to wait may go on. */
bool lx_fp_wait_is_over(struct lx_sock_conn *conn);

/* A message for @dst is being forwarded to @peer: what follows can take a lane there. */
void lx_fp_learn(struct lx_sock_peer *peer, const struct lx_nid *dst);
/* What was learned may not be true any more; of what, as policy_changed() (lnd.h). */
void lx_fp_forget(struct lx_sock_host *host, const struct lx_nid *nid, uint32_t net);

/* Whether a connection is a lane, on which we must not send. */
static inline bool lx_fp_is_lane(const struct lx_sock_conn *conn)
{
	return conn->lane >= 0 && conn->lane_state != LX_SOCK_LANE_BACK;
}

/* Likewise, or soon. */
static inline bool lx_fp_is_lane_soon(const struct lx_sock_conn *conn)
{
	return lx_fp_is_lane(conn) || conn->lane_due;
}

/* Has the core count what went by lanes (fp_count.c): of all of a net, of one. */
void lx_fp_count(struct lx_sock_net *net);
void lx_fp_count_conn(struct lx_sock_conn *conn);

/* The connection is being closed; its descriptor has been; its peer is no more. */
void lx_fp_conn_closing(struct lx_sock_conn *conn);
void lx_fp_conn_closed(struct lx_sock_conn *conn);
void lx_fp_peer_deleted(struct lx_sock_peer *peer);

#endif
