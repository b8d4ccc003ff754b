/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules that drop or delay messages (lnet.md 14). */
#include "simlib.h"

static struct lx_sim *sim;
static struct lx_sim_node *a, *b;
static char src[4096], dst[4096];

static int setup(void **state)
{
	log_clear();
	if (lx_sim_new(rnd(), &sim_plain, &sim))
		return -1;
	a = NODE(sim, "10.0.0.1@tcp");
	b = NODE(sim, "10.0.0.2@tcp");
	/* Rules match messages of discovery, too, so switch it off. */
	tune(a, "lnet_peer_discovery_disabled", "1");
	tune(b, "lnet_peer_discovery_disabled", "1");
	return 0;
}

static int teardown(void **state)
{
	assert_at_rest(a);
	assert_at_rest(b);
	lx_sim_free(sim);
	return 0;
}

/* A rule that matches every message, and acts on each. */
static struct lx_fault_rule rule(bool delay)
{
	return (struct lx_fault_rule){ .delay = delay,
				       .src = lx_nid_any,
				       .dst = lx_nid_any,
				       .local = lx_nid_any,
				       .rate = 1,
				       .latency_ms = delay ? 3000 : 0 };
}

static void add(struct lx_sim_node *node, const struct lx_fault_rule *r)
{
	assert_int_equal(lx_core_fault_add(node->core, r), 0);
}

static int del(struct lx_sim_node *node, bool delay)
{
	return lx_core_fault_del(node->core, delay, &lx_nid_any, &lx_nid_any);
}

static struct lx_fault_info info(struct lx_sim_node *node)
{
	struct lx_fault_info *list, first;
	size_t n;

	assert_int_equal(lx_fault_describe(node->core, &list, &n), 0);
	assert_true(n > 0);
	first = list[0];
	free(list);
	return first;
}

/* Sends @n PUTs without ACK from a to b, one by one; returns how many arrived. */
static unsigned int puts_of(unsigned int n, uint32_t portal)
{
	unsigned int before = count_events(LX_EVENT_PUT);
	struct lx_handle md = mem(a, src, 100, LX_MD_UNLIMITED);

	for (unsigned int i = 0; i < n; i++) {
		put(a, md, false, "10.0.0.2@tcp", portal, 7);
		lx_sim_run(sim, 10 * MS);
	}
	return count_events(LX_EVENT_PUT) - before;
}

static void listen_on(uint32_t portal)
{
	post(b, portal, NULL, 7, 0, dst, sizeof(dst), LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE,
	     LX_MD_UNLIMITED);
}

static void drop_received(void **state)
{
	struct lx_fault_rule r = rule(false);
	uint64_t drops = b->core->stats.drop_count;

	listen_on(5);
	assert_int_equal(puts_of(4, 5), 4);
	add(b, &r);
	assert_int_equal(puts_of(4, 5), 0);
	assert_int_equal(info(b).counts.matched, 4);
	assert_int_equal(info(b).counts.acted, 4);
	assert_int_equal(info(b).counts.put, 4);
	assert_int_equal(info(b).counts.get, 0);
	assert_int_equal(b->core->stats.drop_count - drops, 4);
	assert_int_equal(b->core->stats.drops[LX_REASON_FAULT], 4);
	lx_fault_reset(b->core, false);
	assert_int_equal(info(b).counts.matched, 0);
	assert_int_equal(del(b, false), 1);
	assert_int_equal(del(b, false), -ENOENT);
	assert_int_equal(puts_of(4, 5), 4);
}

/* A rule without health errors ignores sent messages; with them it ignores received ones. */
static void drop_sent(void **state)
{
	struct lx_fault_rule r = rule(false);

	listen_on(5);
	add(a, &r);
	assert_int_equal(puts_of(2, 5), 2);
	assert_int_equal(info(a).counts.matched, 0);
	r.hstatuses = 1u << LX_HSTATUS_LOCAL_ERROR;
	add(b, &r);
	assert_int_equal(puts_of(2, 5), 2);
	assert_int_equal(info(b).counts.matched, 0);
	del(a, false);
	add(a, &r);
	log_clear();
	assert_int_equal(puts_of(1, 5), 0);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EIO);
	assert_int_equal(a->core->stats.local_error_count, 1);
	del(a, false);
	r.hstatuses = 1u << LX_HSTATUS_LOCAL_ERROR | 1u << LX_HSTATUS_REMOTE_ERROR;
	add(a, &r);
	assert_int_equal(puts_of(40, 5), 0);
	assert_true(a->core->stats.local_error_count > 1);
	assert_true(a->core->stats.remote_error_count > 1);
	assert_int_equal(a->core->stats.local_error_count + a->core->stats.remote_error_count, 41);
}

