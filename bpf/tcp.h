/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A TCP segment in a packet: reading its headers, and writing new ones over them.
 *
 * A checksum field has one of two forms. On received packets, and on those for an interface that
 * cannot compute checksums, it covers the whole segment; on packets of this machine that an
 * interface completes, it covers only the pseudo header ("partial"). A new checksum must have
 * the form of the packet's (checksum.h).
 */
#ifndef LX_BPF_TCP_H
#define LX_BPF_TCP_H

#include <linux/if_ether.h>

#include "ack.h"
#include "checksum.h"
#include "skb.h"

#define LX_TCP_FIN 0x01
#define LX_TCP_RST 0x04
#define LX_TCP_PSH 0x08
#define LX_TCP_URG 0x20

struct lx_tcp_hdr {
	__be16 sport, dport;
	__be32 seq, ack;
	__u8 offset, flags;
	__be16 window;
	__u16 csum, urgent;
};
LX_LAYOUT(struct lx_tcp_hdr, 20);

#define LX_TCP_OPTIONS_MAX 40
#define LX_TCP_TS_LEN 12
#define LX_TCP_TS_START 0x0101080au /* NOP NOP TIMESTAMP 10, as everyone writes it */

struct lx_block {
	__u32 start, end;
};

/* Unusual forms of a segment. Its data goes to our socket if possible. */
enum lx_seg_odd {
	LX_ODD_HEADERS = 1,  /* IP options, or IPv6 extension headers */
	LX_ODD_FRAGMENT = 2, /* the first IP fragment: the others pass unseen */
	LX_ODD_URGENT = 4,
};

/* A segment. Kept in a map: too large for the stack. */
struct lx_seg {
	__u64 now_ns;   /* when the packet arrived */
	struct lx_flow_key key; /* as in an incoming packet */
	__u32 ours;     /* outgoing: key is reversed */
	__u32 family;
	__u32 odd;      /* enum lx_seg_odd */
	__u32 jumbo;    /* bytes between the IPv6 and TCP headers of a BIG TCP packet */
	__u32 l4;       /* offset of the TCP header */
	__u32 hlen;     /* length of the TCP header */
	__u32 len;      /* of the payload */
	__u32 seq, ack, window, flags; /* host order */
	__u32 has_ts, tsval, tsecr;
	__u32 n_block, block_at; /* offset in options[] */
	struct lx_block block[4]; /* SACK */
	__u32 option_at; /* the parser's offset in options[] */
	union {
		struct lx_ip4_hdr ip4;
		struct lx_ip6_hdr ip6;
		__u8 l3[40];
	};
	struct lx_tcp_hdr tcp; /* as in the packet */
	__u8 options[LX_TCP_OPTIONS_MAX + 24]; /* as in the packet; room for masking */
	/* New headers: IP, then TCP, then zeroes. */
	__u8 out_l3[40];
	struct lx_tcp_hdr out;
	__be32 out_options[LX_TCP_OPTIONS_MAX / 4];
	__be32 end;
};

LX_INLINE __u32 lx_seg_payload(const struct lx_seg *g)
{
	return g->l4 + g->hlen;
}

/* ---- reading ------------------------------------------------------------------------ */

LX_INLINE __u32 lx_option32(const struct lx_seg *g, __u32 at)
{
	__be32 v;

	LX_OPAQUE(at);
	at &= 63;
	if (at > sizeof(g->options) - sizeof(v))
		return 0;
	__builtin_memcpy(&v, &g->options[at], sizeof(v));
	return lx_be32(v);
}

LX_INLINE __u8 lx_option8(const struct lx_seg *g, __u32 at)
{
	LX_OPAQUE(at);
	return g->options[at & 63];
}

/* Reads the SACK blocks of an option of @len bytes at @at. */
LX_INLINE void lx_seg_blocks(struct lx_seg *g, __u32 at, __u32 len)
{
	g->block_at = at;
	g->n_block = (len - 2) / 8;
	if (g->n_block > 4)
		g->n_block = 4;
	g->block[0] = (struct lx_block){ lx_option32(g, at + 2), lx_option32(g, at + 6) };
	g->block[1] = (struct lx_block){ lx_option32(g, at + 10), lx_option32(g, at + 14) };
	g->block[2] = (struct lx_block){ lx_option32(g, at + 18), lx_option32(g, at + 22) };
	g->block[3] = (struct lx_block){ lx_option32(g, at + 26), lx_option32(g, at + 30) };
}

