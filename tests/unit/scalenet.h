/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Senders, links, lane 0 and next hops of scaleworld.h, and the programs with their
 * packets.
 */
#ifndef LX_TESTS_SCALENET_H
#define LX_TESTS_SCALENET_H

#include "scaleworld.h"

/* The test's: a part of a message for a stored lane; an ACK for a lane's socket; a tick. */
static void store_part(int who, const struct lx_fragment *p);
static void socket_hears(int l, __u64 pos);
static void tick(void);
static void hop_closes(const struct event *e);

/* ---- senders ------------------------------------------------------------------------- */

static void sender_send(int who)
{
	struct sender *t = &sender[who];

	while (!t->dead && !t->stalls) {
		__u64 edge = lx_pos_min(t->window_edge, t->una + SEND_BUFFER);
		__s64 room = lx_pos_diff(edge, t->sent), len;

		while (t->end < t->sent + t->packet && t->n_begun - t->n_done < IN_FLIGHT &&
		       !message_at(who, t->n_begun)->under_way)
			begin_message(who);
		len = t->end - t->sent;
		/* TCP does not send less than a segment because of the window. */
		if (room <= 0 || !len || (room < MSS && room < len))
			return;
		if (len > room)
			len = room;
		if (len > t->packet)
			len = t->packet;
		if (!t->hole || t->hole < t->sent || t->hole >= t->sent + len)
			at(through(&t->free_ns, len, t->link) + t->latency_ns,
			   (struct event){ .kind = DATA,
					   .who = who,
					   .message = t->epoch,
					   .pos = t->sent,
					   .end = t->sent + len });
		t->sent += len;
	}
}

static void tell_sender(int who)
{
	struct lx_stream *s = &stream[who];
	struct lx_advertised adv;
	__u64 edge;

	if (lx_ack_build(s, who, now_ns, &adv) <= 0)
		return;
	edge = adv.ack + ((__u64)lx_window_field(&adv, WSCALE) << WSCALE);
	at(now_ns + sender[who].latency_ns,
	   (struct event){ .kind = ACK, .who = who, .pos = adv.ack, .end = edge });
}

static void on_ack(const struct event *e)
{
	struct sender *t = &sender[e->who];

	if (t->dead)
		return;
	t->una = lx_pos_max(t->una, e->pos);
	t->sent = lx_pos_max(t->sent, t->una);
	t->window_edge = lx_pos_max(t->window_edge, e->end);
	sender_send(e->who);
}

/* Nothing acknowledged for long: starts again there, or asks for a window. */
static void sender_timer(int who)
{
	struct sender *t = &sender[who];

	if (t->una != t->una_seen || t->end == t->una) {
		t->una_seen = t->una;
		t->timer_ns = now_ns + RTO;
	}
	if (t->dead || now_ns < t->timer_ns)
		return;
	t->timer_ns = now_ns + RTO;
	t->sent = t->una;
	stream[who].force = 1;
	tell_sender(who);
	sender_send(who);
}

/* ---- lane 0 -------------------------------------------------------------------------- */

/* Whether socklnd could go on reading a stream. */
static bool lane0_has_work(int who)
{
	struct sender *t = &sender[who];
	const struct up *up = &t->up[t->up_first % IN_FLIGHT];

	if (t->read < t->boundary)
		return t->socket_next > t->read;
	if (t->up_first == t->up_tail || t->socket_next < up->start + lx_overhead(LX_SOCK_V3) ||
	    t->n_buffered == BUFFERS)
		return false;
	assert_int_equal(up->start, t->read);
	return true;
}

static void lane0_kick(void)
{
	if (lane0_busy)
		return;
	for (int i = 0; i < STREAMS; i++) {
		int who = (lane0_at + i) % STREAMS;

		if (!lane0_has_work(who))
			continue;
		lane0_busy = true;
		lane0_at = who;
		at(now_ns, (struct event){ .kind = LANE0_TURN, .who = who });
		return;
	}
}

