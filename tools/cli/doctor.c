/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx doctor": what is wrong with this node and its machine, why, and what to do. A problem
 * costs messages or will; advice is about speed, or about what may be meant that way. Changes
 * nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "../../user/io/duplicate.h"
#include "lnetx.h"
#include "mrroute.h"
#include "reach.h"
#include "rtnl.h"
#include "rxqueue.h"
#include "sysctl.h"

#define WATCH_MS 1000 /* to see what grows */
#define DOWN_MAX 8 /* peers that are named */
#define REACH_MAX 4 /* that are asked, which takes up to two seconds each */
#define RECENT_S 600 /* refusals */
#define PROBED_MAX 8 /* NIs whose addresses are asked for, which takes half a second each */
#define CLOCK_JUMP_S 5
#define WAITED_PERCENT 20
#define INTERRUPTS_PERCENT 80

/* A tcp NI, with the address and the interface that it has in Linux. */
struct ni {
	const char *nid, *net;
	const struct lx_rtnl_addr *addr;
	const struct lx_rtnl_link *link;
};

struct doctor {
	struct lx_session *session;
	struct lx_rtnl *nl;
	struct lx_rtnl_list links, addrs, rules;
	json_t *nets, *findings;
	struct ni *ni;
	size_t n_nis;
	unsigned int n_problems;
	struct lx_nid lost[REACH_MAX]; /* nodes that LNet does not reach */
	unsigned int n_lost;
};

static void fini(struct doctor *d)
{
	lx_rtnl_free(d->nl);
	free(d->links.entry);
	free(d->addrs.entry);
	free(d->rules.entry);
	free(d->ni);
	json_decref(d->nets);
	json_decref(d->findings);
}

static const char *text_of(const json_t *map, const char *key)
{
	const char *text = json_string_value(json_object_get(map, key));

	return text ? text : "";
}

/* ---- findings ---------------------------------------------------------------------- */

/* @next: a command, or what else to do */
__attribute__((format(printf, 5, 6))) static void find(struct doctor *d, bool problem,
						       const char *about, const char *next,
						       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_array_append_new(d->findings,
			      json_pack("{ss, ss, so, ss}", "level", problem ? "problem" : "advice",
					"about", about, "reason", json_vsprintf(fmt, ap), "next",
					next));
	va_end(ap);
	d->n_problems += problem;
}

/* ---- from lnetxd ------------------------------------------------------------------- */

/* NULL: lnetxd does not say, so there is nothing to find. */
static json_t *list_of(struct doctor *d, uint8_t command, const struct lx_control_object *object)
{
	json_t *list;

	return lx_request_show_all(d->session, command, object, LX_LEVEL_OWN, &list) ? NULL : list;
}

/* The status of lnetxd, which the caller frees; NULL: it does not say. */
static json_t *status_of(struct doctor *d)
{
	json_t *list = list_of(d, LX_CONTROL_STATUS, &lx_control_statuses);
	json_t *status = json_incref(json_array_get(list, 0));

	json_decref(list);
	return status;
}

static void check_ni(struct doctor *d, const json_t *ni)
{
	const char *reason = text_of(ni, "down_reason");

	if (strcmp(text_of(ni, "status"), "down"))
		return;
	find(d, true, text_of(ni, "nid"), "mend that; the NI comes up by itself",
	     "the NI is down%s%s, and its messages take other NIs or fail", *reason ? ": " : "", reason);
}

static void check_nis(struct doctor *d)
{
	json_t *status = status_of(d);
	const json_t *net, *ni;
	size_t i, j, n = 0;

	json_array_foreach (d->nets, i, net) {
		json_array_foreach (json_object_get(net, lx_control_nets.rows), j, ni) {
			check_ni(d, ni);
			n += strcmp(text_of(ni, "nid"), "0@lo") != 0;
		}
	}
	if (*text_of(status, "missing"))
		find(d, true, "lnetxd",
		     "mend that, and it comes up by itself; or correct the file and reload",
		     "it runs without NIs of its file: %s", text_of(status, "missing"));
	json_decref(status);
	if (!n)
		find(d, true, "lnetxd", "lnetctl lnet configure --all, or lnetx net add",
		     "it has no NI, so nobody can reach this node");
}

