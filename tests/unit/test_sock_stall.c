/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages that stall on lanes: whose fault it is, and what it costs that peer and others. */
#include "sockfpworld.h"

/* So that our stream and lane get index 0. */
static bool tables_are_empty(void)
{
	return !fastpath->taken[LX_FASTPATH_STREAMS] && !fastpath->taken[LX_FASTPATH_LANES];
}

/* The daemon has noticed its progress, and that of the lane. */
static bool is_seen(void)
{
	return fp()->run[0].arrived == fastpath->stream[0].arrived &&
	       fp()->run[0].una == fastpath->lane[0].una;
}

static bool no_lane_is_busy(void)
{
	return !(fastpath->lane[0].word >> 63);
}

static bool is_unsafe(unsigned int index)
{
	const struct lx_stream *s = &fastpath->stream[index];

	return s->state == LX_STREAM_ON && s->aside == LX_STREAM_ASIDE_UNSAFE &&
	       (s->flags & LX_STREAM_NO_LANES);
}

static bool stream_is_unsafe(void)
{
	return is_unsafe(0);
}

static bool second_is_unsafe(void)
{
	return is_unsafe(1);
}

static bool has_logged(const char *text)
{
	bool has;

	lx_env_lock(env);
	has = strstr(logged, text);
	logged[0] = '\0';
	lx_env_unlock(env);
	return has;
}

/* The stalled sender is closed; its next connections get no lanes for a while. */
static void test_stalled_sender(void **state)
{
	int fd = timed_world(2);

	begin_on_lane(0, 0, 1000, 500);
	lane_has_acked(500);
	assert_true(eventually(is_seen, 20000));
	assert_false(closed(fd, 1400));
	assert_true(closed(fd, 20000)); /* 3/4 of 2 s */
	assert_true(closed(to_server, 20000));
	assert_true(fake_wait_conns(in, 0, 20000));
	assert_true(has_logged("nothing received inside a message for 1 s"));
	assert_true(eventually(tables_are_empty, 20000));
	send_puts(dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false), 1, 0);
	assert_true(eventually(stream_is_unsafe, 20000));
}

/* As long as the lane or the received bytes make progress, nobody is closed. */
static void test_slow_sender(void **state)
{
	int fd = timed_world(1);

	for (unsigned int i = 1; i < 6; i++) {
		begin_on_lane(0, 0, 1000, 100 * i);
		assert_true(eventually(is_seen, 20000));
		assert_false(closed(fd, 400));
	}
	for (unsigned int i = 1; i < 6; i++) {
		lane_has_acked(i);
		assert_true(eventually(is_seen, 20000));
		assert_false(closed(fd, 400));
	}
	lane_has_acked(500);
	lx_env_lock(env);
	fastpath->lane[0].word = 500; /* idle */
	lx_env_unlock(env);
	assert_false(closed(fd, 1500));
	assert_false(has_logged("unfinished"));
}

/* Segments are sent to the next hop without an answer: not the sender's fault. */
static void test_silent_next_hop(void **state)
{
	int fd = timed_world(2);

	begin_on_lane(0, 0, 1000, 500);
	assert_true(eventually(is_seen, 20000));
	for (unsigned int i = 0; i < 10; i++) {
		assert_false(closed(to_server, 100));
		lx_env_lock(env);
		fastpath->lane[0].packets++;
		lx_env_unlock(env);
	}
	assert_true(closed(to_server, 20000));
	assert_true(has_logged("reason=\"the peer has acknowledged nothing of a message for 1 s"));
	assert_false(closed(fd, 300));
	assert_true(eventually(no_lane_is_busy, 20000));
}

/* Nothing is sent to the next hop, as its window is closed: not the sender's fault either. */
static void test_closed_window(void **state)
{
	int fd = timed_world(2);

	begin_on_lane(0, 0, 1000000, 5000);
	lane_has_acked(5000);
	lx_env_lock(env);
	fastpath->lane[0].window_edge = 5000 + fastpath->stream[0].mss - 1;
	lx_env_unlock(env);
	assert_true(eventually(is_seen, 20000));
	assert_false(closed(to_server, 1400));
	assert_true(closed(to_server, 20000));
	assert_true(has_logged("reason=\"the peer has had no room for the rest of a message for 1 s"));
	assert_false(closed(fd, 300));
	assert_false(stream_is_unsafe());
}

