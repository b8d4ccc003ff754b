/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A session of LNet selftest (selftest.md 9) from its beginning to its end; see the header. This
 * program is the console: it has the session, lnetxd sends its requests one by one. Row of the
 * table: selftest.c.
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
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "../../user/selftest/wire.h"
#include "interrupt.h"
#include "json.h"
#include "quantity.h"
#include "selftest_run.h"
#include "tree.h"

#define ANSWER_MS 5000
#define SIZES_MAX 16
#define DRAIN_S 5

struct counters {
	int64_t requests; /* made, or served */
	int64_t errors;
};

struct node {
	struct lx_nid nid;
	bool client; /* makes the requests; else serves them */
	bool joined; /* has the session */
	bool idle; /* its tests have ended before they were stopped */
	struct counters begin, now;
};

struct run {
	struct lx_session *session;
	struct node *node; /* clients first */
	size_t n_nodes, n_clients;
	struct lx_nid console;
	int64_t stamp;
	bool force, live;
	uint32_t rw; /* 0: ping */
	uint32_t check, concurrency;
	int64_t seconds;
	uint32_t size[SIZES_MAX];
	size_t n_sizes;

	uint64_t batch;
	double begin_s;
	double elapsed_s;
	json_t *results;
	int64_t errors;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- one request -------------------------------------------------------------------------- */

static int add_row(const void *attrs, size_t len, void *arg)
{
	return lx_tree_add(arg, &lx_control_answers, attrs, len, LX_LEVEL_OWN);
}

static struct lx_control_ask request(const struct run *r, const struct node *n, uint32_t service)
{
	return (struct lx_control_ask){ .nid = n->nid, .console = r->console, .stamp = r->stamp,
					.service = service, .timeout_ms = ANSWER_MS,
					.batch = r->batch };
}

/* @ret_row: the answer, to be freed by the caller. Returns a negative errno with its reason. */
static int ask(struct run *r, const struct lx_control_ask *req, const char *what, json_t **ret_row)
{
	json_t *list = json_array(), *row;
	int err = lx_session_ask(r->session, req, add_row, list);

	row = err ? NULL : json_incref(json_array_get(list, 0));
	json_decref(list);
	if (!err && !row)
		return lx_session_fail(r->session, -EPROTO, "lnetxd sent no answer of %s",
				       lx_nid_str(&req->nid));
	if (!err && lx_json_int(row, "status")) {
		err = -(int)lx_json_int(row, "status");
		lx_session_fail(r->session, err, "%s refuses to %s: %s", lx_nid_str(&req->nid),
				what, strerror(-err));
	}
	if (!err || (row && err == -EBUSY))
		*ret_row = row;
	else
		json_decref(row);
	return err;
}

/* The same without looking at the answer. */
static int order(struct run *r, const struct lx_control_ask *req, const char *what)
{
	json_t *row = NULL;
	int err = ask(r, req, what, &row);

	json_decref(row);
	return err;
}

/* ---- sessions ----------------------------------------------------------------------------- */

static int join(struct run *r, struct node *n)
{
	struct lx_control_ask req = request(r, n, LX_LST_MAKE_SESSION);
	const char *name, *console;
	json_t *row = NULL;
	int err;

	snprintf(req.name, sizeof(req.name), "lnetx-%d", (int)getpid());
	req.force = r->force;
	err = ask(r, &req, "join the session", &row);
	name = json_string_value(json_object_get(row, "session"));
	console = json_string_value(json_object_get(row, "console"));
	if (err == -EBUSY)
		lx_session_fail(r->session, err,
				"%s is in session \"%s\" of console %s; wait for its end, or end it "
				"with \"force\"", lx_nid_str(&n->nid), name ? name : "?",
				console ? console : "?");
	if (err == -EPERM)
		lx_session_fail(r->session, err,
				"%s does not let this node be a console; next, there: lnetx "
				"selftest on consoles %s", lx_nid_str(&n->nid),
				lx_nid_str(&r->console));
	json_decref(row);
	n->joined = !err;
	return err;
}

/* Of all nodes that have it; the first failure is reported if nothing else was. */
static int leave_all(struct run *r, int err)
{
	struct lx_session first = *r->session;

	for (size_t i = 0; i < r->n_nodes; i++) {
		struct lx_control_ask req = request(r, &r->node[i], LX_LST_REMOVE_SESSION);
		int failed = r->node[i].joined ? order(r, &req, "end the session") : 0;

		if (failed && !err) {
			err = failed;
			first = *r->session;
		}
	}
	if (err < 0 && first.error)
		lx_session_fail(r->session, first.error, "%s", first.text);
	return err;
}

/* ---- counters ----------------------------------------------------------------------------- */

static int count(struct run *r, struct node *n, struct counters *ret)
{
	struct lx_control_ask req = request(r, n, LX_LST_STAT);
	json_t *row = NULL;
	int err = ask(r, &req, "show its counters", &row);

	if (!err) {
		ret->requests = lx_json_int(row, n->client ? "sent" : "rcvd");
		ret->errors = lx_json_int(row, "brw_errors") + lx_json_int(row, "ping_errors") +
			      lx_json_int(row, "rpc_errors") + lx_json_int(row, "expired") +
			      lx_json_int(row, "dropped");
	}
	json_decref(row);
	return err;
}

static int count_all(struct run *r, bool begin)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->n_nodes; i++) {
		struct node *n = &r->node[i];

		err = count(r, n, &n->now);
		if (begin)
			n->begin = n->now;
	}
	r->elapsed_s = begin ? 0 : now_s() - r->begin_s;
	return err;
}

