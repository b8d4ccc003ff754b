/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The forwarding programs in the kernel: what they do not send on as it is. Which headers
 * are illegal is the table of test_fast_admit.c; here: that the kernel knows, too.
 */
#include "testlib.h"

#include "bpfworld.h"

/* Changes 4 bytes of the header of LNet, which are elsewhere in its two forms. */
static void change(uint8_t *message, unsigned int at4, unsigned int at6, uint32_t value)
{
	memcpy(message + sizeof(struct lx_sock_msg) + (v6 ? at6 : at4), &value, sizeof(value));
}

/* Goes up, and if it is @broken nothing behind it is framed any more. */
static void is_refused(const uint8_t *bytes, uint32_t len, bool broken)
{
	struct seg in = data_at(0, bytes, len), out;

	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_int_equal(out.seq, STREAM_BASE);
	assert_memory_equal(out.data, bytes, len);
	assert_int_equal(s->broken, broken);
	assert_int_equal(s->lane_messages, 0);
	assert_int_equal(s->reasons[LX_LANE0_MALFORMED], 1);
}

static void illegal(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 100);
	bool ipv6 = v6;

	change(bytes, 24, 48, lx_le32(LX_MSG_GET));
	is_refused(bytes, n, true);
	world(ipv6);
	change(bytes, 24, 48, lx_le32(LX_MSG_HELLO));
	is_refused(bytes, n, true);
	world(ipv6);
	n = message(bytes, false, 0, 100);
	change(bytes, 8, 20, ~0u);
	change(bytes, 12, 24, ~0u);
	is_refused(bytes, n, true);
	/* Another node of the net that it comes from. */
	world(ipv6);
	n = message(bytes, false, 0, 100);
	s->net = LX_NET(LX_NET_TCP, 2);
	is_refused(bytes, n, false);
}

static void test_illegal(void **state)
{
	both(illegal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_illegal),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: refused", tests, kernel_open, kernel_close);
}
