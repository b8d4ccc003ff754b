/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Framing, natively: one stream, packet by packet, with a next hop that accepts
 * everything. test_fastpath_model.c tests many streams at once.
 */
#include "testlib.h"

#include <stdbool.h>

/* Another CPU, which runs when this one has found an extent, and is about to read it. */
static void (*other_cpu)(void);
static unsigned int other_cpu_at; /* counts down */

#define LX_OPAQUE(x) (other_cpu && !other_cpu_at-- ? other_cpu() : (void)(x))

#include "fptables.h"

#include "../../bpf/ack.h"
#include "../../bpf/fragment.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

/* ---- the world -------------------------------------------------------------------- */

static struct lx_stream stream;
static struct lx_lane lane;
static struct lx_fp_peer fp_peer[2]; /* the sender, the next hop */
static struct lx_dest dest = { .n = 1, .next_hop = { 1 } };

FP_TABLES(&stream, 1, &lane, 1, fp_peer, N_OF(fp_peer))


/* Messages for any NID are forwarded. */
static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	return &dest;
}

FP_PACKETS

static int lx_record_emit(enum lx_record_type type, __u32 index, __u64 value)
{
	return 0;
}

/* A stream framed at position 0, and an idle lane with an unlimited window. */
static void world(int version)
{
	memset(&stream, 0, sizeof(stream));
	memset(&lane, 0, sizeof(lane));
	memset(fp_peer, 0, sizeof(fp_peer));
	stream.state = LX_STREAM_ON;
	stream.version = lane.version = version;
	stream.mss = lane.mss = 1448;
	lane.state = LX_LANE_LIVE;
	lane.next_hop = 1;
	lane.word = (__u64)LX_LANE_OWNER << 32;
	lane.window_edge = 1ull << 60;
	fp_peer[1].n_lanes = 1;
}

/* Packets of maximum size go up; our socket accepts everything. */
static void goes_up(char *bytes, __u64 from, __u64 to)
{
	struct lx_advertised adv;

	while (from < to) {
		__u64 end = from + (64u << 10) < to ? from + (64u << 10) : to;
		struct lx_segment seg = { .pos = from, .end = end, .packet = bytes };
		struct lx_framing f = { .s = &stream, .seg = &seg };
		struct lx_fragment p;

		assert_int_equal(lx_frame(&f), 0);
		for (; from < end; from = p.end) {
			lx_fragment_run(&stream, from, end, f.near, &p);
			assert_int_equal(p.kind, LX_FRAGMENT_UP);
			assert_int_equal(p.target, from - stream.diverted);
		}
		stream.socket_una = end - stream.diverted;
		stream.socket_window_edge = stream.socket_una + MIB;
		assert_true(lx_ack_build(&stream, 0, 1, &adv) >= 0);
		assert_int_equal(adv.ack, end);
	}
}

/* ---- UNFRAMED --------------------------------------------------------------------- */

/* Writes a message for the next hop; returns its length. */
static __u32 message(char *at, __u32 payload)
{
	const struct lx_sock_msg head = { .type = LX_SOCK_LNET };
	struct lx_hdr hdr = { .type = LX_MSG_PUT, .payload_length = payload };

	lx_nid_from_u64((__u64)LX_NET(LX_NET_TCP, 2) << 32 | 0x0a020001, &hdr.dst_nid);
	lx_nid_from_u64((__u64)LX_NET(LX_NET_TCP, 1) << 32 | 0x0a010001, &hdr.src_nid);
	memcpy(at, &head, sizeof(head));
	lx_hdr_nid4_encode(&hdr, (void *)(at + sizeof(head)));
	return lx_overhead(LX_SOCK_V3) + payload;
}

/* After @bytes without lanes a stream gets them again when the slow path knows a boundary. */
static void unframed_for(__u64 bytes)
{
	static char junk[64u << 10], packet[200];
	__u32 len = message(packet, 100);
	struct lx_segment seg = { .packet = packet };
	struct lx_framing f = { .s = &stream, .seg = &seg };

	world(LX_SOCK_V3);
	/* One message on a lane first, so that socket and stream positions differ. */
	seg.end = len;
	assert_int_equal(lx_frame(&f), 0);
	assert_int_equal(stream.lane_messages, 1);
	lx_lane_acked(&lane, 0, len, lane.window_edge);

	stream.flags = LX_STREAM_NO_LANES;
	goes_up(junk, len, len + bytes);
	assert_int_equal(stream.unframed, 1);
	assert_int_equal(stream.tail - stream.head, 1); /* the past takes no room */
	stream.flags = 0;
	stream.boundary = bytes;
	seg.pos = len + bytes;
	seg.end = seg.pos + len;
	assert_int_equal(lx_frame(&f), 0);
	assert_int_equal(stream.unframed, 0);
	assert_int_equal(stream.lane_messages, 2);
	assert_int_equal(lx_extent_at(&stream, stream.tail - 1)->lane_start, len);
	assert_int_equal(stream.parse_next, seg.end);
}

