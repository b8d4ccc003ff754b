/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages that a router forwards or drops, and how drops are counted. */
#include "routeworld.h"
#include "../../user/core/count.h"

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
	/* Equal routers take turns. */
	assert_true(r1->core->stats.route_count > 0);
	assert_true(r2->core->stats.route_count > 0);
	assert_int_equal(r1->core->pool[LX_POOL_LARGE].credits, 256);
}

static void no_router_drops(void **state)
{
	struct lx_stats *stats = &r1->core->stats;

	lx_monitor_route(r1->core, false, false);
	lx_sim_run(sim, 10 * SEC);
	/* A sender that keeps using an outdated route. */
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
	if (!loop_lines++)
		snprintf(loop_line, sizeof(loop_line), "%s", line);
}

/* Two routers that point at each other: the second does not send the message back. */
static void two_routers_do_not_circle(void **state)
{
	add_route(a, "tcp9", "10.0.0.11@tcp1", LX_UNSET, 0);
	add_route(r1, "tcp9", "10.0.0.12@tcp1", LX_UNSET, 0);
	/* It recognizes the sender by another of its NIDs, too. */
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

/* Another gateway is there: it is used, whatever its priority. */
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

/*
 * Three routers in a circle see a loop only when the message returns: the first to forward it
 * does so first.
 */
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
	/*
	 * The ping of discovery. The other routers know the way to a, which is not where it
	 * came from.
	 */
	assert_int_equal(r1->core->stats.loops, 1);
	assert_int_equal(r2->core->stats.loops, 1);
	assert_int_equal(r3->core->stats.loops, 1);
	assert_int_equal(loop_lines, 3);
	assert_non_null(strstr(loop_line, "first_from=10.0.0.1@tcp1 again_from=10.0.0.13@tcp1 "
					  "next_hop=10.0.0.12@tcp1"));
	lx_route_delete(r3->core, LX_NET(2, 9), &any);
	lx_sim_run(sim, 10 * MS);
}

/*
 * The same header again is not a loop if its sender repeats it through one or two gateways, or
 * if other gateways resend it because the first one did not answer.
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
	/* It is a loop if one gateway, other than the first, sends it again and again. */
	msg.m.hdr.cmd.put.match_bits++;
	for (int i = 0; i < 5; i++) {
		msg.rxpeer = pni[i > 0];
		lx_loop_watch(&msg);
	}
	assert_int_equal(r1->core->stats.loops, 1);
}

/* How many loops are counted if a message from @src arrives repeatedly from one peer. */
static uint64_t circles(const char *src, const char *from)
{
	struct lx_nid mine = nid("10.0.0.11@tcp1"), via = nid(from), next = nid("10.0.0.12@tcp1");
	static uint64_t bits;
	struct lx_core_msg msg = { .core = r1->core, .rxni = lx_ni_lookup(r1->core, &mine) };
	uint64_t before = r1->core->stats.loops;

	msg.m.hdr = (struct lx_hdr){ .src_nid = nid(src), .dst_nid = nid("10.9.0.1@tcp9"),
				     .type = LX_MSG_PUT, .cmd.put.match_bits = ++bits };
	assert_int_equal(lx_peer_ni_obtain(r1->core, &via, &msg.rxpeer), 0);
	assert_int_equal(lx_peer_ni_obtain(r1->core, &next, &msg.txpeer), 0);
	for (int i = 0; i < 10; i++) {
		lx_loop_watch(&msg);
		lx_sim_run(sim, SEC);
	}
	return r1->core->stats.loops - before;
}

/* It was looping when first seen: it came from where its source is not. */
static void circle_is_found_from_within(void **state)
{
	assert_int_equal(circles("10.0.0.1@tcp1", "10.0.0.1@tcp1"), 0);
	assert_int_equal(circles("10.0.0.1@tcp1", "10.0.0.13@tcp1"), 1);
	/* Without a route back, it may come from anywhere; then add one. */
	assert_int_equal(circles("10.7.0.1@tcp7", "10.0.0.13@tcp1"), 0);
	add_route(r1, "tcp7", "10.0.0.14@tcp1", LX_UNSET, 0);
	assert_int_equal(circles("10.7.0.1@tcp7", "10.0.0.13@tcp1"), 1);
	assert_int_equal(circles("10.7.0.1@tcp7", "10.0.0.14@tcp1"), 0);
}

