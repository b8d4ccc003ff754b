/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's logic, compiled natively, between model TCPs: senders whose segments
 * are split, lost, duplicated, reordered and retransmitted with other contents; next hops and
 * our own sockets that acknowledge contiguous data and advertise arbitrary windows;
 * a slow path that reads, publishes boundaries and forwards. The seed determines the
 * schedule.
 *
 * Invariants on any schedule:
 * 1. a next hop gets whole messages, unchanged except for per-hop fields, none twice;
 * 2. a byte is not acknowledged to a sender before its receiver's TCP has it, or the store;
 * 3. a window edge never shrinks, and everything sent within it is accepted;
 * 4. everything arrives in the end, lanes or not, whatever policy does meanwhile;
 * 5. no ring ever overflows; 6. credits: taken = returned + runs that have not arrived.
 *
 * Sequence numbers wrap, on streams and on lanes, and so do the low halves of a lane's
 * positions. Several streams have messages behind each other on a lane. Connections die: a next
 * hop's takes along the messages of all streams that have not arrived, a sender's the lanes it was
 * in a message on, and later those that lost something of it; new ones replace them, and the others
 * continue. Lanes are stored, and are lanes again.
 */
#include "fpgrants.h"
#include "fpstore.h"

/* ---- delivery, and the checks of invariant 1 --------------------------------------------- */

static void delivered(int who, unsigned int index)
{
	struct message *m = &sender[who].message[index];

	assert_false(m->delivered || m->lost);
	m->delivered = true;
}

static void check_lane_message(int l, __u64 at, __u32 len)
{
	struct receiver *r = &lane_rx[l];
	char expect[24] = { 0 };
	__u32 type = LX_SOCK_LNET;

	memcpy(expect, &type, 4);
	assert_memory_equal(r->bytes + at, expect, 24);
	for (int i = 0; i < STREAMS; i++) {
		struct sender *t = &sender[i];

		while (t->first_due < t->n_messages && (t->message[t->first_due].delivered ||
							t->message[t->first_due].lost))
			t->first_due++;
		for (unsigned int k = t->first_due; k < t->n_messages; k++) {
			struct message *m = &t->message[k];

			if (m->delivered || m->lost || m->len != len ||
			    m->to != (int)lane[l].next_hop || m->noop)
				continue;
			/* The random command area identifies the message. */
			if (memcmp(t->bytes + m->start + 24, r->bytes + at + 24, len - 24))
				continue;
			assert_false(m->extras);
			delivered(i, k);
			n_lane_messages++;
			return;
		}
	}
	fail_msg("a lane brought something that nobody sent");
}

static void lane_parse(int l)
{
	struct receiver *r = &lane_rx[l];
	__u32 overhead = lx_overhead(lane[l].version), len;
	__le32 payload;

	while (r->next - r->parsed >= overhead) {
		memcpy(&payload, r->bytes + r->parsed + 24 +
				 (lane[l].version == LX_SOCK_V4 ? 52 : 28), 4);
		len = overhead + lx_le32(payload);
		assert_true(len <= overhead + LX_PAYLOAD_MAX);
		if (r->next - r->parsed < len)
			return;
		check_lane_message(l, r->parsed, len);
		r->parsed += len;
	}
}

/* ---- what the programs do with a packet -------------------------------------------------- */

static void send_on_lane(int who, int l, __u64 target, const char *data, __u32 len)
{
	struct segment *seg;

	assert_true(target + len <= lx_lane_next(lane[l].word, lane[l].una));
	lx_lane_sent(&lane[l], target + len);
	seg = fly(2, l);
	if (!seg)
		return;
	seg->pos = over_wire(target, lane_base[l], lane[l].una) - lane_origin[l];
	seg->end = seg->pos + len;
	seg->data = xalloc(len);
	memcpy(seg->data, data, len);
}

static void send_up(int who, __u64 target, const char *data, __u32 len)
{
	struct segment *seg = fly(4, who);

	stream[who].socket_sent = lx_pos_max(stream[who].socket_sent, target + len);
	if (!seg)
		return;
	seg->pos = target;
	seg->end = target + len;
	seg->data = xalloc(len);
	memcpy(seg->data, data, len);
}

