/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst add_test": servers first, then the clients that make requests to them (selftest.md 5). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "lst_verb.h"
#include "quantity.h"

struct test {
	const char *batch, *from, *to, *type;
	int64_t loop, concurrency;
	uint32_t dist, span;
	uint32_t service;
	uint32_t rw, check, length, offset; /* of brw */
};

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

static bool parse_check(const char *text, uint32_t *ret_check)
{
	static const char *const names[] = { "none", "simple", "full" };

	for (int i = 0; i < 3; i++) {
		if (!strcmp(text, names[i])) {
			*ret_check = LX_LST_CHECK_NONE + i;
			return true;
		}
	}
	return false;
}

static bool complain(const char *what, const char *value)
{
	fprintf(stderr, "%s %s\n", what, value);
	return false;
}

/* One word of brw's parameters; complains, in the reference's words, if it is wrong. */
static bool parse_brw_word(struct test *t, const char *word)
{
	if (!strcmp(word, "read") || !strcmp(word, "r"))
		t->rw = LX_LST_READ;
	else if (!strcmp(word, "write") || !strcmp(word, "w"))
		t->rw = LX_LST_WRITE;
	else if (!strncmp(word, "check=", 6))
		return parse_check(word + 6, &t->check) || complain("Unknow flag", word + 6);
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
static bool is_dangerous(const struct test *t)
{
	if (pages(t->offset % LX_LST_PAGE + t->length) == pages(t->length))
		return false;
	fprintf(stderr, "off=%u with size=%u needs one page more than the size alone: nodes with "
			"Lustre 2.17 crash on it; choose others\n", t->offset, t->length);
	return true;
}

static bool parse_type(struct test *t, char **words)
{
	bool valid = true;

	t->type = words[0];
	if (!strcmp(words[0], "ping")) {
		t->service = LX_LST_PING; /* its parameters have no meaning */
	} else if (strcmp(words[0], "brw")) {
		valid = complain("Unknow test name", words[0]);
	} else {
		t->service = LX_LST_BRW;
		for (words++; valid && *words; words++)
			valid = parse_brw_word(t, *words);
		if (valid && (t->length % 8 || t->offset % 8))
			valid = complain("Invalid size or offset:", "not a multiple of 8");
		valid = valid && !is_dangerous(t);
	}
	if (!valid)
		fprintf(stderr, "Failed to add test (%s)\n", t->type);
	return valid;
}

/* ---- the command line ----------------------------------------------------------------- */

static const struct option options[] = {
	{ "batch", required_argument, NULL, 'b' },     { "concurrency", required_argument, NULL, 'c' },
	{ "distribute", required_argument, NULL, 'd' }, { "from", required_argument, NULL, 'f' },
	{ "to", required_argument, NULL, 't' },	       { "loop", required_argument, NULL, 'l' },
	{ 0 }
};

static int refuse(const char *what, const char *value)
{
	complain(what, value);
	return LX_LST_EXIT_FAILED;
}

static int parse_option(struct test *t, int opt)
{
	int end = 0;

	switch (opt) {
	case 'b':
		t->batch = optarg;
		break;
	case 'f':
		t->from = optarg;
		break;
	case 't':
		t->to = optarg;
		break;
	case 'c':
		if (!lx_lst_number(optarg, 1, LX_LST_CONCURRENCY_MAX, &t->concurrency))
			return refuse("Invalid concurrency of test:", optarg);
		break;
	case 'd':
		if (sscanf(optarg, "%u:%u%n", &t->dist, &t->span, &end) != 2 || optarg[end] ||
		    !t->dist || !t->span)
			return refuse("Invalid distribution:", optarg);
		break;
	case 'l':
		if (!lx_lst_number(optarg, -1, INT32_MAX, &t->loop) || !t->loop) {
			fprintf(stderr, "Invalid parameters list in command line\n");
			return LX_LST_EXIT_FAILED;
		}
		break;
	default:
		return LX_LST_EXIT_USAGE;
	}
	return 0;
}

static int parse(struct test *t, int argc, char **argv)
{
	int opt, err;

	while ((opt = lx_lst_option(argc, argv, options)) != -1) {
		err = parse_option(t, opt);
		if (err)
			return err;
	}
	if (optind == argc || !t->from || !t->to)
		return LX_LST_EXIT_USAGE;
	return parse_type(t, argv + optind) ? 0 : LX_LST_EXIT_FAILED;
}

/* ---- requests ------------------------------------------------------------------------- */

static void fill(struct lx_trans *trans, const struct test *t, const json_t *batch)
{
	for (size_t i = 0; i < trans->n; i++) {
		struct lx_control_ask *req = &trans->one[i].req;

		req->batch = json_integer_value(json_object_get(batch, "id"));
		req->test_service = t->service;
		req->loop = t->loop < 0 ? LX_LST_LOOP_FOREVER : (uint32_t)t->loop;
		req->concurrency = t->concurrency;
		req->rw = t->rw;
		req->check = t->check;
		req->length = t->length;
		req->offset = t->offset;
	}
}

/* Returns the number of nodes that failed. */
static size_t order(struct lx_lst *l, struct lx_trans *trans)
{
	size_t failed;

	lx_lst_run(l, trans);
	failed = lx_trans_failed(trans);
	lx_trans_print(trans, "add test");
	lx_trans_free(trans);
	return failed;
}

static size_t add_servers(struct lx_lst *l, const struct test *t, const json_t *batch,
			  const json_t *servers, size_t clients)
{
	struct lx_trans trans;

	lx_trans_new(&trans, l->file.console, servers, LX_LST_TEST, 0);
	fill(&trans, t, batch);
	for (size_t i = 0; i < trans.n; i++)
		trans.one[i].req.loop = t->concurrency * clients; /* that many may come at a time */
	return order(l, &trans);
}

static size_t add_clients(struct lx_lst *l, const struct test *t, const json_t *batch,
			  const json_t *clients, const json_t *servers)
{
	size_t n = json_array_size(servers);
	size_t *dest LX_AUTO_FREE = calloc(n + 1, sizeof(*dest));
	struct lx_trans trans;

	lx_trans_new(&trans, l->file.console, clients, LX_LST_TEST, 0);
	fill(&trans, t, batch);
	for (size_t i = 0; dest && i < trans.n; i++) {
		struct lx_control_ask *req = &trans.one[i].req;
		size_t many = lx_console_dests(i, t->dist, t->span, n, dest);

		req->client = true;
		for (size_t j = 0; j < many && j < LX_CONTROL_NIDS_MAX; j++)
			lx_nid_parse(json_string_value(json_array_get(servers, dest[j])),
				     &req->dest[req->n_dests++]);
	}
	return order(l, &trans);
}

/* Why it cannot be added: -ENOENT, -EINVAL, -E2BIG; 0: it can. */
static int check(const struct lx_lst *l, const struct test *t)
{
	const json_t *c = l->file.console, *batch = lx_console_batch(c, t->batch);
	const json_t *to = lx_console_group(c, t->to);

	if (!batch || !to || !lx_console_group(c, t->from))
		return -ENOENT;
	if (json_is_true(json_object_get(batch, "running")))
		return -EINVAL;
	return t->span > LX_CONTROL_NIDS_MAX && json_array_size(to) > LX_CONTROL_NIDS_MAX ? -E2BIG
											  : 0;
}

static int add_test(struct lx_lst *l, int argc, char **argv)
{
	struct test t = { .batch = LX_CONSOLE_DEFAULT_BATCH, .loop = -1, .concurrency = 1, .dist = 1,
			  .span = 1, .rw = LX_LST_READ, .check = LX_LST_CHECK_NONE,
			  .length = LX_LST_PAGE };
	json_t *batch, *clients, *servers;
	size_t failed;
	int err = parse(&t, argc, argv);

	if (err)
		return err;
	err = lx_lst_begin(l, true);
	if (!err)
		err = check(l, &t);
	if (err)
		return lx_lst_error(l, err, "test", "Failed to add test");
	batch = lx_console_batch(l->file.console, t.batch);
	clients = lx_lst_active(l, lx_console_group(l->file.console, t.from));
	servers = lx_lst_active(l, lx_console_group(l->file.console, t.to));
	failed = add_servers(l, &t, batch, servers, json_array_size(clients));
	if (!failed)
		failed = add_clients(l, &t, batch, clients, servers);
	json_array_append_new(json_object_get(batch, "tests"),
			      json_pack("{ss, sI, sI, ss, ss, so, so}", "type", t.type, "loop",
					(json_int_t)t.loop, "concurrency", (json_int_t)t.concurrency,
					"from", t.from, "to", t.to, "clients", clients, "servers",
					servers));
	lx_lst_end(l);
	if (!failed)
		printf("Test was added successfully\n");
	return failed ? LX_LST_EXIT_NODES : 0;
}

const struct lx_lst_verb lx_lst_test_verbs[] = {
	{ "add_test", add_test,
	  "add_test [--batch BATCH] [--loop #] [--concurrency #]  [--distribute #:#] [--from GROUP] "
	  "[--to GROUP] TEST...",
	  "add a test to a batch: ping, or brw read|write [check=none|simple|full] [size=#] [off=#]",
	  options },
	{ 0 }
};
