/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd against a scripted peer, after HELLO: checksums, keepalive, time limits, bad messages.
 * Zero copy: test_sock_zc.c.
 */
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "sockmsgworld.h"

/* ---- checksums --------------------------------------------------------------------- */

static uint32_t csum_of(const struct raw_msg *msg, bool v2)
{
	struct lx_sock_msg head = msg->head;
	struct lx_hdr_nid4 hdr;
	uint32_t sum = LX_CSUM_INIT;

	head.csum = 0;
	lx_hdr_nid4_encode(&msg->hdr, &hdr);
	if (v2) {
		sum = lx_proto_csum(sum, &head, sizeof(head));
		sum = lx_proto_csum(sum, &hdr, sizeof(hdr));
	}
	return lx_proto_csum(sum, msg->payload, msg->hdr.payload_length);
}

static void test_csum_sent(void **state)
{
	struct fake_msg *sent;
	struct raw_msg got;

	lx_sock_tun.enable_csum = 1;
	connect_all(LX_SOCK_V2);
	for (int wrong = 0; wrong < 2; wrong++) {
		lx_sock_tun.inject_csum_error = wrong;
		for (size_t len = 0; len < 300000; len = len * 9 + 50) {
			int fd = len < 900 ? control : in;

			sent = fake_put(node, &id_peer, len);
			assert_true(raw_read_msg(fd, LX_SOCK_V2, &got));
			assert_int_equal(wrong, got.head.csum != csum_of(&got, true));
			assert_int_equal(fake_wait(sent, NULL), 0);
			free(got.payload);
		}
	}
}

static void test_csum_not_on_v3(void **state)
{
	struct fake_msg *sent;
	struct raw_msg got;

	lx_sock_tun.enable_csum = 1;
	connect_all(LX_SOCK_V3);
	sent = fake_put(node, &id_peer, 100);
	assert_true(raw_read_msg(control, LX_SOCK_V3, &got));
	assert_int_equal(got.head.csum, 0);
	assert_int_equal(fake_wait(sent, NULL), 0);
	free(got.payload);
}

static void csum_received(unsigned int version, size_t len, bool wrong)
{
	struct raw_msg msg = put(len, 0);
	struct fake_msg *got;

	connect_all(version);
	msg.payload = malloc(len + 1);
	for (size_t i = 0; i < len; i++)
		msg.payload[i] = i * 31 + (i >> 8) * 7 + 5;
	msg.head.type = LX_SOCK_LNET;
	msg.head.csum = csum_of(&msg, version == LX_SOCK_V2) ^ wrong;
	raw_put(control, version, false, &msg);
	free(msg.payload);
	got = fake_receive(node, 20000);
	assert_non_null(got);
	assert_int_equal(got->status, wrong ? -EIO : 0);
	if (wrong)
		assert_true(raw_closes(control));
	fake_msg_free(got);
	close(control);
	close(in);
	close(out);
	control = in = out = -1;
	assert_true(fake_wait_conns(node, 0, 20000));
}

static void test_csum_received(void **state)
{
	for (size_t len = 1; len < 300000; len = len * 9 + 50) {
		for (unsigned int version = LX_SOCK_V2; version <= LX_SOCK_V3; version++) {
			csum_received(version, len, false);
			csum_received(version, len, true);
		}
	}
	node->use_rbuf = true;
	csum_received(LX_SOCK_V2, 200000, false);
	csum_received(LX_SOCK_V2, 200000, true);
}

static void test_csum_noop(void **state)
{
	struct lx_sock_msg noop = { .type = LX_SOCK_NOOP };

	connect_all(LX_SOCK_V2);
	noop.csum = lx_proto_csum(LX_CSUM_INIT, &noop, sizeof(noop));
	raw_write(control, &noop, sizeof(noop));
	send_put(control, LX_SOCK_V2, 10, 0);
	receive(10);
	noop.csum ^= 4;
	raw_write(control, &noop, sizeof(noop));
	assert_true(raw_closes(control));
}

/* ---- time ----------------------------------------------------------------------------- */

static void test_keepalive(void **state)
{
	lx_sock_tun.keepalive = 1;
	connect_all(LX_SOCK_V3);
	expect_noop(out, 0, 1);
	/* the peer's ping is ignored */
	raw_noop(in, false, 0, 1);
	raw_noop(control, false, 0, 1);
	send_put(control, LX_SOCK_V3, 10, 0);
	receive(10);
	assert_int_equal(fake_conns(node, NULL), 3);
}

