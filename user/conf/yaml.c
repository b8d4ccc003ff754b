/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Walks a YAML document; see the header. Used by conf.c and import.c. Input is an
 * admin's file or from a client: each error names line and column.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/integer.h"
#include "../base/key.h"
#include "../base/suggest.h"
#include "../base/text.h"
#include "yaml.h"

struct lx_conf_place lx_yaml_at(const yaml_node_t *node)
{
	return (struct lx_conf_place){ (int)node->start_mark.line + 1,
				       (int)node->start_mark.column + 1 };
}

int lx_yaml_fail(struct lx_yaml *y, const yaml_node_t *node, int error, const char *fmt, ...)
{
	char text[sizeof(((struct lx_conf_error *)0)->text)];

	LX_FORMAT(text, sizeof(text), fmt);
	return lx_conf_note(y->report, error, node ? lx_yaml_at(node) : (struct lx_conf_place){ 0 },
			    "%s", text);
}

int lx_yaml_ignored(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return 0;
}

void lx_yaml_remark(struct lx_yaml *y, const char *what, int line)
{
	size_t used = strlen(y->ignored);

	if (!strstr(y->ignored, what))
		snprintf(y->ignored + used, sizeof(y->ignored) - used, "%s%s %d)",
			 used ? ", " : "", what, line);
}

int lx_yaml_ignore(struct lx_yaml *y, const yaml_node_t *key)
{
	char name[60];

	snprintf(name, sizeof(name), "\"%.40s\" (line", (char *)key->data.scalar.value);
	lx_yaml_remark(y, name, lx_yaml_at(key).line);
	return 0;
}

/* An error of the parser: not YAML at all. */
static int parser_error(struct lx_yaml *y, const yaml_parser_t *parser)
{
	const struct lx_conf_place at = { (int)parser->problem_mark.line + 1,
					  (int)parser->problem_mark.column + 1 };

	if (parser->error == YAML_MEMORY_ERROR)
		return lx_yaml_fail(y, NULL, -ENOMEM, "out of memory");
	return lx_conf_note(y->report, -EINVAL, at, "not YAML: %s%s%s",
			    parser->problem ? parser->problem : "?", parser->context ? ", " : "",
			    parser->context ? parser->context : "");
}

/* Nothing may follow the first document. */
static int check_end(struct lx_yaml *y, yaml_parser_t *parser)
{
	yaml_document_t next;
	int err = 0;

	if (!yaml_parser_load(parser, &next))
		return parser_error(y, parser);
	if (yaml_document_get_root_node(&next))
		err = lx_yaml_fail(y, yaml_document_get_root_node(&next), -EINVAL,
				   "a second document begins here; one is expected");
	yaml_document_delete(&next);
	return err;
}

/* ---- duplicate keys ----------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	const yaml_node_t *x = *(const yaml_node_t *const *)a, *y = *(const yaml_node_t *const *)b;
	int order = strcmp((char *)x->data.scalar.value, (char *)y->data.scalar.value);

	return order ? order : (x > y) - (x < y); /* nodes are in the order of the file */
}

static int note_twice(struct lx_yaml *y, const yaml_node_t *map)
{
	size_t room = map->data.mapping.pairs.top - map->data.mapping.pairs.start, n = 0;
	const yaml_node_t **key LX_AUTO_FREE = calloc(room ? room : 1, sizeof(*key));

	if (!key)
		return lx_yaml_fail(y, NULL, -ENOMEM, "out of memory");
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		key[n] = yaml_document_get_node(&y->doc, p->key);
		n += key[n]->type == YAML_SCALAR_NODE;
	}
	qsort(key, n, sizeof(*key), by_text);
	for (size_t i = 1; i < n; i++) {
		const char *text = (char *)key[i]->data.scalar.value;

		if (!strcmp(text, (char *)key[i - 1]->data.scalar.value))
			lx_yaml_fail(y, key[i], -EINVAL,
				     "invalid key \"%.40s\": given twice; first in line %d", text,
				     lx_yaml_at(key[i - 1]).line);
	}
	return 0;
}

