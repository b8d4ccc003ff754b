/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A histogram of times, for percentiles: 64 equal buckets per power of two, so
 * values are accurate to 1.6 %. Up to 2^40 ns, 18 minutes.
 */
#ifndef LX_BENCH_HIST_H
#define LX_BENCH_HIST_H

#include <stdint.h>

#define LX_HIST_BITS 6
#define LX_HIST_STEPS (1u << LX_HIST_BITS)
#define LX_HIST_POWERS 40

struct lx_hist {
	uint64_t n, sum, max;
	uint64_t count[(LX_HIST_POWERS - LX_HIST_BITS + 1) * LX_HIST_STEPS];
};

static inline unsigned int lx_hist_index(uint64_t v)
{
	unsigned int power;

	if (v >> LX_HIST_POWERS)
		v = (1ull << LX_HIST_POWERS) - 1;
	if (v < LX_HIST_STEPS)
		return v;
	power = 63 - __builtin_clzll(v);
	return (power - LX_HIST_BITS + 1) * LX_HIST_STEPS + (v >> (power - LX_HIST_BITS)) -
	       LX_HIST_STEPS;
}

static inline void lx_hist_add(struct lx_hist *h, uint64_t v)
{
	h->n++;
	h->sum += v;
	if (v > h->max)
		h->max = v;
	h->count[lx_hist_index(v)]++;
}

static inline void lx_hist_merge(struct lx_hist *to, const struct lx_hist *from)
{
	to->n += from->n;
	to->sum += from->sum;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned int i = 0; i < sizeof(to->count) / sizeof(to->count[0]); i++)
		to->count[i] += from->count[i];
}

/* The middle of the bucket that contains the percentile. */
static inline uint64_t lx_hist_percentile(const struct lx_hist *h, double percent)
{
	uint64_t rank = (uint64_t)((double)h->n * percent / 100), below = 0;
	unsigned int i = 0, shift;

	if (!h->n)
		return 0;
	while (below + h->count[i] <= rank && below + h->count[i] < h->n)
		below += h->count[i++];
	if (i < 2 * LX_HIST_STEPS)
		return i;
	shift = i / LX_HIST_STEPS - 1;
	return ((uint64_t)(LX_HIST_STEPS + i % LX_HIST_STEPS) << shift) + (1ull << shift) / 2;
}

#endif