static long lx_seg_option(__u32 i, void *arg)
{
	struct lx_seg *g = *(struct lx_seg **)arg; /* the helper wants its argument on the stack */
	__u32 at = g->option_at, kind, len;

	(void)i;
	if (at + 20 >= g->hlen)
		return 1;
	kind = lx_option8(g, at);
	if (kind == 0)
		return 1;
	if (kind == 1) {
		g->option_at = at + 1;
		return 0;
	}
	len = lx_option8(g, at + 1);
	if (len < 2)
		return 1;
	if (kind == 8 && len == 10) {
		g->has_ts = 1;
		g->tsval = lx_option32(g, at + 2);
		g->tsecr = lx_option32(g, at + 6);
	}
	if (kind == 5)
		lx_seg_blocks(g, at, len);
	g->option_at = at + len;
	return 0;
}

LX_INLINE void lx_seg_options(struct lx_seg *g)
{
	g->has_ts = 0;
	g->n_block = 0;
	g->option_at = 0;
	if (g->hlen == sizeof(struct lx_tcp_hdr))
		return;
	if (lx_option32(g, 0) == LX_TCP_TS_START) {
		g->has_ts = 1;
		g->tsval = lx_option32(g, 4);
		g->tsecr = lx_option32(g, 8);
		g->option_at = LX_TCP_TS_LEN;
	}
	if (g->option_at + sizeof(struct lx_tcp_hdr) < g->hlen)
		bpf_loop(LX_TCP_OPTIONS_MAX, lx_seg_option, &g, 0);
}

#ifdef __bpf__

/* A GSO packet may be longer than a length field can express. */
LX_INLINE __u32 lx_seg_len(const struct __sk_buff *skb, __u32 field, __u32 from)
{
	return field || !skb->gso_size ? field : skb->len - from;
}

LX_INLINE __u32 lx_seg_read_ip4(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 all;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &g->ip4, sizeof(g->ip4)))
		return 0;
	if (g->ip4.ver_ihl != 0x45 || g->ip4.proto != 6 || (lx_be16(g->ip4.frag) & 0x3fff) ||
	    (!g->ours && !lx_csum_ip4_is_right(&g->ip4)))
		return 0;
	g->family = LX_AF_INET;
	g->l4 = ETH_HLEN + sizeof(g->ip4);
	lx_packet_map(g->ours ? g->key.local : g->key.remote, g->ip4.src);
	lx_packet_map(g->ours ? g->key.remote : g->key.local, g->ip4.dst);
	all = lx_seg_len(skb, lx_be16(g->ip4.len), ETH_HLEN);
	return all > sizeof(g->ip4) ? all - sizeof(g->ip4) : 0;
}

/* A BIG TCP packet has a jumbo header with its length; it stays in packets made from this one. */
LX_INLINE int lx_seg_read_jumbo(struct __sk_buff *skb, struct lx_seg *g)
{
	struct lx_ip6_jumbo_hdr jumbo;

	if (g->ip6.next || g->ip6.len || !skb->gso_size ||
	    bpf_skb_load_bytes(skb, g->l4, &jumbo, sizeof(jumbo)) || jumbo.next != 6 ||
	    jumbo.len || jumbo.option != 0xc2)
		return 0;
	g->jumbo = sizeof(jumbo);
	g->l4 += g->jumbo;
	return 1;
}

/*
 * Whether an address stands for one of IPv4, as in the keys of IPv4 connections. No packet of IPv6
 * may have one; it would count as one of theirs.
 */
LX_INLINE int lx_is_mapped(const __u8 *addr)
{
	__u64 high;
	__be32 middle;

	__builtin_memcpy(&high, addr, sizeof(high));
	__builtin_memcpy(&middle, addr + sizeof(high), sizeof(middle));
	return !high && middle == lx_be32(0xffff);
}

LX_INLINE __u32 lx_seg_read_ip6(struct __sk_buff *skb, struct lx_seg *g)
{
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &g->ip6, sizeof(g->ip6)))
		return 0;
	g->family = LX_AF_INET6;
	g->l4 = ETH_HLEN + sizeof(g->ip6);
	if (g->l3[0] >> 4 != 6 || (g->ip6.next != 6 && !lx_seg_read_jumbo(skb, g)))
		return 0;
	if (lx_is_mapped(g->ip6.src) || lx_is_mapped(g->ip6.dst))
		return 0;
	__builtin_memcpy(g->ours ? g->key.local : g->key.remote, g->ip6.src, 16);
	__builtin_memcpy(g->ours ? g->key.remote : g->key.local, g->ip6.dst, 16);
	return lx_seg_len(skb, lx_be16(g->ip6.len), g->l4);
}

