/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures bandwidths; see the header. Called by fabric_cmds.c.
 *
 *	make session on all nodes at a time: who does not answer, or refuses, is left out
 *	for each round, at most SLICE pairs at a time, for each direction:
 *		server part, client part, run, let it get going, stat, wait, stat, stop
 *	remove session, whatever happened
 *
 * The requests of a step go to all nodes of a slice at a time. What counts are the requests that a
 * client has sent between two stats, as many are under way at both, and the session's time on that
 * node: so it does not matter how long a stat takes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "../../user/selftest/wire.h"
#include "fabric_load.h"
#include "requests.h"
#include "selftest_run.h"
#include "trans.h"

#define SLICE 16 /* pairs at a time: bounds the load of the fabric as a whole */
#define NIS_MAX 16
#define ANSWER_MS 10000 /* of a node that has answered before */
#define WARM_UP_MS 200
#define ENOUGH 8 /* requests; a slow pair gets up to STRETCH times as long for them */
#define STRETCH 4
#define DRAIN_MS 5000
#define ALIVE_S 20 /* nodes end a session after 100 s without a request of the console */
#define SUSPECTS_MAX 16 /* pairs that are measured again: bounds the time */
#define BUSY_RAILS 50 /* messages, from which on it means something that a rail has none */

struct load_node {
	struct lx_nid nid, primary;
	bool own; /* this node */
	bool joined, gone; /* has the session; does not answer any more */
	double heard_s;
	struct lx_nid ni[NIS_MAX]; /* that this node can reach */
	size_t n_nis;
};

struct counters {
	uint32_t sent, errors, running_ms;
	double at_s;
};

struct run {
	size_t from, to;
	bool failed; /* a node left: nothing is known */
	bool idle; /* the client has stopped by itself: at an error */
	struct counters base, begin, now;
	json_t *rails; /* if this node is an end: its counters of the other end's NIs at the start
			*/
};

struct load {
	struct lx_fabric_load *result;
	struct lx_fabric *f;
	struct load_node *node;
	size_t n;
	int64_t stamp;
	uint64_t batch;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* False: Ctrl-C. */
static bool pause_ms(struct load *l, unsigned int ms)
{
	double end = now_s() + ms / 1000.0;

	while (!lx_fabric_step(l->f, NULL, 0, 0) && now_s() < end)
		usleep(20000);
	return !l->f->stopped;
}

/* ---- who might take part -------------------------------------------------------------------- */

static struct load_node *find_node(struct load *l, const struct lx_nid *primary)
{
	for (size_t i = 0; i < l->n; i++) {
		if (lx_nid_eq(&l->node[i].primary, primary))
			return &l->node[i];
	}
	return NULL;
}

static struct load_node *add_node(struct load *l, const struct lx_nid *primary)
{
	struct load_node *node = find_node(l, primary), *grown;

