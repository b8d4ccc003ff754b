/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Applies configuration to a node: adds and deletes nets, and changes a running node
 * to match a whole configuration.
 *
 * The order follows the dependencies: tunables, buffers and routing, selection policies,
 * nets, peers, routes (which make peers gateways); removal first, in reverse order.
 * A router routes before it has nets, so that no message comes too early.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../conf/import.h"
#include "../core/monitor.h"
#include "../core/peerconf.h"
#include "../core/udsp.h"
#include "node.h"

/* ---- nets ------------------------------------------------------------------------------ */

int lx_net_add(struct lx_node *node, const struct lx_conf_ni *conf)
{
	const struct lx_lnd *lnd = lx_transport_lnd(lx_net_type(conf->net));
	int r;

	if (!lnd)
		return -EPROTONOSUPPORT;
	lx_node_lock(node);
	r = node->stopped ? -ESHUTDOWN : lx_core_ni_start(node->core, lnd, node->env, conf, NULL);
	lx_node_unlock(node);
	return r;
}

void lx_node_ni_stop(struct lx_node *node, struct lx_core_ni *ni)
{
	lx_ni_get(ni);
	lx_core_ni_stop(node->core, ni);
	while (ni->state != LX_NI_STOPPED)
		lx_env_wait(node->env);
	lx_ni_put(ni);
}

static bool ni_is(const struct lx_core_ni *ni, const struct lx_conf_ni *conf)
{
	if (ni->ni.net != conf->net || ni->state != LX_NI_UP)
		return false;
	if (conf->ifname[0] && strcmp(ni->ni.ifname, conf->ifname))
		return false;
	return lx_nid_is_any(&conf->nid) || lx_nid_eq(&ni->ni.nid, &conf->nid);
}

static struct lx_core_ni *ni_find(struct lx_core *core, const struct lx_conf_ni *conf)
{
	struct lx_net *net = lx_net_lookup(core, conf->net);
	struct lx_core_ni *ni;

	if (!net)
		return NULL;
	lx_list_for_each(ni, &net->nis, link) {
		if (ni_is(ni, conf))
			return ni;
	}
	return NULL;
}

int lx_net_del(struct lx_node *node, const struct lx_conf_ni *conf)
{
	struct lx_core_ni *ni;
	int r = -ENOENT;

	if (lx_node_must_not_wait(node))
		return -EDEADLK;
	if (lx_net_type(conf->net) == LX_NET_LO)
		return -EINVAL;
	lx_node_lock(node);
	while (!node->stopped && (ni = ni_find(node->core, conf))) {
		lx_node_ni_stop(node, ni);
		r = 0;
	}
	lx_node_unlock(node);
	return r;
}

static int lnd_tunable_index(const struct lx_lnd *lnd, const char *name)
{
	for (int i = 0; lnd->ni_tunables && lnd->ni_tunables[i]; i++) {
		if (!strcmp(lnd->ni_tunables[i], name))
			return i;
	}
	return -ENOENT;
}

static int ni_set(struct lx_core_ni *ni, const char *name, int32_t value)
{
	int index = lnd_tunable_index(ni->ni.lnd, name), r;

	if (!strcmp(name, "health")) {
		if (value < 0 || value > LX_HEALTH_MAX)
			return -ERANGE;
		lx_health_set_ni(ni, value);
		return 0;
	}
	if (index < 0)
		return index;
	if (!ni->ni.lnd->set_tunable)
		return -EOPNOTSUPP;
	r = ni->ni.lnd->set_tunable(&ni->ni, index, value);
	if (!r)
		ni->given_lnd_tun.value[index] = value;
	return r;
}

int lx_net_set(struct lx_node *node, uint32_t net_id, const struct lx_nid *nid, const char *name,
	       int32_t value)
{
	struct lx_core_ni *ni;
	struct lx_net *net;
	int r = -ENOENT, one;

	lx_node_lock(node);
	lx_ni_for_each(net, ni, node->core) {
		if (ni->ni.lnd->no_credits || (net_id != LX_NET_U32_ANY && net_id != net->id) ||
		    (!lx_nid_is_any(nid) && !lx_nid_eq(nid, &ni->ni.nid)))
			continue;
		one = ni_set(ni, name, value);
		if (r == -ENOENT || one)
			r = one;
	}
	lx_node_unlock(node);
	return r;
}

