/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Resolves a configuration on this machine: rules and rails become NIs by its addresses; routes
 * from module parameters become routes, or make the node a router. Called by check.c, node.c,
 * apply.c, and programs. No state.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/log.h"
#include "../conf/net.h"
#include "../conf/rails.h"
#include "../io/netif.h"
#include "node.h"

/* ---- a copy ----------------------------------------------------------------------------- */

static int copy_array(const void *from, size_t n, size_t size, void *ret_to)
{
	void *to = n ? malloc(n * size) : NULL;

	if (n && !to)
		return -ENOMEM;
	if (n)
		memcpy(to, from, n * size);
	*(void **)ret_to = to;
	return 0;
}

static int copy_peers(const struct lx_conf *conf, struct lx_conf *copy)
{
	int r = copy_array(conf->peer, conf->n_peers, sizeof(*conf->peer), &copy->peer);

	for (; !r && copy->n_peers < conf->n_peers; copy->n_peers++) {
		const struct lx_conf_peer *from = &conf->peer[copy->n_peers];

		r = copy_array(from->nid, from->n_nids, sizeof(*from->nid),
			       &copy->peer[copy->n_peers].nid);
		if (r)
			break;
	}
	return r;
}

/* Copies everything except rules, NIs and routes. */
static int copy_rest(const struct lx_conf *conf, struct lx_conf *copy)
{
	int r = copy_array(conf->tunable, conf->n_tunables, sizeof(*conf->tunable),
			   &copy->tunable);

	copy->n_tunables = r ? 0 : conf->n_tunables;
	copy->routing = conf->routing;
	copy->routing_at = conf->routing_at;
	memcpy(copy->buffers, conf->buffers, sizeof(copy->buffers));
	if (!r)
		r = copy_array(conf->udsp, conf->n_udsps, sizeof(*conf->udsp), &copy->udsp);
	copy->n_udsps = r ? 0 : conf->n_udsps;
	copy->selftest = conf->selftest;
	return r ? r : copy_peers(conf, copy);
}

/* ---- NIs ------------------------------------------------------------------------------- */

static int machine_addrs(struct lx_conf_addr **ret_list, size_t *ret_n)
{
	struct lx_netif *from LX_AUTO_FREE = NULL;
	struct lx_conf_addr *list;
	size_t n;
	int r = lx_netif_addrs(&from, &n);

	if (r)
		return r;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct lx_conf_addr *at = &list[*ret_n];
		const uint8_t *bytes;
		unsigned int len;

		if (from[i].loopback || from[i].fleeting || lx_addr_is_link_local(&from[i].addr))
			continue;
		memcpy(at->ifname, from[i].name, sizeof(at->ifname));
		at->v6 = from[i].addr.sa.sa_family == AF_INET6;
		at->up = from[i].enabled;
		bytes = lx_addr_bytes(&from[i].addr, &len);
		memcpy(at->addr, bytes, len);
		++*ret_n;
	}
	*ret_list = list;
	return 0;
}

static bool has_ni(const struct lx_conf *conf, const struct lx_conf_ni *ni)
{
	for (size_t i = 0; i < conf->n_nis; i++) {
		if (conf->ni[i].net == ni->net && !strcmp(conf->ni[i].ifname, ni->ifname))
			return true;
	}
	return false;
}

static int fail(int r, struct lx_conf_place at, struct lx_conf_error *ret_err, const char *text)
{
	if (ret_err) {
		*ret_err = (struct lx_conf_error){ .line = at.line, .column = at.column };
		snprintf(ret_err->text, sizeof(ret_err->text), "%s", text);
	}
	return r;
}

static int append_nis(struct lx_conf *copy, const struct lx_conf_ni *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct lx_conf_ni *ni = lx_grow(&copy->ni, &copy->n_nis, sizeof(*ni));

		if (!ni)
			return -ENOMEM;
		*ni = list[i];
	}
	return 0;
}

static int append_rails(struct lx_conf *copy, const struct lx_conf_ni *ni,
			const struct lx_conf_addr *addrs, size_t n_addrs,
			struct lx_conf_error *ret_err)
{
	struct lx_conf_ni *rails LX_AUTO_FREE = NULL;
	char why[sizeof(ret_err->text)];
	size_t n = 0;
	int r = lx_netif_index(ni->ifname) ? 0 : -ENODEV;

	if (r)
		snprintf(why, sizeof(why), "net %s on %s: %s", lx_net_str(ni->net), ni->ifname,
			 lx_conf_net_why(ni->net, r));
	else
		r = lx_rails_expand(ni, addrs, n_addrs, &rails, &n, why, sizeof(why));
	if (r == -ENOMEM)
		return r;
	return r ? fail(r, ni->rails_at, ret_err, why) : append_nis(copy, rails, n);
}

static bool has_rails(const struct lx_conf *conf)
{
	for (size_t i = 0; i < conf->n_nis; i++) {
		if (conf->ni[i].rails[0])
			return true;
	}
	return false;
}