/* A socket has no more than it sends in 20 ms on its way (TCP_NOTSENT_LOWAT). */
static void hop_go(int h)
{
	struct hop *t = &hop[h];

	while (t->n_out < SEND_BUFFER && t->n_out < 20 * t->link && t->first != t->tail &&
	       !t->held && !t->silent && !t->lies && !t->down) {
		const struct placed *p = &t->queue[t->first++ % N_OF(t->queue)];
		__u32 len = message_at(p->who, p->message)->len;

		t->n_out += len;
		sender[p->who].n_buffered--;
		at(through(&t->free_ns, len, t->link),
		   (struct event){ .kind = LANE0_ARRIVED, .who = p->who, .message = p->message });
	}
}

static void lane0_arrived(const struct event *e)
{
	int h = message_at(e->who, e->message)->hop;

	delivered(e->who, e->message);
	n_slow_messages++;
	hop[h].n_out -= message_at(e->who, e->message)->len;
	hop_go(h);
	lane0_kick();
}

static void lane0_forward(int who)
{
	struct sender *t = &sender[who];
	int h = message_at(who, t->current)->hop;

	hop[h].queue[hop[h].tail++ % N_OF(hop[h].queue)] =
		(struct placed){ .who = who, .message = t->current };
	hop_go(h);
}

/* As lx_fp_message(). */
static void lane0_header(int who)
{
	struct sender *t = &sender[who];
	struct lx_fp_stream *state = &fp->stream[who];
	int h;

	t->current = t->up[t->up_first++ % IN_FLIGHT].message;
	t->n_buffered++;
	t->boundary = t->read + message_at(who, t->current)->len;
	stream[who].boundary = t->boundary;
	h = message_at(who, t->current)->hop;
	state->next_hop = h;
	if (!stream[who].unframed)
		return;
	stream[who].last_len = message_at(who, t->current)->len;
	if (stream[who].lane == LX_NO_LANE)
		stream[who].lane = fp_peer[h].lane[who % CONNS];
}

/* Reads a bit of a stream. */
static void lane0_turn(int who)
{
	struct sender *t = &sender[who];
	__u64 ns = 0, n;

	if (lane0_has_work(who)) {
		if (t->read == t->boundary) {
			lane0_header(who);
			ns = LANE0_MESSAGE_NS;
		}
		n = lx_pos_min(t->boundary, t->socket_next) - t->read;
		n = n > RECV_MAX ? RECV_MAX : n;
		t->read += n;
		ns += n * 1000 / pattern.lane0;
		if (t->read == t->boundary)
			lane0_forward(who);
		stream[who].socket_window_edge = t->read + SOCKET_BUFFER;
		tell_sender(who);
	}
	lane0_at = (who + 1) % STREAMS;
	lane0_busy = false;
	now_ns += ns; /* until it has done so */
	lane0_kick();
	now_ns -= ns;
}

/* Bytes of a stream go up. */
static void send_up(int who, const struct lx_fragment *p)
{
	struct sender *t = &sender[who];
	struct lx_stream *s = &stream[who];
	__u64 end = p->target + (p->end - p->pos);

	assert_true(p->target <= t->socket_next); /* links keep the order */
	assert_true(end <= s->socket_window_edge + (1 << WSCALE));
	if (t->n_up < message_of(who, p->pos))
		t->n_up = message_of(who, p->pos);
	for (; t->n_up < t->n_begun && message_at(who, t->n_up)->start < p->end; t->n_up++) {
		const struct message *m = message_at(who, t->n_up);

		if (m->start < p->pos)
			continue;
		assert_true(t->up_tail - t->up_first < IN_FLIGHT);
		t->up[t->up_tail++ % IN_FLIGHT] =
			(struct up){ p->target + (m->start - p->pos), t->n_up };
	}
	t->socket_next = lx_pos_max(t->socket_next, end);
	s->socket_sent = lx_pos_max(s->socket_sent, end);
	s->socket_una = t->socket_next;
	tell_sender(who);
	lane0_kick();
}

/* ---- lanes --------------------------------------------------------------------------- */

static bool is_lost(void)
{
	return lose && !rnd_below(lose);
}

/* [pos, end) of a lane's connection goes to its next hop. */
static void hop_takes(int l, __u64 pos, __u64 end)
{
	if (is_lost())
		return;
	at(through(&hop[l / CONNS].free_ns, end - pos, hop[l / CONNS].link),
	   (struct event){ .kind = AT_HOP,
			   .who = l,
			   .pos = pos,
			   .end = end,
			   .message = receiver[l].epoch });
}

