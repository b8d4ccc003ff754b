/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The few things that the logic of the fast path needs of its surroundings, for the
 * kernel (BPF) and for tests that compile the same headers natively.
 *
 * Concurrency. Several processors handle packets of one stream at once: data on the
 * sender's side, acknowledgements on the next hop's side, our own socket's segments.
 * There are no locks. Framing and building ACKs are done by one processor each at a time
 * (lx_try_enter()); who finds it taken leaves word and goes. All other shared fields
 * have one writer, or are changed by compare-and-swap.
 */
#ifndef LX_BPF_COMPAT_H
#define LX_BPF_COMPAT_H

#include "../include/internal/abi.h"

#define LX_CAS(ptr, old, new) __sync_val_compare_and_swap(ptr, old, new)
#define LX_ADD(ptr, n) __sync_fetch_and_add(ptr, n)
/* Reads a field that another processor publishes; what it published before is seen. */
#define LX_ACQUIRE(ptr) __sync_fetch_and_add(ptr, 0)

#ifdef __bpf__

#include <bpf/bpf_helpers.h>

/* Keeps the compiler from telling the verifier that a value is constant. */
#define LX_OPAQUE(x) asm volatile("" : "+r"(x))
/* A length of 1 to @mask + 1, so that every verifier sees that it is. Not 0. */
#define LX_LENGTH(n, mask)                                                                         \
	({                                                                                         \
		__u32 n_ = (n);                                                                    \
		LX_OPAQUE(n_);                                                                     \
		((n_ - 1) & (mask)) + 1;                                                           \
	})
#define LX_NOINLINE __attribute__((noinline))
/* Verified once, whoever calls it; must check its pointers. */
#define LX_GLOBAL LX_NOINLINE

#else

#include <string.h>

#define LX_OPAQUE(x) ((void)(x))
#define LX_LENGTH(n, mask) (n)
#define LX_NOINLINE
#define LX_GLOBAL static

/* bpf_loop(), as the kernel has it. */
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

/* Tells who traces of a message whose way is chosen; its header is in @s. */
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
 * Where things are; the program defines them over its maps, a test over arrays. They
 * return NULL for an index out of range.
 */
static struct lx_stream *lx_stream_at(__u32 index);
static struct lx_lane *lx_lane_at(__u32 index);
static struct lx_fp_peer *lx_fp_peer_at(__u32 index);
static struct lx_dest *lx_dest_of(const struct lx_nid *nid);

/* Bytes of the packet at hand, counted from the start of its TCP payload. */
static int lx_packet_load(void *packet, __u32 at, void *to, __u32 len);

/* Enters a section that one processor at a time may be in; false: it is taken. */
LX_INLINE int lx_try_enter(__u32 *flag)
{
	return LX_CAS(flag, 0, 1) == 0;
}

LX_INLINE void lx_leave(__u32 *flag)
{
	LX_CAS(flag, 1, 0);
}

#endif
