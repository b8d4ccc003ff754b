/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams: connections on which messages to route arrive. The life of a stream:
 *
 *	first message to be routed ─▶ TAKEOVER ─ 5 ms ─▶ ON, UNFRAMED ─ a boundary ─▶ ON, framed
 *	                              │      ▲  seen
 *	                       unseen ▼      │ seen
 *	                              ELSEWHERE
 */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../io/tcpinfo.h"
#include "priv.h"

/* Finds the socket position that corresponds to rx.consumed == 0. */
static int find_offset(struct lx_fp_conn *conn, uint64_t *ret_offset, struct lx_tcpinfo *ret_info)
{
	struct lx_tcpinfo before;
	struct lx_sock_conn_rx rx;
	int waiting, r;

	do {
		r = lx_tcpinfo_read(conn->facts.fd, &before);
		if (!r && ioctl(conn->facts.fd, SIOCINQ, &waiting))
			r = -errno;
		if (!r)
			r = lx_tcpinfo_read(conn->facts.fd, ret_info);
	} while (!r && before.received != ret_info->received);
	/* Read already, but not processed yet. */
	lx_sock_conn_rx(conn->conn, &rx);
	*ret_offset = before.received - waiting - rx.prefetched - rx.consumed;
	return r;
}

bool lx_fp_is_far(const struct lx_tcpinfo *info)
{
	return info->rtt_us >= LX_FAR_US;
}

/*
 * TCP enlarges a socket's window while the socket receives data; with lanes, ours receives none.
 * Nearby the initial window is enough. A connection from far away stays on the slow path until its
 * window is open.
 */
bool lx_fp_window_is_open(const struct lx_tcpinfo *info)
{
	return !lx_fp_is_far(info) ||
	       (info->received >= LX_FAR_BYTES && info->own_window >= LX_FAR_WINDOW);
}

/* Makes the programs watch the connection; they still pass everything up. */
static int stream_watch(struct lx_fp_conn *conn, int index)
{
	struct lx_fastpath *fastpath = conn->fp->fastpath;
	int r = lx_fastpath_flow_add(fastpath, &conn->key, LX_FLOW_STREAM, index);

	if (r)
		return r;
	r = lx_fastpath_takeover(fastpath, LX_FLOW_STREAM, index, false);
	if (r) {
		lx_fp_flow_leave(conn);
		conn->no_stream = true;
	}
	return r == -EOPNOTSUPP ? 0 : r; /* still listed, with the reason */
}

static int stream_begin(struct lx_fp_conn *conn, int index, int next_hop)
{
	struct lx_fp *fp = conn->fp;
	struct lx_stream *s = lx_fp_stream_at(fp, index);
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_tcpinfo info;
	int r;

	memset(s, 0, sizeof(*s));
	memset(state, 0, sizeof(*state));
	r = find_offset(conn, &state->pos_offset, &info);
	if (r)
		return r;
	if (lx_fp_is_far(&info))
		s->flags = LX_STREAM_FAR;
	s->lane = LX_NO_LANE;
	s->version = conn->facts.version;
	s->family = conn->facts.remote.sa.sa_family;
	s->flip = conn->facts.flip;
	s->peer = next_hop;
	s->ifindex = conn->facts.ifindex;
	s->net = conn->facts.ni->net;
	s->mss = lx_fp_mss_of(conn);
	s->tos = lx_fp_tos_of(conn);
	s->diverted = conn->shift;
	lx_fp_key_of(conn, &conn->key);
	s->key = conn->key;
	state->received = info.received;
	return stream_watch(conn, index);
}

static void stream_add(struct lx_fp_conn *conn)
{
	struct lx_fp *fp = conn->fp;
	const struct lx_fp_offender *offender;
	struct lx_fp_source *source;
	int index = lx_fp_stream_take(fp, conn, &source), peer;
	struct lx_fp_stream *state;
	struct lx_stream *s;

	if (index < 0)
		return;
	peer = lx_fp_peer_obtain(fp, conn->facts.peer);
	if (peer < 0 || stream_begin(conn, index, peer)) {
		lx_fp_source_put(fp, source);
		lx_fastpath_give(fp->fastpath, LX_FASTPATH_STREAMS, index);
		return;
	}
	s = lx_fp_stream_at(fp, index);
	state = &fp->stream[index];
	state->conn = conn;
	state->source = source;
	state->since_ns = state->busy_ns = lx_sock_now();
	offender = lx_fp_offender(fp, s->key.remote, state->since_ns);
	if (offender)
		lx_fp_stream_aside(state, s, offender->why, offender->until_ns);
	state->next_hop = -1;
	conn->stream = index;
}

