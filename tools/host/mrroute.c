/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by "lnetctl setup-mrrouting" and "lnetctl net add". */
#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../user/base/cleanup.h"
#include "../../user/base/netns.h"
#include "../cli/lnetctl.h"
#include "mrroute.h"
#include "rtnl.h"
#include "rttable.h"

struct setup {
	struct lx_session *session;
	struct lx_rtnl *nl;
	bool dry_run;
	unsigned int *table; /* of each link; 0: not yet known */
	unsigned int n_new; /* tables that a dry run would have named */
	struct lx_rtnl_list links, addrs, routes, rules;
};

static void fini(struct setup *m)
{
	lx_rtnl_free(m->nl);
	free(m->table);
	free(m->links.entry);
	free(m->addrs.entry);
	free(m->routes.entry);
	free(m->rules.entry);
}

/* ---- what is there ----------------------------------------------------------------- */

static int load_family(struct setup *m, uint8_t family)
{
	struct lx_rtnl_list list;
	int err = lx_rtnl_routes(m->nl, family, &list);

	if (!err)
		err = lx_rtnl_join(&m->routes, &list);
	if (!err)
		err = lx_rtnl_rules(m->nl, family, &list);
	return err ? err : lx_rtnl_join(&m->rules, &list);
}

static int load(struct setup *m)
{
	int err = lx_rtnl_new(&m->nl);

	if (!err)
		err = lx_rtnl_links(m->nl, &m->links);
	if (!err) {
		m->table = calloc(m->links.n + 1, sizeof(*m->table));
		err = m->table ? 0 : -ENOMEM;
	}
	if (!err)
		err = lx_rtnl_addrs(m->nl, &m->addrs);
	if (!err)
		err = load_family(m, AF_INET);
	if (!err) {
		err = load_family(m, AF_INET6);
		if (err == -EAFNOSUPPORT || err == -EOPNOTSUPP)
			err = 0; /* a kernel without IPv6 */
	}
	return err ? lx_session_fail(m->session, err, "cannot list this machine's routes: %s",
				     strerror(-err))
		   : 0;
}

/* links.n: it has just gone. */
static size_t link_at(const struct setup *m, unsigned int index)
{
	const struct lx_rtnl_link *link = m->links.entry;
	size_t i = 0;

	while (i < m->links.n && link[i].index != index)
		i++;
	return i;
}

static const char *link_name(const struct setup *m, unsigned int index)
{
	const struct lx_rtnl_link *link = m->links.entry;
	size_t i = link_at(m, index);

	return i < m->links.n ? link[i].name : "?";
}

static const struct lx_rtnl_addr *find_addr(const struct setup *m, const struct lx_rtnl_ip *ip)
{
	const struct lx_rtnl_addr *addr = m->addrs.entry;

	for (size_t i = 0; i < m->addrs.n; i++) {
		if (lx_rtnl_ip_eq(&addr[i].ip, ip))
			return &addr[i];
	}
	return NULL;
}

/* ---- changes ----------------------------------------------------------------------- */

static int explain(const struct setup *m, int err, const char *what)
{
	if (err == -EPERM)
		return lx_session_fail(m->session, err,
				       "only root (CAP_NET_ADMIN) may change this machine's routes");
	return lx_session_fail(m->session, err, "the kernel refuses \"%s\": %s", what,
			       strerror(-err));
}

