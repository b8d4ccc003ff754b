/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs in the kernel, packet by packet (PROG_TEST_RUN): one stream
 * from a peer, one lane to a next hop, set up as a takeover does. Both connections'
 * sequence numbers are about to wrap. Skipped if BPF is not permitted.
 *
 * A test run cannot have packets whose checksum an interface completes; the
 * system tests (tests/sys/fastpath.bats) use such interfaces. test_bpf_accept tests which
 * segments are refused.
 */
#include <bpf/bpf.h>

#include "testlib.h"

#include "bpfworld.h"

/* ---- cases ----------------------------------------------------------------------------- */

static void lane_and_back(void)
{
	uint8_t bytes[1448], expect[24] = { LX_SOCK_LNET };
	uint32_t n = message(bytes, false, 4711, 500);
	struct seg in = data_at(0, bytes, n), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	assert_int_equal(out.len, n);
	assert_memory_equal(out.data, expect, 24); /* the cookie is not for the next hop */
	assert_memory_equal(out.data + 24, bytes + 24, n - 24);
	assert_int_equal(s->acked, 0); /* only the programs have seen it */
	assert_int_equal(s->tcp_ts.recent, in.tsval);

	in = lane_ack(100, 600); /* part of it */
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 100);
	assert_int_equal(lane->tcp_ts.recent, 700);
	in = lane_ack(n, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	/* The edge is unchanged: WINDOW_EDGE in socket positions, plus what was diverted. */
	assert_in_range((uint64_t)out.window << 7, WINDOW_EDGE, WINDOW_EDGE + 127);
	assert_false(lx_lane_busy(lane->word));
	assert_int_equal(s->cookie_tail, 1);
	assert_int_equal(s->cookie[0], 4711);
	assert_int_equal(peer_at(0)->rtr.now, 8);
	assert_int_equal(peer_at(1)->tx.now, 8);
	assert_int_equal(lx_lane_next(lane->word, lane->una), n);
}

static void test_lane(void **state)
{
	both(lane_and_back);
}

static void diverted(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 301, bytes), m;
	struct seg in, out;

	/* Our socket sees sequence numbers without the diverted bytes. */
	m = message(bytes, true, 99, 64);
	in = data_at(n, bytes, m);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_int_equal(out.len, m);
	assert_memory_equal(out.data, bytes, m); /* with its cookie */

	/* The socket has it, the next hop does not: at most a gap is reported to the peer. */
	in = socket_ack(m, 900);
	(void)run(&in, &s->key, true, &out);
	assert_int_equal(s->acked, 0);
	in = lane_ack(n, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n + m);
	/* A data segment of the socket reports the same. */
	in = socket_ack(m, 900);
	in.data = bytes;
	in.len = 24;
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_int_equal(out.ack, STREAM_BASE + n + m);
	assert_int_equal(out.seq, SOCKET_SEQ);
	assert_int_equal(out.tsecr, s->tcp_ts.recent);
	assert_memory_equal(out.data, bytes, 24);
	/* No news, so no ACK - except once for the gaps, which did not fit into that segment. */
	in = socket_ack(m, 900);
	in.seq += 24;
	(void)run(&in, &s->key, true, &out);
	assert_int_equal(run(&in, &s->key, true, &out), DROP);
}

static void test_diverted(void **state)
{
	both(diverted);
}

static void window(void)
{
	struct seg in, out;
	uint8_t bytes[1448];
	uint32_t n;

	/* The socket's window is smaller than advertised: the advertised edge stays. */
	in = socket_ack(0, 10);
	in.data = (void *)"x";
	in.len = 1;
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_in_range((uint64_t)out.window << 7, WINDOW_EDGE, WINDOW_EDGE + 127);
	/* A larger one is advertised, but at most 1.5 MiB beyond the framed bytes. */
	in = socket_ack(0, 2000);
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_int_equal((uint64_t)out.window << 7, 2000 << 7);
	in = socket_ack(0, 60000);
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_int_equal((uint64_t)out.window << 7, 3 << 19);
	/* A next hop with a small window gets no message that might not fit. */
	lane->window_edge = 200;
	n = message(bytes, false, 0, 500);
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->reasons[LX_LANE0_WINDOW], 1);
	assert_int_equal(out.seq, STREAM_BASE);
}

