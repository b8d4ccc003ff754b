/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See fastpath.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../io/poll.h"
#include "priv.h"

/* ---- connections end --------------------------------------------------------------- */

static bool conn_ended(void *state, struct lx_sock_conn *sock_conn)
{
	struct lx_fp_conn *conn = lx_sock_conn_state(sock_conn);

	return conn && lx_fp_conn_ended(state, conn);
}

static void conn_closing(void *state, struct lx_sock_conn *sock_conn)
{
	struct lx_fp_conn *conn = lx_sock_conn_state(sock_conn);

	if (!conn)
		return;
	conn->closing = true;
	if (conn->stream >= 0)
		lx_fp_stream_closing(state, conn);
	/* Its FIN would have the wrong sequence number. */
	if (conn->shift)
		lx_sock_conn_set_reset(conn->conn);
	if (conn->lane >= 0)
		lx_fp_lane_closing(state, conn);
	else if (!conn->shift) /* its socket outlives the flow */
		lx_fp_conn_filter(conn, false);
}

static void conn_closed(void *state, struct lx_sock_conn *sock_conn)
{
	struct lx_fp_conn *conn = lx_sock_conn_state(sock_conn);

	if (!conn)
		return;
	if (conn->stream >= 0 || conn->shift)
		lx_fp_stream_ended(state, conn);
	if (conn->lane >= 0)
		lx_fp_lane_gone(state, conn);
	lx_fp_conn_free(conn);
}

/* ---- records ---------------------------------------------------------------------------- */

/* Acknowledges zero-copy messages that have arrived. */
static void answer_cookies(struct lx_fp *fp, unsigned int index)
{
	struct lx_stream *s = lx_fp_stream_at(fp, index);
	struct lx_fp_conn *conn = s ? fp->stream[index].conn : NULL;
	uint64_t cookie;

	if (!conn)
		return;
	__atomic_store_n(&s->cookies_signaled, 0, __ATOMIC_SEQ_CST);
	while (s->cookie_head != __atomic_load_n(&s->cookie_tail, __ATOMIC_ACQUIRE)) {
		cookie = s->cookie[s->cookie_head++ % LX_STREAM_COOKIES];
		__atomic_sub_fetch(&s->cookies_due, 1, __ATOMIC_ACQ_REL);
		if (!conn->closing && lx_sock_conn_acknowledge(conn->conn, cookie, true))
			lx_sock_conn_fail(conn->conn, -ENOMEM, LX_HSTATUS_LOCAL_ERROR,
					  "cannot acknowledge a zero-copy message");
	}
}

static void on_record(const struct lx_record *record, void *arg)
{
	struct lx_fp *fp = arg;

	switch (record->type) {
	case LX_RECORD_COOKIES:
		answer_cookies(fp, record->index);
		break;
	case LX_RECORD_POKE_ACK:
		lx_fastpath_poke_ack(fp->fastpath, record->index);
		break;
	case LX_RECORD_STREAM_PAST:
		lx_fp_conn_past(fp->stream[record->index].conn, record->value);
		break;
	case LX_RECORD_LANE_PAST:
		lx_fp_conn_past(fp->lane[record->index], record->value);
		break;
	case LX_RECORD_MSS: /* the socket knows by the next tick */
		if (fp->lane[record->index])
			fp->lane[record->index]->mss_ns = 0;
		break;
	}
}

static void on_records(uv_poll_t *poll, int status, int events)
{
	static const struct lx_fastpath_ops ops = { .record = on_record, .stored = lx_fp_stored };
	struct lx_fp *fp = poll->data;

	lx_loop_enter(fp->loop);
	if (fp->host)
		lx_fastpath_dispatch(fp->fastpath, &ops, fp);
	lx_poll_go_on(poll, status, UV_READABLE, on_records);
	lx_loop_leave(fp->loop);
}

/* ---- ticks --------------------------------------------------------------------------------- */

