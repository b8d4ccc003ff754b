/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ACK for the sender of a stream: what has arrived, the window, and SACK blocks.
 *
 * The acknowledged prefix runs over the extents. Each extent counts as far as the receiver of its
 * bytes has acknowledged them: a next hop's TCP, our own socket's, or our store (store.h). So every
 * acknowledged byte has arrived somewhere, except bytes for a next hop whose connection is gone:
 * these are lost.
 *
 * The window is what our socket would take if all further bytes went to it: a message goes to a
 * lane only if the next hop has room for what its sender may send of it. It is limited to
 * LX_WINDOW_AHEAD beyond the framed bytes or, for a sender far away, to the lane's window. Its
 * right edge never shrinks.
 */
#ifndef LX_BPF_ACK_H
#define LX_BPF_ACK_H

#include "parse.h"

/* Sends the daemon a record. Returns 0, or -1: the ring is full. */
static int lx_record_emit(enum lx_record_type type, __u32 index, __u64 value);

struct lx_advertised {
	__u64 ack, window_edge;
	__u32 n_sack;
	__u32 reserved;
	struct lx_sack sack[3];
};

/* ---- the prefix ------------------------------------------------------------------- */

/*
 * How many bytes of an extent are done. Bytes on a lane that is gone will never arrive: the router
 * drops them as the slow path would, so they are done once they have been here. On a stored lane,
 * the daemon has what was stored.
 */
LX_INLINE __s64 lx_extent_done(struct lx_stream *s, const struct lx_extent *extent)
{
	struct lx_lane *lane;
	__s64 here, done;

	if (!lx_extent_is_lane(extent))
		return lx_pos_diff(s->socket_una, extent->lane_start);
	lane = lx_lane_at(extent->lane);
	if (!lane)
		return 0;
	here = lx_pos_diff(s->high, extent->start);
	if (lx_lane_is_gone(lane))
		return here;
	done = lx_pos_diff(lane->una, extent->lane_start);
	if (lane->state == LX_LANE_STORED)
		done = lx_pos_diff(lx_pos_max(extent->start + done, s->stored), extent->start);
	/* A sender that is told of bytes it has not sent is stuck: TCP drops such ACKs. */
	return done < here ? done : here;
}

/* The next byte to be stored. */
LX_INLINE __u64 lx_store_from(const struct lx_stream *s)
{
	return lx_pos_max(s->acked, s->stored);
}

/* The message has arrived: the daemon answers its cookie. */
LX_INLINE void lx_cookie_release(struct lx_stream *s, struct lx_extent *extent)
{
	__u32 at = s->cookie_tail;

	LX_OPAQUE(at);
	s->cookie[at & (LX_STREAM_COOKIES - 1)] = extent->cookie;
	extent->cookie = 0;
	LX_ADD(&s->cookie_tail, 1);
}

/* If the record ring is full, the next call tries again. */
LX_INLINE void lx_cookies_tell(struct lx_stream *s, __u32 index)
{
	if (s->cookie_head == s->cookie_tail || LX_CAS(&s->cookies_signaled, 0, 1))
		return;
	if (lx_record_emit(LX_RECORD_COOKIES, index, 0))
		LX_CAS(&s->cookies_signaled, 1, 0);
}

struct lx_prefix {
	struct lx_stream *s;
	__u32 tail, reserved;
};

/* Returns 0 if the head was complete and has been removed. */
static long lx_prefix_one(__u32 i, void *arg)
{
	struct lx_prefix *p = arg;
	struct lx_stream *s = p->s;
	struct lx_extent *extent = lx_extent_at(s, s->head);
	int last = s->head + 1 == p->tail;
	__s64 done;

	(void)i;
	if (s->head == p->tail)
		return 1;
	done = lx_extent_done(s, extent);
	if (done < 0)
		done = 0;
	if (done > (__s64)extent->len && !lx_extent_is_open(s, s->head, p->tail))
		done = extent->len;
	s->acked = lx_pos_max(s->acked, extent->start + done);
	if (!lx_extent_is_lane(extent))
		s->kacked = lx_pos_max(s->kacked, extent->lane_start + done);
	if (done < (__s64)extent->len)
		return 1;
	if (extent->cookie)
		lx_cookie_release(s, extent);
	if (last)
		return 1;
	s->head++;
	return 0;
}

