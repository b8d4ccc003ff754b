/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How much may be in flight on a lane to a slow line: what it delivers in some milliseconds. More
 * would only be a queue in front of that line, in which everything for this next hop waits,
 * whatever connection it takes. What may not be in flight yet waits at its sender (bpf/lane.h).
 *
 * A slow sender makes no queue, and no slow line: only the time counts in which much has come that
 * the next hop lacks.
 */
#include "priv.h"

void lx_fp_limit_lane(struct lx_lane *lane, struct lx_fp_run *run, bool queued, uint64_t now)
{
	uint64_t una = LX_READ(lane->una), rate, bytes;

	if (queued && run->queued_ns) {
		run->sample += una - run->queued_una;
		run->sample_ns += now - run->queued_ns;
	}
	run->queued_ns = queued ? now : 0;
	run->queued_una = una;
	if (run->sample_ns >= LX_LOOK_MAX_NS) {
		rate = run->sample * LX_S_NS / run->sample_ns;
		run->best -= run->best / LX_LIMIT_KEPT;
		run->best = rate > run->best ? rate : run->best;
		run->sample = run->sample_ns = 0;
	}
	bytes = 2 * run->best * (LX_LIMIT_NS + run->rtt_ns) / LX_S_NS;
	if (bytes && bytes < 2 * LX_AHEAD_MIN)
		bytes = 2 * LX_AHEAD_MIN;
	__atomic_store_n(&lane->limit, bytes < LX_LANE_SHARED_MAX ? bytes >> 10 : 0,
			 __ATOMIC_RELAXED);
}