static void test_keepalive_wrong(void **state)
{
	connect_all(LX_SOCK_V3);
	raw_noop(in, false, 7, 1);
	assert_true(raw_closes(in));
}

static void test_stalled_sender(void **state)
{
	struct raw_msg msg = put(100000, 0);
	uint8_t wire[96 + 500];
	struct fake_msg *got;
	unsigned int parsed;

	for (size_t part = 10; part < sizeof(wire); part += 200) {
		connect_all(LX_SOCK_V3);
		assert_true(fake_wait_conns(node, 3, 20000));
		set_timeout(1);
		memset(wire, 0, sizeof(wire));
		msg.head.type = LX_SOCK_LNET;
		memcpy(wire, &msg.head, 24);
		lx_hdr_nid4_encode(&msg.hdr, (void *)(wire + 24));
		raw_write(control, wire, part);
		assert_true(fake_wait_conns(node, 0, 20000));
		assert_true(raw_closes(control));
		assert_true(raw_closes(in) && raw_closes(out));
		if (part > 96) {
			got = fake_receive(node, 20000);
			assert_non_null(got);
			assert_int_equal(got->status, -ETIMEDOUT);
			assert_int_equal(got->hstatus, LX_HSTATUS_REMOTE_ERROR);
			fake_msg_free(got);
		}
		close(control);
		close(in);
		close(out);
	}
	control = in = out = -1;
	/* a message that waits for our core is not the sender's fault */
	connect_all(LX_SOCK_V3);
	parsed = node->n_parsed;
	node->hold = true;
	send_put(control, LX_SOCK_V3, 100, 0);
	assert_true(fake_wait_count(node, &node->n_parsed, parsed + 1, 20000));
	fake_clock_go(2500);
	assert_false(raw_closed(control, 2500)); /* two ticks */
	assert_true(fake_release(node));
	receive(100);
}

/*
 * We were stopped for longer than any time limit, before the first tick and later: what the peer
 * has sent meanwhile counts first.
 */
static void test_we_were_away(void **state)
{
	struct raw_msg msg = put(100, 0);
	uint8_t wire[96 + 50] = { 0 };

	msg.head.type = LX_SOCK_LNET;
	memcpy(wire, &msg.head, 24);
	lx_hdr_nid4_encode(&msg.hdr, (void *)(wire + 24));
	connect_all(LX_SOCK_V3);
	raw_write(control, wire, sizeof(wire));
	assert_false(raw_closed(control, 10)); /* it is read */
	for (int i = 0; i < 2; i++) {
		fake_clock_away(117000);
		assert_false(raw_closed(control, 2500));
	}
}

static void test_stalled_receiver(void **state)
{
	struct fake_msg *msg[40];
	enum lx_hstatus hstatus;
	unsigned int timed_out = 0;
	int r;

	connect_all(LX_SOCK_V3);
	for (size_t i = 0; i < N_OF(msg); i++)
		msg[i] = fake_put(node, &id_peer, 1 << 20);
	set_timeout(1);
	for (size_t i = 0; i < N_OF(msg); i++) {
		r = fake_wait(msg[i], &hstatus);
		if (r && (r != -ETIMEDOUT || hstatus != LX_HSTATUS_NETWORK_TIMEOUT))
			fail_msg("message %zu ended with %d, health status %d", i, r, hstatus);
		timed_out += r != 0;
	}
	assert_true(timed_out > 10);
	assert_int_equal(fake_conns(node, NULL), 0);
	assert_true(fake_wait_lost(node, -ETIMEDOUT));
}

static unsigned int n_done(struct fake_msg *const *msg, unsigned int n)
{
	unsigned int done = 0;

	for (unsigned int i = 0; i < n; i++)
		done += fake_is_done(msg[i]);
	return done;
}

