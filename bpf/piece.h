/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pieces: the parts of a packet that go to different places, and what must be changed
 * in them.
 *
 * A message on a lane has a message header that is known to the last byte, and a
 * payload length that was decided when its slot was made. These are written over
 * whatever a packet has there, so a sender that repeats itself with other contents
 * cannot make a lane lose its framing.
 */
#ifndef LX_BPF_PIECE_H
#define LX_BPF_PIECE_H

#include "parse.h"

enum lx_piece_kind {
	LX_PIECE_OLD,  /* has arrived already */
	LX_PIECE_UP,   /* to our own socket */
	LX_PIECE_LANE,
	LX_PIECE_HELD, /* the beginning of a header, kept; or beyond what can be framed */
};

struct lx_piece {
	__u64 pos, end; /* stream positions */
	__u64 target;   /* of pos: socket or lane position */
	__u32 kind;
	__u32 lane;
	__u32 slot;     /* count of its slot, for UP and LANE */
	__u32 reserved;
};

/* The piece at @pos of a packet that ends at @end; @near: of lx_slot_find(). */
LX_INLINE void lx_piece_at(struct lx_stream *s, __u64 pos, __u64 end, __u32 near,
			   struct lx_piece *ret_piece)
{
	struct lx_piece *p = ret_piece;
	__u64 acked = s->acked, known = s->parse_next, limit;
	struct lx_slot *slot;
	__u32 count = 0;
	int open;

	p->pos = pos;
	p->end = end;
	p->target = 0;
	p->lane = LX_NO_LANE;
	p->slot = 0;
	p->kind = LX_PIECE_OLD;
	if (lx_pos_before(pos, acked)) {
		p->end = lx_pos_min(end, acked);
		return;
	}
	p->kind = LX_PIECE_HELD;
	if (!s->raw && !lx_pos_before(pos, known))
		return;
	if (!lx_slot_find(s, pos, near, &count)) {
		p->kind = LX_PIECE_OLD; /* it was acknowledged a moment ago */
		return;
	}
	slot = lx_slot_at(s, count);
	open = s->raw && count + 1 == s->tail;
	limit = open ? end : lx_slot_end(slot);
	p->end = lx_pos_min(end, limit);
	p->target = slot->lane_start + (pos - slot->start);
	p->slot = count;
	p->lane = slot->lane;
	p->kind = lx_slot_is_lane(slot) ? LX_PIECE_LANE : LX_PIECE_UP;
	/* Between a slot that has just closed and framing there can be nothing. */
	if (!lx_pos_before(pos, p->end)) {
		p->kind = LX_PIECE_HELD;
		p->end = end;
	}
}

struct lx_run {
	struct lx_stream *s;
	struct lx_piece *p;
	__u64 end;
	__u32 count, tail; /* of slots: the last one in the run, the ring's */
};

static long lx_run_grow(__u32 i, void *arg)
{
	struct lx_run *r = arg;
	struct lx_piece *p = r->p;
	struct lx_slot *slot;

	(void)i;
	if (!lx_pos_before(p->end, r->end) || ++r->count == r->tail)
		return 1;
	slot = lx_slot_at(r->s, r->count);
	if (slot->start != p->end || slot->lane != p->lane ||
	    slot->lane_start != p->target + (p->end - p->pos))
		return 1;
	p->end = r->s->raw && r->count + 1 == r->tail ? r->end
						      : lx_pos_min(r->end, lx_slot_end(slot));
	return 0;
}

/*
 * The longest piece at @pos: messages that follow each other on their way, too, are one.
 * Its slot is the first one's.
 */
LX_INLINE void lx_piece_run(struct lx_stream *s, __u64 pos, __u64 end, __u32 near,
			    struct lx_piece *ret_piece)
{
	struct lx_run r = { .s = s, .p = ret_piece, .end = end };

	lx_piece_at(s, pos, end, near, ret_piece);
	if (ret_piece->kind != LX_PIECE_UP && ret_piece->kind != LX_PIECE_LANE)
		return;
	r.count = ret_piece->slot;
	r.tail = LX_ACQUIRE(&s->tail);
	bpf_loop(LX_STREAM_SLOTS, lx_run_grow, &r, 0);
}

/*
 * Segments of @size bytes that are larger than a lane takes go on it in parts: its next hop
 * has come to take less since the message was put there, or the peer sends more at a time.
 */
LX_INLINE void lx_piece_fit(struct lx_piece *p, __u32 size)
{
	struct lx_lane *lane;

	if (p->kind != LX_PIECE_LANE)
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
	__u8 bytes[64]; /* at most 24; an offset and a length may be masked apart */
};

LX_INLINE __u64 lx_length_pos(const struct lx_slot *slot, __u32 version)
{
	return slot->start + sizeof(struct lx_sock_msg) +
	       (version == LX_SOCK_V4 ? __builtin_offsetof(struct lx_hdr_nid16, payload_length)
				      : __builtin_offsetof(struct lx_hdr_nid4, payload_length));
}

/* The message header of a lane message. */
LX_INLINE void lx_patch_header(const struct lx_slot *slot, struct lx_patch *ret_patch)
{
	const struct lx_sock_msg head = { .type = LX_SOCK_LNET };

	ret_patch->pos = slot->start;
	ret_patch->len = sizeof(head);
	__builtin_memcpy(ret_patch->bytes, &head, sizeof(head));
}

/* Its payload length. */
LX_INLINE void lx_patch_length(const struct lx_slot *slot, __u32 version,
			       struct lx_patch *ret_patch)
{
	__le32 length = lx_le32(slot->len - lx_overhead(version));

	ret_patch->pos = lx_length_pos(slot, version);
	ret_patch->len = sizeof(length);
	__builtin_memcpy(ret_patch->bytes, &length, sizeof(length));
}

/*
 * The part of a patch that is within [@pos, @end). Returns its length, 0 for none;
 * *@ret_skip bytes of the patch come before it.
 */
LX_INLINE __u32 lx_patch_cut(const struct lx_patch *patch, __u64 pos, __u64 end, __u32 *ret_skip)
{
	__u64 from = lx_pos_max(patch->pos, pos);
	__u64 to = lx_pos_min(patch->pos + patch->len, end);

	if (!lx_pos_before(from, to))
		return 0;
	*ret_skip = from - patch->pos;
	return to - from;
}

#endif
