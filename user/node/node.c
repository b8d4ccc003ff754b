/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Start and stop of a node: loops, core and 0@lo come up, configuration is applied, and
 * everything goes down in reverse order.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include <internal/offload.h>

#include "../../lnd/lo/lo.h"
#include "../../lnd/sock/offload.h"
#include "../../lnd/sock/sock.h"
#include "../base/clock.h"
#include "../core/monitor.h"
#include "../io/rbuf.h"
#include "node.h"

#define LOOPS_MAX 16u

/* ---- the core's ops ----------------------------------------------------------------- */

static uint64_t op_now(void *arg)
{
	struct lx_node *node = arg;

	return lx_env_now(node->env);
}

static uint64_t op_wall(void *arg)
{
	return lx_clock_ns(CLOCK_REALTIME);
}

static uint64_t op_random(void *arg)
{
	uint64_t value = 0;

	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value))
		value = lx_clock_ns(CLOCK_MONOTONIC);
	return value;
}

static void op_kick(void *arg)
{
	struct lx_node *node = arg;

	lx_loop_post(lx_env_loop(node->env, 0), &node->work);
}

struct event_call {
	struct lx_call call;
	lx_event_fn fn;
	struct lx_event event;
};

static void run_event(struct lx_call *call)
{
	struct event_call *e = lx_container_of(call, struct event_call, call);

	e->fn(&e->event);
}

static void op_event(lx_event_fn fn, const struct lx_event *event, void *arg)
{
	struct lx_node *node = arg;
	struct event_call *e = lx_freelist_get(&node->event_freelist, sizeof(*e));

	if (!e)
		abort(); /* a lost event would leave its user waiting forever */
	e->call.run = run_event;
	e->call.what = "event handler";
	e->call.function = fn;
	e->call.freelist = &node->event_freelist;
	e->fn = fn;
	e->event = *event;
	lx_node_call(node, &e->call);
}

struct change_call {
	struct lx_call call;
	struct lx_node *node;
	struct lx_change change;
};

static void run_change(struct lx_call *call)
{
	struct change_call *c = lx_container_of(call, struct change_call, call);
	void (*fn)(const struct lx_change *, void *);
	void *arg;

	lx_node_lock(c->node);
	fn = c->node->watch;
	arg = c->node->watch_arg;
	lx_node_unlock(c->node);
	if (fn)
		fn(&c->change, arg);
}

static void op_change(const struct lx_change *change, void *arg)
{
	struct lx_node *node = arg;
	struct change_call *c = node->watch ? calloc(1, sizeof(*c)) : NULL;

	if (!node->down) /* then there is no env any more */
		lx_env_wake(node->env); /* routing may be off now */
	if (!c)
		return;
	c->call.run = run_change;
	c->call.what = "watcher of changes";
	c->call.function = node->watch;
	c->node = node;
	c->change = *change;
	lx_node_call(node, &c->call);
}

static void op_ni_stopped(struct lx_ni *ni, void *arg)
{
	struct lx_node *node = arg;

	lx_env_wake(node->env);
}

static const struct lx_core_ops node_ops = {
	.now = op_now,
	.wall = op_wall,
	.random = op_random,
	.kick = op_kick,
	.event = op_event,
	.change = op_change,
	.ni_stopped = op_ni_stopped,
	.rbuf_new = lx_rbuf_new,
	.rbuf_free = lx_rbuf_free,
	.rbuf_reset = lx_rbuf_reset,
};

/* ---- time ------------------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer);

/* On loop 0. The core's deadline was computed with the lock held. */
static void set_timer(struct lx_node *node)
{
	uint64_t now = op_now(node), deadline = lx_core_deadline(node->core);
	uint64_t ms = deadline > now ? (deadline - now + LX_S_NS / 1000 - 1) / (LX_S_NS / 1000) : 0;

	if (!node->timer_up || node->core->stopping)
		return;
	/* libuv's timers count from the start of the turn. */
	uv_update_time(lx_loop_uv(lx_env_loop(node->env, 0)));
	uv_timer_start(&node->timer, on_timer, ms, 0);
}

static void on_timer(uv_timer_t *timer)
{
	struct lx_node *node = timer->data;
	struct lx_loop *loop = lx_env_loop(node->env, 0);

	lx_loop_enter(loop);
	lx_core_tick(node->core);
	lx_env_wake(node->env);
	set_timer(node);
	lx_loop_leave(loop);
}

