/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between lnetxd and its node: the kernel's fast path, which the daemon has loaded. */
#ifndef LNETX_OFFLOAD_H
#define LNETX_OFFLOAD_H

struct lx_forward;
struct lx_node;

/**
 * lx_node_set_forward - let the node's TCP connections use the fast path
 * @forward: user/bpf/forward.h; NULL: not any more. Then connections that do are closed - peers
 *	connect again - and it is free when this returns, which must not be on one of the node's
 *	threads. Another one than before: NULL in between.
 */
void lx_node_set_forward(struct lx_node *node, struct lx_forward *forward);

#endif