static void is_lost(struct doctor *d, const char *text)
{
	struct lx_nid nid;

	if (d->n_lost == REACH_MAX || lx_nid_parse(text, &nid))
		return;
	for (unsigned int i = 0; i < d->n_lost; i++) {
		if (lx_nid_eq(&d->lost[i], &nid))
			return;
	}
	d->lost[d->n_lost++] = nid;
}

static void check_routes(struct doctor *d)
{
	json_t *list = list_of(d, LX_CONTROL_ROUTES, &lx_control_routes), *route;
	size_t i;

	json_array_foreach (list, i, route) {
		if (strcmp(text_of(route, "state"), "down"))
			continue;
		is_lost(d, text_of(route, "gateway"));
		find(d, true, text_of(route, "gateway"), "lnetx ping the gateway; then look there",
		     "the route to %s is down: %s", text_of(route, "net"),
		     *text_of(route, "down_reason") ? text_of(route, "down_reason")
						    : "no reason is known");
	}
	json_decref(list);
}

static bool is_found(const struct doctor *d, const char *about)
{
	const json_t *one;
	size_t i;

	json_array_foreach (d->findings, i, one) {
		if (!strcmp(text_of(one, "about"), about))
			return true;
	}
	return false;
}

/* A router's neighbours, and gateways, that are not there; they may be switched off on purpose. */
static void check_peers(struct doctor *d, const json_t *peers)
{
	const json_t *peer, *row;
	unsigned int n = 0;
	size_t i, j;

	json_array_foreach ((json_t *)peers, i, peer) {
		json_array_foreach (json_object_get(peer, lx_control_peers.rows), j, row) {
			const char *reason = text_of(row, "down_reason"), *nid = text_of(row, "nid");

			if (*reason)
				is_lost(d, nid);
			if (!*reason || is_found(d, nid) || n++ >= DOWN_MAX)
				continue;
			find(d, false, nid, "lnetx ping it; if it should be there: look at that node",
			     "this NID of a peer is down: %s", reason);
		}
	}
	if (n > DOWN_MAX)
		find(d, false, "lnetxd", "lnetx peer show", "%u more NIDs of peers are down",
		     n - DOWN_MAX);
}

static void check_recovery(struct doctor *d)
{
	json_t *list = list_of(d, LX_CONTROL_RECOVERY, &lx_control_recovery), *row;
	size_t i;

	json_array_foreach (list, i, row) {
		if (!strcmp(text_of(row, "kind"), "peer"))
			is_lost(d, text_of(row, "nid"));
		find(d, false, text_of(row, "nid"), "lnetx -s net show, lnetx -s peer show: which failures",
		     "its health is %" JSON_INTEGER_FORMAT " of 1000, and it is avoided until pings raise it",
		     json_integer_value(json_object_get(row, "health value")));
	}
	json_decref(list);
}

static void check_faults(struct doctor *d)
{
	unsigned int n = lx_request_fault_count(d->session);

	if (n)
		find(d, true, "lnetxd", "lnetx fault show; lnetx fault del all",
		     "fault injection drops or delays messages on purpose, by %u rule%s", n,
		     n == 1 ? "" : "s");
}

/* Of bytes, 0 is the system's default. */
static long long tunable(struct doctor *d, char *module, const char *name)
{
	const struct lx_args which = { .v = { [LX_ARG_MODULE] = module,
					      [LX_ARG_NAME] = (char *)name } };
	long long value = 0;
	json_t *list;

	if (lx_request_show(d->session, LX_CONTROL_TUNABLES, &lx_control_tunables, &which,
			    LX_LEVEL_OWN, &list))
		return 0;
	value = strtoll(text_of(json_array_get(list, 0), "value"), NULL, 10);
	json_decref(list);
	return value;
}

