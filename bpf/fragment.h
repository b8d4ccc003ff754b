/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fragments: the parts of a packet that go to different places, and the changes that they need.
 *
 * A fragment's header is overwritten with the values read when its extent was created: the socklnd
 * header, both NIDs, the type and the payload length. So a sender that retransmits different bytes
 * cannot break the framing of a lane, nor put an unchecked header there. The next hop would take
 * such bytes: behind a hole, Linux replaces a segment by a later one that covers it.
 */
#ifndef LX_BPF_FRAGMENT_H
#define LX_BPF_FRAGMENT_H

#include "parse.h"

enum lx_fragment_kind {
	LX_FRAGMENT_OLD,  /* already acknowledged */
	LX_FRAGMENT_UP,   /* to our own socket */
	LX_FRAGMENT_LANE,
	LX_FRAGMENT_HELD, /* part of an incomplete header, or beyond what can be framed */
};

struct lx_fragment {
	__u64 pos, end; /* stream positions */
	__u64 target;   /* of pos: socket or lane position */
	__u32 kind;
	__u32 lane;
	__u32 extent;   /* count of its extent, for UP and LANE */
	__u32 reserved;
};

/* Whether it is sent on at all. */
LX_INLINE int lx_fragment_goes(const struct lx_fragment *p)
{
	return p->kind == LX_FRAGMENT_UP || p->kind == LX_FRAGMENT_LANE;
}

/* The fragment at @pos of a packet that ends at @end; @near: of lx_extent_find(). */
LX_INLINE void lx_fragment_at(struct lx_stream *s, __u64 pos, __u64 end, __u32 near,
			      struct lx_fragment *ret_fragment)
{
	struct lx_fragment *p = ret_fragment;
	__u64 acked = s->acked, known = s->parse_next, limit;
	struct lx_extent *extent;
	__u32 count = 0;
	int open;

	p->pos = pos;
	p->end = end;
	p->target = 0;
	p->lane = LX_NO_LANE;
	p->extent = 0;
	p->kind = LX_FRAGMENT_OLD;
	if (lx_pos_before(pos, acked)) {
		p->end = lx_pos_min(end, acked);
		return;
	}
	p->kind = LX_FRAGMENT_HELD;
	if (!s->unframed && !lx_pos_before(pos, known))
		return;
	if (!lx_extent_find(s, pos, near, &count)) {
		p->kind = LX_FRAGMENT_OLD; /* acknowledged in the meantime */
		return;
	}
	extent = lx_extent_at(s, count);
	open = lx_extent_is_open(s, count, s->tail);
	limit = open ? end : lx_extent_end(extent);
	p->end = lx_pos_min(end, limit);
	p->target = extent->lane_start + (pos - extent->start);
	p->extent = count;
	p->lane = extent->lane;
	p->kind = lx_extent_is_lane(extent) ? LX_FRAGMENT_LANE : LX_FRAGMENT_UP;
	if (lx_extent_is_gone(s, count)) {
		p->kind = LX_FRAGMENT_OLD;
		p->end = end;
		return;
	}
	/* The extent has just been closed, and framing has not gone on yet. */
	if (!lx_pos_before(pos, p->end)) {
		p->kind = LX_FRAGMENT_HELD;
		p->end = end;
	}
}

struct lx_run {
	struct lx_stream *s;
	struct lx_fragment *p;
	__u64 end;
	__u32 count, tail; /* of extents: the last one in the run, the ring's */
};

static long lx_run_grow(__u32 i, void *arg)
{
	struct lx_run *r = arg;
	struct lx_fragment *p = r->p;
	struct lx_extent *extent;
	__u64 run_end;

	(void)i;
	if (!lx_pos_before(p->end, r->end) || ++r->count == r->tail)
		return 1;
	extent = lx_extent_at(r->s, r->count);
	if (extent->start != p->end || extent->lane != p->lane ||
	    extent->lane_start != p->target + (p->end - p->pos))
		return 1;
	run_end = lx_extent_is_open(r->s, r->count, r->tail)
			  ? r->end
			  : lx_pos_min(r->end, lx_extent_end(extent));
	if (lx_extent_is_gone(r->s, r->count))
		return 1;
	p->end = run_end;
	return 0;
}

