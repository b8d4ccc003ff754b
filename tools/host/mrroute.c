/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by "lnetctl setup-mrrouting" and "lnetctl net add". */
#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "../../user/base/netns.h"
#include "../cli/common/json.h"
#include "../cli/lustre/lnetctl.h"
#include "device.h"
#include "mrroute.h"
#include "rtnl.h"
#include "rttable.h"

struct setup {
	struct lx_session *session;
	bool dry_run;
	char by[LX_INSTANCE_TEXT]; /* "net add" of this lnetxd; "": setup-mrrouting */
	struct lx_rtnl_list routes, rules;
	struct lx_rtnl_list named; /* interface indexes: their tables a dry run would name */
};

static void fini(struct setup *m)
{
	free(m->routes.entry);
	free(m->rules.entry);
	free(m->named.entry);
}

/* ---- what is there ----------------------------------------------------------------- */

static int load(struct setup *m)
{
	int err = lx_rtnl_routes(&m->routes);

	if (!err)
		err = lx_rtnl_rules(&m->rules);
	return err ? lx_session_fail(m->session, err, "cannot list this machine's routes: %s",
				     strerror(-err))
		   : 0;
}

static const char *link_name(unsigned int index, char buf[IFNAMSIZ])
{
	return lx_netif_name(index, buf) ? "?" : buf; /* it has just gone */
}

/* ---- changes ----------------------------------------------------------------------- */

static int explain(const struct setup *m, int err, const char *what)
{
	if (err == -EPERM)
		return lx_session_fail(
			m->session, err,
			"only root (CAP_NET_ADMIN) may change this machine's routes");
	return lx_session_fail(m->session, err, "the kernel refuses \"%s\": %s", what,
			       strerror(-err));
}

static const char *option_of(sa_family_t family)
{
	return family == AF_INET6 ? "-6 " : "";
}

#define WORD 64

/* " via 10.0.0.1"; "" for none. */
static const char *word(const char *before, const union lx_addr *addr, char buf[WORD])
{
	char host[INET6_ADDRSTRLEN];

	if (!addr->sa.sa_family)
		return "";
	snprintf(buf, WORD, "%s%s", before, lx_addr_host(addr, host, sizeof(host)));
	return buf;
}

static int change_route(struct setup *m, bool add, const struct lx_rtnl_route *r)
{
	char dst[WORD] = "default", via[WORD], src[WORD], len[16] = "", name[IFNAMSIZ], text[256];
	int err;

	if (*word("", &r->dst, dst))
		snprintf(len, sizeof(len), "/%u", r->prefix_len);
	snprintf(text, sizeof(text), "ip %sroute %s %s%s%s dev %s%s table %u protocol %d",
		 option_of(lx_rtnl_route_family(r)), add ? "add" : "del", dst, len,
		 word(" via ", &r->gateway, via), link_name(r->ifindex, name),
		 word(" src ", &r->src, src), r->table, r->protocol);
	if (m->dry_run) {
		puts(text);
		return 0;
	}
	err = lx_rtnl_change_route(add, r);
	return !err || err == (add ? -EEXIST : -ESRCH) ? 0 : explain(m, err, text);
}

static int change_rule(struct setup *m, bool add, const struct lx_rtnl_rule *r)
{
	char from[WORD], text[160];
	int err;

	snprintf(text, sizeof(text), "ip %srule %s%s table %u protocol %d",
		 option_of(r->src.sa.sa_family), add ? "add" : "del", word(" from ", &r->src, from),
		 r->table, r->protocol);
	if (m->dry_run) {
		puts(text);
		return 0;
	}
	err = lx_rtnl_change_rule(add, r);
	return !err || err == (add ? -EEXIST : -ENOENT) ? 0 : explain(m, err, text);
}

/* Neighbours learnt by way of another interface would still be used. */
static int flush(struct setup *m, const struct lx_netif *netif)
{
	int err;

	if (m->dry_run) {
		printf("ip neigh flush dev %s\n", netif->name);
		return 0;
	}
	err = lx_rtnl_flush_neighbours(netif->index);
	return err ? explain(m, err, "ip neigh flush") : 0;
}

/* What lnetx has in one table. */
static int remove_table(struct setup *m, unsigned int table)
{
	const struct lx_rtnl_route *route = m->routes.entry;
	const struct lx_rtnl_rule *rule = m->rules.entry;
	int err = 0;

	for (size_t i = 0; !err && i < m->rules.n; i++) {
		if (rule[i].protocol == LX_MRROUTE_PROTOCOL && rule[i].table == table)
			err = change_rule(m, false, &rule[i]);
	}
	for (size_t i = 0; !err && i < m->routes.n; i++) {
		if (route[i].protocol == LX_MRROUTE_PROTOCOL && route[i].table == table)
			err = change_route(m, false, &route[i]);
	}
	return err;
}

