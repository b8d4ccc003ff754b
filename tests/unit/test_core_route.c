/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Routes, gateways and forwarding. */
#include "simlib.h"

#include "../../user/core/announce.h"

/*
 *	a 10.0.0.1@tcp1 ──┬── r1 10.0.0.11@tcp1 / 10.1.0.11@tcp2 ──┬── s 10.1.0.1@tcp2
 *	                  └── r2 10.0.0.12@tcp1 / 10.1.0.12@tcp2 ──┘
 */
static struct lx_sim *sim;
static struct lx_sim_node *a, *s, *r1, *r2;
static char src[1 << 20], dst[1 << 20];

static void quick(struct lx_sim_node *node)
{
	tune(node, "alive_router_check_interval", "2");
	tune(node, "router_ping_timeout", "1");
	tune(node, "lnet_transaction_timeout", "5");
}

static int setup_knobs(const struct lx_sim_knobs *knobs)
{
	log_clear();
	rnd_fill(src, 8192);
	memset(dst, 0, sizeof(dst));
	if (lx_sim_new(rnd(), knobs, &sim))
		return -1;
	a = NODE(sim, "10.0.0.1@tcp1");
	s = NODE(sim, "10.1.0.1@tcp2");
	r1 = NODE(sim, "10.0.0.11@tcp1", "10.1.0.11@tcp2");
	r2 = NODE(sim, "10.0.0.12@tcp1", "10.1.0.12@tcp2");
	quick(a);
	quick(s);
	quick(r1);
	quick(r2);
	make_router(r1);
	make_router(r2);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	add_route(a, "tcp2", "10.0.0.12@tcp1", LX_UNSET, 0);
	add_route(s, "tcp1", "10.1.0.11@tcp2", LX_UNSET, 0);
	add_route(s, "tcp1", "10.1.0.12@tcp2", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	return 0;
}

static int setup(void **state)
{
	return setup_knobs(&sim_plain);
}

static int teardown(void **state)
{
	/* Not at the full second: gateways are checked then. */
	lx_sim_run(sim, 10 * SEC + 500 * MS);
	assert_at_rest(a);
	assert_at_rest(s);
	assert_at_rest(r1);
	assert_at_rest(r2);
	lx_sim_free(sim);
	return 0;
}

static const char *why_down(struct lx_sim_node *node, const char *gateway)
{
	static char reason[LX_DOWN_TEXT];
	struct lx_nid nid_of = nid(gateway);
	struct lx_route_info *list;
	size_t n;

	assert_int_equal(lx_route_describe_all(node->core, &list, &n), 0);
	strcpy(reason, "no such route");
	for (size_t i = 0; i < n; i++) {
		if (!lx_nid_eq(&list[i].gateway, &nid_of))
			continue;
		assert_int_equal(list[i].up, !list[i].down.reason[0]);
		assert_int_equal(list[i].up, !list[i].down.since_s);
		strcpy(reason, list[i].down.reason);
	}
	free(list);
	return reason;
}

static unsigned int live_routes(struct lx_sim_node *node)
{
	struct lx_route_info *list;
	unsigned int up = 0;
	size_t n;

	assert_int_equal(lx_route_describe_all(node->core, &list, &n), 0);
	for (size_t i = 0; i < n; i++)
		up += list[i].up;
	free(list);
	return up;
}

/* One PUT with ACK and one GET across; returns whether all was answered. */
static bool exchange(size_t len)
{
	log_clear();
	post(s, 5, NULL, 1, 0, dst, len, LX_MD_OP_PUT, 1);
	put(a, mem(a, src, len, 2), true, "10.1.0.1@tcp2", 5, 1);
	lx_sim_run(sim, SEC);
	if (count_events(LX_EVENT_ACK) != 1 || memcmp(src, dst, len))
		return false;
	memset(dst, 0, len);
	log_clear();
	post(s, 6, NULL, 1, 0, src, len, LX_MD_OP_GET, 1);
	get(a, mem(a, dst, len, 2), "10.1.0.1@tcp2", 6, 1);
	lx_sim_run(sim, SEC);
	return count_events(LX_EVENT_REPLY) == 1 && !memcmp(src, dst, len);
}

static void crosses(void **state)
{
	uint64_t forwarded;

	assert_int_equal(live_routes(a), 2);
	assert_int_equal(live_routes(s), 2);
	assert_true(exchange(0));
	assert_true(exchange(100));
	assert_true(exchange(4096));
	assert_true(exchange(4097));
	assert_true(exchange(1 << 20));
	forwarded = r1->core->stats.route_count + r2->core->stats.route_count;
	assert_true(forwarded >= 5 * 4);
	/* Equals take turns. */
	assert_true(r1->core->stats.route_count > 0);
	assert_true(r2->core->stats.route_count > 0);
	assert_int_equal(r1->core->pool[LX_POOL_LARGE].credits, 256);
}

/*
 * A gateway's push makes it Multi-Rail at once; what it says of its NIs is merged a
 * little later. Messages in between must not find the route down.
 */
static void first_word_of_a_gateway(void **state)
{
	struct lx_sim_node *b = NODE(sim, "10.0.0.2@tcp1");
	struct lx_nid gateway = nid("10.0.0.11@tcp1");
	struct lx_peer *peer;

	add_route(b, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	peer = lx_peer_of(lx_peer_ni_lookup(b->core, &gateway));
	peer->state |= LX_PEER_MULTI_RAIL;
	assert_int_equal(live_routes(b), 1);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(live_routes(b), 1);
}

static void priority_and_hops_decide(void **state)
{
	uint64_t before;

	lx_route_delete(a->core, LX_NET(2, 2), &lx_nid_any);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 1);
	add_route(a, "tcp2", "10.0.0.12@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	assert_true(exchange(10)); /* nobody needs to discover anybody after this */
	log_clear();
	before = r1->core->stats.route_count;
	for (int i = 0; i < 5; i++) {
		post(s, 5, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 10, 1), false, "10.1.0.1@tcp2", 5, 1);
		lx_sim_run(sim, SEC);
	}
	assert_int_equal(count_events(LX_EVENT_PUT), 5);
	assert_int_equal(r1->core->stats.route_count, before);
}

static void bad_routes_are_refused(void **state)
{
	struct lx_conf_route c = { .hop = LX_UNSET, .priority = LX_UNSET,
				   .health_sensitivity = LX_UNSET };
	struct lx_core *core = a->core;

	c.net = LX_NET(2, 9);
	c.gateway = lx_nid_any;
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.gateway = lx_nid_lo;
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.gateway = nid("10.0.0.11@tcp9");
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.gateway = nid("10.0.0.11@tcp8");
	assert_int_equal(lx_route_new(core, &c), -EHOSTUNREACH);
	c.gateway = nid("10.0.0.11@tcp1");
	c.net = LX_NET_U32_ANY;
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.net = LX_NET(LX_NET_LO, 0);
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.net = LX_NET(2, 1);
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.net = LX_NET(2, 9);
	c.hop = 0;
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.hop = 256;
	assert_int_equal(lx_route_new(core, &c), -EINVAL);
	c.hop = 255;
	assert_int_equal(lx_route_new(core, &c), 0);
	assert_int_equal(lx_route_new(core, &c), -EEXIST);
	c.hop = 1;
	assert_int_equal(lx_route_new(core, &c), -EEXIST);
	assert_int_equal(lx_route_delete(core, c.net, &c.gateway), 0);
	assert_int_equal(lx_route_delete(core, c.net, &c.gateway), -ENOENT);
	/* Traffic must not make a route to a net of ours. */
	c.net = LX_NET(2, 1);
	c.gateway = nid("10.1.0.11@tcp2");
	assert_int_equal(lx_route_new(core, &c), -EEXIST);
}

static const struct lx_route_info *routes_of(struct lx_sim_node *node, size_t *ret_n)
{
	static struct lx_route_info *list;

	free(list);
	assert_int_equal(lx_route_describe_all(node->core, &list, ret_n), 0);
	return list;
}

/* Discovery may find that the gateway's first NID is on the far net: that is no gateway for us. */
static void route_keeps_the_nid_it_was_given(void **state)
{
	struct lx_nid near = nid("10.0.0.13@tcp1"), far = nid("10.1.0.13@tcp2");
	struct lx_sim_node *g = NODE(sim, "10.1.0.13@tcp2", "10.0.0.13@tcp1");
	struct lx_sim_node *b = NODE(sim, "10.0.0.2@tcp1");
	const struct lx_route_info *r;
	size_t n;

	make_router(g);
	quick(b);
	add_route(b, "tcp2", "10.0.0.13@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	r = routes_of(b, &n);
	assert_int_equal(n, 1);
	assert_true(r->up);
	assert_true(lx_nid_eq(&r->primary, &far));
	assert_true(lx_nid_eq(&r->gateway, &near));
	/* And by that NID of its, nobody could add it again. */
	assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &far), 0);
	assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &near), -ENOENT);
	add_route(b, "tcp2", "10.0.0.13@tcp1", 1, 2);
	r = routes_of(b, &n);
	assert_true(lx_nid_eq(&r->gateway, &near));
	assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &near), 0);
}

