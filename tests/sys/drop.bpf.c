/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Loses one in EVERY packets, or of those longer than OVER bytes, by chance. Meant for where a network loses them: in front
 * of the receiving side, where the sender's own stack does not notice. lib.bash: lossy.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#ifndef OVER
#define OVER 0
#endif

SEC("tc")
int drop(struct __sk_buff *skb)
{
	return skb->len <= OVER ? TC_ACT_UNSPEC :  bpf_get_prandom_u32() % EVERY ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
