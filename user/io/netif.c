/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Interfaces and sockets. No state: every call asks the system. Called by transports
 * when an NI or a connection comes up, by the daemon and the tools for names, indexes
 * and features. No other file asks about interfaces (tests/check-includes).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/line.h"
#include "netif.h"
#include "netlink.h"

/* IFF_LOWER_UP; its header, linux/if.h, cannot be included with net/if.h. */
#define LOWER_UP (1u << 16)

#define BELOW_MAX 4 /* a VLAN on a bond on cards, and one more */

static void free_ifaddrs(struct ifaddrs **p)
{
	if (*p)
		freeifaddrs(*p);
}

/* IFA_F_* of the IPv6 addresses, which getifaddrs() does not give. */
struct v6_flags {
	struct v6_flag {
		uint8_t addr[16];
		uint32_t flags;
	} *list;
	size_t n;
};

static void v6_flags_free(struct v6_flags *v6)
{
	free(v6->list);
}

static int take_v6(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *addr = lx_netlink_attr(nlh, sizeof(*ifa), IFA_ADDRESS);
	const struct nlattr *flags = lx_netlink_attr(nlh, sizeof(*ifa), IFA_FLAGS);
	struct v6_flags *v6 = arg;
	struct v6_flag *f;

	if (!addr || mnl_attr_get_payload_len(addr) < sizeof(f->addr))
		return MNL_CB_OK;
	f = lx_grow(&v6->list, &v6->n, sizeof(*f));
	if (!f)
		return MNL_CB_ERROR;
	memcpy(f->addr, mnl_attr_get_payload(addr), sizeof(f->addr));
	f->flags = flags ? mnl_attr_get_u32(flags) : ifa->ifa_flags;
	return MNL_CB_OK;
}

/* Without them all addresses are alike. */
static struct v6_flags v6_flags_get(void)
{
	const struct ifaddrmsg header = { .ifa_family = AF_INET6 };
	union lx_netlink_request request;
	struct v6_flags v6 = { NULL, 0 };

	lx_netlink_ask(NETLINK_ROUTE,
		       lx_netlink_request(&request, RTM_GETADDR, NLM_F_DUMP, &header,
					  sizeof(header)),
		       take_v6, &v6);
	return v6;
}

static uint32_t flags_of_addr(const struct v6_flags *v6, const struct sockaddr *sa)
{
	const struct in6_addr *addr = &((const struct sockaddr_in6 *)sa)->sin6_addr;

	for (size_t i = 0; sa->sa_family == AF_INET6 && i < v6->n; i++) {
		if (!memcmp(v6->list[i].addr, addr, sizeof(*addr)))
			return v6->list[i].flags;
	}
	return 0;
}

#define for_each_ifaddr(ifa, list)                                                                 \
	for (const struct ifaddrs *ifa = (list); ifa; ifa = ifa->ifa_next)

/* Interface ioctl; the caller sets the request's other members. 0 or -errno. */
static int ask(const char *name, unsigned long request, struct ifreq *ifr)
{
	LX_AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", name);
	return fd < 0 || ioctl(fd, request, ifr) ? -errno : 0;
}

/* @command: one of ethtool's, with its number in front */
static int ask_ethtool(const char *name, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	return ask(name, SIOCETHTOOL, &ifr);
}

/* 0: unknown */
static __u32 ethtool_value(const char *name, __u32 cmd)
{
	struct ethtool_value value = { .cmd = cmd };

	return ask_ethtool(name, &value) ? 0 : value.data;
}

/* Mb/s; 0: unknown. The old command has the speed and works everywhere. */
static unsigned int ethtool_speed(const char *name)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	__u32 speed;

	if (ask_ethtool(name, &cmd))
		return 0;
	/* Not ethtool_cmd_speed(): it overflows an int with the unknown speed, 65535 twice. */
	speed = (__u32)cmd.speed_hi << 16 | cmd.speed;
	return speed == (__u32)SPEED_UNKNOWN ? 0 : speed;
}

static unsigned int flags_of(const char *name)
{
	struct ifreq ifr = { 0 };

	return ask(name, SIOCGIFFLAGS, &ifr) ? 0 : ifr.ifr_flags;
}

bool lx_netif_is_loopback(const char *name)
{
	return flags_of(name) & IFF_LOOPBACK;
}

bool lx_netif_is_up(const char *name)
{
	return flags_of(name) & IFF_UP;
}

int lx_netif_is_ethernet(const char *name)
{
	struct ifreq ifr = { 0 };
	int err = ask(name, SIOCGIFHWADDR, &ifr);

	return err ? err : ifr.ifr_hwaddr.sa_family == ARPHRD_ETHER;
}

