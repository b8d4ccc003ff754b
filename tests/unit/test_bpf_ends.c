/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs in the kernel, packet by packet, as in test_bpf_fastpath: how
 * streams and lanes end, cleanly or not, and packets in the other direction.
 */
#include <bpf/bpf.h>

#include "testlib.h"

#include "bpfworld.h"

static void malformed(void)
{
	uint8_t bytes[1448] = { 0x77 };
	struct seg in = data_at(0, bytes, 200), out;

	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->broken, 1);
	assert_int_equal(s->reasons[LX_LANE0_MALFORMED], 1);
	s->boundary = 200;
	in = data_at(200, bytes, message(bytes, false, 0, 10));
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE + 200);
}

static void test_malformed(void **state)
{
	both(malformed);
}

static void end_of_stream(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 123, bytes);
	struct seg in = data_at(n, NULL, 0), out;

	/* Not before everything has arrived. */
	in.flags = FIN | ACK;
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 0);
	in = lane_ack(n, 600);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	in = data_at(n, NULL, 0);
	in.flags = FIN | ACK;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_int_equal(out.flags, FIN | ACK);
	in = socket_ack(1, 900);
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	is_ack(&out, n + 1);
}

static void test_fin(void **state)
{
	both(end_of_stream);
}

/* Our socket sends an ACK without news. */
static void says_nothing(void)
{
	struct seg in = socket_ack(0, 10), out;

	(void)run(&in, &s->key, true, &out);
	assert_int_equal(run(&in, &s->key, true, &out), DROP);
}

/* The socket challenges a segment: its answer has no news, but must be sent. */
static void asks_back(void)
{
	struct seg in = socket_ack(0, 10), out;

	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_int_equal(out.ack, STREAM_BASE + s->acked);
	assert_int_equal(run(&in, &s->key, true, &out), DROP);
}

static void reset(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 123, bytes);
	struct seg in = data_at(n, NULL, 0), out;

	in.flags = RST;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.flags, RST);
	assert_int_equal(out.seq, STREAM_BASE); /* where the socket believes it is */
	says_nothing();
	/* A blind guess must not become valid. */
	in.seq += 77777;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_not_equal(out.seq, STREAM_BASE);
	asks_back();
	/* One from the next hop passes unchanged. */
	in = lane_ack(0, 0);
	in.flags = RST | ACK;
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.flags, RST | ACK);
	assert_int_equal(out.seq, LANE_ACK);
}

static void test_reset(void **state)
{
	both(reset);
}

static bool is_known(const struct lx_flow_key *key)
{
	struct lx_flow value;

	return !bpf_map__lookup_elem(bpf->maps.flows, key, sizeof(*key), &value, sizeof(value), 0);
}

static void new_connection(void)
{
	struct seg in = data_at(5000, NULL, 0), out;

	says_nothing();
	in.flags = SYN;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE + 5000);
	/* Anyone could have sent it. */
	assert_true(is_known(&s->key));
	asks_back();
	in = lane_ack(0, 0);
	in.flags = SYN;
	in.out = true;
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_false(is_known(&lane->key));
}

static void test_syn(void **state)
{
	both(new_connection);
}

/* lnetxd was killed, its programs are left: its neighbours must see that nothing listens. */
static void refused(void)
{
	struct seg ins[] = { socket_ack(0, 0), lane_data(0, NULL, 0) }, out;

	for (int i = 0; i < 2; i++) {
		ins[i].flags = RST | ACK;
		ins[i].seq = 0;
		ins[i].ack = 0x12345678; /* after the number of a SYN */
		assert_int_equal(run(&ins[i], &ins[i].key, true, &out), GO_ON);
		assert_int_equal(out.flags, RST | ACK);
		assert_int_equal(out.seq, 0);
		assert_int_equal(out.ack, 0x12345678);
		assert_false(is_known(&ins[i].key));
	}
}

static void test_refused(void **state)
{
	both(refused);
}

/* Other segments between the lane's socket and the next hop. */
static void other_direction(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 123, bytes);
	struct seg in = lane_ack(n, 600), out;

	in.data = bytes;
	in.len = 24;
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE); /* the socket sent nothing */
	assert_memory_equal(out.data, bytes, 24);
	assert_int_equal(lane->una, n); /* but the programs saw it */
	in = lane_ack(0, 333);
	in.out = true;
	in.seq = LANE_BASE;
	in.ack = LANE_ACK + 24;
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_int_equal(out.seq, LANE_BASE + n);
	assert_int_equal(lane->ack_seq, LANE_ACK + 24);
	assert_int_equal(lane->window, 333);
	in.flags = FIN | ACK;
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_int_equal(out.seq, LANE_BASE + n);
	in.data = bytes;
	in.len = 5;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
}

