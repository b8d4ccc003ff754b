/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One line per failure, for failures that cannot be returned to a caller.
 *
 * The library hands lines to a sink (lx_set_log(), lnetx.h) and is silent without
 * one. A line is key=value and names the NID; a warning says what happens next:
 *
 *	lx_warn("peer=%s reason=\"HELLO version 9\" action=\"connection closed\"", ...)
 */
#ifndef LX_BASE_LOG_H
#define LX_BASE_LOG_H

#include <syslog.h>

#include "text.h"

void lx_log(int level, const char *fmt, ...) LX_PRINTF(2, 3);

/* The same for a change of state: noise, of whatever level, does not suppress it. */
void lx_log_state(int level, const char *fmt, ...) LX_PRINTF(2, 3);

#define lx_err(...) lx_log(LOG_ERR, __VA_ARGS__)
#define lx_warn(...) lx_log(LOG_WARNING, __VA_ARGS__)
#define lx_info(...) lx_log(LOG_INFO, __VA_ARGS__)
#define lx_debug(...) lx_log(LOG_DEBUG, __VA_ARGS__)

#endif
