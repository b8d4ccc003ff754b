/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers of command lines, with and without units. No state. */
#ifndef LX_TOOLS_QUANTITY_H
#define LX_TOOLS_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * @base: 10, or 0: also "0x10" and "010"
 * Returns 0, -EINVAL: no number, -ERANGE: not in @min..@max.
 */
int lx_quantity_number(const char *text, int base, int64_t min, int64_t max, int64_t *ret_value);

struct lx_unit {
	const char *name;
	double factor;
};

extern const struct lx_unit lx_quantity_bytes[]; /* "512", "64k", "1M" */
extern const struct lx_unit lx_quantity_ms[]; /* "500ms", "1.5s", "2" (seconds), "5m", "1h" */

/* False: no such quantity in @min..@max. */
bool lx_quantity(const char *text, const struct lx_unit *unit, int64_t min, int64_t max,
		 int64_t *ret_value);

#endif
