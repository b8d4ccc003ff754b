/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst add_group", "del_group", "update_group", "list_group". */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lst_verb.h"

/* ---- nodes join and leave ------------------------------------------------------------- */

/*
 * Makes the session on those of @nids that do not have it. @ret_trans: what they answered; to be
 * freed by the caller.
 */
static void join(struct lx_lst *l, const json_t *nids, struct lx_trans *t)
{
	const char *name = json_string_value(json_object_get(l->file.console, "name"));
	json_t *new = json_array(), *nid;
	size_t i;

	json_array_foreach (nids, i, nid) {
		if (lx_console_node(l->file.console, json_string_value(nid)) != LX_CONSOLE_ACTIVE)
			json_array_append(new, nid);
	}
	lx_trans_new(t, l->file.console, new, LX_LST_MAKE_SESSION, 0);
	for (i = 0; i < t->n; i++)
		snprintf(t->one[i].req.name, sizeof(t->one[i].req.name), "%s", name);
	lx_trans_run(t, l->socket);
	for (i = 0; i < t->n; i++) {
		const struct lx_trans_one *one = &t->one[i];

		lx_console_heard(l->file.console, one->nid,
				 one->err                ? LX_CONSOLE_DOWN
				 : !one->status          ? LX_CONSOLE_ACTIVE
				 : one->status == EBUSY  ? LX_CONSOLE_BUSY
							 : LX_CONSOLE_UNKNOWN,
				 one->status ? 0 : lx_trans_number(one, "timeout_s"),
				 lx_console_now());
	}
	json_decref(new);
}

/* Ends the session on nodes that are in no group any more. */
static void leave(struct lx_lst *l)
{
	json_t *gone, *nid, *before = json_copy(json_object_get(l->file.console, "nodes"));
	json_t *active = json_array();
	struct lx_trans t;
	size_t i;

	lx_console_sweep(l->file.console, &gone);
	json_array_foreach (gone, i, nid) {
		json_t *node = json_object_get(before, json_string_value(nid));

		if (json_integer_value(json_object_get(node, "state")) == LX_CONSOLE_ACTIVE)
			json_array_append(active, nid);
	}
	if (!lx_trans_new(&t, l->file.console, active, LX_LST_REMOVE_SESSION, 0))
		lx_trans_run(&t, l->socket);
	lx_trans_free(&t);
	json_decref(active);
	json_decref(gone);
	json_decref(before);
}

/* ---- add_group, del_group ------------------------------------------------------------- */

/*
 * Adds the nodes of one list to a group, also those that fail: update_group can try again.
 * Returns how many failed; @joined counts the others.
 */
static size_t add_ids(struct lx_lst *l, const char *name, const char *ids, size_t *joined)
{
	json_t *nids = lx_lst_nids(ids), *group = lx_console_group(l->file.console, name), *nid;
	struct lx_trans t;
	size_t i, failed;

	if (!nids) {
		fprintf(stderr, "Ignore invalid id list %s\n", ids);
		return 0;
	}
	join(l, nids, &t);
	json_array_foreach (nids, i, nid) {
		if (!lx_console_has(group, json_string_value(nid)))
			json_array_append(group, nid);
	}
	failed = lx_trans_failed(&t);
	*joined += json_array_size(nids) - failed;
	lx_trans_print(&t, "create session");
	if (failed < json_array_size(nids))
		printf("%s are added to session\n", ids);
	lx_trans_free(&t);
	json_decref(nids);
	return failed;
}

