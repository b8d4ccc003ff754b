/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tunables: named integers with a range and a default, listed once.
 *
 * A module lists its tunables in an X-macro, which generates the struct it reads
 * them from (plain fields), the table for configuration, CLI and manual, and the
 * defaults. The names are those of the reference's module parameters
 * (socklnd.md 13, lnet.md 16).
 */
#ifndef LNETX_TUNABLE_H
#define LNETX_TUNABLE_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* what liblnetx.so exports */

#ifdef __cplusplus
extern "C" {
#endif

struct lx_tunable {
	const char *name;
	int64_t min, max, def;
	const char *const *names; /* names of the values from min on, NULL-terminated; or NULL */
	const char *help;         /* with the unit */
	size_t offset;            /* of an int64_t */
};

/* Two tunables of a module whose values contradict each other. */
struct lx_tunable_conflict {
	const char *name[2];
	const char *why; /* with both names */
};

/*
 * #define MY_TUNABLES(X, tag) \
 *	X(tag, name, default, min, max, names, "help, with the unit")
 * LX_TUNABLE_STRUCT(my_tunables, MY_TUNABLES);
 * static const struct lx_tunable my_table[] = LX_TUNABLE_TABLE(my_tunables, MY_TUNABLES);
 */
#define LX_TUNABLE_FIELD_(tag, name, def, min, max, names, help) int64_t name;
#define LX_TUNABLE_ENTRY_(tag, name, def, min, max, names, help) \
	{ #name, min, max, def, names, help, offsetof(struct tag, name) },
#define LX_TUNABLE_STRUCT(tag, LIST) \
	struct tag { \
		LIST(LX_TUNABLE_FIELD_, tag) \
	}
#define LX_TUNABLE_TABLE(tag, LIST) \
	{ LIST(LX_TUNABLE_ENTRY_, tag){ NULL, 0, 0, 0, NULL, NULL, 0 } }

/**
 * lx_tunable_lookup - find a tunable by name
 * @table: terminated by an entry without a name
 * Returns NULL if there is none.
 */
const struct lx_tunable *lx_tunable_lookup(const struct lx_tunable *table, const char *name);

/** lx_tunable_defaults - fill @values, a struct that @table describes, with the defaults */
void lx_tunable_defaults(const struct lx_tunable *table, void *values);

/** lx_tunable_get - the value in @values, a struct that @t's table describes */
int64_t lx_tunable_get(const struct lx_tunable *t, const void *values);

/**
 * lx_tunable_set - change one value
 * @text: a decimal or 0x number, one of the value names, or "default"
 * Returns 0, -EINVAL: not a number and no such name; -ERANGE: outside min..max.
 */
int lx_tunable_set(const struct lx_tunable *t, void *values, const char *text);

/** lx_tunable_format - format the value: its name if it has one. Returns @buf. */
const char *lx_tunable_format(const struct lx_tunable *t, const void *values, char *buf,
			      size_t size);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
