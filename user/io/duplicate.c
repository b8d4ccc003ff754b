/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Another machine with an address of ours; see the header. Called by daemon and tools. No state. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/checksum.h"
#include "../base/clock.h"
#include "duplicate.h"

#define TRIES 2
#define WAIT_MS 200

struct arp {
	struct arphdr h;
	uint8_t sender_mac[6], sender[4], target_mac[6], target[4];
};

struct solicit {
	struct ip6_hdr ip;
	struct nd_neighbor_solicit ns;
};

/* A packet socket on the interface that has an address. */
struct probe {
	int fd;
	union lx_addr addr;
	struct sockaddr_ll own;
};

static bool is_v6(const struct probe *p)
{
	return p->addr.sa.sa_family == AF_INET6;
}

static int open_probe(struct probe *p, const struct lx_nid *nid)
{
	socklen_t len = sizeof(p->own);
	struct lx_netif netif;
	int r = nid->type == LX_NET_TCP ? lx_netif_by_nid(nid, "", &netif) : -EOPNOTSUPP;

	if (r)
		return r;
	p->addr = netif.addr;
	p->own = (struct sockaddr_ll){ .sll_family = AF_PACKET,
				       .sll_protocol = htons(is_v6(p) ? ETH_P_IPV6 : ETH_P_ARP),
				       .sll_ifindex = netif.index };
	p->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&p->own, sizeof(p->own)) ||
	    getsockname(p->fd, (struct sockaddr *)&p->own, &len))
		return -errno;
	return p->own.sll_hatype == ARPHRD_ETHER ? 0 : -EOPNOTSUPP;
}

static bool send_to(const struct probe *p, const uint8_t mac[6], const void *packet, size_t len)
{
	struct sockaddr_ll to = p->own;

	to.sll_halen = 6;
	memcpy(to.sll_addr, mac, 6);
	return sendto(p->fd, packet, len, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)len;
}

/* An ARP probe: without a sender address, so no table learns from it. */
static bool ask_arp(const struct probe *p)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };
	struct arp arp = { .h = { .ar_hrd = htons(ARPHRD_ETHER),
				  .ar_pro = htons(ETH_P_IP),
				  .ar_hln = 6,
				  .ar_pln = 4,
				  .ar_op = htons(ARPOP_REQUEST) } };

	memcpy(arp.sender_mac, p->own.sll_addr, 6);
	memcpy(arp.target, &p->addr.v4.sin_addr, 4);
	return send_to(p, all, &arp, sizeof(arp));
}

/* To the multicast group of all that have an address with these last three bytes. */
static bool ask_nd(const struct probe *p)
{
	struct solicit s = { .ip = { .ip6_plen = htons(sizeof(s.ns)),
				     .ip6_nxt = IPPROTO_ICMPV6,
				     .ip6_hlim = 255 },
			     .ns = { .nd_ns_type = ND_NEIGHBOR_SOLICIT,
				     .nd_ns_target = p->addr.v6.sin6_addr } };
	uint8_t mac[6] = { 0x33, 0x33, 0xff };

	s.ip.ip6_vfc = 6 << 4; /* in a union with the length */
	inet_pton(AF_INET6, "ff02::1:ff00:0", &s.ip.ip6_dst);
	memcpy(&s.ip.ip6_dst.s6_addr[13], &p->addr.v6.sin6_addr.s6_addr[13], 3);
	memcpy(&mac[3], &p->addr.v6.sin6_addr.s6_addr[13], 3);
	/* Of the pseudo header, too, in which the source is 0. */
	s.ns.nd_ns_cksum = ~lx_checksum_add((const char *)&s + offsetof(struct solicit, ip.ip6_dst),
					    sizeof(s.ip.ip6_dst) + sizeof(s.ns),
					    sizeof(s.ns) + IPPROTO_ICMPV6);
	return send_to(p, mac, &s, sizeof(s));
}

/* Whether it comes from somebody who has the address. */
static bool claims(const struct probe *p, const void *packet, size_t len)
{
	const struct arp *arp = packet;
	const struct ip6_hdr *ip = packet;
	const struct nd_neighbor_advert *na = (const void *)(ip + 1);

	if (!is_v6(p))
		return len >= sizeof(*arp) && arp->h.ar_pro == htons(ETH_P_IP) &&
		       !memcmp(arp->sender, &p->addr.v4.sin_addr, 4);
	return len >= sizeof(*ip) + sizeof(*na) && ip->ip6_nxt == IPPROTO_ICMPV6 &&
	       na->nd_na_type == ND_NEIGHBOR_ADVERT &&
	       !memcmp(&na->nd_na_target, &p->addr.v6.sin6_addr, 16);
}

static bool is_claimed(const struct probe *p, uint8_t ret_mac[6])
{
	int64_t end = lx_clock_ms() + WAIT_MS, left = WAIT_MS;
	struct sockaddr_ll from;
	_Alignas(8) char packet[256];

	for (; left >= 0; left = end - lx_clock_ms()) {
		struct pollfd poll_fd = { .fd = p->fd, .events = POLLIN };
		socklen_t size = sizeof(from);
		ssize_t len;

		if (poll(&poll_fd, 1, left) <= 0)
			continue;
		len = recvfrom(p->fd, packet, sizeof(packet), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &size);
		if (len <= 0 || from.sll_pkttype == PACKET_OUTGOING || !claims(p, packet, len) ||
		    lx_netif_has_mac(from.sll_addr)) /* of ours, on the same LAN */
			continue;
		memcpy(ret_mac, from.sll_addr, 6);
		return true;
	}
	return false;
}

int lx_duplicate_find(const struct lx_nid *nid, char ret_mac[LX_MAC_TEXT])
{
	struct probe p = { .fd = -1 };
	int r = open_probe(&p, nid);
	uint8_t mac[6] = { 0 };

	for (int i = 0; !r && i < TRIES; i++) {
		if (!(is_v6(&p) ? ask_nd(&p) : ask_arp(&p)))
			r = -errno;
		else if (is_claimed(&p, mac))
			r = 1;
	}
	if (r > 0)
		snprintf(ret_mac, LX_MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			 mac[2], mac[3], mac[4], mac[5]);
	if (p.fd >= 0)
		close(p.fd);
	return r;
}
