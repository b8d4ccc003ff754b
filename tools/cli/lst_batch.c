/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst add_batch", "run", "stop", "list_batch", "query". Tests are added in lst_test.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lst_verb.h"

/* The numbers that the reference shows. */
#define STATE_IDLE 176
#define STATE_RUNNING 177

static bool parse_timeout(int64_t *ret_timeout)
{
	if (lx_lst_number(optarg, 1, LX_TRANS_TIMEOUT_MAX_S, ret_timeout))
		return true;
	fprintf(stderr, "Invalid timeout value\n");
	return false;
}

/* What is the same in all requests to a batch. @test: 0: the batch */
static void begin_batch(struct lx_lst *l, struct lx_trans *t, const json_t *batch, uint32_t op,
			size_t test, int64_t timeout)
{
	json_t *all = lx_console_batch_nodes(batch, test, false), *nids = lx_lst_active(l, all);

	lx_trans_new(t, l->file.console, nids, LX_LST_BATCH, timeout);
	for (size_t i = 0; i < t->n; i++) {
		t->one[i].req.batch = json_integer_value(json_object_get(batch, "id"));
		t->one[i].req.op = op;
		t->one[i].req.test =
			test ? lx_console_test_index(batch, test, t->one[i].nid) : 0;
	}
	json_decref(nids);
	json_decref(all);
}

/* The batch of a verb; complains if there is none. */
static json_t *find(struct lx_lst *l, const char *name)
{
	json_t *batch = lx_console_batch(l->file.console, name);

	if (batch)
		return batch;
	fprintf(stderr, "Failed to get count of nodes from %s: %s\n", name, strerror(ENOENT));
	lx_lst_end(l);
	return NULL;
}

static int add_batch(struct lx_lst *l, int argc, char **argv)
{
	int err;

	if (argc != 2)
		return LX_LST_EXIT_USAGE;
	if (!lx_lst_name_fits(argv[1]))
		return LX_LST_EXIT_FAILED;
	err = lx_lst_begin(l, true);
	if (!err)
		err = lx_console_batch_add(l->file.console, argv[1]);
	if (err)
		return lx_lst_error(l, err, "batch", "Failed to create batch");
	lx_lst_end(l);
	return 0;
}

/*
 * Takes the last word of a verb, the batch or none, and begins. Returns 0, the name and the
 * batch, or the exit status.
 */
static int begin_on_batch(struct lx_lst *l, int argc, char **argv, const char *failure,
			  const char **ret_name, json_t **ret_batch)
{
	int err;

	if (argc - optind > 1)
		return LX_LST_EXIT_USAGE;
	*ret_name = optind < argc ? argv[optind] : LX_CONSOLE_DEFAULT_BATCH;
	err = lx_lst_begin(l, true);
	if (err)
		return lx_lst_error(l, err, "batch", failure);
	*ret_batch = find(l, *ret_name);
	return *ret_batch ? 0 : LX_LST_EXIT_FAILED;
}

/* ---- run, stop ------------------------------------------------------------------------ */

static const struct option run_options[] = { { "timeout", required_argument, NULL, 't' }, { 0 } };
static const struct option stop_options[] = { { "force", no_argument, NULL, 'f' }, { 0 } };

