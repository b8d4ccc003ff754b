/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/hash.h"
#include "../io/netif.h"
#include "resegment.h"

#define MTU 65535
#define BUF 8192
#define NAME_DIGITS 5

/*
 * Instances may share a network namespace, and each must find what it left there. An
 * interface name has no room for the instance's name, so it has its hash.
 */
struct lx_resegment lx_resegment_names(const char *instance)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	char hash[NAME_DIGITS + 1] = "";
	uint64_t h = lx_hash_bytes(instance, strlen(instance));
	struct lx_resegment pair;

	for (unsigned int i = 0; i < NAME_DIGITS; i++, h /= sizeof(digits) - 1)
		hash[i] = digits[h % (sizeof(digits) - 1)];
	snprintf(pair.in, sizeof(pair.in), "lnetx-seg%s0", hash);
	snprintf(pair.out, sizeof(pair.out), "lnetx-seg%s1", hash);
	return pair;
}

/* ---- rtnetlink ----------------------------------------------------------------------- */

static int ask(struct nlmsghdr *request)
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
		else if (mnl_cb_run(buf, n, 1, mnl_socket_get_portid(nl), NULL, NULL) <= 0)
			break;
	}
	if (!r && n >= (ssize_t)sizeof(struct nlmsgerr) &&
	    ((struct nlmsghdr *)buf)->nlmsg_type == NLMSG_ERROR)
		r = ((struct nlmsgerr *)mnl_nlmsg_get_payload((struct nlmsghdr *)buf))->error;
	mnl_socket_close(nl);
	return r;
}

static struct nlmsghdr *link_request(char *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	return nlh;
}

/* Down, so that features can be switched off before there is traffic. */
static int add_pair(const struct lx_resegment *pair)
{
	char buf[BUF];
	struct nlmsghdr *nlh = link_request(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info, *data, *peer;
	struct ifinfomsg *ifi;

	mnl_attr_put_strz(nlh, IFLA_IFNAME, pair->in);
	mnl_attr_put_u32(nlh, IFLA_MTU, MTU);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, pair->out);
	mnl_attr_put_u32(nlh, IFLA_MTU, MTU);
	mnl_attr_nest_end(nlh, peer);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return ask(nlh);
}

static int set_up(const char *ifname, const char *instance)
{
	char buf[BUF], alias[128];
	struct nlmsghdr *nlh = link_request(buf, RTM_NEWLINK, 0);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

	ifi->ifi_index = lx_netif_index(ifname);
	ifi->ifi_flags = ifi->ifi_change = IFF_UP | IFF_NOARP;
	snprintf(alias, sizeof(alias), "lnetxd %s: resegments GSO packets", instance);
	mnl_attr_put_strz(nlh, IFLA_IFALIAS, alias);
	return ask(nlh);
}

void lx_resegment_del(const char *instance)
{
	char buf[BUF];
	struct nlmsghdr *nlh = link_request(buf, RTM_DELLINK, 0);
	struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct lx_resegment pair = lx_resegment_names(instance);

	ifi->ifi_index = lx_netif_index(pair.in);
	if (ifi->ifi_index)
		(void)ask(nlh);
}

/* ---- features of an end -------------------------------------------------------------------- */

/* No address of its own, no neighbour discovery. */
static void no_ipv6(const char *ifname)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", ifname);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* If it fails there is just some noise on the pair. */
	if (write(fd, "1", 1) < 0)
		(void)errno;
	close(fd);
}

/* One end must not join segments again, the other must. */
static int prepare(const char *ifname, const char *instance, bool gro)
{
	int r;

	no_ipv6(ifname);
	r = lx_netif_set_tso(ifname, false);
	if (!r)
		r = lx_netif_set_gro(ifname, gro);
	return r ? r : set_up(ifname, instance);
}

int lx_resegment_add(const char *instance, struct lx_resegment *ret_pair)
{
	struct lx_resegment pair = lx_resegment_names(instance);
	int r;

	lx_resegment_del(instance);
	r = add_pair(&pair);
	if (!r)
		r = prepare(pair.in, instance, true);
	if (!r)
		r = prepare(pair.out, instance, false);
	if (r)
		lx_resegment_del(instance);
	else
		*ret_pair = pair;
	return r;
}
