/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst add_group", "del_group", "update_group", "list_group". */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../common/json.h"
#include "keeper.h"
#include "lst_verb.h"

/* ---- nodes join and leave ------------------------------------------------------------- */

/* Makes the session on those of @nids that do not have it. Returns how many failed. */
static size_t join(struct lx_lst *l, const json_t *nids)
{
	json_t *c = l->file.console, *new = json_array(), *nid;
	struct lx_trans t;
	size_t i, failed;

	json_array_foreach (nids, i, nid) {
		if (lx_console_node(c, json_string_value(nid)) != LX_CONSOLE_ACTIVE)
			json_array_append(new, nid);
	}
	lx_trans_of(&t, l->socket, l->file.console, new, 0);
	lx_trans_join(&t, json_string_value(json_object_get(c, "name")), false);
	lx_trans_for_each (one, &t)
		lx_console_heard(c, one->nid,
				 one->err		? LX_CONSOLE_DOWN
				 : !one->status		? LX_CONSOLE_ACTIVE
				 : one->status == EBUSY ? LX_CONSOLE_BUSY
							: LX_CONSOLE_UNKNOWN,
				 one->status ? 0 : lx_json_int(one->row, "timeout_s"),
				 lx_console_now());
	failed = lx_lst_verb_note(l, &t, "create session");
	lx_trans_free(&t);
	json_decref(new);
	return failed;
}

/* Ends the session on nodes that are in no group any more. */
static void leave(struct lx_lst *l)
{
	json_t *gone;

	lx_console_sweep(l->file.console, &gone);
	lx_keeper_leave(l->file.console, l->socket, gone);
	json_decref(gone);
}

/* ---- add_group, del_group ------------------------------------------------------------- */

/*
 * Adds the nodes of one list to a group, also those that fail: update_group can try again. Returns
 * how many did not.
 */
static size_t add_ids(struct lx_lst *l, const char *name, const char *ids)
{
	json_t *nids = lx_lst_verb_nids(ids), *group = lx_console_group(l->file.console, name),
	       *nid;
	size_t i, failed, joined;

	if (!nids) {
		fprintf(stderr, "Ignore invalid id list %s\n", ids);
		return 0;
	}
	failed = join(l, nids);
	json_array_foreach (nids, i, nid) {
		if (!lx_console_has(group, json_string_value(nid)))
			json_array_append(group, nid);
	}
	joined = json_array_size(nids) - failed;
	if (joined)
		printf("%s are added to session\n", ids);
	json_decref(nids);
	l->failed += failed;
	return joined;
}

static int add_group(struct lx_lst *l)
{
	const char *name = l->word[0];
	size_t joined = 0;
	int err = lx_lst_verb_begin(l, true);

	if (!err)
		err = lx_console_group_add(l->file.console, name);
	if (err)
		return err;
	for (int i = 1; i < l->n_words; i++)
		joined += add_ids(l, name, l->word[i]);
	if (!joined) {
		printf("No nodes added successfully, deleting group %s\n", name);
		lx_console_group_del(l->file.console, name);
		leave(l);
		printf("Group is deleted\n");
	}
	return 0;
}

static int del_group(struct lx_lst *l)
{
	int err = lx_lst_verb_begin(l, true);

	if (!err)
		err = lx_console_group_del(l->file.console, l->word[0]);
	if (err)
		return err;
	leave(l);
	printf("Group is deleted\n");
	return 0;
}

/* ---- update_group --------------------------------------------------------------------- */

/* A set of states: 1 << enum lx_console_state. 0: no such word. */
static unsigned int states_of(const char *word)
{
	if (!strcmp(word, "invalid"))
		return LX_CONSOLE_INVALID;
	for (int i = 0; i < LX_CONSOLE_STATES; i++) {
		if (!strcasecmp(word, lx_console_state_name(i)))
			return 1u << i;
	}
	return 0;
}

/* Of a group, removes nodes in one of these states, or that are in @nids. */
static void remove_nodes(struct lx_lst *l, const char *name, unsigned int states,
			 const json_t *nids)
{
	json_t *group = lx_console_group(l->file.console, name);

	for (size_t i = json_array_size(group); i-- > 0;) {
		const char *nid = json_string_value(json_array_get(group, i));

		if (states >> lx_console_node(l->file.console, nid) & 1 ||
		    lx_console_has(nids, nid))
			json_array_remove(group, i);
	}
	if (!json_array_size(group))
		lx_console_group_del(l->file.console, name);
	leave(l);
}

