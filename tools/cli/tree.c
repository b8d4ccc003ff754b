/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Converts messages to trees, by schema; see the header. Called for each row received. */
#include <errno.h>
#include <string.h>

#include "../../user/control/schema.h"
#include "tree.h"

static json_t *number(const struct nlattr *a)
{
	if (mnl_attr_get_payload_len(a) != sizeof(uint64_t))
		return NULL;
	return json_integer((json_int_t)mnl_attr_get_u64(a));
}

static json_t *text(const struct nlattr *a)
{
	const char *value = lx_schema_text(a);

	return value ? json_string(value) : NULL;
}

static json_t *iface(const struct nlattr *a)
{
	json_t *name = text(a);

	return name ? json_pack("{so}", "0", name) : NULL;
}

/* Users see a list of {1: name, 2: value} as a mapping. */
static json_t *named(const struct nlattr *list)
{
	json_t *map = json_object();
	const struct nlattr *entry;

	mnl_attr_for_each_nested (entry, list) {
		const void *in = mnl_attr_get_payload(entry);
		size_t len = mnl_attr_get_payload_len(entry);
		const struct nlattr *name = lx_schema_find(in, len, 1);
		const struct nlattr *value = lx_schema_find(in, len, 2);

		if (name && value && lx_schema_text(name))
			json_object_set_new(map, lx_schema_text(name), number(value));
	}
	return map;
}

static json_t *nids(const struct nlattr *list)
{
	json_t *map = json_object();
	const struct nlattr *entry;
	char key[24];

	mnl_attr_for_each_nested (entry, list) {
		snprintf(key, sizeof(key), "NID-%zu", json_object_size(map));
		json_object_set_new(map, key, text(entry));
	}
	return map;
}

static json_t *boolean(const struct nlattr *a)
{
	return mnl_attr_get_payload_len(a) == sizeof(uint64_t) ? json_boolean(mnl_attr_get_u64(a))
							       : NULL;
}

/* Structs within a struct. */
static json_t *list_of(const struct lx_schema *schema, const struct nlattr *a, unsigned int level)
{
	json_t *list = json_array();
	const struct nlattr *entry;

	mnl_attr_for_each_nested (entry, a)
		json_array_append_new(list,
				      lx_tree_fields(schema, mnl_attr_get_payload(entry),
						     mnl_attr_get_payload_len(entry), level));
	return list;
}

static json_t *field_value(const struct lx_field *f, const struct nlattr *a, unsigned int level)
{
	switch ((enum lx_field_type)f->type) {
	case LX_FIELD_INT:
		return number(a);
	case LX_FIELD_BOOL:
		return boolean(a);
	case LX_FIELD_IFACE:
		return iface(a);
	case LX_FIELD_NAMED:
		return named(a);
	case LX_FIELD_NIDS:
		return nids(a);
	case LX_FIELD_NEST:
		return lx_tree_fields(f->sub, mnl_attr_get_payload(a), mnl_attr_get_payload_len(a),
				      level);
	case LX_FIELD_STR:
	case LX_FIELD_STRP:
	case LX_FIELD_NID:
	case LX_FIELD_NET:
	case LX_FIELD_ID:
	case LX_FIELD_ENUM:
	case LX_FIELD_TIME:
		return text(a);
	case LX_FIELD_LIST:
		return list_of(f->sub, a, level);
	case LX_FIELD_FIXED:
		break;
	}
	return NULL;
}

/* A fixed text is not sent, so its level is checked here. */
static bool fixed_wanted(const struct lx_field *f, unsigned int level)
{
	return level == LX_LEVEL_BACKUP ? f->backup : f->level <= level;
}

json_t *lx_tree_fields(const struct lx_schema *schema, const void *attrs, size_t len,
		       unsigned int level)
{
	json_t *map = json_object(), *value;

	for (const struct lx_field *f = schema->field; map && f->key; f++) {
		const struct nlattr *a;

		if (f->type == LX_FIELD_FIXED) {
			if (fixed_wanted(f, level))
				json_object_set_new(map, f->key, json_string(f->names[0]));
			continue;
		}
		a = lx_schema_find(attrs, len, f->attr);
		value = a ? field_value(f, a, level) : NULL;
		if (value)
			json_object_set_new(map, f->key, value);
	}
	return map;
}

/* Rows of a group are adjacent, so it is the last group or a new one. */
static json_t *find_group(json_t *list, const struct lx_control_object *object, json_t *group)
{
	const char *key = object->group->field[0].key;
	json_t *last = json_array_get(list, json_array_size(list) - 1);

	if (last && json_equal(json_object_get(last, key), json_object_get(group, key))) {
		json_decref(group);
		return last;
	}
	json_object_set_new(group, object->rows, json_array());
	json_array_append_new(list, group);
	return group;
}

int lx_tree_add(json_t *list, const struct lx_control_object *object, const void *attrs, size_t len,
		unsigned int level)
{
	json_t *row = lx_tree_fields(object->row, attrs, len, level), *group;

	if (!row)
		return -ENOMEM;
	if (!object->group)
		return json_array_append_new(list, row) ? -ENOMEM : 0;
	group = lx_tree_fields(object->group, attrs, len, level);
	if (!group || !json_object_get(group, object->group->field[0].key)) {
		json_decref(row);
		json_decref(group);
		return group ? -EPROTO : -ENOMEM;
	}
	group = find_group(list, object, group);
	if (!json_object_size(row)) { /* a group without rows */
		json_decref(row);
		return 0;
	}
	return json_array_append_new(json_object_get(group, object->rows), row) ? -ENOMEM : 0;
}
