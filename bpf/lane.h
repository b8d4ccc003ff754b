/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lanes: which stream owns which bytes, and what the next hop has acknowledged.
 *
 * Framing a message reserves its bytes, behind all bytes reserved so far. Packets of several
 * streams may be in flight at once; the next hop's TCP puts them in order. Consecutive messages of
 * one stream form a run. A ring holds the runs that are not fully acknowledged:
 *
 *	              first                                tail
 *	   acked      │ run 7: stream 3 │ run 8: stream 5 │         free
 *	 ─────────────┼────────┬────────┼─────────────────┼──────────────────────▶ position
 *	              start    una      start             next
 *
 * One word holds the next byte, the tail and the last run's stream, so one compare-and-swap
 * reserves bytes, and one retires the last run:
 *
 *	        take: next += length; tail + 1, unless the last run is ours
 *	idle ──────────────────────────────────────▶ busy
 *	  ▲                                            │
 *	  └──────── the ACK that reaches next ─────────┘
 *
 * A run's start never changes; it ends where the next run starts, or at the next byte. One CPU at
 * a time removes runs from the ring.
 *
 * A run holds a transmit credit of the next hop and a router credit of the sender until it is
 * fully acknowledged. It never waits for a credit: the number of lanes limits the fast path.
 */
#ifndef LX_BPF_LANE_H
#define LX_BPF_LANE_H

#include "pos.h"

/* ---- credits ------------------------------------------------------------------ */

/* @to: the lane's next hop; @from: the stream's sender. */
LX_GLOBAL int lx_lane_credits_take(__u32 to, __u32 from)
{
	struct lx_fp_peer *next = lx_fp_peer_at(to), *sender = lx_fp_peer_at(from);

	if (next)
		lx_fp_peer_credit_take(&next->tx);
	if (sender)
		lx_fp_peer_credit_take(&sender->rtr);
	return 0;
}

LX_GLOBAL int lx_lane_credits_give(__u32 to, __u32 from)
{
	struct lx_fp_peer *next = lx_fp_peer_at(to), *sender = lx_fp_peer_at(from);

	if (next)
		lx_fp_peer_credit_give(&next->tx);
	if (sender)
		lx_fp_peer_credit_give(&sender->rtr);
	return 0;
}

/* ---- the word -------------------------------------------------------------------- */

/* The position of the next byte; @una may be read before or after @word. */
LX_INLINE __u64 lx_lane_next(__u64 word, __u64 una)
{
	return lx_pos_of((__u32)word, 0, una);
}

/* Bytes reserved and not acknowledged yet. */
LX_INLINE __u32 lx_lane_under_way(const struct lx_lane *lane, __u64 word)
{
	return lx_lane_busy(word) ? (__u32)word - (__u32)lane->una : 0;
}

/* Bytes that the next hop's window takes behind those reserved. */
LX_INLINE __s64 lx_lane_room(const struct lx_lane *lane, __u64 word)
{
	return lx_pos_diff(lane->window_edge, lx_lane_next(word, lane->una));
}

/*
 * The end of what may be in flight: of the window, or, on a slow line, of what it delivers in some
 * milliseconds. The rest of a message waits at its sender.
 */
LX_INLINE __u64 lx_lane_edge(const struct lx_lane *lane)
{
	__u32 limit = lx_lane_limit(lane);

	return limit ? lx_pos_min(lane->window_edge, lane->una + limit) : lane->window_edge;
}

/* Bytes that may be in flight behind those reserved. */
LX_INLINE __s64 lx_lane_space(const struct lx_lane *lane)
{
	return lx_pos_diff(lx_lane_edge(lane), lx_lane_next(lane->word, lane->una));
}

/* ---- runs ------------------------------------------------------------------------- */

/*
 * How much may be under way on a shared lane. A small message does not queue behind what its
 * senders still have: lane 0 is faster.
 */
LX_INLINE __u32 lx_lane_most(const struct lx_lane *lane, __u32 need)
{
	__u32 limit = lx_lane_limit(lane);
	__u32 small = LX_SMALL_MAX + sizeof(struct lx_sock_msg) + sizeof(struct lx_hdr_nid16);

	return limit && need <= small ? limit : LX_LANE_SHARED_MAX;
}

/* Returns 0 if a message may queue behind what is on the lane, or the reason why not. */
LX_INLINE enum lx_lane0_reason lx_lane_refuses(const struct lx_lane *lane, __u64 word, int mine,
					       __u32 need, __u64 now_ns)
{
	if (lane->state != LX_LANE_LIVE || lx_lane_owner(word) == LX_LANE_OURS)
		return LX_LANE0_NO_LANE;
	if (!mine && lx_lane_busy(word) &&
	    (lx_lane_n_runs(lane, word) >= LX_LANE_RUNS - 1 ||
	     lx_lane_under_way(lane, word) + need > lx_lane_most(lane, need) ||
	     lx_lane_is_slow(lane, word, now_ns)))
		return LX_LANE0_CROWDED;
	if (lx_lane_room(lane, word) < (__s64)need)
		return LX_LANE0_WINDOW;
	return 0;
}

/* A stream went, or would have gone, behind another's run. */
LX_INLINE void lx_lane_share(struct lx_lane *lane)
{
	lane->shared_una = lane->una;
	lane->shared = 1;
}

