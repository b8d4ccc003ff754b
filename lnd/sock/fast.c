/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See fast.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "fast_priv.h"

#define TICK_MS 5
#define HELD_TICK_MS 1
#define IDLE_TICK_MS 100

/* ---- connections end --------------------------------------------------------------- */

static void stream_closing(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_stream *s = lx_fast_stream_of(conn);

	s->flags |= LX_STREAM_NO_LANES;
	lx_sock_fast_count_conn(conn);
	lx_fast_stream_leave(fast, conn);
	conn->reset = conn->reset || s->diverted;
}

/* What was sent on a lane and has not been acknowledged, by type; the payload of all of it. */
static struct lx_type_counts lost_messages(struct lx_sock_fast *fast, unsigned int stream, int lane,
					   uint64_t *ret_payload)
{
	const struct lx_stream *s = lx_forward_stream(fast->forward, stream);
	uint64_t una = lx_forward_lane(fast->forward, lane)->una;
	uint64_t n[LX_LANE_TYPES] = { 0 };
	size_t overhead = lx_proto_overhead(s->version);

	*ret_payload = 0;
	for (uint32_t i = s->head; i != s->tail; i++) {
		const struct lx_slot *slot = &s->slot[i % LX_STREAM_SLOTS];

		if (slot->lane != lane || una >= slot->lane_start + slot->len)
			continue;
		n[slot->type % LX_LANE_TYPES]++;
		*ret_payload += slot->len - overhead;
	}
	return (struct lx_type_counts){ .ack = n[LX_MSG_ACK], .put = n[LX_MSG_PUT],
					.get = n[LX_MSG_GET], .reply = n[LX_MSG_REPLY] };
}

/* The lane's stream goes on, but for these. */
static void lane_lost(struct lx_sock_fast *fast, struct lx_sock_conn *conn, unsigned int stream)
{
	uint64_t payload;
	struct lx_type_counts n = lost_messages(fast, stream, conn->lane, &payload);

	lx_lnd_lost(conn->net->ni, &conn->peer->id.nid, &n, payload);
	lx_warn("nid=%s next_hop=%s messages=%" PRIu64 " reason=\"the connection that they were "
		"sent on has ended\" action=\"dropped; their senders time out or try again\"",
		lx_nid_str(&fast->stream[stream].conn->peer->id.nid),
		lx_nid_str(&conn->peer->id.nid), n.ack + n.put + n.get + n.reply);
	lx_forward_kick(fast->forward, stream);
}

/*
 * What the next hop has not acknowledged is lost, as it would be if we had it in our
 * buffers. The sender goes on: its other messages go elsewhere.
 */
static void lane_closing(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_lane *lane = lx_forward_lane(fast->forward, conn->lane);
	uint32_t owner = lx_fast_lane_owner(lane);

	__atomic_store_n(&lane->state, LX_LANE_DEAD, __ATOMIC_SEQ_CST);
	lx_sock_fast_count_conn(conn);
	if (conn->peer && conn->peer->hop >= 0)
		lx_fast_hop_lane_del(lx_forward_hop(fast->forward, conn->peer->hop), conn->lane);
	conn->reset = true;
	if (!lx_fast_lane_is_busy(lane))
		return;
	lx_fast_lane_drop_credits(fast, lane);
	if (owner < lx_forward_streams(fast->forward) && fast->stream[owner].conn)
		lane_lost(fast, conn, owner);
}

void lx_sock_fast_conn_closing(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;

	if (fast && conn->stream >= 0)
		stream_closing(fast, conn);
	if (fast && conn->lane >= 0)
		lane_closing(fast, conn);
}

