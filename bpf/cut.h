/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Cutting a GSO packet: a few large parts go different ways, and each is a GSO packet again.
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
 */
#ifndef LX_BPF_CUT_H
#define LX_BPF_CUT_H

#include "xmit.h"

/* With more parts than this, resegmenting is cheaper. */
#define LX_CUT_PARTS 4
/* What is cut off must be longer than all headers up to TCP: see lx_cut_start(). */
#define LX_CUT_MIN 65
/* bpf_skb_adjust_room() removes at most 4095 bytes. */
#define LX_CUT_STEP 4000

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
 * steps at least. When the packet is sent, the kernel notes the right place (tcp4_gso_segment()).
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

/* Leaves only w->fragment, at w->data_at, behind room for TCP headers of @hlen bytes. 0, or -1. */
LX_INLINE int lx_cut(struct __sk_buff *skb, struct lx_scratch *w, __u32 hlen)
{
	__u32 at = w->data_at, len = w->fragment.end - w->fragment.pos, behind;

	if (w->g.l4 + hlen > at || skb->len < at + len)
		return -1;
	behind = skb->len - at - len;
	if (behind && lx_cut_move(skb, w, at, len, behind))
		return -1;
	at += behind;
	w->data_at = w->g.l4 + hlen;
	return bpf_skb_pull_data(skb, at) || lx_cut_start(skb, at - w->data_at) ? -1 : 0;
}

/*
 * Turns a GSO packet into one with only w->fragment, which starts at w->data_at. Returns a verdict.
 * What is for our own socket, which verifies checksums, is sent through the pair to get one.
 */
LX_GLOBAL int lx_cut_xmit(struct __sk_buff *skb, struct lx_scratch *w, __u32 index)
{
	struct lx_stream *s = lx_stream_at(index);
	struct lx_lane *lane = 0;
	__u32 len, hlen;
	int up;

	if (!w || !s)
		return LX_DROP;
	len = w->fragment.end - w->fragment.pos;
	up = w->fragment.kind == LX_FRAGMENT_UP;
	if (!up) {
		lane = lx_lane_at(w->fragment.lane);
		if (!lane)
			return LX_DROP;
		if (lx_lane_is_gone(lane))
			return lx_answer(skb, w, index);
	}
	hlen = up ? lx_make_up(w, s, len) : lx_make_lane(w, lane, len);
	if (lx_cut(skb, w, hlen))
		goto lost;
	w->g.out.csum = lx_csum_fold(lx_csum_pseudo(w->g.out_l3, w->g.family, hlen + len));
	if (lx_seg_store(skb, &w->g, w->g.family, hlen, 0))
		goto lost;
	LX_ADD(&s->fragments, 1);
	if (up) {
		s->socket_sent = lx_pos_max(s->socket_sent, w->fragment.target + len);
		return lx_join(skb, LX_MARK_JOIN_UP, s->ifindex);
	}
	if (lx_patch_fragment(skb, w, s))
		goto lost;
	lane = lx_lane_at(w->fragment.lane); /* looked up again: some verifiers lose track of it */
	if (!lane)
		goto lost;
	lx_lane_sent(lane, w->fragment.lane, s, w->fragment.target + len);
	lane->resegment_ns = w->g.now_ns;
	return lx_xmit(skb, lane->ifindex);
lost:
	LX_ADD(&s->lost, 1);
	return LX_DROP;
}

#endif
