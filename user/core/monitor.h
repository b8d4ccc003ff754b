/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Periodic work of the core, and switching routing on and off. */
#ifndef LX_CORE_MONITOR_H
#define LX_CORE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

struct lx_core;
struct lx_core_msg;

void lx_monitor_second(struct lx_core *core);

/**
 * lx_monitor_route - switch routing (lnet.md 10.3)
 * @at_once: no delay; for a node that is just starting
 * Returns 0, -ENOMEM no buffers.
 */
int lx_monitor_route(struct lx_core *core, bool enable, bool at_once);

/**
 * lx_monitor_route_stop - switch routing off within a time limit
 * @limit_ns: from now; also limits a stop in progress
 */
void lx_monitor_route_stop(struct lx_core *core, uint64_t limit_ns);

/* Seconds until routing is on (STARTING) or off (STOPPING), at most; else 0. */
unsigned int lx_monitor_route_left(struct lx_core *core);

/*
 * A stop waits for this message. Not for one on its way through this node to, or from, a
 * neighbour that is gone (announce.h): it would wait for its transport's time-out.
 */
bool lx_monitor_awaits(const struct lx_core_msg *msg);

#endif
