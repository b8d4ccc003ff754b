/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends changes of the node to the clients that monitor it. */
#ifndef LX_DAEMON_MONITOR_H
#define LX_DAEMON_MONITOR_H

#include "client.h"

/* Called with a batch of changes, on the main thread. */
typedef void (*lx_monitor_fn)(struct lx_daemon *daemon, const struct lx_ctl_event *event,
			      unsigned int n);

/* @follow gets the same changes as the clients, after them. */
int lx_monitor_new(struct lx_daemon *daemon, lx_monitor_fn follow, struct lx_monitor **ret_monitor);
/* All clients must be gone, and the node. NULL is fine. */
void lx_monitor_free(struct lx_monitor *monitor);

/* Watches the daemon's new node. */
void lx_monitor_watch(struct lx_daemon *daemon);

/* A client starts monitoring. -ENOMEM. */
int lx_monitor_join(struct lx_client *client);

#endif