/* Where LNet does not get an answer, who does? */
static void check_reach(struct doctor *d, const struct lx_nid *nid, uint16_t port)
{
	struct lx_reach reach;
	const char *about;

	if (lx_reach_look(nid, port, &reach) || !reach.tcp)
		return;
	about = lx_nid_str(nid);
	if (reach.tcp == -ECONNREFUSED)
		find(d, false, about, "start LNet there",
		     "its machine is on, and nothing listens on port %u: no LNet runs there", port);
	else if (reach.icmp > 0)
		find(d, false, about,
		     "the firewalls of both and between them; there: lnetx guard show",
		     "it answers ICMP, but not port %u: a firewall, or its guard, drops our "
		     "connections",
		     port);
	else if (!reach.icmp)
		find(d, false, about, "is that machine on? ip route get its address",
		     "it answers neither port %u nor ICMP", port);
}

static void check_lost(struct doctor *d)
{
	long long port = d->n_lost ? tunable(d, "tcp", "accept_port") : 0;

	for (unsigned int i = 0; i < d->n_lost; i++)
		check_reach(d, &d->lost[i], port);
}

/* Who sees only a time-out, and cannot know why. */
static void check_refused(struct doctor *d, const json_t *counters)
{
	json_int_t n = json_integer_value(json_object_get(counters, "refused_ports"));
	json_t *list = list_of(d, LX_CONTROL_REFUSALS, &lx_control_refusals), *row;
	static const char next[] = "there: CAP_NET_BIND_SERVICE for its LNet; or here: lnetx guard "
				   "set accept all";
	size_t i;

	json_array_foreach (list, i, row) {
		if (strcmp(text_of(row, "reason"), "unprivileged") || i >= DOWN_MAX ||
		    json_integer_value(json_object_get(row, "age_s")) > RECENT_S)
			continue;
		find(d, false, text_of(row, "source"), next,
		     "its connections are dropped: its source ports are above 1023, and accept is "
		     "secure");
	}
	json_decref(list);
	if (n)
		find(d, false, "lnetxd", next,
		     "%" JSON_INTEGER_FORMAT " connections from source ports above 1023 were "
		     "refused, as accept is secure; the log names the addresses", n);
}

static void check_buffer(struct doctor *d, const char *name, const char *key)
{
	char next[120];
	long long wanted = tunable(d, "tcp", name), most;

	if (!wanted || lx_sysctl_read(key, &most) || most >= wanted)
		return;
	snprintf(next, sizeof(next), "sysctl -w %s=%lld", key, wanted);
	find(d, true, name, next, "%s is %lld, so that sockets get less than the %lld bytes asked for",
	     key, most, wanted);
}

/* ---- the fast path ----------------------------------------------------------------- */

static bool is_router(struct doctor *d)
{
	json_t *list = list_of(d, LX_CONTROL_ROUTING, &lx_control_routing_info);
	const json_t *info = json_array_get(list, 0);
	bool on = json_integer_value(json_object_get(info, "enable")) && !json_object_get(info, "phase");

	json_decref(list);
	return on;
}

static void check_dropped(struct doctor *d, const json_t *hook)
{
	json_int_t n = json_integer_value(json_object_get(hook, "tx_dropped"));
	const char *ifname = text_of(hook, "interface");
	char next[100];

	if (!n || !lx_bpf_is_interface(hook))
		return;
	snprintf(next, sizeof(next), "ip -s -s link show %s; if it goes on: lnetx bpf off, and report it",
		 ifname);
	find(d, false, ifname, next,
	     "it dropped %" JSON_INTEGER_FORMAT " packets on the way out since the fast path is attached;"
	     " TCP sends them again, later", n);
}