static void apply_patch(const struct lx_patch *patch, __u64 pos, __u64 end, char *data)
{
	__u32 skip, n = lx_patch_clip(patch, pos, end, &skip);

	if (n)
		memcpy(data + (patch->pos + skip - pos), patch->bytes + skip, n);
}

static void patch_fragment(struct lx_stream *s, const struct lx_fragment *p, char *data)
{
	for (__u32 count = p->extent; count != s->tail; count++) {
		struct lx_extent *extent = lx_extent_at(s, count);
		struct lx_patch patch;

		if (!lx_pos_before(extent->start, p->end))
			return;
		lx_patch_header(extent, &patch);
		apply_patch(&patch, p->pos, p->end, data);
		lx_patch_nids(extent, s->version, &patch);
		apply_patch(&patch, p->pos, p->end, data);
		lx_patch_type(extent, s->version, &patch);
		apply_patch(&patch, p->pos, p->end, data);
	}
}

static void tell_sender(int who);

/* The first bytes of a header, kept from an earlier packet. */
static void send_saved(int who, struct lx_framing *f)
{
	struct lx_stream *s = &stream[who];
	struct lx_fragment p;
	char data[LX_HEADER_MAX];

	lx_fragment_at(s, s->saved_pos, s->saved_pos + s->saved_len, s->tail - 2, &p);
	if (p.kind != LX_FRAGMENT_UP && p.kind != LX_FRAGMENT_LANE)
		return;
	assert_int_equal(p.end - p.pos, f->saved);
	memcpy(data, s->saved, f->saved);
	if (p.kind == LX_FRAGMENT_LANE && lx_lane_is_gone(&lane[p.lane])) {
		tell_sender(who);
	} else if (p.kind == LX_FRAGMENT_LANE && lane[p.lane].state == LX_LANE_STORED) {
		patch_fragment(s, &p, data);
		store_put(who, &p, data);
		tell_sender(who);
	} else if (p.kind == LX_FRAGMENT_LANE) {
		patch_fragment(s, &p, data);
		send_on_lane(who, p.lane, p.target, data, f->saved);
	} else {
		send_up(who, p.target, data, f->saved);
	}
	n_held++;
}

static void on_data(int who, struct segment *seg)
{
	bool given = stream[who].grant == LX_GRANT_GIVEN;
	struct lx_stream *s = &stream[who];
	struct lx_segment in = { .packet = seg->data };
	__u32 size = seg->end - seg->pos < MSS ? seg->end - seg->pos : MSS;
	struct lx_framing f = { .s = s, .seg = &in, .index = who };
	unsigned int fragments = 0;
	__u64 pos = seg->pos;
	bool whole = true;
	__u32 near;

	in.pos = over_wire(pos, stream_base[who], s->acked);
	in.end = in.pos + (seg->end - pos);
	if (!lx_pos_before(s->acked, in.end)) {
		s->force = 1;
		tell_sender(who);
		return;
	}
	if (lx_pos_before(seg->pos, s->acked))
		s->force = 1;
	s->now_ns = now_ns;
	assert_int_equal(lx_frame(&f), 0);
	n_used += given && s->grant != LX_GRANT_GIVEN;
	assert_true(s->tail - s->head < LX_STREAM_EXTENTS); /* 5 */
	if (f.saved)
		send_saved(who, &f);
	near = f.near;
	while (lx_pos_before(pos, seg->end)) {
		char *data = seg->data + (pos - seg->pos);
		struct lx_fragment p;

		lx_fragment_run(s, pos, seg->end, near, &p);
		lx_fragment_fit(&p, size);
		assert_true(p.kind != LX_FRAGMENT_LANE || size <= lane[p.lane].mss ||
			    p.end - p.pos <= lane[p.lane].mss);
		near = p.extent;
		assert_true(lx_pos_before(pos, p.end));
		if (p.kind == LX_FRAGMENT_LANE && lx_lane_is_gone(&lane[p.lane])) {
			tell_sender(who);
		} else if (p.kind == LX_FRAGMENT_LANE && lane[p.lane].state == LX_LANE_STORED) {
			patch_fragment(s, &p, data);
			store_put(who, &p, data);
			tell_sender(who);
		} else if (p.kind == LX_FRAGMENT_LANE) {
			if (f.dirty)
				patch_fragment(s, &p, data);
			send_on_lane(who, p.lane, p.target, data, p.end - p.pos);
		} else if (p.kind == LX_FRAGMENT_UP) {
			send_up(who, p.target, data, p.end - p.pos);
		}
		whole &= p.end == seg->end && p.kind != LX_FRAGMENT_HELD && !fragments;
		pos = p.end;
		fragments++;
	}
	if (!whole && s->force)
		tell_sender(who);
	n_mixed += fragments > 1;
	n_cases++;
}