	if (node)
		return node;
	grown = realloc(l->node, (l->n + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	l->node = grown;
	node = &l->node[l->n++];
	*node = (struct load_node){ .primary = *primary };
	return node;
}

/* LNet selftest knows NIDs of 4-byte addresses only. */
static void add_ni(struct load_node *node, const struct lx_nid *nid)
{
	if (!lx_nid_is_nid4(nid) || node->n_nis == NIS_MAX)
		return;
	if (!node->n_nis)
		node->nid = *nid;
	node->ni[node->n_nis++] = *nid;
}

/* Gateways are on the way; as nodes they count only if the user named them. */
static bool is_only_gateway(const struct lx_fabric *f, const struct lx_nid *nid)
{
	bool is_gateway = false;

	for (size_t i = 0; i < f->n_named; i++) {
		if (lx_nid_eq(&f->node[i], nid))
			return false;
	}
	for (size_t i = 0; i < f->n_rails; i++) {
		for (unsigned int j = 0; j < f->rail[i].n_gateways; j++)
			is_gateway = is_gateway || lx_nid_eq(&f->rail[i].gateway[j], nid);
	}
	return is_gateway;
}

static int add_own(struct load *l)
{
	struct load_node *node = add_node(l, &l->result->console);
	json_t *net, *ni;
	size_t i, j;

	if (!node)
		return -ENOMEM;
	node->own = true;
	add_ni(node, &l->result->console);
	json_array_foreach (l->f->nets, i, net) {
		json_array_foreach (json_object_get(net, lx_control_nets.rows), j, ni) {
			const char *text = json_string_value(json_object_get(ni, "nid"));
			struct lx_nid nid;

			if (text && !lx_nid_parse(text, &nid) && nid.type != LX_NET_LO &&
			    !lx_nid_eq(&nid, &node->nid))
				add_ni(node, &nid);
		}
	}
	return 0;
}

static int add_peers(struct load *l)
{
	for (size_t i = 0; i < l->f->n_rails; i++) {
		const struct lx_rail *rail = &l->f->rail[i];
		struct load_node *node;

		if (!rail->answered || is_only_gateway(l->f, &rail->peer))
			continue;
		node = add_node(l, &rail->primary);
		if (!node)
			return -ENOMEM;
		add_ni(node, &rail->peer);
	}
	return 0;
}

/* The NID that @from sends to; returns whether they have a net in common. */
static bool way(const struct load_node *from, const struct load_node *to, struct lx_nid *ret_nid)
{
	for (size_t i = 0; i < to->n_nis; i++) {
		for (size_t j = 0; j < from->n_nis; j++) {
			if (lx_nid_net(&from->ni[j]) == lx_nid_net(&to->ni[i])) {
				*ret_nid = to->ni[i];
				return true;
			}
		}
	}
	*ret_nid = to->nid;
	return false;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static struct lx_control_ask request(const struct load *l, size_t node, uint32_t service)
{
	return (struct lx_control_ask){ .nid = l->node[node].nid,
					.console = l->result->console,
					.stamp = l->stamp,
					.service = service,
					.timeout_ms = ANSWER_MS,
					.batch = l->batch };
}

static int trans_new(struct lx_trans *t, size_t n)
{
	*t = (struct lx_trans){ .one = calloc(n + 1, sizeof(*t->one)) };
	return t->one ? 0 : -ENOMEM;
}

static void trans_run(struct load *l, struct lx_trans *t)
{
	lx_trans_run(t, l->f->session->instance);
}

/* Once told, it takes no further part. */
static void drop(struct load *l, size_t node, const struct lx_trans_one *one)
{
	struct load_node *n = &l->node[node];

	if (n->gone)
		return;
	n->gone = true;
	json_array_append_new(
		l->f->faults,
		json_pack("{ss, so}", "nid", lx_nid_str(&n->nid), "reason",
			  json_sprintf("it left while bandwidths were measured: %s",
				       strerror(one->err ? -one->err : one->status))));
}

/* ---- the session ------------------------------------------------------------------------------
 */

static void leave_out(struct load *l, size_t node, json_t *reason)
{
	json_array_append_new(
		l->result->left_out,
		json_pack("{ss, so}", "nid", lx_nid_str(&l->node[node].nid), "reason", reason));
}

static void note_refusal(struct load *l, size_t node, const struct lx_trans_one *one)
{
	const char *name = json_string_value(json_object_get(one->row, "session"));
	const char *console = json_string_value(json_object_get(one->row, "console"));

	if (one->err)
		json_array_append_new(l->result->silent,
				      json_string(lx_nid_str(&l->node[node].nid)));
	else if (one->status == EPERM)
		leave_out(l, node,
			  json_sprintf("does not let this node be a console; next, there: "
				       "lnetx selftest on consoles %s",
				       lx_nid_str(&l->result->console)));
	else if (one->status == EBUSY)
		leave_out(l, node,
			  json_sprintf("is in session \"%s\" of console %s", name ? name : "?",
				       console ? console : "?"));
	else
		leave_out(l, node,
			  json_sprintf("refuses to join the session: %s", strerror(one->status)));
}

/* Up to SLICE nodes from @first on. */
static int join(struct load *l, size_t first)
{
	size_t n = l->n - first < SLICE ? l->n - first : SLICE;
	struct lx_trans t;
	int err = trans_new(&t, n);

	for (; !err && t.n < n; t.n++) {
		struct lx_control_ask *req = &t.one[t.n].req;

		*req = request(l, first + t.n, LX_LST_MAKE_SESSION);
		req->timeout_ms = l->f->ask_ms;
		snprintf(req->name, sizeof(req->name), "lnetx-fabric-%d", (int)getpid());
	}
	if (!err)
		trans_run(l, &t);
	for (size_t i = 0; !err && i < n; i++) {
		struct load_node *node = &l->node[first + i];

		/*
		 * Who does not answer in time may have it all the same, until it ends by itself. It
		 * is not told to leave: where there is no selftest, that would be a second drop.
		 */
		node->joined = !t.one[i].err && !t.one[i].status;
		node->gone = t.one[i].err || t.one[i].status;
		node->heard_s = now_s();
		if (node->gone)
			note_refusal(l, first + i, &t.one[i]);
	}
	lx_trans_free(&t);
	return err;
}

/* Quietly: who does not answer ends the session by itself. */
static void leave(struct load *l)
{
	for (size_t first = 0; first < l->n; first += SLICE) {
		struct lx_trans t;

		if (trans_new(&t, SLICE))
			return;
		for (size_t i = first; i < l->n && i < first + SLICE; i++) {
			if (!l->node[i].joined)
				continue;
			t.one[t.n].req = request(l, i, LX_LST_REMOVE_SESSION);
			if (l->node[i].gone)
				t.one[t.n].req.timeout_ms = l->f->ask_ms;
			t.n++;
		}
		trans_run(l, &t);
		lx_trans_free(&t);
	}
}

static int join_all(struct load *l)
{
	struct timespec now;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	l->stamp = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	for (size_t i = 0; !err && i < l->n; i += SLICE) {
		if (lx_fabric_step(l->f, "test nodes", i, l->n))
			break;
		err = join(l, i);
	}
	return err;
}

/* ---- one step of a slice ----------------------------------------------------------------------
 */

typedef void (*fill_fn)(struct load *l, const struct run *r, struct lx_control_ask *req);
typedef void (*take_fn)(struct run *r, const struct lx_trans_one *one);

/* The same request to one end of each pair. A node that does not do it leaves. */
static int step(struct load *l, struct run *run, size_t n, bool server, uint32_t service,
		fill_fn fill, take_fn take)
{
	struct run *asked[SLICE];
	struct lx_trans t;
	int err = trans_new(&t, n);

	for (size_t i = 0; !err && i < n; i++) {
		if (run[i].failed)
			continue;
		t.one[t.n].req = request(l, server ? run[i].to : run[i].from, service);
		if (fill)
			fill(l, &run[i], &t.one[t.n].req);
		asked[t.n++] = &run[i];
	}
	if (!err)
		trans_run(l, &t);
	for (size_t i = 0; !err && i < t.n; i++) {
		size_t node = server ? asked[i]->to : asked[i]->from;

		l->node[node].heard_s = now_s();
		asked[i]->failed = t.one[i].err || t.one[i].status;
		if (asked[i]->failed)
			drop(l, node, &t.one[i]);
		else if (take)
			take(asked[i], &t.one[i]);
	}
	lx_trans_free(&t);
	return err;
}

static void fill_test(struct load *l, struct lx_control_ask *req)
{
	req->test_service = LX_LST_BRW;
	req->rw = LX_LST_WRITE;
	req->check = LX_LST_CHECK_SIMPLE;
	req->length = l->result->size;
	req->concurrency = l->result->concurrency;
}

/* Of a server part "loop" is how many requests may come at a time. */
static void fill_server(struct load *l, const struct run *r, struct lx_control_ask *req)
{
	fill_test(l, req);
	req->loop = l->result->concurrency;
}

static void fill_client(struct load *l, const struct run *r, struct lx_control_ask *req)
{
	fill_test(l, req);
	req->client = true;
	req->loop = LX_LST_LOOP_FOREVER;
	way(&l->node[r->from], &l->node[r->to], &req->dest[0]);
	req->n_dests = 1;
}

static void fill_run(struct load *l, const struct run *r, struct lx_control_ask *req)
{
	req->op = LX_LST_BATCH_RUN;
}

static void fill_stop(struct load *l, const struct run *r, struct lx_control_ask *req)
{
	req->op = LX_LST_BATCH_STOP;
}

static void fill_abort(struct load *l, const struct run *r, struct lx_control_ask *req)
{
	req->op = LX_LST_BATCH_STOP;
	req->force = true;
}

static void fill_query(struct load *l, const struct run *r, struct lx_control_ask *req)
{
	req->op = LX_LST_BATCH_QUERY;
}

static void take_idle(struct run *r, const struct lx_trans_one *one)
{
	r->idle = !lx_trans_number(one, "active");
}

static void take_counters(struct run *r, const struct lx_trans_one *one)
{
	r->now.sent = lx_trans_number(one, "sent");
	r->now.errors = lx_trans_number(one, "brw_errors") + lx_trans_number(one, "rpc_errors") +
			lx_trans_number(one, "expired");
	r->now.running_ms = lx_trans_number(one, "running_ms");
	r->now.at_s = now_s();
}

static int count(struct load *l, struct run *run, size_t n)
{
	return step(l, run, n, false, LX_LST_STAT, NULL, take_counters);
}

/* ---- rails ------------------------------------------------------------------------------------
 */

/* {NID: messages} of the other end's NIs that there are rails to; NULL: this node is no end. */
static json_t *count_rails(struct load *l, const struct run *r)
{
	const struct load_node *from = &l->node[r->from], *to = &l->node[r->to];
	const struct load_node *peer = from->own ? to : to->own ? from : NULL;
	json_t *counts = json_object(), *list, *ni, *statistics;
	struct lx_args a = { 0 };
	size_t i;

	a.v[LX_ARG_NID] = peer ? lx_nid_str(&peer->primary) : NULL;
	if (!peer || lx_request_show(l->f->session, LX_CTL_PEER, &a, 1, &list)) {
		json_decref(counts);
		return NULL;
	}
	json_array_foreach (json_object_get(json_array_get(list, 0), lx_control_peers.rows), i,
			    ni) {
		const char *text = json_string_value(json_object_get(ni, "nid"));
		struct lx_nid nid;

		statistics = json_object_get(ni, "statistics");
		for (size_t j = 0; text && !lx_nid_parse(text, &nid) && j < l->f->n_rails; j++) {
			if (!lx_nid_eq(&l->f->rail[j].peer, &nid))
				continue;
			json_object_set_new(counts, text,
					    json_integer(json_integer_value(json_object_get(
								 statistics, "send_count")) +
							 json_integer_value(json_object_get(
								 statistics, "recv_count"))));
		}
	}
	json_decref(list);
	return counts;
}

/* "one of its 2 rails carries nothing": of the end that is not this node. */
static void note_rails(struct load *l, const struct run *r)
{
	json_t *after = r->rails ? count_rails(l, r) : NULL, *value;
	struct lx_bandwidth_node *node = &l->result->b.node[l->node[r->from].own ? r->to : r->from];
	json_int_t all = 0, most = 0;
	const char *nid, *empty = NULL;
	size_t none = 0, n = json_object_size(after);

	json_object_foreach (after, nid, value) {
		json_int_t used = json_integer_value(value) -
				  json_integer_value(json_object_get(r->rails, nid));

		all += used;
		most = used > most ? used : most;
	}
	json_object_foreach (after, nid, value) {
		json_int_t used = json_integer_value(value) -
				  json_integer_value(json_object_get(r->rails, nid));

		/* A ping or two are no data. */
		if (all >= BUSY_RAILS && used < most / 20) {
			none++;
			empty = nid;
		}
	}
	if (none == 1)
		snprintf(node->rails, sizeof(node->rails),
			 "one of its %zu rails carries nothing: %s", n, empty);
	else if (none)
		snprintf(node->rails, sizeof(node->rails), "%zu of its %zu rails carry nothing",
			 none, n);
	json_decref(after);
}

/* ---- one slice --------------------------------------------------------------------------------
 */

static int prepare(struct load *l, struct run *run, size_t n)
{
	int err;

	l->batch++;
	/* Servers first: they must be ready when the clients start. */
	err = step(l, run, n, true, LX_LST_TEST, fill_server, NULL);
	if (!err)
		err = step(l, run, n, false, LX_LST_TEST, fill_client, NULL);
	if (!err)
		err = count(l, run, n);
	for (size_t i = 0; !err && i < n; i++) {
		run[i].base = run[i].now;
		run[i].rails = count_rails(l, &run[i]);
	}
	return err;
}

static bool is_enough(const struct run *run, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!run[i].failed && !run[i].idle && run[i].now.sent - run[i].begin.sent < ENOUGH)
			return false;
	}
	return true;
}

/* Stopped by Ctrl-C: returns 0. */
static int measure(struct load *l, struct run *run, size_t n)
{
	int err = step(l, run, n, false, LX_LST_BATCH, fill_run, NULL);

	if (err || !pause_ms(l, WARM_UP_MS))
		return err;
	err = count(l, run, n);
	for (size_t i = 0; i < n; i++)
		run[i].begin = run[i].now;
	for (int i = 0; !err && i < STRETCH && pause_ms(l, l->result->ms); i++) {
		err = count(l, run, n);
		if (!err)
			err = step(l, run, n, false, LX_LST_BATCH, fill_query, take_idle);
		if (is_enough(run, n))
			break;
	}
	return err;
}

static bool all_idle(const struct run *run, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!run[i].failed && !run[i].idle)
			return false;
	}
	return true;
}

