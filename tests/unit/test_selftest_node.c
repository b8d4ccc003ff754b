/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The selftest on real nodes: threads, and TCP over loopback addresses. One node is the console,
 * one the client, one the server; they share this process and nothing else.
 */
#include "testlib.h"

#include <errno.h>
#include <pthread.h>

#include "../../user/selftest/selftest.h"
#include "rawpeer.h"

static struct lx_node *node[3]; /* console, client, server */
static struct lx_selftest *service[3]; /* of the latter two */
static const struct lx_lst_sid sid = { 0x000200007f000001ULL, 1 };
static uint64_t next_id = 1;

static const char *const yaml_fmt =
	"net:\n"
	"    - net type: tcp\n"
	"      local NI(s):\n"
	"        - nid: 127.0.0.%d@tcp\n"
	"tunables:\n"
	"    tcp: { accept_port: %d, accept_port_bulk: %d, accept: all, nscheds: 2 }\n";

/* ---- a console ------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned int gone; /* MDs of the console */

static void on_event(const struct lx_event *event)
{
	if (!event->unlinked)
		return;
	pthread_mutex_lock(&mutex);
	gone++;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}

static void await_gone(unsigned int n)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&mutex);
	while (gone < n && !err)
		err = pthread_cond_timedwait(&cond, &mutex, &until);
	gone = 0;
	pthread_mutex_unlock(&mutex);
	assert_int_equal(err, 0);
}

static void post(const struct lx_id *from, uint64_t bits, void *start, size_t len,
		 unsigned int options)
{
	const struct lx_md_desc desc = { .start = start,
					 .length = len,
					 .threshold = 1,
					 .options = options,
					 .handler = on_event };
	struct lx_handle me, md;

	assert_int_equal(lx_me_attach(node[0], LX_LST_PORTAL_DATA, from, bits, 0, LX_UNLINK,
				      LX_ME_AFTER, &me),
			 0);
	assert_int_equal(lx_md_attach(node[0], me, &desc, LX_UNLINK, &md), 0);
}

/* Asks node @i; returns the status. @dests: of a test, one; or NULL */
static int ask(int i, enum lx_lst_service service_id, struct lx_lst_msg *msg, void *dests)
{
	static uint8_t out[LX_LST_MSG_BYTES], in[LX_LST_MSG_BYTES];
	const struct lx_md_desc desc = {
		.start = out, .length = sizeof(out), .threshold = 1, .handler = on_event
	};
	struct lx_id to = { .pid = LX_PID_LUSTRE };
	struct lx_handle md;

	lx_nid_from_u64(sid.nid + i, &to.nid);
	msg->rpyid = next_id++;
	if (dests) {
		msg->test.bulkid = next_id++;
		post(&to, msg->test.bulkid, dests, sizeof(struct lx_lst_dest), LX_MD_OP_GET);
	}
	lx_lst_wire_encode(msg, out);
	post(&to, msg->rpyid, in, sizeof(in), LX_MD_OP_PUT);
	assert_int_equal(lx_md_bind(node[0], &desc, LX_UNLINK, &md), 0);
	assert_int_equal(lx_put(node[0], NULL, md, false, &to, lx_lst_wire_portal(service_id),
				service_id, 0, 0),
			 0);
	await_gone(dests ? 3 : 2);
	assert_int_equal(lx_lst_wire_decode(in, sizeof(in), msg), 0);
	return msg->status;
}

static int batch(uint32_t op, uint32_t *ret_active)
{
	struct lx_lst_msg msg;
	int status;

	lx_lst_wire_init(&msg, LX_LST_BATCH_REQ, LX_LST_FEATURES);
	msg.batch.sid = sid;
	msg.batch.batch = 1;
	msg.batch.op = op;
	msg.batch.arg = 1;
	status = ask(1, LX_LST_BATCH, &msg, NULL);
	if (ret_active)
		*ret_active = msg.batch_reply.active;
	return status;
}