static void unframed_ends(void **state)
{
	unframed_for(MIB);
	unframed_for(GIB - 1);
	unframed_for(GIB);
	unframed_for(5 * GIB + 4711); /* positions have more bits than sequence numbers */
}

/* Without a free extent the last one grows; it is closed when one is free. */
static void unframed_without_room(void **state)
{
	static char junk[64u << 10];

	world(LX_SOCK_V3);
	stream.flags = LX_STREAM_NO_LANES;
	goes_up(junk, 0, MIB);
	stream.head -= LX_STREAM_EXTENTS - 2; /* as if others were in flight before it */
	for (__u32 c = stream.head; c != stream.tail - 1; c++)
		*lx_extent_at(&stream, c) = (struct lx_extent){ .lane = LX_NO_LANE };
	assert_false(lx_extent_room(&stream));
	stream.unframed_high = 2 * GIB;
	lx_unframed_split(&stream);
	assert_int_equal(lx_extent_at(&stream, stream.tail - 1)->start, 0);
	stream.head = stream.tail - 1;
	goes_up(junk, 2 * GIB, 2 * GIB + MIB);
	stream.flags = 0;
	stream.boundary = 2 * GIB + MIB;
	lx_unframed_leave(&stream);
	assert_int_equal(stream.unframed, 0);
	assert_int_equal(stream.parse_next, 2 * GIB + MIB);
}

/* ---- choosing --------------------------------------------------------------------- */

/* A message whose next hop is its sender stays with the slow path, which drops it. */
static void way_back(void **state)
{
	static const struct {
		__u32 from, node[2]; /* the sender's entry; peer numbers */
		bool back;
	} cases[] = {
		{ 0, { 0, 0 }, false }, { 0, { 1, 2 }, false }, { 0, { 1, 0 }, false },
		{ 1, { 0, 0 }, true },	{ 1, { 1, 2 }, true },	{ 0, { 7, 7 }, true },
	};
	char packet[200];
	struct lx_segment seg = { .packet = packet, .end = message(packet, 100) };
	struct lx_framing f = { .s = &stream, .seg = &seg };

	for (size_t i = 0; i < N_OF(cases); i++) {
		world(LX_SOCK_V3);
		stream.peer = cases[i].from;
		fp_peer[0].node = cases[i].node[0];
		fp_peer[1].node = cases[i].node[1];
		assert_int_equal(lx_frame(&f), 0);
		assert_int_equal(stream.lane_messages, !cases[i].back);
		assert_int_equal(stream.reasons[LX_LANE0_LOOP], cases[i].back);
		if (!cases[i].back)
			assert_int_equal(lx_extent_at(&stream, stream.head)->type, LX_MSG_PUT);
	}
}

/* Sends another message; returns whether it got a lane. */
static bool gets_lane(struct lx_segment *seg)
{
	struct lx_framing f = { .s = &stream, .seg = seg };
	__u64 before = stream.lane_messages;
	__u32 len = lx_overhead(LX_SOCK_V3) + 100;

	seg->pos = stream.parse_next;
	seg->end = seg->pos + len;
	assert_int_equal(lx_frame(&f), 0);
	assert_int_equal(stream.parse_next, seg->end);
	return stream.lane_messages > before;
}

/* On request, the core sees one message, only of those for other routers. */
static void sampled(void **state)
{
	char packet[200];
	struct lx_segment seg = { .packet = packet };

	message(packet, 100);
	for (int routed = 0; routed < 2; routed++) {
		world(LX_SOCK_V3);
		dest.routed = routed;
		assert_true(gets_lane(&seg));
		for (__u64 n = 1; n < 4; n++) {
			stream.sample++;
			assert_int_equal(gets_lane(&seg), !routed);
			assert_int_equal(stream.reasons[LX_LANE0_SAMPLE], routed ? n : 0);
			assert_true(gets_lane(&seg));
		}
	}
	dest.routed = 0;
}

/* ---- the window ------------------------------------------------------------------- */

