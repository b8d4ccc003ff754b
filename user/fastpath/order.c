/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams changing between lane 0 and lanes. While we have messages of a stream, later ones to the
 * same NIDs must not overtake them on a lane: the programs wait until we publish that ours have
 * arrived. Under continuous traffic that moment never comes by itself, so we create one: HOLD
 * makes the sender run dry.
 */
#include "priv.h"

#define TAKEOVER_NS (5 * LX_SOCK_MSEC)
/*
 * A sender on HOLD only waits for what we still have of it, so giving up gains little. From far
 * away it takes some round trips to finish its message.
 */
#define HOLD_MAX_NS (400 * LX_SOCK_MSEC)
#define HOLD_MAX_TRIPS 8
/*
 * Inside a message the sender only stalls if it cannot finish it, or until it hears that it
 * may.
 */
#define HOLD_STUCK_NS (5 * LX_SOCK_MSEC)
#define HOLD_STUCK_TRIPS 2
/* From further away, nothing arrives before what we have has been forwarded. */
#define EARLY_NS (10 * LX_SOCK_MSEC)
#define HOLD_PAUSE_MAX_NS (2 * LX_SOCK_SECOND)
/* A hold was worth it if this many messages took lanes before the next one. */
#define HOLD_WORTH 64
/* The mean until messages have been seen. */
#define MEAN_FIRST 1024u
/*
 * A packet whose messages go different ways becomes a packet for each, and a GSO packet with many
 * of them is resegmented first. With fewer bytes for each, and more of them for a message, the slow
 * path is cheaper.
 */
#define COPY_WORTH (8u << 10)
#define COPIES_PER_MESSAGE 2
#define COPIES_MIN 1024
#define COPIES_OF_RESEGMENT 32
/* Senders of large messages are stopped between them instead: less to cut off. */
#define STOP_MEAN (256u << 10)
#define STOP_COPIES 128
#define STOP_NS LX_SOCK_SECOND
/*
 * With this much loss in front of us, our socket reports it sooner than a next hop further away
 * would; and each lost header costs a change to lane 0 and back.
 */
#define GAP_WORTH (8u << 20)
#define GAPS_MIN 4
#define ASIDE_MIN_NS (2 * LX_SOCK_SECOND)
#define ASIDE_MAX_NS (16 * LX_SOCK_SECOND)
/*
 * Others may have to wait for a stream, beyond SLOW_FREE_NS for each message, for this share of the
 * time, and for so long before it is called slow. Any busy machine holds up a message now and then.
 */
#define SLOW_FREE_NS (20 * LX_SOCK_MSEC)
#define SLOW_SHARE 10
#define SLOW_DEBT_NS (200 * LX_SOCK_MSEC)
/* So many messages behind one that is late: its sender has to wait. Longer ones fill our buffers.
 */
#define LATE_BEHIND 16
#define LATE_MEAN (8u << 10)
/* A slow sender gains little from lanes, and each attempt may cost others seconds. */
#define SLOW_MAX_NS (300 * LX_SOCK_SECOND)
/* How often the core gets a message for another router, from streams with this many since. */
#define SAMPLE_NS LX_SOCK_SECOND
#define SAMPLE_MIN 64

/* ---- what has arrived ------------------------------------------------------------ */

/* Publishes up to where everything has arrived, if there is a barrier for it. */
static void publish_reached(struct lx_fp *fp, struct lx_fp_stream *state, struct lx_stream *s)
{
	if (!state->quiet_barrier ||
	    !lx_fp_hops_reached(fp, &state->quiet_hops, state->quiet_barrier))
		return;
	__atomic_store_n(&s->slowpath_done, state->quiet_pos, __ATOMIC_RELEASE);
	state->quiet_barrier = 0;
}

/*
 * Publishes up to where everything has been forwarded and acknowledged. Starts between two
 * messages, when everything before has been sent.
 */
static void publish_slowpath_done(struct lx_fp *fp, struct lx_fp_stream *state, struct lx_stream *s)
{
	struct lx_fp_conn *conn = state->conn;
	struct lx_sock_conn_rx rx;

	publish_reached(fp, state, s);
	if (state->quiet_barrier || s->slowpath_last <= s->slowpath_done)
		return;
	lx_sock_conn_rx(conn->conn, &rx);
	if (!rx.quiet)
		return;
	state->quiet_pos = lx_fp_pos_now(conn, &rx);
	state->quiet_hops = conn->hops;
	conn->hops.n = 0;
	/* A message may have gone elsewhere than was expected when it came. */
	if (conn->hops_changes != fp->changes)
		state->quiet_hops.n = LX_FP_HOPS_ANY;
	conn->hops_changes = fp->changes;
	/* One that begins now or later: those under way began too early. */
	state->quiet_barrier = fp->barrier + 1;
	(void)lx_fp_hops_reached(fp, &state->quiet_hops, state->quiet_barrier);
}

