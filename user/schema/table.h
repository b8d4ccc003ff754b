/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the tables of fields are written. OF is the struct that the next one describes:
 *
 *	#define OF struct lx_bpf_set_info
 *	TABLE(set, "set",
 *		{ FIELD(1, "set", STRP, name), .col = "SET" },
 *		{ FIELD(2, "loaded", BOOL, loaded), .col = "LOADED" },
 *	)
 *	#undef OF
 */
#ifndef LX_SCHEMA_TABLE_H
#define LX_SCHEMA_TABLE_H

#include "schema.h"

#define FIELD(n, k, kind, m) LX_FIELD(n, k, kind, OF, m)
#define NUMBER(n, k, m) LX_FIELD_NUM(n, k, OF, m)
#define UNSET .omit = LX_OMIT_UNSET
#define NONZERO .omit = LX_OMIT_ZERO
/* The heading of a column that tables have only with -s; only if some value is not 0. */
#define WIDE(title) .col = title, .wide = true
#define RARE(title) .col = title, .rare = true

#define TABLE_(linkage, type, var, text, ...)                                                      \
	static const struct lx_field var##_fields[] = { __VA_ARGS__{ 0 } };                        \
	linkage const struct lx_schema var = { text, sizeof(type), var##_fields };
/* A schema of the file, and one of a struct with few fields. */
#define TABLE(...) TABLE_OF(OF, __VA_ARGS__)
#define TABLE_OF(...) TABLE_(static, __VA_ARGS__)
/* An exported one. */
#define REQUEST(...) TABLE_(, __VA_ARGS__)

#endif