/* How far beyond the framed bytes the sender may send now. */
static __s64 ahead(void)
{
	struct lx_advertised adv;

	stream.force = 1;
	assert_true(lx_ack_build(&stream, 0, 1, &adv) > 0);
	return lx_pos_diff(adv.window_edge, stream.parse_next);
}

/* Starts a message on the lane; returns its length. */
static __u32 begin_message_of(__u32 payload)
{
	char packet[200];
	__u32 len = message(packet, payload);
	struct lx_segment seg = { .pos = stream.parse_next, .packet = packet };
	struct lx_framing f = { .s = &stream, .seg = &seg };
	__u64 messages = stream.lane_messages;

	seg.end = seg.pos + sizeof(packet);
	assert_int_equal(lx_frame(&f), 0);
	assert_int_equal(stream.lane_messages, messages + 1);
	return len;
}

/* One of 1 MiB. */
static __u32 begin_message(void)
{
	return begin_message_of(MIB);
}

/* A lane with this window, a socket that accepts anything, and a distant sender. */
static void far_world(__u64 lane_window)
{
	world(LX_SOCK_V3);
	lane.window_edge = lane_window;
	stream.socket_window_edge = GIB;
	stream.flags = LX_STREAM_FAR;
}

static void window_near(void **state)
{
	far_world(64 * MIB);
	stream.flags = 0;
	begin_message();
	assert_int_equal(ahead(), LX_WINDOW_AHEAD);
}

/* So much that another message would fit the lane's window. */
static void window_of_lane(void **state)
{
	__u32 len;

	far_world(64 * MIB);
	len = begin_message();
	assert_int_equal(ahead(), 64 * MIB - 2 * len);
	begin_message();
	assert_int_equal(ahead(), 64 * MIB - 2 * len - len); /* it does not shrink */
	lane.window_edge += 16 * MIB; /* the next hop accepts more */
	assert_int_equal(ahead(), (64 + 16) * MIB - 3 * len);
}

/* The minimum, however small the lane's window: messages that do not fit go to lane 0. */
static void window_of_full_lane(void **state)
{
	far_world(MIB + (MIB >> 1));
	assert_int_equal(ahead(), LX_WINDOW_AHEAD); /* no lane yet */
	begin_message();
	assert_int_equal(ahead(), LX_WINDOW_AHEAD);
}

/* The lane belongs to another stream by now, or accepts no more messages. */
static void window_of_lost_lane(void **state)
{
	far_world(64 * MIB);
	begin_message();
	lane.state = LX_LANE_DRAIN;
	assert_int_equal(ahead(), LX_WINDOW_AHEAD);
	lane.state = LX_LANE_LIVE;
	lane.word = 1ull << 32 | (__u32)lane.word;
	assert_int_equal(ahead(), LX_WINDOW_AHEAD);
}

/* Bytes that our socket would not accept are not requested, whatever the lane accepts. */
static void window_of_socket(void **state)
{
	far_world(64 * MIB);
	stream.socket_window_edge = 3 * MIB;
	begin_message();
	assert_int_equal(ahead(), 3 * MIB); /* after what went by the lane */
}

/* In flight on a slow line is what the lane's limit says, of a message and behind it. */
static void window_of_slow_line(void **state)
{
	world(LX_SOCK_V3);
	stream.socket_window_edge = GIB;
	lane.limit = 256;
	begin_message();
	assert_int_equal(ahead() + stream.parse_next, 256 << 10);
	lx_lane_acked(&lane, 0, 1000, lane.window_edge);
	assert_int_equal(ahead() + stream.parse_next, 1000 + (256 << 10));

	world(LX_SOCK_V3);
	stream.socket_window_edge = GIB;
	lane.limit = 256;
	begin_message_of(100 << 10);
	assert_int_equal(ahead() + stream.parse_next, 256 << 10);

	/* From far away, some of it is in flight to us. */
	far_world(64 * MIB);
	lane.limit = 256;
	assert_int_equal(ahead(), LX_WINDOW_AHEAD);
	begin_message();
	assert_int_equal(ahead(), 64 * MIB - 2 * stream.parse_next);
}

/* ---- what is missing ---------------------------------------------------------------- */

/* Two messages, one behind the other, all of which has been sent on; returns their length. */
static __u32 two_messages(__u32 payload)
{
	__u32 len;

	far_world(64 * MIB);
	stream.flags = 0;
	len = begin_message_of(payload);
	begin_message_of(payload);
	stream.high = stream.arrived = 2ull * len;
	lx_lane_sent(&lane, 2ull * len);
	return len;
}

