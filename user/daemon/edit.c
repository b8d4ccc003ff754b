/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Clients' changes to pieces of a node, and the texts of their errors. Called by change.c
 * on its worker thread; owns nothing.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/array.h"
#include "../base/cleanup.h"
#include "../base/netns.h"
#include "../base/policy.h"
#include "../base/setting.h"
#include "../base/suggest.h"
#include "../base/text.h"
#include "config.h"
#include "edit.h"
#include "guard.h"
#include "import.h"
#include "programs.h"
#include "tester.h"

#define say lx_edit_say

/* The meaning of the library's errors here. */
struct reason {
	int err;
	const char *text; /* NULL: the end */
};

static const char *reason_of(const struct reason *r, int err)
{
	while (r->text && r->err != err)
		r++;
	return r->text ? r->text : strerror(-err);
}

/* ---- nets -------------------------------------------------------------------------- */

#define NAME_TEXT (LX_NID_TEXT + IFNAMSIZ + 4)

static const char *ni_name(const struct lx_conf_ni *ni, char *buf, size_t size)
{
	if (!lx_nid_eq(&ni->nid, &lx_nid_any))
		snprintf(buf, size, "%s%s%s", lx_nid_str(&ni->nid), ni->ifname[0] ? " on " : "",
			 ni->ifname);
	else if (ni->ifname[0])
		snprintf(buf, size, "%s on %s", lx_net_str(ni->net), ni->ifname);
	else
		snprintf(buf, size, "%s", lx_net_str(ni->net));
	return buf;
}

void lx_edit_place(const struct lx_edit *e, char *buf, size_t size)
{
	char here[NAME_MAX], there[NAME_MAX];
	unsigned long own = lx_netns_own();

	buf[0] = '\0';
	if (e->netns && e->netns != own)
		snprintf(buf, size,
			 ". lnetxd %s (pid %d) is in %s, this command in %s",
			 e->daemon->instance, (int)getpid(), lx_netns_name(own, here, sizeof(here)),
			 lx_netns_name(e->netns, there, sizeof(there)));
}

static int explain_place(struct lx_edit *e, const char *what, const char *why, int err)
{
	char place[LX_EDIT_PLACE_TEXT];

	lx_edit_place(e, place, sizeof(place));
	return say(e, err, "cannot add %s: %s%s", what, why, place);
}

static int explain_net_add(struct lx_edit *e, const char *name, int err)
{
	const struct lx_ctl_net *req = e->req;
	const char *why = lx_conf_net_why(req->ni.net, err);
	char what[NAME_TEXT + 4];

	if (err == -EEXIST)
		return say(e, err, "NI %s exists already", name);
	snprintf(what, sizeof(what), "NI %s", name);
	if (err == -ENODEV || err == -EADDRNOTAVAIL)
		return explain_place(e, what, why, err);
	return say(e, err, "cannot add NI %s: %s", name, why ? why : strerror(-err));
}

static int check_range(struct lx_edit *e, const struct lx_conf_ni_setting *set, int32_t value)
{
	if (value == LX_UNSET || lx_setting_fits(set, value))
		return 0;
	return say(e, -EINVAL, "%s %d is not in %d..%d", set->name, value, set->min, set->max);
}

/* Resolves settings by name, according to the net's type. */
static int take_lnd_settings(struct lx_edit *e)
{
	struct lx_ctl_net *req = e->req;
	const struct lx_conf_ni_setting *known = lx_conf_lnd_settings(lx_net_type(req->ni.net));

	memset(&req->ni.lnd_tun, 0xff, sizeof(req->ni.lnd_tun)); /* -1 is LX_UNSET */
	for (uint32_t i = 0; i < req->n_lnd; i++) {
		const struct lx_ctl_lnd_value *v = &req->lnd[i];
		int at = lx_setting_find(known, v->name), err;

		if (at < 0)
			return say(e, -EOPNOTSUPP, "nets of type %s have no setting \"%s\"",
				   lx_net_str(req->ni.net), v->name);
		err = check_range(e, &known[at], v->value);
		if (err)
			return err;
		req->ni.lnd_tun.value[at] = v->value;
	}
	return 0;
}

