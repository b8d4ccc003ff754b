/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ICMP "packet too big" from routers on the path to a next hop. They quote the packet that was too
 * large. If it was a lane's, the lane's socket has never sent that sequence number and would ignore
 * the message. So if the quoted bytes are in flight, the quoted number is replaced by the socket's
 * own; the socket then learns the MTU, and the daemon is told to read it.
 */
#ifndef LX_BPF_ICMP_H
#define LX_BPF_ICMP_H

#include "next_hop.h"

#define LX_ICMP_UNREACHABLE 3
#define LX_ICMP_TOO_LARGE 4 /* its code: fragmentation needed */
#define LX_ICMP6_TOO_LARGE 2

struct lx_icmp_hdr {
	__u8 type, code;
	__u16 csum;
	__be32 value;
} LX_PACKET_HDR;

/* The part of the quoted packet that identifies its connection. */
struct lx_quote {
	struct lx_icmp_hdr icmp;
	union {
		struct {
			struct lx_ip4_hdr ip;
			struct lx_tcp_start tcp;
		} LX_PACKET_HDR v4;
		struct {
			struct lx_ip6_hdr ip;
			struct lx_tcp_start tcp;
		} LX_PACKET_HDR v6;
	};
} LX_PACKET_HDR;
#define LX_QUOTE4 (sizeof(struct lx_icmp_hdr) + sizeof(struct lx_ip4_hdr) + 8)
#define LX_QUOTE6 (sizeof(struct lx_icmp_hdr) + sizeof(struct lx_ip6_hdr) + 8)

/*
 * Reads the connection of the quoted packet, as the key of an incoming one. Returns the offset of
 * the quoted sequence number; 0: not TCP, or not about an MTU.
 */
LX_INLINE __u32 lx_quote_read4(struct __sk_buff *skb, struct lx_flow_key *key, __u32 *ret_seq)
{
	__u32 at = ETH_HLEN + sizeof(struct lx_ip4_hdr);
	struct lx_quote q;

	if (bpf_skb_load_bytes(skb, at, &q, LX_QUOTE4) || q.icmp.type != LX_ICMP_UNREACHABLE ||
	    q.icmp.code != LX_ICMP_TOO_LARGE || q.v4.ip.ver_ihl != 0x45 || q.v4.ip.proto != 6)
		return 0;
	lx_packet_map(key->remote, q.v4.ip.dst);
	lx_packet_map(key->local, q.v4.ip.src);
	key->remote_port = q.v4.tcp.dport;
	key->local_port = q.v4.tcp.sport;
	*ret_seq = lx_be32(q.v4.tcp.seq);
	return at + LX_QUOTE4 - sizeof(__be32);
}

LX_INLINE __u32 lx_quote_read6(struct __sk_buff *skb, struct lx_flow_key *key, __u32 *ret_seq)
{
	__u32 at = ETH_HLEN + sizeof(struct lx_ip6_hdr);
	struct lx_quote q;

	if (bpf_skb_load_bytes(skb, at, &q, LX_QUOTE6) || q.icmp.type != LX_ICMP6_TOO_LARGE ||
	    q.v6.ip.next != 6)
		return 0;
	__builtin_memcpy(key->remote, q.v6.ip.dst, sizeof(key->remote));
	__builtin_memcpy(key->local, q.v6.ip.src, sizeof(key->local));
	key->remote_port = q.v6.tcp.dport;
	key->local_port = q.v6.tcp.sport;
	*ret_seq = lx_be32(q.v6.tcp.seq);
	return at + LX_QUOTE6 - sizeof(__be32);
}

/* Maps a sequence number on the wire to one that the lane's socket accepts; else returns @seq. */
LX_INLINE __u32 lx_lane_quoted(const struct lx_lane *lane, __u32 seq)
{
	__u64 pos = lx_pos_of(seq, lane->base_seq, lane->una);

	if (lx_lane_owner(lane->word) == LX_LANE_OURS)
		return seq - lane->socket_shift;
	if (lx_pos_before(pos, lane->una) ||
	    !lx_pos_before(pos, lx_lane_next(lane->word, lane->una)))
		return seq;
	/*
	 * A part that the programs sent before the lane was stored may be beyond what the socket
	 * sent.
	 */
	if (lane->state == LX_LANE_STORED)
		return lx_lane_socket_hears(lane, seq);
	return lane->base_seq - lane->shift;
}

/* Always passes the packet up. */
static LX_NOINLINE int lx_icmp_in(struct __sk_buff *skb, struct lx_scratch *w)
{
	__u32 v6 = skb->protocol == lx_be16(ETH_P_IPV6), seq = 0, at, mine;
	struct lx_lane *lane;
	struct lx_flow *flow;

	at = v6 ? lx_quote_read6(skb, &w->g.key, &seq) : lx_quote_read4(skb, &w->g.key, &seq);
	flow = at ? lx_flow_of(&w->g.key) : 0;
	if (!flow || flow->kind != LX_FLOW_LANE)
		return LX_GO_ON;
	w->index = flow->index;
	lane = lx_lane_at(w->index);
	if (!lane || lane->state == LX_LANE_FREE)
		return LX_GO_ON;
	mine = lx_lane_quoted(lane, seq);
	lx_seg_put32(skb, ETH_HLEN + (v6 ? sizeof(struct lx_ip6_hdr) : sizeof(struct lx_ip4_hdr)) +
				  __builtin_offsetof(struct lx_icmp_hdr, csum),
		     at, lx_be32(seq), lx_be32(mine));
	lx_record_emit(LX_RECORD_MSS, w->index, 0);
	return LX_GO_ON;
}

#endif
