/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of freed objects, kept for the next ones: malloc() is slow when hundreds come
 * and go together, many times a second. All objects of a list have the same size.
 *
 * Under a sanitizer nothing is kept, so that use after free is detected.
 */
#ifndef LX_BASE_FREELIST_H
#define LX_BASE_FREELIST_H

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define LX_FREELIST_NONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LX_FREELIST_NONE 1
#endif
#endif

struct lx_freelist {
	void **first; /* each starts with a pointer to the next */
	unsigned int n;
};

/* Uninitialized memory of @size bytes, or NULL. */
static inline void *lx_freelist_get(struct lx_freelist *list, size_t size)
{
	void **p = list->first;

	if (!p)
		return malloc(size);
	list->first = *p;
	list->n--;
	return p;
}

/* Returns memory; at most @max objects are kept. */
static inline void lx_freelist_put(struct lx_freelist *list, void *memory, unsigned int max)
{
	void **p = memory;

#ifdef LX_FREELIST_NONE
	max = 0;
#endif
	if (list->n >= max) {
		free(memory);
		return;
	}
	*p = list->first;
	list->first = p;
	list->n++;
}

static inline void lx_freelist_fini(struct lx_freelist *list)
{
	while (list->first)
		free(lx_freelist_get(list, 0));
}

#endif
