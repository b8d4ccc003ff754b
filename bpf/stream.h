/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of a stream: a connection on which a peer sends us messages. Our own socket never sees
 * some of them.
 */
#ifndef LX_BPF_STREAM_H
#define LX_BPF_STREAM_H

#include "cut.h"

/* ---- while it is not a stream ----------------------------------------------------------- */

/*
 * Everything goes to the socket, which does not know of the bytes that went to lanes: shift the
 * sequence numbers. Drop packets in transit between programs.
 */
LX_INLINE int lx_shift_in(struct __sk_buff *skb, struct lx_scratch *w, __u32 shift)
{
	if ((skb->mark & LX_MARK_MASK) == LX_MARK)
		return LX_DROP;
	lx_seg_put_seq(skb, &w->g, w->g.seq - shift);
	return LX_GO_ON;
}

LX_INLINE int lx_shift_out(struct __sk_buff *skb, struct lx_scratch *w, __u32 shift)
{
	if ((skb->mark & LX_MARK_MASK) == LX_MARK)
		return LX_DROP;
	if (!shift)
		return LX_GO_ON;
	if (w->g.flags & LX_TCP_ACK)
		lx_seg_put_ack(skb, &w->g, w->g.ack + shift);
	return lx_seg_shift_blocks(skb, &w->g, -shift) ? LX_DROP : LX_GO_ON;
}

/* ---- coming in: no payload ------------------------------------------------------------ */

/* ACKs, and probes that ask for one. */
LX_INLINE int lx_stream_ack_in(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	/* Below what the peer knows we have: a probe. */
	if (lx_pos_before(w->pos, s->acked)) {
		s->force = 1;
		return lx_answer(skb, w, w->index);
	}
	lx_seg_put_seq(skb, &w->g, lx_seq_of(s->socket_sent, s->base_seq));
	return LX_GO_ON;
}

/* The peer's FIN: passed up once everything before it has arrived. */
LX_INLINE int lx_stream_fin_in(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_extent *last;
	__u64 end;

	/* Inside a message on a lane: the socket has everything before that message. */
	if (w->end == s->acked) {
		last = lx_extent_at(s, s->tail - 1);
		end = lx_extent_is_lane(last) ? s->parse_next : w->end;
		s->fin = 1;
		lx_seg_put_seq(skb, &w->g, lx_seq_of(end - s->diverted, s->base_seq));
		return LX_GO_ON;
	}
	s->force = 1;
	return lx_answer(skb, w, w->index);
}

/*
 * A reset counts at the next expected byte, the highest byte seen or the last ACK sent; for any
 * other, our socket sends a challenge ACK.
 */
LX_INLINE int lx_stream_reset_in(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	__u64 target = s->socket_sent;

	if (w->pos != s->acked && w->pos != s->advertised_ack && w->pos != s->high) {
		s->force = 1;
		target++;
	}
	lx_seg_put_seq(skb, &w->g, lx_seq_of(target, s->base_seq));
	return LX_GO_ON;
}

/*
 * A new connection from the same ports, or a forgery. Our socket sends a challenge ACK; a peer that
 * has forgotten the old connection answers with a reset.
 */
LX_INLINE int lx_stream_syn_in(struct lx_stream *s)
{
	s->force = 1;
	return LX_GO_ON;
}

/* ---- coming in: data -------------------------------------------------------------------- */

/* Sets w->fragment. @near: see lx_extent_find(). */
LX_GLOBAL int lx_run_at(struct lx_scratch *w, __u32 index, __u64 pos, __u32 near)
{
	struct lx_stream *s = lx_stream_at(index);

	if (!w || !s)
		return 0;
	lx_fragment_run(s, pos, w->end, near, &w->fragment);
	lx_fragment_fit(&w->fragment, w->size);
	return 0;
}

/*
 * Sends a clone of the packet, to become what @mark says. For a lane it does so at once, before
 * anything else is sent: it must not be overtaken by what comes in later.
 */
