/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pings during a load: how long a router's own messages take on busy connections. One at a
 * time, ten times a second, from a client's node.
 */
#ifndef LX_BENCH_PINGER_H
#define LX_BENCH_PINGER_H

#include <pthread.h>

#include "hist.h"
#include "load.h"

struct lx_pinger {
	struct lx_node *node;
	struct lx_id target;
	unsigned int timeout_ms;
	pthread_mutex_t lock; /* protects everything below */
	uint64_t sent_ns;
	bool under_way, counts;
	unsigned int failed;
	struct lx_hist hist;
};

/* Must live as long as the node. */
void lx_pinger_init(struct lx_pinger *pinger, const struct lx_options *opt, struct lx_node *node);
/* Call it often. @counts: measure pings that start now. */
void lx_pinger_tick(struct lx_pinger *pinger, uint64_t now, bool counts);

#endif
