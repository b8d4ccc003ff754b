/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd dials a scripted peer: versions, declined and surplus connections, bad answers; both
 * dial at once.
 */
#include "sockworld.h"

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

	*ret_fd = attempt(listener, 20000, &hello);
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
	assert_true(fake_wait_conns(node, 3, 20000));
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

/* The first message names another pid than the answer to our HELLO: it is the same node. */
static void test_another_pid(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd;
	struct lx_id id = { low, 1000 };
	struct fake_msg *out = fake_put(node, &id, 10);
	struct raw_msg got;

	accept_attempt(listener, LX_CTYPE_CONTROL, LX_SOCK_V3, &fd);
	assert_true(raw_read_msg(fd, LX_SOCK_V3, &got));
	assert_int_equal(got.hdr.payload_length, 10);
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	assert_int_equal(node->n_lost, 0);
	assert_int_equal(warnings(), 0);
	close(fd);
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
	int fd = attempt(listener, 20000, &hello);

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
		fd = attempt(listener, 20000, &hello);
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
		assert_true(fake_wait_conns(node, 0, 20000));
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
	assert_true(fake_wait_conns(node, 0, 20000));
	/* The message was not read: a reset, unless we see another connection's EOF first. */
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

	fake_clock_stop();
	for (int i = 0; i < 2; i++) {
		out = fake_put(node, &id_low, 100);
		for (int j = 0; j < 3; j++, reboots++)
			decline_attempt(listener, LX_CTYPE_CONTROL, version[3 * i + j],
					version[3 * i + j + 1]);
		assert_int_equal(fake_wait(out, NULL), -ESTALE);
		expect_warning("its version");
		assert_int_equal(fake_wait(fake_put(node, &id_low, 10), NULL), -EHOSTUNREACH);
		fake_clock_go(250); /* min_reconnectms */
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

	fd = attempt(listener, 20000, &hello);
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

	fd = attempt(listener, 20000, &hello);
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
	bad.src_pid = LX_PID_USERFLAG | 1; /* a process, which we did not dial */
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

	fake_clock_stop();
	/* nobody listens */
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -ECONNREFUSED);
	assert_int_equal(hstatus, LX_HSTATUS_REMOTE_DROPPED);
	assert_int_equal(node->n_lost, 1);
	assert_int_equal(warnings(), 1);
	/* and we do not retry at once */
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -EHOSTUNREACH);
	assert_int_equal(hstatus, LX_HSTATUS_REMOTE_ERROR);
	fake_clock_go(250);
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -ECONNREFUSED);
	/* twice the delay now */
	fake_clock_go(250);
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -EHOSTUNREACH);
	fake_clock_go(200);
	assert_int_equal(fake_wait(fake_put(node, &id_low, 10), &hstatus), -ECONNREFUSED);
}

/*
 * A peer that was gone comes to one of our NIs: the others dial it again at once. With more than
 * one NI on its net we choose among them, and a message must not fail for that.
 */
static void test_back_on_another_ni(void **state)
{
	struct fake_node *sibling = fake_new("127.0.0.6@tcp", 0, node->env);
	struct fake_node *stranger = fake_new("127.0.0.7@tcp2", 0, node->env);
	struct lx_id id_there = fake_id(LOW_IP "@tcp2");
	int listener, fd, in, r[5];
	struct fake_msg *out;

	fake_clock_stop();
	r[0] = fake_wait(fake_put(sibling, &id_low, 10), NULL);
	r[1] = fake_wait(fake_put(sibling, &id_low, 10), NULL);
	r[2] = fake_wait(fake_put(stranger, &id_there, 10), NULL);
	listener = raw_listen(LOW_IP, PORT);
	in = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	out = fake_put(sibling, &id_low, 10);
	fd = raw_accept(listener, 5000, NULL);
	close(fd);
	r[3] = fake_wait(out, NULL);
	/* Another net's NID is another host's, for all we know. */
	r[4] = fake_wait(fake_put(stranger, &id_there, 10), NULL);
	close(in);
	close(listener);
	fake_free(stranger);
	fake_free(sibling);
	assert_int_equal(r[0], -ECONNREFUSED);
	assert_int_equal(r[1], -EHOSTUNREACH);
	assert_int_equal(r[2], -ECONNREFUSED);
	assert_true(fd >= 0);
	assert_int_equal(r[3], -ECONNRESET);
	assert_int_equal(r[4], -EHOSTUNREACH);
}