static int add_group(struct lx_lst *l, int argc, char **argv)
{
	size_t failed = 0, joined = 0;
	int err;

	if (argc < 3)
		return LX_LST_EXIT_USAGE;
	if (!lx_lst_name_fits(argv[1]))
		return LX_LST_EXIT_FAILED;
	err = lx_lst_begin(l, true);
	if (!err)
		err = lx_console_group_add(l->file.console, argv[1]);
	if (err)
		return lx_lst_error(l, err, "group", "Failed to add group");
	for (int i = 2; i < argc; i++)
		failed += add_ids(l, argv[1], argv[i], &joined);
	if (!joined) {
		printf("No nodes added successfully, deleting group %s\n", argv[1]);
		lx_console_group_del(l->file.console, argv[1]);
		leave(l);
		printf("Group is deleted\n");
	}
	lx_lst_end(l);
	return failed ? LX_LST_EXIT_NODES : 0;
}

static int del_group(struct lx_lst *l, int argc, char **argv)
{
	int err;

	if (argc != 2)
		return LX_LST_EXIT_USAGE;
	err = lx_lst_begin(l, true);
	if (!err)
		err = lx_console_group_del(l->file.console, argv[1]);
	if (err)
		return lx_lst_error(l, err, "group", "Failed to delete group");
	leave(l);
	lx_lst_end(l);
	printf("Group is deleted\n");
	return 0;
}

/* ---- update_group --------------------------------------------------------------------- */

static const struct option update_options[] = { { "refresh", no_argument, NULL, 'f' },
						{ "clean", required_argument, NULL, 'c' },
						{ "remove", required_argument, NULL, 'r' },
						{ 0 } };

#define INVALID (1u << LX_CONSOLE_BUSY | 1u << LX_CONSOLE_DOWN | 1u << LX_CONSOLE_UNKNOWN)

/* A set of states: 1 << enum lx_console_state. 0: no such word. */
static unsigned int states_of(const char *word)
{
	if (!strcmp(word, "invalid"))
		return INVALID;
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

		if (states >> lx_console_node(l->file.console, nid) & 1 || lx_console_has(nids, nid))
			json_array_remove(group, i);
	}
	if (!json_array_size(group))
		lx_console_group_del(l->file.console, name);
	leave(l);
}

static size_t refresh(struct lx_lst *l, const char *name)
{
	struct lx_trans t;
	size_t failed;

	join(l, lx_console_group(l->file.console, name), &t);
	failed = lx_trans_failed(&t);
	lx_trans_print(&t, "create session");
	lx_trans_free(&t);
	return failed;
}

struct update {
	char kind;
	unsigned int states;
	const char *ids;
};

static int parse_update(struct update *u, int argc, char **argv)
{
	int opt;

	while ((opt = lx_lst_option(argc, argv, update_options)) != -1) {
		if (opt == '?' || u->kind)
			return LX_LST_EXIT_USAGE;
		u->kind = opt;
		u->states = opt == 'c' ? states_of(optarg) : 0;
		u->ids = opt == 'r' ? optarg : NULL;
		if (opt == 'c' && !u->states)
			return LX_LST_EXIT_USAGE;
	}
	return u->kind && argc - optind == 1 ? 0 : LX_LST_EXIT_USAGE;
}

static int update_group(struct lx_lst *l, int argc, char **argv)
{
	struct update u = { 0 };
	json_t *nids = NULL;
	const char *name;
	size_t failed = 0;
	int err = parse_update(&u, argc, argv);

	if (err)
		return err;
	name = argv[optind];
	if (u.ids) {
		nids = lx_lst_nids(u.ids);
		if (!nids)
			return LX_LST_EXIT_FAILED;
	}
	err = lx_lst_begin(l, true);
	if (!err && !lx_console_group(l->file.console, name))
		err = -ENOENT;
	/* A test counts on the nodes that its groups had. */
	if (!err && lx_console_group_busy(l->file.console, name))
		err = -EBUSY;
	if (!err && u.kind == 'f')
		failed = refresh(l, name);
	else if (!err)
		remove_nodes(l, name, u.states, nids);
	json_decref(nids);
	if (err)
		return lx_lst_error(l, err, "group", "Failed to update group");
	lx_lst_end(l);
	return failed ? LX_LST_EXIT_NODES : 0;
}