LX_INLINE void lx_stream_clone(struct __sk_buff *skb, __u32 mark, int up)
{
	__u32 ifindex = skb->ifindex;

	LX_OPAQUE(ifindex); /* read here: verifiers want the context's own address */
	skb->mark = LX_MARK | mark;
	if (up)
		bpf_clone_redirect(skb, ifindex, BPF_F_INGRESS);
	else
		lx_clone_now(skb);
	skb->mark = 0;
}

/*
 * The peer acknowledges data of our socket in a packet for a lane: re-inject a clone without the
 * payload. Otherwise the socket would retransmit.
 */
LX_INLINE void lx_stream_tell_up(struct __sk_buff *skb, struct lx_scratch *w)
{
	lx_stream_clone(skb, LX_MARK_ACK, 1);
	w->heard = 0;
}

/*
 * The part of its data that a packet itself carries on, if the parts go different ways. As a clone,
 * a part for our own socket would come in again, behind packets that are waiting to be received.
 */
enum lx_becomes {
	LX_BECOMES_LAST, /* the last part that goes anywhere */
	LX_BECOMES_UP,   /* the first part for our own socket */
	LX_BECOMES_ACK,  /* the ACK that the sender waits for */
};

/* The parts of such a packet, one after the other. */
struct lx_spreading {
	struct __sk_buff *skb;
	struct lx_scratch *w;
	__u64 pos;
	__u64 end;    /* behind that is at most a part of a header */
	__u64 itself; /* where the part starts that the packet itself becomes */
	__u32 parts, reserved;
	enum lx_becomes becomes;
};

/* Sets w->fragment to the part at a->pos, and goes on behind it. Returns 0 at the end. */
LX_INLINE int lx_spread_next(struct lx_spreading *a)
{
	struct lx_scratch *w = a->w;

	if (!lx_pos_before(a->pos, w->end))
		return 0;
	lx_run_at(w, w->index, a->pos, w->fragment.extent);
	a->pos = w->fragment.end;
	a->parts++;
	return 1;
}

static long lx_spread_count(__u32 i, void *arg)
{
	(void)i;
	return !lx_spread_next(arg);
}

/*
 * Whether a GSO packet is cut (cut.h), not resegmented. w->fragment is its first part. Not inline,
 * as what it needs would stay on the stack.
 */
static LX_NOINLINE int lx_spread_cuts(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_spreading a = { .w = w, .pos = w->fragment.end, .parts = 1 };
	struct lx_settings *settings = lx_settings();
	__u32 near = w->fragment.extent;

	/* lx_spread_one() has 16 bits for where a part starts. */
	if (!settings || !settings->cuts || skb->len > LX_IP_MAX || w->g.jumbo)
		return 0;
	bpf_loop(LX_CUT_PARTS, lx_spread_count, &a, 0);
	w->fragment.extent = near;
	return a.parts <= LX_CUT_PARTS;
}

/* Sends a clone for each part but the one that the packet itself becomes. */
static long lx_spread_one(__u32 i, void *arg)
{
	struct lx_spreading *a = arg;
	struct lx_scratch *w = a->w;
	__u64 pos = a->pos;
	int up;

	(void)i;
	if (!lx_spread_next(a))
		return 1;
	up = w->fragment.kind == LX_FRAGMENT_UP;
	if (a->becomes == LX_BECOMES_LAST && (up || !lx_pos_before(a->pos, a->end))) {
		a->itself = pos;
		if (up)
			a->becomes = LX_BECOMES_UP;
		return !up;
	}
	if (lx_fragment_goes(&w->fragment))
		lx_stream_clone(a->skb,
				(w->resegmented ? LX_MARK_RESEGMENT_FRAGMENT : LX_MARK_FRAGMENT) |
					((__u32)(pos - w->pos) & 0xffff),
				up);
	return 0;
}

#define LX_BECOMES_PART (-2)

