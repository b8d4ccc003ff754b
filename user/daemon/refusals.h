/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Logs whose connections the guard drops. Such a source sees a timeout, not a refusal, and
 * nothing on its side says why: so this side does, once a minute.
 */
#ifndef LX_DAEMON_REFUSALS_H
#define LX_DAEMON_REFUSALS_H

#include "daemon.h"

/* Starts looking. -ENOMEM, or an error of the loop. */
int lx_refusals_new(struct lx_daemon *daemon, struct lx_refusals **ret_refusals);
void lx_refusals_free(struct lx_refusals *refusals);

#endif
