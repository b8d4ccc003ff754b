/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whole numbers that users write. */
#ifndef LX_BASE_INTEGER_H
#define LX_BASE_INTEGER_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * @base: 10, or 0: also "0x10" and "010"
 * Returns 0, -EINVAL: no number, -ERANGE: not in @min..@max.
 */
static inline int lx_integer_parse(const char *text, int base, int64_t min, int64_t max,
				   int64_t *ret_value)
{
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, base);
	if (end == text || *end)
		return -EINVAL;
	if (errno || value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

#endif
