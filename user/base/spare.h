/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of ended objects, kept for the next ones: malloc() is slow where hundreds come
 * and go together, many times a second. All of one list have one size.
 *
 * Where a sanitizer watches memory nothing is kept, so that a use after the end shows.
 */
#ifndef LX_BASE_SPARE_H
#define LX_BASE_SPARE_H

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define LX_SPARE_NONE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LX_SPARE_NONE 1
#endif
#endif

struct lx_spares {
	void **first; /* each begins with the address of the next */
	unsigned int n;
};

/* Memory of @size bytes, with anything in it; or NULL. */
static inline void *lx_spare_take(struct lx_spares *spares, size_t size)
{
	void **p = spares->first;

	if (!p)
		return malloc(size);
	spares->first = *p;
	spares->n--;
	return p;
}

/* Gives memory back; at most @max are kept. */
static inline void lx_spare_give(struct lx_spares *spares, void *memory, unsigned int max)
{
	void **p = memory;

#ifdef LX_SPARE_NONE
	max = 0;
#endif
	if (spares->n >= max) {
		free(memory);
		return;
	}
	*p = spares->first;
	spares->first = p;
	spares->n++;
}

static inline void lx_spares_fini(struct lx_spares *spares)
{
	while (spares->first)
		free(lx_spare_take(spares, 0));
}

#endif