/* The sender closes in the middle of a message on the lane; @next: how long it gets no lanes. */
static void breaks_off(const char *next)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000, 500);
	assert_true(eventually(is_seen, 20000));
	close(fd);
	n_fds--;
	assert_true(fake_wait_conns(in, 0, 20000));
	assert_true(closed(to_server, 20000));
	lx_env_lock(env);
	assert_non_null(strstr(logged, "nid=10.1.0.2@tcp next_hop=10.2.0.2@tcp1"));
	lx_env_unlock(env);
	assert_true(has_logged(next));
	while (n_fds)
		close(fds[--n_fds]);
	assert_true(fake_wait_conns(out, 0, 20000));
	assert_true(eventually(tables_are_empty, 20000));
}

/* Lets the time without lanes pass, or the last offence expire. */
static void time_passes(uint64_t ns)
{
	struct lx_fp_offender *o = fp()->offender;

	lx_env_lock(env);
	for (unsigned int i = 0; i < LX_OFFENDERS; i++)
		o[i].until_ns = o[i].until_ns > ns ? o[i].until_ns - ns : 0;
	lx_env_unlock(env);
}

static void test_longer_each_time(void **state)
{
	breaks_off("no fast path for this sender for 60 s");
	time_passes(60 * LX_S_NS);
	breaks_off("no fast path for this sender for 120 s");
	time_passes(120 * LX_S_NS);
	breaks_off("no fast path for this sender for 240 s");
	time_passes(480 * LX_S_NS);
	breaks_off("no fast path for this sender for 60 s");
}

/* Another NID is not another sender: the address gets no lanes on any connection. */
static void test_other_nid(void **state)
{
	int fd = timed_world(50);

	send_puts(dialled(CLIENT_IP, &claimed, LX_CTYPE_BULK_OUT, false), 1, 0);
	assert_true(eventually(second_stream_is_on, 20000));
	assert_false(eventually(second_is_unsafe, 0));
	begin_on_lane(0, 0, 1000, 500);
	assert_true(eventually(is_seen, 20000));
	close(fd);
	fds[n_fds - 2] = fds[n_fds - 1];
	n_fds--;
	assert_true(eventually(second_is_unsafe, 20000));
	assert_true(fake_wait_conns(in, 1, 20000));
}

/* Connections that we or the next hop close do not count against the sender. */
static void test_no_offence(void **state)
{
	timed_world(50);
	begin_on_lane(0, 0, 1000, 500);
	lx_env_lock(env);
	lx_sock_lnd.disconnect(&in->ni, &client);
	lx_env_unlock(env);
	assert_true(fake_wait_conns(in, 0, 20000));
	assert_false(has_logged("unfinished"));
	assert_true(fake_wait_conns(out, 1, 20000)); /* the lane with the message, not the other */
}

static void test_no_offence_silent(void **state)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000, 500);
	assert_true(eventually(is_seen, 20000));
	lx_env_lock(env);
	fastpath->lane[0].packets++;
	lx_env_unlock(env);
	fake_clock_go(1100);
	close(fd);
	n_fds--;
	assert_true(fake_wait_conns(in, 0, 20000));
	assert_false(has_logged("unfinished"));
}

/* All of it was forwarded, and a lost segment will never be resent. */
static void test_left_with_gap(void **state)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000, 1000);
	lx_env_lock(env);
	fastpath->lane[0].n_sack = 1;
	lx_env_unlock(env);
	close(fd);
	n_fds--;
	assert_true(closed(to_server, 20000));
	assert_true(has_logged("no fast path for this sender for 60 s"));
}