/* Removes our rules: all, or those whose address is gone; and with all, our routes. */
static int remove_ours(struct setup *m, bool all)
{
	const struct lx_rtnl_route *route = m->routes.entry;
	const struct lx_rtnl_rule *rule = m->rules.entry;
	struct lx_netif netif;
	int err = 0;

	for (size_t i = 0; !err && i < m->rules.n; i++) {
		if (rule[i].protocol == LX_MRROUTE_PROTOCOL &&
		    (all || lx_netif_by_addr(&rule[i].src, "", &netif)))
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
		    route[i].prefix_len == r->prefix_len &&
		    lx_addr_same_host(&route[i].dst, &r->dst) &&
		    lx_addr_same_host(&route[i].gateway, &r->gateway))
			return &route[i];
	}
	return NULL;
}

static bool has_rule(const struct setup *m, const struct lx_rtnl_rule *r)
{
	const struct lx_rtnl_rule *rule = m->rules.entry;

	for (size_t i = 0; i < m->rules.n; i++) {
		if (rule[i].table == r->table && lx_addr_same_host(&rule[i].src, &r->src))
			return true;
	}
	return false;
}

/* Somebody else's routes of this family in the table: it is set up already. */
static bool is_foreign(const struct setup *m, unsigned int table, sa_family_t family)
{
	const struct lx_rtnl_route *route = m->routes.entry;

	for (size_t i = 0; i < m->routes.n; i++) {
		/* fe80::/64 and ff00::/8 appear in the tables of VRFs by themselves. */
		if (route[i].table == table && lx_rtnl_route_family(&route[i]) == family &&
		    route[i].protocol != LX_MRROUTE_PROTOCOL && route[i].protocol != RTPROT_KERNEL)
			return true;
	}
	return false;
}

/* Keeps the plan, for the next NI on the same interface. */
static int want_route(struct setup *m, const struct lx_rtnl_route *r, bool *ret_changed)
{
	int err;

	if (find_route(m, r))
		return 0;
	*ret_changed = true;
	err = change_route(m, true, r);
	return err ? err : lx_rtnl_list_add(&m->routes, r, sizeof(*r));
}

/* The default routes by this interface whose gateway is on the address's subnet. */
static int want_gateways(struct setup *m, const struct lx_netif *ni, unsigned int table,
			 bool *ret_changed)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->routes.n; i++) {
		struct lx_rtnl_route r = ((struct lx_rtnl_route *)m->routes.entry)[i];

		if (r.table != RT_TABLE_MAIN || r.dst.sa.sa_family || r.ifindex != ni->index ||
		    !lx_addr_shares(&r.gateway, &ni->addr, ni->prefix_len))
			continue;
		r.table = table;
		r.protocol = LX_MRROUTE_PROTOCOL;
		r.src.sa.sa_family = 0;
		err = want_route(m, &r, ret_changed);
	}
	return err;
}

static int want_rule(struct setup *m, const struct lx_netif *ni, unsigned int table,
		     bool *ret_changed)
{
	bool v4 = ni->addr.sa.sa_family == AF_INET;
	const struct lx_rtnl_rule rule = { .src = ni->addr,
					   .prefix_len = v4 ? 32 : 128,
					   .table = table,
					   .protocol = LX_MRROUTE_PROTOCOL };
	int err;

	if (has_rule(m, &rule))
		return 0;
	*ret_changed = true;
	err = change_rule(m, true, &rule);
	return err ? err : lx_rtnl_list_add(&m->rules, &rule, sizeof(rule));
}

static int explain_names(const struct setup *m, int err, const char *name)
{
	return lx_session_fail(m->session, err, "cannot name a routing table \"%s\" in %s: %s",
			       name, lx_rttable_path(), strerror(-err));
}

/* Notes who has set the table up; what setup-mrrouting has looked at stays. */
static int mark(struct setup *m, const struct lx_netif *ni, unsigned int table, bool named,
		bool changed)
{
	struct lx_rttable_mark mark = { .number = table, .named = named };
	int err = 0;

	snprintf(mark.name, sizeof(mark.name), "%s", ni->name);
	snprintf(mark.by, sizeof(mark.by), "%s", m->by);
	if (!m->dry_run && (changed || !*m->by))
		err = lx_rttable_mark(&mark, *m->by ? LX_RTTABLE_ADDED : LX_RTTABLE_KEPT);
	return err ? explain_names(m, err, ni->name) : 0;
}