/* Lets what is under way end, so that it takes nothing from the next pairs. */
static int drain(struct load *l, struct run *run, size_t n)
{
	double end = now_s() + DRAIN_MS / 1000.0;
	int err = step(l, run, n, false, LX_LST_BATCH, fill_stop, NULL);

	while (!err && !l->f->stopped) {
		err = step(l, run, n, false, LX_LST_BATCH, fill_query, take_idle);
		if (err || all_idle(run, n))
			return err;
		if (now_s() > end)
			break;
		pause_ms(l, 20);
	}
	return err ? err : step(l, run, n, false, LX_LST_BATCH, fill_abort, NULL);
}

static double seconds(const struct run *r)
{
	double here = r->now.at_s - r->begin.at_s;
	double there = (uint32_t)(r->now.running_ms - r->begin.running_ms) / 1000.0;

	return there > here / 2 && there < here * 2 ? there : here;
}

static void take_result(struct load *l, struct run *r)
{
	struct lx_bandwidth_cell *cell = lx_bandwidth_at(&l->result->b, r->from, r->to);
	const struct load_node *from = &l->node[r->from], *to = &l->node[r->to];
	uint32_t done = r->now.sent - r->begin.sent;
	struct lx_nid nid;

	if (r->failed)
		return;
	cell->errors = r->now.errors - r->base.errors;
	if (!cell->errors && done) {
		cell->rate = (double)done * l->result->size / seconds(r);
		cell->state = LX_BANDWIDTH_WELL;
		note_rails(l, r);
	} else if (from->own || to->own || way(from, to, &nid)) {
		cell->state = LX_BANDWIDTH_FAILED;
	} /* else they have no net in common, and need not have a route to each other */
}