/* Checks all mappings, even those that are not read. Only sections may be repeated. */
static int check_twice(struct lx_yaml *y)
{
	int err = 0;

	for (yaml_node_t *node = y->doc.nodes.start; !err && node < y->doc.nodes.top; node++) {
		if (node->type == YAML_MAPPING_NODE && node != lx_yaml_root(y))
			err = note_twice(y, node);
	}
	return err;
}

int lx_yaml_open(struct lx_yaml *y, const char *text, size_t len, struct lx_conf_report *report)
{
	yaml_parser_t parser;
	int ret;

	memset(y, 0, sizeof(*y));
	y->report = report;
	if (len > LX_YAML_MAX)
		return lx_yaml_fail(y, NULL, -E2BIG, "more than %u bytes", LX_YAML_MAX);
	if (!yaml_parser_initialize(&parser))
		return lx_yaml_fail(y, NULL, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, &y->doc)) {
		ret = parser_error(y, &parser);
		yaml_parser_delete(&parser);
		return ret;
	}
	ret = check_end(y, &parser);
	yaml_parser_delete(&parser);
	if (!ret)
		ret = check_twice(y);
	if (ret)
		lx_yaml_close(y);
	return ret;
}

void lx_yaml_close(struct lx_yaml *y)
{
	yaml_document_delete(&y->doc);
}

yaml_node_t *lx_yaml_root(struct lx_yaml *y)
{
	return yaml_document_get_root_node(&y->doc);
}

bool lx_yaml_null(const yaml_node_t *node)
{
	const char *text;

	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	text = (const char *)node->data.scalar.value;
	return !*text || !strcmp(text, "~") || !strcasecmp(text, "null");
}

const char *lx_yaml_text(struct lx_yaml *y, const yaml_node_t *node, const char *what)
{
	const char *text;

	if (lx_yaml_null(node)) {
		lx_yaml_fail(y, node, -EINVAL, "no value for \"%s\"", what);
		return NULL;
	}
	if (node->type != YAML_SCALAR_NODE) {
		lx_yaml_fail(y, node, -EINVAL,
			     "invalid value for \"%s\": a %s, "
			     "where one value is expected",
			     what, node->type == YAML_MAPPING_NODE ? "mapping" : "sequence");
		return NULL;
	}
	text = (const char *)node->data.scalar.value;
	if (strlen(text) != node->data.scalar.length || strlen(text) >= LX_YAML_TEXT) {
		lx_yaml_fail(y, node, -EINVAL, "invalid value for \"%s\": %s", what,
			     strlen(text) >= LX_YAML_TEXT ? "too long" : "a NUL in it");
		return NULL;
	}
	return text;
}

int lx_yaml_int(struct lx_yaml *y, const yaml_node_t *node, const char *what, int64_t min,
		int64_t max, int64_t *ret_value)
{
	const char *text = lx_yaml_text(y, node, what);
	int err = text ? lx_integer_parse(text, 0, min, max, ret_value) : 0;

	if (!text)
		return -EINVAL;
	if (err == -EINVAL)
		return lx_yaml_fail(y, node, err,
				    "invalid value for \"%s\": \"%.40s\" is not a number", what,
				    text);
	if (err)
		return lx_yaml_fail(y, node, -EINVAL,
				    "invalid value for \"%s\": %.40s is not in %lld..%lld", what,
				    text, (long long)min, (long long)max);
	return 0;
}

static int step(struct lx_yaml *y, const yaml_node_t *node)
{
	if (++y->steps > LX_YAML_STEPS)
		return lx_yaml_fail(y, node, -E2BIG, "more than %u entries", LX_YAML_STEPS);
	return 0;
}

/* Keeps the first error of a walk; true: continue. */
static bool goes_on(int err, int *ret)
{
	if (!*ret)
		*ret = err;
	return !lx_conf_is_fatal(err);
}