static uint64_t advertised_edge(const struct seg *g)
{
	return (uint32_t)(g->ack - STREAM_BASE) + ((uint64_t)g->window << s->wscale);
}

static void test_window(void **state)
{
	both(window);
}

static void sack(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 1000);
	struct seg in = data_at(0, bytes, 400), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	in = data_at(400, bytes + 400, n - 400);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 400);
	in = lane_sack(100, 600, 400, 600);
	/* Parts of a GSO packet are still on their way: the gap may close by itself. */
	lane->resegment_ns = INT64_MAX;
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 100);
	assert_int_equal(out.n_block, 0);
	lane->resegment_ns = 0;
	in.n_block = 2;
	in.block[0][0] = LANE_BASE + 700;
	in.block[0][1] = LANE_BASE + 800;
	in.block[1][0] = LANE_BASE + 400;
	in.block[1][1] = LANE_BASE + 600;
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	assert_int_equal(out.n_block, 2);
	assert_int_equal(out.block[0][0], STREAM_BASE + 700);
	assert_int_equal(out.block[0][1], STREAM_BASE + 800);
	assert_int_equal(out.block[1][0], STREAM_BASE + 400);
	assert_int_equal(out.block[1][1], STREAM_BASE + 600);
	/* A duplicate concerns only the next hop. */
	in = lane_sack(n, 600, 0, 100);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	assert_int_equal(out.n_block, 0);
	/* Data segments of the socket do not show its own gaps. */
	in = socket_ack(0, 900);
	in.data = bytes;
	in.len = 10;
	in.n_block = 1;
	in.block[0][0] = STREAM_BASE + 50;
	in.block[0][1] = STREAM_BASE + 60;
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_int_equal(out.n_block, 0);
}

static void test_sack(void **state)
{
	both(sack);
}

static void old_and_probes(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 333, bytes);
	struct seg in = lane_ack(n, 600), out;

	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	/* Our ACK was lost: the peer retransmits, or probes. */
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	in = data_at(n - 1, NULL, 0);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	assert_int_equal(lx_lane_next(lane->word, lane->una), n);
	/* A pure ACK from the peer is for the socket, in its sequence numbers. */
	in = data_at(n, NULL, 0);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_int_equal(out.ack, SOCKET_SEQ);
	/* The socket's own probe is sent, with an old sequence number. */
	in = socket_ack(0, 900);
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	in.seq--;
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_int_equal(out.seq, SOCKET_SEQ - 1);
	assert_int_equal(out.ack, STREAM_BASE + n);
}

static void test_old(void **state)
{
	both(old_and_probes);
}

static void cut_header(void)
{
	uint8_t bytes[1448], expect[24] = { LX_SOCK_LNET };
	uint32_t n = message(bytes, false, 12, 200);
	struct seg in = data_at(0, bytes, 41), out;

	assert_int_equal(run(&in, &lane->key, true, &out), DROP); /* kept */
	assert_int_equal(s->have, 41);
	assert_int_equal(s->acked, 0);
	in = data_at(41, bytes + 41, n - 41);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 41);
	assert_memory_equal(out.data, bytes + 41, n - 41);
	/* The clone with the kept bytes, which left in front of it. */
	in.mark = LX_MARK | LX_MARK_SAVED;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	assert_int_equal(out.len, 41);
	assert_memory_equal(out.data, expect, 24);
	assert_memory_equal(out.data + 24, bytes + 24, 41 - 24);
	in = lane_ack(n, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
}

static void test_cut_header(void **state)
{
	both(cut_header);
}

/* Bytes of both NIDs in a header. */
static uint32_t nids_len(void)
{
	return s->version == LX_SOCK_V4 ? 40 : 16;
}

