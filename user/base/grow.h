/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arrays that grow by one element. Their sizes are powers of 2, so they have no capacity. */
#ifndef LX_BASE_GROW_H
#define LX_BASE_GROW_H

#include <stdlib.h>
#include <string.h>

/**
 * lx_grow - add an element of zeros
 * @array: address of the array's pointer, which is NULL while @n is 0
 * Returns the element; NULL: out of memory, and the array is as before.
 */
static inline void *lx_grow(void *array, size_t *n, size_t size)
{
	char *grown = *(void **)array;

	if (!(*n & (*n - 1))) /* full */
		grown = realloc(grown, size * (*n ? *n * 2 : 1));
	if (!grown)
		return NULL;
	*(void **)array = grown;
	return memset(grown + (*n)++ * size, 0, size);
}

#endif
