/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What one address can take of a router: buffers and transmit credits, whatever NIDs it claims;
 * and who is next when credits are short.
 * The transport is the test: a message that the router sends stays there until finish().
 */
#include <errno.h>

#include "simlib.h"

#define MANY 300 /* NIDs of one address */

static struct lx_sim *sim;
static struct lx_sim_node *router;
static struct lx_core_ni *in, *out;
static const struct lx_lnd *real_lnd;
static struct lx_lnd lnd;
static struct lx_msg *sent[8192];
static unsigned int n_sent, n_late, n_dropped, next_node;

static int take_sent(struct lx_ni *ni, struct lx_msg *msg)
{
	assert_true(n_sent < N_OF(sent));
	sent[n_sent++] = msg;
	return 0;
}

/* A message that had to wait: its payload is read at once. */
static void take_late(struct lx_ni *ni, void *rx, struct lx_msg *msg)
{
	n_late++;
	n_dropped += !msg;
	if (msg)
		lx_lnd_finalize(msg, 0);
}

static int setup(void **state)
{
	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	router = NODE(sim, "10.0.0.11@tcp1", "10.1.0.11@tcp2");
	make_router(router);
	lx_sim_run(sim, SEC);
	in = ni_of(router, "10.0.0.11@tcp1");
	out = ni_of(router, "10.1.0.11@tcp2");
	real_lnd = in->ni.lnd;
	lnd = *real_lnd;
	lnd.send = take_sent;
	lnd.recv = take_late;
	in->ni.lnd = out->ni.lnd = &lnd;
	n_sent = n_late = n_dropped = 0;
	next_node = 10 * MANY;
	return 0;
}

/* Ends the oldest message that the router has sent. */
static void finish(void)
{
	struct lx_msg *msg = sent[0];

	memmove(sent, sent + 1, --n_sent * sizeof(sent[0]));
	lx_lnd_finalize(msg, 0);
}

static int teardown(void **state)
{
	while (n_sent)
		finish();
	assert_at_rest(router);
	in->ni.lnd = out->ni.lnd = real_lnd;
	lx_sim_free(sim);
	return 0;
}

static struct lx_nid numbered(const char *net, unsigned int i)
{
	char text[LX_NID_TEXT];

	snprintf(text, sizeof(text), "10.%u.%u.%u@%s", net[3] - '1', 1 + i / 200, 1 + i % 200, net);
	return nid(text);
}

/* A message from a NID of an address to node @to; true if it was read at once. */
static bool message(const struct lx_nid *from_nid, const char *address, bool stranger,
		    unsigned int to, size_t len)
{
	struct lx_rx_from from = { .nid = *from_nid, .address = nid(address),
				   .stranger = stranger };
	struct lx_hdr hdr = { .src_nid = *from_nid, .dst_nid = numbered("tcp2", to),
			      .type = LX_MSG_PUT, .payload_length = len,
			      .cmd.put.ack_md = LX_WIRE_HANDLE_NONE };
	struct lx_msg *msg;
	int r = lx_lnd_parse(&in->ni, &hdr, &from, NULL, &msg);

	assert_true(r >= 0);
	if (r == LX_RX_LATER)
		return false;
	assert_non_null(msg);
	lx_lnd_finalize(msg, 0);
	return true;
}

/* @n messages of as many NIDs of an address to as many nodes; returns how many were read. */
static unsigned int greedy(const char *address, unsigned int n, size_t len)
{
	unsigned int read = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct lx_nid from = numbered("tcp1", i % MANY);

		read += message(&from, address, false, i, len);
	}
	return read;
}

/* A node with one NID has as many messages under way as its credits allow; their number. */
static unsigned int modest(const char *text, size_t len)
{
	struct lx_nid from = nid(text);
	unsigned int before = n_sent;

	for (unsigned int i = 0; i < 8; i++)
		assert_true(message(&from, text, false, next_node++, len));
	return n_sent - before;
}

/* All large buffers but half of them, and then but a share, stay for others. */
static void buffers(void **state)
{
	struct lx_pool *pool = &router->core->pool[LX_POOL_LARGE];

	assert_int_equal(greedy("10.0.9.1@tcp", 2 * MANY, 8192), pool->made / 2);
	assert_int_equal(modest("10.0.0.1@tcp1", 8192), 8);
	assert_int_equal(greedy("10.0.9.2@tcp", 2 * MANY, 8192), pool->made / 8);
	assert_int_equal(modest("10.0.0.2@tcp1", 8192), 8);
	/* Each that ends lets the next one in. */
	while (n_sent)
		finish();
	assert_int_equal(n_late, 4 * MANY - pool->made / 2 - pool->made / 8);
	assert_int_equal(pool->credits_min, (int)(pool->made * 3 / 8 - 16));
}

