/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx lane show" and "lnetx stream show": whose messages are on a lane in which order,
 * how long they waited, and why a stream does not use lanes.
 */
#include "testlib.h"
#include "fptables.h"

#include "../../bpf/arrival.h"
#include "../../bpf/parse.h"
#include "../../user/bpf/fastpath.h"

static struct lx_stream stream;
static struct lx_lane lane;
static struct lx_fp_peer peer;

FP_TABLES(&stream, 1, &lane, 1, &peer, 1)


static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	(void)nid;
	return NULL;
}

FP_NO_PACKETS

static void lx_stream_tell(void *packet, __u32 index, __u32 by_record)
{
	(void)packet, (void)index, (void)by_record;
}

/* ---- tables with one entry each ------------------------------------------------------- */

unsigned int lx_fastpath_used(const struct lx_fastpath *f, enum lx_fastpath_table table)
{
	return 1;
}

int lx_fastpath_next(const struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int i)
{
	return i ? -1 : 0;
}

FP_DAEMON_TABLES

static int begin(void **state)
{
	(void)lx_frame;
	memset(&stream, 0, sizeof(stream));
	memset(&peer, 0, sizeof(peer));
	stream.state = LX_STREAM_ON;
	lane = (struct lx_lane){ .state = LX_LANE_LIVE,
				 .word = (__u64)LX_LANE_OWNER << 32,
				 .window_edge = 1 << 20 };
	return 0;
}

/* ---- lanes ---------------------------------------------------------------------------- */

static struct lx_lane_info lane_told(void)
{
	struct lx_lane_info *list, info;
	size_t n;

	assert_int_equal(lx_fastpath_lane_list(NULL, &list, &n), 0);
	assert_int_equal(n, 1);
	info = list[0];
	free(list);
	return info;
}

static void takes(__u32 who, __u64 now_ns)
{
	__u64 start;

	assert_int_equal(lx_lane_take(&lane, who, 0, 100, 100, now_ns, &start), 0);
}

static void arrives(__u64 una, __u64 now_ns)
{
	struct lx_arrival a = { .lane = &lane, .now_ns = now_ns };

	lx_lane_acked(&lane, 0, una, una + (1 << 20));
	lx_arrival_note(&a);
}

static void owners_in_their_order(void **state)
{
	struct lx_lane_info info = lane_told();

	assert_int_equal(info.stream, -1);
	assert_string_equal(info.behind, "");
	assert_int_equal(info.state, LX_LANE_SHOWN_IDLE);
	for (__u32 i = 0; i < 3; i++) {
		takes(7, 0);
		takes(12345, 0);
	}
	takes(12345, 0); /* one run */
	info = lane_told();
	assert_int_equal(info.state, LX_LANE_SHOWN_BUSY);
	assert_int_equal(info.stream, 7);
	assert_string_equal(info.behind, "12345,7,12345,7,12345");
	assert_int_equal(info.unacked, 700);
	assert_int_equal(info.takes, 1);
	assert_int_equal(info.handovers, 5);
	arrives(100, 0);
	lane.run[2].stream = LX_LANE_OWNER; /* its connection has ended */
	info = lane_told();
	assert_int_equal(info.stream, 12345);
	assert_string_equal(info.behind, "-1,12345,7,12345");
}

/* As many as there can be, with the largest numbers, and as the numbers of runs wrap. */
static void all_owners_fit(void **state)
{
	struct lx_lane_info info;
	unsigned int n = 1;

	lane.word |= (__u64)(0xfff0u << LX_LANE_TAIL_SHIFT) << 32;
	lane.run_first = 0xfff0;
	for (__u32 i = 0; i < LX_LANE_RUNS - 1; i++)
		takes(LX_STREAMS_MAX - 1 - i, 0);
	info = lane_told();
	assert_int_equal(info.stream, LX_STREAMS_MAX - 1);
	for (const char *at = info.behind; *at; at++)
		n += *at == ',';
	assert_int_equal(n, LX_LANE_RUNS - 2);
	assert_string_equal(strrchr(info.behind, ','), ",16353");
}

/* The programs have taken runs off the ring between two looks. */
static void nobody_is_behind(void **state)
{
	takes(1, 0);
	lane.run_first = 5;
	assert_string_equal(lane_told().behind, "");
}

