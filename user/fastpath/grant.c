/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grants where the programs cannot help: they hand them out as the next hop acknowledges something
 * (bpf/grant.h), and on an idle lane there is nothing to acknowledge.
 */
#include "priv.h"

static bool change(struct lx_stream *s, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&s->grant, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

void lx_fp_grant_end(struct lx_fp *fp, struct lx_stream *s)
{
	if (!lx_grant_end(s, lx_fp_lane_at(fp, s->grant_lane)))
		change(s, LX_GRANT_WAITS, LX_GRANT_NONE);
}

/*
 * While ENDING, the programs leave it alone. Before, it may be given, used, and wait for another
 * lane. Then it asks again: a program may have removed it from that lane's queue meanwhile, and,
 * as it was ENDING, given it nothing.
 */
static bool give(struct lx_fp *fp, unsigned int index, uint32_t who)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_stream *s = lx_fp_stream_at(fp, who);

	if (LX_READ(s->grant_lane) != index || !change(s, LX_GRANT_WAITS, LX_GRANT_ENDING))
		return false;
	if (LX_READ(s->grant_lane) != index) {
		change(s, LX_GRANT_ENDING, LX_GRANT_NONE);
		lx_fastpath_poke_ack(fp->fastpath, who);
		return false;
	}
	__atomic_add_fetch(&lane->granted, s->grant_len, __ATOMIC_RELAXED);
	s->grant_una = lane->una;
	change(s, LX_GRANT_ENDING, LX_GRANT_GIVEN);
	lx_fastpath_poke_ack(fp->fastpath, who);
	return true;
}

/* The first that still waits. The programs remove it from the queue, as one that does not wait. */
static void give_next(struct lx_fp *fp, unsigned int index)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	uint32_t at = __atomic_load_n(&lane->waiting_first, __ATOMIC_ACQUIRE);
	uint32_t tail = __atomic_load_n(&lane->waiting_tail, __ATOMIC_ACQUIRE);

	for (; at != tail; at++) {
		uint32_t who =
			__atomic_load_n(&lane->waiting[at % LX_LANE_WAITING], __ATOMIC_ACQUIRE) - 1;

		if (lx_fp_stream_is_open(fp, who) && give(fp, index, who))
			return;
	}
}

void lx_fp_lane_tell(struct lx_fp *fp, unsigned int index)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);

	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		struct lx_stream *s = lx_fp_stream_at(fp, i);
		bool waits = s->grant && s->grant_lane == index;

		if (waits)
			lx_fp_grant_end(fp, s);
		if (waits || (lx_fp_stream_is_open(fp, i) && lx_lane_has(lane, i)))
			lx_fastpath_poke_ack(fp->fastpath, i);
	}
}

void lx_fp_grant_lane_tick(struct lx_fp *fp, unsigned int index)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_fp_run *run = &fp->run[index];
	bool idle = !lx_lane_busy(LX_READ(lane->word)), rests = idle && run->idle_una == lane->una;

	run->idle_una = idle ? lane->una : UINT64_MAX;
	if (rests && lane->state == LX_LANE_LIVE)
		give_next(fp, index);
}

void lx_fp_grant_tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_stream *s = lx_fp_stream_at(fp, index);
	uint32_t grant = __atomic_load_n(&s->grant, __ATOMIC_ACQUIRE);
	struct lx_lane *lane;

	if (!grant)
		return;
	lane = lx_fp_lane_at(fp, s->grant_lane);
	if (grant == LX_GRANT_GIVEN && lane->una - s->grant_una > LX_LANE_SHARED_MAX)
		lx_grant_end(s, lane);
	/* Not worth waiting for. */
	else if (grant == LX_GRANT_WAITS &&
		 (lane->state != LX_LANE_LIVE || lx_lane_is_slow(lane, LX_READ(lane->word), now)) &&
		 change(s, LX_GRANT_WAITS, LX_GRANT_NONE))
		lx_fastpath_poke_ack(fp->fastpath, index);
}
