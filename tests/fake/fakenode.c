/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node without a network, for tests of daemon and tools: a real one (liblnetx), except that its
 * NIs, peers, routes, router buffers and connections exist in tables only, and that pings are
 * answered from a list. The functions here take the place of the library's (Makefile). The tables
 * are filled from $FAKENODE_STATE (state.h) once, then by requests.
 *
 * It behaves like a real node where a tool can tell: defaults, duplicates, missing
 * interfaces (only names beginning with "eth" exist), gateways without a local net.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../user/base/log.h"
#include "../../user/conf/import.h"
#include "../../user/core/core.h"
#include "../../user/core/probe.h"
#include "../../user/core/reach.h"
#include "../../user/io/netif.h"
#include "../../user/node/node.h"
#include "state.h"

/* Of the only node. Used by the daemon's main thread; its lock protects what others see, too. */
static struct fake_state state;

/* Drops the elements for which @gone holds, where @it points to one. How many. */
#define DROP(array, n, it, gone)                                                                   \
	({                                                                                         \
		size_t all_ = (n), kept_ = 0;                                                      \
                                                                                                   \
		for (size_t i_ = 0; i_ < all_; i_++) {                                             \
			const __typeof__(*(array)) *it = &(array)[i_];                             \
                                                                                                   \
			if (!(gone))                                                               \
				(array)[kept_++] = *it;                                            \
		}                                                                                  \
		(n) = kept_;                                                                       \
		all_ - kept_;                                                                      \
	})

static void tell(struct lx_node *node, enum lx_change_type type, const struct lx_nid *nid,
		 uint32_t net, const char *text)
{
	struct lx_change change = { .type = type, .nid = *nid, .net = net };

	snprintf(change.text, sizeof(change.text), "%s", text);
	if (node->watch)
		node->watch(&change, node->watch_arg);
}

/* ---- the machine: eth0, eth1, ... with four addresses each ------------------------------- */

static bool is_missing(const char *ifname)
{
	return ifname[0] && strncmp(ifname, "eth", 3);
}

static void fill_addr(unsigned int eth, unsigned int i, union lx_addr *ret_addr)
{
	lx_addr_init(ret_addr, (uint8_t[]){ 10, 0, eth, i + 1 }, 4, 0);
}

unsigned int lx_netif_index(const char *name)
{
	return is_missing(name) ? 0 : atoi(name + 3) + 1;
}

int lx_netif_by_addr(const union lx_addr *addr, const char *name, struct lx_netif *ret_netif)
{
	*ret_netif =
		(struct lx_netif){ .addr = *addr, .enabled = true, .up = true, .carrier = true };
	snprintf(ret_netif->name, IFNAMSIZ, "%s", name[0] ? name : "eth9");
	return is_missing(name) ? -ENODEV : 0;
}

int lx_netif_by_name(const char *name, struct lx_netif *ret_netif)
{
	union lx_addr addr;

	fill_addr(atoi(name + 3), 0, &addr);
	return lx_netif_by_addr(&addr, name, ret_netif);
}

int lx_netif_addrs(struct lx_netif **ret_list, size_t *ret_n)
{
	struct lx_netif *list = calloc(16, sizeof(*list));

	for (unsigned int i = 0; i < 16; i++) {
		list[i].enabled = true;
		snprintf(list[i].name, IFNAMSIZ, "eth%u", i / 4);
		fill_addr(i / 4, i % 4, &list[i].addr);
	}
	*ret_list = list;
	*ret_n = 16;
	return 0;
}

/* ---- NIs --------------------------------------------------------------------------- */

static int32_t or_default(int32_t value, int32_t def)
{
	return value == LX_UNSET ? def : value;
}

static void fill_ni(struct lx_ni_info *info, const struct lx_conf_ni *ni)
{
	*info = (struct lx_ni_info){
		.nid = ni->nid, .net = ni->net, .up = true, .dev_cpt = -1, .alive_s = LX_UNSET
	};
	info->given = lx_nid_is_nid4(&ni->nid) ? lx_nid_any : ni->nid;
	snprintf(info->ifname, IFNAMSIZ, "%s", ni->ifname[0] ? ni->ifname : "eth9");
	info->health.value = 1000;
	info->tun.peer_timeout = or_default(ni->tun.peer_timeout, 180);
	info->tun.peer_credits = or_default(ni->tun.peer_credits, 8);
	info->tun.peer_buffer_credits = or_default(ni->tun.peer_buffer_credits, 0);
	info->tun.credits = or_default(ni->tun.credits, 256);
	info->tx_credits = info->tx_credits_min = info->tx_credits_max = info->tun.credits;
	info->lnd_tunable_names = fake_tcp_names;
	info->lnd_tun.value[0] = or_default(ni->lnd_tun.value[0], 1);
	info->lnd_tun.value[1] = or_default(ni->lnd_tun.value[1], 50);
	info->lnd_tun.value[2] = ni->lnd_tun.value[2];
}

