/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The model of test_fastpath_model.c: maps, segments in flight, receivers, messages,
 * and how it begins. Only for it.
 */
#ifndef LX_TESTS_FPWORLD_H
#define LX_TESTS_FPWORLD_H

#include "testlib.h"

#include <stdbool.h>

/* Many of the model's messages need a grant; how many differs from world to world. */
static unsigned int grant_min, grant_max, grant_spare;
#define LX_GRANT_MIN grant_min
#define LX_GRANT_MAX grant_max
#define LX_GRANT_SPARE grant_spare

#include "fptables.h"

#include "../../bpf/ack.h"
#include "../../bpf/arrival.h"
#include "../../bpf/fragment.h"

#define STREAMS 4
#define LANES 12
#define NEXT_HOPS 2
#define BYTES (3u << 17) /* total per stream */
#define MSS 1448
#define FLIGHT 256       /* segments in flight, total */

/* ---- maps ---------------------------------------------------------------------------- */

static struct lx_stream stream[STREAMS];
static struct lx_lane lane[LANES];
static struct lx_fp_peer fp_peer[NEXT_HOPS + 1]; /* the last one stands for the senders */
static struct lx_dest dest[NEXT_HOPS];

FP_TABLES(stream, STREAMS, lane, LANES, fp_peer, NEXT_HOPS + 1)


/* 10.0.0.<next hop>@tcp; 10.0.1.0 is ours, all others are unknown. */
static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	static struct lx_dest local;

	if (nid->addr[2] == 1)
		return &local;
	return nid->addr[3] < NEXT_HOPS ? &dest[nid->addr[3]] : NULL;
}

FP_PACKETS

static unsigned long n_cookie_records;

/* Sometimes the daemon is too slow, and the ring buffer full. */
static int lx_record_emit(enum lx_record_type type, __u32 index, __u64 value)
{
	if (!rnd_below(4))
		return -1;
	n_cookie_records += type == LX_RECORD_COOKIES;
	return 0;
}

/* ---- messages --------------------------------------------------------------------------- */

struct message {
	__u64 start;
	__u32 len;
	int to; /* next hop; -1 local, -2 unknown */
	bool noop, extras;
	__u64 cookie;
	bool delivered, lost; /* lost: with its lane */
};

struct segment {
	unsigned long born;
	int kind; /* 0 free, 1 data to the router, 2 data on a lane, 3 ACK of a lane, 4 to the socket */
	int who;
	__u64 pos, end;
	char *data;
	__u64 ack, window_edge;
	struct lx_sack sack[3];
	int n_sack;
};

/* A receiver that reassembles a byte stream. */
struct receiver {
	__u64 next;        /* contiguous up to here */
	__u64 window_edge; /* advertised */
	__u32 slack;       /* the advertised window is rounded up */
	char *bytes;
	unsigned char *got; /* a flag per byte */
	__u64 cap;
	__u64 parsed;      /* end of the complete messages that were checked */
};

struct sender {
	char *bytes;
	struct message *message;
	unsigned int n_messages, first_due; /* all before have arrived, or are lost */
	__u64 una, sent, window_edge;
	__u32 wire_window_edge; /* from the last window field */
	struct receiver socket;
	/* the slow path */
	__u64 read;        /* socket position it has parsed up to */
	__u64 boundary;
	unsigned int done_msg;
	struct pending {
		__u64 end;
		unsigned int msg;
		bool done;
	} *pending;
	unsigned int n_pending, first_pending;
	unsigned int acked_cookies, wanted_cookies;
	bool dead;
};

/* Initial sequence numbers of connections, initial positions of lanes. */
static __u32 stream_base[STREAMS], lane_base[LANES];
static __u64 lane_origin[LANES];
static unsigned int mortality; /* of 1000 decisions of policy */
static unsigned long n_dead_lanes, n_dead_streams, n_lost, n_dead_shared, n_survived, n_handovers;
static unsigned int n_lanes, n_most;
static unsigned long n_waited, n_given, n_used, n_expired, n_helped;

static struct sender sender[STREAMS];
static struct receiver lane_rx[LANES];
static struct segment flight[FLIGHT];
static unsigned int n_flight;
static __u64 now_ns;
static unsigned long n_cases, n_lane_messages, n_socket_messages, n_unframed, n_held, n_mixed;
static unsigned int reorder, loss; /* of 1000 */
static unsigned long n_reasons[LX_LANE0_COUNT];
static unsigned long births;
static int crowd; /* few lanes, and almost only messages that may use them */
static int queueing; /* ... of which many wait for a grant, and little else happens to them */
static __u32 lane_window; /* that next hops usually advertise */
static int evil; /* senders retransmit with other contents */
static int stubborn; /* ... a single segment until it is acknowledged: a window of one */

static void *xalloc(size_t n)
{
	void *p = calloc(1, n);

	assert_non_null(p);
	return p;
}

static struct segment *fly(int kind, int who)
{
	for (int i = 0; i < FLIGHT; i++) {
		if (!flight[i].kind) {
			flight[i] = (struct segment){ .kind = kind, .who = who, .born = ++births };
			n_flight++;
			return &flight[i];
		}
	}
	return NULL; /* the network is full: dropped */
}