/* The packet that completes a header also repeats its first part, with other bytes. */
static void cut_header_changed(void)
{
	uint8_t bytes[1448], other[1448];
	uint32_t n = message(bytes, false, 0, 300), cut = lx_header_len(s->version) - 1;
	struct seg in = data_at(0, bytes, cut), out;

	assert_int_equal(run(&in, &lane->key, true, &out), DROP); /* kept */
	memcpy(other, bytes, n);
	memset(other, 0xee, 24 + nids_len());
	in = data_at(0, other, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	assert_memory_equal(out.data, bytes, n);
}

static void test_cut_header_changed(void **state)
{
	both(cut_header_changed);
}

/* A window that ends in a header is opened: nobody waits, and framing goes on. */
static void window_in_header(void)
{
	uint8_t bytes[1448], next[1448];
	uint32_t n = message(bytes, false, 0, 200), m = message(next, false, 0, 200);
	struct seg in = data_at(0, bytes, n), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	s->advertised_edge = s->window_edge = n + 41;
	in = data_at(n, next, 41);
	assert_int_equal(run(&in, &lane->key, true, &out), DROP); /* kept */
	/* Retransmitted by timer: the sender has no more room. */
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	assert_int_equal(out.ack, STREAM_BASE);
	assert_in_range(advertised_edge(&out), n + m, WINDOW_EDGE + n + 127);
	assert_int_equal(s->unframed, 0);
	in = data_at(n + 41, next + 41, m - 41);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, n + 41);
	/* It had room, but does not send the rest: the socket gets what there is. */
	in = data_at(n + m, bytes, 41);
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->unframed, 1);
}

static void test_window_in_header(void **state)
{
	both(window_in_header);
}

static void fragments(void)
{
	uint8_t bytes[1448], expect[24] = { LX_SOCK_LNET };
	uint32_t a = message(bytes, false, 0, 101), b, c;
	struct seg in, out;

	b = a + message(bytes + a, true, 0, 50);
	c = b + message(bytes + b, false, 8, 77);
	in = data_at(0, bytes, c);
	/* Three ways: it becomes the part for our socket, and a clone each of the others. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
		assert_int_equal(out.seq, STREAM_BASE);
		assert_int_equal(out.len, b - a);
		assert_memory_equal(out.data, bytes + a, b - a);
		/* If the sender waits for an ACK, it becomes that, and all parts are clones. */
		s->force = 1;
		in.mark = 0;
		assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
		is_ack(&out, 0);
		in.mark = LX_MARK | LX_MARK_FRAGMENT | a;
	}
	in.mark = LX_MARK | LX_MARK_FRAGMENT;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	assert_int_equal(out.len, a);
	assert_memory_equal(out.data, bytes, a);
	in.mark = LX_MARK | LX_MARK_FRAGMENT | b;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, a);
	assert_int_equal(out.len, c - b);
	assert_memory_equal(out.data, expect, 24);
	assert_memory_equal(out.data + 24, bytes + b + 24, c - b - 24);
}

static void test_fragments(void **state)
{
	both(fragments);
}

/* A segment whose header would have to grow counts as lost: its bytes are never overwritten. */
static void bare(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 300);
	struct seg in = data_at(0, bytes, n), out;

	in.no_ts = true;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	assert_int_equal(s->lost, 1);
	in.mark = LX_MARK | LX_MARK_FRAGMENT;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	assert_int_equal(s->lost, 2);
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_memory_equal(out.data, bytes, n);
}

static void test_bare(void **state)
{
	both(bare);
}

/*
 * Few parts are cut out of it, however little is in front of them or behind; with too many it is
 * resegmented. Here the parts fit a segment, as no packet is one of TCP to the kernel; for larger
 * ones see tests/sys/fastpath.bats.
 */
static void gso_packet(void)
{
	uint8_t bytes[1448];
	uint32_t a = message(bytes, false, 0, 101), n = a + message(bytes + a, true, 0, 50);
	struct seg in = data_at(0, bytes, n), out;

	in.gso = 300;
	settings->resegment_ifindex = 1;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.len, n - a);
	in.mark = LX_MARK | LX_MARK_FRAGMENT;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	assert_int_equal(out.len, a);
	in.len = a + 64;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(out.len, a);
	in.mark = 0;
	assert_int_equal(s->resegmented, 0);
	for (int i = 0; i < 7; i++)
		n += message(bytes + n, i & 1, 0, 10);
	in.len = n;
	assert_int_equal(run(&in, &s->key, false, &out), REDIRECT);
	assert_int_equal(out.mark, LX_MARK | LX_MARK_RESEGMENT);
	assert_int_equal(s->resegmented, 1);
	assert_memory_equal(out.data, bytes, n);
	settings->resegment_ifindex = 0;
	assert_int_equal(run(&in, &s->key, false, &out), DROP); /* no interface to resegment it */
	assert_int_equal(s->resegmented, 2);
}