/* The end of a message is lost: the next one on the same lane has overtaken nothing. */
static void gap_at_the_end(void **state)
{
	struct lx_advertised adv;
	__u32 len = two_messages(MIB);

	lx_lane_acked(&lane, 0, len - 7040, 64 * MIB);
	lane.sack[0] = (struct lx_sack){ len, 2ull * len };
	lane.n_sack = 1;
	assert_int_equal(lx_ack_build(&stream, 0, GIB, &adv), 1);
	assert_int_equal(adv.ack, len - 7040);
	assert_int_equal(adv.n_sack, 1);
	assert_int_equal(adv.sack[0].start, len);
	assert_int_equal(adv.sack[0].end, 2ull * len);
}

/*
 * The second message went another way, and has arrived. That says nothing about the first one at
 * first, but it does after a while; also if a few bytes less are acknowledged, for an exact window.
 * The next hop of a message that fits a segment may just be slow: a longer while.
 */
static void gap_before_another_way(void **state)
{
	struct lx_advertised adv;
	__u32 len;

	for (int i = 0; i < 4; i++) {
		int exact = i & 1;
		__u64 stuck_ns = i < 2 ? LX_STUCK_NS : LX_STUCK_SMALL_NS;

		len = two_messages(i < 2 ? MIB : 1000);
		stream.mss = 1448;
		lx_extent_at(&stream, 1)->lane = LX_NO_LANE;
		lx_extent_at(&stream, 1)->lane_start = 0;
		stream.diverted = len;
		stream.socket_una = stream.socket_sent = len;
		stream.grant = exact ? LX_GRANT_WAITS : LX_GRANT_NONE;
		stream.last_len = MIB;
		stream.wscale = 10;
		lx_lane_acked(&lane, 0, len - len / 4, 64 * MIB);
		for (__u64 ns = 1; ns <= 2 * stuck_ns; ns += stuck_ns / 4) {
			(void)lx_ack_build(&stream, 0, ns, &adv);
			assert_int_equal(stream.acked - adv.ack != 0, exact);
			assert_int_equal(adv.n_sack, ns > 1 + stuck_ns);
		}
		assert_int_equal(adv.sack[0].start, len);
		assert_int_equal(adv.sack[0].end, 2ull * len);
	}
}

/* The time counts from when there is something to wait for, not from the last ACK before a pause. */
static void gap_after_a_pause(void **state)
{
	struct lx_advertised adv;
	__u32 len;

	far_world(64 * MIB);
	stream.flags = 0;
	stream.now_ns = GIB;
	len = begin_message();
	stream.now_ns += LX_STUCK_NS / 2;
	begin_message();
	lx_extent_at(&stream, 1)->lane = LX_NO_LANE;
	lx_extent_at(&stream, 1)->lane_start = 0;
	stream.diverted = len;
	stream.socket_una = stream.socket_sent = len;
	stream.high = stream.arrived = 2ull * len;
	/* Another CPU's clock was a bit behind when its packet came. */
	(void)lx_ack_build(&stream, 0, GIB - 1, &adv);
	assert_int_equal(adv.n_sack, 0);
	(void)lx_ack_build(&stream, 0, GIB + LX_STUCK_NS, &adv);
	assert_int_equal(adv.n_sack, 0);
	(void)lx_ack_build(&stream, 0, GIB + LX_STUCK_NS + 1, &adv);
	assert_int_equal(adv.n_sack, 1);
}

/* A packet of a large message; only its end has to be known. */
static void arrives(__u64 pos, __u64 end)
{
	struct lx_segment seg = { .pos = pos, .end = end };
	struct lx_framing f = { .s = &stream, .seg = &seg };

	assert_int_equal(lx_frame(&f), 0);
}

/*
 * The ACK of the next message, which went another way and has arrived, while the first one has
 * not: at once if that is because its next byte is not here, which another stream's bytes on its
 * lane, or another lane's positions, must not hide.
 */
