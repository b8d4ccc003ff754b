/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that the application announced. There are few such areas, so a list will do.
 */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "memory.h"

static bool overlap(const struct iovec *a, const struct iovec *b)
{
	const char *from_a = a->iov_base, *from_b = b->iov_base;

	return from_a < from_b + b->iov_len && from_b < from_a + a->iov_len;
}

int lx_core_memory_add(struct lx_core *core, void *start, size_t length)
{
	const struct iovec stretch = { start, length };
	struct lx_memory *memory;

	if (!start || !length || (uintptr_t)start + length < length)
		return -EINVAL;
	lx_list_for_each (memory, &core->memory, link) {
		if (overlap(&memory->stretch, &stretch))
			return -EEXIST;
	}
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	memory->stretch = stretch;
	lx_region_init(&memory->region, &memory->stretch, 1);
	lx_list_append(&core->memory, &memory->link);
	return 0;
}

static void memory_free(struct lx_memory *memory)
{
	lx_region_end(&memory->region);
	lx_list_del(&memory->link);
	free(memory);
}

int lx_core_memory_del(struct lx_core *core, void *start)
{
	struct lx_memory *memory;

	lx_list_for_each (memory, &core->memory, link) {
		if (memory->stretch.iov_base != start)
			continue;
		if (memory->n_mds)
			return -EBUSY;
		memory_free(memory);
		return 0;
	}
	return -ENOENT;
}

struct lx_memory *lx_core_memory_find(struct lx_core *core, const struct iovec *iov,
				      unsigned int n_iov)
{
	struct lx_memory *memory;
	unsigned int i;

	lx_list_for_each (memory, &core->memory, link) {
		for (i = 0; i < n_iov; i++) {
			if (!lx_region_find(&memory->region, iov[i].iov_base, iov[i].iov_len))
				break;
		}
		if (n_iov && i == n_iov)
			return memory;
	}
	return NULL;
}

void lx_core_memory_free_all(struct lx_core *core)
{
	struct lx_memory *memory;

	while ((memory = lx_list_first(&core->memory, struct lx_memory, link)))
		memory_free(memory);
}