/* Two NIDs of one gateway are two ways to it, whenever it is found that they are. */
static void two_nids_of_a_gateway_are_two_routes(void **state)
{
	struct lx_nid one = nid("10.0.0.13@tcp1"), two = nid("10.2.0.13@tcp3");
	struct lx_sim_node *g = NODE(sim, "10.0.0.13@tcp1", "10.2.0.13@tcp3", "10.1.0.13@tcp2");
	struct lx_sim_node *b = NODE(sim, "10.0.0.2@tcp1", "10.2.0.2@tcp3");
	const struct lx_route_info *r;
	size_t n;

	make_router(g);
	quick(b);
	for (int i = 0; i < 2; i++) {
		add_route(b, "tcp2", "10.0.0.13@tcp1", LX_UNSET, 0);
		add_route(b, "tcp2", "10.2.0.13@tcp3", LX_UNSET, 0);
		lx_sim_run(sim, 5 * SEC);
		r = routes_of(b, &n);
		assert_int_equal(n, 2);
		assert_true(lx_nid_eq(&r[0].primary, &r[1].primary));
		assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &two), 0);
		r = routes_of(b, &n);
		assert_int_equal(n, 1);
		assert_true(lx_nid_eq(&r->gateway, &one));
		assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &two), 0);
	}
}

/* A gateway whose last NID is taken away takes its routes with it. */
static void gateway_is_forgotten(void **state)
{
	struct lx_nid gateway = nid("10.0.0.50@tcp1");
	const struct lx_conf_peer conf = { .primary = gateway, .nid = &gateway, .n_nids = 1 };
	struct lx_route_info *routes;
	size_t n;

	add_route(a, "tcp7", "10.0.0.50@tcp1", LX_UNSET, 0);
	assert_int_equal(lx_peer_unconfigure(a->core, &conf, false), -EBUSY);
	assert_int_equal(lx_peer_unconfigure(a->core, &conf, true), 0);
	assert_null(lx_rnet_lookup(a->core, LX_NET(2, 7)));
	assert_int_equal(lx_route_describe_all(a->core, &routes, &n), 0);
	assert_int_equal(n, 2);
	free(routes);
}

