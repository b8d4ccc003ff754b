/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common to the libFuzzer targets. */
#ifndef LX_FUZZ_FUZZ_H
#define LX_FUZZ_FUZZ_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Called by libFuzzer with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of exact size, so that a sanitizer detects reads beyond it. The caller frees it. */
static inline void *exact_copy(const void *data, size_t len)
{
	void *copy = malloc(len + !len);

	assert(copy);
	memcpy(copy, data, len);
	return copy;
}

#endif