/* The same, but it was us who closed the connection. */
static void test_no_offence_with_gap(void **state)
{
	timed_world(50);
	begin_on_lane(0, 0, 1000, 1000);
	lx_env_lock(env);
	fastpath->lane[0].n_sack = 1;
	lx_sock_lnd.disconnect(&in->ni, &client);
	lx_env_unlock(env);
	assert_true(closed(to_server, 20000));
	assert_false(has_logged("unfinished"));
}

/* ---- others wait ------------------------------------------------------------------ */

static bool stream_is_slow(void)
{
	return fastpath->stream[0].aside == LX_STREAM_ASIDE_SLOW;
}

/* A stalled sender that others wait for gets no lanes; after seven seconds it is closed. */
static void test_others_wait(void **state)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000, 500);
	lane_has_acked(500);
	another_behind(1000);
	assert_true(eventually(lane_is_stored, 300));
	assert_true(eventually(stream_is_slow, 20000));
	assert_false(closed(fd, 6000));
	assert_true(closed(fd, 20000));
	assert_true(has_logged("others wait for the rest of a message, and nothing of it comes"));
	assert_true(eventually(tables_are_empty, 20000));
	send_puts(dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false), 1, 0);
	assert_true(eventually(stream_is_unsafe, 20000));
}

/* Bytes behind a hole have not arrived, however many there are; nor do ACKs count that bring nothing. */
static void test_others_wait_for_hole(void **state)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000000, 500);
	lane_has_acked(500);
	another_behind(1000);
	for (unsigned int i = 0; i < 400 && !closed(fd, 10); i++) {
		fake_clock_go(40);
		lx_env_lock(env);
		fastpath->stream[0].high += 500;
		fastpath->stream[0].packets++;
		fastpath->lane[0].packets++;
		fastpath->lane[0].acks++;
		lx_env_unlock(env);
	}
	assert_true(has_logged("others wait for the rest of a message, and nothing of it comes"));
}

/* All of a message has been here, half of it not there, and another one waits behind it. */
static int half_is_missing(void)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000, 1000);
	lane_has_acked(500);
	another_behind(1000);
	lx_env_lock(env);
	fastpath->lane[0].n_sack = 1;
	lx_env_unlock(env);
	return fd;
}

/* All of it has been here, but not there, and its sender has no power: it is not asked for long. */
static void test_others_wait_for_the_dead(void **state)
{
	int fd = half_is_missing();

	assert_true(eventually(is_seen, 20000));
	for (unsigned int i = 0; i < 60; i++) { /* one that lives repeats them */
		fake_clock_go(50);
		lx_env_lock(env);
		fastpath->stream[0].packets++;
		lx_env_unlock(env);
	}
	assert_false(closed(fd, 3000));
	lane_has_acked(600);
	assert_false(closed(fd, 6000));
	assert_true(closed(fd, 20000));
	assert_true(has_logged("others wait for the rest of a message, and nothing of it comes"));
}

/* All of it has arrived, or the next hop does not take it: not the sender's fault, others or not. */
static void test_others_wait_for_next_hop_itself(void **state)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000, 500);
	another_behind(1000);
	for (unsigned int i = 0; i < 100; i++) {
		fake_clock_go(90);
		assert_false(closed(fd, 10));
		lx_env_lock(env);
		fastpath->stream[0].packets++; /* it repeats what is not acknowledged */
		fastpath->lane[0].packets++;
		lx_env_unlock(env);
	}
	lane_has_acked(500);
	lx_env_lock(env);
	fastpath->lane[0].window_edge = 600;
	lx_env_unlock(env);
	assert_false(closed(fd, 15000));
	assert_false(stream_is_slow());
}

/* What the next hop lacks is stored, and acknowledged to its sender: our turn, not its. */
static void test_others_wait_for_us(void **state)
{
	int fd = half_is_missing();

	lx_env_lock(env);
	fastpath->stream[0].acked = fastpath->stream[0].advertised_ack = 1000;
	lx_env_unlock(env);
	assert_false(closed(fd, 15000));
	assert_false(stream_is_slow());
}