int lx_net_add(struct lx_node *node, const struct lx_conf_ni *conf)
{
	struct lx_conf_ni ni = *conf;
	int err = lx_conf_ni_nid(conf, &ni.nid);

	if (lx_net_type(ni.net) != LX_NET_TCP)
		return -EPROTONOSUPPORT;
	if (err)
		return err;
	for (size_t i = 0; i < state.n_nis; i++) {
		if (lx_nid_eq(&state.ni[i].nid, &ni.nid))
			return -EEXIST;
	}
	fill_ni(&state.ni[state.n_nis++], &ni);
	for (size_t i = state.n_nis - 1; i-- > 0;) { /* as the net's first one */
		if (state.ni[i].net == ni.net)
			state.ni[state.n_nis - 1].tun = state.ni[i].tun;
	}
	tell(node, LX_CHANGE_NI_ADD, &ni.nid, LX_NET_U32_ANY, "added");
	return 0;
}

static bool ni_matches(const struct lx_ni_info *info, const struct lx_conf_ni *ni)
{
	return info->net == ni->net && (!ni->ifname[0] || !strcmp(info->ifname, ni->ifname)) &&
	       (lx_nid_eq(&ni->nid, &lx_nid_any) || lx_nid_eq(&ni->nid, &info->nid));
}

int lx_net_del(struct lx_node *node, const struct lx_conf_ni *ni)
{
	return DROP(state.ni, state.n_nis, it, ni_matches(it, ni)) ? 0 : -ENOENT;
}

int lx_net_set(struct lx_node *node, uint32_t net, const struct lx_nid *nid, const char *name,
	       int32_t value)
{
	const struct lx_conf_ni match = { .net = net, .nid = *nid };
	bool health = !strcmp(name, "health");
	int at = 0, err = -ENOENT;

	while (fake_tcp_names[at] && strcmp(fake_tcp_names[at], name))
		at++;
	if (!health && !fake_tcp_names[at])
		return -EOPNOTSUPP;
	if (value < 0 && strcmp(name, "tos"))
		return -EINVAL;
	for (size_t i = 0; i < state.n_nis; i++) {
		struct lx_ni_info *info = &state.ni[i];

		if (!ni_matches(info, &match))
			continue;
		if (!health)
			info->lnd_tun.value[at] = value;
		else
			info->up = (info->health.value = value);
		err = 0;
	}
	return err;
}

static bool has_net(uint32_t net)
{
	for (size_t i = 0; i < state.n_nis; i++) {
		if (state.ni[i].net == net)
			return true;
	}
	return false;
}

/* ---- peers, routes ----------------------------------------------------------------- */

static bool has_nid(const struct lx_peer_info *p, const struct lx_nid *nid)
{
	for (uint32_t i = 0; i < p->n_nis; i++) {
		if (lx_nid_eq(&p->ni[i].nid, nid))
			return true;
	}
	return false;
}

static struct lx_peer_info *find_peer(const struct lx_nid *nid)
{
	for (size_t i = 0; i < state.n_peers; i++) {
		if (has_nid(&state.peer[i], nid))
			return &state.peer[i];
	}
	return NULL;
}

static void peer_add_nid(struct lx_peer_info *p, const struct lx_nid *nid)
{
	if (!has_nid(p, nid))
		p->ni[p->n_nis++] = (struct lx_peer_ni_info){ .nid = *nid, .health.value = 1000 };
}

static struct lx_peer_info *make_peer(struct lx_node *node, const struct lx_nid *nid)
{
	struct lx_peer_info *p = find_peer(nid);

	if (p)
		return p;
	p = &state.peer[state.n_peers++];
	*p = (struct lx_peer_info){ .primary = *nid, .ni = calloc(FAKE_PEER_NIS, sizeof(*p->ni)) };
	peer_add_nid(p, nid);
	tell(node, LX_CHANGE_PEER_ADD, nid, LX_NET_U32_ANY, "");
	return p;
}

