/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lanes that end inside a message: what others have behind it goes elsewhere, and the next hop
 * loses nothing else.
 */
#include "sockfpworld.h"

#define FIRST 1000u /* bytes of the message whose sender leaves */
#define SECOND 3000u /* of another sender's */

static uint8_t bytes[SECOND];
static int first, second; /* the senders' connections */
static int control; /* the server's end of what is no lane */

static bool is_being_cut(void)
{
	return fp()->run[0].cut.since_ns;
}

static bool is_noted(void)
{
	return fp()->run[0].store && lx_fp_store_lost(fp()->run[0].store)->n;
}

static bool has_fin(void)
{
	return fastpath->fins[0];
}

static bool messages_wait(void)
{
	const struct lx_fp_neighbour *peer = fp()->peer[fastpath->lane[0].next_hop];

	return peer && peer->ending >= LX_FP_END_HOLD;
}

/* Takes what the server's socket has. Returns how much. */
static size_t drain(int fd)
{
	uint8_t buf[4096];
	size_t n = 0;
	ssize_t got;

	while ((got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		n += got;
	return n;
}

static void put_on_lane(unsigned int stream, uint32_t start, uint32_t len, uint32_t here)
{
	put_run(!!start, stream,
		&(struct lx_extent){ .len = len, .lane_start = start, .type = LX_MSG_PUT }, here);
	fastpath->lane[0].sent = start + len;
}

/*
 * Two messages are on the lane, of one of which only half has been here; the next hop has half of
 * both.
 */
static void two_messages(bool in_front)
{
	first = timed_world(50);
	control = fds[0];
	fake_clock_run();
	second = dialled(OTHER_IP, &claimed, LX_CTYPE_BULK_OUT, false);
	send_puts(second, 1, 0);
	assert_true(eventually(second_stream_is_on, 20000));
	fake_clock_stop();
	fake_clock_go(50);
	drain(control);
	drain(to_server);
	lx_env_lock(env);
	if (!in_front)
		put_on_lane(0, 0, FIRST, FIRST / 2);
	put_on_lane(1, in_front ? 0 : FIRST, SECOND, SECOND);
	if (in_front)
		put_on_lane(0, SECOND, FIRST, FIRST / 2);
	fastpath->lane[0].una = FIRST / 2;
	fastpath->lane[0].first_ns = lx_sock_now();
	lx_env_unlock(env);
	for (unsigned int i = 0; i < SECOND; i++)
		bytes[i] = i * 7 + 1;
}

/* Payload that the router has reported as lost. */
static uint64_t lost(void)
{
	uint64_t n;

	lx_env_lock(env);
	n = out->lost_payload;
	lx_env_unlock(env);
	return n;
}

static void first_leaves(void)
{
	close(first);
	for (unsigned int i = 0; i < n_fds; i++) {
		if (fds[i] == first)
			fds[i] = fds[--n_fds];
	}
	assert_true(eventually(is_being_cut, 2000));
}

static void second_repeats(uint32_t from, uint32_t to)
{
	lx_env_lock(env);
	fake_fastpath_store(fastpath, 0, FIRST + from, bytes + from, to - from);
	lx_env_unlock(env);
}

/* Whether the second message comes, from byte @from on, soon. */
static bool second_comes(int fd, uint32_t from)
{
	uint8_t got[SECOND];
	size_t have = from;
	ssize_t n;

	for (unsigned int i = 0; i < 500 && have < SECOND; i++) {
		n = recv(fd, got + have, SECOND - have, MSG_DONTWAIT);
		if (n > 0)
			have += n;
		else
			fake_clock_sleep();
	}
	return have == SECOND && !memcmp(got + from, bytes + from, SECOND - from);
}

/* It goes on another connection; then the lane is reset, and nothing is lost. */
static void test_behind(void **state)
{
	two_messages(false);
	first_leaves();
	second_repeats(0, 1000);
	assert_false(closed(to_server, 200));
	assert_int_equal(drain(control), 0);
	second_repeats(1000, SECOND);
	assert_true(second_comes(control, 0));
	assert_true(closed(to_server, 1000)); /* and none of it came there */
	assert_int_equal(lost(), 0);
	lx_env_lock(env);
	assert_true(fastpath->fins[0] > 1); /* it did not answer, so it was reset */
	assert_int_equal(fastpath->lane[0].sent, FIRST / 2);
	assert_non_null(strstr(
		logged, "next_hop=10.2.0.2@tcp1 lane=0 messages=1 reason=\"they are behind"));
	assert_non_null(
		strstr(logged, "nid=10.1.0.2@tcp next_hop=10.2.0.2@tcp1 reason=\"it left a"));
	lx_env_unlock(env);
}

/* The socket's numbers lie in the next hop's window (lx_fp_lane_is_ahead()), and it sends nothing.
 */
static void test_behind_ahead(void **state)
{
	two_messages(false);
	numbers_are_ahead(10000);
	first_leaves();
	assert_true(eventually(is_noted, 1000));
	second_repeats(0, SECOND);
	assert_true(second_comes(control, 0));
	assert_true(closed(to_server, 1000));
	assert_int_equal(lost(), 0);
}

/* Nothing is stored before what is in front has arrived: only its sender can send that. */
static void test_in_front_ahead(void **state)
{
	two_messages(true);
	numbers_are_ahead(10000);
	first_leaves();
	assert_false(eventually(lane_is_stored, 1500));
	lane_has_acked(SECOND);
	assert_true(eventually(lane_is_stored, 1000));
	assert_true(closed(to_server, 2000));
	assert_int_equal(lost(), 0);
}

/* A part that never comes is lost, after a while. */
static void test_behind_lacks(void **state)
{
	two_messages(false);
	first_leaves();
	assert_true(eventually(is_noted, 20000));
	second_repeats(0, SECOND - 1);
	assert_false(closed(to_server, 900));
	assert_true(closed(to_server, 1000));
	assert_int_equal(drain(control), 0);
	assert_int_equal(lost(), SECOND - 96);
}

/*
 * A program was about to send the rest when the sender's connection ended: the lane does not end.
 */
static void test_arrives_after_all(void **state)
{
	two_messages(false);
	first_leaves();
	lane_has_acked(FIRST);
	second_repeats(0, SECOND);
	assert_true(second_comes(to_server, 0));
	assert_false(closed(to_server, 0));
	assert_false(eventually(is_being_cut, 0));
	assert_int_equal(drain(control), 0);
}

/*
 * All of it has been here, but the next hop lacks some, and tells so (@sack) or nothing: then
 * perhaps only its ACK is lost, and what is behind may have arrived.
 */
static void lacks_some(bool sack)
{
	two_messages(false);
	lx_env_lock(env);
	fastpath->stream[0].high = fastpath->stream[0].arrived = FIRST;
	fastpath->lane[0].n_sack = sack;
	lx_env_unlock(env);
	first_leaves();
	assert_true(eventually(is_noted, 1000));
	second_repeats(0, SECOND);
	assert_true(second_comes(control, 0) == sack);
	assert_true(closed(to_server, 2000));
	assert_int_equal(lost(), sack ? 0 : SECOND - 96);
}

static void test_lacks_some(void **state)
{
	lacks_some(true);
}

static void test_says_nothing(void **state)
{
	lacks_some(false);
}

/* The bytes in front of it go by the lane. */
static void test_in_front(void **state)
{
	two_messages(true);
	first_leaves();
	assert_false(closed(to_server, 300));
	lx_env_lock(env);
	fake_fastpath_store(fastpath, 0, 500, bytes + 500, SECOND - 500);
	lx_env_unlock(env);
	assert_true(second_comes(to_server, 500));
	assert_false(closed(to_server, 100));
	lane_has_acked(SECOND);
	assert_true(closed(to_server, 2000));
	assert_int_equal(lost(), 0);
}

/* Messages to the next hop wait until its connections are closed, or it does not close them. */
static void test_held(void **state)
{
	struct raw_msg msg;

	two_messages(false);
	first_leaves();
	second_repeats(0, SECOND);
	assert_true(second_comes(control, 0));
	assert_true(eventually(messages_wait, 1000));
	send_puts(second, 1, 100);
	usleep(20000);
	assert_int_equal(drain(control), 0);
	assert_true(closed(to_server, 1000));
	usleep(20000);
	assert_int_equal(drain(control), 0);
	fake_clock_run();
	assert_true(raw_read_msg(control, V, &msg));
	assert_int_equal(msg.hdr.payload_length, 100);
	free(msg.payload);
}

/* The other connections of a node that ended one inside a message stay. */
static void test_sender_keeps_others(void **state)
{
	int other;

	two_messages(false);
	fake_clock_run();
	other = dialled(CLIENT_IP, &client, LX_CTYPE_CONTROL, false);
	fake_clock_stop();
	first_leaves();
	assert_false(closed(other, 100));
}

/* So do those of a next hop that ends only the one that got half a message, as ours do. */
static void test_next_hop_keeps_others(void **state)
{
	struct raw_msg msg;

	two_messages(false);
	first_leaves();
	second_repeats(0, SECOND);
	assert_true(second_comes(control, 0));
	assert_true(eventually(has_fin, 2000));
	shutdown(to_server, SHUT_RDWR);
	assert_false(closed(control, 100));
	fake_clock_run();
	send_puts(second, 1, 100);
	assert_true(raw_read_msg(control, V, &msg));
	assert_int_equal(msg.hdr.payload_length, 100);
	free(msg.payload);
}

/* The server keeps sending: it is not waited for for long. */
static void test_not_quiet(void **state)
{
	struct raw_msg msg = {
		.hdr = { .type = LX_MSG_PUT, .dst_pid = LX_PID_LUSTRE, .src_pid = LX_PID_LUSTRE }
	};
	unsigned int received;
	uint64_t since;

	two_messages(false);
	msg.hdr.dst_nid = out_nid;
	msg.hdr.src_nid = server;
	first_leaves();
	second_repeats(0, SECOND);
	assert_true(second_comes(control, 0));
	assert_true(eventually(messages_wait, 1000));
	lx_env_lock(env);
	received = out->n_received;
	lx_env_unlock(env);
	since = lx_sock_now();
	while (!raw_closed(to_server, 0)) {
		assert_true(lx_sock_now() < since + LX_HOLD_NS + LX_S_NS);
		raw_put(control, V, false, &msg);
		/* However long that takes: the clock stands still. */
		assert_true(fake_wait_count(out, &out->n_received, ++received, 20000));
		fake_clock_go(20);
		usleep(1000);
	}
	assert_true(lx_sock_now() > since + LX_HOLD_NS - LX_S_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_behind_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_front_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_behind_lacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_arrives_after_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lacks_some, setup, teardown),
		cmocka_unit_test_setup_teardown(test_says_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_front, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sender_keeps_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_next_hop_keeps_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_quiet, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
