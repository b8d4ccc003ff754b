/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The user half of the kernel's fast path (docs/fastpath.md), on top of socklnd.
 *
 * A connection on which messages to route arrive becomes a *stream*: programs at the interface
 * forward what they can, the rest goes to its socket as usual. Connections to a next hop
 * become *lanes*: the programs send on them, and socklnd does not.
 */
#ifndef LX_FASTPATH_FASTPATH_H
#define LX_FASTPATH_FASTPATH_H

#include "../../lnd/sock/offload.h"

struct lx_fastpath;

/* Pass @offload to lx_node_set_offload(). */
struct lx_fp_offload {
	struct lx_sock_offload offload;
	struct lx_fastpath *fastpath; /* user/bpf/fastpath.h: the programs */
};

/* No node may be using @offload. @fastpath stays the caller's. */
void lx_fp_offload_init(struct lx_fp_offload *offload, struct lx_fastpath *fastpath);

#endif
