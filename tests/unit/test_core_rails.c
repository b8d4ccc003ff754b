/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random nodes with several rails and gateways between them, which die and come back while
 * operations are under way, in virtual time. Meanwhile admins add and delete policies, peers,
 * routes, NIs and fault rules, links go down, and some worlds stop in the middle.
 *
 *	clients, 1 to 3 NIs on tcp1 ── 0 to 3 routers ── servers, 1 to 3 NIs on tcp2 or tcp1
 *
 * Whatever happens, these hold:
 * - an operation ends exactly once, by its deadline, with the right status: 0 means that the
 *   data arrived intact, an error that no answer came;
 * - a target gets a PUT at most once;
 * - messages that can get through do: in a "provable" world one rail and one gateway stay
 *   alive, and every fault proves that the message did not arrive. There all operations succeed;
 * - when all is quiet every credit and buffer is back, and all NIs have recovered.
 */
#include "simlib.h"

#include <errno.h>

#include "../../user/core/fault.h"
#include "../../user/core/health.h"
#include "../../user/core/peer.h"
#include "../../user/core/recovery.h"
#include "../../user/core/udsp.h"

#define OPS_DEFAULT 100000
#define OPS_PER_WORLD 500
#define NODES_MAX 8
#define NIS_MAX 3
#define LEN_MAX 256
#define TIMEOUT_S 20

enum op_kind { OP_PUT, OP_PUT_ACK, OP_GET };

struct op {
	enum op_kind kind;
	size_t len;
	unsigned int ends, arrivals;
	int status;
	bool answered, sent;
	uint64_t start_ns, end_ns;
	char src[LEN_MAX], dst[LEN_MAX];
};

struct node {
	struct lx_sim_node *sim;
	char nid[NIS_MAX][64];
	unsigned int n_nids;
	bool dead[NIS_MAX];
	int peer_credits, credits;
};

static struct lx_sim *sim;
static struct node clients[NODES_MAX], servers[NODES_MAX], routers[NODES_MAX];
static unsigned int n_clients, n_servers, n_routers;
static bool provable; /* all operations must succeed; see above */
static struct op ops[OPS_PER_WORLD];
static unsigned int n_ops;
static unsigned long total, total_ok, total_must, total_resent, total_saved, total_stopped,
	total_checked;

/* ---- the application ------------------------------------------------------------- */

/* An operation ended: with its answer, or without one. */
static void op_end(struct op *op, int status)
{
	op->ends++;
	op->status = status;
	op->end_ns = lx_sim_now(sim);
	if (status)
		return;
	if (op->kind == OP_GET)
		assert_memory_equal(op->dst, op->src, op->len);
	if (op->kind == OP_PUT_ACK)
		assert_int_equal(op->arrivals, 1);
}

static void on_initiator(const struct lx_event *event)
{
	struct op *op = event->user;

	if (event->type == LX_EVENT_SEND) {
		assert_false(op->sent);
		op->sent = true;
	} else if (event->type != LX_EVENT_UNLINK) {
		assert_false(op->answered);
		op->answered = true;
		assert_int_not_equal(op->kind, OP_PUT);
	}
	if (event->unlinked) {
		bool ok = op->kind == OP_PUT ? op->sent : op->answered;

		op_end(op, event->status ? event->status : ok ? 0 : -EIO);
	}
}

static void on_target(const struct lx_event *event)
{
	struct op *op = event->user;

	if (event->type == LX_EVENT_UNLINK || event->status)
		return;
	assert_int_equal(event->mlength, op->len);
	if (event->type != LX_EVENT_PUT)
		return;
	op->arrivals++;
	assert_memory_equal(op->dst, op->src, op->len);
}

/* A target that would accept a second PUT, to prove that none arrives. */
static void attach(struct lx_core *core, struct op *op)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = op->kind == OP_GET ? op->src : op->dst,
		.length = op->len, .threshold = LX_MD_UNLIMITED, .handler = on_target,
		.user = op, .options = LX_MD_MANAGE_REMOTE |
				       (op->kind == OP_GET ? LX_MD_OP_GET : LX_MD_OP_PUT),
	};
	struct lx_me *me;
	struct lx_md *md;

	assert_int_equal(lx_portal_attach(core, 20, &anyone, op - ops + 1, 0, LX_UNLINK,
					  LX_ME_AFTER, &me), 0);
	assert_int_equal(lx_md_new(core, me, &desc, LX_UNLINK, &md), 0);
}

