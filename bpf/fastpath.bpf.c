/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path: traffic-control programs on the interfaces of TCP NIs. This file has the maps and
 * entry points; the logic is in the headers, bottom up:
 *
 *	abi.h       contents of the maps
 *	pos.h       sequence numbers and positions
 *	extent.h    which bytes of a stream went where
 *	lane.h      which stream owns which bytes of a lane; credits
 *	grant.h     who may send the next large message to a shared lane
 *	parse.h     framing, choosing a lane for each message
 *	ack.h       the ACK for a sender
 *	fragment.h  parts of a packet, canonical headers
 *	checksum.h  verifying checksums
 *	skb.h       what the kernel knows of a packet
 *	tcp.h       reading and writing segments
 *	accept.h    whether TCP would accept a segment
 *	past.h      segments that the programs have not seen
 *	store.h     bytes for a next hop that does not take them
 *	xmit.h      packets that leave
 *	cut.h       parts of packets that leave
 *	stream.h    packets of streams
 *	arrival.h   acknowledged runs of a lane, ACKs for their senders
 *	next_hop.h  packets of lanes
 *	icmp.h      ICMP about packets of lanes
 *	takeover.h  reading the kernel's socket
 */
#include <linux/bpf.h>
#include <linux/if_packet.h>

#define memset __builtin_memset
#define memcpy __builtin_memcpy
#include "icmp.h"
#include "past.h"
#include "takeover.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lx_abi);
} abi SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct lx_settings);
} settings SEC(".maps");

/* No preallocation: there may be many entries, but usually there are few. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LX_FLOWS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lx_flow_key);
	__type(value, struct lx_flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LX_DESTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct lx_nid);
	__type(value, struct lx_dest);
} dests SEC(".maps");

/* Tables that grow: the daemon adds blocks as needed (user/bpf/table.h). */
#define LX_TABLE(name, entry, max, block)                                                          \
	struct name##_block {                                                                      \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(max_entries, block);                                                        \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__type(key, __u32);                                                                \
		__type(value, struct entry);                                                       \
	};                                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                          \
		__uint(max_entries, (max) / (block));                                              \
		__type(key, __u32);                                                                \
		__array(values, struct name##_block);                                              \
	} name SEC(".maps");                                                                       \
	static struct entry *entry##_at(__u32 index)                                               \
	{                                                                                          \
		__u32 at = index / (block); /* one variable, to save stack */              \
		void *map = bpf_map_lookup_elem(&name, &at);                                       \
                                                                                                   \
		at = index % (block);                                                              \
		return map ? bpf_map_lookup_elem(map, &at) : 0;                                    \
	}
LX_TABLE(peers, lx_fp_peer, LX_PEERS_MAX, LX_PEER_BLOCK)
LX_TABLE(lanes, lx_lane, LX_LANES_MAX, LX_LANE_BLOCK)
LX_TABLE(streams, lx_stream, LX_STREAMS_MAX, LX_STREAM_BLOCK)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} records SEC(".maps");

/* Bytes for lnetxd: struct lx_stored, and what follows. A full ring is no loss (store.h). */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} stored SEC(".maps");

/* For "lnetx trace", or bpftool map event_pipe. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} trace SEC(".maps");

/* Two per CPU: a packet may be sent while another one is being received. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct lx_scratch);
} scratch SEC(".maps");

static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	struct lx_nid key = *nid; /* older kernels want keys on the stack */

	return bpf_map_lookup_elem(&dests, &key);
}

static struct lx_settings *lx_settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

static struct lx_flow *lx_flow_of(const struct lx_flow_key *key)
{
	return bpf_map_lookup_elem(&flows, key);
}

static int lx_packet_load(void *packet, __u32 at, void *to, __u32 len)
{
	__u32 which = 0;
	struct lx_scratch *w = bpf_map_lookup_elem(&scratch, &which);

	if (!w)
		return -1;
	return bpf_skb_load_bytes(packet, lx_seg_payload(&w->g) + at, to, len);
}

