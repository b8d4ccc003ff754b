/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Results from the node's threads to the main thread, through a list and uv_async. Lives until
 * lx_results_free(), which delivers the last ones.
 */
#ifndef LX_DAEMON_RESULTS_H
#define LX_DAEMON_RESULTS_H

#include "daemon.h"

struct lx_result {
	struct lx_list link;
	void (*deliver)(struct lx_result *result); /* on the main thread; owns the result */
};

int lx_results_new(struct lx_daemon *daemon, struct lx_results **ret_results);
/* On any thread. */
void lx_results_put(struct lx_results *results, struct lx_result *result);
/* The node is gone, so nothing is under way. NULL is fine. */
void lx_results_free(struct lx_results *results);

#endif
