/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of the console of LNet selftest; see the header. Called by lst*.c and keeper.c. */
#include <errno.h>
#include <string.h>

#include "console.h"
#include "json.h"

#define NODE_TIMEOUT 100 /* of nodes that do not tell theirs (selftest.md 4) */

static const char *const state_names[] = { "Active", "Busy", "Down", "Unknown" };

const char *lx_console_state_name(enum lx_console_state state)
{
	return state_names[state];
}

json_t *lx_console_new(const char *name, uint32_t key, const char *console, int64_t stamp,
		       int64_t timeout, int64_t now)
{
	json_t *c = json_pack("{ss, sI, ss, sI, sI, sI, s{}, s[], s[]}", "name", name, "key",
			      (json_int_t)key, "console", console, "stamp", (json_int_t)stamp,
			      "timeout", (json_int_t)timeout, "used", (json_int_t)now, "nodes",
			      "groups", "batches");

	if (c)
		lx_console_batch_add(c, LX_CONSOLE_DEFAULT_BATCH);
	return c;
}

/* ---- nodes ---------------------------------------------------------------------------- */

enum lx_console_state lx_console_node(const json_t *console, const char *nid)
{
	const json_t *node = json_object_get(json_object_get(console, "nodes"), nid);
	int64_t state = lx_json_int(node, "state");

	return node && state >= 0 && state < LX_CONSOLE_STATES ? state : LX_CONSOLE_UNKNOWN;
}

json_t *lx_console_nodes(const json_t *console)
{
	json_t *all = json_array(), *node;
	const char *nid;

	json_object_foreach (json_object_get(console, "nodes"), nid, node)
		json_array_append_new(all, json_string(nid));
	return all;
}

json_t *lx_console_active(const json_t *console, const json_t *nids)
{
	json_t *active = json_array(), *nid;
	size_t i;

	json_array_foreach (nids, i, nid) {
		if (lx_console_node(console, json_string_value(nid)) == LX_CONSOLE_ACTIVE)
			json_array_append(active, nid);
	}
	return active;
}

void lx_console_heard(json_t *console, const char *nid, enum lx_console_state state,
		      int64_t timeout, int64_t now)
{
	json_t *nodes = json_object_get(console, "nodes"), *node = json_object_get(nodes, nid);

	if (!node) {
		node = json_pack("{si}", "timeout", NODE_TIMEOUT);
		json_object_set_new(nodes, nid, node);
	}
	json_object_set_new(node, "state", json_integer(state));
	json_object_set_new(node, "heard", json_integer(now));
	if (timeout > 0)
		json_object_set_new(node, "timeout", json_integer(timeout));
}

enum lx_console_state lx_console_judge(const json_t *console, const json_t *answer)
{
	const char *name = lx_json_text(answer, "session"), *of = lx_json_text(answer, "console");

	/* Without a session the console is none, and its name empty. */
	if (!*of && !*name)
		return LX_CONSOLE_UNKNOWN;
	return !strcmp(lx_json_text(console, "name"), name) &&
			       !strcmp(lx_json_text(console, "console"), of)
		       ? LX_CONSOLE_ACTIVE
		       : LX_CONSOLE_BUSY;
}

void lx_console_count(const json_t *console, const json_t *nids,
		      unsigned int ret_count[LX_CONSOLE_STATES])
{
	json_t *nid;
	size_t i;

	memset(ret_count, 0, LX_CONSOLE_STATES * sizeof(*ret_count));
	json_array_foreach (nids, i, nid)
		ret_count[lx_console_node(console, json_string_value(nid))]++;
}

json_t *lx_console_due(const json_t *console, int64_t now)
{
	json_t *due = json_array(), *node;
	const char *nid;

	json_object_foreach (json_object_get(console, "nodes"), nid, node) {
		if (lx_console_node(console, nid) == LX_CONSOLE_ACTIVE &&
		    now - lx_json_int(node, "heard") >= lx_json_int(node, "timeout") / 2)
			json_array_append_new(due, json_string(nid));
	}
	return due;
}

bool lx_console_expired(const json_t *console, int64_t now)
{
	return now - lx_json_int(console, "used") > lx_json_int(console, "timeout");
}

/* ---- groups --------------------------------------------------------------------------- */

/* Of an array of objects, the one with this name; NULL: none. */
static json_t *find(const json_t *list, const char *name)
{
	json_t *object;
	size_t i;

	json_array_foreach (list, i, object) {
		if (!strcmp(lx_json_text(object, "name"), name))
			return object;
	}
	return NULL;
}