/* Asks TCP only now and then: it takes many messages until the window is open. */
static bool window_is_open(struct lx_fp_conn *conn)
{
	struct lx_sock_conn_rx rx;
	struct lx_tcpinfo info;

	lx_sock_conn_rx(conn->conn, &rx);
	if (rx.consumed < conn->look_pos || lx_tcpinfo_read(conn->facts.fd, &info))
		return false;
	if (!lx_fp_window_is_open(&info))
		conn->look_pos = rx.consumed + LX_FAR_LOOK_BYTES;
	return lx_fp_window_is_open(&info);
}

static bool may_stream(struct lx_fp_conn *conn)
{
	if (!lx_fp_conn_on(conn) || conn->no_stream || conn->lane >= 0 ||
	    conn->facts.version < LX_SOCK_V2 || conn->facts.loopback || conn->facts.ni_loopback ||
	    conn->facts.userspace)
		return false;
	return window_is_open(conn);
}

/* Tells the programs where the next message begins. */
static void publish_boundary(struct lx_fp_conn *conn, struct lx_stream *s, uint64_t boundary)
{
	uint64_t stream_pos;

	__atomic_store_n(&s->boundary, boundary, __ATOMIC_RELEASE);
	if (!s->unframed || s->state != LX_STREAM_ON || (s->flags & LX_STREAM_NO_LANES))
		return;
	/* The sender may have used up its window. */
	stream_pos = boundary + s->diverted;
	if (stream_pos >= s->unframed_high || s->advertised_edge <= stream_pos)
		lx_fastpath_poke_ack(conn->fp->fastpath, conn->stream);
}

/* Ignore messages that would go back to their sender: they never get a lane. */
static void note_next_hop(struct lx_fp_conn *conn, int next_hop)
{
	struct lx_fastpath *fastpath = conn->fp->fastpath;
	struct lx_fp_stream *state = &conn->fp->stream[conn->stream];

	if (next_hop < 0 ||
	    lx_fp_peer_is_back(lx_fastpath_peer(fastpath, next_hop),
			       lx_fastpath_peer(fastpath, lx_fp_stream_of(conn)->peer)))
		return;
	state->next_hop = next_hop;
}

/* The programs cannot know this yet: when the stream begins to use lanes, it may have to wait. */
static void prefer(const struct lx_fp_conn *conn, struct lx_stream *s, size_t len)
{
	const struct lx_fp_stream *state = &conn->fp->stream[conn->stream];
	const struct lx_fp_peer *next_hop;

	if (!s->unframed || state->next_hop < 0)
		return;
	s->last_len = len;
	next_hop = lx_fastpath_peer(conn->fp->fastpath, state->next_hop);
	if (s->lane == LX_NO_LANE)
		s->lane = lx_lane_preferred(next_hop, conn->stream);
}

void lx_fp_message(void *state, struct lx_sock_conn *sock_conn, const struct lx_hdr *hdr,
		   size_t len)
{
	struct lx_fp_conn *conn = lx_fp_conn_obtain(state, sock_conn);
	struct lx_sock_conn_rx rx;
	struct lx_fp *fp = state;
	const struct lx_fp_dest *dest;
	struct lx_stream *s;
	bool ours;

	if (!conn)
		return;
	dest = hdr ? lx_fp_dest_lookup(fp, &hdr->dst_nid) : NULL;
	ours = dest && !dest->to.n;
	if (conn->stream < 0 && hdr && !ours && may_stream(conn))
		stream_add(conn);
	if (conn->stream < 0)
		return;
	s = lx_fp_stream_of(conn);
	if (hdr && !lx_nid_eq(&hdr->src_nid, &conn->facts.nid))
		__atomic_or_fetch(&s->flags, LX_STREAM_GATEWAY, __ATOMIC_RELAXED);
	lx_fp_stream_wake(fp, conn->stream);
	lx_sock_conn_rx(sock_conn, &rx);
	publish_boundary(conn, s, lx_fp_pos_now(conn, &rx) - rx.have + len);
	note_next_hop(conn, dest ? lx_fp_dest_next_hop(dest, conn->stream) : -1);
	prefer(conn, s, len);
}

/* ---- time ---------------------------------------------------------------------------- */

/* Frees the entry of a stream. Its messages on lanes are complete, and go on without it. */
static void give(struct lx_fp *fp, unsigned int index)
{
	lx_fp_grant_end(fp, lx_fp_stream_at(fp, index));
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES)
		lx_fp_lane_disown(lx_fp_lane_at(fp, i), index);
	lx_fastpath_give(fp->fastpath, LX_FASTPATH_STREAMS, index);
	fp->full = false;
}

