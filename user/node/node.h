/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node: core, environment and transports put together. Inside of liblnetx.
 */
#ifndef LX_NODE_NODE_H
#define LX_NODE_NODE_H

#include <lnetx/lnetx.h>

#include "../base/freelist.h"
#include "../core/core.h"
#include "../io/env.h"

/*
 * A call out of the node, made without the lock: event, completion or change. It is the
 * first member of what it belongs to, and freed with that when it has been made.
 */
struct lx_call {
	struct lx_list link;
	void (*run)(struct lx_call *call);
	const char *what;             /* "event handler", for the log */
	void *function;               /* the user's */
	struct lx_freelist *freelist; /* where its memory goes to; NULL: free() */
};

struct lx_watchdog;

struct lx_node {
	struct lx_env *env;
	struct lx_core *core;
	uv_timer_t timer;          /* on loop 0 */
	bool timer_up;
	struct lx_work work;       /* core work, and setting the timer again */
	struct lx_work close_work;

	struct lx_list calls;      /* of lx_call, in order */
	unsigned int n_calls;      /* written under the lock, peeked at without it */
	bool calling;              /* one thread makes the calls */
	struct lx_call *call;      /* that is being made; NULL: none */
	uint64_t call_number;      /* odd: of that one; peeked at without the lock */
	struct lx_watchdog *watchdog;
	struct lx_freelist event_freelist;
	struct lx_work call_work;  /* makes a loop notice calls queued elsewhere */

	void (*watch)(const struct lx_change *change, void *arg);
	void *watch_arg;
	bool stopped;
	bool down;                 /* lx_node_stop() is through */
};

static inline void lx_node_lock(struct lx_node *node)
{
	lx_env_lock(node->env);
}

static inline void lx_node_unlock(struct lx_node *node)
{
	lx_env_unlock(node->env);
}

/* call.c */
void lx_node_calls_init(struct lx_node *node);
/* Queues a call; its order among calls is that of queueing. Lock held. */
void lx_node_call(struct lx_node *node, struct lx_call *call);
/* For each loop, when it has left the lock. @arg: the node */
void lx_node_make_calls(void *arg);

#define LX_CALL_UNDER_WAY(number) ((number) & 1)

/* Looks after the calls (watchdog.c). -ENOMEM, -EAGAIN no thread. NULL is fine to free. */
int lx_watchdog_new(struct lx_node *node, struct lx_watchdog **ret_watchdog);
void lx_watchdog_free(struct lx_watchdog *watchdog);

/* True on a thread that the node needs for what the caller wants to wait for. */
static inline bool lx_node_must_not_wait(struct lx_node *node)
{
	return lx_env_on_loop(node->env);
}

/* transport.c */

/* The transport for a net type, or NULL. */
const struct lx_lnd *lx_node_lnd(uint8_t net_type);
/* By module name; table and values of its tunables. False: no such module. */
bool lx_node_module(struct lx_node *node, const char *module, const struct lx_tunable **ret_table,
		    void **ret_values);

/* apply.c: takes an NI down and waits for its end. Lock held, dropped meanwhile. */
void lx_node_ni_stop(struct lx_node *node, struct lx_core_ni *ni);

#endif
