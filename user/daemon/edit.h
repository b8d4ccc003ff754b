/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clients' changes to pieces of a node's configuration. */
#ifndef LX_DAEMON_EDIT_H
#define LX_DAEMON_EDIT_H

#include "daemon.h"

union lx_edit_request {
	struct lx_ctl_net net;
	struct lx_ctl_set set;
	struct lx_conf_route route;
	struct lx_ctl_peer peer;
	struct lx_conf_udsp udsp;
	struct lx_ctl_udsp udsp_del;
	struct lx_ctl_fault fault;
	struct lx_ctl_routing routing;
	struct lx_ctl_buffers buffers;
	struct lx_ctl_disconnect disconnect;
	struct lx_ctl_tunable_value value;
	struct lx_ctl_guard guard;
	struct lx_ctl_ban ban;
	struct lx_ctl_prefix prefix;
	struct lx_conf_selftest selftest;
};

struct lx_edit {
	struct lx_daemon *daemon;
	struct lx_node *node;
	union lx_edit_request *req;
	unsigned long netns; /* the client's; 0: unknown */
	char *text; /* set to a message */
	size_t size;
	int64_t count; /* set to the number of objects affected, if not obvious; else LX_UNSET */
};

/* Each returns 0 or a negative errno. */
int lx_edit_net_add(struct lx_edit *edit);
int lx_edit_net_del(struct lx_edit *edit);
int lx_edit_net_set(struct lx_edit *edit);
int lx_edit_route_add(struct lx_edit *edit);
int lx_edit_route_del(struct lx_edit *edit);
int lx_edit_peer_add(struct lx_edit *edit);
int lx_edit_peer_del(struct lx_edit *edit);
int lx_edit_peer_set(struct lx_edit *edit);
int lx_edit_udsp_add(struct lx_edit *edit);
int lx_edit_udsp_del(struct lx_edit *edit);
int lx_edit_fault_add(struct lx_edit *edit);
int lx_edit_fault_del(struct lx_edit *edit);
int lx_edit_fault_reset(struct lx_edit *edit);
int lx_edit_routing_set(struct lx_edit *edit);
int lx_edit_buffers_set(struct lx_edit *edit);
int lx_edit_stats_reset(struct lx_edit *edit);
int lx_edit_disconnect(struct lx_edit *edit);
int lx_edit_tunable_set(struct lx_edit *edit);
int lx_edit_guard_set(struct lx_edit *edit);
int lx_edit_ban_add(struct lx_edit *edit);
int lx_edit_ban_del(struct lx_edit *edit);
int lx_edit_prefix_add(struct lx_edit *edit);
int lx_edit_prefix_del(struct lx_edit *edit);
int lx_edit_selftest_set(struct lx_edit *edit); /* tester.c */

/**
 * lx_edit_unknown_tunable - error text for an unknown tunable, with a suggestion
 * @name: "": the module is unknown
 * Returns -ENOENT.
 */
int lx_edit_unknown_tunable(struct lx_node *node, const char *module, const char *name, char *text,
			    size_t size);

#endif
