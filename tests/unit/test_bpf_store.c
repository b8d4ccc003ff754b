/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs in the kernel, packet by packet, as in test_bpf_fastpath: a lane whose next
 * hop does not flow is stored.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "testlib.h"

#include "bpfworld.h"

static struct {
	uint64_t pos;
	uint32_t len;
	uint8_t bytes[64 << 10];
} stored;

/* Records follow one another on the lane. */
static int on_stored(void *arg, void *data, size_t size)
{
	const struct lx_stored *head = data;

	assert_true(size >= sizeof(*head) && size - sizeof(*head) == head->len);
	assert_int_equal(head->lane, 0);
	if (!stored.len)
		stored.pos = head->pos;
	assert_int_equal(head->pos, stored.pos + stored.len);
	memcpy(stored.bytes + stored.len, head + 1, head->len);
	stored.len += head->len;
	return 0;
}

/* Bytes stored since the last time. */
static void is_stored(uint64_t pos, const uint8_t *bytes, uint32_t len)
{
	static struct ring_buffer *ring;

	if (!ring)
		ring = ring_buffer__new(bpf_map__fd(bpf->maps.stored), on_stored, NULL, NULL);
	stored.len = 0;
	assert_true(ring_buffer__consume(ring) >= 0);
	assert_int_equal(stored.len, len);
	if (!len)
		return;
	assert_int_equal(stored.pos, pos);
	assert_memory_equal(stored.bytes, bytes, len);
}

/* As the daemon does it (user/fastpath/store.c); the socket has sent nothing so far. */
static void store_lane(void)
{
	lane->socket_shift = lane->shift + (uint32_t)lane->una;
	lane->socket_sent = lane->base_seq + (uint32_t)lane->una;
	lane->state = LX_LANE_STORED;
}

/* Bytes are stored in their order, as often as they come, and acknowledged; not beyond the message. */
static void in_order(void)
{
	uint8_t bytes[1448], first[1448];
	uint32_t n = message(bytes, false, 0, 700);
	struct seg in = data_at(0, bytes, 300), out;

	memcpy(first, bytes, sizeof(bytes));
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 0);
	store_lane();
	in = data_at(300, bytes + 300, n - 300);
	(void)run(&in, &s->key, true, &out);
	assert_int_equal(s->acked, 0);
	is_stored(0, NULL, 0);
	/* The sender repeats other bytes: what counts is the header that was read. */
	bytes[24] ^= 1;
	in = data_at(0, bytes, 300);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, 300);
	is_stored(0, first, 300);
	in = data_at(200, bytes + 200, n - 200);
	in.mark = LX_MARK | LX_MARK_FRAGMENT | 100;
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	is_stored(300, first + 300, n - 300);
	assert_int_equal(s->head, 0); /* the last extent stays */
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_stored(0, NULL, 0);
	/* New messages take lane 0. */
	in = data_at(n, bytes, message(bytes, false, 0, 80));
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(s->reasons[LX_LANE0_NO_LANE], 1);
}

static void test_in_order(void **state)
{
	both(in_order);
}

/* A GSO packet of two messages, one of them for a stored lane: that part is stored, and not cut out. */
static void parts(void)
{
	uint8_t bytes[1448];
	uint32_t a = message(bytes, true, 0, 100), n = a + message(bytes + a, false, 0, 1000);
	struct seg in = data_at(0, bytes, n), out;

	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.len, a);
	store_lane();
	s->acked = s->socket_una = a;
	in.gso = 500;
	in.mark = LX_MARK | LX_MARK_FRAGMENT | a;
	settings->cuts = 0;
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	is_stored(0, bytes + a, n - a);
}

static void test_parts(void **state)
{
	both(parts);
}

/* Another stream's bytes lie in front on the lane; each is acknowledged on its own. */
static void alone(void)
{
	uint8_t bytes[1448];
	uint32_t n;
	struct seg in, out;

	lane->word = lx_lane_word(7, 1, 5000);
	lane->run[0] = (struct lx_lane_run){ .tag = LX_LANE_RUN, .stream = 7 };
	lane->first_ns = 1ull << 60;
	n = message(bytes, false, 0, 300);
	in = data_at(0, bytes, n);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, 5000);
	store_lane();
	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	is_ack(&out, n);
	is_stored(5000, bytes, n);
}

static void test_alone(void **state)
{
	both(alone);
}

/* The lane's socket sends what has been stored, from una on; ACKs tell it of nothing else. */
static void socket_sends(void)
{
	uint8_t bytes[1448];
	uint32_t n = goes_by_lane(0, 0, 700, bytes);
	struct seg in = lane_ack(100, 600), out;

	assert_int_equal(run(&in, &s->key, true, &out), REDIRECT);
	store_lane();
	in = lane_data(LANE_BASE, bytes, 50);
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_int_equal(out.seq, LANE_BASE + 100);
	assert_int_equal(out.len, 50);
	assert_int_equal(lane->window, 5);
	in = lane_ack(120, 600);
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE + 20);
	/* The next hop had more, from the programs. */
	in = lane_sack(400, 600, 500, 600);
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE + 50);
	assert_int_equal(out.n_block, 1); /* beyond what it has sent: it ignores that */
	assert_int_equal(out.block[0][0], LANE_BASE + 500 - 100);
	assert_int_equal(out.window, 600);
	assert_int_equal(lane->una, 400);
	/* The daemon skips that. */
	lane->socket_shift += 250;
	lane->socket_sent = LANE_BASE + 400;
	in = lane_data(LANE_BASE + 50, bytes, n - 400);
	assert_int_equal(run(&in, &lane->key, true, &out), GO_ON);
	assert_int_equal(out.seq, LANE_BASE + 400);
	in = lane_ack(n, 600);
	assert_int_equal(run(&in, &lane->key, false, &out), GO_ON);
	assert_int_equal(out.ack, LANE_BASE + 50 + n - 400);
	assert_false(lx_lane_busy(lane->word));
	assert_int_equal(lane->socket_shift + (uint32_t)(LANE_BASE + 50 + n - 400), LANE_BASE + n);
}

static void test_socket_sends(void **state)
{
	both(socket_sends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_socket_sends),
	};

	rnd_init();
	return cmocka_run_group_tests(tests, kernel_open, kernel_close);
}