/* Slow is not stalled: each message takes most of the time limit, and all together far more. */
static void test_slow_receiver(void **state)
{
	unsigned int done = 0, before;
	struct fake_msg *msg[16];
	char buf[100000];

	connect_all(LX_SOCK_V3);
	set_timeout(2);
	for (size_t i = 0; i < N_OF(msg); i++)
		msg[i] = fake_put(node, &id_peer, 1 << 20);
	for (size_t left = N_OF(msg) * ((1 << 20) + 96); left;) {
		size_t part = left < sizeof(buf) ? left : sizeof(buf);

		assert_int_equal(raw_read(in, buf, part), part);
		left -= part;
		usleep(20000);
		before = done;
		done = n_done(msg, N_OF(msg));
		if (done > before)
			fake_clock_go(1500);
	}
	for (size_t i = 0; i < N_OF(msg); i++)
		assert_int_equal(fake_wait(msg[i], NULL), 0);
}

static void test_waiting_too_long(void **state)
{
	enum lx_hstatus hstatus;
	struct fake_msg *msg;

	/* on V3 the BULK_IN connection may carry ACKs only */
	in = connected(LX_SOCK_V3, LX_CTYPE_BULK_OUT);
	set_timeout(1);
	lx_sock_tun.min_reconnectms = 3000;
	int listener = raw_listen(PEER_IP, PORT);

	msg = fake_put(node, &id_peer, 10);
	control = raw_accept(listener, 20000, NULL);
	assert_int_equal(fake_wait(msg, &hstatus), -ETIMEDOUT);
	assert_int_equal(hstatus, LX_HSTATUS_NETWORK_TIMEOUT);
	close(listener);
}

/* ---- bad messages ------------------------------------------------------------------------ */

/* Only this connection ends: the others have nothing to do with it. */
static void test_half_message(void **state)
{
	struct raw_msg msg = put(100000, 0);
	struct fake_msg *got;
	uint8_t wire[96];

	connect_all(LX_SOCK_V3);
	msg.head.type = LX_SOCK_LNET;
	memcpy(wire, &msg.head, 24);
	lx_hdr_nid4_encode(&msg.hdr, (void *)(wire + 24));
	raw_write(out, wire, sizeof(wire));
	raw_write(out, wire, sizeof(wire));
	close(out);
	out = -1;
	got = fake_receive(node, 20000);
	assert_non_null(got);
	assert_int_equal(got->status, -EIO);
	assert_int_equal(got->hstatus, LX_HSTATUS_REMOTE_ERROR);
	fake_msg_free(got);
	send_put(control, LX_SOCK_V3, 10, 0);
	got = fake_receive(node, 20000);
	assert_non_null(got);
	assert_int_equal(got->status, 0);
	fake_msg_free(got);
	assert_false(raw_closed(control, 0));
	assert_int_equal(node->n_lost, 0);
}

/* The connection closes while the message waits for the core. */
static void test_closed_while_held(void **state)
{
	struct fake_msg *got;

	connect_all(LX_SOCK_V3);
	node->hold = true;
	send_put(out, LX_SOCK_V3, 50000, 0);
	assert_true(fake_wait_count(node, &node->n_parsed, 1, 20000));
	close(out);
	close(in);
	out = in = -1;
	assert_true(fake_wait_conns(node, 0, 20000));
	usleep(10000);
	assert_true(fake_release(node));
	got = fake_receive(node, 20000);
	assert_non_null(got);
	assert_int_equal(got->status, -EIO);
	fake_msg_free(got);
}

/*
 * A peer that stops closes its connections, and Linux resets one if something of ours arrives after
 * that. If both come before we look, it is still an end and no failure.
 */
