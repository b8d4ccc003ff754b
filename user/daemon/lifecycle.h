/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starts, reloads, completes and stops the node; each is a change of change.h. */
#ifndef LX_DAEMON_LIFECYCLE_H
#define LX_DAEMON_LIFECYCLE_H

#include "change.h"

/* A client's request that is about the node itself, not pieces of it (edit.h). */
const struct lx_change_kind *lx_lifecycle_kind(const struct lx_request *request);

/* Loads the BPF programs; the first change of all. */
int lx_lifecycle_load(struct lx_daemon *daemon, lx_change_fn done);
/* Starts the node with the file's configuration, or without any. */
int lx_lifecycle_start(struct lx_daemon *daemon, lx_change_fn done);
/* Reads the file again and applies it to the node. */
int lx_lifecycle_reload(struct lx_daemon *daemon, lx_change_fn done);
/* Interfaces that were missing at the start are there. */
int lx_lifecycle_complete(struct lx_daemon *daemon, lx_change_fn done);
/* Stops the node; queued changes are refused. */
int lx_lifecycle_stop(struct lx_daemon *daemon, lx_change_fn done);

#endif
