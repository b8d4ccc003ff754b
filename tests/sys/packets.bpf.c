/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Do packets have true headers, and why are some dropped? packets.c loads this; lib.bash:
 * watch_packets.
 *
 * Each TCP packet that an interface of the test's namespaces sends is looked at up to three times:
 * where it enters the interface, where newer kernels read the TCP header of GSO packets before any
 * program at egress runs (if this kernel allows programs there); when it is queued, behind those programs; and
 * when the driver gets it, segmented if need be. The fields of struct sk_buff must agree with the
 * bytes. Fields that the kernel itself does not keep true are not checked: mac_len, which is set
 * only where it is used; hash; the transport header of packets without GSO whose checksum is complete.
 *
 * A complete checksum is only verified here if the whole packet is linear, as this kind of program
 * cannot read pages. Receivers verify it, and count it (TcpInCsumErrors). Of what they drop, only what is
 * dropped before it belongs to a socket is seen here: from then on a packet has no interface.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "internal/abi.h"
#include "packets.h"

#define ARPHRD_ETHER 1
#define ARPHRD_LOOPBACK 772
#define ETH_P_8021Q_BE bpf_htons(ETH_P_8021Q)
#define ETH_P_8021AD_BE bpf_htons(ETH_P_8021AD)
#define UNSET ((__u16)~0)

/* Bits of gso_type, which no header for programs has; the same in all kernels. */
#define GSO_TCPV4 (1u << 0)
#define GSO_DODGY (1u << 1)
#define GSO_TCPV6 (1u << 4)
#define GSO_OTHERS 0x7ffe0u /* FCoE, tunnels, UDP, SCTP, lists; the rest say more about TCP */
#define CHECKSUM_COMPLETE 2
#define CHECKSUM_PARTIAL 3

/* Bytes of TCP that are summed up. */
#define SUM_MAX 4096
#define SUM_STEP 64

/* ---- the kernel's structures ------------------------------------------------------------- */

struct ns_common___lx {
	__u32 inum;
} __attribute__((preserve_access_index));

struct net___lx {
	struct ns_common___lx ns;
} __attribute__((preserve_access_index));

struct possible_net___lx {
	struct net___lx *net;
} __attribute__((preserve_access_index));

struct net_device___lx {
	char name[16];
	int ifindex;
	unsigned short type;
	struct possible_net___lx nd_net;
} __attribute__((preserve_access_index));

struct sk_buff___lx {
	struct net_device___lx *dev;
	__u32 len, data_len;
	__u16 mac_len;
	__u8 ip_summed : 2;
	__u8 encapsulation : 1;
	__u16 csum_start, csum_offset;
	__u32 mark;
	__u16 vlan_proto, vlan_tci;
	__u16 protocol, transport_header, network_header, mac_header;
	__u32 end;
	unsigned char *head, *data;
	struct sk_buff___lx *next;
	__u8 cloned : 1;
	__u8 head_frag : 1;
	__u8 pp_recycle : 1;
} __attribute__((preserve_access_index));

struct skb_shared_info___lx {
	__u8 flags, nr_frags;
	unsigned short gso_size, gso_segs;
	unsigned int gso_type;
	struct sk_buff___lx *frag_list;
} __attribute__((preserve_access_index));

/* ---- maps -------------------------------------------------------------------------------- */

/* The test's network namespaces. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u32);
} namespaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct packet_key);
	__type(value, struct packet_report);
} reports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct drop_key);
	__type(value, struct drop_report);
} drops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct shape_key);
	__type(value, struct shape_report);
} shapes SEC(".maps");

__u64 checked;
__u64 lists; /* packets with a frag_list that were to be resegmented, or cut */

/* ---- reading ----------------------------------------------------------------------------- */

struct tcp {
	__u16 sport, dport;
	__u32 seq, ack;
	__u8 doff, flags;
	__u16 window, check, urgent;
};

