/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads rows of an answer as keys and values, by the object's schema. Owns nothing, and trusts no
 * byte of a row.
 */
#include <errno.h>
#include <string.h>

#include "../base/key.h"
#include "codec.h"
#include "row.h"

/* The form of a row's attributes. */
enum form {
	FORM_FIELDS, /* of a schema */
	FORM_NAMED, /* a list of {1: key, 2: number} */
	FORM_STRUCTS, /* a list of nests with one schema */
	FORM_TEXTS, /* a list of texts */
	FORM_IFACE, /* a text below the key "0" */
};

void lx_ctl_row_of(struct lx_ctl_row *ret_row, const struct lx_schema *group,
		   const struct lx_schema *schema, const void *attrs, size_t len,
		   unsigned int level)
{
	*ret_row = (struct lx_ctl_row){ .attrs_ = attrs, .len_ = len, .group_ = group,
					.schema_ = schema, .level_ = level };
}

/* ---- values ------------------------------------------------------------------------ */

static void set_number(struct lx_ctl_value *v, const struct nlattr *a, enum lx_ctl_type type)
{
	if (mnl_attr_get_payload_len(a) != sizeof(uint64_t))
		return;
	v->type = type;
	v->number = (int64_t)mnl_attr_get_u64(a);
	if (type == LX_CTL_BOOL)
		v->number = !!v->number;
}

static void set_text(struct lx_ctl_value *v, const struct nlattr *a)
{
	v->text = lx_codec_text(a);
	if (v->text)
		v->type = LX_CTL_TEXT;
}

static void set_inside(struct lx_ctl_value *v, const struct nlattr *a, enum lx_ctl_type type,
		       enum form form, const struct lx_schema *schema, unsigned int level)
{
	v->type = type;
	lx_ctl_row_of(&v->inside, NULL, schema, mnl_attr_get_payload(a),
		      mnl_attr_get_payload_len(a), level);
	v->inside.form_ = form;
}

static void set_iface(struct lx_ctl_value *v, const struct nlattr *a, unsigned int level)
{
	if (!lx_codec_text(a))
		return;
	set_inside(v, a, LX_CTL_MAP, FORM_IFACE, NULL, level);
	v->inside.attrs_ = a;
}

static void set_value(struct lx_ctl_value *v, const struct lx_field *f, const struct nlattr *a,
		      unsigned int level)
{
	v->key = f->key;
	v->type = LX_CTL_NONE;
	v->text = NULL;
	switch ((enum lx_field_type)f->type) {
	case LX_FIELD_INT:
		set_number(v, a, LX_CTL_INT);
		break;
	case LX_FIELD_BOOL:
		set_number(v, a, LX_CTL_BOOL);
		break;
	case LX_FIELD_IFACE:
		set_iface(v, a, level);
		break;
	case LX_FIELD_NAMED:
		set_inside(v, a, LX_CTL_MAP, FORM_NAMED, NULL, level);
		break;
	case LX_FIELD_NIDS:
		set_inside(v, a, LX_CTL_LIST, FORM_TEXTS, NULL, level);
		break;
	case LX_FIELD_NEST:
		set_inside(v, a, LX_CTL_MAP, FORM_FIELDS, f->sub, level);
		break;
	case LX_FIELD_LIST:
		set_inside(v, a, LX_CTL_LIST, FORM_STRUCTS, f->sub, level);
		break;
	case LX_FIELD_STR:
	case LX_FIELD_STRP:
	case LX_FIELD_NID:
	case LX_FIELD_NET:
	case LX_FIELD_ID:
	case LX_FIELD_ENUM:
	case LX_FIELD_TIME:
		set_text(v, a);
		break;
	case LX_FIELD_FIXED:
		break;
	}
}

/* ---- walking ----------------------------------------------------------------------- */

/* A fixed text is not sent, so its level is checked here. */
static bool fixed_wanted(const struct lx_field *f, unsigned int level)
{
	return level == LX_LEVEL_BACKUP ? f->backup : f->level <= level;
}

/* The value of one field; false: the row does not have it. */
static bool field_value(const struct lx_ctl_row *row, const struct lx_field *f,
			struct lx_ctl_value *v)
{
	const struct nlattr *a;