static void waits_are_told(void **state)
{
	const __u64 unit = 1ull << LX_LANE_WAIT_SHIFT;
	struct lx_lane_info info = lane_told();

	assert_int_equal(info.wait_p50_us + info.wait_p99_us, 0);
	for (int i = 0; i < 20; i++)
		takes(i, 0);
	for (int i = 1; i <= 19; i++) /* the last one waits long */
		arrives(100 * i, i < 19 ? 3 * unit : 1000 * unit);
	info = lane_told();
	assert_int_equal(info.wait_p50_us, 4 * unit / 1000);
	assert_int_equal(info.wait_p99_us, 1024 * unit / 1000);
	lane.limit = 268;
	assert_int_equal(lane_told().limit, 268 << 10);
	lane.handovers_per_s = 754;
	assert_int_equal(lane_told().handovers_per_s, 754);
}

static void waiting_streams_are_told(void **state)
{
	assert_int_equal(lane_told().waiting + lane_told().grants, 0);
	lane.waiting_first = ~0u; /* they count, and wrap */
	lane.waiting_tail = 2;
	lane.grants = 5;
	assert_int_equal(lane_told().waiting, 3);
	assert_int_equal(lane_told().grants, 5);
	lane.waiting_tail = lane.waiting_first - 1; /* changed between two looks */
	assert_int_equal(lane_told().waiting, 0);
}

/* ---- streams ---------------------------------------------------------------------------- */

static struct lx_stream_info stream_told(void)
{
	struct lx_stream_info *list, info;
	size_t n;

	assert_int_equal(lx_fastpath_stream_list(NULL, &list, &n), 0);
	assert_int_equal(n, 1);
	info = list[0];
	free(list);
	return info;
}

static void why_not_by_a_lane(void **state)
{
	static const struct {
		enum lx_stream_aside aside;
		enum lx_stream_shown shown;
		enum lx_stream_why why;
	} each[] = {
		{ LX_STREAM_ASIDE_NO, LX_STREAM_SHOWN_OFF, LX_STREAM_WHY_NONE },
		{ LX_STREAM_ASIDE_SLOW, LX_STREAM_SHOWN_ASIDE, LX_STREAM_WHY_SLOW },
		{ LX_STREAM_ASIDE_COSTLY, LX_STREAM_SHOWN_ASIDE, LX_STREAM_WHY_COSTLY },
		{ LX_STREAM_ASIDE_LOSSY, LX_STREAM_SHOWN_ASIDE, LX_STREAM_WHY_LOSSY },
		{ LX_STREAM_ASIDE_UNSAFE, LX_STREAM_SHOWN_ASIDE, LX_STREAM_WHY_UNSAFE },
	};

	assert_int_equal(stream_told().state, LX_STREAM_SHOWN_FRAMED);
	stream.flags = LX_STREAM_NO_LANES;
	for (size_t i = 0; i < N_OF(each); i++) {
		stream.aside = each[i].aside;
		assert_int_equal(stream_told().state, each[i].shown);
		assert_int_equal(stream_told().why, each[i].why);
	}
	stream.state = LX_STREAM_ECN;
	assert_int_equal(stream_told().state, LX_STREAM_SHOWN_UNSUPPORTED);
	assert_int_equal(stream_told().why, LX_STREAM_WHY_ECN);
	stream.state = LX_STREAM_CLOCK;
	assert_int_equal(stream_told().why, LX_STREAM_WHY_CLOCK);
	for (int i = 0; i < LX_LANE0_COUNT; i++)
		stream.reasons[i] = 100 + i;
	for (int i = 0; i < LX_LANE0_COUNT; i++)
		assert_int_equal(stream_told().reasons[i], 100 + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(owners_in_their_order, begin),
		cmocka_unit_test_setup(all_owners_fit, begin),
		cmocka_unit_test_setup(nobody_is_behind, begin),
		cmocka_unit_test_setup(waiting_streams_are_told, begin),
		cmocka_unit_test_setup(waits_are_told, begin),
		cmocka_unit_test_setup(why_not_by_a_lane, begin),
	};

	return cmocka_run_group_tests_name("fast path: what it tells", tests, NULL, NULL);
}
