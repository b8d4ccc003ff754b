/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The route table and the state of gateways. Owned by the core; configuration
 * adds and deletes routes, discovery and transports report, select.c looks up.
 *
 * There are two ways to know that a route is alive (lnet.md 10.2). With discovery, the
 * gateway's own ping information has the state of each of its NIs, and aliveness
 * is computed from that on demand. Without it, the last ping answer is judged when it
 * arrives, and lx_route.verdict has the result.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "change.h"
#include "core.h"
#include "credit.h"
#include "rank.h"
#include "udsp.h"

struct lx_rnet *lx_rnet_lookup(struct lx_core *core, uint32_t net)
{
	struct lx_rnet *rnet;

	lx_list_for_each(rnet, &core->rnets, link) {
		if (rnet->id == net)
			return rnet;
	}
	return NULL;
}

struct lx_route *lx_route_lookup(struct lx_core *core, uint32_t net, const struct lx_nid *nid)
{
	struct lx_rnet *rnet = lx_rnet_lookup(core, net);
	struct lx_route *route;

	if (!rnet)
		return NULL;
	lx_list_for_each(route, &rnet->routes, link) {
		if (lx_nid_eq(&route->nid, nid))
			return route;
	}
	return NULL;
}

bool lx_route_is_through(const struct lx_peer *gateway, uint32_t net)
{
	const struct lx_route *route;

	lx_list_for_each(route, &gateway->routes, gateway_link) {
		if (route->rnet->id == net)
			return true;
	}
	return false;
}

/* ---- configuration --------------------------------------------------------------- */

static int route_check(struct lx_core *core, const struct lx_conf_route *conf)
{
	uint32_t gateway_net = lx_nid_net(&conf->gateway);

	if (lx_nid_is_any(&conf->gateway) || conf->gateway.type == LX_NET_LO ||
	    conf->net == LX_NET_U32_ANY || lx_net_type(conf->net) == LX_NET_LO ||
	    gateway_net == conf->net)
		return -EINVAL;
	if (lx_ni_is_local_nid(core, &conf->gateway))
		return -ELOOP;
	if (conf->hop != LX_UNSET && (conf->hop < 1 || conf->hop > LX_HOP_MAX))
		return -EINVAL;
	if (conf->priority != LX_UNSET && (conf->priority < 0 || conf->priority > UINT32_MAX))
		return -EINVAL;
	if (lx_net_lookup(core, conf->net) || lx_route_lookup(core, conf->net, &conf->gateway))
		return -EEXIST;
	if (!lx_net_lookup(core, gateway_net))
		return -EHOSTUNREACH;
	return 0;
}

static struct lx_rnet *rnet_obtain(struct lx_core *core, uint32_t net)
{
	struct lx_rnet *rnet = lx_rnet_lookup(core, net);

	if (rnet)
		return rnet;
	rnet = calloc(1, sizeof(*rnet));
	if (!rnet)
		return NULL;
	rnet->id = net;
	lx_list_init(&rnet->routes);
	lx_list_append(&core->rnets, &rnet->link);
	return rnet;
}

/* Random order, so that nodes with the same configuration do not all start with the same. */
static void insert_somewhere(struct lx_core *core, struct lx_rnet *rnet, struct lx_route *route)
{
	struct lx_list *pos = &rnet->routes;
	unsigned int n = 0, skip;

	for (struct lx_list *l = pos->next; l != pos; l = l->next)
		n++;
	skip = core->ops->random(core->ops_arg) % (n + 1);
	while (skip--)
		pos = pos->next;
	lx_list_push(pos, &route->link);
}

static void rnet_free_if_empty(struct lx_rnet *rnet)
{
	if (!lx_list_empty(&rnet->routes))
		return;
	lx_list_del(&rnet->link);
	free(rnet);
}

static void gateway_begin(struct lx_peer *gateway, enum lx_down_why verdict)
{
	struct lx_core *core = gateway->core;

	lx_list_append(&core->gateways, &gateway->gateway_link);
	gateway->alive = !verdict;
	lx_down_clear(&gateway->down);
	if (verdict)
		lx_down_set(core, &gateway->down, verdict, 0, LX_NET_U32_ANY);
}

