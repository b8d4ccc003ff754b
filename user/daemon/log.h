/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Log of the daemon and the library on stderr; under systemd with its level prefixes. */
#ifndef LX_DAEMON_LOG_H
#define LX_DAEMON_LOG_H

#include <stddef.h>

/*
 * Becomes the process's sink (lx_set_log()), which never waits for who reads it. @level: the least
 * important syslog level shown.
 */
void lx_daemon_log_start(int level);

/* Before _exit(): waits, for a second at most, until all lines are written. exit() does it. */
void lx_daemon_log_flush(void);

/* "error", "warning", "notice", "info", "debug" to a syslog level, or -EINVAL. */
int lx_daemon_log_level(const char *name);

/* Makes a text safe to be quoted in a line. Returns @buf. */
const char *lx_daemon_log_unquoted(const char *text, char *buf, size_t size);

#endif
