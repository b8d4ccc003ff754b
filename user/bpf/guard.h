/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard in front of the acceptor: which sources may connect, and which are
 * banned (the program is bpf/guard.bpf.c, its maps are in include/internal/guard_abi.h).
 *
 * It is attached only if there is something to enforce: accept=secure, a ban, a
 * prefix, a rate. Bans, prefixes and the rate stay pinned for the next daemon;
 * without any of them nothing stays.
 *
 * Thread-safe.
 */
#ifndef LX_BPF_GUARD_H
#define LX_BPF_GUARD_H

#include <stddef.h>

#include <internal/bpf_info.h>

/* Maximum of rate and burst. A peer with many connections opens several at once. */
#define LX_GUARD_RATE_MAX 1000000
#define LX_GUARD_BURST 64

struct lx_bpf;
struct lx_guard;

/* An NI to guard. */
struct lx_guard_ni {
	char ifname[IF_NAMESIZE];
	uint8_t addr[16]; /* of the acceptor; IPv4 mapped */
	uint16_t port, port_bulk; /* may be equal */
};

/* The address of a NID on a TCP net, IPv4 mapped. -EAFNOSUPPORT: another type of net. */
int lx_guard_addr(const struct lx_nid *nid, uint8_t ret_addr[16]);

/* "10.1.0.0/16": the inverse of lx_prefix_parse(). Returns @buf, of LX_GUARD_PREFIX_TEXT bytes. */
const char *lx_guard_format(const struct lx_guard_prefix *prefix, char *buf);

/**
 * lx_guard_new - load the guard
 * Returns 0 even if it cannot be loaded: then changes return -EOPNOTSUPP, and
 * lx_guard_info() has the reason. -ENOMEM.
 */
int lx_guard_new(struct lx_bpf *bpf, struct lx_guard **ret_guard);

/* Detaches it. NULL is fine. */
void lx_guard_free(struct lx_guard *guard);

/**
 * lx_guard_place - guard these NIs and no others
 * @secure: drop SYNs from unprivileged ports
 * lx_bpf_info() shows what could not be attached.
 */
void lx_guard_place(struct lx_guard *guard, const struct lx_guard_ni *ni, size_t n, bool secure);

/* -EEXIST, -E2BIG there are LX_GUARD_BANS_MAX already, -EAFNOSUPPORT, -EOPNOTSUPP. */
int lx_guard_ban(struct lx_guard *guard, const struct lx_nid *nid);
/* -ENOENT, -EAFNOSUPPORT, -EOPNOTSUPP. */
int lx_guard_unban(struct lx_guard *guard, const struct lx_nid *nid);

/* Adds a prefix, or changes its action. -E2BIG, -EOPNOTSUPP. */
int lx_guard_prefix_set(struct lx_guard *guard, const struct lx_guard_prefix *prefix,
			enum lx_guard_action action);
/* -ENOENT, -EOPNOTSUPP. */
int lx_guard_prefix_del(struct lx_guard *guard, const struct lx_guard_prefix *prefix);

/* Changes how it is attached. -EOPNOTSUPP. */
int lx_guard_mode(struct lx_guard *guard, enum lx_guard_mode mode);

/**
 * lx_guard_rate - limit new connections of each source
 * @rate: SYNs per second; 0: no limit
 * @burst: SYNs at once; > 0
 */
int lx_guard_rate(struct lx_guard *guard, uint32_t rate, uint32_t burst);

/* Each list is malloc'd. -ENOMEM, -errno of reading the map. */
int lx_guard_info(struct lx_guard *guard, struct lx_guard_info *ret_info);
int lx_guard_bans(struct lx_guard *guard, struct lx_guard_ban_info **ret_list, size_t *ret_n);
int lx_guard_prefixes(struct lx_guard *guard, struct lx_guard_prefix_info **ret_list,
		      size_t *ret_n);

/* Packets by enum lx_guard_verdict, LX_GUARD_COUNT numbers. -EOPNOTSUPP, -ENOMEM, -errno. */
int lx_guard_counts(struct lx_guard *guard, uint64_t *ret_count);

/* Latest first. */
int lx_guard_refusals(struct lx_guard *guard, struct lx_guard_refusal_info **ret_list,
		      size_t *ret_n);

/* The programs for XDP and TC, for tests that run them on packets. Negative: not loaded. */
int lx_guard_prog_fd(const struct lx_guard *guard, bool tc);

#endif