static void gateway_end_without_routes(struct lx_peer *gateway)
{
	if (!lx_list_empty(&gateway->routes))
		return;
	lx_list_del(&gateway->gateway_link);
	gateway->state &= ~(LX_PEER_RTR_DISCOVERY | LX_PEER_RTR_DISCOVERED);
}

/* Within a second (monitor.c): what the last check said is not about a route that is new. */
static void check_soon(struct lx_peer *gateway)
{
	struct lx_peer_net *net;

	gateway->state &= ~LX_PEER_RTR_DISCOVERED;
	lx_list_for_each(net, &gateway->nets, link)
		net->next_check_ns = 0;
}

static void update(struct lx_route *route);

int lx_route_new(struct lx_core *core, const struct lx_conf_route *conf)
{
	struct lx_peer_ni *pni;
	struct lx_route *route;
	struct lx_rnet *rnet;
	int r;

	r = route_check(core, conf);
	if (!r)
		r = lx_peer_ni_obtain(core, &conf->gateway, &pni);
	if (r)
		return r;
	rnet = rnet_obtain(core, conf->net);
	if (!rnet)
		return -ENOMEM;
	route = calloc(1, sizeof(*route));
	if (!route) {
		rnet_free_if_empty(rnet);
		return -ENOMEM;
	}
	route->rnet = rnet;
	route->gateway = lx_peer_of(pni);
	route->nid = conf->gateway;
	route->local_net = lx_nid_net(&conf->gateway);
	route->hops = conf->hop;
	route->priority = conf->priority == LX_UNSET ? 0 : conf->priority;
	route->health_sensitivity =
		conf->health_sensitivity == LX_UNSET ? 1 : conf->health_sensitivity;
	route->verdict = core->tun.check_routers_before_use ? LX_DOWN_NOT_ASKED : LX_DOWN_NO;
	if (lx_list_empty(&route->gateway->routes))
		gateway_begin(route->gateway, route->verdict);
	lx_list_append(&route->gateway->routes, &route->gateway_link);
	insert_somewhere(core, rnet, route);
	update(route);
	check_soon(route->gateway);
	lx_change_tell(core, LX_CHANGE_ROUTE_ADD, &route->nid, rnet->id, "%s", "");
	return 0;
}

static void route_free(struct lx_core *core, struct lx_route *route)
{
	struct lx_peer *gateway = route->gateway;
	struct lx_rnet *rnet = route->rnet;

	lx_change_tell(core, LX_CHANGE_ROUTE_DEL, &route->nid, rnet->id, "%s", "");
	lx_list_del(&route->link);
	lx_list_del(&route->gateway_link);
	gateway_end_without_routes(gateway);
	rnet_free_if_empty(rnet);
	free(route);
}

struct which {
	uint32_t net, local_net;    /* or LX_NET_U32_ANY */
	const struct lx_nid *nid;   /* as configured, or NULL */
	const struct lx_peer *peer; /* or NULL */
};

static bool is_of(const struct lx_route *route, const struct which *w)
{
	if (w->net != LX_NET_U32_ANY && w->net != route->rnet->id)
		return false;
	if (w->local_net != LX_NET_U32_ANY && w->local_net != route->local_net)
		return false;
	return (!w->nid || lx_nid_eq(&route->nid, w->nid)) &&
	       (!w->peer || route->gateway == w->peer);
}

static struct lx_route *find_matching(struct lx_core *core, const struct which *w)
{
	struct lx_route *route;
	struct lx_rnet *rnet;

	lx_list_for_each(rnet, &core->rnets, link) {
		lx_list_for_each(route, &rnet->routes, link) {
			if (is_of(route, w))
				return route;
		}
	}
	return NULL;
}

/* Returns the number deleted. Freeing a route may free its rnet, hence one at a time. */
static unsigned int delete_matching(struct lx_core *core, const struct which *w)
{
	struct lx_route *route;
	unsigned int n = 0;

	while ((route = find_matching(core, w))) {
		route_free(core, route);
		n++;
	}
	return n;
}

/* Deletes the route configured with this NID, or else those of the node that has the NID. */
int lx_route_delete(struct lx_core *core, uint32_t net, const struct lx_nid *gateway)
{
	struct which w = { .net = net, .local_net = LX_NET_U32_ANY };
	struct lx_peer_ni *pni;

	if (lx_nid_is_any(gateway))
		return delete_matching(core, &w) ? 0 : -ENOENT;
	w.nid = gateway;
	if (delete_matching(core, &w))
		return 0;
	pni = lx_peer_ni_lookup(core, gateway);
	if (!pni)
		return -ENOENT;
	w.nid = NULL;
	w.peer = lx_peer_of(pni);
	return delete_matching(core, &w) ? 0 : -ENOENT;
}

