/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The selftest's node in virtual time: sessions, tests and traffic, errors. Numbers are sections of
 * selftest.md.
 */
#include "lstworld.h"

#include <errno.h>

/* ---- sessions (4) ------------------------------------------------------------------- */

static void session(void **state)
{
	const struct lx_lst_sid none = LX_LST_SID_NONE;
	struct lst_console c, other;
	struct lx_lst_msg reply;

	lst_world_new(&sim_plain, 1, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	other = lst_console("10.0.0.101@tcp", 2);
	assert_int_equal(lst_remove(&c, A), ESRCH);
	assert_int_equal(lst_make(&c, A, "one", false, &reply), 0);
	assert_true(lx_lst_sid_eq(&reply.reply.sid, &c.sid));
	assert_int_equal(reply.make_reply.timeout, 100);
	assert_string_equal(reply.make_reply.name, "");
	assert_int_equal(lst_make(&c, A, "one", false, NULL), 0);
	/* Another console is told whose session it is, and cannot end it. */
	assert_int_equal(lst_make(&other, A, "two", false, &reply), EBUSY);
	assert_true(lx_lst_sid_eq(&reply.reply.sid, &c.sid));
	assert_string_equal(reply.make_reply.name, "one");
	assert_int_equal(lst_remove(&other, A), EBUSY);
	assert_int_equal(lst_stat(&other, A, &reply), ESRCH);
	assert_int_equal(lst_batch(&other, A, 1, LX_LST_BATCH_RUN, 0, 0), ESRCH);
	/* Made twice, so it must be removed twice. */
	assert_int_equal(lst_remove(&c, A), 0);
	assert_int_equal(lst_stat(&c, A, &reply), 0);
	assert_int_equal(lst_remove(&c, A), 0);
	assert_int_equal(lst_remove(&c, A), ESRCH);
	assert_null(lst_node[0].s->session);
	/* None is nobody. */
	c.sid = none;
	assert_int_equal(lst_make(&c, A, "none", true, NULL), EINVAL);
	assert_int_equal(lst_remove(&c, A), EINVAL);
	assert_int_equal(lst_stat(&c, A, &reply), EINVAL);
	assert_true(lx_lst_sid_is_none(&reply.reply.sid));
}

static void features(void **state)
{
	struct lst_console c;
	struct lx_lst_msg msg;

	lst_world_new(&sim_plain, 1, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	assert_int_equal(lst_debug(&c, A, &msg), 0);
	assert_true(lx_lst_sid_is_none(&msg.reply.sid));
	c.features = 8;
	assert_int_equal(lst_make(&c, A, "new", false, &msg), EPROTO);
	assert_int_equal(msg.features, LX_LST_FEATURES);
	assert_null(lst_node[0].s->session);
	c.features = 0;
	assert_int_equal(lst_make(&c, A, "old", false, &msg), 0);
	assert_int_equal(msg.features, 0);
	/* Only make session and debug may differ from the session's. */
	c.features = LX_LST_FEATURES;
	assert_int_equal(lst_debug(&c, A, &msg), 0);
	assert_string_equal(msg.debug_reply.name, "old");
	assert_int_equal(msg.debug_reply.timeout, 100);
	assert_int_equal(lst_stat(&c, A, &msg), EPROTO);
	assert_true(lx_lst_sid_eq(&msg.reply.sid, &c.sid));
	assert_int_equal(lst_remove(&c, A), EPROTO);
	c.features = 0;
	assert_int_equal(lst_remove(&c, A), 0);
}

/* ---- tests (5, 7, 8) ------------------------------------------------------------------ */

static void ping(void **state)
{
	const struct lst_test test = { 1, LX_LST_PING, 7, 3, .dests = { B } };
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	lst_traffic(&c, &test);
	assert_int_equal(lst_node[0].s->rpc.sent, 21);
	/* Its own requests, and the session's. */
	assert_int_equal(lst_node[1].s->rpc.rcvd, 22);
	assert_int_equal(lst_remove(&c, A), 0);
	lst_expect_idle(&lst_node[0]);
}

static void bulk(void **state)
{
	static const uint32_t lengths[] = { 8, 4088, 4096, 4104, 65536, LX_LST_BULK_MAX };
	static const uint32_t offsets[] = { 0, 8, 2048, 4088, 4096, 8200 };
	struct lst_console c;
	uint64_t sum[3] = { 0 }, batch = 0;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	for (uint32_t rw = LX_LST_READ; rw <= LX_LST_WRITE; rw++) {
		for (uint32_t check = LX_LST_CHECK_NONE; check <= LX_LST_CHECK_DISCARD; check++) {
			for (unsigned int i = 0; i < 6; i++) {
				struct lst_test test = { ++batch,
							 LX_LST_BRW,
							 3,
							 2,
							 .rw = rw,
							 .check = check,
							 .length = lengths[i],
							 .offset = offsets[(i + check) % 6],
							 .dests = { B } };

				lst_traffic(&c, &test);
				sum[rw] += 6 * test.length;
			}
		}
	}
	assert_true(lst_node[1].s->rpc.bulk_put == sum[LX_LST_READ]);
	assert_true(lst_node[1].s->rpc.bulk_get == sum[LX_LST_WRITE]);
	assert_int_equal(lst_remove(&c, A), 0);
	lst_expect_idle(&lst_node[0]);
	lst_expect_idle(&lst_node[1]);
}

/* Consoles without the length feature count in pages. */
static void pages(void **state)
{
	struct lst_test test = { 1,
				 LX_LST_BRW,
				 4,
				 2,
				 .rw = LX_LST_WRITE,
				 .check = LX_LST_CHECK_FULL,
				 .length = 16,
				 .dests = { B, A } };
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	c.features = 0;
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	assert_int_equal(lst_make(&c, B, "s", false, NULL), 0);
	lst_traffic(&c, &test);
	assert_true(lst_node[1].s->rpc.bulk_get == 8 * 65536);
	test.batch = 2;
	test.rw = LX_LST_READ;
	lst_traffic(&c, &test);
	assert_true(lst_node[1].s->rpc.bulk_put == 8 * 65536);
	test.length = 257;
	assert_int_equal(lst_add(&c, A, &test), EINVAL);
	test.length = UINT32_MAX;
	assert_int_equal(lst_add(&c, A, &test), EINVAL);
}

static void big_endian_console(void **state)
{
	struct lst_test test = { 1,
				 LX_LST_BRW,
				 4,
				 2,
				 .rw = LX_LST_READ,
				 .check = LX_LST_CHECK_FULL,
				 .length = 8192,
				 .offset = 16,
				 .dests = { B } };
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	c.flip = true;
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	assert_int_equal(lst_make(&c, B, "s", false, NULL), 0);
	lst_traffic(&c, &test);
	assert_true(lst_node[1].s->rpc.bulk_put == 8 * 8192);
	test.batch = 2;
	test.service = LX_LST_PING;
	lst_traffic(&c, &test);
	assert_int_equal(lst_remove(&c, A), 0);
}

static void refused_tests(void **state)
{
	const struct lst_test good = { 1,
				       LX_LST_BRW,
				       1,
				       1,
				       .rw = LX_LST_WRITE,
				       .check = LX_LST_CHECK_NONE,
				       .length = 4096,
				       .dests = { B } };
	struct {
		struct lst_test test;
		int status;
	} bad[16];
	unsigned int n = 0;
	struct lst_console c, other;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	other = lst_console("10.0.0.101@tcp", 2);
#define BAD(field, value, err)                                                                     \
	(bad[n].test = good, bad[n].test.field = (value), bad[n++].status = (err))
	BAD(loop, 0, EINVAL);
	BAD(concurrency, 0, EINVAL);
	BAD(concurrency, 1025, EINVAL);
	BAD(service, 13, EINVAL);
	BAD(service, LX_LST_STAT, EINVAL);
	BAD(dests[0], NULL, EINVAL);
	BAD(rw, 3, EINVAL);
	BAD(check, 0, EINVAL);
	BAD(check, 5, EINVAL);
	BAD(length, 0, EINVAL);
	BAD(length, 4, EINVAL);
	BAD(length, LX_LST_BULK_MAX + 8, EINVAL);
	BAD(offset, 4, EINVAL);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(lst_add(&c, A, &bad[i].test), bad[i].status);
	assert_int_equal(lst_add(&other, A, &good), ENOENT);
	assert_int_equal(lst_node[0].s->session->n_tests, 0);
	/* A running batch takes no more tests. */
	bad[0].test = good;
	bad[0].test.loop = LX_LST_LOOP_FOREVER;
	assert_int_equal(lst_add(&c, A, &bad[0].test), 0);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	assert_int_equal(lst_add(&c, A, &good), EBUSY);
	assert_int_equal(lst_query(&c, A, 1, 0), 1);
	assert_int_equal(lst_query(&c, A, 1, 1), 1);
	assert_int_equal(lst_query(&c, A, 1, 2), -ENOENT);
	assert_int_equal(lst_query(&c, A, 1, -1), -EINVAL);
	assert_int_equal(lst_query(&c, A, 99, 0), -ENOENT);
	assert_int_equal(lst_batch(&c, A, 1, 4, 0, 0), -ETIMEDOUT);
}

/* With force, requests are aborted; without, they end on their own. */
static void stop(void **state)
{
	struct lst_test test = { 1,
				 LX_LST_BRW,
				 LX_LST_LOOP_FOREVER,
				 8,
				 .rw = LX_LST_READ,
				 .check = LX_LST_CHECK_FULL,
				 .length = 65536,
				 .dests = { B } };
	struct lx_lst_msg stat;
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	for (uint32_t force = 0; force < 2; force++) {
		test.batch = force + 1;
		assert_int_equal(lst_add(&c, A, &test), 0);
		assert_int_equal(lst_batch(&c, A, test.batch, LX_LST_BATCH_RUN, 0, 0), 0);
		assert_int_equal(lst_batch(&c, A, test.batch, LX_LST_BATCH_RUN, 0, 0), 0);
		lx_sim_run(lst_sim, 5 * MS);
		assert_int_equal(lst_query(&c, A, test.batch, 0), 1);
		assert_int_equal(lst_query(&c, A, test.batch, 1), 8);
		assert_int_equal(lst_batch(&c, A, test.batch, LX_LST_BATCH_STOP, 0, force), 0);
		lst_drain(&c, A, test.batch, 5);
		assert_int_equal(lst_batch(&c, A, test.batch, LX_LST_BATCH_STOP, 0, force), 0);
		lst_expect_idle(&lst_node[1]);
	}
	/* It can be run again. */
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	assert_int_equal(lst_query(&c, A, 1, 1), 8);
	/* The server is silent: only force ends the test before the timeout. */
	lx_sim_mute(lst_sim, B, true);
	lx_sim_run(lst_sim, SEC);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_STOP, 0, 0), 0);
	assert_int_equal(lst_query(&c, A, 1, 1), 8);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_STOP, 0, 1), 0);
	lst_drain(&c, A, 1, 2);
	assert_int_equal(lst_stat(&c, A, &stat), 0);
	assert_int_equal(stat.stat_reply.framework.brw_errors, 0);
	assert_int_equal(stat.stat_reply.rpc.expired, 0);
	lx_sim_mute(lst_sim, B, false);
}

