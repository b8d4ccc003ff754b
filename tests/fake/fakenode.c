/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions of lnetx.h that a daemon needs, on a node that exists in tables only:
 * for tests of daemon and tools. It accepts configuration and shows it; pings are
 * answered from a list. Its initial state is $FAKENODE_STATE (state.h) if
 * lnetxd is started with --configure, otherwise it is empty.
 *
 * It behaves like a real node where a tool can tell: defaults, duplicates, missing
 * interfaces (only names beginning with "eth" exist), gateways without a local net.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <internal/offload.h>
#include <lnetx/lnetx.h>

#include "../../user/base/log.h"
#include "../../user/base/policy.h"
#include "../../user/conf/check.h"
#include "../../user/core/tunables.h"
#include "state.h"

#define TCP_TUNABLES(X, tag)                                                                       \
	X(tag, sock_timeout, 50, 0, 86400, NULL, "seconds")                                        \
	X(tag, accept, 1, 0, 2, accept_names, "whom to accept")                                    \
	X(tag, accept_port, 988, 1, 65535, NULL, "port")                                           \
	X(tag, skip_mr_route_setup, 1, 0, 1, NULL, "1: leave the routes of the tests' machine alone")  \
	X(tag, fastpath, 1, 0, 1, switch_names, "whether the kernel forwards")
static const char *const accept_names[] = { "none", "secure", "all", NULL };
static const char *const switch_names[] = { "off", "on", NULL };
#define O2IB_TUNABLES(X, tag) X(tag, service, 987, 1, 65535, NULL, "port")
LX_TUNABLE_STRUCT(tcp_tunables, TCP_TUNABLES);
LX_TUNABLE_STRUCT(o2ib_tunables, O2IB_TUNABLES);
static const struct lx_tunable tcp_table[] = LX_TUNABLE_TABLE(tcp_tunables, TCP_TUNABLES);
static const struct lx_tunable o2ib_table[] = LX_TUNABLE_TABLE(o2ib_tunables, O2IB_TUNABLES);
static const struct lx_tunable lnet_table[] = LX_TUNABLE_TABLE(lx_core_tunables, LX_CORE_TUNABLES);

struct lx_node {
	struct fake_state s;
	struct lx_core_tunables lnet;
	struct tcp_tunables tcp;
	struct o2ib_tunables o2ib;
	void (*watch)(const struct lx_change *, void *);
	void *watch_arg;
	unsigned int next_addr;
};

static struct lx_node *loading;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void tell(struct lx_node *node, enum lx_change_type type, const struct lx_nid *nid,
		 uint32_t net, const char *text)
{
	struct lx_change change = { .type = type, .nid = *nid, .net = net };

	snprintf(change.text, sizeof(change.text), "%s", text);
	if (node->watch)
		node->watch(&change, node->watch_arg);
}

/* ---- fault injection --------------------------------------------------------------- */

int lx_fault_add(struct lx_node *node, const struct lx_fault_rule *rule)
{
	struct lx_fault_info info = { .rule = *rule, .left_s = rule->for_s };

	if (!info.rule.messages)
		info.rule.messages = LX_FAULT_MESSAGES;
	if (rule->portals)
		info.rule.messages &= LX_FAULT_PUT | LX_FAULT_GET;
	if (!info.rule.messages)
		return -EINVAL;
	memmove(&node->s.fault[1], node->s.fault, node->s.n_faults++ * sizeof(info));
	node->s.fault[0] = info;
	return 0;
}

int lx_fault_del(struct lx_node *node, bool delay, const struct lx_nid *src,
		 const struct lx_nid *dst)
{
	size_t kept = 0, n = node->s.n_faults;

	for (size_t i = 0; i < n; i++) {
		const struct lx_fault_rule *r = &node->s.fault[i].rule;

		if (r->delay != delay || (!lx_nid_is_any(src) && !lx_nid_eq(src, &r->src)) ||
		    (!lx_nid_is_any(dst) && !lx_nid_eq(dst, &r->dst)))
			node->s.fault[kept++] = node->s.fault[i];
	}
	node->s.n_faults = kept;
	return kept < n ? (int)(n - kept) : -ENOENT;
}