/* Whether it belongs to a VLAN. ID 0 is a priority, and the packet the interface's own. */
LX_INLINE int lx_is_tagged(const struct __sk_buff *skb)
{
	return skb->vlan_present && (skb->vlan_tci & 0xfff);
}

/* Returns the length of the TCP segment, or 0 if it is not in the usual form. */
LX_INLINE __u32 lx_seg_read_ip(struct __sk_buff *skb, struct lx_seg *g)
{
	g->odd = g->jumbo = 0;
	if (skb->protocol == lx_be16(ETH_P_IP))
		return lx_seg_read_ip4(skb, g);
	return skb->protocol == lx_be16(ETH_P_IPV6) ? lx_seg_read_ip6(skb, g) : 0;
}

/* Whether the packet is ICMP, in the usual form. */
LX_INLINE int lx_seg_is_icmp(struct __sk_buff *skb, const struct lx_seg *g)
{
	if (lx_is_tagged(skb))
		return 0;
	if (skb->protocol == lx_be16(ETH_P_IP))
		return g->ip4.ver_ihl == 0x45 && g->ip4.proto == 1 &&
		       !(lx_be16(g->ip4.frag) & 0x3fff);
	return skb->protocol == lx_be16(ETH_P_IPV6) && g->ip6.next == 58;
}

/* @all: length of the segment with its header. Returns 1, or 0: malformed. */
LX_INLINE int lx_seg_read_tcp(struct __sk_buff *skb, struct lx_seg *g, __u32 all)
{
	__u32 n;

	if (all < sizeof(g->tcp) || bpf_skb_load_bytes(skb, g->l4, &g->tcp, sizeof(g->tcp)))
		return 0;
	g->hlen = (g->tcp.offset >> 4) * 4;
	if (g->hlen < sizeof(g->tcp) || all < g->hlen || skb->len < g->l4 + all)
		return 0;
	n = g->hlen - sizeof(g->tcp);
	if (n) {
		n = LX_LENGTH(n, 63);
		if (n > LX_TCP_OPTIONS_MAX ||
		    bpf_skb_load_bytes(skb, g->l4 + sizeof(g->tcp), g->options, n))
			return 0;
	}
	g->len = all - g->hlen;
	g->key.remote_port = g->ours ? g->tcp.dport : g->tcp.sport;
	g->key.local_port = g->ours ? g->tcp.sport : g->tcp.dport;
	g->seq = lx_be32(g->tcp.seq);
	g->ack = lx_be32(g->tcp.ack);
	g->window = lx_be16(g->tcp.window);
	g->flags = g->tcp.flags;
	if (g->flags & LX_TCP_URG)
		g->odd |= LX_ODD_URGENT;
	lx_seg_options(g);
	return 1;
}

/**
 * lx_seg_read - read the headers of a packet
 * @g: ours set
 * Returns 1, or 0: not TCP, or not in the usual form.
 */
LX_INLINE int lx_seg_read(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 all;

	if (lx_is_tagged(skb))
		return 0;
	all = lx_seg_read_ip(skb, g);
	return all && lx_seg_read_tcp(skb, g, all);
}

/* Whether lx_seg_read_odd() should look at a packet that lx_seg_read() has refused. */
LX_INLINE int lx_seg_may_be_tcp(struct __sk_buff *skb, const struct lx_seg *g)
{
	if (lx_is_tagged(skb))
		return 0;
	if (skb->protocol == lx_be16(ETH_P_IP))
		return g->ip4.proto == 6;
	return skb->protocol == lx_be16(ETH_P_IPV6) &&
	       (g->ip6.next == 6 || lx_packet_is_extension(g->ip6.next));
}

/* The maximum length of a datagram, also after reassembly. */
#define LX_IP_MAX 65535

/* Whether the checksum of an IPv4 header with options is right. */
LX_INLINE int lx_seg_ip4_is_right(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 n = (g->ip4.ver_ihl & 15) * 4;

	n = LX_LENGTH(n, 63);
	return !bpf_skb_load_bytes(skb, ETH_HLEN, g->options, n) &&
	       lx_csum_fold((__u32)bpf_csum_diff(0, 0, (__be32 *)g->options, n & ~3u, 0)) == 0xffff;
}

/* Headers are looked for in this many bytes of a packet. */
#define LX_SEG_HEADERS 256

/**
 * lx_seg_read_odd - read the headers of a packet with more headers than usual, or a first fragment
 * Returns 1; 0: not TCP, or its start is in another fragment, or the stack is sure to drop it;
 * -1: malformed, but g->key is set.
 */
