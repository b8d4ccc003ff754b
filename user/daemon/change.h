/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Changes of the node: done one at a time, in order of request, by a worker
 * thread, because starting, stopping and removing may wait for messages in flight.
 */
#ifndef LX_DAEMON_CHANGE_H
#define LX_DAEMON_CHANGE_H

#include "../schema/requests.h"
#include "client.h"

int lx_changes_new(struct lx_daemon *daemon, struct lx_changes **ret_changes);
/* No change may be running: lx_change_stop() was the last one. NULL is fine. */
void lx_changes_free(struct lx_changes *changes);

/* Says why there is no node now, and what to do. Returns -ENETDOWN. Main thread. */
int lx_change_no_node(struct lx_daemon *daemon, char *text, size_t size);

/* A client's request to change something; answered when it is done. */
void lx_change_request(struct lx_client *client, const struct lx_request *request,
		       const void *attrs, size_t len);

/*
 * Changes by the daemon itself; @done gets the outcome on the main thread. The text is ""
 * or a message, including the file's name. With @applied and an @error, a reload has applied
 * what it could.
 */
typedef void (*lx_change_fn)(struct lx_daemon *daemon, int error, bool applied, const char *text);

/* Loads the BPF programs; the first change of all. */
int lx_change_load(struct lx_daemon *daemon, lx_change_fn done);
/* Starts the node with the file's configuration, or without any. */
int lx_change_start(struct lx_daemon *daemon, lx_change_fn done);
/* Reads the file again and applies it to the node. */
int lx_change_reload(struct lx_daemon *daemon, lx_change_fn done);
/*
 * Follows changes of the node (monitor.h): an interface has come back, or routing has changed.
 * Updates the BPF programs, and tells the neighbours.
 */
void lx_change_follow(struct lx_daemon *d, const struct lx_ctl_event *event, unsigned int n);
/* Puts back what others on the machine removed from the kernel; call it twice a second. */
void lx_change_look(struct lx_daemon *daemon);
/* Stops the node; queued changes are refused. */
int lx_change_stop(struct lx_daemon *daemon, lx_change_fn done);

#endif
