/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd against a scripted peer that dials us: connection setup in all versions and both byte
 * orders, every reason to refuse one, and malformed input.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <sys/resource.h>

#include "sockworld.h"

static void passive_version(unsigned int version, bool flip)
{
	struct lx_hello hello = raw_hello_of(version, &low, &ours, LX_CTYPE_CONTROL), answer;
	struct raw_msg msg, got;
	int fd = dial(LOW_IP);

	hello.flip = flip;
	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.version, version);
	assert_false(answer.flip);
	assert_int_equal(answer.ctype, LX_CTYPE_CONTROL);
	assert_int_equal(answer.src_pid, LX_PID_LUSTRE);
	assert_int_equal(answer.src_incarnation, node->ni.incarnation_ns);
	assert_int_equal(answer.nips, 0);
	assert_true(lx_nid_eq(&answer.src_nid, &ours));
	if (version != LX_SOCK_V1)
		assert_true(lx_nid_eq(&answer.dst_nid, &low));
	for (size_t len = 0; len < 1 << 20; len = len * 7 + 100) {
		msg = put_from(&low, len);
		raw_put(fd, version, flip, &msg);
		receive(len);
	}
	/* and back, over the existing connection */
	for (size_t len = 0; len < 200000; len = len * 7 + 100) {
		struct fake_msg *out = fake_put(node, &id_low, len);

		assert_true(raw_read_msg(fd, version, &got));
		assert_int_equal(got.hdr.payload_length, len);
		assert_int_equal(got.head.csum, 0);
		assert_int_equal(got.head.cookie[0], 0);
		assert_true(lx_nid_eq(&got.hdr.src_nid, &ours));
		assert_int_equal(fake_wait(out, NULL), 0);
		free(got.payload);
	}
	close(fd);
	assert_true(fake_wait_conns(node, 0, 20000));
	assert_int_equal(node->n_lost, 0);
}

static void test_passive_versions(void **state)
{
	for (unsigned int version = LX_SOCK_V1; version <= LX_SOCK_V4; version++) {
		passive_version(version, false);
		if (version != LX_SOCK_V1)
			passive_version(version, true);
	}
	assert_int_equal(warnings(), 0);
}

static void test_request_in_pieces(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL), answer;
	uint8_t buf[LX_ACC_REQ_MAX + LX_HELLO_MAX];
	size_t len = lx_proto_acc_encode(&ours, buf);
	int fd = dial(LOW_IP);

	len += lx_proto_hello_encode(&hello, buf + len);
	for (size_t i = 0; i < len; i++) {
		raw_write(fd, buf + i, 1);
		usleep(500);
	}
	assert_true(raw_read_hello(fd, &answer));
	close(fd);
}

static void test_request_other_order(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V2, &low, &ours, LX_CTYPE_BULK_OUT), answer;
	struct lx_acc_req1 req = {
		.magic = __builtin_bswap32(LX_PROTO_ACC_MAGIC),
		.version = __builtin_bswap32(1),
		.nid = __builtin_bswap64(lx_nid_to_u64(&ours)),
	};
	int fd = dial(LOW_IP);

	hello.flip = true;
	raw_write(fd, &req, sizeof(req));
	raw_hello(fd, &hello);
	assert_true(raw_read_hello(fd, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_BULK_IN);
	close(fd);
}

static void test_request_bad(void **state)
{
	static const uint32_t magics[] = { 0, 0x12345678, LX_PROTO_TCP_MAGIC, 0xffffffff };
	struct lx_acc_req1 req, answer;
	int fd;

	for (size_t i = 0; i < N_OF(magics); i++) {
		fd = dial(LOW_IP);
		raw_write(fd, &magics[i], 4);
		assert_true(raw_closes(fd));
		close(fd);
	}
	/* The same from the same address has one line a minute. */
	expect_warning("connections=1 reason=\"not an acceptor request");
	/* probers and requests of future versions get our version */
	for (int i = 0; i < 2; i++) {
		fd = dial(LOW_IP);
		req = (struct lx_acc_req1){ i ? LX_PROTO_ACC_MAGIC : LX_PROTO_MAGIC, 77, 0 };
		raw_write(fd, &req, 8);
		assert_int_equal(raw_read(fd, &answer, sizeof(answer)), sizeof(answer));
		assert_int_equal(answer.magic, LX_PROTO_ACC_MAGIC);
		assert_int_equal(answer.version, 1);
		assert_int_equal(answer.nid, 0);
		assert_true(raw_closes(fd));
		close(fd);
	}
	expect_warning("unknown version");
	/* not one of our NIDs */
	fd = dial(LOW_IP);
	raw_request(fd, &high);
	assert_true(raw_closes(fd));
	close(fd);
	expect_warning(HIGH_IP "@tcp");
	/* truncated */
	fd = dial(LOW_IP);
	req = (struct lx_acc_req1){ LX_PROTO_ACC_MAGIC, 1, 0 };
	raw_write(fd, &req, 11);
	close(fd);
	expect_warning("closed before");
}

