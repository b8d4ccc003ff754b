/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "fakeclock.h"

#define SECOND 1000000000ull

/* 0 while the clock runs; then it is the real time plus the offset. */
static _Atomic uint64_t stopped_ns, offset_ns, away_ns;

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

static uint64_t now_ns(void)
{
	struct timespec real;
	uint64_t stopped = stopped_ns;

	if (stopped)
		return stopped;
	__real_clock_gettime(CLOCK_MONOTONIC_COARSE, &real);
	return real.tv_sec * SECOND + real.tv_nsec + offset_ns;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t now;
	int r;

	if (id != CLOCK_MONOTONIC_COARSE) {
		r = __real_clock_gettime(id, ts);
		if (id == CLOCK_BOOTTIME)
			ts->tv_sec += away_ns / SECOND;
		return r;
	}
	now = now_ns();
	*ts = (struct timespec){ .tv_sec = now / SECOND, .tv_nsec = now % SECOND };
	return 0;
}

void fake_clock_stop(void)
{
	stopped_ns = now_ns();
}

void fake_clock_run(void)
{
	uint64_t stopped = atomic_exchange(&stopped_ns, 0), now = now_ns();

	if (stopped)
		offset_ns += stopped - now; /* may be negative: it wraps */
}

void fake_clock_go(unsigned int ms)
{
	if (stopped_ns)
		stopped_ns += ms * 1000000ull;
}

void fake_clock_away(unsigned int ms)
{
	if (stopped_ns)
		fake_clock_go(ms);
	else
		offset_ns += ms * 1000000ull;
	away_ns += ms * 1000000ull;
}

void fake_clock_sleep(void)
{
	usleep(1000);
	fake_clock_go(1);
}
