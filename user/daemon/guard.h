/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx guard": changes and shows of the guard, once the programs are ready. */
#ifndef LX_DAEMON_GUARD_H
#define LX_DAEMON_GUARD_H

#include "edit.h"

/* Changes, for the table in edit.c. */
int lx_daemon_guard_set(struct lx_edit *edit);
int lx_daemon_guard_ban(struct lx_edit *edit);
int lx_daemon_guard_unban(struct lx_edit *edit);
int lx_daemon_guard_prefix_add(struct lx_edit *edit);
int lx_daemon_guard_prefix_del(struct lx_edit *edit);

/* Rows of shows, for the table in command.c. */
lx_rows_fn lx_daemon_guard_show, lx_daemon_guard_show_bans, lx_daemon_guard_show_prefixes,
	lx_daemon_guard_show_refusals;

#endif
