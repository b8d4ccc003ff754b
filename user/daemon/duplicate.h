/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Logs other machines that have an address of our NIs. */
#ifndef LX_DAEMON_DUPLICATE_H
#define LX_DAEMON_DUPLICATE_H

#include "daemon.h"

/*
 * The node has new NIs, or some that came up: looks, on a thread of libuv's, which takes half a
 * second for each NI. Does nothing while it is looking. Main thread.
 */
void lx_duplicates_look(struct lx_daemon *daemon);

/* The daemon ends: what is being looked for does not hold it up. */
void lx_duplicates_end(void);

#endif
