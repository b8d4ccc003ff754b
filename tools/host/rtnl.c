/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Owns the netlink socket; every list is asked from the kernel anew. */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "rtnl.h"

#define ANSWER_SIZE (32u << 10) /* as iproute2 and the kernel use */

struct lx_rtnl {
	struct mnl_socket *sock;
	uint32_t seq;
};

/* What the callbacks of a dump fill. */
struct dump {
	struct lx_rtnl_list *list;
	int (*take)(const struct nlmsghdr *nlh, struct lx_rtnl_list *list);
	int err;
};

/* ---- addresses --------------------------------------------------------------------- */

bool lx_rtnl_ip_eq(const struct lx_rtnl_ip *a, const struct lx_rtnl_ip *b)
{
	return a->family == b->family && !memcmp(a->bytes, b->bytes, lx_rtnl_ip_len(a));
}

struct lx_rtnl_ip lx_rtnl_ip_prefix(const struct lx_rtnl_ip *ip, unsigned int bits)
{
	struct lx_rtnl_ip prefix = *ip;

	for (unsigned int i = 0; i < sizeof(prefix.bytes); i++, bits -= bits < 8 ? bits : 8)
		prefix.bytes[i] &= bits >= 8 ? 0xff : 0xff00 >> bits;
	return prefix;
}

bool lx_rtnl_ip_shares(const struct lx_rtnl_ip *a, const struct lx_rtnl_ip *b, unsigned int bits)
{
	const struct lx_rtnl_ip x = lx_rtnl_ip_prefix(a, bits), y = lx_rtnl_ip_prefix(b, bits);

	return lx_rtnl_ip_eq(&x, &y);
}

const char *lx_rtnl_ip_format(const struct lx_rtnl_ip *ip, char buf[LX_RTNL_IP_TEXT])
{
	if (!ip->family)
		return strcpy(buf, "default");
	return inet_ntop(ip->family, ip->bytes, buf, LX_RTNL_IP_TEXT);
}

/* ---- requests ---------------------------------------------------------------------- */

int lx_rtnl_new(struct lx_rtnl **ret_nl)
{
	struct lx_rtnl *nl = calloc(1, sizeof(*nl));
	int err;

	if (!nl)
		return -ENOMEM;
	nl->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl->sock || mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = -errno;
		lx_rtnl_free(nl);
		return err;
	}
	*ret_nl = nl;
	return 0;
}

void lx_rtnl_free(struct lx_rtnl *nl)
{
	if (nl && nl->sock)
		mnl_socket_close(nl->sock);
	free(nl);
}

/* A header of @size bytes follows, which the caller fills; it is all 0. */
static void *put_request(struct lx_rtnl *nl, void *buf, uint16_t type, uint16_t flags, size_t size)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++nl->seq;
	return mnl_nlmsg_put_extra_header(nlh, size);
}