static void unroutable_is_dropped_by_the_router(void **state)
{
	add_route(a, "tcp7", "10.0.0.11@tcp1", 2, 0);
	put(a, mem(a, src, 10, 1), false, "10.7.0.1@tcp7", 5, 1);
	lx_sim_run(sim, 6 * SEC);
	/* The ping of discovery was dropped; the message waited for it until it expired. */
	assert_int_equal(r1->core->stats.drops[LX_REASON_NO_ROUTE], 1);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ETIMEDOUT);
}

/* The latest log line of each kind. */
static char logged[4][300];
static unsigned int n_logged;

static void take_line(int level, const char *line, void *arg)
{
	if (n_logged < N_OF(logged))
		snprintf(logged[n_logged], sizeof(logged[0]), "%d %s", level, line);
	n_logged++;
}

/* A sender that no route leads back to is named once a minute, with the next step. */
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

	/* The same on a router that cannot forward. */
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

/* The server goes after r1, the only router now, has forwarded to it. */
static void lose_the_server(void)
{
	lx_route_delete(a->core, LX_NET(2, 2), &lx_nid_any);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	assert_true(exchange(10));
	lx_count_reset(r1->core);
	lx_sim_dead(sim, "10.1.0.1@tcp2", true);
}

/*
 * A message that a router accepts but cannot send on is a drop, of the router and of the next
 * hop.
 */
static void failed_forward_is_a_drop(void **state)
{
	struct lx_nid dead = nid("10.1.0.1@tcp2");
	struct lx_stats *stats = &r1->core->stats;
	struct lx_peer_ni *pni;

	lose_the_server();
	for (int i = 0; i < 3; i++) {
		put(a, mem(a, src, 10, 1), false, "10.1.0.1@tcp2", 5, 1);
		lx_sim_run(sim, 10 * MS);
	}
	pni = lx_peer_ni_lookup(r1->core, &dead);
	assert_int_equal(stats->drop_count, 3);
	assert_int_equal(stats->drop_length, 30);
	assert_int_equal(stats->drops[LX_REASON_SEND_FAILED] + stats->drops[LX_REASON_PEER_DEAD], 3);
	assert_int_equal(pni->traffic.dropped.put, 3);
	assert_int_equal(pni->traffic.io.drop, 3);
	lx_sim_dead(sim, "10.1.0.1@tcp2", false);
}

/* Few messages try a neighbour that is lost; when one succeeds, all others follow at once. */
static void a_lost_neighbour_is_tried_once_a_second(void **state)
{
	struct lx_stats *stats = &r1->core->stats;
	unsigned int drops;

	usual_pace(); /* s says nothing by itself */
	tune(r1, "lnet_health_sensitivity", "0"); /* nor does r1 ping it */
	lose_the_server();
	for (int i = 0; i < 100; i++) {
		put(a, mem(a, src, 10, 1), false, "10.1.0.1@tcp2", 5, 1);
		lx_sim_run(sim, 50 * MS);
	}
	assert_in_range(stats->drops[LX_REASON_SEND_FAILED], 4, 7);
	assert_int_equal(stats->drops[LX_REASON_SEND_FAILED] + stats->drops[LX_REASON_PEER_DEAD],
			 100);
	lx_sim_dead(sim, "10.1.0.1@tcp2", false);
	lx_sim_run(sim, SEC);
	drops = stats->drop_count;
	log_clear();
	for (int i = 0; i < 100; i++) {
		post(s, 5, NULL, i, 0, dst, 10, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 10, 1), false, "10.1.0.1@tcp2", 5, i);
		lx_sim_run(sim, MS);
	}
	assert_int_equal(count_events(LX_EVENT_PUT), 100);
	assert_int_equal(stats->drop_count, drops);
}

/* The same for messages that the transport forwarded itself. */
static void lost_by_the_transport_is_a_drop(void **state)
{
	const struct lx_type_counts n = { .put = 2, .reply = 1 };
	struct lx_nid mine = nid("10.1.0.11@tcp2"), hop = nid("10.1.0.1@tcp2");
	struct lx_core_ni *ni = lx_ni_lookup(r1->core, &mine);

	lx_count_reset(r1->core);
	lx_lnd_lost(&ni->ni, &hop, &n, 5000, LX_HSTATUS_REMOTE_DROPPED);
	assert_int_equal(r1->core->stats.drop_count, 3);
	assert_int_equal(r1->core->stats.drop_length, 5000);
	assert_int_equal(r1->core->stats.drops[LX_REASON_SEND_FAILED], 3);
	assert_int_equal(ni->traffic.io.drop, 3);
	assert_int_equal(lx_peer_ni_lookup(r1->core, &hop)->traffic.dropped.put, 2);
	assert_int_equal(lx_peer_ni_lookup(r1->core, &hop)->traffic.dropped.reply, 1);
}

