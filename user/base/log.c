/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The log sink. Lines of one peer that misbehaves at line rate must not fill a
 * disk: above LINES_PER_SECOND lines are counted, and the count is told when the
 * next second begins.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <lnetx/lnetx.h>

#include "log.h"

#define LINES_PER_SECOND 50

static struct {
	pthread_mutex_t lock;
	void (*fn)(int level, const char *line, void *arg);
	void *arg;
	time_t second;
	unsigned int lines, suppressed;
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER };

void lx_set_log(void (*fn)(int level, const char *line, void *arg), void *arg)
{
	pthread_mutex_lock(&sink.lock);
	sink.fn = fn;
	sink.arg = arg;
	pthread_mutex_unlock(&sink.lock);
}

/* Whether a line may go out now; tells of those that could not before. */
static bool admit(int level)
{
	struct timespec now;
	char text[64];

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != sink.second) {
		sink.second = now.tv_sec;
		sink.lines = 0;
		if (sink.suppressed) {
			snprintf(text, sizeof(text), "suppressed=%u reason=\"too many lines\"",
				 sink.suppressed);
			sink.suppressed = 0;
			sink.fn(LOG_WARNING, text, sink.arg);
		}
	}
	if (sink.lines++ < LINES_PER_SECOND || level <= LOG_CRIT)
		return true;
	sink.suppressed++;
	return false;
}

void lx_log(int level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	pthread_mutex_lock(&sink.lock);
	if (sink.fn && admit(level)) {
		va_start(ap, fmt);
		vsnprintf(line, sizeof(line), fmt, ap);
		va_end(ap);
		sink.fn(level, line, sink.arg);
	}
	pthread_mutex_unlock(&sink.lock);
}
