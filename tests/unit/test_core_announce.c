/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Routers that stop without losing messages, and that return. */
#include "routeworld.h"

#include "../../user/core/announce.h"
#include "../../user/core/count.h"
#include "../../user/core/recovery.h"

/* Replaces a with a node without discovery that checks its gateways every @interval s. */
static void become_deaf(const char *interval)
{
	lx_sim_ni_del(a, "10.0.0.1@tcp1");
	a = NODE(sim, "10.0.0.2@tcp1");
	usual_pace();
	tune(a, "lnet_peer_discovery_disabled", "1");
	tune(a, "alive_router_check_interval", interval);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
}

/* Sends a PUT every @pace for @ns; none may be lost. */
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

/* A node that ignores pushes uses the route until it checks its gateways: the stop waits. */
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

/* The stop takes no less time if router_start_delay is 0. */
static void a_stop_has_time_whatever_the_start_takes(void **state)
{
	usual_pace();
	tune(r1, "router_start_delay", "0");
	keep_sending(SEC, 10 * MS);
	assert_int_equal(lx_monitor_route(r1->core, false, false), 0);
	assert_int_equal(lx_monitor_route_left(r1->core), 330);
	keep_sending(4 * SEC, 10 * MS);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	assert_int_equal(r1->core->stats.drop_count, 0);
}

static void a_stop_ends_when_its_time_is_over(void **state)
{
	struct lx_announce_users users;

	become_deaf("0"); /* asks only once, at the start, and so never learns of the stop */
	keep_sending(3 * SEC, 50 * MS);
	lx_monitor_route_stop(r1->core, 30 * SEC);
	keep_sending(29 * SEC, 50 * MS);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	lx_announce_users(r1->core, &users);
	assert_int_equal(users.untold, 1);
	assert_int_equal(users.sending, 2); /* for its ACKs */
	assert_string_equal(lx_nid_str(&users.nid), "10.0.0.2@tcp1");
	/* A shorter limit applies, a longer one does not. */
	lx_monitor_route_stop(r1->core, 60 * SEC);
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	make_router(r1);
	lx_monitor_route_stop(r1->core, 0);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
}

