/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd against a scripted peer: connection setup in all versions and both byte orders, every
 * reason to refuse one, and malformed input.
 */
#include <errno.h>
#include <syslog.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../lnd/sock/sock.h"
#include "../../lnd/sock/tunables.h"
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
static uint64_t reboots; /* of the scripted peer, when it answers */

static void on_log(int level, const char *line, void *arg)
{
	if (getenv("VERBOSE"))
		printf("   <%d> %s\n", level, line);
	if (level > LOG_WARNING || !strncmp(line, "suppressed", 10))
		return;
	snprintf(last_warning, sizeof(last_warning), "%s", line);
	__atomic_add_fetch(&n_warnings, 1, __ATOMIC_SEQ_CST);
}

static unsigned int warnings(void)
{
	return __atomic_load_n(&n_warnings, __ATOMIC_SEQ_CST);
}

static int setup(void **state)
{
	lx_set_log(on_log, NULL);
	lx_tunable_defaults(lx_sock_lnd.tunables, &lx_sock_tun);
	lx_sock_tun.accept_port = lx_sock_tun.accept_port_bulk = PORT;
	lx_sock_tun.accept_timeout = 1;
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

static int teardown(void **state)
{
	fake_free(node);
	return 0;
}

static int dial(const char *from)
{
	return raw_dial(from, true, OUR_IP, PORT);
}

/* Connects as @type (from the peer's view) from LOW_IP; the answer must be positive. */
static int connected(unsigned int version, uint32_t type)
{
	struct lx_hello hello = raw_hello_of(version, &low, &ours, type), answer;
	int fd = dial(LOW_IP);

	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, lx_proto_ctype_invert(type));
	return fd;
}

static struct raw_msg put_from(const struct lx_nid *src, size_t len)
{
	return (struct raw_msg){ .hdr = { .dst_nid = ours,
					  .src_nid = *src,
					  .dst_pid = LX_PID_LUSTRE,
					  .src_pid = LX_PID_LUSTRE,
					  .type = LX_MSG_PUT,
					  .payload_length = len } };
}

static void receive(size_t len)
{
	struct fake_msg *got = fake_receive(node, 5000);

	assert_non_null(got);
	assert_int_equal(got->status, 0);
	assert_int_equal(got->len, len);
	assert_true(fake_check(got));
	fake_msg_free(got);
}

/* Expects one line in the log, and a node that still works. */
static void expect_warning(const char *text)
{
	for (int i = 0; i < 3000 && !warnings(); i++)
		usleep(1000);
	usleep(2000);
	if (!strstr(last_warning, text))
		fail_msg("\"%s\" not in: %s", text, last_warning);
	assert_int_equal(warnings(), 1);
	__atomic_store_n(&n_warnings, 0, __ATOMIC_SEQ_CST);
}

/* ---- passive side ------------------------------------------------------------ */

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
	assert_true(fake_wait_conns(node, 0, 2000));
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
		expect_warning("not an acceptor request");
	}
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
		expect_warning("unknown version");
	}
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

/* Silent connections time out, and do not block others before. */
static void test_silent(void **state)
{
	int fd[50], good;

	for (size_t i = 0; i < N_OF(fd); i++) {
		fd[i] = dial(LOW_IP);
		if (i % 3 == 1)
			raw_write(fd[i], "\x00\x71\xce\xac", 4);
		if (i % 3 == 2)
			raw_request(fd[i], &ours);
	}
	good = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	for (size_t i = 0; i < N_OF(fd); i++) {
		assert_true(raw_closes(fd[i]));
		close(fd[i]);
	}
	assert_false(raw_closed(good, 100));
	close(good);
	sleep(2); /* the log is rate-limited */
}

/* More than a listener allows: the oldest are closed, the newest is served. */
static void test_half_open_limit(void **state)
{
	enum { N = 700 };
	int *fd = calloc(N, sizeof(*fd)), good;

	lx_sock_tun.accept_timeout = 60;
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
	sleep(2);
}