/* ---- holding ---------------------------------------------------------------------- */

static void release(struct lx_fp *fp, unsigned int index)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);

	state->hold_ns = 0;
	__atomic_and_fetch(&s->flags, ~LX_STREAM_HOLD, __ATOMIC_RELEASE);
	lx_fastpath_poke_ack(fp->fastpath, index);
}

static void hold(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);
	/* Large messages wait for their lane, so the next hold gains something. */
	bool worth = s->lane_messages - state->lanes_at_hold >= HOLD_WORTH ||
		     state->mean >= STOP_MEAN;

	state->hold_pause_ns = worth ? LX_FP_HOLD_PAUSE_MIN_NS : 2 * state->hold_pause_ns;
	if (state->hold_pause_ns > HOLD_PAUSE_MAX_NS)
		state->hold_pause_ns = HOLD_PAUSE_MAX_NS;
	state->lanes_at_hold = s->lane_messages;
	state->hold_ns = state->high_ns = now;
	state->hold_after_ns = now + state->hold_pause_ns;
	__atomic_or_fetch(&s->flags, LX_STREAM_HOLD, __ATOMIC_RELEASE);
}

/* Whether the stream's messages could take a lane, but for the order; else a hold gains nothing. */
static bool has_lanes(struct lx_fp *fp, const struct lx_fp_stream *state, uint64_t now)
{
	const struct lx_fp_peer *next_hop;

	if (state->next_hop < 0)
		return false;
	next_hop = lx_fastpath_peer(fp->fastpath, state->next_hop);
	for (unsigned int i = 0; i < next_hop->n_lanes; i++) {
		const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, next_hop->lane[i]);

		if (!lx_fp_lane_takes(lane, LX_LANE_SLOW_NS, now))
			return true;
	}
	return false;
}

/* Whether a sender on HOLD has stopped inside a message. */
static bool hold_is_stuck(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	const struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);

	if (s->high != state->high_seen || s->unframed || s->high >= s->parse_next) {
		state->high_seen = s->high;
		state->high_ns = now;
	}
	if (s->advertised_edge < s->parse_next)
		lx_fastpath_poke_ack(fp->fastpath, index); /* maybe to its end now */
	return now >= state->high_ns + HOLD_STUCK_NS + HOLD_STUCK_TRIPS * state->far_ns;
}

/*
 * Whether a sender on HOLD has waited too long. A sender far away first uses up the window
 * advertised before, and does not wait meanwhile.
 */
static bool hold_is_over(struct lx_fp_stream *state, const struct lx_stream *s, uint64_t now)
{
	if (state->far_ns && s->high != state->high_held) {
		state->high_held = s->high;
		state->hold_ns = now;
	}
	return now >= state->hold_ns + HOLD_MAX_NS + HOLD_MAX_TRIPS * state->far_ns;
}

/*
 * Whether the sender may go on: everything we had has been forwarded. A sender far away may go on
 * once everything has arrived here: what it sends then arrives a round trip later.
 */
static bool may_go_on(const struct lx_fp_stream *state, const struct lx_stream *s)
{
	if (s->unframed)
		return false;
	return s->slowpath_last <= s->slowpath_done ||
	       (state->far_ns >= EARLY_NS && s->acked == s->parse_next && s->acked >= s->window_edge);
}

/* Only the order keeps messages on lane 0: find a moment to change over. */
static void stream_order(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);
	uint64_t order = s->reasons[LX_LANE0_ORDER];
	bool asked = order != state->order_seen || s->unframed;

	state->order_seen = order;
	publish_slowpath_done(fp, state, s);
	if (state->hold_ns && (may_go_on(state, s) || hold_is_over(state, s, now) ||
			       hold_is_stuck(fp, index, now)))
		release(fp, index);
	else if (!state->hold_ns && asked && s->slowpath_last > s->slowpath_done &&
		 has_lanes(fp, state, now) && now >= state->hold_after_ns)
		hold(fp, index, now);
}

static void stream_window(struct lx_fp *fp, struct lx_fp_stream *state, const struct lx_stream *s)
{
	uint64_t window = s->reasons[LX_LANE0_WINDOW];

	if (window != state->window_seen && state->next_hop >= 0 && fp->peer[state->next_hop])
		fp->peer[state->next_hop]->wide = true;
	state->window_seen = window;
}