static void dead_router_is_left_out(void **state)
{
	lx_sim_dead(sim, "10.0.0.11@tcp1", true);
	lx_sim_dead(sim, "10.1.0.11@tcp2", true);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(live_routes(a), 1);
	assert_int_equal(live_routes(s), 1);
	assert_non_null(strstr(why_down(a, "10.0.0.11@tcp1"), "its gateway does not answer pings: "));
	assert_string_equal(why_down(a, "10.0.0.12@tcp1"), "");
	for (int i = 0; i < 4; i++)
		assert_true(exchange(4096));
	lx_sim_dead(sim, "10.0.0.11@tcp1", false);
	lx_sim_dead(sim, "10.1.0.11@tcp2", false);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(live_routes(a), 2);
}

static unsigned int far_down, far_up;
static char route_down[sizeof(((struct lx_change *)0)->text)];

static void count_far_changes(struct lx_sim_node *node, const struct lx_change *change)
{
	struct lx_nid far = nid("10.1.0.11@tcp2");

	if (change->type == LX_CHANGE_ROUTE_DOWN)
		snprintf(route_down, sizeof(route_down), "%s", change->text);
	if (!lx_nid_eq(&change->nid, &far))
		return;
	far_down += change->type == LX_CHANGE_PEER_DOWN;
	far_up += change->type == LX_CHANGE_PEER_UP;
}

/* Whoever watches is told of each NID of a gateway that is given up, and when it is back. */
static void dead_router_is_told_of(void **state)
{
	far_down = far_up = 0;
	a->change = count_far_changes;
	lx_sim_dead(sim, "10.0.0.11@tcp1", true);
	lx_sim_dead(sim, "10.1.0.11@tcp2", true);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(far_down, 1);
	assert_int_equal(far_up, 0);
	assert_non_null(strstr(route_down, "its gateway "));
	lx_sim_dead(sim, "10.0.0.11@tcp1", false);
	lx_sim_dead(sim, "10.1.0.11@tcp2", false);
	lx_sim_run(sim, 5 * SEC);
	a->change = NULL;
	assert_int_equal(far_down, 1);
	assert_int_equal(far_up, 1);
}

static void half_dead_router_is_left_out(void **state)
{
	/* Its far side is gone: nobody pings it there, it says so, the route goes. */
	lx_sim_dead(sim, "10.1.0.11@tcp2", true);
	lx_sim_run(sim, 12 * SEC);
	assert_int_equal(live_routes(a), 1);
	assert_string_equal(why_down(a, "10.0.0.11@tcp1"),
			    "its gateway has no NI that is up on the far net, tcp2: it says so itself");
	for (int i = 0; i < 4; i++)
		assert_true(exchange(100));
	tune(a, "avoid_asym_router_failure", "0");
	assert_int_equal(live_routes(a), 2);
	tune(a, "avoid_asym_router_failure", "1");
	lx_sim_dead(sim, "10.1.0.11@tcp2", false);
	lx_sim_run(sim, 12 * SEC);
	assert_int_equal(live_routes(a), 2);
}

static struct lx_core_ni *ni_of(struct lx_sim_node *node, const char *text)
{
	struct lx_nid n = nid(text);

	return lx_ni_lookup(node->core, &n);
}

/* What a transport's fast path has forwarded for a neighbour of r1. */
static void carried(const char *by, const char *from, uint32_t src_net)
{
	const struct lx_carried c = { .received = { .put = 1 }, .payload = 100,
				      .src_net = src_net };
	struct lx_nid n = nid(from);

	lx_lnd_carried(&ni_of(r1, by)->ni, &n, &c);
}

static bool r1_is_up(void)
{
	return lx_ni_status(ni_of(r1, "10.0.0.11@tcp1")) == LX_NI_STATUS_UP &&
	       lx_ni_status(ni_of(r1, "10.1.0.11@tcp2")) == LX_NI_STATUS_UP;
}

static void nobody_pings(void)
{
	tune(a, "alive_router_check_interval", "1000");
	tune(s, "alive_router_check_interval", "1000");
	lx_sim_run(sim, 3 * SEC); /* the last ones */
}

/* Nobody pings it, but messages come by it: it works. An idle one cannot know. */
static void busy_router_is_up(void **state)
{
	nobody_pings();
	for (int i = 0; i < 6; i++) {
		assert_true(exchange(100));
		assert_true(r1_is_up());
	}
	assert_int_equal(live_routes(a), 2);
	lx_sim_run(sim, 6 * SEC);
	assert_false(r1_is_up());
	assert_int_equal(live_routes(a), 0);
}

static void router_busy_without_the_core_is_up(void **state)
{
	struct lx_nid gone = nid("10.0.0.1@tcp1");
	struct lx_peer_ni *pni = lx_peer_ni_lookup(r1->core, &gone);

	nobody_pings();
	for (int i = 0; i < 10; i++) {
		carried("10.0.0.11@tcp1", "10.0.0.1@tcp1", LX_NET(2, 1));
		carried("10.1.0.11@tcp2", "10.1.0.1@tcp2", LX_NET(2, 2));
		lx_sim_run(sim, SEC);
		assert_true(r1_is_up());
	}
	lx_peer_ni_set_down(r1->core, pni, LX_DOWN_LOST, -ECONNRESET);
	carried("10.0.0.11@tcp1", "10.0.0.1@tcp1", LX_NET(2, 1));
	assert_true(lx_peer_ni_up(pni));
	assert_int_equal(pni->last_alive_ns, lx_core_now(r1->core));
}

