/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Acceptance (bpf/accept.h) in the kernel, packet by packet, as in test_bpf_fastpath: damaged
 * packets, and those that our own TCP would not accept, change nothing; valid ones are not
 * refused.
 */
#include <bpf/bpf.h>

#include "testlib.h"

#include "bpfworld.h"

/* Since Linux 6.14: the card has computed the packet's checksum. */
#define CHECKSUM_COMPLETE (1u << 2)

/* ---- nothing changes ------------------------------------------------------------------- */

/* Everything the programs know, except counts of refusals and answers. */
struct known {
	struct lx_stream s;
	struct lx_lane lane;
	struct lx_fp_peer fp_peer[2];
};

static void look(struct known *k)
{
	memcpy(&k->s, s, sizeof(*s));
	memcpy(&k->lane, lane, sizeof(*lane));
	memcpy(&k->fp_peer[0], peer_at(0), sizeof(k->fp_peer[0]));
	memcpy(&k->fp_peer[1], peer_at(1), sizeof(k->fp_peer[1]));
	memset(k->s.refused, 0, sizeof(k->s.refused));
	memset(k->lane.refused, 0, sizeof(k->lane.refused));
	k->s.acks = k->s.progress_ns = k->s.asked_ns = k->s.force = k->s.advertised_sack = 0;
}

static struct known before;

static void nothing_changed(void)
{
	static struct known now;

	look(&now);
	assert_memory_equal(&now, &before, sizeof(now));
}

/* Runs a segment that must be refused for a reason, with this verdict. */
static void refused_by(const struct seg *in, __u64 *count, int verdict)
{
	uint64_t n = *count;
	struct frame f, out;
	uint32_t mark;

	segment_write(in, &f);
	look(&before);
	assert_int_equal(run_frame(&f, IN, in->mark, in->gso, &out, &mark), verdict);
	nothing_changed();
	assert_int_equal(*count, n + 1);
}

static void refused(const struct seg *in, enum lx_refusal why, int verdict)
{
	refused_by(in, &s->refused[why], verdict);
}

/* The same, and it is answered with our position. */
static void answered(const struct seg *in, enum lx_refusal why)
{
	uint64_t n = s->refused[why];
	struct seg out;

	look(&before);
	assert_int_equal(run(in, &s->key, true, &out), REDIRECT);
	is_ack(&out, s->advertised_ack);
	nothing_changed();
	assert_int_equal(s->refused[why], n + 1);
}

/* ---- damaged ----------------------------------------------------------------------------- */

/* With any bit flipped it is passed unchanged, for the stack to refuse, or dropped. */
static void damaged(const struct seg *in)
{
	uint32_t mark, from = 14;
	struct frame f, out;

	segment_write(in, &f);
	look(&before);
	for (uint32_t bit = from * 8; bit < f.len * 8; bit++) {
		int verdict;

		/* IPv6 has no header checksum: skip traffic class, flow label and hop limit. */
		if (v6 && (bit < 14 * 8 + 4 || (bit >= 15 * 8 && bit < 18 * 8) || bit / 8 == 21))
			continue;
		f.bytes[bit / 8] ^= 1 << bit % 8;
		verdict = run_frame(&f, IN, in->mark, 0, &out, &mark);
		if (verdict == GO_ON) {
			assert_int_equal(out.len, f.len);
			assert_memory_equal(out.bytes, f.bytes, f.len);
		} else {
			assert_int_equal(verdict, DROP);
		}
		nothing_changed();
		f.bytes[bit / 8] ^= 1 << bit % 8;
	}
	assert_true(s->refused[LX_REFUSED_CHECKSUM] + lane->refused[LX_REFUSED_CHECKSUM] > 50);
}

static void any_bit(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 4711, 57);
	struct seg in = data_at(0, bytes, n), out;

	damaged(&in);
	in.len = 41; /* a truncated header */
	damaged(&in);
	in.flags = FIN | ACK;
	in.len = 0;
	damaged(&in);
	in.flags = RST;
	damaged(&in);
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	in = lane_sack(20, 600, 40, 60);
	damaged(&in);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 20);
}

