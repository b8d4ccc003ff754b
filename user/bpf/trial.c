/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pair of interfaces; the programs are at its near end. A sender and a next hop are both at the
 * far end, and have addresses for documentation (RFC 5737). Ours are of the loopback net, towards
 * the sender, so that the stack drops what goes up after it has been seen here.
 *
 *	far:  one GSO packet ─▶ near: lnetx_ingress ─▶ first and last message ─▶ far
 *	                                             └▶ message in between, up: seen at near
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/checksum.h"
#include "../base/log.h"
#include "../io/netif.h"
#include "bpf.h"
#include "fastpath.h"
#include "hook.h"
#include "link.h"
#include "resegment.h"
#include "trial.h"

/*
 * Lengths of the messages. Several segments each; and the first one is long enough that a kernel
 * which looks for the TCP header so many bytes in front of it drops the packet: where fewer bytes
 * are cut off, it may look at memory that is not there.
 */
#define FIRST 3000
#define OURS 2500
#define LAST 5000
#define ALL (FIRST + OURS + LAST)
#define SEGMENT 1000
#define HEADERS (ETH_HLEN + sizeof(struct iphdr) + sizeof(struct tcphdr))
#define TRIES 12
#define TRY_MS 250

/* Sequence numbers of position 0, and what is expected of the sender and the next hop. */
#define STREAM_SEQ 1000u
#define LANE_SEQ 2000u
#define ACK_SEQ 3000u
#define WINDOW (1 << 20)

/* One direction's bytes, in any order and in parts. */
struct arrival {
	uint8_t bytes[ALL];
	bool have[ALL];
};

struct lx_trial {
	struct lx_fastpath *fastpath;
	char near[IF_NAMESIZE], far[IF_NAMESIZE];
	struct lx_hook hook;
	int at_near, at_far; /* packet sockets; -1 */
	int stream, lane, sender, next_hop; /* entries; -1 */
	bool has_flow;
	struct lx_nid ours, theirs;
	struct {
		struct virtio_net_hdr gso;
		uint8_t bytes[HEADERS + ALL];
	} __attribute__((packed)) packet;
	struct arrival lane_got, up_got;
};

/* ---- addresses ----------------------------------------------------------------------- */

static const uint8_t sender_addr[4] = { 192, 0, 2, 3 }, sender_our_addr[4] = { 127, 0, 2, 1 };
static const uint8_t hop_addr[4] = { 192, 0, 2, 2 }, hop_our_addr[4] = { 192, 0, 2, 1 };
#define SENDER_PORT 1021
#define HOP_OUR_PORT 1020
#define PORT 988

static void map(uint8_t to[16], const uint8_t addr[4])
{
	union lx_addr from;

	lx_addr_init(&from, addr, 4, 0);
	lx_addr_map(&from, to);
}

static struct lx_nid nid_of(const uint8_t addr[4])
{
	struct lx_nid nid = { .type = LX_NET_TCP, .num = htons(0xffff) };

	memcpy(nid.addr, addr, 4);
	return nid;
}

/* ---- the connections, as takeovers would leave them -------------------------------------- */

static void stream_init(struct lx_trial *t, struct lx_stream *s)
{
	memset(s, 0, sizeof(*s));
	s->peer = t->sender;
	s->ifindex = lx_netif_index(t->near);
	s->version = LX_SOCK_V3;
	s->family = AF_INET;
	s->mss = SEGMENT;
	map(s->key.remote, sender_addr);
	map(s->key.local, sender_our_addr);
	s->key.remote_port = htons(SENDER_PORT);
	s->key.local_port = htons(PORT);
	s->base_seq = STREAM_SEQ;
	s->socket_seq = s->peer_acked = ACK_SEQ;
	s->window_max = WINDOW;
	s->socket_window_edge = s->window_edge = s->advertised_edge = WINDOW;
	s->state = LX_STREAM_ON;
}

static void lane_init(struct lx_trial *t, struct lx_lane *lane)
{
	memset(lane, 0, sizeof(*lane));
	lane->next_hop = t->next_hop;
	lane->ifindex = lx_netif_index(t->near);
	lane->version = LX_SOCK_V3;
	lane->family = AF_INET;
	lane->mss = SEGMENT;
	map(lane->key.remote, hop_addr);
	map(lane->key.local, hop_our_addr);
	lane->key.remote_port = htons(PORT);
	lane->key.local_port = htons(HOP_OUR_PORT);
	lane->base_seq = LANE_SEQ;
	lane->ack_seq = lane->window_edge_seq = ACK_SEQ;
	lane->window_edge = lane->window_max = WINDOW;
	lane->word = (__u64)LX_LANE_OWNER << 32;
	lane->state = LX_LANE_LIVE;
}

