/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that outlives a message: an MD's, memory the application announced, a slab of
 * router buffers.
 *
 * A transport ties to the region what it prepares once for such memory, for example a
 * registration with RDMA hardware. The owner promises that the memory stays mapped,
 * unchanged, until lx_region_end(), which cuts the ties: nothing prepared outlives
 * the memory. By then no message uses it any more.
 */
#ifndef LX_BASE_REGION_H
#define LX_BASE_REGION_H

#include <sys/uio.h>

#include "list.h"

struct lx_region {
	struct lx_list ties;
	const struct iovec *stretch; /* of memory; the region consists of these */
	unsigned int n_stretches;
};

struct lx_tie {
	struct lx_list link;
	/* The region ends: undo the preparation. The tie is unlinked already. */
	void (*cut)(struct lx_tie *tie);
};

static inline void lx_region_init(struct lx_region *region, const struct iovec *stretch,
				  unsigned int n_stretches)
{
	lx_list_init(&region->ties);
	region->stretch = stretch;
	region->n_stretches = n_stretches;
}

/* Ties, until the tie is cut or the transport removes it with lx_list_del(). */
static inline void lx_region_tie(struct lx_region *region, struct lx_tie *tie)
{
	lx_list_append(&region->ties, &tie->link);
}

static inline void lx_region_end(struct lx_region *region)
{
	struct lx_tie *tie;

	while ((tie = lx_list_pop(&region->ties, struct lx_tie, link))) {
		tie->cut(tie);
	}
}

/* The stretch that contains all of these bytes, or NULL. */
static inline const struct iovec *lx_region_find(const struct lx_region *region, const void *addr,
						 size_t length)
{
	for (unsigned int i = 0; i < region->n_stretches; i++) {
		const struct iovec *s = &region->stretch[i];
		size_t at = (const char *)addr - (const char *)s->iov_base;

		if (at <= s->iov_len && length <= s->iov_len - at)
			return s;
	}
	return NULL;
}

#endif
