/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tunables as they were when LNet was stopped: the next start in this daemon begins with
 * them, as a kernel module keeps its parameters. They go when the file is read again.
 */
#ifndef LX_DAEMON_SAVED_H
#define LX_DAEMON_SAVED_H

#include <lnetx/conf.h>

struct lx_node;

struct lx_saved {
	struct lx_conf_tunable *tunable; /* all of them, or NULL: LNet was not stopped yet */
	size_t n;
};

/* What holds in @node. Returns 0 or -ENOMEM. */
int lx_saved_take(struct lx_node *node, struct lx_saved *ret_saved);

/* Has @conf's settings be these, if there are some; they stay @saved's. */
void lx_saved_give(const struct lx_saved *saved, struct lx_conf *conf);

void lx_saved_clear(struct lx_saved *saved);

#endif