/* ---- list_group ----------------------------------------------------------------------- */

static const struct option list_options[] = { { "active", no_argument, NULL, 'a' },
					      { "busy", no_argument, NULL, 'b' },
					      { "down", no_argument, NULL, 'd' },
					      { "unknown", no_argument, NULL, 'u' },
					      { "all", no_argument, NULL, 'A' },
					      { 0 } };

static void list_nodes(const struct lx_lst *l, const char *name, unsigned int states)
{
	json_t *nid;
	size_t i;
	int n = 0;

	printf("Group [ %s ]\n", name);
	json_array_foreach (lx_console_group(l->file.console, name), i, nid) {
		enum lx_console_state state =
			lx_console_node(l->file.console, json_string_value(nid));

		if (!(states >> state & 1))
			continue;
		printf("\t12345-%s: %s\n", json_string_value(nid), lx_console_state_name(state));
		n++;
	}
	if (n)
		printf("Total %d nodes [ %s ]\n", n, name);
	else
		printf("No nodes found [ %s ]\n", name);
}

static void list_counts(const struct lx_lst *l, const char *name)
{
	const json_t *group = lx_console_group(l->file.console, name);
	unsigned int count[LX_CONSOLE_STATES];

	lx_console_count(l->file.console, group, count);
	for (int i = 0; i < LX_CONSOLE_STATES; i++)
		printf("\t%u", count[i]);
	printf("\t%zu\t%s\n", json_array_size(group), name);
}

static int list_names(struct lx_lst *l)
{
	const json_t *groups = json_object_get(l->file.console, "groups");
	size_t n = json_array_size(groups);

	for (size_t i = 0; i < n; i++)
		printf("%zu) %s\n", i + 1,
		       json_string_value(json_object_get(json_array_get(groups, i), "name")));
	lx_lst_end(l);
	if (n)
		printf("Total %zu groups\n", n);
	else
		fprintf(stderr, "No group exists\n");
	return n ? 0 : LX_LST_EXIT_NO_GROUP;
}

static int list_group(struct lx_lst *l, int argc, char **argv)
{
	unsigned int states = 0;
	int opt, err;

	while ((opt = lx_lst_option(argc, argv, list_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		states |= opt == 'a'   ? 1u << LX_CONSOLE_ACTIVE
			  : opt == 'b' ? 1u << LX_CONSOLE_BUSY
			  : opt == 'd' ? 1u << LX_CONSOLE_DOWN
			  : opt == 'u' ? 1u << LX_CONSOLE_UNKNOWN
				       : (1u << LX_CONSOLE_STATES) - 1;
	}
	err = lx_lst_begin(l, false);
	if (err == -ESRCH) {
		lx_lst_error(l, err, "group", "Failed to list groups");
		return LX_LST_EXIT_NO_GROUP;
	}
	if (err)
		return lx_lst_error(l, err, "group", "Failed to list groups");
	if (optind == argc)
		return list_names(l);
	for (int i = optind; i < argc; i++) {
		if (!lx_console_group(l->file.console, argv[i]))
			return lx_lst_error(l, -ENOENT, "group", "Failed to list group");
		if (states)
			list_nodes(l, argv[i], states);
		else
			list_counts(l, argv[i]);
	}
	lx_lst_end(l);
	return 0;
}

const struct lx_lst_verb lx_lst_group_verbs[] = {
	{ "add_group", add_group, "group NAME IDs [IDs]...", "name nodes, and add them to the session",
	  NULL },
	{ "del_group", del_group, "del_group NAME", "delete a group", NULL },
	{ "update_group", update_group, "update_group NAME [--clean] [--refresh] [--remove IDs]",
	  "remove nodes of a group, or ask those that failed again", update_options },
	{ "list_group", list_group,
	  "list_group [--active] [--busy] [--down] [--unknown] [--all] GROUP ...",
	  "list groups, or their nodes", list_options },
	{ 0 }
};