static int update_group(struct lx_lst *l)
{
	unsigned int states = l->text['c'] ? states_of(l->text['c']) : 0;
	const char *name = l->word[0];
	json_t *nids = NULL;
	int err;

	if (l->n_choices != 1 || (l->text['c'] && !states))
		return LX_LST_EXIT_USAGE;
	if (l->text['r']) {
		nids = lx_lst_verb_nids(l->text['r']);
		if (!nids)
			return LX_LST_EXIT_FAILED;
	}
	err = lx_lst_verb_begin(l, true);
	if (!err && !lx_console_group(l->file.console, name))
		err = -ENOENT;
	/* A test counts on the nodes that its groups had. */
	if (!err && lx_console_group_busy(l->file.console, name))
		err = -EBUSY;
	if (!err && l->text['f'])
		l->failed = join(l, lx_console_group(l->file.console, name));
	else if (!err)
		remove_nodes(l, name, states, nids);
	json_decref(nids);
	return err;
}

/* ---- list_group ----------------------------------------------------------------------- */

static void list_nodes(const struct lx_lst *l, const char *name, unsigned int states)
{
	size_t n;

	printf("Group [ %s ]\n", name);
	n = lx_lst_verb_list_nodes(l, lx_console_group(l->file.console, name), states);
	if (n)
		printf("Total %zu nodes [ %s ]\n", n, name);
	else
		printf("No nodes found [ %s ]\n", name);
}

static int list_all(const struct lx_lst *l)
{
	size_t n = lx_lst_verb_list(l, "groups");

	if (n)
		printf("Total %zu groups\n", n);
	else
		fprintf(stderr, "No group exists\n");
	return n ? 0 : LX_LST_EXIT_NO_GROUP;
}

static int list_group(struct lx_lst *l)
{
	unsigned int states = 0;
	int err = lx_lst_verb_begin(l, false);

	if (err == -ESRCH) {
		lx_lst_verb_error(l, err, NULL, NULL);
		return LX_LST_EXIT_NO_GROUP;
	}
	if (err)
		return err;
	if (!l->n_words)
		return list_all(l);
	for (int i = 0; i < LX_CONSOLE_STATES; i++)
		states |= (l->text['A'] || l->text[(int)"abdu"[i]]) << i;
	for (char **name = l->word; *name; name++) {
		if (!lx_console_group(l->file.console, *name))
			return -ENOENT;
		if (states)
			list_nodes(l, *name, states);
		else
			lx_lst_verb_list_counts(l, "", lx_console_group(l->file.console, *name),
						*name);
	}
	return 0;
}

static const struct lx_lst_option update_options[] = { LX_LST_CHOICE("refresh", 'f'),
						       LX_LST_CHOICE_TEXT("clean", 'c'),
						       LX_LST_CHOICE_TEXT("remove", 'r'),
						       { 0 } };

/* By the letters of the states, in their order. */
static const struct lx_lst_option list_options[] = {
	LX_LST_FLAG("active", 'a'),  LX_LST_FLAG("busy", 'b'), LX_LST_FLAG("down", 'd'),
	LX_LST_FLAG("unknown", 'u'), LX_LST_FLAG("all", 'A'),  { 0 }
};

const struct lx_lst_verb lx_lst_group_verbs[] = {
	{ "add_group", add_group, "group NAME IDs [IDs]...",
	  "name nodes, and add them to the session", NULL, 2, 0, .what = "group",
	  .failed = "Failed to add group", .named = true },
	{ "del_group", del_group, "del_group NAME", "delete a group", NULL, 1, 1, .what = "group",
	  .failed = "Failed to delete group" },
	{ "update_group", update_group, "update_group NAME [--clean] [--refresh] [--remove IDs]",
	  "remove nodes of a group, or ask those that failed again", update_options, 1, 1,
	  .what = "group", .failed = "Failed to update group" },
	{ "list_group", list_group,
	  "list_group [--active] [--busy] [--down] [--unknown] [--all] GROUP ...",
	  "list groups, or their nodes", list_options, 0, 0, .what = "group",
	  .failed = "Failed to list groups" },
	{ 0 }
};
