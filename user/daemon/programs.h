/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The daemon's BPF: the guard in front of the acceptor, and the fast path. */
#ifndef LX_DAEMON_PROGRAMS_H
#define LX_DAEMON_PROGRAMS_H

#include "daemon.h"
#include "dump.h"

/**
 * lx_programs_new - nothing is loaded yet
 * @enabled: false: nothing ever will be; only what an earlier daemon left is removed
 * Returns 0 or -ENOMEM.
 */
int lx_programs_new(struct lx_daemon *daemon, bool enabled, struct lx_programs **ret_programs);
/* The node must be gone. NULL is fine. */
void lx_programs_free(struct lx_programs *programs);

/**
 * lx_programs_load - probe the kernel and load the guard
 * On the worker, as the first change of all. We must own the control socket already: then nobody
 * else uses our pins. A kernel without BPF is not an error. Returns 0 or -ENOMEM.
 */
int lx_programs_load(struct lx_programs *programs);

/* Done: what changes or shows the programs may be called. Any thread. */
bool lx_programs_are_ready(const struct lx_programs *programs);
/* The worker loads some, or will: that takes a second, on a busy machine many. Any thread. */
bool lx_programs_are_loading(const struct lx_programs *programs);

/*
 * Makes guard and fast path follow a change of the node, its NIs, tunables or routing. NULL:
 * no node. On the worker; afterwards call lx_programs_settle() on the main thread.
 */
void lx_programs_follow(struct lx_programs *programs, struct lx_node *node);
void lx_programs_settle(struct lx_programs *programs);

/*
 * Looks whether others removed from the kernel what is ours. True: lx_programs_follow() would put
 * something back. Main thread, while no change is running.
 */
bool lx_programs_look(struct lx_programs *programs);
/*
 * An admin wants what is not put back any more to be tried again. On the worker, before it follows.
 */
void lx_programs_retry(struct lx_programs *programs);

/* lx_programs_settle() will unload the fast path: do not use it any more. Main thread. */
bool lx_programs_leaves(const struct lx_programs *programs);

/* The fast path; NULL: not loaded. Main thread. */
struct lx_fastpath *lx_programs_fastpath(const struct lx_programs *programs);

/* Loaded or not; NULL: not ready. */
struct lx_guard *lx_programs_guard(const struct lx_programs *programs);

/* Rows of shows, for the table in command.c. */
lx_rows_fn lx_programs_show_bpf, lx_programs_show_streams, lx_programs_show_lanes;

#endif
