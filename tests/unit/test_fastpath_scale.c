/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 256 streams, 16 next hops with 3 connections each, on virtual links and in virtual time
 * (scaleworld.h says what is real and what is modelled): nobody starves; what a hand-over costs
 * does not depend on how many there are; how much memory that takes.
 */
#include "scaleworld.h"

/* ---- senders ------------------------------------------------------------------------- */

static void sender_send(int who)
{
	struct sender *t = &sender[who];

	for (;;) {
		__u64 edge = lx_pos_min(t->window_edge, t->una + SEND_BUFFER);
		__s64 room = lx_pos_diff(edge, t->sent), len;

		while (t->end < t->sent + PACKET && t->n_begun - t->n_done < IN_FLIGHT)
			begin_message(who);
		len = t->end - t->sent;
		/* TCP does not send less than a segment because of the window. */
		if (room <= 0 || !len || (room < MSS && room < len))
			return;
		if (len > room)
			len = room;
		if (len > PACKET)
			len = PACKET;
		at(through(&t->free_ns, len) + t->latency_ns,
		   (struct event){
			   .kind = DATA, .who = who, .pos = t->sent, .end = t->sent + len });
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

	t->una = lx_pos_max(t->una, e->pos);
	t->sent = lx_pos_max(t->sent, t->una);
	t->window_edge = lx_pos_max(t->window_edge, e->end);
	sender_send(e->who);
}

/* Nothing acknowledged for long: starts again there, or asks for a window. */
static void sender_timer(int who)
{
	struct sender *t = &sender[who];

	if (t->una == t->una_seen && t->end > t->una) {
		t->sent = t->una;
		stream[who].force = 1;
		tell_sender(who);
		sender_send(who);
	}
	t->una_seen = t->una;
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

static void hop_go(int h)
{
	struct hop *t = &hop[h];

	while (t->n_out < SEND_BUFFER && t->first != t->tail) {
		const struct placed *p = &t->queue[t->first++ % N_OF(t->queue)];
		__u32 len = message_at(p->who, p->message)->len;

		t->n_out += len;
		sender[p->who].n_buffered--;
		at(through(&t->free_ns, len),
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

static void send_on_lane(int who, int l, __u64 target, __u32 len)
{
	lx_lane_sent(&lane[l], target + len);
	at(through(&hop[l / CONNS].free_ns, len),
	   (struct event){ .kind = AT_HOP, .who = l, .pos = target, .end = target + len });
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
	assert_true(r->n_early + 1 - (k - i) <= GAPS);
	memmove(&r->early[i + 1], &r->early[k], (r->n_early - k) * sizeof(r->early[0]));
	r->early[i] = (struct lx_sack){ pos, end };
	r->n_early += 1 - (k - i);
}

static void at_hop(const struct event *e)
{
	struct receiver *r = &receiver[e->who];

	assert_true(e->end <= r->next + RECEIVE_BUFFER);
	if (e->end > r->next)
		receiver_add(r, lx_pos_max(e->pos, r->next), e->end);
	if (r->n_early && r->early[0].start == r->next) {
		r->next = r->early[0].end;
		memmove(r->early, r->early + 1, --r->n_early * sizeof(r->early[0]));
	}
	for (; r->first != r->tail && r->placed[r->first % PLACED].end <= r->next; r->first++) {
		const struct placed *p = &r->placed[r->first % PLACED];

		delivered(p->who, p->message);
		n_lane_messages++;
	}
	at(now_ns + 10000, (struct event){ .kind = LANE_ACK, .who = e->who, .pos = r->next });
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

	if (lx_pos_before(e->pos, t->una))
		return;
	t->acks++;
	t->n_sack = r->n_early < 3 ? r->n_early : 3;
	memcpy(t->sack, r->early, t->n_sack * sizeof(t->sack[0]));
	lx_lane_acked(t, 0, e->pos, e->pos + RECEIVE_BUFFER);
	lx_stream_tell(NULL, lx_arrival_note(&a), 0);
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
			(struct placed){ x->lane_start + x->len, who, message_of(who, x->start) };
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
	if (p.kind == LX_FRAGMENT_LANE)
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
		if (p.kind == LX_FRAGMENT_LANE)
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

/* ---- the daemon's half: what review.c and stall.c ask for ---------------------------- */

struct lx_stream *lx_fastpath_stream(struct lx_fastpath *f, unsigned int i)
{
	return lx_stream_at(i);
}

struct lx_lane *lx_fastpath_lane(struct lx_fastpath *f, unsigned int i)
{
	return lx_lane_at(i);
}

struct lx_fp_peer *lx_fastpath_peer(struct lx_fastpath *f, unsigned int i)
{
	return lx_fp_peer_at(i);
}

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

void lx_fastpath_count_stored(struct lx_fastpath *f, unsigned int lanes, uint64_t bytes)
{
}

bool lx_fastpath_is_attached(const struct lx_fastpath *f, unsigned int ifindex)
{
	return true;
}

bool lx_sock_offload_ni_on(const struct lx_ni *ni)
{
	return true;
}

unsigned int lx_sock_offload_store(void)
{
	fail_msg("a lane is to be stored");
	return 0;
}

bool lx_sock_conn_is_idle(struct lx_sock_conn *conn)
{
	return true;
}

void lx_fp_lane_withdraw(struct lx_fp *f, struct lx_fp_conn *conn, enum lx_lane_state state)
{
}

void lx_fp_cut(struct lx_fp *f, unsigned int index, uint64_t from, uint64_t hole, uint64_t now)
{
	fail_msg("a lane ends inside a message");
}

void lx_fastpath_poke_ack(struct lx_fastpath *f, unsigned int index)
{
	tell_sender(index);
}

int lx_fastpath_takeover(struct lx_fastpath *f, enum lx_flow_kind kind, unsigned int index, bool on)
{
	return 0;
}

int lx_sock_conn_error(const struct lx_sock_conn *conn)
{
	return 0;
}

enum lx_hstatus lx_sock_conn_fault(const struct lx_sock_conn *conn)
{
	return LX_HSTATUS_OK;
}

uint64_t lx_sock_conn_timeout_ns(const struct lx_sock_conn *conn)
{
	return 50 * LX_SOCK_SECOND;
}

void lx_sock_conn_close(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus)
{
	fail_msg("the daemon closes a connection");
}

void lx_sock_conn_fail(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus,
		       const char *reason)
{
	fail_msg("the daemon closes a connection: %s", reason);
}

static void tick(void)
{
	fp->n_changing = 0;
	for (unsigned int i = 0; i < STREAMS; i++) {
		lx_fp_stream_tick(fp, i, now_ns);
		if (now_ns / MS % (RTO / MS) == i % (RTO / MS))
			sender_timer(i);
	}
	for (int i = 0; i < LANES; i++) {
		lx_fp_lane_watch(fp, i, now_ns);
		lx_fp_grant_lane_tick(fp, i);
	}
	at(now_ns + MS, (struct event){ .kind = TICK });
}

/* ---- a world ------------------------------------------------------------------------- */

static void make_next_hops(void)
{
	for (int h = 0; h < HOPS; h++) {
		dest[h] = (struct lx_dest){ .n = 1, .next_hop = { h } };
		neighbour[h].index = h;
		fp->peer[h] = &neighbour[h];
	}
	for (int l = 0; l < LANES; l++) {
		lane[l] = (struct lx_lane){ .word = (__u64)LX_LANE_OWNER << 32,
					    .window_edge = RECEIVE_BUFFER,
					    .state = LX_LANE_LIVE,
					    .next_hop = l / CONNS,
					    .version = LX_SOCK_V3,
					    .mss = MSS };
		fp_peer[l / CONNS].lane[fp_peer[l / CONNS].n_lanes++] = l;
		lane_sock[l] = (struct lx_sock_conn){ .who = -1, .hop = l / CONNS };
		lane_conn[l].conn = &lane_sock[l];
		fp->lane[l] = &lane_conn[l];
		receiver[l].placed = calloc(PLACED, sizeof(receiver[l].placed[0]));
		assert_non_null(receiver[l].placed);
	}
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
	sender[i].latency_ns = 5000 + rnd_below(50000);
	sender[i].hop = i % HOPS;
	sender[i].left = pattern.train ? rnd_below(pattern.train) : 0;
	stream_sock[i] = (struct lx_sock_conn){ .who = i, .hop = -1 };
	stream_conn[i] =
		(struct lx_fp_conn){ .fp = fp, .conn = &stream_sock[i], .stream = i, .lane = -1 };
	fp->stream[i] = (struct lx_fp_stream){ .conn = &stream_conn[i], .next_hop = -1 };
}

static int begin(void **state)
{
	memset(stream, 0, sizeof(stream));
	memset(fp_peer, 0, sizeof(fp_peer));
	memset(sender, 0, sizeof(sender));
	memset(receiver, 0, sizeof(receiver));
	memset(hop, 0, sizeof(hop));
	n_heap = now_ns = lane0_at = n_lane_messages = n_slow_messages = 0;
	lane0_busy = false;
	fp = calloc(1, sizeof(*fp));
	offload.env = (void *)fp; /* it stays */
	fp->offload = &offload;
	fp->stream = calloc(STREAMS, sizeof(fp->stream[0]));
	fp->lane = calloc(LANES, sizeof(fp->lane[0]));
	fp->run = calloc(LANES, sizeof(fp->run[0]));
	fp->peer = calloc(PEERS, sizeof(fp->peer[0]));
	make_next_hops();
	return 0;
}

static int end(void **state)
{
	for (int l = 0; l < LANES; l++)
		free(receiver[l].placed);
	free(fp->stream);
	free(fp->lane);
	free(fp->run);
	free(fp->peer);
	free(fp);
	return 0;
}

static void run(__u64 warm_ns, __u64 ns)
{
	measured_from = warm_ns;
	at(MS, (struct event){ .kind = TICK });
	for (unsigned int i = 0; i < STREAMS; i++) {
		make_sender(i);
		sender_send(i);
	}
	while (now_ns < warm_ns + ns) {
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
		}
	}
}

/* ---- nobody starves ------------------------------------------------------------------ */

static const char *const reason_name[] = {
#define NAME_(NAME, name, help) name,
	LX_LANE0_REASONS(NAME_)
#undef NAME_
};

static void print_world(__u64 all, __u64 worst, __u64 best)
{
	double fair = (double)all / STREAMS;
	unsigned long reasons[LX_LANE0_COUNT] = { 0 }, handovers = 0;

	for (int i = 0; i < STREAMS; i++) {
		for (int k = 0; k < LX_LANE0_COUNT; k++)
			reasons[k] += stream[i].reasons[k];
	}
	for (int l = 0; l < LANES; l++)
		handovers += lane[l].handovers;
	printf("share of fair %.2f to %.2f, %.0f Gbit/s, %.0f %% of the messages by lanes, "
	       "%lu hand-overs;",
	       worst / fair, best / fair, all * 8.0 / (now_ns - measured_from),
	       100.0 * n_lane_messages / (n_lane_messages + n_slow_messages), handovers);
	for (int k = 0; k < LX_LANE0_COUNT; k++) {
		if (reasons[k])
			printf(" %s %lu", reason_name[k], reasons[k]);
	}
	putchar('\n');
}

/*
 * The stream that gets least gets @percent of an even share at least. Shares even out with time:
 * over 1 s, large messages are too few.
 */
static void nobody_starves(struct pattern p, unsigned int seconds, unsigned int percent)
{
	__u64 all = 0, worst = ~0ull, best = 0;

	pattern = p;
	run(200 * MS, seconds * LX_SOCK_SECOND);
	for (int i = 0; i < STREAMS; i++) {
		__u64 n = sender[i].delivered;

		all += n;
		worst = n < worst ? n : worst;
		best = n > best ? n : best;
	}
	print_world(all, worst, best);
	assert_true(n_lane_messages && n_slow_messages);
	assert_true(100 * STREAMS * worst >= percent * all);
}

/* Lane 0 can carry half of what all links carry: as measured on small routers (docs/bench.md). */
#define HALF (HOPS * LINK / 2)
#define THIRD 33

static void large_changing(void **state)
{
	nobody_starves((struct pattern){ 1 << 20, 1 << 20, 1, HALF }, 4, THIRD);
}

static void small_changing(void **state)
{
	nobody_starves((struct pattern){ 64 << 10, 64 << 10, 1, HALF }, 1, THIRD);
}

static void trains(void **state)
{
	nobody_starves((struct pattern){ 64 << 10, 64 << 10, 16, HALF }, 8, THIRD);
}

static void all_sizes(void **state)
{
	nobody_starves((struct pattern){ 4 << 10, 1 << 20, 4, HALF }, 4, THIRD);
}

/* Grants keep a lane from being filled by whoever has it. */
static void large_to_one(void **state)
{
	nobody_starves((struct pattern){ 1 << 20, 1 << 20, 0, HALF }, 1, 40);
}

static void small_to_one(void **state)
{
	nobody_starves((struct pattern){ 64 << 10, 64 << 10, 0, HALF }, 1, THIRD);
}

/* A large router with one slow core: lane 0 carries 30 of 160 Gbit/s. */
static void lane0_is_slow(void **state)
{
	nobody_starves((struct pattern){ 4 << 10, 1 << 20, 4, 3750 }, 4, THIRD);
}

/* ---- what a hand-over costs ---------------------------------------------------------- */

static void reserve(struct lx_lane *t, int who)
{
	__u64 start;

	assert_int_equal(lx_lane_take(t, who, HOPS + who, 1000, 1000, now_ns, &start), 0);
}

/* Taking a lane behind others, and leaving it, costs the same however many there are. */
static void handover_costs_the_same(void **state)
{
	unsigned long take_atomic = 0, take_look = 0, leave_atomic = 0, leave_look = 0;

	reserve(&lane[0], 0);
	for (int i = 1; i < LX_LANE_RUNS - 1; i++) {
		n_atomic = n_look = 0;
		reserve(&lane[0], i);
		assert_true(i == 1 || (n_atomic == take_atomic && n_look == take_look));
		take_atomic = n_atomic;
		take_look = n_look;
	}
	lx_lane_acked(&lane[0], 0, 1000 * (LX_LANE_RUNS - 1), RECEIVE_BUFFER);
	for (__u32 i = 0, who; i < LX_LANE_RUNS - 2; i++) { /* the last one leaves the lane idle */
		n_atomic = n_look = 0;
		assert_true(lx_arrival_first(&lane[0], now_ns, &who));
		assert_int_equal(who, i);
		assert_true(!i || (n_atomic == leave_atomic && n_look == leave_look));
		leave_atomic = n_atomic;
		leave_look = n_look;
	}
	printf("a hand-over: %lu atomic operations to take a lane, %lu to leave it\n", take_atomic,
	       leave_atomic);
	assert_in_range(take_atomic, 1, 12);
	assert_in_range(leave_atomic, 1, 8);
	assert_in_range(take_look + leave_look, 1, 8);
}

/*
 * Choosing looks at the rings of a next hop's lanes, and no further: as much with 256 streams as
 * with as many as fit on those lanes.
 */
static void choosing_is_bounded(void **state)
{
	struct lx_message m = { .len = 1000,
				.dst = { .type = LX_NET_TCP, .addr = { 10, 0, 0, 0 } } };
	unsigned long atomic[2], look[2];

	for (int crowd = 0; crowd < 2; crowd++) {
		struct lx_choice c = { .index = STREAMS - 1 - crowd };
		int who = 0;

		for (int l = crowd ? CONNS : 0; l < (crowd ? LANES : CONNS); l++) {
			for (int i = 0; i < LX_LANE_RUNS - 2; i++)
				reserve(&lane[l], who++ % (STREAMS - 2));
		}
		stream[c.index] = (struct lx_stream){ .version = LX_SOCK_V3, .peer = PEERS - 1 };
		n_atomic = n_look = 0;
		lx_choose(&c, &m);
		assert_int_equal(c.lane, crowd);
		atomic[crowd] = n_atomic;
		look[crowd] = n_look;
	}
	assert_int_equal(atomic[0], atomic[1]);
	assert_in_range(look[1], 1, (CONNS + 1) * (LX_LANE_RUNS + 4));
}

/* docs/fastpath.md tells these sizes. */
static void memory_is_bounded(void **state)
{
	const struct lx_lane *t = &lane[0];

	assert_int_equal(sizeof(t->run) + sizeof(t->run_begun) + sizeof(t->waits), 704);
	assert_int_equal(sizeof(*t), 1248);
	assert_int_equal(sizeof(struct lx_fp_run), 1336);
	/* In blocks: of 256 lanes, of 64 streams. */
	assert_true(LANES <= LX_LANE_BLOCK && STREAMS % LX_STREAM_BLOCK == 0);
	assert_true(LX_LANE_BLOCK * sizeof(*t) < 313 << 10);
	assert_true(STREAMS * sizeof(stream[0]) < 10 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(handover_costs_the_same, begin, end),
		cmocka_unit_test_setup_teardown(choosing_is_bounded, begin, end),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test_setup_teardown(large_changing, begin, end),
		cmocka_unit_test_setup_teardown(small_changing, begin, end),
		cmocka_unit_test_setup_teardown(trains, begin, end),
		cmocka_unit_test_setup_teardown(all_sizes, begin, end),
		cmocka_unit_test_setup_teardown(large_to_one, begin, end),
		cmocka_unit_test_setup_teardown(small_to_one, begin, end),
		cmocka_unit_test_setup_teardown(lane0_is_slow, begin, end),
	};
	int r;

	rnd_init();
	r = cmocka_run_group_tests_name("fast path: scale", tests, NULL, NULL);
	free(heap);
	return r;
}
