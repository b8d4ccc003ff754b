/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which connections the daemon keeps for a while because their senders are distant. */
#include "testlib.h"

#include "../../user/fastpath/priv.h"
#include "../../user/io/tcpinfo.h"

/*
 * A distant connection becomes a stream when the received data has grown its socket's window; a
 * near one at once.
 */
static void far_and_open(void **state)
{
	const struct {
		struct lx_tcpinfo info;
		bool far, open;
	} cases[] = {
		{ { .rtt_us = 0 }, false, true }, /* unknown */
		{ { .rtt_us = 1999, .own_window = 65536 }, false, true },
		{ { .rtt_us = 2000, .own_window = 65536 }, true, false },
		{ { .rtt_us = 20000, .own_window = 8 << 20, .received = (16 << 20) - 1 },
		  true,
		  false },
		{ { .rtt_us = 20000, .own_window = 65536, .received = 1ull << 40 }, true, false },
		{ { .rtt_us = 20000, .own_window = 2 << 20, .received = 16 << 20 }, true, true },
	};

	for (size_t i = 0; i < N_OF(cases); i++) {
		assert_int_equal(lx_fp_is_far(&cases[i].info), cases[i].far);
		assert_int_equal(lx_fp_window_is_open(&cases[i].info), cases[i].open);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(far_and_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