/* ---- a whole configuration ---------------------------------------------------------------- */

struct apply {
	struct lx_node *node;
	const struct lx_conf *conf;
	unsigned int flags;
	struct lx_conf_error *err; /* the first failure; may be NULL */
	int result;
};

static void failed(struct apply *a, int r, struct lx_conf_place at, const char *why,
		   const char *fmt, ...) LX_PRINTF(5, 6);

/* Why what is there already cannot be added: it differs. */
#define THERE "it is there with other settings; delete it first"

/* @why: NULL: use strerror(). */
static void failed(struct apply *a, int r, struct lx_conf_place at, const char *why,
		   const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!r || a->result)
		return;
	a->result = r;
	if (!a->err)
		return;
	va_start(ap, fmt);
	n = vsnprintf(a->err->text, sizeof(a->err->text), fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(a->err->text))
		snprintf(a->err->text + n, sizeof(a->err->text) - n, ": %s",
			 why ? why : strerror(-r));
	a->err->line = at.line;
	a->err->column = at.column;
}

/* The NIs of a net share the tunables of the first; those of others are ignored. */
static const struct lx_conf_ni *first_of_net(const struct lx_conf *conf, uint32_t net)
{
	size_t i = 0;

	while (conf->ni[i].net != net)
		i++;
	return &conf->ni[i];
}

/* A transport may have chosen another value than the one it was given: 0, or one out of range. */
static bool values_differ(const int32_t *want, const int32_t *have, const int32_t *given, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (want[i] != LX_UNSET && want[i] != have[i] && want[i] != given[i])
			return true;
	}
	return false;
}

/* True if a setting is given and differs from the present one. */
static bool ni_differs(const struct apply *a, const struct lx_core_ni *ni,
		       const struct lx_conf_ni *conf)
{
	const struct lx_ni_tunables *tun = &first_of_net(a->conf, conf->net)->tun;

	return values_differ((const int32_t *)tun, (const int32_t *)&ni->ni.tun,
			     (const int32_t *)&ni->given_tun, sizeof(*tun) / sizeof(int32_t)) ||
	       values_differ(conf->lnd_tun.value, ni->ni.lnd_tun.value, ni->given_lnd_tun.value,
			     LX_LND_TUNABLES_MAX);
}

/*
 * An interface without a NID means one NI. If it has several (rails), that is the one with
 * the interface's first address.
 */
static bool ni_meant(const struct lx_core_ni *ni, const struct lx_conf_ni *conf)
{
	const struct lx_core_ni *other;
	struct lx_nid nid;

	if (!ni_is(ni, conf))
		return false;
	if (!lx_nid_is_any(&conf->nid))
		return true;
	lx_list_for_each(other, &ni->net->nis, link) {
		if (other != ni && ni_is(other, conf))
			return !lx_conf_ni_nid(conf, &nid) && lx_nid_eq(&ni->ni.nid, &nid);
	}
	return true;
}

static bool ni_wanted(const struct apply *a, const struct lx_core_ni *ni)
{
	for (size_t i = 0; i < a->conf->n_nis; i++) {
		if (ni_meant(ni, &a->conf->ni[i]) && !ni_differs(a, ni, &a->conf->ni[i]))
			return true;
	}
	return false;
}

static struct lx_core_ni *ni_unwanted(const struct apply *a)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, a->node->core) {
		if (!ni->ni.lnd->no_credits && !ni_wanted(a, ni))
			return ni;
	}
	return NULL;
}

static bool route_is(const struct lx_route *route, const struct lx_conf_route *c)
{
	return c->net == route->rnet->id && lx_nid_eq(&c->gateway, &route->nid) &&
	       c->hop == route->hops &&
	       (c->priority == LX_UNSET ? 0 : c->priority) == route->priority &&
	       (c->health_sensitivity == LX_UNSET ? 1 : c->health_sensitivity) ==
		       route->health_sensitivity;
}

