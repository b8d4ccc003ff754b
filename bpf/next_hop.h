/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of a lane: a connection to a next hop on which the programs send without its socket
 * knowing. As far as the socket knows, nothing has been sent since the takeover, at position 0.
 * After it gets the connection back (LX_LANE_SOCKET), its sequence numbers are shifted by what the
 * programs have sent. So are they while the lane is stored, and the socket sends what the programs
 * would have sent.
 */
#ifndef LX_BPF_NEXT_HOP_H
#define LX_BPF_NEXT_HOP_H

#include "arrival.h"
#include "stream.h"

/* ---- coming in ------------------------------------------------------------------------- */

/* To the socket, while it sends. */
LX_INLINE int lx_lane_to_socket(struct __sk_buff *skb, struct lx_scratch *w, struct lx_lane *lane)
{
	struct lx_seg *g = &w->g;

	if (g->flags & LX_TCP_ACK)
		lx_seg_put_ack(skb, g, lx_lane_socket_hears(lane, g->ack));
	return lx_seg_shift_blocks(skb, g, lane->socket_shift) ? LX_DROP : LX_GO_ON;
}

/* Passes a packet to the socket, which, if it does not send, has sent at most a FIN. */
LX_INLINE int lx_lane_up(struct __sk_buff *skb, struct lx_scratch *w, struct lx_lane *lane,
			 __u64 una, __u64 next)
{
	struct lx_seg *g = &w->g;
	__u32 ack = lane->base_seq - lane->shift + (lx_pos_before(next, una) ? 1 : 0);

	if (lx_lane_is_of_socket(lane))
		return lx_lane_to_socket(skb, w, lane);
	if ((g->flags & LX_TCP_ACK) && !(g->flags & LX_TCP_RST))
		lx_seg_put_ack(skb, g, ack);
	if (lx_seg_drop_blocks(skb, g))
		return LX_DROP;
	return LX_GO_ON;
}

/* Records an ACK. Returns 1 if it brings anything new. */
LX_INLINE int lx_lane_note(struct lx_lane *lane, const struct lx_seg *g, __u64 una,
			   __u64 window_edge)
{
	__u64 next = lx_lane_next(lane->word, lane->una);
	struct lx_sack sack[3];
	__u32 n = g->n_block;
	int news;

	lx_block_pos(&sack[0], &g->block[0], lane->base_seq, una);
	lx_block_pos(&sack[1], &g->block[1], lane->base_seq, una);
	lx_block_pos(&sack[2], &g->block[2], lane->base_seq, una);
	if (n > 3)
		n = 3;
	/* The first block may be a D-SACK, which concerns only this connection. */
	if (n && !lx_pos_before(una, sack[0].start)) {
		sack[0] = sack[1];
		sack[1] = sack[2];
		n--;
	}
	/* Ignore blocks beyond what was sent. */
	if (n && lx_pos_before(next, sack[0].end))
		n = 0;
	news = lx_pos_before(lane->una, una) || lane->window_edge != window_edge ||
	       n != lane->n_sack || (n && sack[0].end != lane->sack[0].end) ||
	       (n && sack[0].start != lane->sack[0].start);
	lane->sack[0] = sack[0];
	lane->sack[1] = sack[1];
	lane->sack[2] = sack[2];
	lane->n_sack = n;
	lx_lane_acked(lane, g->seq, una, window_edge);
	return news;
}

static void lx_stream_tell(void *packet, __u32 stream, __u32 by_record)
{
	struct __sk_buff *skb = packet;

	if (by_record) {
		lx_record_emit(LX_RECORD_POKE_ACK, stream, 0);
		return;
	}
	skb->mark = LX_MARK | LX_MARK_TELL | (stream & 0xffff);
	lx_clone_now(skb);
}

/* Tells all streams that have news except one, which it returns; LX_LANE_OWNER: none. */
static LX_NOINLINE __u32 lx_lane_tell(struct __sk_buff *skb, struct lx_lane *lane, __u32 index,
				      __u64 now_ns, __u32 by_record)
{
	struct lx_arrival a = { .lane = lane, .packet = skb, .now_ns = now_ns,
				.by_record = by_record, .index = index };
	__u32 stream;

	if (!lane)
		return LX_LANE_OWNER;
	stream = lx_arrival_note(&a);
	skb->mark = 0;
	return stream;
}

/*
 * The socket has the same receive sequence numbers: it refuses the same segments, and answers as
 * TCP requires. It must not see the ACK field.
 */
LX_INLINE int lx_lane_refuse(struct __sk_buff *skb, struct lx_scratch *w, struct lx_lane *lane,
			     int why)
{
	LX_ADD(&lane->refused[why & (LX_REFUSALS_ROOM - 1)], 1);
	if (why == LX_REFUSED_CHECKSUM)
		return LX_GO_ON;
	if (why != LX_REFUSED_WINDOW || (w->g.flags & LX_TCP_RST))
		return LX_DROP;
	return lx_lane_up(skb, w, lane, 0, 0);
}

