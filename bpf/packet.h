/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parses a received frame: from the Ethernet header to the TCP ports and flags.
 *
 * One pass with a cursor; compiles for BPF, and natively for tests and the fuzzer. A reader
 * function returns NULL if the frame is too short.
 *
 * A frame with a VLAN ID belongs to a VLAN interface on top of this one and is reported as
 * LX_PACKET_OTHER; ID 0 is only a priority. Only the first fragment is parsed: systems discard
 * datagrams with overlapping fragments, so its header is the one that counts.
 */
#ifndef LX_BPF_PACKET_H
#define LX_BPF_PACKET_H

#include <linux/if_ether.h>

#include "../include/lnetx/wire.h"

#ifndef __bpf__
#include <string.h>
#endif

#define LX_PACKET_TAGS 2 /* VLAN tags that are followed */
#define LX_PACKET_EXTENSIONS 8 /* IPv6 extension headers */

enum lx_packet_kind {
	LX_PACKET_OTHER, /* not IP, or not of this interface */
	LX_PACKET_TRUNCATED, /* headers are cut off, or too many */
	LX_PACKET_IP, /* only source and destination are known */
	LX_PACKET_TCP_FRAGMENT, /* ports are known; the flags are in a later fragment */
	LX_PACKET_TCP,
};

#define LX_TCP_SYN 0x02
#define LX_TCP_ACK 0x10

struct lx_packet {
	__u8 src[16], dst[16]; /* IPv4 mapped */
	__be16 sport, dport;
	__u32 flags; /* of TCP */
	__u32 l4;    /* offset of the TCP header from the IP header */
	__u32 fragment; /* it is the first of several */
};

struct lx_cursor {
	const __u8 *at, *end;
};

/* Headers as far as needed, in network order; frames start at any even address. */
#define LX_PACKET_HDR __attribute__((packed, aligned(2)))

struct lx_vlan_hdr {
	__be16 tci, proto;
} LX_PACKET_HDR;

struct lx_ip4_hdr {
	__u8 ver_ihl, tos;
	__be16 len, id, frag;
	__u8 ttl, proto;
	__u16 csum;
	__u8 src[4], dst[4];
} LX_PACKET_HDR;

struct lx_ip6_hdr {
	__be32 flow;
	__be16 len;
	__u8 next, hops;
	__u8 src[16], dst[16];
} LX_PACKET_HDR;

struct lx_ip6_ext_hdr {
	__u8 next, len;
	__be16 frag; /* of a fragment header */
	__u32 id;
} LX_PACKET_HDR;

/* The kernel's header of GSO packets that are too long for the IPv6 length field. */
struct lx_ip6_jumbo_hdr {
	__u8 next, len, option, option_len;
	__be32 jumbo_len;
} LX_PACKET_HDR;

struct lx_tcp_start {
	__be16 sport, dport;
	__be32 seq;
} LX_PACKET_HDR;

struct lx_tcp_flags {
	__be32 ack;
	__u8 offset, flags;
} LX_PACKET_HDR;

LX_INLINE const void *lx_cursor_take(struct lx_cursor *c, __u32 len)
{
	const __u8 *at = c->at;

	if (at + len > c->end)
		return 0;
	c->at = at + len;
	return at;
}

LX_INLINE void lx_packet_map(__u8 *to, const __u8 *v4)
{
	memset(to, 0, 10);
	to[10] = to[11] = 0xff;
	memcpy(to + 12, v4, 4);
}

LX_INLINE enum lx_packet_kind lx_packet_tcp(struct lx_cursor *c, __u32 l4, int fragment,
					    struct lx_packet *p)
{
	const struct lx_tcp_start *start = lx_cursor_take(c, sizeof(*start));
	const struct lx_tcp_flags *flags;

	p->l4 = l4;
	p->fragment = fragment;
	if (!start)
		return LX_PACKET_TRUNCATED;
	p->sport = start->sport;
	p->dport = start->dport;
	flags = lx_cursor_take(c, sizeof(*flags));
	if (!flags)
		return fragment ? LX_PACKET_TCP_FRAGMENT : LX_PACKET_TRUNCATED;
	p->flags = flags->flags;
	return LX_PACKET_TCP;
}