static int change_route(struct setup *m, bool add, const struct lx_rtnl_route *r)
{
	char ip[3][LX_RTNL_IP_TEXT], len[16] = "", text[256];
	uint8_t family = r->dst.family ? r->dst.family : r->gateway.family;
	int err;

	if (r->dst.family)
		snprintf(len, sizeof(len), "/%u", r->prefix_len);
	snprintf(text, sizeof(text), "ip %sroute %s %s%s%s%s dev %s%s%s table %u protocol %d",
		 family == AF_INET6 ? "-6 " : "", add ? "add" : "del", lx_rtnl_ip_format(&r->dst, ip[0]),
		 len, r->gateway.family ? " via " : "",
		 r->gateway.family ? lx_rtnl_ip_format(&r->gateway, ip[1]) : "",
		 link_name(m, r->ifindex), r->src.family ? " src " : "",
		 r->src.family ? lx_rtnl_ip_format(&r->src, ip[2]) : "", r->table, r->protocol);
	if (m->dry_run) {
		puts(text);
		return 0;
	}
	err = lx_rtnl_change_route(m->nl, add, r);
	if (err == (add ? -EEXIST : -ESRCH))
		return 0;
	return err ? explain(m, err, text) : 0;
}

static int change_rule(struct setup *m, bool add, const struct lx_rtnl_rule *r)
{
	char ip[LX_RTNL_IP_TEXT], text[160];
	int err;

	snprintf(text, sizeof(text), "ip %srule %s from %s table %u protocol %d",
		 r->src.family == AF_INET6 ? "-6 " : "", add ? "add" : "del",
		 lx_rtnl_ip_format(&r->src, ip), r->table, r->protocol);
	if (m->dry_run) {
		puts(text);
		return 0;
	}
	err = lx_rtnl_change_rule(m->nl, add, r);
	if (err == (add ? -EEXIST : -ENOENT))
		return 0;
	return err ? explain(m, err, text) : 0;
}

/* What was learnt by way of another interface would still be used. */
static int flush(struct setup *m, unsigned int ifindex)
{
	int err;

	if (m->dry_run) {
		printf("ip neigh flush dev %s\n", link_name(m, ifindex));
		return 0;
	}
	err = lx_rtnl_flush_neighbours(m->nl, ifindex);
	return err ? explain(m, err, "ip neigh flush") : 0;
}

/* Removes our rules: all, or those whose address is gone; and with all, our routes. */
static int remove_ours(struct setup *m, bool all)
{
	const struct lx_rtnl_route *route = m->routes.entry;
	const struct lx_rtnl_rule *rule = m->rules.entry;
	int err = 0;

	for (size_t i = 0; !err && i < m->rules.n; i++) {
		if (rule[i].protocol == LX_MRROUTE_PROTOCOL && (all || !find_addr(m, &rule[i].src)))
			err = change_rule(m, false, &rule[i]);
	}
	for (size_t i = 0; all && !err && i < m->routes.n; i++) {
		if (route[i].protocol == LX_MRROUTE_PROTOCOL)
			err = change_route(m, false, &route[i]);
	}
	return err;
}

/* ---- an NI ------------------------------------------------------------------------- */

static const struct lx_rtnl_route *find_route(const struct setup *m, const struct lx_rtnl_route *r)
{
	const struct lx_rtnl_route *route = m->routes.entry;

	for (size_t i = 0; i < m->routes.n; i++) {
		if (route[i].table == r->table && route[i].ifindex == r->ifindex &&
		    route[i].prefix_len == r->prefix_len && lx_rtnl_ip_eq(&route[i].dst, &r->dst) &&
		    lx_rtnl_ip_eq(&route[i].gateway, &r->gateway))
			return &route[i];
	}
	return NULL;
}

static bool has_rule(const struct setup *m, const struct lx_rtnl_rule *r)
{
	const struct lx_rtnl_rule *rule = m->rules.entry;

	for (size_t i = 0; i < m->rules.n; i++) {
		if (rule[i].table == r->table && lx_rtnl_ip_eq(&rule[i].src, &r->src))
			return true;
	}
	return false;
}

/* Somebody else's routes of this family in the table: it is set up already. */
static bool is_foreign(const struct setup *m, unsigned int table, uint8_t family)
{
	const struct lx_rtnl_route *route = m->routes.entry;

	for (size_t i = 0; i < m->routes.n; i++) {
		const struct lx_rtnl_ip *ip = route[i].dst.family ? &route[i].dst : &route[i].gateway;

		/* fe80::/64 and ff00::/8 appear in the tables of VRFs by themselves. */
		if (route[i].table == table && ip->family == family &&
		    route[i].protocol != LX_MRROUTE_PROTOCOL && route[i].protocol != RTPROT_KERNEL)
			return true;
	}
	return false;
}