/* ---- the window ---------------------------------------------------------------------- */

/*
 * How far a sender far away may go beyond the framed bytes: as far as a message of any length that
 * starts there still fits on the stream's lane. A message that does not fit goes to lane 0,
 * and the stream with it for some time.
 */
LX_INLINE __u64 lx_far_ahead(const struct lx_stream *s, __u32 index)
{
	const struct lx_lane *lane = lx_lane_at(s->lane);
	__u64 word;
	__s64 room;

	if (!lane || lane->state != LX_LANE_LIVE)
		return LX_WINDOW_AHEAD;
	word = lane->word;
	if (lx_lane_owner(word) != index)
		return LX_WINDOW_AHEAD;
	room = lx_lane_room(lane, word) - (LX_PAYLOAD_MAX + lx_overhead(s->version));
	return room > (__s64)LX_WINDOW_AHEAD ? (__u64)room : LX_WINDOW_AHEAD;
}

/*
 * How far a stream with large messages on a shared lane may go. TCP does not send into a window
 * smaller than a segment: a sender that stopped just short of the end may go a bit further.
 */
LX_INLINE __u64 lx_grant_window_edge(const struct lx_stream *s)
{
	__s64 rest = lx_pos_diff(s->parse_next, s->high), room;
	const struct lx_lane *lane;

	if (s->grant == LX_GRANT_GIVEN) {
		lane = lx_lane_at(s->grant_lane);
		room = (lane ? lx_lane_space(lane) : 0) - lx_window_rounding(s);
		if (room < s->mss)
			room = s->mss;
		return s->parse_next + (room < (__s64)s->grant_len ? room : s->grant_len);
	}
	return s->parse_next + (rest > 0 && rest < s->mss ? s->mss : 0);
}

/*
 * Whether the window ends with the message being sent, or with the next one, if that has a grant.
 * Asks for a grant if there is none.
 */
LX_INLINE int lx_grant_limits(struct lx_stream *s, __u32 index, __u64 now_ns)
{
	struct lx_lane *lane;
	__u32 at;

	if (s->last_len < LX_GRANT_MIN || (s->flags & LX_STREAM_NO_LANES))
		return 0;
	if (s->grant == LX_GRANT_NONE) {
		at = LX_READ(s->lane); /* another CPU may be framing a message */
		lane = lx_lane_at(at);
		if (!lane || !lx_grant_is_needed(s, lane, now_ns))
			return 0;
		lx_grant_request(s, lane, at, index);
	}
	return s->grant != LX_GRANT_NONE;
}

/* A message whose end does not fit into the next hop's window yet: as far as that goes. */
LX_INLINE __u64 lx_lane_clip(struct lx_stream *s, __u64 window_edge)
{
	const struct lx_extent *last = lx_extent_at(s, s->tail - 1);
	const struct lx_lane *lane;
	__u64 edge;
	__s64 beyond;

	if (s->head == s->tail || !lx_extent_is_lane(last))
		return window_edge;
	lane = lx_lane_at(last->lane);
	if (!lane || lx_lane_is_off(lane) || (!lane->limit && last->len < LX_GRANT_MIN))
		return window_edge;
	/* What a sender far away may send is in flight between it and us, too. */
	edge = s->flags & LX_STREAM_FAR ? lane->window_edge : lx_lane_edge(lane);
	beyond = lx_pos_diff(last->lane_start + last->len, edge);
	if (beyond <= 0)
		return window_edge;
	return lx_pos_min(window_edge, lx_extent_end(last) - beyond - lx_window_rounding(s));
}

