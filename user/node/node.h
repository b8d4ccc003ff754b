/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node: core, environment and transports together. Internal to liblnetx.
 */
#ifndef LX_NODE_NODE_H
#define LX_NODE_NODE_H

#include <lnetx/lnetx.h>

#include "../base/freelist.h"
#include "../core/core.h"
#include "../io/env.h"

/*
 * A callback out of the node, run without the lock: event, completion or change. First
 * member of the struct it belongs to, which is freed after the call.
 */
struct lx_call {
	struct lx_list link;
	void (*run)(struct lx_call *call);
	const char *what;             /* "event handler", for the log */
	void *function;               /* the user's */
	struct lx_freelist *freelist; /* gets its memory; NULL: free() */
};

struct lx_watchdog;

struct lx_node {
	struct lx_env *env;
	struct lx_core *core;
	uv_timer_t timer;          /* on loop 0 */
	bool timer_up;
	struct lx_work work;       /* core work, and re-arming the timer */
	struct lx_work close_work;

	struct lx_list calls;      /* of lx_call, in order */
	unsigned int n_calls;      /* written under the lock, read without it */
	bool calling;              /* a thread is running calls */
	struct lx_call *call;      /* the one running; NULL: none */
	uint64_t call_number;      /* odd while one runs; read without the lock */
	struct lx_watchdog *watchdog;
	struct lx_freelist event_freelist;
	struct lx_work call_work;  /* makes a loop notice calls queued elsewhere */

	void (*watch)(const struct lx_change *change, void *arg);
	void *watch_arg;
	bool stopped;
	bool down;                 /* lx_node_stop() has completed */
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
/* Queues a call; calls run in order. Lock held. */
void lx_node_call(struct lx_node *node, struct lx_call *call);
/* Called by each loop after it released the lock. @arg: the node */
void lx_node_make_calls(void *arg);

#define LX_CALL_UNDER_WAY(number) ((number) & 1)

/* Watches the calls (watchdog.c). -ENOMEM, -EAGAIN no thread. Freeing NULL is fine. */
int lx_watchdog_new(struct lx_node *node, struct lx_watchdog **ret_watchdog);
void lx_watchdog_free(struct lx_watchdog *watchdog);

/* True on a thread of the node, where waiting for the node would deadlock. */
static inline bool lx_node_must_not_wait(struct lx_node *node)
{
	return lx_env_on_loop(node->env);
}

/* transport.c */

/* The transports that have connections. */
#define LX_NODE_LNDS 2
extern const struct lx_lnd *const lx_transport_lnds[LX_NODE_LNDS];

/* The transport for a net type, or NULL. */
const struct lx_lnd *lx_transport_lnd(uint8_t net_type);
/* By module name; table and values of its tunables. False: no such module. */
bool lx_transport_module(struct lx_node *node, const char *module,
			 const struct lx_tunable **ret_table, void **ret_values);

/* resolve.c */

/* The NID that an NI would have; or an errno of user/io/netif.h. */
int lx_conf_ni_nid(const struct lx_conf_ni *ni, struct lx_nid *ret_nid);
/* Where an NI is to be, for people: its interface, its NID, or both. Returns @buf. */
#define LX_CONF_PLACE_TEXT (LX_NID_TEXT + IFNAMSIZ + 8)
const char *lx_conf_ni_place(const struct lx_conf_ni *ni, char *buf, size_t size);
/* Whether lx_conf_resolve() would change nothing. */
bool lx_conf_is_resolved(const struct lx_conf *conf);

/* apply.c: takes an NI down and waits until it is. Lock held, dropped meanwhile. */
void lx_node_ni_stop(struct lx_node *node, struct lx_core_ni *ni);

#endif
