/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs in the kernel, packet by packet, as in test_bpf_fastpath: two
 * streams with messages one after the other on a lane.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>

#include "testlib.h"

#include "bpfworld.h"

static uint8_t first[1448], second[1448];
static uint32_t n_first, n_second;

/* Another connection of the peer: stream 1. */
static void add_stream(void)
{
	struct lx_flow value = { .kind = LX_FLOW_STREAM, .index = 1 };

	s[1] = s[0];
	s[1].key.remote_port = htons(1019);
	assert_int_equal(bpf_map__update_elem(bpf->maps.flows, &s[1].key, sizeof(s[1].key), &value,
					      sizeof(value), BPF_ANY), 0);
}

static struct seg of_second(struct seg g)
{
	g.key = s[1].key;
	return g;
}

/* @len bytes of the second stream from position @pos on are sent at @lane_pos. */
static void second_goes_by_lane(uint64_t pos, uint32_t len, uint64_t lane_pos)
{
	struct seg in = of_second(data_at(pos, second + pos, len)), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, lane_pos);
	assert_int_equal(out.len, len);
}

static void first_goes_by_lane(uint64_t pos, uint32_t len)
{
	struct seg in = data_at(pos, first + pos, len), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, pos);
	/* Not slow, however long the test takes. */
	lane->first_ns += 1ull << 50;
}

/* It became an ACK to the second stream's peer. */
static void is_ack_of_second(const struct seg *g, uint64_t pos)
{
	s++;
	is_ack(g, pos);
	s--;
}

/* The second stream's message arrives when half of the first one's has. */
static void one_behind_the_other(void)
{
	add_stream();
	n_first = message(first, false, 11, 700);
	n_second = message(second, false, 22, 500);
	first_goes_by_lane(0, 300);
	second_goes_by_lane(0, 200, n_first);
	assert_int_equal(lane->handovers, 1);
	assert_int_equal(peer_at(1)->tx.lanes, 2);
	assert_int_equal(peer_at(0)->rtr.lanes, 2);
	/* In any order: the next hop reassembles them. */
	second_goes_by_lane(200, n_second - 200, n_first + 200);
	first_goes_by_lane(300, n_first - 300);
	assert_int_equal(lx_lane_n_runs(lane, lane->word), 2);
}

static void arrives(void)
{
	struct seg in, out;

	one_behind_the_other();
	in = lane_ack(n_first, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n_first);
	assert_int_equal(s[0].cookie[0], 11);
	assert_int_equal(s[1].acked, 0);
	assert_int_equal(lx_lane_n_runs(lane, lane->word), 1);
	assert_int_equal(peer_at(1)->tx.lanes, 1);
	in = lane_ack(n_first + n_second, 600);
	assert_int_equal(run(&in, &s[1].key, true, &out), REDIRECT);
	is_ack_of_second(&out, n_second);
	assert_int_equal(s[1].cookie[0], 22);
	assert_false(lx_lane_busy(lane->word));
	assert_int_equal(peer_at(1)->tx.lanes, 0);
	assert_int_equal(peer_at(0)->rtr.lanes, 0);
	assert_int_equal(peer_at(0)->rtr.now, 8);
}

static void test_arrives(void **state)
{
	both(arrives);
}

/* One ACK for both: the packet becomes the last one's ACK, a clone the other's. */
static void arrive_together(void)
{
	struct seg in, out;

	one_behind_the_other();
	in = lane_ack(n_first + n_second, 600);
	assert_int_equal(run(&in, &s[1].key, true, &out), REDIRECT);
	is_ack_of_second(&out, n_second);
	assert_false(lx_lane_busy(lane->word));
	assert_int_equal(s[0].acked, 0);
	in.mark = LX_MARK | LX_MARK_TELL | 0;
	assert_int_equal(run(&in, &s[0].key, true, &out), REDIRECT);
	is_ack(&out, n_first);
	/* No news for it. */
	assert_int_equal(run(&in, &s[0].key, true, &out), DROP);
}

static void test_arrive_together(void **state)
{
	both(arrive_together);
}

/* The second stream's bytes arrived after a gap of the first one's: only the first is told. */
static void gap_of_another(void)
{
	struct seg in, out;

	one_behind_the_other();
	in = lane_sack(300, 600, n_first, n_first + n_second);
	assert_int_equal(run(&in, &s[0].key, true, &out), REDIRECT);
	is_ack(&out, 300);
	assert_int_equal(out.n_block, 0);
	s[1].progress_ns = 0; /* for a long time */
	s[1].force = 1;
	in.mark = LX_MARK | LX_MARK_TELL | 1;
	assert_int_equal(run(&in, &s[1].key, true, &out), REDIRECT);
	is_ack_of_second(&out, 0);
	assert_int_equal(out.n_block, 0);
	/* Its own gap is reported. */
	in = lane_sack(n_first + 200, 600, n_first + 300, n_first + n_second);
	assert_int_equal(run(&in, &s[1].key, true, &out), REDIRECT);
	is_ack_of_second(&out, 200);
	assert_int_equal(out.n_block, 1);
	assert_int_equal(out.block[0][0], STREAM_BASE + 300);
	assert_int_equal(out.block[0][1], STREAM_BASE + n_second);
}

