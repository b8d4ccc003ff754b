/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Extents: which bytes of a stream went where. A ring in stream order, with one extent per
 * message on a lane and one per run of bytes that went up to the socket.
 *
 * Framing appends at the tail. Building an ACK removes complete extents at the head, but never the
 * last one, which may still grow. The last extent of an unframed stream has no end; when it becomes
 * too long, it is closed and a new one begins.
 *
 * Other readers hold nothing: a CPU that was interrupted may read an entry that is another
 * message's by now. So they ask afterwards whether the extent is still there (lx_extent_is_gone()).
 * An entry is reused only after the next one has been removed, too: if it is there, all that was
 * read is its own.
 */
#ifndef LX_BPF_EXTENT_H
#define LX_BPF_EXTENT_H

#include "pos.h"

LX_INLINE int lx_extent_room(const struct lx_stream *s)
{
	return s->tail - s->head < LX_STREAM_EXTENTS - 1;
}

LX_INLINE __u64 lx_extent_end(const struct lx_extent *extent)
{
	return extent->start + extent->len;
}

LX_INLINE int lx_extent_is_lane(const struct lx_extent *extent)
{
	return extent->lane != LX_NO_LANE;
}

/*
 * Whether extent @count of a ring that ends at @tail has no end: the last one of an unframed
 * stream. One on a lane always has one: the stream is marked before its new extent becomes visible.
 */
LX_INLINE int lx_extent_is_open(struct lx_stream *s, __u32 count, __u32 tail)
{
	return s->unframed && count + 1 == tail && !lx_extent_is_lane(lx_extent_at(s, count));
}

/* Appends an extent; there must be room. Its fields are written before it becomes visible. */
LX_INLINE void lx_extent_push(struct lx_stream *s, __u64 start, __u32 len, __u16 lane,
			      __u64 lane_start, __u64 cookie)
{
	struct lx_extent *extent = lx_extent_at(s, s->tail);

	extent->start = start;
	extent->lane_start = lane_start;
	extent->cookie = cookie;
	extent->len = len;
	extent->lane = lane;
	LX_ADD(&s->tail, 1);
}

/* A socket run grows up to this plus one message: lengths have 32 bits. */
#define LX_RUN_MAX (1u << 28)

/*
 * Adds @len bytes for the socket at the tail. Returns 1, or 0 if a new extent is needed and there
 * is no room.
 */
LX_INLINE int lx_extent_push_socket(struct lx_stream *s, __u32 len)
{
	struct lx_extent *last = lx_extent_at(s, s->tail - 1);

	if (s->tail != s->head && !lx_extent_is_lane(last) && last->len < LX_RUN_MAX) {
		last->len += len;
		return 1;
	}
	if (!lx_extent_room(s))
		return 0;
	lx_extent_push(s, s->parse_next, len, LX_NO_LANE, s->parse_next - s->diverted, 0);
	return 1;
}

struct lx_extent_search {
	struct lx_stream *s;
	__u64 pos;
	__u32 low, high; /* the extent is in [low, high) */
};

static long lx_extent_halve(__u32 i, void *arg)
{
	struct lx_extent_search *search = arg;
	__u32 mid = search->low + (search->high - search->low) / 2;

	(void)i;
	if (search->high - search->low <= 1)
		return 1;
	if (lx_pos_before(search->pos, lx_extent_at(search->s, mid)->start))
		search->high = mid;
	else
		search->low = mid;
	return 0;
}

/* Whether extent @count (before @tail) contains a position. */
LX_INLINE int lx_extent_has(struct lx_stream *s, __u32 count, __u32 tail, __u64 pos)
{
	if (count - s->head >= tail - s->head || lx_pos_before(pos, lx_extent_at(s, count)->start))
		return 0;
	return count + 1 == tail || lx_pos_before(pos, lx_extent_at(s, count + 1)->start);
}

/**
 * lx_extent_find - find the extent that contains a position
 * @near: guess; this extent and the next are tried first
 * @ret_count: for lx_extent_at()
 * Extents cover everything from the head's start to parse_next without gaps.
 * Returns 1, or 0: the position is before the first extent. If entries are reused meanwhile, it may
 * find another extent; that one is gone.
 */
LX_INLINE int lx_extent_find(struct lx_stream *s, __u64 pos, __u32 near, __u32 *ret_count)
{
	struct lx_extent_search search = {
		.s = s,
		.pos = pos,
		.low = s->head,
		.high = LX_ACQUIRE(&s->tail),
	};

	if (search.low == search.high || lx_pos_before(pos, lx_extent_at(s, search.low)->start))
		return 0;
	if (lx_extent_has(s, near, search.high, pos) ||
	    lx_extent_has(s, ++near, search.high, pos)) {
		*ret_count = near;
		return 1;
	}
	bpf_loop(16, lx_extent_halve, &search, 0);
	*ret_count = search.low;
	return 1;
}

#endif