/* Sends a request and reads the answer to its end. 0 or -errno. */
static int exchange(struct lx_rtnl *nl, const void *request, mnl_cb_t cb, void *arg)
{
	unsigned int port = mnl_socket_get_portid(nl->sock);
	const struct nlmsghdr *nlh = request;
	char *buf LX_AUTO_FREE = malloc(ANSWER_SIZE);
	ssize_t n;
	int r = MNL_CB_OK;

	if (!buf)
		return -ENOMEM;
	if (mnl_socket_sendto(nl->sock, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (r > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(nl->sock, buf, ANSWER_SIZE);
		r = n < 0 ? -1 : mnl_cb_run(buf, n, nl->seq, port, cb, arg);
	}
	return r < 0 ? -errno : 0;
}

static int on_entry(const struct nlmsghdr *nlh, void *arg)
{
	struct dump *d = arg;

	/* Read on after a failure, so that the next answer is not mixed up with this one. */
	if (!d->err)
		d->err = d->take(nlh, d->list);
	return MNL_CB_OK;
}

static int dump(struct lx_rtnl *nl, uint16_t type, uint8_t family, size_t entry_size,
		int (*take)(const struct nlmsghdr *nlh, struct lx_rtnl_list *list),
		struct lx_rtnl_list *ret_list)
{
	struct lx_rtnl_list list = { .size = entry_size };
	struct dump d = { .list = &list, .take = take };
	char buf[256];
	int err;

	/* All headers begin with the family, the only field that a dump uses. This is the longest. */
	*(uint8_t *)put_request(nl, buf, type, NLM_F_DUMP, sizeof(struct ifinfomsg)) = family;
	err = exchange(nl, buf, on_entry, &d);
	if (!err)
		err = d.err;
	if (err)
		free(list.entry);
	else
		*ret_list = list;
	return err;
}

static int append(struct lx_rtnl_list *list, const void *entry)
{
	void *more = reallocarray(list->entry, list->n + 1, list->size);

	if (!more)
		return -ENOMEM;
	list->entry = more;
	memcpy((char *)more + list->n++ * list->size, entry, list->size);
	return 0;
}

int lx_rtnl_join(struct lx_rtnl_list *list, struct lx_rtnl_list *more)
{
	char *both;

	if (!list->size)
		list->size = more->size;
	both = reallocarray(list->entry, list->n + more->n + 1, list->size);
	if (both) {
		list->entry = both;
		if (more->n)
			memcpy(both + list->n * list->size, more->entry, more->n * list->size);
		list->n += more->n;
	}
	free(more->entry);
	return both ? 0 : -ENOMEM;
}

/* ---- attributes -------------------------------------------------------------------- */

static uint32_t get_u32(const struct nlattr *attr)
{
	uint32_t value = 0;

	if (mnl_attr_get_payload_len(attr) >= sizeof(value))
		memcpy(&value, mnl_attr_get_payload(attr), sizeof(value));
	return value;
}

static struct lx_rtnl_ip get_ip(const struct nlattr *attr, uint8_t family)
{
	struct lx_rtnl_ip ip = { .family = family };
	unsigned int len = lx_rtnl_ip_len(&ip);

	if (mnl_attr_get_payload_len(attr) < len)
		ip.family = 0;
	else
		memcpy(ip.bytes, mnl_attr_get_payload(attr), len);
	return ip;
}

static void put_ip(struct nlmsghdr *nlh, uint16_t type, const struct lx_rtnl_ip *ip)
{
	if (ip->family)
		mnl_attr_put(nlh, type, lx_rtnl_ip_len(ip), ip->bytes);
}

/* ---- lists ------------------------------------------------------------------------- */

static int take_link(const struct nlmsghdr *nlh, struct lx_rtnl_list *list)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	struct lx_rtnl_link link = { .index = info->ifi_index,
				     .up = info->ifi_flags & IFF_UP &&
					   info->ifi_flags & IFF_RUNNING };
	const struct nlattr *attr;

	mnl_attr_for_each (attr, nlh, sizeof(*info)) {
		if (mnl_attr_get_type(attr) == IFLA_IFNAME)
			strncpy(link.name, mnl_attr_get_str(attr), sizeof(link.name) - 1);
		else if (mnl_attr_get_type(attr) == IFLA_MTU)
			link.mtu = get_u32(attr);
	}
	return append(list, &link);
}

int lx_rtnl_links(struct lx_rtnl *nl, struct lx_rtnl_list *ret_list)
{
	return dump(nl, RTM_GETLINK, AF_UNSPEC, sizeof(struct lx_rtnl_link), take_link, ret_list);
}

static int take_addr(const struct nlmsghdr *nlh, struct lx_rtnl_list *list)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(nlh);
	struct lx_rtnl_addr addr = { .ifindex = info->ifa_index,
				     .prefix_len = info->ifa_prefixlen };
	const struct nlattr *attr;

	/* The address of a point-to-point interface is LOCAL; without it, ADDRESS. */
	mnl_attr_for_each (attr, nlh, sizeof(*info)) {
		if (mnl_attr_get_type(attr) == IFA_LOCAL ||
		    (mnl_attr_get_type(attr) == IFA_ADDRESS && !addr.ip.family))
			addr.ip = get_ip(attr, info->ifa_family);
	}
	return addr.ip.family ? append(list, &addr) : 0;
}