static void test_gso_packet(void **state)
{
	both(gso_packet);
}

/* Runs the result of GRO with a mark, which says where it goes. */
static void joins(const struct seg *in, uint32_t mark, int verdict, uint32_t expect)
{
	struct frame f, out;
	uint32_t left;

	segment_write(in, &f);
	assert_int_equal(run_frame(&f, JOINED, mark, 0, &out, &left), verdict);
	assert_memory_equal(out.bytes + 14, f.bytes + 14, f.len - 14);
	if (verdict == REDIRECT)
		assert_int_equal(left, expect);
}

/* A part of a GSO packet is handled as usual, but joined with its neighbours before it leaves. */
static void part(void)
{
	const uint32_t up = LX_MARK | LX_MARK_JOIN_UP | 5, on = LX_MARK | LX_MARK_JOIN | 6;
	uint8_t bytes[1448];
	uint32_t a = message(bytes, false, 0, 101);
	struct seg in, out;

	s->ifindex = 5;
	lane->ifindex = 6;
	in = data_at(0, bytes, a);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT); /* framed before */
	in.mark = LX_MARK | LX_MARK_RESEGMENT;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP); /* no interface to join them */
	settings->join_ifindex = 1;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(out.mark, on);
	is_on_lane(&out, 0);
	joins(&out, on, REDIRECT, LX_MARK | LX_MARK_DONE);
	in = data_at(a, bytes, message(bytes, true, 0, 50));
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	in.mark = LX_MARK | LX_MARK_RESEGMENT;
	assert_int_equal(run(&in, &s->key, false, &out), REDIRECT);
	assert_int_equal(out.mark, up);
	assert_int_equal(out.seq, STREAM_BASE);
	joins(&out, up, REDIRECT, up);
	/* There it goes to our socket, whatever it would be without the mark. */
	in.mark = up;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, in.seq);
	/* Two ways within it: a clone for each comes in, still marked as a part. */
	in = data_at(0, bytes, a);
	in.mark = LX_MARK | LX_MARK_RESEGMENT_FRAGMENT | 30;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(out.mark, on);
	is_on_lane(&out, 30);
	joins(&in, 0, DROP, 0);
	joins(&in, LX_MARK | LX_MARK_RESEGMENT, DROP, 0);
}

static int held(struct seg g)
{
	struct frame f, out;
	uint32_t mark;

	segment_write(&g, &f);
	return run_frame(&f, HELD, 0, 0, &out, &mark);
}

/* While our programs are moved nothing of their connections passes by, in either direction. */
static void holds(void)
{
	struct seg g = data_at(0, NULL, 0);

	assert_int_equal(held(g), DROP);
	assert_int_equal(held(lane_ack(0, 100)), DROP);
	assert_int_equal(held(lane_data(0, NULL, 0)), DROP);
	g.key.remote_port++;
	assert_int_equal(held(g), GO_ON);
}

static void test_holds(void **state)
{
	both(holds);
}

static void test_part(void **state)
{
	both(part);
}

/* A resegmented packet that ends inside a header: its last part is no repetition of the packet. */
static void part_of_header(void)
{
	uint8_t bytes[1448];
	uint32_t n = 0, at = 0, m;
	struct seg in, out;

	settings->resegment_ifindex = settings->join_ifindex = 1;
	for (int i = 0; i < 9; i++) {
		at = n;
		n += message(bytes + n, i & 1, 0, 10);
	}
	m = message(bytes + n, false, 0, 50);
	in = data_at(0, bytes, n + 30);
	in.gso = 300;
	assert_int_equal(run(&in, &s->key, false, &out), REDIRECT);
	assert_int_equal(out.mark, LX_MARK | LX_MARK_RESEGMENT);
	in = data_at(at, bytes + at, n + 30 - at);
	in.mark = LX_MARK | LX_MARK_RESEGMENT;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(out.len, n - at);
	assert_int_equal(s->n_unframed, 0);
	in = data_at(n + 30, bytes + n + 30, m - 30);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(s->messages, 10);
	assert_int_equal(s->n_unframed, 0);
}

