/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of packets.bpf.c to packets.c. */
#ifndef LX_TEST_PACKETS_H
#define LX_TEST_PACKETS_H

#include <linux/types.h>

/* Where a packet is looked at. */
#define PACKET_POINTS(X) \
	X(ENTRY, "sent to")           /* __dev_queue_xmit(), in front of programs at egress */ \
	X(QUEUE, "queued at")         /* behind those */ \
	X(DRIVER, "in the driver of") /* as it leaves */

enum packet_point {
#define PACKET_POINT_ENUM_(NAME, text) PACKET_POINT_##NAME,
	PACKET_POINTS(PACKET_POINT_ENUM_)
#undef PACKET_POINT_ENUM_
	PACKET_POINT_COUNT
};

/* The fault of a packet. All of these hold for packets of the kernel's own TCP, GRO and veths. */
#define PACKET_CHECKS(X) \
	X(MAC, "mac_header", "is not where the packet begins") \
	X(NETWORK, "network_header", "is not behind the Ethernet header") \
	X(PROTOCOL, "protocol", "is not what the Ethernet header says, or not the IP version") \
	X(IP_LEN, "ip length", "does not agree with the packet's length") \
	X(IP_CSUM, "ip checksum", "is wrong") \
	X(TCP_HLEN, "tcp header", "does not fit into the packet") \
	X(TRANSPORT, "transport_header", "is not behind the IP header") \
	X(LINEAR, "headers", "of a GSO packet are not all in the linear part") \
	X(GSO_TYPE, "gso_type", "is not that of TCP over this IP version") \
	X(GSO_SIZE, "gso_size", "is not less than the payload") \
	X(GSO_SEGS, "gso_segs", "is not payload / gso_size") \
	X(GSO_CSUM, "ip_summed", "of a GSO packet is not CHECKSUM_PARTIAL") \
	X(FRAG_LIST, "frag_list", "has a member that does not begin and end with a segment") \
	X(COMPLETE, "ip_summed", "is CHECKSUM_COMPLETE, which only received packets have") \
	X(CSUM_START, "csum_start", "or csum_offset does not name the TCP checksum") \
	X(PSEUDO, "checksum", "is not the sum of the pseudo header, although CHECKSUM_PARTIAL") \
	X(SUM, "checksum", "is wrong, and nobody will compute it") \
	X(ENCAPSULATION, "encapsulation", "is set") \
	X(VLAN, "vlan_tci", "and vlan_proto do not agree")

enum packet_check {
#define PACKET_CHECK_ENUM_(NAME, field, text) PACKET_CHECK_##NAME,
	PACKET_CHECKS(PACKET_CHECK_ENUM_)
#undef PACKET_CHECK_ENUM_
	PACKET_CHECK_COUNT
};

/* Packets that are wrong in the same way are counted, and the first is told. */
struct packet_key {
	__u32 point, netns, ifindex;
	__u32 wrong; /* bits by enum packet_check */
	__u32 mark; /* without its argument */
};

struct packet_report {
	__u64 count;
	char ifname[16];
	__u8 source[16], dest[16];
	__u32 ipv6;
	__u32 len, data_len, seq;
	__u32 mark, gso_type;
	__u32 l3, l4; /* where the headers are, counted from the packet's begin */
	/* the same, as the kernel has noted it */
	__s32 mac_header, network_header, transport_header, csum_start;
	__u32 ip_len; /* as the IP header says */
	__u16 sport, dport; /* big-endian; so are: */
	__u16 protocol, vlan_proto, tcp_check;
	__u16 vlan_tci, mac_len, hlen, gso_size, gso_segs, csum_offset;
	__u8 ip_summed, encapsulation, has_list, wrong_list;
};

/*
 * What a packet can be made of when an interface receives it: several of these. docs/
 * fastpath-reference.md says who makes each.
 */
#define PACKET_SHAPES(X) \
	X(KMALLOC, "kmalloc") /* the head is no page fragment */ \
	X(HEAD_FRAG, "head_frag") \
	X(FRAGS, "frags") \
	X(SHORT, "short") /* the head has not all headers */ \
	X(LIST, "frag_list") \
	X(LIST_FRAGS, "frag_list_frags") /* with page fragments */ \
	X(CLONED, "cloned") \
	X(SHARED_FRAG, "shared_frag") \
	X(PP_RECYCLE, "pp_recycle") \
	X(GSO, "gso") \
	X(DODGY, "dodgy") \
	X(SEGS_0, "gso_segs_0") \
	X(SMALL, "gso_small") /* not longer than a segment */ \
	X(NO_TYPE, "gso_type_0") /* as LRO makes */ \
	X(FRAGLIST, "gso_fraglist") \
	X(BIG, "big") /* longer than an IP header can say */ \
	X(NONE, "csum_none") \
	X(UNNECESSARY, "csum_unnecessary") \
	X(COMPLETE, "csum_complete") \
	X(PARTIAL, "csum_partial") \
	X(TAG, "tag") /* of a VLAN; the stack puts it beside the packet */

enum packet_shape {
#define PACKET_SHAPE_ENUM_(NAME, name) PACKET_SHAPE_##NAME,
	PACKET_SHAPES(PACKET_SHAPE_ENUM_)
#undef PACKET_SHAPE_ENUM_
	PACKET_SHAPE_COUNT
};

struct shape_key {
	__u32 netns, ifindex;
};

struct shape_report {
	char ifname[16];
	__u64 count[PACKET_SHAPE_COUNT];
};

struct drop_key {
	__u64 location; /* in the kernel */
	__u32 reason, netns;
};

struct drop_report {
	__u64 count;
	char ifname[16]; /* of the first */
	__u32 len, mark;
};

#endif
