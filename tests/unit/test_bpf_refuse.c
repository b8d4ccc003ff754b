/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs in the kernel: what they refuse to forward. The table of illegal
 * headers is in test_fastpath_admit.c; this checks that the kernel refuses them, too.
 */
#include "testlib.h"

#include "bpfworld.h"

/* ---- headers ----------------------------------------------------------------------- */

/* Changes 4 bytes of the LNet header, which are at different offsets in its two forms. */
static void change(uint8_t *message, unsigned int at4, unsigned int at6, uint32_t value)
{
	memcpy(message + sizeof(struct lx_sock_msg) + (v6 ? at6 : at4), &value, sizeof(value));
}

/* The packet goes up; if it is malformed, nothing after it is framed. */
static void is_refused(const uint8_t *bytes, uint32_t len, enum lx_lane0_reason why)
{
	struct seg in = data_at(0, bytes, len), out;

	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_memory_equal(out.data, bytes, len);
	assert_int_equal(s->broken, why == LX_LANE0_MALFORMED);
	assert_int_equal(s->lane_messages, 0);
	assert_int_equal(s->reasons[why], 1);
}

static void illegal(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 100);
	bool ipv6 = v6;

	change(bytes, 24, 48, lx_le32(LX_MSG_GET));
	is_refused(bytes, n, LX_LANE0_MALFORMED);
	world(ipv6);
	change(bytes, 24, 48, lx_le32(LX_MSG_HELLO));
	is_refused(bytes, n, LX_LANE0_MALFORMED);
	world(ipv6);
	/* From a NID that no node has: dropped there. */
	n = message(bytes, false, 0, 100);
	change(bytes, 8, 20, ~0u);
	change(bytes, 12, 24, ~0u);
	is_refused(bytes, n, LX_LANE0_EXTRAS);
	/* A message to another node on the net it came from. */
	world(ipv6);
	n = message(bytes, false, 0, 100);
	s->net = LX_NET(LX_NET_TCP, 2);
	is_refused(bytes, n, LX_LANE0_LOCAL);
}

static void test_illegal(void **state)
{
	both(illegal);
}

/* ---- segments that a lane does not take -------------------------------------------- */

/* Messages in segments that are too large go up; nothing is resegmented for them. */
static void too_large(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 500);
	struct seg in = data_at(0, bytes, n), out;

	lane->mss = 1447;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->reasons[LX_LANE0_MSS], 1);
	/* If the next hop takes as much: small ones, too. */
	lane->mss = 1448;
	goes_by_lane(n, 0, 300, bytes);
}

static void test_too_large(void **state)
{
	both(too_large);
}

/* The sender announced a smaller MSS than it sends; the larger one counts from then on. */
static void announced_less(void)
{
	uint8_t bytes[1448];
	uint32_t n, m;
	struct seg in, out;

	s->mss = lane->mss = 600;
	n = goes_by_lane(0, 0, 400, bytes);
	m = message(bytes, false, 0, 700);
	in = data_at(n, bytes, m);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->mss, m);
	assert_int_equal(s->reasons[LX_LANE0_MSS], 1);
	/* A GSO packet is as large as its segments. */
	in = data_at(n + m, bytes, message(bytes, false, 0, 900));
	in.gso = 800;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->mss, m > 800 ? m : 800);
}

static void test_announced_less(void **state)
{
	both(announced_less);
}

/* @len bytes of packet @in at @offset are sent as a fragment. */
static void is_part(struct seg in, uint32_t offset, uint32_t len)
{
	struct seg out;

	in.mark = LX_MARK | LX_MARK_FRAGMENT | offset;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, offset);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.data, in.data + offset, len);
}

/* The lane's MSS shrinks while a message is on it: the rest is sent in parts. */
static void shrinks(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 1200, bytes);
	struct seg in = data_at(0, bytes, n), out;

	lane->mss = 500;
	/* It becomes the last part; clones, which leave in front of it, the others. */
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 1000);
	assert_int_equal(out.len, n - 1000);
	assert_memory_equal(out.data, in.data + 1000, n - 1000);
	is_part(in, 0, 500);
	is_part(in, 500, 500);
	/* GSO packets whose segments fit pass unchanged; others are split, too. */
	in.mark = 0;
	in.gso = 500;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	assert_int_equal(out.len, n);
	in.gso = 501;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 1000);
	is_part(in, 0, 500);
	is_part(in, 500, 500);
	assert_int_equal(s->resegmented, 0);
}

static void test_shrinks(void **state)
{
	both(shrinks);
}

/* ---- what routers tell of them ------------------------------------------------------ */

/* The sequence number that the lane's socket sees for a lane position. */
static uint32_t quoted(uint64_t pos)
{
	static uint8_t bytes[200];
	struct seg lost = { .v6 = v6, .key = lane->key, .out = true,
			    .seq = LANE_BASE + (uint32_t)pos, .data = bytes, .len = sizeof(bytes) };
	struct frame f, out;
	uint32_t mark;

	segment_quote(&lost, 1400, &f);
	assert_int_equal(run_frame(&f, IN, 0, 0, &out, &mark), GO_ON);
	assert_int_equal(out.len, f.len);
	return segment_quoted(&out, v6);
}

/* The quoted number is translated for bytes in flight, and for no others. */
static void mtu_is_quoted(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 1200, bytes);

	lane->shift = 77; /* its socket sent before the takeover, and since */
	assert_int_equal(quoted(0), LANE_BASE - 77);
	assert_int_equal(quoted(n - 1), LANE_BASE - 77);
	assert_int_equal(quoted(n), LANE_BASE + n);
	lane->una = 500;
	assert_int_equal(quoted(499), LANE_BASE + 499);
	assert_int_equal(quoted(500), LANE_BASE - 77);
	/* Stored: the socket has sent as far as 600. */
	lane->state = LX_LANE_STORED;
	lane->socket_shift = 77 + 500;
	lane->socket_sent = LANE_BASE + 600;
	assert_int_equal(quoted(550), LANE_BASE + 50 - 77);
	assert_int_equal(quoted(700), LANE_BASE + 100 - 77);
	lane->state = LX_LANE_LIVE;
	/* The socket sends by itself. */
	lane->socket_shift = 77;
	lane->word = (__u64)LX_LANE_OURS << 32;
	assert_int_equal(quoted(500), LANE_BASE + 500 - 77);
	/* Streams have no shift on the way out. */
	lane->key = s->key;
	assert_int_equal(quoted(100), LANE_BASE + 100);
}

static void test_mtu_is_quoted(void **state)
{
	both(mtu_is_quoted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_illegal),	       cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_announced_less), cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_mtu_is_quoted),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: refused", tests, kernel_open, kernel_close);
}
