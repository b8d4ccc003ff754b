/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See fast.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fast_priv.h"

#define TICK_MS 5
#define HELD_TICK_MS 1
#define IDLE_TICK_MS 100
/* So many entries of a table are looked at with a tick, and a part of those beyond. */
#define ROUND_MIN 64
#define GROW_PAUSE_NS LX_SOCK_SECOND

/* ---- connections end --------------------------------------------------------------- */

void lx_sock_fast_conn_closing(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;

	if (fast && conn->stream >= 0)
		lx_fast_stream_closing(fast, conn);
	if (fast && conn->lane >= 0)
		lx_fast_lane_closing(fast, conn);
}

void lx_sock_fast_conn_gone(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;

	if (fast && conn->stream >= 0)
		lx_fast_stream_gone(fast, conn);
	if (fast && conn->lane >= 0)
		lx_fast_lane_gone(fast, conn);
	conn->stream = conn->lane = -1;
}

/* ---- records ---------------------------------------------------------------------------- */

/* Messages that had cookies have arrived: the peer wants to hear of it. */
static void answer_cookies(struct lx_sock_fast *fast, unsigned int index)
{
	struct lx_stream *s = lx_forward_stream(fast->forward, index);
	struct lx_sock_conn *conn = s ? fast->stream[index].conn : NULL;
	uint64_t cookie;

	if (!conn)
		return;
	__atomic_store_n(&s->cookies_told, 0, __ATOMIC_SEQ_CST);
	while (s->cookie_head != __atomic_load_n(&s->cookie_tail, __ATOMIC_ACQUIRE)) {
		cookie = s->cookie[s->cookie_head++ % LX_STREAM_COOKIES];
		__atomic_sub_fetch(&s->cookies_due, 1, __ATOMIC_ACQ_REL);
		if (!conn->closing && lx_sock_zc_answer(conn, cookie, true))
			lx_sock_conn_fail(conn, -ENOMEM, LX_HSTATUS_LOCAL_ERROR,
					  "cannot acknowledge a zero-copy message");
	}
}

static void on_record(const struct lx_record *record, void *arg)
{
	struct lx_sock_fast *fast = arg;

	switch (record->type) {
	case LX_RECORD_COOKIES:
		answer_cookies(fast, record->index);
		break;
	case LX_RECORD_KICK:
		lx_forward_kick(fast->forward, record->index);
		break;
	case LX_RECORD_MSS: /* by the next tick its socket knows, too */
		if (record->index < LX_LANES_MAX && fast->lane[record->index])
			fast->lane[record->index]->mss_ns = 0;
		break;
	}
}

static void on_records(uv_poll_t *poll, int status, int events)
{
	struct lx_sock_fast *fast = poll->data;

	lx_loop_enter(fast->loop);
	if (fast->host)
		lx_forward_dispatch(fast->forward, on_record, fast);
	lx_loop_leave(fast->loop);
}

bool lx_sock_fast_on(const struct lx_sock_net *net)
{
	return lx_sock_tun.fast_path && net->ni->lnd_tun.value[LX_SOCK_NI_FAST_PATH] &&
	       !lx_fast_is_leaving(net->host->fast) &&
	       lx_forward_is_attached(net->host->fast->forward, net->netif.index);
}

/* ---- ticks --------------------------------------------------------------------------------- */

static void set_pace(struct lx_sock_fast *fast)
{
	unsigned int pace_ms = fast->n_changing ? HELD_TICK_MS
			       : lx_forward_used(fast->forward, LX_FORWARD_STREAMS) ? TICK_MS
										    : IDLE_TICK_MS;

	if (pace_ms == fast->pace_ms)
		return;
	fast->pace_ms = pace_ms;
	uv_timer_set_repeat(&fast->timer, pace_ms);
}

int lx_fast_round(struct lx_sock_fast *fast, enum lx_forward_table table, unsigned int *at,
		  unsigned int *left)
{
	int i;

	if (!*left)
		*left = ROUND_MIN + lx_forward_used(fast->forward, table) / LX_FAST_ROUND_TICKS;
	i = --*left ? lx_forward_next(fast->forward, table, *at) : -1;
	/* At the end of the table it is the next tick that begins anew. */
	if (i >= 0 || *left)
		*at = i + 1;
	return i;
}

static void hops_tick(struct lx_sock_fast *fast, uint64_t now)
{
	unsigned int left = 0;
	int i;

	fast->hops_ns = now;
	while ((i = lx_fast_round(fast, LX_FORWARD_HOPS, &fast->hop_at, &left)) >= 0) {
		if (!fast->shared[i])
			lx_fast_hop_share(fast, fast->hop[i]);
		lx_fast_hop_lanes(fast, fast->hop[i], now);
	}
	lx_fast_lanes_tick(fast, now);
}

/* ---- tables that grow ---------------------------------------------------------------------- */

static void fast_free(struct lx_sock_fast *fast);

static void do_grow(uv_work_t *work)
{
	struct lx_sock_fast *fast = work->data;

	fast->grow_error = lx_forward_grow(fast->forward);
}

static void on_grown(uv_work_t *work, int status)
{
	struct lx_sock_fast *fast = work->data;

	lx_loop_enter(fast->loop);
	fast->growing = false;
	if (fast->grow_error) {
		fast->grow_ns = lx_sock_now() + GROW_PAUSE_NS;
		lx_warn("reason=\"no memory for more streams, lanes or next hops: %s\" "
			"action=\"further connections are served without the kernel; tried again\"",
			strerror(-fast->grow_error));
	}
	lx_loop_leave(fast->loop);
	if (!--fast->open)
		fast_free(fast);
}