static bool is_configured(const struct lx_peer_info *p)
{
	return p && p->state & LX_PEER_CONFIGURED;
}

static bool is_gateway(const struct lx_peer_info *p)
{
	for (size_t i = 0; i < state.n_routes && p; i++) {
		if (has_nid(p, &state.route[i].gateway))
			return true;
	}
	return false;
}

int lx_peer_add(struct lx_node *node, const struct lx_conf_peer *peer)
{
	struct lx_peer_info *p = find_peer(&peer->primary);

	if (is_gateway(p))
		return -EBUSY;
	if (!peer->multi_rail && peer->n_nids)
		return -EPERM;
	if (is_configured(p) && !peer->n_nids)
		return -EEXIST;
	for (size_t i = 0; i < peer->n_nids; i++) {
		const struct lx_peer_info *other = find_peer(&peer->nid[i]);

		if (other != p && is_configured(other))
			return -EEXIST;
	}
	p = make_peer(node, &peer->primary);
	p->multi_rail = peer->multi_rail;
	p->lock_primary |= peer->lock_primary;
	p->state |= LX_PEER_CONFIGURED | (peer->multi_rail ? LX_PEER_MULTI_RAIL : 0) |
		    (peer->lock_primary ? LX_PEER_LOCK_PRIMARY : 0);
	for (size_t i = 0; i < peer->n_nids; i++)
		peer_add_nid(p, &peer->nid[i]);
	return 0;
}

int lx_peer_set(struct lx_node *node, const struct lx_nid *nid, const char *name, int64_t value)
{
	bool health = !strcmp(name, "health"), all = lx_nid_eq(nid, &lx_nid_any);
	int err = all ? 0 : -ENOENT;

	if (!health && strcmp(name, "state"))
		return -EOPNOTSUPP;
	if (value < 0 || (health && value > 1000))
		return -ERANGE;
	for (size_t i = 0; i < state.n_peers; i++) {
		struct lx_peer_info *p = &state.peer[i];

		for (uint32_t j = 0; j < p->n_nis; j++) {
			if (!all && !lx_nid_eq(&p->ni[j].nid, nid))
				continue;
			if (health)
				p->ni[j].health.value = value;
			else
				p->state = value;
			err = 0;
		}
	}
	return err;
}

static void note_recovery(struct lx_recovery_info *list, size_t *n,
			  const struct lx_recovery_info *info)
{
	if (info->value < 1000)
		list[(*n)++] = *info;
}

