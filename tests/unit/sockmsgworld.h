/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A node on TCP and a scripted peer, after HELLO, with up to three connections. */
#ifndef LX_TESTS_SOCKMSGWORLD_H
#define LX_TESTS_SOCKMSGWORLD_H

#include <errno.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../lnd/sock/priv.h"
#include "../../lnd/sock/sock.h"
#include "fakeclock.h"
#include "fakecore.h"
#include "rawpeer.h"
#include "testlib.h"

#define PORT 9884
#define OUR_IP "127.0.0.5"
#define PEER_IP "127.0.0.2"

static struct fake_node *node;
static struct lx_nid ours, peer;
static struct lx_id id_peer;
/* the peer's three connections, by their type from its view */
static int control, in, out;

static unsigned int n_warnings;

static inline void on_log(int level, const char *line, void *arg)
{
	n_warnings += level <= LOG_WARNING;
	if (getenv("VERBOSE"))
		printf("   <%d> %s\n", level, line);
}

static inline int setup(void **state)
{
	lx_set_log(on_log, NULL);
	lx_tunable_defaults(lx_sock_lnd.tunables, &lx_sock_tun);
	lx_sock_tun.accept_port = lx_sock_tun.accept_port_bulk = PORT;
	lx_sock_tun.min_reconnectms = 200;
	lx_sock_zc_force = false;
	assert_int_equal(lx_nid_parse(OUR_IP "@tcp", &ours), 0);
	assert_int_equal(lx_nid_parse(PEER_IP "@tcp", &peer), 0);
	id_peer = fake_id(PEER_IP "@tcp");
	node = fake_new(OUR_IP "@tcp", 2, NULL);
	control = in = out = -1;
	n_warnings = 0;
	return 0;
}

static inline int teardown(void **state)
{
	fake_clock_run();
	fake_free(node);
	if (control >= 0)
		close(control);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return 0;
}

static inline int connected(unsigned int version, uint32_t type)
{
	struct lx_hello hello = raw_hello_of(version, &peer, &ours, type), answer;
	int fd = raw_dial(PEER_IP, true, OUR_IP, PORT);

	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, lx_proto_ctype_invert(type));
	return fd;
}

static inline void connect_all(unsigned int version)
{
	control = connected(version, LX_CTYPE_CONTROL);
	in = connected(version, LX_CTYPE_BULK_IN);
	out = connected(version, LX_CTYPE_BULK_OUT);
}

/* In the test's time, which goes on only while it waits. */
static inline void set_timeout(int seconds)
{
	fake_clock_stop();
	lx_env_lock(node->env);
	assert_int_equal(lx_sock_lnd.set_tunable(&node->ni, LX_SOCK_NI_TIMEOUT, seconds), 0);
	lx_env_unlock(node->env);
}

static inline struct raw_msg put(size_t len, uint64_t cookie)
{
	return (struct raw_msg){ .head = { .cookie = { cookie, 0 } },
				 .hdr = { .dst_nid = ours,
					  .src_nid = peer,
					  .dst_pid = LX_PID_LUSTRE,
					  .src_pid = LX_PID_LUSTRE,
					  .type = LX_MSG_PUT,
					  .payload_length = len } };
}

static inline void send_put(int fd, unsigned int version, size_t len, uint64_t cookie)
{
	struct raw_msg msg = put(len, cookie);

	raw_put(fd, version, false, &msg);
}

static inline void receive(size_t len)
{
	struct fake_msg *got = fake_receive(node, 20000);

	assert_non_null(got);
	assert_int_equal(got->status, 0);
	assert_int_equal(got->len, len);
	assert_true(fake_check(got));
	fake_msg_free(got);
}

static inline void expect_noop(int fd, uint64_t cookie0, uint64_t cookie1)
{
	struct raw_msg got;

	assert_true(raw_read_msg(fd, LX_SOCK_V3, &got));
	assert_int_equal(got.head.type, LX_SOCK_NOOP);
	assert_int_equal(got.head.csum, 0);
	assert_int_equal(got.head.cookie[0], cookie0);
	assert_int_equal(got.head.cookie[1], cookie1);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
