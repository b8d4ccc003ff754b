/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Encodes structs as netlink attributes and decodes them, by the tables described
 * in the header. Called by the daemon and the CLI; no state. Input may come from an
 * attacker.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <internal/control.h>
#include <lnetx/nid.h>

#include "../base/explain.h"
#include "schema.h"

/* ---- integers of any width in a struct --------------------------------------------- */

static int64_t load(const void *p, const struct lx_field *f)
{
	switch (f->size) {
	case 1:
		return f->sgn ? *(const int8_t *)p : *(const uint8_t *)p;
	case 2:
		return f->sgn ? *(const int16_t *)p : *(const uint16_t *)p;
	case 4:
		return f->sgn ? (int64_t) * (const int32_t *)p : (int64_t) * (const uint32_t *)p;
	default:
		return *(const int64_t *)p;
	}
}

/* Returns 0, or -EINVAL if the value does not fit. */
static int store(void *p, const struct lx_field *f, int64_t value)
{
	unsigned int bits = f->size * 8;

	if (bits < 64) {
		int64_t min = f->sgn ? -(1LL << (bits - 1)) : 0;
		int64_t max = f->sgn ? (1LL << (bits - 1)) - 1 : (1LL << bits) - 1;

		if (value < min || value > max)
			return -EINVAL;
	}
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
	return 0;
}

/* ---- writing ----------------------------------------------------------------------- */

static bool wanted(const struct lx_field *f, unsigned int level)
{
	if (f->type == LX_FIELD_FIXED)
		return false;
	return level == LX_LEVEL_BACKUP ? f->backup : f->level <= level;
}

static bool omitted_int(const struct lx_field *f, int64_t value)
{
	return (f->omit == LX_OMIT_UNSET && value == LX_UNSET) ||
	       (f->omit == LX_OMIT_ZERO && !value) || (f->omit == LX_OMIT_ONE && value == 1);
}

static bool put_int(struct nlmsghdr *nlh, size_t size, uint16_t attr, int64_t value)
{
	return mnl_attr_put_u64_check(nlh, size, attr, (uint64_t)value);
}

static bool put_text(struct nlmsghdr *nlh, size_t size, const struct lx_field *f, const char *text)
{
	if (!text || (f->omit == LX_OMIT_UNSET && !*text))
		return true;
	return mnl_attr_put_strz_check(nlh, size, f->attr, text);
}

static const char *enum_name(const struct lx_field *f, int64_t value)
{
	return value >= 0 && value < f->n_names && f->names[value] ? f->names[value] : "?";
}

/* A level applies to nested structs, too. */
static bool put_nest(struct nlmsghdr *nlh, size_t size, uint16_t attr, const struct lx_schema *sub,
		     const void *obj, unsigned int level, bool may_be_empty)
{
	struct nlattr *nest = mnl_attr_nest_start_check(nlh, size, attr);
	uint32_t before = nlh->nlmsg_len;

	/* A nest is backed up as a whole. */
	if (!nest ||
	    lx_schema_put(nlh, size, sub, obj, level == LX_LEVEL_BACKUP ? LX_LEVEL_MAX : level) < 0)
		return false;
	if (nlh->nlmsg_len == before && !may_be_empty)
		mnl_attr_nest_cancel(nlh, nest);
	else
		mnl_attr_nest_end(nlh, nest);
	return true;
}

static bool put_nids(struct nlmsghdr *nlh, size_t size, const struct lx_field *f, const void *obj)
{
	uint32_t n = *(const uint32_t *)((const char *)obj + f->count_offset);
	const struct lx_nid *nid = (const struct lx_nid *)((const char *)obj + f->offset);
	struct nlattr *nest;

	if (!n)
		return true;
	nest = mnl_attr_nest_start_check(nlh, size, f->attr);
	for (uint32_t i = 0; nest && i < n && i < f->max; i++) {
		if (!mnl_attr_put_strz_check(nlh, size, 1, lx_nid_str(&nid[i])))
			return false;
	}
	if (nest)
		mnl_attr_nest_end(nlh, nest);
	return nest;
}