static bool route_wanted(const struct apply *a, const struct lx_route *route)
{
	for (size_t i = 0; i < a->conf->n_routes; i++) {
		if (route_is(route, &a->conf->route[i]))
			return true;
	}
	return false;
}

static void routes_remove(struct apply *a)
{
	struct lx_route *route, *tmp;
	struct lx_rnet *rnet;
	bool again;

	do {
		again = false;
		lx_list_for_each(rnet, &a->node->core->rnets, link) {
			lx_list_for_each_safe(route, tmp, &rnet->routes, link) {
				if (again || route_wanted(a, route))
					continue;
				again = true;
				break;
			}
			if (again)
				break;
		}
		/* Deleting may free the net's whole list, so restart each time. */
		if (again)
			lx_route_delete(a->node->core, route->rnet->id, &route->nid);
	} while (again);
}

/* The wanted peer that this one can become by adding and dropping NIDs; NULL: none. */
static const struct lx_conf_peer *peer_wanted(const struct apply *a, const struct lx_peer *peer)
{
	bool multi_rail = peer->state & LX_PEER_MULTI_RAIL;

	for (size_t i = 0; i < a->conf->n_peers; i++) {
		if (lx_nid_eq(&a->conf->peer[i].primary, &peer->primary))
			return a->conf->peer[i].multi_rail == multi_rail ? &a->conf->peer[i] : NULL;
	}
	return NULL;
}

/* Discovery would only find again what the peer itself lists, unless another peer wants it. */
static bool nid_found(const struct apply *a, const struct lx_peer_ni *pni)
{
	bool found = lx_peer_ni_listed(pni);

	for (size_t i = 0; i < a->conf->n_peers && found; i++)
		found = !lx_peerconf_lists(&a->conf->peer[i], &pni->nid);
	return found;
}

static struct lx_peer_ni *nid_unwanted(const struct apply *a, const struct lx_peer *peer,
				       const struct lx_conf_peer *conf)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer) {
		if (!lx_peerconf_lists(conf, &pni->nid) && !nid_found(a, pni))
			return pni;
	}
	return NULL;
}

/* Gateways stay as they are: their routes and discovery define them. */
static void peers_remove(struct apply *a)
{
	const struct lx_conf_peer *wanted;
	struct lx_peer *peer, *tmp;
	struct lx_peer_ni *pni;

	lx_list_for_each_safe(peer, tmp, &a->node->core->peers, link) {
		if (!(peer->state & LX_PEER_CONFIGURED) || !lx_list_empty(&peer->routes))
			continue;
		wanted = peer_wanted(a, peer);
		while (wanted && (pni = nid_unwanted(a, peer, wanted)))
			lx_peer_drop_nid(pni);
		if (!wanted)
			lx_peer_delete(peer);
	}
}

/* Their order counts, so it is all of them or none. */
static bool udsps_wanted(const struct apply *a)
{
	struct lx_policy policy;
	struct lx_udsp *u;
	char text[200];
	size_t i = 0;

	lx_list_for_each(u, &a->node->core->udsps, link) {
		const struct lx_conf_udsp *c = &a->conf->udsp[i];

		if (i == a->conf->n_udsps || (c->index != LX_UNSET && (size_t)c->index != i) ||
		    lx_policy_parse(c, &policy, text, sizeof(text)) ||
		    !lx_policy_same(&policy, &u->policy) || policy.priority != u->policy.priority)
			return false;
		i++;
	}
	return i == a->conf->n_udsps;
}

/* Removes what is not wanted, for LX_APPLY_DIFF; dependants first. */
static void remove_unwanted(struct apply *a)
{
	struct lx_core_ni *ni;

	lx_node_lock(a->node);
	routes_remove(a); /* may leave gateways that are ordinary peers */
	peers_remove(a);
	while ((ni = ni_unwanted(a)))
		lx_node_ni_stop(a->node, ni);
	if (!udsps_wanted(a))
		lx_udsp_delete(a->node->core, LX_UNSET);
	lx_node_unlock(a->node);
}