/* ---- errors --------------------------------------------------------------------------- */

/* As in capture 19c: the first error ends the test; one request has expired. */
static void server_dies(void **state)
{
	struct lst_test test = { 1,
				 LX_LST_BRW,
				 LX_LST_LOOP_FOREVER,
				 1,
				 .rw = LX_LST_WRITE,
				 .check = LX_LST_CHECK_SIMPLE,
				 .length = 4096,
				 .dests = { B } };
	struct lx_lst_msg stat;
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	assert_int_equal(lst_add(&c, A, &test), 0);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	lx_sim_run(lst_sim, SEC);
	lx_sim_mute(lst_sim, B, true);
	lx_sim_run(lst_sim, 60 * SEC);
	assert_int_equal(lst_query(&c, A, 1, 0), 1);
	lst_drain(&c, A, 1, 10);
	assert_int_equal(lst_stat(&c, A, &stat), 0);
	assert_int_equal(stat.stat_reply.framework.brw_errors, 1);
	assert_int_equal(stat.stat_reply.rpc.expired, 1);
	assert_int_equal(stat.stat_reply.rpc.errors, 0);
	lx_sim_mute(lst_sim, B, false);
}

/* A test that continues after errors neither spins nor gives up; it ends when its loop is done. */
static void goes_on(void **state)
{
	struct lst_test test = { 1, LX_LST_PING, 20, 1, .go_on = true, .dests = { B } };
	struct lx_lst_msg stat;
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	assert_int_equal(lst_add(&c, A, &test), 0);
	lx_sim_fail(lst_sim, B, LX_HSTATUS_REMOTE_ERROR, -ECONNREFUSED);
	assert_int_equal(lst_batch(&c, A, 1, LX_LST_BATCH_RUN, 0, 0), 0);
	lx_sim_run(lst_sim, 5 * SEC + SEC / 2);
	assert_int_equal(lst_stat(&c, A, &stat), 0);
	assert_in_range(stat.stat_reply.framework.ping_errors, 1, 7);
	lx_sim_fail(lst_sim, B, LX_HSTATUS_OK, 0);
	lst_drain(&c, A, 1, 60);
	assert_int_equal(lst_stat(&c, A, &stat), 0);
	assert_in_range(lst_node[1].s->rpc.rcvd, 10, 21);
}

