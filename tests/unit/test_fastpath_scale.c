/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 256 streams, 16 next hops with 3 connections each, on virtual links and in virtual time
 * (scaleworld.h says what is real and what is modelled): nobody starves; what a hand-over costs
 * does not depend on how many there are; how much memory that takes.
 */
#include <errno.h>

#include "scalenet.h"

/* ---- the daemon's half: what review.c and stall.c ask for ---------------------------- */

void lx_fastpath_count_stored(struct lx_fastpath *f, unsigned int lanes, uint64_t bytes)
{
}

unsigned int lx_sock_offload_store(void)
{
	fail_msg("a lane is to be stored");
	return 0;
}

ssize_t lx_sock_conn_write(struct lx_sock_conn *conn, const void *bytes, size_t len)
{
	fail_msg("a lane is stored");
	return -EAGAIN;
}

void lx_fp_conn_ask(struct lx_fp_conn *conn, bool on)
{
}

bool lx_sock_conn_is_idle(struct lx_sock_conn *conn)
{
	return true;
}

void lx_fp_lane_withdraw(struct lx_fp *f, struct lx_fp_conn *conn, enum lx_lane_state state)
{
}

void lx_fp_cut(struct lx_fp *f, unsigned int index, uint64_t from, uint64_t hole, uint64_t now)
{
	fail_msg("a lane ends inside a message");
}

int lx_fastpath_takeover(struct lx_fastpath *f, enum lx_flow_kind kind, unsigned int index, bool on)
{
	return 0;
}

int lx_sock_conn_error(const struct lx_sock_conn *conn)
{
	return 0;
}

void lx_sock_conn_close(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus)
{
	fail_msg("the daemon closes a connection");
}

void lx_sock_conn_fail(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus,
		       const char *reason)
{
	fail_msg("the daemon closes a connection: %s", reason);
}

static __u64 longest_ns; /* of the small messages to a slow line */

static void note_delay(int who, const struct message *m)
{
	if (hop[m->hop].link != LINK && !sender[who].large && now_ns >= measured_from &&
	    now_ns - m->begun_ns > longest_ns)
		longest_ns = now_ns - m->begun_ns;
}

static void store_part(int who, const struct lx_fragment *p)
{
	fail_msg("a lane is stored");
}

static void socket_hears(int l, __u64 pos)
{
}

static void hop_closes(const struct event *e)
{
}

static void tick(void)
{
	fp->n_changing = 0;
	for (unsigned int i = 0; i < STREAMS; i++) {
		lx_fp_stream_tick(fp, i, now_ns);
		sender_timer(i);
	}
	for (int i = 0; i < LANES; i++) {
		lx_fp_lane_watch(fp, i, now_ns);
		lx_fp_grant_lane_tick(fp, i);
	}
	at(now_ns + MS, (struct event){ .kind = TICK });
}

/* ---- a world ------------------------------------------------------------------------- */

static void make_next_hops(void)
{
	for (int h = 0; h < HOPS; h++) {
		neighbour[h].index = h;
		fp->peer[h] = &neighbour[h];
	}
	for (int l = 0; l < LANES; l++) {
		lane[l] = live_lane(l);
		fp_peer[l / CONNS].lane[fp_peer[l / CONNS].n_lanes++] = l;
		lane_sock[l] = (struct lx_sock_conn){ .who = -1, .hop = l / CONNS };
		lane_conn[l].conn = &lane_sock[l];
		fp->lane[l] = &lane_conn[l];
	}
}

static int begin(void **state)
{
	world_begin();
	make_next_hops();
	return 0;
}

static int end(void **state)
{
	world_end();
	return 0;
}

static void run(__u64 warm_ns, __u64 ns)
{
	measured_from = warm_ns;
	senders_begin();
	run_until(warm_ns + ns);
}

/* ---- nobody starves ------------------------------------------------------------------ */

static const char *const reason_name[] = {
#define NAME_(NAME, name, help) name,
	LX_LANE0_REASONS(NAME_)
#undef NAME_
};

