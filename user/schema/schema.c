/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fields of structs by their tables; see the header. No state. Values may come from an attacker. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <internal/ctl.h>

#include "../base/array.h"
#include "../base/explain.h"
#include "../base/text.h"
#include "schema.h"

const struct lx_field *lx_schema_field(const struct lx_schema *schema, const char *key)
{
	for (const struct lx_field *f = schema->field; f->key; f++) {
		if (!strcmp(f->key, key))
			return f;
	}
	return NULL;
}

/* ---- values ------------------------------------------------------------------------ */

int64_t lx_schema_field_load(const struct lx_field *f, const void *p)
{
	int64_t value = *(const int8_t *)p;

	if (f->size == 8)
		value = *(const int64_t *)p;
	else if (f->size == 4)
		value = f->sgn ? *(const int32_t *)p : (int64_t) * (const uint32_t *)p;
	else if (f->size == 2)
		value = f->sgn ? *(const int16_t *)p : *(const uint16_t *)p;
	else if (!f->sgn)
		value = *(const uint8_t *)p;
	return f->mask ? value & f->mask : value;
}

static void put(const struct lx_field *f, void *p, int64_t value)
{
	switch (f->size) {
	case 1:
		*(uint8_t *)p = value;
		break;
	case 2:
		*(uint16_t *)p = value;
		break;
	case 4:
		*(uint32_t *)p = value;
		break;
	default:
		*(int64_t *)p = value;
		break;
	}
}

/* Without a range of its own: what fits. */
void lx_schema_field_range(const struct lx_field *f, int64_t *ret_low, int64_t *ret_high)
{
	unsigned int bits = f->type == LX_FIELD_BOOL ? 1 : f->size * 8 - f->sgn;

	*ret_low = f->low;
	*ret_high = f->high;
	if (f->low || f->high)
		return;
	*ret_high = bits < 63 ? (1LL << bits) - 1 : INT64_MAX;
	*ret_low = f->sgn ? -*ret_high - 1 : bits < 64 ? 0 : INT64_MIN; /* of 64 bits any */
}

int lx_schema_field_store(const struct lx_field *f, void *p, int64_t value, char *why, size_t size)
{
	int64_t low, high;

	lx_schema_field_range(f, &low, &high);
	if ((value < low || value > high) && (f->omit != LX_OMIT_UNSET || value != LX_UNSET))
		return lx_explain(why, size, -EINVAL, "%lld is not in %lld..%lld", (long long)value,
				  (long long)low, (long long)high);
	put(f, p, value);
	return 0;
}

int lx_schema_field_store_text(const struct lx_field *f, void *p, const char *text, char *why,
			       size_t size)
{
	bool nid = f->type == LX_FIELD_NID, net = f->type == LX_FIELD_NET;

	/* "Any" is expressed by omission. */
	if (nid && (lx_nid_parse(text, p) || lx_nid_eq(p, &lx_nid_any)))
		return lx_explain(why, size, -EINVAL, "\"%.80s\" is not a NID (10.0.0.1@tcp, ...)",
				  text);
	if (net && lx_net_parse(text, p))
		return lx_explain(why, size, -EINVAL, "\"%.40s\" is not a net (tcp, tcp1, ...)",
				  text);
	if (nid || net)
		return 0;
	if (strlen(text) >= f->size)
		return lx_explain(why, size, -EINVAL, "\"%.40s\" is too long", text);
	strcpy(p, text); /* fits: just checked */
	return 0;
}

bool lx_schema_field_is_truth(const char *text, bool *ret_value)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };

	for (size_t i = 0; i < LX_ARRAY_LEN(words); i++) {
		if (!strcasecmp(text, words[i])) {
			*ret_value = i & 1;
			return true;
		}
	}
	return false;
}

/* "\"foo\": auto, native or tc is expected" */
static int unknown_name(const struct lx_field *f, const char *text, char *why, size_t size)
{
	char names[120] = "";

	for (int i = 0; i < f->n_names; i++) {
		if (f->names[i])
			lx_text_join(names, sizeof(names), i + 1 < f->n_names ? ", " : " or ",
				     f->names[i]);
	}
	return lx_explain(why, size, -EINVAL, "\"%.40s\": %s is expected", text, names);
}

static int parse_number(const struct lx_field *f, void *p, const char *text, char *why, size_t size)
{
	int64_t low, high, value;
	char *end;
	bool on;

	lx_schema_field_range(f, &low, &high);
	if (!low && high == 1 && lx_schema_field_is_truth(text, &on))
		return lx_schema_field_store(f, p, on, why, size);
	errno = 0;
	value = *text == '-' ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);
	if (f->type == LX_FIELD_BOOL)
		return lx_explain(why, size, -EINVAL, "\"%.40s\" is not true or false", text);
	if (end == text || *end)
		return lx_explain(why, size, -EINVAL, "\"%.40s\" is not a number", text);
	if (errno || (value < 0 && *text != '-' && (f->sgn || high != INT64_MAX)))
		return lx_explain(why, size, -EINVAL, "%.40s is not in %lld..%lld", text,
				  (long long)low, (long long)high);
	return lx_schema_field_store(f, p, value, why, size);
}