	if (f->type == LX_FIELD_FIXED) {
		v->key = f->key;
		v->type = LX_CTL_TEXT;
		v->text = f->names[0];
		return fixed_wanted(f, row->level_);
	}
	a = lx_codec_find(row->attrs_, row->len_, f->attr);
	if (a)
		set_value(v, f, a, row->level_);
	return a && v->type != LX_CTL_NONE;
}

/* Fields of the group, then of the row. @v->n_: how many of both were looked at. */
static bool next_field(const struct lx_ctl_row *row, struct lx_ctl_value *v)
{
	const struct lx_schema *part[] = { row->group_, row->schema_ };
	unsigned int n = 0;

	for (int i = 0; i < 2; i++) {
		for (const struct lx_field *f = part[i] ? part[i]->field : NULL; f && f->key; f++) {
			if (n++ < v->n_)
				continue;
			v->n_ = n;
			if (field_value(row, f, v))
				return true;
		}
	}
	return false;
}

/* The attribute after v->at_, or the first; NULL: none. */
static const struct nlattr *next_attr(const struct lx_ctl_row *row, const struct lx_ctl_value *v)
{
	const char *end = (const char *)row->attrs_ + row->len_;
	const struct nlattr *a = v->at_ ? mnl_attr_next(v->at_) : row->attrs_;

	return (const char *)a < end && mnl_attr_ok(a, (int)(end - (const char *)a)) ? a : NULL;
}

static void set_named(struct lx_ctl_value *v, const struct nlattr *entry)
{
	const void *in = mnl_attr_get_payload(entry);
	size_t len = mnl_attr_get_payload_len(entry);
	const struct nlattr *name = lx_codec_find(in, len, 1);
	const struct nlattr *value = lx_codec_find(in, len, 2);

	v->key = name ? lx_codec_text(name) : NULL;
	if (v->key && value)
		set_number(v, value, LX_CTL_INT);
}

static bool next_entry(const struct lx_ctl_row *row, struct lx_ctl_value *v)
{
	const struct nlattr *a;

	while ((a = next_attr(row, v))) {
		v->at_ = a;
		v->key = v->text = NULL;
		v->type = LX_CTL_NONE;
		if (row->form_ == FORM_NAMED)
			set_named(v, a);
		else if (row->form_ == FORM_TEXTS)
			set_text(v, a);
		else
			set_inside(v, a, LX_CTL_MAP, FORM_FIELDS, row->schema_, row->level_);
		if (v->type != LX_CTL_NONE)
			return true;
	}
	return false;
}

static bool next_iface(const struct lx_ctl_row *row, struct lx_ctl_value *v)
{
	if (v->n_++)
		return false;
	v->key = "0";
	set_text(v, row->attrs_);
	return v->type == LX_CTL_TEXT;
}

int lx_ctl_each(const struct lx_ctl_row *row, struct lx_ctl_value *value)
{
	switch ((enum form)row->form_) {
	case FORM_FIELDS:
		return next_field(row, value);
	case FORM_IFACE:
		return next_iface(row, value);
	case FORM_NAMED:
	case FORM_STRUCTS:
	case FORM_TEXTS:
		return next_entry(row, value);
	}
	return 0;
}

/* ---- by path ----------------------------------------------------------------------- */

int lx_ctl_get(const struct lx_ctl_row *row, const char *path, struct lx_ctl_value *ret_value)
{
	size_t len = strcspn(path, ".");
	struct lx_ctl_value v = { 0 };
	char key[64];

	memset(ret_value, 0, sizeof(*ret_value));
	if (len >= sizeof(key))
		return -ENOENT;
	memcpy(key, path, len);
	key[len] = '\0';
	while (lx_ctl_each(row, &v)) {
		if (!v.key || !lx_key_is(v.key, key))
			continue;
		if (path[len])
			return v.type == LX_CTL_MAP
				       ? lx_ctl_get(&v.inside, path + len + 1, ret_value)
				       : -ENOENT;
		*ret_value = v;
		return 0;
	}
	return -ENOENT;
}

int64_t lx_ctl_int(const struct lx_ctl_row *row, const char *path, int64_t absent)
{
	struct lx_ctl_value v;

	lx_ctl_get(row, path, &v);
	return v.type == LX_CTL_INT || v.type == LX_CTL_BOOL ? v.number : absent;
}

const char *lx_ctl_text(const struct lx_ctl_row *row, const char *path)
{
	struct lx_ctl_value v;

	lx_ctl_get(row, path, &v);
	return v.type == LX_CTL_TEXT ? v.text : NULL;
}