static void bad_hello(const void *buf, size_t len, const char *why)
{
	int fd = dial(LOW_IP);

	raw_request(fd, &ours);
	raw_write(fd, buf, len);
	assert_true(raw_closes(fd));
	close(fd);
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
	bad_hello(&wire, sizeof(wire), "malformed HELLO");
	hello.nips = 3;
	hello.ip[0] = hello.ip[2] = 0x0a000001;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), "malformed HELLO");
	hello = good;
	hello.src_nid = lx_nid_any;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), "malformed HELLO");
	hello = good;
	hello.ctype = 4;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), "unknown connection type");
	hello.ctype = LX_CTYPE_NONE;
	bad_hello(buf, lx_proto_hello_encode(&hello, buf), "unknown connection type");
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
		assert_true(fake_wait_conns(node, 0, 2000));
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
	got = fake_receive(node, 2000);
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
	assert_true(fake_wait_conns(node, 0, 2000));
	/* it is gone, and cannot be dialled */
	assert_int_equal(fake_wait(fake_put(node, &id, 10), NULL), -EHOSTUNREACH);
	assert_int_equal(node->n_lost, 0);
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

/* ---- active side --------------------------------------------------------------- */

/* Accepts our node's next attempt, up to its HELLO. */
static int attempt(int listener, unsigned int ms, struct lx_hello *ret_hello)
{
	struct lx_nid target;
	uint16_t port;
	int fd = raw_accept(listener, ms, &port);

	if (fd < 0)
		return fd;
	assert_in_range(port, LX_SOCK_PRIVILEGED_PORT_MIN, LX_SOCK_PRIVILEGED_PORT_MAX);
	assert_true(raw_read_request(fd, &target));
	assert_true(lx_nid_eq(&target, &low));
	assert_true(raw_read_hello(fd, ret_hello));
	assert_true(lx_nid_eq(&ret_hello->src_nid, &ours));
	return fd;
}

/* A well-behaved peer's answer. */
static struct lx_hello answer_to(const struct lx_hello *hello)
{
	struct lx_hello answer = raw_hello_of(hello->version, &low, &hello->src_nid,
					      lx_proto_ctype_invert(hello->ctype));

	answer.src_incarnation += reboots;
	return answer;
}

static void accept_attempt(int listener, uint32_t type, unsigned int version, int *ret_fd)
{
	struct lx_hello hello, answer;

	*ret_fd = attempt(listener, 1500, &hello);
	assert_true(*ret_fd >= 0);
	assert_int_equal(hello.ctype, type);
	assert_int_equal(hello.version, version);
	answer = answer_to(&hello);
	raw_hello(*ret_fd, &answer);
}

static void test_active(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd[3];
	struct fake_msg *out[3];
	struct raw_msg got;

	out[0] = fake_put(node, &id_low, 10);
	accept_attempt(listener, LX_CTYPE_CONTROL, LX_SOCK_V3, &fd[0]);
	assert_true(raw_read_msg(fd[0], LX_SOCK_V3, &got));
	assert_int_equal(got.hdr.payload_length, 10);
	free(got.payload);
	accept_attempt(listener, LX_CTYPE_BULK_IN, LX_SOCK_V3, &fd[1]);
	accept_attempt(listener, LX_CTYPE_BULK_OUT, LX_SOCK_V3, &fd[2]);
	assert_true(fake_wait_conns(node, 3, 1000));
	out[1] = fake_put(node, &id_low, 5000);
	assert_true(raw_read_msg(fd[2], LX_SOCK_V3, &got));
	assert_int_equal(got.hdr.payload_length, 5000);
	free(got.payload);
	out[2] = fake_put(node, &id_low, 927); /* 96 + 927 < 1024 */
	assert_true(raw_read_msg(fd[0], LX_SOCK_V3, &got));
	free(got.payload);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fake_wait(out[i], NULL), 0);
		close(fd[i]);
	}
	assert_int_equal(raw_accept(listener, 100, NULL), -1);
	close(listener);
}

