/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings of "lnetx doctor" in Linux: interfaces, addresses, routing rules, sysctls, the clock.
 * Called by doctor.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "../cli/common/json.h"
#include "device.h"
#include "doctor.h"
#include "rxqueue.h"
#include "sysctl.h"

/* ---- NIs as Linux has them --------------------------------------------------------- */

static int list_nis(struct lx_doctor *d)
{
	const json_t *row;
	size_t i;

	d->host.ni = calloc(json_array_size(d->nis) + 1, sizeof(*d->host.ni));
	if (!d->host.ni)
		return -ENOMEM;
	json_array_foreach (d->nis, i, row) {
		struct lx_doctor_ni *ni = &d->host.ni[d->host.n_nis];

		ni->nid = lx_json_text(row, "nid");
		ni->net = strchr(ni->nid, '@');
		d->host.n_nis += !lx_device_of(ni->nid, &ni->netif);
	}
	return 0;
}

/* Another NI on another interface, with an address on the same subnet. NULL: none. */
static const struct lx_doctor_ni *neighbour_of(const struct lx_doctor *d,
					       const struct lx_doctor_ni *ni)
{
	for (size_t i = 0; i < d->host.n_nis; i++) {
		const struct lx_netif *other = &d->host.ni[i].netif;

		if (other->index != ni->netif.index && other->prefix_len == ni->netif.prefix_len &&
		    lx_addr_shares(&other->addr, &ni->netif.addr, ni->netif.prefix_len))
			return &d->host.ni[i];
	}
	return NULL;
}

/* The rule for packets from an NI. NULL: none. */
static const struct lx_rtnl_rule *rule_of(const struct lx_doctor *d, const struct lx_doctor_ni *ni)
{
	const struct lx_rtnl_rule *rule = d->host.rules.entry;

	for (size_t i = 0; i < d->host.rules.n; i++) {
		if (lx_addr_shares(&rule[i].src, &ni->netif.addr, rule[i].prefix_len))
			return &rule[i];
	}
	return NULL;
}

/* Of the rule's own family: a table has one number for both. */
static bool has_routes(const struct lx_doctor *d, const struct lx_rtnl_rule *rule)
{
	const struct lx_rtnl_route *route = d->host.routes.entry;

	for (size_t i = 0; i < d->host.routes.n; i++) {
		if (route[i].table == rule->table &&
		    lx_rtnl_route_family(&route[i]) == rule->src.sa.sa_family)
			return true;
	}
	return false;
}

static void check_subnet(struct lx_doctor *d, const struct lx_doctor_ni *ni)
{
	const struct lx_doctor_ni *other = neighbour_of(d, ni);
	const struct lx_rtnl_rule *rule = rule_of(d, ni);
	const char *name = ni->netif.name;

	/* Linux goes on with the next rule, so that packets leave as if there were none. */
	if (rule && !has_routes(d, rule))
		lx_findings_add(
			&d->found, other, ni->nid,
			"lnetctl setup-mrrouting; and let the network manager leave routes of "
			"others alone (systemd-networkd: ManageForeignRoutes=no)",
			"a routing rule sends packets from it to table %u, which has no routes",
			rule->table);
	if (!other)
		return;
	if (!rule)
		lx_findings_add(&d->found, true, ni->nid, "lnetctl setup-mrrouting",
				"%s is on one subnet with %s (%s), and no routing rule says that "
				"packets from it "
				"leave by %s",
				name, other->netif.name, other->nid, name);
	if ((!rule || !has_routes(d, rule)) && ni->netif.addr.sa.sa_family == AF_INET &&
	    lx_netif_conf(name, "rp_filter") == 1)
		lx_findings_add(
			&d->found, true, ni->nid,
			"lnetctl setup-mrrouting, or sysctl -w net.ipv4.conf.all.rp_filter=2",
			"rp_filter of %s is 1: Linux drops what arrives there from hosts that it "
			"reaches by %s",
			name, other->netif.name);
	if (ni->netif.addr.sa.sa_family == AF_INET &&
	    (!lx_netif_conf(name, "arp_ignore") || lx_netif_conf(name, "arp_announce") < 2))
		lx_findings_add(
			&d->found, true, ni->nid,
			"sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2",
			"%s also answers ARP requests for the address of %s, so that messages for "
			"one "
			"arrive at the other",
			name, other->netif.name);
}

/* Looks for another machine with the address of an NI, a struct lx_doctor_ni. */
static void *look_for(void *ni)
{
	struct lx_doctor_ni *own = ni;
	struct lx_nid nid;

	own->shared = !lx_nid_parse(own->nid, &nid) && lx_duplicate_find(&nid, own->mac) > 0;
	return NULL;
}

static void check_duplicate(struct lx_doctor *d, const struct lx_doctor_ni *ni)
{
	if (ni->shared)
		lx_findings_add(
			&d->found, true, ni->nid,
			"find that machine, at the switch; one of the two needs another address",
			"another machine has its address, too: the one with MAC address %s on %s",
			ni->mac, ni->netif.name);
}