/* ---- results ------------------------------------------------------------------------------ */

static double rate(const struct run *r, const struct node *n)
{
	return r->elapsed_s > 0 ? (n->now.requests - n->begin.requests) / r->elapsed_s : 0;
}

/* Requests in flight divided by their rate (Little's law): the protocol tells no latencies. */
static double mean_ms(const struct run *r, const struct node *n)
{
	double in_flight = (double)r->concurrency * (r->n_nodes - r->n_clients);

	return n->client && rate(r, n) > 0 ? in_flight / rate(r, n) * 1000 : -1;
}

static int64_t errors(const struct node *n)
{
	return n->now.errors - n->begin.errors + (n->client && n->idle);
}

static const char *test_name(const struct run *r)
{
	return r->rw == LX_LST_READ ? "read" : r->rw == LX_LST_WRITE ? "write" : "ping";
}

static void print_table(const struct run *r, uint32_t size)
{
	printf("%s", test_name(r));
	if (r->rw)
		printf(" %" PRIu32 " bytes", size);
	printf(", %.1f s\n%-24s %-6s %10s %10s %9s %8s\n", r->elapsed_s, "NODE", "ROLE", "RPC/S",
	       "MIB/S", "MEAN MS", "ERRORS");
	for (size_t i = 0; i < r->n_nodes; i++) {
		const struct node *n = &r->node[i];

		printf("%-24s %-6s %10.0f %10.2f ", lx_nid_str(&n->nid),
		       n->client ? "client" : "server", rate(r, n),
		       rate(r, n) * size / (1 << 20));
		if (mean_ms(r, n) >= 0)
			printf("%9.3f", mean_ms(r, n));
		else
			printf("%9s", "-");
		printf(" %8" PRId64 "\n", errors(n));
	}
}

static void add_result(struct run *r, uint32_t size)
{
	json_t *nodes = json_array(), *row;

	for (size_t i = 0; i < r->n_nodes; i++) {
		const struct node *n = &r->node[i];

		row = json_pack("{ss, ss, sf, sf, sI}", "nid", lx_nid_str(&n->nid), "role",
				n->client ? "client" : "server", "rpc_per_s", rate(r, n),
				"bytes_per_s", rate(r, n) * size, "errors", (json_int_t)errors(n));
		if (mean_ms(r, n) >= 0)
			json_object_set_new(row, "mean_ms", json_real(mean_ms(r, n)));
		json_array_append_new(nodes, row);
		r->errors += errors(n);
	}
	json_array_append_new(r->results,
			      json_pack("{ss, si, sf, so}", "test", test_name(r), "size", (int)size,
					"seconds", r->elapsed_s, "nodes", nodes));
}

/* The table again and again, in the same place. */
static void show_live(const struct run *r, uint32_t size)
{
	if (!r->live)
		return;
	print_table(r, size);
	printf("\033[%zuA", r->n_nodes + 2);
	fflush(stdout);
}

/* ---- one size ----------------------------------------------------------------------------- */

static int add_part(struct run *r, struct node *n, uint32_t size)
{
	struct lx_control_ask req = request(r, n, LX_LST_TEST);
	size_t servers = r->n_nodes - r->n_clients;

	req.client = n->client;
	req.test_service = r->rw ? LX_LST_BRW : LX_LST_PING;
	req.rw = r->rw;
	req.check = r->check;
	req.length = size;
	req.concurrency = r->concurrency;
	/* Of a server part: how many requests may come at a time. */
	req.loop = n->client ? LX_LST_LOOP_FOREVER : r->concurrency * r->n_clients;
	for (size_t i = 0; n->client && i < servers; i++)
		req.dest[req.n_dests++] = r->node[r->n_clients + i].nid;
	return order(r, &req, n->client ? "add a test" : "serve a test");
}

