/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks a configuration before a node is created from it: everything user/conf/check.c
 * finds, conflicting settings, and interfaces that this machine does not have.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../conf/check.h"
#include "../io/netif.h"
#include "node.h"

/* ---- conflicting settings --------------------------------------------------------------- */

/* Room for the values of any module. */
union values {
	struct lx_core_tunables core;
	int64_t any[128];
};

static void take_values(const struct lx_conf *conf, const char *module,
			const struct lx_tunable *table, union values *values)
{
	lx_tunable_defaults(table, values);
	for (size_t i = 0; i < conf->n_tunables; i++) {
		const struct lx_conf_tunable *c = &conf->tunable[i];
		const struct lx_tunable *t =
			strcmp(c->module, module) ? NULL : lx_tunable_lookup(table, c->name);

		if (t)
			lx_tunable_set(t, values, c->value);
	}
}

/* Reports it at the later one of the two, if given. */
static void note_conflict(const struct lx_conf *conf, const char *module,
			  const struct lx_tunable_conflict *conflict, struct lx_conf_report *report)
{
	struct lx_conf_place at = { 0 };

	for (size_t i = 0; i < conf->n_tunables; i++) {
		const struct lx_conf_tunable *c = &conf->tunable[i];

		if (!strcmp(c->module, module) &&
		    (!strcmp(c->name, conflict->name[0]) || !strcmp(c->name, conflict->name[1])))
			at = c->at;
	}
	lx_conf_note(report, -EINVAL, at, "%s: %s", module, conflict->why);
}

static void check_conflicts(const struct lx_conf *conf, struct lx_conf_report *report)
{
	const struct lx_tunable_conflict *conflict;
	union values values;

	take_values(conf, "lnet", lx_core_tunables_table, &values);
	conflict = lx_core_tunables_conflict(&values.core);
	if (conflict)
		note_conflict(conf, "lnet", conflict, report);
	for (size_t i = 0; i < LX_NODE_LNDS; i++) {
		const struct lx_lnd *lnd = lx_node_lnds[i];

		take_values(conf, lnd->name, lnd->tunables, &values);
		conflict = lnd->conflict ? lnd->conflict(&values) : NULL;
		if (conflict)
			note_conflict(conf, lnd->name, conflict, report);
	}
}

/* ---- this machine --------------------------------------------------------------------- */

/* The place of the NI of @nis (@n of them) that has a NID; NULL: none has. */
static const struct lx_conf_place *own(const struct lx_conf *conf, const struct lx_nid *nids,
				       size_t n, const struct lx_nid *nid)
{
	for (size_t i = 0; i < n; i++) {
		if (lx_nid_eq(&nids[i], nid))
			return &conf->ni[i].at;
	}
	return NULL;
}

static void check_nis(const struct lx_conf *conf, struct lx_nid *nids,
		      struct lx_conf_report *report)
{
	for (size_t i = 0; i < conf->n_nis; i++) {
		const struct lx_conf_ni *ni = &conf->ni[i];
		const struct lx_conf_place *first;
		char place[LX_CONF_PLACE_TEXT];
		int r = lx_conf_ni_nid(ni, &nids[i]);

		if (r) {
			const char *why = lx_conf_net_why(ni->net, r);

			nids[i] = lx_nid_any;
			lx_conf_note(report, r, ni->at, "net %s on %s: %s", lx_net_str(ni->net),
				     lx_conf_ni_place(ni, place, sizeof(place)),
				     why ? why : strerror(-r));
			continue;
		}
		first = own(conf, nids, i, &nids[i]);
		if (first)
			lx_conf_note(report, -EEXIST, ni->at, "%s is given twice; first in line %d",
				     lx_nid_str(&nids[i]), first->line);
	}
}

/* All NIDs of a peer are ours, as of one that an export has, or none is; the core insists on it. */
static void check_own_peer(const struct lx_conf *conf, const struct lx_nid *nids,
			   const struct lx_conf_peer *p, struct lx_conf_report *report)
{
	const struct lx_nid *ours = NULL, *other = NULL;

	for (size_t i = 0; i <= p->n_nids; i++) {
		const struct lx_nid *nid = i ? &p->nid[i - 1] : &p->primary;

		if (own(conf, nids, conf->n_nis, nid))
			ours = nid;
		else
			other = nid;
	}
	if (ours && other)
		lx_conf_note(report, -EINVAL, p->at,
			     "peer %s: %s is this node's own, and %s is not",
			     lx_nid_str(&p->primary), lx_nid_str(ours), lx_nid_str(other));
}