int lx_yaml_pairs(struct lx_yaml *y, yaml_node_t *node, const char *what,
		  int (*fn)(struct lx_yaml *y, yaml_node_t *key, const char *name,
			    yaml_node_t *value, void *arg),
		  void *arg)
{
	int ret = 0;

	if (node->type != YAML_MAPPING_NODE)
		return lx_yaml_fail(y, node, -EINVAL,
				    "invalid value for \"%s\": a mapping (key: value) is expected",
				    what);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		yaml_node_t *key = yaml_document_get_node(&y->doc, p->key);
		const char *name = lx_yaml_text(y, key, "key");
		int err = step(y, node);

		if (!err)
			err = name ? fn(y, key, name, yaml_document_get_node(&y->doc, p->value),
					arg)
				   : -EINVAL;
		if (!goes_on(err, &ret))
			return err;
	}
	return ret;
}

/* ---- mappings by tables ------------------------------------------------------------ */

#define MOST 32 /* keys of a table, and fields of a schema */

/* The value of each key and field; of ignored keys the key itself. NULL: not given. */
struct found {
	yaml_node_t *key[MOST], *field[MOST];
};

static const struct lx_yaml_key no_keys[] = { { 0 } };
static const struct lx_field no_fields[] = { { .key = NULL } };

static const struct lx_yaml_key *keys_of(const struct lx_yaml_shape *s)
{
	return s->key ? s->key : no_keys;
}

static const struct lx_field *fields_of(const struct lx_schema *schema)
{
	return schema ? schema->field : no_fields;
}

static bool is_read(const struct lx_yaml_key *k)
{
	return k->fn && k->fn != lx_yaml_ignored;
}

/* A list needs a key with a function. */
static bool is_in_files(const struct lx_field *f)
{
	return !f->command && f->type != LX_FIELD_LIST;
}

static void list_key(const char *key, char *buf, size_t size)
{
	size_t used = strlen(buf);

	if (used + strlen(key) + 3 < size)
		snprintf(buf + used, size - used, "%s%s", buf[used - 1] == ' ' ? "" : ", ", key);
}

/* "did you mean net?", or else "known: net, gateway, ...", as many as fit. */
static int unknown_key(struct lx_yaml *y, const yaml_node_t *key, const char *name,
		       const struct lx_yaml_shape *s)
{
	struct lx_suggest meant = lx_suggest(name);
	char known[160] = "known: ";

	for (const struct lx_field *f = fields_of(s->schema); f->key; f++) {
		if (!is_in_files(f))
			continue;
		lx_suggest_offer(&meant, f->key);
		list_key(f->key, known, sizeof(known));
	}
	for (const struct lx_yaml_key *k = keys_of(s); k->key; k++) {
		lx_suggest_offer(&meant, k->key);
		if (is_read(k))
			list_key(k->key, known, sizeof(known));
	}
	if (meant.best)
		snprintf(known, sizeof(known), "did you mean \"%s\"?", meant.best);
	return lx_yaml_fail(y, key, -EINVAL, "invalid key \"%.40s\" in %s; %s", name, s->what,
			    known);
}

static bool is_shown(const struct lx_ctl_shown *object, const char *name)
{
	const struct lx_schema *part[] = { object ? object->group : NULL,
					   object ? object->row : NULL };

	for (int i = 0; i < 2; i++) {
		for (const struct lx_field *f = fields_of(part[i]); f->key; f++) {
			if (lx_key_is(f->key, name))
				return true;
		}
	}
	return false;
}

static int twice(struct lx_yaml *y, const yaml_node_t *key, const char *name, const char *before,
		 const struct lx_yaml_shape *s)
{
	return lx_yaml_fail(y, key, -EINVAL, "invalid key \"%.40s\": \"%s\" given twice in one %s",
			    name, before, s->what);
}

/* Remembers the value of a key with a function; another spelling has the same function. */
static int take_key(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		    const struct lx_yaml_shape *s, size_t at, struct found *found)
{
	for (size_t i = 0; s->key[i].key; i++) {
		if (found->key[i] &&
		    (i == at || (s->key[i].fn == s->key[at].fn && is_read(&s->key[at]))))
			return twice(y, key, name, s->key[i].key, s);
	}
	found->key[at] = s->key[at].fn == lx_yaml_ignored ? key : value;
	return 0;
}

struct map_walk {
	const struct lx_yaml_shape *shape;
	struct found found;
};