/* To the sender, a message that vanishes was sent. */
static void drop_all(void **state)
{
	struct lx_fault_rule r = rule(false);

	r.drop_all = true;
	listen_on(5);
	add(a, &r);
	assert_int_equal(puts_of(3, 5), 0);
	assert_int_equal(count_events(LX_EVENT_SEND), 3);
	assert_int_equal(event_log[0].status, 0);
	assert_int_equal(info(a).counts.acted, 3);
}

static void rates(void **state)
{
	struct lx_fault_rule r = rule(false);

	listen_on(5);
	r.rate = 5;
	add(b, &r);
	for (int i = 0; i < 10; i++)
		assert_int_equal(puts_of(5, 5), 4); /* one of every five */
	assert_int_equal(info(b).counts.acted, 10);
}

/* Of two messages the first, so that a single message can be seen to fail. */
static void rate_two_begins_with_the_first(void **state)
{
	struct lx_fault_rule r = rule(false);

	listen_on(5);
	r.rate = 2;
	for (int i = 0; i < 20; i++) {
		add(b, &r);
		assert_int_equal(puts_of(1, 5), 0);
		del(b, false);
	}
}

static void intervals(void **state)
{
	struct lx_fault_rule r = rule(false);

	listen_on(5);
	r.rate = 0;
	r.interval_s = 2;
	add(b, &r);
	for (int i = 0; i < 20; i++) { /* 20 s */
		log_clear();
		puts_of(100, 5);
	}
	assert_in_range(info(b).counts.acted, 9, 11);
	assert_int_equal(info(b).counts.matched, 2000);
	/* After a pause, one message is dropped, not one per interval that passed. */
	lx_sim_run(sim, 100 * SEC);
	assert_in_range(puts_of(3, 5), 2, 3);
	del(b, false);
	log_clear();
	r.random = true;
	add(b, &r);
	assert_in_range(puts_of(400, 5), 100, 300);
}

static void selection(void **state)
{
	struct {
		const char *src, *dst, *local;
		uint64_t portals;
		uint32_t messages;
		bool acts;
	} cases[] = {
		{ "10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.2@tcp", 0, 0, true },
		{ "10.0.0.3@tcp", "10.0.0.2@tcp", NULL, 0, 0, false },
		{ NULL, "10.0.0.1@tcp", NULL, 0, 0, false },
		{ NULL, NULL, "10.0.0.1@tcp", 0, 0, false },
		{ "@tcp", "@tcp", "@tcp", 0, 0, true },
		{ "@tcp1", NULL, NULL, 0, 0, false },
		{ NULL, NULL, NULL, 1ull << 5, 0, true },
		{ NULL, NULL, NULL, 1ull << 6 | 1, 0, false },
		{ NULL, NULL, NULL, 1ull << 5, LX_FAULT_PUT | LX_FAULT_ACK, true },
		{ NULL, NULL, NULL, 0, LX_FAULT_GET | LX_FAULT_ACK | LX_FAULT_REPLY, false },
	};

	listen_on(5);
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct lx_fault_rule r = rule(false);
		const char *text[] = { cases[i].src, cases[i].dst, cases[i].local };
		struct lx_nid *nids[] = { &r.src, &r.dst, &r.local };
		uint32_t net;

		for (int j = 0; j < 3; j++) {
			if (text[j] && text[j][0] == '@' && !lx_net_parse(text[j] + 1, &net))
				*nids[j] = lx_fault_net_nid(net);
			else if (text[j])
				*nids[j] = nid(text[j]);
		}
		r.portals = cases[i].portals;
		r.messages = cases[i].messages;
		add(b, &r);
		if (puts_of(1, 5) == cases[i].acts)
			fail_msg("case %zu", i);
		assert_int_equal(del(b, false), 1);
	}
}

static void refused(void **state)
{
	struct lx_fault_rule r = rule(false);

	r.rate = 0;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
	r.rate = r.interval_s = 1;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
	r = rule(false);
	r.latency_ms = 1;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
	r = rule(true);
	r.latency_ms = 0;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
	r = rule(true);
	r.hstatuses = 2;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
	r = rule(false);
	r.hstatuses = 1;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
	r = rule(false);
	r.random = true;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
	/* An ACK has no portal. */
	r = rule(false);
	r.portals = 1;
	r.messages = LX_FAULT_ACK;
	assert_int_equal(lx_core_fault_add(a->core, &r), -EINVAL);
}