int lx_rtnl_addrs(struct lx_rtnl *nl, struct lx_rtnl_list *ret_list)
{
	return dump(nl, RTM_GETADDR, AF_UNSPEC, sizeof(struct lx_rtnl_addr), take_addr, ret_list);
}

/* One entry for each next hop of a route. */
static int take_hops(const struct nlattr *hops, uint8_t family, struct lx_rtnl_route *route,
		     struct lx_rtnl_list *list)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(hops);
	int len = mnl_attr_get_payload_len(hops), err = 0;
	const struct nlattr *attr;

	for (; !err && RTNH_OK(hop, len); len -= NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop)) {
		route->ifindex = hop->rtnh_ifindex;
		route->gateway.family = 0;
		mnl_attr_for_each_payload ((const struct nlattr *)RTNH_DATA(hop),
					   hop->rtnh_len - sizeof(*hop)) {
			if (mnl_attr_get_type(attr) == RTA_GATEWAY)
				route->gateway = get_ip(attr, family);
		}
		err = append(list, route);
	}
	return err;
}

static int take_route(const struct nlmsghdr *nlh, struct lx_rtnl_list *list)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(nlh);
	struct lx_rtnl_route route = { .prefix_len = info->rtm_dst_len,
				       .table = info->rtm_table,
				       .protocol = info->rtm_protocol };
	const struct nlattr *attr, *hops = NULL;

	if (info->rtm_type != RTN_UNICAST || info->rtm_flags & RTM_F_CLONED)
		return 0;
	mnl_attr_for_each (attr, nlh, sizeof(*info)) {
		switch (mnl_attr_get_type(attr)) {
		case RTA_DST:
			route.dst = get_ip(attr, info->rtm_family);
			break;
		case RTA_PREFSRC:
			route.src = get_ip(attr, info->rtm_family);
			break;
		case RTA_GATEWAY:
			route.gateway = get_ip(attr, info->rtm_family);
			break;
		case RTA_OIF:
			route.ifindex = get_u32(attr);
			break;
		case RTA_TABLE:
			route.table = get_u32(attr);
			break;
		case RTA_PRIORITY:
			route.metric = get_u32(attr);
			break;
		case RTA_MULTIPATH:
			hops = attr;
		}
	}
	return hops ? take_hops(hops, info->rtm_family, &route, list) : append(list, &route);
}

int lx_rtnl_routes(struct lx_rtnl *nl, uint8_t family, struct lx_rtnl_list *ret_list)
{
	return dump(nl, RTM_GETROUTE, family, sizeof(struct lx_rtnl_route), take_route, ret_list);
}

static int take_rule(const struct nlmsghdr *nlh, struct lx_rtnl_list *list)
{
	const struct fib_rule_hdr *info = mnl_nlmsg_get_payload(nlh);
	struct lx_rtnl_rule rule = { .prefix_len = info->src_len, .table = info->table };
	const struct nlattr *attr;

	mnl_attr_for_each (attr, nlh, sizeof(*info)) {
		if (mnl_attr_get_type(attr) == FRA_SRC)
			rule.src = get_ip(attr, info->family);
		else if (mnl_attr_get_type(attr) == FRA_TABLE)
			rule.table = get_u32(attr);
		else if (mnl_attr_get_type(attr) == FRA_PROTOCOL)
			rule.protocol = mnl_attr_get_u8(attr);
	}
	return info->action == FR_ACT_TO_TBL && rule.src.family ? append(list, &rule) : 0;
}

int lx_rtnl_rules(struct lx_rtnl *nl, uint8_t family, struct lx_rtnl_list *ret_list)
{
	return dump(nl, RTM_GETRULE, family, sizeof(struct lx_rtnl_rule), take_rule, ret_list);
}

/* ---- changes ----------------------------------------------------------------------- */

static uint16_t flags_of(bool add)
{
	return NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_EXCL : 0);
}

