/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Logs handlers that do not return. A handler runs on a thread that moves messages: while it
 * blocks, no other handler runs and connections stall, and the node's own threads cannot
 * report it.
 *
 * A separate thread checks once a second whether the same call is still running. That
 * costs a call only a counter.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "../base/log.h"
#include "node.h"

struct lx_watchdog {
	struct lx_node *node;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool stopping;
	uint64_t call;        /* the last call number seen */
	unsigned int seconds; /* since this call began */
};

static void tell_waiting(struct lx_watchdog *w)
{
	const char *what = NULL;
	void *function = NULL;

	lx_node_lock(w->node);
	if (w->node->call_number == w->call) {
		what = w->node->call->what;
		function = w->node->call->function;
	}
	lx_node_unlock(w->node);
	if (what)
		lx_warn("handler=%p kind=\"%s\" reason=\"it has not returned for a second\" "
			"action=\"until it does, no other handler runs and the connections of its "
			"thread stall; handlers must not block\"",
			function, what);
}

static void look(struct lx_watchdog *w)
{
	uint64_t call = __atomic_load_n(&w->node->call_number, __ATOMIC_RELAXED);

	if (call == w->call && LX_CALL_UNDER_WAY(call)) {
		if (!w->seconds++)
			tell_waiting(w);
		return;
	}
	if (w->seconds)
		lx_warn("reason=\"the handler has returned\" seconds=%u", w->seconds);
	w->call = call;
	w->seconds = 0;
}

static void *run(void *arg)
{
	struct lx_watchdog *w = arg;
	struct timespec at;

	pthread_mutex_lock(&w->lock);
	clock_gettime(CLOCK_MONOTONIC, &at);
	while (!w->stopping) {
		at.tv_sec++;
		while (!w->stopping && pthread_cond_timedwait(&w->cond, &w->lock, &at) != ETIMEDOUT)
			;
		if (w->stopping)
			break;
		pthread_mutex_unlock(&w->lock);
		look(w);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int lx_watchdog_new(struct lx_node *node, struct lx_watchdog **ret_watchdog)
{
	struct lx_watchdog *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;
	int r;

	if (!w)
		return -ENOMEM;
	w->node = node;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->cond, &attr);
	pthread_condattr_destroy(&attr);
	r = -pthread_create(&w->thread, NULL, run, w);
	if (r) {
		pthread_cond_destroy(&w->cond);
		pthread_mutex_destroy(&w->lock);
		free(w);
		return r;
	}
	*ret_watchdog = w;
	return 0;
}

void lx_watchdog_free(struct lx_watchdog *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