/* How far ahead of a large message the window goes: no further than the lane takes. */
LX_INLINE __u64 lx_near_ahead(const struct lx_stream *s)
{
	const struct lx_lane *lane;
	__s64 room;

	lane = lx_lane_at(s->lane);
	if (!lane || lane->state != LX_LANE_LIVE || (!lane->limit && s->last_len < LX_GRANT_MIN))
		return LX_WINDOW_AHEAD;
	room = lx_lane_space(lane) - lx_window_rounding(s);
	if (room >= (__s64)LX_WINDOW_AHEAD)
		return LX_WINDOW_AHEAD;
	return room > (__s64)LX_AHEAD_MIN ? (__u64)room : LX_AHEAD_MIN;
}

/* @window_edge: our socket's right edge. */
LX_INLINE __u64 lx_framed_window_edge(struct lx_stream *s, __u32 index, __u64 window_edge,
				      __u64 now_ns)
{
	__u64 ahead;

	s->limited = 0;
	if (!(s->flags & LX_STREAM_FAR) && lx_grant_limits(s, index, now_ns)) {
		s->limited = 1;
		return lx_pos_min(window_edge, lx_grant_window_edge(s));
	}
	ahead = s->flags & LX_STREAM_FAR ? lx_far_ahead(s, index) : lx_near_ahead(s);
	return lx_pos_min(window_edge, s->parse_next + ahead);
}

/* Not inline: keeps its frame off the deepest call chain, which has 512 bytes on Linux 6.1. */
static LX_NOINLINE void lx_window_edge_update(struct lx_stream *s, __u32 index, __u64 now_ns)
{
	__u64 window_edge;

	if (!s)
		return;
	window_edge = s->socket_window_edge + s->diverted;

	if (!s->unframed)
		window_edge = lx_lane_clip(s, lx_framed_window_edge(s, index, window_edge,
								    now_ns));
	else if (!s->broken && !(s->flags & LX_STREAM_NO_LANES))
		window_edge =
			lx_pos_min(window_edge, s->boundary + s->diverted + LX_UNFRAMED_AHEAD);
	s->window_edge = lx_pos_max(s->window_edge, window_edge);
}

/* ---- what is missing -------------------------------------------------------------------- */

/* The extents that SACK tells of. */
enum lx_sack_reach {
	LX_SACK_NONE,
	LX_SACK_ONE_WAY, /* those that went the same way as the head */
	LX_SACK_ALL,
};

struct lx_sacking {
	struct lx_stream *s;
	struct lx_advertised *adv;
	__u32 tail;
	enum lx_sack_reach reach;
};

/* Adds a block. Blocks come in ascending order. */
LX_INLINE void lx_sack_add(struct lx_advertised *adv, __u64 start, __u64 end, __u64 acked)
{
	__u32 n = adv->n_sack;

	/* A block that starts at the ACK would look like reneging. */
	if (!lx_pos_before(acked, start) || !lx_pos_before(start, end))
		return;
	if (n == 1 && adv->sack[0].end == start) {
		adv->sack[0].end = end;
	} else if (n == 2 && adv->sack[1].end == start) {
		adv->sack[1].end = end;
	} else if (n == 3 && adv->sack[2].end == start) {
		adv->sack[2].end = end;
	} else if (n < 3) {
		/* Not indexed by n: the verifier prefers this. */
		struct lx_sack *block = n == 0	 ? &adv->sack[0]
					: n == 1 ? &adv->sack[1]
						 : &adv->sack[2];

		*block = (struct lx_sack){ start, end };
		adv->n_sack = n + 1;
	}
}

/* Adds a receiver's block, clipped to the extent, in stream positions. */
LX_INLINE void lx_sack_translate(struct lx_sacking *k, const struct lx_extent *extent, int open,
				 const struct lx_sack *block)
{
	__u64 start = block->start, end = block->end;

	start = lx_pos_max(start, extent->lane_start);
	if (!open)
		end = lx_pos_min(end, extent->lane_start + extent->len);
	lx_sack_add(k->adv, extent->start + (start - extent->lane_start),
		    extent->start + (end - extent->lane_start), k->s->acked);
}

