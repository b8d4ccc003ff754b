/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lanes whose next hop does not flow: what is under way is stored, and the lane's socket sends it. */
#include "sockfpworld.h"

#define ALL 6000u /* bytes of the message on the lane */

static uint8_t bytes[ALL];

/* A message is under way, of which the next hop acknowledges nothing; the lane is stored. */
static int stored_world(void)
{
	int fd = timed_world(50);

	for (unsigned int i = 0; i < ALL; i++)
		bytes[i] = i * 7 + 1;
	while (recv(to_server, (uint8_t[256]){ 0 }, 256, MSG_DONTWAIT) > 0)
		;
	begin_on_lane(0, 0, ALL, 1000);
	return fd;
}

/* The programs have stored bytes. */
static void store(uint32_t from, uint32_t to)
{
	lx_env_lock(env);
	for (uint32_t n; from < to; from += n) {
		n = to - from < LX_STORED_MAX ? to - from : LX_STORED_MAX;
		fake_fastpath_store(fastpath, 0, from, bytes + from, n);
	}
	lx_env_unlock(env);
}

static bool arrived(uint32_t from, uint32_t to)
{
	static uint8_t got[ALL];

	return raw_read(to_server, got, to - from) == to - from && !memcmp(got, bytes + from, to - from);
}

static bool nothing_arrives(void)
{
	uint8_t byte;

	fake_clock_go(50);
	usleep(50000);
	return recv(to_server, &byte, 1, MSG_DONTWAIT) < 0;
}

/* The next hop has acknowledged all, and the programs have removed the run. */
static void lane_has_ended(uint32_t all)
{
	lx_env_lock(env);
	fastpath->lane[0].una = all;
	fastpath->lane[0].run_first = 1;
	fastpath->lane[0].word &= ~((uint64_t)LX_LANE_BUSY << 32);
	fastpath->stream[0].head = fastpath->stream[0].tail;
	lx_env_unlock(env);
}

/* Stored bytes are sent in the order of the lane; then it is a lane again. */
static void test_stored(void **state)
{
	stored_world();
	assert_true(eventually(lane_is_stored, 20000));
	lx_env_lock(env);
	assert_int_equal(fastpath->peer[fastpath->lane[0].next_hop].n_lanes, 0);
	assert_true(fastpath->pokes[0]);
	assert_non_null(strstr(logged, "next_hop=10.2.0.2@tcp1 lane=0 bytes=6000"));
	lx_env_unlock(env);
	store(3000, 4500);
	assert_true(nothing_arrives());
	store(0, 3000);
	assert_true(arrived(0, 4500));
	lane_has_acked(4500);
	store(4500, ALL);
	assert_true(arrived(4500, ALL));
	lane_has_ended(ALL);
	assert_true(eventually(lane_is_live, 20000));
	assert_int_equal(fastpath->lane[0].stored, ALL);
	assert_int_equal(fastpath->lane[0].stores, 1);
	/* The socket has sent as much as the lane has. */
	assert_int_equal(fastpath->lane[0].shift, 0);
}

/* The next hop had part of it from the programs: the socket skips that. */
static void test_skipped(void **state)
{
	stored_world();
	assert_true(eventually(lane_is_stored, 20000));
	lane_has_acked(1000);
	store(0, 2000); /* a bit late */
	assert_true(arrived(1000, 2000));
	lane_has_acked(3000);
	store(2500, 4000);
	assert_true(arrived(3000, 4000));
	lane_has_ended(ALL);
	assert_true(eventually(lane_is_live, 20000));
	assert_int_equal(fastpath->lane[0].shift, ALL - 2000);
}

static bool socket_has_bytes(void)
{
	int n;

	return !ioctl(fp()->lane[0]->facts.fd, SIOCOUTQ, &n) && n;
}

static bool lane_is_the_sockets(void)
{
	return lane_is_back() || lane_is_live();
}

/*
 * The next hop has everything from the programs, but the socket does not know that of what it was
 * given: its bytes keep their numbers, and the lane stays, until it does.
 */
