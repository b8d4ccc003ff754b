/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: framing, fragments and ACKs for a sender, on any bytes in any order. The
 * input is a list of commands: data at some position of the stream, acknowledgements, news from
 * the daemon. Nothing is read or written out of bounds, extents cover the stream without gaps,
 * the ring does not overflow, edges do not shrink, and no byte is acknowledged that its
 * receiver has not acknowledged.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "../unit/fptables.h"

#include "../../bpf/ack.h"
#include "../../bpf/fragment.h"
#include "fuzz.h"

#define LANES 2

static struct lx_stream s;
static struct lx_lane lane[LANES];
static struct lx_fp_peer fp_peer[2];
static struct lx_dest dest;

FP_TABLES(&s, 1, lane, LANES, fp_peer, 2)


static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	dest = (struct lx_dest){ .n = nid->addr[3] & 1, .next_hop = { 1 } };
	return nid->addr[3] & 2 ? NULL : &dest;
}

/* Of exact size, so that a sanitizer detects reads beyond it. */
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

static int lx_record_emit(enum lx_record_type type, __u32 index, __u64 value)
{
	return 0;
}

static void begin(uint8_t form)
{
	memset(&s, 0, sizeof(s));
	memset(lane, 0, sizeof(lane));
	memset(fp_peer, 0, sizeof(fp_peer));
	s.state = LX_STREAM_ON;
	s.mss = 1448;
	s.version = form & 1 ? LX_SOCK_V4 : LX_SOCK_V3;
	s.flip = form >> 1 & 1;
	s.wscale = form >> 2 & 15;
	s.socket_window_edge = s.window_edge = s.advertised_edge = 1 << 16;
	fp_peer[0].rtr.now = fp_peer[1].tx.now = form >> 6;
	fp_peer[1].n_lanes = LANES;
	for (int i = 0; i < LANES; i++) {
		lane[i] = (struct lx_lane){ .word = (__u64)LX_LANE_OWNER << 32, .next_hop = 1,
					    .window_edge = 1 << 16, .state = LX_LANE_LIVE,
					    .version = s.version, .mss = s.mss };
		fp_peer[1].lane[i] = i;
	}
}

static void check_extents(void)
{
	assert(s.tail - s.head < LX_STREAM_EXTENTS);
	for (__u32 c = s.head; c != s.tail; c++) {
		__u64 end = lx_extent_end(lx_extent_at(&s, c));

		if (c + 1 != s.tail)
			assert(lx_extent_at(&s, c + 1)->start == end);
		else if (!s.unframed)
			assert(end == s.parse_next);
	}
	assert(!lx_pos_before(s.parse_next, s.diverted));
}

static void check_fragments(__u64 pos, __u64 end)
{
	struct lx_fragment p, same;
	__u32 near = s.head;

	while (lx_pos_before(pos, end)) {
		lx_fragment_run(&s, pos, end, near++, &p);
		/* The result does not depend on where the search starts. */
		lx_fragment_run(&s, pos, end, s.head - 9, &same);
		assert(p.kind == same.kind && p.end == same.end && p.target == same.target);
		assert(p.pos == pos && lx_pos_before(pos, p.end) && !lx_pos_before(end, p.end));
		if (p.kind == LX_FRAGMENT_LANE)
			assert(!lx_pos_before(lx_lane_next(lane[p.lane].word, lane[p.lane].una),
					      p.target + (p.end - p.pos)));
		pos = p.end;
	}
}

static void data_in(__u64 pos, const uint8_t *data, size_t size)
{
	struct lx_segment in = { .pos = pos, .end = pos + size };
	struct lx_framing f = { .s = &s, .seg = &in };

	if (!size || lx_pos_before(s.window_edge, in.end) || !lx_pos_before(s.acked, in.end))
		return;
	packet.bytes = malloc(size);
	assert(packet.bytes);
	packet.len = size;
	memcpy(packet.bytes, data, size);
	assert(!lx_frame(&f));
	assert(f.saved <= LX_HEADER_MAX && s.have <= LX_HEADER_MAX);
	check_extents();
	check_fragments(pos, in.end);
	free(packet.bytes);
}

static void tell(void)
{
	__u64 window_edge = s.advertised_edge, acked = s.acked;
	struct lx_advertised adv;
	__u64 may = s.socket_una;

	/* On a dead lane, what has arrived here counts as acknowledged. */
	for (int i = 0; i < LANES; i++)
		may += lx_lane_is_gone(&lane[i]) ? lx_pos_max(s.high, lane[i].una) : lane[i].una;
	assert(lx_ack_build(&s, 0, 0, &adv) >= 0);
	assert(!lx_pos_before(adv.window_edge, window_edge) && !lx_pos_before(s.acked, acked));
	assert(adv.n_sack <= 3 && !lx_pos_before(may, s.acked));
}

/* Bytes that went up, or to a lane, may be acknowledged, also in part. */
static void acked(uint8_t which, uint32_t n)
{
	struct lx_lane *l = &lane[which & 1];
	__u64 up = (s.unframed ? s.unframed_high : s.parse_next) - s.diverted;

	if (which & 2) {
		s.socket_una = lx_pos_max(s.socket_una, lx_pos_min(up, s.socket_una + n));
		s.socket_window_edge = lx_pos_max(s.socket_window_edge, s.socket_una + n);
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
			s.boundary = s.socket_una;
			s.flags = what >> 3 & 3;
			break;
		case 2:
			if (lane[what >> 3 & 1].state != LX_LANE_DEAD)
				lane[what >> 3 & 1].state = LX_LANE_LIVE + (what >> 4 & 3) % 3;
			break;
		default:
			if (n > end - data)
				n = end - data;
			/* Mostly in order, sometimes before or after that position. */
			data_in(s.high + (what & 8 ? shift : 0), data, n);
			data += n;
		}
	}
	assert(s.cookies_due <= LX_STREAM_COOKIES);
	return 0;
}