static int check_place(struct lx_edit *e)
{
	struct lx_ctl_net *req = e->req;
	const struct lx_conf conf = { .ni = &req->ni, .n_nis = 1 };
	char name[NAME_TEXT];
	int err = lx_node_check(&conf, NULL);

	return err ? explain_net_add(e, ni_name(conf.ni, name, sizeof(name)), err) : 0;
}

void lx_edit_shared(const struct lx_edit *e, const struct lx_conf_ni *ni, char *buf, size_t size)
{
	const int32_t *want = (const int32_t *)&ni->tun, *have = NULL;
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	const struct lx_text text = { buf, size };
	size_t n = 0, on_net = 0;

	buf[0] = '\0';
	lx_ni_list(e->node, &list, &n);
	for (size_t i = n; i-- > 0;) {
		if (list[i].net == ni->net && ++on_net)
			have = (const int32_t *)&list[i].tun;
	}
	for (size_t i = 0; on_net > 1 && i < sizeof(ni->tun) / sizeof(*want); i++) {
		if (want[i] != LX_UNSET && want[i] != have[i])
			lx_text_add(&text, "%s%s stays %d, not %d",
				    *buf ? ", " : "the NIs of a net share the tunables of its "
						  "first: ",
				    lx_conf_ni_settings()[i].name, have[i], want[i]);
	}
}

static int ni_add(struct lx_edit *e, const struct lx_conf_ni *ni)
{
	int err = lx_net_add(e->node, ni);
	char name[NAME_TEXT];

	return err ? explain_net_add(e, ni_name(ni, name, sizeof(name)), err) : 0;
}

/* All or none. */
static int rails_add(struct lx_edit *e, struct lx_conf_ni *ni)
{
	const struct lx_conf one = { .ni = ni, .n_nis = 1 };
	struct lx_conf_error why = { 0 };
	char nids[400] = "";
	struct lx_conf *nis;
	int err = lx_conf_resolve(&one, &nis, &why);
	size_t n = 0;

	if (err)
		return explain_place(e, "NIs", why.text, err);
	for (; !err && n < nis->n_nis; n++) {
		lx_text_join(nids, sizeof(nids), ",", lx_nid_str(&nis->ni[n].nid));
		err = ni_add(e, &nis->ni[n]);
	}
	while (err && --n)
		lx_net_del(e->node, &nis->ni[n - 1]);
	if (!err)
		snprintf(e->text, e->size,
			 "rails go with the next version; write: lnetx net add nid %s", nids);
	lx_conf_free(nis);
	return err;
}

static int net_add(struct lx_edit *e)
{
	struct lx_ctl_net *req = e->req;
	struct lx_conf_ni *ni = &req->ni;
	bool by_nid = !lx_nid_eq(&ni->nid, &lx_nid_any);
	int err;

	if (by_nid && ni->net == LX_NET_U32_ANY)
		ni->net = lx_nid_net(&ni->nid);
	if (ni->net == LX_NET_U32_ANY || (!by_nid && !ni->ifname[0]))
		return say(e, -EINVAL, "an NI needs a net and an interface, or a NID");
	if (by_nid && lx_nid_net(&ni->nid) != ni->net)
		return say(e, -EINVAL, "NID %s is not on net %s", lx_nid_str(&ni->nid),
			   lx_net_str(ni->net));
	if (ni->rails[0] && (by_nid || lx_net_type(ni->net) != LX_NET_TCP))
		return say(e, -EINVAL, "rails are addresses of one interface of a tcp net; give "
				       "a tcp net, an interface, and no NID");
	err = take_lnd_settings(e);
	if (err)
		return err;
	if (e->daemon->large)
		lx_config_large_nid(ni);
	e->dry = req->check;
	if (req->check)
		return check_place(e);
	err = ni->rails[0] ? rails_add(e, ni) : ni_add(e, ni);
	if (!err && !ni->rails[0])
		lx_edit_shared(e, ni, e->text, e->size);
	return err;
}