/* Messages from beyond a gateway that was given up: it is back. */
static void gateway_heard_without_the_core(void **state)
{
	struct lx_nid gateway = nid("10.0.0.11@tcp1");
	const struct lx_carried c = { .received = { .reply = 1 }, .src_net = LX_NET(2, 2) };
	struct lx_core_ni *ni = ni_of(a, "10.0.0.1@tcp1");

	lx_route_gateway_checked(lx_peer_of(lx_peer_ni_lookup(a->core, &gateway)), -ETIMEDOUT);
	assert_int_equal(live_routes(a), 1);
	lx_lnd_carried(&ni->ni, &gateway, &(struct lx_carried){ .sent = { .put = 1 } });
	assert_int_equal(live_routes(a), 1);
	lx_lnd_carried(&ni->ni, &gateway, &c);
	assert_int_equal(live_routes(a), 2);
}

static void switched_off_router_is_left_out(void **state)
{
	assert_int_equal(lx_monitor_route(r1->core, false, false), 0);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	assert_int_equal(lx_monitor_route(r1->core, true, false), -EBUSY);
	lx_sim_run(sim, SEC);
	assert_int_equal(live_routes(a), 1); /* by the push */
	assert_string_equal(why_down(a, "10.0.0.11@tcp1"),
			    "its gateway does not route: routing is off there, or just starting");
	assert_true(exchange(100));
	lx_sim_run(sim, 10 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	assert_int_equal(lx_monitor_route(r1->core, true, false), 0);
	assert_int_equal(r1->core->routing, LX_ROUTING_STARTING);
	assert_int_equal(lx_monitor_route_left(r1->core), 3); /* of quick() */
	lx_sim_run(sim, 900 * MS);
	assert_in_range(lx_monitor_route_left(r1->core), 2, 3);
	assert_int_equal(live_routes(a), 1);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_ON);
	assert_int_equal(live_routes(a), 2);
}

/* ---- stopping without a loss, and coming back ------------------------------------------- */

/* All have to agree: a router that nobody asks for longer thinks that it has lost a net. */
static void usual_pace(void)
{
	struct lx_sim_node *const all[] = { a, s, r1, r2 };

	for (size_t i = 0; i < N_OF(all); i++) {
		tune(all[i], "alive_router_check_interval", "60");
		tune(all[i], "router_ping_timeout", "50");
	}
}

/* In the place of a: one that neither discovers nor is discovered, and checks so often (s). */
static void become_deaf(const char *interval)
{
	lx_sim_ni_del(a, "10.0.0.1@tcp1");
	a = NODE(sim, "10.0.0.2@tcp1");
	usual_pace();
	tune(a, "lnet_peer_discovery_disabled", "1");
	tune(a, "alive_router_check_interval", interval);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
}

/* A PUT every @pace for so long; none may be lost. */
static void keep_sending(uint64_t ns, uint64_t pace)
{
	for (uint64_t t = 0; t < ns; t += pace) {
		log_clear();
		post(s, 5, NULL, 1, 0, dst, 100, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 100, 2), true, "10.1.0.1@tcp2", 5, 1);
		lx_sim_run(sim, pace);
		assert_int_equal(count_events(LX_EVENT_ACK), 1);
	}
}

static void a_stop_ends_when_all_have_moved_away(void **state)
{
	usual_pace();
	keep_sending(SEC, 10 * MS);
	lx_monitor_route_stop(r1->core, 70 * SEC);
	keep_sending(SEC, 10 * MS);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	assert_int_equal(live_routes(a), 1);
	keep_sending(3 * SEC, 10 * MS);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	assert_int_equal(r1->core->stats.drop_count, 0);
}

