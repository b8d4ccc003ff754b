/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between lnetxd and its node: the kernel's fast path, which the daemon has loaded. */
#ifndef LNETX_OFFLOAD_H
#define LNETX_OFFLOAD_H

struct lx_forward;
struct lx_node;

/**
 * lx_node_set_forward - let the node's TCP connections use the fast path
 * @forward: outlives the node (user/bpf/forward.h)
 */
void lx_node_set_forward(struct lx_node *node, struct lx_forward *forward);

#endif