static void peers_init(struct lx_trial *t)
{
	struct lx_fp_peer *sender = lx_fastpath_peer(t->fastpath, t->sender);
	struct lx_fp_peer *hop = lx_fastpath_peer(t->fastpath, t->next_hop);

	memset(sender, 0, sizeof(*sender));
	memset(hop, 0, sizeof(*hop));
	sender->rtr.now = hop->tx.now = 8;
	hop->n_lanes = 1;
	hop->lane[0] = t->lane;
}

/* As new, for each run. */
static void connections_init(struct lx_trial *t)
{
	peers_init(t);
	stream_init(t, lx_fastpath_stream(t->fastpath, t->stream));
	lane_init(t, lx_fastpath_lane(t->fastpath, t->lane));
}

static int connections_open(struct lx_trial *t)
{
	struct lx_dest ours = { 0 }, theirs = { .n = 1 };
	int r;

	t->stream = lx_fastpath_take(t->fastpath, LX_FASTPATH_STREAMS, 1);
	t->lane = lx_fastpath_take(t->fastpath, LX_FASTPATH_LANES, 1);
	t->sender = lx_fastpath_take(t->fastpath, LX_FASTPATH_PEERS, 2);
	t->next_hop = lx_fastpath_take(t->fastpath, LX_FASTPATH_PEERS, 2);
	if (t->stream < 0 || t->lane < 0 || t->sender < 0 || t->next_hop < 0)
		return -EBUSY; /* only before the tables are in use */
	t->ours = nid_of(sender_our_addr);
	t->theirs = nid_of(hop_addr);
	theirs.next_hop[0] = t->next_hop;
	connections_init(t);
	r = lx_fastpath_dest_set(t->fastpath, &t->ours, &ours);
	if (!r)
		r = lx_fastpath_dest_set(t->fastpath, &t->theirs, &theirs);
	if (!r)
		r = lx_fastpath_flow_add(t->fastpath,
					 &lx_fastpath_stream(t->fastpath, t->stream)->key,
					 LX_FLOW_STREAM, t->stream);
	t->has_flow = !r;
	return r;
}

static void give(struct lx_trial *t, enum lx_fastpath_table table, int index, void *entry,
		 size_t size)
{
	if (index < 0)
		return;
	memset(entry, 0, size);
	lx_fastpath_give(t->fastpath, table, index);
}

static void connections_close(struct lx_trial *t)
{
	struct lx_fastpath *f = t->fastpath;

	if (t->has_flow)
		lx_fastpath_flow_del(f, &lx_fastpath_stream(f, t->stream)->key);
	lx_fastpath_dest_set(f, &t->ours, NULL);
	lx_fastpath_dest_set(f, &t->theirs, NULL);
	give(t, LX_FASTPATH_STREAMS, t->stream, lx_fastpath_stream(f, t->stream),
	     sizeof(struct lx_stream));
	give(t, LX_FASTPATH_LANES, t->lane, lx_fastpath_lane(f, t->lane), sizeof(struct lx_lane));
	give(t, LX_FASTPATH_PEERS, t->sender, lx_fastpath_peer(f, t->sender),
	     sizeof(struct lx_fp_peer));
	give(t, LX_FASTPATH_PEERS, t->next_hop, lx_fastpath_peer(f, t->next_hop),
	     sizeof(struct lx_fp_peer));
}

/* ---- the packet ------------------------------------------------------------------------ */

/* A message of @len bytes, headers included, the rest of which tells each byte's place. */
static uint8_t *message(uint8_t *at, const struct lx_nid *to, uint32_t len)
{
	struct lx_sock_msg head = { .type = LX_SOCK_LNET };
	struct lx_hdr hdr = { .dst_nid = *to, .src_nid = nid_of(sender_addr), .type = LX_MSG_PUT,
			      .payload_length = len - sizeof(head) - sizeof(struct lx_hdr_nid4) };
	struct lx_hdr_nid4 wire;

	for (uint32_t i = 0; i < len; i++)
		at[i] = i * 7 + (i >> 8) + len;
	lx_hdr_nid4_encode(&hdr, &wire);
	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), &wire, sizeof(wire));
	return at + len;
}

