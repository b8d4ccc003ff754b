/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LX_DAEMON_NOTIFY_H
#define LX_DAEMON_NOTIFY_H

#include "../base/text.h"

/* Notifies the service manager ("READY=1\nSTATUS=..."), if there is one ($NOTIFY_SOCKET). */
void lx_notify(const char *fmt, ...) LX_PRINTF(1, 2);

/* "RELOADING=1", with the time stamp that the service manager requires. */
void lx_notify_reloading(void);

/* How often, in ms, the service manager's watchdog wants to hear "WATCHDOG=1"; 0: never. */
unsigned int lx_notify_watchdog_ms(void);

#endif