static void gap_in_front(void **state)
{
	struct lx_advertised adv;
	__u32 len = two_messages(MIB);

	stream.mss = 1448;
	lx_extent_at(&stream, 1)->lane = LX_NO_LANE;
	lx_extent_at(&stream, 1)->lane_start = 0;
	stream.diverted = len;
	stream.socket_una = stream.socket_sent = len;
	stream.arrived = stream.early_end = stream.high = 0;
	arrives(0, 100000);
	arrives(200000, 300000);
	lx_lane_acked(&lane, 0, 90000, 64 * MIB);
	lane.sack[0] = (struct lx_sack){ 200000, 300000 };
	lane.n_sack = 1;
	(void)lx_ack_build(&stream, 0, GIB + 1, &adv);
	assert_int_equal(adv.n_sack, 1); /* it has arrived here */
	lx_lane_acked(&lane, 0, 100000, 64 * MIB);
	(void)lx_ack_build(&stream, 0, GIB + 2, &adv);
	assert_int_equal(adv.n_sack, 2);
	assert_int_equal(adv.sack[1].start, len);
	/* Two more gaps; the first one is filled, and what came behind it is known. */
	arrives(400000, 500000);
	arrives(600000, 700000);
	arrives(100000, 200000);
	assert_int_equal(stream.arrived, 300000);
	arrives(300000, 400000);
	lx_lane_acked(&lane, 0, 500000, 64 * MIB);
	lane.n_sack = 0;
	(void)lx_ack_build(&stream, 0, GIB + 3, &adv);
	/* Acknowledged bytes were here, whether that was noted or not. */
	arrives(500000, 600000);
	arrives(700000, 800000);
	lx_lane_acked(&lane, 0, 750000, 64 * MIB);
	(void)lx_ack_build(&stream, 0, GIB + 4, &adv);
	assert_int_equal(adv.n_sack, 0);
	assert_int_equal(stream.acked, 750000);
	arrives(800000, len);
	assert_int_equal(stream.arrived, len);
}

/* ---- two CPUs ------------------------------------------------------------------------- */

/*
 * Another CPU has marked the stream as unframed, and not yet added the extent without an end: the
 * last one, on a lane that has acknowledged other streams' bytes behind it, ends where it did.
 */
static void marked_unframed(void **state)
{
	struct lx_advertised adv;
	struct lx_fragment p;
	__u32 len;

	far_world(64 * MIB);
	len = begin_message();
	stream.high = stream.arrived = len;
	lx_lane_sent(&lane, 4ull * len);
	stream.unframed = 1;
	lx_fragment_run(&stream, len - 10, len + 10, 0, &p);
	assert_int_equal(p.kind, LX_FRAGMENT_LANE);
	assert_int_equal(p.end, len);
	lane.sack[0] = (struct lx_sack){ len - 10, 2ull * len };
	lane.n_sack = 1;
	lx_lane_acked(&lane, 0, len - 20, 64 * MIB);
	assert_int_equal(lx_ack_build(&stream, 0, GIB, &adv), 1);
	assert_int_equal(adv.sack[0].end, len);
	lx_lane_acked(&lane, 0, 3ull * len, 64 * MIB);
	assert_int_equal(lx_ack_build(&stream, 0, GIB, &adv), 1);
	assert_int_equal(stream.acked, len);
}

/* The first part of a header, read while another CPU keeps that of another message. */
static void saved_by_another(void **state)
{
	__u32 n;

	world(LX_SOCK_V3);
	stream.parse_next = 1000;
	lx_saved_put(&stream, 40);
	assert_int_equal(lx_saved_pos(&stream, &n), 1000);
	assert_int_equal(n, 40);
	stream.parse_next = 2000;
	lx_saved_put(&stream, 40);
	assert_int_not_equal(lx_saved_pos(&stream, &n), 1000);
}

/* The stream ends while a header comes in two parts: its message begins nothing on a lane. */
static void no_lanes_inside_header(void **state)
{
	char packet[200];
	struct lx_segment seg = { .end = 50, .packet = packet };
	struct lx_framing f = { .s = &stream, .seg = &seg };
	__u32 len = message(packet, 30);

	world(LX_SOCK_V3);
	assert_int_equal(lx_frame(&f), 0);
	assert_int_equal(stream.have, 50);
	stream.flags = LX_STREAM_NO_LANES;
	seg.pos = 50;
	seg.end = len;
	seg.packet = packet + 50;
	assert_int_equal(lx_frame(&f), 0);
	assert_int_equal(stream.parse_next, len);
	assert_int_equal(stream.lane_messages, 0);
	assert_int_equal(stream.reasons[LX_LANE0_POLICY], 1);
}

/* ---- order: what may overtake what ---------------------------------------------------- */

/* The ways of a message: with a checksum it is for our own socket. */
enum { BY_LANE, BY_SOCKET };

