/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks a configuration before a node is created from it, or before it is added to one:
 * everything user/conf/check.c finds, conflicting settings, and interfaces that this machine does
 * not have.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../conf/check.h"
#include "../io/netif.h"
#include "node.h"

struct subject {
	const struct lx_conf *conf;
	struct lx_node *node; /* that it is added to; NULL: it is for a new one */
	struct lx_conf all; /* with the NIs of both, its own first */
};

/* ---- conflicting settings --------------------------------------------------------------- */

/* Room for the values of any module. */
union values {
	struct lx_core_tunables core;
	int64_t any[128];
};

struct present {
	const char *module;
	union values *values;
};

static int take_present(const char *module, const struct lx_tunable *t, const char *value,
			void *arg)
{
	struct present *p = arg;

	if (!strcmp(module, p->module))
		lx_tunable_set(t, p->values, value);
	return 0;
}

static void take_values(const struct subject *s, const char *module,
			const struct lx_tunable *table, union values *values)
{
	lx_tunable_defaults(table, values);
	if (s->node)
		lx_tunable_each(s->node, take_present, &(struct present){ module, values });
	for (size_t i = 0; i < s->conf->n_tunables; i++) {
		const struct lx_conf_tunable *c = &s->conf->tunable[i];
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

static void check_conflicts(const struct subject *s, struct lx_conf_report *report)
{
	const struct lx_tunable_conflict *conflict;
	union values values;

	take_values(s, "lnet", lx_core_tunables_table, &values);
	conflict = lx_core_tunables_conflict(&values.core);
	if (conflict)
		note_conflict(s->conf, "lnet", conflict, report);
	for (size_t i = 0; i < LX_NODE_LNDS; i++) {
		const struct lx_lnd *lnd = lx_transport_lnds[i];

		take_values(s, lnd->name, lnd->tunables, &values);
		conflict = lnd->conflict ? lnd->conflict(&values) : NULL;
		if (conflict)
			note_conflict(s->conf, lnd->name, conflict, report);
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
static void check_own_peer(const struct subject *s, const struct lx_nid *nids,
			   const struct lx_conf_peer *p, struct lx_conf_report *report)
{
	const struct lx_nid *ours = NULL, *other = NULL;

	for (size_t i = 0; i <= p->n_nids; i++) {
		const struct lx_nid *nid = i ? &p->nid[i - 1] : &p->primary;
		struct lx_peer_info *has LX_AUTO_FREE = NULL;

		if (own(&s->all, nids, s->all.n_nis, nid))
			ours = nid;
		else
			other = nid;
		if (s->node && !lx_peer_find(s->node, nid, &has) &&
		    has->state & LX_PEER_CONFIGURED && !lx_nid_eq(&has->primary, &p->primary))
			lx_conf_note(report, -EEXIST, p->at,
				     "peer %s: %s belongs to peer %s; see \"lnetx peer show\", "
				     "lx_peer_find()",
				     lx_nid_str(&p->primary), lx_nid_str(nid),
				     lx_nid_str(&has->primary));
	}
	if (ours && other)
		lx_conf_note(report, -EINVAL, p->at,
			     "peer %s: %s is this node's own, and %s is not",
			     lx_nid_str(&p->primary), lx_nid_str(ours), lx_nid_str(other));
}

/* A node cannot be its own gateway, or a part of a peer. */
static void check_own(const struct subject *s, const struct lx_nid *nids,
		      struct lx_conf_report *report)
{
	for (size_t i = 0; i < s->conf->n_routes; i++) {
		const struct lx_conf_route *r = &s->conf->route[i];

		if (own(&s->all, nids, s->all.n_nis, &r->gateway))
			lx_conf_note(report, -EINVAL, r->at,
				     "route to %s via %s: the gateway is this node itself",
				     lx_net_str(r->net), lx_nid_str(&r->gateway));
	}
	for (size_t i = 0; i < s->conf->n_peers; i++)
		check_own_peer(s, nids, &s->conf->peer[i], report);
}

static void check_machine(const struct subject *s, struct lx_conf_report *report)
{
	struct lx_nid *nids LX_AUTO_FREE = calloc(s->all.n_nis + 1, sizeof(*nids));

	report->out_of_memory |= !nids;
	if (!nids)
		return;
	for (size_t i = s->conf->n_nis; i < s->all.n_nis; i++)
		nids[i] = s->all.ni[i].nid;
	check_nis(s->conf, nids, report);
	check_own(s, nids, report);
}

/* ---- all of it ------------------------------------------------------------------------ */

/* The NIs of the node have no place, and their NIDs are known. */
static int join(struct subject *s)
{
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	size_t n = 0;
	int r = s->node ? lx_ni_list(s->node, &list, &n) : 0;

	s->all = *s->conf;
	s->all.ni = r ? NULL : calloc(s->conf->n_nis + n + 1, sizeof(*s->all.ni));
	if (!s->all.ni)
		return -ENOMEM;
	for (size_t i = 0; i < s->conf->n_nis; i++)
		s->all.ni[i] = s->conf->ni[i];
	for (size_t i = 0; i < n; i++) {
		if (lx_net_type(list[i].net) != LX_NET_LO)
			s->all.ni[s->all.n_nis++] =
				(struct lx_conf_ni){ .net = list[i].net, .nid = list[i].nid };
	}
	return 0;
}

static void check_resolved(const struct lx_conf *conf, struct lx_node *node, unsigned int flags,
			   struct lx_conf_report *report)
{
	struct lx_conf_module modules[LX_NODE_LNDS + 2] = { { "lnet", lx_core_tunables_table } };
	struct subject s = { .conf = conf, .node = node };

	if (join(&s)) {
		report->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < LX_NODE_LNDS; i++)
		modules[i + 1] = (struct lx_conf_module){ lx_transport_lnds[i]->name,
							  lx_transport_lnds[i]->tunables };
	lx_conf_check(conf, &s.all, modules, report);
	check_conflicts(&s, report);
	if (!(flags & LX_CHECK_FILE))
		check_machine(&s, report);
	free(s.all.ni);
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
		check_resolved(now, NULL, 0, report);
	lx_conf_free(now);
	lx_conf_free(later);
	return some;
}

/* The NIs of rules, and the routes that follow, depend on this machine. */
static void check(const struct lx_conf *conf, struct lx_node *node, unsigned int flags,
		  struct lx_conf_report *report)
{
	struct lx_conf_error why = { 0 };
	struct lx_conf *resolved;
	int r;

	if ((flags & LX_CHECK_PART) && check_part(conf, report))
		return;
	if ((flags & LX_CHECK_FILE) || lx_conf_is_resolved(conf)) {
		check_resolved(conf, node, flags, report);
		return;
	}
	r = lx_conf_resolve(conf, &resolved, &why);
	if (r == -ENOMEM) {
		report->out_of_memory = true;
	} else if (r) {
		lx_conf_note(report, r == -ENOENT ? -EINVAL : r,
			     (struct lx_conf_place){ why.line, why.column }, "%s", why.text);
		check_resolved(conf, node, LX_CHECK_FILE, report);
	} else {
		check_resolved(resolved, node, flags, report);
		lx_conf_free(resolved);
	}
}

int lx_node_check(const struct lx_conf *conf, struct lx_conf_error *ret_err)
{
	struct lx_conf_report report = { 0 };

	if (ret_err)
		*ret_err = (struct lx_conf_error){ 0 };
	check(conf, NULL, 0, &report);
	return lx_conf_report_end(&report, ret_err);
}

int lx_node_check_yaml(const char *yaml, size_t len, unsigned int flags,
		       void (*fn)(const struct lx_conf_error *err, void *arg), void *arg)
{
	struct lx_conf_report report = { 0 };
	struct lx_conf *conf = NULL;

	if (!lx_conf_read(yaml, len, &report, &conf))
		check(conf, NULL, flags, &report);
	lx_conf_free(conf);
	lx_conf_report_sort(&report);
	for (size_t i = 0; i < report.n; i++)
		fn(&report.list[i].what, arg);
	return lx_conf_report_end(&report, NULL);
}

/* To a running node routes are as any others, from module parameters, too. */
int lx_node_check_addition(struct lx_node *node, const char *yaml, size_t len,
			   void (*fn)(int error, const struct lx_conf_error *what, void *arg),
			   void *arg, struct lx_conf **ret_conf)
{
	struct lx_conf_report report = { 0 };
	struct lx_conf *conf = NULL;
	int r = lx_conf_read(yaml, len, &report, &conf);

	for (size_t i = 0; !r && i < conf->n_routes; i++)
		conf->route[i].legacy = false;
	if (!r)
		check(conf, node, 0, &report);
	lx_conf_report_sort(&report);
	for (size_t i = 0; i < report.n; i++)
		fn(report.list[i].error, &report.list[i].what, arg);
	r = lx_conf_report_end(&report, NULL);
	if (r)
		lx_conf_free(conf);
	else
		*ret_conf = conf;
	return r;
}
