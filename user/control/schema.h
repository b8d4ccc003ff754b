/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Structs as netlink attributes, by tables.
 *
 * A schema lists the fields of a struct: attribute number, key as people see it,
 * type, and when it is of interest. From one table the daemon writes messages, the
 * CLI reads and prints them, and requests are checked. The tables for control
 * messages are in control.c.
 *
 * On the wire: integers are 64 bits in host order, texts (also NIDs and nets) end in
 * a NUL, nests and lists are nested attributes.
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
	LX_FIELD_NEST, /* a struct within, described by sub */
	LX_FIELD_LIST, /* an array within, with a count */
	LX_FIELD_NAMED, /* int32_t[] with names known at run time; written only, but for hidden ones */
	LX_FIELD_TIME, /* int64_t, seconds since 1970; written only, as local time */
	LX_FIELD_FIXED, /* no member: always the text in names[0]; not on the wire */
};

enum lx_field_omit {
	LX_OMIT_NEVER,
	LX_OMIT_UNSET, /* -1, "", any; also the default when a request lacks it */
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
	bool wide; /* a column only when asked for more */
	bool rare; /* a column only if there is a value in it, and not only 0 */
	const char *col; /* heading in tables; NULL: not in tables */
	uint16_t offset, size;
	const struct lx_schema *sub;
	const char *const *names; /* ENUM, by value; FIXED: one */
	uint16_t n_names;
	uint16_t count_offset, max; /* LIST: of a uint32_t; most elements */
	uint16_t names_offset; /* NAMED: of a NULL-terminated table's pointer */
};

struct lx_schema {
	const char *name; /* for messages */
	size_t size; /* of the struct */
	const struct lx_field *field; /* ended by key NULL */
};

/* Builders of table entries; further members may follow: LX_FIELD(...), .level = 1 } */
#define LX_FIELD_AT_(t, m) .offset = offsetof(t, m), .size = sizeof(((t *)0)->m)
#define LX_FIELD(n, k, kind, t, m)                                                                 \
	.attr = (n), .key = (k), .type = LX_FIELD_##kind, LX_FIELD_AT_(t, m)
#define LX_FIELD_NUM(n, k, t, m) LX_FIELD(n, k, INT, t, m), .sgn = (__typeof__(((t *)0)->m))-1 < 1
/* Of an ENUM: an array, which need not have all values. */
#define LX_FIELD_NAMES(array) .names = (array), .n_names = sizeof(array) / sizeof((array)[0])

/**
 * lx_schema_put - append a struct's fields to a message
 * @size: of the buffer that @nlh is at the start of
 * @level: which fields (control.h)
 * Returns 0, -EMSGSIZE: no room; the message is as before.
 */
int lx_schema_put(struct nlmsghdr *nlh, size_t size, const struct lx_schema *schema,
		  const void *obj, unsigned int level);

/**
 * lx_schema_get - fill a struct from attributes that came from outside
 * @ret_text: on failure, what is wrong
 *
 * What is not there gets its default. Returns 0, -EPROTO malformed, -EINVAL a value
 * that does not fit, -EOPNOTSUPP an attribute that this version does not know.
 */
int lx_schema_get(const void *attrs, size_t len, const struct lx_schema *schema, void *obj,
		  char *ret_text, size_t text_size);

/**
 * lx_schema_format - what a request asks for, for the log: "net=tcp9 gateway=10.0.0.1@tcp hop=2"
 * Fields with their default value are left out. Returns @buf, cut off if it is too small.
 */
char *lx_schema_format(const struct lx_schema *schema, const void *obj, char *buf, size_t size);

/* The (first) attribute of a number, or NULL. */
const struct nlattr *lx_schema_find(const void *attrs, size_t len, uint8_t attr);

/* A text attribute's text, or NULL if it is none. */
const char *lx_schema_text(const struct nlattr *attr);

/**
 * lx_schema_message - the message at the start of what was received
 * @len: bytes received
 * @hdr: of its fixed header
 * mnl_nlmsg_ok() takes a length of 2 GiB and more for a negative one; this does not.
 * Returns NULL if no message with at least its headers is there, in all its length.
 */
const struct nlmsghdr *lx_schema_message(const void *buf, size_t len, size_t hdr);

/* A message's attributes: behind a fixed header of @hdr bytes. */
const void *lx_schema_attrs(const struct nlmsghdr *nlh, size_t hdr, size_t *ret_len);

#endif
