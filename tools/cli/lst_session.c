/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst new_session", "end_session", "show_session", "ping". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "keeper.h"
#include "lst_verb.h"
#include "selftest_run.h"

#define TIMEOUT_S 300 /* of a session, without commands */

/* ---- new_session ---------------------------------------------------------------------- */

static const struct option new_options[] = { { "timeout", required_argument, NULL, 't' },
					     { "force", no_argument, NULL, 'f' },
					     { 0 } };

struct new_session {
	const char *name;
	int64_t timeout;
	bool force;
};

static int parse_new(struct new_session *n, int argc, char **argv)
{
	int opt;

	while ((opt = lx_lst_option(argc, argv, new_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		if (opt == 'f')
			n->force = true;
		if (opt == 't' && !lx_lst_number(optarg, 1, INT32_MAX, &n->timeout)) {
			fprintf(stderr, "Invalid timeout value\n");
			return LX_LST_EXIT_FAILED;
		}
	}
	if (argc - optind > 1)
		return LX_LST_EXIT_USAGE;
	if (optind < argc)
		n->name = argv[optind];
	return lx_lst_name_fits(n->name) ? 0 : LX_LST_EXIT_FAILED;
}

/* The key that later commands must have: LST_SESSION, or any. */
static uint32_t find_key(const struct lx_lst *l)
{
	int64_t given;
	uint32_t key = 1;

	if (l->key && lx_lst_number(l->key, 0, UINT32_MAX, &given))
		return given;
	return getrandom(&key, sizeof(key), 0) == sizeof(key) ? key : 1;
}

static int make(struct lx_lst *l, const struct new_session *n)
{
	struct lx_session session;
	struct lx_nid console;
	struct timespec now;
	int err;

	lx_session_init(&session, l->socket);
	err = lx_selftest_find_console(&session, &console);
	if (err)
		fprintf(stderr, "lst: %s\n", session.text);
	lx_session_fini(&session);
	if (err)
		return err;
	clock_gettime(CLOCK_REALTIME, &now);
	l->file.console = lx_console_new(n->name, find_key(l), lx_nid_str(&console),
					 now.tv_sec * 1000LL + now.tv_nsec / 1000000, n->timeout,
					 lx_console_now());
	return l->file.console ? lx_keeper_start(&l->file) : -ENOMEM;
}

static int new_session(struct lx_lst *l, int argc, char **argv)
{
	struct new_session n = { .name = "session", .timeout = TIMEOUT_S };
	int err = parse_new(&n, argc, argv);

	if (err)
		return err;
	err = lx_lst_begin(l, false);
	if (!err && !n.force) {
		fprintf(stderr, "Failed to create session: there is session %s; end it (lst "
			"end_session), or give --force\n",
			json_string_value(json_object_get(l->file.console, "name")));
		lx_lst_end(l);
		return LX_LST_EXIT_FAILED;
	}
	if (!err) {
		lx_keeper_leave(l->file.console, l->socket, 0);
		lx_console_file_drop(&l->file);
	}
	if (err && err != -ESRCH)
		return lx_lst_error(l, err, "session", "Failed to create session");
	err = make(l, &n);
	if (err) {
		json_decref(l->file.console);
		l->file.console = NULL;
		return lx_lst_error(l, err, "session", "Failed to create session");
	}
	lx_lst_end(l);
	printf("SESSION: %s FEATURES: %u TIMEOUT: %d FORCE: %s\n", n.name, LX_LST_FEATURES,
	       (int)n.timeout, n.force ? "Yes" : "No");
	return 0;
}

/* ---- the others ----------------------------------------------------------------------- */

static int end_session(struct lx_lst *l, int argc, char **argv)
{
	int err = lx_lst_begin(l, false);

	if (err == -ESRCH) { /* as in the reference, no failure */
		lx_lst_end(l);
		return 0;
	}
	if (err)
		return lx_lst_error(l, err, "session", "Failed to end session");
	lx_keeper_leave(l->file.console, l->socket, 0);
	lx_console_file_drop(&l->file);
	lx_lst_end(l);
	return 0;
}

static int show_session(struct lx_lst *l, int argc, char **argv)
{
	const json_t *c;
	int err = lx_lst_begin(l, false);

	if (err)
		return lx_lst_error(l, err, "session", "Failed to show session");
	c = l->file.console;
	printf("%s ID: %lld@%s, KEY: %lld FEATURES: %u NODES: %zu\n",
	       json_string_value(json_object_get(c, "name")),
	       (long long)json_integer_value(json_object_get(c, "stamp")),
	       json_string_value(json_object_get(c, "console")),
	       (long long)json_integer_value(json_object_get(c, "key")), LX_LST_FEATURES,
	       json_object_size(json_object_get(c, "nodes")));
	lx_lst_end(l);
	return 0;
}

/* ---- ping ----------------------------------------------------------------------------- */

static const struct option ping_options[] = {
	{ "session", no_argument, NULL, 's' },       { "server", no_argument, NULL, 'v' },
	{ "batch", required_argument, NULL, 'b' },   { "group", required_argument, NULL, 'g' },
	{ "nodes", required_argument, NULL, 'n' },   { "timeout", required_argument, NULL, 't' },
	{ 0 }
};

struct ping {
	char kind; /* the option that names the nodes; 0: none */
	const char *name;
	bool server;
	int64_t timeout;
};

static int parse_ping(struct ping *p, int argc, char **argv)
{
	int opt;

	while ((opt = lx_lst_option(argc, argv, ping_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		if (opt == 'v') {
			p->server = true;
		} else if (opt == 't') {
			if (!lx_lst_number(optarg, 1, LX_TRANS_TIMEOUT_MAX_S, &p->timeout)) {
				fprintf(stderr, "Invalid timeout value\n");
				return LX_LST_EXIT_FAILED;
			}
		} else {
			p->kind = opt;
			p->name = optarg ? optarg : "session";
		}
	}
	return p->kind && optind == argc ? 0 : LX_LST_EXIT_USAGE;
}

/* The nodes that a ping is about, as a new array. NULL: there are no such. */
static json_t *nodes_of(struct lx_lst *l, const struct ping *p)
{
	const json_t *c = l->file.console;
	json_t *batch, *all, *node;
	const char *nid;

	switch (p->kind) {
	case 'g':
		return json_copy(lx_console_group(c, p->name));
	case 'b':
		batch = lx_console_batch(c, p->name);
		return batch ? lx_console_batch_nodes(batch, 0, p->server) : NULL;
	case 'n':
		return lx_lst_nids(p->name);
	}
	all = json_array();
	json_object_foreach (json_object_get(c, "nodes"), nid, node)
		json_array_append_new(all, json_string(nid));
	return all;
}

static void print_ping(const struct lx_lst *l, const struct lx_trans_one *one)
{
	const char *name = json_string_value(json_object_get(one->row, "session"));
	const char *console = json_string_value(json_object_get(one->row, "console"));
	enum lx_console_state state = lx_console_node(l->file.console, one->nid);

	if (!one->err && !one->status)
		state = lx_console_judge(l->file.console, one->row);
	printf("\t12345-%s: %s [session: %s id: %s]\n", one->nid, lx_console_state_name(state),
	       name && *name ? name : "<NULL>", console ? console : "<?>");
}

static int ping(struct lx_lst *l, int argc, char **argv)
{
	struct ping p = { 0 };
	struct lx_trans t;
	json_t *nids;
	size_t failed;
	int err = parse_ping(&p, argc, argv);

	if (err)
		return err;
	err = lx_lst_begin(l, true);
	if (err)
		return lx_lst_error(l, err, p.name, "Failed to ping");
	nids = nodes_of(l, &p);
	if (!nids) {
		fprintf(stderr, "Failed to get count of nodes from %s: %s\n", p.name,
			strerror(ENOENT));
		lx_lst_end(l);
		return LX_LST_EXIT_FAILED;
	}
	if (!lx_trans_new(&t, l->file.console, nids, LX_LST_DEBUG, p.timeout))
		lx_lst_run(l, &t);
	for (size_t i = 0; i < t.n; i++)
		print_ping(l, &t.one[i]);
	failed = lx_trans_failed(&t);
	lx_trans_free(&t);
	json_decref(nids);
	lx_lst_end(l);
	return failed ? LX_LST_EXIT_NODES : 0;
}

const struct lx_lst_verb lx_lst_session_verbs[] = {
	{ "new_session", new_session, "new_session [--timeout TIME] [--force] [NAME]",
	  "begin a session", new_options },
	{ "end_session", end_session, "end_session", "end the session, on all its nodes", NULL },
	{ "show_session", show_session, "show_session", "show the session", NULL },
	{ "ping", ping, "ping  [--group NAME] [--batch NAME] [--session]  [--nodes IDS]",
	  "ask nodes for their session", ping_options },
	{ 0 }
};
