/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses, routes and rules of Linux in the caller's network namespace, by rtnetlink.
 * Used by the commands that look after a machine's own settings (mrroute.c, doctor.c).
 */
#ifndef LX_TOOLS_RTNL_H
#define LX_TOOLS_RTNL_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv4 address in the first four bytes, or an IPv6 address. */
struct lx_rtnl_ip {
	uint8_t family; /* AF_INET, AF_INET6; 0: none */
	uint8_t bytes[16];
};

struct lx_rtnl_link {
	unsigned int index, mtu;
	char name[IFNAMSIZ];
	bool up; /* administratively, and with carrier */
};

struct lx_rtnl_addr {
	unsigned int ifindex, prefix_len;
	struct lx_rtnl_ip ip;
};

/* A unicast route. */
struct lx_rtnl_route {
	struct lx_rtnl_ip dst, src, gateway; /* dst none: default */
	unsigned int prefix_len, ifindex, table, metric;
	uint8_t protocol; /* RTPROT_* */
};

/* A rule that sends packets from an address to a table. */
struct lx_rtnl_rule {
	struct lx_rtnl_ip src;
	unsigned int prefix_len, table;
	uint8_t protocol;
};

/* A growing array. @entry: free()d by its user. */
struct lx_rtnl_list {
	void *entry;
	size_t n, size; /* entries, and bytes of one */
};

struct lx_rtnl;

/* Returns 0 or -errno of a netlink socket. */
int lx_rtnl_new(struct lx_rtnl **ret_nl);
void lx_rtnl_free(struct lx_rtnl *nl);

/*
 * Lists of struct lx_rtnl_link, _addr, _route, _rule; the last two for one family. Each
 * returns 0 or -errno; -ENOMEM.
 */
int lx_rtnl_links(struct lx_rtnl *nl, struct lx_rtnl_list *ret_list);
int lx_rtnl_addrs(struct lx_rtnl *nl, struct lx_rtnl_list *ret_list);
int lx_rtnl_routes(struct lx_rtnl *nl, uint8_t family, struct lx_rtnl_list *ret_list);
int lx_rtnl_rules(struct lx_rtnl *nl, uint8_t family, struct lx_rtnl_list *ret_list);

/* Appends the second list to the first, and frees it. -ENOMEM. */
int lx_rtnl_join(struct lx_rtnl_list *list, struct lx_rtnl_list *more);

/* Adds or removes one. Returns 0 or the kernel's -errno (-EPERM, -EEXIST, -ESRCH, -ENOENT). */
int lx_rtnl_change_route(struct lx_rtnl *nl, bool add, const struct lx_rtnl_route *route);
int lx_rtnl_change_rule(struct lx_rtnl *nl, bool add, const struct lx_rtnl_rule *rule);

/* Forgets the learnt neighbours on an interface. */
int lx_rtnl_flush_neighbours(struct lx_rtnl *nl, unsigned int ifindex);

static inline unsigned int lx_rtnl_ip_len(const struct lx_rtnl_ip *ip)
{
	return ip->family == AF_INET ? 4 : ip->family ? 16 : 0;
}

bool lx_rtnl_ip_eq(const struct lx_rtnl_ip *a, const struct lx_rtnl_ip *b);
/* True if the first bits of both are the same. */
bool lx_rtnl_ip_shares(const struct lx_rtnl_ip *a, const struct lx_rtnl_ip *b, unsigned int bits);
/* Sets all bits after the first to 0. */
struct lx_rtnl_ip lx_rtnl_ip_prefix(const struct lx_rtnl_ip *ip, unsigned int bits);

#define LX_RTNL_IP_TEXT 46
/* "10.0.0.1"; "default" for none. Returns @buf. */
const char *lx_rtnl_ip_format(const struct lx_rtnl_ip *ip, char buf[LX_RTNL_IP_TEXT]);

#endif
