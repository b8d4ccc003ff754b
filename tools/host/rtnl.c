/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. No state: every list is asked from the kernel anew. */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "../../user/base/grow.h"
#include "../../user/io/netlink.h"
#include "rtnl.h"

int lx_rtnl_list_add(struct lx_rtnl_list *list, const void *entry, size_t size)
{
	void *added = lx_grow(&list->entry, &list->n, size);

	if (!added)
		return -ENOMEM;
	memcpy(added, entry, size);
	return 0;
}

/* ---- attributes -------------------------------------------------------------------- */

static uint32_t u32_of(const struct nlattr *attr, uint32_t otherwise)
{
	return attr ? mnl_attr_get_u32(attr) : otherwise;
}

static union lx_addr addr_of(const struct nlattr *attr)
{
	unsigned int len = attr ? mnl_attr_get_payload_len(attr) : 0;
	union lx_addr addr;

	memset(&addr, 0, sizeof(addr));
	if (len == 4 || len == 16)
		lx_addr_init(&addr, mnl_attr_get_payload(attr), len, 0);
	return addr;
}

static void put_addr(struct nlmsghdr *nlh, uint16_t type, const union lx_addr *addr)
{
	unsigned int n;
	const uint8_t *bytes = lx_addr_bytes(addr, &n);

	if (n)
		mnl_attr_put(nlh, type, n, bytes);
}

/* ---- lists ------------------------------------------------------------------------- */

/* For a callback of libmnl. */
static int result(int err)
{
	errno = -err;
	return err ? MNL_CB_ERROR : MNL_CB_OK;
}

/* All headers are of this size, and begin with the family. */
static int dump(uint16_t type, mnl_cb_t take, struct lx_rtnl_list *list)
{
	union lx_netlink_request request;
	const struct rtmsg all = { 0 };

	return lx_netlink_ask(NETLINK_ROUTE,
			      lx_netlink_request(&request, type, NLM_F_DUMP, &all, sizeof(all)),
			      take, list);
}

static bool is_ip(uint8_t family)
{
	return family == AF_INET || family == AF_INET6;
}

/* One entry for each next hop of a route. */
static int take_hops(const struct nlattr *hops, struct lx_rtnl_route *route,
		     struct lx_rtnl_list *list)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(hops);
	int len = mnl_attr_get_payload_len(hops), err = 0;
	const struct nlattr *attr;

	for (; !err && RTNH_OK(hop, len); len -= NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop)) {
		route->ifindex = hop->rtnh_ifindex;
		route->gateway = addr_of(NULL);
		mnl_attr_for_each_payload((const struct nlattr *)RTNH_DATA(hop),
					  hop->rtnh_len - sizeof(*hop))
		{
			if (mnl_attr_get_type(attr) == RTA_GATEWAY)
				route->gateway = addr_of(attr);
		}
		err = lx_rtnl_list_add(list, route, sizeof(*route));
	}
	return err;
}

/* Of the message at hand. */
#define ATTR(type) lx_netlink_attr(nlh, sizeof(*info), type)

static int take_route(const struct nlmsghdr *nlh, void *list)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(nlh);
	struct lx_rtnl_route route = { .dst = addr_of(ATTR(RTA_DST)),
				       .src = addr_of(ATTR(RTA_PREFSRC)),
				       .gateway = addr_of(ATTR(RTA_GATEWAY)),
				       .prefix_len = info->rtm_dst_len,
				       .ifindex = u32_of(ATTR(RTA_OIF), 0),
				       .table = u32_of(ATTR(RTA_TABLE), info->rtm_table),
				       .metric = u32_of(ATTR(RTA_PRIORITY), 0),
				       .protocol = info->rtm_protocol };
	const struct nlattr *hops = ATTR(RTA_MULTIPATH);

	if (!is_ip(info->rtm_family) || info->rtm_type != RTN_UNICAST ||
	    info->rtm_flags & RTM_F_CLONED)
		return MNL_CB_OK;
	return result(hops ? take_hops(hops, &route, list)
			   : lx_rtnl_list_add(list, &route, sizeof(route)));
}

int lx_rtnl_routes(struct lx_rtnl_list *list)
{
	return dump(RTM_GETROUTE, take_route, list);
}

