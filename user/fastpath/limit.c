/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Slow lines. In flight on a lane to one is what it delivers in some milliseconds. More would only
 * be a queue in front of that line, in which everything for this next hop waits, whatever
 * connection it takes. What may not be in flight yet waits at its sender (bpf/lane.h).
 *
 * A slow sender makes no queue, and no slow line: only the time counts in which much has come that
 * the next hop lacks.
 *
 * But what waits at its sender keeps waiting what that has for others on the same connection: a
 * server sends to many clients. So a next hop whose line takes longer than those milliseconds for a
 * large message gets no lanes for a while. lnetxd has buffers for what is on its way, and time, as
 * that is little; only up to a sum: where many lanes share a line or a CPU of ours, all are slow.
 */
#include <inttypes.h>

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
		if (rate) { /* one that stands still is not slow */
			run->best -= run->best / LX_LIMIT_KEPT;
			run->best = rate > run->best ? rate : run->best;
			run->n_samples++;
		}
		run->sample = run->sample_ns = 0;
	}
	bytes = 2 * run->best * (LX_LIMIT_NS + run->rtt_ns) / LX_S_NS;
	if (bytes && bytes < 2 * LX_AHEAD_MIN)
		bytes = 2 * LX_AHEAD_MIN;
	__atomic_store_n(&lane->limit, bytes < LX_LANE_SHARED_MAX ? bytes >> 10 : 0,
			 __ATOMIC_RELAXED);
}

void lx_fp_limit_slow(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const uint64_t slow = LX_GRANT_MIN * LX_S_NS / LX_LIMIT_NS;
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_fp_neighbour *peer = fp->peer[lane->next_hop];
	const struct lx_fp_run *run = &fp->run[index];
	uint64_t rate = run->best * lx_fastpath_peer(fp->fastpath, lane->next_hop)->n_lanes;

	if (run->n_samples < 5 || !rate || rate >= slow || fp->slow_rate + rate > 4 * slow)
		return;
	if (!peer->slow_ns || now >= peer->slow_ns + LX_UNSAFE_NS)
		lx_info("next_hop=%s reason=\"it takes no more than %" PRIu64 " Mbit/s\" "
			"action=\"no fast path to it for %llu s\"",
			lx_nid_str(&peer->facts.nid), rate * 8 / 1000000,
			(unsigned long long)(LX_UNSAFE_NS / LX_S_NS));
	lx_fp_limit_end(fp, peer);
	peer->slow_ns = now + LX_UNSAFE_NS;
	peer->slow_rate = rate;
	fp->slow_rate += rate;
}

bool lx_fp_limit_is_slow(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	if (now >= peer->slow_ns)
		lx_fp_limit_end(fp, peer);
	return peer->slow_rate;
}

void lx_fp_limit_end(struct lx_fp *fp, struct lx_fp_neighbour *peer)
{
	fp->slow_rate -= peer->slow_rate;
	peer->slow_rate = 0;
}