static const struct lx_conf_tunable *conf_tunable(const struct lx_conf *conf, const char *module,
						  const char *name)
{
	for (size_t i = 0; i < conf->n_tunables; i++) {
		if (!strcmp(conf->tunable[i].module, module) &&
		    !strcmp(conf->tunable[i].name, name))
			return &conf->tunable[i];
	}
	return NULL;
}

/* Section "buffers" has it. */
static bool is_given_as_buffers(const struct lx_conf *conf, const char *module, const char *name)
{
	static const char *const names[LX_POOLS] = {
		[LX_POOL_TINY] = "tiny_router_buffers",
		[LX_POOL_SMALL] = "small_router_buffers",
		[LX_POOL_LARGE] = "large_router_buffers",
	};

	for (int i = 0; i < LX_POOLS && !strcmp(module, "lnet"); i++) {
		if (!strcmp(names[i], name))
			return conf->buffers[i] != LX_UNSET;
	}
	return false;
}

/* Tunables that are no longer in the file get their defaults. */
static int tunable_default(const char *module, const struct lx_tunable *t, const char *value,
			   void *arg)
{
	static const struct lx_conf_place nowhere;
	struct apply *a = arg;
	char text[32];

	if (conf_tunable(a->conf, module, t->name) ||
	    is_given_as_buffers(a->conf, module, t->name))
		return 0;
	snprintf(text, sizeof(text), "%lld", (long long)t->def);
	if (t->names)
		snprintf(text, sizeof(text), "%s", t->names[t->def - t->min]);
	if (strcmp(text, value))
		failed(a, lx_tunable_write(a->node, module, t->name, text), nowhere, NULL,
		       "%s: %s: \"%s\", the default", module, t->name, text);
	return 0;
}

static void write_tunables(struct apply *a)
{
	if (a->flags & LX_APPLY_DIFF)
		lx_tunable_each(a->node, tunable_default, a);
	for (size_t i = 0; i < a->conf->n_tunables; i++) {
		const struct lx_conf_tunable *c = &a->conf->tunable[i];

		failed(a, lx_tunable_write(a->node, c->module, c->name, c->value), c->value_at,
		       NULL, "%s: %s: \"%s\"", c->module, c->name, c->value);
	}
}

/* Twice, because a value may be valid only together with a later one. */
static void apply_tunables(struct apply *a)
{
	struct apply first = *a;

	first.err = NULL;
	write_tunables(&first);
	write_tunables(a);
}

/* It is up already, as it is wanted. */
static bool has_ni(struct apply *a, const struct lx_conf_ni *conf)
{
	struct lx_core_ni *ni;
	struct lx_net *net;
	bool has = false;

	lx_node_lock(a->node);
	lx_ni_for_each(net, ni, a->node->core)
		has |= ni_meant(ni, conf) && !ni_differs(a, ni, conf);
	lx_node_unlock(a->node);
	return has;
}

static void apply_nets(struct apply *a)
{
	for (size_t i = 0; i < a->conf->n_nis; i++) {
		const struct lx_conf_ni *c = &a->conf->ni[i];
		char place[LX_CONF_PLACE_TEXT];
		int r = has_ni(a, c) ? 0 : lx_net_add(a->node, c);
		const char *why = r == -EEXIST ? THERE : lx_conf_net_why(c->net, r);

		failed(a, r, c->at, why, "net %s on %s", lx_net_str(c->net),
		       lx_conf_ni_place(c, place, sizeof(place)));
	}
}

static void apply_routing(struct apply *a)
{
	bool start = a->flags & LX_APPLY_START;
	int r;

	failed(a, lx_buffers_set(a->node, a->conf->buffers), a->conf->routing_at, NULL,
	       "router buffers");
	if (a->conf->routing == LX_UNSET && !(a->flags & LX_APPLY_DIFF))
		return;
	lx_node_lock(a->node);
	r = lx_monitor_route(a->node->core, a->conf->routing == 1, start);
	lx_node_unlock(a->node);
	failed(a, r, a->conf->routing_at, NULL, "routing %s", a->conf->routing == 1 ? "on" : "off");
}

