/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the kernel's socket when the daemon hands a connection to the programs: only the kernel
 * knows its sequence numbers, windows and timestamps.
 *
 * The struct members used are declared here and relocated on loading, so the program does not
 * depend on the kernel it was built on.
 */
#ifndef LX_BPF_TAKEOVER_H
#define LX_BPF_TAKEOVER_H

#include <bpf/bpf_core_read.h>

#include "next_hop.h"

struct rb_root___lx {
	void *rb_node;
} __attribute__((preserve_access_index));

struct tcp_options_received___lx {
	__u32 ts_recent;
	__u16 tstamp_ok : 1;
	__u16 snd_wscale : 4;
	__u16 rcv_wscale : 4;
} __attribute__((preserve_access_index));

struct tcp_sock___lx {
	__u32 rcv_nxt, rcv_wup, rcv_wnd, snd_nxt, snd_una, snd_wnd, max_window, write_seq, tsoffset;
	__u64 bytes_received;
	__u8 ecn_flags;
	struct rb_root___lx out_of_order_queue;
	struct tcp_options_received___lx rx_opt;
	__u8 tcp_usec_ts : 1; /* since 6.7 */
} __attribute__((preserve_access_index));

LX_INLINE void lx_takeover_tcp_ts(struct lx_tcp_ts *tcp_ts, const struct tcp_sock___lx *tp)
{
	tcp_ts->offset = tp->tsoffset;
	tcp_ts->recent = tp->rx_opt.ts_recent;
	tcp_ts->recent_s = bpf_ktime_get_ns() / LX_S_NS;
}

/*
 * Socket positions count from the first byte that the socket received. If the connection was a
 * stream before, stream positions are ahead by the bytes that went to lanes.
 */
LX_INLINE int lx_takeover_stream(struct lx_stream *s, const struct tcp_sock___lx *tp, int on)
{
	__u64 received = tp->bytes_received, diverted = s->diverted;
	__u32 base_seq = tp->rcv_nxt - (__u32)received;
	/* Both were read while a packet came in, now or the first time: begin again. */
	int torn = on && base_seq != s->base_seq;

	s->base_seq = base_seq;
	s->wscale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale);
	s->peer_wscale = BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale);
	if (!on || torn) {
		s->high = s->acked = received + diverted;
		s->socket_una = lx_pos_of(tp->rcv_wup, s->base_seq, received);
		s->socket_window_edge = s->socket_una + tp->rcv_wnd;
		s->socket_seq = tp->snd_nxt;
		s->peer_acked = tp->snd_una;
		s->window_max = tp->max_window;
		s->state = LX_STREAM_TAKEOVER;
		return torn ? LX_TAKEOVER_BUSY : LX_TAKEOVER_OK;
	}
	s->options = BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok) ? LX_TCP_TS_LEN : 0;
	lx_takeover_tcp_ts(&s->tcp_ts, tp);
	/* If the socket has sent meanwhile, we have already seen more. */
	s->socket_seq = lx_seq_max(s->socket_seq, tp->snd_nxt);
	s->peer_acked = lx_seq_max(s->peer_acked, tp->snd_una);
	s->socket_una = lx_pos_of(tp->rcv_wup, s->base_seq, received);
	s->socket_window_edge = lx_pos_max(s->socket_window_edge, s->socket_una + tp->rcv_wnd);
	s->socket_sent = lx_pos_max(received, s->high - diverted);
	s->kacked = s->socket_una;
	s->acked = s->advertised_ack = s->socket_una + diverted;
	s->window_edge = s->advertised_edge = s->socket_window_edge + diverted;
	/* Starts unframed: the slow path has not read these bytes, so boundaries are unknown. */
	s->parse_next = s->acked;
	s->unframed = 0;
	lx_unframed_enter(s, LX_LANE0_UNFRAMED);
	s->high = s->socket_sent + diverted;
	s->unframed_high = tp->out_of_order_queue.rb_node ? s->window_edge : s->high;
	s->state = LX_STREAM_ON;
	return LX_TAKEOVER_OK;
}