/*
 * Sends the parts of a packet, in order. Returns a verdict, or LX_BECOMES_PART: the packet is to
 * become w->fragment. (The caller calls lx_fragment_xmit(): the stack is small.)
 */
static LX_NOINLINE int lx_stream_spread(struct __sk_buff *skb, struct lx_scratch *w,
					struct lx_stream *s)
{
	struct lx_spreading a = { .skb = skb, .w = w, .pos = w->pos, .itself = w->pos };
	struct lx_settings *settings = lx_settings();
	__u32 near = w->fragment.extent;

	if (skb->gso_size && (!lx_spread_cuts(skb, w) || lx_unlist(skb))) {
		LX_ADD(&s->resegmented, 1);
		if (!settings || !settings->resegment_ifindex)
			return LX_DROP;
		return lx_to_pair(skb, LX_MARK_RESEGMENT, settings->resegment_ifindex);
	}
	a.end = s->unframed ? w->end : lx_pos_min(w->end, s->parse_next);
	if (s->force)
		a.becomes = LX_BECOMES_ACK;
	bpf_loop(128, lx_spread_one, &a, 0);
	if (a.becomes == LX_BECOMES_ACK)
		return lx_answer(skb, w, w->index);
	lx_run_at(w, w->index, a.itself, near);
	w->data_at = lx_seg_payload(&w->g) + (__u32)(a.itself - w->pos);
	return lx_fragment_goes(&w->fragment) ? LX_BECOMES_PART : LX_DROP;
}

/* The whole packet goes up. */
LX_INLINE int lx_whole_up(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_seg *g = &w->g;

	lx_pos_raise(&s->socket_sent, w->fragment.target + g->len);
	if (g->flags & LX_TCP_FIN)
		s->fin = 1;
	lx_seg_put_seq(skb, g, lx_seq_of(w->fragment.target, s->base_seq));
	return lx_pass_up(skb, w, s);
}

/*
 * A segment in an unusual form, not all of which is for our socket: remove its IP options and
 * re-inject it. An IP fragment is dropped, as its end is unknown.
 */
LX_INLINE int lx_stream_again(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_seg *g = &w->g;

	if ((g->odd & LX_ODD_FRAGMENT) || lx_make_plain(skb, g))
		return LX_DROP;
	lx_seg_make_ip(g, g->key.remote, g->key.local, g->family, 0, g->hlen + g->len);
	g->out = g->tcp;
	if (lx_seg_store(skb, g, g->family, sizeof(g->tcp), 0))
		return LX_DROP;
	return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
}

/*
 * Whether the whole packet goes one way, and only its headers change, and those of messages in it,
 * wherever they are.
 */
LX_INLINE int lx_is_whole(struct __sk_buff *skb, const struct lx_scratch *w,
			  const struct lx_stream *s)
{
	const struct lx_seg *g = &w->g;

	if (w->fragment.pos != w->pos || w->fragment.end != w->end ||
	    (w->dirty && lx_unlist(skb)))
		return 0;
	if (w->fragment.kind == LX_FRAGMENT_UP)
		return !(g->flags & LX_TCP_FIN) || !lx_pos_before(s->acked, w->pos);
	return w->fragment.kind == LX_FRAGMENT_LANE &&
	       !(g->odd & (LX_ODD_HEADERS | LX_ODD_FRAGMENT)) &&
	       g->hlen == sizeof(g->tcp) + s->options &&
	       (g->has_ts != 0) == (s->options != 0);
}

