/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../io/netif.h"
#include "link.h"

#define MTU 65535
#define BUF 8192
/* A worker of the kernel gives an interface its queue; on a busy machine that takes a while. */
#define WAITS 200
#define WAIT_MS 10

/* @fn: gets the answer; NULL: there is none */
static int ask(struct nlmsghdr *request, mnl_cb_t fn, void *arg)
{
	struct mnl_socket *nl = mnl_socket_open(NETLINK_ROUTE);
	char buf[BUF];
	ssize_t n;
	int r = 0;

	if (!nl)
		return -errno;
	request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	request->nlmsg_seq = 1;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(nl, request, request->nlmsg_len) < 0)
		r = -errno;
	while (!r) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0)
			r = -errno;
		else if (mnl_cb_run(buf, n, 1, mnl_socket_get_portid(nl), fn, arg) <= 0)
			break;
	}
	if (!r && n >= (ssize_t)sizeof(struct nlmsgerr) &&
	    ((struct nlmsghdr *)buf)->nlmsg_type == NLMSG_ERROR)
		r = ((struct nlmsgerr *)mnl_nlmsg_get_payload((struct nlmsghdr *)buf))->error;
	mnl_socket_close(nl);
	return r;
}

static struct nlmsghdr *request_of(char *buf, uint16_t type, uint16_t flags, unsigned int ifindex)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	ifi->ifi_index = ifindex;
	return nlh;
}

/* A queue for each CPU, so that none waits for another to take packets off it. */
static void put_queues(struct nlmsghdr *nlh)
{
	uint32_t n = sysconf(_SC_NPROCESSORS_CONF);

	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, n);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, n);
}

int lx_link_add_veth(const char *name, const char *peer)
{
	char buf[BUF];
	struct nlmsghdr *nlh = request_of(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	struct nlattr *info, *data, *end;
	struct ifinfomsg *ifi;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_MTU, MTU);
	put_queues(nlh);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	end = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, peer);
	mnl_attr_put_u32(nlh, IFLA_MTU, MTU);
	put_queues(nlh);
	mnl_attr_nest_end(nlh, end);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return ask(nlh, NULL, NULL);
}

int lx_link_add_macvlan(const char *name, const char *lower)
{
	char buf[BUF];
	struct nlmsghdr *nlh = request_of(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, 0);
	struct nlattr *info, *data;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	mnl_attr_put_u32(nlh, IFLA_LINK, lx_netif_index(lower));
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "macvlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u32(nlh, IFLA_MACVLAN_MODE, MACVLAN_MODE_PRIVATE);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return ask(nlh, NULL, NULL);
}

/* No address of its own, no neighbour discovery. */
static void no_ipv6(const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* If it fails there is just some noise. */
	if (write(fd, "1", 1) < 0)
		(void)errno;
	close(fd);
}

int lx_link_up(const char *name, const char *alias)
{
	char buf[BUF];
	struct nlmsghdr *nlh = request_of(buf, RTM_NEWLINK, 0, lx_netif_index(name));
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	no_ipv6(name);
	ifi->ifi_flags = ifi->ifi_change = IFF_UP | IFF_NOARP;
	mnl_attr_put_strz(nlh, IFLA_IFALIAS, alias);
	return ask(nlh, NULL, NULL);
}

static int note_queue(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *attr;
	bool *has_queue = arg;

	mnl_attr_for_each(attr, nlh, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(attr) == IFLA_QDISC)
			*has_queue = strcmp(mnl_attr_get_str(attr), "noop") != 0;
	}
	return MNL_CB_OK;
}

void lx_link_wait(const char *name)
{
	unsigned int ifindex = lx_netif_index(name);
	bool has_queue = false;
	char buf[BUF];

	for (int i = 0; i < WAITS; i++) {
		if (ask(request_of(buf, RTM_GETLINK, 0, ifindex), note_queue, &has_queue) ||
		    has_queue)
			return;
		usleep(WAIT_MS * 1000);
	}
}

void lx_link_del(const char *name)
{
	unsigned int ifindex = lx_netif_index(name);
	char buf[BUF];

	if (ifindex)
		(void)ask(request_of(buf, RTM_DELLINK, 0, ifindex), NULL, NULL);
}
