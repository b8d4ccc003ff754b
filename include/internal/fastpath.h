/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between lnetxd and its node: the kernel's fast path, which the daemon has loaded. */
#ifndef LNETX_FASTPATH_H
#define LNETX_FASTPATH_H

struct lx_fastpath;
struct lx_node;

/**
 * lx_node_set_fastpath - let the node's TCP connections use the fast path
 * @fastpath: user/bpf/fastpath.h; NULL: not any more. Then connections that do are closed - peers
 *	connect again - and it is free when this returns, which must not be on one of the node's
 *	threads. Another one than before: NULL in between.
 */
void lx_node_set_fastpath(struct lx_node *node, struct lx_fastpath *fastpath);

#endif
