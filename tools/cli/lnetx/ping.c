/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx ping", "lnetx discover": questions to other nodes, and where they get lost. Called by the
 * tables of lnetx_cmds.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/base/clock.h"
#include "../common/json.h"
#include "../common/print.h"
#include "lnetx.h"

struct probes {
	bool discover, force;
	json_t *list;
	int first; /* error of a probe, reported already */
};

/* lx_request_probe(), and how long it took. */
static int timed_probe(struct lx_session *s, const struct lx_ctl_ping *ping, bool discover,
		       bool force, json_t *list, int64_t *ret_us)
{
	int64_t from = lx_clock_ns(CLOCK_MONOTONIC);
	int err = lx_request_probe(s, ping, discover, force, list);

	*ret_us = (lx_clock_ns(CLOCK_MONOTONIC) - from) / 1000;
	return err;
}

static json_t *failed_entry(struct lx_session *s, const struct lx_nid *nid, int err)
{
	return json_pack("{ss, so}", "nid", lx_nid_str(nid), "error", lx_lnetx_error(err, s->text));
}

#define GATEWAYS_MAX 4 /* that are asked */
#define GATEWAY_MS 2000

/* Asks one node: an entry with its NID, and its time or the error. Answers go to @answers. */
static json_t *ask(struct lx_session *s, const struct lx_ctl_ping *ping, json_t *answers)
{
	int64_t us;
	int err = timed_probe(s, ping, false, false, answers, &us);

	return err ? failed_entry(s, &ping->nid, err)
		   : json_pack("{ss, sI}", "nid", lx_nid_str(&ping->nid), "rtt_us", (json_int_t)us);
}

/* Of the routes to a net, those that are up or those that are not: the first few; a new array. */
static json_t *routes_to(const json_t *routes, uint32_t net, bool up)
{
	json_t *some = json_array(), *route;
	size_t i;

	json_array_foreach ((json_t *)routes, i, route) {
		if (json_array_size(some) < GATEWAYS_MAX &&
		    !strcmp(lx_json_text(route, "net"), lx_net_str(net)) &&
		    up == !strcmp(lx_json_text(route, "state"), "up"))
			json_array_append(some, route);
	}
	return some;
}

/* ---- a ping without an answer: is it the gateway, or something behind it? ------------------ */

static json_t *ask_gateway(struct lx_session *s, const struct lx_nid *gateway)
{
	const struct lx_ctl_ping ping = { *gateway, lx_nid_any, GATEWAY_MS };
	json_t *answers = json_array(), *entry = ask(s, &ping, answers);

	json_decref(answers);
	if (lx_lnetx_as_tree())
		return entry;
	if (json_object_get(entry, "error"))
		fprintf(stderr, "lnetx: its gateway %s does not answer either: look there first\n",
			lx_nid_str(gateway));
	else
		fprintf(stderr, "lnetx: its gateway %s answers in %.3f ms: look beyond it\n",
			lx_nid_str(gateway), lx_json_int(entry, "rtt_us") / 1000.0);
	return entry;
}

static json_t *ask_gateways(struct lx_session *s, const struct lx_nid *nid)
{
	json_t *list = lx_request_list(s, LX_CTL_ROUTE), *route, *asked = json_array();
	json_t *up = routes_to(list, lx_nid_net(nid), true);
	struct lx_nid gateway;
	size_t i;

	json_array_foreach (up, i, route) {
		if (!lx_nid_parse(lx_json_text(route, "gateway"), &gateway))
			json_array_append_new(asked, ask_gateway(s, &gateway));
	}
	json_decref(up);
	json_decref(list);
	return asked;
}

static void report_failure(struct lx_session *s, struct probes *p, const struct lx_nid *nid,
			   int err)
{
	json_t *entry = failed_entry(s, nid, err);

	if (!lx_lnetx_as_tree())
		fprintf(stderr, "lnetx: %s\n", s->text);
	if (err == -ETIMEDOUT && !p->discover)
		json_object_set_new(entry, "gateways", ask_gateways(s, nid));
	if (lx_lnetx_as_tree())
		json_array_append(p->list, entry);
	json_decref(entry);
}

/* Adds an entry for a NID: the answer with its time, or the error. */
static int probe_one(struct lx_session *s, const struct lx_ctl_ping *ping, void *arg)
{
	struct probes *p = arg;
	size_t n = json_array_size(p->list);
	int64_t us;
	int err = timed_probe(s, ping, p->discover, p->force, p->list, &us);

	if (err && !lx_session_connected(s))
		return err; /* an error of the daemon, not of this NID */
	if (err)
		report_failure(s, p, &ping->nid, err);
	else if (json_array_size(p->list) > n && lx_lnetx_as_tree())
		json_object_set_new(json_array_get(p->list, n), "rtt_us", json_integer(us));
	else
		printf("%s: %s in %.3f ms\n", lx_nid_str(&ping->nid),
		       p->discover ? "discovered" : "answered", us / 1000.0);
	if (!p->first)
		p->first = err;
	return 0;
}