static void test_damaged(void **state)
{
	both(any_bit);
}

/* Whether this kernel supports test runs with run_flags. */
static bool can_run(const struct seg *in)
{
	struct frame f, out;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.bytes, .data_out = out.bytes,
		    .data_size_out = sizeof(out.bytes), .flags = run_flags);

	segment_write(in, &f);
	opts.data_size_in = f.len;
	return !bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.lnetx_ingress), &opts);
}

/* After a program, the kernel verifies that its checksum still matches the packet. */
static void any_bit_summed(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, true, 0, 99);
	struct seg in = data_at(0, bytes, n), out;

	run_flags = CHECKSUM_COMPLETE;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	damaged(&in);
}

static void test_damaged_summed(void **state)
{
	uint8_t bytes[1448];
	struct seg in;

	world(false);
	in = data_at(0, bytes, message(bytes, true, 0, 0));
	run_flags = CHECKSUM_COMPLETE;
	if (!can_run(&in))
		skip();
	both(any_bit_summed);
}

/* Odd lengths, and whole blocks. */
static void lengths(void)
{
	uint8_t bytes[1448];
	struct seg in, out;
	uint64_t pos = 0;

	s->socket_window_edge = s->window_edge = s->advertised_edge = lane->window_edge = 1 << 20;
	for (uint32_t payload = 0; payload < 1300; payload++) {
		pos += goes_by_lane(pos, pos, payload, bytes);
		in = lane_ack(pos, 60000);
		assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	}
}

static void test_lengths(void **state)
{
	both(lengths);
}

/* ---- sequence numbers ------------------------------------------------------------------------ */

static void beyond_window(void)
{
	uint8_t bytes[1448];
	struct seg in, out;
	uint32_t n;

	memset(bytes, 0x77, sizeof(bytes));
	/* A guess: one byte, anywhere. */
	for (uint64_t at = WINDOW_EDGE + 128; at < 1ull << 31; at += 100000000 + rnd_below(1000)) {
		in = data_at(at, bytes, 1);
		answered(&in, LX_REFUSED_WINDOW);
		in = data_at(-at, bytes, 1);
		answered(&in, LX_REFUSED_WINDOW);
	}
	/* Partly beyond: the window is advertised in units, rounded up. */
	in = data_at(WINDOW_EDGE + 128 - 100, bytes, 101);
	answered(&in, LX_REFUSED_WINDOW);
	/* Without data such a segment is answered occasionally; resets are not. */
	in = data_at(WINDOW_EDGE + 5000, NULL, 0);
	answered(&in, LX_REFUSED_WINDOW);
	refused(&in, LX_REFUSED_WINDOW, DROP);
	in.flags = RST;
	refused(&in, LX_REFUSED_WINDOW, DROP);
	/* A segment may fill the window completely. */
	in = data_at(WINDOW_EDGE - 100, bytes, 100);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->refused[LX_REFUSED_WINDOW] % 2, 0);
	n = s->high;
	assert_int_equal(n, WINDOW_EDGE);
}

static void test_window(void **state)
{
	both(beyond_window);
}

/* A segment before the acknowledged bytes is answered with an ACK; nothing is learned from it. */
static void old(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 333, bytes);
	struct seg in = lane_ack(n, 600), out;

	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	in = data_at(100, bytes, 50);
	in.tsval = s->tcp_ts.recent + (1u << 30); /* would lock the peer out */
	answered(&in, LX_REFUSED_WINDOW);
	in = data_at(n - 1, NULL, 0);
	in.tsval = s->tcp_ts.recent + (1u << 30);
	answered(&in, LX_REFUSED_WINDOW);
}

static void test_old(void **state)
{
	both(old);
}

/* ---- acknowledgements -------------------------------------------------------------------- */