static int take_rule(const struct nlmsghdr *nlh, void *list)
{
	const struct fib_rule_hdr *info = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *protocol = ATTR(FRA_PROTOCOL);
	struct lx_rtnl_rule rule = { .src = addr_of(ATTR(FRA_SRC)),
				     .prefix_len = info->src_len,
				     .table = u32_of(ATTR(FRA_TABLE), info->table),
				     .protocol = protocol ? mnl_attr_get_u8(protocol) : 0 };

	if (!is_ip(info->family) || info->action != FR_ACT_TO_TBL || !rule.src.sa.sa_family)
		return MNL_CB_OK;
	return result(lx_rtnl_list_add(list, &rule, sizeof(rule)));
}

int lx_rtnl_rules(struct lx_rtnl_list *list)
{
	return dump(RTM_GETRULE, take_rule, list);
}

/* ---- changes ----------------------------------------------------------------------- */

static int ask(const struct nlmsghdr *request)
{
	return lx_netlink_ask(NETLINK_ROUTE, request, NULL, NULL);
}

static uint16_t flags_of(bool add)
{
	return add ? NLM_F_CREATE | NLM_F_EXCL : 0;
}

int lx_rtnl_change_route(bool add, const struct lx_rtnl_route *route)
{
	const struct rtmsg info = {
		.rtm_family = lx_rtnl_route_family(route),
		.rtm_dst_len = route->prefix_len,
		.rtm_protocol = route->protocol,
		.rtm_type = RTN_UNICAST,
		.rtm_scope = route->gateway.sa.sa_family ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
	};
	union lx_netlink_request request;
	struct nlmsghdr *nlh = lx_netlink_request(&request, add ? RTM_NEWROUTE : RTM_DELROUTE,
						  flags_of(add), &info, sizeof(info));

	put_addr(nlh, RTA_DST, &route->dst);
	put_addr(nlh, RTA_PREFSRC, &route->src);
	put_addr(nlh, RTA_GATEWAY, &route->gateway);
	mnl_attr_put_u32(nlh, RTA_OIF, route->ifindex);
	mnl_attr_put_u32(nlh, RTA_TABLE, route->table);
	if (route->metric)
		mnl_attr_put_u32(nlh, RTA_PRIORITY, route->metric);
	return ask(nlh);
}

int lx_rtnl_change_rule(bool add, const struct lx_rtnl_rule *rule)
{
	const struct fib_rule_hdr info = { .family = rule->src.sa.sa_family,
					   .src_len = rule->prefix_len,
					   .action = FR_ACT_TO_TBL };
	union lx_netlink_request request;
	struct nlmsghdr *nlh = lx_netlink_request(&request, add ? RTM_NEWRULE : RTM_DELRULE,
						  flags_of(add), &info, sizeof(info));

	put_addr(nlh, FRA_SRC, &rule->src);
	mnl_attr_put_u32(nlh, FRA_TABLE, rule->table);
	mnl_attr_put_u8(nlh, FRA_PROTOCOL, rule->protocol);
	return ask(nlh);
}

/* ---- neighbours -------------------------------------------------------------------- */

struct neighbour {
	union lx_addr addr;
	unsigned int ifindex;
};

/* Those that somebody configured stay. */
static int take_neighbour(const struct nlmsghdr *nlh, void *list)
{
	const struct ndmsg *info = mnl_nlmsg_get_payload(nlh);
	struct neighbour one = { .addr = addr_of(ATTR(NDA_DST)), .ifindex = info->ndm_ifindex };

	if (!is_ip(info->ndm_family) || !one.addr.sa.sa_family ||
	    info->ndm_state & (NUD_PERMANENT | NUD_NOARP))
		return MNL_CB_OK;
	return result(lx_rtnl_list_add(list, &one, sizeof(one)));
}

static int forget(const struct neighbour *one)
{
	const struct ndmsg info = { .ndm_family = one->addr.sa.sa_family,
				    .ndm_ifindex = (int)one->ifindex };
	union lx_netlink_request request;
	struct nlmsghdr *nlh = lx_netlink_request(&request, RTM_DELNEIGH, 0, &info, sizeof(info));
	int err;

	put_addr(nlh, NDA_DST, &one->addr);
	err = ask(nlh);
	return err == -ENOENT ? 0 : err; /* it may go by itself */
}

int lx_rtnl_flush_neighbours(unsigned int ifindex)
{
	struct lx_rtnl_list list = { 0 };
	int err = dump(RTM_GETNEIGH, take_neighbour, &list);
	struct neighbour *one LX_AUTO_FREE = list.entry;

	for (size_t i = 0; !err && i < list.n; i++) {
		if (one[i].ifindex == ifindex)
			err = forget(&one[i]);
	}
	return err;
}
