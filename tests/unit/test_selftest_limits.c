/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A selftest's node under attack, in virtual time: consoles that compete or vanish, more work than
 * it can hold, requests that stop half-way.
 */
#include "lstworld.h"

#include <errno.h>

/* ---- consoles that vanish or compete ------------------------------------------------------ */

static void console_vanishes(void **state)
{
	struct lst_test test = { 1,
				 LX_LST_BRW,
				 LX_LST_LOOP_FOREVER,
				 4,
				 .rw = LX_LST_READ,
				 .check = LX_LST_CHECK_FULL,
				 .length = 4096,
				 .dests = { B } };
	struct lst_console c;
	uint32_t sent;

	struct lx_sim_knobs slow = { .delay_min_ns = 10 * MS, .delay_max_ns = 10 * MS, .conns = 1 };

	lst_world_new(&slow, 2, NULL);
	c = lst_begin();
	assert_int_equal(lst_add(&c, A, &test), 0);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	/* Any request of the console keeps the session alive. */
	for (int i = 0; i < 3; i++) {
		lx_sim_run(lst_sim, 90 * SEC);
		assert_int_equal(lst_query(&c, A, 1, 0), 1);
		assert_int_equal(lst_make(&c, B, "s", false, NULL), 0);
	}
	lx_sim_dead(lst_sim, "10.0.0.100@tcp", true);
	lx_sim_run(lst_sim, 98 * SEC);
	assert_non_null(lst_node[0].s->session);
	lx_sim_run(lst_sim, 4 * SEC);
	assert_null(lst_node[0].s->session);
	assert_non_null(strstr(lst_node[0].note, "no request of a console for 100 s"));
	lst_expect_idle(&lst_node[0]);
	sent = lst_node[0].s->rpc.sent;
	lx_sim_run(lst_sim, 10 * SEC);
	assert_int_equal(lst_node[0].s->rpc.sent, sent);
	lx_sim_dead(lst_sim, "10.0.0.100@tcp", false);
}

