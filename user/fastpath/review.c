/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which streams use lanes, looked at on each tick: who makes others wait, costs more than it gains,
 * or loses packets, is kept on lane 0 for a while.
 */
#include "priv.h"

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

/* Keeps a stream off lanes from now on, longer each time. */
static void stream_no_use(struct lx_fp_stream *state, struct lx_stream *s, enum lx_stream_aside why,
			  uint64_t now)
{
	state->aside_pause_ns = state->aside_pause_ns ? 2 * state->aside_pause_ns : LX_ASIDE_MIN_NS;
	if (state->aside_pause_ns > LX_ASIDE_MAX_NS)
		state->aside_pause_ns = LX_ASIDE_MAX_NS;
	lx_fp_stream_aside(state, s, why, now + state->aside_pause_ns);
}

static void stream_gaps(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	uint64_t bytes = s->lane_bytes - state->gaps_bytes_seen;
	uint64_t gaps = s->gaps - state->gaps_seen;

	/* Gaps without lanes say nothing about lanes. */
	if (bytes && gaps < LX_GAPS_MIN)
		return;
	if (bytes && bytes / gaps < LX_GAP_WORTH)
		stream_no_use(state, s, LX_STREAM_ASIDE_LOSSY, now);
	state->gaps_seen = s->gaps;
	state->gaps_bytes_seen = s->lane_bytes;
}

/* Whether cutting packets between messages that keep changing destination costs too much. */
static void stream_review(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	uint64_t cost = LX_COPIES_OF_RESEGMENT * s->resegmented + s->fragments;
	uint64_t copies = cost - state->cost_seen;
	uint64_t bytes = s->lane_bytes - state->lane_bytes_seen;
	uint64_t messages = s->lane_messages - state->lane_messages_seen;

	if (copies < LX_COPIES_MIN)
		return;
	state->cost_seen = cost;
	state->lane_bytes_seen = s->lane_bytes;
	state->lane_messages_seen = s->lane_messages;
	if (bytes / copies >= LX_COPY_WORTH || copies <= LX_COPIES_PER_MESSAGE * messages) {
		state->aside_pause_ns = 0;
		return;
	}
	stream_no_use(state, s, LX_STREAM_ASIDE_COSTLY, now);
}

/*
 * A message that goes in a circle would stay in the kernel for ever. The core recognises it if it
 * sees one a second (user/core/loop.c); each sample keeps the stream off lanes for a moment.
 */
static void stream_sample(struct lx_fp_stream *state, struct lx_stream *s, uint64_t now)
{
	if (now < state->sample_ns + LX_SAMPLE_NS ||
	    s->messages < state->sample_seen + LX_SAMPLE_MIN)
		return;
	state->sample_ns = now;
	state->sample_seen = s->messages;
	__atomic_store_n(&s->sample, s->sample + 1, __ATOMIC_RELAXED);
}

/* Applies the switches: whether the stream may use lanes. */
static void stream_switch(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fp_stream_at(fp, index);
	bool on = lx_fp_stream_may(fp, index), off;

	if (s->aside && (now >= state->aside_ns || (!on && s->aside != LX_STREAM_ASIDE_UNSAFE)))
		__atomic_store_n(&s->aside, LX_STREAM_ASIDE_NO, __ATOMIC_RELAXED);
	off = !on || s->aside;
	if (off == !!(s->flags & LX_STREAM_NO_LANES))
		return;
	if (off)
		__atomic_or_fetch(&s->flags, LX_STREAM_NO_LANES, __ATOMIC_RELEASE);
	else
		__atomic_and_fetch(&s->flags, ~LX_STREAM_NO_LANES, __ATOMIC_RELEASE);
	if (off)
		lx_fp_grant_end(fp, s);
	lx_fastpath_poke_ack(fp->fastpath, index);
}

/*
 * If a stream has been stuck for long enough to tell SACK of messages that went another way, these
 * may all have arrived: then no packet comes that could become the ACK.
 */
static void stream_stuck(struct lx_fp *fp, struct lx_fp_stream *state, unsigned int index,
			 struct lx_stream *s, uint64_t now)
{
	uint64_t since = __atomic_load_n(&s->progress_ns, __ATOMIC_ACQUIRE);
	const struct lx_extent *head = lx_extent_at(s, s->head);

	if (since == state->stuck_seen || s->acked >= s->high ||
	    now <= since + lx_stuck_ns(s, head))
		return;
	state->stuck_seen = since;
	lx_fastpath_poke_ack(fp->fastpath, index);
}

void lx_fp_stream_tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fp_stream_at(fp, index);

	stream_window(fp, state, s);
	lx_fp_grant_tick(fp, index, now);
	stream_stuck(fp, state, index, s, now);
	stream_gaps(state, s, now);
	stream_review(state, s, now);
	stream_sample(state, s, now);
	stream_switch(fp, index, now);
	fp->n_changing += s->unframed && !(s->flags & LX_STREAM_NO_LANES);
}