/* Small buffers are many, transmit credits are not; messages to nobody keep both. */
static void transmit_credits(void **state)
{
	assert_int_equal(greedy("10.0.9.1@tcp", 4 * MANY, 10), 4 * MANY);
	assert_int_equal(n_sent, 128);
	assert_int_equal(modest("10.0.0.1@tcp1", 10), 8);
	assert_int_equal(greedy("10.0.9.2@tcp", MANY, 10), MANY);
	assert_int_equal(n_sent, 128 + 8 + 32);
	assert_int_equal(modest("10.0.0.2@tcp1", 10), 8);
	for (unsigned int i = 0; i < 128; i++)
		finish();
	/* The first address still has messages, but only a share while others have so many. */
	assert_true(out->tx_credits >= 0);
	assert_int_equal(modest("10.0.0.3@tcp1", 10), 8);
}

/* Who takes part in a peer's name has credits of its own, however many names it takes. */
static void strangers(void **state)
{
	struct lx_nid peer = nid("10.0.0.1@tcp1"), other = nid("10.0.0.2@tcp1");

	for (unsigned int i = 0; i < 8; i++)
		assert_true(message(&peer, "10.0.9.1@tcp", true, i, 8192));
	assert_false(message(&peer, "10.0.9.1@tcp", true, 8, 8192));
	assert_false(message(&other, "10.0.9.1@tcp", true, 9, 8192));
	assert_int_equal(modest("10.0.0.1@tcp1", 8192), 8);
	assert_true(message(&peer, "10.0.9.2@tcp", true, 10, 8192));
	finish();
	assert_int_equal(n_late, 1);
}

/* Nothing waits for a share in vain when an NI goes. */
static void an_ni_stops(void **state)
{
	greedy("10.0.9.1@tcp", 2 * MANY, 8192);
	greedy("10.0.9.1@tcp", 2 * MANY, 10);
	out->ni.lnd = real_lnd;
	n_late = 0;
	while (n_sent) {
		struct lx_msg *msg = sent[--n_sent];

		if (n_sent == 100)
			lx_sim_ni_del(router, "10.1.0.11@tcp2");
		lx_lnd_finalize(msg, -ESHUTDOWN);
	}
	assert_int_equal(n_dropped, 0);
	assert_int_equal(lx_sim_ni_add(router, "10.1.0.11@tcp2", 8, 256), 0);
	out = ni_of(router, "10.1.0.11@tcp2");
	out->ni.lnd = &lnd;
}

/* Whatever comes and ends in whatever order: nobody waits for ever, and at rest all is there. */
static void any_order(void **state)
{
	unsigned int later = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		const int64_t sizes[LX_POOLS] = { 1 + rnd_below(50), 1 + rnd_below(50),
						  1 + rnd_below(50) };
		struct lx_nid from = numbered("tcp1", rnd_below(40));
		char address[LX_NID_TEXT];

		snprintf(address, sizeof(address), "10.0.9.%u@tcp", (unsigned int)rnd_below(3) + 1);
		if (!rnd_below(500))
			assert_int_equal(lx_credit_pools_resize(router->core, sizes), 0);
		if (rnd_below(2) && n_sent)
			finish();
		else
			later += !message(&from, address, !rnd_below(5), rnd_below(30),
					  rnd_below(3) ? rnd_below(8192) : 0);
	}
	while (n_sent)
		finish();
	assert_int_equal(n_late, later);
	assert_int_equal(n_dropped, 0);
}

/* ---- small messages first ----------------------------------------------------------------- */

enum { BULK = 65536, SMALL = 2000, HEADER = sizeof(struct lx_hdr_nid4), N_BULK = 24, N_FLOOD = 90 };

/* Node @to, or as many nodes as messages. */
static void from_many(unsigned int n, unsigned int to, size_t len, unsigned int *ret_next)
{
	for (unsigned int i = 0; i < n; i++) {
		struct lx_nid from = numbered("tcp1", 20 + *ret_next);
		char address[LX_NID_TEXT];

		snprintf(address, sizeof(address), "10.8.%u.1@tcp", *ret_next);
		assert_true(message(&from, address, false, to ? to : 100 + *ret_next, len));
		++*ret_next;
	}
}