void lx_fault_clear(struct lx_node *node, bool delay)
{
	for (size_t i = 0; i < node->s.n_faults; i++)
		memset(&node->s.fault[i].counts, 0, sizeof(node->s.fault[i].counts));
}

int lx_fault_list(struct lx_node *node, struct lx_fault_info **ret_list, size_t *ret_n)
{
	*ret_n = node->s.n_faults;
	*ret_list = calloc(*ret_n + 1, sizeof(**ret_list));
	if (!*ret_list)
		return -ENOMEM;
	memcpy(*ret_list, node->s.fault, *ret_n * sizeof(**ret_list));
	return 0;
}

/* ---- tunables ---------------------------------------------------------------------- */

static const struct lx_tunable *find_tunable(const char *module, const char *name,
					     struct lx_node *node, void **ret_values)
{
	bool lnet = !strcmp(module, "lnet");

	if (!lnet && strcmp(module, "tcp"))
		return NULL;
	if (node)
		*ret_values = lnet ? (void *)&node->lnet : (void *)&node->tcp;
	return lx_tunable_lookup(lnet ? lnet_table : tcp_table, name);
}

int lx_tunable_write(struct lx_node *node, const char *module, const char *name, const char *value)
{
	struct lx_core_tunables old = node->lnet;
	void *values;
	const struct lx_tunable *t = find_tunable(module, name, node, &values);
	int err = t ? lx_tunable_set(t, values, value) : -ENOENT;

	if (!err && node->lnet.lnet_transaction_timeout <= node->lnet.lnet_retry_count) {
		node->lnet = old;
		err = -ERANGE;
	}
	return err;
}

static void each(const char *module, const struct lx_tunable *table, const void *values,
		 int (*fn)(const char *, const struct lx_tunable *, const char *, void *),
		 void *arg)
{
	char text[32];

	for (const struct lx_tunable *t = table; t->name; t++)
		fn(module, t, lx_tunable_format(t, values, text, sizeof(text)), arg);
}

void lx_tunable_each(struct lx_node *node,
		     int (*fn)(const char *module, const struct lx_tunable *t, const char *value,
			       void *arg),
		     void *arg)
{
	each("lnet", lnet_table, &node->lnet, fn, arg);
	each("tcp", tcp_table, &node->tcp, fn, arg);
	if (getenv("FAKENODE_O2IB"))
		each("o2ib", o2ib_table, &node->o2ib, fn, arg);
}

static void check(const struct lx_conf *conf, struct lx_conf_report *report)
{
	static const struct lx_conf_module modules[] = { { "lnet", lnet_table },
							 { "tcp", tcp_table },
							 { NULL, NULL } };

	lx_conf_check(conf, modules, report);
}

/* This machine has eth0, eth1, ... */
static bool is_missing(const char *ifname)
{
	return ifname[0] && strncmp(ifname, "eth", 3);
}

int lx_node_check(const struct lx_conf *conf, struct lx_conf_error *ret_err)
{
	struct lx_conf_report report = { 0 };

	check(conf, &report);
	for (size_t i = 0; i < conf->n_nis; i++) {
		if (is_missing(conf->ni[i].ifname))
			lx_conf_note(&report, -ENODEV, conf->ni[i].at, "it is missing");
	}
	return lx_conf_report_end(&report, ret_err);
}

/* Nothing is missing here. */
int lx_conf_part(const struct lx_conf *conf, struct lx_conf **ret_now, struct lx_conf **ret_later,
		 struct lx_conf_error *ret_err)
{
	*ret_later = NULL;
	return lx_conf_resolve(conf, ret_now, ret_err);
}