void lx_fp_stream_aside(struct lx_fp_stream *state, struct lx_stream *s, enum lx_stream_aside why,
			uint64_t until)
{
	if (s->aside && until <= state->aside_ns)
		return;
	__atomic_store_n(&s->aside, why, __ATOMIC_RELAXED);
	state->aside_ns = until;
}

static void stream_weigh(struct lx_fp_stream *state, const struct lx_stream *s)
{
	uint64_t messages = s->messages - state->messages_seen;

	if (messages < 16 && state->messages_seen)
		return;
	state->mean = messages ? (s->parse_next - state->framed_seen) / messages : MEAN_FIRST;
	state->messages_seen = s->messages;
	state->framed_seen = s->parse_next;
}

static void stream_stop(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	if (!state->stop_ns)
		__atomic_or_fetch(&s->flags, LX_STREAM_STOP, __ATOMIC_RELEASE);
	state->stop_ns = now + STOP_NS;
}

void lx_fp_stream_no_use(struct lx_fp_stream *state, struct lx_stream *s, enum lx_stream_aside why,
			 uint64_t now)
{
	bool slow = why == LX_STREAM_ASIDE_SLOW;
	uint64_t max = slow ? SLOW_MAX_NS : ASIDE_MAX_NS;

	/* Not slow for as long again: start over. */
	if (slow && now >= state->aside_ns + state->aside_pause_ns)
		state->aside_pause_ns = 0;
	state->aside_pause_ns = state->aside_pause_ns ? 2 * state->aside_pause_ns : ASIDE_MIN_NS;
	if (state->aside_pause_ns > max)
		state->aside_pause_ns = max;
	lx_fp_stream_aside(state, s, why, now + state->aside_pause_ns);
}

void lx_fp_stream_delays(struct lx_fp_stream *state, struct lx_stream *s, uint64_t ns, uint64_t now)
{
	uint64_t since = state->slow_ns, paid;

	if (ns <= SLOW_FREE_NS)
		return;
	ns -= SLOW_FREE_NS;
	/* While it has no lanes, it pays nothing back. */
	if (since < state->aside_ns)
		since = state->aside_ns;
	paid = (now - since) / SLOW_SHARE;
	state->slow_debt_ns -= paid < state->slow_debt_ns ? paid : state->slow_debt_ns;
	state->slow_debt_ns += ns < now - since ? ns : now - since;
	state->slow_ns = now;
	if (state->slow_debt_ns < SLOW_DEBT_NS)
		return;
	state->slow_debt_ns = SLOW_DEBT_NS;
	lx_fp_stream_no_use(state, s, LX_STREAM_ASIDE_SLOW, now);
}

/*
 * A sender hears of its messages in the order in which it sent them. One for a slow next hop holds
 * up those for all others: they fill its congestion window, or look like a loss once they have
 * arrived. On lane 0 we acknowledge small messages at once.
 */
static void stream_late(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	uint64_t behind = s->messages - state->late_messages;

	if (s->unframed || s->aside || state->mean >= LATE_MEAN || s->acked >= state->late_pos) {
		state->late_pos = s->parse_next;
		state->late_messages = s->messages;
		state->late_ns = now;
	} else if (behind >= LATE_BEHIND && s->next_hop_run < behind) {
		lx_fp_stream_delays(state, s, now - state->late_ns, now);
	}
}

static void stream_gaps(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	uint64_t bytes = s->lane_bytes - state->gaps_bytes_seen;
	uint64_t gaps = s->gaps - state->gaps_seen;

	/* Gaps without lanes say nothing about lanes. */
	if (bytes && gaps < GAPS_MIN)
		return;
	if (bytes && bytes / gaps < GAP_WORTH)
		lx_fp_stream_no_use(state, s, LX_STREAM_ASIDE_LOSSY, now);
	state->gaps_seen = s->gaps;
	state->gaps_bytes_seen = s->lane_bytes;
}

