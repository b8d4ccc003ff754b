/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A node on TCP and a scripted peer, for tests of connection setup. */
#ifndef LX_TESTS_SOCKWORLD_H
#define LX_TESTS_SOCKWORLD_H

#include <errno.h>
#include <pthread.h>
#include <syslog.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../lnd/sock/sock.h"
#include "../../lnd/sock/tunables.h"
#include "fakeclock.h"
#include "fakecore.h"
#include "rawpeer.h"
#include "testlib.h"

#define PORT 9882
#define OUR_IP "127.0.0.5"
#define LOW_IP "127.0.0.2"  /* a lower NID than ours */
#define HIGH_IP "127.0.0.8"

static struct fake_node *node;
static struct lx_nid ours, low, high;
static struct lx_id id_low;
static unsigned int n_warnings;
static char last_warning[512];
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER; /* protects it */
static uint64_t reboots; /* of the scripted peer, when it answers */

static inline void on_log(int level, const char *line, void *arg)
{
	if (getenv("VERBOSE"))
		printf("   <%d> %s\n", level, line);
	if (level > LOG_WARNING || !strncmp(line, "suppressed", 10))
		return;
	pthread_mutex_lock(&last_lock);
	snprintf(last_warning, sizeof(last_warning), "%s", line);
	pthread_mutex_unlock(&last_lock);
	__atomic_add_fetch(&n_warnings, 1, __ATOMIC_SEQ_CST);
}

static inline unsigned int warnings(void)
{
	return __atomic_load_n(&n_warnings, __ATOMIC_SEQ_CST);
}

static inline int setup(void **state)
{
	lx_set_log(on_log, NULL);
	lx_tunable_defaults(lx_sock_lnd.tunables, &lx_sock_tun);
	lx_sock_tun.accept_port = lx_sock_tun.accept_port_bulk = PORT;
	lx_sock_tun.accept_timeout = 60;
	lx_sock_tun.min_reconnectms = 200;
	assert_int_equal(lx_nid_parse(OUR_IP "@tcp", &ours), 0);
	assert_int_equal(lx_nid_parse(LOW_IP "@tcp", &low), 0);
	assert_int_equal(lx_nid_parse(HIGH_IP "@tcp", &high), 0);
	id_low = fake_id(LOW_IP "@tcp");
	node = fake_new(OUR_IP "@tcp", 2, NULL);
	__atomic_store_n(&n_warnings, 0, __ATOMIC_SEQ_CST);
	reboots = 0;
	return 0;
}

static inline int teardown(void **state)
{
	fake_clock_run();
	fake_free(node);
	return 0;
}

static inline int dial(const char *from)
{
	return raw_dial(from, true, OUR_IP, PORT);
}

/* Connects as @type (from the peer's view) from LOW_IP; the answer must be positive. */
static inline int connected(unsigned int version, uint32_t type)
{
	struct lx_hello hello = raw_hello_of(version, &low, &ours, type), answer;
	int fd = dial(LOW_IP);

	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, lx_proto_ctype_invert(type));
	return fd;
}

static inline struct raw_msg put_from(const struct lx_nid *src, size_t len)
{
	return (struct raw_msg){ .hdr = { .dst_nid = ours,
					  .src_nid = *src,
					  .dst_pid = LX_PID_LUSTRE,
					  .src_pid = LX_PID_LUSTRE,
					  .type = LX_MSG_PUT,
					  .payload_length = len } };
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

/* Expects one line in the log, and a node that still works. */
static inline void expect_warning(const char *text)
{
	char line[sizeof(last_warning)];

	for (int i = 0; i < 20000 && !warnings(); i++)
		usleep(1000);
	usleep(2000);
	pthread_mutex_lock(&last_lock);
	strcpy(line, last_warning);
	pthread_mutex_unlock(&last_lock);
	if (!strstr(line, text))
		fail_msg("\"%s\" not in: %s", text, line);
	assert_int_equal(warnings(), 1);
	__atomic_store_n(&n_warnings, 0, __ATOMIC_SEQ_CST);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