/*
 * Hangs up instead of a HELLO, as a node without the NID that we ask for (10d-tcp-wrong-nid-reject
 * in tests/golden/captures): that is told apart from a connection that breaks.
 */
static void test_hung_up(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd;
	struct lx_hello hello;
	struct fake_msg *out;

	fake_clock_stop();
	out = fake_put(node, &id_low, 100);
	fd = attempt(listener, 20000, &hello);
	close(fd);
	assert_int_equal(fake_wait(out, NULL), -ECONNRESET);
	assert_true(fake_wait_lost(node, -ECONNRESET));
	assert_int_equal(node->lost_why, LX_DOWN_HUNG_UP);
	assert_int_equal(warnings(), 1);
	fake_clock_go(300);
	out = fake_put(node, &id_low, 100);
	fd = attempt(listener, 20000, &hello);
	raw_write(fd, "\x63\x69\x72\x45\x03", 5);
	close(fd);
	assert_int_equal(fake_wait(out, NULL), -ECONNRESET);
	assert_true(fake_wait_lost(node, -ECONNRESET));
	assert_int_equal(node->lost_why, LX_DOWN_LOST);
	close(listener);
}

/* Hangs up in the middle of HELLO; or never answers. */
static void test_dead_answer(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd;
	enum lx_hstatus hstatus;
	struct lx_hello hello;
	struct fake_msg *out = fake_put(node, &id_low, 100);

	fake_clock_stop();
	fd = attempt(listener, 20000, &hello);
	raw_write(fd, "\x63\x69\x72\x45\x03", 5);
	close(fd);
	assert_int_equal(fake_wait(out, &hstatus), -ECONNRESET);
	assert_int_equal(hstatus, LX_HSTATUS_REMOTE_DROPPED);
	fake_clock_go(300);
	lx_env_lock(node->env);
	lx_sock_lnd.set_tunable(&node->ni, LX_SOCK_NI_TIMEOUT, 1);
	lx_env_unlock(node->env);
	out = fake_put(node, &id_low, 100);
	fd = attempt(listener, 20000, &hello);
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

	theirs = attempt(listener, 20000, &hello);
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

/* Our SYN is dropped, as there is no room in the low peer's backlog: its own attempt is taken. */
static void test_race_unanswered(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), in_the_way, fd;
	struct lx_hello mine = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL), answer;
	struct fake_msg *out;
	struct raw_msg got;

	assert_int_equal(listen(listener, 0), 0);
	in_the_way = raw_dial(HIGH_IP, false, LOW_IP, PORT);
	fake_clock_stop();
	out = fake_put(node, &id_low, 100);
	fd = dial(LOW_IP);
	assert_true(raw_handshake(fd, &mine, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_NONE);
	close(fd);
	fake_clock_go(1000);
	fd = dial(LOW_IP);
	assert_true(raw_handshake(fd, &mine, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_CONTROL);
	assert_true(raw_read_msg(fd, LX_SOCK_V3, &got));
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	close(fd);
	close(in_the_way);
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

	theirs = raw_accept(listener, 20000, NULL);
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
	theirs = raw_accept(listener, 20000, NULL);
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
	bulk = attempt(listener, 20000, &hello);
	fake_clock_stop();
	answer = answer_to(&hello);
	answer.src_incarnation++;
	raw_hello(bulk, &answer);
	assert_true(raw_closes(bulk) && raw_closes(fd));
	close(bulk);
	close(fd);
	/* from the first type again, at once: no time passes */
	bulk = attempt(listener, 20000, &hello);
	assert_int_equal(hello.ctype, LX_CTYPE_CONTROL);
	close(bulk);
	close(listener);
}

static void test_shutdown_handshakes(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), fd[4];
	struct fake_msg *out = fake_put(node, &id_low, 100);
	struct lx_hello hello;

	fd[0] = attempt(listener, 20000, &hello);
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
		TEST(test_active),
		TEST(test_another_pid),
		TEST(test_conns_per_peer),
		TEST(test_settle),
		TEST(test_downgrade),
		TEST(test_older_after_settling),
		TEST(test_older_and_older),
		TEST(test_older_comes_to_us),
		TEST(test_never_content),
		TEST(test_other_version_accepted),
		TEST(test_bad_answers),
		TEST(test_refused),
		TEST(test_back_on_another_ni),
		TEST(test_hung_up),
		TEST(test_dead_answer),
		TEST(test_race_low),
		TEST(test_race_unanswered),
		TEST(test_race_high),
		TEST(test_peer_rebooted_under_us),
		TEST(test_shutdown_handshakes),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