static int map_pair(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		    void *arg)
{
	struct map_walk *w = arg;
	const struct lx_yaml_key *keys = keys_of(w->shape);
	const struct lx_field *fields = fields_of(w->shape->schema);

	for (size_t i = 0; i < MOST && keys[i].key; i++) {
		if (lx_key_is(keys[i].key, name))
			return take_key(y, key, name, value, w->shape, i, &w->found);
	}
	for (size_t i = 0; i < MOST && fields[i].key; i++) {
		if (!is_in_files(&fields[i]) ||
		    (!lx_key_is(fields[i].key, name) &&
		     !(fields[i].alias && lx_key_is(fields[i].alias, name))))
			continue;
		if (w->found.field[i])
			return twice(y, key, name, fields[i].key, w->shape);
		w->found.field[i] = value;
		return 0;
	}
	return is_shown(w->shape->shown, name) ? 0 : unknown_key(y, key, name, w->shape);
}

static int read_field(struct lx_yaml *y, yaml_node_t *value, const struct lx_field *f, void *obj)
{
	const struct lx_yaml_shape inside = { .what = f->key, .schema = f->sub };
	void *p = (char *)obj + f->offset;
	const char *text;
	char why[160];

	if (f->type == LX_FIELD_NEST)
		return lx_yaml_map(y, value, &inside, p, NULL);
	text = lx_yaml_text(y, value, f->key);
	if (!text)
		return -EINVAL;
	if (!lx_schema_field_parse(f, p, text, why, sizeof(why)))
		return 0;
	return lx_yaml_fail(y, value, -EINVAL, "invalid value for \"%s\": %s", f->key, why);
}

int lx_yaml_map(struct lx_yaml *y, yaml_node_t *node, const struct lx_yaml_shape *shape, void *obj,
		void *arg)
{
	struct map_walk w = { .shape = shape };
	const struct lx_yaml_key *keys = keys_of(shape);
	const struct lx_field *fields = fields_of(shape->schema);
	int err, ret;

	if (lx_yaml_null(node))
		return 0;
	ret = err = lx_yaml_pairs(y, node, shape->what, map_pair, &w);
	for (size_t i = 0; !lx_conf_is_fatal(err) && i < MOST && keys[i].key; i++) {
		err = !w.found.key[i] || !keys[i].fn ? 0
		      : is_read(&keys[i])	     ? keys[i].fn(y, w.found.key[i], arg)
						     : lx_yaml_ignore(y, w.found.key[i]);
		goes_on(err, &ret);
	}
	for (size_t i = 0; !lx_conf_is_fatal(err) && i < MOST && fields[i].key; i++) {
		err = w.found.field[i] ? read_field(y, w.found.field[i], &fields[i], obj) : 0;
		goes_on(err, &ret);
	}
	return ret;
}

struct lx_conf_place lx_yaml_place(struct lx_yaml *y, const yaml_node_t *map, const char *key)
{
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     map->type == YAML_MAPPING_NODE && p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(&y->doc, p->key);

		if (k->type == YAML_SCALAR_NODE && lx_key_is(key, (char *)k->data.scalar.value))
			return lx_yaml_at(yaml_document_get_node(&y->doc, p->value));
	}
	return lx_yaml_at(map);
}

struct sections {
	const struct lx_yaml_shape shape;
	void *arg;
};

static int section_pair(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
			void *arg)
{
	struct sections *s = arg;

	for (const struct lx_yaml_key *k = s->shape.key; k->key; k++) {
		if (lx_key_is(k->key, name))
			return k->fn ? k->fn(y, value, s->arg) : 0;
	}
	return unknown_key(y, key, name, &s->shape);
}

int lx_yaml_sections(struct lx_yaml *y, const struct lx_yaml_key *keys, void *arg)
{
	struct sections s = { { .what = "the file", .key = keys }, arg };

	return lx_yaml_pairs(y, lx_yaml_root(y), s.shape.what, section_pair, &s);
}