static void acked_up_to(int who, __u64 ack)
{
	struct lx_stream *s = &stream[who];

	/* Invariant 2: each byte arrived where its extent says. */
	for (__u32 c = s->head; c != s->tail; c++) {
		struct lx_extent *extent = lx_extent_at(s, c);
		__u64 end = s->unframed && c + 1 == s->tail ? ack : lx_extent_end(extent);
		__u64 to = ack < end ? ack : end;

		if (to <= extent->start)
			break;
		to = extent->lane_start + (to - extent->start);
		if (lx_extent_is_lane(extent) && lane[extent->lane].state == LX_LANE_DEAD)
			assert_true(ack <= s->high);
		else if (lx_extent_is_lane(extent))
			assert_true(to - lane_origin[extent->lane] <= lane_rx[extent->lane].next ||
				    store_has(extent->lane, to - 1 - lane_origin[extent->lane]));
		else
			assert_true(to <= sender[who].socket.next);
	}
}

static void tell_sender(int who)
{
	struct lx_stream *s = &stream[who];
	struct sender *t = &sender[who];
	struct lx_advertised adv;
	__u64 window_edge;
	__u32 grant;
	int news;

	grant = s->grant;
	news = lx_ack_build(s, who, now_ns, &adv);
	assert_true(news >= 0);
	n_waited += !grant && s->grant == LX_GRANT_WAITS;
	n_given += !grant && s->grant == LX_GRANT_GIVEN;
	acked_up_to(who, adv.ack);
	for (unsigned int i = 0; i < adv.n_sack; i++) {
		assert_true(adv.sack[i].start > adv.ack);
		assert_true(adv.sack[i].end > adv.sack[i].start);
		assert_true(adv.sack[i].end <= s->high);
		assert_true(!i || adv.sack[i].start > adv.sack[i - 1].end);
	}
	if (!news || rnd_below(1000) < loss) /* ACKs are lost, too */
		return;
	adv.ack = over_wire(adv.ack, stream_base[who], t->una);
	window_edge = adv.ack + ((__u64)lx_window_field(&adv, s->wscale) << s->wscale);
	/* Invariant 3, except for rounding, which depends on the ACK. */
	assert_true((__s64)(window_edge - t->window_edge) >= -(1 << s->wscale) || adv.ack < t->una);
	if (adv.ack > t->una)
		t->una = adv.ack;
	if (window_edge > t->window_edge)
		t->window_edge = window_edge;
}

/* ---- the actors -------------------------------------------------------------------------- */

/*
 * Changes headers of messages on a lane: all that is read of them. The rest, and other payload,
 * would only confuse the sender itself, and what goes up to our socket is checked by the slow path.
 */
static void confuse(int who, __u64 pos, __u64 end, char *data)
{
	struct sender *t = &sender[who];

	for (unsigned int k = 0; k < t->n_messages; k++) {
		const struct message *m = &t->message[k];
		bool v4 = stream[who].version == LX_SOCK_V4;
		__u32 pids_at = 24 + (v4 ? 40 : 16), type_at = 24 + (v4 ? 48 : 24);
		struct lx_fragment p;

		if (m->start >= end || m->start + m->len <= pos)
			continue;
		lx_fragment_at(&stream[who], m->start, m->start + 1, 0, &p);
		if (p.kind != LX_FRAGMENT_LANE)
			continue;
		for (__u32 i = 0; i < type_at + 8; i++) {
			if ((i < pids_at || i >= type_at) && m->start + i >= pos && m->start + i < end)
				data[m->start + i - pos] = rnd();
		}
	}
}