/* An answer without a route back is dropped here, and counts as a local failure. */
static void missing_return_route_is_local(void **state)
{
	struct lx_nid mine = nid("10.1.0.1@tcp2");
	struct lx_stats *stats = &s->core->stats;

	assert_true(exchange(10));
	lx_route_delete(s->core, LX_NET(2, 1), &lx_nid_any);
	lx_count_reset(s->core);
	post(s, 6, NULL, 1, 0, src, 10, LX_MD_OP_GET, 1);
	get(a, mem(a, dst, 10, 2), "10.1.0.1@tcp2", 6, 1);
	post(s, 5, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, 1);
	put(a, mem(a, src, 10, 2), true, "10.1.0.1@tcp2", 5, 1);
	lx_sim_run(sim, 100 * MS);
	assert_int_equal(stats->local_no_route_count, 2);
	assert_int_equal(stats->remote_error_count, 0);
	assert_int_equal(stats->drops[LX_REASON_NO_ROUTE], 2);
	assert_int_equal(stats->drop_count, 2);
	assert_int_equal(lx_ni_lookup(s->core, &mine)->traffic.dropped.reply, 1);
	assert_int_equal(lx_ni_lookup(s->core, &mine)->traffic.dropped.ack, 1);
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

static void illegal_types_and_lengths_close(void **state)
{
	struct lx_rx_from from = { .nid = nid("10.0.0.1@tcp1") };
	struct lx_nid mine = nid("10.0.0.11@tcp1");
	struct lx_hdr hdr = { .src_nid = from.nid, .type = LX_MSG_PUT };
	struct lx_core_ni *ni = lx_ni_lookup(r1->core, &mine);
	struct lx_msg *msg;

	hdr.dst_nid = mine;
	hdr.type = LX_MSG_HELLO;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL, &msg), -EPROTO);
	hdr.type = LX_MSG_ACK;
	hdr.payload_length = 1;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL, &msg), -EPROTO);
	hdr.type = LX_MSG_REPLY;
	hdr.payload_length = LX_PAYLOAD_MAX + 1;
	assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL, &msg), -EPROTO);
	assert_int_equal(r1->core->stats.drops[LX_REASON_BAD_LENGTH], 2);
	assert_int_equal(r1->core->stats.drops[LX_REASON_BAD_TYPE], 1);
}

/*
 * Whoever sends a message chooses what is in its header, so a neighbour cannot help which answers
 * it forwards to us: a message with names in the wrong place, ours or others', ends no connection.
 */
static void wrong_names_are_dropped(void **state)
{
	static const struct {
		const char *from, *src, *dst;
		enum lx_reason reason;
	} cases[] = {
		{ "10.0.0.1@tcp1", "10.0.0.1@tcp1", "10.1.0.11@tcp2", LX_REASON_WRONG_NET },
		{ "10.0.0.1@tcp1", "10.0.0.1@tcp1", "0@lo", LX_REASON_WRONG_NET },
		{ "10.0.0.1@tcp1", "10.0.0.11@tcp1", "10.1.0.1@tcp2", LX_REASON_OWN_NID },
		{ "10.0.0.1@tcp1", "10.1.0.11@tcp2", "10.1.0.1@tcp2", LX_REASON_OWN_NID },
		{ "10.0.0.1@tcp1", "0@lo", "10.0.0.11@tcp1", LX_REASON_OWN_NID },
		{ "10.0.0.1@tcp1", "10.1.0.11@tcp2", "10.0.0.11@tcp1", LX_REASON_OWN_NID },
		{ "10.0.0.1@tcp1", "10.0.0.1@tcp1", "10.0.0.99@tcp1", LX_REASON_MISROUTED },
		{ "10.0.0.1@tcp1", "*", "10.1.0.1@tcp2", LX_REASON_BAD_NID },
		{ "10.0.0.1@tcp1", "10.0.0.1@tcp1", "*", LX_REASON_BAD_NID },
		/* a connection to ourselves: no MD is there */
		{ "10.0.0.11@tcp1", "10.0.0.11@tcp1", "10.0.0.11@tcp1", LX_REASON_NO_MATCH },
	};
	struct lx_core_ni *ni = ni_of(r1, "10.0.0.11@tcp1");
	struct lx_msg *msg;
	uint64_t before;

	for (size_t i = 0; i < N_OF(cases); i++) {
		struct lx_rx_from from = { .nid = nid(cases[i].from) };
		struct lx_hdr hdr = { .src_nid = nid(cases[i].src), .dst_nid = nid(cases[i].dst),
				      .type = LX_MSG_PUT, .payload_length = 10,
				      .cmd.put.portal = lx_le32(5),
				      .cmd.put.ack_md = LX_WIRE_HANDLE_NONE };

		before = r1->core->stats.drops[cases[i].reason];
		assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL, &msg), LX_RX_NOW);
		assert_null(msg);
		assert_int_equal(r1->core->stats.drops[cases[i].reason], before + 1);
	}
	assert_true(exchange(10));
}