static int net_del(struct lx_edit *e)
{
	struct lx_ctl_net *req = e->req;
	struct lx_conf_ni *ni = &req->ni;
	char name[NAME_TEXT];
	int err;

	if (ni->net == LX_NET_U32_ANY && !lx_nid_eq(&ni->nid, &lx_nid_any))
		ni->net = lx_nid_net(&ni->nid);
	if (ni->net == LX_NET_U32_ANY)
		return say(e, -EINVAL, "give a net, or the NID of an NI");
	err = lx_net_del(e->node, ni);
	if (!err)
		return 0;
	ni_name(ni, name, sizeof(name));
	if (err == -ENOENT)
		return say(e, err, "there is no NI %s; see \"lnetx net show\"", name);
	return say(e, err, "cannot remove NI %s: %s", name, strerror(-err));
}

static int explain_set(struct lx_edit *e, uint32_t net, int err)
{
	const struct lx_ctl_set *req = e->req;

	switch (err) {
	case -ENOENT:
		return say(e, err, "there is no NI %s; see \"lnetx net show\"",
			   lx_nid_eq(&req->nid, &lx_nid_any) ? lx_net_str(net)
							     : lx_nid_str(&req->nid));
	case -EOPNOTSUPP:
		return say(e, err, "\"%s\" of NIs on %s cannot be set in this version", req->name,
			   lx_net_str(net));
	case -EINVAL:
	case -ERANGE:
		return say(e, err, "%s %lld is out of range on net %s", req->name,
			   (long long)req->value, lx_net_str(net));
	}
	return say(e, err, "cannot set %s of NIs on %s: %s", req->name, lx_net_str(net),
		   strerror(-err));
}

static bool in_list_before(const struct lx_ni_info *nis, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (nis[j].net == nis[i].net)
			return true;
	}
	return false;
}

static int set_all(struct lx_edit *e)
{
	const struct lx_ctl_set *req = e->req;
	struct lx_ni_info *nis;
	int first = 0, err;
	size_t n;

	err = lx_ni_list(e->node, &nis, &n);
	if (err)
		return say(e, err, "%s", strerror(-err));
	for (size_t i = 0; i < n; i++) {
		if (lx_net_type(nis[i].net) == LX_NET_LO || in_list_before(nis, i))
			continue;
		err = lx_net_set(e->node, nis[i].net, &lx_nid_any, req->name, req->value);
		if (err && !first)
			first = explain_set(e, nis[i].net, err);
	}
	free(nis);
	return first;
}

static int net_set(struct lx_edit *e)
{
	const struct lx_ctl_set *req = e->req;
	bool by_nid = !lx_nid_eq(&req->nid, &lx_nid_any);
	uint32_t net = by_nid ? lx_nid_net(&req->nid) : req->net;
	int err;

	if (net == LX_NET_U32_ANY)
		return set_all(e);
	err = lx_net_set(e->node, net, &req->nid, req->name, req->value);
	return err ? explain_set(e, net, err) : 0;
}

/* ---- routes, peers ----------------------------------------------------------------- */

static int route_add(struct lx_edit *e)
{
	const struct lx_conf_route *r = e->req;
	static const struct reason reasons[] = {
		{ -EHOSTUNREACH, "this node has no NI on the gateway's net; add one first "
				 "(lnetx net add)" },
		{ -EEXIST, "there is one already, or the net is local and needs none; see "
			   "\"lnetx route show\", \"lnetx net show\"" },
		{ -ELOOP, "that NID is this node's own; name the next router on the way" },
		{ -EINVAL, "not a possible gateway for this net, or a value is out of range" },
		{ 0, NULL },
	};
	int err;

	if (r->net == LX_NET_U32_ANY || lx_nid_eq(&r->gateway, &lx_nid_any))
		return say(e, -EINVAL, "a route needs a net and a gateway");
	err = lx_route_add(e->node, r);
	return err ? say(e, err, "route to %s via %s: %s", lx_net_str(r->net),
			 lx_nid_str(&r->gateway), reason_of(reasons, err))
		   : 0;
}