/* It may not send: it was told no window, or what is in front of it is not acknowledged. */
static void may_not_send(uint64_t ack, uint64_t edge)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 100000, 500);
	lane_has_acked(500);
	another_behind(1000);
	lx_env_lock(env);
	fastpath->stream[0].extent[0].start = 1 << 20;
	fastpath->stream[0].high = fastpath->stream[0].arrived = (1 << 20) + 500;
	fastpath->stream[0].advertised_ack = (1 << 20) + ack;
	fastpath->stream[0].advertised_edge = (1 << 20) + edge;
	lx_env_unlock(env);
	assert_false(closed(fd, 15000));
	assert_false(stream_is_slow());
}

static void test_others_wait_without_window(void **state)
{
	may_not_send(500, 600);
}

static void test_others_wait_for_what_is_in_front(void **state)
{
	may_not_send(-1, 100000);
}

/* All has arrived, only the lane's runs are still to be removed: nobody is at fault. */
static void test_done(void **state)
{
	int fd = timed_world(5);

	begin_on_lane(0, 0, 1000, 1000);
	lx_env_lock(env);
	fastpath->lane[0].una = (uint32_t)fastpath->lane[0].word;
	lx_env_unlock(env);
	assert_false(closed(fd, 8000));
	assert_false(closed(to_server, 0));
}

/* As test_others_wait, but bytes trickle in: it may not go on forever. */
static void test_others_wait_for_trickle(void **state)
{
	int fd = timed_world(50);

	begin_on_lane(0, 0, 1000, 500);
	lane_has_acked(500);
	another_behind(1000);
	for (unsigned int i = 1; i < 600 && !closed(fd, 10); i++) {
		fake_clock_go(40);
		lx_env_lock(env);
		fastpath->stream[0].high = ++fastpath->stream[0].arrived;
		fastpath->stream[0].packets++;
		fastpath->lane[0].una = 500 + i;
		lx_env_unlock(env);
	}
	assert_true(has_logged("others have waited too long for the rest of a message"));
}

#define LOOK 5 /* ms */
#define EACH 1000 /* bytes of a message */

struct pattern {
	unsigned int every, takes; /* ms: a message begins, and has arrived after */
	bool silent; /* its bytes come at the end, all at once */
	unsigned int lag; /* bytes that have arrived, and are not acknowledged */
};

/* Message @number of a stream is on lane 0 as run @run, and @here bytes of it have arrived. */
static void message(unsigned int stream, uint32_t number, uint16_t run, uint32_t here)
{
	uint64_t start = (1 << 20) + (uint64_t)number * EACH;

	put_run(run, stream,
		&(struct lx_extent){
			.start = start, .lane_start = (uint64_t)run * EACH, .len = EACH },
		here);
}

/* Two streams send for @ms, each message of the second behind one of the first. */
static bool slow_within(unsigned int ms, const struct pattern *of)
{
	struct lx_lane *l = &fastpath->lane[0];
	uint32_t here, number;

	timed_world(50);
	fake_clock_run();
	send_puts(dialled(OTHER_IP, &claimed, LX_CTYPE_BULK_OUT, false), 1, 0);
	assert_true(eventually(second_stream_is_on, 20000));
	fake_clock_stop();
	lx_env_lock(env); /* so the daemon looks when we say */
	l->window_edge = 1 << 30;
	for (unsigned int t = 0; t < ms && !stream_is_slow(); t += LOOK) {
		number = t / of->every;
		here = t % of->every * EACH / of->takes;
		if (here < EACH && of->silent)
			here = EACH / 2;
		if (here > EACH)
			here = EACH;
		message(0, number, 2 * number, here);
		message(1, number, 2 * number + 1, EACH);
		fastpath->stream[0].packets++;
		l->run_first = 2 * number;
		l->una = 2 * number * EACH + (here > of->lag ? here - of->lag : 0);
		if (here == EACH)
			l->word &= ~((uint64_t)LX_LANE_BUSY << 32);
		fake_clock_go(LOOK);
		lx_fp_lane_watch(fp(), 0, lx_sock_now());
	}
	l->word &= ~((uint64_t)LX_LANE_BUSY << 32);
	fastpath->stream[0].tail = fastpath->stream[1].tail = 0;
	lx_env_unlock(env);
	assert_false(fastpath->stream[1].aside);
	return stream_is_slow();
}

