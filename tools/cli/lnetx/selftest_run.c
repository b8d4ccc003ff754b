/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A session of LNet selftest (selftest.md 9) from its beginning to its end; see the header. This
 * program is the console: it has the session, lnetxd sends its requests. Row of the table:
 * selftest.c.
 *
 *	make session on all nodes
 *	for each size: server parts, client parts, run, stat each second, stop, stat
 *	remove session from all nodes that have it, whatever happened
 *
 * If this program is killed, the nodes end the session after their session time-out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../common/quantity.h"
#include "../common/trans.h"
#include "interrupt.h"
#include "selftest_run.h"

#define ANSWER_MS 5000
#define SIZES_MAX 16
#define DRAIN_S 5

struct run {
	struct lx_session *session;
	struct lx_trans all, clients, servers; /* both are parts of all */
	struct lx_ctl_ask base;
	struct lx_trans_test test;
	bool force, live;
	int64_t seconds;
	uint32_t size[SIZES_MAX];
	size_t n_sizes;

	json_t *results;
	int64_t errors;
};

/* The reason of the first node that did not do @what; @failed: how many. */
static int check(struct run *r, size_t failed, const char *what)
{
	const struct lx_trans_one *one = r->all.one;
	char text[400];

	if (!failed)
		return 0;
	while (!one->failed)
		one++;
	if (one->err)
		return lx_session_fail(r->session, one->err, "%s",
				       *one->why ? one->why : strerror(-one->err));
	lx_trans_refusal(one, what, text, sizeof(text));
	return lx_session_fail(r->session, -one->status, "%s %s%s", one->nid, text,
			       one->status == EBUSY && !one->joined
				       ? "; wait for its end, or end it with \"force\""
				       : "");
}

/* ---- results ------------------------------------------------------------------------------ */

static bool is_client(const struct run *r, const struct lx_trans_one *one)
{
	return one < r->servers.one;
}

static double elapsed(const struct run *r)
{
	return lx_trans_seconds(r->all.one->begin, r->all.one->now);
}

static double rate(const struct run *r, const struct lx_trans_one *one)
{
	return lx_trans_rate(one->begin, one->now, is_client(r, one) ? "sent" : "rcvd");
}

/* Requests in flight divided by their rate (Little's law): the protocol tells no latencies. */
static double mean_ms(const struct run *r, const struct lx_trans_one *one)
{
	double in_flight = (double)r->test.concurrency * r->servers.n;

	return is_client(r, one) && rate(r, one) > 0 ? in_flight / rate(r, one) * 1000 : -1;
}

/* A client that is idle while the test runs has ended at its first error. */
static int64_t errors(const struct lx_trans_one *one)
{
	return lx_trans_errors(one->begin, one->now) +
	       lx_trans_grown(one->begin, one->now, "dropped") + one->idle;
}

static const char *test_name(const struct run *r)
{
	return r->test.rw == LX_LST_READ ? "read" : r->test.rw == LX_LST_WRITE ? "write" : "ping";
}

static void print_table(const struct run *r)
{
	printf("%s", test_name(r));
	if (r->test.rw)
		printf(" %" PRIu32 " bytes", r->test.length);
	printf(", %.1f s\n%-24s %-6s %10s %10s %9s %8s\n", elapsed(r), "NODE", "ROLE", "RPC/S",
	       "MIB/S", "MEAN MS", "ERRORS");
	lx_trans_for_each (one, &r->all) {
		printf("%-24s %-6s %10.0f %10.2f ", one->nid,
		       is_client(r, one) ? "client" : "server", rate(r, one),
		       rate(r, one) * r->test.length / (1 << 20));
		if (mean_ms(r, one) >= 0)
			printf("%9.3f", mean_ms(r, one));
		else
			printf("%9s", "-");
		printf(" %8" PRId64 "\n", errors(one));
	}
}

static void add_result(struct run *r)
{
	json_t *nodes = json_array(), *row;

	lx_trans_for_each (one, &r->all) {
		row = json_pack("{ss, ss, sf, sf, sI}", "nid", one->nid, "role",
				is_client(r, one) ? "client" : "server", "rpc_per_s", rate(r, one),
				"bytes_per_s", rate(r, one) * r->test.length, "errors",
				(json_int_t)errors(one));
		if (mean_ms(r, one) >= 0)
			json_object_set_new(row, "mean_ms", json_real(mean_ms(r, one)));
		json_array_append_new(nodes, row);
		r->errors += errors(one);
	}
	json_array_append_new(r->results, json_pack("{ss, si, sf, so}", "test", test_name(r),
						    "size", (int)r->test.length, "seconds",
						    elapsed(r), "nodes", nodes));
	if (!lx_lnetx_as_tree())
		print_table(r);
}