static bool put_list(struct nlmsghdr *nlh, size_t size, const struct lx_field *f, const void *obj,
		     unsigned int level)
{
	uint32_t n = *(const uint32_t *)((const char *)obj + f->count_offset);
	const char *element = (const char *)obj + f->offset;
	struct nlattr *nest;

	if (!n)
		return true;
	nest = mnl_attr_nest_start_check(nlh, size, f->attr);
	if (!nest)
		return false;
	for (uint32_t i = 0; i < n && i < f->max; i++, element += f->sub->size) {
		if (!put_nest(nlh, size, 1, f->sub, element, level, true))
			return false;
	}
	mnl_attr_nest_end(nlh, nest);
	return true;
}

/* A list of nests {1: name, 2: value}, like struct lx_control_lnd_value. */
static bool put_named(struct nlmsghdr *nlh, size_t size, const struct lx_field *f, const void *obj)
{
	const char *const *names =
		*(const char *const *const *)((const char *)obj + f->names_offset);
	const int32_t *value = (const int32_t *)((const char *)obj + f->offset);
	struct nlattr *nest, *entry;

	if (!names || !names[0])
		return true;
	nest = mnl_attr_nest_start_check(nlh, size, f->attr);
	if (!nest)
		return false;
	for (size_t i = 0; i < f->size / sizeof(*value) && names[i]; i++) {
		if (value[i] == LX_LND_TUNABLE_HIDDEN)
			continue;
		entry = mnl_attr_nest_start_check(nlh, size, 1);
		if (!entry || !mnl_attr_put_strz_check(nlh, size, 1, names[i]) ||
		    !put_int(nlh, size, 2, value[i]))
			return false;
		mnl_attr_nest_end(nlh, entry);
	}
	mnl_attr_nest_end(nlh, nest);
	return true;
}

/* "2026-08-05T14:03:07+0200" */
static bool put_time(struct nlmsghdr *nlh, size_t size, const struct lx_field *f, int64_t s)
{
	time_t t = s;
	char text[40];
	struct tm tm;

	if (!s)
		return true;
	strftime(text, sizeof(text), "%FT%T%z", localtime_r(&t, &tm));
	return put_text(nlh, size, f, text);
}

static bool put_field(struct nlmsghdr *nlh, size_t size, const struct lx_field *f, const void *obj,
		      unsigned int level)
{
	const void *p = (const char *)obj + f->offset;
	char text[LX_ID_TEXT];
	int64_t value;

	switch ((enum lx_field_type)f->type) {
	case LX_FIELD_INT:
		value = f->mask ? load(p, f) & f->mask : load(p, f);
		return omitted_int(f, value) || put_int(nlh, size, f->attr, value);
	case LX_FIELD_BOOL:
		return omitted_int(f, *(const bool *)p) ||
		       put_int(nlh, size, f->attr, *(const bool *)p);
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
		return put_text(nlh, size, f, p);
	case LX_FIELD_STRP:
		return put_text(nlh, size, f, *(const char *const *)p);
	case LX_FIELD_NID:
		if (f->omit == LX_OMIT_UNSET && lx_nid_eq(p, &lx_nid_any))
			return true;
		return put_text(nlh, size, f, lx_nid_format(p, text, sizeof(text)));
	case LX_FIELD_NET:
		if (f->omit == LX_OMIT_UNSET && *(const uint32_t *)p == LX_NET_U32_ANY)
			return true;
		return put_text(nlh, size, f,
				lx_net_format(*(const uint32_t *)p, text, sizeof(text)));
	case LX_FIELD_ID:
		return put_text(nlh, size, f, lx_id_format(p, text, sizeof(text)));
	case LX_FIELD_ENUM:
		return put_text(nlh, size, f, enum_name(f, load(p, f)));
	case LX_FIELD_NEST:
		return put_nest(nlh, size, f->attr, f->sub, p, level, f->omit != LX_OMIT_UNSET);
	case LX_FIELD_NIDS:
		return put_nids(nlh, size, f, obj);
	case LX_FIELD_LIST:
		return put_list(nlh, size, f, obj, level);
	case LX_FIELD_NAMED:
		return put_named(nlh, size, f, obj);
	case LX_FIELD_TIME:
		return put_time(nlh, size, f, *(const int64_t *)p);
	case LX_FIELD_FIXED:
		break;
	}
	return true;
}