/* Two raw peers send wrong replies. */
static void wrong_answers(void **state)
{
	static uint8_t in[LX_LST_MSG_BYTES], out[LX_LST_MSG_BYTES];
	struct lst_test test = { 1, LX_LST_PING, 1, 1, .dests = { "10.0.0.50@tcp" } };
	struct lx_lst_msg msg, stat;
	struct lx_sim_node *peer;
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = lst_begin();
	peer = lst_peer("10.0.0.50@tcp");
	for (int i = 0; i < 5; i++) {
		test.batch++;
		assert_int_equal(lst_add(&c, A, &test), 0);
		post(peer, LX_LST_PORTAL_TEST, NULL, LX_LST_PING, 0, in, sizeof(in), LX_MD_OP_PUT,
		     1);
		assert_int_equal(lst_batch(&c, A, test.batch, LX_LST_BATCH_RUN, 0, 0), 0);
		lx_sim_run(lst_sim, SEC);
		assert_int_equal(lx_lst_wire_decode(in, sizeof(in), &msg), 0);
		assert_int_equal(msg.ping.magic, LX_LST_PING_MAGIC);
		lx_lst_wire_init(&stat, LX_LST_PING_REQ + 1, 1);
		stat.ping_reply.magic = LX_LST_PING_MAGIC;
		stat.ping_reply.sequence = msg.ping.sequence;
		switch (i) {
		case 0:
			stat.ping_reply.sequence++;
			break;
		case 1:
			stat.ping_reply.magic++;
			break;
		case 2:
			stat.ping_reply.status = EIO;
			break;
		case 3:
			stat.type = LX_LST_BRW_REQ + 1;
			break;
		case 4:
			stat.version = 2;
			break;
		}
		lx_lst_wire_encode(&stat, out);
		assert_int_equal(put(peer, mem(peer, out, sizeof(out), 1), false, A,
				     LX_LST_PORTAL_DATA, msg.rpyid),
				 0);
		lst_drain(&c, A, test.batch, 5);
		assert_int_equal(lst_stat(&c, A, &stat), 0);
		assert_int_equal(stat.stat_reply.framework.ping_errors, i + 1);
	}
}