static bool find_card(const char *name, int depth, bool (*fits)(const char *name, void *arg),
		      void *arg, char ret_card[IFNAMSIZ])
{
	char pattern[96];
	bool found = false;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "/sys/class/net/%s/lower_*", name);
	if (glob(pattern, 0, NULL, &g)) {
		snprintf(ret_card, IFNAMSIZ, "%s", name);
		return fits(name, arg);
	}
	for (size_t i = 0; i < g.gl_pathc && !found && depth < BELOW_MAX; i++)
		found = find_card(strrchr(g.gl_pathv[i], '/') + strlen("/lower_"), depth + 1, fits,
				  arg, ret_card);
	globfree(&g);
	return found;
}

bool lx_netif_find_card(const char *name, bool (*fits)(const char *name, void *arg), void *arg,
			char ret_card[IFNAMSIZ])
{
	return find_card(name, 0, fits, arg, ret_card);
}

static bool has_lro(const char *name, void *arg)
{
	return ethtool_value(name, ETHTOOL_GFLAGS) & ETH_FLAG_LRO;
}

/* A bond has LRO on whatever its cards do. */
bool lx_netif_has_lro(const char *name, char ret_card[IFNAMSIZ])
{
	return lx_netif_find_card(name, has_lro, NULL, ret_card);
}

int lx_netif_driver(const char *name, char *ret_driver, size_t size)
{
	struct ethtool_drvinfo drv = { .cmd = ETHTOOL_GDRVINFO };
	int err = ask_ethtool(name, &drv);

	if (!err)
		snprintf(ret_driver, size, "%.*s", (int)sizeof(drv.driver), drv.driver);
	return err;
}

static int conf_of(const char *name, const char *key)
{
	char text[24];

	return lx_line_read(text, sizeof(text), "/proc/sys/net/ipv4/conf/%s/%s", name, key)
		       ? 0
		       : atoi(text);
}

int lx_netif_conf(const char *name, const char *key)
{
	int own = conf_of(name, key), all = conf_of("all", key);

	return own > all ? own : all;
}

bool lx_netif_tso(const char *name)
{
	return ethtool_value(name, ETHTOOL_GTSO);
}

static int set_feature(const char *name, __u32 cmd, bool on)
{
	struct ethtool_value value = { .cmd = cmd, .data = on };

	return ask_ethtool(name, &value);
}

int lx_netif_set_tso(const char *name, bool on)
{
	return set_feature(name, ETHTOOL_STSO, on);
}

int lx_netif_set_gro(const char *name, bool on)
{
	return set_feature(name, ETHTOOL_SGRO, on);
}

static void device_name(const char *name, char device[IFNAMSIZ])
{
	snprintf(device, IFNAMSIZ, "%s", name);
	device[strcspn(device, ":")] = '\0';
}

static unsigned int mtu_of(const char *name)
{
	struct ifreq ifr = { 0 };

	return ask(name, SIOCGIFMTU, &ifr) ? 0 : ifr.ifr_mtu;
}

static unsigned int prefix_len(const struct sockaddr *mask)
{
	unsigned int n = 0, bits = 0;
	const uint8_t *bytes = mask ? lx_addr_bytes((const union lx_addr *)mask, &n) : NULL;

	for (unsigned int i = 0; i < n; i++)
		bits += __builtin_popcount(bytes[i]);
	return bits;
}

static void fill_device(const struct ifaddrs *ifa, struct lx_netif *ret_netif)
{
	char device[IFNAMSIZ];

	memset(ret_netif, 0, sizeof(*ret_netif));
	snprintf(ret_netif->name, sizeof(ret_netif->name), "%s", ifa->ifa_name);
	device_name(ifa->ifa_name, device);
	ret_netif->index = if_nametoindex(device);
	ret_netif->enabled = ifa->ifa_flags & IFF_UP;
	ret_netif->up = ret_netif->enabled && (ifa->ifa_flags & IFF_RUNNING);
	ret_netif->carrier = ifa->ifa_flags & LOWER_UP;
	ret_netif->loopback = ifa->ifa_flags & IFF_LOOPBACK;
	ret_netif->mtu = mtu_of(device);
	ret_netif->speed_mbps = ethtool_speed(device);
	ret_netif->offload =
		ethtool_value(device, ETHTOOL_GSG) && ethtool_value(device, ETHTOOL_GTXCSUM);
}

