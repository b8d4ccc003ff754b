/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lanes shared by several streams: reserving bytes, ACKs, and CPUs that do both at once. */
#include "testlib.h"
#include "fptables.h"

#include "../../bpf/arrival.h"
#include "../../bpf/parse.h"
#include "../../user/fastpath/priv.h"

enum { SENDER, NEXT_HOP, PEERS };
static struct lx_stream stream[3];
static struct lx_lane lanes[2], *const first = &lanes[0];
static struct lx_fp_peer peer[PEERS];
static struct lx_dest dest;
static __u32 told[256];
static unsigned int n_told;

FP_TABLES(stream, N_OF(stream), lanes, N_OF(lanes), peer, PEERS)


static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	(void)nid;
	return &dest;
}

FP_NO_PACKETS

static void lx_stream_tell(void *packet, __u32 stream, __u32 by_record)
{
	(void)packet, (void)by_record;
	told[n_told++] = stream;
}

static int begin(void **state)
{
	memset(lanes, 0, sizeof(lanes));
	memset(peer, 0, sizeof(peer));
	memset(stream, 0, sizeof(stream));
	for (size_t i = 0; i < N_OF(lanes); i++) {
		lanes[i].state = LX_LANE_LIVE;
		lanes[i].next_hop = NEXT_HOP;
		lanes[i].word = (__u64)LX_LANE_OWNER << 32;
		lanes[i].window_edge = 1 << 20;
		peer[NEXT_HOP].lane[peer[NEXT_HOP].n_lanes++] = i;
	}
	dest = (struct lx_dest){ .n = 1, .next_hop = { NEXT_HOP } };
	n_told = 0;
	return 0;
}

/* Reserves @len bytes for a stream at a time; returns their position. */
static __u64 takes_at(__u32 stream, __u32 len, __u64 now_ns)
{
	__u64 start = 0;

	assert_int_equal(lx_lane_take(first, stream, SENDER, len, len, now_ns, &start), 0);
	return start;
}

static __u64 takes(__u32 stream, __u32 len)
{
	return takes_at(stream, len, 0);
}

static void refuses(__u32 stream, __u32 len, enum lx_lane0_reason why, __u64 now_ns)
{
	__u64 start;

	assert_int_equal(lx_lane_take(first, stream, SENDER, len, len, now_ns, &start), why);
}

/* Acknowledges up to @una. Returns the stream to be told with this packet; told[]: the others. */
static __u32 arrives(__u64 una, __u64 now_ns)
{
	struct lx_arrival a = { .lane = first, .now_ns = now_ns, .index = 0 };

	n_told = 0;
	lx_lane_acked(first, 0, una, una + (1 << 20));
	return lx_arrival_note(&a);
}

static void check_credits(int runs)
{
	assert_int_equal(peer[NEXT_HOP].tx.lanes, runs);
	assert_int_equal(peer[NEXT_HOP].tx.now, -runs);
	assert_int_equal(peer[SENDER].rtr.lanes, runs);
	assert_int_equal(lx_lane_busy(first->word) ? lx_lane_n_runs(first, first->word) : 0, runs);
}

static void behind_each_other(void **state)
{
	assert_int_equal(takes(1, 1000), 0);
	assert_int_equal(takes(1, 500), 1000); /* continues the run */
	check_credits(1);
	assert_int_equal(takes(2, 100), 1500);
	assert_int_equal(takes(1, 100), 1600);
	check_credits(3);
	assert_true(lx_lane_has(first, 1) && lx_lane_has(first, 2));
	assert_false(lx_lane_has(first, 3));
	assert_int_equal(first->handovers, 2);
	assert_int_equal(first->takes, 1);

	assert_int_equal(arrives(700, 1), 1);
	check_credits(3);
	assert_int_equal(arrives(1500, 2), 1); /* and nothing of the next run */
	assert_int_equal(n_told, 0);
	check_credits(2);
	assert_true(lx_lane_has(first, 1)); /* after 2 */
	assert_int_equal(arrives(1650, 3), 1); /* 2 is done, part of 1 arrived */
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0], 2);
	assert_false(lx_lane_has(first, 2));
	check_credits(1);
	assert_int_equal(arrives(1700, 4), 1);
	assert_int_equal(n_told, 0);
	check_credits(0);
	assert_int_equal(takes(3, 10), 1700);
	assert_int_equal(first->takes, 2);
}

