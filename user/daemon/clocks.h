/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long lnetxd runs, and whether somebody set the wall clock meanwhile. NTP that only makes it
 * run faster or slower does so with both clocks.
 */
#ifndef LX_DAEMON_CLOCKS_H
#define LX_DAEMON_CLOCKS_H

#include <stdint.h>

#include "../base/clock.h"

struct lx_clocks {
	int64_t wall_ns, boot_ns; /* boot: goes on while the machine is suspended, is never set */
};

static inline struct lx_clocks lx_clocks_now(void)
{
	return (struct lx_clocks){ lx_clock_ns(CLOCK_REALTIME), lx_clock_ns(CLOCK_BOOTTIME) };
}

static inline int64_t lx_clocks_passed_s(const struct lx_clocks *from, const struct lx_clocks *to)
{
	return (to->boot_ns - from->boot_ns) / (int64_t)LX_S_NS;
}

/* By how much the wall clock was set forward; below 0: back. Less than a second is 0. */
static inline int64_t lx_clocks_jump_s(const struct lx_clocks *from, const struct lx_clocks *to)
{
	return ((to->wall_ns - from->wall_ns) - (to->boot_ns - from->boot_ns)) / (int64_t)LX_S_NS;
}

#endif
