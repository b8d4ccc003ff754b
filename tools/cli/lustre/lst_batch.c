/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst add_batch", "run", "stop", "list_batch", "query". Tests are added in lst_test.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../common/json.h"
#include "lst_verb.h"

/* The numbers that the reference shows. */
#define STATE_IDLE 176
#define STATE_RUNNING 177

/* Tells all clients of a batch. @test: 0: the batch. @what: see lx_lst_verb_note(), whose result it
 * is
 */
static size_t tell(struct lx_lst *l, struct lx_trans *t, const json_t *batch, uint32_t op,
		   size_t test, const char *what)
{
	json_t *all = lx_console_batch_nodes(batch, test, false);
	json_t *nids = lx_console_active(l->file.console, all);

	lx_trans_of(t, l->socket, l->file.console, nids, l->number['T']);
	lx_trans_for_each (one, t) {
		one->req.batch = lx_json_int(batch, "id");
		one->req.test = test ? lx_console_test_index(batch, test, one->nid) : 0;
	}
	lx_trans_batch(t, op, op == LX_LST_BATCH_STOP && l->text['f']);
	json_decref(nids);
	json_decref(all);
	return lx_lst_verb_note(l, t, what);
}

static void set_running(json_t *batch, bool running)
{
	json_object_set_new(batch, "running", json_boolean(running));
}

/* ---- add_batch, run, stop -------------------------------------------------------------- */

static int add_batch(struct lx_lst *l)
{
	int err = lx_lst_verb_begin(l, true);

	return err ? err : lx_console_batch_add(l->file.console, l->word[0]);
}

/* The word of a verb, or its default. */
static const char *name_of(const struct lx_lst *l)
{
	return l->n_words ? l->word[0] : LX_CONSOLE_DEFAULT_BATCH;
}

/* Begins with the batch of a verb. Returns 0, -errno, or the exit status: complained about. */
static int begin_on_batch(struct lx_lst *l, json_t **ret_batch)
{
	int err = lx_lst_verb_begin(l, true);

	if (err)
		return err;
	*ret_batch = lx_console_batch(l->file.console, name_of(l));
	if (*ret_batch)
		return 0;
	fprintf(stderr, "Failed to get count of nodes from %s: %s\n", name_of(l), strerror(ENOENT));
	return LX_LST_EXIT_FAILED;
}

static int run(struct lx_lst *l)
{
	struct lx_trans t;
	json_t *batch;
	int err = begin_on_batch(l, &batch);

	if (err)
		return err;
	l->failed = tell(l, &t, batch, LX_LST_BATCH_RUN, 0, "run batch");
	if (l->failed < t.n)
		set_running(batch, true);
	lx_trans_free(&t);
	if (!l->failed)
		printf("%s is running now\n", name_of(l));
	return 0;
}

/* How many nodes are at work on a batch. */
static int count_active(struct lx_lst *l, const json_t *batch)
{
	struct lx_trans t;
	int active = 0;

	tell(l, &t, batch, LX_LST_BATCH_QUERY, 0, NULL);
	lx_trans_for_each (one, &t)
		active += !one->idle;
	lx_trans_free(&t);
	return active;
}

/* Waits until the batch is idle. Others may use the session meanwhile. */
static int stop(struct lx_lst *l)
{
	struct lx_trans t;
	json_t *batch;
	int active, err = begin_on_batch(l, &batch);

	if (err)
		return err;
	l->failed = tell(l, &t, batch, LX_LST_BATCH_STOP, 0, "stop batch");
	lx_trans_free(&t);
	while ((active = count_active(l, batch))) {
		printf("%d batch in stopping\n", active);
		fflush(stdout);
		err = lx_lst_verb_begin_after(l, 1);
		if (err)
			return err;
		batch = lx_console_batch(l->file.console, name_of(l));
	}
	set_running(batch, false);
	if (!l->failed)
		printf("Batch is stopped\n");
	return 0;
}

/* ---- list_batch ----------------------------------------------------------------------- */

static void print_counts(const struct lx_lst *l, const json_t *batch, size_t test)
{
	printf("\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n");
	for (int server = 0; server < 2; server++) {
		json_t *nids = lx_console_batch_nodes(batch, test, server);

		lx_lst_verb_list_counts(l, server ? "server" : "client", nids, NULL);
		json_decref(nids);
	}
}

static void describe(const struct lx_lst *l, const json_t *batch)
{
	const json_t *tests = json_object_get(batch, "tests"), *test;
	size_t i;

	printf("Batch: %s Tests: %zu State: %d\n", lx_json_text(batch, "name"),
	       json_array_size(tests),
	       json_is_true(json_object_get(batch, "running")) ? STATE_RUNNING : STATE_IDLE);
	print_counts(l, batch, 0);
	json_array_foreach (tests, i, test) {
		printf("\tTest %zu(%s) (loop: %lld, concurrency: %lld)\n", i + 1,
		       lx_json_text(test, "type"), lx_json_int(test, "loop"),
		       lx_json_int(test, "concurrency"));
		print_counts(l, batch, i + 1);
	}
}

static void list_nodes(const struct lx_lst *l, const json_t *batch)
{
	json_t *nids = lx_console_batch_nodes(batch, l->number['t'], l->text['s']);
	size_t n = lx_lst_verb_list_nodes(l, nids,
					  l->choice == 'a'   ? 1u << LX_CONSOLE_ACTIVE
					  : l->choice == 'i' ? LX_CONSOLE_INVALID
							     : ~0u);

	if (json_array_size(nids))
		printf("Total %zu nodes\n", n);
	json_decref(nids);
}