static void consoles_compete(void **state)
{
	struct lst_test test = { 1, LX_LST_PING, LX_LST_LOOP_FOREVER, 16, .dests = { B } };
	struct lst_console c, other;
	struct lx_lst_msg stat;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	other = lst_console("10.0.0.101@tcp", 2);
	assert_int_equal(lst_add(&c, A, &test), 0);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	lx_sim_mute(lst_sim, B, true);
	assert_int_equal(lst_make(&other, A, "theirs", false, NULL), EBUSY);
	assert_int_equal(lst_query(&c, A, 1, 1), 16);
	/* Another console takes over: the first one's tests end. */
	assert_int_equal(lst_make(&other, A, "theirs", true, NULL), 0);
	lx_sim_mute(lst_sim, B, false);
	assert_int_equal(lst_query(&c, A, 1, 1), -ESRCH);
	assert_int_equal(lst_remove(&c, A), EBUSY);
	assert_int_equal(lst_add(&other, A, &test), 0);
	assert_int_equal(lst_batch(&other, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	assert_int_equal(lst_query(&other, A, 1, 1), 16);
	lx_sim_run(lst_sim, SEC);
	assert_int_equal(lst_stat(&other, A, &stat), 0);
	assert_int_equal(stat.stat_reply.framework.zombie_sessions, 0);
	assert_int_equal(lst_node[0].s->n_units, 16);
	assert_int_equal(lst_remove(&other, A), 0);
	lx_sim_run(lst_sim, SEC);
	lst_expect_idle(&lst_node[0]);
}

/* The console dies while the node fetches its list of destinations. */
static void console_vanishes_early(void **state)
{
	struct lst_console c;
	struct lx_lst_msg msg;

	lst_world_new(&sim_plain, 1, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	lx_lst_wire_init(&msg, LX_LST_TEST_REQ, c.features);
	msg.test.sid = c.sid;
	msg.test.bulkid = 5; /* nobody has posted it */
	msg.test.batch = 1;
	msg.test.service = LX_LST_PING;
	msg.test.loop = msg.test.concurrency = msg.test.is_client = msg.test.ndest = 1;
	assert_int_equal(lst_ask(&c, A, LX_LST_TEST, &msg), -ETIMEDOUT);
	assert_int_equal(lst_node[0].s->n_served, 1);
	lx_sim_run(lst_sim, 101 * SEC);
	assert_null(lst_node[0].s->session);
	lst_expect_idle(&lst_node[0]);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* A server part, in a batch of its own. */
static int add_server_part(const struct lst_console *c, uint64_t batch)
{
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_TEST_REQ, c->features);
	msg.test.sid = c->sid;
	msg.test.batch = batch;
	msg.test.service = LX_LST_PING;
	msg.test.loop = msg.test.concurrency = 1;
	return lst_ask(c, A, LX_LST_TEST, &msg);
}

static void limits(void **state)
{
	struct lst_test test = { 1, LX_LST_PING, 1, 1024, .dests = { B, B, B, B, B, B } };
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	/* Units: two tests of 6 x 1024 fit, the third does not. */
	assert_int_equal(lst_add(&c, A, &test), 0);
	assert_int_equal(lst_add(&c, A, &test), 0);
	assert_int_equal(lst_add(&c, A, &test), ENOMEM);
	assert_int_equal(lst_node[0].s->n_units, 2 * 6 * 1024);
	for (unsigned int i = 0; i < LX_LST_BATCHES_MAX + 1; i++)
		assert_int_equal(add_server_part(&c, 1 + i), i < LX_LST_BATCHES_MAX ? 0 : ENOMEM);
	/* Ending the session frees everything. */
	assert_int_equal(lst_remove(&c, A), 0);
	assert_int_equal(lst_node[0].s->n_units, 0);
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	assert_int_equal(lst_add(&c, A, &test), 0);
}

/*
 * A console takes the node over again and again, while requests of the sessions that end are stuck
 * in a connection: what these hold counts until they have drained.
 */
static void sessions_that_do_not_drain(void **state)
{
	const struct lst_test test = { 1, LX_LST_PING, LX_LST_LOOP_FOREVER, 1, .dests = { B } };
	struct lst_console c;
	struct lx_selftest *s;
	unsigned int i;

	lst_world_new(&sim_plain, 2, NULL);
	s = lst_node[0].s;
	c = lst_begin();
	lx_sim_hold(lst_sim, A, B, true);
	for (i = 0; i < 6; i++) {
		c.sid.stamp++;
		assert_int_equal(lst_make(&c, A, "again", true, NULL), 0);
		if (lst_add(&c, A, &test))
			break;
		assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
		for (unsigned int j = 0; j < 1000 && !add_server_part(&c, 2); j++)
			;
		for (unsigned int j = 0; j < 250 && !add_server_part(&c, 3 + j); j++)
			;
	}
	assert_false(lx_list_empty(&s->zombies));
	assert_int_equal(s->n_tests, LX_LST_TESTS_MAX);
	assert_true(s->n_batches <= LX_LST_BATCHES_MAX && s->n_batches > 700);
	assert_int_equal(add_server_part(&c, 2), ENOMEM);
	lx_sim_hold(lst_sim, A, B, false);
	lx_sim_run(lst_sim, 10 * SEC);
	assert_true(lx_list_empty(&s->zombies));
	assert_int_equal(lst_remove(&c, A), 0);
	assert_int_equal(s->n_tests + s->n_batches + s->n_units, 0);
}

/* Requests whose bulk never comes: so many are kept, in the buffers that the tunable gives. */
static void more_requests_than_served(void **state)
{
	static uint8_t out[LX_LST_MSG_BYTES];
	struct lx_selftest_tunables tun;
	struct lst_console c;
	struct lx_lst_msg msg;
	struct lx_selftest *s;

	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	tun.bulk_mib = 3;
	lst_world_new(&sim_plain, 1, &tun);
	s = lst_node[0].s;
	c = lst_console("10.0.0.100@tcp", 1);
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	lx_lst_wire_init(&msg, LX_LST_BRW_REQ, c.features);
	msg.brw.bulkid = 77; /* that nobody has posted */
	msg.brw.rw = LX_LST_WRITE;
	msg.brw.length = LX_LST_BULK_MAX;
	msg.brw.flags = LX_LST_CHECK_FULL;
	lx_lst_wire_encode(&msg, out);
	for (unsigned int i = 0; i < LX_LST_SERVED_MAX + 5; i++) {
		log_clear();
		assert_int_equal(put(c.sim, mem(c.sim, out, sizeof(out), 1), false, A,
				     LX_LST_PORTAL_TEST, LX_LST_BRW), 0);
		lx_sim_run(lst_sim, MS);
	}
	assert_int_equal(s->n_served, LX_LST_SERVED_MAX);
	assert_int_equal(s->rpc.dropped, 5);
	assert_int_equal(s->pool.made, 3);
	log_clear();
	/* The console is still in charge. */
	assert_int_equal(lst_stat(&c, A, &msg), 0);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_STOP, 0, 1), ENOENT);
	lx_sim_run(lst_sim, 90 * SEC);
	assert_int_equal(s->n_served, 0);
	assert_int_equal(s->pool.used, 0);
	assert_true(s->pool.made <= 3);
}

/*
 * A request that stops in the middle keeps its buffer. Here it is a reference to the buffer's MD,
 * as a message holds while it is received. Others must not wait for it, as all that comes by their
 * connections would wait, too.
 */
static void requests_that_stop_in_the_middle(void **state)
{
	struct lx_md *held[2];
	struct lst_console c;
	struct lx_lst_msg msg;
	struct lx_core *core;
	struct lx_selftest *s;

	lst_world_new(&sim_plain, 1, NULL);
	s = lst_node[0].s;
	core = lst_node[0].sim->core;
	c = lst_console("10.0.0.100@tcp", 1);
	for (int i = 0; i < 2; i++) {
		held[i] = lx_md_lookup(core, s->inbox[1].buffer[i].port.md);
		lx_md_get(held[i]);
	}
	for (unsigned int i = 0; i < 3 * LX_LST_INBOX_REQUESTS; i++) {
		assert_int_equal(lst_debug(&c, A, &msg), 0);
		log_clear();
	}
	for (int i = 0; i < 2; i++)
		lx_md_put(held[i], NULL);
	lx_sim_run(lst_sim, SEC);
	assert_int_equal(lst_debug(&c, A, &msg), 0);
}

/* With a single buffer, requests wait for it on either side, and none is lost. */
static void few_buffers(void **state)
{
	struct lx_selftest_tunables tun;
	struct lst_test test = {
		1, LX_LST_BRW, 2, 50, .check = LX_LST_CHECK_FULL, .length = 16384, .dests = { B, A }
	};
	struct lst_console c;

	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	tun.bulk_mib = 1;
	lst_world_new(&sim_plain, 2, &tun);
	c = lst_begin();
	for (test.rw = LX_LST_READ; test.rw <= LX_LST_WRITE; test.rw++) {
		lst_traffic(&c, &test);
		test.batch++;
	}
	assert_int_equal(lst_node[0].s->pool.made, 1);
	assert_int_equal(lst_node[1].s->pool.made, 1);
	/* Raise the limit, and lower it again. */
	tun.bulk_mib = 32;
	lx_selftest_tune(lst_node[1].s, &tun);
	test.batch++;
	test.rw = LX_LST_WRITE;
	lst_traffic(&c, &test);
	assert_true(lst_node[1].s->pool.made > 1 && lst_node[1].s->pool.made <= 32);
	tun.bulk_mib = 2;
	lx_selftest_tune(lst_node[1].s, &tun);
	assert_true(lst_node[1].s->pool.made <= 2);
}

/* Lists of destinations that never arrive take buffers of the pool, and no other memory. */
static void lists_that_do_not_come(void **state)
{
	const struct lst_test test = { 1, LX_LST_PING, 7, 3, .dests = { A } };
	struct lx_selftest_tunables tun;
	struct lst_console c;
	struct lx_lst_msg msg;

	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	tun.bulk_mib = 1;
	lst_world_new(&sim_plain, 1, &tun);
	c = lst_console("10.0.0.100@tcp", 1);
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	for (int i = 0; i < 3; i++) {
		lx_lst_wire_init(&msg, LX_LST_TEST_REQ, c.features);
		msg.test.sid = c.sid;
		msg.test.bulkid = 77;
		msg.test.batch = 1;
		msg.test.service = LX_LST_PING;
		msg.test.loop = msg.test.concurrency = 1;
		msg.test.is_client = true;
		msg.test.ndest = LX_LST_DESTS_MAX;
		assert_int_equal(lst_ask(&c, A, LX_LST_TEST, &msg), -ETIMEDOUT);
	}
	assert_int_equal(lst_node[0].s->n_served, 3);
	assert_int_equal(lst_node[0].s->pool.used, 1);
	assert_int_equal(lst_node[0].s->pool.waiting, 2);
	lx_sim_run(lst_sim, 70 * SEC);
	assert_int_equal(lst_add(&c, A, &test), 0);
	lx_sim_run(lst_sim, 200 * SEC);
	lst_expect_idle(&lst_node[0]);
}

/* The service is freed under full load. */
static void switched_off(void **state)
{
	struct lst_test test = { 1,
				 LX_LST_BRW,
				 LX_LST_LOOP_FOREVER,
				 100,
				 .rw = LX_LST_READ,
				 .check = LX_LST_CHECK_FULL,
				 .length = 65536,
				 .dests = { B } };
	struct lx_selftest_tunables tun;
	struct lst_console c;
	struct lx_lst_msg msg;

	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	tun.bulk_mib = 20;
	lst_world_new(&sim_plain, 2, &tun);
	c = lst_begin();
	assert_int_equal(lst_add(&c, A, &test), 0);
	test.batch = 2;
	test.rw = LX_LST_WRITE;
	assert_int_equal(lst_add(&c, A, &test), 0);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	assert_int_equal(lst_batch(&c, A, 2, LX_LST_BATCH_RUN, 0, 0), 0);
	for (int i = 0; i < 300; i++)
		lx_sim_step(lst_sim, UINT64_MAX);
	lx_selftest_free(lst_node[1].s);
	lst_node[1].s = NULL;
	for (int i = 0; i < 300; i++)
		lx_sim_step(lst_sim, UINT64_MAX);
	lx_selftest_free(lst_node[0].s);
	lst_node[0].s = NULL;
	/* No test node answers any more. */
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_DEBUG, &msg), -ETIMEDOUT);
}