/* Prints all answers, and the first error where every command has it. */
static void print_probes(const char *key, json_t *list)
{
	json_t *map = json_pack("{sO}", key, list), *entry, *error = NULL;
	size_t i;

	json_array_foreach (list, i, entry) {
		if (!error)
			error = json_object_get(entry, "error");
	}
	if (error)
		json_object_set(map, "error", error);
	lx_lnetx_print_map(map);
}

static int probe(struct lx_session *s, const struct lx_args *a, bool discover)
{
	struct probes p = { .discover = discover,
			    .force = a->v[LX_ARG_FORCE],
			    .list = json_array() };
	int err = lx_request_probe_each(s, a, probe_one, &p);

	if (!err && p.first) {
		err = p.first;
		s->text[0] = '\0'; /* reported already */
	}
	if (lx_lnetx_as_tree() && !*s->text && json_array_size(p.list))
		print_probes(discover ? "discover" : "ping", p.list);
	else if (!lx_lnetx_as_tree() && json_array_size(p.list))
		lx_print_table(stdout, p.list, &lx_object_pings, lx_lnetx_format()->more);
	json_decref(p.list);
	return err;
}

static int discover(struct lx_session *s, const struct lx_args *a)
{
	return probe(s, a, true);
}

/* ---- trace --------------------------------------------------------------------------- */

/*
 * The way to a node, as far as this one knows it: gateways, their NIDs on the far side, and the
 * node. A gateway is not asked by a far NID: it would drop the question, or LNet would take the
 * near link all the same. What it says of that NI is known: routes are checked by it.
 */
struct trace {
	struct lx_ctl_ping ping; /* of the target */
	json_t *routes; /* all of this node's */
	json_t *hops;
	bool beside; /* a gateway is on the target's net */
};

/* Of a gateway's far NI. */
static void print_state(const json_t *hop)
{
	const char *state = lx_json_text(hop, "state"), *reason = lx_json_text(hop, "reason");

	if (!strcmp(state, "up"))
		puts("up when its gateway was checked last");
	else if (!strcmp(state, "down"))
		printf("down%s%s\n", *reason ? ": " : "", reason);
	else
		puts("not known");
}

static void print_hop(const json_t *hop)
{
	const json_t *error = json_object_get(hop, "error");
	const char *role = lx_json_text(hop, "role");
	json_int_t err = lx_json_int(error, "errno");
	bool down = !strcmp(lx_json_text(hop, "route"), "down");

	printf("%-20s  %-19s  ", lx_json_text(hop, "nid"), down ? "gateway, route down" : role);
	if (json_object_get(hop, "state"))
		print_state(hop);
	else if (!error)
		printf("%.3f ms\n", lx_json_int(hop, "rtt_us") / 1000.0);
	else if (err == -ETIMEDOUT || err == -ETIME)
		puts("no answer");
	else
		printf("no answer: %s\n", strerror(-err));
	fflush(stdout);
}

static void add_hop(struct trace *t, const char *role, json_t *hop)
{
	json_object_set_new(hop, "role", json_string(role));
	json_array_append_new(t->hops, hop);
	if (!lx_lnetx_as_tree())
		print_hop(hop);
}

static json_t *ask_hop(struct lx_session *s, const struct trace *t, const struct lx_nid *nid,
		       const struct lx_nid *source)
{
	const struct lx_ctl_ping ping = { *nid, *source,
					  t->ping.timeout_ms ? t->ping.timeout_ms : GATEWAY_MS };
	json_t *answers = json_array(), *hop = ask(s, &ping, answers);

	json_decref(answers);
	return hop;
}

/* The net of an NI's NID, as text: what follows the "@". */
static const char *net_of(const json_t *ni)
{
	const char *at = strchr(lx_json_text(ni, "nid"), '@');

	return at ? at + 1 : "";
}

static bool has_route(const struct trace *t, const char *net)
{
	const json_t *route;
	size_t i;

	json_array_foreach (t->routes, i, route) {
		if (!strcmp(lx_json_text(route, "net"), net))
			return true;
	}
	return false;
}

