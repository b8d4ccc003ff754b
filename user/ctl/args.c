/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Encodes arguments as attributes by a schema; see the header. Called by request.c. No state. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/cleanup.h"
#include "../base/key.h"
#include "../base/suggest.h"
#include "codec.h"
#include "args.h"

/* An argument; within a nest, its key without the outer parts. */
struct word {
	const char *key, *value;
	const char *whole; /* the whole key, for messages */
	bool used;
};

struct writer {
	struct nlmsghdr *nlh;
	size_t size;
	struct lx_ctl_args_error *why;
};

__attribute__((format(printf, 4, 5))) static int wrong(struct writer *w, const char *word,
							int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why->text, sizeof(w->why->text), fmt, ap);
	va_end(ap);
	snprintf(w->why->word, sizeof(w->why->word), "%s", word);
	return error;
}

static int too_long(struct writer *w)
{
	return wrong(w, "", -EMSGSIZE, "the request is too long");
}

/* Whether @word is for the field, or (*ret_rest set) for a field inside it. */
static bool is_for(const struct word *word, const struct lx_field *f, const char **ret_rest)
{
	size_t len = strcspn(word->key, ".");
	char head[64];

	if (len >= sizeof(head))
		return false;
	memcpy(head, word->key, len);
	head[len] = '\0';
	*ret_rest = word->key[len] ? word->key + len + 1 : NULL;
	return lx_key_is(f->key, head);
}

/* ---- single values ----------------------------------------------------------------- */

static bool named_value(const struct lx_field *f, const char *text, int64_t *ret_value)
{
	for (int i = 0; i < f->n_names; i++) {
		if (f->names[i] && !strcmp(f->names[i], text)) {
			*ret_value = i;
			return true;
		}
	}
	if (f->type != LX_FIELD_BOOL || (strcmp(text, "true") && strcmp(text, "false")))
		return false;
	*ret_value = *text == 't';
	return true;
}

/* "-1", "10", "0x100"; "010" is ten. */
static bool number_value(const char *text, int64_t *ret_value)
{
	int base = strncasecmp(text + (*text == '-'), "0x", 2) ? 10 : 16;
	char *end;

	errno = 0;
	*ret_value = *text == '-' ? strtoll(text, &end, base) : (int64_t)strtoull(text, &end, base);
	return !errno && end != text && !*end;
}

static int put_number(struct writer *w, const struct lx_field *f, const struct word *word)
{
	int64_t value;

	if (!named_value(f, word->value, &value) && !number_value(word->value, &value))
		return wrong(w, word->whole, -EINVAL, "%s \"%.80s\": %s is expected", word->whole,
			     word->value,
			     f->type == LX_FIELD_BOOL ? "\"true\" or \"false\"" : "a number");
	return mnl_attr_put_u64_check(w->nlh, w->size, f->attr, (uint64_t)value) ? 0 : too_long(w);
}

static int put_value(struct writer *w, const struct lx_field *f, const struct word *word)
{
	if (f->type == LX_FIELD_INT || f->type == LX_FIELD_BOOL)
		return put_number(w, f, word);
	return mnl_attr_put_strz_check(w->nlh, w->size, f->attr, word->value) ? 0 : too_long(w);
}

/* An element of a list: its value, or its name and its value. */
static int put_element(struct writer *w, const struct lx_field *f, const struct word *word,
		       const char *rest)
{
	const struct lx_field *value = &f->sub->field[rest ? 1 : 0];
	struct nlattr *nest = mnl_attr_nest_start_check(w->nlh, w->size, 1);
	int err;

	if (!nest)
		return too_long(w);
	if (!value->key || (!rest && value[1].key))
		return wrong(w, word->whole, -EINVAL, "%s: %s", word->whole,
			     rest ? "its elements have no names"
				  : "the element's name is missing: KEY.NAME");
	if (rest && !mnl_attr_put_strz_check(w->nlh, w->size, f->sub->field[0].attr, rest))
		return too_long(w);
	err = put_value(w, value, word);
	mnl_attr_nest_end(w->nlh, nest);
	return err;
}

/* ---- fields ------------------------------------------------------------------------ */

static int put_fields(struct writer *w, const struct lx_schema *schema, struct word *words,
		      size_t n, bool check);

static int put_nest(struct writer *w, const struct lx_field *f, struct word *words, size_t n)
{
	struct word *in LX_AUTO_FREE = calloc(n, sizeof(*in));
	struct nlattr *nest;
	size_t n_in = 0;
	int err;

	if (!in)
		return -ENOMEM;
	nest = mnl_attr_nest_start_check(w->nlh, w->size, f->attr);
	if (!nest)
		return too_long(w);
	for (size_t i = 0; i < n; i++) {
		const char *rest;

		if (!is_for(&words[i], f, &rest))
			continue;
		words[i].used = true;
		in[n_in] = words[i];
		in[n_in].used = false;
		in[n_in++].key = rest ? rest : "";
	}
	err = put_fields(w, f->sub, in, n_in, false);
	mnl_attr_nest_end(w->nlh, nest);
	return err;
}