/* Whether it is closed in the end. Bytes that the node reads late start its time again. */
static bool times_out(int fd)
{
	for (int ms = 0; ms < 20000; ms++) {
		if (raw_closed(fd, 0))
			return true;
		fake_clock_sleep();
	}
	return false;
}

/* Silent connections time out, and do not block others before. */
static void test_silent(void **state)
{
	int fd[50], good;

	fake_clock_stop();
	lx_sock_tun.accept_timeout = 1;
	for (size_t i = 0; i < N_OF(fd); i++) {
		fd[i] = dial(LOW_IP);
		if (i % 3 == 1)
			raw_write(fd[i], "\x00\x71\xce\xac", 4);
		if (i % 3 == 2)
			raw_request(fd[i], &ours);
	}
	good = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	for (size_t i = 0; i < N_OF(fd); i++) {
		assert_true(times_out(fd[i]));
		close(fd[i]);
	}
	assert_false(raw_closed(good, 100));
	close(good);
}

/* "lnetx doctor" and monitoring systems look whether the port is open: no reason for a warning. */
static void test_port_probe(void **state)
{
	int good;

	for (int i = 0; i < 20; i++)
		close(dial(LOW_IP));
	good = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	assert_int_equal(warnings(), 0);
	close(good);
}

/* More than a listener allows: the oldest are closed, the newest is served. */
static void test_half_open_limit(void **state)
{
	enum { N = 700 };
	int *fd = calloc(N, sizeof(*fd)), good;

	lx_sock_tun.accept = LX_SOCK_ACCEPT_ALL;
	for (int i = 0; i < N; i++)
		fd[i] = raw_dial(LOW_IP, false, OUR_IP, PORT);
	good = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	assert_true(raw_closes(fd[0]));
	assert_true(raw_closes(fd[100]));
	assert_false(raw_closed(fd[N - 1], 100));
	for (int i = 0; i < N; i++)
		close(fd[i]);
	close(good);
	free(fd);
}

/* @why: in the log; NULL: it has had its line for this minute */
static void bad_hello(const void *buf, size_t len, const char *why)
{
	int fd = dial(LOW_IP);

	raw_request(fd, &ours);
	raw_write(fd, buf, len);
	assert_true(raw_closes(fd));
	close(fd);
	if (why)
		expect_warning(why);
}

static void test_hello_bad(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V2, &low, &ours, LX_CTYPE_CONTROL), good = hello;
	uint8_t buf[LX_HELLO_MAX + 64];
	struct lx_hello3 wire;
	uint32_t word;

	word = 0x12345678;
	bad_hello(&word, 4, "malformed HELLO");
	lx_proto_hello_encode(&hello, &wire);
	wire.nips = 17;
	bad_hello(&wire, sizeof(wire), NULL);
	hello.nips = 3;
	hello.ip[0] = hello.ip[2] = 0x0a000001;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), NULL);
	hello = good;
	hello.src_nid = lx_nid_any;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), NULL);
	hello = good;
	hello.ctype = 4;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), "unknown connection type");
	hello.ctype = LX_CTYPE_NONE;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), NULL);
	assert_int_equal(fake_conns(node, NULL), 0);
}

