/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading YAML by tables of keys, with errors that say where and what.
 *
 * A mapping is walked by a table: each key has a function for its value, or none if
 * it is only ever printed and to be passed over. Depth follows the tables, so no
 * input can make the walk recurse. Keys may be written as JSON output has them, too
 * ("local_ni" for "local NI(s)").
 *
 * A mistake does not end a walk: what comes after it is looked at, so that all of them
 * are told. The walk returns the first error then, and its caller does without what
 * could not be read.
 */
#ifndef LX_CONF_YAML_H
#define LX_CONF_YAML_H

#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

#include <internal/control.h>
#include <lnetx/conf.h>

#include "report.h"

#define LX_YAML_MAX (4u << 20) /* bytes of input */
#define LX_YAML_TEXT 4096 /* bytes of a scalar */
#define LX_YAML_NIDS LX_CONTROL_NIDS_MAX /* of one text, or one peer */
#define LX_YAML_ENTRIES 65536 /* of a section */
#define LX_YAML_STEPS (1u << 20) /* entries visited; aliases could make few bytes into many */

struct lx_yaml {
	yaml_document_t doc;
	struct lx_conf_report *report;
	unsigned int steps;
};

struct lx_yaml_key {
	const char *key;
	/* Returns 0 or what lx_yaml_fail() did. NULL: pass over. */
	int (*fn)(struct lx_yaml *y, yaml_node_t *value, void *arg);
};

/**
 * lx_yaml_open - parse one document
 * @report: where this and what follows notes mistakes
 * Returns 0; also where keys are there twice, which is noted. Else it is not open:
 * -EINVAL it is no YAML, -E2BIG, -ENOMEM.
 */
int lx_yaml_open(struct lx_yaml *y, const char *text, size_t len, struct lx_conf_report *report);
void lx_yaml_close(struct lx_yaml *y);

/* The top of the document; NULL: it is empty. */
yaml_node_t *lx_yaml_root(struct lx_yaml *y);

/* Where a node begins. */
struct lx_conf_place lx_yaml_at(const yaml_node_t *node);

/* For keys that another walk over the same mapping looks at. */
int lx_yaml_pass(struct lx_yaml *y, yaml_node_t *value, void *arg);

/* Notes an error at a node (NULL: nowhere) and returns @error. */
int lx_yaml_fail(struct lx_yaml *y, const yaml_node_t *node, int error, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Whether there is no value, as after "key:". */
bool lx_yaml_null(const yaml_node_t *node);

/* A scalar's text, or NULL with the error noted (-EINVAL). @what: for the message. */
const char *lx_yaml_text(struct lx_yaml *y, const yaml_node_t *node, const char *what);

int lx_yaml_int(struct lx_yaml *y, const yaml_node_t *node, const char *what, int64_t min,
		int64_t max, int64_t *ret_value);
int lx_yaml_bool(struct lx_yaml *y, const yaml_node_t *node, const char *what, bool *ret_value);

/* Walks a mapping by @keys (ended by key NULL); @what: its name. -EINVAL. */
int lx_yaml_map(struct lx_yaml *y, yaml_node_t *node, const char *what,
		const struct lx_yaml_key *keys, void *arg);

/* The same for keys that no table can list: calls @fn for each pair. */
int lx_yaml_pairs(struct lx_yaml *y, yaml_node_t *node, const char *what,
		  int (*fn)(struct lx_yaml *y, yaml_node_t *key, const char *name,
			    yaml_node_t *value, void *arg),
		  void *arg);

/* Calls @fn for each entry of a sequence; a mapping counts as its only entry. */
int lx_yaml_seq(struct lx_yaml *y, yaml_node_t *node, const char *what,
		int (*fn)(struct lx_yaml *y, yaml_node_t *entry, void *arg), void *arg);

/* Calls @fn for each value of a mapping whatever the keys ("0: eth0"), or of a sequence. */
int lx_yaml_values(struct lx_yaml *y, yaml_node_t *node, const char *what,
		   int (*fn)(struct lx_yaml *y, yaml_node_t *value, void *arg), void *arg);

/* A net, one NID, NIDs as lx_nid_expand() has them (the caller's), a small integer. */
int lx_yaml_net(struct lx_yaml *y, yaml_node_t *value, const char *what, uint32_t *ret_net);
int lx_yaml_nid(struct lx_yaml *y, yaml_node_t *value, const char *what, struct lx_nid *ret_nid);
int lx_yaml_nids(struct lx_yaml *y, yaml_node_t *value, const char *what, struct lx_nid **ret_nids,
		 size_t *ret_n);
int lx_yaml_int32(struct lx_yaml *y, yaml_node_t *value, const char *what, int64_t min, int64_t max,
		  int32_t *ret_value);

/**
 * lx_yaml_append - add a copy of @element to a growing array
 * @array: address of the array's pointer, which is NULL while @n is 0
 * @max: most elements; more is an error at @node
 */
int lx_yaml_append(struct lx_yaml *y, const yaml_node_t *node, void *array, size_t *n, size_t max,
		   const void *element, size_t size);

#endif
