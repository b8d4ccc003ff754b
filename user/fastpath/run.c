/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs of a lane that are taken from the programs: the lane is dead, or their stream ends. */
#include <sched.h>

#include "priv.h"

/* Keeps programs from removing runs from now on; waits for one that is doing so. */
static void stop_popping(struct lx_lane *lane)
{
	uint32_t no = 0;

	for (int i = 0;
	     i < 1000 && !__atomic_compare_exchange_n(&lane->popping, &no, 1, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	     i++) {
		no = 0;
		sched_yield();
	}
}

/* Waits for a program that has reserved bytes to fill in the run. */
static const struct lx_lane_run *wait_for_run(const struct lx_lane *lane, uint16_t number)
{
	const struct lx_lane_run *run = lx_lane_run(lane, number);

	for (int i = 0; i < 1000; i++) {
		if (__atomic_load_n(&run->tag, __ATOMIC_ACQUIRE) == (LX_LANE_RUN | number))
			return run;
		sched_yield();
	}
	return NULL;
}

void lx_fp_lane_end_runs(struct lx_fp *fp, struct lx_lane *lane)
{
	__u64 word, none;
	uint16_t tail, n;

	/* Our socket has it: its sequence numbers depend on the word. */
	if (lx_lane_owner(LX_READ(lane->word)) == LX_LANE_OURS)
		return;
	stop_popping(lane);
	/* A new tail makes concurrent compare-and-swaps fail. */
	word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);
	do {
		tail = lx_lane_tail(word);
		none = (uint64_t)((uint32_t)(uint16_t)(tail + 1) << LX_LANE_TAIL_SHIFT |
				  LX_LANE_OWNER)
			       << 32 |
		       (uint32_t)word;
	} while (!__atomic_compare_exchange_n(&lane->word, &word, none, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	if (!lx_lane_busy(word))
		return;
	n = lx_lane_n_runs(lane, word);
	for (unsigned int i = 0; i < n && i < LX_LANE_RUNS; i++) {
		const struct lx_lane_run *run = wait_for_run(lane, lane->run_first + i);
		struct lx_fp_peer *from = run ? lx_fastpath_peer(fp->fastpath, run->from) : NULL;

		lx_fp_peer_credit_give(&lx_fastpath_peer(fp->fastpath, lane->next_hop)->tx);
		if (from)
			lx_fp_peer_credit_give(&from->rtr);
	}
}

void lx_fp_lane_disown(struct lx_lane *lane, uint32_t stream)
{
	__u64 word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);

	/* The next stream at this index must start a run of its own. */
	while (lx_lane_owner(word) == stream &&
	       !__atomic_compare_exchange_n(&lane->word, &word,
					    word | (uint64_t)LX_LANE_OWNER << 32, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	for (unsigned int i = 0; i < LX_LANE_RUNS; i++) {
		uint16_t of = stream;

		if (__atomic_load_n(&lane->run[i].stream, __ATOMIC_RELAXED) != of)
			continue;
		__atomic_compare_exchange_n(&lane->run[i].stream, &of, LX_LANE_OWNER, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}