static int run(struct lx_lst *l, int argc, char **argv)
{
	const char *name;
	struct lx_trans t;
	int64_t timeout = 0;
	size_t failed;
	json_t *batch;
	int opt, err;

	while ((opt = lx_lst_option(argc, argv, run_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		if (!parse_timeout(&timeout))
			return LX_LST_EXIT_FAILED;
	}
	err = begin_on_batch(l, argc, argv, "Failed to run batch", &name, &batch);
	if (err)
		return err;
	begin_batch(l, &t, batch, LX_LST_BATCH_RUN, 0, timeout);
	lx_lst_run(l, &t);
	failed = lx_trans_failed(&t);
	if (t.n && failed < t.n)
		json_object_set_new(batch, "running", json_true());
	lx_lst_end(l);
	if (failed)
		lx_trans_print(&t, "run batch");
	else
		printf("%s is running now\n", name);
	lx_trans_free(&t);
	return failed ? LX_LST_EXIT_NODES : 0;
}

/* How many nodes are at work on a batch. */
static int count_active(struct lx_lst *l, const json_t *batch)
{
	struct lx_trans t;
	int active = 0;

	begin_batch(l, &t, batch, LX_LST_BATCH_QUERY, 0, 0);
	lx_lst_run(l, &t);
	for (size_t i = 0; i < t.n; i++)
		active += lx_trans_number(&t.one[i], "active") > 0;
	lx_trans_free(&t);
	return active;
}

/* Waits until a batch that was told to stop is idle. Others may use the session meanwhile. */
static int drain(struct lx_lst *l, const char *name)
{
	for (;;) {
		int err = lx_lst_begin(l, true), active;
		json_t *batch = err ? NULL : lx_console_batch(l->file.console, name);

		if (err)
			return lx_lst_error(l, err, "batch", "Failed to stop batch");
		active = count_active(l, batch);
		if (!active)
			json_object_set_new(batch, "running", json_false());
		lx_lst_end(l);
		if (!active)
			return 0;
		printf("%d batch in stopping\n", active);
		fflush(stdout);
		sleep(1);
	}
}

static int stop(struct lx_lst *l, int argc, char **argv)
{
	const char *name;
	struct lx_trans t;
	bool force = false;
	size_t failed;
	json_t *batch;
	int opt, err;

	while ((opt = lx_lst_option(argc, argv, stop_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		force = true;
	}
	err = begin_on_batch(l, argc, argv, "Failed to stop batch", &name, &batch);
	if (err)
		return err;
	begin_batch(l, &t, batch, LX_LST_BATCH_STOP, 0, 0);
	for (size_t i = 0; i < t.n; i++)
		t.one[i].req.force = force;
	lx_lst_run(l, &t);
	lx_lst_end(l);
	failed = lx_trans_failed(&t);
	lx_trans_print(&t, "stop batch");
	lx_trans_free(&t);
	err = drain(l, name);
	if (err)
		return err;
	if (!failed)
		printf("Batch is stopped\n");
	return failed ? LX_LST_EXIT_NODES : 0;
}

/* ---- list_batch ----------------------------------------------------------------------- */

static const struct option list_options[] = {
	{ "all", no_argument, NULL, 'l' },     { "active", no_argument, NULL, 'a' },
	{ "invalid", no_argument, NULL, 'i' }, { "test", required_argument, NULL, 't' },
	{ "server", no_argument, NULL, 's' },  { 0 }
};

struct list {
	char kind; /* list the nodes: 'l', 'a', 'i'; 0: describe the batch */
	int64_t test; /* 0: all */
	bool server;
};

static void print_counts(const struct lx_lst *l, const json_t *batch, size_t test)
{
	printf("\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n");
	for (int server = 0; server < 2; server++) {
		json_t *nids = lx_console_batch_nodes(batch, test, server);
		unsigned int n[LX_CONSOLE_STATES];

		lx_console_count(l->file.console, nids, n);
		printf("%s\t%u\t%u\t%u\t%u\t%zu\n", server ? "server" : "client",
		       n[LX_CONSOLE_ACTIVE], n[LX_CONSOLE_BUSY], n[LX_CONSOLE_DOWN],
		       n[LX_CONSOLE_UNKNOWN], json_array_size(nids));
		json_decref(nids);
	}
}

static void describe(const struct lx_lst *l, const json_t *batch)
{
	const json_t *tests = json_object_get(batch, "tests");
	size_t n = json_array_size(tests);

	printf("Batch: %s Tests: %zu State: %d\n",
	       json_string_value(json_object_get(batch, "name")), n,
	       json_is_true(json_object_get(batch, "running")) ? STATE_RUNNING : STATE_IDLE);
	print_counts(l, batch, 0);
	for (size_t i = 0; i < n; i++) {
		const json_t *test = json_array_get(tests, i);

		printf("\tTest %zu(%s) (loop: %lld, concurrency: %lld)\n", i + 1,
		       json_string_value(json_object_get(test, "type")),
		       (long long)json_integer_value(json_object_get(test, "loop")),
		       (long long)json_integer_value(json_object_get(test, "concurrency")));
		print_counts(l, batch, i + 1);
	}
}

static void list_nodes(const struct lx_lst *l, const json_t *batch, const struct list *list)
{
	json_t *nids = lx_console_batch_nodes(batch, list->test, list->server), *nid;
	size_t i, n = 0;

	json_array_foreach (nids, i, nid) {
		enum lx_console_state state =
			lx_console_node(l->file.console, json_string_value(nid));

		if ((list->kind == 'a' && state != LX_CONSOLE_ACTIVE) ||
		    (list->kind == 'i' && state == LX_CONSOLE_ACTIVE))
			continue;
		printf("\t12345-%s: %s\n", json_string_value(nid), lx_console_state_name(state));
		n++;
	}
	if (json_array_size(nids))
		printf("Total %zu nodes\n", n);
	json_decref(nids);
}

static int list_names(struct lx_lst *l)
{
	const json_t *batches = json_object_get(l->file.console, "batches");
	size_t n = json_array_size(batches);

	for (size_t i = 0; i < n; i++)
		printf("%zu) %s\n", i + 1,
		       json_string_value(json_object_get(json_array_get(batches, i), "name")));
	printf("Total %zu batches\n", n);
	lx_lst_end(l);
	return 0;
}

static int parse_list(struct list *list, int argc, char **argv)
{
	int opt;

	while ((opt = lx_lst_option(argc, argv, list_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		if (opt == 's')
			list->server = true;
		else if (opt != 't')
			list->kind = opt;
		else if (!lx_lst_number(optarg, 1, INT32_MAX, &list->test))
			return LX_LST_EXIT_USAGE;
	}
	return argc - optind > 1 ? LX_LST_EXIT_USAGE : 0;
}

static int list_batch(struct lx_lst *l, int argc, char **argv)
{
	struct list list = { 0 };
	const json_t *batch;
	int err = parse_list(&list, argc, argv);

	if (err)
		return err;
	err = lx_lst_begin(l, true);
	if (err)
		return lx_lst_error(l, err, "batch", "Failed to list batches");
	if (optind == argc)
		return list_names(l);
	batch = lx_console_batch(l->file.console, argv[optind]);
	if (!batch)
		return lx_lst_error(l, -ENOENT, "batch", "Failed to list batch");
	if ((size_t)list.test > json_array_size(json_object_get(batch, "tests")))
		return lx_lst_error(l, -ENOENT, "test", "Failed to list test");
	if (list.kind)
		list_nodes(l, batch, &list);
	else
		describe(l, batch);
	lx_lst_end(l);
	return 0;
}

/* ---- query ---------------------------------------------------------------------------- */

static const struct option query_options[] = {
	{ "test", required_argument, NULL, 't' },  { "delay", required_argument, NULL, 'd' },
	{ "loop", required_argument, NULL, 'o' },  { "timeout", required_argument, NULL, 'T' },
	{ "all", no_argument, NULL, 'l' },	   { "active", no_argument, NULL, 'a' },
	{ "idle", no_argument, NULL, 'i' },	   { "error", no_argument, NULL, 'e' },
	{ "server", no_argument, NULL, 's' },	   { 0 }
};

struct query {
	const char *name;
	char kind; /* list the nodes: 'l', 'a', 'i', 'e'; 0: one line for the batch */
	int64_t test, delay, loop, timeout;
};

static int parse_query(struct query *q, int argc, char **argv)
{
	bool valid = true;
	int opt;

	while ((opt = lx_lst_option(argc, argv, query_options)) != -1) {
		switch (opt) {
		case '?':
			return LX_LST_EXIT_USAGE;
		case 't':
			valid = lx_lst_number(optarg, 1, INT32_MAX, &q->test);
			break;
		case 'd':
			valid = lx_lst_number(optarg, 1, 86400, &q->delay);
			break;
		case 'o':
			valid = lx_lst_number(optarg, 1, INT32_MAX, &q->loop);
			break;
		case 'T':
			valid = lx_lst_number(optarg, 1, LX_TRANS_TIMEOUT_MAX_S, &q->timeout);
			break;
		case 's': /* servers only answer: it is the clients who know, as for the reference */
			break;
		default:
			q->kind = opt;
		}
		if (!valid) {
			fprintf(stderr, "Invalid parameters list in command line\n");
			return LX_LST_EXIT_FAILED;
		}
	}
	if (optind < argc)
		q->name = argv[optind];
	return argc - optind > 1 ? LX_LST_EXIT_USAGE : 0;
}

static bool print_query(const struct lx_lst *l, const struct query *q, const struct lx_trans *t)
{
	bool running = false;

	for (size_t i = 0; i < t->n; i++) {
		const struct lx_trans_one *one = &t->one[i];
		enum lx_console_state state = lx_console_node(l->file.console, one->nid);
		bool failed = one->err || one->status;
		bool active = !failed && lx_trans_number(one, "active");

		running = running || active;
		if (q->kind == 'l' || (q->kind == 'a' && active) ||
		    (q->kind == 'i' && !failed && !active) || (q->kind == 'e' && failed))
			printf("12345-%s [%s]: %s\n", one->nid, lx_console_state_name(state),
			       failed   ? strerror(one->err ? -one->err : one->status)
			       : active ? "Running"
					: "Idle");
	}
	if (!q->kind)
		printf("%s [%d] is %s\n", q->name, (int)q->test, running ? "running" : "stopped");
	fflush(stdout);
	return running;
}

/* One look. @ret_failed: how many nodes did not answer */
static int look(struct lx_lst *l, const struct query *q, size_t *ret_failed)
{
	int err = lx_lst_begin(l, true);
	json_t *batch = err ? NULL : lx_console_batch(l->file.console, q->name);
	struct lx_trans t;
	bool running;

	if (err)
		return lx_lst_error(l, err, "batch", "Failed to query batch");
	if (!batch || (size_t)q->test > json_array_size(json_object_get(batch, "tests"))) {
		fprintf(stderr, "Failed to query batch: %s\n", strerror(ENOENT));
		lx_lst_end(l);
		return LX_LST_EXIT_FAILED;
	}
	begin_batch(l, &t, batch, LX_LST_BATCH_QUERY, q->test, q->timeout);
	lx_lst_run(l, &t);
	running = print_query(l, q, &t);
	*ret_failed = lx_trans_failed(&t);
	if (!q->test && !running && !*ret_failed) /* its tests have ended by themselves */
		json_object_set_new(batch, "running", json_false());
	lx_trans_free(&t);
	lx_lst_end(l);
	return 0;
}

static int query(struct lx_lst *l, int argc, char **argv)
{
	struct query q = { .name = LX_CONSOLE_DEFAULT_BATCH, .delay = 5, .loop = 1 };
	size_t failed = 0;
	int err = parse_query(&q, argc, argv);

	for (int64_t i = 0; !err && i < q.loop; i++) {
		if (i)
			sleep(q.delay);
		err = look(l, &q, &failed);
	}
	return err ? err : failed ? LX_LST_EXIT_NODES : 0;
}

const struct lx_lst_verb lx_lst_batch_verbs[] = {
	{ "add_batch", add_batch, "add_batch NAME", "create a batch, for tests", NULL },
	{ "run", run, "run [--timeout TIME] [NAME]", "run a batch's tests", run_options },
	{ "stop", stop, "stop [--force] BATCH_NAME", "stop a batch's tests", stop_options },
	{ "list_batch", list_batch,
	  "list_batch NAME [--test ID] [--server] [--all | --active | --invalid]",
	  "list batches, their tests, or their nodes", list_options },
	{ "query", query,
	  "query [--test ID] [--server] [--timeout TIME] [--loop #] [--delay #] [--all | --active | "
	  "--idle | --error] NAME",
	  "which batches, or nodes of one, are at work", query_options },
	{ 0 }
};
