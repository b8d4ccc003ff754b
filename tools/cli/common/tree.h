/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A daemon's answer as a tree of JSON values, from which all output formats are
 * printed. Keys and their order are the schema's.
 */
#ifndef LX_TOOLS_TREE_H
#define LX_TOOLS_TREE_H

#include <jansson.h>

#include <internal/ctl.h>

struct lx_schema;

/* The fields of one message or nest, in the schema's order. NULL: out of memory. */
json_t *lx_tree_fields(const struct lx_schema *schema, const void *attrs, size_t len,
		       unsigned int level);

/*
 * Adds a row of an object to the list: to its group, creating it if it is new, or to the
 * list itself. -ENOMEM, -EPROTO: the row has no group.
 */
int lx_tree_add(json_t *list, const struct lx_ctl_shown *object, const void *attrs, size_t len,
		unsigned int level);

#endif
