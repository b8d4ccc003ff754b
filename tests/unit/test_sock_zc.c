/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Zero-copy requests and their acknowledgements, both ways, against a scripted peer. */
#include <poll.h>

#include "sockmsgworld.h"

/* ---- answering cookies ------------------------------------------------------- */

static void test_answer(void **state)
{
	connect_all(LX_SOCK_V3);
	for (uint64_t cookie = 2; cookie < 10; cookie++) {
		send_put(cookie % 2 ? out : control, LX_SOCK_V3, cookie * 10000, cookie);
		receive(cookie * 10000);
		expect_noop(out, 0, cookie);
	}
	node->discard = true;
	send_put(out, LX_SOCK_V3, 100000, 77);
	expect_noop(out, 0, 77);
	node->discard = false;
	node->truncate = 50;
	send_put(out, LX_SOCK_V3, 100000, 1ull << 63);
	expect_noop(out, 0, 1ull << 63);
	send_put(out, LX_SOCK_V3, 0, 5);
	expect_noop(out, 0, 5);
}

/* However cookies are merged, each comes back exactly once. */
static void test_answer_burst(void **state)
{
	enum { N = 500 };
	static unsigned int seen[N + 2];
	unsigned int missing = N;
	struct raw_msg got;

	connect_all(LX_SOCK_V3);
	memset(seen, 0, sizeof(seen));
	for (uint64_t i = 0; i < N; i++) /* slightly out of order */
		send_put(out, LX_SOCK_V3, rnd_below(3000), 2 + (i % 10 < 2 ? i ^ 1 : i));
	while (missing) {
		struct lx_acked acked;

		assert_true(raw_read_msg(out, LX_SOCK_V3, &got));
		assert_int_equal(got.head.type, LX_SOCK_NOOP);
		assert_int_equal(lx_proto_acked(LX_SOCK_V3, &got.head, &acked), 0);
		for (uint64_t c = 2; c < N + 2; c++) {
			if (!lx_acked_has(&acked, c))
				continue;
			assert_int_equal(seen[c]++, 0);
			acked.expected--;
			missing--;
		}
		assert_int_equal(acked.expected, 0);
	}
}

/* No connection may carry the ACK, so our node dials one. */
static void test_answer_dials(void **state)
{
	int listener = raw_listen(PEER_IP, PORT);
	struct lx_hello hello, answer;
	struct lx_nid target;

	control = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	send_put(control, LX_SOCK_V3, 20000, 9);
	receive(20000);
	in = raw_accept(listener, 20000, NULL);
	assert_true(in >= 0);
	assert_true(raw_read_request(in, &target) && raw_read_hello(in, &hello));
	assert_int_equal(hello.ctype, LX_CTYPE_BULK_IN);
	answer = raw_hello_of(LX_SOCK_V3, &peer, &ours, LX_CTYPE_BULK_OUT);
	raw_hello(in, &answer);
	expect_noop(in, 0, 9);
	close(listener);
}

static void test_answer_blocking(void **state)
{
	lx_sock_tun.nonblk_zcack = 0;
	connect_all(LX_SOCK_V3);
	send_put(out, LX_SOCK_V3, 20000, 9);
	receive(20000);
	expect_noop(control, 0, 9);
	/* a message from behind the peer: never behind bulk */
	struct raw_msg msg = put(20000, 10);

	assert_int_equal(lx_nid_parse("10.1.1.1@tcp7", &msg.hdr.src_nid), 0);
	raw_put(out, LX_SOCK_V3, false, &msg);
	receive(20000);
	expect_noop(out, 0, 10);
}

