/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The environment of the fast path's logic, for the kernel (BPF) and for tests that compile the
 * same headers natively.
 *
 * Concurrency. Several CPUs handle packets of one stream at once: data from the sender, ACKs from
 * the next hop, segments of our own socket. There are no locks. One CPU at a time frames a
 * stream, and one builds its ACK (lx_try_enter()); a CPU that finds the section taken
 * leaves a note and moves on. All other shared fields have one writer, or are changed by
 * compare-and-swap.
 */
#ifndef LX_BPF_COMPAT_H
#define LX_BPF_COMPAT_H

#include "../include/internal/lanes.h"

#ifdef __bpf__

#include <bpf/bpf_helpers.h>

/* Bounds a length to 1..@mask + 1 in a form that every verifier understands. Not 0. */
#define LX_LENGTH(n, mask)                                                                         \
	({                                                                                         \
		__u32 n_ = (n);                                                                    \
		LX_OPAQUE(n_);                                                                     \
		((n_ - 1) & (mask)) + 1;                                                           \
	})
#define LX_NOINLINE __attribute__((noinline))
/* Verified once, independently of its callers; must check its pointers. */
#define LX_GLOBAL LX_NOINLINE

#else

#include <string.h>

#define LX_LENGTH(n, mask) (n)
#define LX_NOINLINE
#define LX_GLOBAL static

/* bpf_loop() with the kernel's semantics. */
static inline long bpf_loop(__u32 n, long (*fn)(__u32 i, void *arg), void *arg, __u64 flags)
{
	__u32 i;

	for (i = 0; i < n; i++) {
		if (fn(i, arg))
			return i + 1;
	}
	return n;
}

#endif

struct lx_message;
struct lx_choice;

/* Emits a trace event for a message that has been placed; its header is in @s. */
#ifdef __bpf__
static void lx_trace(void *packet, const struct lx_stream *s, const struct lx_message *m,
		     const struct lx_choice *c);
#else
static inline void lx_trace(void *packet, const struct lx_stream *s, const struct lx_message *m,
			    const struct lx_choice *c)
{
	(void)packet, (void)s, (void)m, (void)c;
}
#endif

/*
 * Table lookups, which the program implements with maps and tests with arrays. They return NULL for
 * an index out of range.
 */
static struct lx_stream *lx_stream_at(__u32 index);
static struct lx_lane *lx_lane_at(__u32 index);
static struct lx_fp_peer *lx_fp_peer_at(__u32 index);
static struct lx_dest *lx_dest_of(const struct lx_nid *nid);

/* Loads bytes of the current packet; @at: offset in its TCP payload. */
static int lx_packet_load(void *packet, __u32 at, void *to, __u32 len);

/* Enters a section for one CPU at a time; false: it is taken. */
LX_INLINE int lx_try_enter(__u32 *flag)
{
	return LX_CAS(flag, 0, 1) == 0;
}

LX_INLINE void lx_leave(__u32 *flag)
{
	LX_CAS(flag, 1, 0);
}

#endif