/* ---- as a server ------------------------------------------------------------------------ */

static int ask_brw(const struct lst_console *c, uint32_t rw, uint32_t length, uint32_t flags)
{
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_BRW_REQ, c->features);
	msg.brw.bulkid = 77;
	msg.brw.rw = rw;
	msg.brw.length = length;
	msg.brw.flags = flags;
	return lst_ask(c, A, LX_LST_BRW, &msg);
}

static void brw_requests(void **state)
{
	static uint64_t data[1024];
	struct lst_console c;
	struct lx_lst_msg msg;
	bool flip;

	lst_world_new(&sim_plain, 1, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	/* Strangers get no data: there is no session. */
	assert_int_equal(ask_brw(&c, LX_LST_READ, 8192, LX_LST_CHECK_FULL), ESRCH);
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	assert_int_equal(ask_brw(&c, 0, 8192, 1), EINVAL);
	assert_int_equal(ask_brw(&c, 3, 8192, 1), EINVAL);
	assert_int_equal(ask_brw(&c, 1, 0, 1), EINVAL);
	assert_int_equal(ask_brw(&c, 1, 4, 1), EINVAL);
	assert_int_equal(ask_brw(&c, 1, LX_LST_BULK_MAX + 8, 1), EINVAL);
	assert_int_equal(ask_brw(&c, 1, 8192, 0), EINVAL);
	assert_int_equal(ask_brw(&c, 1, 8192, 5), EINVAL);
	c.features = 4;
	assert_int_equal(ask_brw(&c, 1, 8192, 1), EPROTO);
	c.features = 0;
	assert_int_equal(ask_brw(&c, 1, 4104, 1), EINVAL);
	c.features = LX_LST_FEATURES;
	/* Written data is checked, in the writer's byte order. */
	for (int i = 0; i < 4; i++) {
		flip = i & 1;
		c.flip = flip;
		lx_lst_pattern_fill(data, sizeof(data));
		for (unsigned int k = 0; flip && k < N_OF(data); k++)
			data[k] = __builtin_bswap64(data[k]);
		if (i & 2)
			data[600]++;
		for (uint32_t check = 1; check <= 4; check++) {
			post(c.sim, LX_LST_PORTAL_DATA, A, 77, 0, data, sizeof(data), LX_MD_OP_GET,
			     1);
			assert_int_equal(ask_brw(&c, LX_LST_WRITE, sizeof(data), check),
					 (i & 2) && check == LX_LST_CHECK_FULL ? EBADMSG : 0);
		}
		if (!(i & 2))
			continue;
		data[512]++; /* first byte of the second page */
		post(c.sim, LX_LST_PORTAL_DATA, A, 77, 0, data, sizeof(data), LX_MD_OP_GET, 1);
		assert_int_equal(ask_brw(&c, LX_LST_WRITE, sizeof(data), 2), EBADMSG);
	}
	c.flip = false;
	/* Short data counts as none: no reply. */
	post(c.sim, LX_LST_PORTAL_DATA, A, 77, 0, data, 4096, LX_MD_OP_GET | LX_MD_TRUNCATE, 1);
	assert_int_equal(ask_brw(&c, LX_LST_WRITE, sizeof(data), 1), -ETIMEDOUT);
	lx_sim_run(lst_sim, 200 * SEC);
	lst_expect_idle(&lst_node[0]);
	/* A ping with another magic gets no reply either. */
	lx_lst_wire_init(&msg, LX_LST_PING_REQ, 1);
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	assert_int_equal(lst_ask(&c, A, LX_LST_PING, &msg), -ETIMEDOUT);
}

static void strange_requests(void **state)
{
	struct lst_console c;
	struct lx_lst_msg msg;
	uint32_t dropped;

	lst_world_new(&sim_plain, 1, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ, 1);
	msg.version = 2;
	assert_int_equal(lst_ask(&c, A, LX_LST_DEBUG, &msg), EPROTO);
	dropped = lst_node[0].s->rpc.dropped;
	/* A test node does not serve join; types must fit, services exist. */
	lx_lst_wire_init(&msg, LX_LST_JOIN_REQ, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_JOIN, &msg), -ETIMEDOUT);
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_STAT, &msg), -ETIMEDOUT);
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ + 1, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_DEBUG, &msg), -ETIMEDOUT);
	lx_lst_wire_init(&msg, LX_LST_BRW_REQ, 1);
	assert_int_equal(lst_ask(&c, A, 9, &msg), -ETIMEDOUT);
	lx_lst_wire_init(&msg, LX_LST_BRW_REQ, 1);
	assert_int_equal(lst_ask(&c, A, 99, &msg), -ETIMEDOUT);
	assert_int_equal(lst_node[0].s->rpc.dropped, dropped + 5);
	/* Later requests do not wait behind those. */
	lx_lst_wire_init(&msg, LX_LST_DEBUG_REQ, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_DEBUG, &msg), 0);
}

