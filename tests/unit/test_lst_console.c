/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of the console of LNet selftest, on virtual time: nodes, groups, batches; and what it
 * makes of counters.
 */
#include <errno.h>
#include <jansson.h>

#include "../../tools/cli/common/console.h"
#include "../../tools/cli/common/trans.h"
#include "testlib.h"

#define A "10.0.0.1@tcp"
#define B "10.0.0.2@tcp"
#define C "10.0.0.3@tcp"

static json_t *new_console(void)
{
	json_t *c = lx_console_new("s", 7, A, 1000, 300, 50);

	assert_non_null(c);
	return c;
}

static void add(json_t *c, const char *group, const char *nid)
{
	json_array_append_new(lx_console_group(c, group), json_string(nid));
}

static void add_test(json_t *c, const char *batch, const char *client, const char *server)
{
	json_t *test = json_pack("{ss, ss, s[s], s[s]}", "from", "f", "to", "t", "clients", client,
				 "servers", server);

	assert_non_null(test);
	json_array_append_new(json_object_get(lx_console_batch(c, batch), "tests"), test);
}

static void test_session(void **state)
{
	json_t *c = new_console();

	assert_int_equal(json_integer_value(json_object_get(c, "key")), 7);
	assert_non_null(lx_console_batch(c, LX_CONSOLE_DEFAULT_BATCH));
	/* Idle for longer than the time-out, from the last command on. */
	assert_false(lx_console_expired(c, 350));
	assert_true(lx_console_expired(c, 351));
	json_object_set_new(c, "used", json_integer(300));
	assert_false(lx_console_expired(c, 600));
	json_decref(c);
}

static void expect_due(const json_t *c, int64_t now, size_t n)
{
	json_t *due = lx_console_due(c, now);

	assert_int_equal(json_array_size(due), n);
	json_decref(due);
}

/* Nodes are asked for a sign of life at half their own time-out, if they have the session. */
static void test_due(void **state)
{
	json_t *c = new_console();

	lx_console_heard(c, A, LX_CONSOLE_ACTIVE, 20, 100);
	lx_console_heard(c, B, LX_CONSOLE_ACTIVE, 0, 100); /* the reference's 100 s */
	lx_console_heard(c, C, LX_CONSOLE_DOWN, 20, 100);
	expect_due(c, 109, 0);
	expect_due(c, 110, 1);
	expect_due(c, 149, 1);
	expect_due(c, 150, 2);
	lx_console_heard(c, A, LX_CONSOLE_ACTIVE, 0, 150); /* its time-out stays */
	expect_due(c, 150, 1);
	expect_due(c, 160, 2);
	lx_console_heard(c, B, LX_CONSOLE_BUSY, 0, 160);
	expect_due(c, 1000, 1);
	json_decref(c);
}

static void test_states(void **state)
{
	json_t *c = new_console();
	unsigned int n[LX_CONSOLE_STATES];

	assert_int_equal(lx_console_node(c, A), LX_CONSOLE_UNKNOWN);
	assert_int_equal(lx_console_group_add(c, "g"), 0);
	add(c, "g", A);
	add(c, "g", B);
	add(c, "g", C);
	lx_console_heard(c, A, LX_CONSOLE_ACTIVE, 0, 1);
	lx_console_heard(c, B, LX_CONSOLE_DOWN, 0, 1);
	lx_console_count(c, lx_console_group(c, "g"), n);
	assert_int_equal(n[LX_CONSOLE_ACTIVE], 1);
	assert_int_equal(n[LX_CONSOLE_BUSY], 0);
	assert_int_equal(n[LX_CONSOLE_DOWN], 1);
	assert_int_equal(n[LX_CONSOLE_UNKNOWN], 1);
	assert_string_equal(lx_console_state_name(LX_CONSOLE_DOWN), "Down");
	json_decref(c);
}

static void judge(const json_t *c, const char *session, const char *console,
		  enum lx_console_state state)
{
	json_t *answer = console ? json_pack("{ss, ss}", "session", session, "console", console)
				 : json_pack("{ss}", "session", session);

	assert_int_equal(lx_console_judge(c, answer), state);
	json_decref(answer);
}

/* The owner of a node's session. */
static void test_judge(void **state)
{
	json_t *c = new_console();

	judge(c, "s", A, LX_CONSOLE_ACTIVE);
	judge(c, "s", B, LX_CONSOLE_BUSY);
	judge(c, "other", A, LX_CONSOLE_BUSY);
	judge(c, "", NULL, LX_CONSOLE_UNKNOWN);
	judge(c, "", B, LX_CONSOLE_BUSY); /* a session without a name */
	json_decref(c);
}