/* Who ignores pushes goes on sending until it checks its gateways: it is waited for. */
static void a_stop_waits_for_the_next_check(void **state)
{
	uint64_t begin;

	become_deaf("20");
	add_route(a, "tcp2", "10.0.0.12@tcp1", LX_UNSET, 0);
	keep_sending(25 * SEC, 50 * MS);
	assert_int_equal(live_routes(a), 2);
	begin = lx_sim_now(sim);
	lx_monitor_route_stop(r1->core, 70 * SEC);
	while (live_routes(a) == 2)
		keep_sending(100 * MS, 50 * MS);
	assert_in_range(lx_sim_now(sim) - begin, 3 * SEC, 25 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	keep_sending(4 * SEC, 50 * MS);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	assert_int_equal(r1->core->stats.drop_count, 0);
}

static void a_stop_ends_when_its_time_is_over(void **state)
{
	struct lx_announce_users users;

	become_deaf("0"); /* it asks once, at the start, and so never learns */
	keep_sending(3 * SEC, 50 * MS);
	lx_monitor_route_stop(r1->core, 30 * SEC);
	keep_sending(29 * SEC, 50 * MS);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	lx_announce_users(r1->core, &users);
	assert_int_equal(users.untold, 1);
	assert_int_equal(users.sending, 2); /* ACKs go this way, too */
	assert_string_equal(lx_nid_str(&users.nid), "10.0.0.2@tcp1");
	/* A shorter limit holds, a longer one does not. */
	lx_monitor_route_stop(r1->core, 60 * SEC);
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	make_router(r1);
	lx_monitor_route_stop(r1->core, 0);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
}

/* A user that has died tells nothing any more: it is waited for, but not for long. */
static void a_stop_does_not_wait_for_the_dead(void **state)
{
	usual_pace();
	keep_sending(SEC, 50 * MS);
	lx_sim_ni_del(a, "10.0.0.1@tcp1");
	lx_monitor_route_stop(r1->core, 70 * SEC);
	lx_sim_run(sim, 9 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	lx_sim_run(sim, 4 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
}

/* r1 has died and is started again; nobody has anything to do with it for 60 s. */
static void restart_r1(void)
{
	lx_sim_ni_del(r1, "10.0.0.11@tcp1");
	lx_sim_ni_del(r1, "10.1.0.11@tcp2");
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(live_routes(a), 1);
	assert_int_equal(live_routes(s), 1);
	usual_pace();
	lx_sim_run(sim, 65 * SEC); /* the last quick check is over */
	r1 = NODE(sim, "10.0.0.11@tcp1", "10.1.0.11@tcp2");
	usual_pace();
}

static void announce(struct lx_sim_node *node, const char *text)
{
	struct lx_nid n = nid(text);

	assert_int_equal(lx_announce_add(node->core, &n), 0);
}

static void a_router_that_comes_back_is_used_at_once(void **state)
{
	struct lx_nid gone = nid("10.0.0.77@tcp1");

	restart_r1();
	announce(r1, "10.0.0.1@tcp1");
	announce(r1, "10.1.0.1@tcp2");
	announce(r1, "10.0.0.77@tcp1"); /* not there any more */
	announce(r1, "10.7.0.1@tcp7");  /* no neighbour any more */
	announce(r1, "10.1.0.11@tcp2"); /* itself */
	lx_sim_dead(sim, "10.0.0.77@tcp1", true);
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(live_routes(a), 1); /* not before it forwards */
	assert_int_equal(lx_monitor_route(r1->core, true, true), 0);
	lx_sim_run(sim, 1500 * MS);
	assert_int_equal(live_routes(a), 2);
	assert_int_equal(live_routes(s), 2);
	keep_sending(SEC, 50 * MS);
	assert_true(r1->core->stats.route_count > 10);
	/* Who does not answer is tried again, and forgotten in the end. */
	lx_sim_run(sim, 20 * SEC);
	assert_true(lx_list_empty(&r1->core->announcements));
	assert_null(lx_peer_ni_lookup(r1->core, &gone));
}

static void announcing_is_bounded(void **state)
{
	char text[32];
	unsigned int n = 0;

	restart_r1();
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "10.0.%d.%d@tcp1", 1 + i / 200, 1 + i % 200);
		lx_sim_dead(sim, text, true);
		announce(r1, text);
	}
	make_router(r1);
	for (uint64_t before; n < 3000; n += r1->core->stats.remote_dropped_count - before) {
		before = r1->core->stats.remote_dropped_count;
		lx_sim_run(sim, SEC);
		assert_in_range(r1->core->stats.remote_dropped_count - before, 0, 200);
	}
	lx_sim_run(sim, 20 * SEC);
	assert_int_equal(r1->core->stats.remote_dropped_count, 3000);
}

static void neighbours_are_known(void **state)
{
	struct lx_neighbour_info *list;
	size_t n;

	keep_sending(SEC, 50 * MS);
	assert_int_equal(lx_announce_describe(r1->core, &list, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(lx_nid_str(&list[1].nid), "10.0.0.1@tcp1");
	assert_true(list[1].told && list[1].idle_s < 2);
	free(list);
	/* Those who have nothing to do with it any more are no neighbours. */
	lx_route_delete(a->core, LX_NET(2, 2), &lx_nid_any);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(lx_announce_describe(r1->core, &list, &n), 0);
	assert_int_equal(n, 1);
	free(list);
}

static void no_router_drops(void **state)
{
	struct lx_stats *stats = &r1->core->stats;

	lx_monitor_route(r1->core, false, false);
	lx_sim_run(sim, 10 * SEC);
	/* A stubborn sender with an old idea of the world. */
	lx_route_delete(a->core, LX_NET(2, 2), &lx_nid_any);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	lx_list_first(&lx_rnet_lookup(a->core, LX_NET(2, 2))->routes, struct lx_route, link)
		->gateway->state |= LX_PEER_ROUTER_ENABLED;
	put(a, mem(a, src, 10, 1), false, "10.1.0.1@tcp2", 5, 1);
	lx_sim_run(sim, 10 * MS);
	assert_int_equal(stats->drops[LX_REASON_ROUTING_DISABLED], 1);
}

/* ---- circles: LNet's header has no hop limit -------------------------------------------- */

static unsigned int loop_lines;
static char loop_line[800];

static void count_loop_lines(int level, const char *line, void *arg)
{
	if (!strstr(line, arg))
		return;
	loop_lines++;
	snprintf(loop_line, sizeof(loop_line), "%s", line);
}

static void own_nid_is_no_gateway(void **state)
{
	struct lx_conf_route c = { .net = LX_NET(2, 9), .gateway = nid("10.0.0.1@tcp1"),
				   .hop = LX_UNSET, .priority = LX_UNSET,
				   .health_sensitivity = LX_UNSET };
	size_t n;

	assert_int_equal(lx_route_new(a->core, &c), -ELOOP);
	/* Nor one that becomes our own later. */
	add_route(a, "tcp9", "10.0.0.99@tcp1", LX_UNSET, 0);
	assert_int_equal(lx_sim_ni_add(a, "10.0.0.99@tcp1", 8, 256), 0);
	routes_of(a, &n);
	assert_int_equal(n, 2);
}

/* Two routers that point at each other: the second one does not give it back. */
static void two_routers_do_not_circle(void **state)
{
	add_route(a, "tcp9", "10.0.0.11@tcp1", LX_UNSET, 0);
	add_route(r1, "tcp9", "10.0.0.12@tcp1", LX_UNSET, 0);
	/* It knows the sender by another of its NIDs, too. */
	add_route(r2, "tcp9", "10.1.0.11@tcp2", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	loop_lines = 0;
	lx_set_log(count_loop_lines, "net=tcp9");
	r1->core->stats.route_count = 0;
	for (int i = 0; i < 10; i++)
		put(a, mem(a, src, 10, 1), false, "10.9.0.1@tcp9", 5, 1);
	lx_sim_run(sim, 20 * SEC);
	lx_set_log(NULL, NULL);
	assert_true(r2->core->stats.drops[LX_REASON_LOOP] > 0);
	assert_int_equal(r2->core->stats.drops[LX_REASON_LOOP], r2->core->stats.drop_count);
	assert_int_equal(r1->core->stats.drops[LX_REASON_LOOP], 0);
	assert_in_range(r1->core->stats.route_count, 1, 20);
	assert_int_equal(loop_lines, 1);
	assert_non_null(strstr(loop_line, "from=10.0.0.11@tcp1"));
	assert_non_null(strstr(loop_line, "next_hop=10.1.0.11@tcp2"));
}

/* There is another gateway: then it is that one's turn, whatever its priority. */
static void another_gateway_is_taken_instead(void **state)
{
	struct lx_sim_node *r3 = NODE(sim, "10.0.0.13@tcp1", "10.9.0.13@tcp9");
	struct lx_sim_node *end = NODE(sim, "10.9.0.1@tcp9");

	quick(r3);
	quick(end);
	make_router(r3);
	add_route(a, "tcp9", "10.0.0.11@tcp1", LX_UNSET, 0);
	add_route(r1, "tcp9", "10.0.0.12@tcp1", LX_UNSET, 0);
	add_route(r2, "tcp9", "10.0.0.11@tcp1", LX_UNSET, 0);
	add_route(r2, "tcp9", "10.0.0.13@tcp1", LX_UNSET, 1);
	add_route(end, "tcp1", "10.9.0.13@tcp9", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	log_clear();
	post(end, 5, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, 1);
	put(a, mem(a, src, 10, 2), true, "10.9.0.1@tcp9", 5, 1);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_ACK), 1);
	assert_int_equal(r2->core->stats.drops[LX_REASON_LOOP], 0);
}

/* Three of them cannot see it by that; who had the message first sees it come back. */
static void longer_circle_is_found(void **state)
{
	struct lx_sim_node *r3 = NODE(sim, "10.0.0.13@tcp1");
	struct lx_nid any = lx_nid_any;

	quick(r3);
	make_router(r3);
	add_route(a, "tcp9", "10.0.0.11@tcp1", LX_UNSET, 0);
	add_route(r1, "tcp9", "10.0.0.12@tcp1", LX_UNSET, 0);
	add_route(r2, "tcp9", "10.0.0.13@tcp1", LX_UNSET, 0);
	add_route(r3, "tcp9", "10.0.0.11@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	loop_lines = 0;
	lx_set_log(count_loop_lines, "circle");
	put(a, mem(a, src, 10, 1), false, "10.9.0.1@tcp9", 5, 1);
	lx_sim_run(sim, 100 * MS);
	lx_set_log(NULL, NULL);
	assert_int_equal(r1->core->stats.loops, 1); /* the ping of discovery */
	assert_int_equal(r2->core->stats.loops, 0);
	assert_int_equal(r3->core->stats.loops, 0);
	assert_int_equal(loop_lines, 1);
	assert_non_null(strstr(loop_line, "first_from=10.0.0.1@tcp1 again_from=10.0.0.13@tcp1 "
					  "next_hop=10.0.0.12@tcp1"));
	lx_route_delete(r3->core, LX_NET(2, 9), &any);
	lx_sim_run(sim, 10 * MS);
}

/*
 * The same header again is no circle: one that its sender repeats, by one gateway or by two,
 * or one that is sent again by other gateways since the first one did not answer.
 */
static void repeated_header_is_no_circle(void **state)
{
	struct lx_nid via[] = { nid("10.0.0.21@tcp1"), nid("10.0.0.22@tcp1"),
				nid("10.0.0.23@tcp1"), nid("10.0.0.24@tcp1") };
	struct lx_nid mine = nid("10.0.0.11@tcp1");
	struct lx_core_ni *ni = lx_ni_lookup(r1->core, &mine);
	struct lx_hdr hdr = { .src_nid = nid("10.7.0.1@tcp7"), .dst_nid = nid("10.9.0.1@tcp9"),
			      .type = LX_MSG_PUT, .cmd.put.match_bits = 77 };
	struct lx_core_msg msg = { .core = r1->core, .m.hdr = hdr, .rxni = ni };
	struct lx_peer_ni *pni[N_OF(via)];

	for (unsigned int i = 0; i < N_OF(via); i++)
		assert_int_equal(lx_peer_ni_obtain(r1->core, &via[i], &pni[i]), 0);
	msg.txpeer = pni[3];
	for (int i = 0; i < 100; i++) {
		msg.rxpeer = pni[i % 2];
		lx_loop_watch(&msg);
		lx_sim_run(sim, 10 * MS);
	}
	msg.m.hdr.cmd.put.match_bits++;
	for (int i = 0; i < 3; i++) {
		msg.rxpeer = pni[i];
		lx_loop_watch(&msg);
	}
	assert_int_equal(r1->core->stats.loops, 0);
	/* Not so if it comes from one and the same, but not from the first. */
	msg.m.hdr.cmd.put.match_bits++;
	for (int i = 0; i < 5; i++) {
		msg.rxpeer = pni[i > 0];
		lx_loop_watch(&msg);
	}
	assert_int_equal(r1->core->stats.loops, 1);
}

static void unroutable_is_dropped_by_the_router(void **state)
{
	add_route(a, "tcp7", "10.0.0.11@tcp1", 2, 0);
	put(a, mem(a, src, 10, 1), false, "10.7.0.1@tcp7", 5, 1);
	lx_sim_run(sim, 6 * SEC);
	/* It was the ping of discovery; the message waited for its answer till it expired. */
	assert_int_equal(r1->core->stats.drops[LX_REASON_NO_ROUTE], 1);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ETIMEDOUT);
}

/* The one line that a log has of each kind. */
static char logged[4][300];
static unsigned int n_logged;

static void take_line(int level, const char *line, void *arg)
{
	if (n_logged < N_OF(logged))
		snprintf(logged[n_logged], sizeof(logged[0]), "%d %s", level, line);
	n_logged++;
}

/* Who cannot be answered for want of a route is named once a minute, with what to do. */
static void a_missing_route_is_logged(void **state)
{
	n_logged = 0;
	memset(logged, 0, sizeof(logged));
	lx_set_log(take_line, NULL);
	usual_pace();
	lx_route_delete(s->core, LX_NET(2, 1), &lx_nid_any);
	for (int i = 0; i < 70; i++) {
		post(s, 5, NULL, i, 0, dst, 10, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 10, 2), true, "10.1.0.1@tcp2", 5, i);
		lx_sim_run(sim, SEC);
		log_clear();
	}
	assert_int_equal(n_logged, 2);
	assert_non_null(strstr(logged[0], "4 net=tcp1 from=10.1.0.1@tcp2 to=10.0.0.1@tcp1 by=10.1.0.1"));
	assert_non_null(strstr(logged[0], "missed=0 reason=\"a request cannot be answered: no route "
					  "to its net is configured\" next=\"lnetx route add\""));
	assert_non_null(strstr(logged[1], "net=tcp1"));
	assert_null(strstr(logged[1], "missed=0"));

	/* The same for a router that cannot forward. */
	n_logged = 0;
	add_route(a, "tcp7", "10.0.0.11@tcp1", 2, 0);
	for (int i = 0; i < 3; i++)
		put(a, mem(a, src, 10, 1), false, "10.7.0.1@tcp7", 5, 1);
	lx_sim_run(sim, 6 * SEC);
	lx_set_log(NULL, NULL);
	assert_int_equal(n_logged, 1);
	assert_non_null(strstr(logged[0], "net=tcp7 from=10.0.0.1@tcp1 to=10.7.0.1@tcp7 "
					  "by=10.0.0.1@tcp1"));
	assert_non_null(strstr(logged[0], "a message cannot be forwarded"));
}

static void asymmetric_route_is_dropped(void **state)
{
	tune(s, "lnet_drop_asym_route", "1");
	assert_true(exchange(10));
	lx_route_delete(s->core, LX_NET(2, 1), &lx_nid_any);
	post(s, 5, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, 1);
	put(a, mem(a, src, 10, 1), false, "10.1.0.1@tcp2", 5, 1);
	lx_sim_run(sim, SEC);
	assert_true(s->core->stats.drops[LX_REASON_ASYM_ROUTE] >= 1);
}

static void illegal_destinations_close(void **state)
{
	struct lx_nid on_net = nid("10.0.0.99@tcp1"), other = nid("10.1.0.11@tcp2");
	struct lx_rx_from from = { .nid = nid("10.0.0.1@tcp1") };
	struct lx_nid mine = nid("10.0.0.11@tcp1");
	struct lx_hdr hdr = { .src_nid = from.nid, .type = LX_MSG_PUT };
	struct lx_core_ni *ni = lx_ni_lookup(r1->core, &mine);

	hdr.dst_nid = on_net;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL), -EPROTO);
	hdr.dst_nid = other;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL), -EPROTO);
	hdr.dst_nid = mine;
	hdr.type = LX_MSG_HELLO;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL), -EPROTO);
	hdr.type = LX_MSG_ACK;
	hdr.payload_length = 1;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL), -EPROTO);
	hdr.type = LX_MSG_REPLY;
	hdr.payload_length = LX_PAYLOAD_MAX + 1;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL), -EPROTO);
	assert_int_equal(r1->core->stats.drops[LX_REASON_MISROUTED], 1);
	assert_int_equal(r1->core->stats.drops[LX_REASON_WRONG_NET], 1);
	assert_int_equal(r1->core->stats.drops[LX_REASON_BAD_LENGTH], 2);
	assert_int_equal(r1->core->stats.drops[LX_REASON_BAD_TYPE], 1);
}