/* ---- one size ----------------------------------------------------------------------------- */

static int count(struct run *r, bool begin)
{
	return check(r, lx_trans_count(&r->all, begin), "show its counters");
}

/* Until time is up, Ctrl-C, or no client does anything any more. Counts before they stop. */
static int watch(struct run *r)
{
	double next = lx_trans_now(), end = next + r->seconds;
	int err;

	do {
		next = next + 1 < end ? next + 1 : end;
		while (!lx_interrupt_came() && lx_trans_now() < next)
			usleep(50000);
		err = count(r, false);
		if (!err)
			err = check(r, lx_trans_batch(&r->clients, LX_LST_BATCH_QUERY, false),
				    "stop the tests");
		if (!err && r->live) {
			/* The table again and again, in the same place. */
			print_table(r);
			printf("\033[%zuA", r->all.n + 2);
			fflush(stdout);
		}
	} while (!err && !lx_trans_idle(&r->clients) && !lx_interrupt_came() && next < end);
	return err;
}

static int run_size(struct run *r, uint32_t size)
{
	int err;

	r->test.length = size;
	lx_trans_for_each (one, &r->all)
		one->req.batch++;
	/* Servers first: they must be ready when the clients start. */
	err = check(r, lx_trans_serve(&r->servers, &r->test, r->clients.n), "serve a test");
	if (!err)
		err = check(r, lx_trans_test(&r->clients, &r->test, &r->servers), "add a test");
	if (!err)
		err = count(r, true);
	if (!err)
		err = check(r, lx_trans_batch(&r->clients, LX_LST_BATCH_RUN, false),
			    "run the tests");
	if (!err)
		err = watch(r);
	if (err)
		return err;
	add_result(r);
	return check(r, lx_trans_drain(&r->clients, DRAIN_S), "stop the tests");
}

/* ---- words -------------------------------------------------------------------------------- */

int lx_selftest_parse_size(struct lx_session *s, const char *text, uint32_t *ret)
{
	int64_t value;

	if (!lx_quantity(text, lx_quantity_bytes, 8, LX_LST_BULK_MAX, &value) || value % 8)
		return lx_session_fail(s, -EINVAL,
				       "size \"%s\": multiples of 8 up to 1m are expected "
				       "(4k,64k,1m)",
				       text);
	*ret = value;
	return 0;
}

static int parse_sizes(struct run *r, const char *list)
{
	char *copy LX_AUTO_FREE = strdup(list), *save, *word;
	int err = copy ? 0 : lx_session_fail(r->session, -ENOMEM, "out of memory");

	if (err)
		return err;
	for (word = strtok_r(copy, ",", &save); !err && word; word = strtok_r(NULL, ",", &save)) {
		if (r->n_sizes == SIZES_MAX)
			return lx_session_fail(r->session, -EINVAL, "size: more than %d",
					       SIZES_MAX);
		err = lx_selftest_parse_size(r->session, word, &r->size[r->n_sizes++]);
	}
	if (!err && !r->n_sizes)
		err = lx_session_fail(r->session, -EINVAL,
				      "size \"%s\": one or more sizes are expected "
				      "(4k,64k,1m)",
				      list);
	return err;
}

static int add_nodes(struct run *r, const char *list, const char *what)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err;

	if (!list)
		return lx_session_fail(r->session, -EINVAL,
				       "give the NIDs %s which: from NIDS to NIDS", what);
	err = lx_arg_nids(r->session, list, what, &nids, &n);
	for (size_t i = 0; !err && i < n; i++) {
		lx_trans_for_each (one, &r->all) {
			if (lx_nid_eq(&one->req.nid, &nids[i]))
				return lx_session_fail(r->session, -EINVAL, "%s is named twice",
						       lx_nid_str(&nids[i]));
		}
		lx_trans_add(&r->all, &r->base, &nids[i]);
	}
	return err;
}