static void test_part_of_header(void **state)
{
	both(part_of_header);
}

/* After an odd length the header's bytes are at odd offsets of the checksum. */
static void odd_cookie(void)
{
	uint8_t bytes[1448], expect[24] = { LX_SOCK_LNET };
	uint32_t a = message(bytes, false, 0x1122334455667788, 101);
	uint32_t b = a + message(bytes + a, false, 0x99aabbccddeeff01, 3);
	struct seg in = data_at(0, bytes, b), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	assert_int_equal(out.len, b);
	assert_memory_equal(out.data, expect, 24);
	assert_memory_equal(out.data + a, expect, 24);
	assert_memory_equal(out.data + a + 24, bytes + a + 24, b - a - 24);
	assert_int_equal(s->cookies_due, 2);
}

static void test_cookies(void **state)
{
	both(odd_cookie);
}

/* Retransmitted with another length: the framing does not change. */
static void other_contents(void)
{
	uint8_t bytes[1448], other[1448];
	uint32_t n = message(bytes, false, 0, 300);
	struct seg in = data_at(0, bytes, n), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	memcpy(other, bytes, n);
	memset(other, 0xee, 24 + nids_len()); /* up to the pids */
	memset(other + lx_header_len(s->version) - 8, 0x11, 8);
	in = data_at(0, other, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_memory_equal(out.data, bytes, n);
}

static void test_other_contents(void **state)
{
	both(other_contents);
}

/* A next hop acknowledges what has been reserved, more than the sender has sent. */
static void acks_too_much(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 1200);
	struct seg in = data_at(0, bytes, 400), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	in = lane_ack(n, 500);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 400);
	in = data_at(400, bytes + 400, n - 400);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
}

static void test_acks_too_much(void **state)
{
	both(acks_too_much);
}

/* Packets of IPv6 with mapped addresses are nobody's, whatever the keys of IPv4 look like. */
static void test_mapped_addresses(void **state)
{
	uint8_t bytes[1448];
	struct frame f, after;
	uint32_t n, mark;
	struct seg in;

	world(false);
	n = message(bytes, false, 0, 300);
	in = data_at(0, bytes, n);
	in.v6 = true;
	segment_write(&in, &f);
	assert_int_equal(run_frame(&f, IN, 0, 0, &after, &mark), GO_ON);
	assert_int_equal(s->packets, 0);
	assert_int_equal(s->parse_next, 0);
}

static void gap(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 300);
	struct seg in = data_at(n, bytes, n), out;

	/* New bytes cannot be framed: they go to the socket unchanged. */
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE + n);
	assert_int_equal(s->unframed, 1);
	assert_int_equal(s->gaps, 1);
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_int_equal(s->lane_messages, 0);
	assert_int_equal(s->gaps, 1);
	/* The daemon knows a boundary: back to the lane. */
	in = socket_ack(2 * n, 900);
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	is_ack(&out, 2 * n);
	s->boundary = 2 * n;
	goes_by_lane(2 * n, 0, 100, bytes);
	assert_int_equal(s->unframed, 0);
}

static void test_gap(void **state)
{
	both(gap);
}

/* Another CPU is framing the stream: drop. Or it is building the ACK: it does so once more. */
static void sections(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 300);
	struct seg in = data_at(0, bytes, n), out;

	s->parsing = 1;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	assert_int_equal(s->busy, 1);
	assert_int_equal(s->parse_next, 0);
	assert_int_equal(s->high, 0);
	s->parsing = 0;
	goes_by_lane(0, 0, 300, bytes);
	assert_int_equal(s->parsing, 0);

	s->ack_building = 1;
	in = lane_ack(100, 600);
	assert_int_equal(run(&in, &s->key, true, &out), DROP);
	assert_int_equal(lane->una, 100);
	assert_int_equal(s->ack_build_again, 1);
	assert_int_equal(s->acked, 0);
	s->ack_building = 0;
	in = lane_ack(200, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 200);
	assert_int_equal(s->ack_building, 0);
}

static void test_sections(void **state)
{
	both(sections);
}

