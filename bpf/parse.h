/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Framing: find the messages in a stream, and choose a lane, or lane 0, for each.
 *
 *	           header complete
 *	FRAMED ◀──────────────────┐ choose, append an extent, continue after the message
 *	  │  └────────────────────┘
 *	  │ a header is lost, late or invalid
 *	  ▼
 *	UNFRAMED  everything goes to the socket, in an extent without an end
 *	  │ the slow path publishes a boundary beyond everything passed up
 *	  └──▶ FRAMED
 *
 * If a packet ends inside a header, that part of the header is held back: neither forwarded nor
 * acknowledged until the rest has arrived. If the sender repeats only that part, it waits for us:
 * for a larger window, if the window ends there; otherwise for an ACK, which only the socket can
 * give, so the stream becomes UNFRAMED.
 */
#ifndef LX_BPF_PARSE_H
#define LX_BPF_PARSE_H

#include "../include/internal/admit.h"

#include "extent.h"
#include "grant.h"

/* The payload of a data packet. */
struct lx_segment {
	__u64 pos, end; /* stream positions */
	__u32 size;     /* of its TCP segments */
	void *packet;
};

/* ---- UNFRAMED -------------------------------------------------------------------- */

LX_INLINE void lx_unframed_enter(struct lx_stream *s, enum lx_lane0_reason reason)
{
	if (s->unframed)
		return;
	/* No room: nothing is passed up, and the sender retransmits. */
	if (!lx_extent_room(s))
		return;
	s->unframed_high = s->parse_next;
	s->unframed = 1; /* before the extent becomes visible */
	lx_extent_push(s, s->parse_next, 0, LX_NO_LANE, s->parse_next - s->diverted, 0);
	s->have = 0;
	s->n_unframed++;
	LX_ADD(&s->reasons[reason & (LX_LANE0_ROOM - 1)], 1);
	if (reason == LX_LANE0_MALFORMED)
		s->broken = 1;
}

/*
 * Closes the last extent before it gets too long for its length field, and continues in a new one.
 * Any position will do.
 */
LX_INLINE void lx_unframed_split(struct lx_stream *s)
{
	struct lx_extent *last = lx_extent_at(s, s->tail - 1);

	if (lx_pos_diff(s->unframed_high, last->start) < LX_RUN_MAX || !lx_extent_room(s))
		return;
	last->len = LX_RUN_MAX;
	s->parse_next = lx_extent_end(last);
	lx_extent_push(s, s->parse_next, 0, LX_NO_LANE, s->parse_next - s->diverted, 0);
}

/* Resumes framing if the slow path has published a boundary beyond everything passed up. */
LX_INLINE void lx_unframed_leave(struct lx_stream *s)
{
	struct lx_extent *last = lx_extent_at(s, s->tail - 1);
	__u64 boundary = s->boundary + s->diverted;

	if (!s->unframed || s->broken || (s->flags & LX_STREAM_NO_LANES))
		return;
	if (lx_pos_before(boundary, s->unframed_high) || lx_pos_before(boundary, last->start) ||
	    boundary - last->start > ~0u)
		return;
	last->len = boundary - last->start;
	s->parse_next = boundary;
	s->have = 0;
	LX_CAS(&s->unframed, 1, 0);
}

/* ---- choosing ----------------------------------------------------------------------- */

/* A message, from its header. The order costs the least stack. */
struct lx_message {
	__u32 len; /* with headers */
	__u8 noop;
	__u8 extras; /* it has a checksum, a ZC-ACK for us, NIDs of no node, or is for a process */
	__u8 begun;  /* its rest is still to come */
	__u8 reserved;
	__u16 type;  /* LX_MSG_*; LX_MSG_TYPES: none of them */
	__u64 cookie;
	struct lx_nid dst, src;
};

struct lx_choice {
	__u32 index; /* of the stream */
	__u32 next_hop;
	__u32 len;
	__u32 under_way; /* bytes in flight on the lane: the fewer the better */
	__u32 lane;
	__u32 reason;
	__u64 start;
};

/* Segments must have the same form on both sides: nothing is ever inserted. */
LX_INLINE int lx_lane_fits(const struct lx_lane *lane, const struct lx_stream *s)
{
	return lane->options == s->options && lane->family == s->family &&
	       (lane->version == LX_SOCK_V4) == (s->version == LX_SOCK_V4);
}

