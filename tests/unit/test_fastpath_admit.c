/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every header on both paths: the fast path must not forward a header for which the library
 * would close the connection, or which it would drop, and must forward all others. Every
 * destination that is not ours has a lane.
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

/* The fate of a message; what the library drops, the fast path leaves to it. */
enum fate { FORWARDED, STAYS, REFUSED };
static const char *const fate_name[] = { "forwards it", "keeps or drops it", "refuses it" };

static uint64_t cookie[2]; /* in socklnd's header */

/* @net: of the receiving NI */
static enum fate fastpath_fate(const struct lx_hdr *hdr, int version, uint32_t net)
{
	char packet[sizeof(struct lx_sock_msg) + sizeof(struct lx_hdr_nid16)];
	const struct lx_sock_msg head = { .type = LX_SOCK_LNET,
					  .cookie = { cookie[0], cookie[1] } };
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
	return stream.reasons[LX_LANE0_MALFORMED] ? REFUSED : STAYS;
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
	if (r < 0)
		return REFUSED;
	/* For us there is no MD; of others' messages there is always room for one. */
	if (r == LX_RX_NOW && !msg)
		return STAYS;
	if (r == LX_RX_NOW)
		recv_none(&ni->ni, NULL, msg);
	return FORWARDED;
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
		if (slow != fast)
			fail_msg("V%d type %#x, %u bytes from %s to %s: the slow path %s, the fast "
				 "path %s", version, hdr.type, hdr.payload_length, lx_nid_str(src),
				 lx_nid_str(dst), fate_name[slow], fate_name[fast]);
		count[slow]++;
	}
	printf("%u headers forwarded, %u kept or dropped, %u refused\n", count[FORWARDED],
	       count[STAYS], count[REFUSED]);
	assert_true(count[FORWARDED] > 100 && count[STAYS] > 100 && count[REFUSED] > 100);
}

/* ---- what a stranger chooses ---------------------------------------------------------------- */

/*
 * Any node that sends a message through a router chooses all of its header. Whatever it writes, the
 * connection that the message comes on stays: docs/security.md has this list, with the rules.
 */
static const struct {
	const char *field, *src, *dst;
	uint32_t src_pid, dst_pid;
	enum fate slow, fast;
} choices[] = {
	{ "none", "10.0.0.1@tcp1", "10.1.0.1@tcp2", 0, 0, FORWARDED, FORWARDED },
	{ "source: another node", "10.0.0.99@tcp1", "10.1.0.1@tcp2", 0, 0, FORWARDED, FORWARDED },
	{ "source: the destination", "10.1.0.1@tcp2", "10.1.0.1@tcp2", 0, 0, FORWARDED, FORWARDED },
	{ "source: us", "10.0.0.11@tcp1", "10.1.0.1@tcp2", 0, 0, STAYS, STAYS },
	{ "source: our far NID", "10.1.0.11@tcp2", "10.1.0.1@tcp2", 0, 0, STAYS, STAYS },
	{ "source: 0@lo", "0@lo", "10.1.0.1@tcp2", 0, 0, STAYS, STAYS },
	{ "destination: our far NID", "10.0.0.1@tcp1", "10.1.0.11@tcp2", 0, 0, STAYS, STAYS },
	{ "destination: 0@lo", "10.0.0.1@tcp1", "0@lo", 0, 0, STAYS, STAYS },
	{ "source: no node", "*", "10.1.0.1@tcp2", 0, 0, STAYS, STAYS },
	{ "destination: no node", "10.0.0.1@tcp1", "*", 0, 0, STAYS, STAYS },
	{ "destination: on the near net", "10.0.0.1@tcp1", "10.0.0.99@tcp1", 0, 0, STAYS, STAYS },
	{ "destination: any pid", "10.0.0.1@tcp1", "10.1.0.1@tcp2", 0, 1000, FORWARDED, FORWARDED },
	/* dropped when it is to be sent: test_core_forward, test_sock_hello */
	{ "destination: a process", "10.0.0.1@tcp1", "10.1.0.1@tcp2", 0, LX_PID_USERFLAG | 7,
	  FORWARDED, STAYS },
	{ "source: any pid", "10.0.0.1@tcp1", "10.1.0.1@tcp2", 1000, 0, FORWARDED, FORWARDED },
	{ "source: a process", "10.0.0.1@tcp1", "10.1.0.1@tcp2", LX_PID_USERFLAG | 7, 0, FORWARDED,
	  FORWARDED },
};

static void every_choice(void **state)
{
	enum fate slow, fast;

	for (size_t i = 0; i < 2 * N_OF(types) * N_OF(choices); i++) {
		size_t at = i / 2 / N_OF(types);
		int version = i % 2 ? LX_SOCK_V4 : LX_SOCK_V3;
		struct lx_hdr hdr = { .src_nid = nid(choices[at].src),
				      .dst_nid = nid(choices[at].dst),
				      .src_pid = choices[at].src_pid,
				      .dst_pid = choices[at].dst_pid,
				      .type = types[i / 2 % N_OF(types)] };

		if (hdr.type > LX_MSG_REPLY)
			continue;
		rnd_fill(&hdr.cmd, sizeof(hdr.cmd)); /* handles, match bits, portals */
		slow = slow_fate(&hdr, version);
		fast = fastpath_fate(&hdr, version, ni->ni.net);
		if (slow != choices[at].slow || fast != choices[at].fast)
			fail_msg("%s, V%d, type %u: the slow path %s, the fast path %s",
				 choices[at].field, version, hdr.type, fate_name[slow],
				 fate_name[fast]);
	}
}

/*
 * The cookies of socklnd are between neighbours, and the core does not see them: an answer is for
 * lnetxd (test_sock_zc, test_sock_origin), a request is taken out (test_fastpath_frame).
 */
static void every_cookie(void **state)
{
	struct lx_hdr hdr = { .src_nid = nid("10.0.0.1@tcp1"), .dst_nid = nid("10.1.0.1@tcp2"),
			      .type = LX_MSG_PUT };

	for (unsigned int i = 0; i < 4; i++) {
		cookie[0] = i & 1 ? rnd() : 0;
		cookie[1] = i & 2 ? rnd() | 1 : 0;
		assert_int_equal(fastpath_fate(&hdr, LX_SOCK_V3, ni->ni.net),
				 i & 2 ? STAYS : FORWARDED);
	}
	cookie[0] = cookie[1] = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_header),
		cmocka_unit_test(every_choice),
		cmocka_unit_test(every_cookie),
	};

	rnd_init();
	return cmocka_run_group_tests_name("headers that may be forwarded", tests, setup, teardown);
}