static int batch_op(struct run *r, struct node *n, uint32_t op, bool force, int64_t *ret_active)
{
	struct lx_control_ask req = request(r, n, LX_LST_BATCH);
	json_t *row = NULL;
	int err;

	req.op = op;
	req.force = force;
	err = ask(r, &req, op == LX_LST_BATCH_RUN ? "run the tests" : "stop the tests", &row);
	if (ret_active)
		*ret_active = lx_json_int(row, "active");
	json_decref(row);
	return err;
}

static int each_client(struct run *r, uint32_t op, bool force)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->n_clients; i++)
		err = batch_op(r, &r->node[i], op, force, NULL);
	return err;
}

/* A client that is idle while the test runs has ended at its first error. */
static int note_idle(struct run *r, bool *ret_all)
{
	int err = 0;

	*ret_all = true;
	for (size_t i = 0; !err && i < r->n_clients; i++) {
		int64_t active = 0;

		err = batch_op(r, &r->node[i], LX_LST_BATCH_QUERY, false, &active);
		r->node[i].idle = !active;
		*ret_all = *ret_all && !active;
	}
	return err;
}

/* Lets what is under way end; aborts it if that takes long. */
static int drain(struct run *r)
{
	double end = now_s() + DRAIN_S;
	int err = each_client(r, LX_LST_BATCH_STOP, false);

	for (size_t i = 0; !err && i < r->n_clients; i++) {
		int64_t active = 1;

		while (!err && active && now_s() < end) {
			err = batch_op(r, &r->node[i], LX_LST_BATCH_QUERY, false, &active);
			if (!err && active)
				usleep(20000);
		}
		if (!err && active)
			err = batch_op(r, &r->node[i], LX_LST_BATCH_STOP, true, NULL);
	}
	return err;
}

/* Until time is up, Ctrl-C, or no client does anything any more. */
static int watch(struct run *r, uint32_t size)
{
	double end = r->begin_s + r->seconds, next = r->begin_s + 1;
	bool idle = false;
	int err = 0;

	while (!err && !idle && !lx_interrupted() && now_s() < end) {
		double until = next < end ? next : end;

		while (!lx_interrupted() && now_s() < until)
			usleep(50000);
		next += 1;
		err = count_all(r, false);
		if (!err)
			err = note_idle(r, &idle);
		if (!err)
			show_live(r, size);
	}
	return err;
}

static int run_size(struct run *r, uint32_t size)
{
	int err = 0;

	r->batch++;
	/* Servers first: they must be ready when the clients start. */
	for (size_t i = r->n_nodes; !err && i-- > 0;)
		err = add_part(r, &r->node[i], size);
	if (!err)
		err = count_all(r, true);
	r->begin_s = now_s();
	if (!err)
		err = each_client(r, LX_LST_BATCH_RUN, false);
	if (!err)
		err = watch(r, size);
	if (!err)
		err = count_all(r, false); /* before they stop: the time is that of the traffic */
	if (!err)
		err = drain(r);
	if (err)
		return err;
	add_result(r, size);
	if (!lx_lnetx_as_tree())
		print_table(r, size);
	return 0;
}

/* ---- words -------------------------------------------------------------------------------- */

int lx_selftest_parse_size(struct lx_session *s, const char *text, uint32_t *ret)
{
	int64_t value;

	if (!lx_quantity(text, lx_quantity_bytes, 8, LX_LST_BULK_MAX, &value) || value % 8)
		return lx_session_fail(s, -EINVAL, "size \"%s\": multiples of 8 up to 1m are expected "
				       "(4k,64k,1m)", text);
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
			return lx_session_fail(r->session, -EINVAL, "size: more than %d", SIZES_MAX);
		err = lx_selftest_parse_size(r->session, word, &r->size[r->n_sizes++]);
	}
	if (!err && !r->n_sizes)
		err = lx_session_fail(r->session, -EINVAL, "size \"%s\": one or more sizes are expected "
				      "(4k,64k,1m)", list);
	return err;
}

static int parse_check(struct lx_session *s, const char *text, uint32_t *ret)
{
	static const char *const names[] = { "none", "simple", "full" };

	for (int i = 0; i < 3; i++) {
		if (!strcmp(text, names[i])) {
			*ret = LX_LST_CHECK_NONE + i;
			return 0;
		}
	}
	return lx_session_fail(s, -EINVAL, "check \"%s\": none, simple or full", text);
}

