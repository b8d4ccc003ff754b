/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lnetxd gives its node an accelerator for TCP connections: the fast path. */
#ifndef LNETX_OFFLOAD_H
#define LNETX_OFFLOAD_H

struct lx_node;
struct lx_sock_offload;

/**
 * lx_node_set_offload - offload the node's TCP connections, or stop doing so
 * @offload: owned by the caller (lnd/sock/offload.h); must live until it is removed or the node
 *	is freed. NULL removes it: offloaded connections are closed - peers reconnect - and it is
 *	unused when this returns. Do not call this on a thread of the node.
 */
void lx_node_set_offload(struct lx_node *node, struct lx_sock_offload *offload);

#endif
