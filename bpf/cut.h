/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parts of a packet become packets of their own. A part that fits a segment becomes one. A larger
 * one is cut out of its GSO packet, and is a GSO packet again.
 *
 * The kernel forgets the segment size of a packet that a program shortens at its end, but not of
 * one that it shortens behind the IP header. So the bytes of a part are moved to the packet's end,
 * and everything before them is removed:
 *
 *	headers │ other part │ this part │ other part
 *	headers │ ...................... │ this part
 *	                         headers │ this part
 *
 * The packet is copied for that, which costs less than to resegment it: then each segment costs as
 * much as a whole packet.
 *
 * For the kernel, the TCP header is now that many bytes in front of where it is: helpers move what
 * it knows of the IP header, but not of the TCP header. Newer kernels read the TCP header there
 * when a GSO packet is sent, and drivers of cards that segment always have. So packets are cut only
 * where they leave an interface of our own, behind that look. A GSO packet without a checksum, as
 * they are then, is prepared before an interface gets it: the kernel goes through its headers, and
 * notes anew where each is (skb_gso_segment()). The interface hands it on at once, to the one below
 * it, where program lnetx_cut looks whether all is true now, and sends it.
 */
#ifndef LX_BPF_CUT_H
#define LX_BPF_CUT_H

#include "xmit.h"

/*
 * A GSO packet with more parts is resegmented. Cutting copies the packet once for each, which took
 * less time than to resegment it in all patterns measured.
 */
#define LX_CUT_PARTS 8
/* One byte more than all headers up to TCP: see lx_cut_start(). */
#define LX_CUT_MIN 65
/* bpf_skb_adjust_room() removes at most 4095 bytes. */
#define LX_CUT_STEP 4000

/* ---- a GSO packet -------------------------------------------------------------- */

/* Moves @len bytes at @at by @by towards the packet's end. 0, or -1. */
LX_GLOBAL int lx_cut_move(struct __sk_buff *skb, struct lx_scratch *w, __u32 at, __u32 len,
			  __u32 by)
{
	__u32 i, n;

	if (!w)
		return -1;
	for (i = 0; i < LX_IP_MAX / LX_CUT_BLOCK + 1 && len; i++) {
		n = len < LX_CUT_BLOCK ? len : LX_CUT_BLOCK;
		len -= n;
		n = LX_LENGTH(n, LX_CUT_BLOCK - 1);
		if (bpf_skb_load_bytes(skb, at + len, w->cut, n) ||
		    bpf_skb_store_bytes(skb, at + len + by, w->cut, n, 0))
			return -1;
	}
	return len ? -1 : 0;
}

/*
 * Removes @n bytes behind the IP header. 0, or -1.
 *
 * The kernel has noted where the TCP checksum is (CHECKSUM_PARTIAL), which is wrong afterwards. It
 * forgets that if bytes are removed when the place lies in front of the packet already: hence two
 * steps at least.
 */
LX_GLOBAL int lx_cut_start(struct __sk_buff *skb, __u32 n)
{
	__u32 i, step;

	if (n < LX_CUT_MIN)
		return -1;
	for (i = 0; i < LX_IP_MAX / LX_CUT_STEP + 2 && n; i++) {
		step = n > LX_CUT_STEP ? LX_CUT_STEP : i ? n : n - 1;
		if (bpf_skb_adjust_room(skb, -(__s32)step, BPF_ADJ_ROOM_NET,
					BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET))
			return -1;
		n -= step;
	}
	return n ? -1 : 0;
}

/* Removes @n bytes at @at, too few for lx_cut_start(): removes more, and puts those back. */
LX_INLINE int lx_cut_few(struct __sk_buff *skb, struct lx_scratch *w, __u32 at, __u32 n)
{
	if (bpf_skb_load_bytes(skb, at + n, w->cut, LX_CUT_MIN) ||
	    lx_cut_start(skb, n + LX_CUT_MIN) ||
	    bpf_skb_adjust_room(skb, LX_CUT_MIN, BPF_ADJ_ROOM_NET,
				BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET))
		return -1;
	return bpf_skb_store_bytes(skb, at, w->cut, LX_CUT_MIN, 0) ? -1 : 0;
}