void lx_route_delete_own(struct lx_core *core, const struct lx_nid *nid)
{
	const struct which w = { .net = LX_NET_U32_ANY, .local_net = LX_NET_U32_ANY, .nid = nid };

	delete_matching(core, &w);
}

void lx_route_delete_over(struct lx_core *core, uint32_t local_net)
{
	const struct which w = { .net = LX_NET_U32_ANY, .local_net = local_net };

	delete_matching(core, &w);
}

void lx_route_delete_through(struct lx_peer *gateway)
{
	const struct which w = {
		.net = LX_NET_U32_ANY,
		.local_net = LX_NET_U32_ANY,
		.peer = gateway,
	};

	delete_matching(gateway->core, &w);
}

/* ---- aliveness (lnet.md 10.2) ------------------------------------------------------- */

static bool gateway_net_alive(struct lx_peer *gateway, uint32_t net)
{
	struct lx_peer_net *peer_net = lx_peer_net_lookup(gateway, net);
	struct lx_peer_ni *pni;

	if (!peer_net)
		return false;
	lx_list_for_each(pni, &peer_net->nis, link) {
		if (lx_peer_ni_up(pni))
			return true;
	}
	return false;
}

static bool must_be_on_net(const struct lx_route *route)
{
	return route->gateway->core->tun.avoid_asym_router_failure &&
	       (route->hops == 1 || (route->hops == LX_UNSET && route->single_hop));
}

/* Why there is no connection to the NID that the route names; NULL: there may be one. */
static const struct lx_cause *lost_of(const struct lx_route *route)
{
	const struct lx_peer_ni *pni = lx_peer_ni_of(route->gateway, &route->nid);

	return pni && lx_down_is_lost(&pni->down) ? &pni->down : NULL;
}

/* LX_DOWN_NO: it is alive. */
static enum lx_down_why why_down(const struct lx_route *route)
{
	struct lx_peer *gateway = route->gateway;

	if (!gateway->alive)
		return gateway->down.why == LX_DOWN_NOT_ASKED ? LX_DOWN_NOT_ASKED : LX_DOWN_GATEWAY;
	/* It may be known as Multi-Rail before anything else is. */
	if (lx_peer_discovery_off(gateway) || !gateway->fresh)
		return route->verdict;
	if (!(gateway->state & LX_PEER_ROUTER_ENABLED))
		return LX_DOWN_NOT_ROUTING;
	if (!gateway_net_alive(gateway, route->local_net))
		return lost_of(route) ? LX_DOWN_GATEWAY_LOST : LX_DOWN_NEAR_NET;
	if (must_be_on_net(route) && !gateway_net_alive(gateway, route->rnet->id))
		return LX_DOWN_FAR_NET;
	return LX_DOWN_NO;
}

bool lx_route_alive(const struct lx_route *route)
{
	return !why_down(route);
}

bool lx_rnet_alive(const struct lx_rnet *rnet)
{
	const struct lx_route *route;

	lx_list_for_each (route, &rnet->routes, link) {
		if (lx_route_alive(route))
			return true;
	}
	return false;
}

/* As why_down(), and since when. */
static void cause_of(const struct lx_route *route, struct lx_cause *ret_cause)
{
	enum lx_down_why why = why_down(route);
	uint32_t net = why == LX_DOWN_NEAR_NET	? route->local_net
		       : why == LX_DOWN_FAR_NET ? route->rnet->id
						: LX_NET_U32_ANY;
	const struct lx_cause *lost = lost_of(route);
	int error = 0;

	if (why == LX_DOWN_GATEWAY)
		error = lost ? lost->error : route->gateway->down.error;
	else if (why == LX_DOWN_GATEWAY_LOST)
		error = lost ? lost->error : route->verdict_error;
	*ret_cause = route->down;
	if (why)
		lx_down_set(route->gateway->core, ret_cause, why, error, net);
	else
		lx_down_clear(ret_cause);
}

