/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mistakes in a configuration itself; see the header. A file that passes may still fail
 * to start, for lack of an interface or a port.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#include "../base/cleanup.h"
#include "../base/policy.h"
#include "../base/suggest.h"
#include "../base/text.h"
#include "check.h"
#include "global.h"
#include "net.h"

/* ---- tunables ---------------------------------------------------------------------- */

static const struct lx_conf_module *find_module(const struct lx_conf_module *m, const char *name)
{
	while (m->name && strcmp(m->name, name))
		m++;
	return m->name ? m : NULL;
}

static void unknown_module(const struct lx_conf_tunable *c, const struct lx_conf_module *modules,
			   struct lx_conf_report *report)
{
	struct lx_suggest meant = lx_suggest(c->module);
	char known[60] = "";

	for (const struct lx_conf_module *m = modules; m->name; m++) {
		lx_suggest_offer(&meant, m->name);
		lx_text_join(known, sizeof(known), ", ", m->name);
	}
	lx_conf_note(report, -ENOENT, c->at, "no module \"%s\" has a tunable %s; %s%s%s", c->module,
		     c->name,
		     meant.best ? "did you mean " : "known: ", meant.best ? meant.best : known,
		     meant.best ? "?" : "");
}

static void unknown_tunable(const struct lx_conf_tunable *c, const struct lx_tunable *table,
			    struct lx_conf_report *report)
{
	struct lx_suggest meant = lx_suggest(c->name);

	for (const struct lx_tunable *t = table; t && t->name; t++)
		lx_suggest_offer(&meant, t->name);
	if (meant.best)
		lx_conf_note(report, -ENOENT, c->at, "%s: no tunable \"%s\"; did you mean %s?",
			     c->module, c->name, meant.best);
	else
		lx_conf_note(report, -ENOENT, c->at,
			     "%s: no tunable \"%s\"; see lnetx-tunables(7)", c->module, c->name);
}

/* The name as written in the file. */
static const char *name_of(const struct lx_conf_tunable *c)
{
	for (const struct lx_global *g = lx_globals; c->global && g->key; g++) {
		if (g->tunable && !strcmp(g->tunable, c->name))
			return g->key;
	}
	return c->name;
}

static void bad_value(const struct lx_conf_tunable *c, const struct lx_tunable *t, int err,
		      struct lx_conf_report *report)
{
	char expected[80] = "";

	for (int i = 0; t->names && t->names[i]; i++)
		lx_text_join(expected, sizeof(expected), ", ", t->names[i]);
	if (!*expected)
		snprintf(expected, sizeof(expected), "%" PRId64 "..%" PRId64, t->min, t->max);
	lx_conf_note(report, err, c->value_at, "%s: %s: \"%s\" is %s; expected: %s",
		     c->global ? "global" : c->module, name_of(c), c->value,
		     err == -ERANGE ? "out of range" : "not a valid value", expected);
}

static void check_tunable(const struct lx_conf_tunable *c, const struct lx_conf_module *modules,
			  struct lx_conf_report *report)
{
	const struct lx_conf_module *m = find_module(modules, c->module);
	const struct lx_tunable *t = m ? lx_tunable_lookup(m->tunables, c->name) : NULL;
	struct lx_tunable alone;
	int64_t value;
	int err;

	if (!m) {
		unknown_module(c, modules, report);
	} else if (!t) {
		unknown_tunable(c, m->tunables, report);
	} else {
		alone = *t;
		alone.offset = 0;
		err = lx_tunable_set(&alone, &value, c->value);
		if (err)
			bad_value(c, t, err, report);
	}
}

/*
 * A setting may be given in "global" and as a tunable, but not with different values. If sections
 * are repeated, the last value counts, as in the reference.
 */
static void check_global(const struct lx_conf *conf, const struct lx_conf_tunable *c,
			 struct lx_conf_report *report)
{
	for (size_t i = 0; i < conf->n_tunables; i++) {
		const struct lx_conf_tunable *other = &conf->tunable[i];

		if (!other->global && !strcmp(c->module, other->module) &&
		    !strcmp(c->name, other->name) &&
		    strcmp(c->value, other->value))
			lx_conf_note(report, -EEXIST, c->at,
				     "%s: line %d sets %s of %s to another value", name_of(c),
				     other->at.line, other->name, other->module);
	}
}

/* ---- duplicates --------------------------------------------------------------------- */