static void send_on_lane(int who, int l, __u64 target, __u32 len)
{
	if (lane[l].state == LX_LANE_STORED || lx_lane_is_gone(&lane[l]))
		return; /* a program was just at it */
	lx_lane_sent(&lane[l], target + len);
	hop_takes(l, origin[l] + target, origin[l] + target + len);
}

/* Adds [pos, end) to what came early. */
static void receiver_add(struct receiver *r, __u64 pos, __u64 end)
{
	unsigned int i = 0, k;

	while (i < r->n_early && r->early[i].end < pos)
		i++;
	for (k = i; k < r->n_early && r->early[k].start <= end; k++) {
		pos = lx_pos_min(pos, r->early[k].start);
		end = lx_pos_max(end, r->early[k].end);
	}
	if (r->n_early + 1 - (k - i) > GAPS && pos > r->next)
		return; /* it has no memory, but for what comes next */
	memmove(&r->early[i + 1], &r->early[k], (r->n_early - k) * sizeof(r->early[0]));
	r->early[i] = (struct lx_sack){ pos, end };
	r->n_early += 1 - (k - i);
}

static void hop_answers(int l)
{
	const struct receiver *r = &receiver[l];

	if (!hop[l / CONNS].mute && !is_lost())
		at(now_ns + 10000, (struct event){ .kind = LANE_ACK, .who = l, .pos = r->next,
						   .message = r->epoch });
}

static void at_hop(const struct event *e)
{
	struct receiver *r = &receiver[e->who];

	if (hop[e->who / CONNS].silent || e->message != r->epoch)
		return;
	if (hop[e->who / CONNS].lies) {
		hop_answers(e->who);
		return;
	}
	assert_true(e->end <= r->next + RECEIVE_BUFFER);
	if (e->end > r->next)
		receiver_add(r, lx_pos_max(e->pos, r->next), e->end);
	if (r->n_early && r->early[0].start == r->next) {
		r->next = r->early[0].end;
		memmove(r->early, r->early + 1, --r->n_early * sizeof(r->early[0]));
	}
	for (; r->first != r->tail && r->placed[r->first % PLACED].end <= r->next; r->first++) {
		const struct placed *p = &r->placed[r->first % PLACED];

		if (p->who < 0)
			continue;
		delivered(p->who, p->message);
		n_lane_messages++;
	}
	hop_answers(e->who);
}

static void lx_stream_tell(void *packet, __u32 index, __u32 by_record)
{
	(void)packet, (void)by_record;
	if (index < STREAMS)
		tell_sender(index);
}

static void lane_ack(const struct event *e)
{
	struct lx_lane *t = &lane[e->who];
	const struct receiver *r = &receiver[e->who];
	struct lx_arrival a = { .lane = t, .now_ns = now_ns, .index = e->who };
	__u64 pos = e->pos - origin[e->who];

	if (e->message != r->epoch || lx_lane_is_gone(t))
		return;
	if (!lx_pos_before(pos, t->una) && lx_lane_owner(t->word) != LX_LANE_OURS) {
		t->acks++;
		t->n_sack = r->n_early < 3 ? r->n_early : 3;
		for (__u32 i = 0; i < t->n_sack; i++)
			t->sack[i] = (struct lx_sack){ r->early[i].start - origin[e->who],
						       r->early[i].end - origin[e->who] };
		lx_lane_acked(t, 0, pos, pos + RECEIVE_BUFFER);
		lx_stream_tell(NULL, lx_arrival_note(&a), 0);
	}
	socket_hears(e->who, e->pos);
}

/* ---- a packet of a stream ------------------------------------------------------------ */

/* Remembers which messages have been placed on lanes. */
static void note_placed(int who, __u32 tail)
{
	const struct lx_stream *s = &stream[who];

	for (; tail != s->tail; tail++) {
		const struct lx_extent *x = &s->extent[tail % LX_STREAM_EXTENTS];
		struct receiver *r;

		if (x->lane == LX_NO_LANE)
			continue;
		r = &receiver[x->lane];
		assert_true(r->tail - r->first < PLACED);
		assert_true(message_at(who, message_of(who, x->start))->start == x->start);
		r->placed[r->tail++ % PLACED] =
			(struct placed){ origin[x->lane] + x->lane_start + x->len, who,
					 message_of(who, x->start) };
	}
}

