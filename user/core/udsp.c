/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The list of selection policies; see the header. Owned by the core; configuration changes
 * it, ni.c and peer.c apply it to new NIs and peers, rank.c and route.c look it up.
 */
#include <errno.h>
#include <stdlib.h>

#include "change.h"
#include "core.h"
#include "udsp.h"

/* ---- priorities ---------------------------------------------------------------------- */

static bool is_own(const struct lx_policy *p)
{
	return lx_policy_has(&p->src) && !lx_policy_has(&p->dst);
}

static bool is_remote(const struct lx_policy *p)
{
	return lx_policy_has(&p->dst) && !lx_policy_has(&p->src) && !lx_policy_has(&p->rte);
}

/* A range of nets gives its priority to nets, any other range to NIDs. */
static bool names(const struct lx_nid_range *range, uint32_t net, const struct lx_nid *nid)
{
	if (range->form == LX_NID_RANGE_NET)
		return !nid && lx_nidrange_has_net(range, net);
	return nid && lx_nidrange_has(range, nid);
}

/* @nid: NULL: the priority of the net itself; @own: of ours, not of peers */
static uint32_t priority(struct lx_core *core, uint32_t net, const struct lx_nid *nid, bool own)
{
	struct lx_udsp *u;

	lx_list_for_each(u, &core->udsps, link) {
		const struct lx_policy *p = &u->policy;

		if (own ? is_own(p) && names(&p->src, net, nid)
			: is_remote(p) && names(&p->dst, net, nid))
			return p->priority;
	}
	return LX_PRIORITY_NONE;
}

void lx_udsp_apply_net(struct lx_core *core, struct lx_net *net)
{
	net->priority = priority(core, net->id, NULL, true);
}

void lx_udsp_apply_ni(struct lx_core *core, struct lx_core_ni *ni)
{
	ni->priority = priority(core, ni->ni.net, &ni->ni.nid, true);
}

void lx_udsp_apply_peer_net(struct lx_core *core, struct lx_peer_net *net)
{
	net->priority = priority(core, net->id, NULL, false);
}

void lx_udsp_apply_peer_ni(struct lx_core *core, struct lx_peer_ni *pni)
{
	struct lx_udsp *u;

	pni->priority = priority(core, lx_nid_net(&pni->nid), &pni->nid, false);
	pni->prefers_nis = pni->prefers_gateways = false;
	lx_list_for_each(u, &core->udsps, link) {
		const struct lx_policy *p = &u->policy;

		if (!lx_nidrange_has(&p->dst, &pni->nid))
			continue;
		pni->prefers_nis |= lx_policy_has(&p->src);
		pni->prefers_gateways |= lx_policy_has(&p->rte);
	}
}

static void apply_all(struct lx_core *core)
{
	struct lx_peer_net *peer_net;
	struct lx_peer_ni *pni;
	struct lx_core_ni *ni;
	struct lx_peer *peer;
	struct lx_net *net;

	lx_list_for_each(net, &core->nets, link)
		lx_udsp_apply_net(core, net);
	lx_ni_for_each(net, ni, core)
		lx_udsp_apply_ni(core, ni);
	lx_list_for_each(peer, &core->peers, link) {
		lx_list_for_each(peer_net, &peer->nets, link)
			lx_udsp_apply_peer_net(core, peer_net);
		lx_peer_ni_for_each(peer_net, pni, peer)
			lx_udsp_apply_peer_ni(core, pni);
	}
	lx_change_policy(core, NULL, LX_NET_U32_ANY);
}

/* ---- preferences ------------------------------------------------------------------------ */

/* True if a policy prefers a local NID for a peer NI. */
static bool prefers_source(const struct lx_peer_ni *pni, const struct lx_nid *nid)
{
	struct lx_udsp *u;

	lx_list_for_each(u, &lx_peer_of(pni)->core->udsps, link) {
		if (lx_nidrange_has(&u->policy.dst, &pni->nid) &&
		    lx_nidrange_has(&u->policy.src, nid))
			return true;
	}
	return false;
}

/* The NID under which a policy prefers a gateway for a destination; NULL: none does. */
static const struct lx_nid *gateway_nid(const struct lx_peer_ni *pni, const struct lx_peer *gateway)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *via;
	struct lx_udsp *u;

	lx_list_for_each(u, &gateway->core->udsps, link) {
		if (!lx_nidrange_has(&u->policy.dst, &pni->nid))
			continue;
		lx_peer_ni_for_each(net, via, gateway) {
			if (lx_nidrange_has(&u->policy.rte, &via->nid))
				return &via->nid;
		}
	}
	return NULL;
}