static void land(struct segment *seg)
{
	free(seg->data);
	seg->data = NULL;
	seg->kind = 0;
	n_flight--;
}

static void receiver_init(struct receiver *r, __u64 cap, __u64 window_edge)
{
	r->bytes = xalloc(cap);
	r->got = xalloc(cap);
	r->cap = cap;
	r->next = r->parsed = 0;
	r->window_edge = window_edge;
}

static void receiver_take(struct receiver *r, __u64 pos, const char *data, __u64 len)
{
	/* Behind a hole, Linux replaces a segment by one that covers it. */
	bool replaces = rnd_below(2);

	for (__u64 i = 0; i < len; i++) {
		if ((__s64)(pos + i) < (__s64)r->next)
			continue; /* TCP trims old bytes */
		assert_true(pos + i < r->window_edge + r->slack); /* 3: acceptable */
		assert_true(pos + i < r->cap);
		if (replaces || !r->got[pos + i])
			r->bytes[pos + i] = data[i];
		r->got[pos + i] = 1;
	}
	while (r->next < r->cap && r->got[r->next])
		r->next++;
}

static int receiver_sack(const struct receiver *r, struct lx_sack *sack)
{
	int n = 0;

	for (__u64 i = r->next; i < r->window_edge && i < r->cap && n < 3; i++) {
		if (!r->got[i] || (i && r->got[i - 1]))
			continue;
		sack[n].start = i;
		while (i < r->cap && r->got[i])
			i++;
		sack[n++].end = i;
	}
	return n;
}

static const char *const reason_name[] = {
#define NAME_(NAME, name, help) name,
	LX_LANE0_REASONS(NAME_)
#undef NAME_
};

/* Converts a position to a sequence number and back. */
static __u64 over_wire(__u64 pos, __u32 base, __u64 near)
{
	return lx_pos_of(lx_seq_of(pos, base), base, near);
}

static __u32 about_to_wrap(void)
{
	return rnd_below(3) ? -(__u32)rnd_below(BYTES) : rnd();
}

/* Creates the messages of a sender. */
static void make_messages(struct sender *t, int index)
{
	__u32 overhead = lx_overhead(stream[index].version);
	__u64 at = 0;

	t->bytes = xalloc(BYTES + 70000);
	t->message = xalloc(sizeof(*t->message) * (BYTES / 24 + 1));
	t->pending = xalloc(sizeof(*t->pending) * (BYTES / 24 + 1));
	rnd_fill(t->bytes, BYTES + 70000);
	t->n_messages = 0;
	while (at < BYTES) {
		struct message *m = &t->message[t->n_messages++];
		struct lx_sock_msg head = { .type = LX_SOCK_LNET };
		__u32 payload = rnd_below(3) ? rnd_below(300) : rnd_below(3) ? rnd_below(5000)
									    : rnd_below(60000);
		int kind = rnd_below(crowd ? 3000 : 300);

		*m = (struct message){ .start = at, .to = rnd_below(NEXT_HOPS) };
		if (kind == 0)
			m->noop = true;
		else if (kind == 1)
			m->to = -1;
		else if (kind == 2)
			m->to = -2;
		else if (kind == 3)
			m->extras = true;
		else if (kind % 2)
			m->cookie = 2 + rnd();
		if (t->n_messages > 1 && rnd_below(4) && !m->noop)
			m->to = t->message[t->n_messages - 2].to;
		if (m->noop) {
			head.type = LX_SOCK_NOOP;
			head.cookie[1] = 1;
			m->to = -1;
		}
		head.cookie[0] = m->noop ? 0 : m->cookie;
		if (m->extras)
			head.csum = 1 + rnd_below(1000);
		if (stream[index].flip) {
			head.type = __builtin_bswap32(head.type);
			head.csum = __builtin_bswap32(head.csum);
			head.cookie[0] = __builtin_bswap64(head.cookie[0]);
			head.cookie[1] = __builtin_bswap64(head.cookie[1]);
		}
		memcpy(t->bytes + at, &head, sizeof(head));
		m->len = m->noop ? 24 : overhead + payload;
		if (!m->noop) {
			struct lx_hdr hdr = { .payload_length = payload, .type = LX_MSG_PUT };

			hdr.dst_nid = (struct lx_nid){ .type = LX_NET_TCP };
			hdr.dst_nid.addr[0] = 10;
			hdr.dst_nid.addr[2] = m->to == -1;
			hdr.dst_nid.addr[3] = m->to == -2 ? 77 : m->to < 0 ? 0 : m->to;
			hdr.src_nid = hdr.dst_nid;
			rnd_fill(&hdr.cmd, sizeof(hdr.cmd));
			if (stream[index].version == LX_SOCK_V4)
				lx_hdr_nid16_encode(&hdr, (void *)(t->bytes + at + 24));
			else
				lx_hdr_nid4_encode(&hdr, (void *)(t->bytes + at + 24));
		}
		t->wanted_cookies += m->cookie && !m->noop;
		at += m->len;
	}
	t->message[t->n_messages].start = at;
}