/* Something that must be unique, with its entry. */
struct thing {
	struct { /* compared as bytes: padding must be 0 */
		uint32_t net;
		struct lx_nid nid;
		char ifname[IF_NAMESIZE];
	} key;
	size_t entry;
};

static int by_key(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;
	int order = memcmp(&x->key, &y->key, sizeof(x->key));

	return order ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

/* Calls @fn for each duplicate of an earlier entry. */
static void each_twice(const struct lx_conf *conf, struct thing *list, size_t n,
		       void (*fn)(const struct lx_conf *conf, const struct thing *thing,
				  size_t first, struct lx_conf_report *report),
		       struct lx_conf_report *report)
{
	size_t first = 0;

	qsort(list, n, sizeof(*list), by_key);
	for (size_t i = 1; i < n; i++) {
		if (memcmp(&list[i].key, &list[first].key, sizeof(list[i].key)))
			first = i;
		else if (list[i].entry != list[first].entry)
			fn(conf, &list[i], list[first].entry, report);
	}
}

static struct thing *new_things(size_t n, struct lx_conf_report *report)
{
	struct thing *list = calloc(n ? n : 1, sizeof(*list));

	report->out_of_memory |= !list;
	return list;
}

/* ---- NIs ---------------------------------------------------------------------------- */

static void ni_twice(const struct lx_conf *conf, const struct thing *thing, size_t first,
		     struct lx_conf_report *report)
{
	const struct lx_conf_ni *ni = &conf->ni[thing->entry];
	bool named = lx_nid_eq(&ni->nid, &lx_nid_any);

	lx_conf_note(report, -EEXIST, ni->at, "%s is on net %s twice; first in line %d",
		     named ? ni->ifname : lx_nid_str(&ni->nid), lx_net_str(ni->net),
		     conf->ni[first].at.line);
}

static void check_nis(const struct lx_conf *conf, struct lx_conf_report *report)
{
	struct thing *list LX_AUTO_FREE = new_things(conf->n_nis, report);

	for (size_t i = 0; list && i < conf->n_nis; i++) {
		list[i].key.net = conf->ni[i].net;
		list[i].key.nid = conf->ni[i].nid;
		if (lx_nid_eq(&conf->ni[i].nid, &lx_nid_any))
			memcpy(list[i].key.ifname, conf->ni[i].ifname, IF_NAMESIZE);
		list[i].entry = i;
	}
	if (list)
		each_twice(conf, list, conf->n_nis, ni_twice, report);
}

/* ---- routes ------------------------------------------------------------------------ */

/* "tcp, tcp1" */
static const char *local_nets(const struct lx_conf *conf, char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < conf->n_nis; i++) {
		const struct lx_conf before = { .ni = conf->ni, .n_nis = i };

		if (!lx_conf_net_is_local(&before, conf->ni[i].net))
			lx_text_join(buf, size, ", ", lx_net_str(conf->ni[i].net));
	}
	return *buf ? buf : "none";
}

/* @conf: with the NIs that a gateway can be on */
static void check_route_nets(const struct lx_conf *conf, const struct lx_conf_route *r,
			     struct lx_conf_report *report)
{
	uint32_t via = lx_nid_net(&r->gateway);
	char nets[100];

	if (lx_conf_net_is_local(conf, r->net))
		lx_conf_note(report, -EEXIST, r->net_at,
			     "route to %s: the net is local, it needs no gateway",
			     lx_net_str(r->net));
	else if (!lx_conf_net_is_local(conf, via))
		lx_conf_note(
			report, -EHOSTUNREACH, r->at,
			"route to %s via %s: there is no NI on the gateway's net %s (nets: %s)",
			lx_net_str(r->net), lx_nid_str(&r->gateway), lx_net_str(via),
			local_nets(conf, nets, sizeof(nets)));
}

static void check_route(const struct lx_conf *conf, const struct lx_conf *all,
			const struct lx_conf_route *r, struct lx_conf_report *report)
{
	if (lx_net_type(r->net) == LX_NET_LO)
		lx_conf_note(report, -EINVAL, r->net_at, "route to %s: it needs none",
			     lx_net_str(r->net));
	else if (r->gateway.type == LX_NET_LO || lx_nid_net(&r->gateway) == r->net)
		lx_conf_note(report, -EINVAL, r->at,
			     "route to %s via %s: a gateway is a neighbour on another net",
			     lx_net_str(r->net), lx_nid_str(&r->gateway));
	else if (!report->nets_unsure && !conf->n_rules && !r->legacy)
		check_route_nets(all, r, report);
}