/* Part of a header, kept from an earlier packet. */
static void send_saved(int who, const struct lx_framing *f)
{
	struct lx_stream *s = &stream[who];
	struct lx_fragment p;

	if (!f->saved)
		return;
	lx_fragment_at(s, s->saved_pos, s->saved_pos + s->saved_len, s->tail - 2, &p);
	if (p.kind == LX_FRAGMENT_LANE && lane[p.lane].state == LX_LANE_STORED)
		store_part(who, &p);
	else if (p.kind == LX_FRAGMENT_LANE)
		send_on_lane(who, p.lane, p.target, f->saved);
	else if (p.kind == LX_FRAGMENT_UP)
		send_up(who, &p);
}

static void on_data(struct event *e)
{
	struct lx_stream *s = &stream[e->who];
	struct lx_segment in = { .pos = e->pos, .end = e->end, .size = MSS, .packet = e };
	struct lx_framing f = { .s = s, .seg = &in, .index = e->who };
	unsigned int ways = 0;
	__u32 tail = s->tail, near;

	if (sender[e->who].dead || sender[e->who].epoch != e->message)
		return;
	s->packets++;
	s->force |= lx_pos_before(e->pos, s->acked);
	if (!lx_pos_before(s->acked, e->end)) {
		tell_sender(e->who);
		return;
	}
	s->now_ns = now_ns;
	assert_int_equal(lx_frame(&f), 0);
	note_placed(e->who, tail);
	send_saved(e->who, &f);
	near = f.near;
	for (__u64 pos = e->pos; lx_pos_before(pos, e->end); ways++) {
		struct lx_fragment p;

		lx_fragment_run(s, pos, e->end, near, &p);
		near = p.extent;
		if (p.kind == LX_FRAGMENT_LANE && lane[p.lane].state == LX_LANE_STORED)
			store_part(e->who, &p);
		else if (p.kind == LX_FRAGMENT_LANE)
			send_on_lane(e->who, p.lane, p.target, p.end - p.pos);
		else if (p.kind == LX_FRAGMENT_UP)
			send_up(e->who, &p);
		pos = p.end;
	}
	if (ways > 1) {
		s->resegmented += ways > CUT_PARTS && e->end - e->pos > MSS;
		s->fragments += ways;
		tell_sender(e->who);
	}
}

/* ---- the daemon's half, where both tests agree ------------------------------------------ */

FP_DAEMON_TABLES

int lx_fastpath_next(const struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int i)
{
	static const unsigned int n[] = { [LX_FASTPATH_STREAMS] = STREAMS,
					  [LX_FASTPATH_LANES] = LANES,
					  [LX_FASTPATH_PEERS] = HOPS };

	return i < n[table] ? (int)i : -1;
}

unsigned int lx_fastpath_used(const struct lx_fastpath *f, enum lx_fastpath_table table)
{
	return table == LX_FASTPATH_LANES ? LANES : 0;
}

bool lx_fastpath_is_attached(const struct lx_fastpath *f, unsigned int ifindex)
{
	return true;
}

bool lx_fp_conn_is_seen(struct lx_fp_conn *conn, const struct lx_flow_key *key,
			unsigned int *ret_ifindex)
{
	return true;
}

bool lx_sock_offload_ni_on(const struct lx_ni *ni)
{
	return !off;
}

void lx_fastpath_poke_ack(struct lx_fastpath *f, unsigned int index)
{
	tell_sender(index);
}

enum lx_hstatus lx_sock_conn_fault(const struct lx_sock_conn *conn)
{
	return LX_HSTATUS_OK;
}

uint64_t lx_sock_conn_timeout_ns(const struct lx_sock_conn *conn)
{
	return 50 * LX_S_NS;
}

/* ---- a world ------------------------------------------------------------------------- */