/* ---- making a world ------------------------------------------------------------------------ */

static __u64 stream_len(const struct sender *t)
{
	return t->message[t->n_messages].start;
}

/* Creates a new connection to a next hop, as lane @l. */
static void make_lane(int l)
{
	struct lx_lane *t = &lane[l];
	__u64 at = rnd_below(2) ? 0 : (1ull << 32) - rnd_below(BYTES);

	lane_origin[l] = at;
	lane_base[l] = about_to_wrap();
	t->run_first = lx_lane_tail(t->word) + 1; /* as at a takeover, and at an end */
	t->word = ((__u64)(t->run_first & 0xffff) << LX_LANE_TAIL_SHIFT | LX_LANE_OWNER) << 32 |
		  (__u32)at;
	t->popping = 0;
	t->una = t->sent = at;
	t->n_sack = 0;
	t->state = LX_LANE_LIVE;
	t->window_edge = at + 200 + rnd_below(lane_window / 3);
	free(lane_rx[l].bytes);
	free(lane_rx[l].got);
	receiver_init(&lane_rx[l], (__u64)STREAMS * (BYTES + 70000), t->window_edge - at);
}

static void make_world(int number)
{
	int version = LX_SOCK_V3 + rnd_below(2);

	memset(stream, 0, sizeof(stream));
	memset(lane, 0, sizeof(lane));
	memset(fp_peer, 0, sizeof(fp_peer));
	memset(sender, 0, sizeof(sender));
	memset(flight, 0, sizeof(flight));
	mortality = rnd_below(3) ? 0 : rnd_below(15);
	n_flight = 0;
	now_ns = 1;
	queueing = number % 4 == 1 || rnd_below(4) == 0;
	crowd = queueing || rnd_below(3) == 0;
	n_lanes = crowd ? 1 + rnd_below(3) : LANES;
	grant_min = queueing ? 150 + rnd_below(300) : 500 + rnd_below(10000);
	grant_max = queueing ? 1000 + rnd_below(10000) : 3000 + rnd_below(100000);
	grant_spare = rnd_below(2) ? 0 : rnd_below(20000);
	lane_window = queueing && rnd_below(2) ? 2000 + rnd_below(20000) : 200000;
	evil = rnd_below(3) == 0;
	stubborn = rnd_below(6) == 0;
	reorder = rnd_below(2) ? 0 : rnd_below(2) ? 20 : 1000;
	loss = rnd_below(2) ? 0 : rnd_below(2) ? 5 : 80;
	fp_peer[NEXT_HOPS].tx.now = fp_peer[NEXT_HOPS].rtr.now =
		1 + rnd_below(rnd_below(3) ? 60 : 8);
	for (int i = 0; i < NEXT_HOPS; i++) {
		fp_peer[i].tx.now = fp_peer[i].tx.min =
			1 + rnd_below(rnd_below(3) ? 60 : 8);
		fp_peer[i].rtr.now = 8;
		dest[i] = (struct lx_dest){ .n = 1, .next_hop = { i }, .routed = i && !crowd };
	}
	for (int i = 0; i < LANES; i++) {
		int h = rnd_below(NEXT_HOPS);

		/* In some worlds there are fewer lanes than streams. */
		lane[i].state = LX_LANE_DEAD;
		if (i >= (int)n_lanes && fp_peer[h].n_lanes)
			continue;

		lane[i].next_hop = h;
		lane[i].version = version;
		lane[i].mss = MSS;
		fp_peer[h].lane[fp_peer[h].n_lanes++] = i;
		make_lane(i);
	}
	for (int i = 0; i < STREAMS; i++) {
		struct sender *t = &sender[i];
		struct lx_stream *s = &stream[i];

		stream_base[i] = about_to_wrap();
		s->state = LX_STREAM_ON;
		s->version = version;
		s->peer = NEXT_HOPS;
		s->mss = MSS;
		s->lane = LX_NO_LANE;
		s->wscale = rnd_below(9);
		s->flip = rnd_below(4) == 0;
		make_messages(t, i);
		receiver_init(&t->socket, BYTES + 70000, 3000 + rnd_below(60000));
		t->socket.slack = (1 << s->wscale) - 1;
		s->socket_window_edge = t->socket.window_edge;
		s->window_edge = s->advertised_edge = t->window_edge = t->socket.window_edge;
		t->wire_window_edge = t->window_edge;
		/*
		 * A takeover starts unframed, without diverted bytes; the slow path knows
		 * boundary 0.
		 */
	}
}

static void unmake_world(void)
{
	for (int i = 0; i < FLIGHT; i++) {
		if (flight[i].kind)
			land(&flight[i]);
	}
	for (int i = 0; i < LANES; i++) {
		free(lane_rx[i].bytes);
		free(lane_rx[i].got);
		lane_rx[i] = (struct receiver){ 0 };
	}
	for (int i = 0; i < STREAMS; i++) {
		free(sender[i].bytes);
		free(sender[i].message);
		free(sender[i].pending);
		free(sender[i].socket.bytes);
		free(sender[i].socket.got);
	}
}

#endif