static void test_hello_ips(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V2, &low, &ours, LX_CTYPE_CONTROL), answer;
	struct raw_msg msg = put_from(&low, 100);

	for (unsigned int version = LX_SOCK_V1; version <= LX_SOCK_V3; version++) {
		int fd = dial(LOW_IP);

		hello.version = version;
		hello.nips = LX_HELLO_IPS_MAX;
		for (unsigned int i = 0; i < LX_HELLO_IPS_MAX; i++)
			hello.ip[i] = 0x0a000001 + i;
		assert_true(raw_handshake(fd, &hello, &answer));
		raw_put(fd, version, false, &msg);
		receive(100);
		close(fd);
		assert_true(fake_wait_conns(node, 0, 20000));
	}
}

static void test_unknown_version(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL), answer;
	struct lx_hello3 wire;
	int fd = dial(LOW_IP);

	lx_proto_hello_encode(&hello, &wire);
	wire.version = 9;
	raw_request(fd, &ours);
	raw_write(fd, &wire, sizeof(wire));
	assert_true(raw_read_hello(fd, &answer));
	assert_int_equal(answer.version, LX_SOCK_V3);
	assert_int_equal(answer.ctype, LX_CTYPE_NONE);
	assert_true(lx_nid_eq(&answer.dst_nid, &ours));
	assert_true(raw_closes(fd));
	close(fd);
	expect_warning("unknown version");
}

static void test_secure(void **state)
{
	/* Each one is refused; the log says so once. */
	for (int i = 0; i < 3; i++) {
		int fd = raw_dial(LOW_IP, false, OUR_IP, PORT);

		assert_true(raw_closes(fd));
		close(fd);
	}
	expect_warning("connections=1 reason=\"source port is not privileged\"");
}

/* Without a descriptor for it a peer waits; the log says so once. */
static void test_no_descriptors(void **state)
{
	int fd = open("/dev/null", O_RDONLY); /* the lowest that is free */
	struct rlimit limit, low_limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low_limit = limit;
	low_limit.rlim_cur = fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low_limit), 0);
	close(fd);
	assert_int_equal(raw_dial(LOW_IP, false, OUR_IP, PORT), fd);
	expect_warning("accept: Too many open files");
	sleep(1); /* a tick, at which it tries again */
	assert_int_equal(warnings(), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(raw_closes(fd));
	close(fd);
	expect_warning("source port is not privileged");
}

/* From an unprivileged port the address counts, not the NID in the HELLO. */
static void test_userspace(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &high, &ours, LX_CTYPE_CONTROL), answer;
	struct raw_msg msg = put_from(&high, 2000), back;
	struct fake_msg *got, *out;
	struct lx_id id;
	int fd;

	lx_sock_tun.accept = LX_SOCK_ACCEPT_ALL;
	fd = raw_dial(LOW_IP, false, OUR_IP, PORT);
	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_CONTROL);
	raw_put(fd, LX_SOCK_V3, false, &msg);
	got = fake_receive(node, 20000);
	assert_non_null(got);
	assert_true(lx_nid_eq(&got->from, &low));
	assert_true(lx_nid_eq(&got->hdr.src_nid, &low));
	assert_true(got->hdr.src_pid & LX_PID_USERFLAG);
	assert_true((got->hdr.src_pid & 0xffff) > 1023);
	id = (struct lx_id){ got->hdr.src_nid, got->hdr.src_pid };
	fake_msg_free(got);
	out = fake_put(node, &id, 3000);
	assert_true(raw_read_msg(fd, LX_SOCK_V3, &back));
	assert_int_equal(back.hdr.payload_length, 3000);
	free(back.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	close(fd);
	assert_true(fake_wait_conns(node, 0, 20000));
	/* it is gone, and cannot be dialled, nor do the NID's own connections have its messages */
	assert_int_equal(fake_wait(fake_put(node, &id, 10), NULL), -EHOSTUNREACH);
	fd = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	assert_int_equal(fake_wait(fake_put(node, &id, 10), NULL), -EHOSTUNREACH);
	assert_false(raw_closed(fd, 100));
	assert_int_equal(node->n_lost, 0);
	close(fd);
}

/* A process, too, is known by its address, whatever port it has: else it could take any NID. */
static void test_userspace_by_pid(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &high, &ours, LX_CTYPE_CONTROL), answer;
	struct lx_id other = { high, LX_PID_USERFLAG | 77 };
	struct raw_msg msg = put_from(&high, 20);
	struct fake_msg *got;
	int fd = dial(LOW_IP);

	hello.src_pid = other.pid;
	assert_true(raw_handshake(fd, &hello, &answer));
	raw_put(fd, LX_SOCK_V3, false, &msg);
	got = fake_receive(node, 20000);
	assert_non_null(got);
	assert_true(lx_nid_eq(&got->from, &low));
	assert_true(lx_nid_eq(&got->hdr.src_nid, &low));
	assert_int_equal(fake_wait(fake_put(node, &other, 10), NULL), -EHOSTUNREACH);
	fake_msg_free(got);
	close(fd);
}

