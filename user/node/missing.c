/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parts a configuration into what this machine can have now, and what waits for an interface or
 * an address. Called by check.c, and programs. No state.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/cleanup.h"
#include "../conf/net.h"
#include "node.h"

static bool is_missing(const struct lx_conf_ni *ni)
{
	/* Not changed; only freed configurations own their NIs. */
	struct lx_conf one = { .ni = (struct lx_conf_ni *)ni, .n_nis = 1, .routing = LX_UNSET };
	struct lx_conf *rails;
	struct lx_nid nid;
	int r;

	if (ni->rails[0]) {
		r = lx_conf_resolve(&one, &rails, NULL);
		if (!r)
			lx_conf_free(rails);
	} else {
		r = lx_conf_ni_nid(ni, &nid);
	}
	return r == -ENODEV || r == -EADDRNOTAVAIL;
}

static bool has_net(const struct lx_conf *conf, uint32_t net)
{
	if (lx_conf_net_is_local(conf, net))
		return true;
	for (size_t i = 0; i < conf->n_rules; i++) {
		if (conf->rule[i].ni.net == net)
			return true;
	}
	return false;
}

/* @now, @later: with room for all; their arrays are filled. */
static void part(const struct lx_conf *conf, struct lx_conf *now, struct lx_conf *later)
{
	for (size_t i = 0; i < conf->n_nis; i++) {
		if (is_missing(&conf->ni[i]))
			later->ni[later->n_nis++] = conf->ni[i];
		else
			now->ni[now->n_nis++] = conf->ni[i];
	}
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct lx_conf_route *r = &conf->route[i];
		uint32_t via = lx_nid_net(&r->gateway);

		if (has_net(later, via) && !has_net(now, via))
			later->route[later->n_routes++] = *r;
		else
			now->route[now->n_routes++] = *r;
	}
}

static bool is_own(const struct lx_conf *conf, const struct lx_nid *nid)
{
	struct lx_nid own;

	for (size_t i = 0; i < conf->n_nis; i++) {
		if (!lx_conf_ni_nid(&conf->ni[i], &own) && lx_nid_eq(&own, nid))
			return true;
	}
	return false;
}

/*
 * An export has the node itself among the peers. It needs no such entry, and one with the NIDs of
 * NIs that are missing looks like a mistake.
 */
static void drop_own_peers(struct lx_conf *conf)
{
	size_t kept = 0;

	for (size_t i = 0; i < conf->n_peers; i++) {
		struct lx_conf_peer *p = &conf->peer[i];
		bool own = is_own(conf, &p->primary);

		for (size_t j = 0; j < p->n_nids && !own; j++)
			own = is_own(conf, &p->nid[j]);
		if (own)
			free(p->nid);
		else
			conf->peer[kept++] = *p;
	}
	conf->n_peers = kept;
}

int lx_conf_part(const struct lx_conf *conf, struct lx_conf **ret_now, struct lx_conf **ret_later,
		 struct lx_conf_error *ret_err)
{
	struct lx_conf_ni *nis LX_AUTO_FREE = calloc(conf->n_nis + 1, sizeof(*nis));
	struct lx_conf_route *routes LX_AUTO_FREE = calloc(conf->n_routes + 1, sizeof(*routes));
	struct lx_conf now = *conf, *later;
	int r = lx_conf_new(&later);

	if (r)
		return r;
	later->ni = calloc(conf->n_nis + 1, sizeof(*later->ni));
	later->route = calloc(conf->n_routes + 1, sizeof(*later->route));
	now.ni = nis;
	now.route = routes;
	now.n_nis = now.n_routes = 0;
	if (!nis || !routes || !later->ni || !later->route)
		r = -ENOMEM;
	if (!r) {
		part(conf, &now, later);
		r = lx_conf_resolve(&now, ret_now, ret_err);
	}
	if (r || !later->n_nis) {
		lx_conf_free(later);
		later = NULL;
	} else {
		drop_own_peers(*ret_now);
	}
	*ret_later = later;
	return r;
}
