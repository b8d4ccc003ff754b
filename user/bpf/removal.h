/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Puts an object back that others on the machine removed from the kernel: at once, then after 1 s,
 * then after 4 s. Removed once more within ten minutes, the object stays away: they may mean it,
 * and two agents would fight for ever.
 *
 * Zeroed memory: nothing has been removed. The caller provides locking and monotonic time.
 */
#ifndef LX_BPF_REMOVAL_H
#define LX_BPF_REMOVAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "../base/clock.h"

#define LX_REMOVALS_MAX 4
#define LX_REMOVALS_S 600 /* they count for so long */
#define LX_REMOVAL_RETRY_S 10 /* after an attempt that failed */

struct lx_removals {
	unsigned int n;
	uint64_t last_ns, again_ns; /* when it was noticed last; when it may be put back */
};

/* Those that count. */
static inline unsigned int lx_removals(const struct lx_removals *r, uint64_t now_ns)
{
	return now_ns - r->last_ns < LX_REMOVALS_S * LX_S_NS ? r->n : 0;
}

static inline void lx_removal_note(struct lx_removals *r, uint64_t now_ns)
{
	r->n = lx_removals(r, now_ns) + 1;
	r->last_ns = r->again_ns = now_ns;
	if (r->n > 1)
		r->again_ns += (1ULL << (2 * (r->n - 2))) * LX_S_NS;
}

/* Missing objects may be put back now. */
static inline bool lx_removal_due(const struct lx_removals *r, uint64_t now_ns)
{
	return r->n && r->n < LX_REMOVALS_MAX && now_ns >= r->again_ns;
}

/* Before it is put back: 0, -EAGAIN later, -ECANCELED not any more. */
static inline int lx_removal_may_return(struct lx_removals *r, uint64_t now_ns)
{
	if (r->n >= LX_REMOVALS_MAX)
		return -ECANCELED;
	if (r->n && now_ns < r->again_ns)
		return -EAGAIN;
	r->again_ns = now_ns + LX_REMOVAL_RETRY_S * LX_S_NS;
	return 0;
}

#endif
