/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst add_test": servers first, then the clients that make requests to them (selftest.md 5). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../common/json.h"
#include "../common/quantity.h"
#include "lst_verb.h"

/* ---- the kind of test ----------------------------------------------------------------- */

/* "4K", "1M", "512" */
static bool parse_bytes(const char *text, uint32_t *ret_bytes)
{
	int64_t bytes;

	if (!lx_quantity(text, lx_quantity_bytes, 0, LX_LST_BULK_MAX, &bytes))
		return false;
	*ret_bytes = bytes;
	return true;
}

static bool complain(const char *what, const char *value)
{
	fprintf(stderr, "%s %s\n", what, value);
	return false;
}

/* One word of brw's parameters; complains, in the reference's words, if it is wrong. */
static bool parse_brw_word(struct lx_trans_test *t, const char *word)
{
	if (!strcmp(word, "read") || !strcmp(word, "r"))
		t->rw = LX_LST_READ;
	else if (!strcmp(word, "write") || !strcmp(word, "w"))
		t->rw = LX_LST_WRITE;
	else if (!strncmp(word, "check=", 6))
		return (t->check = lx_trans_check(word + 6)) || complain("Unknow flag", word + 6);
	else if (!strncmp(word, "size=", 5))
		return (parse_bytes(word + 5, &t->length) && t->length) ||
		       complain("Invalid size", word + 5);
	else if (!strncmp(word, "off=", 4))
		return parse_bytes(word + 4, &t->offset) || complain("Invalid offset", word + 4);
	else
		return complain("Unknow parameter:", word);
	return true;
}

static uint32_t pages(uint32_t bytes)
{
	return (bytes + LX_LST_PAGE - 1) / LX_LST_PAGE;
}

/* Nodes of Lustre 2.17 end with a kernel panic on it (selftest.md 12, trap 8). */
static bool is_dangerous(const struct lx_trans_test *t)
{
	if (pages(t->offset % LX_LST_PAGE + t->length) == pages(t->length))
		return false;
	fprintf(stderr, "off=%u with size=%u needs one page more than the size alone: nodes with "
			"Lustre 2.17 crash on it; choose others\n", t->offset, t->length);
	return true;
}

/* The kind and its words. */
static bool parse_type(struct lx_trans_test *t, char **words)
{
	bool valid = true;

	if (!strcmp(words[0], "ping")) {
		t->service = LX_LST_PING; /* its parameters have no meaning */
	} else if (strcmp(words[0], "brw")) {
		valid = complain("Unknow test name", words[0]);
	} else {
		for (char **word = words + 1; valid && *word; word++)
			valid = parse_brw_word(t, *word);
		if (valid && (t->length % 8 || t->offset % 8))
			valid = complain("Invalid size or offset:", "not a multiple of 8");
		valid = valid && !is_dangerous(t);
	}
	if (!valid)
		fprintf(stderr, "Failed to add test (%s)\n", words[0]);
	return valid;
}

/* ---- the command ---------------------------------------------------------------------- */

static bool parse_options(const struct lx_lst *l, struct lx_trans_test *t)
{
	const char *concurrency = l->text['c'], *dist = l->text['d'];
	int64_t number = 1;
	int end = 0;

	if (concurrency && !lx_lst_verb_number(concurrency, 1, LX_LST_CONCURRENCY_MAX, &number))
		return complain("Invalid concurrency of test:", concurrency);
	t->concurrency = number;
	if (dist && (sscanf(dist, "%u:%u%n", &t->dist, &t->span, &end) != 2 || dist[end] ||
		     !t->dist || !t->span))
		return complain("Invalid distribution:", dist);
	t->loop = l->number['l'];
	if (!t->loop)
		fprintf(stderr, "Invalid parameters list in command line\n");
	return t->loop;
}