/* One ACK for many runs: each stream is told once per sequence. */
static void all_at_once(void **state)
{
	for (__u32 i = 0; i < 10; i++)
		takes(i, 100);
	assert_int_equal(arrives(1000, 0), 9);
	assert_int_equal(n_told, 9);
	for (__u32 i = 0; i < 9; i++)
		assert_int_equal(told[i], i);
	check_credits(0);
}

static void ring_is_full(void **state)
{
	for (int round = 0; round < 5000; round++) { /* numbers wrap */
		__u64 at = lx_lane_next(first->word, first->una);

		for (__u32 i = 0; i < LX_LANE_RUNS - 1; i++)
			assert_int_equal(takes(i, 10), at + 10 * i);
		refuses(40, 10, LX_LANE0_CROWDED, 0);
		takes(LX_LANE_RUNS - 2, 10); /* continues the last run */
		assert_int_equal(arrives(at + 10, 0), 0);
		takes(40, 10);
		assert_int_equal(arrives(at + 10 * (LX_LANE_RUNS + 1), 0), 40);
		check_credits(0);
	}
}

static void window_is_small(void **state)
{
	first->window_edge = 1000;
	takes(1, 600);
	refuses(2, 401, LX_LANE0_WINDOW, 0);
	refuses(1, 401, LX_LANE0_WINDOW, 0);
	takes(2, 400);
	check_credits(2);
}

/* Alone, a stream may fill the window; shared, there is a limit. */
static void much_in_flight(void **state)
{
	const __u64 edge = 8 * LX_LANE_SHARED_MAX;
	const __u32 half = LX_LANE_SHARED_MAX / 2;

	first->window_edge = edge;
	takes(1, LX_LANE_SHARED_MAX);
	refuses(2, 10, LX_LANE0_CROWDED, 0);
	takes(1, half);
	arrives(LX_LANE_SHARED_MAX + half, 0);
	first->window_edge = edge;
	takes(1, LX_LANE_SHARED_MAX - half);
	takes(2, half);
	refuses(3, 1, LX_LANE0_CROWDED, 0);
}

/* On a slow line, a small message queues behind no more than is in flight. */
static void limit_of_small(void **state)
{
	const __u32 small = 4096 + 24 + 96;

	first->window_edge = 8 * LX_LANE_SHARED_MAX;
	first->limit = 256;
	takes(1, (256 << 10) - small + 1);
	refuses(2, small, LX_LANE0_CROWDED, 0);
	takes(2, small - 1);
	refuses(3, 10, LX_LANE0_CROWDED, 0);
	takes(3, small + 1);
	first->limit = 0;
	takes(4, small);
}

/* Looks at a lane that has delivered this since the last look. */
static __u16 limit_after(struct lx_fp_run *run, __u64 *now_ns, __u64 bytes, bool queued)
{
	*now_ns += LX_LOOK_MAX_NS;
	first->una += bytes;
	lx_fp_limit_lane(first, run, queued, *now_ns);
	return first->limit;
}