/* A message of the given way, and a ZC-ACK due if @cookie; returns where it ends. */
static __u64 sends(__u64 pos, int way, __u64 cookie)
{
	static char packet[2000];
	__u64 end = pos + message(packet, 1000);
	struct lx_segment seg = { .pos = pos, .end = end, .size = 1448, .packet = packet };
	struct lx_framing f = { .s = &stream, .seg = &seg };
	const __u32 checksum = 1;

	if (way == BY_SOCKET)
		memcpy(packet + 4, &checksum, sizeof(checksum));
	memcpy(packet + 8, &cookie, sizeof(cookie));
	assert_int_equal(lx_frame(&f), 0);
	return end;
}

static bool went_by_lane(__u32 message)
{
	return lx_extent_at(&stream, message)->lane == 0;
}

/* The sender's ACK: everything below has arrived. */
static __u64 told_at(__u64 now_ns)
{
	struct lx_advertised adv;

	assert_true(lx_ack_build(&stream, 0, now_ns, &adv) >= 0);
	return adv.ack;
}

static __u64 told(void)
{
	return told_at(1);
}

/* Messages of a stream overtake each other: none waits for one that goes another way. */
static void messages_overtake(void **state)
{
	__u64 one = (world(LX_SOCK_V3), sends(0, BY_LANE, 0)), two = sends(one, BY_SOCKET, 0);
	__u64 three = sends(two, BY_LANE, 0);

	assert_true(went_by_lane(0) && !went_by_lane(1) && went_by_lane(2));
	/* The second has arrived first, then the others: told in the order of the bytes. */
	stream.socket_una = two - one;
	assert_int_equal(told(), 0);
	lx_lane_acked(&lane, 0, one + (three - two), 64 * MIB);
	assert_int_equal(told(), three);
}

/* Without room on the lane, the next goes by the socket at once, and the one after that may return. */
static void lane_0_carries_on(void **state)
{
	__u64 one = (world(LX_SOCK_V3), sends(0, BY_LANE, 0)), two, three;

	lane.window_edge = one;
	two = sends(one, BY_LANE, 0);
	lane.window_edge = 64 * MIB;
	three = sends(two, BY_LANE, 0);
	assert_true(went_by_lane(0) && !went_by_lane(1) && went_by_lane(2));
	assert_int_equal(stream.reasons[LX_LANE0_WINDOW], 1);
	assert_int_equal(lx_extent_at(&stream, 2)->lane_start, one);
	lx_lane_acked(&lane, 0, one + (three - two), 64 * MIB);
	assert_int_equal(told(), one);
	stream.socket_una = two - one;
	assert_int_equal(told(), three);
}

/* Not so a ZC-ACK: it is sent when its message has arrived, and all those before it. */
static void zc_acks_do_not(void **state)
{
	__u64 one = (world(LX_SOCK_V3), sends(0, BY_LANE, 7)), two = sends(one, BY_SOCKET, 0);
	__u64 three = sends(two, BY_LANE, 8);

	stream.socket_una = two - one;
	assert_int_equal(told(), 0);
	assert_int_equal(stream.cookie_tail, 0);
	lx_lane_acked(&lane, 0, one - 1, 64 * MIB);
	assert_int_equal(told(), one - 1);
	assert_int_equal(stream.cookie_tail, 0);
	lx_lane_acked(&lane, 0, one + (three - two), 64 * MIB);
	assert_int_equal(told(), three);
	assert_int_equal(stream.cookie_tail, 2);
	assert_int_equal(stream.cookie[0], 7);
	assert_int_equal(stream.cookie[1], 8);
}

/* Nor the end of the connection: not acknowledged before everything in front of it. */
static void close_does_not(void **state)
{
	__u64 end = (world(LX_SOCK_V3), sends(0, BY_LANE, 0));

	stream.fin = 1;
	stream.socket_una = 1; /* our socket has the FIN */
	assert_int_equal(told(), 0);
	lx_lane_acked(&lane, 0, end, 64 * MIB);
	assert_int_equal(told(), end + 1);
}

/* ---- messages whose rest is still to come --------------------------------------------- */

#define PAYLOAD 100000u