static void test_unsent(void **state)
{
	stored_world();
	assert_true(eventually(lane_is_stored, 20000));
	cut_off(to_server, true);
	store(0, 2000);
	assert_true(eventually(socket_has_bytes, 20000));
	lane_has_acked(3000);
	store(3000, 4000);
	assert_false(eventually(lane_is_live, 100));
	assert_int_equal(fastpath->lane[0].socket_shift, 0);
	lane_has_ended(ALL);
	assert_false(eventually(lane_is_the_sockets, 1000));
	assert_int_equal(fastpath->lane[0].socket_shift, 0);
	cut_off(to_server, false);
	assert_true(arrived(0, 2000));
	assert_true(eventually(lane_is_live, 20000));
	assert_int_equal(fastpath->lane[0].shift, ALL - 2000);
}

/* The next hop has acknowledged everything, but the socket has not heard of it yet. */
static void test_unheard(void **state)
{
	stored_world();
	assert_true(eventually(lane_is_stored, 20000));
	cut_off(to_server, true);
	store(0, ALL);
	assert_true(eventually(socket_has_bytes, 20000));
	lane_has_ended(ALL);
	assert_false(eventually(lane_is_the_sockets, 300));
	cut_off(to_server, false);
	assert_true(arrived(0, ALL));
	assert_true(eventually(lane_is_live, 20000));
}

/* The window is closed, so only the sender has the rest, and may not send it. */
static void test_closed_window(void **state)
{
	stored_world();
	lane_has_acked(1000);
	lx_env_lock(env);
	fastpath->lane[0].window_edge = 1000;
	lx_env_unlock(env);
	assert_true(eventually(lane_is_stored, 20000));
	store(1000, ALL);
	assert_true(arrived(1000, ALL));
}

/* Nothing is under way, and the ACK that opens the window is lost: the socket gets the lane, and probes. */
static void test_closed_and_idle(void **state)
{
	stored_world();
	lane_has_ended(ALL);
	assert_false(eventually(lane_is_back, 500));
	lx_env_lock(env);
	fastpath->lane[0].window_edge = ALL + 100;
	lx_env_unlock(env);
	assert_true(eventually(lane_is_back, 20000));
	assert_int_equal(fastpath->lane[0].stores, 0);
}

/* No one waits for a message whose sender has not sent the rest. */
static void test_slow_sender(void **state)
{
	stored_world();
	lane_has_acked(1000);
	assert_false(eventually(lane_is_stored, 1000));
}

/* A next hop that tells what it lacks takes data; it is stored once it tells nothing more. */
static void test_loss(void **state)
{
	unsigned int i;

	stored_world();
	fastpath->lane[0].n_sack = 1;
	for (i = 0; i < 20 && !eventually(lane_is_stored, 100); i++) {
		lx_env_lock(env);
		fastpath->lane[0].acks += i < 10;
		fastpath->stream[0].packets++; /* the sender repeats it */
		lx_env_unlock(env);
	}
	assert_in_range(i, 10, 13);
}

/* In time, if barely: each time that it has sent more, the next hop acknowledges what was before. */
static void test_in_time(void **state)
{
	stored_world();
	for (unsigned int i = 1; i < 20; i++) {
		lx_env_lock(env);
		fastpath->lane[0].una = 1000 + 100 * (i - 1);
		fastpath->lane[0].sent = 1000 + 100 * i;
		fastpath->stream[0].arrived = fastpath->stream[0].high = 1000 + 100 * i;
		lx_env_unlock(env);
		assert_false(eventually(lane_is_stored, 100));
	}
}

/* Something is acknowledged all the time, but much too slowly. */
static void test_slow_next_hop(void **state)
{
	unsigned int i;

	stored_world();
	for (i = 0; i < 100 && !eventually(lane_is_stored, 20); i++)
		lane_has_acked(i);
	assert_in_range(i, 5, 20);
}

/* The sender is gone, but all of its message has been stored: the lane waits for nobody. */
static void test_sender_ends(void **state)
{
	int fd = stored_world();

	assert_true(eventually(lane_is_stored, 20000));
	lx_env_lock(env);
	fastpath->stream[0].arrived = fastpath->stream[0].high = ALL;
	lx_env_unlock(env);
	store(0, ALL);
	assert_true(arrived(0, ALL));
	close(fd);
	n_fds--;
	assert_true(fake_wait_conns(in, 0, 20000));
	assert_false(closed(to_server, 2000));
	lane_has_ended(ALL);
	assert_true(eventually(lane_is_the_sockets, 20000));
}