/* A window is advertised in units, rounded up: this much further at most. */
LX_INLINE __u32 lx_window_rounding(const struct lx_stream *s)
{
	return (1u << (s->wscale & 15)) - 1;
}

/* Of a message's bytes, those that the sender may send before it hears from us. */
LX_INLINE __u32 lx_choice_need(const struct lx_stream *s, __u32 len)
{
	__s64 ahead = lx_pos_diff(s->window_edge + lx_window_rounding(s), s->parse_next);

	if (len < LX_GRANT_MIN || ahead >= (__s64)len)
		return len;
	return ahead < s->mss ? s->mss : (__u32)ahead;
}

/* Considers a lane: the one with the fewest bytes in flight wins. */
LX_INLINE void lx_choice_offer(struct lx_choice *c, const struct lx_stream *s,
			       struct lx_lane *lane, __u32 index)
{
	__u64 word = lane->word;
	int busy = lx_lane_busy(word), mine = busy && lx_lane_owner(word) == c->index;
	__u32 under_way = lx_lane_under_way(lane, word);
	enum lx_lane0_reason why = lx_lane_refuses(lane, word, mine, lx_choice_need(s, c->len),
						   s->now_ns);

	/* One more that wants it: those that have it must ask before they go on. */
	if (why == LX_LANE0_CROWDED)
		lx_lane_share(lane);
	if (c->lane != LX_NO_LANE && (why || under_way >= c->under_way))
		return;
	c->reason = why;
	if (why)
		return;
	c->lane = index;
	c->under_way = under_way;
}

/*
 * Looks at the lane used last, then at the next hop's lanes. A stream with bytes on the former
 * stays there while it has room: a packet whose messages go different ways has to be cut.
 */
static long lx_choose_lane(__u32 i, void *arg)
{
	struct lx_choice *c = *(struct lx_choice **)arg;
	struct lx_stream *s = lx_stream_at(c->index);
	struct lx_fp_peer *next_hop = lx_fp_peer_at(c->next_hop);
	struct lx_lane *lane;
	__u32 index;

	if (!s || !next_hop || i > next_hop->n_lanes)
		return 1;
	LX_OPAQUE(i);
	index = i ? next_hop->lane[(i - 1) & (LX_FP_PEER_LANES - 1)] : s->lane;
	lane = lx_lane_at(index);
	if (!lane || lane->next_hop != c->next_hop || lane->state == LX_LANE_FREE)
		return 0;
	if (lx_lane_fits(lane, s) && lane->mss >= s->mss)
		lx_choice_offer(c, s, lane, index);
	else if (c->lane == LX_NO_LANE)
		c->reason = lx_lane_fits(lane, s) ? LX_LANE0_MSS : LX_LANE0_FORM;
	return !i && c->lane == index && lx_lane_has(lane, c->index);
}

/* Reserves bytes for the message on the chosen lane. */
static LX_NOINLINE void lx_choice_take(struct lx_choice *c, struct lx_stream *s)
{
	struct lx_lane *lane = lx_lane_at(c->lane);

	c->reason = lane ? lx_lane_take(lane, c->index, s->peer, c->len,
				      lx_choice_need(s, c->len), s->now_ns, &c->start)
			 : LX_LANE0_NO_LANE;
	if (c->reason) {
		c->lane = LX_NO_LANE;
		return;
	}
	s->lane = c->lane;
}

/* Not inline: that would cost stack in the deepest call chain. */
static LX_NOINLINE int lx_is_way_back(const struct lx_stream *s, __u32 next_hop)
{
	const struct lx_fp_peer *to = lx_fp_peer_at(next_hop), *from = lx_fp_peer_at(s->peer);

	return to && from && lx_fp_peer_is_back(to, from);
}

/* Only the core can detect a routing loop, so it gets one message when it asks. */
LX_INLINE int lx_is_sample(struct lx_stream *s, const struct lx_dest *dest)
{
	__u32 sample = s->sample;

	if (!dest->routed || s->sampled == sample)
		return 0;
	s->sampled = sample;
	return 1;
}

/* Nobody else may send in our name: the slow path drops it. */
static LX_NOINLINE int lx_is_own(const struct lx_message *m)
{
	const struct lx_dest *dest = m ? lx_dest_of(&m->src) : (void *)0;

	return dest && !dest->n;
}

