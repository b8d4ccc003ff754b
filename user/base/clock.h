/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The system's clocks as numbers. */
#ifndef LX_BASE_CLOCK_H
#define LX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* @clock: CLOCK_MONOTONIC, CLOCK_REALTIME (since 1970), ... */
static inline int64_t lx_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Monotonic. */
static inline int64_t lx_clock_ms(void)
{
	return lx_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

#endif