static struct lx_lane live_lane(int l)
{
	return (struct lx_lane){ .word = (__u64)LX_LANE_OWNER << 32,
				 .window_edge = RECEIVE_BUFFER,
				 .state = LX_LANE_LIVE,
				 .next_hop = l / CONNS,
				 .version = LX_SOCK_V3,
				 .mss = MSS };
}

/* Everything but the lanes. */
static void world_begin(void)
{
	memset(stream, 0, sizeof(stream));
	memset(fp_peer, 0, sizeof(fp_peer));
	memset(sender, 0, sizeof(sender));
	memset(receiver, 0, sizeof(receiver));
	memset(hop, 0, sizeof(hop));
	memset(origin, 0, sizeof(origin));
	n_heap = now_ns = lane0_at = n_lane_messages = n_slow_messages = lose = 0;
	lane0_busy = off = false;
	fp = calloc(1, sizeof(*fp));
	offload.env = (void *)fp; /* it stays */
	fp->offload = &offload;
	fp->stream = calloc(STREAMS, sizeof(fp->stream[0]));
	fp->lane = calloc(LANES, sizeof(fp->lane[0]));
	fp->run = calloc(LANES, sizeof(fp->run[0]));
	fp->peer = calloc(PEERS, sizeof(fp->peer[0]));
	for (int h = 0; h < HOPS; h++) {
		dest[h] = (struct lx_dest){ .n = 1, .next_hop = { h } };
		hop[h].link = LINK;
	}
	for (int l = 0; l < LANES; l++) {
		receiver[l].placed = calloc(PLACED, sizeof(receiver[l].placed[0]));
		assert_non_null(receiver[l].placed);
	}
}

static void world_end(void)
{
	for (int l = 0; l < LANES; l++)
		free(receiver[l].placed);
	free(fp->stream);
	free(fp->lane);
	free(fp->run);
	free(fp->peer);
	free(fp);
}

static void make_sender(int i)
{
	struct lx_stream *s = &stream[i];

	s->state = LX_STREAM_ON;
	s->version = LX_SOCK_V3;
	s->peer = HOPS + i;
	s->mss = MSS;
	s->lane = LX_NO_LANE;
	s->wscale = WSCALE;
	s->socket_window_edge = SOCKET_BUFFER;
	s->window_edge = s->advertised_edge = sender[i].window_edge = 64 << 10;
	s->key.remote[15] = i;
	sender[i].link = LINK;
	sender[i].packet = PACKET;
	sender[i].latency_ns = 5000 + rnd_below(50000);
	sender[i].hop = i % HOPS;
	sender[i].left = pattern.train ? rnd_below(pattern.train) : 0;
	stream_sock[i] = (struct lx_sock_conn){ .who = i, .hop = -1 };
	stream_conn[i] =
		(struct lx_fp_conn){ .fp = fp,
				     .conn = &stream_sock[i],
				     .stream = i,
				     .lane = -1,
				     .facts = { .nid = sender_nid(i), .version = LX_SOCK_V3 } };
	fp->stream[i] = (struct lx_fp_stream){ .conn = &stream_conn[i], .next_hop = -1 };
}

static void senders_begin(void)
{
	at(MS, (struct event){ .kind = TICK });
	for (unsigned int i = 0; i < SENDERS; i++) {
		make_sender(i);
		sender_send(i);
	}
}

/* ---- time --------------------------------------------------------------------------- */

static void run_until(__u64 ns)
{
	while (now_ns < ns) {
		struct event e = next_event();

		now_ns = e.ns;
		switch (e.kind) {
		case DATA:
			on_data(&e);
			break;
		case AT_HOP:
			at_hop(&e);
			break;
		case LANE_ACK:
			lane_ack(&e);
			break;
		case ACK:
			on_ack(&e);
			break;
		case DONE:
			sender[e.who].n_done++;
			sender_send(e.who);
			break;
		case LANE0_TURN:
			lane0_turn(e.who);
			break;
		case LANE0_ARRIVED:
			lane0_arrived(&e);
			break;
		case TICK:
			tick();
			break;
		case ELSEWHERE:
			delivered(e.who, e.message);
			break;
		case CLOSE:
			hop_closes(&e);
			break;
		}
	}
}

#endif
