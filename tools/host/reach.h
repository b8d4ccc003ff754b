/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why LNet does not reach a node: whether its machine answers otherwise. */
#ifndef LX_TOOLS_REACH_H
#define LX_TOOLS_REACH_H

#include <stdint.h>

#include <lnetx/nid.h>

struct lx_reach {
	int tcp; /* 0: it takes connections; -ECONNREFUSED; -ETIMEDOUT: silence, or another errno */
	int icmp; /* 1: it answers; 0: it does not; or -errno: not known. Asked if @tcp is silent */
};

/**
 * lx_reach_look - ask the address of a NID
 * @port: of its acceptor
 * Takes two seconds if nobody answers. Returns 0, or -EOPNOTSUPP: it is none of TCP.
 */
int lx_reach_look(const struct lx_nid *nid, uint16_t port, struct lx_reach *ret_reach);

#endif