static void test_conns_per_peer(void **state)
{
	static const uint32_t types[] = { LX_CTYPE_CONTROL, LX_CTYPE_BULK_IN, LX_CTYPE_BULK_OUT,
					  LX_CTYPE_BULK_IN, LX_CTYPE_BULK_OUT, LX_CTYPE_BULK_IN,
					  LX_CTYPE_BULK_OUT };
	int listener = raw_listen(LOW_IP, PORT), fd[7];
	struct fake_msg *out;

	lx_env_lock(node->env);
	lx_sock_lnd.set_tunable(&node->ni, LX_SOCK_NI_CONNS_PER_PEER, 3);
	lx_env_unlock(node->env);
	out = fake_put(node, &id_low, 10);
	for (int i = 0; i < 7; i++)
		accept_attempt(listener, types[i], LX_SOCK_V3, &fd[i]);
	assert_int_equal(raw_accept(listener, 100, NULL), -1);
	assert_int_equal(fake_wait(out, NULL), 0);
	assert_int_equal(fake_conns(node, "bulk_in"), 3);
	for (int i = 0; i < 7; i++)
		close(fd[i]);
	close(listener);
}

/* Declines our node's next attempt, which must have this type and version. */
static void decline_attempt(int listener, uint32_t type, unsigned int version,
			    unsigned int answer_version)
{
	struct lx_hello hello, answer;
	int fd = attempt(listener, 1500, &hello);

	assert_true(fd >= 0);
	assert_int_equal(hello.ctype, type);
	assert_int_equal(hello.version, version);
	answer = answer_to(&hello);
	answer.version = answer_version;
	answer.ctype = LX_CTYPE_NONE;
	raw_hello(fd, &answer);
	assert_true(raw_closes(fd));
	close(fd);
}

/* A peer with fewer connections than we want: it declines three times. */
static void settle(int listener, int fd[3])
{
	struct fake_msg *out;

	lx_env_lock(node->env);
	lx_sock_lnd.set_tunable(&node->ni, LX_SOCK_NI_CONNS_PER_PEER, 2);
	lx_env_unlock(node->env);
	out = fake_put(node, &id_low, 10);
	accept_attempt(listener, LX_CTYPE_CONTROL, LX_SOCK_V3, &fd[0]);
	accept_attempt(listener, LX_CTYPE_BULK_IN, LX_SOCK_V3, &fd[1]);
	accept_attempt(listener, LX_CTYPE_BULK_OUT, LX_SOCK_V3, &fd[2]);
	for (int i = 0; i < 3; i++)
		decline_attempt(listener, LX_CTYPE_BULK_IN, LX_SOCK_V3, LX_SOCK_V3);
	assert_int_equal(raw_accept(listener, 600, NULL), -1);
	assert_int_equal(fake_wait(out, NULL), 0);
}

/* The peer answers each surplus attempt with NONE: after three we stop. */
static void test_settle(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd[3];

	settle(listener, fd);
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), NULL), 0);
	assert_int_equal(raw_accept(listener, 100, NULL), -1);
	assert_int_equal(fake_conns(node, NULL), 3);
	assert_int_equal(warnings(), 0);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	close(listener);
}

/* NONE with another version: retry at once with that version. */
static void test_downgrade(void **state)
{
	for (unsigned int version = LX_SOCK_V1; version <= LX_SOCK_V4; version++) {
		int listener = raw_listen(LOW_IP, PORT), fd;
		struct lx_hello hello, answer;
		struct fake_msg *out;
		struct raw_msg got;

		if (version == LX_SOCK_V3) {
			close(listener);
			continue;
		}
		out = fake_put(node, &id_low, 100);
		fd = attempt(listener, 1500, &hello);
		assert_int_equal(hello.version, LX_SOCK_V3);
		answer = answer_to(&hello);
		answer.version = version;
		answer.ctype = LX_CTYPE_NONE;
		raw_hello(fd, &answer);
		assert_true(raw_closes(fd));
		close(fd);
		accept_attempt(listener, LX_CTYPE_CONTROL, version, &fd);
		assert_true(raw_read_msg(fd, version, &got));
		free(got.payload);
		assert_int_equal(fake_wait(out, NULL), 0);
		close(fd);
		close(listener);
		/* the version is forgotten with the peer's last connection */
		assert_true(fake_wait_conns(node, 0, 2000));
		fake_free(node);
		node = fake_new(OUR_IP "@tcp", 2, NULL);
	}
}