/* Those that are missing have a reason; these have been put back. */
static void check_removed(struct doctor *d, const json_t *hook)
{
	json_int_t n = json_integer_value(json_object_get(hook, "removed"));

	if (n && !*text_of(hook, "reason"))
		find(d, false, text_of(hook, "interface"),
		     "find out who does it: bpftool net, tc monitor",
		     "another program or an admin removed the program of %s %" JSON_INTEGER_FORMAT
		     " times in the last ten minutes; it was put back", text_of(hook, "set"), n);
}

static void check_room(struct doctor *d, const char *what, long long used, long long most,
		       const char *next)
{
	if (most && used >= most)
		find(d, false, what, next, "the table is full: %lld of %lld are in use", used,
		     most);
}

/* What finds no place there is forwarded by lnetxd itself. */
static void check_tables(struct doctor *d, const json_t *info)
{
	const json_t *row;
	char what[80];
	size_t i;

	json_array_foreach (json_object_get(info, "tables"), i, row) {
		snprintf(what, sizeof(what), "fast path, %s", text_of(row, "table"));
		check_room(d, what, json_integer_value(json_object_get(row, "used")),
			   json_integer_value(json_object_get(row, "max")),
			   "lnetx -s tunable show tcp fastpath_streams; the rest is slower, not "
			   "lost");
	}
}

static void check_programs(struct doctor *d)
{
	json_t *list = list_of(d, LX_CONTROL_BPF, &lx_control_bpf), *info = json_array_get(list, 0);
	bool enabled = json_is_true(json_object_get(info, "enabled"));
	const json_t *row;
	size_t i;

	if (info && enabled && !json_is_true(json_object_get(info, "fastpath")))
		find(d, false, "fast path", "lnetx bpf on",
		     "it is switched off, so lnetxd forwards all messages itself, which is slower");
	json_array_foreach (json_object_get(info, "sets"), i, row) {
		bool loaded = json_is_true(json_object_get(row, "loaded"));

		if (*text_of(row, "reason") && !strcmp(text_of(row, "set"), "fastpath"))
			find(d, false, "fast path",
			     loaded    ? "lnetx bpf on, when nobody removes its programs any more"
			     : enabled ? "lnetx bpf status says what the kernel lacks"
				       : "start lnetxd without --no-bpf",
			     "lnetxd forwards all messages itself, which is slower: %s",
			     text_of(row, "reason"));
	}
	if (*text_of(info, "resegments"))
		find(d, false, "fast path", "lnetx bpf status",
		     "it resegments packets with messages for several next hops, which is slower "
		     "than to cut them: %s", text_of(info, "resegments"));
	json_array_foreach (json_object_get(info, "hooks"), i, row) {
		if (*text_of(row, "reason"))
			find(d, false, text_of(row, "interface"), "mend that, or leave it to lnetxd",
			     "no program of %s here: %s", text_of(row, "set"), text_of(row, "reason"));
		check_removed(d, row);
		check_dropped(d, row);
	}
	check_tables(d, info);
	json_decref(list);
}

static void check_queues(struct doctor *d, const struct ni *ni)
{
	char ifname[IFNAMSIZ], file[128], mask[256], next[512];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus < 2 || !lx_rxqueue_lone(ni->link->name, ifname, file, sizeof(file)))
		return;
	snprintf(next, sizeof(next), "echo %s >%s", lx_rxqueue_mask(cpus, mask, sizeof(mask)), file);
	find(d, false, ifname, next,
	     "it has one receive queue and no RPS: one CPU handles all its packets");
}

/* ---- Linux ------------------------------------------------------------------------- */

/* The IP address in a NID; family 0: it has none. */
static struct lx_rtnl_ip ip_of(const char *text)
{
	struct lx_rtnl_ip ip = { 0 };
	struct lx_nid nid;