static void acks(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 100);
	struct seg in = data_at(0, bytes, n), out;

	in.ack = SOCKET_SEQ + 1;
	refused(&in, LX_REFUSED_ACK, DROP);
	in.ack = SOCKET_SEQ - (1 << 16) - 1;
	refused(&in, LX_REFUSED_ACK, DROP);
	in.ack = SOCKET_SEQ + (1u << 31);
	refused(&in, LX_REFUSED_ACK, DROP);
	in.ack = SOCKET_SEQ;
	in.flags = 8; /* PSH only */
	refused(&in, LX_REFUSED_FLAGS, DROP);
	in.flags = FIN;
	refused(&in, LX_REFUSED_FLAGS, DROP);
	in.flags = ACK;
	in.ack = SOCKET_SEQ - (1 << 16); /* old, but not too old */
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(s->peer_acked, SOCKET_SEQ);
	/* Anything our socket sent may be acknowledged, even if sent out of order. */
	in = socket_ack(0, 900);
	in.data = bytes;
	in.len = 30;
	s->socket_una = 5;
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	in = data_at(n, bytes, 41);
	in.ack = SOCKET_SEQ + 30;
	assert_int_equal(run(&in, &s->key, true, &out), DROP); /* a partial header: kept */
	assert_int_equal(s->have, 41);
	assert_int_equal(s->peer_acked, SOCKET_SEQ + 30);
}

static void test_acks(void **state)
{
	both(acks);
}

/* The ACK of our socket's data, in data for a lane, reaches the socket. */
static void ack_for_socket(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 301, bytes), m = message(bytes, false, 0, 500);
	struct seg in, out;

	s->socket_seq = SOCKET_SEQ + 24;
	in = data_at(n, bytes, m);
	in.ack = SOCKET_SEQ + 24;
	in.window = 77;
	in.mark = LX_MARK | LX_MARK_ACK;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.len, 0);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_int_equal(out.ack, SOCKET_SEQ + 24);
	assert_int_equal(out.window, 77);
	assert_int_equal(out.tsval, in.tsval);
	assert_int_equal(out.tsecr, in.tsecr);
	in.no_ts = true;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.ack, SOCKET_SEQ + 24);
}

static void test_ack_for_socket(void **state)
{
	both(ack_for_socket);
}

/* ---- timestamps -------------------------------------------------------------------------- */

static void timestamps(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 100, bytes), recent = s->tcp_ts.recent;
	struct seg in = socket_ack(0, 900), out;

	(void)run(&in, &s->key, true, &out); /* sends everything there is to report */
	in = data_at(n, bytes, 500);
	in.tsval = recent - 1000 * 1000; /* 1000 s */
	answered(&in, LX_REFUSED_TIMESTAMP);
	in.tsval = recent - 2;
	answered(&in, LX_REFUSED_TIMESTAMP);
	in.len = 0;
	refused(&in, LX_REFUSED_TIMESTAMP, DROP);
	/* Clocks have a granularity. */
	in.tsval = recent - 1;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->tcp_ts.recent, recent);
	/* Without a timestamp, as in TCP; and after 25 days of silence. */
	in.no_ts = true;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	in = data_at(n, bytes, message(bytes, false, 0, 100));
	in.tsval = recent - 5000;
	s->tcp_ts.recent_s -= 25 * 24 * 3600;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	/* A reset needs no new timestamp. */
	s->tcp_ts.recent = recent;
	s->tcp_ts.recent_s += 25 * 24 * 3600;
	in = data_at(s->advertised_ack, NULL, 0);
	in.flags = RST;
	in.tsval = recent - 5000;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
}

static void test_timestamps(void **state)
{
	both(timestamps);
}

/* ---- interfaces -------------------------------------------------------------------------- */

/* Addressed to another MAC address: ignored. */
static void goes_by(const struct seg *in)
{
	struct frame f, out;
	uint32_t mark;

	segment_write(in, &f);
	f.bytes[0] = 2;
	assert_int_equal(run_frame(&f, IN, 0, 0, &out, &mark), GO_ON);
	assert_memory_equal(out.bytes, f.bytes, f.len);
}