/* As the bytes say. */
struct packet {
	const unsigned char *data;
	__u32 len, linear;
	__u32 l3, l4, hlen, payload;
	__u16 ethertype; /* the first, big-endian */
	__u16 ip_type;   /* the last */
	__u32 ip_len;    /* as in the header; 0: it has no room for the length */
	__u32 addresses; /* their sum */
	__u8 wrong_csum, jumbo;
	__u8 ip[40] __attribute__((aligned(8)));
	struct tcp tcp;
};

static __always_inline __u32 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Equal in one's complement. */
static __always_inline int same_sum(__u32 a, __u32 b)
{
	return fold(a) % 0xffff == fold(b) % 0xffff;
}

static __always_inline __u64 sum_words(const __u8 *at, __u32 words)
{
	const __u32 *word = (const __u32 *)at;
	__u64 sum = 0;
	__u32 i;

#pragma unroll
	for (i = 0; i < words; i++)
		sum += word[i];
	return sum;
}

/* 0, or -1 if it is not TCP over IP, or a fragment. */
static __always_inline int read_ipv4(struct packet *p)
{
	__u32 ihl = (p->ip[0] & 15) * 4;

	if (p->ip[9] != IPPROTO_TCP || (bpf_ntohs(*(__u16 *)&p->ip[6]) & 0x3fff))
		return -1;
	p->ip_len = bpf_ntohs(*(__u16 *)&p->ip[2]);
	p->addresses = fold(sum_words(p->ip + 12, 2));
	/* Options are rare: their sum is not checked. */
	p->wrong_csum = ihl == 20 && fold(sum_words(p->ip, 5)) != 0xffff;
	p->l4 = p->l3 + ihl;
	return 0;
}

static __always_inline int read_ipv6(struct packet *p)
{
	__u8 next[8];

	p->ip_len = bpf_ntohs(*(__u16 *)&p->ip[4]);
	if (p->ip_len)
		p->ip_len += 40;
	p->addresses = fold(sum_words(p->ip + 8, 8));
	p->l4 = p->l3 + 40;
	if (p->ip[6] == IPPROTO_TCP)
		return 0;
	/* The jumbo option of BIG TCP. */
	if (p->ip[6] != IPPROTO_HOPOPTS || bpf_probe_read_kernel(next, 8, p->data + p->l4) ||
	    next[0] != IPPROTO_TCP || next[1] || next[2] != 0xc2)
		return -1;
	p->l4 += 8;
	p->jumbo = 8;
	return 0;
}

static __always_inline int read_packet(struct packet *p, const struct sk_buff___lx *skb)
{
	__u16 types[3] = { 0 };

	p->data = BPF_CORE_READ(skb, data);
	p->len = skb->len;
	p->linear = p->len - skb->data_len;
	if (bpf_probe_read_kernel(types, 6, p->data + 12))
		return -1;
	p->ethertype = p->ip_type = types[0];
	p->l3 = ETH_HLEN;
	if (types[0] == ETH_P_8021Q_BE || types[0] == ETH_P_8021AD_BE) {
		p->ip_type = types[2];
		p->l3 += 4;
	}
	if (p->ip_type != bpf_htons(ETH_P_IP) && p->ip_type != bpf_htons(ETH_P_IPV6))
		return -1;
	if (bpf_probe_read_kernel(p->ip, sizeof(p->ip), p->data + p->l3))
		return -1;
	if (p->ip_type == bpf_htons(ETH_P_IP) ? read_ipv4(p) : read_ipv6(p))
		return -1;
	if (bpf_probe_read_kernel(&p->tcp, sizeof(p->tcp), p->data + p->l4))
		return -1;
	p->hlen = p->tcp.doff / 16 * 4;
	return 0;
}

/* The members of a frag_list. */
struct listing {
	struct sk_buff___lx *at;
	__u32 size; /* of a segment */
	__u32 sum, wrong;
};

