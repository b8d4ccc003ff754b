/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "poke.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int lx_poke_socket(int family)
{
	int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW), err;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_MARK, &(int){ LX_MARK | LX_MARK_POKE_ACK },
		       sizeof(int))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* @info: struct in_pktinfo or in6_pktinfo, which name the source and the interface. */
static void send_segment(int fd, const struct iovec *iov, const struct sockaddr *to,
			 socklen_t to_len, int level, int type, const void *info, size_t info_len)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = { 0 };
	struct msghdr msg = {
		.msg_name = (void *)to,
		.msg_namelen = to_len,
		.msg_iov = (void *)iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(info_len),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(info_len);
	memcpy(CMSG_DATA(cmsg), info, info_len);
	(void)!sendmsg(fd, &msg, 0);
}

static struct tcphdr segment(const struct lx_flow_key *key)
{
	return (struct tcphdr){ .source = key->local_port, .dest = key->remote_port,
				.doff = sizeof(struct tcphdr) / 4, .ack = 1 };
}

static void poke4(int fd, const struct lx_flow_key *key, unsigned int ifindex)
{
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
	} p = {
		.ip = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP,
			.frag_off = htons(IP_DF) },
		.tcp = segment(key),
	};
	struct in_pktinfo info = { .ipi_ifindex = (int)ifindex };
	struct sockaddr_in to = { .sin_family = AF_INET };

	memcpy(&p.ip.saddr, key->local + 12, 4);
	memcpy(&p.ip.daddr, key->remote + 12, 4);
	info.ipi_spec_dst.s_addr = p.ip.saddr;
	to.sin_addr.s_addr = p.ip.daddr;
	send_segment(fd, &(struct iovec){ &p, sizeof(p) }, (struct sockaddr *)&to, sizeof(to),
		     IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
}

static void poke6(int fd, const struct lx_flow_key *key, unsigned int ifindex)
{
	struct {
		struct ip6_hdr ip;
		struct tcphdr tcp;
	} p = {
		.ip = { .ip6_flow = htonl(6u << 28), .ip6_plen = htons(sizeof(p.tcp)),
			.ip6_nxt = IPPROTO_TCP, .ip6_hlim = 64 },
		.tcp = segment(key),
	};
	struct in6_pktinfo info = { .ipi6_ifindex = ifindex };
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

	memcpy(&p.ip.ip6_src, key->local, 16);
	memcpy(&p.ip.ip6_dst, key->remote, 16);
	info.ipi6_addr = p.ip.ip6_src;
	to.sin6_addr = p.ip.ip6_dst;
	send_segment(fd, &(struct iovec){ &p, sizeof(p) }, (struct sockaddr *)&to, sizeof(to),
		     IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
}

void lx_poke(int fd, int family, const struct lx_flow_key *key, unsigned int ifindex)
{
	(family == AF_INET6 ? poke6 : poke4)(fd, key, ifindex);
}
