/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's log: stderr, one line per event, key=value. For systemd's journal a prefix
 * gives the level, and the journal has the time; elsewhere a line begins with
 * the time, and the level is a key.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "log.h"

static const char *const names[] = { "emerg",	"alert",  "crit", "error",
				     "warning", "notice", "info", "debug" };

static struct {
	int level;
	bool journal;
} sink;

/* "2026-08-05T14:03:07.251+0200" */
static const char *time_now(char *buf, size_t size)
{
	char date[32], zone[8];
	struct timeval now;
	struct tm tm;

	gettimeofday(&now, NULL);
	localtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof(date), "%FT%T", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	snprintf(buf, size, "%s.%03d%s", date, (int)(now.tv_usec / 1000), zone);
	return buf;
}

/* One write per line keeps lines of several threads apart. */
static void write_line(int level, const char *line, void *arg)
{
	char buf[640], now[48];
	int len;

	if (level > sink.level || level < 0)
		return;
	if (sink.journal)
		len = snprintf(buf, sizeof(buf), "<%d>%s\n", level, line);
	else
		len = snprintf(buf, sizeof(buf), "%s level=%s %s\n", time_now(now, sizeof(now)),
			       names[level], line);
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

const char *lx_daemon_log_unquoted(const char *text, char *buf, size_t size)
{
	snprintf(buf, size, "%s", text);
	for (char *p = buf; *p; p++) {
		if (*p == '"')
			*p = '\'';
	}
	return buf;
}

/* $JOURNAL_STREAM is "device:inode" of the journal's stream; is stderr that stream? */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void lx_daemon_log_start(int level)
{
	sink.level = level;
	sink.journal = is_journal();
	lx_set_log(write_line, NULL);
}