static void sender_send(int who)
{
	struct sender *t = &sender[who];
	__u64 len = stream_len(t), pos, end, room;
	struct segment *seg;
	char *data;

	pos = t->sent;
	/* Sometimes retransmits old bytes, split differently. */
	if (t->sent > t->una && (rnd_below(1000) < loss + 5 ||
				 ((pos >= len || pos >= t->window_edge) && rnd_below(20) == 0)))
		pos = rnd_below(2) ? t->una : t->una + rnd_below(t->sent - t->una);
	room = t->window_edge < len ? t->window_edge : len;
	/* Nothing in flight and no window: a probe without data asks for one. */
	if (pos >= room && t->sent == t->una && pos < len && rnd_below(20) == 0) {
		stream[who].force = 1;
		tell_sender(who);
	}
	if (pos >= room)
		return;
	if (stubborn)
		pos = t->una;
	end = pos + 1 + (rnd_below(5) ? rnd_below(1448) : rnd_below(30000));
	if (stubborn && t->sent > t->una)
		end = t->sent;
	if (end > room)
		end = room;
	data = xalloc(end - pos);
	memcpy(data, t->bytes + pos, end - pos);
	if (evil && pos < t->sent && rnd_below(2))
		confuse(who, pos, end, data);
	if (end > t->sent)
		t->sent = end;
	seg = fly(1, who);
	if (!seg) {
		free(data);
		return;
	}
	seg->pos = pos;
	seg->end = end;
	seg->data = data;
}

static void lane_ack(int l)
{
	struct receiver *r = &lane_rx[l];
	struct segment *seg;
	__u64 window_edge = r->next + (rnd_below(4) ? lane_window
						    : 200 + rnd_below(lane_window / 3));

	if (window_edge > r->window_edge)
		r->window_edge = window_edge;
	seg = fly(3, l);
	if (!seg)
		return;
	seg->ack = r->next + lane_origin[l];
	seg->window_edge = r->window_edge + lane_origin[l];
	seg->n_sack = receiver_sack(r, seg->sack);
	for (int i = 0; i < seg->n_sack; i++) {
		seg->sack[i].start += lane_origin[l];
		seg->sack[i].end += lane_origin[l];
	}
}

static void lx_stream_tell(void *packet, __u32 index, __u32 by_record)
{
	(void)packet, (void)by_record;
	if (index < STREAMS && !sender[index].dead)
		tell_sender(index);
}

static void on_lane_ack(int l, const struct segment *seg)
{
	struct lx_lane *t = &lane[l];
	__u64 una = over_wire(seg->ack, lane_base[l], t->una);
	struct lx_arrival a = { .lane = t, .now_ns = now_ns, .index = l };
	__u32 grants = t->grants;

	if (lx_pos_before(una, t->una))
		return;
	memcpy(t->sack, seg->sack, sizeof(t->sack));
	t->n_sack = seg->n_sack;
	lx_lane_acked(t, 0, una, una + (seg->window_edge - seg->ack));
	lx_stream_tell(NULL, lx_arrival_note(&a), 0);
	n_given += t->grants - grants;
}

/* Our own kernel: acknowledges contiguous bytes and advertises a window. */
static void socket_ack(int who)
{
	struct lx_stream *s = &stream[who];
	struct receiver *r = &sender[who].socket;
	__u64 window_edge = sender[who].read + 3000 + rnd_below(rnd_below(2) ? 4000 : 40000);

	if (window_edge > r->window_edge)
		r->window_edge = window_edge;
	s->socket_una = over_wire(r->next, stream_base[who], s->socket_una);
	s->socket_window_edge = r->window_edge;
	s->n_sack = receiver_sack(r, s->sack);
	tell_sender(who);
}

/* The message at the slow path's position, found by its random command area. */
static int slow_find(int who)
{
	struct sender *t = &sender[who];
	__u32 overhead = lx_overhead(stream[who].version);

	for (unsigned int i = t->done_msg; i < t->n_messages; i++) {
		const struct message *m = &t->message[i];
		__u64 n = m->noop ? 24 : overhead;

		if (t->socket.next - t->read < n)
			continue;
		if (!memcmp(t->socket.bytes + t->read, t->bytes + m->start, n))
			return i;
	}
	return -1;
}