static int put_list(struct writer *w, const struct lx_field *f, struct word *words, size_t n)
{
	struct nlattr *nest = mnl_attr_nest_start_check(w->nlh, w->size, f->attr);
	int err = nest ? 0 : too_long(w);

	for (size_t i = 0; !err && i < n; i++) {
		const char *rest;

		if (!is_for(&words[i], f, &rest))
			continue;
		words[i].used = true;
		err = put_element(w, f, &words[i], rest);
	}
	if (nest)
		mnl_attr_nest_end(w->nlh, nest);
	return err;
}

/* All words for one field. *ret_first: the first of them; NULL: none. */
static int put_field(struct writer *w, const struct lx_field *f, struct word *words, size_t n,
		     const struct word **ret_first)
{
	const char *rest = NULL, *ignored;
	size_t at = 0;

	while (at < n && !is_for(&words[at], f, &rest))
		at++;
	*ret_first = at < n ? &words[at] : NULL;
	if (at == n)
		return 0;
	if (f->type == LX_FIELD_NEST)
		return put_nest(w, f, words + at, n - at);
	if (f->type == LX_FIELD_LIST)
		return put_list(w, f, words + at, n - at);
	if (rest)
		return 0; /* unknown, as nobody uses it */
	words[at].used = true;
	for (size_t i = at + 1; i < n; i++) {
		if (is_for(&words[i], f, &ignored))
			return wrong(w, words[i].whole, -EINVAL, "%s: given twice",
				     words[i].whole);
	}
	return put_value(w, f, &words[at]);
}

static int unknown(struct writer *w, const struct lx_schema *schema, const struct word *word)
{
	struct lx_suggest meant = lx_suggest(word->key);
	char known[200] = "", key[64];
	size_t used = 0;

	for (const struct lx_field *f = schema->field; f->key; f++) {
		lx_suggest_offer(&meant, f->key);
		if (used < sizeof(known))
			used += snprintf(known + used, sizeof(known) - used, "%s%s",
					 used ? ", " : "", lx_key_snake(f->key, key, sizeof(key)));
	}
	if (meant.best)
		return wrong(w, word->whole, -EINVAL, "%s: no such argument; did you mean \"%s\"?",
			     word->whole, lx_key_snake(meant.best, key, sizeof(key)));
	return wrong(w, word->whole, -EINVAL, "%s: no such argument; known: %s", word->whole,
		     *known ? known : "none");
}

/* Reads the attributes back as lnetxd will, so that both apply the same rules. */
static int check_written(struct writer *w, const struct lx_schema *schema, const char *word)
{
	void *obj LX_AUTO_FREE = calloc(1, schema->size ? schema->size : 1);
	const void *attrs;
	size_t len;

	if (!obj)
		return -ENOMEM;
	attrs = lx_schema_attrs(w->nlh, sizeof(struct lx_control_hdr), &len);
	if (!lx_schema_get(attrs, len, schema, obj, w->why->text, sizeof(w->why->text)))
		return 0;
	snprintf(w->why->word, sizeof(w->why->word), "%s", word);
	return -EINVAL;
}

static int put_fields(struct writer *w, const struct lx_schema *schema, struct word *words,
		      size_t n, bool check)
{
	int err = 0;

	for (const struct lx_field *f = schema->field; !err && f->key; f++) {
		const struct word *first;

		err = put_field(w, f, words, n, &first);
		if (!err && first && check)
			err = check_written(w, schema, first->whole);
	}
	for (size_t i = 0; !err && i < n; i++) {
		if (!words[i].used)
			err = unknown(w, schema, &words[i]);
	}
	return err;
}

/* ---- the whole ----------------------------------------------------------------------- */

static size_t count(const struct lx_ctl_arg *args)
{
	size_t n = 0;

	while (args && args[n].key)
		n++;
	return n;
}

static bool has(const struct word *words, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (lx_key_is(key, words[i].key))
			return true;
	}
	return false;
}

int lx_ctl_args_put(struct nlmsghdr *nlh, size_t size, const struct lx_schema *schema,
		    const struct lx_ctl_arg *args, const struct lx_ctl_arg *given,
		    struct lx_ctl_args_error *why)
{
	struct writer w = { .nlh = nlh, .size = size, .why = why };
	size_t n = count(args), n_given = count(given);
	struct word *words LX_AUTO_FREE = calloc(n + n_given + 1, sizeof(*words));

	memset(why, 0, sizeof(*why));
	if (!words)
		return wrong(&w, "", -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		if (!args[i].value)
			return wrong(&w, args[i].key, -EINVAL, "%s: no value", args[i].key);
		words[i] = (struct word){ args[i].key, args[i].value, args[i].key, false };
	}
	for (size_t i = 0; i < n_given; i++) {
		if (!has(words, n, given[i].key)) {
			words[n] = (struct word){ given[i].key, given[i].value, given[i].key,
						  false };
			n++;
		}
	}
	return put_fields(&w, schema, words, n, true);
}