static void check_mtu(struct lx_doctor *d, const struct lx_doctor_ni *ni)
{
	for (const struct lx_doctor_ni *other = d->host.ni; other < ni; other++) {
		if (!strcmp(other->net, ni->net) && other->netif.mtu != ni->netif.mtu) {
			lx_findings_add(&d->found, false, ni->nid,
					"the same MTU on all interfaces and switches of a net",
					"the MTU of %s is %u, that of %s %u", ni->netif.name,
					ni->netif.mtu, other->netif.name, other->netif.mtu);
			return;
		}
	}
}

/* A node on a subnet of this machine; others are reached by a gateway, which is the neighbour. */
static bool is_neighbour(const struct lx_doctor *d, const union lx_addr *addr)
{
	bool shares = false;

	for (size_t i = 0; i < d->host.n_addrs; i++) {
		const struct lx_netif *own = &d->host.addr[i];

		if (lx_addr_same_host(&own->addr, addr))
			return false;
		shares |= lx_addr_shares(&own->addr, addr, own->prefix_len);
	}
	return shares;
}

static long long count_neighbours(const struct lx_doctor *d, sa_family_t family)
{
	const json_t *row;
	long long n = 0;
	size_t i;

	json_array_foreach (d->peer_nis, i, row) {
		union lx_addr addr;

		n += !lx_device_addr(lx_json_text(row, "nid"), &addr) &&
		     addr.sa.sa_family == family && is_neighbour(d, &addr);
	}
	return n;
}

/* Entries are dropped at will above the second threshold; above the third new ones fail. */
static void check_table(struct lx_doctor *d, const char *table, long long n)
{
	char key[64], next[160];
	long long most;

	snprintf(key, sizeof(key), "net.%s.neigh.default.gc_thresh2", table);
	if (lx_sysctl_read(key, &most) || n <= most)
		return;
	if (n <= atoll(LX_SYSCTL_NEIGHBOURS))
		snprintf(next, sizeof(next),
			 "lnetx tunable set lnet enable_sysctl_setup 1; "
			 "lnetctl setup-sysctl");
	else
		snprintf(next, sizeof(next),
			 "sysctl -w %s=%lld net.%s.neigh.default.gc_thresh3=%lld", key, 2 * n,
			 table, 4 * n);
	lx_findings_add(
		&d->found, true, "neighbour table", next,
		"this node has %lld peer NIDs on its subnets, Linux keeps %lld neighbours (%s)", n,
		most, key);
}

static void check_neighbours(struct lx_doctor *d)
{
	check_table(d, "ipv4", count_neighbours(d, AF_INET));
	check_table(d, "ipv6", count_neighbours(d, AF_INET6));
}

static void check_queues(struct lx_doctor *d, const struct lx_doctor_ni *ni)
{
	char ifname[IFNAMSIZ], file[128], mask[256], next[512];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus < 2 || !lx_rxqueue_lone(ni->netif.name, ifname, file, sizeof(file)))
		return;
	snprintf(next, sizeof(next), "echo %s >%s", lx_rxqueue_mask(cpus, mask, sizeof(mask)),
		 file);
	lx_findings_add(&d->found, false, ifname, next,
			"it has one receive queue and no RPS: one CPU handles all its packets");
}

static void check_buffer(struct lx_doctor *d, const char *name, const char *key)
{
	char next[120];
	int64_t wanted;
	long long most;

	if (lx_request_tunable(d->session, "tcp", name, &wanted))
		return;
	/* 0: the system's default. */
	if (!wanted || lx_sysctl_read(key, &most) || most >= wanted)
		return;
	snprintf(next, sizeof(next), "sysctl -w %s=%" PRId64, key, wanted);
	lx_findings_add(&d->found, true, name, next,
			"%s is %lld, so that sockets get less than the %" PRId64 " bytes asked for",
			key, most, wanted);
}

static void check_clock(struct lx_doctor *d)
{
	struct timex tx = { 0 };

	int state = adjtimex(&tx);

	if (state == TIME_ERROR || (state >= 0 && tx.status & STA_UNSYNC))
		lx_findings_add(&d->found, false, "clock", "chrony, or another client of NTP",
				"nothing keeps this machine's clock right: times in logs of two "
				"nodes do not compare");
}

/* ---- all of it --------------------------------------------------------------------- */

int lx_doctor_host_load(struct lx_doctor *d)
{
	struct lx_doctor_host *h = &d->host;
	int err = lx_netif_addrs(&h->addr, &h->n_addrs);

	if (!err)
		err = lx_rtnl_rules(&h->rules);
	if (!err)
		err = lx_rtnl_routes(&h->routes);
	return err ? err : list_nis(d);
}

void lx_doctor_host_fini(struct lx_doctor_host *h)
{
	free(h->rules.entry);
	free(h->routes.entry);
	free(h->addr);
	free(h->ni);
}

void lx_doctor_host(struct lx_doctor *d, bool router)
{
	struct lx_doctor_ni *ni = d->host.ni;
	size_t n = d->host.n_nis;

	lx_doctor_together(look_for, ni, sizeof(*ni), n);
	for (; ni < d->host.ni + n; ni++) {
		check_subnet(d, ni);
		check_mtu(d, ni);
		check_duplicate(d, ni);
		if (router)
			check_queues(d, ni);
	}
	check_buffer(d, "tx_buffer_size", "net.core.wmem_max");
	check_buffer(d, "rx_buffer_size", "net.core.rmem_max");
	check_neighbours(d);
	check_clock(d);
}