LX_INLINE enum lx_packet_kind lx_packet_ip4(struct lx_cursor *c, struct lx_packet *p)
{
	const struct lx_ip4_hdr *ip = lx_cursor_take(c, sizeof(*ip));
	__u32 options, frag;

	if (!ip)
		return LX_PACKET_TRUNCATED;
	lx_packet_map(p->src, ip->src);
	lx_packet_map(p->dst, ip->dst);
	frag = lx_be16(ip->frag);
	options = (ip->ver_ihl & 15) * 4;
	if (options < sizeof(*ip) || ip->proto != 6 || (frag & 0x1fff))
		return LX_PACKET_IP;
	if (!lx_cursor_take(c, (options - sizeof(*ip)) & 63))
		return LX_PACKET_TRUNCATED;
	return lx_packet_tcp(c, options, frag & 0x2000, p);
}

/* Whether a header is one of those that stand between IPv6 and TCP. */
LX_INLINE int lx_packet_is_extension(__u8 next)
{
	return next == 0 || next == 43 || next == 44 || next == 51 || next == 60;
}

LX_INLINE enum lx_packet_kind lx_packet_ip6(struct lx_cursor *c, struct lx_packet *p)
{
	const struct lx_ip6_hdr *ip = lx_cursor_take(c, sizeof(*ip));
	const struct lx_ip6_ext_hdr *ext;
	__u32 l4 = sizeof(*ip), more;
	int i, fragment = 0;
	__u8 next;

	if (!ip)
		return LX_PACKET_TRUNCATED;
	memcpy(p->src, ip->src, 16);
	memcpy(p->dst, ip->dst, 16);
	next = ip->next;
	for (i = 0; i < LX_PACKET_EXTENSIONS && lx_packet_is_extension(next); i++) {
		ext = lx_cursor_take(c, sizeof(*ext));
		if (!ext)
			return LX_PACKET_TRUNCATED;
		/* Its length: in units of 8 bytes, after the first 8; for AH, of 4. */
		more = next == 44 ? 0 : next == 51 ? ext->len * 4 : ext->len * 8;
		if (next == 44) {
			if (lx_be16(ext->frag) & 0xfff8)
				return LX_PACKET_IP;
			fragment = lx_be16(ext->frag) & 1;
		}
		next = ext->next;
		if (!lx_cursor_take(c, more & 0x7ff))
			return LX_PACKET_TRUNCATED;
		l4 += sizeof(*ext) + more;
	}
	if (lx_packet_is_extension(next))
		return LX_PACKET_TRUNCATED;
	return next == 6 ? lx_packet_tcp(c, l4, fragment, p) : LX_PACKET_IP;
}

/**
 * lx_packet_parse - look at a frame
 * Source and destination are set from LX_PACKET_IP on, and where headers behind them
 * are cut off (@p was zeroed by the caller), ports from LX_PACKET_TCP_FRAGMENT on.
 */
LX_INLINE enum lx_packet_kind lx_packet_parse(const void *data, const void *end,
					      struct lx_packet *p)
{
	struct lx_cursor c = { .at = data, .end = end };
	const struct ethhdr *eth = lx_cursor_take(&c, sizeof(*eth));
	const struct lx_vlan_hdr *vlan;
	__u16 proto;
	int i;

	if (!eth)
		return LX_PACKET_OTHER;
	proto = lx_be16(eth->h_proto);
	for (i = 0; i < LX_PACKET_TAGS && (proto == ETH_P_8021Q || proto == ETH_P_8021AD); i++) {
		vlan = lx_cursor_take(&c, sizeof(*vlan));
		if (!vlan || (lx_be16(vlan->tci) & 0xfff))
			return LX_PACKET_OTHER;
		proto = lx_be16(vlan->proto);
	}
	if (proto == ETH_P_IP)
		return lx_packet_ip4(&c, p);
	if (proto == ETH_P_IPV6)
		return lx_packet_ip6(&c, p);
	return LX_PACKET_OTHER;
}

#endif
