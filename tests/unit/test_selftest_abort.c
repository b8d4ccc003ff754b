/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rest, at a server, of requests that their client has aborted, in virtual time. */
#include "lstworld.h"

/*
 * The end of a session aborts its requests. A server may notice that of a write much later, when
 * the data does not come: no error of the next session.
 */
static void aborted_write_counts_for_nobody(void **state)
{
	const struct lst_test test = { 1,
				       LX_LST_BRW,
				       LX_LST_LOOP_FOREVER,
				       4,
				       .rw = LX_LST_WRITE,
				       .check = LX_LST_CHECK_SIMPLE,
				       .length = 65536,
				       .dests = { B } };
	const struct lst_test before = { 2, LX_LST_PING, 1, 1, .dests = { B } };
	struct lx_lst_msg stat;
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	assert_int_equal(lst_add(&c, A, &before), 0);
	assert_int_equal(lst_batch(&c, A, 2, LX_LST_BATCH_RUN, 0, 0), 0);
	lst_drain(&c, A, 2, 5); /* A has discovered B */
	assert_int_equal(lst_add(&c, A, &test), 0);
	lx_sim_hold(lst_sim, B, A, true); /* where it asks for the data */
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	lx_sim_run(lst_sim, 5 * MS);
	assert_int_equal(lst_node[1].s->n_served, 4);
	assert_int_equal(lst_remove(&c, A), 0);
	assert_int_equal(lst_remove(&c, B), 0);
	lx_sim_hold(lst_sim, B, A, false);
	c.sid.stamp++;
	assert_int_equal(lst_make(&c, B, "next", false, NULL), 0);
	lx_sim_run(lst_sim, 90 * SEC);
	assert_int_equal(lst_node[1].s->n_served, 0);
	assert_int_equal(lst_stat(&c, B, &stat), 0);
	assert_int_equal(stat.stat_reply.rpc.errors, 0);
	assert_int_equal(stat.stat_reply.rpc.expired, 0);
	assert_int_equal(lst_remove(&c, B), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(aborted_write_counts_for_nobody, lst_teardown),
	};

	rnd_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