/* Fills in the entry of a new run, after its bytes have been reserved. */
LX_INLINE void lx_lane_run_begin(struct lx_lane *lane, __u16 number, __u64 start, __u32 me,
				 __u32 from, __u64 now_ns)
{
	struct lx_lane_run *run = lx_lane_run(lane, number);
	__u32 tag = run->tag;

	LX_OPAQUE(number);
	lane->run_begun[number & (LX_LANE_RUNS - 1)] = now_ns >> LX_LANE_WAIT_SHIFT;
	run->start = start;
	run->stream = me;
	run->from = from;
	LX_CAS(&run->tag, tag, LX_LANE_RUN | number);
}

/* Counts how long a run was behind others; it is first now. */
LX_INLINE void lx_lane_waited(struct lx_lane *lane, __u32 number, __u64 now_ns)
{
	__u32 at = number, units, i = 0;

	LX_OPAQUE(at);
	units = (__u32)(now_ns >> LX_LANE_WAIT_SHIFT) - lane->run_begun[at & (LX_LANE_RUNS - 1)];
	/* Reserved on another CPU after this packet arrived. */
	if ((__s32)units < 0)
		units = 0;
	while (i < LX_LANE_WAITS - 1 && units >> i)
		i++;
	LX_ADD(&lane->waits[i & (LX_LANE_WAITS - 1)], 1);
}

/* ---- the socket ------------------------------------------------------------------------ */

/* The connection's number of a segment that the socket sends; @room: bytes, and its FIN. */
LX_INLINE __u32 lx_lane_socket_sends(struct lx_lane *lane, __u32 seq, __u32 room)
{
	__u32 at = seq + lane->socket_shift;

	lane->socket_sent = lx_seq_max(lane->socket_sent, at + room);
	return at;
}

/*
 * The socket's number of an ACK, which tells it of nothing that it has not sent: the next hop may
 * have more, from the programs, and the kernel ignores an ACK of what it has not sent. When the
 * socket sends that, the next hop answers again.
 */
LX_INLINE __u32 lx_lane_socket_hears(const struct lx_lane *lane, __u32 ack)
{
	return lx_seq_min(ack, lane->socket_sent) - lane->socket_shift;
}

/*
 * Where the next hop takes a FIN, or a reset at once: at the byte that it expects. For a reset
 * elsewhere in its window it asks first (RFC 5961 3), but at most twice a second.
 */
LX_INLINE __u64 lx_lane_expects(const struct lx_lane *lane)
{
	if (lx_lane_owner(lane->word) == LX_LANE_OURS)
		return lx_pos_of(lane->socket_sent, lane->base_seq, lane->una);
	return lane->n_sack || !lx_pos_before(lane->una, lane->sent)
		       ? lane->una
		       : lx_lane_next(lane->word, lane->una); /* it may have got what was sent */
}

/* ---- reserving --------------------------------------------------------------------------- */

/**
 * lx_lane_take - reserve @len bytes of a lane for a message of stream @me
 * @from: its sender, in map "peers"
 * @need: bytes that must fit into the next hop's window now
 * @now_ns: when the message arrived
 * Returns 0 and the lane position of the message, or the reason why not.
 */
LX_INLINE enum lx_lane0_reason lx_lane_take(struct lx_lane *lane, __u32 me, __u32 from, __u32 len,
					    __u32 need, __u64 now_ns, __u64 *ret_start)
{
	int i;

	for (i = 0; i < 4; i++) {
		__u64 word = lane->word, una = lane->una, start = lx_lane_next(word, una);
		int busy = lx_lane_busy(word), mine = busy && lx_lane_owner(word) == me;
		enum lx_lane0_reason why = lx_lane_refuses(lane, word, mine, need, now_ns);
		__u16 tail = lx_lane_tail(word);

		if (why)
			return why;
		if (!mine)
			lx_lane_credits_take(lane->next_hop, from);
		if (LX_CAS(&lane->word, word, lx_lane_word(me, tail + !mine, start + len)) ==
		    word) {
			if (!busy || (mine && (__u16)(tail - 1) == (__u16)lane->run_first))
				lane->first_ns = now_ns;
			if (!mine)
				lx_lane_run_begin(lane, tail, start, me, from, now_ns);
			if (busy && !mine) {
				lx_lane_share(lane);
				LX_ADD(&lane->handovers, 1);
			} else if (!busy)
				LX_ADD(&lane->takes, 1);
			LX_ADD(&lane->messages, 1);
			LX_ADD(&lane->bytes, len);
			*ret_start = start;
			return 0;
		}
		if (!mine)
			lx_lane_credits_give(lane->next_hop, from);
	}
	return LX_LANE0_CROWDED;
}

/* Whether another stream's run is first. */
LX_INLINE int lx_lane_waits(struct lx_lane *lane, __u32 me)
{
	return lx_lane_busy(lane->word) && lx_lane_run(lane, lane->run_first)->stream != me;
}

/* Records that a segment that ends at @end leaves on the lane. */
LX_INLINE void lx_lane_sent(struct lx_lane *lane, __u64 end)
{
	lx_pos_raise(&lane->sent, end);
	LX_ADD(&lane->packets, 1);
}

/**
 * lx_lane_acked - record what the next hop acknowledges and advertises
 * @seq: sequence number of its segment
 *
 * The newest segment's window counts (RFC 9293 3.10.7.4): one that was too large does not last.
 */
LX_INLINE void lx_lane_acked(struct lx_lane *lane, __u32 seq, __u64 una, __u64 window_edge)
{
	if (lx_pos_before(lane->una, una) || (__s32)(seq - lane->window_edge_seq) > 0 ||
	    (seq == lane->window_edge_seq && lx_pos_before(lane->window_edge, window_edge))) {
		lane->window_edge = window_edge;
		lane->window_edge_seq = seq;
	}
	lx_pos_raise(&lane->una, una);
}

#endif