static int parse(struct run *r, const struct lx_args *a)
{
	struct lx_session *s = r->session;
	const char *check = a->v[LX_ARG_CHECK] ? a->v[LX_ARG_CHECK] : "simple";
	int64_t concurrency, ms = LX_UNSET;
	size_t n_clients;
	int err = add_nodes(r, a->v[LX_ARG_SRC], "from");

	n_clients = r->all.n;
	if (!err)
		err = add_nodes(r, a->v[LX_ARG_DST], "to");
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_CONCURRENCY, "concurrency", 1, LX_LST_CONCURRENCY_MAX,
				 &concurrency);
	if (!err)
		err = lx_arg_time(s, a, LX_ARG_TIME, "time", 1000, 86400000, &ms);
	r->seconds = ms == LX_UNSET ? 10 : ms / 1000;
	r->test.check = lx_trans_check(check);
	if (!err && !r->test.check)
		err = lx_session_fail(s, -EINVAL, "check \"%s\": none, simple or full", check);
	if (!err && !!a->v[LX_ARG_READ] + !!a->v[LX_ARG_WRITE] + !!a->v[LX_ARG_PING] > 1)
		err = lx_session_fail(s, -EINVAL, "give one of read, write and ping");
	if (!err && a->v[LX_ARG_PING] && a->v[LX_ARG_SIZE])
		err = lx_session_fail(s, -EINVAL, "a ping has no size");
	if (!err)
		err = parse_sizes(r, a->v[LX_ARG_PING]   ? "8"
				     : a->v[LX_ARG_SIZE] ? a->v[LX_ARG_SIZE]
							 : "1m");
	if (err)
		return err;
	r->clients = lx_trans_part(&r->all, 0, n_clients);
	r->servers = lx_trans_part(&r->all, n_clients, LX_CTL_NIDS_MAX);
	r->test.service = a->v[LX_ARG_PING] ? LX_LST_PING : LX_LST_BRW;
	r->test.rw = a->v[LX_ARG_PING] ? 0 : a->v[LX_ARG_READ] ? LX_LST_READ : LX_LST_WRITE;
	r->test.concurrency = concurrency == LX_UNSET ? 8 : concurrency;
	r->test.loop = LX_LST_LOOP_FOREVER;
	r->test.dist = 1;
	r->test.span = r->servers.n;
	r->force = a->v[LX_ARG_FORCE];
	r->live = !lx_lnetx_as_tree() && isatty(STDOUT_FILENO);
	return 0;
}

/* ---- the command -------------------------------------------------------------------------- */

static int go(struct run *r)
{
	int err = lx_request_console(r->session, &r->base.console);
	int64_t stamp = lx_trans_stamp();
	char name[LX_LST_NAME];
	size_t failed;

	lx_trans_for_each (one, &r->all) {
		one->req.console = r->base.console;
		one->req.stamp = stamp;
	}
	snprintf(name, sizeof(name), "lnetx-%d", (int)getpid());
	for (size_t i = 0; !err && i < r->all.n && !lx_interrupt_came(); i += LX_TRANS_WINDOW) {
		struct lx_trans some = lx_trans_part(&r->all, i, LX_TRANS_WINDOW);

		err = check(r, lx_trans_join(&some, name, r->force), "join the session");
	}
	for (size_t i = 0; !err && i < r->n_sizes && !lx_interrupt_came(); i++)
		err = run_size(r, r->size[i]);
	failed = lx_trans_leave(&r->all);
	return err ? err : check(r, failed, "end the session");
}

int lx_selftest_run(struct lx_session *s, const struct lx_args *a)
{
	struct run r = { .session = s, .base.timeout_ms = ANSWER_MS };
	int err = lx_trans_new(&r.all, s->instance, 2 * LX_CTL_NIDS_MAX);

	if (err)
		return lx_session_fail(s, err, "out of memory");
	r.results = json_array();
	err = parse(&r, a);
	if (!err) {
		lx_interrupt_catch();
		err = go(&r);
	}
	if (!err && lx_lnetx_as_tree())
		lx_lnetx_print("selftest",
			       json_pack("{sb, sI, sO}", "complete", !lx_interrupt_came(), "errors",
					 (json_int_t)r.errors, "results", r.results));
	if (!err)
		err = lx_interrupt_came() ? LX_EXIT_INTERRUPTED : r.errors ? LX_EXIT_UNHEALTHY : 0;
	json_decref(r.results);
	lx_trans_free(&r.all);
	return err;
}

/* clang-format off */

const struct lx_keyword lx_selftest_run_keywords[] = {
	{ "from", LX_ARG_SRC, "NIDS" }, { "--from", LX_ARG_SRC, "NIDS" },
	{ "to", LX_ARG_DST, "NIDS" }, { "--to", LX_ARG_DST, "NIDS" },
	{ "size", LX_ARG_SIZE, "SIZES" }, { "--size", LX_ARG_SIZE, "SIZES" },
	{ "read", LX_ARG_READ, NULL }, { "--read", LX_ARG_READ, NULL },
	{ "write", LX_ARG_WRITE, NULL }, { "--write", LX_ARG_WRITE, NULL },
	{ "ping", LX_ARG_PING, NULL }, { "--ping", LX_ARG_PING, NULL },
	{ "time", LX_ARG_TIME, "TIME" }, { "--time", LX_ARG_TIME, "TIME" },
	{ "concurrency", LX_ARG_CONCURRENCY, "N" },
	{ "check", LX_ARG_CHECK, "none|simple|full" },
	{ "force", LX_ARG_FORCE, NULL }, { 0 }
};
