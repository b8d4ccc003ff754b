/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measures bandwidths; see the header. Called by fabric_cmds.c.
 *
 *	make session on all nodes at a time: who does not answer, or refuses, is left out
 *	for each round, at most SLICE pairs at a time, for each direction:
 *		server part, client part, run, let it get going, stat, wait, stat, stop
 *	remove session, whatever happened
 *
 * The requests of a step go to all nodes of a slice at a time. The result is the requests that a
 * client has sent between two stats, as many are under way at both.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/grow.h"
#include "../common/json.h"
#include "../common/requests.h"
#include "../common/trans.h"
#include "fabric_load.h"

#define SLICE 16 /* pairs at a time: bounds the load of the fabric as a whole */
#define NIS_MAX 16
#define ANSWER_MS 10000 /* of a node that has answered before */
#define WARM_UP_MS 200
#define ENOUGH 8 /* requests; a slow pair gets up to STRETCH times as long for them */
#define STRETCH 4
#define DRAIN_S 5
#define ALIVE_S 20 /* nodes end a session after 100 s without a request of the console */
#define SUSPECTS_MAX 16 /* pairs that are measured again: bounds the time */
#define BUSY_RAILS 50 /* messages, from which on it means something that a rail has none */

struct load_node {
	struct lx_nid nid, primary;
	bool own; /* this node */
	bool gone; /* does not answer any more */
	double heard_s;
	struct lx_nid ni[NIS_MAX]; /* that this node can reach */
	size_t n_nis;
};

/* Pairs at a time. The client is the one that sends. */
struct slice {
	struct {
		size_t from, to;
		json_t *base; /* the client's counters before it began */
		json_t *rails; /* the same of this node, of the other end's NIs, if it is an end */
	} pair[SLICE];
	struct lx_trans client, server; /* one of each pair */
};

struct load {
	struct lx_fabric_load *result;
	struct lx_fabric *f;
	struct load_node *node;
	size_t n;
	struct lx_ctl_ask base;
};

/* False: Ctrl-C. */
static bool pause_ms(struct load *l, unsigned int ms)
{
	double end = lx_trans_now() + ms / 1000.0;

	while (!lx_fabric_step(l->f, NULL, 0, 0) && lx_trans_now() < end)
		usleep(20000);
	return !l->f->stopped;
}

/* ---- who might take part -------------------------------------------------------------------- */

static struct load_node *add_node(struct load *l, const struct lx_nid *primary)
{
	struct load_node *added;