int lx_node_check_yaml(const char *yaml, size_t len, unsigned int flags,
		       void (*fn)(const struct lx_conf_error *err, void *arg), void *arg)
{
	struct lx_conf_report report = { 0 };
	struct lx_conf *conf = NULL;

	if (!lx_conf_read(yaml, len, &report, &conf))
		check(conf, &report);
	lx_conf_free(conf);
	lx_conf_report_sort(&report);
	for (size_t i = 0; i < report.n; i++)
		fn(&report.list[i].what, arg);
	return lx_conf_report_end(&report, NULL);
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
	memcpy(info->ifname, ni->ifname, IFNAMSIZ);
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

static void make_nid(struct lx_node *node, struct lx_ni_info *info)
{
	char text[LX_NID_TEXT];

	if (lx_nid_eq(&info->nid, &lx_nid_any)) {
		snprintf(text, sizeof(text), "10.0.0.%u@%s", ++node->next_addr,
			 lx_net_str(info->net));
		lx_nid_parse(text, &info->nid);
	}
	if (!info->ifname[0])
		snprintf(info->ifname, IFNAMSIZ, "eth%u", node->next_addr);
}

static void add_ni(struct lx_node *node, const struct lx_conf_ni *ni)
{
	struct lx_ni_info *info = &node->s.ni[node->s.n_nis++];

	fill_ni(info, ni);
	make_nid(node, info);
	tell(node, LX_CHANGE_NI_ADD, &info->nid, LX_NET_U32_ANY, "added");
}

/* Every interface has four addresses. */
int lx_net_add_rails(struct lx_node *node, const struct lx_conf_ni *ni,
		     struct lx_conf_error *ret_err)
{
	int n = atoi(ni->rails);

	if (n > 4)
		snprintf(ret_err->text, sizeof(ret_err->text), "rails %d: the interface has 4", n);
	if (n > 4)
		return -EADDRNOTAVAIL;
	while (n-- > 0)
		add_ni(node, ni);
	return 0;
}

int lx_net_add(struct lx_node *node, const struct lx_conf_ni *ni)
{
	struct fake_state *s = &node->s;

	if (lx_net_type(ni->net) != LX_NET_TCP)
		return -EPROTONOSUPPORT;
	if (is_missing(ni->ifname))
		return -ENODEV;
	for (size_t i = 0; i < s->n_nis; i++) {
		if (s->ni[i].net == ni->net &&
		    (lx_nid_eq(&s->ni[i].nid, &ni->nid) ||
		     (ni->ifname[0] && !strcmp(s->ni[i].ifname, ni->ifname))))
			return -EEXIST;
	}
	add_ni(node, ni);
	return 0;
}

static bool ni_matches(const struct lx_ni_info *info, const struct lx_conf_ni *ni)
{
	return info->net == ni->net && (!ni->ifname[0] || !strcmp(info->ifname, ni->ifname)) &&
	       (lx_nid_eq(&ni->nid, &lx_nid_any) || lx_nid_eq(&ni->nid, &info->nid));
}

int lx_net_del(struct lx_node *node, const struct lx_conf_ni *ni)
{
	struct fake_state *s = &node->s;
	size_t kept = 0, n = s->n_nis;

	for (size_t i = 0; i < n; i++) {
		if (!ni_matches(&s->ni[i], ni))
			s->ni[kept++] = s->ni[i];
	}
	s->n_nis = kept;
	return kept < n ? 0 : -ENOENT;
}

static int set_health(struct lx_node *node, const struct lx_conf_ni *match, int32_t value)
{
	int err = -ENOENT;

	if (value < 0 || value > 1000)
		return -ERANGE;
	for (size_t i = 0; i < node->s.n_nis; i++) {
		if (!ni_matches(&node->s.ni[i], match))
			continue;
		node->s.ni[i].health.value = value;
		node->s.ni[i].up = value;
		err = 0;
	}
	return err;
}

int lx_net_set(struct lx_node *node, uint32_t net, const struct lx_nid *nid, const char *name,
	       int32_t value)
{
	struct lx_conf_ni match = { .net = net, .nid = *nid };
	int at = 0, err = -ENOENT;

	if (!strcmp(name, "health"))
		return set_health(node, &match, value);
	while (fake_tcp_names[at] && strcmp(fake_tcp_names[at], name))
		at++;
	if (!fake_tcp_names[at])
		return -EOPNOTSUPP;
	if (value < 0 && strcmp(name, "tos"))
		return -EINVAL;
	for (size_t i = 0; i < node->s.n_nis; i++) {
		if (ni_matches(&node->s.ni[i], &match)) {
			node->s.ni[i].lnd_tun.value[at] = value;
			err = 0;
		}
	}
	return err;
}

static bool has_net(const struct lx_node *node, uint32_t net)
{
	for (size_t i = 0; i < node->s.n_nis; i++) {
		if (node->s.ni[i].net == net)
			return true;
	}
	return false;
}

/* ---- peers, routes ----------------------------------------------------------------- */

static struct fake_peer *find_peer(struct lx_node *node, const struct lx_nid *nid)
{
	for (size_t i = 0; i < node->s.n_peers; i++) {
		struct fake_peer *p = &node->s.peer[i];

		for (uint32_t j = 0; j < p->info.n_nis; j++) {
			if (lx_nid_eq(&p->info.ni[j].nid, nid))
				return p;
		}
	}
	return NULL;
}

static void peer_add_nid(struct fake_peer *p, const struct lx_nid *nid)
{
	for (uint32_t i = 0; i < p->info.n_nis; i++) {
		if (lx_nid_eq(&p->info.ni[i].nid, nid))
			return;
	}
	p->info.ni[p->info.n_nis] = (struct lx_peer_ni_info){ .nid = *nid };
	p->info.ni[p->info.n_nis++].health.value = 1000;
}

static struct fake_peer *make_peer(struct lx_node *node, const struct lx_nid *nid)
{
	struct fake_peer *p = find_peer(node, nid);

	if (p)
		return p;
	p = &node->s.peer[node->s.n_peers++];
	memset(p, 0, sizeof(*p));
	p->info.primary = *nid;
	p->info.ni = calloc(256, sizeof(*p->info.ni));
	peer_add_nid(p, nid);
	tell(node, LX_CHANGE_PEER_ADD, nid, LX_NET_U32_ANY, "");
	return p;
}

int lx_peer_add(struct lx_node *node, const struct lx_conf_peer *peer)
{
	struct fake_peer *p = find_peer(node, &peer->primary);

	if (p && p->gateway)
		return -EBUSY;
	if (!peer->multi_rail && peer->n_nids)
		return -EPERM;
	if (p && p->configured && !peer->n_nids)
		return -EEXIST;
	for (size_t i = 0; i < peer->n_nids; i++) {
		struct fake_peer *other = find_peer(node, &peer->nid[i]);

		if (other && other != p && other->configured)
			return -EEXIST;
	}
	p = make_peer(node, &peer->primary);
	p->configured = true;
	p->info.multi_rail = peer->multi_rail;
	p->info.lock_primary |= peer->lock_primary;
	p->info.state |= LX_PEER_CONFIGURED | (peer->multi_rail ? LX_PEER_MULTI_RAIL : 0) |
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
	for (size_t i = 0; i < node->s.n_peers; i++) {
		struct lx_peer_info *p = &node->s.peer[i].info;

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

/* Our NIs first, then peer NIs. */
int lx_recovery_list(struct lx_node *node, struct lx_recovery_info **ret_list, size_t *ret_n)
{
	struct lx_recovery_info *list = calloc(512, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < node->s.n_nis; i++) {
		const struct lx_ni_info *ni = &node->s.ni[i];

		if (ni->ifname[0] && ni->health.value < 1000)
			list[n++] = (struct lx_recovery_info){ .nid = ni->nid,
							       .value = ni->health.value,
							       .next_ping_s = 1 };
	}
	for (size_t i = 0; i < node->s.n_peers; i++) {
		const struct lx_peer_info *p = &node->s.peer[i].info;

		for (uint32_t j = 0; j < p->n_nis; j++) {
			if (p->ni[j].health.value < 1000)
				list[n++] = (struct lx_recovery_info){
					.nid = p->ni[j].nid,
					.peer = true,
					.value = p->ni[j].health.value,
					.ping_count = 3,
					.next_ping_s = 8,
				};
		}
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

static void delete_peer(struct lx_node *node, struct fake_peer *p)
{
	size_t at = p - node->s.peer;

	free(p->info.ni);
	memmove(p, p + 1, (node->s.n_peers - at - 1) * sizeof(*p));
	node->s.n_peers--;
}

static void peer_del_nid(struct fake_peer *p, const struct lx_nid *nid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->info.n_nis; i++) {
		if (!lx_nid_eq(&p->info.ni[i].nid, nid))
			p->info.ni[kept++] = p->info.ni[i];
	}
	p->info.n_nis = kept;
}

int lx_peer_del(struct lx_node *node, const struct lx_conf_peer *peer, bool force)
{
	struct fake_peer *p = find_peer(node, &peer->primary);

	if (!p || !lx_nid_eq(&p->info.primary, &peer->primary))
		return -ENOENT;
	if (p->gateway && !force)
		return -EBUSY;
	for (size_t i = 0; i < peer->n_nids; i++) {
		if (find_peer(node, &peer->nid[i]) != p)
			return -ENOENT;
	}
	for (size_t i = 0; i < peer->n_nids; i++)
		peer_del_nid(p, &peer->nid[i]);
	if (!peer->n_nids || !p->info.n_nis)
		delete_peer(node, p);
	return 0;
}

int lx_udsp_add(struct lx_node *node, const struct lx_conf_udsp *udsp)
{
	struct fake_state *s = &node->s;
	struct lx_conf_udsp as_shown = *udsp;
	struct lx_policy policy;
	size_t at = s->n_udsps;
	char why[200];

	if (lx_policy_parse(udsp, &policy, why, sizeof(why)))
		return -EINVAL;
	lx_policy_format(&policy, &as_shown);
	for (size_t i = 0; i < s->n_udsps; i++) {
		if (!strcmp(s->udsp[i].src, as_shown.src) && !strcmp(s->udsp[i].dst, as_shown.dst) &&
		    !strcmp(s->udsp[i].rte, as_shown.rte))
			return -EALREADY;
	}
	if (udsp->index >= 0 && (size_t)udsp->index < at)
		at = udsp->index;
	memmove(&s->udsp[at + 1], &s->udsp[at], (s->n_udsps++ - at) * sizeof(as_shown));
	s->udsp[at] = as_shown;
	return 0;
}

int lx_udsp_del(struct lx_node *node, int32_t index)
{
	struct fake_state *s = &node->s;

	if (index == LX_UNSET)
		s->n_udsps = 0;
	else if (index < 0 || (size_t)index >= s->n_udsps)
		return -ENOENT;
	else
		memmove(&s->udsp[index], &s->udsp[index + 1],
			(--s->n_udsps - index) * sizeof(s->udsp[0]));
	return 0;
}

int lx_route_add(struct lx_node *node, const struct lx_conf_route *route)
{
	struct fake_state *s = &node->s;
	uint32_t via = lx_nid_net(&route->gateway);

	if (via == route->net)
		return -EINVAL;
	if (has_net(node, route->net))
		return -EEXIST;
	if (!has_net(node, via))
		return -EHOSTUNREACH;
	for (size_t i = 0; i < s->n_routes; i++) {
		if (s->route[i].net == route->net &&
		    lx_nid_eq(&s->route[i].gateway, &route->gateway))
			return -EEXIST;
	}
	s->route[s->n_routes++] = (struct lx_route_info){
		.net = route->net,
		.gateway = route->gateway,
		.primary = make_peer(node, &route->gateway)->info.primary,
		.hop = route->hop,
		.priority = route->priority == LX_UNSET ? 0 : route->priority,
		.health_sensitivity = or_default(route->health_sensitivity, 1),
		.up = true,
		.multi_hop = route->hop > 1,
	};
	make_peer(node, &route->gateway)->gateway = true;
	tell(node, LX_CHANGE_ROUTE_ADD, &route->gateway, route->net, "");
	return 0;
}

int lx_route_del(struct lx_node *node, uint32_t net, const struct lx_nid *gateway)
{
	struct fake_state *s = &node->s;
	size_t kept = 0, n = s->n_routes;

	for (size_t i = 0; i < n; i++) {
		if (s->route[i].net != net ||
		    (!lx_nid_eq(gateway, &lx_nid_any) && !lx_nid_eq(gateway, &s->route[i].gateway)))
			s->route[kept++] = s->route[i];
	}
	s->n_routes = kept;
	for (size_t i = 0; i < s->n_peers; i++)
		s->peer[i].gateway = false;
	for (size_t i = 0; i < kept; i++)
		make_peer(node, &s->route[i].gateway)->gateway = true;
	return kept < n ? 0 : -ENOENT;
}

/* ---- routing, counters, connections -----------------------------------------------------------
 */

static const uint32_t default_buffers[LX_POOLS] = { 512, 4096, 256 };

int lx_routing_set(struct lx_node *node, bool enable)
{
	struct lx_routing_info *r = &node->s.routing;
	static const uint32_t pages[LX_POOLS] = { 0, 1, 256 };

	if (r->state == LX_ROUTING_STOPPING)
		return -EBUSY;
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

bool lx_node_alive(struct lx_node *node)
{
	return true;
}

int lx_routing_stop(struct lx_node *node, unsigned int limit_ms)
{
	if (node->s.routing.state != LX_ROUTING_OFF)
		lx_info("fakenode=\"stopped routing\" limit_ms=%u", limit_ms);
	pthread_mutex_lock(&lock);
	node->s.routing.state = LX_ROUTING_OFF;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* All peers use this router, each one last seen a minute later than the previous. */
int lx_neighbour_list(struct lx_node *node, struct lx_neighbour_info **ret_list, size_t *ret_n)
{
	*ret_list = calloc(node->s.n_peers + 1, sizeof(**ret_list));
	for (size_t i = 0; i < node->s.n_peers; i++)
		(*ret_list)[i] = (struct lx_neighbour_info){ .nid = node->s.peer[i].info.primary,
							     .idle_s = 60 * i };
	*ret_n = node->s.n_peers;
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
	struct lx_routing_info *r = &node->s.routing;

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
	pthread_mutex_lock(&lock);
	*ret_info = node->s.routing;
	pthread_mutex_unlock(&lock);
}

void lx_stats_get(struct lx_node *node, struct lx_stats *ret_stats)
{
	*ret_stats = node->s.stats;
}

void lx_stats_reset(struct lx_node *node)
{
	memset(&node->s.stats, 0, sizeof(node->s.stats));
}

int lx_disconnect(struct lx_node *node, const struct lx_nid *nid)
{
	int n = node->s.n_conns;

	node->s.n_conns = 0;
	return n;
}

/* ---- lists
 * ---------------------------------------------------------------------------------------- */

static int copy_list(const void *from, size_t n, size_t size, void **ret_list, size_t *ret_n)
{
	*ret_list = malloc(n * size + 1);
	memcpy(*ret_list, from, n * size);
	*ret_n = n;
	return 0;
}

/* 0@lo is always first, even if the state file lacks it. */
int lx_ni_list(struct lx_node *node, struct lx_ni_info **ret_list, size_t *ret_n)
{
	int err = copy_list(node->s.ni, node->s.n_nis, sizeof(node->s.ni[0]), (void **)ret_list,
			    ret_n);

	/* In the copy: other threads have theirs. */
	for (size_t i = 0; i < *ret_n; i++) {
		struct lx_ni_info *ni = &(*ret_list)[i];

		ni->given = lx_nid_is_nid4(&ni->nid) ? lx_nid_any : ni->nid;
	}
	return err;
}

void lx_primary_nid(struct lx_node *node, const struct lx_nid *nid, struct lx_nid *ret_primary)
{
	struct fake_peer *p = find_peer(node, nid);

	*ret_primary = p ? p->info.primary : *nid;
}

int lx_route_list(struct lx_node *node, struct lx_route_info **ret_list, size_t *ret_n)
{
	return copy_list(node->s.route, node->s.n_routes, sizeof(node->s.route[0]),
			 (void **)ret_list, ret_n);
}

int lx_udsp_list(struct lx_node *node, struct lx_conf_udsp **ret_list, size_t *ret_n)
{
	int err = copy_list(node->s.udsp, node->s.n_udsps, sizeof(node->s.udsp[0]),
			    (void **)ret_list, ret_n);

	for (size_t i = 0; i < *ret_n; i++)
		(*ret_list)[i].index = i;
	return err;
}

int lx_conn_list(struct lx_node *node, struct lx_conn_info **ret_list, size_t *ret_n)
{
	return copy_list(node->s.conn, node->s.n_conns, sizeof(node->s.conn[0]), (void **)ret_list,
			 ret_n);
}

static int copy_peers(struct fake_peer *first, size_t n, struct lx_peer_info **ret_list)
{
	struct lx_peer_info *list;
	struct lx_peer_ni_info *ni;
	size_t n_nis = 0;

	for (size_t i = 0; i < n; i++)
		n_nis += first[i].info.n_nis;
	list = malloc(n * sizeof(*list) + n_nis * sizeof(*ni) + 1);
	ni = (struct lx_peer_ni_info *)(list + n);
	for (size_t i = 0; i < n; i++) {
		list[i] = first[i].info;
		memcpy(ni, list[i].ni, list[i].n_nis * sizeof(*ni));
		list[i].ni = ni;
		ni += list[i].n_nis;
	}
	*ret_list = list;
	return 0;
}

int lx_peer_list(struct lx_node *node, struct lx_peer_info **ret_list, size_t *ret_n)
{
	*ret_n = node->s.n_peers;
	return copy_peers(node->s.peer, node->s.n_peers, ret_list);
}

int lx_peer_find(struct lx_node *node, const struct lx_nid *nid, struct lx_peer_info **ret_peer)
{
	struct fake_peer *p = find_peer(node, nid);

	return p ? copy_peers(p, 1, ret_peer) : -ENOENT;
}

void lx_node_watch(struct lx_node *node, void (*fn)(const struct lx_change *, void *arg), void *arg)
{
	node->watch = fn;
	node->watch_arg = arg;
}

/* A fake node has no connections. */
void lx_node_set_offload(struct lx_node *node, struct lx_sock_offload *offload)
{
}

/* ---- probes
 * ------------------------------------------------------------------------------------------- */

struct answer {
	lx_probe_fn fn;
	void *arg;
	int status;
	struct lx_peer_info info;
};

int lx_reach_explain(struct lx_node *node, const struct lx_nid *nid, const struct lx_nid *source,
		     char *buf, size_t size)
{
	snprintf(buf, size, "it is in another world");
	return 0;
}

/* A thread of its own delivers answers, as on a real node. */
static void *deliver(void *arg)
{
	struct answer *a = arg;

	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	a->fn(a->status, a->status ? NULL : &a->info, a->arg);
	free(a);
	return NULL;
}

/* That a neighbour cannot be reached becomes known after 3 s: ARP. */
static bool is_too_soon(int status, unsigned int timeout_ms)
{
	return status == -EHOSTUNREACH && timeout_ms && timeout_ms < 3000;
}

static int probe(struct lx_node *node, const struct lx_nid *nid, unsigned int timeout_ms,
		 lx_probe_fn fn, void *arg)
{
	struct answer *a = calloc(1, sizeof(*a));
	pthread_t thread;

	*a = (struct answer){ .fn = fn, .arg = arg, .status = -EHOSTUNREACH };
	for (size_t i = 0; i < node->s.n_probes; i++) {
		const struct fake_probe *p = &node->s.probe[i];
		uint32_t j = 0;

		if (p->error && strstr(p->text, lx_nid_str(nid)))
			a->status = p->error;
		while (j < p->info.n_nis && !lx_nid_eq(&p->info.ni[j].nid, nid))
			j++;
		if (j < p->info.n_nis) {
			a->info = p->info;
			a->status = 0;
		}
	}
	if (is_too_soon(a->status, timeout_ms))
		a->status = -ETIME;
	pthread_create(&thread, NULL, deliver, a);
	pthread_detach(thread);
	return 0;
}

int lx_ping(struct lx_node *node, const struct lx_id *target, const struct lx_nid *source,
	    unsigned int timeout_ms, lx_probe_fn fn, void *arg)
{
	return probe(node, &target->nid, timeout_ms, fn, arg);
}

int lx_discover(struct lx_node *node, const struct lx_nid *nid, bool force, lx_probe_fn fn,
		void *arg)
{
	return probe(node, nid, 0, fn, arg);
}

/* ---- life
 * ------------------------------------------------------------------------------------------------
 */

static void set_loaded(const char *module, const char *name, const char *value)
{
	lx_tunable_write(loading, module, name, value);
}

static void note(struct lx_conf_error *err, struct lx_conf_place at, int error, const char *what)
{
	memset(err, 0, sizeof(*err));
	err->line = at.line;
	err->column = at.column;
	snprintf(err->text, sizeof(err->text), "%s: %s", what, strerror(-error));
}

static void diff(struct lx_node *node, const struct lx_conf *conf)
{
	for (size_t i = node->s.n_nis; i-- > 0;) {
		struct lx_ni_info *info = &node->s.ni[i];
		bool wanted = lx_net_type(info->net) == LX_NET_LO;

		for (size_t j = 0; j < conf->n_nis; j++)
			wanted |= ni_matches(info, &conf->ni[j]);
		if (!wanted)
			lx_net_del(node,
				   &(struct lx_conf_ni){ .net = info->net, .nid = info->nid });
	}
}

int lx_node_apply(struct lx_node *node, const struct lx_conf *conf, unsigned int flags,
		  struct lx_conf_error *ret_err)
{
	int first = 0, err;

#define TRY(call, at, what)                                                                        \
	do {                                                                                       \
		err = (call);                                                                      \
		if (err && !(err == -EEXIST && flags & LX_APPLY_DIFF) && !first) {                 \
			first = err;                                                               \
			note(ret_err, at, err, what);                                              \
		}                                                                                  \
	} while (0)
	for (size_t i = 0; i < conf->n_tunables; i++)
		TRY(lx_tunable_write(node, conf->tunable[i].module, conf->tunable[i].name,
				     conf->tunable[i].value),
		    conf->tunable[i].at, "tunable");
	if (flags & LX_APPLY_DIFF)
		diff(node, conf);
	for (size_t i = 0; i < conf->n_udsps; i++)
		TRY(lx_udsp_add(node, &conf->udsp[i]), conf->udsp[i].at, "udsp");
	for (size_t i = 0; i < conf->n_nis; i++)
		TRY(lx_net_add(node, &conf->ni[i]), conf->ni[i].at, "net");
	for (size_t i = 0; i < conf->n_routes; i++)
		TRY(lx_route_add(node, &conf->route[i]), conf->route[i].at, "route");
	for (size_t i = 0; i < conf->n_peers; i++)
		TRY(lx_peer_add(node, &conf->peer[i]), conf->peer[i].at, "peer");
	if (conf->routing != LX_UNSET)
		TRY(lx_routing_set(node, conf->routing), conf->routing_at, "routing");
	TRY(lx_buffers_set(node, conf->buffers), conf->routing_at, "buffers");
	return first;
}

int lx_node_new(const struct lx_conf *conf, struct lx_conf_error *ret_err,
		struct lx_node **ret_node)
{
	struct lx_node *node = calloc(1, sizeof(*node));
	const char *state = getenv("FAKENODE_STATE");
	static bool loaded;
	int err = 0;

	lx_tunable_defaults(lnet_table, &node->lnet);
	lx_tunable_defaults(tcp_table, &node->tcp);
	lx_tunable_defaults(o2ib_table, &node->o2ib);
	pthread_mutex_lock(&lock);
	loading = node;
	if (state && !loaded)
		fake_state_load(&node->s, state, set_loaded);
	else
		node->s.ni[node->s.n_nis++] = (struct lx_ni_info){ .nid = lx_nid_lo,
								   .net = lx_nid_net(&lx_nid_lo),
								   .up = true,
								   .alive_s = LX_UNSET };
	loaded = true; /* once only: empty after a restart */
	pthread_mutex_unlock(&lock);
	if (conf)
		err = lx_node_apply(node, conf, 0, ret_err);
	if (err)
		lx_node_free(node);
	else
		*ret_node = node;
	return err;
}

int lx_node_stop(struct lx_node *node, unsigned int drain_ms)
{
	lx_info("fakenode=stopped drain_ms=%u", drain_ms);
	return 0;
}

void lx_node_free(struct lx_node *node)
{
	if (!node)
		return;
	fake_messages_wait();
	for (size_t i = 0; i < node->s.n_peers; i++)
		free(node->s.peer[i].info.ni);
	for (size_t i = 0; i < node->s.n_probes; i++)
		free(node->s.probe[i].info.ni);
	free(node);
}