static void start_op(void)
{
	struct node *from = &clients[rnd_below(n_clients)], *to = &servers[rnd_below(n_servers)];
	struct op *op = &ops[n_ops++];
	struct lx_md_desc desc = { .handler = on_initiator, .user = op };
	struct lx_id target = id(to->nid[0]);
	struct lx_md *md;

	memset(op, 0, sizeof(*op));
	op->kind = rnd_below(3);
	op->len = 1 + rnd_below(LEN_MAX);
	op->start_ns = lx_sim_now(sim);
	rnd_fill(op->src, op->len);
	attach(to->sim->core, op);
	desc.start = op->kind == OP_GET ? op->dst : op->src;
	desc.length = op->len;
	desc.threshold = op->kind == OP_PUT ? 1 : 2;
	assert_int_equal(lx_md_new(from->sim->core, NULL, &desc, LX_UNLINK, &md), 0);
	if (op->kind == OP_GET)
		assert_int_equal(lx_msg_get(from->sim->core, NULL, md, &target, 20, op - ops + 1,
					    0, false), 0);
	else
		assert_int_equal(lx_msg_put(from->sim->core, NULL, md, op->kind == OP_PUT_ACK,
					    &target, 20, op - ops + 1, 0, 0, false), 0);
}

/* ---- the world --------------------------------------------------------------------- */

static int ni_add(struct node *node, unsigned int i)
{
	return lx_sim_ni_add(node->sim, node->nid[i], node->peer_credits, node->credits);
}

static void node_make(struct node *node, unsigned int number, const unsigned int *nets,
		      unsigned int n)
{
	/* Few, so that messages wait for them. */
	*node = (struct node){ .n_nids = n, .peer_credits = 1 + rnd_below(8) };
	node->credits = node->peer_credits + (rnd_below(2) ? 0 : 64);
	assert_int_equal(lx_sim_node_new(sim, &node->sim), 0);
	for (unsigned int i = 0; i < n; i++) {
		snprintf(node->nid[i], sizeof(node->nid[i]), "10.%u.%u.%u@tcp%u", nets[i], i,
			 number, nets[i]);
		assert_int_equal(ni_add(node, i), 0);
	}
	tune(node->sim, "alive_router_check_interval", "3");
	tune(node->sim, "router_ping_timeout", "2");
	tune(node->sim, "lnet_transaction_timeout", "20");
	/* One attempt per rail or gateway that can exist, plus one. */
	tune(node->sim, "lnet_retry_count", "6");
	tune(node->sim, "lnet_max_recovery_ping_interval", "4");
}

static void make_ends(struct node *list, unsigned int n, unsigned int first, unsigned int net)
{
	const unsigned int nets[NIS_MAX] = { net, net, net };

	for (unsigned int i = 0; i < n; i++)
		node_make(&list[i], first + i, nets, 1 + rnd_below(NIS_MAX));
}

static void add_routes(struct node *list, unsigned int n, const char *net, unsigned int side)
{
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int r = 0; r < n_routers; r++)
			add_route(list[i].sim, net, routers[r].nid[side], LX_UNSET, 0);
	}
}

static void make_world(void)
{
	static const unsigned int both[] = { 1, 2 };

	n_clients = 1 + rnd_below(3);
	n_servers = 1 + rnd_below(3);
	n_routers = rnd_below(4);
	provable = rnd_below(2);
	make_ends(clients, n_clients, 10, 1);
	make_ends(servers, n_servers, 20, n_routers ? 2 : 1);
	for (unsigned int i = 0; i < n_routers; i++) {
		node_make(&routers[i], 30 + i, both, 2);
		make_router(routers[i].sim);
	}
	add_routes(clients, n_clients, "tcp2", 0);
	add_routes(servers, n_servers, "tcp1", 1);
	/* The sender does not learn of losses there. */
	lx_sim_knobs(sim)->buffered = provable ? 0 : rnd_below(2) * 500;
	lx_sim_knobs(sim)->rdma_get = rnd_below(2);
	lx_sim_knobs(sim)->conns = 1 + rnd_below(3);
	lx_sim_knobs(sim)->delay_min_ns = 10000;
	lx_sim_knobs(sim)->delay_max_ns = 10000 + rnd_below(2 * MS);
	lx_sim_run(sim, 5 * SEC);
}

static void set_dead(struct node *node, unsigned int i, bool dead)
{
	node->dead[i] = dead;
	lx_sim_dead(sim, node->nid[i], dead);
}