#define LIST_MAX 1024

static long list_one(__u32 i, void *arg)
{
	struct listing *l = arg;
	struct sk_buff___lx *at = l->at, *next;
	__u32 len;

	if (!at)
		return 1;
	len = BPF_CORE_READ(at, len);
	next = BPF_CORE_READ(at, next);
	if (next && len % l->size)
		l->wrong = 1;
	l->sum += len;
	l->at = next;
	return 0;
}

/* Whether a member begins or ends inside a segment, but for the end of all. @payload: of all. */
static __always_inline int is_wrong_list(struct sk_buff___lx *list, __u32 payload, __u32 size)
{
	struct listing l = { .at = list, .size = size };

	bpf_loop(LIST_MAX, list_one, &l, 0);
	return l.wrong || l.sum > payload || (payload - l.sum) % size;
}

/* ---- checks ------------------------------------------------------------------------------ */

#define WRONG(NAME, condition) ((condition) ? 1u << PACKET_CHECK_##NAME : 0)

struct summing {
	const unsigned char *at;
	__u32 len;
	__u64 sum;
};

static long sum_some(__u32 i, void *arg)
{
	struct summing *s = arg;
	__u8 bytes[SUM_STEP] __attribute__((aligned(8))) = { 0 };
	__u32 at = i * SUM_STEP, n;

	if (at >= s->len)
		return 1;
	n = s->len - at;
	if (n > SUM_STEP)
		n = SUM_STEP;
	if (bpf_probe_read_kernel(bytes, n, s->at + at))
		return 1;
	s->sum += sum_words(bytes, SUM_STEP / 4);
	return 0;
}

static __always_inline __u32 pseudo_sum(const struct packet *p)
{
	__u32 len = p->len - p->l4;

	return fold((__u64)p->addresses + bpf_htonl(IPPROTO_TCP) + bpf_htonl(len));
}

/* Padding, which Ethernet may add, is not part of the IP packet. */
__noinline __u32 wrong_sum(const struct packet *p)
{
	struct summing s = { 0 };
	__u32 len;

	if (!p)
		return 0;
	len = p->ip_len + p->l3 - p->l4;
	if (p->linear != p->len || !p->ip_len || len > SUM_MAX)
		return 0;
	s.at = p->data + p->l4;
	s.len = len;
	bpf_loop(SUM_MAX / SUM_STEP, sum_some, &s, 0);
	s.sum += (__u64)p->addresses + bpf_htonl(IPPROTO_TCP) + bpf_htonl(len);
	return WRONG(SUM, fold(s.sum) != 0xffff);
}

static __always_inline __u32 wrong_gso(const struct packet *p, const struct packet_report *r,
				       enum packet_point point)
{
	__u32 type = r->ipv6 ? GSO_TCPV6 : GSO_TCPV4;
	__u32 segs = r->gso_size ? (p->payload + r->gso_size - 1) / r->gso_size : 0;
	int dodgy = (r->gso_type & GSO_DODGY) != 0;

	return WRONG(GSO_TYPE, (r->gso_type & (GSO_TCPV4 | GSO_TCPV6 | GSO_OTHERS)) != type) |
	       WRONG(GSO_SIZE, p->payload <= r->gso_size) |
	       WRONG(GSO_SEGS, r->gso_segs != segs && !(dodgy && !r->gso_segs)) |
	       /* The kernel does not trust such a packet, and pulls its headers on the way. */
	       WRONG(LINEAR, p->linear < p->l4 + p->hlen &&
				     (!dodgy || point == PACKET_POINT_DRIVER)) |
	       WRONG(FRAG_LIST, r->wrong_list) |
	       /* Before, such packets are segmented without the driver. */
	       WRONG(GSO_CSUM, point == PACKET_POINT_DRIVER && r->ip_summed != CHECKSUM_PARTIAL);
}