/* The table of an interface, which gets a number the first time. */
static int table_of(struct setup *m, const struct lx_netif *ni, unsigned int *ret_table,
		    bool *ret_named)
{
	int r = lx_rttable_number(ni->name, !m->dry_run, ret_table);
	const unsigned int *named = m->named.entry;
	size_t i = 0;

	if (r < 0)
		return explain_names(m, r, ni->name);
	*ret_named = r;
	if (!r || !m->dry_run)
		return 0;
	while (i < m->named.n && named[i] != ni->index)
		i++;
	*ret_table += i;
	return i < m->named.n ? 0 : lx_rtnl_list_add(&m->named, &ni->index, sizeof(ni->index));
}

/* The net of an address: without the bits that follow the prefix. */
static union lx_addr net_of(const struct lx_netif *ni)
{
	union lx_addr net = ni->addr;
	unsigned int n;
	uint8_t *bytes = (uint8_t *)lx_addr_bytes(&net, &n);

	for (unsigned int i = ni->prefix_len; i < 8 * n; i++)
		bytes[i / 8] &= ~(0x80 >> i % 8);
	return net;
}

static int setup_addr(struct setup *m, const struct lx_netif *ni)
{
	struct lx_rtnl_route subnet = { .dst = net_of(ni),
					.src = ni->addr,
					.prefix_len = ni->prefix_len,
					.ifindex = ni->index,
					.protocol = LX_MRROUTE_PROTOCOL };
	bool changed = false, named;
	int err = table_of(m, ni, &subnet.table, &named);

	if (err)
		return err;
	if (is_foreign(m, subnet.table, ni->addr.sa.sa_family))
		return 0;
	err = want_route(m, &subnet, &changed);
	if (!err)
		err = want_gateways(m, ni, subnet.table, &changed);
	if (!err)
		err = want_rule(m, ni, subnet.table, &changed);
	if (!err && changed)
		err = flush(m, ni);
	return err ? err : mark(m, ni, subnet.table, named, changed);
}

/*
 * An NI of tcp; interfaces that others took away are left to lnetxd. Packets from the loopback
 * interface leave by it anyway.
 */
static int setup_ni(struct setup *m, const json_t *ni)
{
	struct lx_netif netif;

	if (lx_device_of(lx_json_text(ni, "nid"), &netif) || netif.loopback)
		return 0;
	return setup_addr(m, &netif);
}

