/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * TCP checksums: computing them, and verifying those of received segments.
 *
 * Programs run before the stack verifies checksums. They cannot read skb->ip_summed, but helpers
 * that act on only one of its values give it away.
 */
#ifndef LX_BPF_CHECKSUM_H
#define LX_BPF_CHECKSUM_H

#include "compat.h"
#include "packet.h"

#define LX_AF_INET 2
#define LX_AF_INET6 10

/* Folds to 16 bits, in network order like all sums here. 0xffff: the sum is 0. */
LX_INLINE __u16 lx_csum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

LX_INLINE __u64 lx_csum_words(const __u8 *at, __u32 n)
{
	__u64 sum = 0;
	__be32 word;
	__u32 i;

	for (i = 0; i < 10; i++) {
		if (i >= n)
			break;
		__builtin_memcpy(&word, at + 4 * i, sizeof(word));
		sum += word;
	}
	return sum;
}

/* Sum of a pseudo header, not inverted. @l3: IP header of @family. */
LX_INLINE __u64 lx_csum_pseudo(const __u8 *l3, __u32 family, __u32 len)
{
	__u64 sum = (__u64)lx_be16(6) + lx_be32(len);

	return sum + (family == LX_AF_INET6 ? lx_csum_words(l3 + 8, 8) : lx_csum_words(l3 + 12, 2));
}

/* Whether the checksum of an IPv4 header without options is right. */
LX_INLINE int lx_csum_ip4_is_right(const struct lx_ip4_hdr *ip4)
{
	return lx_csum_fold(lx_csum_words((const __u8 *)ip4, sizeof(*ip4) / 4)) == 0xffff;
}

#ifdef __bpf__

/* How far the kernel has come with a packet's TCP checksum. */
enum lx_csum_known {
	LX_CSUM_NONE,     /* nothing: it covers the segment and may be wrong */
	LX_CSUM_COMPLETE, /* the NIC has summed the packet and left the comparison to us */
	LX_CSUM_RIGHT,    /* it covers the segment and is right, verified by the NIC or GRO */
	LX_CSUM_PARTIAL,  /* it covers the pseudo header only, the sending interface completes it:
			   * the packet is local, or GRO has verified and joined its parts */
};

/* @ret_sum: for COMPLETE, the sum of everything after the Ethernet header. */
LX_INLINE enum lx_csum_known lx_csum_known(struct __sk_buff *skb, __u32 *ret_sum)
{
	__s64 sum;

	if (bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0)
		return LX_CSUM_RIGHT;
	sum = bpf_csum_update(skb, 0);
	*ret_sum = sum;
	if (sum >= 0)
		return LX_CSUM_COMPLETE;
	/* NONE or PARTIAL: this turns NONE into RIGHT for a moment. */
	bpf_csum_level(skb, BPF_CSUM_LEVEL_INC);
	if (bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) < 0)
		return LX_CSUM_PARTIAL;
	bpf_csum_level(skb, BPF_CSUM_LEVEL_RESET);
	return LX_CSUM_NONE;
}

/* If so, a checksum written into the packet must be partial, too. */
LX_INLINE int lx_csum_is_partial(struct __sk_buff *skb)
{
	__u32 sum;

	return lx_csum_known(skb, &sum) == LX_CSUM_PARTIAL;
}

/* Older kernels sum at most this much per call. */
#define LX_CSUM_BLOCK 512

struct lx_csum_block {
	__u8 bytes[2 * LX_CSUM_BLOCK]; /* room for masking */
};

struct lx_csumming {
	struct __sk_buff *skb;
	struct lx_csum_block *block;
	__u32 at, end; /* offsets in the packet */
	__u64 sum;
	__u32 failed;
	__u32 reserved;
};

static long lx_csum_some(__u32 i, void *arg)
{
	struct lx_csumming *c = arg;
	struct lx_csum_block *block = c->block;
	__u32 n = c->end - c->at;

	(void)i;
	if (c->at >= c->end)
		return 1;
	if (n > LX_CSUM_BLOCK)
		n = LX_CSUM_BLOCK;
	c->at += n;
	n = LX_LENGTH(n, LX_CSUM_BLOCK - 1);
	/* The packet may end inside the last word. */
	__builtin_memset(&block->bytes[(n - 1) & (LX_CSUM_BLOCK - 4)], 0, 4);
	if (bpf_skb_load_bytes(c->skb, c->at - n, block->bytes, n)) {
		c->failed = 1;
		return 1;
	}
	c->sum += (__u32)bpf_csum_diff(0, 0, (__be32 *)block->bytes,
				       (n + 3) & (2 * LX_CSUM_BLOCK - 4), 0);
	return 0;
}

/* Maximum number of blocks of a non-GSO packet. */
#define LX_CSUM_BLOCKS_MAX (65536 / LX_CSUM_BLOCK)

/* Whether the bytes from @at to @end and the pseudo header sum @pseudo add up. */
LX_INLINE int lx_csum_adds_up(struct __sk_buff *skb, struct lx_csum_block *block, __u32 at,
			      __u32 end, __u64 pseudo)
{
	struct lx_csumming c = { .skb = skb, .block = block, .at = at, .end = end, .sum = pseudo };

	bpf_loop(LX_CSUM_BLOCKS_MAX, lx_csum_some, &c, 0);
	return !c.failed && c.at >= end && lx_csum_fold(c.sum) == 0xffff;
}

#endif

#endif