/* Bits by enum packet_check. Not static: verified once, for any packet. */
__noinline __u32 wrong_fields(const struct packet *p, const struct packet_report *r, __u32 point)
{
	__u32 ip_len, wrong;
	__u8 version;
	int partial;

	if (!p || !r)
		return 0;
	partial = r->ip_summed == CHECKSUM_PARTIAL;
	version = r->ipv6 ? 6 : 4;
	ip_len = p->len - p->l3;
	wrong = WRONG(MAC, point == PACKET_POINT_DRIVER && r->mac_header) |
		WRONG(NETWORK, r->network_header != (__s32)p->l3) |
		WRONG(PROTOCOL, r->protocol != p->ethertype || p->ip[0] >> 4 != version) |
		WRONG(IP_LEN, p->ip_len ? p->ip_len > ip_len || (p->ip_len < ip_len && p->len > ETH_ZLEN)
					: !r->gso_size || ip_len <= 65535) |
		WRONG(IP_CSUM, p->wrong_csum) |
		WRONG(TCP_HLEN, p->hlen < 20 || p->l4 + p->hlen > p->len) |
		WRONG(COMPLETE, r->ip_summed == CHECKSUM_COMPLETE) |
		WRONG(ENCAPSULATION, r->encapsulation) |
		WRONG(VLAN, (r->vlan_tci && !r->vlan_proto) ||
				    (r->vlan_proto && r->vlan_proto != ETH_P_8021Q_BE &&
				     r->vlan_proto != ETH_P_8021AD_BE));
	/* GRO leaves a jumbo packet that it gets as one with a note in front of the jumbo option. */
	if (r->gso_size || partial)
		wrong |= WRONG(TRANSPORT, r->transport_header != (__s32)p->l4 &&
						  r->transport_header != (__s32)(p->l4 - p->jumbo));
	if (r->gso_size)
		wrong |= wrong_gso(p, r, point);
	if (partial)
		wrong |= WRONG(CSUM_START, r->csum_start != (__s32)p->l4 || r->csum_offset != 16) |
			 WRONG(PSEUDO, !same_sum(p->tcp.check, pseudo_sum(p)));
	return wrong;
}

/* ---- telling ----------------------------------------------------------------------------- */

/* Counted from the packet's begin; the kernel counts from the buffer's, which has some room. */
static __always_inline __s32 offset(__u16 at, __u64 room)
{
	return at == UNSET ? -1 : (__s32)at - (__s32)room;
}

static __always_inline struct skb_shared_info___lx *shared_of(const struct sk_buff___lx *skb)
{
	return (void *)(BPF_CORE_READ(skb, head) + skb->end);
}

static __always_inline void describe(struct packet_report *r, const struct packet *p,
				     const struct sk_buff___lx *skb)
{
	unsigned char *head = BPF_CORE_READ(skb, head);
	struct skb_shared_info___lx *shared = shared_of(skb);
	__u64 room = p->data - head;
	struct sk_buff___lx *list;

	r->ipv6 = p->ip_type == bpf_htons(ETH_P_IPV6);
	r->len = p->len;
	r->data_len = skb->data_len;
	r->l3 = p->l3;
	r->l4 = p->l4;
	r->ip_len = p->ip_len;
	r->hlen = p->hlen;
	r->mac_header = offset(skb->mac_header, room);
	r->network_header = offset(skb->network_header, room);
	r->transport_header = offset(skb->transport_header, room);
	r->ip_summed = BPF_CORE_READ_BITFIELD(skb, ip_summed);
	r->csum_start = offset(skb->csum_start, room);
	r->csum_offset = skb->csum_offset;
	r->encapsulation = BPF_CORE_READ_BITFIELD(skb, encapsulation);
	r->protocol = skb->protocol;
	r->vlan_proto = skb->vlan_proto;
	r->vlan_tci = skb->vlan_tci;
	r->gso_size = BPF_CORE_READ(shared, gso_size);
	if (!r->gso_size)
		return;
	r->gso_segs = BPF_CORE_READ(shared, gso_segs);
	r->gso_type = BPF_CORE_READ(shared, gso_type);
	list = BPF_CORE_READ(shared, frag_list);
	r->has_list = list != 0;
	r->wrong_list = list && is_wrong_list(list, p->payload, r->gso_size);
}

