/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers with units, of command lines. No state. */
#ifndef LX_TOOLS_QUANTITY_H
#define LX_TOOLS_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

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