int lx_schema_put(struct nlmsghdr *nlh, size_t size, const struct lx_schema *schema,
		  const void *obj, unsigned int level)
{
	uint32_t before = nlh->nlmsg_len;

	for (const struct lx_field *f = schema->field; f->key; f++) {
		if (wanted(f, level) && !put_field(nlh, size, f, obj, level)) {
			nlh->nlmsg_len = before;
			return -EMSGSIZE;
		}
	}
	return 0;
}

/* ---- reading ----------------------------------------------------------------------- */

const struct nlmsghdr *lx_schema_message(const void *buf, size_t len, size_t hdr)
{
	const struct nlmsghdr *nlh = buf;

	if (len < sizeof(*nlh) || nlh->nlmsg_len > len || nlh->nlmsg_len < MNL_NLMSG_HDRLEN + hdr)
		return NULL;
	return nlh;
}

const void *lx_schema_attrs(const struct nlmsghdr *nlh, size_t hdr, size_t *ret_len)
{
	size_t head = MNL_NLMSG_HDRLEN + MNL_ALIGN(hdr);

	*ret_len = nlh->nlmsg_len > head ? nlh->nlmsg_len - head : 0;
	return (const char *)nlh + head;
}

/* Iterates over valid attributes; @rest is > 0 if not all could be read. */
#define for_each_attr(a, attrs, len, rest)                                                         \
	for (a = (attrs), rest = (len); (rest) > 0 && mnl_attr_ok(a, rest);                        \
	     rest -= MNL_ALIGN((a)->nla_len), a = mnl_attr_next(a))

const struct nlattr *lx_schema_find(const void *attrs, size_t len, uint8_t attr)
{
	const struct nlattr *a;
	int rest;

	for_each_attr (a, attrs, (int)len, rest) {
		if (mnl_attr_get_type(a) == attr)
			return a;
	}
	return NULL;
}

const char *lx_schema_text(const struct nlattr *attr)
{
	const char *text = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);

	return len && memchr(text, '\0', len) == text + len - 1 ? text : NULL;
}

static void set_default(const struct lx_field *f, void *obj)
{
	char *p = (char *)obj + f->offset;

	switch (f->type) {
	case LX_FIELD_INT:
		store(p, f, f->omit == LX_OMIT_UNSET ? LX_UNSET : f->omit == LX_OMIT_ONE);
		break;
	case LX_FIELD_BOOL:
		*(bool *)p = f->omit == LX_OMIT_ONE;
		break;
	case LX_FIELD_NID:
		*(struct lx_nid *)p = lx_nid_any;
		break;
	case LX_FIELD_NET:
		*(uint32_t *)p = LX_NET_U32_ANY;
		break;
	case LX_FIELD_NEST:
		for (const struct lx_field *s = f->sub->field; s->key; s++)
			set_default(s, p);
		break;
	default:
		break;
	}
}

static int get_text(const struct nlattr *a, const struct lx_field *f, void *p, char *text,
		    size_t text_size)
{
	const char *value = lx_schema_text(a);
	int err = 0;

	if (!value)
		return lx_explain(text, text_size, -EPROTO, "%s: not a string", f->key);
	/* "Any" is expressed by omission. */
	if (f->type == LX_FIELD_NID)
		err = lx_nid_parse(value, p) || lx_nid_eq(p, &lx_nid_any) ? -EINVAL : 0;
	else if (f->type == LX_FIELD_NET)
		err = lx_net_parse(value, p);
	else if (strlen(value) >= f->size)
		err = -EINVAL;
	else
		strcpy(p, value); /* fits: just checked */
	if (err)
		return lx_explain(text, text_size, -EINVAL, "%s: cannot be \"%.80s\"", f->key,
				  value);
	return 0;
}