int lx_schema_field_parse(const struct lx_field *f, void *p, const char *text, char *why,
			  size_t size)
{
	if (f->type != LX_FIELD_INT && f->type != LX_FIELD_BOOL)
		return lx_schema_field_store_text(f, p, text, why, size);
	for (int i = 0; i < f->n_names; i++) {
		if (f->names[i] && !strcmp(f->names[i], text))
			return lx_schema_field_store(f, p, i, why, size);
	}
	return f->n_names ? unknown_name(f, text, why, size) : parse_number(f, p, text, why, size);
}

static int64_t default_of(const struct lx_field *f)
{
	return f->omit == LX_OMIT_UNSET ? LX_UNSET : f->omit == LX_OMIT_ONE;
}

static void set_defaults(const struct lx_schema *schema, void *obj)
{
	for (const struct lx_field *f = schema->field; f->key; f++) {
		char *p = (char *)obj + f->offset;

		if (f->type == LX_FIELD_INT || f->type == LX_FIELD_BOOL)
			put(f, p, default_of(f));
		else if (f->type == LX_FIELD_NID)
			*(struct lx_nid *)p = lx_nid_any;
		else if (f->type == LX_FIELD_NET)
			*(uint32_t *)p = LX_NET_U32_ANY;
		else if (f->type == LX_FIELD_NEST)
			set_defaults(f->sub, p);
	}
}

void lx_schema_init(const struct lx_schema *schema, void *obj)
{
	memset(obj, 0, schema->size);
	set_defaults(schema, obj);
}

bool lx_schema_field_is_set(const struct lx_field *f, const void *p)
{
	switch (f->type) {
	case LX_FIELD_INT:
	case LX_FIELD_BOOL:
		return f->omit == LX_OMIT_NEVER ? f->type == LX_FIELD_INT || *(const bool *)p
						: lx_schema_field_load(f, p) != default_of(f);
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
		return *(const char *)p;
	case LX_FIELD_NID:
		return !lx_nid_eq(p, &lx_nid_any);
	case LX_FIELD_STRP:
		return *(const char *const *)p && **(const char *const *)p;
	case LX_FIELD_NET:
		return *(const uint32_t *)p != LX_NET_U32_ANY;
	}
	return true;
}

const char *lx_schema_missing(const struct lx_schema *schema, const void *obj)
{
	for (const struct lx_field *f = schema->field; f->key; f++) {
		if ((f->type == LX_FIELD_NID || f->type == LX_FIELD_NET) &&
		    f->omit == LX_OMIT_NEVER &&
		    !lx_schema_field_is_set(f, (const char *)obj + f->offset))
			return f->key;
	}
	return NULL;
}

/* ---- as text ----------------------------------------------------------------------- */

/* A client's text: nothing in it may look like another line or key. */
static void add_text(const struct lx_text *t, const char *text)
{
	for (; *text; text++)
		lx_text_add(t, "%c", *text > ' ' && *text != '"' && *text != '=' ? *text : '_');
}

static void format_value(const struct lx_text *t, const struct lx_field *f, const void *p)
{
	char nid[LX_NID_TEXT];

	switch (f->type) {
	case LX_FIELD_INT:
		lx_text_add(t, "%lld", (long long)lx_schema_field_load(f, p));
		break;
	case LX_FIELD_BOOL:
		lx_text_add(t, "%s", *(const bool *)p ? "true" : "false");
		break;
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
		add_text(t, p);
		break;
	case LX_FIELD_NID:
		lx_text_add(t, "%s", lx_nid_format(p, nid, sizeof(nid)));
		break;
	case LX_FIELD_NET:
		lx_text_add(t, "%s", lx_net_format(*(const uint32_t *)p, nid, sizeof(nid)));
		break;
	}
}

/* "nid,nid" or "name:value,name:value". */
static void format_list(const struct lx_text *t, const struct lx_field *list, const void *obj)
{
	uint32_t n = *(const uint32_t *)((const char *)obj + list->count_offset);
	const char *element = (const char *)obj + list->offset;

	for (uint32_t i = 0; i < n && i < list->max; i++, element += list->sub->size) {
		for (const struct lx_field *f = list->sub->field; f->key; f++) {
			lx_text_add(t, "%s", f != list->sub->field ? ":" : i ? "," : "");
			format_value(t, f, element + f->offset);
		}
	}
}

static void format_fields(const struct lx_text *t, const struct lx_schema *schema, const void *obj)
{
	for (const struct lx_field *f = schema->field; f->key; f++) {
		const void *p = (const char *)obj + f->offset;
		bool list = f->type == LX_FIELD_LIST;

		if (f->type == LX_FIELD_NEST)
			format_fields(t, f->sub, p);
		else if (list ? *(const uint32_t *)((const char *)obj + f->count_offset)
			      : lx_schema_field_is_set(f, p)) {
			lx_text_add(t, "%s", *t->buf ? " " : "");
			add_text(t, f->key);
			lx_text_add(t, "=");
			if (list)
				format_list(t, f, obj);
			else
				format_value(t, f, p);
		}
	}
}

char *lx_schema_format(const struct lx_schema *schema, const void *obj, char *buf, size_t size)
{
	struct lx_text t = { .buf = buf, .size = size };

	buf[0] = '\0';
	format_fields(&t, schema, obj);
	return buf;
}
