/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The next message of a client of lxload: PUT or GET, where to, and its number; pure. */
#ifndef LX_BENCH_TURN_H
#define LX_BENCH_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct lx_turns {
	unsigned int train; /* messages to a target before the next one's turn */
	unsigned int n_targets;
	bool put;
	bool mixed; /* PUTs and GETs alternate at each target */
};

struct lx_turn {
	unsigned int target;
	bool put;
	uint64_t number; /* among the client's PUTs, or GETs, to this target */
};

/* @seq: of the client's messages, from 0. */
static inline struct lx_turn lx_turn_of(const struct lx_turns *turns, uint64_t seq)
{
	uint64_t round = seq / turns->train;
	unsigned int target = round % turns->n_targets;
	uint64_t number = round / turns->n_targets * turns->train + seq % turns->train;

	if (!turns->mixed)
		return (struct lx_turn){ target, turns->put, number };
	/* Every second target begins with a GET. */
	return (struct lx_turn){ target, !((number + target) % 2), number / 2 };
}

#endif
