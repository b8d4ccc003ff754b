/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams with small messages: when a sender is held, and when its messages stay on lane 0. */
#include "sockfpworld.h"

/* An LNet ACK. */
#define EACH (24 + 72)

static bool is_held(void)
{
	return fastpath->stream[0].flags & LX_STREAM_HOLD;
}

static bool knows_next_hop(void)
{
	return fp()->stream[0].next_hop >= 0;
}

static bool is_free(void)
{
	return !is_held() && !fp()->stream[0].hold_ns;
}

/* A framed stream of small messages that may use lanes, one of which is there. */
static void world(void)
{
	struct lx_stream *s = &fastpath->stream[0];

	send_puts(stream_and_lane(), 1, 0);
	assert_true(eventually(knows_next_hop, 20000));
	lx_env_lock(env);
	s->unframed = 0;
	lx_env_unlock(env);
	assert_true(eventually(is_free, 20000));
	fake_clock_stop();
}

/* @n messages have come, @by_lanes of them went by lanes, which took @fragments cuts. */
static void messages_came(unsigned int n, unsigned int by_lanes, unsigned int fragments)
{
	struct lx_stream *s = &fastpath->stream[0];

	lx_env_lock(env);
	s->messages += n;
	s->parse_next += n * EACH;
	s->high = s->acked = s->advertised_ack = s->parse_next;
	s->lane_messages += by_lanes;
	s->lane_bytes += by_lanes * EACH;
	s->fragments += fragments;
	s->reasons[LX_LANE0_ORDER] += n - by_lanes;
	lx_env_unlock(env);
}

static bool they_are_small(void)
{
	return fp()->stream[0].mean == EACH;
}

static bool is_reviewed(void)
{
	return fastpath->stream[0].fragments - fp()->stream[0].cost_seen < 1024;
}

static bool is_costly(void)
{
	return fastpath->stream[0].aside == LX_STREAM_ASIDE_COSTLY;
}

/*
 * Some of the messages are on lane 0, so those behind them are, too. Their moment without any would
 * hardly ever come by itself, and each change from lanes to lane 0 waits for the lanes: so the
 * sender is held, however small its messages are, and to however many next hops they go.
 */
static void test_small(void **state)
{
	world();
	messages_came(1000, 1000, 0);
	assert_true(eventually(they_are_small, 20000));
	lx_env_lock(env);
	fastpath->stream[0].slowpath_last = 1ull << 40;
	lx_env_unlock(env);
	assert_false(eventually(is_held, 0));
	for (int i = 0; i < 50 && !eventually(is_held, 10); i++)
		messages_came(16, 8, 0);
	assert_true(eventually(is_held, 0));
	assert_false(eventually(is_costly, 0));
}

/* Cutting pays if there is a message for every two cuts, however small it is. */
static void test_costly(void **state)
{
	world();
	messages_came(4096, 4096, 8192);
	assert_true(eventually(is_reviewed, 20000));
	assert_false(eventually(is_costly, 0));
	messages_came(4096, 4096, 8193);
	assert_true(eventually(is_reviewed, 20000));
	assert_true(eventually(is_costly, 0));
}

static bool is_slow(void)
{
	return fastpath->stream[0].aside == LX_STREAM_ASIDE_SLOW;
}

/*
 * Every 10 ms, 16 messages come; all but those of the last @ms have arrived. Returns whether the
 * stream is called slow within 2 s.
 */
static bool slow_after(unsigned int ms, bool one_next_hop)
{
	struct lx_stream *s = &fastpath->stream[0];
	uint64_t behind = ms / 10 * 16 * EACH;

	for (int i = 0; i < 200; i++) {
		uint64_t acked = s->acked;

		messages_came(16, 16, 0);
		lx_env_lock(env);
		s->acked = s->parse_next - behind > acked ? s->parse_next - behind : acked;
		s->packets++;
		s->next_hop_run = one_next_hop ? s->next_hop_run + 16 : 0;
		lx_env_unlock(env);
		if (eventually(is_slow, 10))
			return true;
	}
	return false;
}

/*
 * A sender hears of its messages in the order in which it sent them: if those for one of several
 * next hops are late, all others wait.
 */
static void test_late(void **state)
{
	world();
	assert_false(slow_after(0, false));
	assert_false(slow_after(100, true));
	assert_true(slow_after(100, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_small, setup, teardown),
		cmocka_unit_test_setup_teardown(test_costly, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