/* True if the batch has the test that an option names. */
static bool has_test(const struct lx_lst *l, const json_t *batch)
{
	return (size_t)l->number['t'] <= json_array_size(json_object_get(batch, "tests"));
}

static int list_batch(struct lx_lst *l)
{
	const json_t *batch;
	int err = lx_lst_verb_begin(l, true);

	if (err)
		return err;
	if (!l->n_words) {
		printf("Total %zu batches\n", lx_lst_verb_list(l, "batches"));
		return 0;
	}
	batch = lx_console_batch(l->file.console, l->word[0]);
	if (batch && !has_test(l, batch))
		l->what = "test";
	if (!batch || l->what)
		return -ENOENT;
	if (l->choice)
		list_nodes(l, batch);
	else
		describe(l, batch);
	return 0;
}

/* ---- query ---------------------------------------------------------------------------- */

/* Prints the batch, or those of its nodes that were chosen. Returns whether any is at work. */
static bool print_query(const struct lx_lst *l, const struct lx_trans *t)
{
	bool running = false;

	lx_trans_for_each (one, t) {
		enum lx_console_state state = lx_console_node(l->file.console, one->nid);
		char is = one->failed ? 'e' : one->idle ? 'i' : 'a';

		running = running || is == 'a';
		if (l->choice == 'l' || l->choice == is)
			printf("12345-%s [%s]: %s\n", one->nid, lx_console_state_name(state),
			       is == 'e'   ? strerror(one->err ? -one->err : one->status)
			       : is == 'a' ? "Running"
					   : "Idle");
	}
	if (!l->choice)
		printf("%s [%d] is %s\n", name_of(l), (int)l->number['t'],
		       running ? "running" : "stopped");
	fflush(stdout);
	return running;
}

static int query(struct lx_lst *l)
{
	for (int64_t i = 0; i < l->number['o']; i++) {
		int err = lx_lst_verb_begin_after(l, i ? l->number['d'] : 0);
		json_t *batch = lx_console_batch(l->file.console, name_of(l));
		struct lx_trans t;

		if (err)
			return err;
		if (!batch || !has_test(l, batch)) {
			fprintf(stderr, "Failed to query batch: %s\n", strerror(ENOENT));
			return LX_LST_EXIT_FAILED;
		}
		l->failed = tell(l, &t, batch, LX_LST_BATCH_QUERY, l->number['t'], NULL);
		/* Its tests have ended by themselves. */
		if (!print_query(l, &t) && !l->number['t'] && !l->failed)
			set_running(batch, false);
		lx_trans_free(&t);
	}
	return 0;
}

static const struct lx_lst_option run_options[] = {
	LX_LST_NUMBER("timeout", 'T', 1, LX_TRANS_TIMEOUT_MAX_S, 0), { 0 }
};
static const struct lx_lst_option stop_options[] = { LX_LST_FLAG("force", 'f'), { 0 } };

static const struct lx_lst_option list_options[] = {
	LX_LST_CHOICE("all", 'l'),     LX_LST_CHOICE("active", 'a'),
	LX_LST_CHOICE("invalid", 'i'), LX_LST_NUMBER("test", 't', 1, INT32_MAX, 0),
	LX_LST_FLAG("server", 's'),    { 0 },
};

static const struct lx_lst_option query_options[] = {
	LX_LST_NUMBER("test", 't', 1, INT32_MAX, 0),
	LX_LST_NUMBER("delay", 'd', 1, 86400, 5),
	LX_LST_NUMBER("loop", 'o', 1, INT32_MAX, 1),
	LX_LST_NUMBER("timeout", 'T', 1, LX_TRANS_TIMEOUT_MAX_S, 0),
	LX_LST_CHOICE("all", 'l'),
	LX_LST_CHOICE("active", 'a'),
	LX_LST_CHOICE("idle", 'i'),
	LX_LST_CHOICE("error", 'e'),
	/* Servers only answer: it is the clients who know, as for the reference. */
	LX_LST_FLAG("server", 's'),
	{ 0 },
};

const struct lx_lst_verb lx_lst_batch_verbs[] = {
	{ "add_batch", add_batch, "add_batch NAME", "create a batch, for tests", NULL, 1, 1,
	  .what = "batch", .failed = "Failed to create batch", .named = true },
	{ "run", run, "run [--timeout TIME] [NAME]", "run a batch's tests", run_options, 0, 1,
	  .what = "batch", .failed = "Failed to run batch", .wrong = "Invalid timeout value" },
	{ "stop", stop, "stop [--force] BATCH_NAME", "stop a batch's tests", stop_options, 0, 1,
	  .what = "batch", .failed = "Failed to stop batch" },
	{ "list_batch", list_batch,
	  "list_batch NAME [--test ID] [--server] [--all | --active | --invalid]",
	  "list batches, their tests, or their nodes", list_options, 0, 1, .what = "batch",
	  .failed = "Failed to list batches" },
	{ "query", query,
	  "query [--test ID] [--server] [--timeout TIME] [--loop #] [--delay #] [--all | --active "
	  "| "
	  "--idle | --error] NAME",
	  "which batches, or nodes of one, are at work", query_options, 0, 1, .what = "batch",
	  .failed = "Failed to query batch", .wrong = "Invalid parameters list in command line" },
	{ 0 }
};