static int route_del(struct lx_edit *e)
{
	const struct lx_conf_route *r = e->req;
	int err;

	if (r->net == LX_NET_U32_ANY)
		return say(e, -EINVAL,
			   "give a net, and a gateway if there are several routes");
	err = lx_route_del(e->node, r->net, &r->gateway);
	if (err == -ENOENT)
		return say(e, err, "there is no route to %s via %s; see \"lnetx route show\"",
			   lx_net_str(r->net),
			   lx_nid_eq(&r->gateway, &lx_nid_any) ? "any gateway"
							       : lx_nid_str(&r->gateway));
	return err ? say(e, err, "route to %s: %s", lx_net_str(r->net), strerror(-err)) : 0;
}

static int explain_peer(struct lx_edit *e, const char *what, int err)
{
	static const struct reason reasons[] = {
		{ -EEXIST, "a NID belongs to another configured peer; see \"lnetx peer show\"" },
		{ -EPERM, "it exists and was not configured, or its Multi-Rail setting differs" },
		{ -ENOENT, "no such peer or NID; see \"lnetx peer show\"" },
		{ -EBUSY, "it is a gateway; remove its routes first (lnetx route del)" },
		{ -ENODEV, "this is not the peer's primary NID" },
		{ 0, NULL },
	};
	const struct lx_ctl_peer *req = e->req;

	return say(e, err, "cannot %s peer %s: %s", what, lx_nid_str(&req->primary),
		   reason_of(reasons, err));
}

static int peer_change(struct lx_edit *e, bool add)
{
	struct lx_ctl_peer *req = e->req;
	struct lx_conf_peer peer = { .primary = req->primary,
				     .multi_rail = req->multi_rail,
				     .lock_primary = req->lock_primary,
				     .nid = req->nid,
				     .n_nids = req->n_nids };
	int err;

	if (lx_nid_eq(&req->primary, &lx_nid_any))
		return say(e, -EINVAL, "give the primary NID of the peer");
	err = add ? lx_peer_add(e->node, &peer) : lx_peer_del(e->node, &peer, req->force);
	return err ? explain_peer(e, add ? "add" : "remove", err) : 0;
}

static int peer_add(struct lx_edit *e)
{
	return peer_change(e, true);
}

static int peer_del(struct lx_edit *e)
{
	return peer_change(e, false);
}

static int peer_set(struct lx_edit *e)
{
	const struct lx_ctl_set *req = e->req;
	const char *of = lx_nid_eq(&req->nid, &lx_nid_any) ? "all peers" : lx_nid_str(&req->nid);
	int err = lx_peer_set(e->node, &req->nid, req->name, req->value);

	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return say(e, err, "no peer has NID %s; see \"lnetx peer show\"", of);
	case -ERANGE:
		return say(e, err, "%s %lld of %s is out of range", req->name,
			   (long long)req->value, of);
	case -EOPNOTSUPP:
		return say(e, err, "\"%s\" of peers cannot be set", req->name);
	}
	return say(e, err, "cannot set %s of %s: %s", req->name, of, strerror(-err));
}

/* ---- selection policies ------------------------------------------------------------ */

static int udsp_add(struct lx_edit *e)
{
	const struct lx_conf_udsp *u = e->req;
	struct lx_policy policy;
	int err = lx_policy_parse(u, &policy, e->text, e->size);

	if (!err)
		err = lx_udsp_add(e->node, u);
	if (err == -EALREADY)
		return say(e, err, "this policy is there already; see \"lnetx udsp show\"");
	return err && err != -EINVAL ? say(e, err, "cannot add the policy: %s", strerror(-err))
				     : err;
}

static int udsp_del(struct lx_edit *e)
{
	const struct lx_ctl_udsp *req = e->req;
	int err = lx_udsp_del(e->node, req->index);

	if (err == -ENOENT)
		return say(e, err, "there is no policy %d; see \"lnetx udsp show\"", req->index);
	return err ? say(e, err, "cannot remove policies: %s", strerror(-err)) : 0;
}

