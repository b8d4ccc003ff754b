/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Structs as netlink attributes, by tables.
 *
 * A schema lists the fields of a struct: attribute number, key as users see it,
 * type, and when to show it. The daemon encodes messages by it, the CLI decodes and
 * prints them, and both check requests. The tables for control messages are in
 * control.c.
 *
 * On the wire: integers are 64 bits in host order, strings (including NIDs and nets)
 * are NUL-terminated, nests and lists are nested attributes.
 */
#ifndef LX_BASE_SCHEMA_H
#define LX_BASE_SCHEMA_H

#include <libmnl/libmnl.h>
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
	uint8_t attr; /* from 1, unique in the message or nest */
	uint8_t type;
	uint8_t omit;
	uint8_t level; /* shown from this level on (control.h) */
	bool backup; /* part of a configuration */
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

/**
 * lx_schema_put - append a struct's fields to a message
 * @size: of the buffer that starts at @nlh
 * @level: which fields (control.h)
 * Returns 0, -EMSGSIZE: no room; the message is unchanged.
 */
int lx_schema_put(struct nlmsghdr *nlh, size_t size, const struct lx_schema *schema,
		  const void *obj, unsigned int level);

/**
 * lx_schema_get - fill a struct from untrusted attributes
 * @ret_text: on failure, what is wrong
 *
 * Missing fields get their defaults. Returns 0, -EPROTO malformed, -EINVAL a value
 * that does not fit, -EOPNOTSUPP an attribute that this version does not know.
 */
int lx_schema_get(const void *attrs, size_t len, const struct lx_schema *schema, void *obj,
		  char *ret_text, size_t text_size);

/**
 * lx_schema_format - a request's arguments, for the log: "net=tcp9 gateway=10.0.0.1@tcp hop=2"
 * Omits defaults. Returns @buf, truncated if it is too small.
 */
char *lx_schema_format(const struct lx_schema *schema, const void *obj, char *buf, size_t size);

/* The field with a key, or NULL. */
const struct lx_field *lx_schema_field(const struct lx_schema *schema, const char *key);

/* The (first) attribute of a number, or NULL. */
const struct nlattr *lx_schema_find(const void *attrs, size_t len, uint8_t attr);

/* A string attribute's value; NULL: not a string. */
const char *lx_schema_text(const struct nlattr *attr);

/**
 * lx_schema_message - the message at the start of a receive buffer
 * @len: bytes received
 * @hdr: bytes of its fixed header
 * Unlike mnl_nlmsg_ok(), this does not take a length of 2 GiB or more for a negative one.
 * Returns NULL unless a complete message with its headers is there.
 */
const struct nlmsghdr *lx_schema_message(const void *buf, size_t len, size_t hdr);

/* A message's attributes, after a fixed header of @hdr bytes. */
const void *lx_schema_attrs(const struct nlmsghdr *nlh, size_t hdr, size_t *ret_len);

#endif
