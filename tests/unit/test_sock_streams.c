/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams of the fast path with distant senders, how long a sender is held, when it is told what it
 * lost, and a host that stops while tables grow (sockfpworld.h).
 */
#include "sockfpworld.h"
#include "tcpsays.h"

static bool parsed(unsigned int n)
{
	return fake_wait_count(in, &in->n_parsed, n, 20000);
}

static unsigned int grown(void)
{
	return __atomic_load_n(&fastpath->grown, __ATOMIC_RELAXED);
}

static bool is_growing(void)
{
	return fp() && fp()->growing;
}

/* The last NI stops while the tables grow: they are freed when both are done. */
static void test_stop_growing(void **state)
{
	assert_true(eventually(fp_is_there, 20000));
	lx_env_lock(env);
	fastpath->is_short = true;
	lx_env_unlock(env);
	assert_true(eventually(is_growing, 20000));
	assert_int_equal(grown(), 0);
	__atomic_store_n(&fastpath->may_grow, true, __ATOMIC_RELAXED);
	fake_free(in);
	fake_free(out);
	assert_int_equal(grown(), 1);
	in = out = NULL;
}

/* ---- senders that are far away ----------------------------------------------------------- */

/* Its messages go to lnetxd for a while, which does not query TCP for each of them. */
static void test_far_asked(void **state)
{
	enum { N = 1000, LEN = 1000 };
	int fd;

	tcpsays_rtt_us = 20000;
	assert_true(eventually(fp_is_there, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	fd = dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false);
	send_puts(fd, 1, LEN);
	assert_true(parsed(1));
	tcpsays_asked = 0;
	send_puts(fd, N, LEN);
	assert_true(parsed(1 + N));
	tcpsays_rtt_us = 0;
	assert_in_range(tcpsays_asked, 0, N / 10);
	assert_false(eventually(stream_is_on, 0));
	/* Now the sender is near. */
	for (int i = 0; i < 1000 && !eventually(stream_is_on, 0); i++)
		send_puts(fd, 1, LEN);
	assert_true(eventually(stream_is_on, 20000));
}

/* ---- senders that are held --------------------------------------------------------------- */

static bool is_held(void)
{
	return fastpath->stream[0].flags & LX_STREAM_HOLD;
}

static bool is_released(void)
{
	return !is_held();
}

/*
 * Creates a held stream: all messages went to lane 0. Its sender's round trip time is @far_ms,
 * and it sent @left bytes less than what is framed.
 */
static void held(unsigned int far_ms, uint64_t left)
{
	struct lx_stream *s = &fastpath->stream[0];

	stream_and_lane();
	assert_true(eventually(is_released, 20000));
	fake_clock_stop();
	lx_env_lock(env);
	fp()->stream[0].far_ns = far_ms * LX_SOCK_MSEC;
	fp()->stream[0].hold_after_ns = 0;
	s->unframed = 0;
	s->parse_next = 1 << 20;
	s->high = s->parse_next - left;
	s->slowpath_last = 1ull << 40;
	s->reasons[LX_LANE0_ORDER]++;
	lx_env_unlock(env);
	assert_true(eventually(is_held, 20000));
}

/* Another stream's run has been first on the lane for so long. */
static void lane_busy_for(uint64_t ns)
{
	struct lx_lane *l = &fastpath->lane[0];

	lx_env_lock(env);
	l->run[0] = (struct lx_lane_run){ .tag = LX_LANE_RUN, .stream = 63 };
	l->word = (uint64_t)(LX_LANE_BUSY | 1 << LX_LANE_TAIL_SHIFT | 63) << 32 | 1000;
	l->first_ns = lx_sock_now() - ns;
	fastpath->stream[0].reasons[LX_LANE0_ORDER]++;
	lx_env_unlock(env);
}

/* While nobody may go behind what is on its lanes, a hold would gain nothing. */
static void test_not_held(void **state)
{
	held(0, 0);
	assert_true(eventually(is_released, 20000));
	lx_env_lock(env);
	fp()->stream[0].hold_after_ns = 0;
	lx_env_unlock(env);
	for (int i = 0; i < 10; i++) {
		lane_busy_for(LX_SOCK_SECOND);
		assert_false(eventually(is_held, 20));
	}
	lane_busy_for(0);
	assert_true(eventually(is_held, 20000));
}

/* Whether it is held for at least @ms of the test's time. */
static bool stays_held(unsigned int ms)
{
	return !eventually(is_released, ms);
}

/* As if the hold had just begun, for a minute. */
static void hold_lasts(void)
{
	lx_env_lock(env);
	fp()->stream[0].hold_ns = lx_sock_now() + 60 * LX_SOCK_SECOND;
	lx_env_unlock(env);
}

/* More of the message arrives. */
static void goes_on(void)
{
	lx_env_lock(env);
	fastpath->stream[0].high += 1000;
	lx_env_unlock(env);
}

/* Near sender in the middle of a message: we soon know that it cannot finish it. */
static void test_stuck_near(void **state)
{
	held(0, 100000);
	hold_lasts();
	assert_true(eventually(is_released, 20000));
}

/* A distant sender gets two more round trips to continue, each time. */
static void test_stuck_far(void **state)
{
	held(1500, 100000);
	assert_true(stays_held(700));
	goes_on();
	assert_true(stays_held(700));
	/* Sooner than any hold ends: that takes more than eight round trips. */
	assert_true(eventually(is_released, 9000));
}

/* At the end of a message we hold a little longer, but not forever. */
static void test_held_near(void **state)
{
	bool released = false;

	held(0, 0);
	assert_true(stays_held(250));
	/* The time runs from the beginning, whatever arrives. */
	for (int i = 0; i < 500 && !released; i++) {
		goes_on();
		released = eventually(is_released, 20);
	}
	assert_true(released);
}

/* A distant sender gets eight more round trips, from when its old window is used up. */
static void test_held_far(void **state)
{
	held(500, 0);
	assert_true(stays_held(1500));
	goes_on();
	assert_true(stays_held(1500));
	assert_true(eventually(is_released, 20000));
}

/* All bytes up to the advertised edge have arrived, except for @left. */
static void comes_to_its_end(uint64_t left)
{
	struct lx_stream *s = &fastpath->stream[0];

	lx_env_lock(env);
	s->acked = s->advertised_ack = s->parse_next;
	s->window_edge = s->parse_next + left;
	lx_env_unlock(env);
}

/* With a long round trip, the next bytes come a round trip later: release early. */
static void test_go_on_early(void **state)
{
	held(100, 0);
	comes_to_its_end(1);
	assert_true(stays_held(300));
	hold_lasts();
	comes_to_its_end(0);
	assert_true(eventually(is_released, 20000));
}

/* From nearby they would come before we have sent what we have. */
static void test_go_on_near(void **state)
{
	held(2, 0);
	comes_to_its_end(0);
	assert_true(stays_held(300));
}

/* ---- senders that are not told what they lost ---------------------------------------------- */

static unsigned int told(void)
{
	unsigned int n;

	lx_env_lock(env);
	n = fastpath->pokes[0];
	lx_env_unlock(env);
	return n;
}

static void time_passes(unsigned int ms)
{
	while (ms--)
		fake_clock_sleep();
}

/* A message of @len bytes went to the lane just now, and is not acknowledged. */
static void waits_for_ack(uint32_t len)
{
	struct lx_extent extent = { .len = len, .lane = 0 };
	struct lx_stream *s = &fastpath->stream[0];

	set_ring(1, &extent, 1);
	lx_env_lock(env);
	s->mss = 1448;
	s->packets++; /* so it is active */
	s->acked = 0;
	s->high = s->parse_next = len;
	s->progress_ns = lx_sock_now();
	lx_env_unlock(env);
}

/*
 * What went other ways may all have arrived, so that no packet could tell the sender of it when the
 * time has come: then lnetxd does, once.
 */
static void stuck_with(uint32_t len, unsigned int ms)
{
	unsigned int before;

	stream_and_lane();
	assert_true(eventually(is_released, 20000));
	fake_clock_stop();
	for (int i = 0; i < 3; i++) {
		waits_for_ack(len);
		before = told();
		time_passes(ms - 2);
		assert_int_equal(told(), before);
		time_passes(200);
		assert_int_equal(told(), before + 1);
	}
	lx_env_lock(env);
	fastpath->stream[0].acked = len;
	fastpath->stream[0].progress_ns++;
	lx_env_unlock(env);
	time_passes(200);
	assert_int_equal(told(), before + 1);
}

static void test_told_if_stuck(void **state)
{
	stuck_with(65632, LX_STUCK_NS / LX_SOCK_MSEC);
}

static void test_told_if_stuck_small(void **state)
{
	stuck_with(96, LX_STUCK_SMALL_NS / LX_SOCK_MSEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stop_growing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_far_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck_near, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck_far, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held_near, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held_far, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go_on_early, setup, teardown),
		cmocka_unit_test_setup_teardown(test_go_on_near, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told_if_stuck, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told_if_stuck_small, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