static void on_work(struct lx_work *work)
{
	struct lx_node *node = lx_container_of(work, struct lx_node, work);

	if (!node->timer_up && !node->stopped) {
		uv_timer_init(lx_loop_uv(lx_env_loop(node->env, 0)), &node->timer);
		node->timer.data = node;
		node->timer_up = true;
	}
	lx_core_work(node->core);
	lx_env_wake(node->env);
	set_timer(node);
}

static void on_close(struct lx_work *work)
{
	struct lx_node *node = lx_container_of(work, struct lx_node, close_work);

	if (node->timer_up)
		uv_close((uv_handle_t *)&node->timer, NULL);
	node->timer_up = false;
	lx_env_wake(node->env);
}

void lx_node_set_offload(struct lx_node *node, struct lx_sock_offload *offload)
{
	lx_node_lock(node);
	lx_sock_set_offload(node->env, offload);
	lx_node_unlock(node);
}

/* ---- up ----------------------------------------------------------------------------------- */

/* One loop moves some GB/s; use more only if there are CPUs to spare. */
static unsigned int loops_wanted(void)
{
	const struct lx_tunable *t = lx_tunable_lookup(lx_sock_lnd.tunables, "nscheds");
	int64_t n = t ? lx_tunable_get(t, lx_sock_lnd.tunable_values) : 0;

	if (!n)
		n = sysconf(_SC_NPROCESSORS_ONLN) / 4;
	if (n < 1)
		n = 1;
	return n < LOOPS_MAX ? n : LOOPS_MAX;
}

/*
 * Transports' tunables are per process. They last as long as its nodes: what an earlier node was
 * configured with is no setting of a later one.
 */
static pthread_mutex_t n_nodes_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int n_nodes;

static void tunables_hold(void)
{
	pthread_mutex_lock(&n_nodes_lock);
	n_nodes++;
	pthread_mutex_unlock(&n_nodes_lock);
}

static void tunables_release(void)
{
	pthread_mutex_lock(&n_nodes_lock);
	n_nodes--;
	for (unsigned int i = 0; i < LX_NODE_LNDS && !n_nodes; i++)
		lx_tunable_defaults(lx_transport_lnds[i]->tunables,
				    lx_transport_lnds[i]->tunable_values);
	pthread_mutex_unlock(&n_nodes_lock);
}

/* They determine the number of loops, so they come first. */
static int transport_tunables(const struct lx_conf *conf, struct lx_conf_error *ret_err)
{
	int r = lx_node_check(conf, ret_err);

	for (size_t i = 0; i < conf->n_tunables && !r; i++) {
		const struct lx_conf_tunable *c = &conf->tunable[i];
		const struct lx_tunable *table;
		void *values;

		if (lx_transport_module(NULL, c->module, &table, &values) && values)
			r = lx_tunable_set(lx_tunable_lookup(table, c->name), values, c->value);
	}
	return r;
}

static int node_up(struct lx_node *node)
{
	int r;

	r = lx_env_new(loops_wanted(), lx_node_make_calls, node, &node->env);
	if (r)
		return r;
	lx_node_lock(node);
	r = lx_core_new(&node_ops, node, &node->core);
	if (!r)
		r = lx_core_start(node->core, &lx_lo_lnd);
	if (!r)
		op_kick(node);
	lx_node_unlock(node);
	return r;
}

static bool gateways_asked(struct lx_core *core)
{
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->gateways, gateway_link) {
		if (!(peer->state & LX_PEER_RTR_DISCOVERED))
			return false;
	}
	return true;
}

/* check_routers_before_use: wait until each gateway has answered or timed out (lnet.md 10.3). */
static void wait_for_gateways(struct lx_node *node)
{
	lx_node_lock(node);
	while (node->core->tun.check_routers_before_use && !gateways_asked(node->core))
		lx_env_wait(node->env);
	lx_node_unlock(node);
}

int lx_node_new(const struct lx_conf *conf, struct lx_conf_error *ret_err,
		struct lx_node **ret_node)
{
	struct lx_node *node;
	int r = 0;

	if (ret_err)
		*ret_err = (struct lx_conf_error){ 0 };
	tunables_hold();
	if (conf)
		r = transport_tunables(conf, ret_err);
	node = r ? NULL : calloc(1, sizeof(*node));
	if (!node) {
		tunables_release();
		return r ? r : -ENOMEM;
	}
	lx_node_calls_init(node);
	lx_work_init(&node->work, on_work);
	lx_work_init(&node->close_work, on_close);
	r = node_up(node);
	if (!r)
		r = lx_watchdog_new(node, &node->watchdog);
	if (!r && conf)
		r = lx_node_apply(node, conf, LX_APPLY_START, ret_err);
	if (r) {
		lx_node_free(node);
		return r;
	}
	wait_for_gateways(node);
	*ret_node = node;
	return 0;
}