static void recv_at_once(struct lx_ni *lni, void *rx, struct lx_msg *msg,
			 const struct lx_payload *payload, size_t rlen)
{
	if (msg)
		lx_lnd_finalize(msg, 0);
}

/* A transport can have it counted what is being forwarded of one connection's messages. */
static void forwarding_is_counted(void **state)
{
	struct lx_nid near = nid("10.0.0.11@tcp1");
	struct lx_core_ni *ni = lx_ni_lookup(r1->core, &near);
	const struct lx_lnd *real = ni->ni.lnd;
	struct lx_lnd lnd = *real;
	unsigned int conn[2] = { 0, 0 };
	struct lx_rx_from from = { .nid = nid("10.0.0.1@tcp1") };
	struct lx_hdr hdr = { .src_nid = from.nid, .dst_nid = nid("10.1.0.1@tcp2"),
			      .type = LX_MSG_PUT, .cmd.put.ack_md = LX_WIRE_HANDLE_NONE,
			      .cmd.put.portal = lx_le32(5) };

	lnd.recv = recv_at_once;
	ni->ni.lnd = &lnd;
	for (int i = 0; i < 8; i++) {
		from.forwarding = &conn[i % 2];
		assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL), 0);
	}
	ni->ni.lnd = real;
	assert_int_equal(conn[0], 4);
	assert_int_equal(conn[1], 4);
	/* The second connection is freed; what came by it is forwarded all the same. */
	lx_lnd_forwarding_end(&ni->ni, &conn[1]);
	lx_sim_run(sim, SEC);
	assert_int_equal(conn[0], 0);
	assert_int_equal(conn[1], 4);
}