/* In a provable world the first NI stays alive, so there is always a path. */
static void disturb_end(struct node *node)
{
	unsigned int i = rnd_below(node->n_nids);

	if (provable && (!i || n_routers))
		return;
	set_dead(node, i, rnd_below(2));
}

/* A router dies or returns as a whole; in a provable world the first one stays. */
static void disturb_router(void)
{
	unsigned int r = rnd_below(n_routers);
	bool dead = rnd_below(2);

	if (provable && !r)
		return;
	set_dead(&routers[r], 0, dead);
	set_dead(&routers[r], 1, dead);
}

/* Local faults, on one NI of a client that has others. */
static void disturb_local(void)
{
	static const enum lx_hstatus how[] = { LX_HSTATUS_LOCAL_DROPPED, LX_HSTATUS_LOCAL_ABORTED,
					       LX_HSTATUS_LOCAL_TIMEOUT };
	struct node *node = &clients[rnd_below(n_clients)];
	unsigned int i = rnd_below(node->n_nids);

	if (!i)
		return;
	lx_sim_fail_from(sim, node->nid[i],
			 rnd_below(2) ? how[rnd_below(N_OF(how))] : LX_HSTATUS_OK, -ENETDOWN);
}

/* Faults that do not tell whether a message arrived: silence, broken connections. */
static void disturb_badly(void)
{
	struct node *node = &servers[rnd_below(n_servers)];

	lx_sim_mute(sim, node->nid[rnd_below(node->n_nids)], rnd_below(3) == 0);
	lx_sim_knobs(sim)->failure = rnd_below(3) ? 0 : rnd_below(30);
	lx_sim_knobs(sim)->loss = rnd_below(3) ? 0 : rnd_below(30);
}

/* ---- what admins do --------------------------------------------------------------------- */

static struct node *some_end(void)
{
	return rnd_below(2) ? &clients[rnd_below(n_clients)] : &servers[rnd_below(n_servers)];
}

static const char *some_nid(const struct node *node)
{
	return node->nid[rnd_below(node->n_nids)];
}

/* Policies of any form. Whatever they prefer, messages with a path get through. */
static void change_policies(struct node *node)
{
	struct lx_conf_udsp conf = { .index = LX_UNSET };
	const struct node *peer = &servers[rnd_below(n_servers)];

	if (rnd_below(3) == 0) {
		(void)lx_udsp_delete(node->sim->core, rnd_below(2) ? LX_UNSET : 0);
		return;
	}
	conf.priority = rnd_below(3) ? (int64_t)rnd_below(3) : LX_UNSET;
	if (rnd_below(2))
		snprintf(conf.src, sizeof(conf.src), "%s", some_nid(node));
	if (!conf.src[0] || rnd_below(2))
		snprintf(conf.dst, sizeof(conf.dst), "%s", some_nid(peer));
	if (!conf.src[0] && n_routers && rnd_below(2))
		snprintf(conf.rte, sizeof(conf.rte), "%s", routers[rnd_below(n_routers)].nid[0]);
	(void)lx_udsp_new(node->sim->core, &conf); /* may exist already */
}

/* Deletes a peer during resends and discovery. Messages that wait for it fail. */
static void forget_peer(struct node *node)
{
	const struct lx_conf_peer conf = {
		.primary = nid(servers[rnd_below(n_servers)].nid[0]),
	};

	(void)lx_peerconf_del(node->sim->core, &conf, true); /* may be unknown, or itself */
}

/*
 * A local fault on what an NI sends, or messages that wait: with their credits, so that others
 * wait, too, and router checks may be late.
 */
static void change_faults(struct node *node)
{
	unsigned int i = rnd_below(node->n_nids);
	bool delay = !provable && rnd_below(2);
	struct lx_fault_rule rule = {
		.src = lx_nid_any,
		.dst = lx_nid_any,
		.local = nid(node->nid[i]),
		.delay = delay,
		.rate = 1 + rnd_below(4),
		.latency_ms = delay ? 1 + rnd_below(500) : 0,
		.hstatuses = delay ? 0 : 1u << LX_HSTATUS_LOCAL_DROPPED,
	};

	if (rnd_below(2))
		(void)lx_core_fault_del(node->sim->core, delay, &lx_nid_any, &lx_nid_any);
	else if (delay || i)
		assert_int_equal(lx_core_fault_add(node->sim->core, &rule), 0);
}