static void grow(struct lx_sock_fast *fast, uint64_t now)
{
	if (fast->growing || now < fast->grow_ns || !lx_forward_is_short(fast->forward))
		return;
	fast->grow.data = fast;
	fast->growing = !uv_queue_work(lx_loop_uv(fast->loop), &fast->grow, do_grow, on_grown);
	fast->open += fast->growing;
}

/* ---- life ---------------------------------------------------------------------------------- */

/* No connection is a stream or a lane any more. */
static bool is_unused(const struct lx_sock_fast *fast)
{
	lx_forward_for_each (i, fast->forward, LX_FORWARD_STREAMS) {
		if (fast->stream[i].conn)
			return false;
	}
	lx_forward_for_each (i, fast->forward, LX_FORWARD_LANES) {
		if (fast->lane[i])
			return false;
	}
	return true;
}

/*
 * The programs are about to be unloaded. A socket has not seen the bytes that they moved
 * from or to its connection, so the connection ends with them. Routing is off by then:
 * there is nothing under way that was to be forwarded.
 */
static void leave(struct lx_sock_fast *fast)
{
	if (fast->growing)
		return;
	lx_forward_for_each (i, fast->forward, LX_FORWARD_STREAMS) {
		if (fast->stream[i].conn)
			lx_sock_conn_close(fast->stream[i].conn, -ECONNABORTED,
					   LX_HSTATUS_LOCAL_ERROR);
	}
	lx_forward_for_each (i, fast->forward, LX_FORWARD_LANES) {
		if (fast->lane[i])
			lx_sock_conn_close(fast->lane[i], -ECONNABORTED,
					   LX_HSTATUS_LOCAL_ERROR);
	}
	if (!is_unused(fast))
		return; /* until the next tick */
	lx_forward_for_each (i, fast->forward, LX_FORWARD_HOPS)
		lx_sock_fast_peer_gone(fast->hop[i]);
	lx_sock_fast_stop(fast->host);
}

static void tick(struct lx_sock_fast *fast, uint64_t now)
{
	if (now >= fast->hops_ns + (TICK_MS - 1) * LX_SOCK_MSEC)
		hops_tick(fast, now);
	lx_fast_streams_tick(fast, now);
	set_pace(fast);
	grow(fast, now);
}

static void on_timer(uv_timer_t *timer)
{
	struct lx_sock_fast *fast = timer->data;

	lx_loop_enter(fast->loop);
	if (fast->host && lx_fast_is_leaving(fast))
		leave(fast);
	else if (fast->host)
		tick(fast, lx_sock_now());
	lx_loop_leave(fast->loop);
}

static void fast_free(struct lx_sock_fast *fast)
{
	lx_hash_fini(&fast->dests);
	lx_hash_fini(&fast->sources);
	free(fast->stream);
	free(fast->lane);
	free(fast->run);
	free(fast->hop);
	free(fast->shared);
	free(fast);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct lx_sock_fast *fast = handle->data;

	if (!--fast->open)
		fast_free(fast);
}

static struct lx_sock_fast *fast_new(struct lx_sock_host *host, struct lx_forward *forward)
{
	struct lx_sock_fast *fast = calloc(1, sizeof(*fast));

	if (!fast)
		return NULL;
	fast->host = host;
	fast->loop = lx_env_loop(host->env, 0);
	fast->forward = forward;
	lx_list_init(&fast->dest_list);
	/* For as many as there may be: pages that nobody touches take no memory. */
	fast->stream = calloc(LX_STREAMS_MAX, sizeof(*fast->stream));
	fast->lane = calloc(LX_LANES_MAX, sizeof(*fast->lane));
	fast->run = calloc(LX_LANES_MAX, sizeof(*fast->run));
	fast->hop = calloc(LX_HOPS_MAX, sizeof(*fast->hop));
	fast->shared = calloc(LX_HOPS_MAX, sizeof(*fast->shared));
	if (!fast->stream || !fast->lane || !fast->run || !fast->hop || !fast->shared ||
	    lx_hash_init(&fast->dests) || lx_hash_init(&fast->sources)) {
		fast_free(fast);
		return NULL;
	}
	fast->poll.data = fast->timer.data = fast;
	uv_timer_init(lx_loop_uv(fast->loop), &fast->timer);
	uv_timer_start(&fast->timer, on_timer, IDLE_TICK_MS, IDLE_TICK_MS);
	uv_poll_init(lx_loop_uv(fast->loop), &fast->poll, lx_forward_fd(forward));
	uv_poll_start(&fast->poll, UV_READABLE, on_records);
	fast->open = 2;
	lx_env_forward_get(host->env);
	return fast;
}

void lx_sock_fast_tick(struct lx_sock_host *host)
{
	struct lx_forward *forward = lx_env_forward(host->env);
	struct lx_sock_net *net;

	if (!host->fast && forward)
		host->fast = fast_new(host, forward);
	lx_list_for_each (net, &host->nets, link)
		lx_sock_fast_count(net);
}

void lx_sock_fast_stop(struct lx_sock_host *host)
{
	struct lx_sock_fast *fast = host->fast;

	if (!fast)
		return;
	lx_sock_fast_forget(host, NULL, LX_NET_U32_ANY);
	uv_close((uv_handle_t *)&fast->timer, on_handle_closed);
	uv_close((uv_handle_t *)&fast->poll, on_handle_closed);
	lx_env_forward_put(host->env);
	host->fast = NULL;
	fast->host = NULL;
}