/* Where a stream waits that has had no lane to this next hop yet. */
static LX_NOINLINE void lx_choice_prefer(const struct lx_choice *c, struct lx_stream *s)
{
	struct lx_fp_peer *next_hop = lx_fp_peer_at(c->next_hop);
	struct lx_lane *lane = lx_lane_at(s->lane);

	if (!next_hop || (lane && lane->next_hop == c->next_hop))
		return;
	s->lane = lx_lane_preferred(next_hop, c->index);
}

/* Sets lane and start, or LX_NO_LANE and the reason. */
LX_GLOBAL int lx_choose(struct lx_choice *c, struct lx_message *m)
{
	struct lx_stream *s;
	struct lx_dest *dest;

	if (!c || !m)
		return 0;
	s = lx_stream_at(c->index);
	if (!s)
		return 0;
	c->lane = LX_NO_LANE;
	c->len = m->len;
	c->reason = LX_LANE0_LOCAL;
	if (m->noop)
		return 0;
	dest = lx_dest_of(&m->dst);
	if (!dest) {
		c->reason = LX_LANE0_UNKNOWN;
		return 0;
	}
	if (!dest->n)
		return 0;
	c->next_hop = dest->next_hop[c->index % dest->n & (LX_DEST_NEXT_HOPS - 1)];
	lx_choice_prefer(c, s);
	if (lx_admit_transit(&m->dst, s->net) || lx_is_own(m))
		c->reason = LX_LANE0_LOCAL;
	else if (lx_is_way_back(s, c->next_hop))
		c->reason = LX_LANE0_LOOP;
	else if (s->flags & LX_STREAM_NO_LANES) /* since the header began */
		c->reason = LX_LANE0_POLICY;
	else if (m->extras)
		c->reason = LX_LANE0_EXTRAS;
	else if (!lx_extent_room(s) || (m->cookie && s->cookies_due >= LX_STREAM_COOKIES))
		c->reason = LX_LANE0_RING;
	else if (m->begun && s->late)
		c->reason = LX_LANE0_LATE;
	else if (lx_is_sample(s, dest))
		c->reason = LX_LANE0_SAMPLE;
	else
		c->reason = LX_LANE0_NO_LANE;
	if (c->reason != LX_LANE0_NO_LANE)
		return 0;
	/* Had it another way than the one before it in the packet, that would have to be cut. */
	if (s->full && s->full_hop == c->next_hop) {
		c->reason = s->full;
		return 0;
	}
	bpf_loop(LX_FP_PEER_LANES + 1, lx_choose_lane, &c, 0);
	if (c->lane != LX_NO_LANE)
		lx_choice_take(c, s);
	if (c->reason == LX_LANE0_WINDOW || c->reason == LX_LANE0_CROWDED) {
		s->full = c->reason;
		s->full_hop = c->next_hop;
	}
	return 0;
}

/* ---- messages -------------------------------------------------------------------------- */

/* Why headers of lane messages in a packet must be rewritten. */
enum lx_dirty {
	LX_DIRTY_COOKIE = 1, /* the next hop must not answer it */
	LX_DIRTY_BYTES = 2,  /* they may not be those that were read */
};

struct lx_framing {
	struct lx_stream *s;
	struct lx_segment *seg;
	__u32 index;
	__u32 rest;  /* bytes that may follow unseen, in other fragments */
	__u32 near;  /* the extent that the packet starts in, or the one before */
	__u16 saved; /* bytes of a held-back header: to be forwarded separately */
	__u8 odd;    /* not in the usual form: everything from here on goes to the socket */
	__u8 dirty;  /* enum lx_dirty */
};

LX_INLINE __u32 lx_get32(const __u8 *p, int flip)
{
	__u32 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return flip ? __builtin_bswap32(v) : v;
}

LX_INLINE __u64 lx_get64(const __u8 *p, int flip)
{
	__u64 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return flip ? __builtin_bswap64(v) : v;
}

LX_INLINE __u32 lx_overhead(__u32 version)
{
	return sizeof(struct lx_sock_msg) + (version == LX_SOCK_V4 ? sizeof(struct lx_hdr_nid16)
								   : sizeof(struct lx_hdr_nid4));
}