static void route_twice(const struct lx_conf *conf, const struct thing *thing, size_t first,
			struct lx_conf_report *report)
{
	const struct lx_conf_route *r = &conf->route[thing->entry];

	if (r->legacy)
		return;
	lx_conf_note(report, -EEXIST, r->at, "route to %s via %s: given twice; first in line %d",
		     lx_net_str(r->net), lx_nid_str(&r->gateway), conf->route[first].at.line);
}

static void check_routes(const struct lx_conf *conf, const struct lx_conf *all,
			 struct lx_conf_report *report)
{
	struct thing *list LX_AUTO_FREE = new_things(conf->n_routes, report);

	for (size_t i = 0; list && i < conf->n_routes; i++) {
		check_route(conf, all, &conf->route[i], report);
		list[i].key.net = conf->route[i].net;
		list[i].key.nid = conf->route[i].gateway;
		list[i].entry = i;
	}
	if (list)
		each_twice(conf, list, conf->n_routes, route_twice, report);
}

/* ---- peers ------------------------------------------------------------------------- */

static void nid_twice(const struct lx_conf *conf, const struct thing *thing, size_t first,
		      struct lx_conf_report *report)
{
	const struct lx_conf_peer *p = &conf->peer[thing->entry];

	lx_conf_note(report, -EEXIST, p->at, "peer %s: %s belongs to the peer in line %d, too",
		     lx_nid_str(&p->primary), lx_nid_str(&thing->key.nid),
		     conf->peer[first].at.line);
}

static void check_peers(const struct lx_conf *conf, struct lx_conf_report *report)
{
	struct thing *list LX_AUTO_FREE = NULL;
	size_t n = conf->n_peers, at = 0;

	for (size_t i = 0; i < conf->n_peers; i++)
		n += conf->peer[i].n_nids;
	list = new_things(n, report);
	for (size_t i = 0; list && i < conf->n_peers; i++) {
		const struct lx_conf_peer *p = &conf->peer[i];

		if (!p->multi_rail && p->n_nids)
			lx_conf_note(report, -EPERM, p->at,
				     "peer %s: one that is not Multi-Rail has one NID, not %zu",
				     lx_nid_str(&p->primary), p->n_nids + 1);
		list[at].key.nid = p->primary;
		list[at++].entry = i;
		for (size_t j = 0; j < p->n_nids; j++) {
			list[at].key.nid = p->nid[j];
			list[at++].entry = i;
		}
	}
	if (list)
		each_twice(conf, list, n, nid_twice, report);
}

/* ---- selection policies ------------------------------------------------------------- */

struct clauses {
	struct lx_policy policy;
	size_t entry;
};

static int by_clauses(const void *a, const void *b)
{
	const struct clauses *x = a, *y = b;
	int order = memcmp(&x->policy, &y->policy, offsetof(struct lx_policy, priority));

	return order ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

static void check_udsps(const struct lx_conf *conf, struct lx_conf_report *report)
{
	struct clauses *list LX_AUTO_FREE = calloc(conf->n_udsps + 1, sizeof(*list));
	char text[200];

	report->out_of_memory |= !list;
	for (size_t i = 0; list && i < conf->n_udsps; i++) {
		list[i].entry = i;
		if (lx_policy_parse(&conf->udsp[i], &list[i].policy, text, sizeof(text)))
			lx_conf_note(report, -EINVAL, conf->udsp[i].at, "%s", text);
	}
	if (list)
		qsort(list, conf->n_udsps, sizeof(*list), by_clauses);
	for (size_t i = 1; list && i < conf->n_udsps; i++) {
		if (lx_policy_same(&list[i - 1].policy, &list[i].policy))
			lx_conf_note(report, -EEXIST, conf->udsp[list[i].entry].at,
				     "selection policy: given twice; first in line %d",
				     conf->udsp[list[i - 1].entry].at.line);
	}
}

void lx_conf_check(const struct lx_conf *conf, const struct lx_conf *all,
		   const struct lx_conf_module *modules, struct lx_conf_report *report)
{
	for (size_t i = 0; i < conf->n_tunables; i++) {
		check_tunable(&conf->tunable[i], modules, report);
		if (conf->tunable[i].global)
			check_global(conf, &conf->tunable[i], report);
	}
	check_nis(conf, report);
	check_routes(conf, all, report);
	check_peers(conf, report);
	check_udsps(conf, report);
}