static void test_groups(void **state)
{
	json_t *c = new_console(), *gone;

	assert_int_equal(lx_console_group_add(c, "f"), 0);
	assert_int_equal(lx_console_group_add(c, "f"), -EEXIST);
	assert_int_equal(lx_console_group_add(c, "t"), 0);
	assert_null(lx_console_group(c, "nosuch"));
	add(c, "f", A);
	add(c, "f", B);
	add(c, "t", B);
	lx_console_heard(c, A, LX_CONSOLE_ACTIVE, 0, 1);
	lx_console_heard(c, B, LX_CONSOLE_ACTIVE, 0, 1);
	assert_int_equal(lx_console_group_del(c, "nosuch"), -ENOENT);
	assert_int_equal(lx_console_group_del(c, "f"), 0);
	/* B is still in another group. */
	lx_console_sweep(c, &gone);
	assert_int_equal(json_array_size(gone), 1);
	assert_string_equal(json_string_value(json_array_get(gone, 0)), A);
	assert_int_equal(lx_console_node(c, A), LX_CONSOLE_UNKNOWN);
	assert_int_equal(lx_console_node(c, B), LX_CONSOLE_ACTIVE);
	json_decref(gone);
	/* A test uses it. */
	add_test(c, LX_CONSOLE_DEFAULT_BATCH, A, B);
	assert_true(lx_console_group_busy(c, "t"));
	assert_int_equal(lx_console_group_del(c, "t"), -EBUSY);
	json_decref(c);
}

static void test_batches(void **state)
{
	json_t *c = new_console(), *b, *nids;

	assert_int_equal(lx_console_batch_add(c, "b"), 0);
	assert_int_equal(lx_console_batch_add(c, "b"), -EEXIST);
	assert_null(lx_console_batch(c, "nosuch"));
	b = lx_console_batch(c, "b");
	assert_int_equal(json_integer_value(json_object_get(b, "id")), 2);
	add_test(c, "b", A, B);
	add_test(c, "b", B, A);
	add_test(c, "b", C, C);
	nids = lx_console_batch_nodes(b, 0, false);
	assert_int_equal(json_array_size(nids), 3);
	json_decref(nids);
	nids = lx_console_batch_nodes(b, 2, true);
	assert_int_equal(json_array_size(nids), 1);
	assert_true(lx_console_has(nids, A));
	json_decref(nids);
	/* A node counts its own parts, those that serve too. */
	assert_int_equal(lx_console_test_index(b, 1, A), 1);
	assert_int_equal(lx_console_test_index(b, 2, B), 2);
	assert_int_equal(lx_console_test_index(b, 3, C), 2);
	assert_int_equal(lx_console_test_index(b, 2, A), 0); /* it serves */
	assert_int_equal(lx_console_test_index(b, 9, A), 0);
	json_decref(c);
}

/* "a:b": a clients share b servers. */
static void test_dests(void **state)
{
	static const struct {
		uint32_t dist, span;
		size_t client, n, first;
		size_t many;
	} cases[] = {
		{ 1, 1, 0, 3, 0, 1 }, { 1, 1, 4, 3, 1, 1 }, { 2, 1, 1, 3, 0, 1 },
		{ 2, 1, 2, 3, 1, 1 }, { 1, 2, 1, 3, 2, 2 }, { 3, 5, 2, 3, 0, 3 },
		{ 1, 1, 0, 0, 0, 0 },
	};
	size_t dest[8];

	for (size_t i = 0; i < N_OF(cases); i++) {
		assert_int_equal(lx_console_dests(cases[i].client, cases[i].dist, cases[i].span,
						  cases[i].n, dest),
				 cases[i].many);
		for (size_t j = 0; j < cases[i].many; j++)
			assert_int_equal(dest[j], (cases[i].first + j) % cases[i].n);
	}
}

static json_t *counters(double at_s, json_int_t running_ms, json_int_t sent, json_int_t bytes)
{
	return json_pack("{sf, sI, sI, sI, sI}", "at_s", at_s, "running_ms", running_ms, "sent",
			 sent, "send_length", bytes, "expired", sent / 100);
}

static void rate(json_t *begin, json_t *now, double seconds, double sent)
{
	assert_true(lx_trans_seconds(begin, now) == seconds);
	assert_true(lx_trans_rate(begin, now, "sent") == sent);
	json_decref(begin);
	json_decref(now);
}

/* Between two counts: by the node's clock, unless it is far from ours; counts are of 32 bits. */
static void test_rates(void **state)
{
	json_t *begin = counters(10, 0, 100, 1LL << 40), *now = counters(12, 1, 700, 3LL << 40);

	assert_true(lx_trans_grown(begin, now, "send_length") == 2LL << 40);
	assert_int_equal(lx_trans_errors(begin, now), 6);
	rate(begin, now, 2, 300);
	rate(counters(10, 5000, 0, 0), counters(12, 7500, 500, 0), 2.5, 200);
	rate(counters(10, UINT32_MAX - 999, UINT32_MAX, 0), counters(12, 1000, 399, 0), 2, 200);
	/* Its session began again. */
	rate(counters(10, 90000, 0, 0), counters(12, 1000, 500, 0), 2, 250);
	rate(counters(10, 0, 0, 0), counters(10, 0, 0, 0), 0, 0);
}

static void test_check_words(void **state)
{
	assert_int_equal(lx_trans_check("none"), LX_LST_CHECK_NONE);
	assert_int_equal(lx_trans_check("full"), LX_LST_CHECK_FULL);
	assert_int_equal(lx_trans_check(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),	    cmocka_unit_test(test_due),
		cmocka_unit_test(test_states),	    cmocka_unit_test(test_groups),
		cmocka_unit_test(test_batches),	    cmocka_unit_test(test_dests),
		cmocka_unit_test(test_judge),	    cmocka_unit_test(test_rates),
		cmocka_unit_test(test_check_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
