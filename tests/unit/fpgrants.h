/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Grants in the model of test_fastpath_model.c, as in user/fastpath/grant.c. Only for that test. */
#ifndef LX_TESTS_FPGRANTS_H
#define LX_TESTS_FPGRANTS_H

#include "fpworld.h"

static void tell_sender(int who);

static void grant_end(int who)
{
	struct lx_stream *s = &stream[who];

	if (!lx_grant_end(s, &lane[s->grant_lane]))
		s->grant = LX_GRANT_NONE;
}

static void grants_end(int l)
{
	for (int i = 0; i < STREAMS; i++) {
		if (stream[i].grant_lane == (__u32)l)
			grant_end(i);
	}
}

/* How much may go by before a grant counts as late; 4 MiB there. */
static __u64 late_bytes(void)
{
	return 2 * grant_max;
}

static void grant_tick(int who)
{
	struct lx_stream *s = &stream[who];
	const struct lx_lane *t = &lane[s->grant_lane];

	if (s->grant == LX_GRANT_GIVEN && t->una - s->grant_una > late_bytes()) {
		grant_end(who);
		n_expired++;
	}
	if (s->grant == LX_GRANT_WAITS &&
	    (t->state != LX_LANE_LIVE || lx_lane_is_slow(t, t->word, now_ns))) {
		s->grant = LX_GRANT_NONE;
		tell_sender(who);
	}
}

/* Gives the first that waits a grant if nothing has moved since the last look. */
static void grant_lane_tick(int l)
{
	static __u64 idle_una[LANES];
	struct lx_lane *t = &lane[l];
	int idle = !lx_lane_busy(t->word), rests = idle && idle_una[l] == t->una;

	idle_una[l] = idle ? t->una : ~0ull;
	if (!rests || t->state != LX_LANE_LIVE)
		return;
	for (__u32 at = t->waiting_first; at != t->waiting_tail; at++) {
		int who = t->waiting[at & (LX_LANE_WAITING - 1)] - 1;

		if (sender[who].dead || stream[who].grant != LX_GRANT_WAITS ||
		    stream[who].grant_lane != (__u32)l)
			continue;
		stream[who].grant = LX_GRANT_GIVEN;
		stream[who].grant_una = t->una;
		t->granted += stream[who].grant_len;
		n_helped++;
		tell_sender(who);
		return;
	}
}

/* A lane has promised exactly the bytes that its streams may still send. */
static void check_grants(void)
{
	__u32 granted[LANES] = { 0 };

	for (int i = 0; i < STREAMS; i++) {
		if (stream[i].grant == LX_GRANT_GIVEN)
			granted[stream[i].grant_lane] += stream[i].grant_len;
	}
	for (int l = 0; l < LANES; l++)
		assert_int_equal(lane[l].granted, granted[l]);
}

#endif
