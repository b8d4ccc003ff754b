/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A router with many senders and next hops, in virtual time; for test_fastpath_scale.c and
 * test_fastpath_faults.c. scalenet.h has what its parts do.
 *
 *	256 senders ── 10 Gbit/s each ── router ── 10 Gbit/s each ── 16 next hops
 *	                                   └── lane 0: one thread for all
 *
 * Real: the programs' logic of framing, choosing, lanes and ACKs (bpf, natively), and the daemon's
 * policy (user/fastpath/review.c, stall.c). Modelled: TCP at both ends, which uses all of its
 * buffers; links that keep the order, and lose packets of lanes only where a test says so; lane 0, where socklnd reads the streams in
 * turn and sends whole messages on one CONTROL connection to each next hop. Not covered: rewriting
 * packets, connections that end, several CPUs at once. Packets have no payload; headers are made
 * when the logic reads them.
 */
#ifndef LX_TESTS_SCALEWORLD_H
#define LX_TESTS_SCALEWORLD_H

#include "testlib.h"

#include <stdbool.h>

/* Counts what the logic does: atomic operations, and looks at entries of rings. */
static unsigned long n_atomic, n_look;
#include "fptables.h"
#undef LX_CAS
#undef LX_ADD
#undef LX_OPAQUE
#define LX_CAS(ptr, old, new) (n_atomic++, __sync_val_compare_and_swap(ptr, old, new))
#define LX_ADD(ptr, n) (n_atomic++, __sync_fetch_and_add(ptr, n))
#define LX_OPAQUE(x) (n_look++, (void)(x))

#include "../../bpf/ack.h"
#include "../../bpf/arrival.h"
#include "../../bpf/fragment.h"
#include "../../user/fastpath/priv.h"

#ifndef STREAMS
#define STREAMS 256
#define HOPS 16
#define CONNS 3
#define IN_FLIGHT 16 /* messages that a sender has under way; a power of two */
#endif
#ifndef SENDERS
#define SENDERS STREAMS /* that are there from the beginning */
#endif
#define LANES (HOPS * CONNS)
#define PEERS (HOPS + STREAMS)

#define MSS 1448
#define CUT_PARTS 8 /* LX_CUT_PARTS in bpf/cut.h */
#define PACKET (45 * MSS) /* GSO */
#define WSCALE 7
#define SEND_BUFFER (4u << 20)
#define RECEIVE_BUFFER (6u << 20)
#define SOCKET_BUFFER (3u << 20)
#define MESSAGES 2048 /* that are remembered, a power of two */
#define BUFFERS 8 /* of the router, for each sender */

#define LINK 1250000u /* bytes a millisecond: 10 Gbit/s */
#define LANE0_MESSAGE_NS 2000
#define RECV_MAX (128u << 10)
#define MS 1000000ull
#define RTO (200 * MS)

/* ---- maps ---------------------------------------------------------------------------- */

static struct lx_stream stream[STREAMS];
static struct lx_lane lane[LANES];
static struct lx_fp_peer fp_peer[PEERS];
static struct lx_dest dest[HOPS];

FP_TABLES(stream, STREAMS, lane, LANES, fp_peer, PEERS)


/* 10.0.0.<next hop>@tcp; senders are 10.1.0.<number>@tcp. */
static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	return !nid->addr[1] && nid->addr[3] < HOPS ? &dest[nid->addr[3]] : NULL;
}

static int lx_record_emit(enum lx_record_type type, __u32 index, __u64 value)
{
	(void)type, (void)index, (void)value;
	return 0;
}

/* ---- the world ----------------------------------------------------------------------- */

struct message {
	unsigned int number;
	__u64 start;
	__u32 len;
	int hop;
	bool under_way, elsewhere;
	__u64 begun_ns;
};

/* A message whose first byte went up to lane 0. */
struct up {
	__u64 start; /* socket position */
	unsigned int message;
};

struct sender {
	struct message message[MESSAGES]; /* a ring */
	unsigned int n_begun, n_done;
	__u64 end; /* of the last message begun */
	__u64 una, sent, window_edge;
	__u64 una_seen, timer_ns, free_ns, latency_ns;
	__u32 left; /* messages before the next change of the next hop */
	int hop;
	__u64 delivered; /* bytes, in the measured time */
	__u32 link; /* bytes a millisecond */
	__u32 packet; /* bytes at most */
	unsigned int epoch; /* packets of earlier ones got lost */
	bool dead, stalls;
	bool large; /* its messages are of 1 MiB, all to one next hop */
	__u64 hole; /* a byte that it never sends; 0: none */

	/* lane 0 */
	__u64 socket_next, read, boundary;
	struct up up[IN_FLIGHT];
	unsigned int up_first, up_tail, n_up; /* n_up: all messages before it are known */
	unsigned int current; /* the message being read */
	unsigned int n_buffered; /* messages in the router */
};

/* A message on a lane; they arrive in the order of their positions. */
struct placed {
	__u64 end; /* on the connection */
	int who; /* -1: lnetxd wrote it into the socket */
	unsigned int message;
};

#define PLACED 32768 /* a power of two */
#define GAPS 64

/* Of a connection, whose bytes count from 0. */
struct receiver {
	__u64 next;
	struct lx_sack early[GAPS + 1]; /* ascending, apart */
	unsigned int n_early;
	struct placed *placed;
	unsigned int first, tail;
	unsigned int epoch; /* of its connection: packets of earlier ones are gone */
};

