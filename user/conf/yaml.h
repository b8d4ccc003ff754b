/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads YAML by tables of keys, with errors that say where and what.
 *
 * Tables drive the walk over a mapping: keys with functions, the fields of a schema, and those of
 * what is only ever printed, which are ignored. The depth follows the tables, so no
 * input can make the walk recurse. Keys may also have their JSON form ("local_ni" for
 * "local NI(s)").
 *
 * A mistake does not end a walk: it continues, so that all mistakes are reported, and
 * returns the first error. Its caller proceeds without the values that could not be read.
 */
#ifndef LX_CONF_YAML_H
#define LX_CONF_YAML_H

#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

#include <internal/ctl.h>
#include <lnetx/conf.h>

#include "../schema/schema.h"
#include "report.h"

#define LX_YAML_MAX (4u << 20) /* bytes of input */
#define LX_YAML_TEXT 4096 /* bytes of a scalar */
#define LX_YAML_NIDS LX_CTL_NIDS_MAX /* in one text or peer */
#define LX_YAML_ENTRIES 65536 /* of a section */
#define LX_YAML_STEPS (1u << 20) /* entries visited; aliases can make many from few bytes */
#define LX_YAML_IGNORED 600 /* bytes of the text that names ignored keys */

struct lx_yaml {
	yaml_document_t doc;
	struct lx_conf_report *report;
	unsigned int steps;
	char ignored[LX_YAML_IGNORED]; /* "ntx (line 3), ..."; "" if there are none */
};

/* Takes the value of a key, or an entry. Returns 0 or the error of lx_yaml_fail(). */
typedef int lx_yaml_fn(struct lx_yaml *y, yaml_node_t *value, void *arg);

struct lx_yaml_key {
	const char *key;
	lx_yaml_fn *fn; /* NULL: only ever printed, so ignore it */
};

/**
 * lx_yaml_open - parse one document
 * @report: collects the mistakes of this and all later calls
 * Returns 0, even with duplicate keys, which are reported. Otherwise it is not open:
 * -EINVAL not YAML, -E2BIG, -ENOMEM.
 */
int lx_yaml_open(struct lx_yaml *y, const char *text, size_t len, struct lx_conf_report *report);
void lx_yaml_close(struct lx_yaml *y);

/* The top of the document; NULL: it is empty. */
yaml_node_t *lx_yaml_root(struct lx_yaml *y);

/* Where a node begins. */
struct lx_conf_place lx_yaml_at(const yaml_node_t *node);

/* The function of a key that has a meaning elsewhere, and none here: see lx_yaml_ignore(). */
lx_yaml_fn lx_yaml_ignored;

/* Puts "@what LINE)" into y->ignored, once. */
void lx_yaml_remark(struct lx_yaml *y, const char *what, int line);

/* Does so for a key. Returns 0. */
int lx_yaml_ignore(struct lx_yaml *y, const yaml_node_t *key);

/* Records an error at a node (NULL: no place). Returns @error. */
int lx_yaml_fail(struct lx_yaml *y, const yaml_node_t *node, int error, const char *fmt, ...)
	LX_PRINTF(4, 5);

/* True if there is no value, as in "key:". */
bool lx_yaml_null(const yaml_node_t *node);

/* A scalar's text, or NULL with an error recorded (-EINVAL). @what: for the message. */
const char *lx_yaml_text(struct lx_yaml *y, const yaml_node_t *node, const char *what);

int lx_yaml_int(struct lx_yaml *y, const yaml_node_t *node, const char *what, int64_t min,
		int64_t max, int64_t *ret_value);

/* The keys of a mapping. */
struct lx_yaml_shape {
	const char *what; /* its name */
	const struct lx_yaml_key *key; /* terminated by key NULL; or NULL */
	const struct lx_schema *schema; /* fields of what is read; or NULL */
	/* Fields of an object that are only ever printed, and so ignored; or NULL. */
	const struct lx_ctl_shown *shown;
};

/**
 * lx_yaml_map - read a mapping; no value counts as an empty one
 * @obj: gets the schema's fields; the others stay as they are
 * @arg: of the keys' functions
 *
 * Values are read in the order of the table of keys, whatever their order in the file: what others
 * depend on comes first. Fields come last. -EINVAL.
 */
int lx_yaml_map(struct lx_yaml *y, yaml_node_t *node, const struct lx_yaml_shape *shape, void *obj,
		void *arg);

/* Where the value of a mapping's key begins; without the key, where the mapping does. */
struct lx_conf_place lx_yaml_place(struct lx_yaml *y, const yaml_node_t *map, const char *key);

/* The sections at the top, which may be repeated: files are concatenated. */
int lx_yaml_sections(struct lx_yaml *y, const struct lx_yaml_key *sections, void *arg);

/* Calls @fn for each pair of a mapping, in the order of the file. */
int lx_yaml_pairs(struct lx_yaml *y, yaml_node_t *node, const char *what,
		  int (*fn)(struct lx_yaml *y, yaml_node_t *key, const char *name,
			    yaml_node_t *value, void *arg),
		  void *arg);

/* Calls @fn for each entry of a sequence; a mapping counts as its only entry. */
int lx_yaml_seq(struct lx_yaml *y, yaml_node_t *node, const char *what, lx_yaml_fn *fn, void *arg);

/* Calls @fn for each value of a mapping whatever the keys ("0: eth0"), or of a sequence. */
int lx_yaml_values(struct lx_yaml *y, yaml_node_t *node, const char *what, lx_yaml_fn *fn,
		   void *arg);

/* A net, a NID, NIDs as from lx_nid_expand() (owned by the caller), a small integer. */
int lx_yaml_net(struct lx_yaml *y, yaml_node_t *value, const char *what, uint32_t *ret_net);
int lx_yaml_nid(struct lx_yaml *y, yaml_node_t *value, const char *what, struct lx_nid *ret_nid);
int lx_yaml_nids(struct lx_yaml *y, yaml_node_t *value, const char *what, struct lx_nid **ret_nids,
		 size_t *ret_n);
int lx_yaml_int32(struct lx_yaml *y, yaml_node_t *value, const char *what, int64_t min, int64_t max,
		  int32_t *ret_value);

/**
 * lx_yaml_append - add a copy of @element to a growing array
 * @array: address of the array's pointer, which is NULL while @n is 0
 * @max: maximum number of elements; more is an error at @node
 */
int lx_yaml_append(struct lx_yaml *y, const yaml_node_t *node, void *array, size_t *n, size_t max,
		   const void *element, size_t size);

#endif
