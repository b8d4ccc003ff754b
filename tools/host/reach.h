/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why LNet does not reach a node: whether its machine answers otherwise. */
#ifndef LX_TOOLS_REACH_H
#define LX_TOOLS_REACH_H

#include <stdint.h>

#include <lnetx/nid.h>

struct lx_reach {
	struct lx_nid nid;
	uint16_t port; /* of its acceptor */
	int tcp; /* 0: it takes connections, or is none of TCP; -ECONNREFUSED; -ETIMEDOUT: silence,
		    or another errno */
	int icmp; /* 1: it answers; 0: it does not; or -errno: not known. Asked if @tcp is silent */
};

/* Asks the address of a NID, a struct lx_reach, which takes two seconds if nobody answers. */
void *lx_reach_look(void *reach);

#endif