/* Of a gateway's NIDs those on the target's net, else those on nets that routes lead to. */
static void add_far(struct lx_session *s, struct trace *t, const char *gateway)
{
	const struct lx_args which = { .v = { [LX_ARG_NID] = gateway } };
	json_t *peer = lx_request_row(s, LX_CTL_PEER, &which), *nis, *ni;
	const char *target = lx_net_str(lx_nid_net(&t->ping.nid)), *net;
	bool beside = false;
	size_t i;

	nis = json_object_get(peer, lx_object_peers.rows);
	json_array_foreach (nis, i, ni)
		beside = beside || !strcmp(net_of(ni), target);
	t->beside = t->beside || beside;
	json_array_foreach (nis, i, ni) {
		net = net_of(ni);
		if (beside ? !strcmp(net, target) : has_route(t, net))
			add_hop(t, "far side",
				json_pack("{sO, sO, sO*}", "nid", json_object_get(ni, "nid"),
					  "state", json_object_get(ni, "state"), "reason",
					  json_object_get(ni, "down_reason")));
	}
	json_decref(peer);
}

static void add_gateways(struct lx_session *s, struct trace *t, bool up)
{
	json_t *some = routes_to(t->routes, lx_nid_net(&t->ping.nid), up), *route, *hop;
	struct lx_nid gateway;
	size_t i;

	json_array_foreach (some, i, route) {
		if (lx_nid_parse(lx_json_text(route, "gateway"), &gateway))
			continue;
		hop = ask_hop(s, t, &gateway, &lx_nid_any);
		json_object_set(hop, "route", json_object_get(route, "state"));
		add_hop(t, "gateway", hop);
		add_far(s, t, lx_json_text(route, "gateway"));
	}
	json_decref(some);
}

/* Where knowledge ends. NULL: there is no gateway. */
static const char *end_of(const struct trace *t)
{
	if (json_array_size(t->hops) == 1)
		return NULL;
	if (t->beside)
		return "a gateway is on the target's net: there is no further one";
	return "no gateway is known to be on the target's net: others may follow, and LNet has no "
	       "question that asks a gateway for its next hop";
}

/* The target's entry has all. */
static int trace_one(struct lx_session *s, const struct lx_ctl_ping *ping, void *arg)
{
	struct trace t = { .ping = *ping, .hops = json_array() };
	struct probes *p = arg;
	json_t *target;
	int err = lx_request_show_all(s, LX_CTL_ROUTE, LX_LEVEL_OWN, &t.routes);

	if (!err) {
		add_gateways(s, &t, true);
		add_gateways(s, &t, false);
		target = ask_hop(s, &t, &ping->nid, &ping->source);
		add_hop(&t, "target", json_copy(target));
		json_object_set(target, "trace", t.hops);
		if (end_of(&t))
			json_object_set_new(target, "end", json_string(end_of(&t)));
		if (end_of(&t) && !lx_lnetx_as_tree())
			puts(end_of(&t));
		if (!p->first)
			p->first = lx_json_int(json_object_get(target, "error"), "errno");
		json_array_append_new(p->list, target);
		if (!lx_session_connected(s))
			err = s->error; /* of lnetxd, not of a node */
	}
	json_decref(t.routes);
	json_decref(t.hops);
	return err;
}

static int trace(struct lx_session *s, const struct lx_args *a)
{
	struct probes p = { .list = json_array() };
	int err = lx_request_probe_each(s, a, trace_one, &p);

	if (!err) {
		err = p.first;
		s->text[0] = '\0'; /* printed already */
		if (lx_lnetx_as_tree())
			print_probes("ping", p.list);
	}
	json_decref(p.list);
	return err;
}

/* ---- tables -------------------------------------------------------------------------- */

static int ping(struct lx_session *s, const struct lx_args *a)
{
	return a->v[LX_ARG_TRACE] ? trace(s, a) : probe(s, a, false);
}

/* clang-format off */
static const struct lx_keyword ping_keywords[] = {
	{ "timeout", LX_ARG_TIMEOUT, "S" }, { "source", LX_ARG_SOURCE, "NID" },
	{ "trace", LX_ARG_TRACE, NULL }, { 0 }
};
const struct lx_command lx_ping_commands[] = {
	{ "ping", ping, ping_keywords, "NIDS...",
	  .help = "ask nodes for their NIDs; \"trace\": and the gateways on the way" },
	{ 0 }
};

static const struct lx_keyword discover_keywords[] = { { "force", LX_ARG_FORCE, NULL }, { 0 } };
const struct lx_command lx_discover_commands[] = {
	{ "discover", discover, discover_keywords, "NIDS...", .help = "learn all NIDs of nodes" },
	{ 0 }
};
/* clang-format on */
