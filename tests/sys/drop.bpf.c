/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loses one in EVERY packets, by chance. Meant for where a network loses them: in front
 * of the receiving side, where the sender's own stack does not notice. lib.bash: lossy.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

SEC("tc")
int drop(struct __sk_buff *skb)
{
	return bpf_get_prandom_u32() % EVERY ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
