/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Acknowledged runs: remove them from the ring of a lane, and send ACKs to their streams' peers.
 * The next hop's packet becomes the ACK for one of these; clones of it become those for the others.
 */
#ifndef LX_BPF_ARRIVAL_H
#define LX_BPF_ARRIVAL_H

#include "grant.h"

/* Sends an ACK to a stream's peer, in a clone of @packet or (@by_record) by the daemon. */
static void lx_stream_tell(void *packet, __u32 stream, __u32 by_record);

struct lx_arrival {
	struct lx_lane *lane;
	void *packet;
	__u64 now_ns;
	__u32 last;      /* stream of the last run removed; LX_LANE_OWNER: none */
	__u32 by_record; /* the packet cannot become an ACK */
	__u32 index;     /* of the lane */
	__u32 reserved;
};

/*
 * Removes the first run if it is fully acknowledged. Returns 0 if it is not, or if its end is not
 * known yet because another CPU is writing the next run; a later ACK removes it.
 */
LX_INLINE int lx_arrival_first(struct lx_lane *lane, __u64 now_ns, __u32 *ret_stream)
{
	__u64 word = LX_ACQUIRE(&lane->word), end;
	__u16 number = lane->run_first, next = number + 1;
	const struct lx_lane_run *run = lx_lane_run(lane, number), *behind;
	int last = next == lx_lane_tail(word);
	__u32 from;

	if (!lx_lane_busy(word) || run->tag != (LX_LANE_RUN | number))
		return 0;
	behind = lx_lane_run(lane, next);
	if (!last && behind->tag != (LX_LANE_RUN | next))
		return 0;
	end = last ? lx_lane_next(word, lane->una) : behind->start;
	if (lx_pos_before(lane->una, end))
		return 0;
	*ret_stream = run->stream;
	from = run->from;
	/* Fails if another CPU has reserved more meanwhile. */
	if (last && LX_CAS(&lane->word, word, word & ~((__u64)LX_LANE_BUSY << 32)) != word)
		return 0;
	lane->first_ns = now_ns;
	lane->run_first = next;
	lx_lane_credits_give(lane->next_hop, from);
	if (!last)
		lx_lane_waited(lane, next, now_ns);
	return 1;
}

static long lx_arrival_one(__u32 i, void *arg)
{
	struct lx_arrival *p = arg;
	__u32 stream = LX_LANE_OWNER;

	(void)i;
	if (!lx_arrival_first(p->lane, p->now_ns, &stream))
		return 1;
	if (p->last != LX_LANE_OWNER && p->last != stream)
		lx_stream_tell(p->packet, p->last, p->by_record);
	p->last = stream;
	return 0;
}

/* Tells the next stream that waits that it may send, if there is room. */
static long lx_arrival_grant(__u32 i, void *arg)
{
	struct lx_arrival *p = arg;
	__u32 stream;
	int more;

	(void)i;
	stream = lx_grant_next(p->lane, p->index, &more);
	if (stream != LX_LANE_OWNER) {
		LX_ADD(&p->lane->grants, 1);
		if (stream != p->last)
			lx_stream_tell(p->packet, stream, p->by_record);
	}
	return !more;
}

/* Called inside the section; leaves it. */
LX_INLINE void lx_arrival_entered(struct lx_arrival *p)
{
	p->lane->pop_again = 0;
	bpf_loop(LX_LANE_RUNS, lx_arrival_one, p, 0);
	bpf_loop(8, lx_arrival_grant, p, 0);
	lx_leave(&p->lane->popping);
}

/**
 * lx_arrival_note - remove acknowledged runs, and tell the peers of their streams
 * Returns the one stream whose peer was not told: the packet at hand becomes its ACK.
 * LX_LANE_OWNER: none.
 */
LX_INLINE __u32 lx_arrival_note(struct lx_arrival *p)
{
	struct lx_lane *lane = p->lane;
	const struct lx_lane_run *run;
	__u64 word;
	int i;

	p->last = LX_LANE_OWNER;
	lane->pop_again = 1;
	/* Again if another CPU has left a note since our last look. */
	for (i = 0; i < 4 && LX_ACQUIRE(&lane->pop_again) && lx_try_enter(&lane->popping); i++)
		lx_arrival_entered(p);
	word = lane->word;
	run = lx_lane_run(lane, lane->run_first);
	if (!lx_lane_busy(word) || run->tag != (LX_LANE_RUN | (__u16)lane->run_first) ||
	    run->stream == p->last)
		return p->last;
	/* A part of the run that is first now may have been acknowledged, too. */
	if (p->last != LX_LANE_OWNER) {
		if (!lx_pos_before(run->start, lane->una) && !lane->n_sack)
			return p->last;
		lx_stream_tell(p->packet, p->last, p->by_record);
	}
	return run->stream;
}

#endif
