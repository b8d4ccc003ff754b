/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of tunables; see the header. Used by core, transports, conf and CLI. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <lnetx/tunable.h>

#include "integer.h"

static int64_t *field(const struct lx_tunable *t, void *values)
{
	return (int64_t *)((char *)values + t->offset);
}

const struct lx_tunable *lx_tunable_lookup(const struct lx_tunable *table, const char *name)
{
	for (; table && table->name; table++) {
		if (!strcmp(table->name, name))
			return table;
	}
	return NULL;
}

void lx_tunable_defaults(const struct lx_tunable *table, void *values)
{
	for (; table->name; table++)
		*field(table, values) = table->def;
}

int64_t lx_tunable_get(const struct lx_tunable *t, const void *values)
{
	return *(const int64_t *)((const char *)values + t->offset);
}

/*
 * All nodes of a process share a transport's tunables, and read them under their own locks.
 * So do not write unchanged values, which every application of a file contains.
 */
static void store(const struct lx_tunable *t, void *values, int64_t value)
{
	if (*field(t, values) != value)
		*field(t, values) = value;
}

int lx_tunable_set(const struct lx_tunable *t, void *values, const char *text)
{
	const char *digits;
	int64_t value;
	bool hex;
	int err;

	if (!strcmp(text, "default")) {
		store(t, values, t->def);
		return 0;
	}
	for (int i = 0; t->names && t->names[i]; i++) {
		if (!strcmp(t->names[i], text)) {
			store(t, values, t->min + i);
			return 0;
		}
	}
	/* strtoll() alone accepts leading space and "+", and reads "010" as eight. */
	digits = text + (*text == '-');
	hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	if (!isdigit((unsigned char)*digits))
		return -EINVAL;
	err = lx_integer_parse(text, hex ? 16 : 10, t->min, t->max, &value);
	if (!err)
		store(t, values, value);
	return err;
}

const char *lx_tunable_format(const struct lx_tunable *t, const void *values, char *buf,
			      size_t size)
{
	int64_t value = lx_tunable_get(t, values);

	if (t->names)
		snprintf(buf, size, "%s", t->names[value - t->min]);
	else
		snprintf(buf, size, "%" PRId64, value);
	return buf;
}