LX_INLINE int lx_stream_data_in(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_segment in = { .pos = w->pos, .end = w->end, .size = w->size, .packet = skb };
	struct lx_framing f = { .s = s, .seg = &in, .index = w->index, .odd = w->g.odd };
	int verdict, whole;

	if (f.odd & LX_ODD_FRAGMENT)
		f.rest = LX_IP_MAX;
	s->now_ns = w->g.now_ns;

	if (!lx_pos_before(s->acked, w->end)) {
		s->force = 1;
		return lx_answer(skb, w, w->index);
	}
	if (lx_pos_before(w->pos, s->acked))
		s->force = 1;
	if (w->resegmented) {
		/* Framed before; a part that ends inside a header would look like a repetition. */
		f.near = s->tail - 1;
		f.dirty = LX_DIRTY_BYTES;
	} else if (lx_frame(&f)) {
		LX_ADD(&s->busy, 1);
		return LX_DROP;
	}
	w->end += f.rest;
	w->dirty = f.dirty;
	if (f.saved) {
		lx_run_at(w, w->index, s->saved_pos, f.near);
		lx_stream_clone(skb, LX_MARK_SAVED, w->fragment.kind == LX_FRAGMENT_UP);
	}
	lx_run_at(w, w->index, w->pos, f.near);
	whole = lx_is_whole(skb, w, s);
	if (w->heard && !(whole && w->fragment.kind == LX_FRAGMENT_UP))
		lx_stream_tell_up(skb, w);
	if (!whole) {
		if (w->g.odd & (LX_ODD_HEADERS | LX_ODD_FRAGMENT))
			return lx_stream_again(skb, w);
		verdict = lx_stream_spread(skb, w, s);
		return verdict == LX_BECOMES_PART ? lx_fragment_xmit(skb, w, w->index) : verdict;
	}
	LX_ADD(&s->bytes, w->g.len);
	return w->fragment.kind == LX_FRAGMENT_UP ? lx_whole_up(skb, w, s)
						  : lx_whole_to_lane(skb, w, w->index);
}

/* ---- coming in again ---------------------------------------------------------------------- */

/* A clone of a packet, for the fragment at @offset. */
LX_INLINE int lx_stream_fragment_in(struct __sk_buff *skb, struct lx_scratch *w,
				    struct lx_stream *s, __u32 offset)
{
	if (offset >= w->g.len)
		return LX_DROP;
	lx_run_at(w, w->index, w->pos + offset, s->tail - 1);
	if (!lx_fragment_goes(&w->fragment))
		return LX_DROP;
	w->data_at = lx_seg_payload(&w->g) + offset;
	return lx_fragment_xmit(skb, w, w->index);
}

/* A clone of the packet that completed a header: becomes the part that was held back. */
LX_INLINE int lx_stream_saved_in(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	__u32 n, at = lx_seg_payload(&w->g);

	w->pos = lx_saved_pos(s, &n);
	w->end = w->pos + n;
	if (!n)
		return LX_DROP;
	n = LX_LENGTH(n, 127);
	if (n > LX_HEADER_MAX)
		return LX_DROP;
	lx_run_at(w, w->index, w->pos, s->tail - 2);
	if (w->fragment.end != w->end || !lx_fragment_goes(&w->fragment))
		return LX_DROP;
	if (bpf_skb_change_tail(skb, at + n, 0) || bpf_skb_store_bytes(skb, at, s->saved, n, 0) ||
	    lx_saved_pos(s, &n) != w->pos)
		return LX_DROP;
	w->data_at = at;
	return lx_fragment_xmit(skb, w, w->index);
}

/* Sets what is known of the packet from its headers. Takes its mark off, and returns the kind. */
LX_INLINE __u32 lx_stream_begin(struct __sk_buff *skb, struct lx_scratch *w,
				const struct lx_stream *s)
{
	__u32 mark = skb->mark, kind = 0;

	if ((mark & LX_MARK_MASK) == LX_MARK) {
		kind = mark & LX_MARK_KIND;
		skb->mark = 0;
	}
	w->pos = lx_pos_of(w->g.seq, s->base_seq, s->acked);
	w->end = w->pos + w->g.len;
	w->size = skb->gso_size ? skb->gso_size : w->g.len;
	w->heard = 0;
	w->resegmented = kind == LX_MARK_RESEGMENT || kind == LX_MARK_RESEGMENT_FRAGMENT;
	return kind;
}

