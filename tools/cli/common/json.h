/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Values in JSON objects. Owns nothing. */
#ifndef LX_TOOLS_JSON_H
#define LX_TOOLS_JSON_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A text of @map, which keeps it; "" if it has none. */
static inline const char *lx_json_text(const json_t *map, const char *key)
{
	const char *text = json_string_value(json_object_get(map, key));

	return text ? text : "";
}

/* An integer of @map; 0 if it has none. */
static inline json_int_t lx_json_int(const json_t *map, const char *key)
{
	return json_integer_value(json_object_get(map, key));
}

/* The NID of @map in a text that may be an id, "12345-NID"; "" if it has none. */
static inline const char *lx_json_nid(const json_t *map, const char *key)
{
	const char *text = lx_json_text(map, key), *dash = strchr(text, '-');

	return dash ? dash + 1 : text;
}

/* The number that a text of @map begins with; 0 if it has none. */
static inline int64_t lx_json_number(const json_t *map, const char *key)
{
	return strtoll(lx_json_text(map, key), NULL, 10);
}

#endif
