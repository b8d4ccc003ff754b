/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx ping", "lnetx discover": questions to other nodes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../user/base/clock.h"
#include "json.h"
#include "lnetx.h"
#include "print.h"

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

/* Without an answer: is it the gateway, or something behind it? Asks those that are up. */
#define GATEWAYS_MAX 4
#define GATEWAY_MS 2000

static json_t *ask_gateway(struct lx_session *s, const struct lx_nid *gateway)
{
	struct lx_ctl_ping ping = { *gateway, lx_nid_any, GATEWAY_MS };
	json_t *answers = json_array();
	int64_t us;
	int err = timed_probe(s, &ping, false, false, answers, &us);

	json_decref(answers);
	if (err && !lx_lnetx_as_tree())
		fprintf(stderr, "lnetx: its gateway %s does not answer either: look there first\n",
			lx_nid_str(gateway));
	else if (!lx_lnetx_as_tree())
		fprintf(stderr, "lnetx: its gateway %s answers in %.3f ms: look beyond it\n",
			lx_nid_str(gateway), us / 1000.0);
	return err ? failed_entry(s, gateway, err)
		   : json_pack("{ss, sI}", "nid", lx_nid_str(gateway), "rtt_us", (json_int_t)us);
}

static json_t *ask_gateways(struct lx_session *s, const struct lx_nid *nid)
{
	json_t *list, *route, *asked = json_array();
	struct lx_nid gateway;
	size_t i;

	if (lx_request_show_all(s, LX_CTL_ROUTE, LX_LEVEL_OWN, &list))
		return asked;
	json_array_foreach (list, i, route) {
		if (json_array_size(asked) < GATEWAYS_MAX &&
		    !strcmp(lx_json_text(route, "net"), lx_net_str(lx_nid_net(nid))) &&
		    !strcmp(lx_json_text(route, "state"), "up") &&
		    !lx_nid_parse(lx_json_text(route, "gateway"), &gateway))
			json_array_append_new(asked, ask_gateway(s, &gateway));
	}
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
		lx_print_table(stdout, p.list, &lx_ctl_pings, lx_lnetx_format()->more);
	json_decref(p.list);
	return err;
}

static int ping(struct lx_session *s, const struct lx_args *a)
{
	return probe(s, a, false);
}

static int discover(struct lx_session *s, const struct lx_args *a)
{
	return probe(s, a, true);
}

/* clang-format off */
static const struct lx_keyword ping_keywords[] = {
	{ "timeout", LX_ARG_TIMEOUT, "S" }, { "source", LX_ARG_SOURCE, "NID" }, { 0 }
};
const struct lx_command lx_ping_commands[] = {
	{ "ping", ping, ping_keywords, "NIDS...", .help = "ask nodes for their NIDs" },
	{ 0 }
};

static const struct lx_keyword discover_keywords[] = { { "force", LX_ARG_FORCE, NULL }, { 0 } };
const struct lx_command lx_discover_commands[] = {
	{ "discover", discover, discover_keywords, "NIDS...", .help = "learn all NIDs of nodes" },
	{ 0 }
};
/* clang-format on */