/* One of the three that from_many() made last. */
static bool is_other(const struct lx_nid *from)
{
	for (unsigned int i = 8 + N_BULK; i < 8 + N_BULK + 3; i++) {
		struct lx_nid other = numbered("tcp1", 20 + i);

		if (lx_nid_eq(from, &other))
			return true;
	}
	return false;
}

/*
 * No credit is left, at the next hop or at our NI, and bulk messages of many senders wait. Then
 * one address sends a flood of small messages, and three others one each.
 */
static void small_first(unsigned int to)
{
	unsigned int n_bulk = 0, n_small = 0, others = 0, between = 0, next = 0;

	from_many(8 + N_BULK, to, BULK, &next);
	assert_int_equal(n_sent, 8);
	for (unsigned int i = 0; i < N_FLOOD; i++) {
		struct lx_nid flood = numbered("tcp1", 200 + i);

		assert_true(message(&flood, "10.0.9.1@tcp", false, to ? to : 200 + i, SMALL));
	}
	from_many(3, to, SMALL, &next);
	for (unsigned int i = 0; i < 8; i++)
		finish();
	while (n_sent) {
		const struct lx_msg *msg = sent[0];
		bool small = msg->payload.length == SMALL;

		if (small && n_bulk > 1 + (n_small + 1) * (SMALL + HEADER) / (BULK + HEADER))
			fail_msg("%u bulk messages before the small message %u", n_bulk, n_small);
		if (small && between >= BULK + HEADER && n_bulk < N_BULK)
			fail_msg("%u bytes of small messages in a row", between);
		between = small ? between + SMALL + HEADER : 0;
		n_small += small;
		n_bulk += !small;
		others += small && is_other(&msg->hdr.src_nid);
		if (others < 3 && n_small > 8)
			fail_msg("a flood of small messages by one address keeps others waiting");
		finish();
	}
	assert_int_equal(n_small, N_FLOOD + 3);
	assert_int_equal(n_bulk, N_BULK);
}

static void small_first_at_a_next_hop(void **state)
{
	small_first(1);
}

static void small_first_at_our_ni(void **state)
{
	int taken = out->tx_credits - 8;

	out->tx_credits -= taken;
	small_first(0);
	out->tx_credits += taken;
}

/* ---- a node that does not take what it is sent ------------------------------------------- */

/* A large message of one server to node @to. */
static bool served(unsigned int to)
{
	struct lx_nid server = nid("10.0.0.1@tcp1");

	return message(&server, "10.0.0.1@tcp", false, to, 8192);
}

/* The node takes what the router has sent to it, @most of that; returns how much. */
static unsigned int takes_some(unsigned int node, unsigned int most)
{
	struct lx_nid it = numbered("tcp2", node);
	unsigned int n = 0;

	for (unsigned int i = 0; i < n_sent && n < most;) {
		struct lx_msg *msg = sent[i];

		if (!lx_nid_eq(&msg->target.nid, &it)) {
			i++;
			continue;
		}
		memmove(&sent[i], &sent[i + 1], (--n_sent - i) * sizeof(sent[0]));
		lx_lnd_finalize(msg, 0);
		n++;
		i = 0; /* more may have been sent */
	}
	return n;
}

static unsigned int takes(unsigned int node)
{
	return takes_some(node, MANY);
}

static unsigned int n_lines;

static void count_lines(int level, const char *line, void *arg)
{
	n_lines += strstr(line, "does not take what we forward") && strstr(line, "peer=10.1.1.2@tcp2");
}

enum { STUCK = 1, OTHER = 2, PART = 31 /* of router_store: 32 MiB */ };

/* Its server has sent it what there are router credits for: the next message, to another, waits. */
static void stuck(void)
{
	for (unsigned int i = 0; i < 8; i++)
		assert_true(served(STUCK));
	assert_false(served(OTHER));
	assert_int_equal(takes(OTHER), 0);
}

/* What it does not take is kept elsewhere; the server's other messages go on. */
static void slow_node(void **state)
{
	struct lx_core *core = router->core;

	stuck();
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(n_late, 1);
	for (unsigned int i = 8; i < PART; i++) {
		assert_true(served(STUCK));
		assert_true(served(OTHER));
		takes(OTHER);
	}
	assert_true(core->slow_bytes > PART << 20);
	assert_int_equal(takes(STUCK), PART);
	assert_int_equal(core->slow_bytes, 0);
	assert_int_equal(core->stats.drop_count, 0);
	/* It has taken all: now it is as any other. */
	stuck();
	assert_int_equal(takes(STUCK), 8);
	takes(OTHER);
}

