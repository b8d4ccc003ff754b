/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A console's requests, in virtual time, to test nodes; from a node that is one itself. */
#include "../../user/selftest/ask.h"
#include "lstworld.h"

#define C "10.0.0.3@tcp" /* asked by A, as B is */

struct answer {
	unsigned int calls;
	int status;
	struct lx_lst_msg reply;
};

static void on_answer(int status, const struct lx_lst_msg *reply, void *arg)
{
	struct answer *a = arg;

	a->calls++;
	a->status = status;
	if (reply)
		a->reply = *reply;
}

static struct lx_lst_sid session(void)
{
	const struct lx_nid own = nid(A);

	return (struct lx_lst_sid){ lx_nid_to_u64(&own), 4711 };
}

static struct lx_lst_ask *begin(const char *to, enum lx_lst_service service,
				struct lx_lst_msg *msg, const struct lx_lst_dest *dests,
				uint32_t n, struct answer *a)
{
	const struct lx_id id = { nid(to), LX_PID_LUSTRE };
	struct lx_lst_ask *ask;

	memset(a, 0, sizeof(*a));
	assert_int_equal(lx_lst_ask_new(lst_node[0].node, &id, service, msg, dests, n, on_answer,
					a, &ask), 0);
	return ask;
}

/* Returns the test node's status. */
static int ask(const char *to, enum lx_lst_service service, struct lx_lst_msg *msg,
	       const struct lx_lst_dest *dests, uint32_t n)
{
	struct answer a;
	struct lx_lst_ask *ask = begin(to, service, msg, dests, n, &a);

	lx_sim_run(lst_sim, SEC);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.status, 0);
	lx_lst_ask_free(ask);
	*msg = a.reply;
	return a.reply.status;
}

static int make(const char *to)
{
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_MAKE_SESSION_REQ, LX_LST_FEATURES);
	msg.make.sid = session();
	strcpy(msg.make.name, "s");
	return ask(to, LX_LST_MAKE_SESSION, &msg, NULL, 0);
}

static int end(const char *to)
{
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_REMOVE_SESSION_REQ, LX_LST_FEATURES);
	msg.remove.sid = session();
	return ask(to, LX_LST_REMOVE_SESSION, &msg, NULL, 0);
}

static int add(const char *to, bool client, const struct lx_lst_dest *dests, uint32_t n)
{
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_TEST_REQ, LX_LST_FEATURES);
	msg.test.sid = session();
	msg.test.batch = 1;
	msg.test.service = LX_LST_PING;
	msg.test.loop = 7;
	msg.test.concurrency = 1;
	msg.test.is_client = client;
	msg.test.stop_on_error = 1;
	return ask(to, LX_LST_TEST, &msg, dests, n);
}

/* A whole session as in the spec (9); B fetches the destinations from A. */
static void test_session(void **state)
{
	const struct lx_nid c = nid(C);
	const struct lx_lst_dest dest = { lx_nid_to_u64(&c), LX_PID_LUSTRE };
	struct lx_lst_msg msg;

	lst_world_new(&sim_plain, 3, NULL);
	assert_int_equal(make(B), 0);
	assert_int_equal(make(C), 0);
	assert_int_equal(add(C, false, NULL, 0), 0);
	assert_int_equal(add(B, true, &dest, 1), 0);
	lx_lst_wire_init(&msg, LX_LST_BATCH_REQ, LX_LST_FEATURES);
	msg.batch.sid = session();
	msg.batch.batch = 1;
	msg.batch.op = LX_LST_BATCH_RUN;
	assert_int_equal(ask(B, LX_LST_BATCH, &msg, NULL, 0), 0);
	lx_lst_wire_init(&msg, LX_LST_STAT_REQ, LX_LST_FEATURES);
	msg.stat.sid = session();
	assert_int_equal(ask(C, LX_LST_STAT, &msg, NULL, 0), 0);
	/* Each of the seven pings arrived. */
	assert_true(msg.stat_reply.rpc.rcvd >= 7);
	assert_int_equal(msg.stat_reply.framework.ping_errors, 0);
	/* The test node's status is in the reply; ours is 0. */
	assert_int_equal(add(B, true, &dest, 0), EINVAL);
	assert_int_equal(end(B), 0);
	assert_int_equal(end(B), ESRCH);
	assert_int_equal(end(C), 0);
	lst_world_free();
}

/* Two concurrent requests get their own replies. */
static void test_two(void **state)
{
	struct lx_lst_msg msg, other;
	struct lx_lst_ask *one, *two;
	struct answer a, b;

	lst_world_new(&sim_plain, 3, NULL);
	assert_int_equal(make(B), 0);
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ, LX_LST_FEATURES);
	other = msg;
	one = begin(B, LX_LST_DEBUG, &msg, NULL, 0, &a);
	two = begin(C, LX_LST_DEBUG, &other, NULL, 0, &b);
	assert_int_not_equal(msg.rpyid, other.rpyid);
	lx_sim_run(lst_sim, SEC);
	assert_int_equal(a.status, 0);
	assert_int_equal(b.status, 0);
	assert_string_equal(a.reply.debug_reply.name, "s");
	assert_true(lx_lst_sid_is_none(&b.reply.debug_reply.sid));
	lx_lst_ask_free(one);
	lx_lst_ask_free(two);
	lst_world_free();
}

/* No answer: the owner gives up, or frees the request. Nothing leaks. */
static void test_silence(void **state)
{
	struct lx_lst_msg msg;
	struct lx_lst_ask *waits;
	struct answer a;

	lst_world_new(&sim_plain, 2, NULL);
	lx_sim_dead(lst_sim, B, true);
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ, LX_LST_FEATURES);
	waits = begin(B, LX_LST_DEBUG, &msg, NULL, 0, &a);
	lx_sim_run(lst_sim, SEC);
	lx_lst_ask_give_up(waits, -ETIMEDOUT);
	lx_sim_run(lst_sim, 300 * SEC);
	assert_int_equal(a.calls, 1);
	assert_true(a.status < 0);
	lx_lst_ask_give_up(waits, -ETIMEDOUT); /* too late: no effect */
	lx_lst_ask_free(waits);
	waits = begin(B, LX_LST_DEBUG, &msg, NULL, 0, &a);
	lx_lst_ask_free(waits);
	lx_sim_run(lst_sim, 300 * SEC);
	assert_int_equal(a.calls, 0);
	lst_world_free();
}

static void test_refused(void **state)
{
	const struct lx_id id = { nid(B), LX_PID_LUSTRE };
	const struct lx_lst_dest dest = { 0 };
	struct lx_lst_ask *none = NULL;
	struct lx_lst_msg msg;

	lst_world_new(&sim_plain, 2, NULL);
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ, LX_LST_FEATURES);
	assert_int_equal(lx_lst_ask_new(lst_node[0].node, &id, LX_LST_DEBUG, &msg, &dest, 1,
					on_answer, NULL, &none), -EINVAL);
	assert_int_equal(lx_lst_ask_new(lst_node[0].node, &id, LX_LST_TEST, &msg, &dest,
					LX_LST_DESTS_MAX + 1, on_answer, NULL, &none), -EINVAL);
	assert_null(none);
	lx_lst_ask_free(NULL);
	lst_world_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
