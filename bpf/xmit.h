/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets that leave the programs: data for a lane, data for our own socket, and ACKs for a
 * sender. Each is made from the packet at hand; nothing is allocated.
 */
#ifndef LX_BPF_XMIT_H
#define LX_BPF_XMIT_H

#include "accept.h"
#include "fragment.h"

static struct lx_flow *lx_flow_of(const struct lx_flow_key *key);

#define LX_CUT_BLOCK 4096
_Static_assert(LX_CUT_BLOCK == LX_STORED_MAX, "w->cut holds what is stored");

/* Working memory of a program: in a map, one per CPU and direction. */
struct lx_scratch {
	struct lx_seg g;
	struct lx_advertised adv;
	struct lx_fragment fragment;
	struct lx_patch patch;
	__u8 old[64];
	__u64 pos, end;    /* stream positions of the payload */
	__u32 size;        /* of the segments in the packet */
	__u32 reserved;
	__u32 index;       /* of the stream or lane */
	__u32 dirty;       /* enum lx_dirty */
	__u32 data_at;     /* offset in the packet of fragment.pos */
	__u32 resegmented; /* part of a GSO packet: more parts for the same way follow */
	__u32 may_cut;     /* where the kernel sets the headers of what is cut anew (cut.h) */
	__u32 reserved_too;
	__u32 heard;       /* it acknowledges new data of our socket */
	struct lx_csum_block block;
	struct lx_stored stored; /* and its bytes: */
	__u8 cut[LX_CUT_BLOCK];
};

#define LX_GO_ON (-1) /* TCX_NEXT: to the next program, then up or out */
#define LX_DROP 2

/* Whether a packet is in transit between programs, with this mark. */
LX_INLINE int lx_is_marked(const struct __sk_buff *skb, enum lx_mark_kind kind)
{
	return (skb->mark & ~0xffffu) == (LX_MARK | kind);
}

/*
 * Sends through the neighbour table, like any packet of this machine. Reset the checksum state: a
 * virtual interface would tell the next hop that the packet is verified, but only we verified it.
 */
LX_INLINE int lx_xmit(struct __sk_buff *skb, __u32 ifindex)
{
	bpf_csum_level(skb, BPF_CSUM_LEVEL_RESET);
	skb->mark = LX_MARK | LX_MARK_DONE;
	return bpf_redirect_neigh(ifindex, 0, 0, 0);
}

/*
 * Through the pair, in the queue of this CPU, which also takes the packets off it: another's, of
 * 256 packets, may be full while that CPU does something else.
 */
LX_INLINE int lx_to_pair(struct __sk_buff *skb, __u32 mark, __u32 ifindex)
{
	skb->mark = LX_MARK | mark;
	skb->queue_mapping = bpf_get_smp_processor_id() + 1;
	return bpf_redirect(ifindex, 0);
}

/*
 * Further on, each part of a GSO packet would cost as much as a whole one. So let the kernel's GRO
 * join parts that go the same way.
 */
LX_INLINE int lx_join(struct __sk_buff *skb, __u32 kind, __u32 ifindex)
{
	struct lx_settings *settings = lx_settings();

	if (!settings || !settings->join_ifindex)
		return LX_DROP;
	return lx_to_pair(skb, kind | (ifindex & 0xffff), settings->join_ifindex);
}

/* A clone becomes what its mark says (program lnetx_part), and is sent, before this returns. */
LX_INLINE void lx_clone_now(struct __sk_buff *skb)
{
	struct lx_settings *settings = lx_settings();

	if (settings)
		bpf_clone_redirect(skb, settings->part_ifindex, 0);
}

/* On a lane. */
LX_INLINE int lx_xmit_lane(struct __sk_buff *skb, const struct lx_scratch *w, struct lx_lane *lane)
{
	if (!w->resegmented)
		return lx_xmit(skb, lane->ifindex);
	lane->resegment_ns = w->g.now_ns;
	return lx_join(skb, LX_MARK_JOIN, lane->ifindex);
}

/* To our own socket. */
LX_INLINE int lx_pass_up(struct __sk_buff *skb, const struct lx_scratch *w,
			 const struct lx_stream *s)
{
	if (w->resegmented)
		return lx_join(skb, LX_MARK_JOIN_UP, s->ifindex);
	skb->mark = 0;
	return LX_GO_ON;
}

/* ---- ACKs for a sender ------------------------------------------------------------- */

LX_INLINE void lx_make_blocks(struct lx_seg *g, const struct lx_advertised *adv, __u32 at,
			      __u32 base)
{
	LX_OPAQUE(at);
	at &= 3;
	g->out_options[at] = lx_be32(0x01010502 + 8 * adv->n_sack);
	g->out_options[at + 1] = lx_be32(lx_seq_of(adv->sack[0].start, base));
	g->out_options[at + 2] = lx_be32(lx_seq_of(adv->sack[0].end, base));
	g->out_options[at + 3] = lx_be32(lx_seq_of(adv->sack[1].start, base));
	g->out_options[at + 4] = lx_be32(lx_seq_of(adv->sack[1].end, base));
	g->out_options[at + 5] = lx_be32(lx_seq_of(adv->sack[2].start, base));
	g->out_options[at + 6] = lx_be32(lx_seq_of(adv->sack[2].end, base));
}