/* Leaves only w->fragment of a GSO packet behind TCP headers of @hlen bytes. 0, or -1. */
LX_INLINE int lx_cut(struct __sk_buff *skb, struct lx_scratch *w, __u32 hlen, __u32 len)
{
	__u32 at = w->data_at, behind, n;

	if (w->g.l4 + hlen > at || skb->len < at + len)
		return -1;
	behind = skb->len - at - len;
	if (behind && lx_cut_move(skb, w, at, len, behind))
		return -1;
	at += behind;
	w->data_at = w->g.l4 + hlen;
	w->g.out.csum = lx_csum_fold(lx_csum_pseudo(w->g.out_l3, w->g.family, hlen + len));
	n = at - w->data_at;
	if (bpf_skb_pull_data(skb, n < LX_CUT_MIN ? at + LX_CUT_MIN : at))
		return -1;
	return n < LX_CUT_MIN ? lx_cut_few(skb, w, w->data_at, n) : lx_cut_start(skb, n);
}

/* ---- a segment ----------------------------------------------------------------- */

struct lx_moving {
	struct __sk_buff *skb;
	__u32 from, to, len;
	__u32 failed;
	__u64 sum;
};

/* Written for the verifier, which wants every length checked. */
static long lx_move_some(__u32 i, void *arg)
{
	struct lx_moving *m = arg;
	__u32 at = i * 64, n;
	__u8 bytes[64] = { 0 };

	if (at >= m->len)
		return 1;
	n = m->len - at;
	if (n > 64)
		n = 64;
	n = LX_LENGTH(n, 63);
	if (bpf_skb_load_bytes(m->skb, m->from + at, bytes, n) ||
	    (m->from != m->to &&
	     bpf_skb_store_bytes(m->skb, m->to + at, bytes, n, BPF_F_RECOMPUTE_CSUM))) {
		m->failed = 1;
		return 1;
	}
	m->sum += (__u32)bpf_csum_diff(0, 0, (__be32 *)bytes, 64, 0);
	return 0;
}

/* Moves the payload behind its new headers, and trims the packet. */
LX_INLINE int lx_move(struct __sk_buff *skb, __u32 from, __u32 to, __u32 len, __u64 *ret_sum)
{
	struct lx_moving m = { .skb = skb, .from = from, .to = to, .len = len };

	bpf_loop(1024, lx_move_some, &m, 0);
	*ret_sum = m.sum;
	if (m.failed)
		return -1;
	return skb->len == to + len || !bpf_skb_change_tail(skb, to + len, 0) ? 0 : -1;
}

/* Leaves only w->fragment, in one segment, behind TCP headers of @hlen bytes. 0, or -1. */
LX_INLINE int lx_cut_segment(struct __sk_buff *skb, struct lx_scratch *w, __u32 hlen, __u32 len)
{
	int partial = lx_csum_is_partial(skb);
	struct lx_seg *g = &w->g;
	__u64 sum = 0;

	/* lx_move() only works towards the start: the headers must not grow. */
	if (g->l4 + hlen > w->data_at || lx_move(skb, w->data_at, g->l4 + hlen, len, &sum))
		return -1;
	w->data_at = g->l4 + hlen;
	g->out.csum = 0;
	if (!partial)
		sum += (__u32)bpf_csum_diff(0, 0, (__be32 *)&g->out, 60, 0);
	else
		sum = 0;
	sum += lx_csum_pseudo(g->out_l3, g->family, hlen + len);
	g->out.csum = partial ? lx_csum_fold(sum) : (__u16)~lx_csum_fold(sum);
	return 0;
}

/* ---- either -------------------------------------------------------------------- */

/* Makes the headers of w->fragment for our own socket. Returns the length of the TCP header. */
LX_INLINE __u32 lx_make_up(struct lx_scratch *w, const struct lx_stream *s, __u32 len)
{
	struct lx_seg *g = &w->g;
	__u32 hlen = sizeof(g->tcp) + (g->has_ts ? LX_TCP_TS_LEN : 0);

	lx_seg_make_ip(g, g->key.remote, g->key.local, g->family, 0, hlen + len);
	lx_seg_make_tcp(g, hlen, (g->tcp.flags & LX_TCP_PSH) | LX_TCP_ACK);
	g->out.sport = g->tcp.sport;
	g->out.dport = g->tcp.dport;
	g->out.seq = lx_be32(lx_seq_of(w->fragment.target, s->base_seq));
	g->out.ack = g->tcp.ack;
	g->out.window = g->tcp.window;
	if (g->has_ts) {
		g->out_options[0] = lx_be32(LX_TCP_TS_START);
		g->out_options[1] = lx_be32(g->tsval);
		g->out_options[2] = lx_be32(g->tsecr);
	}
	return hlen;
}

