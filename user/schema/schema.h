/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of all that users see of a node, and change.
 *
 * A schema lists the fields of a struct: key as users see it, type, range, when to show it, and
 * its number in messages. By it a configuration is read (user/conf), messages are written and read
 * (user/ctl/codec.h), commands are parsed and answers printed (tools/cli). The tables are in
 * objects.c.
 */
#ifndef LX_SCHEMA_SCHEMA_H
#define LX_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lx_field_type {
	LX_FIELD_INT, /* any integer */
	LX_FIELD_BOOL,
	LX_FIELD_STR, /* char[] */
	LX_FIELD_STRP, /* const char *; written only */
	LX_FIELD_IFACE, /* char[]; shown as a mapping with one entry "0" */
	LX_FIELD_NID,
	LX_FIELD_NET,
	LX_FIELD_ID, /* struct lx_id; written only */
	LX_FIELD_ENUM, /* an integer with names; written only */
	LX_FIELD_NEST, /* a nested struct, described by sub; unset if nothing of it is written */
	LX_FIELD_LIST, /* a nested array, with a count */
	LX_FIELD_NIDS, /* struct lx_nid[] with a count; write-only; shown as mapping NID-0, ... */
	LX_FIELD_NAMED, /* int32_t[] with names known at run time; written only; hidden ones not */
	LX_FIELD_TIME, /* int64_t, seconds since 1970; written only, as local time */
	LX_FIELD_FIXED, /* no member: always the string names[0]; not on the wire */
};

enum lx_field_omit {
	LX_OMIT_NEVER, /* a request must give it if it is a NID or a net */
	LX_OMIT_UNSET, /* -1, "", any; also the default if a request lacks it */
	LX_OMIT_ZERO,
	LX_OMIT_ONE,
};

struct lx_field {
	const char *key;
	const char *alias; /* another key in files */
	uint8_t attr; /* from 1, unique in the message or nest */
	uint8_t type;
	uint8_t omit;
	uint8_t level; /* shown from this level on (internal/ctl.h) */
	bool backup; /* part of a configuration */
	bool command; /* of a request only: not in files */
	bool sgn; /* of an integer */
	bool wide; /* a column only with -s */
	bool rare; /* a column only if some value is not 0 */
	const char *col; /* heading in tables; NULL: not in tables */
	uint8_t mask; /* INT: show these bits only; 0: all */
	uint16_t offset, size;
	int64_t low, high; /* INT of a request: what it may be, if set; both 0: what fits */
	const struct lx_schema *sub;
	const char *const *names; /* ENUM, or INT of a request: by value; FIXED: one */
	uint16_t n_names;
	uint16_t count_offset, max; /* LIST, NIDS: of a uint32_t; maximum number of elements */
	uint16_t names_offset; /* NAMED: of a NULL-terminated table's pointer */
};

struct lx_schema {
	const char *name; /* for messages */
	size_t size; /* of the struct */
	const struct lx_field *field; /* terminated by key NULL */
};

/* Initializers of table entries; more members may follow: LX_FIELD(...), .level = 1 } */
#define LX_FIELD_AT_(t, m) .offset = offsetof(t, m), .size = sizeof(((t *)0)->m)
#define LX_FIELD(n, k, kind, t, m)                                                                 \
	.attr = (n), .key = (k), .type = LX_FIELD_##kind, LX_FIELD_AT_(t, m)
#define LX_FIELD_NUM(n, k, t, m) LX_FIELD(n, k, INT, t, m), .sgn = (__typeof__(((t *)0)->m))-1 < 1
#define LX_FIELD_RANGE(min, max) .low = (min), .high = (max)
/* For an ENUM: an array, which need not have all values. */
#define LX_FIELD_NAMES(array) .names = (array), .n_names = sizeof(array) / sizeof((array)[0])

/* Sets all members that have fields to their defaults, the others to 0. */
void lx_schema_init(const struct lx_schema *schema, void *obj);

/* The key of a field that has no default, a NID or a net, and is not set; or NULL. */
const char *lx_schema_missing(const struct lx_schema *schema, const void *obj);

/* An integer of any width. @p: the member */
int64_t lx_schema_field_load(const struct lx_field *f, const void *p);

/**
 * lx_schema_field_store - set an integer or a boolean
 * @why: on failure, the reason, as in "300 is not in 1..255"
 * Returns 0, or -EINVAL: not in the field's range.
 */
int lx_schema_field_store(const struct lx_field *f, void *p, int64_t value, char *why, size_t size);

/* The same for a NID, a net or a string. */
int lx_schema_field_store_text(const struct lx_field *f, void *p, const char *text, char *why,
			       size_t size);

/**
 * lx_schema_field_parse - set a member from what a user wrote
 * Names of values, "true" or "off" for what is 0 or 1, numbers (decimal, 0x, octal with a 0), NIDs,
 * nets, strings. @why, result: as above
 */
int lx_schema_field_parse(const struct lx_field *f, void *p, const char *text, char *why,
			  size_t size);

/* "true", "off", "0", ...: whether a text is one of these, and which. */
bool lx_schema_field_is_truth(const char *text, bool *ret_value);

/* Its range; LX_OMIT_UNSET also allows LX_UNSET. */
void lx_schema_field_range(const struct lx_field *f, int64_t *ret_low, int64_t *ret_high);

/* False if it has its default value. */
bool lx_schema_field_is_set(const struct lx_field *f, const void *p);

/**
 * lx_schema_format - a request's arguments, for the log: "net=tcp9 gateway=10.0.0.1@tcp hop=2"
 * Omits defaults. Returns @buf, truncated if it is too small.
 */
char *lx_schema_format(const struct lx_schema *schema, const void *obj, char *buf, size_t size);

/* The field with a key, or NULL. */
const struct lx_field *lx_schema_field(const struct lx_schema *schema, const char *key);

#endif
