/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between lnetxd and its node: what carries messages of TCP connections in place of the node. */
#ifndef LNETX_OFFLOAD_H
#define LNETX_OFFLOAD_H

struct lx_node;
struct lx_sock_offload;

/**
 * lx_node_set_offload - let the node's TCP connections be offloaded
 * @offload: the caller's (lnd/sock/offload.h), until it is taken away or the node is freed; NULL:
 *	not any more. Then connections that are offloaded are closed - peers connect again - and it
 *	is free when this returns, which must not be on one of the node's threads.
 */
void lx_node_set_offload(struct lx_node *node, struct lx_sock_offload *offload);

#endif