static long lx_sack_extent(__u32 i, void *arg)
{
	struct lx_sacking *k = arg;
	struct lx_stream *s = k->s;
	struct lx_extent *extent = lx_extent_at(s, s->head + i);
	const struct lx_sack *blocks = s->sack;
	int open = lx_extent_is_open(s, s->head + i, k->tail);
	__u32 n = s->n_sack;
	struct lx_lane *lane;
	__s64 done;

	if (s->head + i == k->tail || k->adv->n_sack >= 3)
		return 1;
	if (k->reach == LX_SACK_ONE_WAY && extent->lane != lx_extent_at(s, s->head)->lane)
		return 0;
	if (lx_extent_is_lane(extent)) {
		lane = lx_lane_at(extent->lane);
		if (!lane)
			return 1;
		blocks = lane->sack;
		n = lx_lane_is_off(lane) ? 0 : lane->n_sack; /* done, or we lack what lacks */
	}
	/* Nothing behind a gap: there may be many extents, so do not look for it. */
	if (k->reach == LX_SACK_ONE_WAY && !n)
		return 1;
	done = lx_extent_done(s, extent);
	if (i && done > 0)
		lx_sack_add(k->adv, extent->start,
			    extent->start +
				    (done < (__s64)extent->len || open ? done : extent->len),
			    s->acked);
	if (done >= (__s64)extent->len && !open)
		return 0;
	if (n > 0)
		lx_sack_translate(k, extent, open, &blocks[0]);
	if (n > 1)
		lx_sack_translate(k, extent, open, &blocks[1]);
	if (n > 2)
		lx_sack_translate(k, extent, open, &blocks[2]);
	return 0;
}

/*
 * Which extents to look at for SACK. Only those on the head's lane: data acknowledged on a faster
 * lane does not mean that the head was lost. All, if the head's next byte never arrived here, or if
 * nothing has moved for a while. None behind another stream's run, whose bytes are what is missing.
 */
static LX_NOINLINE enum lx_sack_reach lx_sack_reach(struct lx_stream *s, __u32 index, __u32 tail,
						    __u64 now_ns)
{
	struct lx_extent *head;
	struct lx_lane *lane;

	if (!s)
		return LX_SACK_NONE;
	head = lx_extent_at(s, s->head);
	lane = lx_extent_is_lane(head) ? lx_lane_at(head->lane) : 0;
	if (s->head == tail || (lane && !lx_lane_is_off(lane) && lx_lane_waits(lane, index)))
		return LX_SACK_NONE;
	/* Another CPU may have seen progress since @now_ns. */
	if (!lx_frame_has_next(s) ||
	    (__s64)(now_ns - s->progress_ns) > (__s64)lx_stuck_ns(s, head))
		return LX_SACK_ALL;
	if (!lx_extent_is_lane(head))
		return LX_SACK_ONE_WAY;
	if (!lane || lx_lane_is_gone(lane))
		return LX_SACK_ALL;
	return (__s64)(now_ns - lane->resegment_ns) < (__s64)LX_RESEGMENT_NS ? LX_SACK_NONE
									     : LX_SACK_ONE_WAY;
}

LX_INLINE __u32 lx_sack_digest(const struct lx_advertised *adv)
{
	__u32 d = adv->n_sack;

	if (adv->n_sack > 0)
		d += (__u32)adv->sack[0].start * 3 + (__u32)adv->sack[0].end * 5;
	if (adv->n_sack > 1)
		d += (__u32)adv->sack[1].start * 7 + (__u32)adv->sack[1].end * 11;
	if (adv->n_sack > 2)
		d += (__u32)adv->sack[2].start * 13 + (__u32)adv->sack[2].end * 17;
	return d;
}

/* ---- all together -------------------------------------------------------------------------- */

struct lx_ack_build_once {
	struct lx_stream *s;
	struct lx_advertised *adv;
	__u64 now_ns;
	__u32 index, reserved;
};

