/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Routes and gateways: configuration, state, and selection. */
#include "routeworld.h"

#include "../../user/core/count.h"
#include "../../user/core/credit.h"
#include "../../user/core/probe.h"
#include "../../user/core/reach.h"

/*
 * A gateway's push makes it Multi-Rail at once; the status of its NIs is merged a little later.
 * Messages in between must not find the route down.
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
	/* Nor is it when discovery has been off. */
	tune(b, "lnet_peer_discovery_disabled", "1");
	lx_sim_run(sim, 90 * SEC);
	tune(b, "lnet_peer_discovery_disabled", "0");
	peer = lx_peer_of(lx_peer_ni_lookup(b->core, &gateway));
	peer->state |= LX_PEER_MULTI_RAIL;
	assert_int_equal(live_routes(b), 1);
}

static int ping_status;

static void on_ping(int status, struct lx_peer_info *info, void *arg)
{
	ping_status = status;
	free(info);
}

/* @source: NULL for any */
static int ping_by(struct lx_sim_node *node, const char *to, const char *source)
{
	struct lx_id target = { nid(to), LX_PID_LUSTRE };
	struct lx_nid from = source ? nid(source) : lx_nid_any;

	ping_status = 1;
	if (lx_probe_ping(node->core, &target, &from, 1000, on_ping, NULL))
		return -EINVAL;
	lx_sim_run(sim, 3 * SEC);
	return ping_status;
}

static void priority_and_hops_decide(void **state)
{
	uint64_t before;

	lx_route_delete(a->core, LX_NET(2, 2), &lx_nid_any);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 1);
	add_route(a, "tcp2", "10.0.0.12@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	assert_true(exchange(10)); /* no discovery is needed after this */
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
	/* Traffic must not create a route to a local net. */
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

static void own_nid_is_no_gateway(void **state)
{
	struct lx_conf_route c = { .net = LX_NET(2, 9), .gateway = nid("10.0.0.1@tcp1"),
				   .hop = LX_UNSET, .priority = LX_UNSET,
				   .health_sensitivity = LX_UNSET };
	size_t n;

	assert_int_equal(lx_route_new(a->core, &c), -ELOOP);
	/* Nor one that later becomes a NID of ours. */
	add_route(a, "tcp9", "10.0.0.99@tcp1", LX_UNSET, 0);
	assert_int_equal(lx_sim_ni_add(a, "10.0.0.99@tcp1", 8, 256), 0);
	routes_of(a, &n);
	assert_int_equal(n, 2);
}

/* Discovery may find that the gateway's first NID is on the far net, where we cannot use it. */
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
	/* By that NID nobody could add it again. */
	assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &far), 0);
	assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &near), -ENOENT);
	add_route(b, "tcp2", "10.0.0.13@tcp1", 1, 2);
	r = routes_of(b, &n);
	assert_true(lx_nid_eq(&r->gateway, &near));
	assert_int_equal(lx_route_delete(b->core, LX_NET(2, 2), &near), 0);
}

/* Two NIDs of one gateway are two ways to it, before and after discovery merges them. */
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

/*
 * A Multi-Rail gateway without discovery, on either side, is single NIDs again, and each route has
 * the one it was given: the gateway's first NID is on the far net.
 */
static void gateway_without_discovery_is_single_nids(void **state)
{
	struct lx_sim_node *g = NODE(sim, "10.1.0.13@tcp2", "10.0.0.13@tcp1", "10.2.0.13@tcp3");
	struct lx_sim_node *b = NODE(sim, "10.0.0.2@tcp1", "10.2.0.2@tcp3");
	struct lx_sim_node *far = NODE(sim, "10.1.0.14@tcp2"), *off[] = { b, g };
	const struct lx_route_info *r;
	size_t n;

	make_router(g);
	quick(b);
	add_route(far, "tcp1", "10.1.0.13@tcp2", LX_UNSET, 0);
	add_route(far, "tcp3", "10.1.0.13@tcp2", LX_UNSET, 0);
	add_route(b, "tcp2", "10.0.0.13@tcp1", LX_UNSET, 0);
	add_route(b, "tcp2", "10.2.0.13@tcp3", LX_UNSET, 0);
	add_route(b, "tcp9", "10.2.0.13@tcp3", 2, 0);
	for (int i = 0; i < 2; i++) {
		lx_sim_run(sim, 5 * SEC);
		assert_int_equal(lx_peer_of(pni_of(b, "10.0.0.13@tcp1"))->n_nis, 3);
		tune(off[i], "lnet_peer_discovery_disabled", "1");
		lx_sim_run(sim, 5 * SEC);
		assert_int_equal(lx_peer_of(pni_of(b, "10.0.0.13@tcp1"))->n_nis, 1);
		assert_int_equal(lx_peer_of(pni_of(b, "10.2.0.13@tcp3"))->n_nis, 1);
		r = routes_of(b, &n);
		assert_int_equal(n, 3);
		for (size_t j = 0; j < n; j++) {
			assert_true(r[j].up);
			assert_true(lx_nid_eq(&r[j].primary, &r[j].gateway));
		}
		for (int j = 0; j < 4; j++)
			assert_int_equal(ping_by(b, "10.1.0.14@tcp2", NULL), 0);
		tune(off[i], "lnet_peer_discovery_disabled", "0");
	}
}

