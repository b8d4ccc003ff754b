/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard: programs on the interfaces of TCP NIs, in front of the acceptor. guard.h decides; here
 * are the maps, and the same program for XDP and for traffic control
 * (docs/decisions/0006-guard-xdp-or-tc.md).
 *
 * These programs only see bytes and need no kernel structs, so the stable headers of linux/ are
 * enough, and no vmlinux.h of the building machine is involved. Programs that read kernel
 * structs declare the few members they use, with preserve_access_index, for relocation.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "../include/internal/abi.h"

#define memset __builtin_memset
#define memcpy __builtin_memcpy
#include "guard.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lx_abi);
} abi SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lx_guard_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LX_GUARD_LISTENERS_MAX);
	__type(key, struct lx_guard_listener);
	__type(value, __u32);
} listeners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LX_GUARD_BANS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lx_guard_address);
	__type(value, struct lx_guard_ban);
} bans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, LX_GUARD_PREFIXES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lx_guard_prefix);
	__type(value, struct lx_guard_rule);
} prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LX_GUARD_SOURCES_MAX);
	__type(key, struct lx_guard_address);
	__type(value, struct lx_guard_source);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LX_GUARD_REFUSALS_MAX);
	__type(key, struct lx_guard_address);
	__type(value, struct lx_guard_refusal);
} refusals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LX_GUARD_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static struct lx_guard_ban *lx_guard_ban_of(const struct lx_packet *p)
{
	return bpf_map_lookup_elem(&bans, p->src);
}

static struct lx_guard_rule *lx_guard_rule_of(const struct lx_packet *p)
{
	struct lx_guard_prefix key = { .bits = 128 };

	memcpy(key.addr, p->src, sizeof(key.addr));
	return bpf_map_lookup_elem(&prefixes, &key);
}

static struct lx_guard_source *lx_guard_source_of(const struct lx_packet *p)
{
	struct lx_guard_source *source = bpf_map_lookup_elem(&sources, p->src);
	struct lx_guard_source fresh = { 0 };

	if (source)
		return source;
	bpf_map_update_elem(&sources, p->src, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sources, p->src);
}

static __u32 *lx_guard_listener_of(const struct lx_packet *p)
{
	struct lx_guard_listener key = { .port = p->dport };

	memcpy(key.addr, p->dst, sizeof(key.addr));
	return bpf_map_lookup_elem(&listeners, &key);
}

/* Records the source of a dropped SYN, and why; the daemon logs it (user/daemon/refusals.c). */
static __always_inline void note_refusal(const struct lx_packet *p, __u32 verdict)
{
	struct lx_guard_refusal *refusal = bpf_map_lookup_elem(&refusals, p->src);
	struct lx_guard_refusal fresh = { 0 };

	if (!refusal) {
		bpf_map_update_elem(&refusals, p->src, &fresh, BPF_NOEXIST);
		refusal = bpf_map_lookup_elem(&refusals, p->src);
	}
	if (!refusal)
		return;
	__sync_fetch_and_add(&refusal->syns, 1);
	refusal->last_ns = bpf_ktime_get_ns();
	refusal->verdict = verdict;
	refusal->sport = p->sport;
}

/* Counts a packet, and returns whether to drop it. */
static __always_inline int is_refused(enum lx_packet_kind kind, const struct lx_packet *packet)
{
	struct lx_guard_config *cfg;
	__u32 verdict, zero = 0;
	__u64 *count;

	cfg = bpf_map_lookup_elem(&config, &zero);
	if (!cfg)
		return 0;
	/* Only rate limits need the time, and reading it costs. */
	verdict = lx_guard_check(cfg, kind, packet, cfg->interval_ns ? bpf_ktime_get_ns() : 0);
	count = bpf_map_lookup_elem(&counters, &verdict);
	if (count)
		++*count;
	if (lx_guard_refuses_syn(verdict))
		note_refusal(packet, verdict);
	return verdict >= LX_GUARD_FIRST_DROP;
}

SEC("xdp.frags")
int lnetx_guard(struct xdp_md *ctx)
{
	struct lx_packet packet = { 0 };
	enum lx_packet_kind kind;

	kind = lx_packet_parse((void *)(long)ctx->data, (void *)(long)ctx->data_end, &packet);
	return is_refused(kind, &packet) ? XDP_DROP : XDP_PASS;
}

SEC("tc")
int lnetx_guard_tc(struct __sk_buff *skb)
{
	struct lx_packet packet = { 0 };
	enum lx_packet_kind kind;

	/* The tag has been removed from the frame; see lx_packet_parse(). */
	if (skb->vlan_tci & 0xfff)
		return TC_ACT_UNSPEC;
	kind = lx_packet_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &packet);
	/*
	 * GRO joins packets with their headers in front. Others are pulled as a whole: after less,
	 * the kernel may fail to take them apart (skb.h).
	 */
	if (kind == LX_PACKET_TRUNCATED && !skb->gso_size && !bpf_skb_pull_data(skb, skb->len)) {
		packet = (struct lx_packet){ 0 };
		kind = lx_packet_parse((void *)(long)skb->data, (void *)(long)skb->data_end,
				       &packet);
	}
	return is_refused(kind, &packet) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* The licence that helpers check; the file's own is above. */
char _license[] SEC("license") = "Dual BSD/GPL";
