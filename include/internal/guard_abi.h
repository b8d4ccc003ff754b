/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard's maps, shared by the program in front of the acceptor (bpf/guard.bpf.c) and
 * the daemon. Same rules as in abi.h: fixed-width fields; read struct lx_abi in map "abi"
 * first. One side writes each field: U the daemon, B the program.
 *
 * Addresses are 16 bytes in network order; IPv4 addresses are mapped (::ffff:a.b.c.d), so
 * one table serves both families.
 */
#ifndef LNETX_GUARD_ABI_H
#define LNETX_GUARD_ABI_H

#include <lnetx/wire.h>

#define LX_GUARD_MAGIC 0x6c6e7867u /* "lnxg" */
#define LX_GUARD_VERSION 1u

#define LX_GUARD_LISTENERS_MAX 256
#define LX_GUARD_BANS_MAX 4096
#define LX_GUARD_PREFIXES_MAX 4096
#define LX_GUARD_SOURCES_MAX 16384 /* LRU */
#define LX_GUARD_REFUSALS_MAX 1024 /* LRU */

/* Map "config", one element. */
struct lx_guard_config {
	__u64 secure;      /* U: 1: SYNs need a privileged source port */
	__u64 interval_ns; /* U: time that one SYN costs its source; 0: no limit */
	__u64 burst_ns;    /* U: how much time a source may save up */
	__u64 bans;        /* U: number of bans; 0 saves the lookup */
	__u64 mode;        /* U: enum lx_guard_mode, for a daemon that takes over */
};
LX_LAYOUT(struct lx_guard_config, 40);

/* Where the guard is attached. */
enum lx_guard_mode {
	LX_GUARD_AUTO,    /* XDP in the driver where that costs nothing, else TC */
	LX_GUARD_NATIVE,  /* XDP in the driver */
	LX_GUARD_GENERIC, /* XDP behind the driver */
	LX_GUARD_TC,      /* traffic control: the same place, without copying packets */
	LX_GUARD_MODES
};

/*
 * Map "listeners": where the acceptor is. Bans aside, the guard ignores all other traffic. The
 * value: U: 1; B: and one more for each SYN that passed.
 */
struct lx_guard_listener {
	__u8 addr[16];
	__be16 port;
	__u16 zero;
};
LX_LAYOUT(struct lx_guard_listener, 20);

/* Map "bans": by source address; everything from it is dropped. */
struct lx_guard_address {
	__u8 addr[16];
};
LX_LAYOUT(struct lx_guard_address, 16);

struct lx_guard_ban {
	__u64 since_s;     /* U: wall clock */
	__u64 packets;     /* B: dropped */
	struct lx_nid nid; /* U: as given to the ban command */
	__u32 zero;
};
LX_LAYOUT(struct lx_guard_ban, 40);

/* Map "prefixes": the longest match decides. Bits of a mapped IPv4 prefix count from the
 * start of the 16 bytes: 10.0.0.0/8 has 104. */
struct lx_guard_prefix {
	__u32 bits;
	__u8 addr[16];
};
LX_LAYOUT(struct lx_guard_prefix, 20);

enum lx_guard_action {
	LX_GUARD_ALLOW = 1, /* accept connections, at any rate */
	LX_GUARD_DENY,      /* accept no connection */
};

struct lx_guard_rule {
	__u64 action; /* U: enum lx_guard_action */
	__u64 syns;   /* B: that it decided on */
};
LX_LAYOUT(struct lx_guard_rule, 16);

/* Map "sources": by address. The time at which all SYNs of a source are paid for. */
struct lx_guard_source {
	__u64 paid_ns; /* B */
};
LX_LAYOUT(struct lx_guard_source, 8);

/* Map "refusals": by source, the dropped SYNs for the acceptor, without bans. */
struct lx_guard_refusal {
	__u64 syns;    /* B */
	__u64 last_ns; /* B: the latest, monotonic clock */
	__u32 verdict; /* B: the latest; enum lx_guard_verdict */
	__be16 sport;  /* B: the latest */
	__u16 zero;
};
LX_LAYOUT(struct lx_guard_refusal, 24);

/* Map "counters", per CPU: packets by verdict. Append only. */
#define LX_GUARD_VERDICTS(X)                                                                       \
	X(OTHER, "other", "passed: not for the acceptor")                                          \
	X(ACCEPTED, "accepted", "passed: for the acceptor")                                        \
	X(UNPARSED, "unparsed", "passed: truncated headers, or too many to follow")                \
	X(BANNED, "banned", "dropped: the source is banned")                                       \
	X(UNPRIVILEGED, "unprivileged",                                                            \
	  "dropped: SYN from a source port above 1023, accept=secure")                             \
	X(DENIED, "denied", "dropped: SYN from a denied prefix")                                   \
	X(RATE, "rate", "dropped: SYN beyond the rate of its source")                              \
	X(FRAGMENT, "fragment", "dropped: fragment for the acceptor that hides its TCP flags")

enum lx_guard_verdict {
#define LX_GUARD_ENUM_(NAME, name, help) LX_GUARD_##NAME,
	LX_GUARD_VERDICTS(LX_GUARD_ENUM_)
#undef LX_GUARD_ENUM_
	LX_GUARD_COUNT
};
#define LX_GUARD_FIRST_DROP LX_GUARD_BANNED

#endif
