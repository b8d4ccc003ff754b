/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that the application announced: a transport prepares it once for all MDs in it
 * (lx_memory_add() of lnetx.h).
 */
#ifndef LX_CORE_MEMORY_H
#define LX_CORE_MEMORY_H

#include "../base/list.h"
#include "../base/region.h"

struct lx_core;

/* Owner: core->memory. */
struct lx_memory {
	struct lx_list link;
	struct lx_region region;
	struct iovec stretch;
	unsigned int n_mds; /* MDs in it */
};

/* -EINVAL, -EEXIST it overlaps announced memory, -ENOMEM. */
int lx_core_memory_add(struct lx_core *core, void *start, size_t length);
/* -ENOENT, -EBUSY an MD lies in it. */
int lx_core_memory_del(struct lx_core *core, void *start);
/* The memory that contains all of @iov, or NULL. */
struct lx_memory *lx_core_memory_find(struct lx_core *core, const struct iovec *iov,
				      unsigned int n_iov);
void lx_core_memory_free_all(struct lx_core *core);

#endif
