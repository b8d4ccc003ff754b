/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sequence numbers and positions.
 *
 * A position is a 64-bit byte count; a sequence number is its low 32 bits plus the initial sequence
 * number. Positions do not wrap, so they compare like plain numbers.
 */
#ifndef LX_BPF_POS_H
#define LX_BPF_POS_H

#include "compat.h"

/* The position of @seq within 2 GiB of @near. A negative one wraps to a huge value. */
LX_INLINE __u64 lx_pos_of(__u32 seq, __u32 base_seq, __u64 near)
{
	return near + (__s32)(seq - (base_seq + (__u32)near));
}

LX_INLINE __u32 lx_seq_of(__u64 pos, __u32 base_seq)
{
	return base_seq + (__u32)pos;
}

LX_INLINE __u32 lx_seq_max(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0 ? b : a;
}

LX_INLINE __u32 lx_seq_min(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0 ? a : b;
}

/* a - b as a signed number. */
LX_INLINE __s64 lx_pos_diff(__u64 a, __u64 b)
{
	return (__s64)(a - b);
}

LX_INLINE int lx_pos_before(__u64 a, __u64 b)
{
	return lx_pos_diff(a, b) < 0;
}

LX_INLINE __u64 lx_pos_max(__u64 a, __u64 b)
{
	return lx_pos_before(a, b) ? b : a;
}

LX_INLINE __u64 lx_pos_min(__u64 a, __u64 b)
{
	return lx_pos_before(a, b) ? a : b;
}

/* Raises a position that several CPUs raise. */
LX_INLINE void lx_pos_raise(__u64 *pos, __u64 to)
{
	int i;

	for (i = 0; i < 8; i++) {
		__u64 old = *pos;

		if (!lx_pos_before(old, to) || LX_CAS(pos, old, to) == old)
			return;
	}
}

#endif
