/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of unusual form, packet by packet, as in test_bpf_fastpath: IP options, extension
 * headers, fragments and urgent data go to our socket, with only the sequence number changed;
 * BIG TCP, too long for the length field, is forwarded; malformed packets are dropped.
 */
#include "testlib.h"

#include "bpfworld.h"

/* ---- forms ------------------------------------------------------------------------------- */

static uint32_t l3_len(void)
{
	return v6 ? 40 : 20;
}

static void put_length(struct frame *f)
{
	uint8_t *l3 = f->bytes + 14;
	uint32_t sum = 0;

	if (v6) {
		segment_put16(l3 + 4, f->len - 14 - 40);
		return;
	}
	segment_put16(l3 + 2, f->len - 14);
	segment_put16(l3 + 10, 0);
	for (int i = 0; i < (l3[0] & 15) * 2; i++)
		sum += l3[2 * i] << 8 | l3[2 * i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	segment_put16(l3 + 10, ~(sum + (sum >> 16)));
}

/* Inserts @n bytes between IP and TCP: options without effect. */
static void widen(struct frame *f, uint32_t n)
{
	uint8_t *at = f->bytes + 14 + l3_len();

	memmove(at + n, at, f->len - (at - f->bytes));
	memset(at, 1, n);
	f->len += n;
	if (v6) {
		f->bytes[14 + 6] = 60; /* destination options: only padding */
		memset(at, 0, n);
		at[0] = 6;
		at[1] = n / 8 - 1;
		at[2] = 1;
		at[3] = n - 4;
	} else {
		f->bytes[14] += n / 4;
	}
	put_length(f);
}

static void narrow(struct frame *f, uint32_t n)
{
	uint8_t *at = f->bytes + 14 + l3_len();

	memmove(at, at + n, f->len - (at - f->bytes) - n);
	f->len -= n;
	f->bytes[14 + 6] = v6 ? 6 : f->bytes[14 + 6];
	if (!v6)
		f->bytes[14] -= n / 4;
	put_length(f);
}

/* Runs a segment with options. If it goes up it keeps them; if it is redirected they are gone. */
static int run_wide(const struct seg *in, uint32_t n, const struct lx_flow_key *key, bool out,
		    struct seg *ret)
{
	struct frame f, g;
	uint32_t mark;
	int verdict;

	segment_write(in, &f);
	widen(&f, n);
	verdict = run_frame(&f, IN, in->mark, 0, &g, &mark);
	if (verdict == DROP)
		return verdict;
	if (verdict == GO_ON) {
		assert_int_equal(g.len, f.len);
		assert_memory_equal(g.bytes, f.bytes, 14 + l3_len() + n);
		narrow(&g, n);
	}
	segment_read(&g, v6, key, out, ret);
	assert_true(ret->csum_ok);
	return verdict;
}

/* ---- options ------------------------------------------------------------------------------ */

static void options_with(uint32_t n)
{
	uint8_t bytes[1448];
	uint32_t len = goes_by_lane(0, 0, 301, bytes), more = message(bytes, false, 5, 200);
	struct seg in = data_at(len, bytes, more), out;

	/* Our socket gets it, and what follows. */
	assert_int_equal(run_wide(&in, n, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_memory_equal(out.data, bytes, more);
	assert_int_equal(s->unframed, 1);
	assert_int_equal(s->reasons[LX_LANE0_ODD], 1);
	in = data_at(len + more, bytes, more);
	assert_int_equal(run_wide(&in, n, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE + more);
	/* Without data it is handled as usual. */
	in = data_at(len + 2 * more, NULL, 0);
	assert_int_equal(run_wide(&in, n, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE + 2 * more);
	/* Bytes that went to a lane do so again, without options. */
	in = data_at(0, bytes, message(bytes, false, 0, 301));
	assert_int_equal(run_wide(&in, n, &s->key, false, &out), REDIRECT);
	assert_int_equal(out.mark, 0);
	assert_int_equal(out.seq, in.seq);
	assert_memory_equal(out.data, bytes, in.len);
	in = out;
	in.key = s->key;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	in = lane_ack(100, 600);
	assert_int_equal(run_wide(&in, n, &s->key, true, &out), REDIRECT);
	is_ack(&out, 100);
	in = data_at(0, bytes, 100);
	assert_int_equal(run_wide(&in, n, &s->key, true, &out), REDIRECT);
	is_ack(&out, 100);
	/* Framing resumes when they are acknowledged. */
	in = lane_ack(len, 600);
	(void)run(&in, &s->key, true, &out);
	s->boundary = 2 * more;
	goes_by_lane(len + 2 * more, len, 77, bytes);
}

static void options(void)
{
	options_with(8);
}

static void most_options(void)
{
	options_with(40);
}

static void test_options(void **state)
{
	both(options);
	both(most_options);
}

/* Its ACK for our socket comes in again as a separate segment, without options. */
static void ack_with_options(void)
{
	uint8_t bytes[1448];
	struct seg in = data_at(0, bytes, message(bytes, false, 0, 100)), out;
	struct frame f, g;
	uint32_t mark;

	segment_write(&in, &f);
	widen(&f, 16);
	assert_int_equal(run_frame(&f, IN, LX_MARK | LX_MARK_ACK, 0, &g, &mark), GO_ON);
	segment_read(&g, v6, &s->key, false, &out);
	assert_true(out.csum_ok);
	assert_int_equal(out.ack, SOCKET_SEQ);
	assert_int_equal(out.len, 0);
}

static void test_ack_with_options(void **state)
{
	both(ack_with_options);
}

/* ---- fragments ------------------------------------------------------------------------------ */

/* Cuts a packet to the first @n bytes after the IP header, and sets "more fragments". */
static void cut_off(struct frame *f, uint32_t n)
{
	if (v6) {
		widen(f, 8);
		f->bytes[14 + 6] = 44;
		f->bytes[54 + 1] = 0;
		segment_put16(f->bytes + 54 + 2, 1);
		segment_put32(f->bytes + 54 + 4, 4711);
		n += 8;
	} else {
		f->bytes[14 + 6] = 0x20;
	}
	f->len = 14 + l3_len() + n;
	put_length(f);
}

static void fragments(void)
{
	uint8_t bytes[1448];
	uint32_t len = goes_by_lane(0, 0, 301, bytes), more = message(bytes, false, 5, 800), mark;
	struct seg in = data_at(len, bytes, more), out;
	struct frame whole, f, g;
	uint32_t recent = s->tcp_ts.recent;

	segment_write(&in, &whole);
	f = whole;
	cut_off(&f, 400);
	/* Damaged, which nobody can know yet: the timestamp is not noted. */
	f.bytes[14 + l3_len() + (v6 ? 8 : 0) + 24] ^= 0x40;
	assert_int_equal(run_frame(&f, IN, 0, 0, &g, &mark), GO_ON);
	assert_int_equal(g.len, f.len);
	assert_int_equal(s->unframed, 1);
	assert_true(s->unframed_high >= len + 65535);
	assert_int_equal(s->high, len + 400 - 32);
	assert_int_equal(s->tcp_ts.recent, recent);
	/* Reassembled, it is correct, and has our socket's sequence number. */
	memcpy(whole.bytes + 14 + l3_len(), g.bytes + g.len - 400, 400);
	whole.bytes[14 + l3_len() + 24] ^= 0x40;
	segment_read(&whole, v6, &s->key, false, &out);
	assert_true(out.csum_ok);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_memory_equal(out.data, bytes, more);
	/* One that repeats bytes on a lane: the rest of it is unknown. */
	in = data_at(0, bytes, more);
	segment_write(&in, &f);
	cut_off(&f, 400);
	assert_int_equal(run_frame(&f, IN, 0, 0, &g, &mark), DROP);
	/* A fragment from the next hop cannot be verified. */
	in = lane_ack(100, 600);
	in.data = bytes;
	in.len = 500;
	segment_write(&in, &f);
	cut_off(&f, 400);
	assert_int_equal(run_frame(&f, IN, 0, 0, &g, &mark), GO_ON);
	assert_int_equal(lane->una, 0);
}

static void test_fragments(void **state)
{
	both(fragments);
}

/* Later fragments have no ports. */
static void test_later_fragment(void **state)
{
	uint8_t bytes[1448];
	struct frame f, g;
	uint32_t mark;
	struct seg in;

	world(false);
	in = data_at(0, bytes, message(bytes, false, 0, 300));
	segment_write(&in, &f);
	f.bytes[14 + 7] = 1;
	put_length(&f);
	assert_int_equal(run_frame(&f, IN, 0, 0, &g, &mark), GO_ON);
	assert_memory_equal(f.bytes, g.bytes, f.len);
	assert_int_equal(s->packets, 0);
}

/* ---- urgent data ------------------------------------------------------------------------- */

static void urgent(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 300);
	struct seg in = data_at(0, bytes, n), out;

	in.flags = ACK | 0x20;
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.flags, ACK | 0x20);
	assert_int_equal(s->reasons[LX_LANE0_ODD], 1);
	in = socket_ack(n, 900);
	assert_int_equal(run(&in, &s->key, true, &out), GO_ON);
	s->boundary = n;
	goes_by_lane(n, 0, 100, bytes);
	/* A lane has no urgent data. */
	in = data_at(n, bytes, message(bytes, false, 0, 100));
	in.flags = ACK | 0x20;
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
}

static void test_urgent(void **state)
{
	both(urgent);
}

/* ---- longer than a field can say --------------------------------------------------------- */

static void test_big4(void **state)
{
	uint8_t bytes[1448];
	struct frame f, g;
	struct seg in, out;
	uint32_t mark;

	world(false);
	in = data_at(0, bytes, message(bytes, false, 0, 300));
	segment_write(&in, &f);
	segment_put16(f.bytes + 16, 0);
	segment_put16(f.bytes + 24, (f.bytes[24] << 8 | f.bytes[25]) + in.len + 52);
	assert_int_equal(run_frame(&f, IN, 0, 1448, &g, &mark), REDIRECT);
	segment_read(&g, v6, &lane->key, true, &out);
	is_on_lane(&out, 0);
	assert_true(out.csum_ok);
	/* Other packets are malformed. */
	assert_int_equal(run_frame(&f, IN, 0, 0, &g, &mark), DROP);
}

static void test_big6(void **state)
{
	uint8_t bytes[1448];
	struct frame f, g;
	struct seg in, out;
	uint32_t mark;

	world(true);
	in = data_at(0, bytes, message(bytes, false, 0, 300));
	segment_write(&in, &f);
	segment_put16(f.bytes + 18, 0);
	assert_int_equal(run_frame(&f, IN, 0, 1448, &g, &mark), REDIRECT);
	segment_read(&g, v6, &lane->key, true, &out);
	is_on_lane(&out, 0);
	assert_true(out.csum_ok);
	/* With the header that has its length, which it keeps. */
	widen(&f, 8);
	f.bytes[20] = 0;
	segment_put16(f.bytes + 18, 0);
	segment_put32(f.bytes + 54, 0x0600c204);
	segment_put32(f.bytes + 58, f.len - 54);
	assert_int_equal(run_frame(&f, IN, 0, 1448, &g, &mark), REDIRECT);
	assert_int_equal(g.len, f.len);
	assert_memory_equal(g.bytes + 54, f.bytes + 54, 8);
	assert_memory_equal(g.bytes + 18, f.bytes + 18, 3);
	narrow(&g, 8);
	segment_read(&g, v6, &lane->key, true, &out);
	is_on_lane(&out, 0);
	assert_true(out.csum_ok);
	assert_int_equal(s->unframed, 0);
}

/* ---- no forms at all --------------------------------------------------------------------- */

static void is_not_read(const struct frame *f, int verdict)
{
	struct frame out;
	uint32_t mark;

	assert_int_equal(run_frame(f, IN, 0, 0, &out, &mark), verdict);
	assert_int_equal(out.len, f->len);
	assert_memory_equal(out.bytes, f->bytes, f->len);
	assert_int_equal(s->packets, 0);
}

static void malformed(const struct frame *f, int verdict)
{
	struct frame g = *f; /* of another VLAN */

	memmove(g.bytes + 16, g.bytes + 12, f->len - 12);
	segment_put32(g.bytes + 12, 0x81000065);
	g.len += 4;
	is_not_read(&g, GO_ON);
	g = *f; /* not TCP */
	g.bytes[14 + (v6 ? 6 : 9)] = 17;
	is_not_read(&g, GO_ON);
	g = *f; /* shorter than its length field */
	g.len -= 10;
	is_not_read(&g, verdict);
	g = *f; /* an impossible header length */
	g.bytes[14 + l3_len() + 12] = 0x40;
	is_not_read(&g, verdict);
	g = *f;
	g.bytes[14 + l3_len() + 12] = 0xf0;
	g.len = 14 + l3_len() + 40;
	put_length(&g);
	is_not_read(&g, verdict);
}

static void forms(void)
{
	uint8_t bytes[1448];
	struct frame f;
	struct seg in;

	in = data_at(0, bytes, message(bytes, false, 0, 300));
	segment_write(&in, &f);
	malformed(&f, DROP);
	in.key.remote_port++; /* an unknown connection */
	segment_write(&in, &f);
	is_not_read(&f, GO_ON);
	malformed(&f, GO_ON);
}

static void test_malformed(void **state)
{
	both(forms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_ack_with_options),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_later_fragment),
		cmocka_unit_test(test_urgent),
		cmocka_unit_test(test_big4),
		cmocka_unit_test(test_big6),
		cmocka_unit_test(test_malformed),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: forms", tests, kernel_open, kernel_close);
}
