/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Path selection: local NI, next hop, final NID (lnet.md 11). */
#ifndef LX_CORE_SELECT_H
#define LX_CORE_SELECT_H

#include "msg.h"

struct lx_path {
	struct lx_core_ni *ni;
	struct lx_peer_ni *next_hop; /* NULL: loopback */
	struct lx_nid dst;           /* what the header must say */
	bool via_gateway;
};

/**
 * lx_select_path - choose the path of a message to its target
 * @dst: the peer NI that the caller named
 * Returns 0, -EHOSTUNREACH no live route, -EINVAL the source NID is none of ours, or -ELOOP:
 * forwarded, it would go back to the peer that it came from, @ret_path->next_hop.
 */
int lx_select_path(struct lx_core_msg *msg, struct lx_peer_ni *dst, struct lx_path *ret_path);

/* The best of a peer's NIDs on one of its nets; a peer net is never empty. */
struct lx_peer_ni *lx_select_peer_ni(struct lx_peer_net *net);

#endif
