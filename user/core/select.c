/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Path selection: pure choices over what is known, changed only by the sequence
 * numbers that make equals take turns. Called by msg.c for each message.
 *
 * Each better_*() is one ordered list of spec lnet.md 11.2, a line a criterion; a
 * line is consulted only if those above are a tie. Criteria that need health values,
 * user-defined policies (UDSP) or NUMA distances keep their numbered place as a
 * comment until these exist.
 */
#include <errno.h>

#include "core.h"
#include "credit.h"
#include "select.h"

/* Decides by one criterion; goes on to the next when it is a tie. */
#define PREFER_MORE(a, b) \
	do { \
		if ((a) != (b)) \
			return (a) > (b); \
	} while (0)
#define PREFER_LESS(a, b) PREFER_MORE(b, a)

static bool better_ni(const struct lx_core_ni *a, const struct lx_core_ni *b)
{
	PREFER_LESS(a->link_down, b->link_down); /* 1 no fatal error */
	/* 2 health */
	/* 3 UDSP priority */
	/* 4 device (GPU-direct) priority */
	/* 5 NUMA distance */
	PREFER_MORE(a->tx_credits, b->tx_credits); /* 6 */
	return a->seq < b->seq;			   /* 7 */
}

static bool better_peer_ni(const struct lx_peer_ni *a, const struct lx_peer_ni *b)
{
	PREFER_MORE(lx_peer_ni_up(a), lx_peer_ni_up(b)); /* 1 health: down is none */
	/* 2 UDSP priority */
	/* 3 the chosen local NI is on its preferred list */
	PREFER_MORE(lx_credit_now(a->tx), lx_credit_now(b->tx)); /* 4 */
	return a->seq < b->seq;			   /* 5 */
}

/* A peer net and the local net that reaches it. */
struct net_pair {
	struct lx_peer_net *peer_net;
	struct lx_net *net;
};

static bool better_net_pair(const struct net_pair *a, const struct net_pair *b)
{
	/* 1 peer-net health, 2 its UDSP priority, 3 local-net health, 4 its priority */
	PREFER_LESS(a->peer_net->seq, b->peer_net->seq); /* 5 */
	return a->net->seq < b->net->seq;		 /* 6 */
}

static struct lx_core_ni *best_ni(struct lx_net *net)
{
	struct lx_core_ni *ni, *best = NULL;

	lx_list_for_each(ni, &net->nis, link) {
		if (ni->state == LX_NI_UP && (!best || better_ni(ni, best)))
			best = ni;
	}
	return best;
}

struct lx_peer_ni *lx_select_peer_ni(struct lx_peer_net *net)
{
	struct lx_peer_ni *pni, *best = NULL;

	lx_list_for_each(pni, &net->nis, link) {
		if (!best || better_peer_ni(pni, best))
			best = pni;
	}
	return best;
}

/* ---- the peer is on a net of ours ------------------------------------------------- */

/* Any of our NIs to any of the peer's. Returns false if no net is shared. */
static bool pick_multi_rail(struct lx_core *core, struct lx_peer *peer, struct lx_path *path)
{
	struct net_pair pair, best = { 0 };

	lx_list_for_each(pair.peer_net, &peer->nets, link) {
		pair.net = lx_net_lookup(core, pair.peer_net->id);
		if (pair.net && best_ni(pair.net) &&
		    (!best.net || better_net_pair(&pair, &best)))
			best = pair;
	}
	if (!best.net)
		return false;
	path->ni = best_ni(best.net);
	path->next_hop = lx_select_peer_ni(best.peer_net);
	return true;
}

/*
 * A peer that is not Multi-Rail knows us by one NID: the one used first stays
 * (but portal 0 and what we forward do not fix it).
 */
static bool pick_single_rail(struct lx_core_msg *msg, struct lx_peer_ni *dst,
			     struct lx_path *path)
{
	struct lx_net *net = lx_net_lookup(msg->core, lx_nid_net(&dst->nid));

	path->next_hop = dst;
	path->ni = lx_nid_is_any(&dst->preferred) ? NULL
						  : lx_ni_lookup(msg->core, &dst->preferred);
	if (path->ni && !msg->m.routing)
		return true;
	path->ni = net ? best_ni(net) : NULL;
	if (path->ni && !msg->m.routing && !lx_msg_is_reserved(msg))
		dst->preferred = path->ni->ni.nid;
	return path->ni;
}