static int add_nodes(struct run *r, const char *list, const char *what, bool client)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	struct node *grown;
	size_t n = 0;
	int err;

	if (!list)
		return lx_session_fail(r->session, -EINVAL, "give the NIDs %s which: from NIDS to NIDS",
				       what);
	err = lx_arg_nids(r->session, list, what, &nids, &n);
	if (err)
		return err;
	grown = realloc(r->node, (r->n_nodes + n) * sizeof(*grown));
	if (!grown)
		return lx_session_fail(r->session, -ENOMEM, "out of memory");
	r->node = grown;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < r->n_nodes; j++) {
			if (lx_nid_eq(&r->node[j].nid, &nids[i]))
				return lx_session_fail(r->session, -EINVAL, "%s is named twice",
						       lx_nid_str(&nids[i]));
		}
		r->node[r->n_nodes++] = (struct node){ .nid = nids[i], .client = client };
	}
	return 0;
}

static int parse(struct run *r, const struct lx_args *a)
{
	struct lx_session *s = r->session;
	int64_t concurrency, ms = LX_UNSET;
	int err = add_nodes(r, a->v[LX_ARG_SRC], "from", true);

	r->n_clients = r->n_nodes;
	if (!err)
		err = add_nodes(r, a->v[LX_ARG_DST], "to", false);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_CONCURRENCY, "concurrency", 1, LX_LST_CONCURRENCY_MAX,
				 &concurrency);
	if (!err)
		err = lx_arg_time(s, a, LX_ARG_TIME, "time", 1000, 86400000, &ms);
	r->seconds = ms == LX_UNSET ? 10 : ms / 1000;
	if (!err)
		err = parse_check(s, a->v[LX_ARG_CHECK] ? a->v[LX_ARG_CHECK] : "simple", &r->check);
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
	r->rw = a->v[LX_ARG_PING] ? 0 : a->v[LX_ARG_READ] ? LX_LST_READ : LX_LST_WRITE;
	r->concurrency = concurrency == LX_UNSET ? 8 : concurrency;
	r->force = a->v[LX_ARG_FORCE];
	r->live = !lx_lnetx_as_tree() && isatty(STDOUT_FILENO);
	return 0;
}

/* ---- the command -------------------------------------------------------------------------- */

int lx_selftest_find_console(struct lx_session *s, struct lx_nid *ret_nid)
{
	json_t *nets, *net, *ni;
	size_t i, j;
	int err = lx_request_show_all(s, LX_CTL_NET, 1, &nets);

	if (err)
		return err;
	*ret_nid = lx_nid_any;
	json_array_foreach (nets, i, net) {
		json_array_foreach (json_object_get(net, lx_control_nets.rows), j, ni) {
			const char *text = json_string_value(json_object_get(ni, "nid"));
			struct lx_nid nid;

			if (text && lx_nid_is_any(ret_nid) && !lx_nid_parse(text, &nid) &&
			    nid.type != LX_NET_LO && lx_nid_is_nid4(&nid))
				*ret_nid = nid;
		}
	}
	json_decref(nets);
	return lx_nid_is_any(ret_nid)
		       ? lx_session_fail(s, -ENODEV, "this node has no NID with a 4-byte "
					 "address, which LNet selftest needs; next: lnetx net add")
		       : 0;
}

static int go(struct run *r)
{
	struct timespec now;
	int err = lx_selftest_find_console(r->session, &r->console);

	clock_gettime(CLOCK_REALTIME, &now);
	r->stamp = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	for (size_t i = 0; !err && i < r->n_nodes && !lx_interrupted(); i++)
		err = join(r, &r->node[i]);
	for (size_t i = 0; !err && i < r->n_sizes && !lx_interrupted(); i++)
		err = run_size(r, r->size[i]);
	return leave_all(r, err);
}

int lx_selftest_run(struct lx_session *s, const struct lx_args *a)
{
	struct run r = { .session = s, .results = json_array() };
	int err = parse(&r, a);

	if (!err) {
		lx_interrupt_catch();
		err = go(&r);
	}
	if (!err && lx_lnetx_as_tree())
		lx_lnetx_print("selftest", json_pack("{sb, sI, sO}", "complete", !lx_interrupted(),
						     "errors", (json_int_t)r.errors, "results",
						     r.results));
	if (!err)
		err = lx_interrupted() ? LX_EXIT_INTERRUPTED : r.errors ? LX_EXIT_UNHEALTHY : 0;
	json_decref(r.results);
	free(r.node);
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
	{ "force", LX_ARG_FORCE, NULL }, { NULL, 0, NULL }
};
