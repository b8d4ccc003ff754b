/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A network with two routers, for tests of routes and forwarding. */
#ifndef LX_TESTS_ROUTEWORLD_H
#define LX_TESTS_ROUTEWORLD_H

#include "simlib.h"

/*
 *	a 10.0.0.1@tcp1 ──┬── r1 10.0.0.11@tcp1 / 10.1.0.11@tcp2 ──┬── s 10.1.0.1@tcp2
 *	                  └── r2 10.0.0.12@tcp1 / 10.1.0.12@tcp2 ──┘
 */
static struct lx_sim *sim;
static struct lx_sim_node *a, *s, *r1, *r2;
static char src[1 << 20], dst[1 << 20];

static inline void quick(struct lx_sim_node *node)
{
	tune(node, "alive_router_check_interval", "2");
	tune(node, "router_ping_timeout", "1");
	tune(node, "lnet_transaction_timeout", "5");
}

/* Same on all nodes: a router that nobody pings for longer takes the net for dead. */
static inline void usual_pace(void)
{
	struct lx_sim_node *const all[] = { a, s, r1, r2 };

	for (size_t i = 0; i < N_OF(all); i++) {
		tune(all[i], "alive_router_check_interval", "60");
		tune(all[i], "router_ping_timeout", "50");
	}
}

static inline int route_setup(void **state)
{
	log_clear();
	rnd_fill(src, 8192);
	memset(dst, 0, sizeof(dst));
	if (lx_sim_new(rnd(), &sim_plain, &sim))
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

static inline int route_teardown(void **state)
{
	/* Stay off full seconds, when gateways are checked. */
	lx_sim_run(sim, 10 * SEC + 500 * MS);
	assert_at_rest(a);
	assert_at_rest(s);
	assert_at_rest(r1);
	assert_at_rest(r2);
	lx_sim_free(sim);
	return 0;
}

/* Why the route via a gateway is down; "" if it is up. Valid until the next call. */
static inline const char *why_down(struct lx_sim_node *node, const char *gateway)
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

static inline unsigned int live_routes(struct lx_sim_node *node)
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

/* Sends a PUT with ACK and a GET from a to s; true if both were answered. */
static inline bool exchange(size_t len)
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

#define ROUTE_TEST(fn) cmocka_unit_test_setup_teardown(fn, route_setup, route_teardown)

#endif
