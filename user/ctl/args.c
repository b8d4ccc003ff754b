/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Arguments as structs by a schema; see the header. Called by request.c. No state. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/key.h"
#include "../base/suggest.h"
#include "../base/text.h"
#include "args.h"

struct taker {
	struct lx_ctl_args_error *why;
	const char *word; /* the whole key of the argument at hand, and its value */
	const char *value;
	const void **seen; /* members that are set */
	size_t n_seen;
};

LX_PRINTF(3, 4) static int wrong(struct taker *t, int error, const char *fmt, ...)
{

	LX_FORMAT(t->why->text, sizeof(t->why->text), fmt);
	snprintf(t->why->word, sizeof(t->why->word), "%s", t->word);
	return error;
}

static int unknown(struct taker *t, const struct lx_schema *schema, const char *word)
{
	struct lx_suggest meant = lx_suggest(word);
	char known[200] = "", key[64];

	for (const struct lx_field *f = schema->field; f->key; f++) {
		lx_suggest_offer(&meant, f->key);
		lx_text_join(known, sizeof(known), ", ", lx_key_snake(f->key, key, sizeof(key)));
	}
	if (meant.best)
		return wrong(t, -EINVAL, "%s: no such argument; did you mean \"%s\"?", t->word,
			     lx_key_snake(meant.best, key, sizeof(key)));
	return wrong(t, -EINVAL, "%s: no such argument; known: %s", t->word,
		     *known ? known : "none");
}

static int take_value(struct taker *t, const struct lx_field *f, void *p)
{
	char why[200];

	for (size_t i = 0; i < t->n_seen; i++) {
		if (t->seen[i] == p)
			return wrong(t, -EINVAL, "%s: given twice", t->word);
	}
	t->seen[t->n_seen++] = p;
	if (!lx_schema_field_parse(f, p, t->value, why, sizeof(why)))
		return 0;
	return wrong(t, -EINVAL, "%s: %s", t->word, why);
}

/* An element of a list: its value, or its name and its value. */
static int take_element(struct taker *t, const struct lx_field *list, void *obj, const char *name)
{
	const struct lx_field *value = &list->sub->field[name ? 1 : 0];
	uint32_t *n = (uint32_t *)((char *)obj + list->count_offset);
	char *element = (char *)obj + list->offset + *n * list->sub->size;
	char why[200];

	if (!value->key || (!name && value[1].key))
		return wrong(t, -EINVAL, "%s: %s", t->word,
			     name ? "its elements have no names"
				  : "the element's name is missing: KEY.NAME");
	if (*n == list->max)
		return wrong(t, -EINVAL, "%s: more than %u", t->word, list->max);
	++*n;
	lx_schema_init(list->sub, element);
	if (name && lx_schema_field_store_text(list->sub->field, element + list->sub->field->offset,
					       name, why, sizeof(why)))
		return wrong(t, -EINVAL, "%s: %s", t->word, why);
	return take_value(t, value, element + value->offset);
}

/* @key: within nests, without the outer parts */
static int take(struct taker *t, const struct lx_schema *schema, void *obj, const char *key)
{
	size_t len = strcspn(key, ".");
	const char *rest = key[len] ? key + len + 1 : NULL;
	char head[64] = "";

	if (len < sizeof(head))
		memcpy(head, key, len);
	for (const struct lx_field *f = schema->field; f->key; f++) {
		void *p = (char *)obj + f->offset;

		if (!lx_key_is(f->key, head))
			continue;
		if (f->type == LX_FIELD_NEST && rest)
			return take(t, f->sub, p, rest);
		if (f->type == LX_FIELD_LIST)
			return take_element(t, f, obj, rest);
		if (f->type != LX_FIELD_NEST && !rest)
			return take_value(t, f, p);
	}
	return unknown(t, schema, key);
}

static bool has(const struct lx_ctl_arg *args, const char *key)
{
	for (; args && args->key; args++) {
		if (lx_key_is(key, args->key))
			return true;
	}
	return false;
}

static int take_all(struct taker *t, const struct lx_schema *schema, void *obj,
		    const struct lx_ctl_arg *args, const struct lx_ctl_arg *but)
{
	int err = 0;

	for (; !err && args && args->key; args++) {
		t->word = args->key;
		t->value = args->value;
		if (!args->value)
			err = wrong(t, -EINVAL, "%s: no value", args->key);
		else if (!has(but, args->key))
			err = take(t, schema, obj, args->key);
	}
	return err;
}

static size_t count(const struct lx_ctl_arg *args)
{
	size_t n = 0;

	while (args && args[n].key)
		n++;
	return n;
}

int lx_ctl_args_take(const struct lx_schema *schema, const struct lx_ctl_arg *args,
		     const struct lx_ctl_arg *given, void *obj, struct lx_ctl_args_error *why)
{
	const void **seen LX_AUTO_FREE = calloc(count(args) + count(given) + 1, sizeof(*seen));
	struct taker t = { .why = why, .word = "", .seen = seen };
	int err;

	memset(why, 0, sizeof(*why));
	if (!seen)
		return wrong(&t, -ENOMEM, "out of memory");
	lx_schema_init(schema, obj);
	err = take_all(&t, schema, obj, args, NULL);
	if (!err)
		err = take_all(&t, schema, obj, given, args);
	t.word = err ? NULL : lx_schema_missing(schema, obj);
	return t.word ? wrong(&t, -EINVAL, "%s: missing", t.word) : err;
}
