/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the programs of the fast path and the daemon read and change what both of them do: credits,
 * the runs of a lane, extents, grants. One rule for both, and for tests.
 *
 * Compiles natively and for BPF. The layouts are in abi.h; docs/fastpath.md tells what they are
 * for.
 */
#ifndef LNETX_LANES_H
#define LNETX_LANES_H

#include "abi.h"
#include "policy.h"

/* ---- memory that both sides change --------------------------------------------------- */

#define LX_CAS(ptr, old, new) __sync_val_compare_and_swap(ptr, old, new)
#define LX_ADD(ptr, n) __sync_fetch_and_add(ptr, n)
/* Reads a field that another CPU publishes, with acquire semantics; it must be writable. */
#define LX_ACQUIRE(ptr) __sync_fetch_and_add(ptr, 0)

#ifdef __bpf__
/* Reads a field that another CPU writes. */
#define LX_READ(field) (*(const volatile typeof(field) *)&(field))
/* Hides a value from the compiler's constant propagation, for the verifier. */
#define LX_OPAQUE(x) asm volatile("" : "+r"(x))
#else
#define LX_READ(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#ifndef LX_OPAQUE /* a test may let another CPU run here */
#define LX_OPAQUE(x) ((void)(x))
#endif
#endif

/* ---- credits -------------------------------------------------------------------------- */

/*
 * A run takes a credit. In this order, other CPUs may briefly see too many credits, never too few.
 */
LX_INLINE void lx_fp_peer_credit_take(struct lx_credit *credit)
{
	__s32 now, min;

	LX_ADD(&credit->lanes, 1);
	now = LX_ADD(&credit->now, -1) - 1;
	min = credit->min;
	if (now < min)
		LX_CAS(&credit->min, min, now);
}

LX_INLINE void lx_fp_peer_credit_give(struct lx_credit *credit)
{
	LX_ADD(&credit->now, 1);
	LX_ADD(&credit->lanes, -1);
}

/* ---- the word of a lane ----------------------------------------------------------------- */

/* The stream of the last run; LX_LANE_OWNER: none, LX_LANE_OURS. */
LX_INLINE __u32 lx_lane_owner(__u64 word)
{
	return (word >> 32) & LX_LANE_OWNER;
}

LX_INLINE int lx_lane_busy(__u64 word)
{
	return (word >> 32 & LX_LANE_BUSY) != 0;
}

/* The number of the next run. */
LX_INLINE __u16 lx_lane_tail(__u64 word)
{
	return word >> (32 + LX_LANE_TAIL_SHIFT);
}

/* The word of a busy lane. */
LX_INLINE __u64 lx_lane_word(__u32 owner, __u16 tail, __u64 next)
{
	return (__u64)(LX_LANE_BUSY | (__u32)tail << LX_LANE_TAIL_SHIFT | owner) << 32 |
	       (__u32)next;
}

/* ---- a lane and its runs ------------------------------------------------------------------ */

/* Its connection has ended; bytes in flight are lost. */
LX_INLINE int lx_lane_is_gone(const struct lx_lane *lane)
{
	return lane->state == LX_LANE_DEAD || lane->state == LX_LANE_FREE;
}

/* The programs send nothing on it: it is gone, or the daemon sends what is on it. */
LX_INLINE int lx_lane_is_off(const struct lx_lane *lane)
{
	return lx_lane_is_gone(lane) || lane->state == LX_LANE_STORED;
}

/* Whether the socket sends on the connection: it has it back, or the lane is stored. */
LX_INLINE int lx_lane_is_of_socket(const struct lx_lane *lane)
{
	return lane->state == LX_LANE_STORED ||
	       lx_lane_owner(LX_READ(lane->word)) == LX_LANE_OURS;
}

/* Whether its socket gets nowhere, though the next hop answers. */
LX_INLINE int lx_lane_is_stuck(const struct lx_lane *lane)
{
	return lane->repeats >= LX_STUCK_REPEATS;
}

/* How many bytes may be in flight; 0: what the window takes. */
LX_INLINE __u32 lx_lane_limit(const struct lx_lane *lane)
{
	return (__u32)LX_READ(lane->limit) << 10;
}

/* Whether all bytes have been acknowledged; the runs may still be there. */
LX_INLINE int lx_lane_is_done(const struct lx_lane *lane)
{
	return (__u32)LX_READ(lane->word) == (__u32)LX_READ(lane->una);
}

/* Whether the first run takes too long; in an idle lane, or on a slow line, none does. */
LX_INLINE int lx_lane_is_slow(const struct lx_lane *lane, __u64 word, __u64 now_ns)
{
	return lx_lane_busy(word) && !LX_READ(lane->limit) &&
	       (__s64)(now_ns - LX_READ(lane->first_ns)) > (__s64)LX_LANE_SLOW_NS;
}