static void buffers_are_a_limit(void **state)
{
	const int64_t few[LX_POOLS] = { 1, 1, 1 };
	struct lx_pool *pool = &r1->core->pool[LX_POOL_LARGE];

	lx_monitor_route(r2->core, false, false);
	lx_sim_run(sim, 20 * SEC);
	assert_int_equal(lx_pool_resize(r1->core, few), 0);
	assert_int_equal(pool->made, 1);
	for (int i = 0; i < 10; i++) {
		post(s, 5, NULL, i, 0, dst, 8192, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 8192, 1), false, "10.1.0.1@tcp2", 5, i);
	}
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 10);
	assert_int_equal(pool->made, 1);
	assert_int_equal(pool->credits, 1);
}

static void resizing_under_load(void **state)
{
	lx_sim_knobs(sim)->delay_max_ns = 5 * MS;
	lx_sim_knobs(sim)->conns = 4;
	for (int i = 0; i < 300; i++) {
		const int64_t sizes[LX_POOLS] = { 1 + rnd_below(5), 1 + rnd_below(5),
						  1 + rnd_below(5) };
		size_t len = rnd_below(3) ? rnd_below(8192) : 0;

		assert_int_equal(lx_pool_resize(rnd_below(2) ? r1->core : r2->core, sizes), 0);
		post(s, 5, NULL, i, 0, dst, len, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, len, 1), false, "10.1.0.1@tcp2", 5, i);
		lx_sim_run(sim, rnd_below(3 * MS));
	}
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 300);
}