/* Told in @ret_run: the pairs whose nodes are both still there. */
static size_t present(const struct load *l, const struct lx_bandwidth_pair *pair, size_t n,
		      bool back, struct run *ret_run)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		struct run r = { .from = back ? pair[i].b : pair[i].a,
				 .to = back ? pair[i].a : pair[i].b };

		if (!l->node[r.from].gone && !l->node[r.to].gone)
			ret_run[found++] = r;
	}
	return found;
}

static int run_slice(struct load *l, const struct lx_bandwidth_pair *pair, size_t n, bool back)
{
	struct run run[SLICE];
	size_t there = present(l, pair, n, back, run);
	int err = prepare(l, run, there);

	if (!err)
		err = measure(l, run, there);
	for (size_t i = 0; i < there; i++) {
		if (!err && !l->f->stopped)
			take_result(l, &run[i]);
		json_decref(run[i].rails);
		run[i].rails = NULL;
	}
	return err ? err : drain(l, run, there);
}

/* ---- all of them ------------------------------------------------------------------------------
 */

/* Those that have had nothing to do for a while. */
static int keep_alive(struct load *l)
{
	struct lx_trans t;
	int err = trans_new(&t, l->n);

	for (size_t i = 0; !err && i < l->n; i++) {
		if (l->node[i].gone || now_s() - l->node[i].heard_s < ALIVE_S)
			continue;
		t.one[t.n++].req = request(l, i, LX_LST_STAT);
		l->node[i].heard_s = now_s();
	}
	if (!err)
		trans_run(l, &t);
	lx_trans_free(&t);
	return err;
}

