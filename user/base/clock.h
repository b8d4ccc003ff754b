/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The system's clocks as numbers, and units of time. */
#ifndef LX_BASE_CLOCK_H
#define LX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#include <internal/units.h>

/* @clock: CLOCK_MONOTONIC, CLOCK_REALTIME (since 1970), ... */
static inline int64_t lx_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * (int64_t)LX_S_NS + now.tv_nsec;
}

/* Monotonic. */
static inline int64_t lx_clock_ms(void)
{
	return lx_clock_ns(CLOCK_MONOTONIC) / (int64_t)LX_MS_NS;
}

#endif
