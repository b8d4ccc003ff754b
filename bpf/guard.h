/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard's decision about a frame. Compiles for BPF, and natively for tests and the fuzzer.
 * The including file defines the lookups.
 *
 *	source banned? ─────────────────────▶ dropped
 *	for the acceptor, and a SYN? ── no ─▶ passed
 *	privileged port? prefix? rate? ─ no ▶ dropped
 *
 * If in doubt, pass the frame: the acceptor repeats all checks except those of the lists.
 */
#ifndef LX_GUARD_PROGRAM_H
#define LX_GUARD_PROGRAM_H

#include "../include/internal/guard_abi.h"
#include "packet.h"

#define LX_GUARD_PORT_PRIVILEGED 1023
#define LX_GUARD_RATE_TRIES 4

/* NULL: no such entry; lx_guard_source_of(): no room. A listener's value counts its SYNs. */
static struct lx_guard_ban *lx_guard_ban_of(const struct lx_packet *p);
static struct lx_guard_rule *lx_guard_rule_of(const struct lx_packet *p);
static struct lx_guard_source *lx_guard_source_of(const struct lx_packet *p);
static __u32 *lx_guard_listener_of(const struct lx_packet *p);

/**
 * lx_guard_pays - whether a SYN is within the rate limit of its source
 * A token bucket in one number (GCRA): @paid is the time up to which past SYNs are paid for, at
 * most @burst before now. A new or silent source has a full burst.
 */
LX_INLINE int lx_guard_pays(__u64 *paid, __u64 now, __u64 interval, __u64 burst)
{
	__u64 old, due;
	int i;

	for (i = 0; i < LX_GUARD_RATE_TRIES; i++) {
		old = *(volatile __u64 *)paid;
		due = old > now ? old : now;
		if (due - now + interval > burst)
			return 0;
		if (__sync_val_compare_and_swap(paid, old, due + interval) == old)
			return 1;
	}
	return 0; /* lost every race: other CPUs see more of them */
}

LX_INLINE enum lx_guard_verdict lx_guard_syn(const struct lx_guard_config *config,
					     const struct lx_packet *p, __u64 now)
{
	struct lx_guard_source *source;
	struct lx_guard_rule *rule;

	if (config->secure && lx_be16(p->sport) > LX_GUARD_PORT_PRIVILEGED)
		return LX_GUARD_UNPRIVILEGED;
	rule = lx_guard_rule_of(p);
	if (rule) {
		__sync_fetch_and_add(&rule->syns, 1);
		return rule->action == LX_GUARD_DENY ? LX_GUARD_DENIED : LX_GUARD_ACCEPTED;
	}
	if (!config->interval_ns)
		return LX_GUARD_ACCEPTED;
	source = lx_guard_source_of(p);
	if (source && !lx_guard_pays(&source->paid_ns, now, config->interval_ns, config->burst_ns))
		return LX_GUARD_RATE;
	return LX_GUARD_ACCEPTED;
}

/* Whether a SYN for the acceptor is dropped for a reason other than a ban. */
LX_INLINE int lx_guard_refuses_syn(__u32 verdict)
{
	return verdict == LX_GUARD_UNPRIVILEGED || verdict == LX_GUARD_DENIED ||
	       verdict == LX_GUARD_RATE;
}

/* Returns the verdict on a frame. @p: filled in by lx_packet_parse(). */
LX_INLINE enum lx_guard_verdict lx_guard_check(const struct lx_guard_config *config,
					       enum lx_packet_kind kind, const struct lx_packet *p,
					       __u64 now)
{
	enum lx_guard_verdict verdict;
	struct lx_guard_ban *ban;
	__u32 *syns;

	if (kind == LX_PACKET_OTHER)
		return LX_GUARD_OTHER;
	ban = config->bans ? lx_guard_ban_of(p) : 0;
	if (ban) {
		__sync_fetch_and_add(&ban->packets, 1);
		return LX_GUARD_BANNED;
	}
	if (kind == LX_PACKET_TRUNCATED)
		return LX_GUARD_UNPARSED;
	syns = kind == LX_PACKET_IP ? 0 : lx_guard_listener_of(p);
	if (!syns)
		return LX_GUARD_OTHER;
	if (kind == LX_PACKET_TCP_FRAGMENT)
		return LX_GUARD_FRAGMENT;
	if ((p->flags & (LX_TCP_SYN | LX_TCP_ACK)) != LX_TCP_SYN)
		return LX_GUARD_ACCEPTED;
	verdict = lx_guard_syn(config, p, now);
	if (verdict == LX_GUARD_ACCEPTED)
		__sync_fetch_and_add(syns, 1);
	return verdict;
}

#endif