LX_INLINE int lx_stream_part(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s,
			     __u32 kind, __u32 offset)
{
	return kind == LX_MARK_SAVED ? lx_stream_saved_in(skb, w, s)
				     : lx_stream_fragment_in(skb, w, s, offset);
}

/* A clone on its way out (lx_clone_now()). */
static LX_NOINLINE int lx_stream_part_out(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_stream *s = lx_stream_at(w->index);
	__u32 offset = skb->mark & 0xffff, kind;

	if (!s || s->state != LX_STREAM_ON)
		return LX_DROP;
	kind = lx_stream_begin(skb, w, s);
	return lx_stream_part(skb, w, s, kind, offset);
}

/* A clone of a packet for a lane: its ACK is for our socket. */
LX_INLINE int lx_stream_ack_up(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	int partial = lx_csum_is_partial(skb);
	struct lx_seg *g = &w->g;
	__u32 hlen;

	if (lx_make_plain(skb, g))
		return LX_DROP;
	w->fragment.target = s->socket_sent;
	hlen = lx_make_up(w, s, 0);
	if (bpf_skb_change_tail(skb, g->l4 + hlen, 0))
		return LX_DROP;
	lx_seg_make_csum(g, g->family, hlen, partial);
	return lx_seg_store(skb, g, g->family, hlen, 0) ? LX_DROP : LX_GO_ON;
}

/* ---- coming in for the first time ------------------------------------------------------------ */

/* The stack drops and counts damaged segments itself; others it might accept. */
LX_INLINE int lx_stream_refuse(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s,
			       int why)
{
	LX_ADD(&s->refused[why & (LX_REFUSALS_ROOM - 1)], 1);
	if (s->state == LX_STREAM_TAKEOVER)
		return lx_shift_in(skb, w, s->diverted);
	if (why == LX_REFUSED_CHECKSUM)
		return LX_GO_ON;
	if (!lx_refusal_is_answered(s, &w->g, why))
		return LX_DROP;
	s->force = 1;
	return lx_answer(skb, w, w->index);
}

/* A segment that was accepted; w->pos is set. */
LX_INLINE int lx_stream_accepted(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_seg *g = &w->g;

	if (s->state == LX_STREAM_TAKEOVER) {
		s->high = lx_pos_max(s->high, w->end);
		return lx_shift_in(skb, w, s->diverted);
	}
	if (g->flags & LX_TCP_RST)
		return lx_stream_reset_in(skb, w, s);
	if (g->len)
		return lx_stream_data_in(skb, w, s);
	if (g->flags & LX_TCP_FIN)
		return lx_stream_fin_in(skb, w, s);
	return lx_stream_ack_in(skb, w, s);
}

LX_INLINE int lx_stream_new_in(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_seg *g = &w->g;
	int why = lx_accept_packet(skb, g, &w->block, s->ifindex);

	if (why == LX_ACCEPTED && (g->flags & LX_TCP_SYN))
		return lx_stream_syn_in(s);
	if (why == LX_ACCEPTED)
		why = lx_accept_stream(s, g, w->pos);
	if (why != LX_ACCEPTED)
		return lx_stream_refuse(skb, w, s, why);
	LX_ADD(&s->packets, 1);
	/* The checksum of a fragment cannot be verified. */
	if (!(g->odd & LX_ODD_FRAGMENT))
		w->heard = lx_stream_heard(s, g, w->pos);
	return lx_stream_accepted(skb, w, s);
}

/* A packet of the stream, from the network or from ourselves. */
static LX_NOINLINE int lx_stream_in(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_stream *s = lx_stream_at(w->index);
	__u32 offset = skb->mark & 0xffff, kind;

	if (!s)
		return LX_GO_ON;
	if (s->state == LX_STREAM_FREE)
		return lx_shift_in(skb, w, s->diverted);
	kind = lx_stream_begin(skb, w, s);
	switch (kind) {
	case 0:
		return lx_stream_new_in(skb, w, s);
	case LX_MARK_FRAGMENT:
	case LX_MARK_RESEGMENT_FRAGMENT:
	case LX_MARK_SAVED:
		return lx_stream_part(skb, w, s, kind, offset);
	case LX_MARK_ACK:
		return lx_stream_ack_up(skb, w, s);
	}
	return lx_stream_accepted(skb, w, s); /* part of an accepted packet */
}