/* Anybody can write any pid: that such a process is not there costs its node nothing. */
static void no_process_is_nobodys_fault(void **state)
{
	struct lx_rx_from from = { .nid = nid("10.0.0.1@tcp1") };
	struct lx_core_ni *in = ni_of(r1, "10.0.0.11@tcp1");
	struct lx_peer_ni *server = pni_of(r1, "10.1.0.1@tcp2");
	struct lx_hdr hdr = { .src_nid = from.nid, .dst_nid = nid("10.1.0.1@tcp2"),
			      .dst_pid = LX_PID_USERFLAG | 7, .type = LX_MSG_PUT,
			      .cmd.put.ack_md = LX_WIRE_HANDLE_NONE };
	struct lx_stats *stats = &r1->core->stats;
	struct lx_msg *msg;

	lx_sim_fail(sim, "10.1.0.1@tcp2", LX_HSTATUS_REMOTE_ERROR, -EHOSTUNREACH);
	assert_int_equal(lx_lnd_parse(&in->ni, &hdr, &from, NULL, &msg), LX_RX_NOW);
	assert_non_null(msg);
	lx_lnd_finalize(msg, 0);
	lx_sim_fail(sim, "10.1.0.1@tcp2", LX_HSTATUS_OK, 0);
	assert_int_equal(stats->drops[LX_REASON_NO_PROCESS], 1);
	assert_int_equal(stats->remote_error_count, 0);
	assert_int_equal(server->health.value, LX_HEALTH_MAX);
}

/* A gateway does not take messages for its own NIDs on other nets: it gets them by the near one. */
static void a_gateways_far_nid_is_not_asked_of_it(void **state)
{
	struct lx_sim_node *r3 = NODE(sim, "10.0.0.13@tcp1", "10.9.0.13@tcp9");

	quick(r3);
	make_router(r3);
	add_route(r1, "tcp9", "10.0.0.13@tcp1", LX_UNSET, 0);
	add_route(s, "tcp9", "10.1.0.11@tcp2", LX_UNSET, 0);
	add_route(r3, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 10 * SEC);
	log_clear();
	post(r3, 6, NULL, 1, 0, src, 10, LX_MD_OP_GET, 1);
	get(s, mem(s, dst, 10, 2), "10.9.0.13@tcp9", 6, 1);
	lx_sim_run(sim, SEC);
	assert_int_equal(r3->core->stats.drops[LX_REASON_WRONG_NET], 0);
	assert_int_equal(count_events(LX_EVENT_REPLY), 1);
}

/*
 * The way back of a request is no way to a gateway's other NIDs either: a Lustre node would close
 * all our connections, because of a message in its name.
 */
