/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every header on both paths: the fast path must not forward a header for which the library
 * would close the connection, and must forward all others. Every destination that is not ours
 * has a lane.
 */
#include "fptables.h"
#include "simlib.h"

#include "../../bpf/parse.h"
#include "../../user/core/route.h"

/* ---- the fast path: one stream, one lane ------------------------------------------------ */

static struct lx_stream stream;
static struct lx_lane lane;
static struct lx_fp_peer fp_peer[2];
static const char *const ours[] = { "10.0.0.11@tcp1", "10.1.0.11@tcp2", "0@lo" };

FP_TABLES(&stream, 1, &lane, 1, fp_peer, N_OF(fp_peer))


static struct lx_dest *lx_dest_of(const struct lx_nid *dst)
{
	static struct lx_dest local, next_hop = { .n = 1, .next_hop = { 1 } };

	for (size_t i = 0; i < N_OF(ours); i++) {
		struct lx_nid own = nid(ours[i]);

		if (lx_nid_eq(dst, &own))
			return &local;
	}
	return &next_hop;
}

FP_PACKETS

/* The fate of a message. */
enum fate { FORWARDED, OURS, REFUSED };
static const char *const fate_name[] = { "forwards it", "takes it", "refuses it" };

/* @net: of the receiving NI */
static enum fate fastpath_fate(const struct lx_hdr *hdr, int version, uint32_t net)
{
	char packet[sizeof(struct lx_sock_msg) + sizeof(struct lx_hdr_nid16)];
	const struct lx_sock_msg head = { .type = LX_SOCK_LNET };
	struct lx_segment seg = { .packet = packet };
	struct lx_framing f = { .s = &stream, .seg = &seg };

	memset(&stream, 0, sizeof(stream));
	memset(&lane, 0, sizeof(lane));
	stream.state = LX_STREAM_ON;
	stream.version = lane.version = version;
	stream.net = net;
	lane.state = LX_LANE_LIVE;
	lane.next_hop = 1;
	lane.word = (__u64)LX_LANE_OWNER << 32;
	lane.window_edge = 1ull << 40;
	fp_peer[1].n_lanes = 1;
	memcpy(packet, &head, sizeof(head));
	if (version == LX_SOCK_V4)
		lx_hdr_nid16_encode(hdr, (void *)(packet + sizeof(head)));
	else
		lx_hdr_nid4_encode(hdr, (void *)(packet + sizeof(head)));
	seg.end = lx_overhead(version);
	assert_int_equal(lx_frame(&f), 0);
	/* After an illegal header nothing is framed. */
	assert_int_equal(stream.broken, stream.unframed);
	if (stream.lane_messages)
		return FORWARDED;
	return stream.reasons[LX_LANE0_MALFORMED] ? REFUSED : OURS;
}

/* ---- the slow path: a router ---------------------------------------------------------------- */

static struct lx_sim *sim;
static struct lx_core_ni *ni;
static const struct lx_lnd *real_lnd;
static struct lx_lnd lnd;

/* Only whether it was accepted matters. */
static void recv_none(struct lx_ni *lni, void *rx, struct lx_msg *msg)
{
	if (msg)
		lx_lnd_finalize(msg, -EIO);
}

static int setup(void **state)
{
	struct lx_sim_node *router;
	struct lx_nid own = nid(ours[0]);

	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	router = NODE(sim, ours[0], ours[1]);
	make_router(router);
	lx_sim_run(sim, SEC);
	ni = lx_ni_lookup(router->core, &own);
	real_lnd = ni->ni.lnd;
	lnd = *real_lnd;
	lnd.recv = recv_none;
	ni->ni.lnd = &lnd;
	return 0;
}

static int teardown(void **state)
{
	ni->ni.lnd = real_lnd;
	lx_sim_free(sim);
	return 0;
}

static enum fate slow_fate(const struct lx_hdr *hdr, int version)
{
	struct lx_rx_from from = { .nid = nid("10.0.0.1@tcp1") };
	struct lx_msg *msg;
	struct lx_hdr read;
	int r;