json_t *lx_console_group(const json_t *console, const char *name)
{
	return json_object_get(find(json_object_get(console, "groups"), name), "nodes");
}

int lx_console_group_add(json_t *console, const char *name)
{
	if (lx_console_group(console, name))
		return -EEXIST;
	return json_array_append_new(json_object_get(console, "groups"),
				     json_pack("{ss, s[]}", "name", name, "nodes"))
		       ? -ENOMEM
		       : 0;
}

bool lx_console_group_busy(const json_t *console, const char *name)
{
	json_t *batch, *test;
	size_t i, j;

	json_array_foreach (json_object_get(console, "batches"), i, batch) {
		json_array_foreach (json_object_get(batch, "tests"), j, test) {
			if (!strcmp(lx_json_text(test, "from"), name) ||
			    !strcmp(lx_json_text(test, "to"), name))
				return true;
		}
	}
	return false;
}

int lx_console_group_del(json_t *console, const char *name)
{
	json_t *groups = json_object_get(console, "groups"), *group;
	size_t i;

	if (lx_console_group_busy(console, name))
		return -EBUSY;
	json_array_foreach (groups, i, group) {
		if (!strcmp(lx_json_text(group, "name"), name))
			return json_array_remove(groups, i);
	}
	return -ENOENT;
}

bool lx_console_has(const json_t *list, const char *text)
{
	json_t *word;
	size_t i;

	json_array_foreach (list, i, word) {
		if (!strcmp(json_string_value(word), text))
			return true;
	}
	return false;
}

static bool is_in_a_group(const json_t *console, const char *nid)
{
	json_t *group;
	size_t i;

	json_array_foreach (json_object_get(console, "groups"), i, group) {
		if (lx_console_has(json_object_get(group, "nodes"), nid))
			return true;
	}
	return false;
}

void lx_console_sweep(json_t *console, json_t **ret_gone)
{
	json_t *nodes = json_object_get(console, "nodes"), *node;
	const char *nid;
	void *next;

	*ret_gone = json_array();
	json_object_foreach_safe (nodes, next, nid, node) {
		if (is_in_a_group(console, nid))
			continue;
		if (lx_console_node(console, nid) == LX_CONSOLE_ACTIVE)
			json_array_append_new(*ret_gone, json_string(nid));
		json_object_del(nodes, nid);
	}
}

/* ---- batches -------------------------------------------------------------------------- */

json_t *lx_console_batch(const json_t *console, const char *name)
{
	return find(json_object_get(console, "batches"), name);
}

int lx_console_batch_add(json_t *console, const char *name)
{
	json_t *batches = json_object_get(console, "batches");

	if (lx_console_batch(console, name))
		return -EEXIST;
	/* Batches are never deleted: their number is an id that nobody had. */
	return json_array_append_new(batches, json_pack("{ss, sI, sb, s[]}", "name", name, "id",
							(json_int_t)json_array_size(batches) + 1,
							"running", 0, "tests"))
		       ? -ENOMEM
		       : 0;
}

json_t *lx_console_batch_nodes(const json_t *batch, size_t test, bool server)
{
	json_t *all = json_array(), *t, *nid;
	size_t i, j;

	json_array_foreach (json_object_get(batch, "tests"), i, t) {
		if (test && i + 1 != test)
			continue;
		json_array_foreach (json_object_get(t, server ? "servers" : "clients"), j, nid) {
			if (!lx_console_has(all, json_string_value(nid)))
				json_array_append(all, nid);
		}
	}
	return all;
}

uint32_t lx_console_test_index(const json_t *batch, size_t test, const char *nid)
{
	uint32_t parts = 0;
	json_t *t;
	size_t i;

	json_array_foreach (json_object_get(batch, "tests"), i, t) {
		bool client = lx_console_has(json_object_get(t, "clients"), nid);

		parts += lx_console_has(json_object_get(t, "servers"), nid);
		parts += client;
		if (i + 1 == test)
			return client ? parts : 0;
	}
	return 0;
}

size_t lx_console_dests(size_t i, uint32_t dist, uint32_t span, size_t n, size_t *ret_dest)
{
	size_t many = span < n ? span : n;

	for (size_t j = 0; j < many; j++)
		ret_dest[j] = (i / dist * span + j) % n;
	return many;
}