/* Our NIs first, then peer NIs; those that have lost one message answer pings. */
int lx_recovery_list(struct lx_node *node, struct lx_recovery_info **ret_list, size_t *ret_n)
{
	struct lx_recovery_info *list = calloc(512, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < state.n_nis; i++) {
		const struct lx_ni_info *ni = &state.ni[i];

		if (ni->ifname[0])
			note_recovery(list, &n,
				      &(struct lx_recovery_info){ .nid = ni->nid,
								  .value = ni->health.value,
								  .next_ping_s = 1 });
	}
	for (size_t i = 0; i < state.n_peers; i++) {
		const struct lx_peer_info *p = &state.peer[i];

		for (uint32_t j = 0; j < p->n_nis; j++)
			note_recovery(list, &n,
				      &(struct lx_recovery_info){
					      .nid = p->ni[j].nid,
					      .peer = true,
					      .value = p->ni[j].health.value,
					      .ping_count = p->ni[j].health.value < 999 ? 3 : 1,
					      .next_ping_s = 8 });
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

int lx_peer_del(struct lx_node *node, const struct lx_conf_peer *peer, bool force)
{
	struct lx_peer_info *p = find_peer(&peer->primary);

	if (!p || !lx_nid_eq(&p->primary, &peer->primary))
		return -ENOENT;
	if (is_gateway(p) && !force)
		return -EBUSY;
	for (size_t i = 0; i < peer->n_nids; i++) {
		if (find_peer(&peer->nid[i]) != p)
			return -ENOENT;
	}
	for (size_t i = 0; i < peer->n_nids; i++)
		DROP(p->ni, p->n_nis, it, lx_nid_eq(&it->nid, &peer->nid[i]));
	if (peer->n_nids && p->n_nis)
		return 0;
	free(p->ni);
	DROP(state.peer, state.n_peers, it, it == p);
	return 0;
}

static bool route_matches(const struct lx_route_info *info, uint32_t net,
			  const struct lx_nid *gateway)
{
	return info->net == net && (lx_nid_is_any(gateway) || lx_nid_eq(gateway, &info->gateway));
}

int lx_route_add(struct lx_node *node, const struct lx_conf_route *route)
{
	uint32_t via = lx_nid_net(&route->gateway);

	if (via == route->net)
		return -EINVAL;
	if (has_net(route->net))
		return -EEXIST;
	if (!has_net(via))
		return -EHOSTUNREACH;
	for (size_t i = 0; i < state.n_routes; i++) {
		if (route_matches(&state.route[i], route->net, &route->gateway))
			return -EEXIST;
	}
	state.route[state.n_routes++] = (struct lx_route_info){
		.net = route->net,
		.gateway = route->gateway,
		.primary = make_peer(node, &route->gateway)->primary,
		.hop = route->hop,
		.priority = route->priority == LX_UNSET ? 0 : route->priority,
		.health_sensitivity = or_default(route->health_sensitivity, 1),
		.up = true,
		.multi_hop = route->hop > 1,
	};
	tell(node, LX_CHANGE_ROUTE_ADD, &route->gateway, route->net, "");
	return 0;
}

int lx_route_del(struct lx_node *node, uint32_t net, const struct lx_nid *gateway)
{
	return DROP(state.route, state.n_routes, it, route_matches(it, net, gateway)) ? 0 : -ENOENT;
}

/* ---- routing, counters, connections -------------------------------------------------- */

static const uint32_t default_buffers[LX_POOLS] = { 512, 4096, 256 };

int lx_routing_set(struct lx_node *node, bool enable)
{
	struct lx_routing_info *r = &state.routing;
	static const uint32_t pages[LX_POOLS] = { 0, 1, 256 };

	/* On a real node, stopping takes a while; here it never ends. */
	r->state = enable		       ? LX_ROUTING_ON
		   : r->state == LX_ROUTING_ON ? LX_ROUTING_STOPPING
					       : r->state;
	for (int i = 0; i < LX_POOLS && enable && !r->pools; i++) {
		uint32_t n = r->pool[i].nbuffers ? r->pool[i].nbuffers : default_buffers[i];

		r->pool[i] = (struct lx_pool_info){ pages[i], n, n, n };
	}
	r->pools |= enable;
	return 0;
}

int lx_routing_stop(struct lx_node *node, unsigned int limit_ms)
{
	if (state.routing.state != LX_ROUTING_OFF)
		lx_info("fakenode=\"stopped routing\" limit_ms=%u", limit_ms);
	lx_node_lock(node);
	state.routing.state = LX_ROUTING_OFF;
	lx_node_unlock(node);
	return 0;
}

/* All peers use this router, each one last seen a minute later than the previous. */
int lx_neighbour_list(struct lx_node *node, struct lx_neighbour_info **ret_list, size_t *ret_n)
{
	*ret_list = calloc(state.n_peers + 1, sizeof(**ret_list));
	for (size_t i = 0; i < state.n_peers; i++)
		(*ret_list)[i] = (struct lx_neighbour_info){ .nid = state.peer[i].primary,
							     .idle_s = 60 * i };
	*ret_n = state.n_peers;
	return 0;
}

int lx_announce(struct lx_node *node, const struct lx_nid *nid, size_t n)
{
	lx_info("fakenode=announces n=%zu first=%s last=%s", n, lx_nid_str(&nid[0]),
		lx_nid_str(&nid[n - 1]));
	return 0;
}

int lx_buffers_set(struct lx_node *node, const int64_t totals[LX_POOLS])
{
	struct lx_routing_info *r = &state.routing;

	for (int i = 0; i < LX_POOLS; i++) {
		int64_t n = totals[i] ? totals[i] : default_buffers[i];

		if (n == LX_UNSET || n == r->pool[i].nbuffers)
			continue;
		r->pool[i].nbuffers = r->pool[i].credits = r->pool[i].mincredits = n;
	}
	return 0;
}

void lx_routing_get(struct lx_node *node, struct lx_routing_info *ret_info)
{
	lx_node_lock(node);
	*ret_info = state.routing;
	lx_node_unlock(node);
}

void lx_stats_get(struct lx_node *node, struct lx_stats *ret_stats)
{
	*ret_stats = state.stats;
}

int lx_refused_list(struct lx_node *node, struct lx_refused_info **ret_list, size_t *ret_n)
{
	*ret_list = calloc(1, sizeof(**ret_list));
	*ret_n = 0;
	return 0;
}

void lx_stats_reset(struct lx_node *node)
{
	memset(&state.stats, 0, sizeof(state.stats));
}

int lx_disconnect(struct lx_node *node, const struct lx_nid *nid)
{
	int n = state.n_conns;

	state.n_conns = 0;
	return n;
}

/* ---- lists ------------------------------------------------------------------------------ */

static int copy_list(const void *from, size_t n, size_t size, void *ret_list, size_t *ret_n)
{
	void *list = malloc(n * size + 1);

	memcpy(list, from, n * size);
	*(void **)ret_list = list;
	*ret_n = n;
	return 0;
}

int lx_ni_list(struct lx_node *node, struct lx_ni_info **ret_list, size_t *ret_n)
{
	return copy_list(state.ni, state.n_nis, sizeof(state.ni[0]), ret_list, ret_n);
}

int lx_route_list(struct lx_node *node, struct lx_route_info **ret_list, size_t *ret_n)
{
	return copy_list(state.route, state.n_routes, sizeof(state.route[0]), ret_list, ret_n);
}

int lx_conn_list(struct lx_node *node, struct lx_conn_info **ret_list, size_t *ret_n)
{
	return copy_list(state.conn, state.n_conns, sizeof(state.conn[0]), ret_list, ret_n);
}

void lx_primary_nid(struct lx_node *node, const struct lx_nid *nid, struct lx_nid *ret_primary)
{
	const struct lx_peer_info *p = find_peer(nid);

	*ret_primary = p ? p->primary : *nid;
}

static int copy_peers(const struct lx_peer_info *first, size_t n, struct lx_peer_info **ret_list)
{
	struct lx_peer_info *list;
	struct lx_peer_ni_info *ni;
	size_t n_nis = 0;

	for (size_t i = 0; i < n; i++)
		n_nis += first[i].n_nis;
	list = malloc(n * sizeof(*list) + n_nis * sizeof(*ni) + 1);
	ni = (struct lx_peer_ni_info *)(list + n);
	for (size_t i = 0; i < n; i++) {
		list[i] = first[i];
		memcpy(ni, list[i].ni, list[i].n_nis * sizeof(*ni));
		list[i].ni = ni;
		ni += list[i].n_nis;
	}
	*ret_list = list;
	return 0;
}

int lx_peer_list(struct lx_node *node, struct lx_peer_info **ret_list, size_t *ret_n)
{
	*ret_n = state.n_peers;
	return copy_peers(state.peer, state.n_peers, ret_list);
}

int lx_peer_find(struct lx_node *node, const struct lx_nid *nid, struct lx_peer_info **ret_peer)
{
	const struct lx_peer_info *p = find_peer(nid);

	return p ? copy_peers(p, 1, ret_peer) : -ENOENT;
}

/* ---- probes: the core's, which the library ends on a thread of the node ------------------- */

int lx_reach_why(struct lx_core *core, const struct lx_nid *nid, const struct lx_nid *source,
		 char *buf, size_t size)
{
	snprintf(buf, size, "it is in another world");
	return 0;
}

/* The answer for a NID: an error, or 0 and information; NULL: nobody is there. */
static const struct fake_probe *find_probe(const struct lx_nid *nid)
{
	for (size_t i = state.n_probes; i-- > 0;) {
		const struct fake_probe *p = &state.probe[i];

		if ((p->error && strstr(p->text, lx_nid_str(nid))) || has_nid(&p->info, nid))
			return p;
	}
	return NULL;
}

int lx_probe_ping(struct lx_core *core, const struct lx_id *target, const struct lx_nid *source,
		  unsigned int timeout_ms, lx_probe_end_fn fn, void *arg)
{
	const struct fake_probe *p = find_probe(&target->nid);
	struct lx_peer_info *info = NULL;
	int status = p ? p->error : -EHOSTUNREACH;

	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	/* That a neighbour cannot be reached becomes known after 3 s: ARP. */
	if (status == -EHOSTUNREACH && timeout_ms && timeout_ms < 3000)
		status = -ETIME;
	if (!status)
		copy_peers(&p->info, 1, &info);
	fn(status, info, arg);
	return 0;
}

int lx_probe_discover(struct lx_core *core, const struct lx_nid *nid, bool force,
		      lx_probe_end_fn fn, void *arg)
{
	return lx_probe_ping(core, &(struct lx_id){ .nid = *nid }, &lx_nid_any, 0, fn, arg);
}

/* ---- life -------------------------------------------------------------------------------- */

struct apply {
	int result;
	struct lx_conf_error *err;
};

static void tried(struct apply *a, int err, struct lx_conf_place at, const char *what)
{
	if (!err || a->result)
		return;
	a->result = err;
	*a->err = (struct lx_conf_error){ .line = at.line, .column = at.column };
	snprintf(a->err->text, sizeof(a->err->text), "%s: %s", what, strerror(-err));
}

static void diff(struct lx_node *node, const struct lx_conf *conf)
{
	for (size_t i = state.n_nis; i-- > 0;) {
		struct lx_ni_info *info = &state.ni[i];
		bool wanted = lx_net_type(info->net) == LX_NET_LO;

		for (size_t j = 0; j < conf->n_nis; j++)
			wanted |= ni_matches(info, &conf->ni[j]);
		if (!wanted)
			lx_net_del(node,
				   &(struct lx_conf_ni){ .net = info->net, .nid = info->nid });
	}
}

/* The state of a new node: the file's, but only once; empty after a restart. */
static void start(struct lx_node *node)
{
	const char *path = getenv("FAKENODE_STATE");
	static bool loaded;

	for (size_t i = 0; i < state.n_peers; i++)
		free(state.peer[i].ni);
	for (size_t i = 0; i < state.n_probes; i++)
		free(state.probe[i].info.ni);
	memset(&state, 0, sizeof(state));
	fake_transports_init();
	if (path && !loaded)
		fake_state_load(&state, node, path);
	else
		state.ni[state.n_nis++] = (struct lx_ni_info){ .nid = lx_nid_lo,
							       .net = lx_nid_net(&lx_nid_lo),
							       .up = true,
							       .alive_s = LX_UNSET };
	loaded = true;
}

/* What is there already; a real node compares the settings. */
static int unless_there(int err)
{
	return err == -EEXIST || err == -EBUSY || err == -EALREADY ? 0 : err;
}

int lx_node_apply(struct lx_node *node, const struct lx_conf *conf, unsigned int flags,
		  struct lx_conf_error *ret_err)
{
	struct apply a = { .err = ret_err };

	if (flags & LX_APPLY_START)
		start(node);
	for (size_t i = 0; i < conf->n_tunables; i++) {
		const struct lx_conf_tunable *t = &conf->tunable[i];

		tried(&a, lx_tunable_write(node, t->module, t->name, t->value), t->at, "tunable");
	}
	if (flags & LX_APPLY_DIFF)
		diff(node, conf);
	for (size_t i = 0; i < conf->n_udsps; i++)
		tried(&a, unless_there(lx_udsp_add(node, &conf->udsp[i])), conf->udsp[i].at,
		      "udsp");
	for (size_t i = 0; i < conf->n_nis; i++)
		tried(&a, unless_there(lx_net_add(node, &conf->ni[i])), conf->ni[i].at, "net");
	tried(&a, lx_buffers_set(node, conf->buffers), conf->routing_at, "buffers");
	if (conf->routing != LX_UNSET)
		tried(&a, lx_routing_set(node, conf->routing), conf->routing_at, "routing");
	for (size_t i = 0; i < conf->n_peers; i++) {
		if (lx_import_peer_says(conf, &conf->peer[i]))
			tried(&a, unless_there(lx_peer_add(node, &conf->peer[i])),
			      conf->peer[i].at, "peer");
	}
	for (size_t i = 0; i < conf->n_routes; i++)
		tried(&a, unless_there(lx_route_add(node, &conf->route[i])), conf->route[i].at,
		      "route");
	return a.result;
}

/* As the log shows it. */
int __wrap_lx_node_stop(struct lx_node *node, unsigned int drain_ms);
int __real_lx_node_stop(struct lx_node *node, unsigned int drain_ms);

int __wrap_lx_node_stop(struct lx_node *node, unsigned int drain_ms)
{
	lx_info("fakenode=stopped drain_ms=%u", drain_ms);
	return __real_lx_node_stop(node, drain_ms);
}