/* Why it cannot be added: -ENOENT, -EINVAL, -E2BIG; 0: it can. */
static int check(const struct lx_trans_test *t, const json_t *batch, const json_t *from,
		 const json_t *to)
{
	if (!batch || !to || !from)
		return -ENOENT;
	if (json_is_true(json_object_get(batch, "running")))
		return -EINVAL;
	return t->span > LX_CTL_NIDS_MAX && json_array_size(to) > LX_CTL_NIDS_MAX ? -E2BIG : 0;
}

/* Of those of @nids that have the session; they are told in @ret_active. */
static void begin(const struct lx_lst *l, const json_t *nids, const json_t *batch,
		  json_t **ret_active, struct lx_trans *ret_trans)
{
	*ret_active = lx_console_active(l->file.console, nids);
	lx_trans_of(ret_trans, l->socket, l->file.console, *ret_active, 0);
	lx_trans_for_each (one, ret_trans)
		one->req.batch = lx_json_int(batch, "id");
}

static void add(struct lx_lst *l, const struct lx_trans_test *t, json_t *batch, const json_t *from,
		const json_t *to)
{
	json_t *clients, *servers;
	struct lx_trans client, server;

	begin(l, from, batch, &clients, &client);
	begin(l, to, batch, &servers, &server);
	l->failed = lx_trans_serve(&server, t, client.n);
	lx_lst_verb_note(l, &server, "add test");
	if (!l->failed) {
		l->failed = lx_trans_test(&client, t, &server);
		lx_lst_verb_note(l, &client, "add test");
	}
	json_array_append_new(json_object_get(batch, "tests"),
			      json_pack("{ss, sI, sI, ss, ss, so, so}", "type", l->word[0], "loop",
					(json_int_t)l->number['l'], "concurrency",
					(json_int_t)t->concurrency, "from", l->text['f'], "to",
					l->text['t'], "clients", clients, "servers", servers));
	lx_trans_free(&client);
	lx_trans_free(&server);
}

static int add_test(struct lx_lst *l)
{
	struct lx_trans_test t = { .service = LX_LST_BRW,
				   .rw = LX_LST_READ,
				   .check = LX_LST_CHECK_NONE,
				   .length = LX_LST_PAGE,
				   .dist = 1,
				   .span = 1 };
	const char *name = l->text['b'] ? l->text['b'] : LX_CONSOLE_DEFAULT_BATCH;
	json_t *batch, *from, *to;
	int err;

	if (!parse_options(l, &t))
		return LX_LST_EXIT_FAILED;
	if (!l->n_words || !l->text['f'] || !l->text['t'])
		return LX_LST_EXIT_USAGE;
	if (!parse_type(&t, l->word))
		return LX_LST_EXIT_FAILED;
	err = lx_lst_verb_begin(l, true);
	if (err)
		return err;
	batch = lx_console_batch(l->file.console, name);
	from = lx_console_group(l->file.console, l->text['f']);
	to = lx_console_group(l->file.console, l->text['t']);
	err = check(&t, batch, from, to);
	if (err)
		return err;
	add(l, &t, batch, from, to);
	if (!l->failed)
		printf("Test was added successfully\n");
	return 0;
}

static const struct lx_lst_option options[] = {
	LX_LST_TEXT("batch", 'b'),
	LX_LST_TEXT("concurrency", 'c'),
	LX_LST_TEXT("distribute", 'd'),
	LX_LST_TEXT("from", 'f'),
	LX_LST_TEXT("to", 't'),
	LX_LST_NUMBER("loop", 'l', -1, INT32_MAX, -1), /* -1: LX_LST_LOOP_FOREVER */
	{ 0 },
};

const struct lx_lst_verb lx_lst_test_verbs[] = {
	{ "add_test", add_test,
	  "add_test [--batch BATCH] [--loop #] [--concurrency #]  [--distribute #:#] [--from "
	  "GROUP] "
	  "[--to GROUP] TEST...",
	  "add a test to a batch: ping, or brw read|write [check=none|simple|full] [size=#] "
	  "[off=#]",
	  options, 0, 0, .what = "test", .failed = "Failed to add test",
	  .wrong = "Invalid parameters list in command line" },
	{ 0 }
};
