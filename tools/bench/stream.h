/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which sequence numbers of a stream have arrived. Their order does not matter, since a peer
 * has several connections, but each must arrive exactly once.
 */
#ifndef LX_BENCH_STREAM_H
#define LX_BENCH_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "load.h"

struct lx_stream {
	uint64_t next; /* all before it have arrived */
	uint64_t end; /* the highest that arrived, plus one */
	uint64_t received; /* distinct ones */
	uint64_t again; /* duplicates */
	uint64_t beyond; /* too far ahead to be tracked */
	uint64_t seen[LX_LOAD_WINDOW / 64]; /* of next .. next + WINDOW - 1, as a ring */
};

void lx_stream_init(struct lx_stream *stream);

/* Records an arrival. Returns whether it is the first of its number. */
bool lx_stream_add(struct lx_stream *stream, uint64_t seq);

/* How many below the highest are missing. */
uint64_t lx_stream_missing(const struct lx_stream *stream);

#endif