static void test_gap_of_another(void **state)
{
	both(gap_of_another);
}

/* The rest of the first stream's message is lost behind us; its next message arrived. */
static void gap_before_another(void)
{
	uint8_t third[1448];
	uint32_t n;
	struct seg in, out;

	one_behind_the_other();
	n = message(third, false, 0, 100);
	in = data_at(n_first, third, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	in = lane_ack(300, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	s->progress_ns = 0; /* for a long time */
	in = lane_sack(300, 600, n_first, n_first + n_second + n);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 300);
	assert_int_equal(out.n_block, 1);
	assert_int_equal(out.block[0][0], STREAM_BASE + n_first);
	assert_int_equal(out.block[0][1], STREAM_BASE + n_first + n);
}

static void test_gap_before_another(void **state)
{
	both(gap_before_another);
}

/* A retransmission goes to its old place, whichever run is first; the next message is appended. */
static void again(void)
{
	uint8_t third[1448];
	uint32_t n;
	struct seg in, out;

	one_behind_the_other();
	second_goes_by_lane(0, n_second, n_first);
	first_goes_by_lane(0, n_first);
	n = message(third, false, 0, 100);
	in = data_at(n_first, third, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, n_first + n_second);
	assert_int_equal(lx_lane_n_runs(lane, lane->word), 3);
	in = lane_ack(n_first + n_second + n, 600);
	assert_int_equal(run(&in, &s[0].key, true, &out), REDIRECT);
	is_ack(&out, n_first + n);
	assert_false(lx_lane_busy(lane->word));
}

static void test_again(void **state)
{
	both(again);
}

/* The connection to the next hop ended: for both streams, whatever has reached us is done. */
static void lane_ends(void)
{
	struct seg in, out;

	one_behind_the_other();
	lane->state = LX_LANE_DEAD;
	in = of_second(data_at(0, second, n_second));
	assert_int_equal(run(&in, &s[1].key, true, &out), REDIRECT);
	is_ack_of_second(&out, n_second);
	in = data_at(0, first, n_first);
	assert_int_equal(run(&in, &s[0].key, true, &out), REDIRECT);
	is_ack(&out, n_first);
}

static void test_lane_ends(void **state)
{
	both(lane_ends);
}

/* A new stream has the index of a dead one, whose bytes are still on the lane. */
static void in_the_place_of_another(void)
{
	struct seg in, out;

	one_behind_the_other();
	lane->run[0].stream = LX_LANE_OWNER; /* as the daemon sets it */
	in = lane_ack(n_first, 600);
	assert_int_not_equal(run(&in, &s[1].key, true, &out), GO_ON);
	assert_int_equal(s[0].acked, 0);
	assert_int_equal(peer_at(0)->rtr.lanes, 1);
	in = lane_ack(n_first + n_second, 600);
	assert_int_equal(run(&in, &s[1].key, true, &out), REDIRECT);
	is_ack_of_second(&out, n_second);
	assert_int_equal(peer_at(0)->rtr.lanes, 0);
}

static void test_in_the_place_of_another(void **state)
{
	both(in_the_place_of_another);
}

/* An earlier message that is with the daemon delays nothing, not even one for the same NID. */
static void lane_0_delays_nobody(void)
{
	uint8_t bytes[1448];
	uint32_t n;
	struct seg in, out;

	n = message(bytes, false, 0, 100);
	bytes[24 + (v6 ? 4 + 15 : 0)] ^= 0x40; /* another host */
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->reasons[LX_LANE0_UNKNOWN], 1);
	goes_by_lane(n, 0, 100, bytes);
	/* Its own. */
	message(bytes, false, 0, 100);
	memset(bytes + 4, 1, 4); /* a checksum */
	in = data_at(2 * n, bytes, n);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->reasons[LX_LANE0_EXTRAS], 1);
	goes_by_lane(3 * n, n, 100, bytes);
}

static void test_lane_0_delays_nobody(void **state)
{
	both(lane_0_delays_nobody);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrives),
		cmocka_unit_test(test_arrive_together),
		cmocka_unit_test(test_gap_of_another),
		cmocka_unit_test(test_gap_before_another),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_lane_ends),
		cmocka_unit_test(test_in_the_place_of_another),
		cmocka_unit_test(test_lane_0_delays_nobody),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: lanes", tests, kernel_open, kernel_close);
}
