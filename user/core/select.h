/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Path selection: local NI, next hop, final NID (lnet.md 11). */
#ifndef LX_CORE_SELECT_H
#define LX_CORE_SELECT_H

#include <lnetx/nid.h>

struct lx_avoid;
struct lx_core;
struct lx_core_ni;
struct lx_peer;
struct lx_peer_ni;

/* Input of path selection. */
struct lx_path_request {
	struct lx_peer_ni *dst;       /* as given by the sender */
	const struct lx_nid *src;     /* our NID as given by the sender, or any */
	const struct lx_nid *gateway; /* for a response, or any */
	const struct lx_nid *origin;  /* the source NID in the header */
	const struct lx_avoid *avoid; /* where earlier attempts failed, or NULL */
	bool reserved;                /* a message to portal 0 */
	bool dst_given;               /* a recovery ping: only to this NID */
	bool forwarded;
	const struct lx_peer *previous; /* previous hop of a forwarded message; NULL: it is gone */
};

struct lx_path {
	struct lx_core_ni *ni;
	struct lx_peer_ni *next_hop; /* NULL: loopback */
	struct lx_nid dst;           /* for the header */
	bool via_gateway;
};

/**
 * lx_select_path - choose the path of a message to its target
 * Returns 0, -EHOSTUNREACH no live route, -EINVAL the source NID is not ours, or -ELOOP: a
 * forwarded message would go back to the peer it came from, @ret_path->next_hop.
 */
int lx_select_path(struct lx_core *core, const struct lx_path_request *req,
		   struct lx_path *ret_path);

#endif