/* The place of a run in the ring, as const as @lane is. */
LX_INLINE struct lx_lane_run *lx_lane_run(const struct lx_lane *lane, __u32 number)
{
	LX_OPAQUE(number);
	return (struct lx_lane_run *)&lane->run[number & (LX_LANE_RUNS - 1)];
}

/* The stream of a run; LX_LANE_OWNER: the stream has ended, or there is no such run. */
LX_INLINE __u32 lx_lane_run_stream(const struct lx_lane *lane, __u16 number)
{
	const struct lx_lane_run *run = lx_lane_run(lane, number);
	__u32 stream = LX_READ(run->stream);

	return LX_READ(run->tag) == (LX_LANE_RUN | number) ? stream : LX_LANE_OWNER;
}

/* The number of runs of a busy lane that are not fully acknowledged. */
LX_INLINE __u16 lx_lane_n_runs(const struct lx_lane *lane, __u64 word)
{
	return lx_lane_tail(word) - (__u16)LX_READ(lane->run_first);
}

/* Whether there are runs behind the first. */
LX_INLINE int lx_lane_is_shared(const struct lx_lane *lane)
{
	__u64 word = LX_READ(lane->word);

	return lx_lane_busy(word) && lx_lane_n_runs(lane, word) > 1;
}

/* The stream whose bytes the next hop acknowledges next; LX_LANE_OWNER: none. */
LX_INLINE __u32 lx_lane_first_stream(const struct lx_lane *lane)
{
	return lx_lane_busy(LX_READ(lane->word))
		       ? lx_lane_run_stream(lane, LX_READ(lane->run_first))
		       : LX_LANE_OWNER;
}

/* Whether a stream has unacknowledged bytes on the lane. */
LX_INLINE int lx_lane_has(const struct lx_lane *lane, __u32 stream)
{
	__u64 word = LX_READ(lane->word);
	__u16 first = LX_READ(lane->run_first), n = lx_lane_tail(word) - first;
	__u32 i;

	if (!lx_lane_busy(word))
		return 0;
	if (lx_lane_owner(word) == stream)
		return 1;
	for (i = 0; i < LX_LANE_RUNS && i < n; i++) {
		if (lx_lane_run_stream(lane, first + i) == stream)
			return 1;
	}
	return 0;
}

/*
 * Where a stream goes, or waits, that has had no lane to this next hop yet. LX_NO_LANE: it has
 * none.
 */
LX_INLINE __u32 lx_lane_preferred(const struct lx_fp_peer *next_hop, __u32 stream)
{
	__u32 n = LX_READ(next_hop->n_lanes);

	return n ? next_hop->lane[stream % n & (LX_FP_PEER_LANES - 1)] : LX_NO_LANE;
}

/* ---- extents of a stream -------------------------------------------------------------------- */

/* The place of an extent in the ring, as const as @s is. */
LX_INLINE struct lx_extent *lx_extent_at(const struct lx_stream *s, __u32 count)
{
	LX_OPAQUE(count);
	return (struct lx_extent *)&s->extent[count & (LX_STREAM_EXTENTS - 1)];
}

/*
 * Whether extent @count has been removed, as its bytes are acknowledged: if so, what was read of it
 * before does not count. The atomic operation keeps the reads in this order.
 */
LX_INLINE int lx_extent_is_gone(struct lx_stream *s, __u32 count)
{
	return (__s32)(count - LX_ACQUIRE(&s->head)) < 0;
}

/* Up to where everything of a stream has been here; what has been acknowledged has, too. */
LX_INLINE __u64 lx_stream_arrived(const struct lx_stream *s)
{
	__u64 arrived = LX_READ(s->arrived), acked = LX_READ(s->acked);

	return (__s64)(acked - arrived) > 0 ? acked : arrived;
}

/* How long a sender is told of nothing that went another way than @head, its first extent. */
LX_INLINE __u64 lx_stuck_ns(const struct lx_stream *s, const struct lx_extent *head)
{
	return head->len > s->mss ? LX_STUCK_NS : LX_STUCK_SMALL_NS;
}

/* ---- grants ---------------------------------------------------------------------------------- */

/*
 * Takes back a grant that is not used, or has been; @lane: s->grant_lane's. While ENDING, the other
 * side leaves it alone. Returns 0 if the stream has none.
 */
LX_INLINE int lx_grant_end(struct lx_stream *s, struct lx_lane *lane)
{
	if (LX_READ(s->grant) != LX_GRANT_GIVEN ||
	    LX_CAS(&s->grant, LX_GRANT_GIVEN, LX_GRANT_ENDING) != LX_GRANT_GIVEN)
		return 0;
	if (lane)
		LX_ADD(&lane->granted, -s->grant_len);
	LX_CAS(&s->grant, LX_GRANT_ENDING, LX_GRANT_NONE);
	return 1;
}

#endif
