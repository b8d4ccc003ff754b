/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The base of lxload's report that every byte is correct: its patterns, its record
 * of sequence numbers, its percentiles, and the turns of its messages.
 */
#include "testlib.h"

#include <stdlib.h>

#include "../../tools/bench/hist.h"
#include "../../tools/bench/pattern.h"
#include "../../tools/bench/stream.h"
#include "../../tools/bench/turn.h"

static unsigned char buf[5000];

static void pattern_is_right(void **state)
{
	for (size_t len = 0; len < 700; len++) {
		lx_pattern_fill(buf, len, 7);
		assert_int_equal(lx_pattern_check(buf, len, 7), len);
	}
}

static void pattern_finds_one_bit(void **state)
{
	for (unsigned int i = 0; i < 2000; i++) {
		size_t len = 1 + rnd() % sizeof(buf), at = rnd() % len;
		uint64_t key = lx_pattern_key(rnd(), rnd());

		lx_pattern_fill(buf, len, key);
		buf[at] ^= 1u << rnd() % 8;
		assert_int_equal(lx_pattern_check(buf, len, key), at);
	}
}

/* Correct bytes at the wrong offset, or in the wrong message, are detected. */
static void pattern_finds_misplaced(void **state)
{
	uint64_t key = lx_pattern_key(3, 9);

	lx_pattern_fill(buf, 4096, key);
	assert_true(lx_pattern_check(buf, 4096, lx_pattern_key(3, 10)) < 8);
	assert_true(lx_pattern_check(buf, 4096, lx_pattern_key(4, 9)) < 8);
	for (size_t shift = 1; shift < 64; shift++)
		assert_true(lx_pattern_check(buf + shift, 4000, key) < 8);
	memmove(buf + 2048, buf + 2040, 1000);
	assert_in_range(lx_pattern_check(buf, 4096, key), 2048, 2055);
	lx_pattern_fill(buf, 4096, key);
	assert_int_equal(lx_pattern_check(buf + 80, 1000, lx_pattern_at(key, 80)), 1000);
}

static struct lx_stream stream;

static void stream_in_order(void **state)
{
	lx_stream_init(&stream);
	for (uint64_t i = 0; i < 3 * LX_LOAD_WINDOW; i++)
		assert_true(lx_stream_add(&stream, i));
	assert_int_equal(stream.received, 3 * LX_LOAD_WINDOW);
	assert_int_equal(lx_stream_missing(&stream), 0);
	assert_false(lx_stream_add(&stream, 5));
	assert_false(lx_stream_add(&stream, 3 * LX_LOAD_WINDOW - 1));
	assert_int_equal(stream.again, 2);
}

/* In any order within the window, some lost, some duplicated: the counts are exact. */
static void stream_out_of_order(void **state)
{
	enum { N = 20000, REACH = 5000 };
	static uint64_t order[N];
	static bool lost[N];
	uint64_t n_lost = 0, n_again = 0, top = 0;

	lx_stream_init(&stream);
	for (unsigned int i = 0; i < N; i++)
		order[i] = i;
	for (unsigned int i = 0; i < N; i++) {
		unsigned int j = i + rnd() % REACH;
		uint64_t t = order[i];

		if (j < N) {
			order[i] = order[j];
			order[j] = t;
		}
	}
	for (unsigned int i = 0; i < N; i++) {
		if (!(rnd() % 50)) {
			lost[order[i]] = true;
			continue;
		}
		assert_true(lx_stream_add(&stream, order[i]));
		if (order[i] > top)
			top = order[i];
		if (!(rnd() % 20)) {
			assert_false(lx_stream_add(&stream, order[i]));
			n_again++;
		}
	}
	for (unsigned int i = 0; i < top; i++)
		n_lost += lost[i];
	assert_int_equal(lx_stream_missing(&stream), n_lost);
	assert_int_equal(stream.again, n_again);
	assert_int_equal(stream.beyond, 0);
	for (unsigned int i = 0; i < N; i++) {
		if (lost[i] && i < top)
			assert_true(lx_stream_add(&stream, i));
	}
	assert_int_equal(lx_stream_missing(&stream), 0);
}

static void stream_too_far(void **state)
{
	lx_stream_init(&stream);
	assert_false(lx_stream_add(&stream, LX_LOAD_WINDOW));
	assert_false(lx_stream_add(&stream, UINT64_MAX >> 1));
	assert_int_equal(stream.beyond, 2);
	assert_true(lx_stream_add(&stream, LX_LOAD_WINDOW - 1));
	assert_int_equal(lx_stream_missing(&stream), LX_LOAD_WINDOW - 1);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void percentiles(void **state)
{
	enum { N = 10000 };
	static struct lx_hist hist;
	static uint64_t value[N];
	static const double percent[] = { 0, 1, 50, 90, 99, 99.9 };

	assert_int_equal(lx_hist_percentile(&hist, 50), 0);
	for (unsigned int i = 0; i < N; i++) {
		value[i] = rnd() >> (24 + rnd() % 40);
		lx_hist_add(&hist, value[i]);
	}
	qsort(value, N, sizeof(value[0]), by_value);
	assert_int_equal(hist.max, value[N - 1]);
	for (unsigned int i = 0; i < N_OF(percent); i++) {
		uint64_t exact = value[(unsigned int)(N * percent[i] / 100)];
		uint64_t got = lx_hist_percentile(&hist, percent[i]);

		assert_in_range(got, exact - exact / 64, exact + exact / 64);
	}
}

/*
 * Each target gets the PUTs 0, 1, 2 and so on, and the GETs; where they are mixed, as many of one
 * as of the other.
 */
static void turns(void **state)
{
	for (unsigned int round = 0; round < 200; round++) {
		const struct lx_turns turns = { .train = 1 + rnd_below(20),
						.n_targets = 1 + rnd_below(8),
						.put = rnd_below(2),
						.mixed = rnd_below(2) };
		uint64_t next[8][2] = { 0 };

		for (uint64_t seq = 0; seq < 5000; seq++) {
			struct lx_turn turn = lx_turn_of(&turns, seq);
			uint64_t *n = next[turn.target];

			assert_int_equal(turn.target, seq / turns.train % turns.n_targets);
			assert_int_equal(turn.number, n[turn.put]++);
			if (turns.mixed)
				assert_in_range(n[0] + 1 - n[1], 0, 2);
			else
				assert_int_equal(turn.put, turns.put);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern_is_right),
		cmocka_unit_test(pattern_finds_one_bit),
		cmocka_unit_test(pattern_finds_misplaced),
		cmocka_unit_test(stream_in_order),
		cmocka_unit_test(stream_out_of_order),
		cmocka_unit_test(stream_too_far),
		cmocka_unit_test(percentiles),
		cmocka_unit_test(turns),
	};

	rnd_init();
	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