static int lx_record_emit(enum lx_record_type type, __u32 index, __u64 value)
{
	struct lx_record r = { .type = type, .index = index, .value = value,
			       .time_ns = bpf_ktime_get_ns() };

	return bpf_ringbuf_output(&records, &r, sizeof(r), 0) ? -1 : 0;
}

/* The bytes are behind @record. */
static int lx_stored_emit(const struct lx_stored *record, __u32 len)
{
	return bpf_ringbuf_output(&stored, (void *)record, sizeof(*record) + len, 0) ? -1 : 0;
}

/* Not inline: keeps its frame off the deepest call chain. */
static LX_NOINLINE void lx_trace(void *packet, const struct lx_stream *s,
				 const struct lx_message *m, const struct lx_choice *c)
{
	struct lx_settings *settings = lx_settings();
	struct lx_trace t;

	if (!settings || !settings->trace || m->noop)
		return;
	t.time_ns = bpf_ktime_get_ns();
	t.stream = c->index;
	t.bytes = m->len - lx_overhead(s->version);
	t.lane = c->lane;
	t.reason = c->reason;
	t.type = m->type;
	t.dst = m->dst;
	t.src = m->src;
	bpf_perf_event_output(packet, &trace, BPF_F_CURRENT_CPU, &t, sizeof(t));
}

/* The stack drops packets that are not addressed to this machine. Re-injected ones are ours. */
LX_INLINE int lx_is_for_us(const struct __sk_buff *skb)
{
	return skb->pkt_type == PACKET_HOST || (skb->mark & LX_MARK_MASK) == LX_MARK;
}

/* The daemon relies on what it knows of a connection only if the programs see all of it. */
LX_INLINE void lx_flow_comes(struct lx_flow *flow, const struct __sk_buff *skb)
{
	if (flow->in != skb->ifindex && (skb->mark & LX_MARK_MASK) != LX_MARK)
		flow->in = skb->ifindex;
}

/* The programs' own packets follow the socket's: the kernel knows the route. */
static LX_NOINLINE int lx_flow_moves(struct lx_flow *flow, __u32 ifindex)
{
	struct lx_stream *s;
	struct lx_lane *lane;

	if (!flow)
		return 0;
	flow->out = ifindex;
	if (flow->kind == LX_FLOW_STREAM && (s = lx_stream_at(flow->index)))
		s->ifindex = ifindex;
	if (flow->kind == LX_FLOW_LANE && (lane = lx_lane_at(flow->index)))
		lane->ifindex = ifindex;
	return 0;
}

/* Returns 1; 0: not TCP; -1: not in the form of a connection's packets. */
static LX_NOINLINE int lx_read_in(struct __sk_buff *skb, struct lx_scratch *w)
{
	int read;

	w->g.ours = 0;
	read = lx_seg_read(skb, &w->g);
	if (!read && lx_seg_may_be_tcp(skb, &w->g))
		read = lx_seg_read_odd(skb, &w->g);
	return read;
}

LX_INLINE int lx_flow_in(struct __sk_buff *skb, struct lx_scratch *w, const struct lx_flow *flow)
{
	if (flow->kind == LX_FLOW_SHIFT)
		return lx_shift_in(skb, w, flow->index);
	w->g.now_ns = bpf_ktime_get_ns();
	w->index = flow->index;
	w->may_cut = 0;
	return flow->kind == LX_FLOW_STREAM ? lx_stream_in(skb, w) : lx_lane_in(skb, w);
}