/* The rest, which only people need. */
static __always_inline void describe_more(struct packet_report *r, const struct packet *p,
					  const struct sk_buff___lx *skb,
					  const struct net_device___lx *dev)
{
	r->count = 1;
	r->mark = skb->mark;
	r->mac_len = skb->mac_len;
	r->seq = p->tcp.seq;
	r->sport = p->tcp.sport;
	r->dport = p->tcp.dport;
	r->tcp_check = p->tcp.check;
	bpf_probe_read_kernel_str(r->ifname, sizeof(r->ifname), dev->name);
	if (r->ipv6) {
		__builtin_memcpy(r->source, p->ip + 8, 16);
		__builtin_memcpy(r->dest, p->ip + 24, 16);
	} else {
		__builtin_memcpy(r->source, p->ip + 12, 4);
		__builtin_memcpy(r->dest, p->ip + 16, 4);
	}
}

static __always_inline void tell(const struct packet_key *key, const struct packet_report *r)
{
	struct packet_report *old = bpf_map_lookup_elem(&reports, key);

	if (old)
		__sync_fetch_and_add(&old->count, 1);
	else
		bpf_map_update_elem(&reports, key, r, BPF_NOEXIST);
}

static __always_inline int is_ours(__u32 netns)
{
	return bpf_map_lookup_elem(&namespaces, &netns) != 0;
}

/* Whether it is lnetxd's own interface of that kind: "lnetx-" and three letters (resegment.c). */
static __always_inline int is_own(const struct net_device___lx *dev, const char kind[4])
{
	char name[16] = "";

	bpf_probe_read_kernel_str(name, sizeof(name), dev->name);
	return name[0] == 'l' && name[1] == 'n' && name[2] == 'e' && name[3] == 't' &&
	       name[4] == 'x' && name[5] == '-' && name[6] == kind[0] && name[7] == kind[1] &&
	       name[8] == kind[2];
}

/* @only: bits of what is checked */
static __always_inline int look(const struct sk_buff___lx *skb, const struct net_device___lx *dev,
				enum packet_point point, __u32 only)
{
	struct packet_report r = { 0 };
	struct packet p = { 0 };
	struct packet_key key = { .point = point };

	key.netns = dev->nd_net.net->ns.inum;
	if (!is_ours(key.netns) || (dev->type != ARPHRD_ETHER && dev->type != ARPHRD_LOOPBACK) ||
	    read_packet(&p, skb))
		return 0;
	__sync_fetch_and_add(&checked, 1);
	if (p.len > p.l4 + p.hlen)
		p.payload = p.len - p.l4 - p.hlen;
	describe(&r, &p, skb);
	key.wrong = wrong_fields(&p, &r, point);
	if (r.ip_summed < CHECKSUM_COMPLETE && !r.gso_size)
		key.wrong |= wrong_sum(&p);
	if (r.has_list && point == PACKET_POINT_QUEUE && is_own(dev, "seg"))
		__sync_fetch_and_add(&lists, 1);
	key.wrong &= only;
	if (!key.wrong)
		return 0;
	/* At once: it may be this kernel's last word. */
	if (key.wrong & 1u << PACKET_CHECK_FRAG_LIST)
		bpf_printk("wrong: frag_list of a packet with mark %x on interface %d", skb->mark,
			   dev->ifindex);
	describe_more(&r, &p, skb, dev);
	key.ifindex = dev->ifindex;
	key.mark = r.mark & ~0xffffu;
	tell(&key, &r);
	return 0;
}

