/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rows of answers as trees; see the header. Called for each row received. */
#include <errno.h>

#include "../../../user/ctl/codec.h"
#include "../../../user/ctl/row.h"
#include "tree.h"

static json_t *tree_of(const struct lx_ctl_row *row);

/* Users see a list of NIDs as a mapping. */
static json_t *list_of(const struct lx_ctl_row *list)
{
	json_t *array = json_array(), *map = json_object();
	struct lx_ctl_value v = { 0 };
	char key[24];

	while (lx_ctl_each(list, &v)) {
		snprintf(key, sizeof(key), "NID-%zu", json_object_size(map));
		if (v.type == LX_CTL_TEXT)
			json_object_set_new(map, key, json_string(v.text));
		else
			json_array_append_new(array, tree_of(&v.inside));
	}
	if (json_object_size(map)) {
		json_decref(array);
		return map;
	}
	json_decref(map);
	return array;
}

static json_t *value_of(const struct lx_ctl_value *v)
{
	switch (v->type) {
	case LX_CTL_INT:
		return json_integer((json_int_t)v->number);
	case LX_CTL_BOOL:
		return json_boolean(v->number);
	case LX_CTL_TEXT:
		return json_string(v->text);
	case LX_CTL_MAP:
		return tree_of(&v->inside);
	case LX_CTL_LIST:
		return list_of(&v->inside);
	case LX_CTL_NONE:
		break;
	}
	return NULL;
}

static json_t *tree_of(const struct lx_ctl_row *row)
{
	json_t *map = json_object(), *value;
	struct lx_ctl_value v = { 0 };

	while (map && lx_ctl_each(row, &v)) {
		value = value_of(&v);
		if (value)
			json_object_set_new(map, v.key, value);
	}
	return map;
}

json_t *lx_tree_fields(const struct lx_schema *schema, const void *attrs, size_t len,
		       unsigned int level)
{
	struct lx_ctl_row row;

	lx_ctl_row_of(&row, NULL, schema, attrs, len, level);
	return tree_of(&row);
}

/* Rows of a group are adjacent, so it is the last group or a new one. */
static json_t *find_group(json_t *list, const struct lx_ctl_shown *object, json_t *group)
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

int lx_tree_add(json_t *list, const struct lx_ctl_shown *object, const void *attrs, size_t len,
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