/* The bytes of a message that contain its destination and length. */
LX_INLINE __u32 lx_header_len(__u32 version)
{
	return sizeof(struct lx_sock_msg) +
	       (version == LX_SOCK_V4 ? __builtin_offsetof(struct lx_hdr_nid16, payload_length)
				      : __builtin_offsetof(struct lx_hdr_nid4, payload_length)) +
	       sizeof(__le32);
}

/* Reads an LNet header. Returns the payload length. */
LX_INLINE __u32 lx_header_read(const __u8 *lnet, __u32 version, struct lx_message *ret_m)
{
	__u32 type, length, pid;
	const __u8 *rest = lnet; /* as in a header with small NIDs */

	if (version == LX_SOCK_V4) {
		rest += 2 * (sizeof(ret_m->dst) - sizeof(__u64));
		__builtin_memcpy(&ret_m->dst, lnet, sizeof(ret_m->dst));
		__builtin_memcpy(&ret_m->src, lnet + sizeof(ret_m->dst), sizeof(ret_m->src));
	} else {
		lx_nid_from_u64(lx_le64(lx_get64(lnet, 0)), &ret_m->dst);
		lx_nid_from_u64(lx_le64(lx_get64(lnet + sizeof(__u64), 0)), &ret_m->src);
	}
	pid = lx_get32(rest + __builtin_offsetof(struct lx_hdr_nid4, dst_pid), 0);
	type = lx_get32(rest + __builtin_offsetof(struct lx_hdr_nid4, type), 0);
	length = lx_get32(rest + __builtin_offsetof(struct lx_hdr_nid4, payload_length), 0);
	/* A process has connections of its own; what has no NIDs of nodes is dropped. */
	if ((lx_le32(pid) & LX_PID_USERFLAG) || lx_admit_nids(&ret_m->src, &ret_m->dst))
		ret_m->extras = 1;
	type = lx_le32(type);
	ret_m->type = type < LX_MSG_TYPES ? type : LX_MSG_TYPES;
	return lx_le32(length);
}

/*
 * Reads s->header, which has s->have bytes so far. Returns 1 and the message; 0: more bytes are
 * needed; -1: not a message, or one for which the slow path closes the connection.
 */
LX_INLINE int lx_message_read(const struct lx_stream *s, struct lx_message *ret_m)
{
	const __u8 *lnet = s->header + sizeof(struct lx_sock_msg);
	__u32 type, payload, overhead = lx_overhead(s->version);
	int flip = s->flip;

	if (s->have < sizeof(struct lx_sock_msg))
		return 0;
	type = lx_get32(s->header, flip);
	ret_m->noop = type == LX_SOCK_NOOP;
	ret_m->extras = lx_get32(s->header + 4, flip) || lx_get64(s->header + 16, flip);
	ret_m->cookie = lx_get64(s->header + 8, flip);
	ret_m->len = sizeof(struct lx_sock_msg);
	if (ret_m->noop)
		return 1;
	if (type != LX_SOCK_LNET)
		return -1;
	if (s->have < lx_header_len(s->version))
		return 0;
	payload = lx_header_read(lnet, s->version, ret_m);
	if (lx_admit_header(ret_m->type, payload))
		return -1;
	ret_m->len = overhead + payload;
	return 1;
}

/* Adds bytes of the packet to s->header. Returns 0, or -1: the packet cannot be read. */
LX_INLINE int lx_header_fill(struct lx_framing *f)
{
	struct lx_stream *s = f->s;
	__u64 there = f->seg->end - s->parse_next;
	__u32 want = lx_header_len(s->version), have = s->have, n;
	__u64 at = s->parse_next + have - f->seg->pos;

	if (there < want)
		want = there;
	if (want <= have)
		return 0;
	n = want - have;
	LX_OPAQUE(have);
	have &= 127;
	n = LX_LENGTH(n, 127);
	if (lx_packet_load(f->seg->packet, at, s->header + have, n))
		return -1;
	s->have = want;
	return 0;
}

