/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Path selection: a pure function of the present state, except for the sequence
 * numbers that alternate between equals. Called by msg.c for each message; rank.c has
 * the criteria.
 */
#include <errno.h>

#include "core.h"
#include "rank.h"
#include "select.h"

/* A peer net and the local net that reaches it. */
struct net_pair {
	struct lx_peer_net *peer_net;
	struct lx_net *net;
};

static bool better_net_pair(const struct net_pair *a, const struct net_pair *b,
			    const struct lx_avoid *avoid)
{
	const struct lx_core_ni *ni_a = lx_rank_best_ni(a->net, avoid);
	const struct lx_core_ni *ni_b = lx_rank_best_ni(b->net, avoid);
	const struct lx_peer_ni *pni_a = lx_rank_best_peer_ni(a->peer_net, NULL, avoid);
	const struct lx_peer_ni *pni_b = lx_rank_best_peer_ni(b->peer_net, NULL, avoid);

	LX_PREFER_LESS(lx_avoids(avoid, &ni_a->ni.nid) || lx_avoids(avoid, &pni_a->nid),
		       lx_avoids(avoid, &ni_b->ni.nid) || lx_avoids(avoid, &pni_b->nid));
	LX_PREFER_MORE(lx_rank_peer_ni_health(pni_a), lx_rank_peer_ni_health(pni_b)); /* 1 */
	LX_PREFER_LESS(a->peer_net->priority, b->peer_net->priority); /* 2 of policies (UDSP) */
	LX_PREFER_MORE(lx_rank_ni_health(ni_a), lx_rank_ni_health(ni_b)); /* 3 */
	LX_PREFER_LESS(a->net->priority, b->net->priority); /* 4 of policies */
	LX_PREFER_LESS(a->peer_net->seq, b->peer_net->seq); /* 5 */
	return a->net->seq < b->net->seq; /* 6 */
}

/* ---- the peer is on a net of ours ------------------------------------------------- */

/* Any of our NIs to any of the peer's. Returns false if no net is shared. */
static bool pick_multi_rail(struct lx_core *core, const struct lx_path_request *req,
			    struct lx_path *path)
{
	struct net_pair pair, best = { 0 };
	struct lx_peer *peer = lx_peer_of(req->dst);

	lx_list_for_each(pair.peer_net, &peer->nets, link) {
		pair.net = lx_net_lookup(core, pair.peer_net->id);
		if (pair.net && lx_rank_best_ni(pair.net, NULL) &&
		    (!best.net || better_net_pair(&pair, &best, req->avoid)))
			best = pair;
	}
	if (!best.net)
		return false;
	path->ni = lx_rank_best_ni(best.net, req->avoid);
	path->next_hop = lx_rank_best_peer_ni(best.peer_net, path->ni, req->avoid);
	return true;
}

/*
 * A peer that is not Multi-Rail knows us by one NID: keep the one used first
 * (messages to portal 0 and forwarded ones do not set it).
 */
static bool pick_single_rail(struct lx_core *core, const struct lx_path_request *req,
			     struct lx_path *path)
{
	struct lx_peer_ni *dst = req->dst;
	struct lx_net *net = lx_net_lookup(core, lx_nid_net(&dst->nid));

	path->next_hop = dst;
	path->ni = lx_nid_is_any(&dst->preferred) ? NULL : lx_ni_lookup(core, &dst->preferred);
	if (path->ni && !req->forwarded)
		return true;
	path->ni = net ? lx_rank_best_ni(net, req->avoid) : NULL;
	if (path->ni && !req->forwarded && !req->reserved)
		dst->preferred = path->ni->ni.nid;
	return path->ni;
}

/*
 * A router at the last hop sends to the NID in the header, unless that is known to be
 * down or below full health and both ends are Multi-Rail (lnet.md 10.4).
 */
static bool may_redirect(struct lx_core *core, const struct lx_path_request *req)
{
	struct lx_peer_ni *origin = lx_peer_ni_lookup(core, req->origin);

	return lx_rank_peer_ni_health(req->dst) < LX_HEALTH_MAX && origin &&
	       (lx_peer_of(origin)->state & LX_PEER_MULTI_RAIL);
}

/* ---- the peer is behind a gateway --------------------------------------------------- */

static bool gateway_usable(const struct lx_peer_ni *pni, const struct lx_peer_ni *dst)
{
	return pni && !lx_list_empty(&lx_peer_of(pni)->routes) &&
	       !lx_route_ends_at(lx_peer_of(pni), dst);
}