static void redirects_to_a_live_nid(void **state)
{
	struct lx_nid second = nid("10.1.0.2@tcp2");

	assert_int_equal(lx_sim_ni_add(s, "10.1.0.2@tcp2", 8, 256), 0);
	assert_true(exchange(10)); /* everybody knows everybody */
	lx_sim_dead(sim, "10.1.0.1@tcp2", true);
	post(s, 5, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	for (int i = 0; i < 20; i++) {
		put(a, mem(a, src, 10, 1), false, "10.1.0.1@tcp2", 5, 1);
		lx_sim_run(sim, SEC);
	}
	assert_true(count_events(LX_EVENT_PUT) > 0);
	for (unsigned int i = 0; i < n_events; i++) {
		if (event_log[i].type == LX_EVENT_PUT)
			assert_true(lx_nid_eq(&event_log[i].target.nid, &second));
	}
	lx_sim_dead(sim, "10.1.0.1@tcp2", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		T(crosses), T(first_word_of_a_gateway), T(priority_and_hops_decide),
		T(bad_routes_are_refused), T(route_keeps_the_nid_it_was_given),
		T(two_nids_of_a_gateway_are_two_routes),
		T(own_nid_is_no_gateway), T(two_routers_do_not_circle),
		T(another_gateway_is_taken_instead), T(longer_circle_is_found),
		T(repeated_header_is_no_circle), T(gateway_is_forgotten), T(dead_router_is_left_out), T(dead_router_is_told_of),
		T(half_dead_router_is_left_out),
		T(busy_router_is_up), T(router_busy_without_the_core_is_up),
		T(gateway_heard_without_the_core),
		T(switched_off_router_is_left_out), T(a_stop_ends_when_all_have_moved_away),
		T(a_stop_waits_for_the_next_check), T(a_stop_ends_when_its_time_is_over),
		T(a_stop_does_not_wait_for_the_dead), T(a_router_that_comes_back_is_used_at_once),
		T(announcing_is_bounded), T(neighbours_are_known), T(no_router_drops),
		T(unroutable_is_dropped_by_the_router), T(a_missing_route_is_logged),
		 T(asymmetric_route_is_dropped),
		T(illegal_destinations_close), T(forwarding_is_counted), T(buffers_are_a_limit), T(resizing_under_load),
		T(redirects_to_a_live_nid),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: routes", tests, NULL, NULL);
}