static void slow_read(int who)
{
	struct lx_stream *s = &stream[who];
	struct sender *t = &sender[who];
	const struct message *m;
	int i;

	if (t->boundary > t->read) { /* the rest of a message */
		__u64 upto = t->socket.next < t->boundary ? t->socket.next : t->boundary;

		t->read = upto;
		return;
	}
	i = slow_find(who);
	if (i < 0)
		return;
	m = &t->message[i];
	assert_false(m->delivered);
	t->pending[t->n_pending++] =
		(struct pending){ .end = t->read + m->len, .msg = i };
	t->done_msg = i + 1;
	t->boundary = t->read + m->len;
	s->boundary = t->boundary;
	t->read = t->socket.next < t->boundary ? t->socket.next : t->boundary;
}

/* Forwards complete messages. */
static void slow_forward(int who)
{
	struct sender *t = &sender[who];
	struct pending *p = &t->pending[t->first_pending];

	if (t->first_pending == t->n_pending || t->socket.next < p->end)
		return;
	delivered(who, p->msg);
	n_socket_messages++;
	/* The slow path itself answers their cookies. */
	if (t->message[p->msg].cookie && !t->message[p->msg].noop)
		t->acked_cookies++;
	t->first_pending++;
}

static void cookies(int who)
{
	struct lx_stream *s = &stream[who];

	s->cookies_signaled = 0;
	while (s->cookie_head != s->cookie_tail) {
		__u64 cookie = s->cookie[s->cookie_head++ & (LX_STREAM_COOKIES - 1)];
		bool found = false;

		for (unsigned int i = 0; i < sender[who].n_messages && !found; i++)
			found = sender[who].message[i].cookie == cookie;
		assert_true(found);
		s->cookies_due--;
		sender[who].acked_cookies++;
	}
}

/* ---- connections end --------------------------------------------------------------------- */

static void forget_flight(int kind, int who)
{
	for (int i = 0; i < FLIGHT; i++) {
		if (flight[i].kind == kind && flight[i].who == who)
			land(&flight[i]);
	}
}

/* Whether a living stream has yet to learn the fate of messages on a lane. */
static bool is_referred(int l)
{
	for (int i = 0; i < STREAMS; i++) {
		for (__u32 c = stream[i].head; !sender[i].dead && c != stream[i].tail; c++) {
			if (lx_extent_at(&stream[i], c)->lane == l)
				return true;
		}
	}
	return false;
}

/* Bytes of a stream that the next hop did not get are lost. */
static void lose_messages(int who, int l)
{
	struct lx_stream *s = &stream[who];
	unsigned int k = 0;

	for (__u32 c = s->head; c != s->tail; c++) {
		const struct lx_extent *extent = lx_extent_at(s, c);
		struct sender *t = &sender[who];

		if (extent->lane != l)
			continue;
		while (t->message[k].start != extent->start)
			assert_true(++k < t->n_messages);
		t->message[k].lost = !t->message[k].delivered;
		n_lost += t->message[k].lost;
	}
}

/* The number of runs that have not arrived. */
static unsigned int n_runs(int l)
{
	return lx_lane_busy(lane[l].word) ? lx_lane_n_runs(&lane[l], lane[l].word) : 0;
}

static const struct lx_lane_run *run_at(int l, unsigned int i)
{
	return lx_lane_run(&lane[l], lane[l].run_first + i);
}

/*
 * The next hop drops half a message, and those of others after it; their senders continue with
 * the next ones.
 */
static void lane_dies(int l)
{
	struct lx_lane *t = &lane[l];

	if (t->state == LX_LANE_DEAD)
		return;
	n_dead_lanes++;
	n_dead_shared += n_runs(l) > 1;
	t->state = LX_LANE_DEAD;
	forget_flight(2, l);
	forget_flight(3, l);
	for (unsigned int i = 0; i < n_runs(l); i++)
		lx_lane_credits_give(t->next_hop, NEXT_HOPS);
	for (int i = 0; i < STREAMS && n_runs(l); i++) {
		if (!sender[i].dead)
			lose_messages(i, l);
	}
	t->word &= ~((__u64)LX_LANE_BUSY << 32);
	grants_end(l);
	store_dies(l);
}