SEC("tc")
int lnetx_ingress(struct __sk_buff *skb)
{
	__u32 which = 0;
	struct lx_scratch *w = bpf_map_lookup_elem(&scratch, &which);
	struct lx_flow *flow;
	int read, verdict;

	if (!w || !lx_is_for_us(skb) || lx_skb_is_passed(skb))
		return LX_GO_ON;
	if (lx_is_marked(skb, LX_MARK_JOIN_UP)) {
		skb->mark = 0;
		lx_skb_pass(skb);
		return LX_GO_ON;
	}
	read = lx_read_in(skb, w);
	if (!read && lx_seg_is_icmp(skb, &w->g))
		return lx_icmp_in(skb, w);
	if (!read)
		return LX_GO_ON;
	flow = lx_flow_of(&w->g.key);
	if (!flow)
		return LX_GO_ON;
	/* Nothing in it can be trusted, or corrected for our socket. */
	if (read < 0)
		return LX_DROP;
	lx_flow_comes(flow, skb);
	/* A priority is not for where the packet goes next. */
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return LX_DROP;
	verdict = lx_flow_in(skb, w, flow);
	if (verdict == LX_GO_ON)
		lx_skb_pass(skb);
	return verdict;
}

/*
 * At the socket of a stream or a lane. It has other numbers than its connection: what comes past
 * the programs may lie in its window, at the wrong place. TCP repeats what is dropped. A socket
 * that lnetxd has left behind delivers no bytes: its peer is to learn that it is gone.
 */
SEC("socket")
int lnetx_passed(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct lx_settings *settings;
	struct lx_scratch *w;
	__u32 which = 0;

	if (lx_skb_is_passed(skb) ||
	    (sk && sk->state != BPF_TCP_ESTABLISHED && sk->state != BPF_TCP_CLOSE_WAIT))
		return -1; /* all of it */
	settings = lx_settings();
	w = bpf_map_lookup_elem(&scratch, &which);
	if (!settings || !w)
		return 0;
	LX_ADD(&settings->unpassed, 1);
	lx_past_note(skb, &w->g);
	return 0;
}

/*
 * The stack's answer to a SYN for which there is no socket, as when lnetxd was killed: it
 * acknowledges the SYN (RFC 9293 3.10.7.1), so the connection of these ports has ended.
 */
LX_INLINE int lx_is_refusal(const struct lx_seg *g)
{
	return (g->flags & LX_TCP_RST) && (g->flags & LX_TCP_ACK) && !g->seq;
}

SEC("tc")
int lnetx_egress(struct __sk_buff *skb)
{
	__u32 which = 1;
	struct lx_scratch *w;
	struct lx_flow *flow;

	if (lx_is_marked(skb, LX_MARK_DONE)) {
		skb->mark = 0;
		skb->tc_index = LX_LEFT;
		return LX_GO_ON;
	}
	w = bpf_map_lookup_elem(&scratch, &which);
	if (!w || skb->tc_index == LX_LEFT)
		return LX_GO_ON;
	w->g.ours = 1;
	if (!lx_seg_read(skb, &w->g))
		return LX_GO_ON;
	flow = lx_flow_of(&w->g.key);
	if (!flow)
		return LX_GO_ON;
	if ((w->g.flags & LX_TCP_SYN) || lx_is_refusal(&w->g)) {
		/* We, or the other side, reuse the ports of a connection that has ended. */
		bpf_map_delete_elem(&flows, &w->g.key);
		return LX_GO_ON;
	}
	skb->tc_index = LX_LEFT;
	if (flow->out != skb->ifindex)
		lx_flow_moves(flow, skb->ifindex);
	if (flow->kind == LX_FLOW_SHIFT)
		return lx_shift_out(skb, w, flow->index);
	w->g.now_ns = bpf_ktime_get_ns();
	w->index = flow->index;
	return flow->kind == LX_FLOW_STREAM ? lx_stream_out(skb, w) : lx_lane_out(skb, w);
}

/*
 * Clones that lnetx_ingress makes, and packets to be cut. They leave through an interface of our
 * own, to get here before anything else is sent; so do, without that, packets to be resegmented.
 */