/* Finds streams with new packets, and frees those that have ended. */
static void look(struct lx_fp *fp, uint64_t now)
{
	fp->look_ns = now;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		struct lx_stream *s = lx_fp_stream_at(fp, i);
		struct lx_fp_stream *state = &fp->stream[i];

		if (!state->conn && now >= state->gone_ns + LX_SETTLE_NS)
			give(fp, i);
		if (!state->conn || state->conn->closing)
			continue;
		__atomic_store_n(&s->tos, lx_fp_tos_of(state->conn), __ATOMIC_RELAXED);
		/* Or their NI was switched on or off. */
		if (lx_fp_stream_may(fp, i) == !!(s->flags & LX_STREAM_NO_LANES))
			lx_fp_stream_wake(fp, i);
		if (s->packets == state->packets_seen)
			continue;
		state->packets_seen = s->packets;
		state->busy_ns = now;
		lx_fp_stream_wake(fp, i);
	}
}

/*
 * Its packets have not been seen in time, though its socket has received some: they pass, as if it
 * was no stream, until they are seen.
 */
static void elsewhere(struct lx_fp_conn *conn, struct lx_fp_stream *state, uint64_t now)
{
	struct lx_stream *s = lx_fp_stream_of(conn);
	struct lx_tcpinfo info;

	if (now < state->since_ns + LX_SEEN_NS || lx_tcpinfo_read(conn->facts.fd, &info))
		return;
	state->since_ns = now;
	if (s->state == LX_STREAM_ELSEWHERE || info.received == state->received ||
	    lx_fastpath_flow_add(conn->fp->fastpath, &conn->key, LX_FLOW_SHIFT, conn->shift))
		return;
	s->state = LX_STREAM_ELSEWHERE;
	if (!conn->shift)
		lx_fp_conn_filter(conn, false);
}

/* Once all its packets have been seen for a moment, it is a stream. */
static void take_over(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fp_stream_at(fp, index);
	bool watched = s->state == LX_STREAM_TAKEOVER;
	int r;

	if (now < state->since_ns + (watched ? LX_TAKEOVER_NS : LX_SEEN_NS)) {
		fp->n_changing += watched;
		return;
	}
	if (!lx_fp_conn_is_seen(state->conn, &s->key, &s->ifindex)) {
		elsewhere(state->conn, state, now);
		return;
	}
	r = watched ? lx_fp_conn_filter(state->conn, true) : stream_watch(state->conn, index);
	if (!r && watched)
		r = lx_fastpath_takeover(fp->fastpath, LX_FLOW_STREAM, index, true);
	if (r == -EAGAIN || !watched)
		state->since_ns = state->busy_ns = now;
	else if (r)
		lx_debug("stream=%u reason=\"its socket is gone\"", index);
}

/*
 * The programs' ACKs follow what the socket sends, and that may be nothing for long. So they follow
 * the route, too, where packets come another way: the sender repeats what it got no ACK for.
 */
static void follow(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_stream *s = lx_fp_stream_at(fp, index);
	struct lx_fp_conn *conn = fp->stream[index].conn;

	if (now < conn->mss_ns)
		return;
	conn->mss_ns = now + LX_MSS_NS;
	if (lx_fastpath_moves(fp->fastpath, &s->key, &s->ifindex))
		lx_fastpath_poke_ack(fp->fastpath, index);
}

static void tick_open(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const struct lx_stream *s = lx_fp_stream_at(fp, index);

	if (fp->stream[index].conn->no_stream)
		return;
	if (s->state != LX_STREAM_ON) {
		take_over(fp, index, now);
		return;
	}
	lx_fp_stream_tick(fp, index, now);
	follow(fp, index, now);
}

static void tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];

	if (state->conn && !state->conn->closing)
		tick_open(fp, index, now);
	if (!state->conn || state->conn->closing ||
	    (now >= state->busy_ns + LX_CALM_NS && lx_fp_stream_is_calm(fp, index))) {
		lx_fp_grant_end(fp, lx_fp_stream_at(fp, index));
		fp->active[index / 64] &= ~(1ull << index % 64);
	}
}

void lx_fp_streams_tick(struct lx_fp *fp, uint64_t now)
{
	bool switched = fp->was_on != lx_sock_offload_on();

	fp->n_changing = 0;
	fp->was_on = lx_sock_offload_on();
	if (now >= fp->look_ns + LX_CALM_LOOK_NS)
		look(fp, now);
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		if (switched || fp->active[i / 64] >> i % 64 & 1)
			tick(fp, i, now);
	}
}

/* ---- its connection ends ------------------------------------------------------------- */

void lx_fp_stream_closing(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	struct lx_stream *s = lx_fp_stream_of(conn);

	s->flags |= LX_STREAM_NO_LANES;
	lx_fp_count_conn(fp, conn);
	lx_fp_grant_end(fp, s);
	lx_fp_stream_leave(fp, conn);
	conn->shift = s->diverted;
}
