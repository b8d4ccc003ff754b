/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's log: stderr, a line a failure, key=value. systemd's journal takes the
 * level from a mark before the line; a person at a terminal reads it as a key.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "log.h"

static const char *const names[] = { "emerg",	"alert",  "crit", "error",
				     "warning", "notice", "info", "debug" };

static struct {
	int level;
	int journal;
} sink;

/* One write a line: lines of several threads stay whole. */
static void write_line(int level, const char *line, void *arg)
{
	char buf[600];
	int len;

	if (level > sink.level || level < 0)
		return;
	if (sink.journal)
		len = snprintf(buf, sizeof(buf), "<%d>%s\n", level, line);
	else
		len = snprintf(buf, sizeof(buf), "level=%s %s\n", names[level], line);
	if (len >= (int)sizeof(buf)) {
		len = sizeof(buf) - 1;
		buf[len - 1] = '\n';
	}
	if (write(STDERR_FILENO, buf, len) < 0)
		return; /* nobody left to tell */
}

int lx_daemon_log_level(const char *name)
{
	for (int i = 0; i <= LOG_DEBUG; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return -EINVAL;
}

void lx_daemon_log_start(int level)
{
	sink.level = level;
	sink.journal = getenv("JOURNAL_STREAM") != NULL;
	lx_set_log(write_line, NULL);
}