/* The next message comes: its first 1000 bytes now, the rest after @ns. By lane? */
static bool comes_within(__u64 ns)
{
	static char packet[200];
	__u64 start = stream.parse_next, by_lanes = stream.lane_messages;
	struct lx_segment seg = { .pos = start, .end = start + 1000, .packet = packet };
	struct lx_framing f = { .s = &stream, .seg = &seg };
	__u32 len = message(packet, PAYLOAD);
	bool by_lane;

	assert_int_equal(lx_frame(&f), 0);
	assert_int_equal(stream.parse_next, start + len);
	/* What has come is acknowledged, wherever it went. */
	by_lane = stream.lane_messages != by_lanes;
	lx_lane_acked(&lane, 0, stream.diverted - (by_lane ? len - 1000 : 0), 64 * MIB);
	if (!by_lane)
		stream.socket_una = stream.parse_next - stream.diverted - len + 1000;
	assert_int_equal(told_at(stream.now_ns), start + 1000);
	stream.now_ns += ns;
	seg = (struct lx_segment){ .pos = start + 1000, .end = start + len };
	assert_int_equal(lx_frame(&f), 0);
	stream.socket_una = stream.parse_next - stream.diverted;
	lx_lane_acked(&lane, 0, stream.diverted, 64 * MIB);
	assert_int_equal(told(), stream.parse_next);
	return by_lane;
}

/* After one that was late, all that are still to come go to lane 0, until enough were in time. */
static void comes_late(void **state)
{
	world(LX_SOCK_V3);
	stream.now_ns = 1;
	assert_true(comes_within(LX_LANE_SLOW_NS));
	assert_true(comes_within(LX_LANE_SLOW_NS + 1));
	for (int i = 0; i < LX_LATE_MESSAGES; i++) {
		assert_false(comes_within(LX_LANE_SLOW_NS));
		sends(stream.parse_next, BY_LANE, 0); /* all of it at once */
	}
	assert_true(comes_within(LX_LANE_SLOW_NS + 1));
	assert_false(comes_within(LX_LANE_SLOW_NS + 1));
	for (int i = 0; i < LX_LATE_MESSAGES; i++)
		assert_false(comes_within(1));
	assert_true(comes_within(1));
	assert_int_equal(stream.reasons[LX_LANE0_LATE], 2 * LX_LATE_MESSAGES + 1);
}

/* While the next hop has not acknowledged what came, TCP may keep the sender from going on. */
static void next_hop_is_late(void **state)
{
	static char packet[200];
	__u32 len = message(packet, PAYLOAD);
	struct lx_segment seg;
	struct lx_framing f = { .s = &stream, .seg = &seg };

	for (int sender = 0; sender < 2; sender++) {
		world(LX_SOCK_V3);
		stream.now_ns = 1;
		seg = (struct lx_segment){ .end = 1000, .packet = packet };
		assert_int_equal(lx_frame(&f), 0);
		lx_lane_acked(&lane, 0, sender ? 1000 : 999, 64 * MIB);
		told_at(2);
		stream.now_ns = 3 * LX_LANE_SLOW_NS;
		seg = (struct lx_segment){ .pos = 1000, .end = len };
		assert_int_equal(lx_frame(&f), 0);
		assert_int_equal(stream.late, sender ? LX_LATE_MESSAGES : 0);
	}
}

/* ---- behind a hole ------------------------------------------------------------------------ */

static int takes(char *bytes, __u64 from, __u64 to)
{
	struct lx_segment seg = { .pos = from, .end = to, .packet = bytes };
	struct lx_framing f = { .s = &stream, .seg = &seg };

	return lx_frame(&f);
}

/*
 * A router may send what is behind a hole again, on another connection: nothing of that is framed,
 * and TCP repeats it. What belongs to the message with the hole goes on.
 */
static void behind_a_hole(void **state)
{
	char bytes[4096] = { 0 };
	__u32 first = message(bytes, 2000), second = message(bytes + first, 500);

	for (int gateway = 0; gateway < 2; gateway++) {
		world(LX_SOCK_V3);
		stream.flags = gateway ? LX_STREAM_GATEWAY : 0;
		assert_int_equal(takes(bytes, 0, 500), 0);
		/* 500 to 1000 are lost. */
		assert_int_equal(takes(bytes + 1000, 1000, 1500), 0);
		assert_int_equal(takes(bytes + 1500, 1500, first + second), 0);
		assert_int_equal(stream.lane_messages, gateway ? 1 : 2);
		assert_int_equal(stream.high, gateway ? first : first + second);
		assert_int_equal(takes(bytes + first, first, first + second), gateway ? -1 : 0);
		assert_int_equal(takes(bytes + 500, 500, 1000), 0);
		assert_int_equal(lx_stream_arrived(&stream), gateway ? first : first + second);
		assert_int_equal(takes(bytes + first, first, first + second), 0);
		assert_int_equal(stream.lane_messages, 2);
		assert_int_equal(stream.parse_next, first + second);
		assert_int_equal(stream.unframed, 0);
	}
}