/* Position 0 is the socket's next byte. */
LX_INLINE int lx_takeover_lane(struct lx_lane *lane, const struct tcp_sock___lx *tp)
{
	if (tp->snd_una != tp->snd_nxt || tp->write_seq != tp->snd_nxt)
		return LX_TAKEOVER_BUSY;
	lane->base_seq = tp->snd_nxt + lane->shift;
	lane->wscale = BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale);
	lane->options = BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok) ? LX_TCP_TS_LEN : 0;
	lx_takeover_tcp_ts(&lane->tcp_ts, tp);
	/* Numbering continues: an old entry of the ring is never taken for a new run. */
	lane->run_first = lx_lane_tail(lane->word);
	lane->word = (__u64)(lane->run_first << LX_LANE_TAIL_SHIFT | LX_LANE_OWNER) << 32;
	lane->popping = 0;
	lane->una = lane->sent = 0;
	lane->window_edge = tp->snd_wnd;
	lane->window_edge_seq = tp->rcv_nxt;
	lane->window_max = tp->max_window;
	lane->own_wscale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale);
	lane->n_sack = 0;
	lane->ack_seq = tp->rcv_nxt;
	lane->window = tp->rcv_wnd >> BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale);
	lane->state = LX_LANE_LIVE;
	return LX_TAKEOVER_OK;
}

LX_INLINE struct bpf_sock *lx_takeover_lookup(struct __sk_buff *skb, const struct lx_flow_key *key,
					      __u32 family)
{
	struct bpf_sock_tuple tuple;

	__builtin_memset(&tuple, 0, sizeof(tuple));
	if (family == LX_AF_INET6) {
		__builtin_memcpy(tuple.ipv6.saddr, key->remote, 16);
		__builtin_memcpy(tuple.ipv6.daddr, key->local, 16);
		tuple.ipv6.sport = key->remote_port;
		tuple.ipv6.dport = key->local_port;
		return bpf_skc_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
	}
	__builtin_memcpy(&tuple.ipv4.saddr, key->remote + 12, 4);
	__builtin_memcpy(&tuple.ipv4.daddr, key->local + 12, 4);
	tuple.ipv4.sport = key->remote_port;
	tuple.ipv4.dport = key->local_port;
	return bpf_skc_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
}

/* The feature of a connection that the programs do not support; LX_STREAM_FREE: none. */
LX_INLINE enum lx_stream_state lx_takeover_unfit(const struct tcp_sock___lx *tp)
{
	if (bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts))
		return LX_STREAM_CLOCK;
	if (bpf_core_field_exists(tp->ecn_flags) && (tp->ecn_flags & 1))
		return LX_STREAM_ECN;
	return LX_STREAM_FREE;
}

LX_INLINE int lx_takeover(struct __sk_buff *skb, const struct lx_takeover *takeover)
{
	struct lx_stream *s = takeover->kind == LX_FLOW_STREAM ? lx_stream_at(takeover->index) : 0;
	struct lx_lane *lane = takeover->kind == LX_FLOW_LANE ? lx_lane_at(takeover->index) : 0;
	const struct tcp_sock___lx *tp;
	enum lx_stream_state unfit;
	int r = LX_TAKEOVER_NO_SOCKET;
	struct bpf_sock *sk;

	if (s)
		sk = lx_takeover_lookup(skb, &s->key, s->family);
	else if (lane)
		sk = lx_takeover_lookup(skb, &lane->key, lane->family);
	else
		return r;
	if (!sk)
		return r;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	unfit = tp ? lx_takeover_unfit(tp) : LX_STREAM_FREE;
	if (unfit != LX_STREAM_FREE) {
		r = LX_TAKEOVER_UNFIT;
		if (s)
			s->state = unfit;
	} else if (tp && s)
		r = lx_takeover_stream(s, tp, takeover->on);
	else if (tp)
		r = lx_takeover_lane(lane, tp);
	bpf_sk_release(sk);
	return r;
}

#endif
