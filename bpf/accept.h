/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Acceptance: whether our own TCP would take a received segment. Programs run before the stack, so
 * these checks come before framing and before any field of the segment is used.
 *
 * The rules are those of Linux, in its order:
 *
 *	checksum	right (checksum.h)
 *	interface	with rp_filter, that of the connection
 *	flags		ACK or RST
 *	timestamp	not older than the last one (RFC 7323 5: PAWS)
 *	window		inside it, and not entirely acknowledged already
 *	ack		of sent data, and at most a window old (RFC 5961 5)
 *
 * A refused segment changes nothing but a counter. It goes up unchanged if the stack is sure to
 * refuse it, too; otherwise it is dropped, and answered where TCP would answer.
 */
#ifndef LX_BPF_ACCEPT_H
#define LX_BPF_ACCEPT_H

#include "tcp.h"

#define LX_ACCEPTED (-1)

/* A timestamp older than this proves nothing: the peer's clock may have wrapped. */
#define LX_TCP_TS_AGE_S (24 * 24 * 60 * 60)

/* @recent 0 is ignored: some systems start with it and then jump. */
LX_INLINE int lx_tcp_ts_is_old(const struct lx_tcp_ts *tcp_ts, const struct lx_seg *g)
{
	return g->has_ts && tcp_ts->recent && (__s32)(tcp_ts->recent - g->tsval) > 1 &&
	       (__u32)(g->now_ns / LX_S_NS) - tcp_ts->recent_s < LX_TCP_TS_AGE_S;
}

/* For an accepted segment that starts no later than our last ACK to the peer. */
LX_INLINE void lx_tcp_ts_note(struct lx_tcp_ts *tcp_ts, const struct lx_seg *g)
{
	if (!g->has_ts || (__s32)(g->tsval - tcp_ts->recent) <= 0)
		return;
	tcp_ts->recent = g->tsval;
	tcp_ts->recent_s = g->now_ns / LX_S_NS;
}

/* @una: first byte that the other side has not acknowledged; @next: next one to send to it. */
LX_INLINE int lx_ack_is_fit(__u32 ack, __u32 una, __u32 next, __u32 window_max)
{
	return (__s32)(next - ack) >= 0 && (__s64)(__s32)(una - ack) <= (__s64)window_max;
}

LX_INLINE __u32 lx_seg_room(const struct lx_seg *g)
{
	return g->len + (g->flags & LX_TCP_FIN ? 1 : 0);
}

/* The peer may send up to here: its window is advertised rounded up. */
LX_INLINE __u64 lx_stream_limit(const struct lx_stream *s)
{
	__u64 window_edge = s->state == LX_STREAM_ON ? s->advertised_edge
						     : s->socket_window_edge + s->diverted;

	return window_edge + (1u << (s->wscale & 15)) - 1;
}

/* A segment that ends before this is entirely acknowledged. */
LX_INLINE __u64 lx_stream_advertised(const struct lx_stream *s)
{
	return s->state == LX_STREAM_ON ? s->advertised_ack : s->socket_una + s->diverted;
}

/**
 * lx_accept_stream - whether a segment from a stream's peer is acceptable
 * @pos: stream position of its first byte
 * Returns LX_ACCEPTED or enum lx_refusal.
 */
LX_INLINE int lx_accept_stream(const struct lx_stream *s, const struct lx_seg *g, __u64 pos)
{
	__u64 limit = lx_stream_limit(s);

	if (!(g->flags & (LX_TCP_ACK | LX_TCP_RST)))
		return LX_REFUSED_FLAGS;
	if (!(g->flags & LX_TCP_RST) && lx_tcp_ts_is_old(&s->tcp_ts, g))
		return LX_REFUSED_TIMESTAMP;
	if (lx_pos_before(pos + lx_seg_room(g), lx_stream_advertised(s)) ||
	    lx_pos_before(limit, pos) || lx_pos_before(limit, pos + g->len))
		return LX_REFUSED_WINDOW;
	if (!(g->flags & LX_TCP_RST) &&
	    !lx_ack_is_fit(g->ack, s->peer_acked, s->socket_seq, s->window_max))
		return LX_REFUSED_ACK;
	return LX_ACCEPTED;
}

/* Records what an accepted segment acknowledges. Returns 1 if that includes new data. */
LX_INLINE int lx_stream_heard(struct lx_stream *s, const struct lx_seg *g, __u64 pos)
{
	__u32 window = g->window << (s->peer_wscale & 15);

	if (g->flags & LX_TCP_RST)
		return 0;
	if (!lx_pos_before(s->advertised_ack, pos))
		lx_tcp_ts_note(&s->tcp_ts, g);
	if (window > s->window_max)
		s->window_max = window;
	if ((__s32)(g->ack - s->peer_acked) <= 0)
		return 0;
	s->peer_acked = g->ack;
	return 1;
}

