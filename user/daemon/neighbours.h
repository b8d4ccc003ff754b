/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who used this router before it was restarted: a file in the state directory.
 *
 * Neighbours find out that a gateway is back when they next check it, after up to
 * alive_router_check_interval. Those that this file remembers are told at once.
 */
#ifndef LX_DAEMON_NEIGHBOURS_H
#define LX_DAEMON_NEIGHBOURS_H

#include "daemon.h"

#define LX_NEIGHBOURS_STATEDIR "/var/lib/lnetx"

int lx_neighbours_new(struct lx_daemon *daemon, struct lx_neighbours **ret_neighbours);
void lx_neighbours_free(struct lx_neighbours *neighbours);

/* The node routes, or will, or has a new NI: have those that are remembered told. */
void lx_neighbours_announce(struct lx_daemon *daemon);

/* Brings the file up to date; also done twice a minute. Nothing without a node that routes. */
void lx_neighbours_save(struct lx_daemon *daemon);

#endif