static void print_world(__u64 all, __u64 worst, __u64 best)
{
	double fair = (double)all / STREAMS;
	unsigned long reasons[LX_LANE0_COUNT] = { 0 }, handovers = 0;

	for (int i = 0; i < STREAMS; i++) {
		for (int k = 0; k < LX_LANE0_COUNT; k++)
			reasons[k] += stream[i].reasons[k];
	}
	for (int l = 0; l < LANES; l++)
		handovers += lane[l].handovers;
	printf("share of fair %.2f to %.2f, %.0f Gbit/s, %.0f %% of the messages by lanes, "
	       "%lu hand-overs;",
	       worst / fair, best / fair, all * 8.0 / (now_ns - measured_from),
	       100.0 * n_lane_messages / (n_lane_messages + n_slow_messages), handovers);
	for (int k = 0; k < LX_LANE0_COUNT; k++) {
		if (reasons[k])
			printf(" %s %lu", reason_name[k], reasons[k]);
	}
	putchar('\n');
}

/*
 * The stream that gets least gets @percent of an even share at least. Shares even out with time:
 * over 1 s, large messages are too few.
 */
static void nobody_starves(struct pattern p, unsigned int seconds, unsigned int percent)
{
	__u64 all = 0, worst = ~0ull, best = 0;

	pattern = p;
	run(200 * MS, seconds * LX_S_NS);
	for (int i = 0; i < STREAMS; i++) {
		__u64 n = sender[i].delivered;

		all += n;
		worst = n < worst ? n : worst;
		best = n > best ? n : best;
	}
	print_world(all, worst, best);
	assert_true(n_lane_messages && n_slow_messages);
	assert_true(100 * STREAMS * worst >= percent * all);
}

/*
 * Lane 0 can carry half of what all links carry: as measured on small routers
 * (docs/performance.md).
 */
#define HALF (HOPS * LINK / 1000 / 2)
#define THIRD 33

static void large_changing(void **state)
{
	nobody_starves((struct pattern){ 1 << 20, 1 << 20, 1, HALF }, 4, THIRD);
}

static void small_changing(void **state)
{
	nobody_starves((struct pattern){ 64 << 10, 64 << 10, 1, HALF }, 1, THIRD);
}

static void trains(void **state)
{
	nobody_starves((struct pattern){ 64 << 10, 64 << 10, 16, HALF }, 8, THIRD);
}

static void all_sizes(void **state)
{
	nobody_starves((struct pattern){ 4 << 10, 1 << 20, 4, HALF }, 4, THIRD);
}

/* Grants keep a lane from being filled by whoever has it. */
static void large_to_one(void **state)
{
	nobody_starves((struct pattern){ 1 << 20, 1 << 20, 0, HALF }, 1, 40);
}

static void small_to_one(void **state)
{
	nobody_starves((struct pattern){ 64 << 10, 64 << 10, 0, HALF }, 1, THIRD);
}

/* A large router with one slow core: lane 0 carries 30 of 160 Gbit/s. */
static void lane0_is_slow(void **state)
{
	nobody_starves((struct pattern){ 4 << 10, 1 << 20, 4, 3750 }, 4, THIRD);
}

/*
 * Next hop 0 has 100 Mbit/s. Four of its senders have messages of 1 MiB, of which each takes 84 ms:
 * those of 1 KiB need not wait for one, neither in the line's queue nor in the lane's order.
 */
static void small_on_slow_line(void **state)
{
	pattern = (struct pattern){ 1 << 10, 1 << 10, 0, HALF };
	measured_from = LX_S_NS;
	hop[0].link = LINK / 100;
	for (int i = 0; i < STREAMS; i++) {
		sender[i].large = i % (4 * HOPS) == 0;
		sender[i].dead = i % HOPS;
	}
	/* Senders here have no congestion window, by which TCP begins. */
	for (int l = 0; l < CONNS; l++) {
		fp->run[l].best = hop[0].link * 1000 / CONNS;
		lx_fp_limit_lane(&lane[l], &fp->run[l], false, 0);
	}
	run(measured_from, LX_S_NS);
	printf("the longest of a small message: %llu ms\n", (unsigned long long)(longest_ns / MS));
	assert_in_range(longest_ns, 1, 500 * MS);
}

/* ---- what a hand-over costs ---------------------------------------------------------- */

static void reserve(struct lx_lane *t, int who)
{
	__u64 start;

	assert_int_equal(lx_lane_take(t, who, HOPS + who, 1000, 1000, now_ns, &start), 0);
}