/* Accepts the next attempt, which must have this version, and gets the message. */
static void goes_through(int listener, struct fake_msg *out, unsigned int version)
{
	struct raw_msg got;
	int fd;

	accept_attempt(listener, LX_CTYPE_CONTROL, version, &fd);
	assert_true(raw_read_msg(fd, version, &got));
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	assert_int_equal(warnings(), 0);
	close(fd);
	close(listener);
}

/* The peer had declined three times, for another reason; its restart resets that. */
static void test_older_after_settling(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd[3];
	struct fake_msg *out;

	settle(listener, fd);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	assert_true(fake_wait_conns(node, 0, 2000));
	/* Nobody read the message: a reset, unless we see another connection's EOF first. */
	__atomic_store_n(&n_warnings, 0, __ATOMIC_SEQ_CST);
	reboots++;
	out = fake_put(node, &id_low, 100);
	decline_attempt(listener, LX_CTYPE_CONTROL, LX_SOCK_V3, LX_SOCK_V1);
	goes_through(listener, out, LX_SOCK_V1);
}

/* The peer restarts twice while we dial: the latest answer counts. */
static void test_older_and_older(void **state)
{
	int listener = raw_listen(LOW_IP, PORT);
	struct fake_msg *out = fake_put(node, &id_low, 100);

	decline_attempt(listener, LX_CTYPE_CONTROL, LX_SOCK_V3, LX_SOCK_V2);
	reboots++;
	decline_attempt(listener, LX_CTYPE_CONTROL, LX_SOCK_V2, LX_SOCK_V1);
	goes_through(listener, out, LX_SOCK_V1);
}

/* We have V3 connections; the peer was replaced and wants a V1 connection. */
static void test_older_comes_to_us(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), control = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	struct lx_hello hello = raw_hello_of(LX_SOCK_V1, &low, &ours, LX_CTYPE_CONTROL), answer;
	int fd = dial(LOW_IP);

	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_NONE);
	assert_true(raw_closes(fd) && raw_closes(control));
	close(fd);
	close(control);
	goes_through(listener, fake_put(node, &id_low, 100), LX_SOCK_V1);
}

/* A different version each time: three attempts, then the message fails; later three more. */
static void test_never_content(void **state)
{
	static const unsigned int version[] = { 3, 1, 2, 1, 2, 1, 2 };
	int listener = raw_listen(LOW_IP, PORT);
	struct fake_msg *out;

	for (int i = 0; i < 2; i++) {
		out = fake_put(node, &id_low, 100);
		for (int j = 0; j < 3; j++, reboots++)
			decline_attempt(listener, LX_CTYPE_CONTROL, version[3 * i + j],
					version[3 * i + j + 1]);
		assert_int_equal(fake_wait(out, NULL), -ESTALE);
		expect_warning("its version");
		assert_int_equal(fake_wait(fake_put(node, &id_low, 10), NULL), -EHOSTUNREACH);
		usleep(i ? 0 : 250000); /* min_reconnectms */
	}
	close(listener);
}

/* An answer in another version with a valid type is accepted. */
static void test_other_version_accepted(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd;
	struct lx_hello hello, answer;
	struct fake_msg *out = fake_put(node, &id_low, 100);
	struct raw_msg got;

	fd = attempt(listener, 1500, &hello);
	answer = answer_to(&hello);
	answer.version = LX_SOCK_V2;
	answer.flip = true;
	raw_hello(fd, &answer);
	assert_true(raw_read_msg(fd, LX_SOCK_V2, &got));
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	close(fd);
	close(listener);
}