static void make_sessions(void)
{
	struct lx_lst_msg msg;

	for (int i = 1; i < 3; i++) {
		lx_lst_wire_init(&msg, LX_LST_MAKE_SESSION_REQ, LX_LST_FEATURES);
		msg.make.sid = sid;
		assert_int_equal(ask(i, LX_LST_MAKE_SESSION, &msg, NULL), 0);
	}
}

static void add_test(uint32_t rw, uint32_t loop, uint32_t concurrency, uint32_t length)
{
	struct lx_lst_dest dest = { sid.nid + 2, LX_PID_LUSTRE };
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_TEST_REQ, LX_LST_FEATURES);
	msg.test.sid = sid;
	msg.test.batch = 1;
	msg.test.service = rw ? LX_LST_BRW : LX_LST_PING;
	msg.test.loop = loop;
	msg.test.concurrency = concurrency;
	msg.test.is_client = msg.test.stop_on_error = 1;
	msg.test.ndest = 1;
	if (rw) {
		msg.test.params.bulk.rw = rw;
		msg.test.params.bulk.flags = LX_LST_CHECK_FULL;
		msg.test.params.bulk.length = length;
		msg.test.params.bulk.offset = 8;
	}
	assert_int_equal(ask(1, LX_LST_TEST, &msg, &dest), 0);
}

/* ---- tests --------------------------------------------------------------------------------- */

static int setup(void **state)
{
	const struct lx_selftest_ops ops = { 0 };
	struct lx_selftest_tunables tun;
	struct lx_conf_error err;
	int port = 20000 + getpid() % 20000;
	char yaml[400];

	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	tun.bulk_mib = 4;
	for (int i = 0; i < 3; i++) {
		snprintf(yaml, sizeof(yaml), yaml_fmt, i + 1, port, port);
		if (lx_node_new_yaml(yaml, strlen(yaml), &err, &node[i]))
			return -1;
		if (i && lx_selftest_new(node[i], &tun, &ops, &service[i]))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < 3; i++) {
		lx_selftest_free(service[i]);
		service[i] = NULL;
		lx_node_free(node[i]);
	}
	return 0;
}

static void everything(void **state)
{
	uint32_t active = 1;
	struct lx_selftest_info info;

	make_sessions();
	add_test(0, 100, 4, 0);
	add_test(LX_LST_READ, 20, 8, LX_LST_BULK_MAX);
	add_test(LX_LST_WRITE, 20, 8, 300000);
	add_test(LX_LST_WRITE, 100, 8, 8);
	assert_int_equal(batch(LX_LST_BATCH_RUN, NULL), 0);
	while (active) {
		lx_selftest_tick(service[1]);
		lx_selftest_tick(service[2]);
		assert_int_equal(batch(LX_LST_BATCH_QUERY, &active), 0);
		usleep(10000);
	}
	lx_selftest_info(service[1], &info);
	assert_int_equal(info.rpc.sent, 400 + 160 + 160 + 800);
	assert_int_equal(info.rpc.errors + info.rpc.expired, 0);
	assert_int_equal(info.framework.brw_errors + info.framework.ping_errors, 0);
	lx_selftest_info(service[2], &info);
	assert_true(info.rpc.bulk_put == 160ULL * LX_LST_BULK_MAX);
	assert_true(info.rpc.bulk_get == 160ULL * 300000 + 800 * 8);
	assert_true(info.rpc.rcvd == 1520 + 1);
}

/* Nodes and services are freed during a test. */
static void torn_down(void **state)
{
	struct lx_selftest_info info;

	make_sessions();
	add_test(LX_LST_READ, LX_LST_LOOP_FOREVER, 16, LX_LST_BULK_MAX);
	add_test(LX_LST_WRITE, LX_LST_LOOP_FOREVER, 16, 65536);
	assert_int_equal(batch(LX_LST_BATCH_RUN, NULL), 0);
	do {
		usleep(1000);
		lx_selftest_info(service[2], &info);
	} while (info.rpc.rcvd < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything, setup, teardown),
		cmocka_unit_test_setup_teardown(torn_down, setup, teardown),
	};

	/* With ports of our own, if we may. */
	if (!geteuid() && !raw_private_net())
		return 0;
	return cmocka_run_group_tests_name("selftest_node", tests, NULL, NULL);
}