/* Keeps a route that was planned, for the next NI on the same interface. */
static int keep(struct lx_rtnl_list *list, const void *entry, size_t size)
{
	struct lx_rtnl_list one = { .entry = malloc(size), .n = 1, .size = size };

	if (!one.entry)
		return -ENOMEM;
	memcpy(one.entry, entry, size);
	return lx_rtnl_join(list, &one);
}

static int want_route(struct setup *m, const struct lx_rtnl_route *r, bool *ret_changed)
{
	int err;

	if (find_route(m, r))
		return 0;
	*ret_changed = true;
	err = change_route(m, true, r);
	return err ? err : keep(&m->routes, r, sizeof(*r));
}

/* The default routes by this interface whose gateway is on the address's subnet. */
static int want_gateways(struct setup *m, const struct lx_rtnl_addr *addr, unsigned int table,
			 bool *ret_changed)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->routes.n; i++) {
		struct lx_rtnl_route r = ((struct lx_rtnl_route *)m->routes.entry)[i];

		if (r.table != RT_TABLE_MAIN || r.dst.family || r.ifindex != addr->ifindex ||
		    r.gateway.family != addr->ip.family ||
		    !lx_rtnl_ip_shares(&r.gateway, &addr->ip, addr->prefix_len))
			continue;
		r.table = table;
		r.protocol = LX_MRROUTE_PROTOCOL;
		r.src.family = 0;
		err = want_route(m, &r, ret_changed);
	}
	return err;
}

static int want_rule(struct setup *m, const struct lx_rtnl_addr *addr, unsigned int table,
		     bool *ret_changed)
{
	const struct lx_rtnl_rule rule = { .src = addr->ip,
					   .prefix_len = 8 * lx_rtnl_ip_len(&addr->ip),
					   .table = table,
					   .protocol = LX_MRROUTE_PROTOCOL };
	int err;

	if (has_rule(m, &rule))
		return 0;
	*ret_changed = true;
	err = change_rule(m, true, &rule);
	return err ? err : keep(&m->rules, &rule, sizeof(rule));
}

/* The table of an interface, which gets a number the first time. */
static int table_of(struct setup *m, unsigned int ifindex, unsigned int *ret_table)
{
	const char *name = link_name(m, ifindex);
	unsigned int *table = &m->table[link_at(m, ifindex)];
	int r = *table ? 0 : lx_rttable_number(name, !m->dry_run, table);

	if (r < 0)
		return lx_session_fail(m->session, r,
				       "cannot name a routing table \"%s\" in %s: %s", name,
				       lx_rttable_path(), strerror(-r));
	if (r && m->dry_run)
		*table += m->n_new++;
	*ret_table = *table;
	return 0;
}

static int setup_addr(struct setup *m, const struct lx_rtnl_addr *addr)
{
	struct lx_rtnl_route subnet = { .dst = lx_rtnl_ip_prefix(&addr->ip, addr->prefix_len),
					.src = addr->ip,
					.prefix_len = addr->prefix_len,
					.ifindex = addr->ifindex,
					.protocol = LX_MRROUTE_PROTOCOL };
	bool changed = false;
	int err = table_of(m, addr->ifindex, &subnet.table);

	if (err)
		return err;
	if (is_foreign(m, subnet.table, addr->ip.family))
		return 0;
	err = want_route(m, &subnet, &changed);
	if (!err)
		err = want_gateways(m, addr, subnet.table, &changed);
	if (!err)
		err = want_rule(m, addr, subnet.table, &changed);
	if (!err && changed)
		err = flush(m, addr->ifindex);
	return err;
}

