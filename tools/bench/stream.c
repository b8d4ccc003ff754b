/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tracks sequence numbers, for lxload's server; pure. */
#include <string.h>

#include "stream.h"

void lx_stream_init(struct lx_stream *stream)
{
	memset(stream, 0, sizeof(*stream));
}

static uint64_t *word_of(struct lx_stream *stream, uint64_t seq, uint64_t *ret_bit)
{
	*ret_bit = 1ull << seq % 64;
	return &stream->seen[seq % LX_LOAD_WINDOW / 64];
}

bool lx_stream_add(struct lx_stream *stream, uint64_t seq)
{
	uint64_t bit, *word = word_of(stream, seq, &bit);

	if (seq >= stream->next + LX_LOAD_WINDOW) {
		stream->beyond++;
		return false;
	}
	if (seq < stream->next || (*word & bit)) {
		stream->again++;
		return false;
	}
	*word |= bit;
	stream->received++;
	if (seq >= stream->end)
		stream->end = seq + 1;
	for (word = word_of(stream, stream->next, &bit); *word & bit;
	     word = word_of(stream, stream->next, &bit)) {
		*word &= ~bit;
		stream->next++;
	}
	return true;
}

uint64_t lx_stream_missing(const struct lx_stream *stream)
{
	return stream->end - stream->received;
}
