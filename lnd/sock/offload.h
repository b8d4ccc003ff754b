/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What may carry messages of TCP connections in place of this transport: the kernel's fast path
 * (user/fastpath). A node that is given one has it told what the connections do, through the ops;
 * all of it is called with the node lock held. Nodes without one do nothing for it.
 *
 *	lx_sock_set_offload() ─▶ host_start(), of each host, with its next tick
 *	... NULL              ─▶ it ends the connections that it has, then lx_sock_offload_end()
 *	the host is going     ─▶ host_stop() ─▶ lx_sock_offload_end()
 */
#ifndef LX_SOCK_OFFLOAD_H
#define LX_SOCK_OFFLOAD_H

#include <internal/lnd.h>

#include "../../user/base/list.h"

struct lx_env;
struct lx_sock_conn;
struct lx_sock_host;
struct lx_sock_offload;
struct lx_sock_peer;

/* @state: what host_start() returned. */
struct lx_sock_offload_ops {
	/* What it keeps of a host; NULL: not now, it is asked again with the next tick. */
	void *(*host_start)(struct lx_sock_offload *offload, struct lx_sock_host *host,
			    struct lx_env *env);
	/* The host is going; all connections are closed. Must call lx_sock_offload_end(). */
	void (*host_stop)(void *state);

	/*
	 * A header has been read, of a message of @len bytes; @hdr: NULL for a NOOP. False:
	 * earlier messages of the peer are still under way elsewhere, so that this one has to
	 * wait. It goes on when may_resume() says so, which is asked when the connection is
	 * posted LX_SOCK_CONN_RX.
	 */
	bool (*received)(void *state, struct lx_sock_conn *conn, const struct lx_hdr *hdr,
			 size_t len);
	bool (*may_resume)(void *state, struct lx_sock_conn *conn);

	/* A message for @dst is being forwarded to @peer, which may be another router. */
	void (*forwarding)(void *state, struct lx_sock_peer *peer, const struct lx_nid *dst,
			   bool is_router);
	/* As policy_changed() (lnd.h): messages may have to go elsewhere. */
	void (*policy_changed)(void *state, const struct lx_nid *nid, uint32_t net);

	/* The connection is being closed; its descriptor has been; the peer is no more. */
	void (*conn_closing)(void *state, struct lx_sock_conn *conn);
	void (*conn_closed)(void *state, struct lx_sock_conn *conn);
	void (*peer_gone)(void *state, struct lx_sock_peer *peer);

	/* Has the core count what it carried, of an NI or (NULL) of all. */
	void (*count)(void *state, const struct lx_ni *ni);
};

/* Embedded in what the owner has; the fields but ops are this transport's. */
struct lx_sock_offload {
	const struct lx_sock_offload_ops *ops;
	struct lx_env *env;  /* the node's; NULL: no node's any more */
	struct lx_list link;
	unsigned int users;  /* hosts */
};

/**
 * lx_sock_set_offload - what the connections of a node may use
 * @offload: ops set, the rest zero; NULL: nothing any more. Then it ends when whoever has it has
 *	let go of it, and the lock, which must be held, is dropped meanwhile.
 */
void lx_sock_set_offload(struct lx_env *env, struct lx_sock_offload *offload);

/* Whether there are to be no more connections that use it. */
static inline bool lx_sock_offload_is_leaving(const struct lx_sock_offload *offload)
{
	return !offload->env;
}

/* ---- what it may call ------------------------------------------------------ */

/* No connection of the host uses it, nor will. */
void lx_sock_offload_end(struct lx_sock_host *host);

#endif