	for (size_t i = 0; i < l->n; i++) {
		if (lx_nid_eq(&l->node[i].primary, primary))
			return &l->node[i];
	}
	added = lx_grow(&l->node, &l->n, sizeof(*added));
	if (added)
		added->primary = *primary;
	return added;
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

static int add_own_ni(struct lx_fabric *f, const json_t *ni, const struct lx_nid *nid, void *node)
{
	if (!lx_nid_eq(nid, &((struct load_node *)node)->nid))
		add_ni(node, nid);
	return 0;
}

static int add_own(struct load *l)
{
	struct load_node *node = add_node(l, &l->result->console);

	if (!node)
		return -ENOMEM;
	node->own = true;
	add_ni(node, &l->result->console);
	return lx_fabric_each_ni(l->f, add_own_ni, node);
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

/* ---- the session ---------------------------------------------------------------------------- */

static void leave_out(struct load *l, size_t node, json_t *reason)
{
	json_array_append_new(
		l->result->left_out,
		json_pack("{ss, so}", "nid", lx_nid_str(&l->node[node].nid), "reason", reason));
}

static void note_refusal(struct load *l, size_t node, const struct lx_trans_one *one)
{
	char text[400];

	if (one->err) {
		json_array_append_new(l->result->silent, json_string(one->nid));
		return;
	}
	lx_trans_refusal(one, "join the session", text, sizeof(text));
	leave_out(l, node, json_string(text));
}

/*
 * Only those that have the session stay. A node that does not answer in time may have it all
 * the same, until it ends by itself. It is not told to leave: where there is no selftest, that
 * would be a second drop.
 */
static int join_all(struct load *l)
{
	char name[LX_LST_NAME];
	struct lx_trans t;
	size_t n = 0;
	int err = lx_trans_new(&t, l->f->session->instance, l->n);

	l->base.console = l->result->console;
	l->base.stamp = lx_trans_stamp();
	snprintf(name, sizeof(name), "lnetx-fabric-%d", (int)getpid());
	for (size_t i = 0; !err && i < l->n; i++)
		lx_trans_add(&t, &l->base, &l->node[i].nid)->req.timeout_ms = l->f->ask_ms;
	for (size_t i = 0; i < t.n && !lx_fabric_step(l->f, "test nodes", i, t.n);
	     i += LX_TRANS_WINDOW) {
		struct lx_trans some = lx_trans_part(&t, i, LX_TRANS_WINDOW);

		lx_trans_join(&some, name, false);
	}
	for (size_t i = 0; i < t.n; i++) {
		if (t.one[i].failed)
			note_refusal(l, i, &t.one[i]);
		l->node[n] = l->node[i];
		l->node[n].heard_s = t.one[i].heard_s;
		n += t.one[i].joined;
	}
	l->n = n;
	lx_trans_free(&t);
	return err;
}

/* Quietly: who does not answer ends the session by itself. */
static void leave(struct load *l)
{
	struct lx_trans t;

	if (lx_trans_new(&t, l->f->session->instance, l->n))
		return;
	for (size_t i = 0; i < l->n; i++)
		lx_trans_add(&t, &l->base, &l->node[i].nid)->req.timeout_ms =
			l->node[i].gone ? l->f->ask_ms : ANSWER_MS;
	lx_trans_ask(&t, LX_LST_REMOVE_SESSION);
	lx_trans_free(&t);
}

/* Those that have had nothing to do for a while. */
static int keep_alive(struct load *l)
{
	struct lx_trans t;
	int err = lx_trans_new(&t, l->f->session->instance, l->n);

	for (size_t i = 0; !err && i < l->n; i++) {
		if (l->node[i].gone || lx_trans_now() - l->node[i].heard_s < ALIVE_S)
			continue;
		lx_trans_add(&t, &l->base, &l->node[i].nid);
		l->node[i].heard_s = lx_trans_now();
	}
	lx_trans_ask(&t, LX_LST_STAT);
	lx_trans_free(&t);
	return err;
}

/* ---- rails ---------------------------------------------------------------------------------- */

/* {NID: messages} of the other end's NIs that there are rails to; NULL: this node is no end. */
static json_t *count_rails(struct load *l, size_t from, size_t to)
{
	const struct load_node *peer = l->node[from].own ? &l->node[to]
				       : l->node[to].own ? &l->node[from]
							 : NULL;
	json_t *counts, *found, *ni;
	struct lx_args a = { 0 };
	size_t i;

	a.v[LX_ARG_NID] = peer ? lx_nid_str(&peer->primary) : NULL;
	if (!peer || lx_request_first(l->f->session, LX_CTL_PEER, &a, 1, &found))
		return NULL;
	counts = json_object();
	json_array_foreach (json_object_get(found, lx_object_peers.rows), i, ni) {
		const json_t *statistics = json_object_get(ni, "statistics");
		const char *text = lx_json_text(ni, "nid");
		struct lx_nid nid;

		for (size_t j = 0; !lx_nid_parse(text, &nid) && j < l->f->n_rails; j++) {
			if (lx_nid_eq(&l->f->rail[j].peer, &nid))
				json_object_set_new(
					counts, text,
					json_integer(lx_json_int(statistics, "send_count") +
						     lx_json_int(statistics, "recv_count")));
		}
	}
	json_decref(found);
	return counts;
}

/* "one of its 2 rails carries nothing": of the end that is not this node. */
static void note_rails(struct load *l, size_t from, size_t to, const json_t *before)
{
	json_t *rails = before ? count_rails(l, from, to) : NULL, *used;
	struct lx_bandwidth_node *node = &l->result->b.node[l->node[from].own ? to : from];
	json_int_t all = 0, most = 0;
	const char *nid, *empty = NULL;
	size_t none = 0, n = json_object_size(rails);

	json_object_foreach (rails, nid, used) {
		json_int_t more = json_integer_value(used) - lx_json_int(before, nid);

		json_integer_set(used, more);
		all += more;
		most = more > most ? more : most;
	}
	json_object_foreach (rails, nid, used) {
		/* A ping or two are no data. */
		if (all >= BUSY_RAILS && json_integer_value(used) < most / 20) {
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
	json_decref(rails);
}

/* ---- one slice ------------------------------------------------------------------------------ */

/* Of the pairs those whose nodes are both still there. */
static int slice_new(struct load *l, const struct lx_bandwidth_pair *pair, size_t n, bool back,
		     struct slice *s)
{
	const char *address = l->f->session->instance;

	*s = (struct slice){ 0 };
	if (lx_trans_new(&s->client, address, n) || lx_trans_new(&s->server, address, n))
		return -ENOMEM;
	l->base.batch++;
	for (size_t i = 0; i < n; i++) {
		size_t from = back ? pair[i].b : pair[i].a, to = back ? pair[i].a : pair[i].b;
		struct lx_trans_one *one;

		if (l->node[from].gone || l->node[to].gone)
			continue;
		s->pair[s->client.n].from = from;
		s->pair[s->client.n].to = to;
		lx_trans_add(&s->client, &l->base, &l->node[from].nid);
		one = lx_trans_add(&s->server, &l->base, &l->node[to].nid);
		way(&l->node[from], &l->node[to], &one->serves_at);
	}
	return 0;
}

static void slice_free(struct slice *s)
{
	for (size_t i = 0; i < s->client.n; i++) {
		json_decref(s->pair[i].base);
		json_decref(s->pair[i].rails);
	}
	lx_trans_free(&s->client);
	lx_trans_free(&s->server);
}

static void note(struct load *l, size_t node, const struct lx_trans_one *one)
{
	struct load_node *n = &l->node[node];

	n->heard_s = one->heard_s;
	if (n->gone || (!one->err && !one->status))
		return;
	n->gone = true;
	json_array_append_new(
		l->f->faults,
		json_pack("{ss, so}", "nid", one->nid, "reason",
			  json_sprintf("it left while bandwidths were measured: %s",
				       strerror(one->err ? -one->err : one->status))));
}

/* A node that fails takes no further part, and nor does its partner. */
static void note_all(struct load *l, struct slice *s)
{
	for (size_t i = 0; i < s->client.n; i++) {
		note(l, s->pair[i].from, &s->client.one[i]);
		note(l, s->pair[i].to, &s->server.one[i]);
		s->client.one[i].failed |= s->server.one[i].failed;
	}
}

static void prepare(struct load *l, struct slice *s)
{
	const struct lx_trans_test test = { .service = LX_LST_BRW,
					    .rw = LX_LST_WRITE,
					    .check = LX_LST_CHECK_SIMPLE,
					    .length = l->result->size,
					    .loop = LX_LST_LOOP_FOREVER,
					    .concurrency = l->result->concurrency,
					    .dist = 1,
					    .span = 1 };

	/* Servers first: they must be ready when the clients start. */
	lx_trans_serve(&s->server, &test, 1);
	note_all(l, s);
	lx_trans_test(&s->client, &test, &s->server);
	lx_trans_count(&s->client, true);
	for (size_t i = 0; i < s->client.n; i++) {
		s->pair[i].base = json_incref(s->client.one[i].begin);
		s->pair[i].rails = count_rails(l, s->pair[i].from, s->pair[i].to);
	}
}

static bool is_enough(const struct lx_trans *clients)
{
	lx_trans_for_each (one, clients) {
		if (!one->failed && !one->idle &&
		    lx_trans_grown(one->begin, one->now, "sent") < ENOUGH)
			return false;
	}
	return true;
}

/* Until Ctrl-C. */
static void measure(struct load *l, struct lx_trans *clients)
{
	lx_trans_batch(clients, LX_LST_BATCH_RUN, false);
	if (!pause_ms(l, WARM_UP_MS))
		return;
	lx_trans_count(clients, true);
	for (int i = 0; i < STRETCH && pause_ms(l, l->result->ms); i++) {
		lx_trans_count(clients, false);
		lx_trans_batch(clients, LX_LST_BATCH_QUERY, false);
		if (is_enough(clients))
			break;
	}
}

static void take_result(struct load *l, struct slice *s, size_t i)
{
	size_t from = s->pair[i].from, to = s->pair[i].to;
	struct lx_bandwidth_cell *cell = lx_bandwidth_at(&l->result->b, from, to);
	const struct lx_trans_one *one = &s->client.one[i];
	struct lx_nid nid;

	if (one->failed)
		return;
	cell->errors = lx_trans_errors(s->pair[i].base, one->now);
	if (!cell->errors && lx_trans_grown(one->begin, one->now, "sent")) {
		cell->rate = lx_trans_rate(one->begin, one->now, "sent") * l->result->size;
		cell->state = LX_BANDWIDTH_WELL;
		note_rails(l, from, to, s->pair[i].rails);
	} else if (l->node[from].own || l->node[to].own ||
		   way(&l->node[from], &l->node[to], &nid)) {
		cell->state = LX_BANDWIDTH_FAILED;
	} /* else they have no net in common, and need not have a route to each other */
}

static int run_slice(struct load *l, const struct lx_bandwidth_pair *pair, size_t n, bool back)
{
	struct slice s;
	int err = slice_new(l, pair, n, back, &s);

	if (!err) {
		prepare(l, &s);
		measure(l, &s.client);
		for (size_t i = 0; !l->f->stopped && i < s.client.n; i++)
			take_result(l, &s, i);
		/* Requests under way must take nothing from the next pairs. */
		lx_trans_drain(&s.client, l->f->stopped ? 0 : DRAIN_S);
		note_all(l, &s);
	}
	slice_free(&s);
	return err;
}

/* ---- all of them ---------------------------------------------------------------------------- */

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

/* Low, or failed. */
static bool is_suspect(const struct lx_bandwidth *b, size_t from, size_t to)
{
	return lx_bandwidth_at(b, from, to)->state >= LX_BANDWIDTH_LOW;
}

/* Measures pairs that seem low, or failed, a second time, alone. That counts. */
static int run_suspects(struct load *l)
{
	struct lx_bandwidth_pair suspect[SUSPECTS_MAX];
	size_t n = 0;
	int err = 0;

	lx_bandwidth_judge(&l->result->b, l->result->low);
	for (size_t a = 0; a < l->n; a++) {
		for (size_t b = a + 1; b < l->n && n < SUSPECTS_MAX; b++) {
			if (is_suspect(&l->result->b, a, b) || is_suspect(&l->result->b, b, a))
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

static int run_all(struct load *l)
{
	struct lx_nid *nids LX_AUTO_FREE = calloc(l->n + 1, sizeof(*nids));
	int err;

	for (size_t i = 0; nids && i < l->n; i++)
		nids[i] = l->node[i].nid;
	err = nids ? lx_bandwidth_init(&l->result->b, nids, l->n) : -ENOMEM;
	if (!err && l->n > 1)
		err = run_rounds(l);
	if (!err && l->n > 1 && !l->f->stopped)
		err = run_suspects(l);
	return err;
}

static int go(struct load *l)
{
	int err = join_all(l);

	if (!err && !l->f->stopped)
		err = run_all(l);
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
	struct load l = { .result = result, .f = f, .base.timeout_ms = ANSWER_MS };
	int err;

	result->silent = json_array();
	result->left_out = json_array();
	result->console = lx_nid_any;
	err = lx_request_console(f->session, &result->console);
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