static int run_pairs(struct load *l, const struct lx_bandwidth_pair *pair, size_t n,
		     const char *what, size_t done, size_t all)
{
	int err = 0;

	for (int back = 0; !err && back < 2; back++) {
		if (lx_fabric_step(l->f, what, done, all))
			return 0;
		err = keep_alive(l);
		if (!err)
			err = run_slice(l, pair, n, back);
	}
	return err;
}

static bool is_suspect(const struct load *l, size_t from, size_t to)
{
	const struct lx_bandwidth_cell *cell = lx_bandwidth_at(&l->result->b, from, to);

	return cell->state == LX_BANDWIDTH_LOW || cell->state == LX_BANDWIDTH_FAILED;
}

/* What seems low, or failed, is measured a second time, alone. That counts. */
static int run_suspects(struct load *l)
{
	struct lx_bandwidth_pair suspect[SUSPECTS_MAX];
	size_t n = 0;
	int err = 0;

	lx_bandwidth_judge(&l->result->b, l->result->low);
	for (size_t a = 0; a < l->n; a++) {
		for (size_t b = a + 1; b < l->n && n < SUSPECTS_MAX; b++) {
			if (is_suspect(l, a, b) || is_suspect(l, b, a))
				suspect[n++] = (struct lx_bandwidth_pair){ a, b };
		}
	}
	for (size_t i = 0; !err && i < n && !l->f->stopped; i++)
		err = run_pairs(l, &suspect[i], 1, "suspect pairs", i, n);
	return err;
}