/* ---- routing, counters, connections, tunables -------------------------------------- */

static int routing_set(struct lx_edit *e)
{
	const struct lx_ctl_routing *req = e->req;
	int err;

	if (req->enable != 0 && req->enable != 1)
		return say(e, -EINVAL, "routing is 0 (off) or 1 (on)");
	err = lx_routing_set(e->node, req->enable);
	if (err == -ENOMEM)
		return say(e, err,
			   "no memory for the router buffers; ask for fewer (lnetx routing "
			   "set large ...)");
	return err ? say(e, err, "cannot turn routing %s: %s", req->enable ? "on" : "off",
			 strerror(-err))
		   : 0;
}

static int buffers_set(struct lx_edit *e)
{
	const struct lx_ctl_buffers *req = e->req;
	int err = lx_buffers_set(e->node, req->total);

	if (err == -EINVAL)
		return say(e, err,
			   "a number of router buffers is out of range: tiny and small up to %d, "
			   "large up to %d",
			   LX_BUFFERS_MAX, LX_BUFFERS_LARGE_MAX);
	return err ? say(e, err, "cannot change the router buffers: %s", strerror(-err)) : 0;
}

static int stats_reset(struct lx_edit *e)
{
	lx_stats_reset(e->node);
	return 0;
}

static int conn_close(struct lx_edit *e)
{
	const struct lx_ctl_disconnect *req = e->req;
	int closed = lx_disconnect(e->node, &req->nid);

	if (closed < 0)
		return say(e, closed, "cannot disconnect: %s", strerror(-closed));
	e->count = closed;
	return say(e, 0, "%d connections closed", closed);
}

struct similar {
	struct lx_suggest module, name;
	const char *in; /* the module that exists, or NULL */
};

static int offer_tunable(const char *module, const struct lx_tunable *t, const char *value,
			 void *arg)
{
	struct similar *s = arg;

	lx_suggest_offer(&s->module, module);
	if (!strcmp(module, s->module.word)) {
		s->in = module;
		lx_suggest_offer(&s->name, t->name);
	}
	return 0;
}

int lx_edit_unknown_tunable(struct lx_node *node, const char *module, const char *name, char *text,
			    size_t size)
{
	struct similar s = { .module = lx_suggest(module), .name = lx_suggest(name) };
	const struct lx_text all = { text, size };
	const char *meant;

	lx_tunable_each(node, offer_tunable, &s);
	meant = s.in ? s.name.best : s.module.best;
	if (s.in)
		snprintf(text, size, "module %s has no tunable %s; ", module, name);
	else
		snprintf(text, size, "no module %s has tunables; ", module);
	if (meant)
		lx_text_add(&all, "did you mean %s?", meant);
	else
		lx_text_add(&all, "see \"lnetx tunable show%s%s\"", s.in ? " " : "",
			    s.in ? module : "");
	return -ENOENT;
}

static int tunable_set(struct lx_edit *e)
{
	const struct lx_ctl_tunable_value *v = e->req;
	int err = lx_tunable_write(e->node, v->module, v->name, v->value);

	if (!err && !strcmp(v->module, "tcp") && !strcmp(v->name, "fastpath"))
		lx_programs_retry(e->daemon->programs);
	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return lx_edit_unknown_tunable(e->node, v->module, v->name, e->text, e->size);
	case -EINVAL:
		return say(e, err,
			   "%s %s: \"%s\" is not a valid value, or not beside the others that are "
			   "set; see \"lnetx tunable show %s\"",
			   v->module, v->name, v->value, v->module);
	case -ERANGE:
		return say(e, err, "%s %s: %s is out of range; see \"lnetx -s tunable show %s %s\"",
			   v->module, v->name, v->value, v->module, v->name);
	case -EADDRINUSE:
		return say(e, err,
			   "%s %s: another program listens on port %s of an NI's address; see "
			   "\"ss -ltnp\". The value is unchanged",
			   v->module, v->name, v->value);
	case -EBUSY:
		return say(e, err,
			   "%s %s cannot change while NIs are up; remove them first (lnetx net "
			   "del), or "
			   "set it in the configuration file",
			   v->module, v->name);
	}
	return say(e, err, "%s %s: %s", v->module, v->name, strerror(-err));
}

