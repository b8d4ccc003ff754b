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
 * Messages that went other ways may all have arrived, so that no packet could tell the sender of it when the
 * time has come: then lnetxd does, once.
 */
static void stuck_with(uint32_t len, unsigned int ms)
{
	unsigned int before;

	stream_and_lane();
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
	stuck_with(65632, LX_STUCK_NS / LX_MS_NS);
}

static void test_told_if_stuck_small(void **state)
{
	stuck_with(96, LX_STUCK_SMALL_NS / LX_MS_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stop_growing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_far_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told_if_stuck, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told_if_stuck_small, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