/* All addresses of the loopback interface leave by it anyway. */
static bool is_loopback(const struct lx_rtnl_ip *ip)
{
	static const uint8_t ip6[] = { [15] = 1 };

	return ip->family == AF_INET ? ip->bytes[0] == 127 : !memcmp(ip->bytes, ip6, sizeof(ip6));
}

/* An NI of tcp; interfaces that others took away are left to lnetxd. */
static int setup_ni(struct setup *m, const json_t *ni)
{
	const char *text = json_string_value(json_object_get(ni, "nid"));
	const struct lx_rtnl_addr *addr;
	struct lx_rtnl_ip ip = { 0 };
	struct lx_nid nid;

	if (!text || lx_nid_parse(text, &nid) || nid.type != LX_NET_TCP)
		return 0;
	ip.family = lx_nid_bytes(&nid) == 8 ? AF_INET : AF_INET6;
	memcpy(ip.bytes, nid.addr, lx_rtnl_ip_len(&ip));
	addr = find_addr(m, &ip);
	return addr && !is_loopback(&ip) ? setup_addr(m, addr) : 0;
}

static int setup_nets(struct setup *m, const json_t *nets)
{
	const json_t *net, *ni;
	size_t i, j;
	int err = 0;

	json_array_foreach ((json_t *)nets, i, net) {
		json_array_foreach (json_object_get(net, lx_control_nets.rows), j, ni) {
			if (!err)
				err = setup_ni(m, ni);
		}
	}
	return err;
}

/* ---- the command ------------------------------------------------------------------- */

int lx_mrroute_check_netns(struct lx_session *s)
{
	unsigned long own = lx_netns_own(), theirs = 0;
	char here[NAME_MAX], there[NAME_MAX];

	if (lx_session_connected(s))
		theirs = lx_netns_of_peer(lx_ctl_fd(s->ctl));
	if (!own || !theirs || own == theirs)
		return 0;
	return lx_session_fail(s, -EXDEV,
			       "lnetxd is in network namespace %s, this command in %s; run it there "
			       "(ip netns exec, nsenter)",
			       lx_netns_name(theirs, there, sizeof(there)),
			       lx_netns_name(own, here, sizeof(here)));
}

int lx_mrroute_setup(struct lx_session *s, const struct lx_args *a)
{
	struct setup m LX_CLEANUP(fini) = { .session = s, .dry_run = a->v[LX_ARG_DRY_RUN] };
	json_t *nets = NULL;
	int64_t skipped = 0;
	int err = 0;

	if (!a->v[LX_ARG_UNDO])
		err = lx_request_tunable(s, "tcp", "skip_mr_route_setup", &skipped);
	if (err || skipped)
		return err;
	if (!a->v[LX_ARG_UNDO])
		err = lx_request_show(s, LX_CTL_NET, &(struct lx_args){ 0 }, 0, &nets);
	if (!err)
		err = lx_mrroute_check_netns(s);
	if (!err)
		err = load(&m);
	if (!err)
		err = remove_ours(&m, a->v[LX_ARG_UNDO]);
	if (!err)
		err = setup_nets(&m, nets);
	json_decref(nets);
	return err;
}

/* clang-format off */
static const struct lx_option setup_options[] = {
	{ "dry-run", 0, LX_OPTION_FLAG, LX_ARG_DRY_RUN, "print what would be done, as commands" },
	{ "undo", 0, LX_OPTION_FLAG, LX_ARG_UNDO, "remove these routes and rules" },
	{ NULL, 0, 0, 0, NULL }
};

const struct lx_lnetctl_cmd lx_lnetctl_mrrouting_cmd[] = {
	{ "setup-mrrouting", lx_mrroute_setup, "Linux routes for several interfaces on one subnet", setup_options, LX_ERROR_OLD,
	  "manage", "setup-mrrouting", NULL, 0 },
	{ NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, 0 }
};