/* Appends an extent for the message. Returns -1 if there is no room. */
LX_INLINE int lx_message_place(struct lx_framing *f, const struct lx_message *m,
			       const struct lx_choice *c)
{
	struct lx_stream *s = f->s;

	if (c->lane == LX_NO_LANE) {
		if (!lx_extent_push_socket(s, m->len))
			return -1;
		s->parse_next += m->len;
		LX_ADD(&s->reasons[c->reason & (LX_LANE0_ROOM - 1)], 1);
	} else {
		struct lx_lane *lane = lx_lane_at(c->lane);

		struct lx_extent *extent = lx_extent_at(s, s->tail);

		extent->type = m->type & (LX_LANE_TYPES - 1);
		__builtin_memcpy(extent->nids, s->header + sizeof(struct lx_sock_msg),
				 sizeof(extent->nids));
		lx_extent_push(s, s->parse_next, m->len, c->lane, c->start, m->cookie);
		if (m->cookie) {
			LX_ADD(&s->cookies_due, 1);
			f->dirty |= LX_DIRTY_COOKIE;
		}
		s->diverted += m->len;
		s->parse_next += m->len;
		s->lane_messages++;
		s->lane_bytes += m->len;
		s->lane_payload += m->len - lx_overhead(s->version);
		s->src_net = lx_nid_net(&m->src);
		s->lane_types[m->type & (LX_LANE_TYPES - 1)]++;
		if (lane)
			LX_ADD(&lane->types[m->type & (LX_LANE_TYPES - 1)], 1);
	}
	lx_grant_use(s);
	s->messages++;
	s->last_len = m->len;
	s->have = 0;
	return 0;
}

/*
 * Keeps the first @len bytes of the header for lx_saved_pos(), on this CPU, while another one may
 * replace them. Without length while they are being written; a new position before new bytes.
 */
LX_INLINE void lx_saved_put(struct lx_stream *s, __u32 len)
{
	LX_CAS(&s->saved_len, s->saved_len, 0);
	LX_CAS(&s->saved_pos, s->saved_pos, s->parse_next);
	__builtin_memcpy(s->saved, s->header, LX_HEADER_MAX);
	LX_CAS(&s->saved_len, 0, len);
}

/* The position of saved bytes, and their number: 0, or they count if it is the same afterwards. */
LX_INLINE __u64 lx_saved_pos(struct lx_stream *s, __u32 *ret_len)
{
	__u64 pos = LX_ACQUIRE(&s->saved_pos);

	*ret_len = LX_ACQUIRE(&s->saved_len);
	return pos;
}

static long lx_frame_one(__u32 i, void *arg)
{
	struct lx_framing *f = arg;
	struct lx_stream *s = f->s;
	struct lx_message m = { 0 };
	struct lx_choice c = { .index = f->index };
	__u32 before = s->have;
	int r;

	(void)i;
	if (!lx_pos_before(s->parse_next + before, f->seg->end))
		return 1;
	r = lx_header_fill(f);
	if (!r)
		r = lx_message_read(s, &m);
	if (r < 0) {
		lx_unframed_enter(s, LX_LANE0_MALFORMED);
		return 1;
	}
	if (!r)
		return 1;
	if (before) {
		lx_saved_put(s, before);
		f->saved = before;
	}
	m.begun = lx_pos_before(f->seg->end, s->parse_next + m.len);
	lx_choose(&c, &m);
	if (lx_message_place(f, &m, &c)) {
		/* The ring is full: treat the packet as lost. */
		s->have = before;
		f->saved = 0;
		return 1;
	}
	if (m.begun)
		s->begun_end = s->parse_next;
	lx_trace(f->seg->packet, s, &m, &c);
	return 0;
}

/* Maximum number of messages in a packet: 64 KiB of NOOPs. */
#define LX_FRAME_MAX 2800

/* The sender has repeated the first part of a header, and nothing more. */
LX_INLINE void lx_frame_again(struct lx_stream *s)
{
	if (lx_pos_before(s->advertised_edge, s->parse_next + lx_header_len(s->version)))
		s->force = 1; /* it waits for a larger window */
	else
		lx_unframed_enter(s, LX_LANE0_UNFRAMED);
}

/* Records what has arrived. */
LX_INLINE void lx_frame_arrived(struct lx_stream *s, __u64 pos, __u64 end)
{
	__u64 arrived = lx_stream_arrived(s);

	if (!lx_pos_before(arrived, pos)) {
		arrived = lx_pos_max(arrived, end);
	} else if (!lx_pos_before(arrived, s->early_end)) {
		s->early_start = pos;
		s->early_end = end;
	} else if (!lx_pos_before(s->early_end, pos) && !lx_pos_before(end, s->early_start)) {
		s->early_start = lx_pos_min(s->early_start, pos);
		s->early_end = lx_pos_max(s->early_end, end);
	}
	s->arrived = lx_pos_before(arrived, s->early_start) ? arrived
							    : lx_pos_max(arrived, s->early_end);
}