/* A lane goes on with what is in front of a message that will not be finished. */
static void lane_ends(int l, __u64 from)
{
	if (lane[l].state == LX_LANE_DEAD)
		return;
	lane_cut(l, from);
	grants_end(l);
}

/* The first message of a stream on a lane of which bytes have not been here, nor arrived. */
static const struct lx_extent *unfinished(int who, int l)
{
	struct lx_stream *s = &stream[who];

	for (__u32 c = s->head; c != s->tail; c++) {
		const struct lx_extent *extent = lx_extent_at(s, c);

		if (extent->lane == l && lane[l].una < extent->lane_start + extent->len &&
		    lx_stream_arrived(s) < lx_extent_end(extent))
			return extent;
	}
	return NULL;
}

/* Complete messages continue without it, unless they get lost (orphans()). */
static void stream_dies(int who)
{
	if (sender[who].dead)
		return;
	n_dead_streams++;
	sender[who].dead = true;
	stream[who].flags |= LX_STREAM_NO_LANES;
	grant_end(who);
	forget_flight(1, who);
	forget_flight(4, who);
	for (int l = 0; l < LANES; l++) {
		if (!lx_lane_has(&lane[l], who))
			continue;
		if (unfinished(who, l))
			lane_ends(l, unfinished(who, l)->lane_start);
		else
			n_survived++;
		for (unsigned int i = 0; i < LX_LANE_RUNS; i++) {
			if (lane[l].run[i].stream == who)
				lane[l].run[i].stream = LX_LANE_OWNER;
		}
		if (lx_lane_owner(lane[l].word) == (__u32)who)
			lane[l].word |= (__u64)LX_LANE_OWNER << 32;
	}
}

/* Whether what a next hop needs next is on its way. */
static bool is_on_its_way(int l)
{
	__u64 at = lane[l].una - lane_origin[l];

	for (int i = 0; i < FLIGHT; i++) {
		if (flight[i].kind == 2 && flight[i].who == l && flight[i].pos <= at &&
		    at < flight[i].end)
			return true;
	}
	return false;
}

/* Lost bytes of a dead stream are not retransmitted; others wait behind them. */
static void orphans(int l)
{
	if (cut_is_done(l)) {
		lane_dies(l);
		return;
	}
	if (!n_runs(l) || run_at(l, 0)->stream != LX_LANE_OWNER ||
	    store_has(l, lane[l].una - lane_origin[l]) || is_on_its_way(l) || rnd_below(200))
		return;
	/* If the next hop has something behind them, it lacks them; else perhaps only its ACK is.
	 */
	if (lane[l].n_sack && lane[l].una - lane_origin[l] == lane_rx[l].next)
		lane_ends(l, lane[l].una);
	else
		lane_dies(l);
}

/* A new connection takes the place of a dead one. */
static void lane_returns(int l)
{
	if (lane[l].state == LX_LANE_DEAD && !is_referred(l))
		make_lane(l);
}

static void policy(int who)
{
	struct lx_stream *s = &stream[who];
	int l;

	s->sample += rnd_below(16) == 0;
	if (rnd_below(1000) < mortality) {
		if (rnd_below(4))
			lane_dies(rnd_below(LANES));
		else
			stream_dies(who);
		return;
	}
	lane_returns(rnd_below(LANES));
	orphans(rnd_below(LANES));
	switch (rnd_below(400)) {
	case 0:
		s->flags |= LX_STREAM_NO_LANES;
		grant_end(who);
		break;
	case 7:
	case 8:
	case 9:
		s->flags &= ~LX_STREAM_NO_LANES;
		break;
	case 1:
		s->flags |= queueing ? 0 : LX_STREAM_FAR;
		break;
	case 2:
		s->flags &= ~LX_STREAM_FAR;
		break;
	case 3:
		lane[rnd_below(LANES)].resegment_ns = now_ns;
		break;
	case 10: /* the path MTU to a next hop changes */
		lane[rnd_below(LANES)].mss = rnd_below(2) ? MSS : 100 + rnd_below(MSS);
		break;
	case 4:
		l = rnd_below(LANES);
		if (lane[l].state == LX_LANE_LIVE)
			lane[l].state = LX_LANE_DRAIN;
		break;
	case 11: /* a next hop does not flow */
		l = rnd_below(n_lanes);
		if (lane[l].state == LX_LANE_LIVE || lane[l].state == LX_LANE_DRAIN) {
			store_begin(l);
			grants_end(l);
		}
		break;
	case 5:
	case 6:
		l = rnd_below(LANES);
		if (lane[l].state == LX_LANE_DRAIN)
			lane[l].state = LX_LANE_LIVE;
		break;
	}
}

