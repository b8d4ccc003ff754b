/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel knows of a packet and no helper tells: read in its struct sk_buff, which is what
 * the context of a program really is.
 */
#ifndef LX_BPF_SKB_H
#define LX_BPF_SKB_H

#include <bpf/bpf_core_read.h>
#include <linux/if_ether.h>

#include "compat.h"
#include "packet.h"

struct sk_buff___lx {
	__u16 transport_header, network_header;
	__u32 end;
	unsigned char *head;
} __attribute__((preserve_access_index));

struct skb_shared_info___lx {
	void *frag_list;
} __attribute__((preserve_access_index));

/* Whether the kernel knows where the TCP header of a packet without IP options is. */
LX_INLINE int lx_headers_are_true(struct __sk_buff *skb)
{
	const struct sk_buff___lx *known = (void *)skb;
	__u32 ip = skb->protocol == lx_be16(ETH_P_IP) ? sizeof(struct lx_ip4_hdr)
						      : sizeof(struct lx_ip6_hdr);

	return (__u16)(BPF_CORE_READ(known, transport_header) -
		       BPF_CORE_READ(known, network_header)) == ip;
}

/*
 * Whether other packets hang on a packet, with the rest of its data: GRO makes such a list where it
 * cannot join page by page. Each member holds whole segments, which the kernel relies on when it
 * takes the packet apart: it has crashed (BUG in skb_segment()) after bytes were moved between
 * members, as by all that writes or pulls behind the first one's. If in doubt, there is a list.
 */
LX_GLOBAL int lx_has_frag_list(struct __sk_buff *skb)
{
	const struct sk_buff___lx *known = (void *)skb;
	const struct skb_shared_info___lx *shared = 0;
	void *list = 0;

	if (skb->len == (__u32)((long)skb->data_end - (long)skb->data))
		return 0;
	if (!bpf_core_field_exists(known->end) || !bpf_core_field_exists(shared->frag_list))
		return 1;
	shared = (void *)(BPF_CORE_READ(known, head) + BPF_CORE_READ(known, end));
	return bpf_core_read(&list, sizeof(list), &shared->frag_list) || list;
}

/* Puts all of a packet in one place. 0, or -1: it keeps a list, as there is no memory for that. */
LX_GLOBAL int lx_unlist(struct __sk_buff *skb)
{
	return lx_has_frag_list(skb) && bpf_skb_pull_data(skb, skb->len) ? -1 : 0;
}

/*
 * For the filter at the socket: we have passed it. A program behind ours that ends the chain makes
 * the kernel overwrite tc_index, with clsact by that program's class; others set the priority.
 */
LX_INLINE void lx_skb_pass(struct __sk_buff *skb)
{
	skb->priority = skb->tc_index = skb->tc_classid = LX_PASSED;
}

LX_INLINE int lx_skb_is_passed(const struct __sk_buff *skb)
{
	return skb->tc_index == LX_PASSED || skb->priority == LX_PASSED;
}

#endif