	/* As on the wire. */
	if (version == LX_SOCK_V4) {
		struct lx_hdr_nid16 wire;

		lx_hdr_nid16_encode(hdr, &wire);
		lx_hdr_nid16_decode(&wire, &read);
	} else {
		struct lx_hdr_nid4 wire;

		lx_hdr_nid4_encode(hdr, &wire);
		lx_hdr_nid4_decode(&wire, &read);
	}
	r = lx_lnd_parse(&ni->ni, &read, &from, NULL, &msg);
	assert_true(r >= 0 || r == -EPROTO);
	if (r == LX_RX_NOW)
		recv_none(&ni->ni, NULL, msg);
	return r < 0 ? REFUSED : lx_dest_of(&read.dst_nid)->n ? FORWARDED : OURS;
}

/* ---- all headers ------------------------------------------------------------------------- */

static const uint32_t types[] = {
	LX_MSG_ACK, LX_MSG_PUT, LX_MSG_GET, LX_MSG_REPLY, LX_MSG_HELLO, 5, 0xffff, 0x10001, 0x80000000, ~0u,
};
static const uint32_t lengths[] = {
	0, 1, LX_PAYLOAD_MAX - 1, LX_PAYLOAD_MAX, LX_PAYLOAD_MAX + 1, 0x80000000, ~0u,
};

static size_t make_nids(struct lx_nid *list)
{
	static const char *const good[] = {
		"10.0.0.1@tcp1", "10.1.0.1@tcp2", "10.0.0.99@tcp1", "10.2.0.1@tcp", "10.1.0.1@o2ib1",
		"fd00::1@tcp2", "fd00::1@tcp1", "0@lo", "10.0.0.11@tcp1", "10.1.0.11@tcp2",
	};
	size_t n = 0;

	for (size_t i = 0; i < N_OF(good); i++)
		list[n++] = nid(good[i]);
	/* "Any", as written and as read. */
	memset(&list[n++], 0xff, sizeof(*list));
	list[n++] = (struct lx_nid){ .type = LX_NET_ANY };
	/* Not valid for a node: bytes after the address, an impossible size. */
	list[n] = nid("10.1.0.1@tcp2");
	list[n++].addr[4] = 1;
	list[n] = nid("10.1.0.1@tcp2");
	list[n++].addr[15] = 1;
	list[n] = nid("10.1.0.1@tcp2");
	list[n++].size = 1;
	list[n++] = (struct lx_nid){ 0 };
	return n;
}

static void every_header(void **state)
{
	unsigned int count[3] = { 0 };
	struct lx_nid list[20];
	size_t n = make_nids(list);

	assert_true(n <= N_OF(list));
	for (size_t i = 0; i < N_OF(types) * N_OF(lengths) * n * n * 2; i++) {
		int version = i % 2 ? LX_SOCK_V4 : LX_SOCK_V3;
		const struct lx_nid *src = &list[i / 2 % n], *dst = &list[i / 2 / n % n];
		struct lx_hdr hdr = { .src_nid = *src,
				      .dst_nid = *dst,
				      .type = types[i / 2 / n / n % N_OF(types)],
				      .payload_length = lengths[i / 2 / n / n / N_OF(types)],
				      .cmd.put.portal = lx_le32(5) }; /* where no MD is */
		enum fate slow, fast;

		if (version == LX_SOCK_V3 && (!lx_nid_is_nid4(src) || !lx_nid_is_nid4(dst)))
			continue; /* which cannot carry these NIDs */
		slow = slow_fate(&hdr, version);
		fast = fastpath_fate(&hdr, version, ni->ni.net);
		/* A message to the wrong one of our NIDs goes up, to be refused there. */
		if (slow != fast && !(slow == REFUSED && fast == OURS && !lx_dest_of(dst)->n))
			fail_msg("V%d type %#x, %u bytes from %s to %s: the slow path %s, the fast "
				 "path %s", version, hdr.type, hdr.payload_length, lx_nid_str(src),
				 lx_nid_str(dst), fate_name[slow], fate_name[fast]);
		count[slow]++;
	}
	printf("%u headers forwarded, %u for us, %u refused\n", count[FORWARDED], count[OURS],
	       count[REFUSED]);
	assert_true(count[FORWARDED] > 100 && count[OURS] > 100 && count[REFUSED] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_header) };

	rnd_init();
	return cmocka_run_group_tests_name("headers that may be forwarded", tests, setup, teardown);
}