static int setup_nets(struct setup *m, const json_t *nets)
{
	const json_t *net, *ni;
	size_t i, j;
	int err = 0;

	json_array_foreach ((json_t *)nets, i, net) {
		json_array_foreach (json_object_get(net, lx_object_nets.rows), j, ni) {
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
	return lx_session_fail(
		s, -EXDEV,
		"lnetxd is in %s, this command in %s; run it there "
		"(ip netns exec, nsenter)",
		lx_netns_name(theirs, there, sizeof(there)),
		lx_netns_name(own, here, sizeof(here)));
}

/* True if one is on this interface, or on one of its other names ("eth0:1"). */
static bool has_ni_on(const json_t *nets, const char *ifname)
{
	struct lx_netif netif;
	const json_t *net, *ni;
	size_t i, j;

	json_array_foreach ((json_t *)nets, i, net) {
		json_array_foreach (json_object_get(net, lx_object_nets.rows), j, ni) {
			if (!lx_device_of(lx_json_text(ni, "nid"), &netif) &&
			    !strcmp(netif.name, ifname))
				return true;
		}
	}
	return false;
}

/* The tables that "net add" has set up, for a node that has these NIs now. */
static int remove_added(struct setup *m, const json_t *nets, bool all)
{
	struct lx_rtnl_list marks = { 0 };
	int err = lx_rttable_marks(&marks);
	struct lx_rttable_mark *mark LX_AUTO_FREE = marks.entry;

	for (size_t i = 0; !err && i < marks.n; i++) {
		if (!all && (strcmp(mark[i].by, m->by) || has_ni_on(nets, mark[i].name)))
			continue;
		err = remove_table(m, mark[i].number);
		if (!err && !m->dry_run)
			err = lx_rttable_mark(&mark[i], LX_RTTABLE_GONE);
	}
	return err;
}

static bool has_marks(const struct setup *m)
{
	struct lx_rtnl_list marks = { 0 };
	bool has = false;

	lx_rttable_marks(&marks);
	for (size_t i = 0; i < marks.n; i++)
		has |= !strcmp(((struct lx_rttable_mark *)marks.entry)[i].by, m->by);
	free(marks.entry);
	return has;
}

static int setup(struct setup *m)
{
	json_t *nets = NULL;
	int64_t skipped = 0;
	int err = lx_request_tunable(m->session, "tcp", "skip_mr_route_setup", &skipped);

	if (err || skipped)
		return err;
	err = lx_request_show_all(m->session, LX_CTL_NET, 0, &nets);
	if (!err)
		err = lx_mrroute_check_netns(m->session);
	if (!err)
		err = load(m);
	if (!err)
		err = remove_ours(m, false);
	if (!err && *m->by)
		err = remove_added(m, nets, false);
	if (!err)
		err = setup_nets(m, nets);
	json_decref(nets);
	return err;
}

/*
 * Adds the routes and rules that the tcp NIs lack. LX_ARG_UNDO: removes all of ours instead;
 * LX_ARG_UNDO_ADDED: those that only lx_mrroute_add() made, for whatever lnetxd. LX_ARG_DRY_RUN:
 * prints ip commands that would do it. Tables that somebody else has filled are left alone, and so
 * is everything if the tunable skip_mr_route_setup is 1. Rules of addresses that are gone are
 * removed.
 *
 * Returns 0 or a negative errno, recorded in the session: -EPERM, -EXDEV: lnetxd is in
 * another network namespace.
 */
static int setup_mrrouting(struct lx_session *s, const struct lx_args *a)
{
	struct setup m LX_CLEANUP(fini) = { .session = s, .dry_run = a->v[LX_ARG_DRY_RUN] };
	int err;

	if (!a->v[LX_ARG_UNDO] && !a->v[LX_ARG_UNDO_ADDED])
		return setup(&m);
	err = lx_mrroute_check_netns(s);
	if (!err)
		err = load(&m);
	if (!err)
		err = a->v[LX_ARG_UNDO] ? remove_ours(&m, true) : remove_added(&m, NULL, true);
	return err;
}

int lx_mrroute_add(struct lx_session *s)
{
	struct setup m LX_CLEANUP(fini) = { .session = s };

	/* It has just answered. */
	lx_ctl_instance(s->instance, m.by, sizeof(m.by));
	return setup(&m);
}

/* Interfaces have no NI any more. Those NIs are gone, with or without their Linux routes. */
static void follow(struct lx_session *s, bool down)
{
	struct setup m LX_CLEANUP(fini) = { .session = s };
	json_t *nets = NULL;
	int err;

	lx_ctl_instance(s->instance, m.by, sizeof(m.by));
	if (!has_marks(&m) || lx_mrroute_check_netns(s))
		return;
	err = down ? 0 : lx_request_show_all(s, LX_CTL_NET, 0, &nets);
	if (!err)
		err = load(&m);
	if (!err)
		err = remove_added(&m, nets, false);
	json_decref(nets);
	if (err)
		fprintf(stderr,
			"Linux routes that \"net add\" made stay: %s; \"lnetctl "
			"setup-mrrouting --undo-added\" removes them\n",
			s->text);
}

int lx_mrroute_net_del(struct lx_session *s, const struct lx_args *a)
{
	int err = lx_ni_request_net_del(s, a);

	if (!err)
		follow(s, false);
	return err;
}

int lx_mrroute_down(struct lx_session *s, const struct lx_args *a)
{
	int err = lx_request_down(s, a);

	if (!err)
		follow(s, true);
	return err;
}

/* clang-format off */
static const struct lx_option setup_options[] = {
	{ "dry-run", 0, LX_OPTION_FLAG, LX_ARG_DRY_RUN, "print what would be done, as commands" },
	{ "undo", 0, LX_OPTION_FLAG, LX_ARG_UNDO, "remove these routes and rules" },
	{ "undo-added", 0, LX_OPTION_FLAG, LX_ARG_UNDO_ADDED,
	  "remove those that only \"net add\" made" },
	{ 0 }
};

const struct lx_lnetctl_cmd lx_lnetctl_mrrouting_cmd[] = {
	{ "setup-mrrouting", setup_mrrouting,
	  "Linux routes for several interfaces on one subnet", .option = setup_options,
	  .style = LX_ERROR_OLD, .op = "manage" },
	{ 0 }
};
