/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* socklnd while a message waits for the core, maybe for ever: what becomes of its connection. */
#include <dirent.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "sockworld.h"

#define LENGTH 100000
#define TWO_TICKS 2500 /* ms */

static unsigned int n_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A peer whose message waits, and more of it has come, so that its connection is not read. */
static int waiting_peer(void)
{
	int fd = connected(LX_SOCK_V3, LX_CTYPE_BULK_OUT);
	unsigned int parsed = node->n_parsed;
	struct raw_msg msg = put_from(&low, LENGTH);

	node->hold = true;
	raw_put(fd, LX_SOCK_V3, false, &msg);
	assert_true(fake_wait_count(node, &node->n_parsed, parsed + 1, 20000));
	usleep(100000);
	return fd;
}

/* The connection ends although its message goes on waiting. */
static void expect_lost(unsigned int descriptors, unsigned int ms)
{
	struct fake_msg *got;

	assert_true(fake_wait_conns(node, 0, ms));
	for (int i = 0; i < 2000 && n_descriptors() != descriptors; i++)
		usleep(1000);
	assert_int_equal(n_descriptors(), descriptors);
	assert_true(fake_release(node));
	got = fake_receive(node, 20000);
	assert_non_null(got);
	assert_int_equal(got->status, -EIO);
	fake_msg_free(got);
}

static void test_reset(void **state)
{
	const struct linger abort = { 1, 0 };
	unsigned int descriptors = n_descriptors();
	int fd = waiting_peer();

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
	close(fd);
	expect_lost(descriptors, TWO_TICKS);
}

/* A peer that has closed, and so answers TCP's keepalive with a reset. */
static void test_closed(void **state)
{
	const int at_once = -1;
	unsigned int descriptors = n_descriptors();
	int fd;

	lx_sock_tun.keepalive_idle = lx_sock_tun.keepalive_intvl = 1;
	fd = waiting_peer();
	setsockopt(fd, IPPROTO_TCP, TCP_LINGER2, &at_once, sizeof(at_once));
	close(fd);
	expect_lost(descriptors, 20000);
}

/* A peer that sends no more, but is there: its message is complete. */
static void test_half_closed(void **state)
{
	int fd = waiting_peer();

	shutdown(fd, SHUT_WR);
	assert_false(raw_closed(fd, TWO_TICKS));
	assert_true(fake_release(node));
	receive(LENGTH);
	assert_true(raw_closes(fd));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reset), TEST(test_closed), TEST(test_half_closed),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