/* Messages that keep changing destination: stop the sender between them, or keep them here. */
static void stream_review(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	uint64_t cost = COPIES_OF_RESEGMENT * s->resegmented + s->fragments;
	uint64_t copies = cost - state->cost_seen;
	uint64_t bytes = s->lane_bytes - state->lane_bytes_seen;
	uint64_t messages = s->lane_messages - state->lane_messages_seen;

	if (state->stop_ns && now >= state->stop_ns) {
		state->stop_ns = 0;
		__atomic_and_fetch(&s->flags, ~LX_STREAM_STOP, __ATOMIC_RELEASE);
	}
	if (copies < (state->mean >= STOP_MEAN ? STOP_COPIES : COPIES_MIN))
		return;
	state->cost_seen = cost;
	state->lane_bytes_seen = s->lane_bytes;
	state->lane_messages_seen = s->lane_messages;
	if (bytes / copies >= (state->mean >= STOP_MEAN ? 64u << 10 : COPY_WORTH) ||
	    copies <= COPIES_PER_MESSAGE * messages) {
		state->aside_pause_ns = 0;
		return;
	}
	if (state->mean >= STOP_MEAN) {
		stream_stop(state, s, now);
		return;
	}
	lx_fp_stream_no_use(state, s, LX_STREAM_ASIDE_COSTLY, now);
}

/*
 * A message that goes in a circle would stay in the kernel for ever. The core recognises it if it
 * sees one a second (user/core/loop.c); each sample keeps the stream off lanes for a moment.
 */
static void stream_sample(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	if (now < state->sample_ns + SAMPLE_NS || s->messages < state->sample_seen + SAMPLE_MIN)
		return;
	state->sample_ns = now;
	state->sample_seen = s->messages;
	__atomic_store_n(&s->sample, s->sample + 1, __ATOMIC_RELAXED);
}

/* Applies the switches. Returns whether the stream may use lanes. */
static bool stream_switch(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);
	bool on = lx_fp_conn_on(state->conn), off;

	if (s->aside && (now >= state->aside_ns ||
			 (!on && s->aside != LX_STREAM_ASIDE_UNSAFE)))
		__atomic_store_n(&s->aside, LX_STREAM_ASIDE_NO, __ATOMIC_RELAXED);
	off = !on || s->aside;
	if (off == !!(s->flags & LX_STREAM_NO_LANES))
		return !off;
	if (off)
		__atomic_or_fetch(&s->flags, LX_STREAM_NO_LANES, __ATOMIC_RELEASE);
	else
		__atomic_and_fetch(&s->flags, ~LX_STREAM_NO_LANES, __ATOMIC_RELEASE);
	if (off)
		lx_fp_grant_end(fp, s);
	release(fp, index);
	return !off;
}

/*
 * If a stream has been stuck for long enough to tell SACK of messages that went another way, these
 * may all have arrived: then no packet comes that could become the ACK.
 */
static void stream_stuck(struct lx_fp *fp, struct lx_fp_stream *state, unsigned int index,
			 struct lx_stream *s, uint64_t now)
{
	uint64_t since = __atomic_load_n(&s->progress_ns, __ATOMIC_ACQUIRE);
	const struct lx_extent *head = &s->extent[s->head % LX_STREAM_EXTENTS];

	if (since == state->stuck_seen || s->acked >= s->high ||
	    now <= since + lx_stuck_ns(s, head))
		return;
	state->stuck_seen = since;
	lx_fastpath_poke_ack(fp->fastpath, index);
}

void lx_fp_stream_tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_fp_conn *conn = state->conn;
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);
	int r = 0;

	if (conn->no_stream)
		return;
	if (s->state == LX_STREAM_TAKEOVER) {
		if (now >= state->since_ns + TAKEOVER_NS)
			r = lx_fastpath_takeover(fp->fastpath, LX_FLOW_STREAM, index, true);
		if (r == -EAGAIN)
			state->since_ns = now;
		else if (r)
			lx_debug("stream=%u reason=\"its socket is gone\"", index);
		else if (s->state == LX_STREAM_ON && stream_switch(fp, index, now) &&
			 has_lanes(fp, state, now))
			hold(fp, index, now); /* at once: little is in flight yet */
		fp->n_changing++;
		return;
	}
	if (conn->waits)
		lx_sock_conn_retry(conn->conn);
	stream_window(fp, state, s);
	lx_fp_grant_tick(fp, index, now);
	stream_stuck(fp, state, index, s, now);
	stream_weigh(state, s);
	stream_gaps(state, s, now);
	stream_review(state, s, now);
	stream_late(state, s, now);
	stream_sample(state, s, now);
	if (stream_switch(fp, index, now))
		stream_order(fp, index, now);
	else
		publish_reached(fp, state, s); /* and no further barrier: it needs no more ticks */
	fp->n_changing += state->hold_ns || state->quiet_barrier ||
			  (s->unframed && !(s->flags & LX_STREAM_NO_LANES));
}