static void network(bool losses)
{
	int i = rnd_below(FLIGHT), n = 0;
	struct segment *seg;

	while (!flight[i].kind && n++ < FLIGHT)
		i = (i + 1) % FLIGHT;
	seg = &flight[i];
	if (!seg->kind)
		return;
	if (rnd_below(1000) >= reorder) {
		/* Take the oldest on the same path. */
		for (int k = 0; k < FLIGHT; k++) {
			if (flight[k].kind == seg->kind && flight[k].who == seg->who &&
			    flight[k].born < seg->born)
				seg = &flight[k];
		}
	}
	if (losses && rnd_below(1000) < loss) {
		if (seg->kind != 4) /* no loss within the host */
			land(seg);
		return;
	}
	switch (seg->kind) {
	case 1:
		on_data(seg->who, seg);
		break;
	case 2:
		receiver_take(&lane_rx[seg->who], seg->pos, seg->data, seg->end - seg->pos);
		lane_parse(seg->who);
		if (rnd_below(2))
			lane_ack(seg->who);
		break;
	case 3:
		on_lane_ack(seg->who, seg);
		break;
	case 4:
		receiver_take(&sender[seg->who].socket, seg->pos, seg->data, seg->end - seg->pos);
		if (rnd_below(2))
			socket_ack(seg->who);
		break;
	}
	/* Some are duplicated. */
	if (losses && seg->kind == 1 && rnd_below(1000) < loss)
		return;
	land(seg);
}

static bool all_done(void)
{
	bool all_dead = true, stored = false;

	for (int l = 0; l < LANES; l++)
		stored |= lane[l].state == LX_LANE_STORED && n_runs(l);
	for (int i = 0; i < STREAMS; i++) {
		if (sender[i].dead)
			continue;
		all_dead = false;
		if (sender[i].una < stream_len(&sender[i]) ||
		    sender[i].first_pending < sender[i].n_pending ||
		    sender[i].read < sender[i].socket.next)
			return false;
	}
	return all_dead || !stored;
}

static void check_credits(void)
{
	int busy_by_next_hop[NEXT_HOPS] = { 0 }, busy = 0;
	static int total[NEXT_HOPS + 1];

	for (int l = 0; l < LANES; l++) {
		assert_true(n_runs(l) < LX_LANE_RUNS);
		n_most = n_runs(l) > n_most ? n_runs(l) : n_most;
		busy += n_runs(l);
		busy_by_next_hop[lane[l].next_hop] += n_runs(l);
	}
	if (now_ns == 1) {
		for (int h = 0; h <= NEXT_HOPS; h++)
			total[h] = h < NEXT_HOPS ? fp_peer[h].tx.now : fp_peer[h].rtr.now;
		return;
	}
	for (int h = 0; h < NEXT_HOPS; h++) {
		assert_int_equal(fp_peer[h].tx.now + busy_by_next_hop[h], total[h]);
		assert_int_equal(fp_peer[h].tx.lanes, busy_by_next_hop[h]);
	}
	assert_int_equal(fp_peer[NEXT_HOPS].rtr.now + busy, total[NEXT_HOPS]);
	assert_int_equal(fp_peer[NEXT_HOPS].rtr.lanes, busy);
}

/* The same on a machine, or with networks, that much slower. */
static const unsigned int slower[] = { 1, 10, 100 };

