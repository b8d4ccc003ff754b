/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grants that nobody uses, and waits that are too long. The programs hand grants out
 * (bpf/grant.h), mostly as the next hop acknowledges what is before them; there may be no ACK to
 * come.
 */
#include "priv.h"

/*
 * A sender that does not use its grant by then has nothing to send, or is far away: it keeps others
 * waiting. Unless it has sent so many messages since the last time, it goes without grants for a while,
 * longer each time.
 */
#define GRANT_UNUSED_NS (5 * LX_SOCK_MSEC)
#define GRANT_WORTH 8
#define GRANT_PAUSE_MIN_NS (20 * LX_SOCK_MSEC)
#define GRANT_PAUSE_MAX_NS (16 * LX_SOCK_SECOND)
/* Nobody waits longer; nor longer than IDLE for a lane on which nothing moves. */
#define GRANT_WAIT_NS (100 * LX_SOCK_MSEC)
#define GRANT_IDLE_NS (2 * LX_SOCK_MSEC)

static bool change(struct lx_stream *s, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&s->grant, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

void lx_fp_grant_end(struct lx_fp *fp, struct lx_stream *s)
{
	if (!change(s, LX_GRANT_GIVEN, LX_GRANT_ENDING)) {
		change(s, LX_GRANT_WAITS, LX_GRANT_NONE);
		return;
	}
	__atomic_sub_fetch(&lx_fastpath_lane(fp->fastpath, s->grant_lane)->granted, s->grant_len,
			   __ATOMIC_RELAXED);
	change(s, LX_GRANT_ENDING, LX_GRANT_NONE);
}

/* What a wait for a grant becomes: WAITS, GIVEN, or NONE: its lane is not worth waiting for. */
static uint32_t wait_becomes(struct lx_fp *fp, const struct lx_stream *s, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, s->grant_lane);
	int64_t since = now - s->grant_ns;
	bool idle;

	if (lane->state != LX_LANE_LIVE || lx_fp_lane_takes(lane, LX_LANE_SLOW_NS, now))
		return LX_GRANT_NONE;
	idle = !lx_fp_lane_is_busy(lane) && !__atomic_load_n(&lane->granted, __ATOMIC_ACQUIRE);
	return since > (int64_t)(idle ? GRANT_IDLE_NS : GRANT_WAIT_NS) ? LX_GRANT_GIVEN
								       : LX_GRANT_WAITS;
}

static void wait_tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);
	uint32_t to;

	/*
	 * While ENDING the programs leave it alone. Before, they may give it, and it may be used, and
	 * wait again, for another lane or length.
	 */
	if (wait_becomes(fp, s, now) == LX_GRANT_WAITS ||
	    !change(s, LX_GRANT_WAITS, LX_GRANT_ENDING))
		return;
	to = wait_becomes(fp, s, now);
	if (to == LX_GRANT_GIVEN) {
		__atomic_add_fetch(&lx_fastpath_lane(fp->fastpath, s->grant_lane)->granted,
				   s->grant_len, __ATOMIC_RELAXED);
		s->grant_ns = now;
	}
	change(s, LX_GRANT_ENDING, to);
	if (to != LX_GRANT_WAITS)
		lx_fastpath_poke_ack(fp->fastpath, index);
}

void lx_fp_grant_tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_stream *state = &fp->stream[index];
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);
	uint32_t grant = __atomic_load_n(&s->grant, __ATOMIC_ACQUIRE);
	int64_t since = now - s->grant_ns;

	if (grant == LX_GRANT_GIVEN && since > (int64_t)GRANT_UNUSED_NS) {
		bool once = s->messages - state->messages_at_unused >= GRANT_WORTH;

		state->messages_at_unused = s->messages;
		state->grant_pause_ns = once			? 0
					: state->grant_pause_ns ? 2 * state->grant_pause_ns
								: GRANT_PAUSE_MIN_NS;
		if (state->grant_pause_ns > GRANT_PAUSE_MAX_NS)
			state->grant_pause_ns = GRANT_PAUSE_MAX_NS;
		__atomic_store_n(&s->grant_after_ns, now + state->grant_pause_ns,
				 __ATOMIC_RELAXED);
		lx_fp_grant_end(fp, s);
	}
	if (grant == LX_GRANT_WAITS)
		wait_tick(fp, index, now);
}