/*
 * As a router at the last hop we honour the NID in the header, unless it is known to
 * be down and both ends are Multi-Rail (lnet.md 10.4).
 */
static bool may_redirect(const struct lx_core_msg *msg, const struct lx_peer_ni *dst)
{
	struct lx_peer_ni *src = lx_peer_ni_lookup(msg->core, &msg->m.hdr.src_nid);

	return !lx_peer_ni_up(dst) && src && (lx_peer_of(src)->state & LX_PEER_MULTI_RAIL);
}

/* ---- the peer is behind a gateway --------------------------------------------------- */

static bool gateway_usable(const struct lx_peer_ni *pni)
{
	return pni && !lx_list_empty(&lx_peer_of(pni)->routes);
}

/* The net of a Multi-Rail peer to aim at: reachable, and used less than the others. */
static struct lx_peer_net *pick_remote_net(struct lx_core *core, struct lx_peer *peer)
{
	struct lx_peer_net *net, *best = NULL;

	lx_list_for_each(net, &peer->nets, link) {
		if (lx_rnet_lookup(core, net->id) && (!best || net->seq < best->seq))
			best = net;
	}
	return best;
}

/* Of what is forwarded, the peer that it came from: it must not get it back. */
static const struct lx_peer *sender_of(const struct lx_core_msg *msg)
{
	return msg->m.routing && msg->rxpeer->net ? lx_peer_of(msg->rxpeer) : NULL;
}

static int pick_gateway(struct lx_core_msg *msg, uint32_t net, uint32_t local_net,
			struct lx_peer_ni **ret_gateway)
{
	const struct lx_peer *sender = sender_of(msg);

	if (lx_route_select(msg->core, net, local_net, sender, ret_gateway))
		return 0;
	return sender && lx_route_select(msg->core, net, local_net, NULL, ret_gateway)
		       ? -ELOOP
		       : -EHOSTUNREACH;
}

static int pick_remote(struct lx_core_msg *msg, struct lx_peer_ni *dst, bool multi_rail,
		       struct lx_path *path)
{
	struct lx_core *core = msg->core;
	struct lx_peer_ni *gateway = NULL;
	struct lx_peer_net *net = NULL;
	struct lx_net *local;
	int r;

	if (!lx_nid_is_any(&msg->rtr_param))
		gateway = lx_peer_ni_lookup(core, &msg->rtr_param);
	if (!gateway_usable(gateway)) {
		if (multi_rail && !path->ni && !msg->m.routing)
			net = pick_remote_net(core, lx_peer_of(dst));
		if (net)
			dst = lx_select_peer_ni(net);
		r = pick_gateway(msg, lx_nid_net(&dst->nid),
				 path->ni ? path->ni->ni.net : LX_NET_U32_ANY, &gateway);
		path->next_hop = gateway;
		if (r)
			return r;
	}
	if (!path->ni) {
		local = lx_net_lookup(core, lx_nid_net(&gateway->nid));
		path->ni = local ? best_ni(local) : NULL;
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

int lx_select_path(struct lx_core_msg *msg, struct lx_peer_ni *dst, struct lx_path *ret_path)
{
	struct lx_core *core = msg->core;
	struct lx_peer *peer = lx_peer_of(dst);
	bool src_any = lx_nid_is_any(&msg->src_param);
	uint32_t dst_net = lx_nid_net(&dst->nid);
	bool local = src_any ? !!lx_net_lookup(core, dst_net)
			     : lx_nid_net(&msg->src_param) == dst_net;
	bool multi_rail = peer->state & LX_PEER_MULTI_RAIL;
	struct lx_path path = { .dst = dst->nid };
	int r = 0;

	if (!src_any) {
		path.ni = lx_ni_lookup(core, &msg->src_param);
		if (!path.ni)
			return -EINVAL;
	}
	if (msg->m.routing && local)
		multi_rail = multi_rail && may_redirect(msg, dst);

	if (!src_any && local) {
		path.next_hop = dst;
	} else if (src_any && multi_rail && pick_multi_rail(core, peer, &path)) {
		path.dst = path.next_hop->nid;
	} else if (!local) {
		r = pick_remote(msg, dst, multi_rail, &path);
	} else if (!pick_single_rail(msg, dst, &path)) {
		r = -EHOSTUNREACH;
	}
	if (!r && sender_of(msg) && lx_peer_of(path.next_hop) == sender_of(msg))
		r = -ELOOP;
	if (!r)
		take_turn(core, &path);
	*ret_path = path;
	return r;
}