static void packet_init(struct lx_trial *t, const uint8_t mac[ETH_ALEN])
{
	struct ethhdr eth = { .h_proto = htons(ETH_P_IP) };
	struct iphdr ip = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP,
			    .tot_len = htons(sizeof(ip) + sizeof(struct tcphdr) + ALL),
			    .frag_off = htons(IP_DF) };
	struct tcphdr tcp = { .source = htons(SENDER_PORT), .dest = htons(PORT),
			      .seq = htonl(STREAM_SEQ), .ack_seq = htonl(ACK_SEQ), .ack = 1,
			      .doff = sizeof(tcp) / 4, .window = htons(1000) };
	uint8_t *at = t->packet.bytes, *data = at + HEADERS;

	memcpy(eth.h_dest, mac, ETH_ALEN);
	memcpy(&ip.saddr, sender_addr, 4);
	memcpy(&ip.daddr, sender_our_addr, 4);
	ip.check = ~lx_checksum_add(&ip, sizeof(ip), 0);
	/* Only of the pseudo header: the sender of the segments completes it. */
	tcp.check = lx_checksum_add(&ip.saddr, 8, IPPROTO_TCP + sizeof(tcp) + ALL);
	memcpy(at, &eth, sizeof(eth));
	memcpy(at + ETH_HLEN, &ip, sizeof(ip));
	memcpy(at + ETH_HLEN + sizeof(ip), &tcp, sizeof(tcp));
	message(message(message(data, &t->theirs, FIRST), &t->ours, OURS), &t->theirs, LAST);
	t->packet.gso = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = HEADERS, .gso_size = SEGMENT, .csum_start = ETH_HLEN + sizeof(ip),
		.csum_offset = offsetof(struct tcphdr, check),
	};
}

/* ---- what arrives -------------------------------------------------------------------------- */

/* Notes the bytes of a packet to @port, if there are no more than @most. */
static void note(struct arrival *a, const uint8_t *frame, size_t n, uint16_t port, uint32_t seq,
		 size_t most)
{
	struct iphdr ip;
	struct tcphdr tcp;
	size_t len, from;

	if (n < HEADERS)
		return;
	memcpy(&ip, frame + ETH_HLEN, sizeof(ip));
	memcpy(&tcp, frame + ETH_HLEN + sizeof(ip), sizeof(tcp));
	if (ip.protocol != IPPROTO_TCP || tcp.source != htons(port) ||
	    ntohs(ip.tot_len) > n - ETH_HLEN || ntohs(ip.tot_len) < HEADERS - ETH_HLEN)
		return;
	len = ntohs(ip.tot_len) - (HEADERS - ETH_HLEN);
	from = ntohl(tcp.seq) - seq;
	if (len > most || from > most - len)
		return;
	memcpy(a->bytes + from, frame + HEADERS, len);
	memset(a->have + from, true, len);
}

static bool has(const struct arrival *a, const uint8_t *bytes, size_t from, size_t len)
{
	return !memchr(a->have + from, false, len) && !memcmp(a->bytes + from, bytes, len);
}

static bool all_arrived(const struct lx_trial *t)
{
	const uint8_t *data = t->packet.bytes + HEADERS;

	return has(&t->lane_got, data, 0, FIRST) && has(&t->up_got, data + FIRST, 0, OURS) &&
	       has(&t->lane_got, data + FIRST + OURS, FIRST, LAST);
}

/* Until all has arrived, or for a while. */
static bool receive(struct lx_trial *t)
{
	struct pollfd fd[2] = { { .fd = t->at_far, .events = POLLIN },
				{ .fd = t->at_near, .events = POLLIN } };
	static uint8_t frame[1 << 16];
	ssize_t n;

	while (!all_arrived(t)) {
		if (poll(fd, 2, TRY_MS) <= 0)
			return false;
		n = recv(t->at_far, frame, sizeof(frame), MSG_DONTWAIT);
		if (n > (ssize_t)sizeof(t->packet.gso))
			note(&t->lane_got, frame + sizeof(t->packet.gso),
			     n - sizeof(t->packet.gso), HOP_OUR_PORT, LANE_SEQ, FIRST + LAST);
		/* The packet itself, as it comes in, has more than is for us. */
		n = recv(t->at_near, frame, sizeof(frame), MSG_DONTWAIT);
		if (n > 0)
			note(&t->up_got, frame, n, SENDER_PORT, STREAM_SEQ, OURS);
	}
	return true;
}

int lx_trial_run(struct lx_trial *t)
{
	connections_init(t);
	memset(&t->lane_got, 0, sizeof(t->lane_got));
	memset(&t->up_got, 0, sizeof(t->up_got));
	for (int i = 0; i < TRIES; i++) {
		if (send(t->at_far, &t->packet, sizeof(t->packet), 0) < 0)
			return -errno;
		if (receive(t))
			return 0;
	}
	return -EBADMSG;
}

/* ---- life -------------------------------------------------------------------------------- */

