/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The nodes that used this router before its restart: a file in the state directory.
 *
 * Neighbours notice that a gateway is back when they next check it, after up to
 * alive_router_check_interval. The daemon notifies those in the file at once.
 */
#ifndef LX_DAEMON_NEIGHBOURS_H
#define LX_DAEMON_NEIGHBOURS_H

#include "daemon.h"

#define LX_NEIGHBOURS_STATEDIR "/var/lib/lnetx"

int lx_neighbours_new(struct lx_daemon *daemon, struct lx_neighbours **ret_neighbours);
void lx_neighbours_free(struct lx_neighbours *neighbours);

/* The directory of the file. Returns @buf. */
const char *lx_neighbours_dir(char *buf, size_t size);

/* The node routes, or will, or has a new NI: notify the neighbours in the file. */
void lx_neighbours_announce(struct lx_daemon *daemon);

/* Updates the file; also done twice a minute. Does nothing unless the node routes. */
void lx_neighbours_save(struct lx_daemon *daemon);

#endif