/* Twice of what the line delivers in 10 ms and a round trip: 1 Gbit/s, then 10, then 1 again. */
static void limit_by_rate(void **state)
{
	const __u64 gbit = 12500000, kib = 2 * 11 * 125000 >> 10;
	struct lx_fp_run run = { .rtt_ns = LX_MS_NS };
	__u64 now_ns = 5;

	assert_int_equal(limit_after(&run, &now_ns, gbit, true), 0); /* not known yet */
	assert_int_equal(limit_after(&run, &now_ns, gbit, true), kib);
	/* Where it waits for a sender in between, it says nothing of the line. */
	for (int i = 0; i < 100; i++)
		assert_int_equal(limit_after(&run, &now_ns, gbit / 1000, i % 2), kib);
	/* A stall says nothing, either. */
	for (int i = 0; i < 300; i++)
		assert_int_equal(limit_after(&run, &now_ns, 0, true), kib);
	assert_int_equal(limit_after(&run, &now_ns, gbit, true), kib);
	assert_int_equal(limit_after(&run, &now_ns, 10 * gbit, true), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(limit_after(&run, &now_ns, gbit, true), 0);
	for (int i = 0; i < 100; i++)
		limit_after(&run, &now_ns, gbit, true);
	assert_int_equal(first->limit, kib);
	for (int i = 0; i < 100; i++)
		limit_after(&run, &now_ns, gbit / 1000, true);
	assert_int_equal(first->limit, 2 * LX_AHEAD_MIN >> 10);
}

/*
 * No stream queues behind a slow run, except for its own next message; a run that makes
 * progress is not slow.
 */
static void slow_one(void **state)
{
	const __u64 t = 7000000000, slow = LX_LANE_SLOW_NS;

	takes_at(1, 1000, t);
	takes_at(2, 1000, t + slow);
	refuses(3, 10, LX_LANE0_CROWDED, t + slow + 1);
	takes_at(2, 10, t + slow + 1);
	assert_int_equal(arrives(1000, t + 2 * slow), 1);
	takes_at(3, 10, t + 3 * slow);
	arrives(2020, t + 3 * slow);
	/* Alone, message after message. */
	for (int i = 0; i < 10; i++)
		takes_at(1, 10, t + (4 + i) * slow);
	takes_at(2, 10, t + 14 * slow);
}

/* Waiting times are counted by powers of two when a run becomes the first. */
static void waits_are_counted(void **state)
{
	const __u64 t = 7ull << 40, unit = 1ull << LX_LANE_WAIT_SHIFT;

	takes_at(1, 100, t);
	takes_at(2, 100, t);
	takes_at(3, 100, t + 10 * unit);
	takes_at(4, 100, t + 500 * unit);
	arrives(100, t + 100 * unit);
	assert_int_equal(first->waits[7], 1); /* 2^6 <= 100 < 2^7 */
	arrives(200, t + 100 * unit);
	assert_int_equal(first->waits[7], 2);
	arrives(300, t + 499 * unit); /* clocks of two CPUs */
	assert_int_equal(first->waits[0], 1);
	arrives(400, t + 500 * unit);
	takes_at(1, 100, t);
	takes_at(2, 100, t);
	arrives(500, t + (1ull << 20) * unit);
	assert_int_equal(first->waits[LX_LANE_WAITS - 1], 1);
	arrives(600, t + (1ull << 20) * unit);
	for (int i = 1; i < LX_LANE_WAITS - 1; i++)
		assert_int_equal(first->waits[i], i == 7 ? 2 : 0);
}

/* Another CPU has reserved bytes, but not yet set their owner. */
static void run_is_being_written(void **state)
{
	takes(1, 100);
	takes(2, 100);
	first->run[1].tag = 0;
	assert_int_equal(arrives(100, 0), 1); /* told nevertheless */
	check_credits(2);
	first->run[1].tag = LX_LANE_RUN | 1;
	assert_int_equal(arrives(200, 0), 2);
	assert_int_equal(n_told, 1);
	check_credits(0);
}

/* Another CPU is processing an ACK: it runs once more. */
static void two_look(void **state)
{
	takes(1, 100);
	takes(2, 100);
	first->popping = 1;
	assert_int_equal(arrives(100, 0), 1);
	check_credits(2);
	assert_int_equal(first->pop_again, 1);
	first->popping = 0;
	assert_int_equal(arrives(200, 0), 2);
	check_credits(0);
}

/* Two ACKs, the older one noted later. */
static void older_ack(void **state)
{
	takes(1, 1000);
	lx_pos_raise(&first->una, 700);
	lx_pos_raise(&first->una, 300);
	assert_int_equal(first->una, 700);
}

/* ---- the queue for grants --------------------------------------------------------------- */

/* Two CPUs find one place left in the queue: one of them gets it, and the queue is not stuck. */
static void last_place(void **state)
{
	int more;

	for (__u32 i = 0; i < LX_LANE_WAITING - 1; i++)
		assert_true(lx_grant_queue(first, i, 1));
	assert_true(lx_grant_queue(first, LX_LANE_WAITING - 1, 1));
	assert_false(lx_grant_queue(first, LX_LANE_WAITING - 1, 2));
	assert_false(lx_grant_queue(first, LX_LANE_WAITING, 2));
	for (int i = 0; i < LX_LANE_WAITING; i++)
		(void)lx_grant_next(first, 0, &more);
	assert_int_equal(first->waiting_first, LX_LANE_WAITING);
	assert_int_equal(first->waiting_tail, LX_LANE_WAITING);
}

/*
 * While one CPU asks for a grant of a lane, another frames a message that goes to another lane: the
 * grant still comes, from the lane that was asked.
 */
static void lane_changes(void **state)
{
	struct lx_stream *s = &stream[1];

	takes(2, 1 << 19);
	first->window_edge = 1 << 19;
	s->last_len = 1000;
	s->lane = 1;
	lx_grant_request(s, first, 0, 1);
	assert_int_equal(s->grant, LX_GRANT_WAITS);
	assert_int_equal(arrives(1 << 19, 0), 2);
	assert_int_equal(s->grant, LX_GRANT_GIVEN);
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0], 1);
}