/* A node that takes something, but never all, is slow, and no more than that. */
static void honest_node(void **state)
{
	struct lx_core *core = router->core;

	stuck();
	lx_sim_run(sim, 3 * SEC);
	for (unsigned int i = 8; i < PART; i++)
		assert_true(served(STUCK));
	takes(OTHER);
	stuck();
	for (unsigned int i = 0; i < 8; i++) {
		lx_sim_run(sim, 4 * SEC);
		assert_true(takes_some(STUCK, 8) == 8);
		takes(OTHER);
		for (unsigned int k = 0; k < 8; k++)
			served(STUCK);
		served(OTHER);
	}
	assert_int_equal(core->stats.drop_count, 0);
}

/* Without memory, its server waits for 10 s behind a message to it; then it gets nothing more. */
static void refused_node(void **state)
{
	struct lx_core *core = router->core;
	uint64_t *drops = &core->stats.drops[LX_REASON_NOT_TAKEN];

	lx_set_log(count_lines, NULL);
	n_lines = 0;
	stuck();
	lx_sim_run(sim, 3 * SEC);
	for (unsigned int i = 8; i < PART; i++)
		assert_true(served(STUCK));
	takes(OTHER);
	n_late = 0;
	stuck();
	lx_sim_run(sim, 8 * SEC);
	assert_int_equal(n_late, 0);
	assert_int_equal(n_lines, 0);
	lx_sim_run(sim, 4 * SEC);
	assert_int_equal(n_late, 1);
	assert_int_equal(n_lines, 1);
	/* All but what the transport has. */
	assert_int_equal(*drops, PART);
	assert_true(served(STUCK));
	assert_int_equal(*drops, PART + 1);
	assert_true(served(OTHER));
	takes(OTHER);
	assert_int_equal(takes(STUCK), 8);
	assert_true(served(STUCK));
	assert_int_equal(*drops, PART + 1);
	lx_set_log(NULL, NULL);
}

/* Without a tunable there is no memory; its server waits at most 11 s. */
static void no_memory_for_slow_nodes(void **state)
{
	tune(router, "router_store", "0");
	stuck();
	lx_sim_run(sim, 12 * SEC);
	assert_int_equal(n_late, 1);
	assert_int_equal(takes(STUCK), 8);
}

/* One entry for each address, however often it comes; the one quiet for longest makes room. */
static void refused_addresses(void **state)
{
	struct lx_refused_info *list;
	char address[32];
	size_t n;

	for (int i = 0; i < LX_REFUSED_MAX + 2; i++) {
		snprintf(address, sizeof(address), "10.0.0.%d", i);
		lx_lnd_refused(&in->ni, LX_REFUSED_NID, address, "wrong net there");
		lx_sim_run(sim, SEC);
		lx_lnd_refused(&in->ni, LX_REFUSED_NID, "10.0.0.0", "wrong net there");
	}
	assert_int_equal(lx_refused_describe(router->core, &list, &n), 0);
	assert_int_equal(n, LX_REFUSED_MAX);
	assert_string_equal(list[0].address, "10.0.0.0");
	assert_int_equal(list[0].connections, LX_REFUSED_MAX + 3);
	assert_int_equal(list[0].age_s, 0);
	assert_true(list[0].since_s);
	assert_string_equal(list[1].address, address);
	assert_int_equal(list[1].age_s, 1);
	assert_string_equal(list[n - 1].address, "10.0.0.3");
	assert_int_equal(list[n - 1].connections, 1);
	free(list);

	/* For another reason it begins anew. */
	lx_lnd_refused(&in->ni, LX_REFUSED_PORT, "10.0.0.0", "port");
	assert_int_equal(router->core->stats.refused_ports, 1);
	assert_int_equal(lx_refused_describe(router->core, &list, &n), 0);
	assert_int_equal(n, LX_REFUSED_MAX);
	assert_int_equal(list[0].kind, LX_REFUSED_PORT);
	assert_int_equal(list[0].connections, 1);
	free(list);
}

int main(void)
{
#define SHARE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		SHARE_TEST(buffers),
		SHARE_TEST(transmit_credits),
		SHARE_TEST(strangers),
		SHARE_TEST(an_ni_stops),
		SHARE_TEST(any_order),
		SHARE_TEST(small_first_at_a_next_hop),
		SHARE_TEST(small_first_at_our_ni),
		SHARE_TEST(slow_node),
		SHARE_TEST(honest_node),
		SHARE_TEST(refused_node),
		SHARE_TEST(no_memory_for_slow_nodes),
		SHARE_TEST(refused_addresses),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: shares of addresses", tests, NULL, NULL);
}