/* As in the capture: a GET delayed by 3 s, its REPLY by 2 s. */
static void delays(void **state)
{
	struct lx_fault_rule r = rule(true);

	post(b, 5, NULL, 7, 0, src, 100, LX_MD_OP_GET, LX_MD_UNLIMITED);
	r.messages = LX_FAULT_GET;
	add(a, &r);
	r.messages = LX_FAULT_REPLY;
	r.latency_ms = 2000;
	add(a, &r);
	get(a, mem(a, dst, 100, 2), "10.0.0.2@tcp", 5, 7);
	lx_sim_run(sim, 2900 * MS);
	assert_int_equal(info(a).held, 0);
	lx_sim_run(sim, 200 * MS);
	assert_int_equal(info(a).held, 1); /* the REPLY */
	lx_sim_run(sim, 1800 * MS);
	assert_int_equal(count_events(LX_EVENT_REPLY), 0);
	lx_sim_run(sim, 200 * MS);
	assert_int_equal(the_event(LX_EVENT_REPLY)->status, 0);
	assert_int_equal(info(a).counts.reply, 1);
	assert_int_equal(info(a).held, 0);
}

/* Held messages are released when the rule is deleted, the NI stops, or the rule's time ends. */
static void let_go(void **state)
{
	struct lx_fault_rule r = rule(true);

	listen_on(5);
	add(a, &r);
	assert_int_equal(puts_of(3, 5), 0);
	assert_int_equal(info(a).held, 3);
	del(a, true);
	lx_sim_run(sim, 10 * MS);
	assert_int_equal(count_events(LX_EVENT_PUT), 3);
	/* A message held on arrival blocks those behind it, as flow control does. */
	add(b, &r);
	assert_int_equal(puts_of(3, 5), 0);
	assert_int_equal(info(b).held, 1);
	del(b, true);
	lx_sim_run(sim, 10 * MS);
	assert_int_equal(count_events(LX_EVENT_PUT), 6);
	r.latency_ms = 60000;
	r.for_s = 2;
	add(b, &r);
	assert_int_equal(info(b).left_s, 2);
	assert_int_equal(puts_of(3, 5), 0);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 9);
	assert_int_equal(del(b, true), -ENOENT);
	assert_int_equal(b->core->faults.n, 0);
}

static void ni_stops(void **state)
{
	struct lx_fault_rule r = rule(true);
	struct lx_net *net = lx_net_lookup(a->core, LX_NET(LX_NET_TCP, 0));

	listen_on(5);
	add(a, &r);
	add(b, &r);
	assert_int_equal(puts_of(3, 5), 0);
	lx_core_ni_stop(a->core, lx_list_first(&net->nis, struct lx_core_ni, link));
	assert_int_equal(info(a).held, 0);
	lx_sim_run(sim, 10 * SEC);
}

/* A held message keeps its deadline. */
static void held_too_long(void **state)
{
	struct lx_fault_rule r = rule(true);

	tune(a, "lnet_transaction_timeout", "5");
	listen_on(5);
	r.latency_ms = 8000;
	add(a, &r);
	log_clear();
	assert_int_equal(puts_of(1, 5), 0);
	lx_sim_run(sim, 10 * SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ETIMEDOUT);
}

/* The fast path must leave forwarded messages that may match a rule to the core. */
static void watched(void **state)
{
	struct lx_fault_rule r = rule(false);
	struct lx_nid to = nid("10.0.0.2@tcp"), other = nid("10.0.0.3@tcp1");

	assert_false(lx_fault_watches(a->core, &to));
	r.dst = to;
	add(a, &r);
	assert_true(lx_fault_watches(a->core, &to));
	assert_false(lx_fault_watches(a->core, &other));
	r.dst = lx_fault_net_nid(LX_NET(LX_NET_TCP, 1));
	add(a, &r);
	assert_true(lx_fault_watches(a->core, &other));
	/* "Any" deletes all rules; NIDs delete only the rule with exactly these NIDs. */
	assert_int_equal(lx_core_fault_del(a->core, false, &to, &lx_nid_any), -ENOENT);
	assert_int_equal(lx_core_fault_del(a->core, false, &lx_nid_any, &to), 1);
	assert_int_equal(lx_core_fault_del(a->core, false, &lx_nid_any, &r.dst), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(drop_received), TEST(drop_sent), TEST(drop_all), TEST(rates),
		TEST(rate_two_begins_with_the_first),
		TEST(intervals),     TEST(selection), TEST(refused),  TEST(delays),
		TEST(let_go),	     TEST(ni_stops),  TEST(held_too_long), TEST(watched),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: fault injection", tests, NULL, NULL);
}