/* V2: the ACK is in the next message on that connection, or in a NOOP. */
static void test_answer_v2(void **state)
{
	struct fake_msg *sent;
	struct raw_msg got;

	connect_all(LX_SOCK_V2);
	send_put(out, LX_SOCK_V2, 20000, 9);
	receive(20000);
	expect_noop(control, 0, 9);
	/* the message is queued in the same turn, after the ACK */
	node->keep = false;
	struct raw_msg get = put(0, 11);

	get.hdr.type = LX_MSG_GET;
	get.hdr.cmd.get.sink_length = lx_le32(100);
	raw_put(control, LX_SOCK_V2, false, &get);
	assert_true(raw_read_msg(control, LX_SOCK_V2, &got));
	assert_int_equal(got.head.type, LX_SOCK_LNET);
	assert_int_equal(got.hdr.type, LX_MSG_REPLY);
	assert_int_equal(got.head.cookie[0], 0);
	assert_int_equal(got.head.cookie[1], 11);
	free(got.payload);
	sent = fake_put(node, &id_peer, 10);
	assert_true(raw_read_msg(control, LX_SOCK_V2, &got));
	assert_int_equal(got.head.cookie[1], 0);
	free(got.payload);
	assert_int_equal(fake_wait(sent, NULL), 0);
}

