/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See offload.h: which node has one, and what it may ask of connections. */
#include <pthread.h>

#include "priv.h"

/* One process may have several nodes, each with a lock of its own: hence this one. */
static pthread_mutex_t offloads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lx_list offloads = { &offloads, &offloads };

/* ---- which node has one ----------------------------------------------------- */

static struct lx_sock_offload *offload_lookup(const struct lx_env *env)
{
	struct lx_sock_offload *offload, *found = NULL;

	pthread_mutex_lock(&offloads_lock);
	lx_list_for_each (offload, &offloads, link) {
		if (offload->env == env)
			found = offload;
	}
	pthread_mutex_unlock(&offloads_lock);
	return found;
}

static void offload_add(struct lx_env *env, struct lx_sock_offload *offload)
{
	offload->env = env;
	pthread_mutex_lock(&offloads_lock);
	lx_list_append(&offloads, &offload->link);
	pthread_mutex_unlock(&offloads_lock);
}

static void offload_del(struct lx_env *env, struct lx_sock_offload *offload)
{
	pthread_mutex_lock(&offloads_lock);
	lx_list_del(&offload->link);
	pthread_mutex_unlock(&offloads_lock);
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

/* ---- hosts ------------------------------------------------------------------- */

void lx_sock_offload_tick(struct lx_sock_host *host)
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
}