static bool has_route(struct apply *a, const struct lx_conf_route *conf)
{
	const struct lx_route *route;
	bool has;

	lx_node_lock(a->node);
	route = lx_route_lookup(a->node->core, conf->net, &conf->gateway);
	has = route && route_is(route, conf);
	lx_node_unlock(a->node);
	return has;
}

static void apply_routes(struct apply *a)
{
	for (size_t i = 0; i < a->conf->n_routes; i++) {
		const struct lx_conf_route *c = &a->conf->route[i];
		int r = has_route(a, c) ? 0 : lx_route_add(a->node, c);

		failed(a, r, c->at, r == -EEXIST ? THERE : NULL, "route to %s via %s",
		       lx_net_str(c->net), lx_nid_str(&c->gateway));
	}
}

static void apply_udsps(struct apply *a)
{
	for (size_t i = 0; i < a->conf->n_udsps; i++) {
		const struct lx_conf_udsp *c = &a->conf->udsp[i];
		int r = lx_udsp_add(a->node, c);

		/* There already: as it was, or given twice. */
		failed(a, r == -EALREADY ? 0 : r, c->at, NULL, "selection policy");
	}
}

static bool has_peer(struct lx_core *core, const struct lx_conf_peer *conf)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, &conf->primary);
	struct lx_peer *peer = pni ? lx_peer_of(pni) : NULL;
	bool has = peer && lx_nid_eq(&peer->primary, &conf->primary) &&
		   !(peer->state & LX_PEER_MULTI_RAIL) == !conf->multi_rail;

	for (size_t i = 0; has && i < conf->n_nids; i++)
		has = lx_peer_ni_of(peer, &conf->nid[i]);
	return has;
}

static int peer_add(struct apply *a, const struct lx_conf_peer *conf)
{
	struct lx_core *core = a->node->core;
	int r;

	lx_node_lock(a->node);
	r = lx_peerconf_add(core, conf);
	/* Since remove_unwanted(), a push may have given a NID back to the peer that had it. */
	if (r == -EEXIST && (a->flags & LX_APPLY_DIFF)) {
		peers_remove(a);
		r = lx_peerconf_add(core, conf);
	}
	/* An export also lists peers that need not be configured, such as gateways. */
	if (r && has_peer(core, conf))
		r = 0;
	lx_node_unlock(a->node);
	return r;
}

static void apply_peers(struct apply *a)
{
	for (size_t i = 0; i < a->conf->n_peers; i++) {
		const struct lx_conf_peer *c = &a->conf->peer[i];
		int r;

		if (!lx_import_peer_says(a->conf, c))
			continue;
		r = peer_add(a, c);
		/* -EBUSY: a gateway; discovery knows its NIDs. */
		if (r == -EBUSY && (a->flags & LX_APPLY_DIFF))
			continue;
		failed(a, r, c->at, r == -EBUSY ? "it is a gateway; remove its routes first" : NULL,
		       "peer %s", lx_nid_str(&c->primary));
	}
}

static int apply(struct lx_node *node, const struct lx_conf *conf, unsigned int flags,
		 struct lx_conf_error *ret_err)
{
	struct apply a = { .node = node, .conf = conf, .flags = flags, .err = ret_err };

	if (flags & LX_APPLY_DIFF)
		remove_unwanted(&a);
	apply_tunables(&a);
	apply_routing(&a);
	apply_udsps(&a);
	apply_nets(&a);
	apply_peers(&a);
	apply_routes(&a);
	return a.result;
}

int lx_node_apply(struct lx_node *node, const struct lx_conf *conf, unsigned int flags,
		  struct lx_conf_error *ret_err)
{
	struct lx_conf *resolved;
	int r;

	if ((flags & LX_APPLY_DIFF) && lx_node_must_not_wait(node))
		return -EDEADLK;
	if (ret_err)
		*ret_err = (struct lx_conf_error){ 0 };
	if (lx_conf_is_resolved(conf))
		return apply(node, conf, flags, ret_err);
	r = lx_conf_resolve(conf, &resolved, ret_err);
	if (r)
		return r == -ENOENT ? -EINVAL : r;
	r = apply(node, resolved, flags, ret_err);
	lx_conf_free(resolved);
	return r;
}