static void fill_addr(const struct ifaddrs *ifa, struct lx_netif *ret_netif)
{
	const union lx_addr *addr = (const union lx_addr *)ifa->ifa_addr;

	memset(&ret_netif->addr, 0, sizeof(ret_netif->addr));
	memcpy(&ret_netif->addr, addr, lx_addr_len(addr));
	ret_netif->prefix_len = prefix_len(ifa->ifa_netmask);
}

static void fill(const struct ifaddrs *ifa, struct lx_netif *ret_netif)
{
	fill_device(ifa, ret_netif);
	fill_addr(ifa, ret_netif);
}

static bool is_ip(const struct sockaddr *sa)
{
	return sa && (sa->sa_family == AF_INET || sa->sa_family == AF_INET6);
}

/* Preference of addresses, lowest first. A tentative one cannot be used, but soon. */
enum { RANK_NONE, RANK_LINK_LOCAL, RANK_TENTATIVE, RANK_DEPRECATED, RANK_GLOBAL, RANK_IPV4 };

/* A node is known by its address, so a temporary one (RFC 8981) is none. */
static int rank(const struct sockaddr *sa, const struct v6_flags *v6)
{
	uint32_t flags;

	if (!is_ip(sa))
		return RANK_NONE;
	if (sa->sa_family == AF_INET)
		return RANK_IPV4;
	if (lx_addr_is_link_local((const union lx_addr *)sa))
		return RANK_LINK_LOCAL;
	flags = flags_of_addr(v6, sa);
	if (flags & IFA_F_TEMPORARY)
		return RANK_NONE;
	if (flags & IFA_F_TENTATIVE)
		return RANK_TENTATIVE;
	return flags & IFA_F_DEPRECATED ? RANK_DEPRECATED : RANK_GLOBAL;
}

unsigned int lx_netif_index(const char *name)
{
	return if_nametoindex(name);
}

int lx_netif_name(unsigned int index, char ret_name[IFNAMSIZ])
{
	if (if_indextoname(index, ret_name))
		return 0;
	return errno == ENXIO ? -ENODEV : -errno;
}

static void free_nameindex(struct if_nameindex **p)
{
	if (*p)
		if_freenameindex(*p);
}

int lx_netif_links(struct lx_netif_link **ret_list, size_t *ret_n)
{
	LX_CLEANUP(free_nameindex) struct if_nameindex *all = if_nameindex();
	struct lx_netif_link *list;
	size_t n = 0;

	if (!all)
		return -errno;
	while (all[n].if_index)
		n++;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i].index = all[i].if_index;
		snprintf(list[i].name, sizeof(list[i].name), "%s", all[i].if_name);
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

enum lx_down_why lx_netif_down(const struct lx_netif *netif, bool starting)
{
	if (!netif->enabled)
		return LX_DOWN_INTERFACE;
	return (starting ? netif->carrier : netif->up) ? LX_DOWN_NO : LX_DOWN_CARRIER;
}

int lx_netif_by_name(const char *name, struct lx_netif *ret_netif)
{
	LX_CLEANUP(free_ifaddrs) struct ifaddrs *list = NULL;
	LX_CLEANUP(v6_flags_free) struct v6_flags v6 = v6_flags_get();
	const struct ifaddrs *best = NULL;
	bool found = false;

	if (getifaddrs(&list))
		return -errno;
	for_each_ifaddr (ifa, list) {
		if (strcmp(ifa->ifa_name, name))
			continue;
		found = true;
		if (rank(ifa->ifa_addr, &v6) > (best ? rank(best->ifa_addr, &v6) : 0))
			best = ifa;
	}
	if (!best)
		return found ? -EADDRNOTAVAIL : -ENODEV;
	fill(best, ret_netif);
	return 0;
}