/* The NIs of the configuration, followed by those of its rules. */
static int resolve_nis(const struct lx_conf *conf, struct lx_conf *copy,
		       struct lx_conf_error *ret_err)
{
	struct lx_conf_addr *addrs LX_AUTO_FREE = NULL;
	struct lx_conf_ni *made LX_AUTO_FREE = NULL;
	size_t n_addrs = 0, n_made = 0;
	int r = conf->n_rules || has_rails(conf) ? machine_addrs(&addrs, &n_addrs) : 0;

	if (!r)
		r = lx_rules_apply(conf->rule, conf->n_rules, addrs, n_addrs, &made, &n_made);
	if (r == -ENOENT)
		return fail(r, conf->rule[0].at, ret_err,
			    "no rule of ip2nets applies to this machine; see its addresses with "
			    "\"ip address\"");
	if (r == -ENODEV)
		return fail(r, conf->rule[0].at, ret_err,
			    "a net without interface needs one that is up and has an address");
	if (r)
		return fail(r, (struct lx_conf_place){ 0 }, ret_err, strerror(-r));
	for (size_t i = 0; !r && i < conf->n_nis; i++) {
		const struct lx_conf_ni *ni = &conf->ni[i];

		r = ni->rails[0] ? append_rails(copy, ni, addrs, n_addrs, ret_err)
				 : append_nis(copy, ni, 1);
	}
	for (size_t i = 0; !r && i < n_made; i++) {
		if (!has_ni(copy, &made[i]))
			r = append_nis(copy, &made[i], 1);
	}
	return r;
}

/* ---- routes ----------------------------------------------------------------------------- */

const char *lx_conf_ni_place(const struct lx_conf_ni *ni, char *buf, size_t size)
{
	bool by_nid = !lx_nid_is_any(&ni->nid);

	snprintf(buf, size, "%s%s%s", ni->ifname, by_nid && ni->ifname[0] ? " with " : "",
		 by_nid ? lx_nid_str(&ni->nid) : "");
	return buf;
}

/* The NID that a transport would give the NI. */
int lx_conf_ni_nid(const struct lx_conf_ni *ni, struct lx_nid *ret_nid)
{
	struct lx_netif netif;
	int r;

	if (!lx_nid_is_any(&ni->nid)) {
		*ret_nid = ni->nid;
		return lx_netif_by_nid(&ni->nid, ni->ifname, &netif);
	}
	r = lx_netif_by_name(ni->ifname, &netif);
	return r ? r : lx_nid_from_sockaddr(ni->net, &netif.addr.sa, ret_nid);
}

/* Of a route from a module parameter (control.md 7.2). */
enum fate { KEEP, ROUTER, NO_NET };

static enum fate fate_of(const struct lx_conf *conf, const struct lx_conf_route *route)
{
	enum fate fate = NO_NET;
	struct lx_nid nid;

	for (size_t i = 0; i < conf->n_nis; i++) {
		if (conf->ni[i].net != lx_nid_net(&route->gateway))
			continue;
		if (!lx_conf_ni_nid(&conf->ni[i], &nid) && lx_nid_eq(&nid, &route->gateway))
			return ROUTER;
		fate = KEEP;
	}
	return fate;
}

static bool has_route(const struct lx_conf *conf, const struct lx_conf_route *route)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		if (conf->route[i].net == route->net &&
		    lx_nid_eq(&conf->route[i].gateway, &route->gateway))
			return true;
	}
	return false;
}

static void resolve_route(const struct lx_conf_route *route, struct lx_conf *copy)
{
	enum fate fate = route->legacy ? fate_of(copy, route) : KEEP;

	if (fate == ROUTER && copy->routing == LX_UNSET)
		copy->routing = 1;
	if (fate == NO_NET)
		lx_warn("net=%s gateway=%s reason=\"there is no NI on the gateway's net\" "
			"action=\"the route is ignored\" next=\"lnetx net add\"",
			lx_net_str(route->net), lx_nid_str(&route->gateway));
	if (fate != KEEP)
		return;
	if (route->legacy && (lx_conf_net_is_local(copy, route->net) || has_route(copy, route)))
		return;
	copy->route[copy->n_routes] = *route;
	copy->route[copy->n_routes++].legacy = false;
}

static int resolve_routes(const struct lx_conf *conf, struct lx_conf *copy)
{
	copy->route = calloc(conf->n_routes + 1, sizeof(*copy->route));
	if (!copy->route)
		return -ENOMEM;
	for (size_t i = 0; i < conf->n_routes; i++)
		resolve_route(&conf->route[i], copy);
	return 0;
}

bool lx_conf_is_resolved(const struct lx_conf *conf)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		if (conf->route[i].legacy)
			return false;
	}
	return !conf->n_rules && !has_rails(conf);
}

int lx_conf_resolve(const struct lx_conf *conf, struct lx_conf **ret_conf,
		    struct lx_conf_error *ret_err)
{
	struct lx_conf *copy;
	int r = lx_conf_new(&copy);

	if (r)
		return r;
	if (ret_err)
		*ret_err = (struct lx_conf_error){ 0 };
	r = copy_rest(conf, copy);
	if (!r)
		r = resolve_nis(conf, copy, ret_err);
	if (!r)
		r = resolve_routes(conf, copy);
	if (r)
		lx_conf_free(copy);
	else
		*ret_conf = copy;
	return r;
}