LX_GLOBAL int lx_seg_read_odd(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 len = skb->len, from, all;
	struct lx_packet p = { 0 };

	/* All of it, or members of the list do not end with segments any more. */
	if (len > LX_SEG_HEADERS && !lx_has_frag_list(skb))
		len = LX_SEG_HEADERS;
	if (!g || bpf_skb_pull_data(skb, len))
		return 0;
	if (lx_packet_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &p) <
	    LX_PACKET_TCP_FRAGMENT)
		return 0;
	g->family = skb->protocol == lx_be16(ETH_P_IP) ? LX_AF_INET : LX_AF_INET6;
	if (g->family == LX_AF_INET
		    ? !lx_seg_ip4_is_right(skb, g)
		    : g->l3[0] >> 4 != 6 || lx_is_mapped(p.src) || lx_is_mapped(p.dst))
		return 0;
	from = g->family == LX_AF_INET ? sizeof(g->ip4) : sizeof(g->ip6);
	g->odd = (p.l4 > from ? LX_ODD_HEADERS : 0) | (p.fragment ? LX_ODD_FRAGMENT : 0);
	g->l4 = ETH_HLEN + p.l4;
	__builtin_memcpy(g->key.remote, p.src, sizeof(p.src));
	__builtin_memcpy(g->key.local, p.dst, sizeof(p.dst));
	g->key.remote_port = p.sport;
	g->key.local_port = p.dport;
	/* The length field of IPv4 includes its own header, that of IPv6 does not. */
	if (g->family == LX_AF_INET)
		from = 0;
	all = lx_be16(g->family == LX_AF_INET ? g->ip4.len : g->ip6.len);
	all = lx_seg_len(skb, all, ETH_HLEN + from);
	return all > p.l4 - from && lx_seg_read_tcp(skb, g, all - (p.l4 - from)) ? 1 : -1;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* Makes an IP header for @len bytes of TCP; its length field is 0 if @len does not fit. */
LX_INLINE void lx_seg_make_ip(struct lx_seg *g, const __u8 *src, const __u8 *dst, __u32 family,
			      __u32 tos, __u32 len)
{
	struct lx_ip4_hdr *ip4 = (void *)g->out_l3;
	struct lx_ip6_hdr *ip6 = (void *)g->out_l3;

	__builtin_memset(g->out_l3, 0, sizeof(g->out_l3));
	if (family == LX_AF_INET6) {
		ip6->flow = lx_be32(0x60000000 | (tos & 0xff) << 20);
		ip6->len = g->jumbo || len > 65535 ? 0 : lx_be16(len);
		ip6->next = g->jumbo ? 0 : 6;
		ip6->hops = 64;
		__builtin_memcpy(ip6->src, src, 16);
		__builtin_memcpy(ip6->dst, dst, 16);
		g->l4 = ETH_HLEN + sizeof(*ip6) + g->jumbo;
		return;
	}
	ip4->ver_ihl = 0x45;
	ip4->tos = tos;
	ip4->len = len + sizeof(*ip4) > 65535 ? 0 : lx_be16(len + sizeof(*ip4));
	ip4->frag = lx_be16(0x4000);
	ip4->ttl = 64;
	ip4->proto = 6;
	__builtin_memcpy(ip4->src, src + 12, 4);
	__builtin_memcpy(ip4->dst, dst + 12, 4);
	ip4->csum = ~lx_csum_fold(lx_csum_words(g->out_l3, sizeof(*ip4) / 4));
	g->l4 = ETH_HLEN + sizeof(*ip4);
}

/* Makes a TCP header without options; the caller sets ports, seq, ack and window. */
LX_INLINE void lx_seg_make_tcp(struct lx_seg *g, __u32 hlen, __u8 flags)
{
	__builtin_memset(&g->out, 0, sizeof(g->out));
	__builtin_memset(g->out_options, 0, sizeof(g->out_options));
	g->out.offset = hlen / 4 << 4;
	g->out.flags = flags;
}

LX_INLINE void lx_seg_make_ts(struct lx_seg *g, const struct lx_tcp_ts *tcp_ts)
{
	g->out_options[0] = lx_be32(LX_TCP_TS_START);
	g->out_options[1] = lx_be32((__u32)(g->now_ns / 1000000) + tcp_ts->offset);
	g->out_options[2] = lx_be32(tcp_ts->recent);
}

