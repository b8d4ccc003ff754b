/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The log sink. A peer that misbehaves at line rate must not fill the
 * disk: beyond LINES_PER_SECOND, lines of a level are only counted, and the count is logged when
 * the next second begins. Each level has its own limit, so that debug lines,
 * which most sinks drop, never suppress others.
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
	struct {
		unsigned int lines, suppressed;
	} level[LOG_DEBUG + 1];
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER };

void lx_set_log(void (*fn)(int level, const char *line, void *arg), void *arg)
{
	pthread_mutex_lock(&sink.lock);
	sink.fn = fn;
	sink.arg = arg;
	pthread_mutex_unlock(&sink.lock);
}

static void next_second(time_t second)
{
	char text[64];

	sink.second = second;
	for (int level = 0; level <= LOG_DEBUG; level++) {
		if (sink.level[level].suppressed) {
			snprintf(text, sizeof(text), "suppressed=%u reason=\"too many lines\"",
				 sink.level[level].suppressed);
			sink.fn(level, text, sink.arg);
		}
		sink.level[level].lines = sink.level[level].suppressed = 0;
	}
}

/* True if a line may be logged now; first logs how many were suppressed. */
static bool admit(int level)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != sink.second)
		next_second(now.tv_sec);
	if (sink.level[level].lines++ < LINES_PER_SECOND || level <= LOG_CRIT)
		return true;
	sink.level[level].suppressed++;
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
