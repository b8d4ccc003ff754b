/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whose connections the guard drops, as lines of the log. Such a source sees a time-out, not a
 * refusal, and nothing on its side says why: so this side does, once a minute.
 */
#ifndef LX_DAEMON_REFUSALS_H
#define LX_DAEMON_REFUSALS_H

#include "daemon.h"

/* Looks from now on. -ENOMEM, or what the loop says. */
int lx_refusals_new(struct lx_daemon *daemon, struct lx_refusals **ret_refusals);
void lx_refusals_free(struct lx_refusals *refusals);

#endif