/* ---- everything at once ------------------------------------------------------------ */

/*
 * Random requests of three consoles, over a network that loses messages and breaks connections.
 * (A node sends to itself without delay: doing so in an endless loop would stop the clock.)
 */
static void random_consoles(void **state)
{
	struct lx_sim_knobs bad = { .delay_min_ns = 1000,
				    .delay_max_ns = 3 * MS,
				    .conns = 3,
				    .loss = 20,
				    .failure = 5,
				    .buffered = 500 };
	const struct lx_sim_knobs slow = { .delay_min_ns = 3 * MS,
					   .delay_max_ns = 3 * MS,
					   .conns = 1 };
	struct lst_console c[3];

	lst_world_new(&bad, 3, NULL);
	c[0] = lst_console("10.0.0.100@tcp", 1);
	c[1] = lst_console("10.0.0.101@tcp", 2);
	c[2] = lst_console("10.0.0.102@tcp", 3);
	for (int i = 0; i < 400; i++) {
		const struct lst_console *who = &c[rnd_below(3)];
		const char *to = rnd_below(2) ? A : B;
		struct lst_test test = { 1 + rnd_below(3),
					 11 + rnd_below(2),
					 rnd_below(4) ? 1 + rnd_below(50) : UINT32_MAX,
					 1 + rnd_below(20),
					 .go_on = rnd_below(2),
					 .rw = 1 + rnd_below(2),
					 .check = 1 + rnd_below(4),
					 .length = 8 + 8 * rnd_below(4000),
					 .offset = 8 * rnd_below(1000),
					 .dests = { "10.0.0.3@tcp", strcmp(to, A) ? A : B } };
		struct lx_lst_msg msg;

		switch (rnd_below(8)) {
		case 0:
			lst_make(who, to, "r", rnd_below(2), NULL);
			break;
		case 1:
			if (!rnd_below(4))
				lst_remove(who, to);
			break;
		case 2:
		case 3:
			lst_add(who, to, &test);
			break;
		case 4:
		case 5:
			lst_batch(who, to, 1 + rnd_below(3), 1 + rnd_below(3), rnd_below(3),
				  rnd_below(2));
			break;
		case 6:
			lst_stat(who, to, &msg);
			break;
		case 7:
			lx_sim_run(lst_sim, rnd_below(SEC));
			break;
		}
	}
	/*
	 * An endless test goes on for the 100 s until its session ends. With the short delays of
	 * sim_plain those were so many messages that the test once took minutes.
	 */
	*lx_sim_knobs(lst_sim) = slow;
	lx_sim_run(lst_sim, 400 * SEC);
	for (int i = 0; i < 3; i++) {
		assert_null(lst_node[i].s->session);
		lst_expect_idle(&lst_node[i]);
	}
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_teardown(fn, lst_teardown)
	const struct CMUnitTest tests[] = {
		TEST(console_vanishes),
		TEST(consoles_compete),
		TEST(console_vanishes_early),
		TEST(limits),
		TEST(sessions_that_do_not_drain),
		TEST(more_requests_than_served),
		TEST(requests_that_stop_in_the_middle),
		TEST(few_buffers),
		TEST(lists_that_do_not_come),
		TEST(switched_off),
		TEST(random_consoles),
	};

	rnd_init();
	return cmocka_run_group_tests_name("selftest: limits", tests, NULL, NULL);
}