/* After more than 4 GiB the lane's word has only the low half of the position. */
static void long_ago(void)
{
	uint8_t bytes[1448];
	uint64_t at = (1ull << 32) - 50;
	struct seg in, out;
	uint32_t n;

	lane->una = lane->sent = at;
	lane->window_edge = at + WINDOW_EDGE;
	lane->word = (__u64)LX_LANE_OWNER << 32 | (__u32)at;
	s->parse_next = s->acked = s->advertised_ack = s->high = at + 7;
	s->diverted = at;
	s->socket_una = s->kacked = s->socket_sent = 7;
	s->window_edge = s->advertised_edge = WINDOW_EDGE + at;
	n = goes_by_lane(at + 7, at, 123, bytes);
	in = lane_ack(at + n, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, at + 7 + n);
	assert_false(lx_lane_busy(lane->word));
	goes_by_lane(at + 7 + n, at + n, 55, bytes);
}

static void test_long_ago(void **state)
{
	both(long_ago);
}

/* More messages than extents, without an ACK from the next hop: drop until there is one. */
static void ring(void)
{
	uint8_t bytes[1448];
	struct seg in, out;
	uint64_t pos = 0;

	s->socket_window_edge = lane->window_edge = 1 << 20;
	for (int i = 0; i < LX_STREAM_EXTENTS - 1; i++)
		pos += goes_by_lane(pos, pos, 10, bytes);
	in = data_at(pos, bytes, message(bytes, false, 0, 10));
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	assert_int_equal(s->tail - s->head, LX_STREAM_EXTENTS - 1);
	assert_int_equal(s->parse_next, pos);
	in = lane_ack(pos, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, pos);
	goes_by_lane(pos, pos, 10, bytes);
}

static void test_ring(void **state)
{
	both(ring);
}

/* Random bytes in headers: nothing crashes, and what leaves has a complete header. */
static void test_random(void **state)
{
	int n = rnd_rounds(20000), verdict;
	unsigned long count[3] = { 0 };
	uint8_t bytes[1448];
	struct frame f, out;
	uint32_t mark;
	struct seg in;

	for (int i = 0; i < n; i++) {
		if (i % 50 == 0)
			world(rnd_below(2));
		if (s->unframed)
			s->boundary = s->unframed_high - s->diverted;
		in = data_at(s->parse_next + (rnd_below(9) ? 0 : rnd_below(500)), bytes,
			     message(bytes, rnd_below(4) == 0, rnd_below(2), rnd_below(300)));
		if (rnd_below(3) == 0)
			in = lane_ack(lane->una + rnd_below(500), rnd_below(1000));
		segment_write(&in, &f);
		/*
		 * Mostly in the TCP and message headers, since other changes make it an unknown
		 * packet.
		 */
		for (int k = rnd_below(4), from; k > 0; k--) {
			from = rnd_below(20) ? v6 ? 58 : 38 : 14;
			f.bytes[from + rnd_below(f.len - from < 80 ? f.len - from : 80)] = rnd();
		}
		verdict = run_frame(&f, rnd_below(4) ? IN : OUT,
				    rnd_below(8) ? 0 : LX_MARK | rnd_below(1 << 20), 0, &out, &mark);
		assert_true(verdict == GO_ON || verdict == DROP || verdict == REDIRECT);
		count[verdict == GO_ON ? 0 : verdict == DROP ? 1 : 2]++;
		assert_true(s->tail - s->head < LX_STREAM_EXTENTS);
		assert_false(lx_pos_before(s->parse_next, s->diverted));
	}
	printf("random: %d packets, %lu went on, %lu dropped, %lu sent\n", n, count[0], count[1],
	       count[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane),
		cmocka_unit_test(test_holds),
		cmocka_unit_test(test_diverted),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_sack),
		cmocka_unit_test(test_old),
		cmocka_unit_test(test_cut_header),
		cmocka_unit_test(test_cut_header_changed),
		cmocka_unit_test(test_acks_too_much),
		cmocka_unit_test(test_mapped_addresses),
		cmocka_unit_test(test_window_in_header),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_gso_packet),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_part_of_header),
		cmocka_unit_test(test_cookies),
		cmocka_unit_test(test_other_contents),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_long_ago),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_random),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: programs", tests, kernel_open, kernel_close);
}