bool lx_udsp_prefers_ni(const struct lx_peer_ni *pni, const struct lx_core_ni *ni)
{
	return pni->prefers_nis && ni && prefers_source(pni, &ni->ni.nid);
}

bool lx_udsp_prefers_gateway(const struct lx_peer_ni *pni, const struct lx_peer *gateway)
{
	return pni->prefers_gateways && gateway_nid(pni, gateway);
}

/* ---- the list --------------------------------------------------------------------------- */

static struct lx_udsp *find_same(struct lx_core *core, const struct lx_policy *policy)
{
	struct lx_udsp *u;

	lx_list_for_each(u, &core->udsps, link) {
		if (lx_policy_same(&u->policy, policy))
			return u;
	}
	return NULL;
}

/* Replaces the action of a policy with the same clauses. */
static int replace(struct lx_udsp *u, const struct lx_policy *policy)
{
	bool rte_only = !lx_policy_has(&u->policy.src) && !lx_policy_has(&u->policy.dst);

	if (u->policy.priority == policy->priority || (rte_only && u->policy.priority == LX_UNSET))
		return -EALREADY;
	u->policy.priority = policy->priority;
	return 0;
}

static int insert(struct lx_core *core, const struct lx_policy *policy, int32_t index)
{
	struct lx_list *pos = &core->udsps;
	struct lx_udsp *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->policy = *policy;
	if (index < 0)
		pos = core->udsps.prev;
	for (; index > 0 && pos->next != &core->udsps; index--)
		pos = pos->next;
	lx_list_push(pos, &u->link);
	return 0;
}

int lx_udsp_new(struct lx_core *core, const struct lx_conf_udsp *conf)
{
	struct lx_policy policy;
	struct lx_udsp *same;
	char text[200];
	int r;

	r = lx_policy_parse(conf, &policy, text, sizeof(text));
	if (r)
		return r;
	same = find_same(core, &policy);
	r = same ? replace(same, &policy) : insert(core, &policy, conf->index);
	if (!r)
		apply_all(core);
	return r;
}

static void udsp_free(struct lx_udsp *u)
{
	lx_list_del(&u->link);
	free(u);
}

int lx_udsp_delete(struct lx_core *core, int32_t index)
{
	struct lx_udsp *u, *tmp;
	int32_t i = 0;
	int r = index == LX_UNSET ? 0 : -ENOENT;

	lx_list_for_each_safe(u, tmp, &core->udsps, link) {
		if (index == LX_UNSET || i++ == index) {
			udsp_free(u);
			r = 0;
		}
	}
	if (!r)
		apply_all(core);
	return r;
}

/* ---- description -------------------------------------------------------------------------- */

int lx_udsp_describe_all(struct lx_core *core, struct lx_conf_udsp **ret_list, size_t *ret_n)
{
	struct lx_conf_udsp *list = calloc(lx_list_count(&core->udsps) + 1, sizeof(*list));
	struct lx_udsp *u;
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	lx_list_for_each(u, &core->udsps, link) {
		list[n].index = n;
		lx_policy_format(&u->policy, &list[n++]);
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

void lx_udsp_describe_ni(const struct lx_core_ni *ni, struct lx_udsp_effect *ret_effect)
{
	*ret_effect = (struct lx_udsp_effect){ .net_priority = ni->net->priority,
					       .nid_priority = ni->priority };
}

void lx_udsp_describe_peer_ni(const struct lx_peer_ni *pni, struct lx_udsp_effect *ret_effect)
{
	struct lx_core *core = lx_peer_of(pni)->core;
	struct lx_udsp_effect *e = ret_effect;
	const struct lx_nid *nid;
	struct lx_peer *gateway;
	struct lx_core_ni *ni;
	struct lx_net *net;

	*e = (struct lx_udsp_effect){ .net_priority = pni->net->priority,
				      .nid_priority = pni->priority };
	lx_list_for_each(gateway, &core->gateways, gateway_link) {
		nid = pni->prefers_gateways ? gateway_nid(pni, gateway) : NULL;
		if (nid && e->n_gateways < LX_UDSP_EFFECT_MAX)
			e->gateway[e->n_gateways++] = *nid;
	}
	lx_ni_for_each(net, ni, core) {
		if (lx_udsp_prefers_ni(pni, ni) && e->n_sources < LX_UDSP_EFFECT_MAX)
			e->source[e->n_sources++] = ni->ni.nid;
	}
}