struct hop {
	__u64 free_ns;
	__u32 link; /* bytes a millisecond */
	bool silent, held;
	bool mute; /* its ACKs get lost */
	bool down; /* it has closed its connections */
	bool lies; /* takes nothing, and repeats its last ACK */
	struct placed queue[STREAMS * BUFFERS]; /* lane 0: waits for room on it */
	unsigned int first, tail;
	__u32 n_out; /* bytes of these on their way */
};

enum kind { DATA, AT_HOP, LANE_ACK, ACK, DONE, LANE0_TURN, LANE0_ARRIVED, TICK, ELSEWHERE, CLOSE };

struct event {
	__u64 ns, number;
	enum kind kind;
	int who;
	unsigned int message;
	__u64 pos, end;
};

/* Decides what the senders do. */
struct pattern {
	__u32 size_min, size_max; /* of messages, random; powers of two in between */
	__u32 train; /* messages to a next hop before another; 0: always the same one */
	__u32 lane0; /* bytes a microsecond that lane 0 reads */
};

static struct pattern pattern;
static struct sender sender[STREAMS];
static __u64 origin[LANES]; /* position 0 of a lane on its connection */
static bool off; /* lnetx bpf off */
static __u32 lose; /* one in so many packets and ACKs of lanes gets lost; 0: none */
static struct receiver receiver[LANES];
static struct hop hop[HOPS];
static struct event *heap;
static unsigned int n_heap, heap_room;
static __u64 now_ns, n_events, measured_from;
static bool lane0_busy;
static int lane0_at;
static unsigned long n_lane_messages, n_slow_messages;

static struct lx_fp *fp;
static struct lx_fp_conn stream_conn[STREAMS], lane_conn[LANES];
static struct lx_fp_neighbour neighbour[HOPS];
static struct lx_sock_offload offload;

struct lx_sock_conn {
	int who; /* a sender; -1 */
	int hop; /* a next hop; -1 */
};
static struct lx_sock_conn stream_sock[STREAMS], lane_sock[LANES];

/* ---- events -------------------------------------------------------------------------- */

static bool is_before(const struct event *a, const struct event *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->number < b->number;
}

static void at(__u64 ns, struct event e)
{
	unsigned int i = n_heap++;

	if (n_heap > heap_room) {
		heap_room = heap_room ? 2 * heap_room : 4096;
		heap = realloc(heap, heap_room * sizeof(*heap));
		assert_non_null(heap);
	}
	e.ns = ns;
	e.number = n_events++;
	for (; i && is_before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
}

static struct event next_event(void)
{
	struct event first = heap[0], last = heap[--n_heap];
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < n_heap) {
		if (child + 1 < n_heap && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

/* When the last of @len bytes is through a link that is busy until *@free_ns. */
static __u64 through(__u64 *free_ns, __u32 len, __u32 link)
{
	if (*free_ns < now_ns)
		*free_ns = now_ns;
	*free_ns += len * MS / link;
	return *free_ns;
}

/* ---- messages ------------------------------------------------------------------------ */

static struct message *message_at(int who, unsigned int number)
{
	return &sender[who].message[number % MESSAGES];
}

static void begin_message(int who)
{
	struct sender *t = &sender[who];
	unsigned int number = t->n_begun++;
	struct message *m = message_at(who, number);
	unsigned int sizes = __builtin_ctz(pattern.size_max / pattern.size_min) + 1;

	if (pattern.train && !t->large && !t->left--) {
		t->hop = rnd_below(HOPS);
		t->left = pattern.train - 1;
	}
	*m = (struct message){ .number = number, .under_way = true, .begun_ns = now_ns };
	m->start = t->end;
	m->len = lx_overhead(LX_SOCK_V3) +
		 (t->large ? 1u << 20 : pattern.size_min << rnd_below(sizes));
	m->hop = t->hop;
	t->end += m->len;
}

/* The message that contains a stream position. */
static unsigned int message_of(int who, __u64 pos)
{
	unsigned int high = sender[who].n_begun, low = high < MESSAGES ? 0 : high - MESSAGES;

	while (high - low > 1) {
		unsigned int mid = low + (high - low) / 2;

		if (message_at(who, mid)->start <= pos)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* 10.1.0.<sender>@tcp */
static struct lx_nid sender_nid(int who)
{
	return (struct lx_nid){ .type = LX_NET_TCP, .addr = { 10, 1, 0, who } };
}

static int lx_packet_load(void *packet, __u32 offset, void *to, __u32 len)
{
	const struct event *e = packet;
	const struct message *m = message_at(e->who, message_of(e->who, e->pos + offset));
	char header[sizeof(struct lx_sock_msg) + sizeof(struct lx_hdr_nid4)] = { 0 };
	struct lx_hdr hdr = {
		.type = LX_MSG_PUT,
		.payload_length = m->len - lx_overhead(LX_SOCK_V3),
		.dst_nid = { .type = LX_NET_TCP, .addr = { 10, 0, 0, m->hop } },
	};
	__u32 type = LX_SOCK_LNET;

	memcpy(header, &type, sizeof(type));
	hdr.src_nid = sender_nid(e->who);
	lx_hdr_nid4_encode(&hdr, (void *)(header + sizeof(struct lx_sock_msg)));
	assert_true(e->pos + offset - m->start + len <= sizeof(header));
	memcpy(to, header + (e->pos + offset - m->start), len);
	return 0;
}

static void note_delay(int who, const struct message *m);

/* A next hop has all of a message, once. */
static void delivered(int who, unsigned int number)
{
	struct sender *t = &sender[who];
	struct message *m = message_at(who, number);

	assert_true(m->under_way);
	m->under_way = false;
	if (now_ns >= measured_from)
		t->delivered += m->len;
	note_delay(who, m);
	at(now_ns + t->latency_ns, (struct event){ .kind = DONE, .who = who });
}

#endif