/* Taking a lane behind others, and leaving it, costs the same however many there are. */
static void handover_costs_the_same(void **state)
{
	unsigned long take_atomic = 0, take_look = 0, leave_atomic = 0, leave_look = 0;

	reserve(&lane[0], 0);
	for (int i = 1; i < LX_LANE_RUNS - 1; i++) {
		n_atomic = n_look = 0;
		reserve(&lane[0], i);
		assert_true(i == 1 || (n_atomic == take_atomic && n_look == take_look));
		take_atomic = n_atomic;
		take_look = n_look;
	}
	lx_lane_acked(&lane[0], 0, 1000 * (LX_LANE_RUNS - 1), RECEIVE_BUFFER);
	for (__u32 i = 0, who; i < LX_LANE_RUNS - 2; i++) { /* the last one leaves the lane idle */
		n_atomic = n_look = 0;
		assert_true(lx_arrival_first(&lane[0], now_ns, &who));
		assert_int_equal(who, i);
		assert_true(!i || (n_atomic == leave_atomic && n_look == leave_look));
		leave_atomic = n_atomic;
		leave_look = n_look;
	}
	printf("a hand-over: %lu atomic operations to take a lane, %lu to leave it\n", take_atomic,
	       leave_atomic);
	assert_in_range(take_atomic, 1, 12);
	assert_in_range(leave_atomic, 1, 8);
	assert_in_range(take_look + leave_look, 1, 8);
}

/*
 * Choosing looks at the rings of a next hop's lanes, and no further: as much with 256 streams as
 * with as many as fit on those lanes.
 */
static void choosing_is_bounded(void **state)
{
	struct lx_message m = { .len = 1000,
				.dst = { .type = LX_NET_TCP, .addr = { 10, 0, 0, 0 } } };
	unsigned long atomic[2], look[2];

	for (int crowd = 0; crowd < 2; crowd++) {
		struct lx_choice c = { .index = STREAMS - 1 - crowd };
		int who = 0;

		for (int l = crowd ? CONNS : 0; l < (crowd ? LANES : CONNS); l++) {
			for (int i = 0; i < LX_LANE_RUNS - 2; i++)
				reserve(&lane[l], who++ % (STREAMS - 2));
		}
		stream[c.index] = (struct lx_stream){ .version = LX_SOCK_V3, .peer = PEERS - 1 };
		n_atomic = n_look = 0;
		lx_choose(&c, &m);
		assert_int_equal(c.lane, crowd);
		atomic[crowd] = n_atomic;
		look[crowd] = n_look;
	}
	assert_int_equal(atomic[0], atomic[1]);
	assert_in_range(look[1], 1, (CONNS + 1) * (LX_LANE_RUNS + 4));
}

/* docs/fastpath-operation.md tells these sizes. */
static void memory_is_bounded(void **state)
{
	const struct lx_lane *t = &lane[0];

	assert_int_equal(sizeof(t->run) + sizeof(t->run_begun) + sizeof(t->waits), 704);
	assert_int_equal(sizeof(*t), 1248);
	assert_int_equal(sizeof(struct lx_fp_run), 1424);
	/* In blocks: of 256 lanes, of 64 streams. */
	assert_true(LANES <= LX_LANE_BLOCK && STREAMS % LX_STREAM_BLOCK == 0);
	assert_true(LX_LANE_BLOCK * sizeof(*t) < 313 << 10);
	assert_true(STREAMS * sizeof(stream[0]) < 10 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(handover_costs_the_same, begin, end),
		cmocka_unit_test_setup_teardown(choosing_is_bounded, begin, end),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test_setup_teardown(large_changing, begin, end),
		cmocka_unit_test_setup_teardown(small_changing, begin, end),
		cmocka_unit_test_setup_teardown(trains, begin, end),
		cmocka_unit_test_setup_teardown(all_sizes, begin, end),
		cmocka_unit_test_setup_teardown(large_to_one, begin, end),
		cmocka_unit_test_setup_teardown(small_to_one, begin, end),
		cmocka_unit_test_setup_teardown(lane0_is_slow, begin, end),
		cmocka_unit_test_setup_teardown(small_on_slow_line, begin, end),
	};
	int r;

	rnd_init();
	r = cmocka_run_group_tests_name("fast path: scale", tests, NULL, NULL);
	free(heap);
	return r;
}