const struct lx_field *lx_schema_field(const struct lx_schema *schema, const char *key)
{
	for (const struct lx_field *f = schema->field; f->key; f++) {
		if (!strcmp(f->key, key))
			return f;
	}
	return NULL;
}

static bool in_range(const struct lx_field *f, int64_t value)
{
	return (!f->low && !f->high) || (value >= f->low && value <= f->high) ||
	       (f->omit == LX_OMIT_UNSET && value == LX_UNSET);
}

static int get_int(const struct nlattr *a, const struct lx_field *f, void *p, char *text,
		   size_t text_size)
{
	int64_t value;

	if (mnl_attr_get_payload_len(a) != sizeof(value))
		return lx_explain(text, text_size, -EPROTO, "%s: not a number", f->key);
	value = (int64_t)mnl_attr_get_u64(a);
	if (!in_range(f, value))
		return lx_explain(text, text_size, -EINVAL, "%s: %lld is not in %lld..%lld", f->key,
				  (long long)value, (long long)f->low, (long long)f->high);
	if (f->type == LX_FIELD_BOOL && (value == 0 || value == 1))
		*(bool *)p = value;
	else if (f->type == LX_FIELD_BOOL || store(p, f, value) < 0)
		return lx_explain(text, text_size, -EINVAL, "%s: %lld is out of range", f->key,
				  (long long)value);
	return 0;
}

static int get_list(const struct nlattr *list, const struct lx_field *f, void *obj, char *text,
		    size_t text_size)
{
	uint32_t *n = (uint32_t *)((char *)obj + f->count_offset);
	char *element = (char *)obj + f->offset;
	const struct nlattr *a;
	int rest, err;

	*n = 0;
	for_each_attr (a, mnl_attr_get_payload(list), (int)mnl_attr_get_payload_len(list), rest) {
		if (*n == f->max)
			return lx_explain(text, text_size, -EINVAL, "%s: more than %u", f->key,
					  f->max);
		err = lx_schema_get(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), f->sub,
				    element, text, text_size);
		if (err)
			return err;
		element += f->sub->size;
		++*n;
	}
	return rest > 0 ? lx_explain(text, text_size, -EPROTO, "%s: truncated", f->key) : 0;
}

static int get_field(const struct nlattr *a, const struct lx_field *f, void *obj, char *text,
		     size_t text_size)
{
	void *p = (char *)obj + f->offset;

	switch (f->type) {
	case LX_FIELD_INT:
	case LX_FIELD_BOOL:
		return get_int(a, f, p, text, text_size);
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
	case LX_FIELD_NID:
	case LX_FIELD_NET:
		return get_text(a, f, p, text, text_size);
	case LX_FIELD_NEST:
		return lx_schema_get(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), f->sub,
				     p, text, text_size);
	case LX_FIELD_LIST:
		return get_list(a, f, obj, text, text_size);
	}
	return lx_explain(text, text_size, -EOPNOTSUPP, "%s: read-only", f->key);
}

/* A NID or net for which "any" means nothing has no default. */
static bool required(const struct lx_field *f)
{
	return (f->type == LX_FIELD_NID || f->type == LX_FIELD_NET) && f->omit != LX_OMIT_UNSET;
}

