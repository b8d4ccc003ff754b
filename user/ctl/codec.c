/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Encodes structs as netlink attributes and decodes them, by the tables described
 * in the header. Called by the daemon and the CLI; no state. Input may come from an
 * attacker.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <internal/ctl.h>
#include <lnetx/nid.h>

#include "../base/explain.h"
#include "codec.h"

/* ---- writing ----------------------------------------------------------------------- */

static bool wanted(const struct lx_field *f, unsigned int level)
{
	if (f->type == LX_FIELD_FIXED)
		return false;
	return level == LX_LEVEL_BACKUP ? f->backup : f->level <= level;
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
	    lx_codec_put(nlh, size, sub, obj, level == LX_LEVEL_BACKUP ? LX_LEVEL_MAX : level) < 0)
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

/* A list of nests {1: name, 2: value}, like struct lx_ctl_lnd_value. */
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

	if (f->omit != LX_OMIT_NEVER && !lx_schema_field_is_set(f, p))
		return true;
	switch ((enum lx_field_type)f->type) {
	case LX_FIELD_INT:
	case LX_FIELD_BOOL:
		return put_int(nlh, size, f->attr, lx_schema_field_load(f, p));
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
		return put_text(nlh, size, f, p);
	case LX_FIELD_STRP:
		return put_text(nlh, size, f, *(const char *const *)p);
	case LX_FIELD_NID:
		return put_text(nlh, size, f, lx_nid_format(p, text, sizeof(text)));
	case LX_FIELD_NET:
		return put_text(nlh, size, f,
				lx_net_format(*(const uint32_t *)p, text, sizeof(text)));
	case LX_FIELD_ID:
		return put_text(nlh, size, f, lx_id_format(p, text, sizeof(text)));
	case LX_FIELD_ENUM:
		return put_text(nlh, size, f, enum_name(f, lx_schema_field_load(f, p)));
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

int lx_codec_put(struct nlmsghdr *nlh, size_t size, const struct lx_schema *schema, const void *obj,
		 unsigned int level)
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

const struct nlmsghdr *lx_codec_message(const void *buf, size_t len, size_t hdr)
{
	const struct nlmsghdr *nlh = buf;

	if (len < sizeof(*nlh) || nlh->nlmsg_len > len || nlh->nlmsg_len < MNL_NLMSG_HDRLEN + hdr)
		return NULL;
	return nlh;
}

const void *lx_codec_attrs(const struct nlmsghdr *nlh, size_t hdr, size_t *ret_len)
{
	size_t head = MNL_NLMSG_HDRLEN + MNL_ALIGN(hdr);

	*ret_len = nlh->nlmsg_len > head ? nlh->nlmsg_len - head : 0;
	return (const char *)nlh + head;
}

/* Iterates over valid attributes; @rest is > 0 if not all could be read. */
#define for_each_attr(a, attrs, len, rest)                                                         \
	for (a = (attrs), rest = (len); (rest) > 0 && mnl_attr_ok(a, rest);                        \
	     rest -= MNL_ALIGN((a)->nla_len), a = mnl_attr_next(a))

const struct nlattr *lx_codec_find(const void *attrs, size_t len, uint8_t attr)
{
	const struct nlattr *a;
	int rest;

	for_each_attr (a, attrs, (int)len, rest) {
		if (mnl_attr_get_type(a) == attr)
			return a;
	}
	return NULL;
}

const char *lx_codec_text(const struct nlattr *attr)
{
	const char *text = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);

	return len && memchr(text, '\0', len) == text + len - 1 ? text : NULL;
}

static int get_value(const struct nlattr *a, const struct lx_field *f, void *p, char *text,
		     size_t text_size)
{
	bool number = f->type == LX_FIELD_INT || f->type == LX_FIELD_BOOL;
	const char *value = number ? NULL : lx_codec_text(a);
	char why[160];
	int err;

	if (number && mnl_attr_get_payload_len(a) != sizeof(int64_t))
		return lx_explain(text, text_size, -EPROTO, "%s: not a number", f->key);
	if (!number && !value)
		return lx_explain(text, text_size, -EPROTO, "%s: not a string", f->key);
	err = number ? lx_schema_field_store(f, p, (int64_t)mnl_attr_get_u64(a), why, sizeof(why))
		     : lx_schema_field_store_text(f, p, value, why, sizeof(why));
	return err ? lx_explain(text, text_size, err, "%s: %s", f->key, why) : 0;
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
		err = lx_codec_get(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), f->sub,
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
	case LX_FIELD_STR:
	case LX_FIELD_IFACE:
	case LX_FIELD_NID:
	case LX_FIELD_NET:
		return get_value(a, f, p, text, text_size);
	case LX_FIELD_NEST:
		return lx_codec_get(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), f->sub, p,
				    text, text_size);
	case LX_FIELD_LIST:
		return get_list(a, f, obj, text, text_size);
	}
	return lx_explain(text, text_size, -EOPNOTSUPP, "%s: read-only", f->key);
}

int lx_codec_get(const void *attrs, size_t len, const struct lx_schema *schema, void *obj,
		 char *ret_text, size_t text_size)
{
	const struct lx_field *f;
	const struct nlattr *a;
	uint64_t seen[4] = { 0 }; /* attribute numbers */
	const char *missing;
	int rest, err;

	lx_schema_init(schema, obj);
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
	missing = lx_schema_missing(schema, obj);
	return missing ? lx_explain(ret_text, text_size, -EPROTO, "%s: missing", missing) : 0;
}