/* A route goes where its NID goes, though its gateway keeps another one. */
static void route_follows_its_nid(void **state)
{
	struct lx_nid near = nid("10.0.0.13@tcp1"), other = nid("10.1.0.99@tcp2");
	const struct lx_nid spare = nid("10.0.0.14@tcp1");
	const struct lx_conf_peer conf = { .primary = other, .multi_rail = true, .nid = &near,
					   .n_nids = 1 };
	struct lx_sim_node *g = NODE(sim, "10.0.0.13@tcp1", "10.1.0.13@tcp2");
	struct lx_sim_node *b = NODE(sim, "10.0.0.2@tcp1");
	struct lx_sim_node *standby = NODE(sim, "10.0.0.14@tcp1", "10.1.0.14@tcp2");
	const struct lx_route_info *r;
	size_t n;

	make_router(g);
	make_router(standby);
	quick(b);
	add_route(b, "tcp2", "10.0.0.13@tcp1", LX_UNSET, 0);
	add_route(b, "tcp9", "10.0.0.13@tcp1", 2, 0);
	lx_sim_run(sim, 3 * SEC);
	/* An admin says that another peer has the NID. */
	assert_int_equal(lx_peerconf_add(b->core, &conf), 0);
	assert_true(lx_list_empty(&lx_peer_of(pni_of(b, "10.1.0.13@tcp2"))->routes));
	r = routes_of(b, &n);
	assert_true(lx_nid_eq(&r[0].primary, &other) && lx_nid_eq(&r[1].primary, &other));
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(live_routes(b), 2);
	assert_int_equal(lx_peerconf_del(b->core, &conf, false), -EBUSY);
	assert_int_equal(lx_route_delete(b->core, LX_NET_U32_ANY, &near), 0);
	assert_int_equal(lx_peerconf_del(b->core, &(struct lx_conf_peer){ .primary = other },
					 false), 0);

	/* A standby takes the address over, and says so, from another address. */
	add_route(b, "tcp2", "10.0.0.13@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(lx_probe_discover(b->core, &spare, false, on_ping, NULL), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(ping_status, 0);
	lx_sim_ni_del(g, "10.0.0.13@tcp1");
	lx_sim_fail_from(sim, "10.0.0.13@tcp1", LX_HSTATUS_LOCAL_DROPPED, -EIO);
	assert_int_equal(lx_sim_ni_add(standby, "10.0.0.13@tcp1", 8, 256), 0);
	lx_sim_run(sim, 10 * MS);
	lx_sim_fail_from(sim, "10.0.0.13@tcp1", LX_HSTATUS_OK, 0);
	lx_sim_run(sim, 5 * SEC);
	r = routes_of(b, &n);
	assert_true(r->up);
	assert_true(lx_nid_eq(&r->primary, &spare) && lx_nid_eq(&r->gateway, &near));
}

/*
 * A gateway gives the NID up, and says so; then somebody else has it. The first message from there
 * says nothing about that, but a discovery does, and so does an admin.
 */
static void route_follows_a_nid_given_up(void **state)
{
	struct lx_nid near = nid("10.0.0.13@tcp1"), far = nid("10.1.0.14@tcp2");
	const struct lx_conf_peer conf = { .primary = near, .multi_rail = true, .nid = &far,
					   .n_nids = 1 };
	struct lx_sim_node *g = NODE(sim, "10.0.0.13@tcp1", "10.0.0.23@tcp1", "10.1.0.13@tcp2");
	struct lx_sim_node *told = NODE(sim, "10.0.0.2@tcp1"), *asks = NODE(sim, "10.0.0.3@tcp1");
	struct lx_sim_node *standby = NODE(sim, "10.0.0.14@tcp1", "10.1.0.14@tcp2");
	struct lx_sim_node *b[] = { told, asks };
	size_t n;

	make_router(g);
	make_router(standby);
	for (int i = 0; i < 2; i++) {
		quick(b[i]);
		add_route(b[i], "tcp2", "10.0.0.13@tcp1", LX_UNSET, 0);
	}
	lx_sim_run(sim, 5 * SEC);
	lx_sim_ni_del(g, "10.0.0.13@tcp1");
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(lx_sim_ni_add(standby, "10.0.0.13@tcp1", 8, 256), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(lx_peerconf_add(told->core, &conf), 0);
	assert_int_equal(ping_by(standby, "10.0.0.3@tcp1", "10.0.0.13@tcp1"), 0);
	assert_int_equal(lx_probe_discover(asks->core, &near, false, on_ping, NULL), 0);
	lx_sim_run(sim, 5 * SEC);
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(lx_peer_of(pni_of(b[i], "10.0.0.13@tcp1")),
				 lx_peer_of(pni_of(b[i], "10.1.0.14@tcp2")));
		assert_true(lx_list_empty(&lx_peer_of(pni_of(b[i], "10.0.0.23@tcp1"))->routes));
		assert_true(routes_of(b[i], &n)->up);
	}
}

/* A new route has its gateway checked at once, also one that was checked a moment ago. */
static void new_route_is_checked_at_once(void **state)
{
	struct lx_nid gateway = nid("10.0.0.11@tcp1");

	usual_pace();
	lx_sim_dead(sim, "10.0.0.11@tcp1", true);
	tune(a, "router_ping_timeout", "1");
	lx_sim_run(sim, 70 * SEC);
	assert_int_equal(live_routes(a), 1);
	/* Repaired, and added again. */
	assert_int_equal(lx_route_delete(a->core, LX_NET(2, 2), &gateway), 0);
	lx_sim_dead(sim, "10.0.0.11@tcp1", false);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(live_routes(a), 2);
	/* With another priority. */
	assert_int_equal(lx_route_delete(a->core, LX_NET(2, 2), &gateway), 0);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 1);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(live_routes(a), 2);
	/* A second one through it: only an answer says how far it is. */
	assert_int_equal(lx_route_delete(a->core, LX_NET(2, 2), &lx_nid_any), 0);
	add_route(a, "tcp9", "10.0.0.11@tcp1", 2, 0);
	lx_sim_run(sim, 3 * SEC);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 3 * SEC);
	assert_true(lx_route_lookup(a->core, LX_NET(2, 2), &gateway)->single_hop);
	assert_int_equal(live_routes(a), 2);
}