static LX_NOINLINE int lx_lane_in(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_lane *lane = lx_lane_at(w->index);
	struct lx_seg *g = &w->g;
	__u64 una, window_edge, next;
	int news, why, by_record;
	__u32 stream;

	/* The socket answers a SYN with a challenge ACK. */
	if (!lane || lane->state == LX_LANE_FREE || (g->flags & LX_TCP_SYN))
		return LX_GO_ON;
	if (lx_lane_owner(lane->word) == LX_LANE_OURS) {
		LX_ADD(&lane->acks, 1);
		return lx_lane_to_socket(skb, w, lane);
	}
	why = lx_accept_packet(skb, g, &w->block, lane->ifindex);
	if (why == LX_ACCEPTED)
		why = lx_accept_lane(lane, g);
	if (why != LX_ACCEPTED)
		return lx_lane_refuse(skb, w, lane, why);
	una = lx_pos_of(g->ack, lane->base_seq, lane->una);
	window_edge = una + ((__u64)g->window << (lane->wscale & 15));
	next = lx_lane_next(lane->word, lane->una);
	if ((g->flags & LX_TCP_RST) || (g->odd & LX_ODD_FRAGMENT))
		return lx_lane_up(skb, w, lane, 0, 0);
	lx_lane_heard(lane, g);
	if (lx_pos_before(una, lane->una))
		return lx_lane_up(skb, w, lane, una, next);
	LX_ADD(&lane->acks, 1);
	news = lx_lane_note(lane, g, lx_pos_min(una, next), window_edge);
	/* Our socket needs the packet: the daemon tells the streams instead. */
	by_record = lane->state == LX_LANE_STORED || lane->probed || g->len ||
		    (g->flags & LX_TCP_FIN) || lx_pos_before(next, una);
	lane->probed = 0;
	stream = news ? lx_lane_tell(skb, lane, w->index, g->now_ns, by_record) : LX_LANE_OWNER;
	if (stream == LX_LANE_OWNER)
		return lx_lane_up(skb, w, lane, una, next);
	if (!by_record)
		return lx_answer(skb, w, stream);
	lx_record_emit(LX_RECORD_POKE_ACK, stream, 0);
	return lx_lane_up(skb, w, lane, una, next);
}

/* ---- going out --------------------------------------------------------------------------- */

/* What the socket sends; of a stored lane, it is what the programs would have sent. */
LX_INLINE int lx_lane_socket_out(struct __sk_buff *skb, struct lx_scratch *w, struct lx_lane *lane)
{
	struct lx_seg *g = &w->g;
	__u32 seq = lx_lane_socket_sends(lane, g->seq, lx_seg_room(g));

	if (g->len && lane->state == LX_LANE_STORED)
		lx_lane_sent(lane, lx_pos_of(seq + g->len, lane->base_seq, lane->una));
	lx_seg_put_seq(skb, g, seq);
	return LX_GO_ON;
}

/*
 * A segment becomes the FIN of a lane that ends inside a message, or the reset of one that is dead:
 * its socket's may pass by the programs, and then has a number that the next hop ignores.
 */
static LX_NOINLINE int lx_lane_fin(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_lane *lane = lx_lane_at(w->index);
	struct lx_seg *g = &w->g;
	int partial = lx_csum_is_partial(skb);
	__u32 hlen;

	if (!lane || !lx_lane_is_off(lane))
		return LX_DROP;
	hlen = sizeof(g->tcp) + (lane->options ? LX_TCP_TS_LEN : 0);
	lx_seg_make_ip(g, lane->key.local, lane->key.remote, lane->family, lane->tos, hlen);
	if (skb->len != g->l4 + hlen && bpf_skb_change_tail(skb, g->l4 + hlen, 0))
		return LX_DROP;
	lx_seg_make_tcp(g, hlen, LX_TCP_ACK | (lx_lane_is_gone(lane) ? LX_TCP_RST : LX_TCP_FIN));
	lx_make_lane_tcp(g, lane, lx_lane_expects(lane));
	lx_seg_make_csum(g, lane->family, hlen, partial);
	return lx_seg_store(skb, g, lane->family, hlen, 0) ? LX_DROP : lx_xmit(skb, lane->ifindex);
}

/* The socket's segments come after the bytes that the programs have sent. */
static LX_NOINLINE int lx_lane_out(struct __sk_buff *skb, struct lx_scratch *w)
{
	struct lx_lane *lane = lx_lane_at(w->index);
	struct lx_seg *g = &w->g;

	if (!lane || lane->state == LX_LANE_FREE)
		return LX_GO_ON;
	if (lx_lane_owner(lane->word) == LX_LANE_OURS)
		return lx_lane_socket_out(skb, w, lane);
	if (g->flags & LX_TCP_RST) {
		lx_seg_put_seq(skb, g, lx_seq_of(lx_lane_expects(lane), lane->base_seq));
		return LX_GO_ON;
	}
	/* Else the socket should have no data; data sent now could end up inside a message. */
	if (g->len && lane->state != LX_LANE_STORED)
		return LX_DROP;
	lane->ack_seq = g->ack;
	lane->window = g->window;
	if (lane->state == LX_LANE_STORED)
		return lx_lane_socket_out(skb, w, lane);
	/*
	 * A keepalive probe: the socket waits for an answer, and the next hop only answers if the
	 * sequence number is one it has acknowledged.
	 */
	if ((__s32)(g->seq - (lane->base_seq - lane->shift)) < 0) {
		lane->probed = 1;
		lx_seg_put_seq(skb, g, lx_seq_of(lane->una, lane->base_seq) - 1);
		return LX_GO_ON;
	}
	lx_seg_put_seq(skb, g, g->seq + lane->shift + (__u32)lane->word);
	return LX_GO_ON;
}

#endif
