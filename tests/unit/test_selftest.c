/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The selftest's node in virtual time: sessions, tests and traffic, errors, consoles that compete
 * or vanish, limits. Numbers are sections of selftest.md.
 */
#include "lstworld.h"

#include <errno.h>

#define A "10.0.0.1@tcp"
#define B "10.0.0.2@tcp"

static int teardown(void **state)
{
	lst_world_free();
	return 0;
}

static void expect_idle(const struct lst_node *node)
{
	assert_int_equal(node->s->n_units, 0);
	assert_int_equal(node->s->n_served, 0);
	assert_int_equal(node->s->pool.used, 0);
	assert_int_equal(node->s->pool.waiting, 0);
	assert_true(lx_list_empty(&node->s->clients));
	assert_true(lx_list_empty(&node->s->zombies));
}

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

static int debug(const struct lst_console *c, struct lx_lst_msg *msg)
{
	lx_lst_init(msg, LX_LST_DEBUG_REQ, c->features);
	return lst_ask(c, A, LX_LST_DEBUG, msg);
}

static void features(void **state)
{
	struct lst_console c;
	struct lx_lst_msg msg;

	lst_world_new(&sim_plain, 1, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	assert_int_equal(debug(&c, &msg), 0);
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
	assert_int_equal(debug(&c, &msg), 0);
	assert_string_equal(msg.debug_reply.name, "old");
	assert_int_equal(msg.debug_reply.timeout, 100);
	assert_int_equal(lst_stat(&c, A, &msg), EPROTO);
	assert_true(lx_lst_sid_eq(&msg.reply.sid, &c.sid));
	assert_int_equal(lst_remove(&c, A), EPROTO);
	c.features = 0;
	assert_int_equal(lst_remove(&c, A), 0);
}

/* ---- tests (5, 7, 8) ------------------------------------------------------------------ */

static void traffic(const struct lst_console *c, const struct lst_test *test)
{
	struct lx_lst_msg stat;

	assert_int_equal(lst_add(c, A, test), 0);
	assert_int_equal(lst_batch(c, A, test->batch, LX_LST_BATCH_RUN, 0, 0), 0);
	lst_drain(c, A, test->batch, 600);
	assert_int_equal(lst_stat(c, A, &stat), 0);
	assert_int_equal(stat.stat_reply.framework.brw_errors, 0);
	assert_int_equal(stat.stat_reply.framework.ping_errors, 0);
	assert_int_equal(stat.stat_reply.framework.active_batches, 0);
	assert_int_equal(stat.stat_reply.rpc.errors + stat.stat_reply.rpc.expired, 0);
}

static struct lst_console begin(void)
{
	struct lst_console c = lst_console("10.0.0.100@tcp", 1);

	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	assert_int_equal(lst_make(&c, B, "s", false, NULL), 0);
	return c;
}

static void ping(void **state)
{
	const struct lst_test test = { 1, LX_LST_PING, 7, 3, .dests = { B } };
	struct lst_console c;

	lst_world_new(&sim_plain, 2, NULL);
	c = begin();
	traffic(&c, &test);
	assert_int_equal(lst_node[0].s->rpc.sent, 21);
	/* Its own requests, and the session's. */
	assert_int_equal(lst_node[1].s->rpc.rcvd, 22);
	assert_int_equal(lst_remove(&c, A), 0);
	expect_idle(&lst_node[0]);
}

static void bulk(void **state)
{
	static const uint32_t lengths[] = { 8, 4088, 4096, 4104, 65536, LX_LST_BULK_MAX };
	static const uint32_t offsets[] = { 0, 8, 2048, 4088, 4096, 8200 };
	struct lst_console c;
	uint64_t sum[3] = { 0 }, batch = 0;

	lst_world_new(&sim_plain, 2, NULL);
	c = begin();
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

				traffic(&c, &test);
				sum[rw] += 6 * test.length;
			}
		}
	}
	assert_true(lst_node[1].s->rpc.bulk_put == sum[LX_LST_READ]);
	assert_true(lst_node[1].s->rpc.bulk_get == sum[LX_LST_WRITE]);
	assert_int_equal(lst_remove(&c, A), 0);
	expect_idle(&lst_node[0]);
	expect_idle(&lst_node[1]);
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
	traffic(&c, &test);
	assert_true(lst_node[1].s->rpc.bulk_get == 8 * 65536);
	test.batch = 2;
	test.rw = LX_LST_READ;
	traffic(&c, &test);
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
	traffic(&c, &test);
	assert_true(lst_node[1].s->rpc.bulk_put == 8 * 8192);
	test.batch = 2;
	test.service = LX_LST_PING;
	traffic(&c, &test);
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
	c = begin();
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
	c = begin();
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
		expect_idle(&lst_node[1]);
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
	c = begin();
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
	c = begin();
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
	c = begin();
	peer = lst_peer("10.0.0.50@tcp");
	for (int i = 0; i < 5; i++) {
		test.batch++;
		assert_int_equal(lst_add(&c, A, &test), 0);
		post(peer, LX_LST_PORTAL_TEST, NULL, LX_LST_PING, 0, in, sizeof(in), LX_MD_OP_PUT,
		     1);
		assert_int_equal(lst_batch(&c, A, test.batch, LX_LST_BATCH_RUN, 0, 0), 0);
		lx_sim_run(lst_sim, SEC);
		assert_int_equal(lx_lst_decode(in, sizeof(in), &msg), 0);
		assert_int_equal(msg.ping.magic, LX_LST_PING_MAGIC);
		lx_lst_init(&stat, LX_LST_PING_REQ + 1, 1);
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
		lx_lst_encode(&stat, out);
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

	lx_lst_init(&msg, LX_LST_BRW_REQ, c->features);
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
	expect_idle(&lst_node[0]);
	/* A ping with another magic gets no reply either. */
	lx_lst_init(&msg, LX_LST_PING_REQ, 1);
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
	lx_lst_init(&msg, LX_LST_DEBUG_REQ, 1);
	msg.version = 2;
	assert_int_equal(lst_ask(&c, A, LX_LST_DEBUG, &msg), EPROTO);
	dropped = lst_node[0].s->rpc.dropped;
	/* A test node does not serve join; types must fit, services exist. */
	lx_lst_init(&msg, LX_LST_JOIN_REQ, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_JOIN, &msg), -ETIMEDOUT);
	lx_lst_init(&msg, LX_LST_DEBUG_REQ, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_STAT, &msg), -ETIMEDOUT);
	lx_lst_init(&msg, LX_LST_DEBUG_REQ + 1, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_DEBUG, &msg), -ETIMEDOUT);
	lx_lst_init(&msg, LX_LST_BRW_REQ, 1);
	assert_int_equal(lst_ask(&c, A, 9, &msg), -ETIMEDOUT);
	lx_lst_init(&msg, LX_LST_BRW_REQ, 1);
	assert_int_equal(lst_ask(&c, A, 99, &msg), -ETIMEDOUT);
	assert_int_equal(lst_node[0].s->rpc.dropped, dropped + 5);
	/* Later requests do not wait behind those. */
	lx_lst_init(&msg, LX_LST_DEBUG_REQ, 1);
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
		assert_int_equal(debug(&stranger, &reply), EPERM);
		assert_true(lx_lst_sid_is_none(&reply.reply.sid));
	}
	assert_null(lst_node[0].s->session);
	assert_int_equal(lst_node[0].s->refused, 13);
}

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
	c = begin();
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
	expect_idle(&lst_node[0]);
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
	c = begin();
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
	expect_idle(&lst_node[0]);
}