/* A node cannot be its own gateway, or a part of a peer. */
static void check_own(const struct lx_conf *conf, const struct lx_nid *nids,
		      struct lx_conf_report *report)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct lx_conf_route *r = &conf->route[i];

		if (own(conf, nids, conf->n_nis, &r->gateway))
			lx_conf_note(report, -EINVAL, r->at,
				     "route to %s via %s: the gateway is this node itself",
				     lx_net_str(r->net), lx_nid_str(&r->gateway));
	}
	for (size_t i = 0; i < conf->n_peers; i++)
		check_own_peer(conf, nids, &conf->peer[i], report);
}

static void check_machine(const struct lx_conf *conf, struct lx_conf_report *report)
{
	struct lx_nid *nids LX_AUTO_FREE = calloc(conf->n_nis + 1, sizeof(*nids));

	report->out_of_memory |= !nids;
	if (!nids)
		return;
	check_nis(conf, nids, report);
	check_own(conf, nids, report);
}

/* ---- all of it ------------------------------------------------------------------------ */

static void check_resolved(const struct lx_conf *conf, unsigned int flags,
			   struct lx_conf_report *report)
{
	struct lx_conf_module modules[LX_NODE_LNDS + 2] = { { "lnet", lx_core_tunables_table } };

	for (size_t i = 0; i < LX_NODE_LNDS; i++)
		modules[i + 1] =
			(struct lx_conf_module){ lx_node_lnds[i]->name, lx_node_lnds[i]->tunables };
	lx_conf_check(conf, modules, report);
	check_conflicts(conf, report);
	if (!(flags & LX_CHECK_FILE))
		check_machine(conf, report);
}

/* True if it has checked what is there; false: all is there, or nothing. */
static bool check_part(const struct lx_conf *conf, struct lx_conf_report *report)
{
	struct lx_conf *now, *later;
	bool some;

	if (lx_conf_part(conf, &now, &later, NULL))
		return false;
	some = later && now->n_nis;
	if (some)
		check_resolved(now, 0, report);
	lx_conf_free(now);
	lx_conf_free(later);
	return some;
}

/* The NIs of rules, and the routes that follow, depend on this machine. */
static void check(const struct lx_conf *conf, unsigned int flags, struct lx_conf_report *report)
{
	struct lx_conf_error why = { 0 };
	struct lx_conf *resolved;
	int r;

	if ((flags & LX_CHECK_PART) && check_part(conf, report))
		return;
	if ((flags & LX_CHECK_FILE) || lx_conf_is_resolved(conf)) {
		check_resolved(conf, flags, report);
		return;
	}
	r = lx_conf_resolve(conf, &resolved, &why);
	if (r == -ENOMEM) {
		report->out_of_memory = true;
	} else if (r) {
		lx_conf_note(report, r == -ENOENT ? -EINVAL : r,
			     (struct lx_conf_place){ why.line, why.column }, "%s", why.text);
		check_resolved(conf, LX_CHECK_FILE, report);
	} else {
		check_resolved(resolved, flags, report);
		lx_conf_free(resolved);
	}
}

int lx_node_check(const struct lx_conf *conf, struct lx_conf_error *ret_err)
{
	struct lx_conf_report report = { 0 };

	if (ret_err)
		*ret_err = (struct lx_conf_error){ 0 };
	check(conf, 0, &report);
	return lx_conf_report_end(&report, ret_err);
}

int lx_node_check_yaml(const char *yaml, size_t len, unsigned int flags,
		       void (*fn)(const struct lx_conf_error *err, void *arg), void *arg)
{
	struct lx_conf_report report = { 0 };
	struct lx_conf *conf = NULL;

	if (!lx_conf_read(yaml, len, &report, &conf))
		check(conf, flags, &report);
	lx_conf_free(conf);
	lx_conf_report_sort(&report);
	for (size_t i = 0; i < report.n; i++)
		fn(&report.list[i].what, arg);
	return lx_conf_report_end(&report, NULL);
}