/* ---- faults ---------------------------------------------------------------------- */

static int fault_add(struct lx_edit *e)
{
	const struct lx_ctl_fault *req = e->req;
	int err = lx_fault_add(e->node, &req->rule);

	switch (err) {
	case 0:
		return 0;
	case -EINVAL:
		return say(e, err,
			   "the rule would match nothing, or does not say when to act; only PUT "
			   "and GET have a portal, and a rate or an interval is needed");
	case -ENOSPC:
		return say(e, err, "too many rules; delete some (lnetx fault del)");
	}
	return say(e, err, "cannot add the rule: %s", strerror(-err));
}

static int fault_del(struct lx_edit *e)
{
	const struct lx_ctl_fault *req = e->req;
	const struct lx_fault_rule *r = &req->rule;
	int n = lx_fault_del(e->node, r->delay, req->all ? &lx_nid_any : &r->src,
			     req->all ? &lx_nid_any : &r->dst);

	if (n >= 0) {
		e->count = n;
		return say(e, 0, "%d rules deleted", n);
	}
	if (n == -ENOENT)
		return say(e, n, "there is no such %s rule; see \"lnetx fault show\"",
			   r->delay ? "delay" : "drop");
	return say(e, n, "cannot delete rules: %s", strerror(-n));
}

static int fault_reset(struct lx_edit *e)
{
	const struct lx_ctl_fault *req = e->req;

	lx_fault_clear(e->node, req->rule.delay);
	return 0;
}

/* ---- the table --------------------------------------------------------------------- */

/* clang-format off */
#define EDIT(object, verb, run) { LX_CTL_##object, LX_CTL_##verb, run, false }
#define EDIT_ALWAYS(object, verb, run) { LX_CTL_##object, LX_CTL_##verb, run, true }
static const struct lx_edit_kind kinds[] = {
	EDIT(CONFIG, ADD, lx_import_add),
	EDIT(CONFIG, DEL, lx_import_del),
	EDIT(NET, ADD, net_add),
	EDIT(NET, DEL, net_del),
	EDIT(NET, SET, net_set),
	EDIT(ROUTE, ADD, route_add),
	EDIT(ROUTE, DEL, route_del),
	EDIT(PEER, ADD, peer_add),
	EDIT(PEER, DEL, peer_del),
	EDIT(PEER, SET, peer_set),
	EDIT(UDSP, ADD, udsp_add),
	EDIT(UDSP, DEL, udsp_del),
	EDIT(FAULT, ADD, fault_add),
	EDIT(FAULT, DEL, fault_del),
	EDIT(FAULT, SET, fault_reset),
	EDIT(ROUTING, SET, routing_set),
	EDIT(BUFFERS, SET, buffers_set),
	EDIT(STATS, DEL, stats_reset),
	EDIT(CONN, DEL, conn_close),
	EDIT(TUNABLE, SET, tunable_set),
	EDIT_ALWAYS(SELFTEST, SET, lx_tester_set),
	EDIT_ALWAYS(GUARD, SET, lx_daemon_guard_set),
	EDIT_ALWAYS(BAN, ADD, lx_daemon_guard_ban),
	EDIT_ALWAYS(BAN, DEL, lx_daemon_guard_unban),
	EDIT_ALWAYS(PREFIX, ADD, lx_daemon_guard_prefix_add),
	EDIT_ALWAYS(PREFIX, DEL, lx_daemon_guard_prefix_del),
};
/* clang-format on */

const struct lx_edit_kind *lx_edit_find(const struct lx_request *request)
{
	for (size_t i = 0; i < LX_ARRAY_LEN(kinds); i++) {
		if (kinds[i].object == request->object && kinds[i].verb == request->verb)
			return &kinds[i];
	}
	return NULL;
}
