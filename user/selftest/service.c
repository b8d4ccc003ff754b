/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clock, log and references of the service; see the header. Called by all its files. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "priv.h"

uint64_t lx_lst_service_now(const struct lx_selftest *s)
{
	struct timespec now;

	if (s->ops.now_ns)
		return s->ops.now_ns(s->ops.arg);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * LX_LST_SECOND + now.tv_nsec;
}

void lx_lst_service_note(const struct lx_selftest *s, const char *format, ...)
{
	char line[300];
	va_list args;

	if (!s->ops.note)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	s->ops.note(line, s->ops.arg);
}

void lx_lst_service_unlock(struct lx_selftest *s, bool put)
{
	bool last = put && !--s->refs;

	pthread_mutex_unlock(&s->lock);
	if (last)
		s->destroy(s);
}
