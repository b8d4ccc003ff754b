/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Examines the hops in a message's order: our own NIs, the route, the
 * gateway or the neighbour, and what is beyond the gateway.
 */

#include "../base/text.h"
#include "core.h"
#include "down.h"
#include "reach.h"

/* Returns why there is no connection to it, or 0. */
static int explain_neighbour(struct lx_core *core, const struct lx_nid *nid, bool has_source,
			     const struct lx_text *t)
{
	const struct lx_peer_ni *pni = lx_peer_ni_lookup(core, nid), *other;
	const struct lx_peer *peer = pni ? lx_peer_of(pni) : NULL;

	other = peer && !has_source ? lx_peer_ni_of(peer, &peer->failed) : NULL;
	if (other && other != pni) {
		lx_text_add(t, "it went by another NID of that node, %s%s%s; with a source on %s "
			    "a ping goes by %s", lx_nid_str(&other->nid),
			    lx_peer_ni_up(other) ? "" : ": ",
			    lx_peer_ni_up(other) ? "" : lx_down_str(&other->down),
			    lx_net_str(lx_nid_net(nid)), lx_nid_str(nid));
		return lx_down_is_lost(&other->down) ? other->down.error : 0;
	}
	if (!pni || lx_peer_ni_up(pni)) {
		lx_text_add(t, "it is a direct neighbour");
		return 0;
	}
	lx_text_add(t, "it is a direct neighbour: %s", lx_down_str(&pni->down));
	return lx_down_is_lost(&pni->down) ? pni->down.error : 0;
}

/* The route is up as far as we can see, which is up to the gateways. */
static void explain_live(const struct lx_rnet *rnet, const struct lx_net *from,
			 const struct lx_text *t)
{
	const char *between = "";
	struct lx_route *route;

	lx_text_add(t, "the route is via ");
	lx_list_for_each(route, &rnet->routes, link) {
		if (!lx_route_alive(route) || (from && route->local_net != from->id))
			continue;
		lx_text_add(t, "%s%s", between, lx_nid_str(&route->nid));
		between = " or ";
	}
	lx_text_add(t, ", which was up when last asked: check beyond it, and the route back");
}

static void explain_dead(const struct lx_rnet *rnet, const struct lx_net *from,
			 const struct lx_text *t)
{
	const char *between = "";
	struct lx_route *route;
	struct lx_down down;

	lx_text_add(t, "no route to %s is up: ", lx_net_str(rnet->id));
	lx_list_for_each(route, &rnet->routes, link) {
		if (from && route->local_net != from->id)
			continue;
		lx_route_describe_down(route, &down);
		lx_text_add(t, "%s%s: %s", between, lx_nid_str(&route->nid), down.reason);
		between = "; ";
	}
}

static void explain_far(struct lx_core *core, uint32_t net, const struct lx_net *from,
			const struct lx_text *t)
{
	struct lx_rnet *rnet = lx_rnet_lookup(core, net);
	bool any = false, live = false;
	struct lx_route *route;

	if (!rnet) {
		lx_text_add(t, "no route to %s is configured; \"lnetx route add\" or "
			    "lx_route_add() adds one",
			    lx_net_str(net));
		return;
	}
	lx_list_for_each(route, &rnet->routes, link) {
		if (from && route->local_net != from->id)
			continue;
		any = true;
		live = live || lx_route_alive(route);
	}
	if (!any)
		lx_text_add(t, "no route to %s has a gateway on %s, the net of the source",
			    lx_net_str(net), lx_net_str(from->id));
	else if (live)
		explain_live(rnet, from, t);
	else
		explain_dead(rnet, from, t);
}

/* Whether it is an NI of a gateway of ours; it is not on a net of ours (lnet.md 11.2). */
static bool explain_gateway(struct lx_core *core, const struct lx_nid *nid, const struct lx_text *t)
{
	const struct lx_peer_ni *pni = lx_peer_ni_lookup(core, nid);
	const struct lx_route *route =
		pni ? lx_list_first(&lx_peer_of(pni)->routes, struct lx_route, gateway_link) : NULL;

	if (!route || !lx_route_alive(route))
		return false;
	lx_text_add(t, "it is a far NI of the gateway %s: ask it at that NID, or without a source",
		    lx_nid_str(&route->nid));
	return true;
}

int lx_reach_why(struct lx_core *core, const struct lx_nid *nid, const struct lx_nid *source,
		 char *buf, size_t size)
{
	uint32_t net = lx_nid_net(nid);
	struct lx_text t = { buf, size };
	struct lx_core_ni *ni = NULL;

	buf[0] = '\0';
	if (source && !lx_nid_is_any(source)) {
		ni = lx_ni_lookup(core, source);
		if (!ni) {
			lx_text_add(&t, "the source, %s, is not one of our NIDs",
				    lx_nid_str(source));
			return 0;
		}
	}
	if (lx_ni_is_local_nid(core, nid))
		lx_text_add(&t, ni && lx_nid_net(source) != net
					? "it is our own NID, but the source is on another net"
					: "it is our own NID");
	else if (ni ? lx_nid_net(source) == net : !!lx_net_lookup(core, net))
		return explain_neighbour(core, nid, ni, &t);
	else if (!ni || !explain_gateway(core, nid, &t))
		explain_far(core, net, ni ? ni->net : NULL, &t);
	return 0;
}