static void failed_answer(const struct lx_hello *answer, const void *bytes, size_t len,
			  const char *why)
{
	int listener = raw_listen(LOW_IP, PORT), fd;
	struct fake_msg *out = fake_put(node, &id_low, 100);
	enum lx_hstatus hstatus;
	struct lx_hello hello;

	fd = attempt(listener, 1500, &hello);
	assert_true(fd >= 0);
	if (answer)
		raw_hello(fd, answer);
	else
		raw_write(fd, bytes, len);
	assert_true(raw_closes(fd));
	close(fd);
	assert_int_equal(fake_wait(out, &hstatus), -EPROTO);
	assert_int_equal(hstatus, LX_HSTATUS_LOCAL_ERROR);
	assert_int_equal(node->n_lost, 1);
	assert_true(fake_wait_lost(node, -EPROTO));
	close(listener);
	assert_non_null(why);
	fake_free(node);
	node = fake_new(OUR_IP "@tcp", 2, NULL);
}

static void test_bad_answers(void **state)
{
	struct lx_hello answer = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL);
	struct lx_hello bad = answer;
	struct lx_acc_req1 version;
	struct lx_hello3 wire;

	bad.src_nid = high;
	failed_answer(&bad, NULL, 0, "wrong peer");
	bad = answer;
	bad.src_pid = 1;
	failed_answer(&bad, NULL, 0, "wrong peer");
	bad = answer;
	bad.ctype = LX_CTYPE_BULK_IN;
	failed_answer(&bad, NULL, 0, "type");
	bad = answer;
	bad.src_nid = lx_nid_any;
	failed_answer(&bad, NULL, 0, "any");
	lx_proto_hello_encode(&answer, &wire);
	wire.version = 5;
	failed_answer(NULL, &wire, sizeof(wire), "version");
	lx_proto_acc_version(&version);
	failed_answer(NULL, &version, sizeof(version), "magic");
}

static void test_refused(void **state)
{
	enum lx_hstatus hstatus;

	/* nobody listens */
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -ECONNREFUSED);
	assert_int_equal(hstatus, LX_HSTATUS_REMOTE_DROPPED);
	assert_int_equal(node->n_lost, 1);
	assert_int_equal(warnings(), 1);
	/* and we do not retry at once */
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -EHOSTUNREACH);
	assert_int_equal(hstatus, LX_HSTATUS_REMOTE_ERROR);
	usleep(250000);
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -ECONNREFUSED);
	/* twice the delay now */
	usleep(250000);
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -EHOSTUNREACH);
	usleep(200000);
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -ECONNREFUSED);
}

/* Hangs up in the middle of HELLO; or never answers. */
static void test_dead_answer(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd;
	enum lx_hstatus hstatus;
	struct lx_hello hello;
	struct fake_msg *out = fake_put(node, &id_low, 100);

	fd = attempt(listener, 1500, &hello);
	raw_write(fd, "\x63\x69\x72\x45\x03", 5);
	close(fd);
	assert_int_equal(fake_wait(out, &hstatus), -ECONNRESET);
	assert_int_equal(hstatus, LX_HSTATUS_REMOTE_DROPPED);
	usleep(300000);
	lx_env_lock(node->env);
	lx_sock_lnd.set_tunable(&node->ni, LX_SOCK_NI_TIMEOUT, 1);
	lx_env_unlock(node->env);
	out = fake_put(node, &id_low, 100);
	fd = attempt(listener, 1500, &hello);
	assert_int_equal(fake_wait(out, &hstatus), -ETIMEDOUT);
	assert_int_equal(hstatus, LX_HSTATUS_NETWORK_TIMEOUT);
	assert_true(fake_wait_lost(node, -ETIMEDOUT));
	close(fd);
	close(listener);
}

/* ---- both at once ---------------------------------------------------------------- */

/* Both we and the low peer connect: ours must survive. */
static void test_race_low(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), theirs, fd;
	struct lx_hello hello, mine = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL), answer;
	struct fake_msg *out = fake_put(node, &id_low, 100);
	struct raw_msg got;

	theirs = attempt(listener, 1500, &hello);
	fd = dial(LOW_IP);
	assert_true(raw_handshake(fd, &mine, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_NONE);
	assert_true(raw_closes(fd));
	close(fd);
	answer = answer_to(&hello);
	raw_hello(theirs, &answer);
	assert_true(raw_read_msg(theirs, LX_SOCK_V3, &got));
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	close(theirs);
	close(listener);
}

