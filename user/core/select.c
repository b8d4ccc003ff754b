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

static bool better_net_pair(const struct net_pair *a, const struct net_pair *b)
{
	/* 1 peer-net health, 2 its UDSP priority, 3 local-net health, 4 its priority */
	LX_PREFER_LESS(a->peer_net->seq, b->peer_net->seq); /* 5 */
	return a->net->seq < b->net->seq; /* 6 */
}

/* ---- the peer is on a net of ours ------------------------------------------------- */

/* Any of our NIs to any of the peer's. Returns false if no net is shared. */
static bool pick_multi_rail(struct lx_core *core, struct lx_peer *peer, struct lx_path *path)
{
	struct net_pair pair, best = { 0 };

	lx_list_for_each(pair.peer_net, &peer->nets, link) {
		pair.net = lx_net_lookup(core, pair.peer_net->id);
		if (pair.net && lx_rank_best_ni(pair.net) &&
		    (!best.net || better_net_pair(&pair, &best)))
			best = pair;
	}
	if (!best.net)
		return false;
	path->ni = lx_rank_best_ni(best.net);
	path->next_hop = lx_rank_best_peer_ni(best.peer_net);
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
	path->ni = net ? lx_rank_best_ni(net) : NULL;
	if (path->ni && !req->forwarded && !req->reserved)
		dst->preferred = path->ni->ni.nid;
	return path->ni;
}

/*
 * A router at the last hop sends to the NID in the header, unless that is known to
 * be down and both ends are Multi-Rail (lnet.md 10.4).
 */
static bool may_redirect(struct lx_core *core, const struct lx_path_request *req)
{
	struct lx_peer_ni *origin = lx_peer_ni_lookup(core, req->origin);

	return !lx_peer_ni_up(req->dst) && origin &&
	       (lx_peer_of(origin)->state & LX_PEER_MULTI_RAIL);
}

/* ---- the peer is behind a gateway --------------------------------------------------- */

static bool gateway_usable(const struct lx_peer_ni *pni)
{
	return pni && !lx_list_empty(&lx_peer_of(pni)->routes);
}

/* The net of a Multi-Rail peer to send to: reachable, and least recently used. */
static struct lx_peer_net *pick_remote_net(struct lx_core *core, struct lx_peer *peer)
{
	struct lx_peer_net *net, *best = NULL;

	lx_list_for_each(net, &peer->nets, link) {
		if (lx_rnet_lookup(core, net->id) && (!best || net->seq < best->seq))
			best = net;
	}
	return best;
}

static int pick_gateway(struct lx_core *core, const struct lx_path_request *req, uint32_t net,
			uint32_t local_net, struct lx_peer_ni **ret_gateway)
{
	if (lx_route_select(core, net, local_net, req->previous, ret_gateway))
		return 0;
	return req->previous && lx_route_select(core, net, local_net, NULL, ret_gateway)
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
	if (!gateway_usable(gateway)) {
		if (multi_rail && !path->ni && !req->forwarded)
			net = pick_remote_net(core, lx_peer_of(dst));
		if (net)
			dst = lx_rank_best_peer_ni(net);
		r = pick_gateway(core, req, lx_nid_net(&dst->nid),
				 path->ni ? path->ni->ni.net : LX_NET_U32_ANY, &gateway);
		path->next_hop = gateway;
		if (r)
			return r;
	}
	if (!path->ni) {
		local = lx_net_lookup(core, lx_nid_net(&gateway->nid));
		path->ni = local ? lx_rank_best_ni(local) : NULL;
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
	bool multi_rail = peer->state & LX_PEER_MULTI_RAIL;
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
	} else if (src_any && multi_rail && pick_multi_rail(core, peer, &path)) {
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
