/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tunables as of the last stop of LNet: the next start in this daemon begins with them, as
 * a kernel module keeps its parameters. They are dropped when the file is read again.
 */
#ifndef LX_DAEMON_SAVED_H
#define LX_DAEMON_SAVED_H

#include <lnetx/conf.h>

struct lx_node;

struct lx_saved {
	struct lx_conf_tunable *tunable; /* all of them; NULL: LNet was not stopped yet */
	size_t n;
};

/* Copies @node's tunables. Returns 0 or -ENOMEM. */
int lx_saved_take(struct lx_node *node, struct lx_saved *ret_saved);

/* Makes @conf use them, if there are any; @saved still owns them. */
void lx_saved_give(const struct lx_saved *saved, struct lx_conf *conf);

void lx_saved_clear(struct lx_saved *saved);

#endif
