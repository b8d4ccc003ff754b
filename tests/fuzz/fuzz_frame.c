/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: framing, pieces and what a sender is told, on any bytes in any
 * order. The input is a list of commands: data at some place of the stream, what was
 * acknowledged by whom, what the daemon says. Nothing is read or written out of place,
 * slots cover the stream without a gap, the ring has its bound, edges do not move back,
 * and no byte is told of that its receiver has not acknowledged.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "../../bpf/compose.h"
#include "../../bpf/piece.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LANES 2

static struct lx_stream s;
static struct lx_lane lane[LANES];
static struct lx_hop hop[2];
static struct lx_dest dest;

static struct lx_stream *lx_stream_at(__u32 index)
{
	return index ? NULL : &s;
}

static struct lx_lane *lx_lane_at(__u32 index)
{
	return index < LANES ? &lane[index] : NULL;
}

static struct lx_hop *lx_hop_at(__u32 index)
{
	return index < 2 ? &hop[index] : NULL;
}

static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	dest = (struct lx_dest){ .n = nid->addr[3] & 1, .hop = { 1 } };
	return nid->addr[3] & 2 ? NULL : &dest;
}

/* In memory of its own length: the sanitizer sees what is read behind it. */
static struct {
	uint8_t *bytes;
	uint32_t len;
} packet;

static int lx_packet_load(void *skb, __u32 at, void *to, __u32 len)
{
	assert(at <= packet.len && len <= packet.len - at);
	memcpy(to, packet.bytes + at, len);
	return 0;
}

static int lx_tell(enum lx_record_type type, __u32 index, __u64 value)
{
	return 0;
}

static void begin(uint8_t form)
{
	memset(&s, 0, sizeof(s));
	memset(lane, 0, sizeof(lane));
	memset(hop, 0, sizeof(hop));
	s.state = LX_STREAM_ON;
	s.mss = 1448;
	s.version = form & 1 ? LX_SOCK_V4 : LX_SOCK_V3;
	s.flip = form >> 1 & 1;
	s.wscale = form >> 2 & 15;
	s.socket_edge = s.edge = s.told_edge = 1 << 16;
	hop[0].rtr.now = hop[1].tx.now = form >> 6;
	hop[1].n_lanes = LANES;
	for (int i = 0; i < LANES; i++) {
		lane[i] = (struct lx_lane){ .word = (__u64)LX_LANE_OWNER << 32, .hop = 1,
					    .edge = 1 << 16, .state = LX_LANE_LIVE,
					    .version = s.version, .mss = s.mss };
		hop[1].lane[i] = i;
	}
}

static void check_slots(void)
{
	assert(s.tail - s.head < LX_STREAM_SLOTS);
	for (__u32 c = s.head; c != s.tail; c++) {
		__u64 end = lx_slot_end(lx_slot_at(&s, c));

		if (c + 1 != s.tail)
			assert(lx_slot_at(&s, c + 1)->start == end);
		else if (!s.raw)
			assert(end == s.parse_next);
	}
	assert(!lx_pos_before(s.parse_next, s.diverted));
}

static void check_pieces(__u64 pos, __u64 end)
{
	struct lx_piece p, same;
	__u32 near = s.head;

	while (lx_pos_before(pos, end)) {
		lx_piece_run(&s, pos, end, near++, &p);
		/* Where one begins to look changes nothing. */
		lx_piece_run(&s, pos, end, s.head - 9, &same);
		assert(p.kind == same.kind && p.end == same.end && p.target == same.target);
		assert(p.pos == pos && lx_pos_before(pos, p.end) && !lx_pos_before(end, p.end));
		if (p.kind == LX_PIECE_LANE)
			assert(!lx_pos_before(lx_lane_next(lane[p.lane].word, lane[p.lane].una),
					      p.target + (p.end - p.pos)));
		pos = p.end;
	}
}

static void data_in(__u64 pos, const uint8_t *data, size_t size)
{
	struct lx_segment in = { .pos = pos, .end = pos + size };
	struct lx_framing f = { .s = &s, .seg = &in };

	if (!size || lx_pos_before(s.edge, in.end) || !lx_pos_before(s.acked, in.end))
		return;
	packet.bytes = malloc(size);
	assert(packet.bytes);
	packet.len = size;
	memcpy(packet.bytes, data, size);
	assert(!lx_frame(&f));
	assert(f.saved <= LX_HEADER_MAX && s.have <= LX_HEADER_MAX);
	check_slots();
	check_pieces(pos, in.end);
	free(packet.bytes);
}

static void tell(void)
{
	__u64 edge = s.told_edge, acked = s.acked;
	struct lx_told told;
	__u64 may = s.socket_una;

	/* What is on a lane that is gone is done when it was here. */
	for (int i = 0; i < LANES; i++)
		may += lx_lane_is_gone(&lane[i]) ? lx_pos_max(s.high, lane[i].una) : lane[i].una;
	assert(lx_compose(&s, 0, 0, &told) >= 0);
	assert(!lx_pos_before(told.edge, edge) && !lx_pos_before(s.acked, acked));
	assert(told.n_sack <= 3 && !lx_pos_before(may, s.acked));
}

/* What has gone up, or onto a lane, may be acknowledged; in part, too. */
static void acked(uint8_t which, uint32_t n)
{
	struct lx_lane *l = &lane[which & 1];
	__u64 up = (s.raw ? s.raw_high : s.parse_next) - s.diverted;

	if (which & 2) {
		s.socket_una = lx_pos_max(s.socket_una, lx_pos_min(up, s.socket_una + n));
		s.socket_edge = lx_pos_max(s.socket_edge, s.socket_una + n);
	} else {
		__u64 next = lx_lane_next(l->word, l->una);

		lx_lane_acked(l, 0, lx_pos_min(next, l->una + n), l->una + 2 * n);
	}
	tell();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;

	if (!size)
		return 0;
	begin(*data++);
	while (end - data >= 4) {
		uint8_t what = data[0];
		uint32_t n = data[1] | data[2] << 8;
		int8_t shift = data[3];

		data += 4;
		switch (what & 7) {
		case 0:
			acked(what >> 3, n);
			break;
		case 1:
			s.boundary = s.through = s.socket_una;
			s.flags = what >> 3 & 7;
			break;
		case 2:
			if (lane[what >> 3 & 1].state != LX_LANE_DEAD)
				lane[what >> 3 & 1].state = LX_LANE_LIVE + (what >> 4 & 3) % 3;
			break;
		default:
			if (n > end - data)
				n = end - data;
			/* Mostly what comes next, else before or behind it. */
			data_in(s.high + (what & 8 ? shift : 0), data, n);
			data += n;
		}
	}
	assert(s.cookies_due <= LX_STREAM_COOKIES);
	return 0;
}
