/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../base/line.h"
#include "../io/netif.h"
#include "../io/netlink.h"
#include "link.h"

#define MTU 65535
/* A worker of the kernel gives an interface its queue; on a busy machine that takes a while. */
#define WAITS 200
#define WAIT_MS 10

static struct nlmsghdr *request_of(union lx_netlink_request *request, uint16_t type, uint16_t flags,
				   unsigned int ifindex)
{
	return lx_netlink_request(request, type, flags,
				  &(struct ifinfomsg){ .ifi_index = (int)ifindex },
				  sizeof(struct ifinfomsg));
}

static int ask(const struct nlmsghdr *request)
{
	return lx_netlink_ask(NETLINK_ROUTE, request, NULL, NULL);
}

/* A queue for each CPU, so that none waits for another to take packets off it. */
static void put_end(struct nlmsghdr *nlh, const char *name)
{
	uint32_t n = sysconf(_SC_NPROCESSORS_CONF);

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_MTU, MTU);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, n);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, n);
}

int lx_link_add_veth(const char *name, const char *peer)
{
	union lx_netlink_request request;
	struct nlmsghdr *nlh = request_of(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	struct nlattr *info, *data, *end;

	put_end(nlh, name);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	end = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg)); /* all 0 */
	put_end(nlh, peer);
	mnl_attr_nest_end(nlh, end);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return ask(nlh);
}

int lx_link_add_macvlan(const char *name, const char *lower)
{
	union lx_netlink_request request;
	struct nlmsghdr *nlh = request_of(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	struct nlattr *info, *data;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_LINK, lx_netif_index(lower));
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "macvlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u32(nlh, IFLA_MACVLAN_MODE, MACVLAN_MODE_PRIVATE);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return ask(nlh);
}

int lx_link_up(const char *name, const char *alias)
{
	union lx_netlink_request request;
	struct nlmsghdr *nlh = request_of(&request, RTM_NEWLINK, 0, lx_netif_index(name));
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	/* No address of its own, no neighbour discovery. If it fails there is just some noise. */
	(void)lx_line_write("1", "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
	ifi->ifi_flags = ifi->ifi_change = IFF_UP | IFF_NOARP;
	mnl_attr_put_strz(nlh, IFLA_IFALIAS, alias);
	return ask(nlh);
}

static int note_queue(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *queue = lx_netlink_attr(nlh, sizeof(struct ifinfomsg), IFLA_QDISC);

	*(bool *)arg = queue && strcmp(mnl_attr_get_str(queue), "noop");
	return MNL_CB_OK;
}

void lx_link_wait(const char *name)
{
	unsigned int ifindex = lx_netif_index(name);
	bool has_queue = false;
	union lx_netlink_request request;

	for (int i = 0; i < WAITS; i++) {
		if (lx_netlink_ask(NETLINK_ROUTE, request_of(&request, RTM_GETLINK, 0, ifindex),
				   note_queue, &has_queue) ||
		    has_queue)
			return;
		usleep(WAIT_MS * 1000);
	}
}

void lx_link_del(const char *name)
{
	unsigned int ifindex = lx_netif_index(name);
	union lx_netlink_request request;

	if (ifindex)
		(void)ask(request_of(&request, RTM_DELLINK, 0, ifindex));
}