/* Removes IP options and extension headers. 0, or -1. */
LX_INLINE int lx_make_plain(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 plain = ETH_HLEN + (g->family == LX_AF_INET6 ? sizeof(g->ip6) : sizeof(g->ip4));

	if (g->l4 == plain)
		return 0;
	if ((g->odd & LX_ODD_FRAGMENT) ||
	    bpf_skb_adjust_room(skb, (__s32)(plain - g->l4), BPF_ADJ_ROOM_NET,
				BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET))
		return -1;
	g->jumbo = 0;
	g->l4 = plain;
	return 0;
}

/* Turns the packet into the ACK that w->adv describes. 0, or -1. */
static LX_NOINLINE int lx_make_ack(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_seg *g = &w->g;
	const struct lx_advertised *adv = &w->adv;
	__u32 hlen = sizeof(g->tcp) + (s->options ? LX_TCP_TS_LEN : 0), need;
	int partial = lx_csum_is_partial(skb);

	if (adv->n_sack)
		hlen += 4 + 8 * adv->n_sack;
	if (hlen > 60 || lx_make_plain(skb, g))
		return -1;
	lx_seg_make_ip(g, s->key.local, s->key.remote, s->family, s->tos, hlen);
	need = g->l4 + hlen;
	if (skb->len != need && bpf_skb_change_tail(skb, need, 0))
		return -1;
	lx_seg_make_tcp(g, hlen, LX_TCP_ACK);
	g->out.sport = s->key.local_port;
	g->out.dport = s->key.remote_port;
	g->out.seq = lx_be32(s->socket_seq);
	g->out.ack = lx_be32(lx_seq_of(adv->ack, s->base_seq));
	g->out.window = lx_be16(lx_window_field(adv, s->wscale));
	if (s->options)
		lx_seg_make_ts(g, &s->tcp_ts);
	if (adv->n_sack)
		lx_make_blocks(g, adv, s->options ? 3 : 0, s->base_seq);
	/* Bytes behind the header's end are not sent, but lx_seg_make_csum() sums them. */
	if (adv->n_sack == 1)
		g->out_options[s->options ? 6 : 3] = g->out_options[s->options ? 7 : 4] = 0;
	if (adv->n_sack == 1 || adv->n_sack == 2)
		g->out_options[s->options ? 8 : 5] = g->out_options[s->options ? 9 : 6] = 0;
	lx_seg_make_csum(g, s->family, hlen, partial);
	if (lx_seg_store(skb, g, s->family, hlen, 0))
		return -1;
	LX_ADD(&s->acks, 1);
	return 0;
}

/* Builds the ACK for the sender, and sends it if it brings anything new. */
LX_GLOBAL int lx_answer(struct __sk_buff *skb, struct lx_scratch *w, __u32 index)
{
	struct lx_stream *s = lx_stream_at(index);

	if (!w || !s || s->state != LX_STREAM_ON)
		return LX_DROP;
	if (lx_ack_build(s, index, w->g.now_ns, &w->adv) <= 0)
		return LX_DROP;
	if (lx_make_ack(skb, w, s)) {
		LX_ADD(&s->lost, 1);
		return LX_DROP;
	}
	return lx_xmit(skb, s->ifindex);
}

/* ---- canonical headers -------------------------------------------------------------------- */

/* Writes the part of w->patch that is in w->fragment, and updates the checksum. */
LX_INLINE int lx_apply(struct __sk_buff *skb, struct lx_scratch *w)
{
	__u32 skip = 0, n = lx_patch_clip(&w->patch, w->fragment.pos, w->fragment.end, &skip), at,
	      diff;
	__u8 *new;

	if (!n)
		return 0;
	at = w->data_at + (__u32)(w->patch.pos + skip - w->fragment.pos);
	LX_OPAQUE(skip);
	new = &w->patch.bytes[skip & 63];
	n = LX_LENGTH(n, 63);
	/* Equal bytes behind the patch cancel out in the checksum. */
	__builtin_memcpy(w->old, new, sizeof(w->old));
	if (bpf_skb_load_bytes(skb, at, w->old, n) || bpf_skb_store_bytes(skb, at, new, n, 0))
		return -1;
	diff = lx_csum_fold((__u32)bpf_csum_diff((__be32 *)w->old, sizeof(w->old), (__be32 *)new,
						 sizeof(w->old), 0));
	/* The checksum covers 16-bit words from the TCP header on. */
	if ((at - w->g.l4) & 1)
		diff = (diff >> 8 | diff << 8) & 0xffff;
	return bpf_l4_csum_replace(skb, lx_csum_at(&w->g), 0, diff, 0);
}

struct lx_patching {
	struct __sk_buff *skb;
	struct lx_scratch *w;
	struct lx_stream *s;
	__u32 failed;
};