static void nor_is_an_answer_to_one(void **state)
{
	struct lx_rx_from from = { .nid = nid("10.0.0.11@tcp1") };
	struct lx_core_ni *in = ni_of(a, "10.0.0.1@tcp1");
	struct lx_hdr hdr = { .src_nid = nid("10.1.0.11@tcp2"), .dst_nid = nid("10.0.0.1@tcp1"),
			      .type = LX_MSG_GET, .cmd.get.portal = lx_le32(6),
			      .cmd.get.match_bits = lx_le64(1), .cmd.get.sink_length = lx_le32(10) };
	struct lx_msg *msg;

	assert_true(exchange(10)); /* r1 and r2 are known */
	post(a, 6, NULL, 1, 0, src, 10, LX_MD_OP_GET, 1);
	assert_int_equal(lx_lnd_parse(&in->ni, &hdr, &from, NULL, &msg), LX_RX_NOW);
	assert_non_null(msg);
	lx_lnd_finalize(msg, 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(r1->core->stats.drops[LX_REASON_WRONG_NET], 0);
}

/* A message in the name of a peer that may be somebody else's shows nothing. */
static void stranger_is_no_sign_of_life(void **state)
{
	struct lx_core_ni *in = ni_of(r1, "10.0.0.11@tcp1");
	struct lx_peer_ni *client = pni_of(r1, "10.0.0.1@tcp1");
	struct lx_hdr hdr = { .src_nid = client->nid, .dst_nid = in->ni.nid, .type = LX_MSG_GET,
			      .cmd.get.portal = lx_le32(5) };
	struct lx_rx_from from = { .nid = client->nid, .stranger = true };
	struct lx_offloaded offloaded = { .received.put = 7, .src_net = lx_nid_net(&client->nid),
					  .stranger = true };
	uint64_t received = client->traffic.received.put;
	uint64_t alive_ns = client->last_alive_ns;
	struct lx_msg *msg;

	lx_peer_ni_set_down(r1->core, client, LX_DOWN_LOST, -ETIMEDOUT);
	assert_int_equal(lx_lnd_parse(&in->ni, &hdr, &from, NULL, &msg), LX_RX_NOW);
	assert_int_equal(client->status, LX_NI_STATUS_DOWN);
	assert_int_equal(client->last_alive_ns, alive_ns);
	lx_lnd_offloaded(&in->ni, &client->nid, &offloaded);
	assert_int_equal(client->status, LX_NI_STATUS_DOWN);
	assert_int_equal(client->traffic.received.put, received + 7);
	from.stranger = offloaded.stranger = false;
	assert_int_equal(lx_lnd_parse(&in->ni, &hdr, &from, NULL, &msg), LX_RX_NOW);
	assert_int_equal(client->status, LX_NI_STATUS_UP);
	lx_peer_ni_set_down(r1->core, client, LX_DOWN_LOST, -ETIMEDOUT);
	lx_lnd_offloaded(&in->ni, &client->nid, &offloaded);
	assert_int_equal(client->status, LX_NI_STATUS_UP);
}

/* A router has no credits for previous hops on other nets: their messages would wait for ever. */
static void previous_hop_on_another_net_closes(void **state)
{
	static const char *const hops[] = { "10.9.9.9@tcp9", "0@lo" };
	struct lx_core_ni *ni = ni_of(r1, "10.0.0.11@tcp1");
	struct lx_hdr hdr = { .src_nid = nid("10.9.9.9@tcp9"), .dst_nid = nid("10.1.0.1@tcp2"),
			      .type = LX_MSG_PUT, .cmd.put.ack_md = LX_WIRE_HANDLE_NONE };
	struct lx_msg *msg;

	for (size_t i = 0; i < N_OF(hops); i++) {
		struct lx_rx_from from = { .nid = nid(hops[i]) };

		assert_int_equal(lx_lnd_parse(&ni->ni, &hdr, &from, NULL, &msg), -EPROTO);
	}
	assert_int_equal(r1->core->stats.drops[LX_REASON_BAD_NID], N_OF(hops));
}

static void buffers_are_a_limit(void **state)
{
	const int64_t few[LX_POOLS] = { 1, 1, 1 };
	struct lx_pool *pool = &r1->core->pool[LX_POOL_LARGE];

	lx_monitor_route(r2->core, false, false);
	lx_sim_run(sim, 20 * SEC);
	assert_int_equal(lx_credit_pools_resize(r1->core, few), 0);
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

		assert_int_equal(lx_credit_pools_resize(rnd_below(2) ? r1->core : r2->core, sizes),
				 0);
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
	assert_true(exchange(10)); /* now all nodes know each other */
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
		ROUTE_TEST(crosses),
		ROUTE_TEST(no_router_drops),
		ROUTE_TEST(two_routers_do_not_circle),
		ROUTE_TEST(another_gateway_is_taken_instead),
		ROUTE_TEST(longer_circle_is_found),
		ROUTE_TEST(repeated_header_is_no_circle),
		ROUTE_TEST(circle_is_found_from_within),
		ROUTE_TEST(unroutable_is_dropped_by_the_router),
		ROUTE_TEST(a_missing_route_is_logged),
		ROUTE_TEST(failed_forward_is_a_drop),
		ROUTE_TEST(a_lost_neighbour_is_tried_once_a_second),
		ROUTE_TEST(lost_by_the_transport_is_a_drop),
		ROUTE_TEST(missing_return_route_is_local),
		ROUTE_TEST(asymmetric_route_is_dropped),
		ROUTE_TEST(illegal_types_and_lengths_close),
		ROUTE_TEST(wrong_names_are_dropped),
		ROUTE_TEST(no_process_is_nobodys_fault),
		ROUTE_TEST(stranger_is_no_sign_of_life),
		ROUTE_TEST(a_gateways_far_nid_is_not_asked_of_it),
		ROUTE_TEST(nor_is_an_answer_to_one),
		ROUTE_TEST(previous_hop_on_another_net_closes),
		ROUTE_TEST(buffers_are_a_limit),
		ROUTE_TEST(resizing_under_load),
		ROUTE_TEST(redirects_to_a_live_nid),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: forwarding", tests, NULL, NULL);
}
