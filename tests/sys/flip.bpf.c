/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flips one bit in one of EVERY TCP segments over IPv4, by chance: of the LENGTH bytes from
 * FIRST on, counted from the TCP header; LENGTH 0: up to the end. Checksums are not updated,
 * as a bad cable would not. Packets whose checksum is still to be computed are left alone:
 * on a cable there are none. lib.bash: flipping.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TCP_AT (ETH_HLEN + 20)

/* How many were flipped, and how many would have been but had no checksum yet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} flipped SEC(".maps");

static void count(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&flipped, &which);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/* CHECKSUM_PARTIAL, which no helper tells of: of what is left, NONE can be made UNNECESSARY. */
static int has_checksum(struct __sk_buff *skb)
{
	int summed;

	if (bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0 || (__s64)bpf_csum_update(skb, 0) >= 0)
		return 1;
	bpf_csum_level(skb, BPF_CSUM_LEVEL_INC);
	summed = bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0;
	bpf_csum_level(skb, BPF_CSUM_LEVEL_RESET);
	return summed;
}

SEC("tc")
int flip(struct __sk_buff *skb)
{
	__u32 at, length = LENGTH;
	__u8 proto, byte;

	if (bpf_get_prandom_u32() % EVERY || skb->protocol != bpf_htons(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, ETH_HLEN + 9, &proto, 1) || proto != 6)
		return TC_ACT_UNSPEC;
	if (!has_checksum(skb)) {
		count(1);
		return TC_ACT_UNSPEC;
	}
	if (!length)
		length = skb->len - TCP_AT - FIRST;
	if (!length)
		return TC_ACT_UNSPEC;
	at = TCP_AT + FIRST + bpf_get_prandom_u32() % length;
	if (bpf_skb_load_bytes(skb, at, &byte, 1))
		return TC_ACT_UNSPEC;
	byte ^= 1 << (bpf_get_prandom_u32() & 7);
	if (!bpf_skb_store_bytes(skb, at, &byte, 1, 0))
		count(0);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