static long lx_patch_extent(__u32 i, void *arg)
{
	struct lx_patching *a = arg;
	__u32 count = a->w->fragment.extent + i;
	struct lx_extent *extent;
	__u64 start;

	if (count == a->s->tail)
		return 1;
	extent = lx_extent_at(a->s, count);
	start = extent->start;
	if (lx_extent_is_gone(a->s, count))
		return 0; /* the next hop has it */
	if (!lx_pos_before(start, a->w->fragment.end))
		return 1;
	if (!lx_pos_before(a->w->fragment.pos, start + lx_header_len(a->s->version)))
		return 0;
	lx_patch_header(extent, &a->w->patch);
	a->failed = lx_apply(a->skb, a->w) != 0;
	if (a->failed || a->w->dirty == LX_DIRTY_COOKIE)
		return a->failed;
	lx_patch_nids(extent, a->s->version, &a->w->patch);
	a->failed = lx_apply(a->skb, a->w) != 0;
	if (a->failed)
		return 1;
	lx_patch_type(extent, a->s->version, &a->w->patch);
	a->failed = lx_apply(a->skb, a->w) != 0;
	return a->failed;
}

/* Writes canonical headers into a fragment for a lane; the cookie only if the bytes are new. */
LX_INLINE int lx_patch_fragment(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_patching a = { .skb = skb, .w = w, .s = s };

	bpf_loop(LX_STREAM_EXTENTS, lx_patch_extent, &a, 0);
	return a.failed ? -1 : 0;
}

/* ---- data: the whole packet ------------------------------------------------------------------ */

/* Fills in the fields of a TCP header that depend on the lane. */
LX_INLINE void lx_make_lane_tcp(struct lx_seg *g, const struct lx_lane *lane, __u64 target)
{
	g->out.sport = lane->key.local_port;
	g->out.dport = lane->key.remote_port;
	g->out.seq = lx_be32(lx_seq_of(target, lane->base_seq));
	g->out.ack = lx_be32(lane->ack_seq);
	g->out.window = lx_be16(lane->window);
	if (lane->options)
		lx_seg_make_ts(g, &lane->tcp_ts);
}

/* Rewrites the headers of a segment for a lane; its length stays. 0, or -1. */
LX_INLINE int lx_retarget(struct __sk_buff *skb, struct lx_scratch *w, const struct lx_lane *lane)
{
	struct lx_seg *g = &w->g;
	__u32 at = lx_csum_at(g);
	__s64 diff, pseudo;

	lx_seg_make_ip(g, lane->key.local, lane->key.remote, lane->family, lane->tos,
		       g->hlen + g->len);
	g->out = g->tcp;
	g->out.flags = (g->tcp.flags & LX_TCP_PSH) | LX_TCP_ACK;
	g->out.urgent = 0;
	lx_make_lane_tcp(g, lane, w->fragment.target);
	if (lane->options)
		diff = bpf_csum_diff((__be32 *)&g->tcp, 32, (__be32 *)&g->out, 32, 0);
	else
		diff = bpf_csum_diff((__be32 *)&g->tcp, 20, (__be32 *)&g->out, 20, 0);
	if (lane->family == LX_AF_INET6)
		pseudo = bpf_csum_diff((__be32 *)&g->l3[8], 32, (__be32 *)&g->out_l3[8], 32, 0);
	else
		pseudo = bpf_csum_diff((__be32 *)&g->l3[12], 8, (__be32 *)&g->out_l3[12], 8, 0);
	if (lx_seg_store(skb, g, lane->family, lane->options ? 32 : 20, 0))
		return -1;
	if (bpf_l4_csum_replace(skb, at, 0, diff, 0))
		return -1;
	return bpf_l4_csum_replace(skb, at, 0, pseudo, BPF_F_PSEUDO_HDR);
}

/*
 * Whether a part for a lane that ends at @end does not go on to the next hop: the sender is
 * answered.
 */
LX_INLINE int lx_lane_keeps(const struct lx_lane *lane, __u64 end)
{
	return lx_lane_is_off(lane) || !lx_pos_before(lane->una, end);
}

#include "store.h"

/* The whole packet is w->fragment, and goes to a lane. */
LX_GLOBAL int lx_whole_to_lane(struct __sk_buff *skb, struct lx_scratch *w, __u32 index)
{
	struct lx_stream *s = lx_stream_at(index);
	struct lx_lane *lane;

	if (!w || !s)
		return LX_DROP;
	lane = lx_lane_at(w->fragment.lane);
	if (!lane)
		return LX_DROP;
	w->data_at = lx_seg_payload(&w->g);
	if (lane->state == LX_LANE_STORED)
		lx_store(skb, w, index);
	if (lx_lane_keeps(lane, w->fragment.target + (w->fragment.end - w->fragment.pos)))
		return lx_answer(skb, w, index);
	/* In this order: lx_retarget() writes back the checksum that was read. */
	if (lx_retarget(skb, w, lane) || (w->dirty && lx_patch_fragment(skb, w, s))) {
		LX_ADD(&s->lost, 1);
		return LX_DROP;
	}
	lx_lane_sent(lane, w->fragment.target + (w->fragment.end - w->fragment.pos));
	return lx_xmit_lane(skb, w, lane);
}

#endif
