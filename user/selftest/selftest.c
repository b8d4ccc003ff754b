/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Start, stop and state of the service; see the header. The functions here, which its owner calls,
 * take the lock; so does port.c for the node's events. Nothing sleeps with the lock held.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "priv.h"

const struct lx_tunable lx_selftest_tunable_table[] =
	LX_TUNABLE_TABLE(lx_selftest_tunables, LX_SELFTEST_TUNABLES);

static void destroy(struct lx_selftest *s)
{
	lx_lst_server_fini(s);
	lx_lst_pool_fini(&s->pool);
	if (s->pattern)
		lx_memory_del(s->node, s->pattern);
	free(s->pattern);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int make_pattern(struct lx_selftest *s)
{
	s->pattern = aligned_alloc(LX_LST_PAGE, LX_LST_BUFFER_BYTES);
	if (!s->pattern)
		return -ENOMEM;
	lx_lst_pattern_fill(s->pattern, LX_LST_BUFFER_BYTES);
	lx_memory_add(s->node, s->pattern, LX_LST_BUFFER_BYTES);
	return 0;
}

int lx_selftest_new(struct lx_node *node, const struct lx_selftest_tunables *tun,
		    const struct lx_selftest_ops *ops, struct lx_selftest **ret_s)
{
	struct lx_selftest *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->node = node;
	s->tun = *tun;
	s->ops = *ops;
	s->refs = 1;
	s->destroy = destroy;
	s->next_id = ((uint64_t)time(NULL) << 48) + 1;
	lx_list_init(&s->served);
	lx_list_init(&s->clients);
	lx_list_init(&s->zombies);
	lx_lst_pool_init(&s->pool, node, tun->bulk_mib);
	pthread_mutex_lock(&s->lock);
	err = make_pattern(s);
	if (!err)
		err = lx_lst_server_start(s);
	pthread_mutex_unlock(&s->lock);
	if (err) {
		lx_selftest_free(s);
		return err;
	}
	*ret_s = s;
	return 0;
}

void lx_selftest_free(struct lx_selftest *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	lx_lst_session_end(s, "the selftest was switched off");
	lx_lst_server_stop(s);
	s->ops = (struct lx_selftest_ops){ 0 };
	lx_lst_service_unlock(s, true);
}

void lx_selftest_tick(struct lx_selftest *s)
{
	uint64_t now_ns;

	pthread_mutex_lock(&s->lock);
	now_ns = lx_lst_service_now(s);
	lx_lst_session_tick(s, now_ns);
	lx_lst_client_tick(s, now_ns);
	lx_lst_server_tick(s, now_ns);
	pthread_mutex_unlock(&s->lock);
}

void lx_selftest_tune(struct lx_selftest *s, const struct lx_selftest_tunables *tun)
{
	pthread_mutex_lock(&s->lock);
	s->tun = *tun;
	lx_lst_pool_resize(&s->pool, tun->bulk_mib);
	pthread_mutex_unlock(&s->lock);
}

static void describe_session(struct lx_selftest *s, struct lx_selftest_info *info)
{
	const struct lx_lst_session *session = s->session;
	uint64_t now_ns = lx_lst_service_now(s);

	if (!session)
		return;
	info->active = true;
	info->sid = session->sid;
	memcpy(info->name, session->name, sizeof(info->name));
	info->age_ms = (now_ns - session->started_ns) / 1000000;
	info->idle_ms = (now_ns - session->touched_ns) / 1000000;
	info->batches = session->n_batches;
	info->tests = session->n_tests;
	info->units = session->n_units;
	info->active_batches = session->active_batches;
	info->active_units = session->active_units;
	info->framework.active_batches = session->active_batches;
	info->framework.brw_errors = session->brw_errors;
	info->framework.ping_errors = session->ping_errors;
}

void lx_selftest_info(struct lx_selftest *s, struct lx_selftest_info *ret_info)
{
	pthread_mutex_lock(&s->lock);
	*ret_info = (struct lx_selftest_info){
		.rpc = s->rpc,
		.refused = s->refused,
		.bulk_buffers = s->pool.used,
		.bulk_waiting = s->pool.waiting,
	};
	describe_session(s, ret_info);
	pthread_mutex_unlock(&s->lock);
}
