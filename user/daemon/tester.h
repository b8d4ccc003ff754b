/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The selftest on the daemon's node: its settings, which outlive the node, and who may be a
 * console. The worker thread changes it; the main thread's timer drives it and shows it.
 */
#ifndef LX_DAEMON_TESTER_H
#define LX_DAEMON_TESTER_H

#include "daemon.h"

int lx_tester_new(struct lx_daemon *daemon, struct lx_tester **ret_tester);

/* Its timer ends; the loop runs until it has. NULL is fine. */
void lx_tester_close(struct lx_tester *tester);
/* After the loop. NULL is fine. */
void lx_tester_free(struct lx_tester *tester);

/*
 * Takes the settings of a file in place of all that there were. They hold from lx_tester_start()
 * on. The parser has checked them.
 */
void lx_tester_configure(struct lx_tester *tester, const struct lx_conf_selftest *conf);

/* A client's request, for the table in edit.c. */
int lx_tester_set(struct lx_edit *edit);

/* Makes the service on @node, new or not, what the settings say. Failures are logged. */
void lx_tester_start(struct lx_tester *tester, struct lx_node *node);

/* The node is about to stop. */
void lx_tester_stop(struct lx_tester *tester);

void lx_tester_describe(struct lx_tester *tester, struct lx_ctl_selftest_info *ret_info);

#endif