static void set_pace(struct lx_fp *fp)
{
	unsigned int pace_ms = fp->n_changing ? LX_TICK_CHANGING_MS
			       : lx_fastpath_used(fp->fastpath, LX_FASTPATH_STREAMS)
				       ? LX_TICK_MS
				       : LX_TICK_IDLE_MS;

	if (pace_ms == fp->pace_ms)
		return;
	fp->pace_ms = pace_ms;
	uv_timer_set_repeat(&fp->timer, pace_ms);
}

static void peers_tick(struct lx_fp *fp, uint64_t now)
{
	unsigned int left = 0;
	int i;

	fp->peers_ns = now;
	while ((i = lx_fp_round(fp, LX_FASTPATH_PEERS, &fp->peer_at, &left)) >= 0) {
		if (!fp->peer[i]->shared)
			lx_fp_peer_share(fp, fp->peer[i]);
		lx_fp_peer_lanes(fp, fp->peer[i], now);
	}
	lx_fp_lanes_tick(fp, now);
	lx_fp_ends_tick(fp, now);
}

static void fp_free(struct lx_fp *fp)
{
	lx_hash_fini(&fp->dests);
	lx_hash_fini(&fp->sources);
	free(fp->stream);
	free(fp->lane);
	free(fp->run);
	free(fp->peer);
	free(fp);
}

/* ---- tables that grow ---------------------------------------------------------------------- */

/* Releases the host; from here on the tables may be freed. */
static void host_end(struct lx_fp *fp)
{
	lx_sock_offload_end(fp->host);
	fp->host = NULL;
}

static void do_grow(uv_work_t *work)
{
	struct lx_fp *fp = work->data;

	fp->grow_error = lx_fastpath_grow(fp->fastpath);
}

static void on_grown(uv_work_t *work, int status)
{
	struct lx_fp *fp = work->data;

	lx_loop_enter(fp->loop);
	fp->growing = false;
	if (fp->stopping) {
		host_end(fp);
	} else if (fp->grow_error) {
		fp->grow_ns = lx_sock_now() + LX_SEARCH_NS;
		lx_warn("reason=\"no memory for more streams, lanes or next hops: %s\" "
			"action=\"further connections are served without the kernel; tried again\"",
			strerror(-fp->grow_error));
	}
	lx_loop_leave(fp->loop);
	if (!--fp->open)
		fp_free(fp);
}

static void grow(struct lx_fp *fp, uint64_t now)
{
	if (fp->growing || now < fp->grow_ns || !lx_fastpath_is_short(fp->fastpath))
		return;
	fp->grow.data = fp;
	fp->growing = !uv_queue_work(lx_loop_uv(fp->loop), &fp->grow, do_grow, on_grown);
	fp->open += fp->growing;
}

/* ---- life ---------------------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct lx_fp *fp = handle->data;

	if (!--fp->open)
		fp_free(fp);
}

static void host_stop(void *state)
{
	struct lx_fp *fp = state;
	struct lx_fp_conn *conn;

	while ((conn = lx_list_first(&fp->conns, struct lx_fp_conn, link)))
		lx_fp_conn_free(conn);
	fp->stopping = true;
	lx_fp_forget(fp, NULL, LX_NET_U32_ANY);
	uv_close((uv_handle_t *)&fp->timer, on_handle_closed);
	uv_close((uv_handle_t *)&fp->poll, on_handle_closed);
	if (!fp->growing)
		host_end(fp);
}

/* Whether a connection depends on the programs. */
static bool is_in_use(const struct lx_fp_conn *conn)
{
	return conn->stream >= 0 || conn->shift ||
	       (conn->lane >= 0 && conn->lane_state != LX_FP_LANE_UNSEEN);
}

static bool is_unused(const struct lx_fp *fp)
{
	const struct lx_fp_conn *conn;

	lx_list_for_each (conn, &fp->conns, link) {
		if (is_in_use(conn))
			return false;
	}
	return true;
}

