/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Quantities; see the header. */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "quantity.h"

const struct lx_unit lx_quantity_bytes[] = { { "", 1 }, { "k", 1 << 10 }, { "m", 1 << 20 }, { 0 } };

const struct lx_unit lx_quantity_ms[] = { { "ms", 1 },	  { "", 1000 },	    { "s", 1000 },
					  { "m", 60000 }, { "h", 3600000 }, { 0 } };

bool lx_quantity(const char *text, const struct lx_unit *unit, int64_t min, int64_t max,
		 int64_t *ret_value)
{
	char *end;
	double value = strtod(text, &end);

	while (unit->name && strcasecmp(unit->name, end))
		unit++;
	value *= unit->factor;
	if (!unit->name || !isdigit((unsigned char)*text) || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}
