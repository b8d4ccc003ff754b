/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Probes a path, and its MTU; see the header. Called by fabric.c and reach.c. */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../user/base/array.h"
#include "../../user/base/checksum.h"
#include "../../user/base/cleanup.h"
#include "../../user/base/clock.h"
#include "../../user/io/netif.h"
#include "echo.h"

#define WAIT_MS 300
#define TRIES 3 /* the first one may wait for ARP */
#define MTU_MAX 65536
#define SMALL 100

struct echo {
	int fd;
	bool v6;
	uint16_t id, seq;
	_Alignas(8) char packet[MTU_MAX];
};

/* @own: NULL: any. Returns the descriptor, in @e, too; -EOPNOTSUPP: not tcp, or of two families. */
static int open_socket(struct echo *e, const struct lx_nid *own, const struct lx_nid *peer)
{
	union lx_addr from, to;
	int probe, err;

	lx_addr_of_nid(&to, peer, 0);
	from = (union lx_addr){ .v6.sin6_family = to.sa.sa_family };
	if (own)
		lx_addr_of_nid(&from, own, 0);
	if ((own && own->type != LX_NET_TCP) || peer->type != LX_NET_TCP ||
	    from.sa.sa_family != to.sa.sa_family)
		return -EOPNOTSUPP;
	e->v6 = to.sa.sa_family == AF_INET6;
	e->id = getpid();
	e->fd = socket(to.sa.sa_family, SOCK_RAW | SOCK_CLOEXEC,
		       e->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	if (e->fd < 0)
		return -errno;
	probe = e->v6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
	if (!bind(e->fd, &from.sa, lx_addr_len(&from)) &&
	    !connect(e->fd, &to.sa, lx_addr_len(&to)) &&
	    !setsockopt(e->fd, e->v6 ? IPPROTO_IPV6 : IPPROTO_IP,
			e->v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &probe, sizeof(probe)))
		return e->fd;
	err = -errno;
	close(e->fd);
	return err;
}

/* Of the way's first link, unless the kernel has learned of a smaller one. */
static unsigned int mtu_of(int fd, bool v6)
{
	socklen_t len = sizeof(int);
	int mtu = 0;

	if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len))
		return 0;
	return mtu > 0 ? mtu : 0;
}

/* An IP packet of @size bytes in all. */
static bool send_echo(struct echo *e, unsigned int size)
{
	size_t len = size - (e->v6 ? 40 : 20);
	/* struct icmp6_hdr begins in the same way; the kernel fills in its checksum. */
	struct icmphdr *h = (struct icmphdr *)e->packet;

	memset(e->packet, 0, len);
	h->type = e->v6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	h->un.echo.id = e->id;
	h->un.echo.sequence = ++e->seq;
	if (!e->v6)
		h->checksum = ~lx_checksum_add(e->packet, len, 0);
	return send(e->fd, e->packet, len, 0) == (ssize_t)len;
}

static bool is_answer(const struct echo *e, ssize_t len)
{
	const struct iphdr *ip = (const struct iphdr *)e->packet;
	ssize_t at = e->v6 ? 0 : ip->ihl * 4;
	const struct icmphdr *h = (const struct icmphdr *)(e->packet + at);

	return len >= at + (ssize_t)sizeof(*h) &&
	       h->type == (e->v6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) && h->un.echo.id == e->id &&
	       h->un.echo.sequence == e->seq;
}

static bool answered(struct echo *e)
{
	int64_t end = lx_clock_ms() + WAIT_MS, left = WAIT_MS;

	/* Even if we were not running all the while, it may be there. */
	for (; left >= 0; left = end - lx_clock_ms()) {
		struct pollfd p = { .fd = e->fd, .events = POLLIN };

		if (poll(&p, 1, left) > 0 &&
		    is_answer(e, recv(e->fd, e->packet, sizeof(e->packet), MSG_DONTWAIT)))
			return true;
	}
	return false;
}

static bool passes(struct echo *e, unsigned int size)
{
	for (int i = 0; i < TRIES; i++) {
		if (send_echo(e, size) && answered(e))
			return true;
	}
	return false;
}

int lx_echo_mtu(const struct lx_nid *own, const struct lx_nid *peer, unsigned int *ret_mtu,
		unsigned int *ret_passed)
{
	static const unsigned int usual[] = { 9000, 4092, 2044, 1500, 1400, 1280, 576, SMALL };
	struct echo *e LX_AUTO_FREE = calloc(1, sizeof(*e));
	int fd LX_AUTO_CLOSE = -1;
	unsigned int mtu;

	*ret_mtu = *ret_passed = 0;
	if (!e)
		return -ENOMEM;
	fd = open_socket(e, own, peer);
	if (fd < 0)
		return fd;
	mtu = mtu_of(fd, e->v6);
	if (!mtu || mtu > MTU_MAX - 1) /* lo has no packet of that size */
		return 0;
	*ret_mtu = mtu;
	if (passes(e, mtu))
		*ret_passed = mtu;
	else if (!passes(e, SMALL))
		return 0;
	for (size_t i = 0; !*ret_passed && i < LX_ARRAY_LEN(usual); i++) {
		if (usual[i] < mtu && passes(e, usual[i]))
			*ret_passed = usual[i];
	}
	return 0;
}

int lx_echo_answers(const struct lx_nid *peer)
{
	struct echo *e LX_AUTO_FREE = calloc(1, sizeof(*e));
	int fd LX_AUTO_CLOSE = -1;

	if (!e)
		return -ENOMEM;
	fd = open_socket(e, NULL, peer);
	return fd < 0 ? fd : passes(e, SMALL);
}