/* Bytes stored, and acknowledged to their sender, are lost with the connection, and counted. */
static void test_lost(void **state)
{
	stored_world();
	assert_true(eventually(lane_is_stored, 20000));
	store(0, ALL);
	assert_true(arrived(0, ALL));
	lx_env_lock(env);
	fastpath->stream[0].head = fastpath->stream[0].tail; /* acknowledged */
	lx_sock_lnd.disconnect(&out->ni, &server);
	lx_env_unlock(env);
	assert_true(closed(to_server, 20000));
	assert_int_equal(out->lost_payload, ALL - 96);
	lx_env_lock(env);
	assert_non_null(strstr(logged, "nid=10.1.0.2@tcp next_hop=10.2.0.2@tcp1 messages=1"));
	lx_env_unlock(env);
}

/* Without memory for it, the senders keep the data, as before. */
static void test_no_budget(void **state)
{
	stored_world();
	lx_sock_tun.fastpath_store = 0;
	assert_false(eventually(lane_is_stored, 1000));
	lx_env_lock(env);
	assert_non_null(strstr(logged, "there is no memory to store that (tunable fastpath_store)"));
	lx_sock_tun.fastpath_store = 256;
	/* More than one next hop may have. */
	fastpath->lane[0].word += 33 << 20;
	lx_env_unlock(env);
	assert_false(eventually(lane_is_stored, 1000));
}

/*
 * After 4 GiB its socket's numbers lie in the next hop's window, or about to: the senders keep what
 * is under way. Behind it, or far in front, they may be.
 */
static void test_ahead(void **state)
{
	stored_world();
	numbers_are_ahead(39999);
	assert_false(eventually(lane_is_stored, 500));
	numbers_are_ahead(900);
	assert_false(eventually(lane_is_stored, 500));
	lane_has_acked(899);
	assert_false(eventually(lane_is_stored, 500));
	lane_has_acked(900); /* they are the same */
	assert_true(eventually(lane_is_stored, 20000));
	store(900, ALL);
	assert_true(arrived(900, ALL));
}

static void test_far_ahead(void **state)
{
	stored_world();
	numbers_are_ahead(40000);
	assert_true(eventually(lane_is_stored, 20000));
}

static bool lane_drains(void)
{
	return fastpath->lane[0].state == LX_LANE_DRAIN;
}

static bool lane_has_gone(void)
{
	return !fp()->lane[0];
}

static void fastpath_is(bool on)
{
	lx_env_lock(env);
	lx_sock_tun.fastpath = on;
	lx_env_unlock(env);
}

/* Nor does its socket get the lane back: it stays one, or ends if its messages are elsewhere. */
static void test_ahead_and_idle(void **state)
{
	stored_world();
	lane_has_ended(ALL);
	numbers_are_ahead(ALL + 100);
	fastpath_is(false);
	assert_false(eventually(lane_is_back, 300));
	assert_true(lane_is_live());
	numbers_are_ahead(0);
	assert_true(eventually(lane_is_back, 20000));
	fastpath_is(true);
}

static void test_ahead_and_withdrawn(void **state)
{
	stored_world();
	numbers_are_ahead(50000);
	fastpath_is(false);
	assert_true(eventually(lane_drains, 100));
	numbers_are_ahead(ALL + 100);
	lane_has_ended(ALL);
	assert_true(eventually(lane_has_gone, 20000));
	assert_true(closed(to_server, 1000));
	fastpath_is(true);
}

/* Bytes behind the message that is stored: more has been reserved than we knew of. */
static void test_more(void **state)
{
	stored_world();
	assert_true(eventually(lane_is_stored, 20000));
	another_behind(100);
	store(0, ALL);
	assert_true(arrived(0, ALL));
	lx_env_lock(env);
	fake_fastpath_store(fastpath, 0, ALL, bytes, 100);
	lx_env_unlock(env);
	assert_true(arrived(0, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unsent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unheard, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_and_idle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_sender, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loss, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_next_hop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sender_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_far_ahead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ahead_and_idle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ahead_and_withdrawn, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
