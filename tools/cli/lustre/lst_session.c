/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst new_session", "end_session", "show_session", "ping". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../common/json.h"
#include "../common/requests.h"
#include "keeper.h"
#include "lst_verb.h"

#define TIMEOUT_S 300 /* of a session, without commands */

/* ---- new_session ---------------------------------------------------------------------- */

/* The key that later commands must have: LST_SESSION, or any. */
static uint32_t find_key(const struct lx_lst *l)
{
	int64_t given;
	uint32_t key = 1;

	if (l->key && lx_lst_verb_number(l->key, 0, UINT32_MAX, &given))
		return given;
	return getrandom(&key, sizeof(key), 0) == sizeof(key) ? key : 1;
}

static int make(struct lx_lst *l, const char *name)
{
	struct lx_session session;
	struct lx_nid console;
	int err;

	lx_session_init(&session, l->socket);
	err = lx_request_console(&session, &console);
	if (err)
		fprintf(stderr, "lst: %s\n", session.text);
	lx_session_fini(&session);
	if (err)
		return err;
	l->file.console = lx_console_new(name, find_key(l), lx_nid_str(&console), lx_trans_stamp(),
					 l->number['t'], lx_console_now());
	return l->file.console ? lx_keeper_start(&l->file) : -ENOMEM;
}

static int new_session(struct lx_lst *l)
{
	const char *name = l->n_words ? l->word[0] : "session";
	int err = lx_lst_verb_begin(l, false);

	if (!err && !l->text['f']) {
		fprintf(stderr,
			"Failed to create session: there is session %s; end it (lst "
			"end_session), or give --force\n",
			lx_json_text(l->file.console, "name"));
		return LX_LST_EXIT_FAILED;
	}
	if (!err)
		lx_keeper_end(&l->file);
	else if (err != -ESRCH)
		return err;
	err = make(l, name);
	if (err) {
		json_decref(l->file.console);
		l->file.console = NULL;
		return err;
	}
	printf("SESSION: %s FEATURES: %u TIMEOUT: %d FORCE: %s\n", name, LX_LST_FEATURES,
	       (int)l->number['t'], l->text['f'] ? "Yes" : "No");
	return 0;
}

/* ---- the others ----------------------------------------------------------------------- */

static int end_session(struct lx_lst *l)
{
	int err = lx_lst_verb_begin(l, false);

	if (!err)
		lx_keeper_end(&l->file);
	return err == -ESRCH ? 0 : err; /* as in the reference, no failure */
}

static int show_session(struct lx_lst *l)
{
	int err = lx_lst_verb_begin(l, false);
	const json_t *c = l->file.console;

	if (!err)
		printf("%s ID: %lld@%s, KEY: %lld FEATURES: %u NODES: %zu\n",
		       lx_json_text(c, "name"), lx_json_int(c, "stamp"), lx_json_text(c, "console"),
		       lx_json_int(c, "key"), LX_LST_FEATURES,
		       json_object_size(json_object_get(c, "nodes")));
	return err;
}

/* ---- ping ----------------------------------------------------------------------------- */

/* The nodes that a ping is about, as a new array. NULL: there are no such. */
static json_t *nodes_of(const struct lx_lst *l, const char *name)
{
	const json_t *c = l->file.console;
	json_t *batch;

	switch (l->choice) {
	case 'g':
		return json_copy(lx_console_group(c, name));
	case 'b':
		batch = lx_console_batch(c, name);
		return batch ? lx_console_batch_nodes(batch, 0, l->text['v']) : NULL;
	case 'n':
		return lx_lst_verb_nids(name);
	}
	return lx_console_nodes(c);
}

static void print_ping(const struct lx_lst *l, const struct lx_trans_one *one)
{
	const char *name = lx_json_text(one->row, "session");
	const char *console = lx_json_text(one->row, "console");
	enum lx_console_state state = lx_console_node(l->file.console, one->nid);

	if (!one->failed)
		state = lx_console_judge(l->file.console, one->row);
	printf("\t12345-%s: %s [session: %s id: %s]\n", one->nid, lx_console_state_name(state),
	       *name ? name : "<NULL>", *console ? console : "<?>");
}

static int ping(struct lx_lst *l)
{
	const char *name = l->choice == 's' ? "session" : l->text[(int)l->choice];
	struct lx_trans t;
	json_t *nids;
	int err;

	if (!l->choice || l->n_words)
		return LX_LST_EXIT_USAGE;
	err = lx_lst_verb_begin(l, true);
	if (err)
		return err;
	nids = nodes_of(l, name);
	if (!nids) {
		fprintf(stderr, "Failed to get count of nodes from %s: %s\n", name,
			strerror(ENOENT));
		return LX_LST_EXIT_FAILED;
	}
	lx_trans_of(&t, l->socket, l->file.console, nids, l->number['t']);
	lx_trans_ask(&t, LX_LST_DEBUG);
	l->failed = lx_lst_verb_note(l, &t, NULL);
	lx_trans_for_each (one, &t)
		print_ping(l, one);
	lx_trans_free(&t);
	json_decref(nids);
	return 0;
}

static const struct lx_lst_option new_options[] = {
	LX_LST_NUMBER("timeout", 't', 1, INT32_MAX, TIMEOUT_S), LX_LST_FLAG("force", 'f'), { 0 }
};

static const struct lx_lst_option ping_options[] = {
	LX_LST_CHOICE("session", 's'),
	LX_LST_FLAG("server", 'v'),
	LX_LST_CHOICE_TEXT("batch", 'b'),
	LX_LST_CHOICE_TEXT("group", 'g'),
	LX_LST_CHOICE_TEXT("nodes", 'n'),
	LX_LST_NUMBER("timeout", 't', 1, LX_TRANS_TIMEOUT_MAX_S, 0),
	{ 0 },
};

const struct lx_lst_verb lx_lst_session_verbs[] = {
	{ "new_session", new_session, "new_session [--timeout TIME] [--force] [NAME]",
	  "begin a session", new_options, 0, 1, .what = "session",
	  .failed = "Failed to create session", .wrong = "Invalid timeout value", .named = true },
	{ "end_session", end_session, "end_session", "end the session, on all its nodes", NULL, 0,
	  0, .what = "session", .failed = "Failed to end session" },
	{ "show_session", show_session, "show_session", "show the session", NULL, 0, 0,
	  .what = "session", .failed = "Failed to show session" },
	{ "ping", ping, "ping  [--group NAME] [--batch NAME] [--session]  [--nodes IDS]",
	  "ask nodes for their session", ping_options, 0, 0, .what = "session",
	  .failed = "Failed to ping", .wrong = "Invalid timeout value" },
	{ 0 }
};
