/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Changes of the node: done one at a time, in the order asked for, by a worker
 * thread, as starting, stopping and removing may wait for messages under way.
 */
#ifndef LX_DAEMON_CHANGE_H
#define LX_DAEMON_CHANGE_H

#include "client.h"

int lx_changes_new(struct lx_daemon *daemon, struct lx_changes **ret_changes);
/* Nothing may be running: lx_change_stop() was the last one. NULL is fine. */
void lx_changes_free(struct lx_changes *changes);

/* A client's request to change something; answers it in the end. */
void lx_change_request(struct lx_client *client, const void *attrs, size_t len);

/*
 * What the daemon itself wants done; @done is told the outcome on the main thread.
 * The text is "" or what there is to say, complete with the file's name.
 */
typedef void (*lx_change_fn)(struct lx_daemon *daemon, int error, const char *text);

/* Starts the node with the file's configuration, or without any. */
int lx_change_start(struct lx_daemon *daemon, lx_change_fn done);
/* Reads the file again and makes the node as it says. */
int lx_change_reload(struct lx_daemon *daemon, lx_change_fn done);
/*
 * What the node has told (monitor.h): an interface has come back, or routing has changed.
 * What is attached to interfaces goes along, and neighbours hear of it.
 */
void lx_change_follow(struct lx_daemon *d, const struct lx_control_event *event, unsigned int n);
/* Ends the node; what is still queued is refused. */
int lx_change_stop(struct lx_daemon *daemon, lx_change_fn done);

#endif
