/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pulls a part of large packets, so that the members of a frag_list do not begin and end with segments
 * any more. For packets.bats, on test machines.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#define PULLED 2000

SEC("tc")
int pull(struct __sk_buff *skb)
{
	if (skb->gso_size)
		bpf_skb_pull_data(skb, PULLED);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