void lx_sock_fast_conn_gone(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;

	if (fast && conn->stream >= 0) {
		struct lx_stream *s = lx_fast_stream_of(conn);

		lx_forward_flow_del(fast->forward, &s->key);
		s->state = LX_STREAM_FREE;
		fast->stream[conn->stream].conn = NULL;
		fast->n_streams--;
		fast->full = false;
	}
	if (fast && conn->lane >= 0) {
		struct lx_lane *lane = lx_forward_lane(fast->forward, conn->lane);

		lx_forward_flow_del(fast->forward, &lane->key);
		lane->state = LX_LANE_FREE;
		fast->lane[conn->lane] = NULL;
		fast->n_lanes--;
	}
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
		if (record->index < lx_forward_lanes(fast->forward) && fast->lane[record->index])
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

/* ---- life ---------------------------------------------------------------------------------- */

static void set_pace(struct lx_sock_fast *fast)
{
	unsigned int pace_ms = fast->n_changing	 ? HELD_TICK_MS
			       : fast->n_streams ? TICK_MS
						 : IDLE_TICK_MS;

	if (pace_ms == fast->pace_ms)
		return;
	fast->pace_ms = pace_ms;
	uv_timer_set_repeat(&fast->timer, pace_ms);
}

static void hops_tick(struct lx_sock_fast *fast, uint64_t now)
{
	fast->hops_ns = now;
	for (unsigned int i = 0; i < lx_forward_hops(fast->forward); i++) {
		if (!fast->hop[i])
			continue;
		if (!fast->shared[i])
			lx_fast_hop_share(fast, fast->hop[i]);
		lx_fast_hop_lanes(fast, fast->hop[i], now);
	}
	lx_fast_lanes_tick(fast, now);
}

static void streams_tick(struct lx_sock_fast *fast, uint64_t now)
{
	lx_fast_barrier_tick(fast);
	fast->n_changing = 0;
	for (unsigned int i = 0; i < lx_forward_streams(fast->forward); i++) {
		if (fast->stream[i].conn && !fast->stream[i].conn->closing)
			lx_fast_stream_tick(fast, i, now);
	}
	lx_fast_barrier_tick(fast); /* one that was asked for can begin at once */
}

/*
 * The programs are about to be unloaded. A socket has not seen the bytes that they moved
 * from or to its connection, so the connection ends with them. Routing is off by then:
 * there is nothing under way that was to be forwarded.
 */
static void leave(struct lx_sock_fast *fast)
{
	for (unsigned int i = 0; i < lx_forward_streams(fast->forward); i++) {
		if (fast->stream[i].conn)
			lx_sock_conn_close(fast->stream[i].conn, -ECONNABORTED,
					   LX_HSTATUS_LOCAL_ERROR);
	}
	for (unsigned int i = 0; i < lx_forward_lanes(fast->forward); i++) {
		if (fast->lane[i])
			lx_sock_conn_close(fast->lane[i], -ECONNABORTED,
					   LX_HSTATUS_LOCAL_ERROR);
	}
	if (fast->n_streams || fast->n_lanes)
		return; /* until the next tick */
	for (unsigned int i = 0; i < lx_forward_hops(fast->forward); i++) {
		if (fast->hop[i])
			lx_sock_fast_peer_gone(fast->hop[i]);
	}
	lx_sock_fast_stop(fast->host);
}

static void tick(struct lx_sock_fast *fast, uint64_t now)
{
	if (now >= fast->hops_ns + (TICK_MS - 1) * LX_SOCK_MSEC)
		hops_tick(fast, now);
	streams_tick(fast, now);
	set_pace(fast);
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
	fast->stream = calloc(lx_forward_streams(forward), sizeof(*fast->stream));
	fast->lane = calloc(lx_forward_lanes(forward), sizeof(*fast->lane));
	fast->run = calloc(lx_forward_lanes(forward), sizeof(*fast->run));
	fast->hop = calloc(lx_forward_hops(forward), sizeof(*fast->hop));
	fast->shared = calloc(lx_forward_hops(forward), sizeof(*fast->shared));
	if (!fast->stream || !fast->lane || !fast->run || !fast->hop || !fast->shared ||
	    lx_hash_init(&fast->dests)) {
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