static void test_other_direction(void **state)
{
	both(other_direction);
}

/* Our own socket sends on the lane again, unaware of what was sent in between. */
static void taken_back(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 500, bytes);
	struct seg in = lane_ack(n, 600), out;

	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	lane->socket_shift = n;
	lane->socket_sent = LANE_BASE + n;
	lane->word = (__u64)LX_LANE_OURS << 32 | n;
	lane->state = LX_LANE_SOCKET;
	in = lane_data(LANE_BASE, bytes, 99);
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_int_equal(out.seq, LANE_BASE + n);
	assert_int_equal(out.len, 99);
	assert_memory_equal(out.data, bytes, 99);
	in = lane_ack(n + 10, 600);
	in.n_block = 2;
	in.block[0][0] = LANE_BASE + n + 60;
	in.block[0][1] = LANE_BASE + n + 70;
	in.block[1][0] = LANE_BASE + n + 20;
	in.block[1][1] = LANE_BASE + n + 99;
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE + 10);
	assert_int_equal(out.n_block, 2);
	assert_int_equal(out.block[0][0], LANE_BASE + 60);
	assert_int_equal(out.block[0][1], LANE_BASE + 70);
	assert_int_equal(out.block[1][0], LANE_BASE + 20);
	assert_int_equal(out.block[1][1], LANE_BASE + 99);
	/* It hears of nothing that it has not sent, and of its FIN. */
	in = lane_ack(n + 120, 600);
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE + 99);
	in = lane_data(LANE_BASE + 99, bytes, 20);
	in.flags |= FIN;
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	in = lane_ack(n + 120, 600);
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE + 120);
	/* In the meantime messages go through our socket. */
	in = data_at(n, bytes, message(bytes, false, 0, 80));
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->reasons[LX_LANE0_NO_LANE], 1);
}

static void test_taken_back(void **state)
{
	both(taken_back);
}

/* The next hop's connection ended: messages on it are dropped, and the sender continues. */
static void gone(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 9, 500);
	struct seg in = data_at(0, bytes, 200), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	lane->state = LX_LANE_DEAD;
	in = data_at(200, bytes + 200, n - 200);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	assert_int_equal(s->cookie[0], 9);
	in = data_at(n, bytes, message(bytes, true, 0, 80));
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
}

static void test_gone(void **state)
{
	both(gone);
}

/* Our reset is at the byte that the next hop expects, or behind all that it may have got. */
static void we_reset(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 500, bytes);
	struct seg in = lane_data(LANE_BASE, bytes, 0), out;

	in.flags = RST;
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_int_equal(out.seq, LANE_BASE + n);
	in = lane_sack(100, 600, 200, 300);
	run(&in, &s->key, true, &out);
	lane->state = LX_LANE_DEAD;
	in = lane_data(LANE_BASE + 1000, bytes, 0); /* the socket has sent what was stored */
	in.flags = RST;
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_int_equal(out.seq, LANE_BASE + 100);
	assert_int_equal(out.flags, RST);
}

/* A segment of lnetxd's becomes the FIN of a stored lane, where the next hop waits, or a dead one's
 * reset. */
static void we_end(void)
{
	uint8_t bytes[1448];
	struct seg in, out;
	uint32_t n = goes_by_lane(0, 0, 500, bytes);

	in = lane_sack(100, 600, 200, 300);
	run(&in, &s->key, true, &out);
	in = lane_ack(0, 600);
	in.mark = LX_MARK | LX_MARK_FIN;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	lane->state = LX_LANE_STORED;
	lane->socket_shift = 100;
	lane->socket_sent = LANE_BASE + 100;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(out.flags, FIN | ACK);
	assert_int_equal(out.seq, LANE_BASE + 100);
	assert_int_equal(out.ack, LANE_ACK);
	assert_int_equal(out.len, 0);
	assert_true(!out.no_ts && out.csum_ok);
	/* It acknowledges that, and our socket hears nothing of it. */
	in = lane_ack(101, 600);
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE);
	assert_int_equal(lane->una, 101);
	/* The socket's own reset may pass by us. */
	lane->state = LX_LANE_DEAD;
	in = lane_ack(100, 600);
	in.mark = LX_MARK | LX_MARK_FIN;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(out.flags, RST | ACK);
	assert_int_equal(out.seq, LANE_BASE + n); /* it may have got all of it */
	lane->word |= (uint64_t)LX_LANE_OURS << 32; /* it was sending */
	lane->socket_sent = LANE_BASE + 400;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	assert_int_equal(out.seq, LANE_BASE + 400);
}

