/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stored lanes in the model of test_fastpath_model.c: what the programs hand to the daemon, and the
 * lane's socket, which sends it, as in user/fastpath/store.c. Positions are those of the lane's
 * connection, from 0. Only for that test.
 */
#ifndef LX_TESTS_FPSTORE_H
#define LX_TESTS_FPSTORE_H

#include "fpworld.h"

/* By lane: what has been stored, and who had what on it when that began. */
static struct receiver store[LANES];
static struct noted {
	int who;
	unsigned int message;
	__u64 at; /* on the lane */
} noted[LANES][STREAMS * LX_STREAM_EXTENTS];
static unsigned int n_noted[LANES];
/* By lane that ends inside a message (user/fastpath/cut.c): messages behind begin here; else ~0. */
static __u64 cut_from[LANES];
static unsigned long n_stores, n_stored_bytes, n_stored_lost, n_cuts, n_elsewhere;

static void store_free(int l)
{
	free(store[l].bytes);
	free(store[l].got);
	store[l] = (struct receiver){ 0 };
	n_noted[l] = 0;
	cut_from[l] = ~0ull;
}

/* The message of a stream that begins at @start. */
static unsigned int message_at(int who, __u64 start)
{
	unsigned int k = 0;

	while (sender[who].message[k].start != start)
		assert_true(++k < sender[who].n_messages);
	return k;
}

static void store_begin(int l)
{
	n_stores++;
	store_free(l);
	receiver_init(&store[l], lane_rx[l].cap, 0);
	lane[l].state = LX_LANE_STORED;
	for (int who = 0; who < STREAMS; who++) {
		struct lx_stream *s = &stream[who];

		for (__u32 c = s->head; !sender[who].dead && c != s->tail; c++) {
			const struct lx_extent *extent = lx_extent_at(s, c);

			if (extent->lane == l)
				noted[l][n_noted[l]++] =
					(struct noted){ who, message_at(who, extent->start),
							extent->lane_start - lane_origin[l] };
		}
	}
}

/* A part for the lane, as in bpf/store.h. */
static void store_put(int who, const struct lx_fragment *p, const char *data)
{
	struct lx_stream *s = &stream[who];
	__u64 from = lx_store_from(s), at;
	struct receiver *r = &store[p->lane];
	bool full = !rnd_below(8); /* the ring */

	if (full || lx_pos_before(from, p->pos) || !lx_pos_before(from, p->end))
		return;
	at = p->target + (from - p->pos) - lane_origin[p->lane];
	for (__u64 i = 0; i < p->end - from; i++) {
		assert_true(at + i < r->cap && !r->got[at + i]); /* each byte once */
		r->bytes[at + i] = data[from - p->pos + i];
		r->got[at + i] = 1;
	}
	n_stored_bytes += p->end - from;
	s->stored = p->end;
}

static bool store_has(int l, __u64 at)
{
	return lane[l].state == LX_LANE_STORED && store[l].got[at];
}

/* The socket sends what comes next, again and again, within the window. */
static void store_feed(int l)
{
	__u64 at = lane[l].una - lane_origin[l], end, max = at + 1 + rnd_below(3000);
	struct segment *seg;

	if (cut_from[l] < max)
		max = cut_from[l];
	for (end = at; end < max && end < lane[l].window_edge - lane_origin[l] && store_has(l, end);)
		end++;
	seg = end > at ? fly(2, l) : NULL;
	if (!seg)
		return;
	seg->pos = at;
	seg->end = end;
	seg->data = xalloc(end - at);
	memcpy(seg->data, store[l].bytes + at, end - at);
}

/* The next hop has got everything: the lane is one again. */
static void store_tick(int l)
{
	if (lane[l].state != LX_LANE_STORED)
		return;
	store_feed(l);
	if (lx_lane_busy(lane[l].word) || (__u32)lane[l].word != (__u32)lane[l].una)
		return;
	store_free(l);
	lane[l].state = LX_LANE_LIVE;
}

static bool store_has_all(int l, __u64 at, __u32 len)
{
	while (len && store[l].got[at + len - 1])
		len--;
	return !len;
}

/* Complete messages behind the one that will not be finished take another connection. */
static bool send_elsewhere(int l)
{
	bool more = false;

	for (unsigned int i = 0; i < n_noted[l]; i++) {
		const struct noted *n = &noted[l][i];
		struct message *m = &sender[n->who].message[n->message];

		if (n->at < cut_from[l] || m->delivered)
			continue;
		if (!store_has_all(l, n->at, m->len)) {
			more |= !sender[n->who].dead;
			continue;
		}
		assert_memory_equal(store[l].bytes + n->at + 24,
				    sender[n->who].bytes + m->start + 24, m->len - 24);
		m->delivered = true;
		n_elsewhere++;
	}
	return more;
}

/* The missing bytes are lost, so the next hop never gets anything behind them. */
static void lane_cut(int l, __u64 from)
{
	if (lane[l].state != LX_LANE_STORED)
		store_begin(l);
	n_cuts++;
	if (from - lane_origin[l] < cut_from[l])
		cut_from[l] = from - lane_origin[l];
}

/* Whether a lane that ends inside a message has ended. */
static bool cut_is_done(int l)
{
	return cut_from[l] != ~0ull && lane[l].una - lane_origin[l] >= cut_from[l] &&
	       !send_elsewhere(l);
}

/* With the lane's connection, what the next hop has not got is lost, whoever has been told that it has. */
static void store_dies(int l)
{
	for (unsigned int i = 0; i < n_noted[l]; i++) {
		struct message *m = &sender[noted[l][i].who].message[noted[l][i].message];

		n_stored_lost += !m->delivered && !m->lost;
		m->lost = !m->delivered;
	}
	store_free(l);
}

#endif
