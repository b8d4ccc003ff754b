/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often, and when, what others remove is put back. On virtual time. */
#include "testlib.h"

#include "../../user/bpf/removal.h"

#define S 1000000000ULL

static void goes_back_later_each_time_and_then_stays_away(void **state)
{
	static const unsigned int pause_s[] = { 0, 1, 4 };
	struct lx_removals r = { 0 };
	uint64_t now = 1000 * S;

	assert_int_equal(lx_removal_may_return(&r, now), 0); /* it was never removed */
	assert_false(lx_removal_due(&r, now));
	for (unsigned int i = 0; i < N_OF(pause_s); i++) {
		now += 100 * S;
		lx_removal_note(&r, now);
		if (pause_s[i]) {
			assert_false(lx_removal_due(&r, now + pause_s[i] * S - 1));
			assert_int_equal(lx_removal_may_return(&r, now + pause_s[i] * S - 1), -EAGAIN);
		}
		now += pause_s[i] * S;
		assert_true(lx_removal_due(&r, now));
		assert_int_equal(lx_removal_may_return(&r, now), 0);
	}
	lx_removal_note(&r, now);
	assert_int_equal(lx_removals(&r, now), LX_REMOVALS_MAX);
	assert_int_equal(lx_removal_may_return(&r, now + 100000 * S), -ECANCELED);
	assert_false(lx_removal_due(&r, now + 100000 * S));
}

static void what_failed_is_tried_again_later(void **state)
{
	struct lx_removals r = { 0 };

	lx_removal_note(&r, 1000 * S);
	assert_int_equal(lx_removal_may_return(&r, 1000 * S), 0);
	assert_false(lx_removal_due(&r, 1000 * S + LX_REMOVAL_RETRY_S * S - 1));
	assert_true(lx_removal_due(&r, 1000 * S + LX_REMOVAL_RETRY_S * S));
}

static void old_removals_do_not_count(void **state)
{
	struct lx_removals r = { 0 };
	uint64_t now = 1000 * S;

	for (int i = 0; i < 20; i++, now += LX_REMOVALS_S * S) {
		lx_removal_note(&r, now);
		assert_int_equal(lx_removals(&r, now), 1);
		assert_int_equal(lx_removal_may_return(&r, now), 0);
	}
	assert_int_equal(lx_removals(&r, now), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_back_later_each_time_and_then_stays_away),
		cmocka_unit_test(what_failed_is_tried_again_later),
		cmocka_unit_test(old_removals_do_not_count),
	};

	return cmocka_run_group_tests_name("bpf: removals", tests, NULL, NULL);
}