/* Whether TCP would answer a refused segment: the peer may have missed our ACK. */
LX_INLINE int lx_refusal_is_answered(struct lx_stream *s, const struct lx_seg *g, int refusal)
{
	if (g->flags & LX_TCP_RST)
		return 0;
	if (refusal == LX_REFUSED_TIMESTAMP)
		return g->len != 0;
	if (refusal != LX_REFUSED_WINDOW)
		return 0;
	if (g->len)
		return 1;
	if (g->now_ns - s->asked_ns < LX_ASKED_NS)
		return 0;
	s->asked_ns = g->now_ns;
	return 1;
}

/* ---- lanes --------------------------------------------------------------------------- */

/**
 * lx_accept_lane - whether a segment from a lane's next hop is acceptable
 * Its data goes to our socket unchanged, so its sequence numbers are the socket's.
 */
LX_INLINE int lx_accept_lane(const struct lx_lane *lane, const struct lx_seg *g)
{
	__u32 limit = lane->ack_seq + ((__u32)lane->window << (lane->own_wscale & 15));
	__u32 next = lx_seq_of(lx_lane_next(lane->word, lane->una), lane->base_seq);

	if (!(g->flags & (LX_TCP_ACK | LX_TCP_RST)))
		return LX_REFUSED_FLAGS;
	if (!(g->flags & LX_TCP_RST) && lx_tcp_ts_is_old(&lane->tcp_ts, g))
		return LX_REFUSED_TIMESTAMP;
	if ((__s32)(g->seq + lx_seg_room(g) - lane->ack_seq) < 0 || (__s32)(limit - g->seq) < 0)
		return LX_REFUSED_WINDOW;
	/* + 1: the socket may have sent a FIN last. */
	if (!(g->flags & LX_TCP_RST) &&
	    !lx_ack_is_fit(g->ack, lx_seq_of(lane->una, lane->base_seq), next + 1,
			   lane->window_max))
		return LX_REFUSED_ACK;
	return LX_ACCEPTED;
}

LX_INLINE void lx_lane_heard(struct lx_lane *lane, const struct lx_seg *g)
{
	__u32 window = g->window << (lane->wscale & 15);

	if (g->flags & LX_TCP_RST)
		return;
	if ((__s32)(g->seq - lane->ack_seq) <= 0)
		lx_tcp_ts_note(&lane->tcp_ts, g);
	if (window > lane->window_max)
		lane->window_max = window;
}

/* ---- checks that need the packet ------------------------------------------------------ */

#ifdef __bpf__

/* Whether the checksum of a segment is right. */
LX_GLOBAL int lx_is_intact(struct __sk_buff *skb, struct lx_seg *g, struct lx_csum_block *block)
{
	enum lx_csum_known known;
	__u64 pseudo, before = 0;
	__u32 sum = 0;

	if (!g || !block)
		return 0;
	known = lx_csum_known(skb, &sum);
	if (known == LX_CSUM_RIGHT || known == LX_CSUM_PARTIAL)
		return 1;
	pseudo = lx_csum_pseudo(g->l3, g->family, g->hlen + g->len);
	/* The NIC's sum includes the IP header: subtract it. A right IPv4 header sums to 0. */
	if (g->family == LX_AF_INET6)
		before = (__u16)~lx_csum_fold(lx_csum_words(g->l3, sizeof(g->ip6) / 4));
	if (known == LX_CSUM_COMPLETE && lx_csum_fold(pseudo + sum + before) == 0xffff)
		return 1;
	if (!lx_csum_adds_up(skb, block, g->l4, g->l4 + g->hlen + g->len, pseudo))
		return 0;
	/* The stack need not sum it again. */
	if (known == LX_CSUM_NONE)
		bpf_csum_level(skb, BPF_CSUM_LEVEL_INC);
	return 1;
}

static struct lx_settings *lx_settings(void);

/**
 * lx_accept_packet - verify the checksum and the interface of a segment
 * @ifindex: the connection's interface
 * The checksum of a fragment cannot be verified; nothing it says is used. Returns LX_ACCEPTED or
 * enum lx_refusal.
 */
LX_INLINE int lx_accept_packet(struct __sk_buff *skb, struct lx_seg *g, struct lx_csum_block *block,
			      __u32 ifindex)
{
	struct lx_settings *settings = lx_settings();

	if (!(g->odd & LX_ODD_FRAGMENT) && !lx_is_intact(skb, g, block))
		return LX_REFUSED_CHECKSUM;
	if (settings && settings->strict && g->family == LX_AF_INET && skb->ifindex != ifindex)
		return LX_REFUSED_INTERFACE;
	return LX_ACCEPTED;
}

#endif

#endif
