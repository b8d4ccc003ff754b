/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Removes bytes behind the IPv4 header of large packets, so that the kernel's notes of where the TCP
 * header and its checksum are become wrong; the IP header is right, so that the packet is sent on. For packets.bats.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define REMOVED 16
#define LEN_AT (ETH_HLEN + 2)
#define CHECK_AT (ETH_HLEN + 10)

SEC("tc")
int lie(struct __sk_buff *skb)
{
	__u16 old, new;

	if (!skb->gso_size || bpf_skb_load_bytes(skb, LEN_AT, &old, sizeof(old)) ||
	    bpf_skb_adjust_room(skb, -REMOVED, BPF_ADJ_ROOM_NET,
				BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET))
		return TC_ACT_UNSPEC;
	new = bpf_htons(bpf_ntohs(old) - REMOVED);
	bpf_skb_store_bytes(skb, LEN_AT, &new, sizeof(new), 0);
	bpf_l3_csum_replace(skb, CHECK_AT, old, new, sizeof(new));
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