/* A dead user never says that it is done, but its machine refuses connections. */
static void a_stop_does_not_wait_for_the_dead(void **state)
{
	static const enum lx_down_why whys[] = { LX_DOWN_LOST, LX_DOWN_UNPRIVILEGED,
						 LX_DOWN_HUNG_UP };
	const struct lx_nid dead = nid("10.0.0.1@tcp1");
	struct lx_peer_ni *pni;

	usual_pace();
	keep_sending(SEC, 50 * MS);
	lx_sim_ni_del(a, "10.0.0.1@tcp1");
	lx_monitor_route_stop(r1->core, 70 * SEC);
	lx_sim_run(sim, SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	/* Whatever the transport knows of why there is no connection. */
	pni = lx_peer_ni_lookup(r1->core, &dead);
	for (size_t i = 0; i < sizeof(whys) / sizeof(whys[0]); i++) {
		pni->down.why = whys[i];
		assert_true(lx_announce_is_gone(lx_peer_of(pni)));
	}
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
}

/* Two messages wait in r1, as the link to their target takes none. */
static void messages_are_held(void)
{
	usual_pace();
	keep_sending(SEC, 50 * MS);
	lx_sim_hold(sim, "10.1.0.11@tcp2", "10.1.0.1@tcp2", true);
	put(a, mem(a, src, 100, 2), true, "10.1.0.1@tcp2", 5, 1);
	put(a, mem(a, src, 100, 2), true, "10.1.0.1@tcp2", 5, 1);
	lx_sim_run(sim, SEC);
	assert_false(lx_core_idle(r1->core));
}

/* All are gone in the middle of messages, and neither refuse them nor take them. */
static void a_stop_does_not_wait_for_messages_to_the_silent(void **state)
{
	messages_are_held();
	lx_sim_mute(sim, "10.0.0.11@tcp1", true);
	lx_sim_mute(sim, "10.1.0.11@tcp2", true);
	lx_monitor_route_stop(r1->core, 70 * SEC);
	lx_sim_run(sim, 4 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	assert_true(lx_core_idle(r1->core)); /* nor does what follows the stop of routing */
	lx_sim_mute(sim, "10.0.0.11@tcp1", false);
	lx_sim_mute(sim, "10.1.0.11@tcp2", false);
	lx_sim_hold(sim, "10.1.0.11@tcp2", "10.1.0.1@tcp2", false);
}

/* As long as a neighbour is there, its messages are: a slow one is waited for. */
static void a_stop_waits_for_messages_to_the_slow(void **state)
{
	messages_are_held();
	lx_monitor_route_stop(r1->core, 70 * SEC);
	lx_sim_run(sim, 20 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	lx_sim_hold(sim, "10.1.0.11@tcp2", "10.1.0.1@tcp2", false);
	lx_sim_run(sim, 4 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
}

/* r1 dies and restarts; for 60 s nobody contacts it. */
static void restart_r1(void)
{
	lx_sim_ni_del(r1, "10.0.0.11@tcp1");
	lx_sim_ni_del(r1, "10.1.0.11@tcp2");
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(live_routes(a), 1);
	assert_int_equal(live_routes(s), 1);
	usual_pace();
	lx_sim_run(sim, 65 * SEC); /* past the last of the frequent checks */
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
	announce(r1, "10.0.0.77@tcp1"); /* its NI is gone */
	announce(r1, "10.7.0.1@tcp7");  /* no longer a neighbour */
	announce(r1, "10.1.0.11@tcp2"); /* r1 itself */
	lx_sim_dead(sim, "10.0.0.77@tcp1", true);
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(live_routes(a), 1); /* not before it forwards */
	assert_int_equal(lx_monitor_route(r1->core, true, true), 0);
	lx_sim_run(sim, 1500 * MS);
	assert_int_equal(live_routes(a), 2);
	assert_int_equal(live_routes(s), 2);
	keep_sending(SEC, 50 * MS);
	assert_true(r1->core->stats.route_count > 10);
	/* An announcement without an answer is repeated, and dropped in the end. */
	lx_sim_run(sim, 20 * SEC);
	assert_true(lx_list_empty(&r1->core->announcements));
	assert_null(lx_peer_ni_lookup(r1->core, &gone));
}

/* A recovery ping asks for the same as a check, and its sender learns nothing from the answer. */
static void a_recovery_ping_is_no_check(void **state)
{
	struct lx_nid router = nid("10.0.0.11@tcp1");
	struct lx_peer_ni *pni;

	restart_r1();
	pni = lx_peer_ni_lookup(a->core, &router);
	announce(r1, "10.0.0.1@tcp1");
	assert_int_equal(lx_monitor_route(r1->core, true, true), 0);
	lx_core_work(r1->core); /* its new information */
	pni->health.next_ping = 0;
	lx_recovery_tick(a->core);
	lx_sim_run(sim, 1500 * MS);
	assert_int_equal(pni->health.ping_count, 0); /* it was answered */
	assert_int_equal(live_routes(a), 2);
}

/* An announcement that comes too early does not cut its neighbour off until that sends something. */
static void a_neighbour_that_comes_up_later_is_reached(void **state)
{
	struct lx_nid server = nid("10.1.0.1@tcp2"), other = nid("10.0.0.12@tcp1");

	restart_r1();
	lx_route_delete(a->core, LX_NET(2, 2), &other);
	lx_sim_dead(sim, "10.1.0.1@tcp2", true);
	announce(r1, "10.0.0.1@tcp1");
	announce(r1, "10.1.0.1@tcp2");
	assert_int_equal(lx_monitor_route(r1->core, true, true), 0);
	lx_sim_run(sim, 1500 * MS);
	assert_int_equal(live_routes(a), 1);
	assert_int_equal(lx_peer_ni_lookup(r1->core, &server)->status, LX_NI_STATUS_DOWN);
	lx_sim_dead(sim, "10.1.0.1@tcp2", false);
	lx_count_reset(r1->core);
	keep_sending(SEC, 50 * MS);
	assert_int_equal(r1->core->stats.drop_count, 0);
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
	/* Nodes without a route through us are no longer announced to. */
	lx_route_delete(a->core, LX_NET(2, 2), &lx_nid_any);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(lx_announce_describe(r1->core, &list, &n), 0);
	assert_int_equal(n, 1);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROUTE_TEST(a_stop_ends_when_all_have_moved_away),
		ROUTE_TEST(a_stop_waits_for_the_next_check),
		ROUTE_TEST(a_stop_has_time_whatever_the_start_takes),
		ROUTE_TEST(a_stop_ends_when_its_time_is_over),
		ROUTE_TEST(a_stop_does_not_wait_for_the_dead),
		ROUTE_TEST(a_stop_does_not_wait_for_messages_to_the_silent),
		ROUTE_TEST(a_stop_waits_for_messages_to_the_slow),
		ROUTE_TEST(a_router_that_comes_back_is_used_at_once),
		ROUTE_TEST(a_recovery_ping_is_no_check),
		ROUTE_TEST(a_neighbour_that_comes_up_later_is_reached),
		ROUTE_TEST(announcing_is_bounded),
		ROUTE_TEST(neighbours_are_known),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: announcing", tests, NULL, NULL);
}