int lx_netif_by_addr(const union lx_addr *addr, const char *name, struct lx_netif *ret_netif)
{
	LX_CLEANUP(free_ifaddrs) struct ifaddrs *list = NULL;
	const struct ifaddrs *best = NULL, *lo = NULL;

	if (getifaddrs(&list))
		return -errno;
	for (const struct ifaddrs *ifa = list; ifa && !best; ifa = ifa->ifa_next) {
		if (!is_ip(ifa->ifa_addr) || (name[0] && strcmp(ifa->ifa_name, name)))
			continue;
		if (lx_addr_same_host(addr, (const union lx_addr *)ifa->ifa_addr))
			best = ifa;
		else if (!lo && ifa->ifa_flags & IFF_LOOPBACK &&
			 ifa->ifa_addr->sa_family == AF_INET)
			lo = ifa;
	}
	/* All of 127.0.0.0/8 is ours, but the list has a single address of it. */
	if (!best && addr->sa.sa_family == AF_INET &&
	    ntohl(addr->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET)
		best = lo;
	if (!best)
		return -EADDRNOTAVAIL;
	fill(best, ret_netif);
	ret_netif->addr = *addr;
	lx_addr_set_port(&ret_netif->addr, 0);
	return 0;
}

int lx_netif_first(int family, const char *name, struct lx_netif *ret_netif)
{
	LX_CLEANUP(free_ifaddrs) struct ifaddrs *list = NULL;
	LX_CLEANUP(v6_flags_free) struct v6_flags v6 = v6_flags_get();
	const struct ifaddrs *best = NULL;
	int best_rank = RANK_LINK_LOCAL;
	bool wanted;

	if (getifaddrs(&list))
		return -errno;
	for_each_ifaddr (ifa, list) {
		wanted = name ? !strcmp(ifa->ifa_name, name)
			      : (ifa->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP;
		if (!wanted || rank(ifa->ifa_addr, &v6) <= best_rank ||
		    ifa->ifa_addr->sa_family != family)
			continue;
		best = ifa;
		best_rank = rank(ifa->ifa_addr, &v6);
	}
	if (!best)
		return name ? -EADDRNOTAVAIL : -ENODEV;
	fill(best, ret_netif);
	return 0;
}

bool lx_netif_has_mac(const uint8_t mac[6])
{
	LX_CLEANUP(free_ifaddrs) struct ifaddrs *list = NULL;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (const struct ifaddrs *ifa = list; ifa && !found; ifa = ifa->ifa_next) {
		const struct sockaddr_ll *ll = (const void *)ifa->ifa_addr;

		found = ll && ll->sll_family == AF_PACKET && ll->sll_halen == 6 &&
			!memcmp(ll->sll_addr, mac, 6);
	}
	return found;
}

int lx_netif_tx_dropped(const char *name, uint32_t *ret_dropped)
{
	LX_CLEANUP(free_ifaddrs) struct ifaddrs *list = NULL;
	const struct rtnl_link_stats *stats;

	if (getifaddrs(&list))
		return -errno;
	for_each_ifaddr (ifa, list) {
		if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != AF_PACKET || !ifa->ifa_data ||
		    strcmp(ifa->ifa_name, name))
			continue;
		stats = ifa->ifa_data;
		*ret_dropped = stats->tx_dropped + stats->tx_errors;
		return 0;
	}
	return -ENODEV;
}

int lx_netif_addrs(struct lx_netif **ret_list, size_t *ret_n)
{
	LX_CLEANUP(free_ifaddrs) struct ifaddrs *ifaddrs = NULL;
	LX_CLEANUP(v6_flags_free) struct v6_flags v6 = v6_flags_get();
	struct lx_netif *list = NULL, *netif;
	size_t n = 0;

	if (getifaddrs(&ifaddrs))
		return -errno;
	for_each_ifaddr (ifa, ifaddrs) {
		if (!is_ip(ifa->ifa_addr))
			continue;
		netif = lx_grow(&list, &n, sizeof(*netif));
		if (!netif) {
			free(list);
			return -ENOMEM;
		}
		/* Asking the device takes long, and it may have hundreds of addresses. */
		if (n > 1 && !strcmp(netif[-1].name, ifa->ifa_name))
			*netif = netif[-1];
		else
			fill_device(ifa, netif);
		fill_addr(ifa, netif);
		netif->fleeting = flags_of_addr(&v6, ifa->ifa_addr) &
				  (IFA_F_TEMPORARY | IFA_F_DEPRECATED);
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

/* ---- VRFs ----------------------------------------------------------------- */

static int take_vrf(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *info = lx_netlink_attr(nlh, sizeof(*ifi), IFLA_LINKINFO), *attr;
	const struct nlattr *master = lx_netlink_attr(nlh, sizeof(*ifi), IFLA_MASTER);
	unsigned int *ret_index = arg;

	if (!info)
		return MNL_CB_OK;
	mnl_attr_for_each_nested (attr, info) {
		uint16_t type = mnl_attr_get_type(attr);

		if ((type != IFLA_INFO_KIND && type != IFLA_INFO_SLAVE_KIND) ||
		    strcmp(mnl_attr_get_str(attr), "vrf"))
			continue;
		if (type == IFLA_INFO_KIND)
			*ret_index = ifi->ifi_index;
		else if (master)
			*ret_index = mnl_attr_get_u32(master);
	}
	return MNL_CB_OK;
}

unsigned int lx_netif_vrf(unsigned int index)
{
	const struct ifinfomsg header = { .ifi_index = (int)index };
	union lx_netlink_request request;
	unsigned int vrf = 0;

	lx_netlink_ask(NETLINK_ROUTE,
		       lx_netlink_request(&request, RTM_GETLINK, 0, &header, sizeof(header)),
		       take_vrf, &vrf);
	return vrf;
}

/* ---- routes --------------------------------------------------------------- */

static int take_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *oif = lx_netlink_attr(nlh, sizeof(struct rtmsg), RTA_OIF);
	unsigned int *ret_index = arg;

	if (oif)
		*ret_index = mnl_attr_get_u32(oif);
	return MNL_CB_OK;
}

bool lx_netif_leads_to(unsigned int index, const union lx_addr *local, const union lx_addr *remote,
		       uint32_t mark)
{
	struct rtmsg header = { .rtm_family = remote->sa.sa_family };
	union lx_netlink_request request;
	unsigned int n, by = index; /* not said of one of several paths */
	const uint8_t *from = lx_addr_bytes(local, &n), *to = lx_addr_bytes(remote, &n);
	struct nlmsghdr *nlh;

	header.rtm_src_len = header.rtm_dst_len = 8 * n;
	/* Else IPv4 takes the peer for a neighbour there; IPv6 names another interface. */
	if (header.rtm_family == AF_INET)
		header.rtm_flags = RTM_F_FIB_MATCH;
	nlh = lx_netlink_request(&request, RTM_GETROUTE, 0, &header, sizeof(header));
	mnl_attr_put(nlh, RTA_SRC, n, from);
	mnl_attr_put(nlh, RTA_DST, n, to);
	mnl_attr_put_u32(nlh, RTA_OIF, index);
	mnl_attr_put_u32(nlh, RTA_MARK, mark);
	return !lx_netlink_ask(NETLINK_ROUTE, nlh, take_route, &by) && by == index;
}

/* ---- sockets -------------------------------------------------------------- */

static int new_socket(const union lx_addr *addr)
{
	int fd = socket(addr->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (addr->sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
	return fd;
}

/* An address of an interface in a VRF is one only for sockets of the VRF. 0 or -errno. */
static int bind_to(int fd, const union lx_addr *addr)
{
	int err = bind(fd, &addr->sa, lx_addr_len(addr)) ? -errno : 0;
	struct lx_netif netif;
	unsigned int vrf;

	if (err != -EADDRNOTAVAIL || lx_netif_by_addr(addr, "", &netif))
		return err;
	vrf = lx_netif_vrf(netif.index);
	if (!vrf || setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &vrf, sizeof(vrf)))
		return err;
	return bind(fd, &addr->sa, lx_addr_len(addr)) ? -errno : 0;
}

int lx_netif_listen(const union lx_addr *addr, int backlog)
{
	int fd = new_socket(addr), r;

	if (fd < 0)
		return fd;
	r = bind_to(fd, addr);
	if (!r && !listen(fd, backlog))
		return fd;
	r = r ? r : -errno;
	close(fd);
	return r;
}

/* Tries one port (0: any). Returns the fd or -errno; @ret_bound: bind() succeeded. */
static int dial_from(const struct lx_netif_dial *dial, unsigned int port, bool *ret_bound)
{
	union lx_addr local = *dial->local;
	int fd = new_socket(&local), r;

	*ret_bound = false;
	if (fd < 0)
		return fd;
	if (!port)
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){ 1 }, sizeof(int));
	if (dial->prepare)
		dial->prepare(fd, dial->arg);
	lx_addr_set_port(&local, port);
	r = bind_to(fd, &local);
	*ret_bound = !r;
	if (!r &&
	    (!connect(fd, &dial->remote->sa, lx_addr_len(dial->remote)) || errno == EINPROGRESS))
		return fd;
	r = r ? r : -errno;
	close(fd);
	return r;
}

int lx_netif_dial(const struct lx_netif_dial *dial, bool *ret_privileged)
{
	bool bound;
	int r;

	*ret_privileged = true;
	for (unsigned int port = dial->port_first; port && port >= dial->port_last; port--) {
		r = dial_from(dial, port, &bound);
		if (!bound && (r == -EACCES || r == -EPERM))
			goto any;
		/* A port may be bound twice, but not for the same pair of addresses. */
		if (r != -EADDRINUSE && !(bound && r == -EADDRNOTAVAIL))
			return r;
	}
	if (dial->port_first)
		return -EADDRINUSE;
any:
	*ret_privileged = false;
	return dial_from(dial, 0, &bound);
}
