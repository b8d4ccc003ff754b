/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams with small messages: when they stay on lane 0. */
#include "sockfpworld.h"

/* An LNet ACK. */
#define EACH (24 + 72)

static bool knows_next_hop(void)
{
	return fp()->stream[0].next_hop >= 0;
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
	lx_env_unlock(env);
}

static bool is_reviewed(void)
{
	return fastpath->stream[0].fragments - fp()->stream[0].cost_seen < 1024;
}

static bool is_costly(void)
{
	return fastpath->stream[0].aside == LX_STREAM_ASIDE_COSTLY;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_costly, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
