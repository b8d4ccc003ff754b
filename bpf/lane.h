/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lanes: who may send on one, and what the next hop has acknowledged.
 *
 * A lane belongs to the stream that sends on it for as long as bytes of it are
 * unacknowledged; then anyone may take it. Owner and next byte are one word, so that
 * taking is one compare-and-swap:
 *
 *	        take (idle, or mine): next += length
 *	idle ──────────────────────────────────────▶ busy, owner
 *	  ▲                                            │
 *	  └────── the ACK that reaches next byte ──────┘
 *
 * Going busy takes a transmit credit of the next hop and a router credit of the
 * sender, going idle returns them: a credit is one run of messages under way. There is
 * always one for a lane: its owner being alone, lanes are what limits the fast path.
 */
#ifndef LX_BPF_LANE_H
#define LX_BPF_LANE_H

#include "pos.h"

/* ---- credits ------------------------------------------------------------------ */

/* The order of the two makes others see too many credits for a moment, never too few. */
LX_INLINE void lx_fp_peer_credit_take(struct lx_credit *credit)
{
	__s32 now, min;

	LX_ADD(&credit->lanes, 1);
	now = LX_ADD(&credit->now, -1) - 1;
	min = credit->min;
	if (now < min)
		LX_CAS(&credit->min, min, now);
}

LX_INLINE void lx_fp_peer_credit_give(struct lx_credit *credit)
{
	LX_ADD(&credit->now, 1);
	LX_ADD(&credit->lanes, -1);
}

/* @to: the lane's hop; @from: the stream's. */
LX_INLINE void lx_lane_credits_take(__u32 to, __u32 from)
{
	struct lx_fp_peer *next = lx_fp_peer_at(to), *sender = lx_fp_peer_at(from);

	if (next)
		lx_fp_peer_credit_take(&next->tx);
	if (sender)
		lx_fp_peer_credit_take(&sender->rtr);
}

LX_INLINE void lx_lane_credits_give(__u32 to, __u32 from)
{
	struct lx_fp_peer *next = lx_fp_peer_at(to), *sender = lx_fp_peer_at(from);

	if (next)
		lx_fp_peer_credit_give(&next->tx);
	if (sender)
		lx_fp_peer_credit_give(&sender->rtr);
}

/* ---- the word -------------------------------------------------------------------- */

LX_INLINE __u32 lx_lane_owner(__u64 word)
{
	return (word >> 32) & LX_LANE_OWNER;
}

LX_INLINE int lx_lane_busy(__u64 word)
{
	return (word >> 32 & LX_LANE_BUSY) != 0;
}

/* Its connection has ended: what is on it will never arrive. */
LX_INLINE int lx_lane_is_gone(const struct lx_lane *lane)
{
	return lane->state == LX_LANE_DEAD || lane->state == LX_LANE_FREE;
}

/* The position of the next byte; @una must have been read before or after, near it. */
LX_INLINE __u64 lx_lane_next(__u64 word, __u64 una)
{
	return lx_pos_of((__u32)word, 0, una);
}

/**
 * lx_lane_take - reserve @len bytes of a lane for a message of stream @me
 * Returns 0 and the message's place, or the reason why not.
 */
LX_INLINE enum lx_lane0_reason lx_lane_take(struct lx_lane *lane, __u32 me, __u32 from,
					    __u32 len, __u64 *ret_start)
{
	int i;

	for (i = 0; i < 4; i++) {
		__u64 word = lane->word, una = lane->una, start, taken;
		int busy = lx_lane_busy(word);

		start = lx_lane_next(word, una);
		if (lane->state != LX_LANE_LIVE || (lx_lane_owner(word) != me && start != una))
			return LX_LANE0_NO_LANE;
		if (lx_pos_diff(lane->window_edge, start) < (__s64)len)
			return LX_LANE0_WINDOW;
		if (!busy)
			lx_lane_credits_take(lane->next_hop, from);
		taken = (__u64)(me | LX_LANE_BUSY) << 32 | (__u32)(start + len);
		if (LX_CAS(&lane->word, word, taken) == word) {
			if (!busy)
				lane->takes++;
			lane->messages++;
			lane->bytes += len;
			*ret_start = start;
			return 0;
		}
		if (!busy)
			lx_lane_credits_give(lane->next_hop, from);
	}
	return LX_LANE0_NO_LANE;
}

/* A segment leaves that ends there. */
LX_INLINE void lx_lane_sent(struct lx_lane *lane, __u64 end)
{
	lane->sent = lx_pos_max(lane->sent, end);
	lane->packets++;
}

/**
 * lx_lane_acked - the next hop has acknowledged up to @una, and takes up to @window_edge
 * @seq: of the segment that says so
 *
 * The edge is what the newest segment says (RFC 9293 3.10.7.4), so that none makes it too
 * large for good. Returns the stream that sends on the lane, or LX_LANE_OWNER: none, nothing to
 * tell.
 */
LX_INLINE __u32 lx_lane_acked(struct lx_lane *lane, __u32 seq, __u64 una, __u64 window_edge)
{
	__u64 word = lane->word;
	struct lx_stream *stream;
	__u32 owner;

	if (lx_pos_before(lane->una, una) || (__s32)(seq - lane->window_edge_seq) > 0 ||
	    (seq == lane->window_edge_seq && lx_pos_before(lane->window_edge, window_edge))) {
		lane->window_edge = window_edge;
		lane->window_edge_seq = seq;
	}
	if (lx_pos_before(lane->una, una))
		lane->una = una;
	owner = lx_lane_owner(word);
	if (lx_lane_busy(word) && (__u32)word == (__u32)una &&
	    LX_CAS(&lane->word, word, word & ~((__u64)LX_LANE_BUSY << 32)) == word) {
		stream = lx_stream_at(owner);
		if (stream)
			lx_lane_credits_give(lane->next_hop, stream->peer);
	}
	return owner;
}

#endif