/*
 * Writes the new headers into the packet. @hlen: length of the TCP header.
 *
 * Its hash was that of the sender's connection: CPUs and queues chosen by that would reorder what
 * several senders have on a lane, and of that PAWS drops what bears an older millisecond.
 */
LX_INLINE int lx_seg_store(struct __sk_buff *skb, struct lx_seg *g, __u32 family, __u32 hlen,
			   __u64 flags)
{
	__u32 n = hlen;

	if (bpf_skb_store_bytes(skb, ETH_HLEN, g->out_l3,
				family == LX_AF_INET6 ? sizeof(struct lx_ip6_hdr)
						      : sizeof(struct lx_ip4_hdr),
				flags | BPF_F_INVALIDATE_HASH))
		return -1;
	n = LX_LENGTH(n, 63);
	if (n > 60)
		return -1;
	return bpf_skb_store_bytes(skb, g->l4, &g->out, n, flags) ? -1 : 0;
}

/* Sets the checksum of a segment without payload. */
LX_INLINE void lx_seg_make_csum(struct lx_seg *g, __u32 family, __u32 hlen, int partial)
{
	__u64 sum = lx_csum_pseudo(g->out_l3, family, hlen);

	g->out.csum = 0;
	if (!partial)
		sum += bpf_csum_diff(0, 0, (__be32 *)&g->out, 60, 0);
	g->out.csum = partial ? lx_csum_fold(sum) : (__u16)~lx_csum_fold(sum);
}

/*
 * Changes 4 bytes of a segment, and its checksum. @from: the old value, network order.
 */
LX_INLINE void lx_seg_put32(struct __sk_buff *skb, __u32 csum_at, __u32 at, __be32 from, __be32 to)
{
	if (from == to)
		return;
	bpf_skb_store_bytes(skb, at, &to, sizeof(to), 0);
	bpf_l4_csum_replace(skb, csum_at, from, to, sizeof(to));
}

LX_INLINE __u32 lx_csum_at(const struct lx_seg *g)
{
	return g->l4 + __builtin_offsetof(struct lx_tcp_hdr, csum);
}

LX_INLINE void lx_seg_put_seq(struct __sk_buff *skb, const struct lx_seg *g, __u32 seq)
{
	lx_seg_put32(skb, lx_csum_at(g), g->l4 + __builtin_offsetof(struct lx_tcp_hdr, seq),
		     g->tcp.seq, lx_be32(seq));
}

LX_INLINE void lx_seg_put_ack(struct __sk_buff *skb, const struct lx_seg *g, __u32 ack)
{
	lx_seg_put32(skb, lx_csum_at(g), g->l4 + __builtin_offsetof(struct lx_tcp_hdr, ack),
		     g->tcp.ack, lx_be32(ack));
}

/* Writes g->out_options over the SACK blocks. */
LX_INLINE int lx_seg_put_blocks(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 at = g->block_at, n = 4 + 8 * g->n_block;
	__s64 diff;

	LX_OPAQUE(at);
	/* Every TCP writes NOP NOP SACK, so the blocks are aligned. */
	if ((at & 3) != 2 || at > 30 || n > 36)
		return -1;
	diff = bpf_csum_diff((__be32 *)&g->options[(at - 2) & 31], n, g->out_options, n, 0);
	if (bpf_skb_store_bytes(skb, g->l4 + sizeof(g->tcp) + at - 2, g->out_options, n, 0))
		return -1;
	return bpf_l4_csum_replace(skb, lx_csum_at(g), 0, diff, 0);
}

/* Replaces SACK blocks, which are wrong for the other side, by NOPs. */
LX_INLINE int lx_seg_drop_blocks(struct __sk_buff *skb, struct lx_seg *g)
{
	__u32 i;

	if (!g->n_block)
		return 0;
	for (i = 0; i < LX_TCP_OPTIONS_MAX / 4; i++)
		g->out_options[i] = lx_be32(0x01010101);
	return lx_seg_put_blocks(skb, g);
}

/* Shifts SACK blocks to the other side's sequence numbers. */
LX_INLINE int lx_seg_shift_blocks(struct __sk_buff *skb, struct lx_seg *g, __u32 shift)
{
	__u32 i;

	if (!g->n_block)
		return 0;
	g->out_options[0] = lx_be32(0x01010502 + 8 * g->n_block);
	for (i = 0; i < 4; i++) {
		g->out_options[1 + 2 * i] = lx_be32(g->block[i].start - shift);
		g->out_options[2 + 2 * i] = lx_be32(g->block[i].end - shift);
	}
	return lx_seg_put_blocks(skb, g);
}

#endif

#endif