/* Not in use, or taken back by our socket. */
static void of_no_use(void **state)
{
	first->state = LX_LANE_DRAIN;
	refuses(1, 10, LX_LANE0_NO_LANE, 0);
	first->state = LX_LANE_LIVE;
	first->word = (__u64)LX_LANE_OURS << 32;
	refuses(1, 10, LX_LANE0_NO_LANE, 0);
	check_credits(0);
}

/* ---- which one ------------------------------------------------------------------------- */

/* The lane chosen for a message of a stream. */
static __u32 chooses(__u32 index)
{
	struct lx_message m = { .len = 100, .dst = { .type = LX_NET_TCP, .addr = { 10, 0, 0, 1 } } };
	struct lx_choice c = { .index = index };

	(void)lx_frame;
	lx_choose(&c, &m);
	return c.lane;
}

/* The idle lane, then the one with fewer bytes. */
static void fewest_bytes(void **state)
{
	assert_int_equal(chooses(0), 0);
	assert_int_equal(chooses(0), 0);
	assert_int_equal(chooses(1), 1);
	assert_int_equal(chooses(2), 1);
	assert_int_equal(lanes[1].handovers, 1);
}

/* While it has bytes on a lane that has room, first or not, it uses no other, however idle. */
static void stays(void **state)
{
	lanes[1].state = LX_LANE_DRAIN;
	assert_int_equal(chooses(0), 0);
	assert_int_equal(chooses(1), 0);
	lanes[1].state = LX_LANE_LIVE;
	assert_int_equal(chooses(0), 0);
	assert_int_equal(chooses(1), 0);
	assert_int_equal(lx_lane_n_runs(&lanes[0], lanes[0].word), 4);
	/* When all have arrived, any lane. */
	arrives(400, 0);
	assert_int_equal(chooses(2), 0);
	assert_int_equal(chooses(0), 1);
	/* Without room there it takes another; without room anywhere, lane 0. */
	lanes[1].window_edge = 0;
	assert_int_equal(chooses(0), 0);
	lanes[0].window_edge = 0;
	assert_int_equal(chooses(0), LX_NO_LANE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(behind_each_other, begin),
		cmocka_unit_test_setup(all_at_once, begin),
		cmocka_unit_test_setup(ring_is_full, begin),
		cmocka_unit_test_setup(window_is_small, begin),
		cmocka_unit_test_setup(much_in_flight, begin),
		cmocka_unit_test_setup(limit_of_small, begin),
		cmocka_unit_test_setup(limit_by_rate, begin),
		cmocka_unit_test_setup(slow_one, begin),
		cmocka_unit_test_setup(waits_are_counted, begin),
		cmocka_unit_test_setup(run_is_being_written, begin),
		cmocka_unit_test_setup(two_look, begin),
		cmocka_unit_test_setup(older_ack, begin),
		cmocka_unit_test_setup(last_place, begin),
		cmocka_unit_test_setup(lane_changes, begin),
		cmocka_unit_test_setup(of_no_use, begin),
		cmocka_unit_test_setup(fewest_bytes, begin),
		cmocka_unit_test_setup(stays, begin),
	};

	return cmocka_run_group_tests_name("fast path: lanes", tests, NULL, NULL);
}