int lx_schema_get(const void *attrs, size_t len, const struct lx_schema *schema, void *obj,
		  char *ret_text, size_t text_size)
{
	const struct lx_field *f;
	const struct nlattr *a;
	uint64_t seen[4] = { 0 }; /* attribute numbers */
	int rest, err;

	memset(obj, 0, schema->size);
	for (f = schema->field; f->key; f++)
		set_default(f, obj);
	for_each_attr (a, attrs, (int)len, rest) {
		for (f = schema->field; f->key && f->attr != mnl_attr_get_type(a); f++)
			;
		if (!f->key)
			return lx_explain(ret_text, text_size, -EOPNOTSUPP,
					  "%s: unknown attribute %u; client and daemon are of "
					  "different releases",
					  schema->name, mnl_attr_get_type(a));
		if (seen[f->attr / 64] & 1ULL << f->attr % 64)
			return lx_explain(ret_text, text_size, -EPROTO, "%s: given twice", f->key);
		seen[f->attr / 64] |= 1ULL << f->attr % 64;
		err = get_field(a, f, obj, ret_text, text_size);
		if (err)
			return err;
	}
	if (rest > 0)
		return lx_explain(ret_text, text_size, -EPROTO, "%s: truncated", schema->name);
	for (f = schema->field; f->key; f++) {
		if (required(f) && !(seen[f->attr / 64] & 1ULL << f->attr % 64))
			return lx_explain(ret_text, text_size, -EPROTO, "%s: missing", f->key);
	}
	return 0;
}

/* ---- as text ----------------------------------------------------------------------- */

struct text {
	char *buf;
	size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
	size_t room = t->size - t->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* A client's text: nothing in it may look like another line or key. */
static void add_text(struct text *t, const char *text)
{
	for (; *text; text++)
		add(t, "%c", *text > ' ' && *text != '"' && *text != '=' ? *text : '_');
}

/* False if it has its default value. */
static bool says_something(const struct lx_field *f, const void *p)
{
	switch (f->type) {
	case LX_FIELD_INT:
		return !omitted_int(f, load(p, f));
	case LX_FIELD_BOOL:
		return *(const bool *)p;
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
		return *(const char *)p;
	case LX_FIELD_NID:
		return !lx_nid_eq(p, &lx_nid_any);
	case LX_FIELD_NET:
		return *(const uint32_t *)p != LX_NET_U32_ANY;
	}
	return false;
}

static void format_value(struct text *t, const struct lx_field *f, const void *p)
{
	char nid[LX_NID_TEXT];

	switch (f->type) {
	case LX_FIELD_INT:
		add(t, "%lld", (long long)load(p, f));
		break;
	case LX_FIELD_BOOL:
		add(t, "%s", *(const bool *)p ? "true" : "false");
		break;
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
		add_text(t, p);
		break;
	case LX_FIELD_NID:
		add(t, "%s", lx_nid_format(p, nid, sizeof(nid)));
		break;
	case LX_FIELD_NET:
		add(t, "%s", lx_net_format(*(const uint32_t *)p, nid, sizeof(nid)));
		break;
	}
}

/* "nid,nid" or "name:value,name:value". */
static void format_list(struct text *t, const struct lx_field *list, const void *obj)
{
	uint32_t n = *(const uint32_t *)((const char *)obj + list->count_offset);
	const char *element = (const char *)obj + list->offset;

	for (uint32_t i = 0; i < n && i < list->max; i++, element += list->sub->size) {
		for (const struct lx_field *f = list->sub->field; f->key; f++) {
			add(t, "%s", f != list->sub->field ? ":" : i ? "," : "");
			format_value(t, f, element + f->offset);
		}
	}
}

static void format_fields(struct text *t, const struct lx_schema *schema, const void *obj)
{
	for (const struct lx_field *f = schema->field; f->key; f++) {
		const void *p = (const char *)obj + f->offset;
		bool list = f->type == LX_FIELD_LIST;

		if (f->type == LX_FIELD_NEST)
			format_fields(t, f->sub, p);
		else if (list ? *(const uint32_t *)((const char *)obj + f->count_offset)
			      : says_something(f, p)) {
			add(t, "%s", t->used ? " " : "");
			add_text(t, f->key);
			add(t, "=");
			if (list)
				format_list(t, f, obj);
			else
				format_value(t, f, p);
		}
	}
}

char *lx_schema_format(const struct lx_schema *schema, const void *obj, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };

	buf[0] = '\0';
	format_fields(&t, schema, obj);
	return buf;
}