int lx_node_new_yaml(const char *yaml, size_t len, struct lx_conf_error *ret_err,
		     struct lx_node **ret_node)
{
	struct lx_conf_error err;
	struct lx_conf *conf;
	int r;

	r = lx_conf_parse(yaml, len, &conf, ret_err ? ret_err : &err);
	if (r)
		return r;
	r = lx_node_new(conf, ret_err, ret_node);
	lx_conf_free(conf);
	return r;
}

/* ---- down ------------------------------------------------------------------------------------ */

/* Waits until no neighbour needs us any more (monitor.c), or for a timeout. */
static int stop_routing(struct lx_node *node, uint64_t until)
{
	uint64_t now = op_now(node);

	lx_monitor_route_stop(node->core, until > now ? until - now : 0);
	while (node->core->routing == LX_ROUTING_STOPPING && op_now(node) < until)
		lx_env_wait_until(node->env, until);
	if (op_now(node) < until)
		return node->core->routing == LX_ROUTING_OFF ? 0 : -ECANCELED;
	lx_monitor_route_stop(node->core, 0);
	return -ETIMEDOUT;
}

int lx_routing_stop(struct lx_node *node, unsigned int limit_ms)
{
	uint64_t until;
	int r = 0;

	if (lx_node_must_not_wait(node))
		return -EDEADLK;
	lx_node_lock(node);
	until = op_now(node) + (uint64_t)limit_ms * (LX_S_NS / 1000);
	if (!node->stopped && node->core->routing != LX_ROUTING_OFF)
		r = stop_routing(node, until);
	lx_node_unlock(node);
	return r;
}

const char *lx_version(void)
{
	return LX_VERSION;
}

bool lx_node_alive(struct lx_node *node)
{
	bool alive;

	lx_node_lock(node);
	alive = lx_env_alive(node->env);
	lx_node_unlock(node);
	return alive;
}

static void drain(struct lx_node *node, unsigned int ms)
{
	uint64_t until = op_now(node) + (uint64_t)ms * (LX_S_NS / 1000);

	stop_routing(node, until);
	/* While draining, a message that ends posts on_work() (msg.c), which wakes us. */
	while (!lx_core_idle(node->core) && op_now(node) < until)
		lx_env_wait_until(node->env, until);
}

static void stop_nis(struct lx_node *node)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	while ((net = lx_list_first(&node->core->nets, struct lx_net, link))) {
		ni = lx_list_first(&net->nis, struct lx_core_ni, link);
		lx_node_ni_stop(node, ni);
	}
}

int lx_node_stop(struct lx_node *node, unsigned int drain_ms)
{
	if (lx_node_must_not_wait(node))
		return -EDEADLK;
	lx_node_lock(node);
	if (node->stopped) {
		while (!node->down)
			lx_env_wait(node->env);
		lx_node_unlock(node);
		return 0;
	}
	node->stopped = true;
	if (node->core) {
		node->core->draining = true;
		drain(node, drain_ms);
		lx_core_stop(node->core);
		stop_nis(node);
		lx_md_free_all(node->core);
	}
	/* Deliver the last events; then the loops can end. */
	while (node->n_calls || node->calling)
		lx_env_wait(node->env);
	lx_loop_post(lx_env_loop(node->env, 0), &node->close_work);
	while (node->timer_up || node->close_work.loop)
		lx_env_wait(node->env);
	lx_sock_set_offload(node->env, NULL);
	node->down = true;
	lx_env_wake(node->env);
	lx_node_unlock(node);
	return 0;
}

void lx_node_free(struct lx_node *node)
{
	if (!node)
		return;
	if (node->env && lx_node_must_not_wait(node)) {
		/* This would join its own thread. */
		fputs("liblnetx: lx_node_free() was called from a handler of the node, which it "
		      "would wait for; call it from another thread\n",
		      stderr);
		abort();
	}
	if (node->env)
		lx_node_stop(node, 0);
	lx_watchdog_free(node->watchdog);
	node->watch = NULL; /* no thread is left to report changes */
	lx_env_free(node->env);
	lx_core_free(node->core);
	lx_freelist_fini(&node->event_freelist);
	free(node);
	tunables_release();
}

void lx_node_watch(struct lx_node *node, void (*fn)(const struct lx_change *, void *arg),
		   void *arg)
{
	lx_node_lock(node);
	node->watch = fn;
	node->watch_arg = arg;
	lx_node_unlock(node);
}