SEC("?fentry/__dev_queue_xmit")
int BPF_PROG(packet_entered, struct sk_buff___lx *skb)
{
	return look(skb, skb->dev, PACKET_POINT_ENTRY, ~0u);
}

/* All of a packet is put in one place: it is to be cut. */
SEC("?fentry/__pskb_pull_tail")
int BPF_PROG(packet_pulled, struct sk_buff___lx *skb, int delta)
{
	struct skb_shared_info___lx *shared = shared_of(skb);

	if ((__u32)delta == skb->data_len && BPF_CORE_READ(shared, frag_list) &&
	    is_ours(skb->dev->nd_net.net->ns.inum))
		__sync_fetch_and_add(&lists, 1);
	return 0;
}

/* Little where packets are cut: they have been, and are prepared for the driver next (bpf/cut.h). */
SEC("tp_btf/net_dev_queue")
int BPF_PROG(packet_queued, struct sk_buff___lx *skb)
{
	return look(skb, skb->dev, PACKET_POINT_QUEUE,
		    is_own(skb->dev, "cut") ? 1u << PACKET_CHECK_FRAG_LIST : ~0u);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(packet_sent, struct sk_buff___lx *skb, struct net_device___lx *dev)
{
	return look(skb, dev, PACKET_POINT_DRIVER, ~0u);
}

/* ---- what packets are made of ------------------------------------------------------------ */

#define SHAPE(NAME, condition) ((condition) ? 1u << PACKET_SHAPE_##NAME : 0)
#define SHARED_FRAG 2u
#define GSO_FRAGLIST (1u << 18)

/*
 * A received packet begins behind its Ethernet header. 0: it is not TCP; else the length of its
 * headers.
 */
static __always_inline __u32 tcp_headers(const struct sk_buff___lx *skb)
{
	__u32 tag = skb->protocol == ETH_P_8021Q_BE ? 4 : 0;
	__u8 bytes[10];

	if (bpf_probe_read_kernel(bytes, sizeof(bytes), BPF_CORE_READ(skb, data) + tag))
		return 0;
	if (bytes[0] >> 4 == 4 && bytes[9] == IPPROTO_TCP)
		return tag + (bytes[0] & 15) * 4 + sizeof(struct tcp);
	if (bytes[0] >> 4 != 6 || (bytes[6] != IPPROTO_TCP && bytes[6] != IPPROTO_HOPOPTS &&
				   bytes[6] != IPPROTO_DSTOPTS))
		return 0;
	return tag + (bytes[6] == IPPROTO_TCP ? 40 : 48) + sizeof(struct tcp);
}

static __always_inline __u32 gso_shape(struct skb_shared_info___lx *shared, __u32 payload)
{
	__u32 size = BPF_CORE_READ(shared, gso_size), type = BPF_CORE_READ(shared, gso_type);

	if (!size)
		return 0;
	return SHAPE(GSO, 1) | SHAPE(DODGY, type & GSO_DODGY) | SHAPE(NO_TYPE, !type) |
	       SHAPE(SEGS_0, !BPF_CORE_READ(shared, gso_segs)) | SHAPE(SMALL, payload <= size) |
	       SHAPE(FRAGLIST, type & GSO_FRAGLIST);
}

static __always_inline __u32 list_shape(struct sk_buff___lx *list)
{
	return SHAPE(LIST, list) | SHAPE(LIST_FRAGS, list && BPF_CORE_READ(list, data_len));
}

static __always_inline __u32 shape_of(struct sk_buff___lx *skb, __u32 headers)
{
	struct skb_shared_info___lx *shared = shared_of(skb);
	__u32 summed = BPF_CORE_READ_BITFIELD(skb, ip_summed);
	__u32 head_frag = BPF_CORE_READ_BITFIELD(skb, head_frag);

	return SHAPE(KMALLOC, !head_frag) | SHAPE(HEAD_FRAG, head_frag) |
	       SHAPE(FRAGS, BPF_CORE_READ(shared, nr_frags)) |
	       SHAPE(SHORT, skb->len - skb->data_len < headers) |
	       SHAPE(CLONED, BPF_CORE_READ_BITFIELD(skb, cloned)) |
	       SHAPE(SHARED_FRAG, BPF_CORE_READ(shared, flags) & SHARED_FRAG) |
	       SHAPE(PP_RECYCLE, BPF_CORE_READ_BITFIELD(skb, pp_recycle)) |
	       SHAPE(BIG, skb->len > 65535) | SHAPE(NONE, summed == 0) |
	       SHAPE(UNNECESSARY, summed == 1) | SHAPE(COMPLETE, summed == CHECKSUM_COMPLETE) |
	       SHAPE(PARTIAL, summed == CHECKSUM_PARTIAL) |
	       SHAPE(TAG, skb->vlan_proto || skb->protocol == ETH_P_8021Q_BE) |
	       list_shape(BPF_CORE_READ(shared, frag_list)) |
	       gso_shape(shared, skb->len - headers);
}

/* Loaded only if the test asks. */
SEC("?tp_btf/netif_receive_skb")
int BPF_PROG(packet_received, struct sk_buff___lx *skb)
{
	struct net_device___lx *dev = skb->dev;
	struct shape_key key = { .netns = dev->nd_net.net->ns.inum, .ifindex = dev->ifindex };
	struct shape_report *report, fresh = { 0 };
	__u32 headers, shape, i;

	if (!is_ours(key.netns))
		return 0;
	headers = tcp_headers(skb);
	if (!headers)
		return 0;
	shape = shape_of(skb, headers);
	report = bpf_map_lookup_elem(&shapes, &key);
	if (!report) {
		bpf_probe_read_kernel_str(fresh.ifname, sizeof(fresh.ifname), dev->name);
		bpf_map_update_elem(&shapes, &key, &fresh, BPF_NOEXIST);
		report = bpf_map_lookup_elem(&shapes, &key);
	}
	/* Another CPU's may be lost; without branches the verifier has less to do. */
	for (i = 0; report && i < PACKET_SHAPE_COUNT; i++)
		report->count[i] += shape >> i & 1;
	return 0;
}

/* ---- what is dropped --------------------------------------------------------------------- */

/* Whatever has become of the packet's begin, its IP header is still there. */
static __always_inline int is_tcp(const struct sk_buff___lx *skb)
{
	unsigned char *ip = BPF_CORE_READ(skb, head) + skb->network_header;
	__u8 bytes[10];

	if (bpf_probe_read_kernel(bytes, sizeof(bytes), ip))
		return 0;
	return bytes[0] >> 4 == 4 ? bytes[9] == IPPROTO_TCP
				  : bytes[0] >> 4 == 6 && bytes[6] == IPPROTO_TCP;
}

/* Older kernels have only these arguments. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(packet_dropped, struct sk_buff___lx *skb, void *location, int reason)
{
	struct net_device___lx *dev = skb->dev;
	struct drop_key key = { .location = (__u64)location, .reason = reason };
	struct drop_report *old, r = { .count = 1, .len = skb->len, .mark = skb->mark };

	if (!dev)
		return 0;
	key.netns = dev->nd_net.net->ns.inum;
	/* lnetxd's own packets, for trials of its programs, go up to no socket. */
	if (!is_ours(key.netns) || is_own(dev, "try") || !is_tcp(skb))
		return 0;
	bpf_probe_read_kernel_str(r.ifname, sizeof(r.ifname), dev->name);
	old = bpf_map_lookup_elem(&drops, &key);
	if (old)
		__sync_fetch_and_add(&old->count, 1);
	else
		bpf_map_update_elem(&drops, &key, &r, BPF_NOEXIST);
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