	if (lx_nid_parse(text, &nid) || nid.type != LX_NET_TCP)
		return ip;
	ip.family = lx_nid_bytes(&nid) == 8 ? AF_INET : AF_INET6;
	memcpy(ip.bytes, nid.addr, lx_rtnl_ip_len(&ip));
	return ip;
}

static const struct lx_rtnl_addr *addr_of(const struct doctor *d, const char *text)
{
	const struct lx_rtnl_addr *addr = d->addrs.entry;
	struct lx_rtnl_ip ip = ip_of(text);

	for (size_t i = 0; ip.family && i < d->addrs.n; i++) {
		if (lx_rtnl_ip_eq(&addr[i].ip, &ip))
			return &addr[i];
	}
	return NULL;
}

static const struct lx_rtnl_link *link_of(const struct doctor *d, const struct lx_rtnl_addr *addr)
{
	const struct lx_rtnl_link *link = d->links.entry;

	for (size_t i = 0; addr && i < d->links.n; i++) {
		if (link[i].index == addr->ifindex)
			return &link[i];
	}
	return NULL;
}

static int list_nis(struct doctor *d)
{
	const json_t *net, *row;
	size_t i, j, n = 0;

	json_array_foreach (d->nets, i, net)
		n += json_array_size(json_object_get(net, lx_control_nets.rows));
	d->ni = calloc(n + 1, sizeof(*d->ni));
	if (!d->ni)
		return -ENOMEM;
	json_array_foreach (d->nets, i, net) {
		json_array_foreach (json_object_get(net, lx_control_nets.rows), j, row) {
			struct ni *ni = &d->ni[d->n_nis];

			ni->net = text_of(net, "net type");
			ni->nid = text_of(row, "nid");
			ni->addr = addr_of(d, ni->nid);
			ni->link = link_of(d, ni->addr);
			d->n_nis += ni->link != NULL;
		}
	}
	return 0;
}

/* Another NI on another interface, with an address on the same subnet. NULL: none. */
static const struct ni *neighbour_of(const struct doctor *d, const struct ni *ni)
{
	for (size_t i = 0; i < d->n_nis; i++) {
		if (d->ni[i].link != ni->link && d->ni[i].addr->prefix_len == ni->addr->prefix_len &&
		    lx_rtnl_ip_shares(&d->ni[i].addr->ip, &ni->addr->ip, ni->addr->prefix_len))
			return &d->ni[i];
	}
	return NULL;
}

static bool has_rule(const struct doctor *d, const struct ni *ni)
{
	const struct lx_rtnl_rule *rule = d->rules.entry;

	for (size_t i = 0; i < d->rules.n; i++) {
		if (lx_rtnl_ip_shares(&rule[i].src, &ni->addr->ip, rule[i].prefix_len))
			return true;
	}
	return false;
}

/* The larger of the interface's setting and that for all counts. */
static long long conf_of(const struct ni *ni, const char *name)
{
	long long own = 0, all = 0;
	char key[96];

	/* Between slashes the dots of a VLAN's name are none. */
	snprintf(key, sizeof(key), "net/ipv4/conf/%s/%s", ni->link->name, name);
	if (lx_sysctl_read(key, &own))
		own = 0;
	snprintf(key, sizeof(key), "net.ipv4.conf.all.%s", name);
	if (lx_sysctl_read(key, &all))
		all = 0;
	return own > all ? own : all;
}