SEC("tc")
int lnetx_part(struct __sk_buff *skb)
{
	__u32 which = 1, stream = skb->mark & 0xffff;
	struct lx_scratch *w = bpf_map_lookup_elem(&scratch, &which);
	const struct lx_settings *settings = lx_settings();
	struct lx_flow *flow;

	if (lx_is_marked(skb, LX_MARK_RESEGMENT))
		return LX_GO_ON;
	if (!w || !settings || lx_read_in(skb, w) <= 0)
		return LX_DROP;
	flow = lx_flow_of(&w->g.key);
	if (!flow)
		return LX_DROP;
	w->g.now_ns = bpf_ktime_get_ns();
	w->index = flow->index;
	w->may_cut = settings->cuts;
	if (lx_is_marked(skb, LX_MARK_FIN))
		return flow->kind == LX_FLOW_LANE ? lx_lane_fin(skb, w) : LX_DROP;
	if (lx_is_marked(skb, LX_MARK_TELL)) {
		skb->mark = 0;
		return lx_answer(skb, w, stream);
	}
	return flow->kind == LX_FLOW_STREAM ? lx_stream_part_out(skb, w) : LX_DROP;
}

/* Parts that have been cut, behind the interface that sets their headers anew. */
SEC("tc")
int lnetx_cut(struct __sk_buff *skb)
{
	struct lx_settings *settings = lx_settings();
	__u32 ifindex = skb->mark & 0xffff;

	if (!settings)
		return LX_DROP;
	if (skb->gso_size && !lx_headers_are_true(skb)) {
		LX_ADD(&settings->untrue, 1);
		settings->cuts = 0;
		return LX_DROP;
	}
	return lx_is_marked(skb, LX_MARK_CUT) ? lx_xmit(skb, ifindex) : LX_GO_ON;
}

/* After GRO: joined packets go where their parts would have gone. */
SEC("tc")
int lnetx_join(struct __sk_buff *skb)
{
	__u32 ifindex = skb->mark & 0xffff;

	if (lx_is_marked(skb, LX_MARK_JOIN))
		return lx_xmit(skb, ifindex);
	if (lx_is_marked(skb, LX_MARK_JOIN_UP))
		return bpf_redirect(ifindex, BPF_F_INGRESS);
	return LX_DROP;
}

/*
 * In place of the others while they move to the front of a hook (user/bpf/hook.h): no packet of
 * theirs passes by, so TCP sends some of them again.
 */
SEC("tc")
int lnetx_hold(struct __sk_buff *skb)
{
	__u32 which = 1;
	struct lx_scratch *w = bpf_map_lookup_elem(&scratch, &which);
	struct lx_flow_key out;

	if (!w || !lx_read_in(skb, w))
		return LX_GO_ON;
	memcpy(out.remote, w->g.key.local, sizeof(out.remote));
	memcpy(out.local, w->g.key.remote, sizeof(out.local));
	out.remote_port = w->g.key.local_port;
	out.local_port = w->g.key.remote_port;
	return lx_flow_of(&w->g.key) || lx_flow_of(&out) ? LX_DROP : LX_GO_ON;
}

/*
 * Run by the daemon, with a request (returns enum lx_takeover_result), or with a segment to be sent
 * as what its mark says (user/bpf/poke.h).
 */
SEC("tc")
int lnetx_takeover(struct __sk_buff *skb)
{
	struct lx_takeover takeover;

	/* For bpftool: no map declares these types, but they are those of the blocks. */
	(void)*(volatile __u32 *)&(__u32){ bpf_core_type_id_local(struct lx_fp_peer) +
					   bpf_core_type_id_local(struct lx_lane) +
					   bpf_core_type_id_local(struct lx_stream) };
	if (skb->mark) {
		lx_clone_now(skb);
		return LX_TAKEOVER_OK;
	}
	if (bpf_skb_load_bytes(skb, ETH_HLEN, &takeover, sizeof(takeover)))
		return LX_TAKEOVER_NO_SOCKET;
	return lx_takeover(skb, &takeover);
}

/* The licence that helpers check; the file's own is above. */
char _license[] SEC("license") = "Dual BSD/GPL";