static void test_closed_and_reset(void **state)
{
	struct linger at_once = { .l_onoff = 1 };

	connect_all(LX_SOCK_V3);
	lx_env_lock(node->env);
	send_put(in, LX_SOCK_V3, 10, 0);
	usleep(50000); /* the loop has this event, and waits for the lock */
	shutdown(control, SHUT_WR);
	setsockopt(control, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(control);
	control = -1;
	lx_env_unlock(node->env);
	assert_true(fake_wait_conns(node, 0, 20000));
	assert_int_equal(n_warnings, 0);
}

static void test_unknown_type(void **state)
{
	struct lx_sock_msg head = { .type = 0xc2 };

	connect_all(LX_SOCK_V3);
	raw_write(control, &head, sizeof(head));
	assert_true(raw_closes(control) && raw_closes(in) && raw_closes(out));
}

static void test_illegal(void **state)
{
	connect_all(LX_SOCK_V3);
	node->illegal = true;
	send_put(control, LX_SOCK_V3, 10, 0);
	assert_true(raw_closes(control) && raw_closes(in));
}

static void test_garbage(void **state)
{
	for (int round = 0; round < 100; round++) {
		unsigned int version = LX_SOCK_V1 + rnd_below(4);
		uint8_t buf[5000];
		size_t len = rnd_below(sizeof(buf));

		control = connected(version, LX_CTYPE_CONTROL);
		rnd_fill(buf, len);
		if (rnd_below(2)) { /* starts like a message */
			struct lx_sock_msg head = { .type = LX_SOCK_LNET };

			memcpy(buf, &head, sizeof(head));
			if (rnd_below(2))
				memset(buf + 24 + 20, 0, 8);
		}
		if (send(control, buf, len, MSG_NOSIGNAL) < 0)
			assert_true(errno == ECONNRESET || errno == EPIPE);
		close(control);
		control = -1;
		assert_true(fake_wait_conns(node, 0, 20000));
	}
	connect_all(LX_SOCK_V3);
	send_put(control, LX_SOCK_V3, 10, 0);
	while (true) {
		struct fake_msg *got = fake_receive(node, 20000);

		assert_non_null(got);
		if (got->len == 10 && !got->status && fake_check(got)) {
			fake_msg_free(got);
			break;
		}
		fake_msg_free(got);
	}
}

/* ---- IPv6, other order ---------------------------------------------------------------------- */

static void test_ipv6(void **state)
{
	struct lx_id id_a = fake_id("fd77::1@tcp"), id_b = fake_id("fd77::2@tcp");
	struct fake_node *a = fake_new("fd77::1@tcp", 1, NULL), *b = fake_new("fd77::2@tcp", 1, NULL);
	struct fake_msg *got;

	for (size_t len = 10; len < 1 << 20; len *= 11) {
		assert_int_equal(fake_wait(fake_put(a, &id_b, len), NULL), 0);
		got = fake_receive(b, 20000);
		assert_non_null(got);
		assert_true(fake_check(got));
		assert_true(lx_nid_eq(&got->from, &id_a.nid));
		fake_msg_free(got);
		assert_int_equal(fake_wait(fake_put(b, &id_a, len), NULL), 0);
		got = fake_receive(a, 20000);
		assert_non_null(got);
		assert_true(fake_check(got));
		fake_msg_free(got);
	}
	assert_true(fake_wait_conns(b, 3, 20000));
	fake_free(a);
	fake_free(b);
}

struct turn {
	struct lx_work work;
	struct fake_msg *msg[8];
	unsigned int n;
};

/* Runs on the loop's thread: nothing is sent before it returns. */
static void put_some(struct lx_work *work)
{
	struct turn *turn = lx_container_of(work, struct turn, work);

	lx_env_unlock(node->env);
	for (unsigned int i = 0; i < N_OF(turn->msg); i++)
		turn->msg[i] = fake_put(node, &id_peer, 2048);
	lx_env_lock(node->env);
	turn->n = N_OF(turn->msg);
}

/* Small messages of one turn use one connection, although there are two for bulk. */
static void test_turn_in_one_batch(void **state)
{
	struct turn turn = { 0 };
	struct raw_msg got;
	struct pollfd fd[2];

	lx_env_lock(node->env);
	lx_sock_lnd.set_tunable(&node->ni, LX_SOCK_NI_CONNS_PER_PEER, 2);
	lx_env_unlock(node->env);
	connect_all(LX_SOCK_V3);
	fd[0] = (struct pollfd){ .fd = in, .events = POLLIN };
	fd[1] = (struct pollfd){ .fd = connected(LX_SOCK_V3, LX_CTYPE_BULK_IN), .events = POLLIN };
	assert_true(fake_wait_conns(node, 4, 20000));
	lx_work_init(&turn.work, put_some);
	lx_env_lock(node->env);
	lx_loop_post(lx_env_loop(node->env, 0), &turn.work);
	lx_env_unlock(node->env);
	assert_true(fake_wait_count(node, &turn.n, N_OF(turn.msg), 20000));
	for (unsigned int i = 0; i < N_OF(turn.msg); i++)
		assert_int_equal(fake_wait(turn.msg[i], NULL), 0);
	assert_int_equal(poll(fd, 2, 20000), 1);
	for (unsigned int i = 0; i < N_OF(turn.msg); i++) {
		assert_true(raw_read_msg(fd[0].revents ? fd[0].fd : fd[1].fd, LX_SOCK_V3, &got));
		assert_int_equal(got.hdr.payload_length, 2048);
		free(got.payload);
	}
	assert_int_equal(poll(fd, 2, 0), 0);
	close(fd[1].fd);
}

/* ---- small first ------------------------------------------------------------------------- */

#define BULK 65536
#define SMALL 2048 /* by the connection for bulk, too */

/* Whether a connection's socket is full. */
static bool is_blocked(void)
{
	const struct lx_sock_net *net = node->ni.lnd_data;
	const struct lx_sock_conn *conn;
	bool blocked = false;

	lx_env_lock(node->env);
	lx_list_for_each (conn, &net->host->conns, host_link)
		blocked |= conn->tx_blocked;
	lx_env_unlock(node->env);
	return blocked;
}

/* Waits until the kernel takes no more; returns how many of the messages it has taken. */
static unsigned int wait_full(struct fake_msg *const *msg, unsigned int n)
{
	unsigned int taken = 0, same = 0;

	for (unsigned int i = 0; i < 2000 && same < 10; i++) {
		usleep(10000);
		same = is_blocked() && n_done(msg, n) == taken ? same + 1 : 0;
		taken = n_done(msg, n);
	}
	assert_int_equal(same, 10);
	return taken;
}

/* The next message that the peer reads; its payload's length. */
static unsigned int read_next(void)
{
	struct raw_msg got;

	assert_true(raw_read_msg(in, LX_SOCK_V3, &got));
	free(got.payload);
	return got.hdr.payload_length;
}

/* Of these messages, @n_read have been read: the others come, of BULK bytes, and all have ended
 * well. */
static void end_of(struct fake_msg **msg, unsigned int n, unsigned int n_read)
{
	while (n_read++ < n)
		assert_int_equal(read_next(), BULK);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(fake_wait(msg[i], NULL), 0);
}

/*
 * The socket is full of bulk messages, others wait, and as many bytes of small ones come. Some
 * bulk messages are in the kernel, one may be half there; then they share the connection.
 */
static void test_small_first(void **state)
{
	struct fake_msg *bulk[40], *small[200];
	unsigned int n_bulk = 0, n_small = 0, taken, between = 0;

	lx_sock_tun.tx_buffer_size = 2 * BULK;
	connect_all(LX_SOCK_V3);
	setsockopt(in, SOL_SOCKET, SO_RCVBUF, &(int){ BULK }, sizeof(int));
	for (unsigned int i = 0; i < N_OF(bulk); i++)
		bulk[i] = fake_put(node, &id_peer, BULK);
	taken = wait_full(bulk, N_OF(bulk));
	assert_true(taken < N_OF(bulk) / 2);
	for (unsigned int i = 0; i < N_OF(small); i++)
		small[i] = fake_put(node, &id_peer, SMALL);
	while (n_small < N_OF(small)) {
		if (read_next() == SMALL) {
			n_small++;
			between += SMALL + 96;
		} else {
			n_bulk++;
			between = 0;
		}
		if (n_bulk > taken + 2 + n_small * (SMALL + 96) / (BULK + 96))
			fail_msg("%u bulk messages, of which %u were in the kernel, before the "
				 "small message %u",
				 n_bulk, taken, n_small);
		if (between >= BULK + 96 + SMALL + 96)
			fail_msg("%u bytes of small messages in a row", between);
	}
	end_of(bulk, N_OF(bulk), n_bulk);
	end_of(small, N_OF(small), n_small);
}

/* The same for what waits because the next hop is held. */
static void test_small_first_when_held(void **state)
{
	struct fake_msg *bulk[20], *small[100];
	struct lx_sock_net *net = node->ni.lnd_data;
	unsigned int n_bulk = 0, n_small = 0;
	struct lx_sock_peer *held;

	connect_all(LX_SOCK_V3);
	assert_true(fake_wait_conns(node, 3, 20000));
	lx_env_lock(node->env);
	held = lx_sock_peer_lookup(net, &id_peer);
	lx_sock_peer_hold(held, true);
	lx_env_unlock(node->env);
	for (unsigned int i = 0; i < N_OF(bulk); i++)
		bulk[i] = fake_put(node, &id_peer, BULK);
	for (unsigned int i = 0; i < N_OF(small); i++)
		small[i] = fake_put(node, &id_peer, SMALL);
	lx_env_lock(node->env);
	lx_sock_peer_hold(held, false);
	lx_env_unlock(node->env);
	while (n_small < N_OF(small)) {
		if (read_next() == SMALL)
			n_small++;
		else
			n_bulk++;
		assert_true(n_bulk <= 1 + (n_small + 1) * (SMALL + 96) / (BULK + 96));
	}
	end_of(bulk, N_OF(bulk), n_bulk);
	end_of(small, N_OF(small), n_small);
}

/* Bytes that the kernel has taken from the node, and not sent. */
static int unsent(void)
{
	const struct lx_sock_net *net = node->ni.lnd_data;
	const struct lx_sock_conn *conn;
	int n = 0, all = 0;

	lx_env_lock(node->env);
	lx_list_for_each (conn, &net->host->conns, host_link) {
		assert_int_equal(ioctl(conn->fd, SIOCOUTQNSD, &n), 0);
		all += n;
	}
	lx_env_unlock(node->env);
	return all;
}

/*
 * A connection that carries all messages, to a peer that reads at some MB/s: what the kernel holds
 * for it, in front of small messages, is sent within some 20 ms, whatever its buffer takes.
 */
static void test_unsent_is_bounded(void **state)
{
	struct fake_msg *bulk[300];
	unsigned int n = 0;
	int most = 0;

	lx_sock_tun.tx_buffer_size = 1 << 20;
	in = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	setsockopt(in, SOL_SOCKET, SO_RCVBUF, &(int){ BULK }, sizeof(int));
	for (unsigned int i = 0; i < N_OF(bulk); i++)
		bulk[i] = fake_put(node, &id_peer, BULK);
	wait_full(bulk, N_OF(bulk));
	for (; n < 250; n++) {
		assert_int_equal(read_next(), BULK);
		usleep(10000); /* 20 ms of that are 2 * BULK at most */
		most = n < 200 ? 0 : unsent() > most ? unsent() : most;
	}
	assert_in_range(most, 1, 4 * BULK);
	while (n++ < N_OF(bulk))
		assert_int_equal(read_next(), BULK);
	for (unsigned int i = 0; i < N_OF(bulk); i++)
		assert_int_equal(fake_wait(bulk[i], NULL), 0);
}

/* Old versions cannot carry a large NID. */
static void test_large_nid_on_v3(void **state)
{
	struct lx_id far = fake_id("fd77::9@tcp9");
	enum lx_hstatus hstatus;

	connect_all(LX_SOCK_V3);
	assert_int_equal(fake_wait(fake_put_via(node, &id_peer, &far.nid, 100), &hstatus),
			 -EAFNOSUPPORT);
	assert_int_equal(hstatus, LX_HSTATUS_LOCAL_ERROR);
	assert_int_equal(fake_wait(fake_put(node, &id_peer, 100), NULL), 0);
	assert_int_equal(fake_conns(node, NULL), 3);
}

static void test_flipped(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &peer, &ours, LX_CTYPE_BULK_OUT), answer;
	struct raw_msg msg = put(20000, 0x1122334455667788);
	struct lx_sock_msg noop;

	hello.flip = true;
	out = raw_dial(PEER_IP, true, OUR_IP, PORT);
	assert_true(raw_handshake(out, &hello, &answer));
	raw_noop(out, true, 0, 1);
	raw_put(out, LX_SOCK_V3, true, &msg);
	receive(20000);
	assert_int_equal(raw_read(out, &noop, sizeof(noop)), sizeof(noop));
	assert_int_equal(noop.type, LX_SOCK_NOOP);
	assert_true(noop.cookie[1] == 0x1122334455667788);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_csum_sent),	   T(test_csum_not_on_v3),   T(test_csum_received),
		T(test_csum_noop),	   T(test_keepalive),	     T(test_keepalive_wrong),
		T(test_stalled_sender),	   T(test_we_were_away),     T(test_stalled_receiver),
		T(test_slow_receiver),	   T(test_waiting_too_long), T(test_half_message),
		T(test_closed_while_held), T(test_closed_and_reset), T(test_unknown_type),
		T(test_illegal),	   T(test_garbage),	     T(test_ipv6),
		T(test_turn_in_one_batch), T(test_small_first),	     T(test_small_first_when_held),
		T(test_unsent_is_bounded), T(test_large_nid_on_v3),  T(test_flipped),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