static int run_rounds(struct load *l)
{
	struct lx_fabric_load *result = l->result;
	struct lx_bandwidth_pair *pair LX_AUTO_FREE = calloc(l->n + 1, sizeof(*pair));
	int err = pair ? 0 : -ENOMEM;
	size_t all;

	result->all_pairs = l->n * (l->n - 1) / 2;
	all = result->all_pairs < result->max_pairs ? result->all_pairs : result->max_pairs;
	for (size_t round = 0; !err && round < lx_bandwidth_rounds(l->n); round++) {
		size_t n = lx_bandwidth_round(l->n, round, pair);

		for (size_t i = 0; !err && i < n && result->pairs < result->max_pairs; i += SLICE) {
			size_t left = result->max_pairs - result->pairs;
			size_t some = n - i < SLICE ? n - i : SLICE;

			some = some < left ? some : left;
			err = run_pairs(l, pair + i, some, "pairs", result->pairs, all);
			if (l->f->stopped)
				return 0;
			result->pairs += err ? 0 : some;
		}
	}
	return err;
}

/* Only those that have the session stay, so that indexes are those of the result. */
static int keep_joined(struct load *l)
{
	struct lx_nid *nids LX_AUTO_FREE = calloc(l->n + 1, sizeof(*nids));
	struct load_node *late LX_AUTO_FREE = calloc(l->n + 1, sizeof(*late));
	size_t n = 0, n_late = 0, all = l->n;

	if (!nids || !late)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		if (l->node[i].gone) {
			late[n_late++] = l->node[i];
			continue;
		}
		l->node[n] = l->node[i];
		nids[n] = l->node[n].nid;
		n++;
	}
	memcpy(l->node + n, late, n_late * sizeof(*late));
	return lx_bandwidth_init(&l->result->b, nids, n);
}

static int go(struct load *l)
{
	size_t all = l->n;
	int err = join_all(l);

	if (!err && !l->f->stopped)
		err = keep_joined(l);
	if (!err && !l->f->stopped && l->result->b.n > 1) {
		l->n = l->result->b.n;
		err = run_rounds(l);
		if (!err && !l->f->stopped)
			err = run_suspects(l);
	}
	l->n = all;
	leave(l);
	return err;
}

/* Nodes that cannot be asked at all. */
static void leave_out_others(struct load *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!l->node[i].n_nis) {
			l->node[i].nid = l->node[i].primary;
			leave_out(l, i,
				  json_string("has no NID with a 4-byte address, which LNet "
					      "selftest needs"));
		} else if (n == LX_BANDWIDTH_NODES_MAX) {
			leave_out(l, i,
				  json_sprintf("is more than the %d nodes that are measured at a "
					       "time; next: name those to check",
					       LX_BANDWIDTH_NODES_MAX));
		} else {
			l->node[n++] = l->node[i];
		}
	}
	l->n = n;
}

int lx_fabric_load(struct lx_fabric_load *result, struct lx_fabric *f)
{
	struct load l = { .result = result, .f = f };
	int err;

	result->silent = json_array();
	result->left_out = json_array();
	result->console = lx_nid_any;
	err = lx_selftest_find_console(f->session, &result->console);
	if (err == -ENODEV)
		return 0; /* nobody could take part */
	if (!err && (add_own(&l) || add_peers(&l)))
		err = -ENOMEM;
	if (!err) {
		leave_out_others(&l);
		if (l.n > 1)
			err = go(&l);
	}
	free(l.node);
	return err == -ENOMEM ? lx_session_fail(f->session, err, "out of memory") : err;
}

void lx_fabric_load_fini(struct lx_fabric_load *l)
{
	lx_bandwidth_fini(&l->b);
	json_decref(l->silent);
	json_decref(l->left_out);
}