/* A link goes down, or comes back, while messages of its NI wait for credits. */
static void change_link(struct node *node)
{
	unsigned int i = rnd_below(node->n_nids);
	struct lx_nid own = nid(node->nid[i]);
	struct lx_core_ni *ni = lx_ni_lookup(node->sim->core, &own);
	bool down = rnd_below(2);

	if (!i || !ni)
		return;
	lx_sim_fail_from(sim, node->nid[i], down ? LX_HSTATUS_LOCAL_DROPPED : LX_HSTATUS_OK,
			 -ENETDOWN);
	lx_lnd_link(&ni->ni, down ? LX_DOWN_CARRIER : LX_DOWN_NO);
}

static void change_ni(struct node *node)
{
	unsigned int i = rnd_below(node->n_nids);
	struct lx_nid own = nid(node->nid[i]);

	if (!i)
		return;
	if (lx_ni_lookup(node->sim->core, &own))
		lx_sim_ni_del(node->sim, node->nid[i]);
	else
		(void)ni_add(node, i); /* may still be stopping */
}

static void change_route(struct node *node)
{
	struct lx_nid gateway = nid(routers[rnd_below(n_routers)].nid[0]);
	struct lx_conf_route conf = {
		.net = LX_NET(LX_NET_TCP, 2),
		.gateway = gateway,
		.hop = LX_UNSET,
		.priority = rnd_below(3),
		.health_sensitivity = LX_UNSET,
	};

	if (rnd_below(2))
		(void)lx_route_delete(node->sim->core, conf.net, &gateway);
	else
		(void)lx_route_new(node->sim->core, &conf);
}

static void change_tunables(struct node *node)
{
	static const char *const sensitivities[] = { "0", "1", "100", "1000" };

	tune(node->sim, "lnet_health_sensitivity", sensitivities[rnd_below(4)]);
	tune(node->sim, "lnet_retry_count", "6"); /* sensitivity 0 cleared it */
	tune(node->sim, "lnet_transaction_timeout", rnd_below(2) ? "10" : "20");
}

/* A router stops routing, or starts again, with messages in its buffers. */
static void change_routing(struct node *router)
{
	assert_int_equal(lx_monitor_route(router->sim->core, rnd_below(2), rnd_below(2)), 0);
}

static void disturb_as_admin(void)
{
	struct node *client = &clients[rnd_below(n_clients)];

	switch (rnd_below(provable ? 3 : 8)) {
	case 0:
		change_policies(client);
		break;
	case 1:
		change_faults(client);
		break;
	case 2:
		change_link(client);
		break;
	case 3:
		forget_peer(client);
		break;
	case 4:
		change_ni(some_end());
		break;
	case 5:
		if (n_routers)
			change_route(client);
		break;
	case 6:
		change_tunables(some_end());
		break;
	case 7:
		if (n_routers)
			change_routing(&routers[rnd_below(n_routers)]);
		break;
	}
}

static void undo_admin(struct node *node)
{
	struct lx_core *core = node->sim->core;

	(void)lx_core_fault_del(core, true, &lx_nid_any, &lx_nid_any);
	(void)lx_core_fault_del(core, false, &lx_nid_any, &lx_nid_any);
	tune(node->sim, "lnet_health_sensitivity", "100");
	tune(node->sim, "lnet_retry_count", "6");
	tune(node->sim, "lnet_transaction_timeout", "20");
	for (unsigned int i = 0; i < node->n_nids; i++) {
		struct lx_nid own = nid(node->nid[i]);
		struct lx_core_ni *ni = lx_ni_lookup(core, &own);

		if (ni)
			lx_lnd_link(&ni->ni, LX_DOWN_NO);
		else
			assert_int_equal(ni_add(node, i), 0);
	}
}

static void disturb(void)
{
	switch (rnd_below(5)) {
	case 0:
		disturb_end(&servers[rnd_below(n_servers)]);
		break;
	case 1:
		if (n_routers)
			disturb_router();
		break;
	case 2:
		disturb_local();
		break;
	case 3:
		if (!provable)
			disturb_badly();
		break;
	case 4:
		disturb_as_admin();
		break;
	}
}

static void heal(struct node *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int j = 0; j < list[i].n_nids; j++) {
			set_dead(&list[i], j, false);
			lx_sim_mute(sim, list[i].nid[j], false);
			lx_sim_fail_from(sim, list[i].nid[j], LX_HSTATUS_OK, 0);
		}
	}
}

/* ---- what has to hold ----------------------------------------------------------------- */