/*
 * The longest fragment at @pos: messages that are also adjacent at their destination are one
 * fragment. Its extent is that of the first message.
 */
LX_INLINE void lx_fragment_run(struct lx_stream *s, __u64 pos, __u64 end, __u32 near,
			       struct lx_fragment *ret_fragment)
{
	struct lx_run r = { .s = s, .p = ret_fragment, .end = end };

	lx_fragment_at(s, pos, end, near, ret_fragment);
	if (!lx_fragment_goes(ret_fragment))
		return;
	r.count = ret_fragment->extent;
	r.tail = LX_ACQUIRE(&s->tail);
	bpf_loop(LX_STREAM_EXTENTS, lx_run_grow, &r, 0);
}

/*
 * Segments of @size bytes that are too large for a lane are sent in parts: the MSS of the lane has
 * shrunk since the message was placed, or the peer's segments have grown.
 */
LX_INLINE void lx_fragment_fit(struct lx_fragment *p, __u32 size)
{
	struct lx_lane *lane;

	if (p->kind != LX_FRAGMENT_LANE)
		return;
	lane = lx_lane_at(p->lane);
	if (lane && size > lane->mss && lane->mss)
		p->end = lx_pos_min(p->end, p->pos + lane->mss);
}

/* ---- canonical headers --------------------------------------------------------------- */

/* Bytes to be written at a stream position. */
struct lx_patch {
	__u64 pos;
	__u32 len;
	__u8 bytes[128]; /* at most 40 are used; room for masking offset and length separately */
};

/* The socklnd header of a lane message. */
LX_INLINE void lx_patch_header(const struct lx_extent *extent, struct lx_patch *ret_patch)
{
	const struct lx_sock_msg head = { .type = LX_SOCK_LNET };

	ret_patch->pos = extent->start;
	ret_patch->len = sizeof(head);
	__builtin_memcpy(ret_patch->bytes, &head, sizeof(head));
}

/* Its NIDs. */
LX_INLINE void lx_patch_nids(const struct lx_extent *extent, __u32 version,
			     struct lx_patch *ret_patch)
{
	ret_patch->pos = extent->start + sizeof(struct lx_sock_msg);
	ret_patch->len = version == LX_SOCK_V4 ? __builtin_offsetof(struct lx_hdr_nid16, dst_pid)
					       : __builtin_offsetof(struct lx_hdr_nid4, dst_pid);
	__builtin_memcpy(ret_patch->bytes, extent->nids, sizeof(extent->nids));
}

/* Its type and payload length. */
LX_INLINE void lx_patch_type(const struct lx_extent *extent, __u32 version,
			     struct lx_patch *ret_patch)
{
	const __le32 words[] = { lx_le32(extent->type),
				 lx_le32(extent->len - lx_overhead(version)) };

	ret_patch->pos = extent->start + lx_header_len(version) - sizeof(words);
	ret_patch->len = sizeof(words);
	__builtin_memcpy(ret_patch->bytes, words, sizeof(words));
}

/*
 * The part of a patch that is within [@pos, @end). Returns its length, 0 for none;
 * *@ret_skip bytes of the patch come before it.
 */
LX_INLINE __u32 lx_patch_clip(const struct lx_patch *patch, __u64 pos, __u64 end, __u32 *ret_skip)
{
	__u64 from = lx_pos_max(patch->pos, pos);
	__u64 to = lx_pos_min(patch->pos + patch->len, end);

	if (!lx_pos_before(from, to))
		return 0;
	*ret_skip = from - patch->pos;
	return to - from;
}

#endif