/*
 * The programs are about to be unloaded. Sockets have not seen the bytes that the programs moved
 * from or to their connections, so these connections are closed. Routing is off by then, so
 * no message is in flight.
 */
static void leave(struct lx_fp *fp)
{
	struct lx_fp_conn *conn;

	if (fp->growing)
		return;
	lx_list_for_each (conn, &fp->conns, link) {
		if (is_in_use(conn))
			lx_sock_conn_close(conn->conn, -ECONNABORTED, LX_HSTATUS_LOCAL_ERROR);
	}
	if (!is_unused(fp))
		return; /* until the next tick */
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_PEERS)
		lx_fp_peer_gone(fp, fp->peer[i]->peer);
	host_stop(fp);
}

static void tick(struct lx_fp *fp, uint64_t now)
{
	if (now >= fp->peers_ns + (LX_TICK_MS - 1) * LX_MS_NS)
		peers_tick(fp, now);
	lx_fp_streams_tick(fp, now);
	set_pace(fp);
	grow(fp, now);
}

static void on_timer(uv_timer_t *timer)
{
	struct lx_fp *fp = timer->data;

	lx_loop_enter(fp->loop);
	if (fp->host && lx_sock_offload_is_leaving(fp->offload))
		leave(fp);
	else if (fp->host)
		tick(fp, lx_sock_now());
	lx_loop_leave(fp->loop);
}

static void *host_start(struct lx_sock_offload *offload, struct lx_sock_host *host,
			struct lx_env *env)
{
	struct lx_fastpath *fastpath =
		lx_container_of(offload, struct lx_fp_offload, offload)->fastpath;
	struct lx_fp *fp = calloc(1, sizeof(*fp));

	if (!fp)
		return NULL;
	fp->offload = offload;
	fp->host = host;
	fp->loop = lx_env_loop(env, 0);
	fp->fastpath = fastpath;
	lx_list_init(&fp->dest_list);
	lx_list_init(&fp->conns);
	/* For the maximum: pages that are never touched take no memory. */
	fp->stream = calloc(LX_STREAMS_MAX, sizeof(*fp->stream));
	fp->lane = calloc(LX_LANES_MAX, sizeof(*fp->lane));
	fp->run = calloc(LX_LANES_MAX, sizeof(*fp->run));
	fp->peer = calloc(LX_PEERS_MAX, sizeof(*fp->peer));
	if (!fp->stream || !fp->lane || !fp->run || !fp->peer ||
	    lx_hash_init(&fp->dests) || lx_hash_init(&fp->sources)) {
		fp_free(fp);
		return NULL;
	}
	fp->poll.data = fp->timer.data = fp;
	uv_timer_init(lx_loop_uv(fp->loop), &fp->timer);
	uv_timer_start(&fp->timer, on_timer, LX_TICK_IDLE_MS, LX_TICK_IDLE_MS);
	uv_poll_init(lx_loop_uv(fp->loop), &fp->poll, lx_fastpath_fd(fastpath));
	uv_poll_start(&fp->poll, UV_READABLE, on_records);
	fp->open = 2;
	lx_fp_learn_own(fp);
	return fp;
}

static const struct lx_sock_offload_ops offload_ops = {
	.host_start = host_start,
	.host_stop = host_stop,
	.received = lx_fp_message,
	.forwarding = lx_fp_learn,
	.policy_changed = lx_fp_forget,
	.conn_ended = conn_ended,
	.conn_closing = conn_closing,
	.conn_closed = conn_closed,
	.peer_gone = lx_fp_peer_gone,
	.count = lx_fp_count,
};

void lx_fp_offload_init(struct lx_fp_offload *offload, struct lx_fastpath *fastpath)
{
	*offload = (struct lx_fp_offload){ .offload.ops = &offload_ops, .fastpath = fastpath };
}
