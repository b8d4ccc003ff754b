/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the NIs of one node: the tick, the link watcher, and the lists of nets,
 * listeners and connections. Created by the first NI of a node, freed with the last.
 *
 *	first join ─▶ RUNNING ── last leave ─▶ STOPPING ── handles closed ─▶ freed
 *
 * A stopping host has left the list of hosts, so an NI that comes up meanwhile gets a new
 * one. All its libuv handles are on loop 0.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "priv.h"

#define TICK_MS 1000
#define TICK_FAST_MS 100

/* A process may have several nodes, each with its own lock; this one is for all. */
static pthread_mutex_t hosts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lx_list hosts = { &hosts, &hosts };
static struct lx_list offloads = { &offloads, &offloads };

static struct lx_loop *main_loop(struct lx_sock_host *host)
{
	return lx_env_loop(host->env, 0);
}

static void end_if_done(struct lx_sock_host *host);
static void check_link(struct lx_sock_net *net);

/* ---- what connections are offloaded to --------------------------------------- */

static struct lx_sock_offload *offload_lookup(const struct lx_env *env)
{
	struct lx_sock_offload *offload, *found = NULL;

	pthread_mutex_lock(&hosts_lock);
	lx_list_for_each (offload, &offloads, link) {
		if (offload->env == env)
			found = offload;
	}
	pthread_mutex_unlock(&hosts_lock);
	return found;
}

static void offload_add(struct lx_env *env, struct lx_sock_offload *offload)
{
	offload->env = env;
	pthread_mutex_lock(&hosts_lock);
	lx_list_append(&offloads, &offload->link);
	pthread_mutex_unlock(&hosts_lock);
}

static void offload_del(struct lx_env *env, struct lx_sock_offload *offload)
{
	pthread_mutex_lock(&hosts_lock);
	lx_list_del(&offload->link);
	pthread_mutex_unlock(&hosts_lock);
	offload->env = NULL;
	while (offload->users)
		lx_env_wait(env);
}

void lx_sock_set_offload(struct lx_env *env, struct lx_sock_offload *offload)
{
	struct lx_sock_offload *before = offload_lookup(env);

	if (before == offload)
		return;
	if (before)
		offload_del(env, before);
	if (offload)
		offload_add(env, offload);
}

/* Starts to use the node's offload, if it has one, and has it count its messages. */
static void tick_offload(struct lx_sock_host *host)
{
	struct lx_sock_offload *offload;

	if (!host->offload) {
		offload = offload_lookup(host->env);
		if (!offload)
			return;
		host->offload_state = offload->ops->host_start(offload, host, host->env);
		if (!host->offload_state)
			return;
		host->offload = offload;
		offload->users++;
	}
	host->offload->ops->count(host->offload_state, NULL);
}

void lx_sock_offload_end(struct lx_sock_host *host)
{
	host->offload->users--;
	host->offload = NULL;
	host->offload_state = NULL;
	lx_env_wake(host->env);
	if (host->stopping)
		end_if_done(host);
}

/* ---- tick ----------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
	struct lx_sock_host *host = timer->data;
	struct lx_loop *loop = main_loop(host);
	struct lx_sock_net *net;
	bool busy;

	lx_loop_enter(loop);
	if (!host->stopping) {
		tick_offload(host);
		lx_list_for_each (net, &host->nets, link) {
			if (net->deaf)
				check_link(net);
		}
		busy = host->on_tick(host);
		if (busy != host->tick_fast) {
			host->tick_fast = busy;
			uv_timer_set_repeat(timer, busy ? TICK_FAST_MS : TICK_MS);
		}
	}
	lx_loop_leave(loop);
}

void lx_sock_host_hurry(struct lx_sock_host *host)
{
	if (host->tick_fast)
		return;
	host->tick_fast = true;
	lx_loop_post(main_loop(host), &host->work);
}

/* ---- links ---------------------------------------------------------------- */

static void replaced(struct lx_sock_net *net, const struct lx_netif *netif)
{
	lx_info("nid=%s interface=%s reason=\"the interface has been replaced\" "
		"action=\"its connections that the kernel forwards for are closed\"",
		lx_nid_str(&net->ni->nid), net->ni->ifname);
	/* Back before we looked: users who attached something to the old one have to hear of it. */
	if (!net->link_down) {
		net->link_down = LX_DOWN_INTERFACE;
		lx_lnd_link(net->ni, net->link_down);
	}
	net->host->on_moved(net, netif);
}

/* Finds the interface by its name and address; or by its index, if it has another name now. */
static bool find_netif(struct lx_sock_net *net, struct lx_netif *ret_netif)
{
	if (!lx_netif_by_addr(&net->addr, net->ni->ifname, ret_netif))
		return true;
	if (lx_netif_by_addr(&net->addr, "", ret_netif) || ret_netif->index != net->netif.index)
		return false;
	lx_info("nid=%s interface=%s reason=\"the interface %s has this name now\"",
		lx_nid_str(&net->ni->nid), ret_netif->name, net->ni->ifname);
	strcpy(net->ni->ifname, ret_netif->name);
	return true;
}