void lx_route_describe_down(const struct lx_route *route, struct lx_down *ret_down)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;
	struct lx_cause cause;
	size_t used;

	cause_of(route, &cause);
	lx_down_describe(&cause, ret_down);
	if (cause.why != LX_DOWN_NEAR_NET && cause.why != LX_DOWN_FAR_NET)
		return;
	net = lx_peer_net_lookup(route->gateway, cause.net);
	if (!net)
		return;
	/* The cause of one of its NIDs on that net; if it is there, of that in the route. */
	pni = lx_peer_ni_of(route->gateway, &route->nid);
	if (!pni || pni->net != net)
		pni = lx_list_first(&net->nis, struct lx_peer_ni, link);
	used = strlen(ret_down->reason);
	snprintf(ret_down->reason + used, sizeof(ret_down->reason) - used, ": %s",
		 lx_down_str(&pni->down));
}

static void update(struct lx_route *route)
{
	struct lx_cause cause;

	cause_of(route, &cause);
	route->down = cause;
}

/* The state of a net in a gateway's ping information. */
static void net_in_info(const struct lx_pinginfo *info, uint32_t net, bool *ret_present,
			bool *ret_up)
{
	*ret_present = *ret_up = false;
	for (uint32_t i = 0; i < info->n_nis; i++) {
		if (lx_nid_net(&info->ni[i].nid) != net)
			continue;
		*ret_present = true;
		*ret_up |= info->ni[i].status == LX_NI_STATUS_UP;
	}
}

void lx_route_gateway_info(struct lx_peer *gateway, const struct lx_pinginfo *info)
{
	struct lx_route *route;
	bool up;

	lx_list_for_each(route, &gateway->routes, gateway_link) {
		net_in_info(info, route->rnet->id, &route->single_hop, &up);
		route->verdict = LX_DOWN_NO;
		if (info->features & LX_PING_RTE_DISABLED)
			route->verdict = LX_DOWN_NOT_ROUTING;
		else if (!gateway_net_alive(gateway, route->local_net))
			route->verdict = LX_DOWN_NEAR_NET;
		else if (!up && must_be_on_net(route))
			route->verdict = LX_DOWN_FAR_NET;
	}
}

void lx_route_gateway_checked(struct lx_peer *gateway, int error)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;
	struct lx_route *route;

	gateway->state &= ~LX_PEER_RTR_DISCOVERY;
	gateway->state |= LX_PEER_RTR_DISCOVERED;
	gateway->alive = !error;
	if (!error) {
		lx_down_clear(&gateway->down);
		return;
	}
	lx_down_set(gateway->core, &gateway->down, LX_DOWN_CHECK, error, LX_NET_U32_ANY);
	/*
	 * Only its answer describes its NIs on other nets: without one they are down. Those without
	 * a connection keep their own reason; @error may be that of another.
	 */
	lx_peer_ni_for_each(net, pni, gateway) {
		if (!lx_down_is_lost(&pni->down) || pni->reached)
			lx_peer_ni_set_down(gateway->core, pni, LX_DOWN_CHECK, error);
	}
	lx_list_for_each(route, &gateway->routes, gateway_link) {
		route->verdict = LX_DOWN_GATEWAY_LOST;
		route->verdict_error = error;
	}
}

void lx_route_gateway_heard(struct lx_core *core, struct lx_peer *gateway, uint32_t net)
{
	struct lx_peer_net *peer_net;
	struct lx_peer_ni *pni;
	struct lx_route *route;

	if (gateway->alive || lx_list_empty(&gateway->routes))
		return;
	gateway->alive = true;
	lx_down_clear(&gateway->down);
	lx_list_for_each(route, &gateway->routes, gateway_link) {
		if (route->rnet->id == net)
			route->verdict = LX_DOWN_NO;
	}
	peer_net = lx_peer_net_lookup(gateway, net);
	if (peer_net) {
		lx_list_for_each(pni, &peer_net->nis, link)
			lx_peer_ni_set_up(core, pni);
	}
	lx_core_kick(core);
}

void lx_route_gateway_lost(struct lx_core *core, struct lx_peer_ni *pni, int error)
{
	struct lx_peer *gateway = lx_peer_of(pni);
	struct lx_route *route;

	if (lx_peer_discovery_off(gateway)) {
		lx_list_for_each(route, &gateway->routes, gateway_link) {
			if (!lx_nid_eq(&route->nid, &pni->nid))
				continue;
			route->verdict = LX_DOWN_GATEWAY_LOST;
			route->verdict_error = error;
		}
	}
	if (!lx_list_empty(&gateway->routes))
		lx_core_kick(core);
}