static void one_world(int number)
{
	unsigned int pace = slower[number % N_OF(slower)];
	unsigned long steps = 0;

	make_world(number);
	for (int l = 0; l < LANES; l++)
		store_free(l);
	check_credits();
	while (!all_done()) {
		bool losses = steps < 40000;
		int who = rnd_below(STREAMS), l;

		now_ns += pace * rnd_below(crowd ? 10000 : 200000);
		while (sender[who].dead)
			who = (who + 1) % STREAMS;
		assert_true(++steps < 4000000); /* 4: it ends */
		switch (rnd_below(12)) {
		case 0:
		case 1:
			sender_send(who);
			break;
		case 2:
		case 3:
		case 4:
		case 5:
			network(losses);
			break;
		case 6:
			socket_ack(who);
			l = rnd_below(LANES);
			if (lane[l].state != LX_LANE_DEAD)
				lane_ack(l);
			break;
		case 7:
			slow_read(who);
			break;
		case 8:
		case 10:
			for (int k = rnd_below(8); k >= 0; k--) {
				slow_read(who);
				slow_forward(who);
			}
			cookies(who);
			break;
		case 9:
		case 11:
			if (losses)
				policy(who);
			grant_tick(who);
			grant_lane_tick(rnd_below(LANES));
			store_tick(rnd_below(n_lanes));
			orphans(rnd_below(LANES));
			break;
		}
		check_grants();
		if (steps % 64 == 0)
			check_credits();
	}
	for (int i = 0; i < STREAMS; i++) {
		if (sender[i].dead)
			continue;
		cookies(i);
		n_unframed += stream[i].n_unframed;
		for (unsigned int k = 0; k < LX_LANE0_COUNT; k++)
			n_reasons[k] += stream[i].reasons[k];
		for (unsigned int k = 0; k < sender[i].n_messages; k++)
			assert_true(sender[i].message[k].delivered || sender[i].message[k].lost);
		assert_int_equal(sender[i].acked_cookies, sender[i].wanted_cookies);
	}
	for (int l = 0; l < LANES; l++) {
		n_handovers += lane[l].handovers;
		if (n_runs(l) && run_at(l, 0)->stream == LX_LANE_OWNER)
			lane_dies(l);
		if (lane[l].state == LX_LANE_DEAD)
			continue;
		lane_ack(l);
		lane[l].state = LX_LANE_LIVE;
	}
	while (n_flight)
		network(false);
	check_credits();
	for (int i = 0; i < STREAMS; i++)
		grant_end(i);
	for (int l = 0; l < LANES; l++)
		assert_int_equal(lane[l].granted, 0);
	unmake_world();
}

/* Everything that the worlds are there for has happened. */
static bool all_seen(void)
{
	return n_lane_messages > n_socket_messages / 10 && n_handovers && n_most > 2 && n_waited &&
	       n_given && n_helped && n_used && n_expired && n_stores && n_stored_bytes &&
	       n_stored_lost && n_elsewhere;
}

static void random_worlds(void **state)
{
	int min = rnd_rounds(12), n;

	/* One run of twelve in twenty lacks what is rare, such as a grant that expires. */
	for (n = 0; n < min || (n < 10 * min && !all_seen()); n++) {
		rnd_case("random_worlds", n);
		one_world(n);
	}
	rnd_case(NULL, 0);
	printf("random_worlds: %d worlds, %lu data packets (%lu mixed, %lu headers cut), "
	       "%lu messages by lanes, %lu by the socket, unframed %lu times; "
	       "%lu lanes (%lu shared, with %lu messages) and %lu streams died (%lu with lanes "
	       "that "
	       "went on); %lu hand-overs, %u runs behind each other; grants: %lu waited for, %lu "
	       "given, %lu by the daemon, %lu used, %lu expired; %lu lanes stored, %lu bytes, %lu "
	       "messages lost with them; %lu ended inside a message, %lu behind those went "
	       "elsewhere\n",
	       n, n_cases, n_mixed, n_held, n_lane_messages, n_socket_messages, n_unframed,
	       n_dead_lanes, n_dead_shared, n_lost, n_dead_streams, n_survived, n_handovers, n_most,
	       n_waited, n_given, n_helped, n_used, n_expired, n_stores, n_stored_bytes,
	       n_stored_lost, n_cuts, n_elsewhere);
	for (unsigned int k = 0; k < LX_LANE0_COUNT; k++)
		printf(" %s %lu", reason_name[k], n_reasons[k]);
	putchar('\n');
	assert_true(all_seen());
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_worlds) };

	rnd_init();
	return cmocka_run_group_tests_name("fast path: model", tests, NULL, NULL);
}