static void test_we_end(void **state)
{
	both(we_end);
}

static void test_we_reset(void **state)
{
	both(we_reset);
}

/* After a gap they count as arrived, once, whatever the lane knew. */
static void gone_behind_gap(void)
{
	uint8_t bytes[1448];
	uint32_t first = message(bytes, true, 0, 80), n;
	struct seg in = data_at(0, bytes, first), out;

	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	message(bytes, false, 0, 500);
	n = 400; /* that much of it has arrived */
	in = data_at(first, bytes, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	in = lane_sack(0, 600, 200, 300);
	run(&in, &s->key, true, &out);
	lane->state = LX_LANE_DEAD;
	s->progress_ns = 0; /* for a long time */
	s->force = 1;
	in = socket_ack(0, 900);
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	is_ack(&out, 0);
	assert_int_equal(out.n_block, 1);
	assert_int_equal(out.block[0][0], STREAM_BASE + first);
	assert_int_equal(out.block[0][1], STREAM_BASE + first + n);
}

static void test_gone_behind_gap(void **state)
{
	both(gone_behind_gap);
}

/* ---- no stream any more, or not yet --------------------------------------------------------- */

#define SHIFT 0x12345678u /* bytes that went by lanes */

/* Each side sees its own sequence numbers; nothing else changes. */
static void is_shifted(void)
{
	uint8_t bytes[100];
	struct seg in, out;

	rnd_fill(bytes, sizeof(bytes));
	in = data_at(SHIFT + 50ull, bytes, sizeof(bytes));
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE + 50);
	assert_int_equal(out.ack, in.ack);
	assert_int_equal(out.tsval, in.tsval);
	assert_int_equal(out.len, in.len);
	assert_memory_equal(out.data, bytes, sizeof(bytes));
	in.mark = LX_MARK | LX_MARK_FRAGMENT;
	assert_int_equal(run(&in, &s->key, false, &out), DROP);
	assert_int_equal(run(&in, &s->key, true, &out), DROP);

	in = socket_ack(150, 900);
	in.n_block = 1;
	in.block[0][0] = STREAM_BASE + 200;
	in.block[0][1] = STREAM_BASE + 300;
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	assert_int_equal(out.seq, in.seq);
	assert_int_equal(out.ack, STREAM_BASE + SHIFT + 150);
	assert_int_equal(out.window, 900);
	assert_int_equal(out.tsval, in.tsval);
	assert_int_equal(out.tsecr, in.tsecr);
	assert_int_equal(out.n_block, 1);
	assert_int_equal(out.block[0][0], STREAM_BASE + SHIFT + 200);
	assert_int_equal(out.block[0][1], STREAM_BASE + SHIFT + 300);
	in = data_at(0, NULL, 0);
	in.mark = LX_MARK | LX_MARK_TELL;
	assert_int_equal(run(&in, &s->key, true, &out), DROP);
}

static void shifted(void)
{
	flow_set(&s->key, LX_FLOW_SHIFT, SHIFT);
	is_shifted();
	/* A stream that has just ended, or is about to return. */
	flow_set(&s->key, LX_FLOW_STREAM, 0);
	s->state = LX_STREAM_FREE;
	s->diverted = SHIFT;
	is_shifted();
	s->state = LX_STREAM_TAKEOVER;
	s->acked = s->high = SHIFT;
	is_shifted();
	assert_int_equal(s->high, SHIFT + 150ull);
	assert_int_equal(s->socket_una, 150);
}

static void test_shifted(void **state)
{
	both(shifted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_fin),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_syn),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_direction),
		cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_we_reset),
		cmocka_unit_test(test_we_end),
		cmocka_unit_test(test_gone_behind_gap),
		cmocka_unit_test(test_shifted),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: ends", tests, kernel_open, kernel_close);
}
