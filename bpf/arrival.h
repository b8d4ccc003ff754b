/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Runs that have arrived: taken off the ring of a lane, and their streams' peers told. The packet
 * that brought the news becomes the acknowledgement for one of them; for others it is cloned.
 */
#ifndef LX_BPF_ARRIVAL_H
#define LX_BPF_ARRIVAL_H

#include "lane.h"

/* Has a stream's peer told of what has arrived; @packet: at hand, not to be used up. */
static void lx_stream_tell(void *packet, __u32 stream, __u32 by_record);

struct lx_arrival {
	struct lx_lane *lane;
	void *packet;
	__u64 now_ns;
	__u32 last;      /* stream of the last one; LX_LANE_OWNER: none */
	__u32 by_record; /* the packet is of no use for telling anybody */
};

/*
 * Takes the first run off the ring if it has arrived. Returns 0 if it has not, or cannot be told
 * apart from the next one, which is being written: its acknowledgement comes later.
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
	/* Somebody may just have reserved more: it is not the last, or goes on. */
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

/* With the section entered; leaves it. */
LX_INLINE void lx_arrival_entered(struct lx_arrival *p)
{
	p->lane->pop_again = 0;
	bpf_loop(LX_LANE_RUNS, lx_arrival_one, p, 0);
	lx_leave(&p->lane->popping);
}

/**
 * lx_arrival_note - forget the runs that have arrived, and tell their streams
 * Returns the last stream there is news for, to be told with the packet at hand; LX_LANE_OWNER:
 * none.
 */
LX_INLINE __u32 lx_arrival_note(struct lx_arrival *p)
{
	struct lx_lane *lane = p->lane;
	const struct lx_lane_run *run;
	__u64 word;

	p->last = LX_LANE_OWNER;
	lane->pop_again = 1;
	if (lx_try_enter(&lane->popping))
		lx_arrival_entered(p);
	/* Somebody may have come between our last look and the door. */
	if (LX_ACQUIRE(&lane->pop_again) && lx_try_enter(&lane->popping))
		lx_arrival_entered(p);
	word = lane->word;
	run = lx_lane_run(lane, lane->run_first);
	if (!lx_lane_busy(word) || run->tag != (LX_LANE_RUN | (__u16)lane->run_first) ||
	    run->stream == p->last)
		return p->last;
	/* The one that is first now: of it something may have arrived, too. */
	if (p->last != LX_LANE_OWNER) {
		if (!lx_pos_before(run->start, lane->una) && !lane->n_sack)
			return p->last;
		lx_stream_tell(p->packet, p->last, p->by_record);
	}
	return run->stream;
}

#endif