/* A hole in the middle: it has not arrived, whatever has behind it. */
static void comes_with_hole(void **state)
{
	static char packet[200];
	__u32 len = message(packet, PAYLOAD);
	struct lx_segment seg = { .end = 1000, .packet = packet };
	struct lx_framing f = { .s = &stream, .seg = &seg };

	world(LX_SOCK_V3);
	stream.now_ns = 1;
	assert_int_equal(lx_frame(&f), 0);
	lx_lane_acked(&lane, 0, 1000, 64 * MIB);
	assert_int_equal(told_at(1), 1000);
	seg = (struct lx_segment){ .pos = 2000, .end = len };
	assert_int_equal(lx_frame(&f), 0);
	stream.now_ns += 2 * LX_LANE_SLOW_NS;
	seg = (struct lx_segment){ .pos = 1000, .end = 1500 };
	assert_int_equal(lx_frame(&f), 0);
	assert_true(stream.begun_end && !stream.late);
	seg = (struct lx_segment){ .pos = 1500, .end = 2000 };
	assert_int_equal(lx_frame(&f), 0);
	assert_true(!stream.begun_end && stream.late);
}

/* ---- another CPU reuses extents ---------------------------------------------------- */

/* Messages of 100 bytes; four in a row are adjacent on the lane. */
static __u64 lane_pos_of(__u64 pos)
{
	return pos + pos / 400 * MIB;
}

static void push_one(void)
{
	lx_extent_push(&stream, stream.parse_next, 100, 0, lane_pos_of(stream.parse_next), 0);
	stream.parse_next += 100;
}

/* The next hop acknowledges everything, and twice as many messages arrive as the ring has room for. */
static void reuse_all(void)
{
	other_cpu = NULL;
	for (unsigned int i = 0; i < 2 * LX_STREAM_EXTENTS; i++) {
		push_one();
		stream.head = stream.tail - 1;
		stream.acked = stream.parse_next - 100;
	}
}

/* Whatever is interrupted: a part goes where its bytes belong, or is taken for acknowledged. */
static void extents_reused(void **state)
{
	unsigned int at = 0, n_gone = 0;
	bool interrupted = true;

	while (interrupted) {
		for (__u32 near = 0; near < 40; near++) {
			struct lx_fragment p;

			world(LX_SOCK_V3);
			for (int i = 0; i < 40; i++)
				push_one();
			other_cpu = reuse_all;
			other_cpu_at = at;
			lx_fragment_run(&stream, 850, 2000, near, &p);
			interrupted = !other_cpu;
			other_cpu = NULL;
			n_gone += p.kind == LX_FRAGMENT_OLD;
			if (p.kind == LX_FRAGMENT_OLD)
				continue;
			assert_int_equal(p.kind, LX_FRAGMENT_LANE);
			assert_int_equal(p.target, lane_pos_of(850));
			assert_true(p.end > 850 && p.end <= 1200);
			assert_true(interrupted || p.end == 1200);
		}
		at++;
	}
	assert_true(n_gone && at > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unframed_ends),
		cmocka_unit_test(unframed_without_room),
		cmocka_unit_test(way_back),
		cmocka_unit_test(sampled),
		cmocka_unit_test(window_near),
		cmocka_unit_test(window_of_lane),
		cmocka_unit_test(window_of_full_lane),
		cmocka_unit_test(window_of_lost_lane),
		cmocka_unit_test(window_of_socket),
		cmocka_unit_test(window_of_slow_line),
		cmocka_unit_test(gap_at_the_end),
		cmocka_unit_test(gap_before_another_way),
		cmocka_unit_test(gap_after_a_pause),
		cmocka_unit_test(gap_in_front),
		cmocka_unit_test(marked_unframed),
		cmocka_unit_test(saved_by_another),
		cmocka_unit_test(no_lanes_inside_header),
		cmocka_unit_test(messages_overtake),
		cmocka_unit_test(lane_0_carries_on),
		cmocka_unit_test(zc_acks_do_not),
		cmocka_unit_test(close_does_not),
		cmocka_unit_test(comes_late),
		cmocka_unit_test(next_hop_is_late),
		cmocka_unit_test(behind_a_hole),
		cmocka_unit_test(comes_with_hole),
		cmocka_unit_test(extents_reused),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: framing", tests, NULL, NULL);
}
