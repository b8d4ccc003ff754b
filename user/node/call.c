/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Callbacks out of the node (events and the like) are queued under the lock and run without
 * it, by the loop thread that finds the queue non-empty after releasing the lock.
 * One thread at a time runs them, so they keep their order and never overlap.
 */
#include <stdlib.h>

#include "node.h"

void lx_node_call(struct lx_node *node, struct lx_call *call)
{
	lx_list_append(&node->calls, &call->link);
	__atomic_add_fetch(&node->n_calls, 1, __ATOMIC_RELAXED);
	/* A loop that holds the lock runs the calls when it releases it. */
	if (!lx_env_on_loop(node->env))
		lx_loop_post(lx_env_loop(node->env, 0), &node->call_work);
}

static void nothing(struct lx_work *work)
{
}

/* More events than this are rarely queued at once. */
#define EVENT_FREELIST_MAX 256

static void call_free(struct lx_call *call)
{
	if (call->freelist)
		lx_freelist_put(call->freelist, call, EVENT_FREELIST_MAX);
	else
		free(call);
}

/* Drops the lock meanwhile. */
static void make_call(struct lx_node *node, struct lx_call *call)
{
	node->call = call;
	__atomic_add_fetch(&node->call_number, 1, __ATOMIC_RELAXED);
	lx_node_unlock(node);
	call->run(call);
	lx_node_lock(node);
	__atomic_add_fetch(&node->call_number, 1, __ATOMIC_RELAXED);
	node->call = NULL;
	call_free(call);
	__atomic_sub_fetch(&node->n_calls, 1, __ATOMIC_RELAXED);
}

static void make_calls(struct lx_node *node)
{
	struct lx_call *call;

	lx_node_lock(node);
	if (node->calling) {
		lx_node_unlock(node);
		return;
	}
	node->calling = true;
	while ((call = lx_list_pop(&node->calls, struct lx_call, link))) {
		make_call(node, call);
	}
	node->calling = false;
	lx_env_wake(node->env);
	lx_node_unlock(node);
}

void lx_node_make_calls(void *arg)
{
	struct lx_node *node = arg;

	if (__atomic_load_n(&node->n_calls, __ATOMIC_RELAXED))
		make_calls(node);
}

void lx_node_calls_init(struct lx_node *node)
{
	lx_list_init(&node->calls);
	lx_work_init(&node->call_work, nothing);
}
