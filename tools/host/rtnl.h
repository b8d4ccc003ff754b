/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Routes, rules and neighbours of Linux in the caller's network namespace, IPv4 and IPv6. Used by
 * the commands that look after a machine's own settings (mrroute.c, doctor_host.c).
 */
#ifndef LX_TOOLS_RTNL_H
#define LX_TOOLS_RTNL_H

#include "../../user/io/netif.h"

/* A unicast route. Addresses of no family: none; dst none: default. */
struct lx_rtnl_route {
	union lx_addr dst, src, gateway;
	unsigned int prefix_len, ifindex, table, metric;
	uint8_t protocol; /* RTPROT_* */
};

static inline sa_family_t lx_rtnl_route_family(const struct lx_rtnl_route *route)
{
	return route->dst.sa.sa_family ? route->dst.sa.sa_family : route->gateway.sa.sa_family;
}

/* A rule that sends packets from an address to a table. */
struct lx_rtnl_rule {
	union lx_addr src;
	unsigned int prefix_len, table;
	uint8_t protocol;
};

/* A growing array. @entry: free()d by its user. */
struct lx_rtnl_list {
	void *entry;
	size_t n;
};

/* -ENOMEM */
int lx_rtnl_list_add(struct lx_rtnl_list *list, const void *entry, size_t size);

/* Add all routes, or rules, to a list. Return 0 or -errno. */
int lx_rtnl_routes(struct lx_rtnl_list *list);
int lx_rtnl_rules(struct lx_rtnl_list *list);

/* Adds or removes one. Returns 0 or the kernel's -errno (-EPERM, -EEXIST, -ESRCH, -ENOENT). */
int lx_rtnl_change_route(bool add, const struct lx_rtnl_route *route);
int lx_rtnl_change_rule(bool add, const struct lx_rtnl_rule *rule);

/* Forgets the learnt neighbours on an interface. */
int lx_rtnl_flush_neighbours(unsigned int ifindex);

#endif