/* ---- going out: what our own socket says ----------------------------------------------- */

LX_INLINE void lx_block_pos(struct lx_sack *to, const struct lx_block *from, __u32 base, __u64 near)
{
	to->start = lx_pos_of(from->start, base, near);
	to->end = lx_pos_of(from->end, base, near);
}

/* Records what a segment of our socket says. */
LX_INLINE void lx_stream_note(struct lx_stream *s, const struct lx_seg *g)
{
	__u64 una = lx_pos_of(g->ack, s->base_seq, s->socket_una);
	__u64 window_edge = una + ((__u64)g->window << (s->wscale & 15));
	__u32 end = g->seq + g->len + (g->flags & LX_TCP_FIN ? 1 : 0), n = g->n_block;

	/* Even if the segment was overtaken: the peer may acknowledge it. */
	if ((__s32)(end - s->socket_seq) > 0)
		s->socket_seq = end;
	if (lx_pos_before(una, s->socket_una))
		return;
	s->socket_una = una;
	s->socket_window_edge = lx_pos_max(s->socket_window_edge, window_edge);
	lx_block_pos(&s->sack[0], &g->block[0], s->base_seq, una);
	lx_block_pos(&s->sack[1], &g->block[1], s->base_seq, una);
	lx_block_pos(&s->sack[2], &g->block[2], s->base_seq, una);
	s->n_sack = n > 3 ? 3 : n;
}

/* A segment with data, FIN or RST: update its ACK and window. */
LX_INLINE int lx_stream_data_out(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_seg *g = &w->g;
	struct lx_advertised adv = { .ack = s->advertised_ack, .window_edge = s->advertised_edge };
	__be16 window = lx_be16(lx_window_field(&adv, s->wscale));

	bpf_skb_store_bytes(skb, g->l4 + __builtin_offsetof(struct lx_tcp_hdr, window), &window,
			    sizeof(window), 0);
	bpf_l4_csum_replace(skb, lx_csum_at(g), g->tcp.window, window, sizeof(window));
	lx_seg_put_ack(skb, g, lx_seq_of(adv.ack, s->base_seq));
	if (g->has_ts && g->option_at >= LX_TCP_TS_LEN)
		lx_seg_put32(skb, lx_csum_at(g), g->l4 + 28, lx_be32(g->tsecr),
			     lx_be32(s->tcp_ts.recent));
	s->advertised_sack = ~0u; /* so that the next ACK has SACK blocks */
	if (lx_seg_drop_blocks(skb, g))
		return LX_DROP;
	return LX_GO_ON;
}

static LX_NOINLINE int lx_stream_out(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_stream *s = lx_stream_at(w->index);
	struct lx_seg *g = &w->g;
	int news;

	if (!s)
		return LX_GO_ON;
	if (s->state != LX_STREAM_ON) {
		if (s->state == LX_STREAM_TAKEOVER)
			lx_stream_note(s, g);
		return lx_shift_out(skb, w, s->diverted);
	}
	lx_stream_note(s, g);
	news = lx_ack_build(s, w->index, g->now_ns, &w->adv);
	if (g->len || (g->flags & (LX_TCP_FIN | LX_TCP_RST)))
		return lx_stream_data_out(skb, w, s);
	/* A keepalive probe of our socket: always sent. */
	if ((__s32)(g->seq - s->socket_seq) < 0)
		return lx_stream_data_out(skb, w, s);
	if (news <= 0)
		return LX_DROP;
	return lx_make_ack(skb, w, s) ? LX_DROP : LX_GO_ON;
}

#endif
