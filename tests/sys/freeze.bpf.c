/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes a node lie: whatever it receives from now on, it acknowledges what it had acknowledged
 * before, on each of its TCP connections over IPv4. Meant for where its packets come in. lib.bash:
 * ingress_program.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PROTOCOL_AT (ETH_HLEN + 9)
#define PORTS_AT (ETH_HLEN + 20)
#define ACK_AT (PORTS_AT + 8)
#define CHECK_AT (PORTS_AT + 16)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __be32);
} acks SEC(".maps");

SEC("tc")
int freeze(struct __sk_buff *skb)
{
	__be32 ack, *first;
	__u8 protocol;
	__u32 ports;

	if (skb->protocol != bpf_htons(ETH_P_IP) ||
	    bpf_skb_load_bytes(skb, PROTOCOL_AT, &protocol, sizeof(protocol)) ||
	    protocol != IPPROTO_TCP || bpf_skb_load_bytes(skb, PORTS_AT, &ports, sizeof(ports)) ||
	    bpf_skb_load_bytes(skb, ACK_AT, &ack, sizeof(ack)))
		return TC_ACT_UNSPEC;
	bpf_map_update_elem(&acks, &ports, &ack, BPF_NOEXIST);
	first = bpf_map_lookup_elem(&acks, &ports);
	if (!first || *first == ack)
		return TC_ACT_UNSPEC;
	bpf_l4_csum_replace(skb, CHECK_AT, ack, *first, sizeof(ack));
	bpf_skb_store_bytes(skb, ACK_AT, first, sizeof(ack), 0);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual BSD/GPL";
