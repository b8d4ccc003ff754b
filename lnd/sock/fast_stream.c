/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams: connections that messages to be routed come in by. The life of one:
 *
 *	first message to be routed ─▶ ARMED ─ 5 ms ─▶ ON, RAW ─ a boundary ─▶ ON, framed
 */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../../user/io/tcpinfo.h"
#include "fast_priv.h"

/* So often it is looked whether packets have come for streams that are calm, and then so long. */
#define LOOK_NS (100 * LX_SOCK_MSEC)
#define CALM_NS (500 * LX_SOCK_MSEC)
/* A program that was at a stream when it ended is done with it by then. */
#define GONE_NS (50 * LX_SOCK_MSEC)

/* Bytes of the connection's socket that have been dealt with, from its beginning. */
static int find_offset(struct lx_sock_conn *conn, uint64_t *ret_offset)
{
	struct lx_tcpinfo before, after;
	int waiting, r;

	do {
		r = lx_tcpinfo_read(conn->fd, &before);
		if (!r && ioctl(conn->fd, SIOCINQ, &waiting))
			r = -errno;
		if (!r)
			r = lx_tcpinfo_read(conn->fd, &after);
	} while (!r && before.received != after.received);
	/* What this turn of the loop has read already, but has not come to. */
	*ret_offset = before.received - waiting - conn->rx.ahead - conn->rx.taken;
	return r;
}

/* Has the programs look at what comes in, but for now pass it up. */
static int stream_begin(struct lx_sock_conn *conn, int index, int hop)
{
	struct lx_sock_fast *fast = conn->host->fast;
	struct lx_stream *s = lx_forward_stream(fast->forward, index);
	struct lx_fast_stream *state = &fast->stream[index];
	int r;

	memset(s, 0, sizeof(*s));
	memset(state, 0, sizeof(*state));
	r = find_offset(conn, &state->pos_offset);
	if (r)
		return r;
	s->version = conn->version;
	s->family = conn->remote.sa.sa_family;
	s->flip = conn->flip;
	s->hop = hop;
	s->ifindex = conn->net->netif.index;
	s->net = conn->net->ni->net;
	s->mss = lx_fast_mss_of(conn);
	s->tos = lx_fast_tos_of(conn);
	lx_fast_key_of(conn, &s->key);
	r = lx_forward_flow_add(fast->forward, &s->key, LX_FLOW_STREAM, index);
	if (r)
		return r;
	r = lx_forward_arm(fast->forward, LX_FLOW_STREAM, index, false);
	if (r) {
		lx_forward_flow_del(fast->forward, &s->key);
		conn->no_stream = true;
	}
	return r == -EOPNOTSUPP ? 0 : r; /* then it is shown, with the reason */
}

static void stream_add(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;
	struct lx_fast_source *source;
	int index = lx_fast_stream_take(fast, conn, &source), hop;
	struct lx_fast_stream *state;
	struct lx_stream *s;

	if (index < 0)
		return;
	hop = lx_fast_hop_obtain(fast, conn->peer);
	if (hop < 0 || stream_begin(conn, index, hop)) {
		lx_fast_source_put(fast, source);
		lx_forward_give(fast->forward, LX_FORWARD_STREAMS, index);
		return;
	}
	s = lx_forward_stream(fast->forward, index);
	state = &fast->stream[index];
	state->conn = conn;
	state->source = source;
	state->since_ns = state->busy_ns = lx_sock_now();
	if (state->since_ns < lx_fast_offender_until(fast, s->key.remote))
		lx_fast_stream_aside(state, s, LX_STREAM_ASIDE_UNSAFE,
				     lx_fast_offender_until(fast, s->key.remote));
	state->hold_pause_ns = LX_FAST_HOLD_PAUSE_MIN_NS;
	state->to_hop = -1;
	conn->stream = index;
}

static bool may_stream(const struct lx_sock_conn *conn, const struct lx_hdr *hdr)
{
	if (!lx_sock_fast_on(conn->net) || conn->no_stream || conn->lane >= 0 ||
	    conn->version < LX_SOCK_V2 || conn->loopback || conn->net->netif.loopback ||
	    conn->rx.userspace)
		return false;
	return !lx_sock_net_lookup(conn->host, &hdr->dst_nid);
}

/* Whether a message on a lane is done with: it has arrived, or never will. */
static bool slot_is_done(struct lx_sock_fast *fast, const struct lx_slot *slot)
{
	const struct lx_lane *lane = lx_forward_lane(fast->forward, slot->lane);

	return !lane || lane->state == LX_LANE_DEAD || lane->state == LX_LANE_FREE ||
	       __atomic_load_n(&lane->una, __ATOMIC_ACQUIRE) >= slot->lane_start + slot->len;
}

/*
 * Whether all messages on lanes that came before this position of the socket are done with:
 * those in front of the run of bytes that has it. Our kernel acknowledges that run at once,
 * and the ring loses it as soon as all before it is done; so if it is not there, what is
 * came later, and does not matter.
 */
static bool lanes_are_through(struct lx_sock_fast *fast, struct lx_stream *s, uint64_t pos)
{
	bool raw = __atomic_load_n(&s->raw, __ATOMIC_ACQUIRE), done = true;
	uint32_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
	uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);

	for (; head != tail; head++) {
		const struct lx_slot *slot = &s->slot[head % LX_STREAM_SLOTS];

		if (slot->lane != LX_NO_LANE)
			done = done && slot_is_done(fast, slot);
		else if (pos < slot->lane_start)
			return true;
		else if (pos < slot->lane_start + slot->len || (raw && head + 1 == tail))
			return done;
	}
	return true;
}