static bool better_remote_net(struct lx_peer_net *a, struct lx_peer_net *b)
{
	LX_PREFER_MORE(lx_rank_peer_ni_health(lx_rank_best_peer_ni(a, NULL, NULL)),
		       lx_rank_peer_ni_health(lx_rank_best_peer_ni(b, NULL, NULL))); /* 1 */
	LX_PREFER_LESS(a->priority, b->priority); /* 2 of policies (UDSP) */
	return a->seq < b->seq; /* 3 */
}

/* The net of a Multi-Rail peer to send to: the best with a live route. */
static struct lx_peer_net *pick_remote_net(struct lx_core *core, struct lx_peer *peer)
{
	struct lx_peer_net *net, *best = NULL;
	const struct lx_rnet *rnet;

	lx_list_for_each(net, &peer->nets, link) {
		rnet = lx_rnet_lookup(core, net->id);
		if (rnet && lx_rnet_alive(rnet) && (!best || better_remote_net(net, best)))
			best = net;
	}
	return best;
}

static int pick_gateway(struct lx_core *core, const struct lx_path_request *req,
			const struct lx_peer_ni *dst, uint32_t local_net,
			struct lx_peer_ni **ret_gateway)
{
	if (lx_route_select(core, dst, local_net, req->previous, req->avoid, ret_gateway))
		return 0;
	return req->previous &&
	       lx_route_select(core, dst, local_net, NULL, req->avoid, ret_gateway)
		       ? -ELOOP
		       : -EHOSTUNREACH;
}

static int pick_remote(struct lx_core *core, const struct lx_path_request *req, bool multi_rail,
		       struct lx_path *path)
{
	struct lx_peer_ni *dst = req->dst, *gateway = NULL;
	struct lx_peer_net *net = NULL;
	struct lx_net *local;
	int r;

	if (!lx_nid_is_any(req->gateway))
		gateway = lx_peer_ni_lookup(core, req->gateway);
	if (!gateway_usable(gateway, dst) || lx_avoids(req->avoid, &gateway->nid)) {
		if (multi_rail && !path->ni && !req->forwarded)
			net = pick_remote_net(core, lx_peer_of(dst));
		if (net)
			dst = lx_rank_best_peer_ni(net, NULL, NULL);
		r = pick_gateway(core, req, dst, path->ni ? path->ni->ni.net : LX_NET_U32_ANY,
				 &gateway);
		path->next_hop = gateway;
		if (r)
			return r;
	}
	if (!path->ni) {
		local = lx_net_lookup(core, lx_nid_net(&gateway->nid));
		path->ni = local ? lx_rank_best_ni(local, req->avoid) : NULL;
	}
	if (!path->ni)
		return -EHOSTUNREACH;
	if (net)
		net->seq = dst->seq = ++net->peer->send_seq;
	path->next_hop = gateway;
	path->dst = dst->nid;
	path->via_gateway = true;
	return 0;
}

/* ---- the choice ------------------------------------------------------------------------ */

static void take_turn(struct lx_core *core, const struct lx_path *path)
{
	struct lx_peer_net *peer_net = path->next_hop->net;

	peer_net->seq = path->next_hop->seq = ++peer_net->peer->send_seq;
	path->ni->net->seq = path->ni->seq = ++core->net_seq;
}

int lx_select_path(struct lx_core *core, const struct lx_path_request *req,
		   struct lx_path *ret_path)
{
	struct lx_peer *peer = lx_peer_of(req->dst);
	bool src_any = lx_nid_is_any(req->src);
	uint32_t dst_net = lx_nid_net(&req->dst->nid);
	bool local = src_any ? !!lx_net_lookup(core, dst_net) : lx_nid_net(req->src) == dst_net;
	bool multi_rail = (peer->state & LX_PEER_MULTI_RAIL) && !req->dst_given;
	struct lx_path path = { .dst = req->dst->nid };
	int r = 0;

	if (!src_any) {
		path.ni = lx_ni_lookup(core, req->src);
		if (!path.ni)
			return -EINVAL;
	}
	if (req->forwarded && local)
		multi_rail = multi_rail && may_redirect(core, req);

	if (!src_any && local) {
		path.next_hop = req->dst;
	} else if (src_any && multi_rail && pick_multi_rail(core, req, &path)) {
		path.dst = path.next_hop->nid;
	} else if (!local) {
		r = pick_remote(core, req, multi_rail, &path);
	} else if (!pick_single_rail(core, req, &path)) {
		r = -EHOSTUNREACH;
	}
	if (!r && req->previous && lx_peer_of(path.next_hop) == req->previous)
		r = -ELOOP;
	if (!r)
		take_turn(core, &path);
	*ret_path = path;
	return r;
}