static int packet_socket(const char *ifname, int *ret_fd)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
				    .sll_ifindex = (int)lx_netif_index(ifname) };

	*ret_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	return *ret_fd < 0 || bind(*ret_fd, (void *)&addr, sizeof(addr)) ? -errno : 0;
}

static int sockets_open(struct lx_trial *t, uint8_t ret_mac[ETH_ALEN])
{
	struct sockaddr_ll addr;
	socklen_t len = sizeof(addr);
	int r = packet_socket(t->near, &t->at_near);

	if (!r)
		r = packet_socket(t->far, &t->at_far);
	if (!r && (getsockname(t->at_near, (void *)&addr, &len) ||
		   setsockopt(t->at_far, SOL_PACKET, PACKET_VNET_HDR, &(int){ 1 }, sizeof(int))))
		r = -errno;
	if (!r)
		memcpy(ret_mac, addr.sll_addr, ETH_ALEN);
	return r;
}

static int links_open(struct lx_trial *t, const char *instance)
{
	char alias[128];
	int r;

	snprintf(alias, sizeof(alias), "lnetxd %s: tries its programs out", instance);
	lx_link_del(t->near);
	r = lx_link_add_veth(t->near, t->far);
	if (!r)
		r = lx_link_up(t->near, alias);
	if (!r)
		r = lx_link_up(t->far, alias);
	if (r)
		return r;
	lx_link_wait(t->near);
	lx_link_wait(t->far);
	return 0;
}

static int hook_open(struct lx_trial *t)
{
	bool tcx = lx_bpf_has(lx_fastpath_owner(t->fastpath), LX_BPF_TCX);

	t->hook = (struct lx_hook){ .kind = LX_BPF_HOOK_INGRESS, .program = "lnetx_ingress",
				    .ifindex = lx_netif_index(t->near), .tcx = tcx, .fd = -1 };
	snprintf(t->hook.ifname, sizeof(t->hook.ifname), "%s", t->near);
	return lx_hook_attach(&t->hook, lx_fastpath_ingress(t->fastpath), "");
}

int lx_trial_new(struct lx_fastpath *fastpath, struct lx_trial **ret_trial)
{
	const char *instance = lx_bpf_instance(lx_fastpath_owner(fastpath));
	struct lx_resegment names = lx_resegment_names(instance);
	struct lx_trial *t = calloc(1, sizeof(*t));
	uint8_t mac[ETH_ALEN];
	int r;

	if (!t)
		return -ENOMEM;
	t->fastpath = fastpath;
	t->at_near = t->at_far = t->stream = t->lane = t->sender = t->next_hop = -1;
	memcpy(t->near, names.near, sizeof(t->near));
	memcpy(t->far, names.far, sizeof(t->far));
	r = links_open(t, instance);
	if (!r)
		r = sockets_open(t, mac);
	if (!r)
		r = connections_open(t);
	if (!r)
		r = hook_open(t);
	if (r) {
		lx_trial_free(t);
		return r;
	}
	packet_init(t, mac);
	*ret_trial = t;
	return 0;
}

void lx_trial_free(struct lx_trial *t)
{
	if (!t)
		return;
	lx_link_del(t->near); /* with what is attached to it */
	lx_hook_close(&t->hook);
	if (t->at_near >= 0)
		close(t->at_near);
	if (t->at_far >= 0)
		close(t->at_far);
	connections_close(t);
	free(t);
}

/* ---- all of it --------------------------------------------------------------------------- */

static void ignore_record(const struct lx_record *record, void *arg)
{
}

static void ignore_stored(const struct lx_stored *stored, const void *bytes, void *arg)
{
}

int lx_trial(struct lx_fastpath *fastpath)
{
	static const struct lx_fastpath_ops ignore = { .record = ignore_record,
						       .stored = ignore_stored };
	struct lx_trial *t = NULL;
	char why[LX_BPF_TEXT];
	int r = lx_trial_new(fastpath, &t);

	if (!r)
		r = lx_trial_run(t);
	if (r == -EBADMSG) {
		lx_warn("bpf=fastpath reason=\"in a trial, a packet that was resegmented did not "
			"arrive\" action=\"lnetxd forwards all messages itself\"");
	} else if (r) {
		snprintf(why, sizeof(why), "they cannot be tried out: %s", strerror(-r));
		lx_fastpath_set_cuts(fastpath, why);
		r = 0;
	} else if (!lx_fastpath_set_cuts(fastpath, NULL) && lx_trial_run(t)) {
		lx_fastpath_set_cuts(fastpath, "in a trial, parts of a packet did not arrive");
	}
	lx_trial_free(t);
	lx_fastpath_dispatch(fastpath, &ignore, NULL);
	return r;
}