static void check_link(struct lx_sock_net *net)
{
	enum lx_down_why why;
	struct lx_netif netif;
	bool found = find_netif(net, &netif);

	why = found ? lx_netif_down(&netif, false) : LX_DOWN_ADDRESS;
	if (net->closing)
		return;
	if (found && netif.index != net->netif.index)
		replaced(net, &netif);
	else if (found && net->deaf)
		net->host->on_moved(net, &netif);
	if (net->deaf && !why)
		why = LX_DOWN_ADDRESS;
	if (why == net->link_down)
		return;
	net->link_down = why;
	lx_lnd_link(net->ni, why);
}

static void on_link_change(void *arg)
{
	struct lx_sock_host *host = arg;
	struct lx_sock_net *net;

	lx_loop_enter(main_loop(host));
	if (!host->stopping) {
		lx_list_for_each (net, &host->nets, link)
			check_link(net);
	}
	lx_loop_leave(main_loop(host));
}

/* ---- life ----------------------------------------------------------------- */

static void end(struct lx_sock_host *host)
{
	struct lx_sock_net *net = host->last;
	struct lx_ni *ni = net->ni;

	lx_freelist_fini(&host->tx_freelist);
	lx_freelist_fini(&host->batch_freelist);
	free(host);
	lx_sock_net_free(net);
	if (ni)
		lx_lnd_stopped(ni);
}

/* The fast path may take a while to let go of it. */
static void end_if_done(struct lx_sock_host *host)
{
	if (!host->tick_open && !host->watch && !host->offload)
		end(host);
}

static void on_tick_closed(uv_handle_t *handle)
{
	struct lx_sock_host *host = handle->data;
	struct lx_loop *loop = main_loop(host);

	lx_loop_enter(loop);
	host->tick_open = false;
	end_if_done(host);
	lx_loop_leave(loop);
}

static void on_watch_closed(void *arg)
{
	struct lx_sock_host *host = arg;

	host->watch = NULL;
	end_if_done(host);
}

static void stop(struct lx_sock_host *host)
{
	lx_sock_offload_stop(host);
	if (host->tick_open)
		uv_close((uv_handle_t *)&host->tick, on_tick_closed);
	if (host->watch)
		lx_netwatch_free(host->watch, on_watch_closed);
	else
		end_if_done(host);
}

static void on_work(struct lx_work *work)
{
	struct lx_sock_host *host = lx_container_of(work, struct lx_sock_host, work);

	if (host->stopping) {
		/* Connections that never named an NI may remain; the last one posts this again. */
		if (lx_list_empty(&host->conns))
			stop(host);
		return;
	}
	if (!host->tick_open) {
		uv_timer_init(lx_loop_uv(main_loop(host)), &host->tick);
		host->tick.data = host;
		host->tick_open = true;
		host->ticked_ns = lx_clock_ns(CLOCK_BOOTTIME);
	}
	uv_timer_start(&host->tick, on_tick, host->tick_fast ? TICK_FAST_MS : TICK_MS,
		       host->tick_fast ? TICK_FAST_MS : TICK_MS);
}

static struct lx_sock_host *host_new(struct lx_env *env, lx_sock_tick_fn *on_tick_fn,
				     lx_sock_moved_fn *on_moved)
{
	struct lx_sock_host *host = calloc(1, sizeof(*host));
	int r;

	if (!host)
		return NULL;
	host->env = env;
	host->on_tick = on_tick_fn;
	host->on_moved = on_moved;
	lx_list_init(&host->link);
	lx_list_init(&host->nets);
	lx_list_init(&host->listeners);
	lx_list_init(&host->conns);
	lx_work_init(&host->work, on_work);
	r = lx_netwatch_new(main_loop(host), on_link_change, host, &host->watch);
	if (r)
		lx_warn("reason=\"cannot watch links: %s\" action=\"NIs stay up when "
			"their interfaces go down\"",
			strerror(-r));
	lx_loop_post(main_loop(host), &host->work);
	return host;
}

int lx_sock_host_join(struct lx_sock_net *net, lx_sock_tick_fn *on_tick_fn,
		      lx_sock_moved_fn *on_moved)
{
	struct lx_sock_host *host, *found = NULL;

	pthread_mutex_lock(&hosts_lock);
	lx_list_for_each (host, &hosts, link) {
		if (host->env == net->ni->env)
			found = host;
	}
	if (!found) {
		found = host_new(net->ni->env, on_tick_fn, on_moved);
		if (found)
			lx_list_append(&hosts, &found->link);
	}
	pthread_mutex_unlock(&hosts_lock);
	if (!found)
		return -ENOMEM;
	net->host = found;
	lx_list_append(&found->nets, &net->link);
	return 0;
}

void lx_sock_host_leave(struct lx_sock_net *net)
{
	struct lx_sock_host *host = net->host;
	struct lx_ni *ni = net->ni;

	lx_list_del(&net->link);
	if (lx_list_empty(&host->nets)) {
		pthread_mutex_lock(&hosts_lock);
		lx_list_del(&host->link);
		pthread_mutex_unlock(&hosts_lock);
		host->stopping = true;
		host->last = net;
		lx_loop_post(main_loop(host), &host->work);
		return;
	}
	lx_sock_net_free(net);
	if (ni)
		lx_lnd_stopped(ni);
}

void lx_sock_host_conn_freed(struct lx_sock_host *host)
{
	if (host->stopping && lx_list_empty(&host->conns))
		lx_loop_post(main_loop(host), &host->work);
}

struct lx_loop *lx_sock_host_loop(struct lx_sock_host *host)
{
	return lx_env_loop(host->env, host->next_loop++);
}