/* All pids but those of processes are the node: they have its connections, also at HELLO. */
static void test_any_pid(void **state)
{
	static const uint32_t pids[] = { 0, 1000, 12346, 0x7fffffff };
	int control = connected(LX_SOCK_V3, LX_CTYPE_CONTROL), fd;
	int listener = raw_listen(LOW_IP, PORT);
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_BULK_IN), answer;
	struct raw_msg got;

	for (size_t i = 0; i < N_OF(pids); i++) {
		struct lx_id id = { low, pids[i] };
		struct fake_msg *out = fake_put(node, &id, 10 + i);

		assert_true(raw_read_msg(control, LX_SOCK_V3, &got));
		assert_int_equal(got.hdr.payload_length, 10 + i);
		free(got.payload);
		assert_int_equal(fake_wait(out, NULL), 0);
	}
	fd = dial(LOW_IP);
	hello.src_pid = 1000;
	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_BULK_OUT);
	fake_wait(fake_put(node, &id_low, 5000), NULL);
	assert_true(raw_read_msg(fd, LX_SOCK_V3, &got));
	assert_int_equal(got.hdr.payload_length, 5000);
	free(got.payload);
	assert_int_equal(raw_accept(listener, 300, NULL), -1); /* it dials nobody */
	assert_int_equal(fake_conns(node, NULL), 2);
	assert_int_equal(node->n_lost, 0);
	assert_int_equal(warnings(), 0);
	close(listener);
	close(control);
	close(fd);
}

static void test_duplicate(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_BULK_IN), answer;
	int first = connected(LX_SOCK_V3, LX_CTYPE_BULK_IN), fd;

	for (int i = 0; i < 5; i++) {
		fd = dial(LOW_IP);
		assert_true(raw_handshake(fd, &hello, &answer));
		assert_int_equal(answer.ctype, LX_CTYPE_NONE);
		assert_int_equal(answer.version, LX_SOCK_V3);
		assert_true(raw_closes(fd));
		close(fd);
	}
	assert_int_equal(fake_conns(node, NULL), 1);
	lx_env_lock(node->env);
	assert_int_equal(lx_sock_lnd.set_tunable(&node->ni, LX_SOCK_NI_CONNS_PER_PEER, 2), 0);
	lx_env_unlock(node->env);
	fd = connected(LX_SOCK_V3, LX_CTYPE_BULK_IN);
	assert_int_equal(fake_conns(node, NULL), 2);
	close(fd);
	close(first);
	assert_int_equal(warnings(), 0);
}

static void test_rebooted(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_BULK_IN), answer;
	int control = connected(LX_SOCK_V3, LX_CTYPE_CONTROL), in, fd = dial(LOW_IP);

	in = connected(LX_SOCK_V3, LX_CTYPE_BULK_IN);
	hello.src_incarnation++;
	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_NONE);
	assert_true(raw_closes(fd) && raw_closes(control) && raw_closes(in));
	close(fd);
	close(control);
	close(in);
	fd = dial(LOW_IP);
	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_BULK_OUT);
	close(fd);
}

/* As @hello, from that address: the answer's type, or NONE if it was declined. */
static uint32_t says_hello(const char *from, const struct lx_hello *hello, int *ret_fd)
{
	struct lx_hello answer;

	*ret_fd = dial(from);
	assert_true(raw_handshake(*ret_fd, hello, &answer));
	if (answer.ctype == LX_CTYPE_NONE) {
		assert_true(raw_closes(*ret_fd));
		close(*ret_fd);
	}
	return answer.ctype;
}

/* Says no more: not even its TCP answers. */
static void fall_silent(int fd)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = { 1, &none };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)), 0);
}