static void check_subnet(struct doctor *d, const struct ni *ni)
{
	const struct ni *other = neighbour_of(d, ni);
	const char *name = ni->link->name;

	if (!other)
		return;
	if (!has_rule(d, ni))
		find(d, true, ni->nid, "lnetctl setup-mrrouting",
		     "%s is on one subnet with %s (%s), and no routing rule says that packets from it "
		     "leave by %s", name, other->link->name, other->nid, name);
	if (!has_rule(d, ni) && ni->addr->ip.family == AF_INET && conf_of(ni, "rp_filter") == 1)
		find(d, true, ni->nid, "lnetctl setup-mrrouting, or sysctl -w net.ipv4.conf.all.rp_filter=2",
		     "rp_filter of %s is 1: Linux drops what arrives there from hosts that it reaches by %s",
		     name, other->link->name);
	if (ni->addr->ip.family == AF_INET &&
	    (!conf_of(ni, "arp_ignore") || conf_of(ni, "arp_announce") < 2))
		find(d, true, ni->nid,
		     "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
		     "%s also answers ARP requests for the address of %s, so that messages for one "
		     "arrive at the other", name, other->link->name);
}

static void check_duplicate(struct doctor *d, const struct ni *ni)
{
	union lx_addr addr;
	char mac[LX_MAC_TEXT];

	lx_addr_init(&addr, ni->addr->ip.bytes, lx_rtnl_ip_len(&ni->addr->ip), 0);
	if (lx_duplicate_find(&addr, mac) > 0)
		find(d, true, ni->nid,
		     "find that machine, at the switch; one of the two needs another address",
		     "another machine has its address, too: the one with MAC address %s on %s", mac,
		     ni->link->name);
}

static void check_mtu(struct doctor *d, const struct ni *ni)
{
	for (const struct ni *other = d->ni; other < ni; other++) {
		if (!strcmp(other->net, ni->net) && other->link->mtu != ni->link->mtu) {
			find(d, false, ni->nid, "the same MTU on all interfaces and switches of a net",
			     "the MTU of %s is %u, that of %s %u", ni->link->name, ni->link->mtu,
			     other->link->name, other->link->mtu);
			return;
		}
	}
}

/* A node on a subnet of this machine; others are reached by a gateway, which is the neighbour. */
static bool is_neighbour(const struct doctor *d, const struct lx_rtnl_ip *ip)
{
	const struct lx_rtnl_addr *addr = d->addrs.entry;
	bool shares = false;

	for (size_t i = 0; i < d->addrs.n; i++) {
		if (lx_rtnl_ip_eq(&addr[i].ip, ip))
			return false;
		shares |= lx_rtnl_ip_shares(&addr[i].ip, ip, addr[i].prefix_len);
	}
	return shares;
}

static long long count_neighbours(const struct doctor *d, const json_t *peers, uint8_t family)
{
	const json_t *peer, *row;
	long long n = 0;
	size_t i, j;

	json_array_foreach ((json_t *)peers, i, peer) {
		json_array_foreach (json_object_get(peer, lx_control_peers.rows), j, row) {
			struct lx_rtnl_ip ip = ip_of(text_of(row, "nid"));

			n += ip.family == family && is_neighbour(d, &ip);
		}
	}
	return n;
}

/* Entries are dropped at will above the second threshold; above the third new ones fail. */
static void check_table(struct doctor *d, const char *table, long long n)
{
	char key[64], next[160];
	long long most;

	snprintf(key, sizeof(key), "net.%s.neigh.default.gc_thresh2", table);
	if (lx_sysctl_read(key, &most) || n <= most)
		return;
	if (n <= atoll(LX_SYSCTL_NEIGHBOURS))
		snprintf(next, sizeof(next), "lnetx tunable set lnet enable_sysctl_setup 1; "
			 "lnetctl setup-sysctl");
	else
		snprintf(next, sizeof(next), "sysctl -w %s=%lld net.%s.neigh.default.gc_thresh3=%lld",
			 key, 2 * n, table, 4 * n);
	find(d, true, "neighbour table", next,
	     "this node has %lld peer NIDs on its subnets, Linux keeps %lld neighbours (%s)", n, most,
	     key);
}

static void check_neighbours(struct doctor *d, const json_t *peers)
{
	check_table(d, "ipv4", count_neighbours(d, peers, AF_INET));
	check_table(d, "ipv6", count_neighbours(d, peers, AF_INET6));
}

