/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * At the socket of a stream or a lane: segments that no program has passed. They have the numbers
 * of the connection, not of the socket. Those that TCP would take with their own numbers are
 * evidence that the connection's packets come past the programs; others anybody can send.
 */
#ifndef LX_BPF_PAST_H
#define LX_BPF_PAST_H

#include "accept.h"

/* Reads the headers of a segment; the packet begins with that of TCP. Returns 1, or 0. */
LX_INLINE int lx_past_read(struct __sk_buff *skb, struct lx_seg *g)
{
	int v4 = skb->protocol == lx_be16(ETH_P_IP);

	if (bpf_skb_load_bytes_relative(skb, 0, g->l3, v4 ? sizeof(g->ip4) : sizeof(g->ip6),
					BPF_HDR_START_NET))
		return 0;
	if (v4) {
		lx_packet_map(g->key.remote, g->ip4.src);
		lx_packet_map(g->key.local, g->ip4.dst);
	} else {
		__builtin_memcpy(g->key.remote, g->ip6.src, 16);
		__builtin_memcpy(g->key.local, g->ip6.dst, 16);
	}
	g->ours = g->odd = g->jumbo = g->l4 = 0;
	g->now_ns = bpf_ktime_get_ns();
	return lx_seg_read_tcp(skb, g, skb->len);
}

LX_INLINE int lx_past_is_fit(const struct lx_seg *g, const struct lx_flow *flow)
{
	const struct lx_stream *s = flow->kind == LX_FLOW_STREAM ? lx_stream_at(flow->index) : 0;
	const struct lx_lane *lane = flow->kind == LX_FLOW_LANE ? lx_lane_at(flow->index) : 0;

	if (s)
		return s->state == LX_STREAM_ON &&
		       lx_accept_stream(s, g, lx_pos_of(g->seq, s->base_seq, s->acked)) ==
			       LX_ACCEPTED;
	return lane && lx_lane_owner(lane->word) != LX_LANE_OURS &&
	       lx_accept_lane(lane, g) == LX_ACCEPTED;
}

/* Tells the daemon of LX_PAST in LX_PAST_NS, by one interface: one could be forged. */
static LX_NOINLINE int lx_past_note(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 ifindex = skb->ifindex;
	struct lx_flow *flow;

	if (!g || !lx_past_read(skb, g))
		return 0;
	flow = lx_flow_of(&g->key);
	if (!flow || !lx_past_is_fit(g, flow))
		return 0;
	if (flow->past_in != ifindex || g->now_ns - flow->past_ns > LX_PAST_NS) {
		flow->past_in = ifindex;
		flow->past_ns = g->now_ns;
		flow->past = 0;
	}
	if (++flow->past == LX_PAST)
		lx_record_emit(flow->kind == LX_FLOW_STREAM ? LX_RECORD_STREAM_PAST
							    : LX_RECORD_LANE_PAST,
			       flow->index, ifindex);
	return 0;
}

#endif