static void check_op(const struct op *op)
{
	assert_int_equal(op->ends, 1);
	assert_true(op->arrivals <= 1);
	/* Its deadline, plus the second in which it is checked. */
	assert_in_range(op->end_ns - op->start_ns, 0, (TIMEOUT_S + 2) * SEC);
	if (op->status && op->kind == OP_PUT)
		assert_int_equal(op->arrivals, 0);
	if (provable && op->status)
		fail_msg("operation %d of kind %d at %llu ms: %s, although there was a path",
			 (int)(op - ops), op->kind, (unsigned long long)(op->start_ns / MS),
			 strerror(-op->status));
	total_ok += !op->status;
	total_must += provable;
	total_checked++;
}

static void check_nodes(struct node *list, unsigned int n)
{
	struct lx_recovery_info *left;
	size_t n_left;

	for (unsigned int i = 0; i < n; i++) {
		const struct lx_stats *stats = &list[i].sim->core->stats;

		assert_at_rest(list[i].sim);
		assert_int_equal(lx_recovery_describe(list[i].sim->core, &left, &n_left), 0);
		for (size_t j = 0; j < n_left; j++)
			print_error("%s has %s at %u after %u pings\n", list[i].nid[0],
				    lx_nid_str(&left[j].nid), left[j].value, left[j].ping_count);
		free(left);
		assert_int_equal(n_left, 0);
		assert_true(stats->successful_resends + stats->failed_resends <=
			    stats->resend_count);
		total_resent += stats->resend_count;
		total_saved += stats->successful_resends;
	}
}

/* The nodes stop with operations in flight: each one still ends. */
static void stop_all(void)
{
	lx_sim_free(sim);
	for (unsigned int i = 0; i < n_ops; i++) {
		assert_int_equal(ops[i].ends, 1);
		assert_true(ops[i].arrivals <= 1);
	}
	total += n_ops;
	total_stopped++;
}

static void one_world(void)
{
	unsigned int pace = 1 + rnd_below(60);

	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	n_ops = 0;
	make_world();
	while (n_ops < OPS_PER_WORLD) {
		start_op();
		if (rnd_below(pace) == 0)
			disturb();
		lx_sim_run(sim, rnd_below(20) ? rnd_below(5 * MS) : rnd_below(2 * SEC));
	}
	if (rnd_below(4) == 0) {
		stop_all();
		return;
	}
	heal(clients, n_clients);
	heal(servers, n_servers);
	heal(routers, n_routers);
	lx_sim_knobs(sim)->loss = lx_sim_knobs(sim)->failure = 0;
	lx_sim_run(sim, 30 * SEC);
	for (unsigned int i = 0; i < n_clients; i++)
		undo_admin(&clients[i]);
	for (unsigned int i = 0; i < n_servers; i++)
		undo_admin(&servers[i]);
	for (unsigned int i = 0; i < n_routers; i++) {
		assert_int_equal(lx_monitor_route(routers[i].sim->core, true, true), 0);
	}
	lx_sim_run(sim, 180 * SEC);
	for (unsigned int i = 0; i < n_clients; i++)
		tune(clients[i].sim, "alive_router_check_interval", "100000");
	for (unsigned int i = 0; i < n_servers; i++)
		tune(servers[i].sim, "alive_router_check_interval", "100000");
	/* The last check was due already, and its pushes take a moment. */
	lx_sim_run(sim, 10 * SEC + 500 * MS);
	for (unsigned int i = 0; i < n_ops; i++)
		check_op(&ops[i]);
	check_nodes(clients, n_clients);
	check_nodes(servers, n_servers);
	total += n_ops;
	lx_sim_free(sim);
}

static void rails_and_gateways(void **state)
{
	const char *env = getenv("LNETX_OPS");
	unsigned long wanted = env ? strtoul(env, NULL, 10) : OPS_DEFAULT;
	unsigned long worlds = 0;

	for (; total < wanted; worlds++) {
		rnd_case("rails_and_gateways", worlds);
		one_world();
	}
	rnd_case(NULL, 0);
	printf("rails_and_gateways: %lu worlds, %lu operations: %lu succeeded, among them all %lu "
	       "that had a path; %lu resends, %lu messages got through by them; %lu worlds stopped\n",
	       worlds, total, total_ok, total_must, total_resent, total_saved, total_stopped);
	assert_true(total_ok > total_checked / 2);
	assert_true(total_must > total_checked / 10);
	assert_true(total_saved > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rails_and_gateways),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: rails and gateways", tests, NULL, NULL);
}