/* The same for a lane. */
LX_INLINE __u32 lx_make_lane(struct lx_scratch *w, const struct lx_lane *lane, __u32 len)
{
	struct lx_seg *g = &w->g;
	__u32 hlen = sizeof(g->tcp) + (lane->options ? LX_TCP_TS_LEN : 0);

	lx_seg_make_ip(g, lane->key.local, lane->key.remote, lane->family, lane->tos, hlen + len);
	lx_seg_make_tcp(g, hlen, (g->tcp.flags & LX_TCP_PSH) | LX_TCP_ACK);
	lx_make_lane_tcp(g, lane, w->fragment.target);
	return hlen;
}

/* A packet that is to be cut goes where that may be done, to become its part there. */
LX_INLINE int lx_cut_elsewhere(struct __sk_buff *skb, const struct lx_scratch *w)
{
	const struct lx_settings *settings = lx_settings();

	if (!settings || !settings->cuts)
		return LX_DROP;
	skb->mark = LX_MARK | LX_MARK_FRAGMENT | ((w->data_at - lx_seg_payload(&w->g)) & 0xffff);
	return bpf_redirect(settings->part_ifindex, 0);
}

/* A part that has been cut goes on to the interface below; see lnetx_cut and lnetx_join. */
LX_INLINE int lx_cut_done(struct __sk_buff *skb, enum lx_mark_kind kind, __u32 ifindex)
{
	bpf_csum_level(skb, BPF_CSUM_LEVEL_RESET); /* so that the kernel prepares it */
	skb->mark = LX_MARK | kind | (ifindex & 0xffff);
	return LX_GO_ON;
}

/*
 * Turns the packet into one with only w->fragment, which starts at w->data_at. Returns a verdict.
 */
LX_GLOBAL int lx_fragment_xmit(struct __sk_buff *skb, struct lx_scratch *w, __u32 index)
{
	struct lx_stream *s = lx_stream_at(index);
	struct lx_lane *lane = 0;
	__u32 len, hlen;
	int up, cut;

	if (!w || !s)
		return LX_DROP;
	up = w->fragment.kind == LX_FRAGMENT_UP;
	len = w->fragment.end - w->fragment.pos;
	if (!up) {
		lane = lx_lane_at(w->fragment.lane);
		if (!lane)
			return LX_DROP;
		if (lane->state == LX_LANE_STORED)
			lx_store(skb, w, index);
		if (lx_lane_keeps(lane, w->fragment.target + len))
			return lx_answer(skb, w, index);
	}
	cut = skb->gso_size && len > skb->gso_size;
	if (cut && !w->may_cut)
		return lx_cut_elsewhere(skb, w);
	hlen = up ? lx_make_up(w, s, len) : lx_make_lane(w, lane, len);
	if (cut ? lx_cut(skb, w, hlen, len) : lx_cut_segment(skb, w, hlen, len))
		goto lost;
	if (lx_seg_store(skb, &w->g, w->g.family, hlen, BPF_F_RECOMPUTE_CSUM))
		goto lost;
	LX_ADD(&s->fragments, 1);
	if (up) {
		lx_pos_raise(&s->socket_sent, w->fragment.target + len);
		return cut ? lx_cut_done(skb, LX_MARK_JOIN_UP, s->ifindex) : lx_pass_up(skb, w, s);
	}
	w->dirty = LX_DIRTY_BYTES; /* it may be a clone, without its framing */
	if (lx_patch_fragment(skb, w, s))
		goto lost;
	lane = lx_lane_at(w->fragment.lane); /* looked up again: some verifiers lose track of it */
	if (!lane)
		goto lost;
	lx_lane_sent(lane, w->fragment.target + len);
	return cut ? lx_cut_done(skb, LX_MARK_CUT, lane->ifindex) : lx_xmit_lane(skb, w, lane);
lost:
	LX_ADD(&s->lost, 1);
	return LX_DROP;
}

#endif