/* Peers that are idle make room for others; those that are not keep them out. */
static void check_peers_max(struct doctor *d, const json_t *peers)
{
	const json_t *peer;
	long long n = 0;
	size_t i;

	json_array_foreach ((json_t *)peers, i, peer)
		n += json_array_size(json_object_get(peer, lx_control_peers.rows));
	check_room(d, "peers", n, tunable(d, "lnet", "peers_max"),
		   "lnetx peer show: are these all yours? lnetx tunable set lnet peers_max N");
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t grown(const json_t *from, const json_t *to, const char *key)
{
	return json_integer_value(json_object_get(to, key)) -
	       json_integer_value(json_object_get(from, key));
}

static void check_cpu(struct doctor *d, const json_t *before, const json_t *status, int64_t ms)
{
	int64_t waited = 100 * grown(before, status, "waited_ms") / ms;
	int64_t interrupts = 100 * grown(before, status, "interrupts_ms") /
			     (ms * sysconf(_SC_NPROCESSORS_ONLN));

	if (before && status && (waited >= WAITED_PERCENT || interrupts >= INTERRUPTS_PERCENT))
		find(d, false, "CPU",
		     json_is_true(json_object_get(status, "priority"))
			     ? "more or faster CPUs, more receive queues, or another router"
			     : "let lnetxd come before other processes: lnetxd(8), CPU TIME",
		     "lnetxd's threads waited for it for %" PRId64 " %% of the time, and interrupts took "
		     "%" PRId64 " %% of all CPUs", waited, interrupts);
}

/* NULL: lnetxd does not say. */
static json_t *counters_of(struct doctor *d)
{
	json_t *map;

	return lx_request_stats(d->session, LX_LEVEL_OWN, &map) ? NULL : map;
}

/* Messages that are lost now; what was lost some time ago needs nobody. */
static void check_counters(struct doctor *d, const json_t *before, const json_t *after)
{
	const json_t *were = json_object_get(before, "drops"), *n;
	int64_t unsent = grown(before, after, "local_no_route_count");
	const char *reason;

	if (unsent)
		find(d, true, "routes", "lnetx route show; the log names the nets",
		     "there was no route for %" PRId64 " messages in the last second", unsent);
	json_object_foreach (json_object_get(after, "drops"), reason, n) {
		int64_t more = json_integer_value(n) -
			       json_integer_value(json_object_get(were, reason));

		if (more)
			find(d, false, "drops", "lnetx -s stats show; lnetx(8) and the log say why",
			     "%" PRId64 " messages were dropped in the last second: %s", more, reason);
	}
}

/* A node that never lost a message, and does not forward any, is not watched. */
static bool has_lost(const json_t *counters)
{
	return json_integer_value(json_object_get(counters, "local_no_route_count")) ||
	       json_object_size(json_object_get(counters, "drops"));
}

/* Times in logs, and of what was measured, do not fit together. */
static void check_jump(struct doctor *d, const json_t *status)
{
	json_int_t jump = json_integer_value(json_object_get(status, "clock_jump_s"));

	if (jump >= CLOCK_JUMP_S || jump <= -CLOCK_JUMP_S)
		find(d, false, "clock",
		     "what set it? times in the log before and after do not compare",
		     "somebody set this machine's clock %s by %" JSON_INTEGER_FORMAT
		     " s since lnetxd started",
		     jump > 0 ? "forward" : "back", jump > 0 ? jump : -jump);
}

static void watch(struct doctor *d, bool router)
{
	json_t *status = status_of(d), *counters = counters_of(d), *status_then, *counters_then;
	int64_t ms = now_ms();

	check_jump(d, status);
	check_refused(d, counters);
	if (router || has_lost(counters)) {
		usleep(WATCH_MS * 1000);
		status_then = status_of(d);
		ms = now_ms() - ms;
		counters_then = counters_of(d);
		if (router)
			check_cpu(d, status, status_then, ms);
		if (counters && counters_then)
			check_counters(d, counters, counters_then);
		json_decref(status_then);
		json_decref(counters_then);
	}
	json_decref(status);
	json_decref(counters);
}

static void check_clock(struct doctor *d)
{
	struct timex tx = { 0 };

	int state = adjtimex(&tx);

	if (state == TIME_ERROR || (state >= 0 && tx.status & STA_UNSYNC))
		find(d, false, "clock", "chrony, or another client of NTP",
		     "nothing keeps this machine's clock right: times in logs of two nodes do not compare");
}

/* ---- the command ------------------------------------------------------------------- */

static int load(struct doctor *d)
{
	int err = lx_request_show_all(d->session, LX_CONTROL_NETS, &lx_control_nets, LX_LEVEL_OWN,
				      &d->nets);
	struct lx_rtnl_list v6 = { 0 };

	if (!err)
		err = lx_mrroute_check_netns(d->session);
	if (err)
		return err;
	d->findings = json_array();
	err = lx_rtnl_new(&d->nl);
	if (!err)
		err = lx_rtnl_links(d->nl, &d->links);
	if (!err)
		err = lx_rtnl_addrs(d->nl, &d->addrs);
	if (!err)
		err = lx_rtnl_rules(d->nl, AF_INET, &d->rules);
	if (!err && !lx_rtnl_rules(d->nl, AF_INET6, &v6))
		err = lx_rtnl_join(&d->rules, &v6);
	if (!err)
		err = list_nis(d);
	return err ? lx_session_fail(d->session, err, "cannot look at this machine: %s", strerror(-err))
		   : 0;
}

static void check(struct doctor *d)
{
	json_t *peers = list_of(d, LX_CONTROL_PEERS, &lx_control_peers);
	bool router = is_router(d);

	check_nis(d);
	check_routes(d);
	check_peers(d, peers);
	check_recovery(d);
	check_faults(d);
	for (size_t i = 0; i < d->n_nis; i++) {
		check_subnet(d, &d->ni[i]);
		check_mtu(d, &d->ni[i]);
		if (i < PROBED_MAX)
			check_duplicate(d, &d->ni[i]);
		if (router)
			check_queues(d, &d->ni[i]);
	}
	if (router)
		check_programs(d);
	check_buffer(d, "tx_buffer_size", "net.core.wmem_max");
	check_buffer(d, "rx_buffer_size", "net.core.rmem_max");
	check_neighbours(d, peers);
	check_clock(d);
	check_lost(d);
	check_peers_max(d, peers);
	watch(d, router);
	json_decref(peers);
}

static void print(const struct doctor *d)
{
	const json_t *one;
	size_t i;

	json_array_foreach (d->findings, i, one)
		printf("%-7s  %s: %s\n         next: %s\n", text_of(one, "level"), text_of(one, "about"),
		       text_of(one, "reason"), text_of(one, "next"));
	if (d->n_problems)
		printf("not healthy: %u problem%s\n", d->n_problems, d->n_problems == 1 ? "" : "s");
	else
		puts("healthy");
}

static int doctor(struct lx_session *s, const struct lx_args *a)
{
	struct doctor d LX_CLEANUP(fini) = { .session = s };
	int err = load(&d);

	if (err)
		return err;
	check(&d);
	s->text[0] = '\0'; /* of questions without an answer */
	if (lx_lnetx_as_tree())
		lx_lnetx_print("doctor", json_pack("{sb, sO}", "healthy", !d.n_problems, "findings",
						   d.findings));
	else
		print(&d);
	return d.n_problems ? LX_EXIT_UNHEALTHY : 0;
}

/* clang-format off */
const struct lx_command lx_doctor_commands[] = {
	{ "doctor", doctor, NULL, NULL, "problems of this node and machine, why, and what to do" },
	{ NULL, NULL, NULL, NULL, NULL }
};
/* clang-format on */
