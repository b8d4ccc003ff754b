/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The log sink. A peer that misbehaves at line rate must not fill the
 * disk: beyond LINES_PER_SECOND, lines of a level are only counted, and the count is logged when
 * the next second begins. Each level has its own limit, so that debug lines,
 * which most sinks drop, never suppress others; and so have changes of state, which an admin must
 * find among the noise.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lnetx/lnetx.h>

#include "clock.h"
#include "log.h"

#define LINES_PER_SECOND 50
#define STATES (LOG_DEBUG + 1)

static struct {
	pthread_mutex_t lock;
	void (*fn)(int level, const char *line, void *arg);
	void *arg;
	int64_t second;
	struct budget {
		unsigned int lines, suppressed;
		int level; /* the most important one suppressed */
	} of[LOG_DEBUG + 2]; /* of each level, and of changes of state */
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER };

void lx_set_log(void (*fn)(int level, const char *line, void *arg), void *arg)
{
	pthread_mutex_lock(&sink.lock);
	sink.fn = fn;
	sink.arg = arg;
	memset(sink.of, 0, sizeof(sink.of)); /* a new one has missed nothing */
	pthread_mutex_unlock(&sink.lock);
}

static void next_second(int64_t second)
{
	char text[64];

	sink.second = second;
	for (int i = 0; i <= STATES; i++) {
		if (sink.of[i].suppressed) {
			snprintf(text, sizeof(text), "suppressed=%u reason=\"too many %s\"",
				 sink.of[i].suppressed, i == STATES ? "changes of state" : "lines");
			sink.fn(sink.of[i].level, text, sink.arg);
		}
		sink.of[i] = (struct budget){ 0 };
	}
}

/* True if a line may be logged now; first logs how many were suppressed. */
static bool admit(int level, struct budget *budget)
{
	int64_t second = lx_clock_ms() / 1000;

	if (second != sink.second)
		next_second(second);
	if (budget->lines++ < LINES_PER_SECOND || level <= LOG_CRIT)
		return true;
	if (!budget->suppressed++ || level < budget->level)
		budget->level = level;
	return false;
}

static void log_line(int level, struct budget *budget, const char *fmt, va_list ap)
{
	char line[512];

	pthread_mutex_lock(&sink.lock);
	if (sink.fn && admit(level, budget)) {
		vsnprintf(line, sizeof(line), fmt, ap);
		sink.fn(level, line, sink.arg);
	}
	pthread_mutex_unlock(&sink.lock);
}

void lx_log(int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(level, &sink.of[level], fmt, ap);
	va_end(ap);
}

void lx_log_state(int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(level, &sink.of[STATES], fmt, ap);
	va_end(ap);
}