static void not_a_console(void **state)
{
	struct lst_console c, stranger;
	struct lx_lst_msg reply;

	lst_world_new(&sim_plain, 1, NULL);
	lst_node[0].console = "10.0.0.100@tcp";
	c = lst_console("10.0.0.100@tcp", 1);
	stranger = lst_console("10.0.0.66@tcp", 1);
	assert_int_equal(lst_make(&stranger, A, "evil", true, &reply), EPERM);
	assert_true(lx_lst_sid_is_none(&reply.reply.sid));
	assert_null(lst_node[0].s->session);
	assert_int_equal(lst_make(&c, A, "good", false, NULL), 0);
	/* Nor does it learn of the session, even with its id, or keep it alive. */
	assert_int_equal(lst_stat(&stranger, A, &reply), EPERM);
	for (int i = 0; i < 11; i++) {
		lx_sim_run(lst_sim, 10 * SEC);
		assert_int_equal(lst_debug(&stranger, A, &reply), EPERM);
		assert_true(lx_lst_sid_is_none(&reply.reply.sid));
	}
	assert_null(lst_node[0].s->session);
	assert_int_equal(lst_node[0].s->refused, 13);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_teardown(fn, lst_teardown)
	const struct CMUnitTest tests[] = {
		TEST(session),
		TEST(features),
		TEST(ping),
		TEST(bulk),
		TEST(pages),
		TEST(big_endian_console),
		TEST(refused_tests),
		TEST(stop),
		TEST(server_dies),
		TEST(goes_on),
		TEST(wrong_answers),
		TEST(brw_requests),
		TEST(strange_requests),
		TEST(not_a_console),
	};

	rnd_init();
	return cmocka_run_group_tests_name("selftest", tests, NULL, NULL);
}