/* All start at once, and the gateway last; another that is up makes it wait for its turn. */
static void cold_site(void **state)
{
	struct lx_sim_node *b = NODE(sim, "10.0.0.2@tcp1");

	tune(b, "alive_router_check_interval", "600");
	lx_sim_dead(sim, "10.0.0.11@tcp1", true);
	add_route(b, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 20 * SEC);
	assert_int_equal(live_routes(b), 0);
	lx_sim_dead(sim, "10.0.0.11@tcp1", false);
	lx_sim_run(sim, 30 * SEC);
	assert_int_equal(live_routes(b), 1);
	lx_sim_dead(sim, "10.0.0.12@tcp1", true);
	add_route(b, "tcp2", "10.0.0.12@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 20 * SEC);
	lx_sim_dead(sim, "10.0.0.12@tcp1", false);
	lx_sim_run(sim, 100 * SEC);
	assert_int_equal(live_routes(b), 1);
}

/* Without discovery, and with one check for each gateway only. */
static void new_route_is_checked_once(void **state)
{
	struct lx_sim_node *g = NODE(sim, "10.0.0.13@tcp1", "10.1.0.13@tcp2", "10.3.0.13@tcp3");
	struct lx_sim_node *b = NODE(sim, "10.0.0.2@tcp1");

	make_router(g);
	tune(g, "lnet_peer_discovery_disabled", "1");
	quick(b);
	tune(b, "alive_router_check_interval", "0");
	tune(b, "check_routers_before_use", "1");
	add_route(b, "tcp2", "10.0.0.13@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(live_routes(b), 1);
	add_route(b, "tcp3", "10.0.0.13@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(live_routes(b), 2);
}

/* No NID of a gateway can be deleted, whether routes name it or not. */
static void gateway_keeps_its_nids(void **state)
{
	struct lx_nid near = nid("10.0.0.11@tcp1"), far = nid("10.1.0.11@tcp2");
	struct lx_conf_peer conf = { .primary = near, .nid = &far, .n_nids = 1 };

	assert_int_equal(lx_peer_of(pni_of(a, "10.0.0.11@tcp1"))->n_nis, 2);
	assert_int_equal(lx_peerconf_del(a->core, &conf, false), -EBUSY);
	assert_int_equal(lx_peer_of(pni_of(a, "10.0.0.11@tcp1"))->n_nis, 2);
	assert_int_equal(lx_peerconf_del(a->core, &conf, true), 0);
	assert_int_equal(lx_peer_of(pni_of(a, "10.0.0.11@tcp1"))->n_nis, 1);
}

/* Deleting a gateway's last NID deletes its routes. */
static void gateway_is_forgotten(void **state)
{
	struct lx_nid gateway = nid("10.0.0.50@tcp1");
	const struct lx_conf_peer conf = { .primary = gateway, .nid = &gateway, .n_nids = 1 };
	struct lx_route_info *routes;
	size_t n;

	add_route(a, "tcp7", "10.0.0.50@tcp1", LX_UNSET, 0);
	assert_int_equal(lx_peerconf_del(a->core, &conf, false), -EBUSY);
	assert_int_equal(lx_peerconf_del(a->core, &conf, true), 0);
	assert_null(lx_rnet_lookup(a->core, LX_NET(2, 7)));
	assert_int_equal(lx_route_describe_all(a->core, &routes, &n), 0);
	assert_int_equal(n, 2);
	free(routes);
}

/* A Multi-Rail peer on two nets, both behind gateways: one way to it is enough. */
static void net_without_live_routes_is_left_out(void **state)
{
	struct lx_sim_node *r3 = NODE(sim, "10.0.0.13@tcp1", "10.3.0.13@tcp3");
	struct lx_sim_node *e = NODE(sim, "10.1.0.5@tcp2", "10.3.0.5@tcp3");
	struct lx_nid first = nid("10.1.0.5@tcp2");

	make_router(r3);
	quick(r3);
	quick(e);
	add_route(a, "tcp3", "10.0.0.13@tcp1", LX_UNSET, 0);
	add_route(e, "tcp1", "10.1.0.11@tcp2", LX_UNSET, 0);
	add_route(e, "tcp1", "10.3.0.13@tcp3", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(lx_probe_discover(a->core, &first, false, on_ping, NULL), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(lx_peer_of(pni_of(a, "10.1.0.5@tcp2"))->n_nis, 2);
	lx_sim_dead(sim, "10.0.0.13@tcp1", true);
	lx_sim_dead(sim, "10.3.0.13@tcp3", true);
	lx_sim_run(sim, 5 * SEC);
	assert_string_not_equal(why_down(a, "10.0.0.13@tcp1"), "");
	log_clear();
	for (int i = 0; i < 10; i++) {
		post(e, 5, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 10, 2), true, "10.1.0.5@tcp2", 5, 1);
		lx_sim_run(sim, SEC);
	}
	assert_int_equal(count_events(LX_EVENT_ACK), 10);
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

/*
 * The reason is about the NID that the route names, and stays so: what is tried next says less. It
 * blames the gateway's NI only if the gateway said so.
 */
static void reason_is_of_the_routes_nid(void **state)
{
	struct lx_nid near = nid("10.0.0.13@tcp1"), other = nid("10.0.0.14@tcp1");
	struct lx_sim_node *g = NODE(sim, "10.0.0.14@tcp1", "10.0.0.13@tcp1");
	struct lx_core_ni *ni = ni_of(a, "10.0.0.1@tcp1");

	make_router(g);
	quick(g);
	add_route(a, "tcp9", "10.0.0.13@tcp1", LX_UNSET, 0);
	tune(a, "avoid_asym_router_failure", "0");
	lx_sim_run(sim, 5 * SEC);
	assert_string_equal(why_down(a, "10.0.0.13@tcp1"), "");
	lx_lnd_peer_lost(&ni->ni, &other, LX_DOWN_LOST, -EHOSTUNREACH);
	lx_lnd_peer_lost(&ni->ni, &near, LX_DOWN_LOST, -ECONNREFUSED);
	assert_string_equal(why_down(a, "10.0.0.13@tcp1"),
			    "no connection to its gateway: Connection refused");
	/* A check without answer does not replace it. */
	lx_route_gateway_checked(lx_peer_of(pni_of(a, "10.0.0.13@tcp1")), -ETIMEDOUT);
	assert_string_equal(why_down(a, "10.0.0.13@tcp1"),
			    "its gateway does not answer pings: Connection refused");
	assert_string_equal(lx_down_str(&pni_of(a, "10.0.0.13@tcp1")->down),
			    "no connection to it: Connection refused");
	assert_string_equal(lx_down_str(&pni_of(a, "10.0.0.14@tcp1")->down),
			    "no connection to it: No route to host");
	/* It takes connections and is silent: that is what there is to say. */
	lx_sim_mute(sim, "10.0.0.13@tcp1", true);
	lx_sim_mute(sim, "10.0.0.14@tcp1", true);
	lx_sim_run(sim, 10 * SEC);
	assert_string_equal(why_down(a, "10.0.0.13@tcp1"),
			    "its gateway does not answer pings: Connection timed out");
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

/* Watchers hear of each NID of a gateway that is given up, and that is back. */
static void dead_router_is_told_of(void **state)
{
	far_down = far_up = 0;
	a->change = count_far_changes;
	lx_sim_dead(sim, "10.0.0.11@tcp1", true);
	lx_sim_dead(sim, "10.1.0.11@tcp2", true);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(far_down, 1);
	assert_int_equal(far_up, 0);
	assert_string_equal(route_down, "no connection to its gateway: No route to host");
	lx_sim_dead(sim, "10.0.0.11@tcp1", false);
	lx_sim_dead(sim, "10.1.0.11@tcp2", false);
	lx_sim_run(sim, 5 * SEC);
	a->change = NULL;
	assert_int_equal(far_down, 1);
	assert_int_equal(far_up, 1);
}

static void half_dead_router_is_left_out(void **state)
{
	/* Its far side is dead: nobody pings it there, it reports that, and the route goes down. */
	lx_sim_dead(sim, "10.1.0.11@tcp2", true);
	lx_sim_run(sim, 12 * SEC);
	assert_int_equal(live_routes(a), 1);
	assert_string_equal(why_down(a, "10.0.0.11@tcp1"),
			    "its gateway has no NI that is up on the far net, tcp2: "
			    "its node reports it down");
	for (int i = 0; i < 4; i++)
		assert_true(exchange(100));
	tune(a, "avoid_asym_router_failure", "0");
	assert_int_equal(live_routes(a), 2);
	tune(a, "avoid_asym_router_failure", "1");
	lx_sim_dead(sim, "10.1.0.11@tcp2", false);
	lx_sim_run(sim, 12 * SEC);
	assert_int_equal(live_routes(a), 2);
}

/* Reports what a transport's fast path forwarded for a neighbour of r1. */
static void offloaded(const char *by, const char *from, uint32_t src_net)
{
	const struct lx_offloaded c = { .received = { .put = 1 }, .payload = 100,
				      .src_net = src_net };
	struct lx_nid n = nid(from);

	lx_lnd_offloaded(&ni_of(r1, by)->ni, &n, &c);
}

static bool r1_is_up(void)
{
	return lx_ni_status(ni_of(r1, "10.0.0.11@tcp1")) == LX_NI_STATUS_UP &&
	       lx_ni_status(ni_of(r1, "10.1.0.11@tcp2")) == LX_NI_STATUS_UP;
}

static void nobody_pings(void)
{
	tune(a, "alive_router_check_interval", "0");
	tune(s, "alive_router_check_interval", "0");
	lx_sim_run(sim, 3 * SEC); /* the last pings */
}

/* It is not pinged, but messages from it prove that it works. For an idle one there is no proof. */
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

/* Counts the NIs in the answer that are up. */
static void on_status(int status, struct lx_peer_info *info, void *arg)
{
	unsigned int *n_up = arg;

	assert_int_equal(status, 0);
	for (uint32_t i = 0; i < info->n_nis; i++)
		*n_up += info->ni[i].alive == LX_ALIVE_UP;
	free(info);
}

/* After silence, the first ping is answered by an NI that is up, thanks to this ping. */
static void first_answer_is_up(void **state)
{
	struct lx_id id = { .nid = nid("10.0.0.11@tcp1"), .pid = LX_PID_LUSTRE };
	unsigned int n_up = 0;

	nobody_pings();
	lx_sim_run(sim, 12 * SEC);
	assert_false(r1_is_up());
	assert_int_equal(lx_probe_ping(a->core, &id, NULL, 5000, on_status, &n_up), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(n_up, 1); /* the other net is still silent */
}

/*
 * The clients of a router with two NIDs per net were all gone for so long that its NIs towards
 * them are down, and the server knows it. The first message of a client brings the way back up.
 */
static void idle_router_is_up_at_the_first_message(void **state)
{
	static const char *const names[] = { "10.0.0.21@tcp1", "10.0.0.22@tcp1" };
	struct lx_sim_node *g = NODE(sim, "10.0.0.21@tcp1", "10.0.0.22@tcp1", "10.1.0.21@tcp2",
				     "10.1.0.22@tcp2");
	struct lx_sim_node *b = NODE(sim, "10.1.0.5@tcp2"), *c = NODE(sim, "10.0.0.5@tcp1");
	struct lx_id id = { .nid = nid("10.1.0.5@tcp2"), .pid = LX_PID_LUSTRE };
	unsigned int n_up = 0;

	make_router(g);
	add_route(b, "tcp1", "10.1.0.21@tcp2", LX_UNSET, 0);
	lx_sim_run(sim, 400 * SEC);
	for (int i = 0; i < 2; i++)
		assert_int_equal(lx_ni_status(ni_of(g, names[i])), LX_NI_STATUS_DOWN);
	assert_int_equal(live_routes(b), 0);
	add_route(c, "tcp2", "10.0.0.21@tcp1", LX_UNSET, 0);
	assert_int_equal(lx_probe_ping(c->core, &id, NULL, 500, on_status, &n_up), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(n_up, 1);
	assert_int_equal(live_routes(b), 1);
}

static void router_busy_without_the_core_is_up(void **state)
{
	struct lx_nid gone = nid("10.0.0.1@tcp1");
	struct lx_peer_ni *pni = lx_peer_ni_lookup(r1->core, &gone);

	nobody_pings();
	for (int i = 0; i < 10; i++) {
		offloaded("10.0.0.11@tcp1", "10.0.0.1@tcp1", LX_NET(2, 1));
		offloaded("10.1.0.11@tcp2", "10.1.0.1@tcp2", LX_NET(2, 2));
		lx_sim_run(sim, SEC);
		assert_true(r1_is_up());
	}
	lx_peer_ni_set_down(r1->core, pni, LX_DOWN_LOST, -ECONNRESET);
	offloaded("10.0.0.11@tcp1", "10.0.0.1@tcp1", LX_NET(2, 1));
	assert_true(lx_peer_ni_up(pni));
	assert_int_equal(pni->last_alive_ns, lx_core_now(r1->core));
}

/* Credits in the fast path's memory: when a peer is gone, the core no longer points there. */
static void credits_outlive_the_fastpath(void **state)
{
	struct lx_credit *tx = calloc(1, sizeof(*tx)), *rtr = calloc(1, sizeof(*rtr));
	struct lx_nid neighbour = nid("10.0.0.1@tcp1");
	struct lx_core_ni *ni = ni_of(r1, "10.0.0.11@tcp1");
	struct lx_peer_ni *pni = lx_peer_ni_lookup(r1->core, &neighbour);
	int32_t before = lx_credit_now(pni->tx);

	pni->refs++; /* a message in flight */
	assert_int_equal(lx_lnd_share_credits(&ni->ni, &neighbour, tx, rtr), 0);
	assert_int_equal(lx_credit_now(tx), before);
	lx_credit_take(pni->tx);
	tx->now--; /* by a lane */
	tx->lanes++;
	lx_peer_delete(lx_peer_of(pni));
	free(tx);
	free(rtr);
	lx_credit_give(pni->tx);
	assert_int_equal(lx_credit_now(pni->tx), before);
	lx_peer_ni_put(r1->core, pni);
}

static int shared;

/* As the fast path, which is told of a policy and shares its credits again. */
static void share_again(struct lx_ni *ni, const struct lx_nid *n, uint32_t net)
{
	static struct lx_credit tx, rtr;
	struct lx_nid neighbour = nid("10.0.0.1@tcp1");

	if (ni->core == r1->core && n && lx_nid_eq(n, &neighbour))
		shared = lx_lnd_share_credits(ni, n, &tx, &rtr);
}

/* A peer NI that is being removed has no credits to share: the fast path asks again later. */
static void removed_peer_shares_nothing(void **state)
{
	struct lx_lnd *lnd = (struct lx_lnd *)ni_of(r1, "10.0.0.11@tcp1")->ni.lnd;

	shared = 1;
	lnd->policy_changed = share_again;
	lx_peer_delete(lx_peer_of(pni_of(r1, "10.0.0.1@tcp1")));
	lnd->policy_changed = NULL;
	assert_int_equal(shared, -ENOENT);
}

/* Messages from beyond a gateway that was given up: it is back. */
static void gateway_heard_without_the_core(void **state)
{
	struct lx_nid gateway = nid("10.0.0.11@tcp1");
	const struct lx_offloaded c = { .received = { .reply = 1 }, .src_net = LX_NET(2, 2) };
	struct lx_core_ni *ni = ni_of(a, "10.0.0.1@tcp1");

	lx_route_gateway_checked(lx_peer_of(lx_peer_ni_lookup(a->core, &gateway)), -ETIMEDOUT);
	assert_int_equal(live_routes(a), 1);
	lx_lnd_offloaded(&ni->ni, &gateway, &(struct lx_offloaded){ .sent = { .put = 1 } });
	assert_int_equal(live_routes(a), 1);
	lx_lnd_offloaded(&ni->ni, &gateway, &c);
	assert_int_equal(live_routes(a), 2);
}

/* By NI and by peer NI; "stats reset" clears them. */
static void tcp_bytes_are_counted(void **state)
{
	struct lx_nid peer = nid("10.0.0.1@tcp1"), nobody = nid("10.0.0.99@tcp1");
	struct lx_core_ni *ni = ni_of(r1, "10.0.0.11@tcp1");
	const struct lx_tcp_bytes more = { .sent = 1000, .resent = 20 };
	const struct lx_tcp_bytes *of_peer = &pni_of(r1, "10.0.0.1@tcp1")->traffic.tcp;

	lx_lnd_tcp_sent(&ni->ni, &peer, &more);
	lx_lnd_tcp_sent(&ni->ni, &peer, &more);
	lx_lnd_tcp_sent(&ni->ni, &nobody, &more);
	assert_int_equal(ni->traffic.tcp.sent, 3000);
	assert_int_equal(ni->traffic.tcp.resent, 60);
	assert_int_equal(of_peer->sent, 2000);
	assert_int_equal(of_peer->resent, 40);
	lx_count_reset(r1->core);
	assert_int_equal(ni->traffic.tcp.sent, 0);
	assert_int_equal(of_peer->resent, 0);
}

static void switched_off_router_is_left_out(void **state)
{
	assert_int_equal(lx_monitor_route(r1->core, false, false), 0);
	assert_int_equal(r1->core->routing, LX_ROUTING_STOPPING);
	lx_sim_run(sim, SEC);
	assert_int_equal(live_routes(a), 1); /* thanks to the push */
	assert_string_equal(why_down(a, "10.0.0.11@tcp1"),
			    "its gateway does not route: routing is off there, or just starting");
	assert_true(exchange(100));
	lx_sim_run(sim, 10 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_OFF);
	assert_int_equal(lx_monitor_route(r1->core, true, false), 0);
	assert_int_equal(r1->core->routing, LX_ROUTING_STARTING);
	assert_int_equal(lx_monitor_route_left(r1->core), 3); /* set by quick() */
	lx_sim_run(sim, 900 * MS);
	assert_in_range(lx_monitor_route_left(r1->core), 2, 3);
	assert_int_equal(live_routes(a), 1);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_ON);
	assert_int_equal(live_routes(a), 2);
}

/* It forwards still, and its neighbours have just heard from it: there is nothing to wait for. */
static void starting_ends_the_stop(void **state)
{
	assert_int_equal(lx_monitor_route(r1->core, false, false), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(live_routes(a), 1);
	assert_int_equal(lx_monitor_route(r1->core, true, false), 0);
	assert_int_equal(r1->core->routing, LX_ROUTING_ON);
	lx_sim_run(sim, SEC);
	assert_int_equal(live_routes(a), 2);
	lx_sim_run(sim, 400 * SEC);
	assert_int_equal(r1->core->routing, LX_ROUTING_ON);
	assert_int_equal(live_routes(a), 2);
	assert_true(exchange(100));
}

/* An export of a node that was made from an export is the same. */
static void order_of_routes_is_constant(void **state)
{
	struct lx_conf_route conf = { .net = LX_NET(LX_NET_TCP, 9),
				      .hop = LX_UNSET,
				      .priority = LX_UNSET,
				      .health_sensitivity = LX_UNSET };
	struct lx_route_info *list;
	unsigned int found = 0;
	char text[40];
	size_t n;

	for (int i = 9; i-- > 1;) {
		snprintf(text, sizeof(text), "10.0.0.3%d@tcp1", i);
		conf.gateway = nid(text);
		assert_int_equal(lx_route_new(a->core, &conf), 0);
	}
	assert_int_equal(lx_route_describe_all(a->core, &list, &n), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "10.0.0.3%u@tcp1", found + 1);
		if (list[i].net == conf.net) {
			assert_string_equal(lx_nid_str(&list[i].gateway), text);
			found++;
		}
	}
	assert_int_equal(found, 8);
	free(list);
}

static int why_error;

/* The reason that a failed ping from a gives for a NID; its errno, if there is one. */
static const char *why(const char *to, const char *source)
{
	static char text[LX_REACH_TEXT];
	struct lx_nid target = nid(to), from = source ? nid(source) : lx_nid_any;

	why_error = lx_reach_why(a->core, &target, &from, text, sizeof(text));
	return text;
}

/* @source: NULL for any */
static int ping_from(const char *to, const char *source)
{
	return ping_by(a, to, source);
}

static int ping(const char *to)
{
	return ping_from(to, NULL);
}

/* "No route to host" has four causes; the reason must tell them apart. */
static void no_route_to_host_has_four_meanings(void **state)
{
	struct lx_nid dead = nid("10.0.0.77@tcp1");

	assert_int_equal(lx_sim_ni_add(a, "10.5.0.1@tcp5", 8, 256), 0);
	/* No route at all. */
	assert_int_equal(ping("10.9.0.1@tcp9"), -EHOSTUNREACH);
	assert_string_equal(why("10.9.0.1@tcp9", NULL),
			    "no route to tcp9 is configured; \"lnetx route add\" or "
			    "lx_route_add() adds one");
	assert_int_equal(why_error, 0);
	/* A dead neighbour. */
	lx_sim_dead(sim, "10.0.0.77@tcp1", true);
	assert_int_equal(ping("10.0.0.77@tcp1"), -EHOSTUNREACH);
	assert_string_equal(why("10.0.0.77@tcp1", NULL),
			    "it is a direct neighbour: no connection to it: No route to host");
	assert_int_equal(why_error, -EHOSTUNREACH);
	/* One that is there, but has no LNet: the next attempt comes later, and is not made here. */
	lx_lnd_peer_lost(&ni_of(a, "10.0.0.1@tcp1")->ni, &dead, LX_DOWN_LOST, -ECONNREFUSED);
	assert_string_equal(why("10.0.0.77@tcp1", NULL),
			    "it is a direct neighbour: no connection to it: Connection refused");
	assert_int_equal(why_error, -ECONNREFUSED);
	/* It has another net, for example. */
	lx_lnd_peer_lost(&ni_of(a, "10.0.0.1@tcp1")->ni, &dead, LX_DOWN_HUNG_UP, -ECONNRESET);
	assert_string_equal(why("10.0.0.77@tcp1", NULL),
			    "it is a direct neighbour: it closes our connections unanswered: "
			    "it has no NI with this NID (wrong net?), or refuses this node: "
			    "Connection reset by peer");
	assert_int_equal(why_error, -ECONNRESET);
	/* A source NI that no route starts from. */
	assert_string_equal(why("10.1.0.1@tcp2", "10.5.0.1@tcp5"),
			    "no route to tcp2 has a gateway on tcp5, the net of the source");
	assert_string_equal(why("10.1.0.1@tcp2", "10.5.0.9@tcp5"),
			    "the source, 10.5.0.9@tcp5, is not one of our NIDs");
	/* Routes with dead gateways, each with its state. */
	assert_non_null(strstr(why("10.1.0.1@tcp2", NULL), " or "));
	assert_non_null(strstr(why("10.1.0.1@tcp2", NULL),
			       ", which was up when last asked: check beyond it"));
	lx_sim_dead(sim, "10.0.0.11@tcp1", true);
	lx_sim_dead(sim, "10.1.0.11@tcp2", true);
	lx_sim_run(sim, 5 * SEC);
	assert_string_equal(why("10.1.0.1@tcp2", NULL),
			    "the route is via 10.0.0.12@tcp1, which was up when last asked: "
			    "check beyond it, and the route back");
	lx_sim_dead(sim, "10.0.0.12@tcp1", true);
	lx_sim_dead(sim, "10.1.0.12@tcp2", true);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(ping("10.1.0.1@tcp2"), -EHOSTUNREACH);
	assert_non_null(strstr(why("10.1.0.1@tcp2", NULL), "no route to tcp2 is up: "));
	assert_non_null(strstr(why("10.1.0.1@tcp2", NULL), "10.0.0.11@tcp1: its gateway "));
	assert_non_null(strstr(why("10.1.0.1@tcp2", NULL), "10.0.0.12@tcp1: its gateway "));
	lx_sim_dead(sim, "10.0.0.11@tcp1", false);
	lx_sim_dead(sim, "10.1.0.11@tcp2", false);
	lx_sim_dead(sim, "10.0.0.12@tcp1", false);
	lx_sim_dead(sim, "10.1.0.12@tcp2", false);
}

static uint64_t n_routed(void)
{
	return r1->core->stats.route_count + r2->core->stats.route_count;
}

/*
 * A gateway's far NI. With any source a ping goes straight to the gateway's near NI. A given
 * source fixes the net to leave by, and so a route: perhaps via the gateway itself, which does not
 * take a message at another NI than it is for, or via another one, to which its answer has no
 * route. Neither arrives, as in the reference (lnet.md 11.2).
 */
static void far_side_of_a_gateway(void **state)
{
	static const char *const far[] = { "10.1.0.11@tcp2", "10.1.0.12@tcp2" };
	uint64_t before = n_routed();

	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(ping(far[i % 2]), 0);
	assert_true(n_routed() == before);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(ping_from(far[i % 2], "10.0.0.1@tcp1"), -ETIMEDOUT);
	assert_string_equal(why(far[0], "10.0.0.1@tcp1"),
			    "it is a far NI of the gateway 10.0.0.11@tcp1: ask it at that NID, or "
			    "without a source");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROUTE_TEST(first_word_of_a_gateway),
		ROUTE_TEST(priority_and_hops_decide),
		ROUTE_TEST(bad_routes_are_refused),
		ROUTE_TEST(own_nid_is_no_gateway),
		ROUTE_TEST(route_keeps_the_nid_it_was_given),
		ROUTE_TEST(two_nids_of_a_gateway_are_two_routes),
		ROUTE_TEST(gateway_without_discovery_is_single_nids),
		ROUTE_TEST(route_follows_its_nid),
		ROUTE_TEST(route_follows_a_nid_given_up),
		ROUTE_TEST(new_route_is_checked_at_once),
		ROUTE_TEST(cold_site),
		ROUTE_TEST(new_route_is_checked_once),
		ROUTE_TEST(gateway_keeps_its_nids),
		ROUTE_TEST(gateway_is_forgotten),
		ROUTE_TEST(net_without_live_routes_is_left_out),
		ROUTE_TEST(dead_router_is_left_out),
		ROUTE_TEST(dead_router_is_told_of),
		ROUTE_TEST(reason_is_of_the_routes_nid),
		ROUTE_TEST(half_dead_router_is_left_out),
		ROUTE_TEST(busy_router_is_up),
		ROUTE_TEST(first_answer_is_up),
		ROUTE_TEST(idle_router_is_up_at_the_first_message),
		ROUTE_TEST(router_busy_without_the_core_is_up),
		ROUTE_TEST(credits_outlive_the_fastpath),
		ROUTE_TEST(removed_peer_shares_nothing),
		ROUTE_TEST(gateway_heard_without_the_core),
		ROUTE_TEST(tcp_bytes_are_counted),
		ROUTE_TEST(switched_off_router_is_left_out),
		ROUTE_TEST(starting_ends_the_stop),
		ROUTE_TEST(order_of_routes_is_constant),
		ROUTE_TEST(far_side_of_a_gateway),
		ROUTE_TEST(no_route_to_host_has_four_meanings),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: routes", tests, NULL, NULL);
}