static void test_interface(void **state)
{
	uint8_t bytes[1448];
	struct seg in, out;

	world(false);
	in = data_at(0, bytes, message(bytes, false, 0, 100));
	s->ifindex = lane->ifindex = 5; /* it arrives on 1 */
	settings->strict = 1;
	refused(&in, LX_REFUSED_INTERFACE, DROP);
	in = lane_ack(0, 600);
	refused_by(&in, &lane->refused[LX_REFUSED_INTERFACE], DROP);
	/* As in the stack: without rp_filter any interface will do. */
	settings->strict = 0;
	in = data_at(0, bytes, message(bytes, false, 0, 100));
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	/* IPv6 has no such filter. */
	world(true);
	s->ifindex = lane->ifindex = 5;
	settings->strict = 1;
	in = data_at(0, bytes, message(bytes, false, 0, 100));
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	/* For another host; the card is in promiscuous mode. */
	world(false);
	in = data_at(0, bytes, message(bytes, false, 0, 100));
	look(&before);
	goes_by(&in);
	nothing_changed();
}

/* ---- lanes ------------------------------------------------------------------------------- */

static void lane_refuses(const struct seg *in, enum lx_refusal why, int verdict)
{
	refused_by(in, &lane->refused[why], verdict);
}

static void lane_segments(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 500, bytes);
	struct seg in = lane_ack(n + 2, 600), out;

	/* More than was sent; one more byte could be the FIN. */
	lane_refuses(&in, LX_REFUSED_ACK, DROP);
	in = lane_ack(-(uint64_t)(1 << 16) - 1, 600);
	lane_refuses(&in, LX_REFUSED_ACK, DROP);
	in = lane_ack(n, 600);
	in.flags = 8;
	lane_refuses(&in, LX_REFUSED_FLAGS, DROP);
	in = lane_ack(n, 600);
	in.tsval = 598;
	lane_refuses(&in, LX_REFUSED_TIMESTAMP, DROP);
	/* The socket answers a segment with a wrong sequence number; the ACK in it is ignored. */
	in = lane_ack(n, 600);
	in.seq = LANE_ACK - 1;
	lane_refuses(&in, LX_REFUSED_WINDOW, GO_ON);
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE);
	in.seq = LANE_ACK + (777 << 7) + 1;
	lane_refuses(&in, LX_REFUSED_WINDOW, GO_ON);
	in.flags = RST;
	lane_refuses(&in, LX_REFUSED_WINDOW, DROP);
	/* With a correct one it is accepted. */
	in = lane_ack(n, 600);
	in.seq = LANE_ACK + (777 << 7);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
}

static void test_lane(void **state)
{
	both(lane_segments);
}

/* A forged window that is too large lasts until the next hop advertises again. */
static void window_edge(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 500, bytes);
	struct seg in = lane_ack(0, 65535), out;

	(void)run(&in, &s->key, true, &out);
	assert_int_equal(lane->window_edge, 65535 << 7);
	in = lane_ack(100, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	assert_int_equal(lane->window_edge, 100 + (600 << 7));
	/* Two segments with the same ACK may arrive in either order. */
	in = lane_ack(100, 500);
	(void)run(&in, &s->key, true, &out);
	assert_int_equal(lane->window_edge, 100 + (600 << 7));
	in.seq += 5;
	(void)run(&in, &s->key, true, &out);
	assert_int_equal(lane->window_edge, 100 + (500 << 7));
	/* Bytes that were not sent cannot have arrived. */
	in = lane_sack(200, 600, 300, n + 1);
	(void)run(&in, &s->key, true, &out);
	assert_int_equal(lane->n_sack, 0);
	in = lane_sack(200, 600, 300, n);
	(void)run(&in, &s->key, true, &out);
	assert_int_equal(lane->n_sack, 1);
}

static void test_edge(void **state)
{
	both(window_edge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_damaged_summed),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_old),
		cmocka_unit_test(test_acks),
		cmocka_unit_test(test_ack_for_socket),
		cmocka_unit_test(test_timestamps),
		cmocka_unit_test(test_interface),
		cmocka_unit_test(test_lane),
		cmocka_unit_test(test_edge),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: acceptance", tests, kernel_open, kernel_close);
}