int lx_yaml_seq(struct lx_yaml *y, yaml_node_t *node, const char *what, lx_yaml_fn *fn, void *arg)
{
	int ret = 0;

	if (lx_yaml_null(node))
		return 0;
	if (node->type == YAML_MAPPING_NODE)
		return fn(y, node, arg);
	if (node->type != YAML_SEQUENCE_NODE)
		return lx_yaml_fail(y, node, -EINVAL,
				    "invalid value for \"%s\": a sequence (- ...) is expected",
				    what);
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top; i++) {
		int err = step(y, node);

		if (!err)
			err = fn(y, yaml_document_get_node(&y->doc, *i), arg);
		if (!goes_on(err, &ret))
			return err;
	}
	return ret;
}

int lx_yaml_values(struct lx_yaml *y, yaml_node_t *node, const char *what, lx_yaml_fn *fn,
		   void *arg)
{
	int ret = 0;

	if (node->type == YAML_SEQUENCE_NODE)
		return lx_yaml_seq(y, node, what, fn, arg);
	if (node->type != YAML_MAPPING_NODE)
		return lx_yaml_fail(y, node, -EINVAL,
				    "invalid value for \"%s\": a mapping (0: ...) is expected",
				    what);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		int err = step(y, node);

		if (!err)
			err = fn(y, yaml_document_get_node(&y->doc, p->value), arg);
		if (!goes_on(err, &ret))
			return err;
	}
	return ret;
}

/* Appends a copy of @element to a growing array. */
int lx_yaml_append(struct lx_yaml *y, const yaml_node_t *node, void *array, size_t *n, size_t max,
		   const void *element, size_t size)
{
	void *place;

	if (*n >= max)
		return lx_yaml_fail(y, node, -EINVAL, "more than %zu entries", max);
	place = lx_grow(array, n, size);
	if (!place)
		return lx_yaml_fail(y, node, -ENOMEM, "out of memory");
	memcpy(place, element, size);
	return 0;
}

/* ---- values of more than one section ----------------------------------------------- */

int lx_yaml_net(struct lx_yaml *y, yaml_node_t *value, const char *what, uint32_t *ret_net)
{
	const char *text = lx_yaml_text(y, value, what);

	if (!text)
		return -EINVAL;
	if (lx_net_parse(text, ret_net) < 0)
		return lx_yaml_fail(
			y, value, -EINVAL,
			"invalid value for \"%s\": \"%.40s\" is not a net (tcp, tcp1, ...)", what,
			text);
	return 0;
}

int lx_yaml_nid(struct lx_yaml *y, yaml_node_t *value, const char *what, struct lx_nid *ret_nid)
{
	const char *text = lx_yaml_text(y, value, what);

	if (!text)
		return -EINVAL;
	if (lx_nid_parse(text, ret_nid) < 0 || lx_nid_eq(ret_nid, &lx_nid_any))
		return lx_yaml_fail(
			y, value, -EINVAL,
			"invalid value for \"%s\": \"%.80s\" is not a NID (10.0.0.1@tcp, ...)",
			what, text);
	return 0;
}

int lx_yaml_nids(struct lx_yaml *y, yaml_node_t *value, const char *what, struct lx_nid **ret_nids,
		 size_t *ret_n)
{
	const char *text = lx_yaml_text(y, value, what);
	int err;

	if (!text)
		return -EINVAL;
	err = lx_nid_expand(text, LX_YAML_NIDS, ret_nids, ret_n);
	if (err == -E2BIG)
		return lx_yaml_fail(y, value, -EINVAL,
				    "invalid value for \"%s\": more than %u NIDs", what,
				    LX_YAML_NIDS);
	if (err)
		return lx_yaml_fail(
			y, value, err, "invalid value for \"%s\": \"%.80s\" %s", what, text,
			err == -ENOMEM ? "is too long"
				       : "is not a NID (10.0.0.1@tcp, 10.0.0.[1-4]@tcp, ...)");
	return 0;
}

int lx_yaml_int32(struct lx_yaml *y, yaml_node_t *value, const char *what, int64_t min, int64_t max,
		  int32_t *ret_value)
{
	int64_t number;
	int err = lx_yaml_int(y, value, what, min, max, &number);

	if (!err)
		*ret_value = number;
	return err;
}