static void route_move(struct lx_route *route, struct lx_peer *to)
{
	struct lx_peer *from = route->gateway;

	if (lx_list_empty(&to->routes)) {
		lx_list_append(&to->core->gateways, &to->gateway_link);
		to->alive = from->alive;
		to->down = from->down;
	}
	lx_list_del(&route->gateway_link);
	route->gateway = to;
	lx_list_append(&to->routes, &route->gateway_link);
	gateway_end_without_routes(from);
}

void lx_route_gateway_moved(struct lx_peer *to, struct lx_peer *from)
{
	struct lx_route *route, *tmp;

	lx_list_for_each_safe(route, tmp, &from->routes, gateway_link)
		route_move(route, to);
}

/* The gateway that lost the NID may have others left, or have told us before. */
void lx_route_nid_moved(struct lx_peer *to, const struct lx_nid *nid)
{
	struct lx_core *core = to->core;
	struct lx_route *route;
	struct lx_rnet *rnet;

	lx_list_for_each(rnet, &core->rnets, link) {
		route = lx_route_lookup(core, rnet->id, nid);
		if (!route || route->gateway == to)
			continue;
		route_move(route, to);
		check_soon(to);
	}
}

struct lx_peer_ni *lx_route_gateway_ni(struct lx_peer *gateway)
{
	struct lx_route *route;

	lx_list_for_each(route, &gateway->routes, gateway_link) {
		struct lx_peer_ni *pni = lx_peer_ni_of(gateway, &route->nid);

		if (pni)
			return pni;
	}
	return NULL;
}

void lx_route_gateway_split(struct lx_peer *gateway)
{
	struct lx_route *route, *tmp;
	struct lx_peer_ni *pni;
	int r;

	lx_list_for_each_safe(route, tmp, &gateway->routes, gateway_link) {
		r = lx_peer_ni_obtain(gateway->core, &route->nid, &pni);
		if (r)
			lx_warn("route=%s gateway=%s reason=\"%s\" action=\"route not used until "
				"the "
				"gateway is discovered\"",
				lx_net_str(route->rnet->id), lx_nid_str(&route->nid), strerror(-r));
		else if (lx_peer_of(pni) != gateway)
			route_move(route, lx_peer_of(pni));
	}
}

void lx_route_report(struct lx_core *core)
{
	struct lx_rnet *rnet;
	struct lx_route *route;
	struct lx_down down;

	lx_list_for_each(rnet, &core->rnets, link) {
		lx_list_for_each(route, &rnet->routes, link) {
			update(route);
			if (!route->down.why == route->shown_alive)
				continue;
			route->shown_alive = !route->down.why;
			lx_route_describe_down(route, &down);
			lx_change_tell(core,
				       route->down.why ? LX_CHANGE_ROUTE_DOWN : LX_CHANGE_ROUTE_UP,
				       &route->nid, rnet->id, "%s", down.reason);
		}
	}
}

/* ---- selection (lnet.md 11.2) --------------------------------------------------------- */

struct candidate {
	struct lx_route *route;
	struct lx_peer_ni *gateway_ni;
	bool preferred;
};

static bool better_route(const struct candidate *a, const struct candidate *b,
			 const struct lx_avoid *avoid)
{
	const struct lx_route *ra = a->route, *rb = b->route;
	int hops_a = ra->hops == LX_UNSET ? 1 : ra->hops;
	int hops_b = rb->hops == LX_UNSET ? 1 : rb->hops;

	LX_PREFER_LESS(lx_avoids(avoid, &a->gateway_ni->nid),
		       lx_avoids(avoid, &b->gateway_ni->nid));
	LX_PREFER_MORE(a->preferred, b->preferred); /* 1 by policies (UDSP) */
	if (ra->priority != rb->priority) /* 2 */
		return ra->priority < rb->priority;
	if (hops_a != hops_b) /* 3 */
		return hops_a < hops_b;
	LX_PREFER_MORE(lx_rank_peer_ni_health(a->gateway_ni),
		       lx_rank_peer_ni_health(b->gateway_ni)); /* 4 */
	if (a->gateway_ni->tx_queued_bytes != b->gateway_ni->tx_queued_bytes) /* 5 */
		return a->gateway_ni->tx_queued_bytes < b->gateway_ni->tx_queued_bytes;
	if (lx_credit_now(a->gateway_ni->tx) != lx_credit_now(b->gateway_ni->tx)) /* 6 */
		return lx_credit_now(a->gateway_ni->tx) > lx_credit_now(b->gateway_ni->tx);
	return ra->seq < rb->seq; /* 7 */
}