/* The console dies while the node fetches its list of destinations. */
static void console_vanishes_early(void **state)
{
	struct lst_console c;
	struct lx_lst_msg msg;

	lst_world_new(&sim_plain, 1, NULL);
	c = lst_console("10.0.0.100@tcp", 1);
	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	lx_lst_init(&msg, LX_LST_TEST_REQ, c.features);
	msg.test.sid = c.sid;
	msg.test.bulkid = 5; /* nobody has posted it */
	msg.test.batch = 1;
	msg.test.service = LX_LST_PING;
	msg.test.loop = msg.test.concurrency = msg.test.is_client = msg.test.ndest = 1;
	assert_int_equal(lst_ask(&c, A, LX_LST_TEST, &msg), -ETIMEDOUT);
	assert_int_equal(lst_node[0].s->n_served, 1);
	lx_sim_run(lst_sim, 101 * SEC);
	assert_null(lst_node[0].s->session);
	expect_idle(&lst_node[0]);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* A server part, in a batch of its own. */
static int add_server_part(const struct lst_console *c, uint64_t batch)
{
	struct lx_lst_msg msg;

	lx_lst_init(&msg, LX_LST_TEST_REQ, c->features);
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
	c = begin();
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
	c = begin();
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
	lx_lst_init(&msg, LX_LST_BRW_REQ, c.features);
	msg.brw.bulkid = 77; /* that nobody has posted */
	msg.brw.rw = LX_LST_WRITE;
	msg.brw.length = LX_LST_BULK_MAX;
	msg.brw.flags = LX_LST_CHECK_FULL;
	lx_lst_encode(&msg, out);
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
		assert_int_equal(debug(&c, &msg), 0);
		log_clear();
	}
	for (int i = 0; i < 2; i++)
		lx_md_put(held[i], NULL);
	lx_sim_run(lst_sim, SEC);
	assert_int_equal(debug(&c, &msg), 0);
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
	c = begin();
	for (test.rw = LX_LST_READ; test.rw <= LX_LST_WRITE; test.rw++) {
		traffic(&c, &test);
		test.batch++;
	}
	assert_int_equal(lst_node[0].s->pool.made, 1);
	assert_int_equal(lst_node[1].s->pool.made, 1);
	/* Raise the limit, and lower it again. */
	tun.bulk_mib = 32;
	lx_selftest_tune(lst_node[1].s, &tun);
	test.batch++;
	test.rw = LX_LST_WRITE;
	traffic(&c, &test);
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
		lx_lst_init(&msg, LX_LST_TEST_REQ, c.features);
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
	expect_idle(&lst_node[0]);
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
	c = begin();
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
	lx_lst_init(&msg, LX_LST_DEBUG_REQ, 1);
	assert_int_equal(lst_ask(&c, A, LX_LST_DEBUG, &msg), -ETIMEDOUT);
}

/* ---- everything at once ------------------------------------------------------------------------
 */

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
	 * What runs for ever goes on for the 100 s until its session ends. With the short delays of
	 * sim_plain those were so many messages that the test once took minutes.
	 */
	*lx_sim_knobs(lst_sim) = slow;
	lx_sim_run(lst_sim, 400 * SEC);
	for (int i = 0; i < 3; i++) {
		assert_null(lst_node[i].s->session);
		expect_idle(&lst_node[i]);
	}
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_teardown(fn, teardown)
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
	return cmocka_run_group_tests_name("selftest", tests, NULL, NULL);
}