/* The high peer's connection survives; ours is answered with NONE. */
static void test_race_high(void **state)
{
	int listener = raw_listen(HIGH_IP, PORT), theirs, fd;
	struct lx_hello hello, mine = raw_hello_of(LX_SOCK_V3, &high, &ours, LX_CTYPE_CONTROL), answer;
	struct lx_id id_high = fake_id(HIGH_IP "@tcp");
	struct fake_msg *out = fake_put(node, &id_high, 100);
	struct lx_nid target;
	struct raw_msg got;

	theirs = raw_accept(listener, 1500, NULL);
	assert_true(raw_read_request(theirs, &target) && raw_read_hello(theirs, &hello));
	fd = dial(HIGH_IP);
	assert_true(raw_handshake(fd, &mine, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_CONTROL);
	assert_true(raw_read_msg(fd, LX_SOCK_V3, &got));
	assert_int_equal(got.hdr.payload_length, 100);
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	answer = raw_hello_of(LX_SOCK_V3, &high, &ours, LX_CTYPE_NONE);
	raw_hello(theirs, &answer);
	assert_true(raw_closes(theirs));
	close(theirs);
	/* a little later we dial the missing types */
	theirs = raw_accept(listener, 1500, NULL);
	assert_true(theirs >= 0);
	assert_true(raw_read_request(theirs, &target) && raw_read_hello(theirs, &hello));
	assert_int_equal(hello.ctype, LX_CTYPE_BULK_IN);
	close(theirs);
	close(fd);
	close(listener);
}

static void test_peer_rebooted_under_us(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd, bulk;
	struct lx_hello hello, answer;
	struct fake_msg *out = fake_put(node, &id_low, 100);
	struct raw_msg got;

	accept_attempt(listener, LX_CTYPE_CONTROL, LX_SOCK_V3, &fd);
	assert_true(raw_read_msg(fd, LX_SOCK_V3, &got));
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	bulk = attempt(listener, 1500, &hello);
	answer = answer_to(&hello);
	answer.src_incarnation++;
	raw_hello(bulk, &answer);
	assert_true(raw_closes(bulk) && raw_closes(fd));
	close(bulk);
	close(fd);
	/* from the first type again, at once */
	bulk = attempt(listener, 500, &hello);
	assert_int_equal(hello.ctype, LX_CTYPE_CONTROL);
	close(bulk);
	close(listener);
}

static void test_shutdown_handshakes(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd[4];
	struct fake_msg *out = fake_put(node, &id_low, 100);
	struct lx_hello hello;

	fd[0] = attempt(listener, 1500, &hello);
	fd[1] = dial(HIGH_IP);
	fd[2] = dial(HIGH_IP);
	raw_request(fd[2], &ours);
	fd[3] = dial(HIGH_IP);
	raw_write(fd[3], "\x00\x71", 2);
	usleep(20000);
	fake_shutdown(node);
	assert_int_equal(fake_wait(out, NULL), -ESHUTDOWN);
	for (int i = 0; i < 4; i++) {
		assert_true(raw_closes(fd[i]));
		close(fd[i]);
	}
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_passive_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_other_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_request_bad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_half_open_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hello_bad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hello_ips, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_version, setup, teardown),
		cmocka_unit_test_setup_teardown(test_secure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_userspace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_duplicate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rebooted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_version_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_active, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conns_per_peer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_downgrade, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_after_settling, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_and_older, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_comes_to_us, setup, teardown),
		cmocka_unit_test_setup_teardown(test_never_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_version_accepted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dead_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_race_low, setup, teardown),
		cmocka_unit_test_setup_teardown(test_race_high, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_rebooted_under_us, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shutdown_handshakes, setup, teardown),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