bool lx_route_ends_at(const struct lx_peer *gateway, const struct lx_peer_ni *dst)
{
	return gateway == lx_peer_of(dst);
}

struct lx_route *lx_route_select(struct lx_core *core, const struct lx_peer_ni *dst,
				 uint32_t local_net, const struct lx_peer *but,
				 const struct lx_avoid *avoid,
				 struct lx_peer_ni **ret_gateway)
{
	struct lx_rnet *rnet = lx_rnet_lookup(core, lx_nid_net(&dst->nid));
	struct candidate c, best = { 0 };
	uint64_t last_seq = 0;

	if (!rnet)
		return NULL;
	lx_list_for_each(c.route, &rnet->routes, link) {
		struct lx_peer_net *gateway_net = lx_peer_net_lookup(
			c.route->gateway,
			local_net == LX_NET_U32_ANY ? c.route->local_net : local_net);

		if (c.route->seq > last_seq)
			last_seq = c.route->seq;
		if (!gateway_net || c.route->gateway == but ||
		    lx_route_ends_at(c.route->gateway, dst) || !lx_route_alive(c.route))
			continue;
		c.gateway_ni = lx_rank_best_peer_ni(gateway_net, NULL, avoid);
		c.preferred = lx_udsp_prefers_gateway(dst, c.route->gateway);
		if (!best.route || better_route(&c, &best, avoid))
			best = c;
	}
	if (!best.route)
		return NULL;
	best.route->seq = last_seq + 1;
	*ret_gateway = best.gateway_ni;
	return best.route;
}

int lx_route_distance(struct lx_core *core, const struct lx_nid *nid)
{
	struct lx_rnet *rnet = lx_rnet_lookup(core, lx_nid_net(nid));
	struct lx_route *route;
	int hops = 0;

	if (lx_ni_is_local_nid(core, nid))
		return core->tun.local_nid_dist_zero ? 0 : 1;
	if (lx_net_lookup(core, lx_nid_net(nid)))
		return 1;
	if (!rnet)
		return -EHOSTUNREACH;
	lx_list_for_each(route, &rnet->routes, link) {
		int h = route->hops == LX_UNSET ? 1 : route->hops;

		if (!hops || h < hops)
			hops = h;
	}
	return hops + 1;
}

/* ---- description ------------------------------------------------------------------------ */

static void route_describe(const struct lx_route *route, struct lx_route_info *ret_info)
{
	*ret_info = (struct lx_route_info){
		.net = route->rnet->id,
		.gateway = route->nid,
		.primary = route->gateway->primary,
		.hop = route->hops,
		.priority = route->priority,
		.health_sensitivity = route->health_sensitivity,
		.up = lx_route_alive(route),
		.multi_hop = route->hops > 1 || (route->hops == LX_UNSET && !route->single_hop),
	};
	lx_route_describe_down(route, &ret_info->down);
}

static int by_gateway(const void *a, const void *b)
{
	const struct lx_route_info *x = a, *y = b;

	return memcmp(&x->gateway, &y->gateway, sizeof(x->gateway));
}

/* In an order that does not change: that of the lists of routes is random. */
int lx_route_describe_all(struct lx_core *core, struct lx_route_info **ret_list, size_t *ret_n)
{
	struct lx_route_info *list;
	struct lx_rnet *rnet;
	struct lx_route *route;
	size_t n = 0;

	lx_list_for_each(rnet, &core->rnets, link)
		lx_list_for_each(route, &rnet->routes, link)
			n++;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	*ret_n = 0;
	lx_list_for_each(rnet, &core->rnets, link) {
		n = *ret_n;
		lx_list_for_each(route, &rnet->routes, link)
			route_describe(route, &list[(*ret_n)++]);
		qsort(&list[n], *ret_n - n, sizeof(*list), by_gateway);
	}
	*ret_list = list;
	return 0;
}