uint64_t lx_fast_pos_now(const struct lx_sock_conn *conn)
{
	return conn->host->fast->stream[conn->stream].pos_offset + conn->rx.taken;
}

bool lx_sock_fast_clear(struct lx_sock_conn *conn)
{
	if (conn->stream < 0)
		return true;
	return lanes_are_through(conn->host->fast, lx_fast_stream_of(conn), conn->rx.gate);
}

/* Tells the programs where the next message begins. */
static void publish_boundary(struct lx_sock_conn *conn, struct lx_stream *s, uint64_t boundary)
{
	uint64_t stream_pos;

	__atomic_store_n(&s->boundary, boundary, __ATOMIC_RELEASE);
	if (!s->raw || s->state != LX_STREAM_ON || (s->flags & LX_STREAM_NO_LANES))
		return;
	/* The sender may have come to the end of what it was allowed. */
	stream_pos = boundary + s->diverted;
	if (stream_pos >= s->raw_high || s->told_edge <= stream_pos)
		lx_forward_kick(conn->host->fast->forward, conn->stream);
}

/* What would go back to its sender never gets a lane, so it is no reason to wait for one. */
static void note_hop(struct lx_sock_conn *conn, int hop)
{
	struct lx_forward *forward = conn->host->fast->forward;
	struct lx_fast_stream *state = &conn->host->fast->stream[conn->stream];

	if (hop < 0 || lx_hop_is_back(lx_forward_hop(forward, hop),
				      lx_forward_hop(forward, lx_fast_stream_of(conn)->hop)))
		return;
	state->n_to_hop = hop == state->to_hop ? state->n_to_hop + 1 : 0;
	state->to_hop = hop;
}

bool lx_sock_fast_message(struct lx_sock_conn *conn, const struct lx_hdr *hdr, size_t len)
{
	struct lx_sock_fast *fast = conn->host->fast;
	const struct lx_fast_dest *dest;
	struct lx_stream *s;
	uint64_t start;
	bool ours;
	int hop;

	if (!fast || !fast->host)
		return true;
	if (conn->stream < 0) {
		if (!hdr || !may_stream(conn, hdr))
			return true;
		stream_add(conn);
		if (conn->stream < 0)
			return true;
	}
	s = lx_fast_stream_of(conn);
	lx_fast_stream_wake(fast, conn->stream);
	start = lx_fast_pos_now(conn) - conn->rx.have;
	publish_boundary(conn, s, start + len);
	ours = hdr && lx_sock_net_lookup(conn->host, &hdr->dst_nid);
	if (ours)
		lx_fast_learn_own(fast, &hdr->dst_nid);
	dest = hdr ? lx_fast_dest_lookup(fast, &hdr->dst_nid) : NULL;
	hop = dest ? lx_fast_dest_hop(dest, conn->stream) : -1;
	note_hop(conn, hop);
	/* Order is that of messages to one node: with what goes elsewhere, ours have none. */
	if (!hdr || ours || s->state != LX_STREAM_ON)
		return true;
	conn->rx.gate = start;
	if (lanes_are_through(fast, s, start))
		return true;
	conn->rx.gated = true;
	return false;
}

/* ---- time ---------------------------------------------------------------------------- */

/* Finds out for which streams packets have come, and which are not used any more. */
static void look(struct lx_sock_fast *fast, uint64_t now)
{
	fast->look_ns = now;
	lx_forward_for_each (i, fast->forward, LX_FORWARD_STREAMS) {
		const struct lx_stream *s = lx_forward_stream(fast->forward, i);
		struct lx_fast_stream *state = &fast->stream[i];

		if (!state->conn && now >= state->gone_ns + GONE_NS) {
			lx_forward_give(fast->forward, LX_FORWARD_STREAMS, i);
			fast->full = false;
		}
		if (!state->conn || state->conn->closing)
			continue;
		/* Also those whose NI was switched on or off. */
		if (lx_sock_fast_on(state->conn->net) == !!(s->flags & LX_STREAM_NO_LANES))
			lx_fast_stream_wake(fast, i);
		if (s->packets == state->packets_seen)
			continue;
		state->packets_seen = s->packets;
		state->busy_ns = now;
		lx_fast_stream_wake(fast, i);
	}
}

static void tick(struct lx_sock_fast *fast, unsigned int index, uint64_t now)
{
	struct lx_fast_stream *state = &fast->stream[index];

	if (state->conn && !state->conn->closing)
		lx_fast_stream_tick(fast, index, now);
	if (!state->conn || state->conn->closing ||
	    (now >= state->busy_ns + CALM_NS && lx_fast_stream_is_calm(fast, index)))
		fast->active[index / 64] &= ~(1ull << index % 64);
}

void lx_fast_streams_tick(struct lx_sock_fast *fast, uint64_t now)
{
	bool switched = fast->was_on != lx_sock_tun.fast_path;

	lx_fast_barrier_tick(fast);
	fast->n_changing = 0;
	fast->was_on = lx_sock_tun.fast_path;
	if (now >= fast->look_ns + LOOK_NS)
		look(fast, now);
	lx_forward_for_each (i, fast->forward, LX_FORWARD_STREAMS) {
		if (switched || fast->active[i / 64] >> i % 64 & 1)
			tick(fast, i, now);
	}
	lx_fast_barrier_tick(fast); /* one that was asked for can begin at once */
}

/* ---- its connection ends ------------------------------------------------------------- */

void lx_fast_stream_closing(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_stream *s = lx_fast_stream_of(conn);

	s->flags |= LX_STREAM_NO_LANES;
	lx_sock_fast_count_conn(conn);
	lx_fast_stream_leave(fast, conn);
	conn->reset = conn->reset || s->diverted;
}
