/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The user half of the kernel's fast path (docs/fastpath.md): what stands on socklnd.
 *
 * A connection on which messages to be routed come in becomes a *stream*: programs at
 * the interface carry what they can of it, the rest arrives at the socket as ever. Connections
 * to a next hop become *lanes*: the programs send on them, and socklnd does not.
 */
#ifndef LX_FASTPATH_FASTPATH_H
#define LX_FASTPATH_FASTPATH_H

#include "../../lnd/sock/offload.h"

struct lx_fastpath;

/* What lx_node_set_offload() takes (@offload). */
struct lx_fp_offload {
	struct lx_sock_offload offload;
	struct lx_fastpath *fastpath; /* user/bpf/fastpath.h: the programs */
};

/* Must not be a node's any more; @fastpath stays the caller's. */
void lx_fp_offload_init(struct lx_fp_offload *offload, struct lx_fastpath *fastpath);

#endif
