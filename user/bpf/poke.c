/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "poke.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "../base/checksum.h"

/* As from the other side: the program looks for the connection of a packet that has come in. */
struct frame {
	struct ethhdr ethernet;
	union {
		struct {
			struct iphdr ip;
			struct tcphdr tcp;
		} v4;
		struct {
			struct ip6_hdr ip;
			struct tcphdr tcp;
		} v6;
	};
} __attribute__((packed));

/* @addresses: both, in the IP header */
static struct tcphdr segment(const struct lx_flow_key *key, const void *addresses, size_t n)
{
	struct tcphdr tcp = { .source = key->remote_port,
			      .dest = key->local_port,
			      .doff = sizeof(tcp) / 4,
			      .ack = 1 };
	uint16_t pseudo = lx_checksum_add(addresses, n, IPPROTO_TCP + sizeof(tcp));

	tcp.check = ~lx_checksum_add(&tcp, sizeof(tcp), ntohs(pseudo));
	return tcp;
}

static size_t put4(struct frame *f, const struct lx_flow_key *key)
{
	struct iphdr ip = { .version = 4,
			    .ihl = 5,
			    .ttl = 64,
			    .protocol = IPPROTO_TCP,
			    .tot_len = htons(sizeof(f->v4)) };

	memcpy(&ip.saddr, key->remote + 12, 4);
	memcpy(&ip.daddr, key->local + 12, 4);
	ip.check = ~lx_checksum_add(&ip, sizeof(ip), 0);
	f->ethernet.h_proto = htons(ETH_P_IP);
	f->v4.ip = ip;
	f->v4.tcp = segment(key, &ip.saddr, 8);
	return offsetof(struct frame, v4) + sizeof(f->v4);
}

static size_t put6(struct frame *f, const struct lx_flow_key *key)
{
	struct ip6_hdr ip = { .ip6_flow = htonl(6u << 28),
			      .ip6_plen = htons(sizeof(f->v6.tcp)),
			      .ip6_nxt = IPPROTO_TCP,
			      .ip6_hlim = 64 };

	memcpy(&ip.ip6_src, key->remote, 16);
	memcpy(&ip.ip6_dst, key->local, 16);
	f->ethernet.h_proto = htons(ETH_P_IPV6);
	f->v6.ip = ip;
	f->v6.tcp = segment(key, &ip.ip6_src, 32);
	return offsetof(struct frame, v6) + sizeof(f->v6);
}

void lx_poke(int prog_fd, uint32_t mark, int family, const struct lx_flow_key *key)
{
	struct __sk_buff ctx = { .mark = LX_MARK | mark };
	struct frame frame = { 0 };
	size_t len = (family == AF_INET6 ? put6 : put4)(&frame, key);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = &frame, .data_size_in = len, .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx));

	(void)bpf_prog_test_run_opts(prog_fd, &opts);
}