int lx_rtnl_change_route(struct lx_rtnl *nl, bool add, const struct lx_rtnl_route *route)
{
	uint8_t family = route->dst.family ? route->dst.family : route->gateway.family;
	char buf[512];
	struct rtmsg *info = put_request(nl, buf, add ? RTM_NEWROUTE : RTM_DELROUTE, flags_of(add),
					 sizeof(*info));

	info->rtm_family = family;
	info->rtm_dst_len = route->prefix_len;
	info->rtm_protocol = route->protocol;
	info->rtm_type = RTN_UNICAST;
	info->rtm_scope = route->gateway.family ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	put_ip((struct nlmsghdr *)buf, RTA_DST, &route->dst);
	put_ip((struct nlmsghdr *)buf, RTA_PREFSRC, &route->src);
	put_ip((struct nlmsghdr *)buf, RTA_GATEWAY, &route->gateway);
	mnl_attr_put_u32((struct nlmsghdr *)buf, RTA_OIF, route->ifindex);
	mnl_attr_put_u32((struct nlmsghdr *)buf, RTA_TABLE, route->table);
	if (route->metric)
		mnl_attr_put_u32((struct nlmsghdr *)buf, RTA_PRIORITY, route->metric);
	return exchange(nl, buf, NULL, NULL);
}

int lx_rtnl_change_rule(struct lx_rtnl *nl, bool add, const struct lx_rtnl_rule *rule)
{
	char buf[256];
	struct fib_rule_hdr *info = put_request(nl, buf, add ? RTM_NEWRULE : RTM_DELRULE,
						flags_of(add), sizeof(*info));

	info->family = rule->src.family;
	info->src_len = rule->prefix_len;
	info->action = FR_ACT_TO_TBL;
	put_ip((struct nlmsghdr *)buf, FRA_SRC, &rule->src);
	mnl_attr_put_u32((struct nlmsghdr *)buf, FRA_TABLE, rule->table);
	mnl_attr_put_u8((struct nlmsghdr *)buf, FRA_PROTOCOL, rule->protocol);
	return exchange(nl, buf, NULL, NULL);
}

/* ---- neighbours -------------------------------------------------------------------- */

struct neighbour {
	struct lx_rtnl_ip ip;
	unsigned int ifindex;
};

/* Those that somebody configured stay. */
static int take_neighbour(const struct nlmsghdr *nlh, struct lx_rtnl_list *list)
{
	const struct ndmsg *info = mnl_nlmsg_get_payload(nlh);
	struct neighbour one = { .ifindex = info->ndm_ifindex };
	const struct nlattr *attr;

	mnl_attr_for_each (attr, nlh, sizeof(*info)) {
		if (mnl_attr_get_type(attr) == NDA_DST)
			one.ip = get_ip(attr, info->ndm_family);
	}
	if (!one.ip.family || info->ndm_state & (NUD_PERMANENT | NUD_NOARP))
		return 0;
	return append(list, &one);
}

static int forget(struct lx_rtnl *nl, const struct neighbour *one)
{
	char buf[256];
	struct ndmsg *info = put_request(nl, buf, RTM_DELNEIGH, NLM_F_ACK, sizeof(*info));
	int err;

	info->ndm_family = one->ip.family;
	info->ndm_ifindex = one->ifindex;
	put_ip((struct nlmsghdr *)buf, NDA_DST, &one->ip);
	err = exchange(nl, buf, NULL, NULL);
	return err == -ENOENT ? 0 : err; /* it may go by itself */
}

int lx_rtnl_flush_neighbours(struct lx_rtnl *nl, unsigned int ifindex)
{
	struct lx_rtnl_list list;
	const struct neighbour *one;
	int err = dump(nl, RTM_GETNEIGH, AF_UNSPEC, sizeof(*one), take_neighbour, &list);

	if (err)
		return err;
	one = list.entry;
	for (size_t i = 0; !err && i < list.n; i++) {
		if (one[i].ifindex == ifindex)
			err = forget(nl, &one[i]);
	}
	free(list.entry);
	return err;
}