/* A client on a slow link: no message takes long, but others wait for it most of the time. */
static void test_slow_link(void **state)
{
	assert_true(slow_within(1000, &(struct pattern){ .every = 100, .takes = 80 }));
}

/* What others waited long ago is forgotten. */
static void test_seldom_slow(void **state)
{
	assert_false(slow_within(20000, &(struct pattern){ .every = 800, .takes = 50 }));
}

/* Many share the lane, and each message is in the way for some ms: all the time somebody waits. */
static void test_busy_lane(void **state)
{
	assert_false(slow_within(20000, &(struct pattern){ .every = 20, .takes = 15 }));
}

/* TCP mends a loss: others wait for a quarter of the time, but nothing comes in it. */
static void test_lossy_link(void **state)
{
	assert_false(slow_within(20000, &(struct pattern){ 1000, 250, .silent = true }));
}

/* A slow link behind us: the sender does what it can. */
static void test_slow_link_behind(void **state)
{
	assert_false(slow_within(20000, &(struct pattern){ 100, 80, .lag = 100 }));
}

/* For a second a message keeps coming, 200 KiB ahead of what a line behind us delivers. */
static void behind_line(uint32_t bytes_per_ms)
{
	struct lx_lane *l = &fastpath->lane[0];
	struct lx_stream *s = &fastpath->stream[0];

	timed_world(50);
	begin_on_lane(0, 0, 1 << 30, 200 << 10);
	lx_env_lock(env); /* so the daemon looks when we say */
	l->window_edge = 1 << 30;
	for (unsigned int t = 0; t < 1000; t += LOOK) {
		l->una += LOOK * bytes_per_ms;
		s->acked = l->una;
		s->high = s->arrived = l->una + (200 << 10);
		fake_clock_go(LOOK);
		lx_fp_lane_watch(fp(), 0, lx_sock_now());
	}
	l->word = (l->word & ~((uint64_t)LX_LANE_BUSY << 32 | UINT32_MAX)) | (uint32_t)l->una;
	s->head = s->tail;
	lx_env_unlock(env);
}

/* What others send to it, and to its neighbours on the same connection, need not wait. */
static void test_slow_line_is_ours(void **state)
{
	behind_line(12500);
	assert_true(eventually(lane_is_back, 20000));
	assert_true(has_logged("it takes no more than 100 Mbit/s"));
	for (unsigned int i = 0; i < 50; i++) {
		fake_clock_go(1000);
		assert_false(eventually(lane_is_live, 2));
	}
	fake_clock_run();
	for (unsigned int i = 0; i < 20; i++)
		fake_clock_go(1000);
	assert_true(eventually(lane_is_live, 20000));
}

static void test_fast_line(void **state)
{
	behind_line(125000);
	assert_false(eventually(lane_is_back, 300));
}

/* Where all lines are slow, it may be ours. */
static void test_slow_lines(void **state)
{
	assert_true(eventually(fp_is_there, 20000));
	lx_env_lock(env);
	fp()->slow_rate = 100 * 1000 * 1000;
	lx_env_unlock(env);
	behind_line(12500);
	assert_false(eventually(lane_is_back, 300));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stalled_sender, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_sender, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent_next_hop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_longer_each_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_nid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_offence, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_offence_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_with_gap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_offence_with_gap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_wait_for_hole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_wait_for_the_dead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_wait_for_next_hop_itself, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_others_wait_for_us, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_wait_without_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_wait_for_what_is_in_front, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_done, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_wait_for_trickle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_seldom_slow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_busy_lane, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lossy_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_link_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_line_is_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fast_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_lines, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
