/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which sequence numbers of a stream have arrived: in what order they do is not the
 * point (a peer has several connections), that each does, and once, is.
 */
#ifndef LX_BENCH_STREAM_H
#define LX_BENCH_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "load.h"

struct lx_stream {
	uint64_t next; /* all below it have arrived */
	uint64_t end; /* one beyond the highest that has */
	uint64_t received; /* different ones */
	uint64_t again; /* arrivals of one that was there already */
	uint64_t beyond; /* arrivals too far ahead to be kept account of */
	uint64_t seen[LX_LOAD_WINDOW / 64]; /* of next .. next + WINDOW - 1, as a ring */
};

void lx_stream_init(struct lx_stream *stream);

/* Takes note of an arrival. Returns whether it is the first of its number. */
bool lx_stream_add(struct lx_stream *stream, uint64_t seq);

/* How many below the highest have not arrived. */
uint64_t lx_stream_missing(const struct lx_stream *stream);

#endif