/* Judges what had begun once all of it has arrived. */
LX_INLINE void lx_frame_whole(struct lx_stream *s)
{
	if (!s->begun_end || lx_pos_before(lx_stream_arrived(s), s->begun_end))
		return;
	if (s->begun_ns > LX_LANE_SLOW_NS)
		s->late = LX_LATE_MESSAGES;
	else if (s->late)
		s->late--;
	s->begun_end = s->begun_ns = 0;
}

/* If nothing was waiting to be acknowledged, we waited for the sender. */
LX_INLINE void lx_frame_waited(struct lx_stream *s)
{
	__s64 waited = s->now_ns - s->progress_ns;

	if (lx_pos_before(s->acked, s->arrived))
		return;
	if (lx_pos_before(s->arrived, s->begun_end) && waited > 0)
		s->begun_ns += waited;
	s->progress_ns = s->now_ns;
}

/* Whether the next byte to be acknowledged has arrived. */
LX_INLINE int lx_frame_has_next(const struct lx_stream *s)
{
	return lx_pos_before(s->acked, s->arrived) ||
	       (!lx_pos_before(s->acked, s->early_start) && lx_pos_before(s->acked, s->early_end));
}

/*
 * Up to where a packet counts. A router that cannot finish a message ends the connection inside it,
 * and sends messages behind it again, on another one: none of them may have gone on from here. So
 * nothing that begins behind a hole is framed; TCP repeats it.
 */
LX_INLINE __u64 lx_frame_end(const struct lx_stream *s, const struct lx_segment *seg)
{
	int hole = lx_pos_before(lx_stream_arrived(s), lx_pos_min(seg->pos, s->parse_next));

	return hole && (s->flags & LX_STREAM_GATEWAY) && !s->unframed
		       ? lx_pos_min(seg->end, s->parse_next)
		       : seg->end;
}

/**
 * lx_frame - frame the payload of a data packet
 * @f: the caller sets s, seg, index, odd and rest; lx_frame() sets saved, dirty and near
 *
 * Returns 0, or -1: another CPU is framing the stream; treat the packet as lost.
 */
LX_INLINE int lx_frame(struct lx_framing *f)
{
	struct lx_stream *s = f->s;

	if (!lx_try_enter(&s->parsing))
		return -1;
	f->seg->end = lx_frame_end(s, f->seg);
	if (!lx_pos_before(f->seg->pos, f->seg->end)) {
		lx_leave(&s->parsing);
		return -1;
	}
	if (f->seg->size > s->mss)
		s->mss = f->seg->size > 65535 ? 65535 : f->seg->size;
	if (!f->odd)
		lx_unframed_leave(s);
	lx_frame_waited(s);
	s->full = 0;
	lx_frame_arrived(s, f->seg->pos, f->seg->end);
	lx_frame_whole(s);
	f->near = s->tail - 1;
	/* A retransmission may have different contents, also that of a header's first part. */
	f->dirty = s->flip || lx_pos_before(f->seg->pos, s->parse_next + s->have) ? LX_DIRTY_BYTES
										 : 0;
	if (!s->unframed && lx_pos_before(s->parse_next, f->seg->end)) {
		if (f->odd)
			lx_unframed_enter(s, LX_LANE0_ODD);
		else if ((s->flags & LX_STREAM_NO_LANES) && !s->have)
			lx_unframed_enter(s, LX_LANE0_POLICY);
		else if (lx_pos_before(s->parse_next + s->have, f->seg->pos))
			lx_unframed_enter(s, LX_LANE0_UNFRAMED);
		else if (s->have && !lx_pos_before(s->parse_next + s->have, f->seg->end))
			lx_frame_again(s);
		else
			bpf_loop(LX_FRAME_MAX, lx_frame_one, f, 0);
	}
	if (s->unframed) {
		s->unframed_high = lx_pos_max(s->unframed_high, f->seg->end + f->rest);
		lx_unframed_split(s);
	}
	if (lx_pos_before(s->high, f->seg->pos))
		s->gaps++;
	s->high = lx_pos_max(s->high, f->seg->end);
	lx_leave(&s->parsing);
	return 0;
}

#endif