/* A host with another address cannot end the connections of a peer that lives. */
static void test_impostor(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_BULK_IN);
	int control = connected(LX_SOCK_V3, LX_CTYPE_CONTROL), fd;
	struct raw_msg msg = put_from(&low, 100);

	for (int i = 0; i < 12; i++) {
		hello.src_incarnation++;
		hello.version = i % 2 ? LX_SOCK_V3 : LX_SOCK_V2;
		assert_int_equal(says_hello(HIGH_IP, &hello, &fd), LX_CTYPE_NONE);
		usleep(500000);
	}
	raw_put(control, LX_SOCK_V3, false, &msg);
	receive(100);
	expect_warning("connected_from=" LOW_IP);
	/* It itself may. */
	assert_int_equal(says_hello(LOW_IP, &hello, &fd), LX_CTYPE_NONE);
	assert_true(raw_closes(control));
	close(control);
	assert_int_equal(says_hello(LOW_IP, &hello, &fd), LX_CTYPE_BULK_OUT);
	close(fd);
}

/* A peer may have other addresses, several of them, and restart there. */
static void test_other_addresses(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_BULK_IN);
	int one, other, fd;

	assert_int_equal(says_hello(HIGH_IP, &hello, &one), LX_CTYPE_BULK_OUT);
	assert_int_equal(says_hello("127.0.0.3", &hello, &other), LX_CTYPE_BULK_OUT);
	assert_int_equal(fake_conns(node, NULL), 2);
	close(other);
	assert_true(fake_wait_conns(node, 1, 20000));
	hello.src_incarnation++;
	assert_int_equal(says_hello(HIGH_IP, &hello, &fd), LX_CTYPE_NONE);
	assert_true(raw_closes(one));
	close(one);
	assert_int_equal(says_hello(HIGH_IP, &hello, &fd), LX_CTYPE_BULK_OUT);
	close(fd);
	/* One of them is the address in its NID: whoever else was first has to give way to it. */
	assert_true(fake_wait_conns(node, 0, 20000));
	assert_int_equal(says_hello(HIGH_IP, &hello, &one), LX_CTYPE_BULK_OUT);
	hello.src_incarnation++;
	assert_int_equal(says_hello(LOW_IP, &hello, &fd), LX_CTYPE_NONE);
	assert_int_equal(says_hello(LOW_IP, &hello, &fd), LX_CTYPE_BULK_OUT);
	assert_true(raw_closes(one));
	close(one);
	close(fd);
	assert_int_equal(warnings(), 0);
}

/* It restarts with another address, while its old connections are dead, or are not answered. */
static void test_moved(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL);
	int old = connected(LX_SOCK_V3, LX_CTYPE_CONTROL), fd, tries = 0;
	struct fake_msg *out = NULL;

	if (rnd_below(2)) /* something is under way to it, and stays there */
		out = fake_put(node, &id_low, 100000);
	fall_silent(old);
	hello.src_incarnation++;
	while (says_hello("127.0.0.3", &hello, &fd) == LX_CTYPE_NONE) {
		assert_true(tries++ < 30);
		usleep(500000);
	}
	assert_true(tries >= 4);
	if (out) /* lost with the old connection, or there before */
		(void)fake_wait(out, NULL);
	close(old);
	close(fd);
}

static void test_version_changed(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V2, &low, &ours, LX_CTYPE_BULK_IN), answer;
	int control = connected(LX_SOCK_V3, LX_CTYPE_CONTROL), fd = dial(LOW_IP);

	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_NONE);
	assert_int_equal(answer.version, LX_SOCK_V2);
	assert_true(raw_closes(control));
	close(fd);
	close(control);
	close(connected(LX_SOCK_V2, LX_CTYPE_CONTROL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_passive_versions),
		TEST(test_request_in_pieces),
		TEST(test_request_other_order),
		TEST(test_request_bad),
		TEST(test_silent),
		TEST(test_port_probe),
		TEST(test_half_open_limit),
		TEST(test_hello_bad),
		TEST(test_hello_ips),
		TEST(test_unknown_version),
		TEST(test_secure),
		TEST(test_no_descriptors),
		TEST(test_userspace),
		TEST(test_userspace_by_pid),
		TEST(test_any_pid),
		TEST(test_duplicate),
		TEST(test_rebooted),
		TEST(test_version_changed),
		TEST(test_impostor),
		TEST(test_other_addresses),
		TEST(test_moved),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
