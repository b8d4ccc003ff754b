/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Features of this kernel for BPF programs, found by probing. */
#ifndef LX_BPF_FEATURE_H
#define LX_BPF_FEATURE_H

#include <internal/bpf_info.h>

/* X(NAME, "name", "what it is for, and since which kernel") */
#define LX_BPF_FEATURES(X) \
	X(LOAD, "load", "load programs; needs root, or CAP_BPF and CAP_NET_ADMIN") \
	X(BTF, "btf", "type information of the kernel, CONFIG_DEBUG_INFO_BTF") \
	X(ATOMICS, "atomics", "compare-and-swap in programs, 5.12; links of XDP are older") \
	X(XDP, "xdp", "programs in front of the network stack, 4.8") \
	X(XDP_FRAGS, "xdp_frags", "XDP on interfaces with large packets, 5.18") \
	X(TC, "tc", "programs in traffic control, CONFIG_NET_CLS_BPF") \
	X(TCX, "tcx", "their attachment as links, 6.6; without it clsact is used") \
	X(LPM_TRIE, "lpm_trie", "tables of address prefixes, 4.11") \
	X(LRU_HASH, "lru_hash", "hash tables that evict the oldest entry, 4.10") \
	X(RINGBUF, "ringbuf", "records for userspace, 5.8") \
	X(LOOP, "loop", "bpf_loop(), 5.17") \
	X(SKC_LOOKUP, "skc_lookup", "bpf_skc_lookup_tcp() in traffic control, 5.2")

enum lx_bpf_feature {
#define LX_BPF_FEATURE_ENUM_(NAME, name, help) LX_BPF_##NAME,
	LX_BPF_FEATURES(LX_BPF_FEATURE_ENUM_)
#undef LX_BPF_FEATURE_ENUM_
	LX_BPF_FEATURE_COUNT
};
_Static_assert(LX_BPF_FEATURE_COUNT <= LX_BPF_FEATURES_MAX, "room in struct lx_bpf_info");

#define LX_BPF_NEED(NAME) (1u << LX_BPF_##NAME)

/* Probes all features; takes a few milliseconds. @ret_feature: LX_BPF_FEATURE_COUNT entries. */
void lx_bpf_feature_probe(struct lx_bpf_feature_info *ret_feature);

#endif