/* Sends everything; false if the node closes. */
static bool send_all(int fd, const uint8_t *buf, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	while (len) {
		assert_int_equal(poll(&pfd, 1, 20000), 1);
		n = send(fd, buf, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			return false;
		buf += n < 0 ? 0 : n;
		len -= n < 0 ? 0 : n;
	}
	return true;
}

/* A peer that asks for ACKs, but does not read. */
static void test_answer_unread(void **state)
{
	struct raw_msg msg = put(0, 2);
	uint8_t burst[100 * 96];
	uint64_t cookie = 100;
	int size = 4096;

	connect_all(LX_SOCK_V3);
	setsockopt(out, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	node->keep = false;
	msg.head.type = LX_SOCK_LNET;
	do {
		/* More ACKs than any socket buffer holds. */
		assert_true(cookie < 20000000);
		for (size_t at = 0; at < sizeof(burst); at += 96, cookie += 10) {
			msg.head.cookie[0] = cookie;
			memcpy(burst + at, &msg.head, 24);
			lx_hdr_nid4_encode(&msg.hdr, (void *)(burst + at + 24));
		}
	} while (send_all(control, burst, sizeof(burst)));
	assert_true(fake_wait_conns(node, 0, 20000));
}

/* ---- asking -------------------------------------------------------------------- */

static uint64_t read_zc(size_t len)
{
	struct raw_msg got;
	uint64_t cookie;

	assert_true(raw_read_msg(in, LX_SOCK_V3, &got));
	assert_int_equal(got.head.type, LX_SOCK_LNET);
	assert_int_equal(got.hdr.payload_length, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(got.payload[i], (uint8_t)(i * 31 + (i >> 8) * 7 + 5));
	free(got.payload);
	cookie = got.head.cookie[0];
	assert_int_equal(got.head.cookie[1], 0);
	return cookie;
}

static void test_ask(void **state)
{
	struct fake_msg *msg[3];

	lx_sock_zc_force = true;
	connect_all(LX_SOCK_V3);
	/* below the limit: no cookie */
	msg[0] = fake_put(node, &id_peer, 16383);
	assert_int_equal(read_zc(16383), 0);
	assert_int_equal(fake_wait(msg[0], NULL), 0);
	for (uint64_t cookie = 2; cookie < 40; cookie++) {
		msg[0] = fake_put(node, &id_peer, 16384 * (cookie - 1));
		assert_int_equal(read_zc(16384 * (cookie - 1)), cookie);
		usleep(2000);
		assert_false(fake_is_done(msg[0]));
		raw_noop(cookie % 2 ? in : control, false, 0, cookie);
		assert_int_equal(fake_wait(msg[0], NULL), 0);
	}
	/* a range, a pair, one within an LNet message */
	for (int i = 0; i < 3; i++) {
		msg[i] = fake_put(node, &id_peer, 100000);
		assert_int_equal(read_zc(100000), 40 + i);
	}
	raw_noop(in, false, 40, 42);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fake_wait(msg[i], NULL), 0);
	for (int i = 0; i < 3; i++) {
		msg[i] = fake_put(node, &id_peer, 100000);
		assert_int_equal(read_zc(100000), 43 + i);
	}
	raw_noop(in, false, 45, 43);
	assert_int_equal(fake_wait(msg[0], NULL), 0);
	assert_int_equal(fake_wait(msg[2], NULL), 0);
	assert_false(fake_is_done(msg[1]));
	struct raw_msg carry = put(10, 0);

	carry.head.cookie[1] = 44;
	raw_put(control, LX_SOCK_V3, false, &carry);
	assert_int_equal(fake_wait(msg[1], NULL), 0);
	assert_int_equal(fake_conns(node, NULL), 3);
}

static void expect_fallen(struct fake_msg *msg, int status)
{
	enum lx_hstatus hstatus;

	assert_int_equal(fake_wait(msg, &hstatus), status);
	assert_int_not_equal(hstatus, LX_HSTATUS_OK);
	assert_int_equal(fake_conns(node, NULL), 0);
	assert_true(raw_closes(control));
}

static void test_ack_unknown(void **state)
{
	lx_sock_zc_force = true;
	connect_all(LX_SOCK_V3);
	struct fake_msg *msg = fake_put(node, &id_peer, 20000);

	assert_int_equal(read_zc(20000), 2);
	raw_noop(control, false, 0, 3);
	expect_fallen(msg, -EPROTO);
	assert_int_equal(node->n_lost, 1);
}

static void test_ack_twice(void **state)
{
	lx_sock_zc_force = true;
	connect_all(LX_SOCK_V3);
	struct fake_msg *msg[2] = { fake_put(node, &id_peer, 20000),
				    fake_put(node, &id_peer, 20000) };

	assert_int_equal(read_zc(20000), 2);
	assert_int_equal(read_zc(20000), 3);
	raw_noop(control, false, 0, 2);
	assert_int_equal(fake_wait(msg[0], NULL), 0);
	raw_noop(control, false, 0, 2);
	expect_fallen(msg[1], -EPROTO);
}

/* A range that includes cookies we never sent. */
static void test_ack_too_many(void **state)
{
	lx_sock_zc_force = true;
	connect_all(LX_SOCK_V3);
	struct fake_msg *msg[2] = { fake_put(node, &id_peer, 20000),
				    fake_put(node, &id_peer, 20000) };
	int r;

	assert_int_equal(read_zc(20000), 2);
	assert_int_equal(read_zc(20000), 3);
	raw_noop(control, false, 3, ~0ull);
	/* acknowledged, but the kernel may still use the memory when the connection closes */
	r = fake_wait(msg[1], NULL);
	assert_true(r == 0 || r == -EPROTO);
	expect_fallen(msg[0], -EPROTO);
}

static void test_ack_late(void **state)
{
	lx_sock_zc_force = true;
	connect_all(LX_SOCK_V3);
	set_timeout(1);
	struct fake_msg *msg = fake_put(node, &id_peer, 20000);

	assert_int_equal(read_zc(20000), 2);
	expect_fallen(msg, -ETIMEDOUT);
}

static void test_ack_closed(void **state)
{
	lx_sock_zc_force = true;
	connect_all(LX_SOCK_V3);
	struct fake_msg *msg = fake_put(node, &id_peer, 20000);

	assert_int_equal(read_zc(20000), 2);
	close(in);
	in = -1;
	expect_fallen(msg, -ECONNRESET);
}

/* The kernel reports that it copies: after a few messages we stop using cookies. */
static void test_ask_gives_up(void **state)
{
	unsigned int asked = 0;

	lx_sock_zc_force = true;
	connect_all(LX_SOCK_V3);
	lx_sock_zc_force = false;
	for (int i = 0; i < 20; i++) {
		struct fake_msg *msg = fake_put(node, &id_peer, 100000);
		uint64_t cookie = read_zc(100000);

		if (cookie) {
			asked++;
			raw_noop(in, false, 0, cookie);
		}
		assert_int_equal(fake_wait(msg, NULL), 0);
		usleep(2000);
	}
	assert_in_range(asked, 1, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_answer),	      T(test_answer_burst),
		T(test_answer_dials), T(test_answer_blocking),
		T(test_answer_v2),    T(test_answer_unread),
		T(test_ask),	      T(test_ack_unknown),
		T(test_ack_twice),    T(test_ack_too_many),
		T(test_ack_late),     T(test_ack_closed),
		T(test_ask_gives_up),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