static long lx_ack_build_once(__u32 i, void *arg)
{
	struct lx_ack_build_once *c = arg;
	struct lx_stream *s = c->s;
	struct lx_prefix prefix = { .s = s };
	struct lx_sacking sacking = { .s = s, .adv = c->adv };
	__u64 acked = s->acked;

	(void)i;
	s->ack_build_again = 0;
	prefix.tail = sacking.tail = LX_ACQUIRE(&s->tail);
	bpf_loop(LX_STREAM_EXTENTS, lx_prefix_one, &prefix, 0);
	lx_cookies_tell(s, c->index);
	lx_window_edge_update(s, c->index, c->now_ns);
	if (s->acked != acked || s->head == prefix.tail)
		s->progress_ns = c->now_ns;
	c->adv->n_sack = 0;
	sacking.reach = lx_sack_reach(s, c->index, prefix.tail, c->now_ns);
	if (sacking.reach != LX_SACK_NONE)
		bpf_loop(LX_SACK_EXTENTS, lx_sack_extent, &sacking, 0);
	return !LX_ACQUIRE(&s->ack_build_again);
}

/*
 * A window is advertised in units, rounded up. Without a grant, the sender must not
 * get beyond its message: to make the edge exact, acknowledge a few bytes less. Not to a sender
 * that repeats them: after a loss it may send nothing else until they are acknowledged.
 */
LX_INLINE __u64 lx_held_ack(const struct lx_stream *s)
{
	__u32 unit = 1u << (s->wscale & 15);
	__u64 ack = s->acked - (-(__u32)(s->window_edge - s->acked) & (unit - 1));

	if (s->force || s->unframed || !s->limited)
		return s->acked;
	return lx_pos_before(ack, s->advertised_ack) ? s->acked : ack;
}

/* Called inside the section; leaves it. */
LX_INLINE int lx_ack_build_entered(struct lx_ack_build_once *c)
{
	struct lx_stream *s = c->s;
	struct lx_advertised *adv = c->adv;
	__u32 digest;
	int news;

	bpf_loop(4, lx_ack_build_once, c, 0);
	adv->ack = lx_held_ack(s);
	/* A FIN has a sequence number of its own. In unframed data, the last extent covers it. */
	if (s->fin && !s->unframed && s->acked == s->parse_next &&
	    lx_pos_before(s->acked - s->diverted, s->socket_una))
		adv->ack++;
	adv->window_edge = s->window_edge;
	digest = lx_sack_digest(adv);
	news = s->force || adv->ack != s->advertised_ack ||
	       adv->window_edge != s->advertised_edge || digest != s->advertised_sack;
	s->force = 0;
	s->advertised_ack = adv->ack;
	s->advertised_edge = adv->window_edge;
	s->advertised_sack = digest;
	lx_leave(&s->ack_building);
	return news;
}

/**
 * lx_ack_build - build the ACK for the sender
 * Returns 1: news, or an answer is due; 0: nothing new; -1: another CPU is building the ACK, and
 * will include what this packet brings.
 */
static LX_NOINLINE int lx_ack_build(struct lx_stream *s, __u32 index, __u64 now_ns,
				    struct lx_advertised *adv)
{
	struct lx_ack_build_once c = { .s = s, .adv = adv, .now_ns = now_ns, .index = index };
	int news;

	if (!s || !adv)
		return -1;
	s->ack_build_again = 1;
	if (!lx_try_enter(&s->ack_building))
		return -1;
	news = lx_ack_build_entered(&c);
	/* Another CPU may have left its note after our last look. */
	if (LX_ACQUIRE(&s->ack_build_again) && lx_try_enter(&s->ack_building))
		news |= lx_ack_build_entered(&c);
	return news;
}

/* The window field. Rounded up: rounding down would leave bytes that cannot be sent. */
LX_INLINE __u16 lx_window_field(const struct lx_advertised *adv, __u32 wscale)
{
	__s64 window = lx_pos_diff(adv->window_edge, adv->ack);
	__u64 field;

	wscale &= 15;
	if (window <= 0)
		return 0;
	field = ((__u64)window + (1u << wscale) - 1) >> wscale;
	return field > 65535 ? 65535 : field;
}

#endif
