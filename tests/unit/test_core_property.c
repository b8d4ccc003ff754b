/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random nodes, routers and applications on random schedules, with loss, broken connections,
 * reordering and changes of the configuration under load.
 *
 * Invariants:
 * - an operation ends with the right events, each at most once;
 * - data arrives as it was sent, byte for byte, and an ACK or REPLY means that it has arrived;
 * - when all is quiet, every credit and buffer is back, and no message is left.
 */
#include "simlib.h"

#include "../../user/base/log.h"

#define NODES 6
#define OPS 400
#define SLOT 16384

enum op_kind { OP_PUT, OP_PUT_ACK, OP_GET };

struct op {
	enum op_kind kind;
	size_t len;
	uint64_t bits;
	bool sent, answered, unlinked, arrived;
	int error;
	char src[SLOT], dst[SLOT];
};

struct node {
	struct lx_sim_node *sim;
	char nid[2][64];
	int n_nids;
	bool router;
};

static struct lx_sim *sim;
static struct node nodes[NODES];
static struct op *ops;
static unsigned int n_ops;
static unsigned long total_ops, total_answered, total_failed, total_forwarded;

/* ---- the application ------------------------------------------------------------- */

static void on_initiator(const struct lx_event *event)
{
	struct op *op = event->user;

	assert_false(op->unlinked); /* no event after the unlink */
	switch (event->type) {
	case LX_EVENT_SEND:
		assert_false(op->sent);
		op->sent = true;
		break;
	case LX_EVENT_ACK:
		assert_int_equal(op->kind, OP_PUT_ACK);
		assert_false(op->answered);
		op->answered = !event->status;
		if (op->answered)
			assert_true(op->arrived);
		break;
	case LX_EVENT_REPLY:
		assert_int_equal(op->kind, OP_GET);
		assert_false(op->answered);
		op->answered = !event->status;
		if (op->answered) {
			assert_int_equal(event->mlength, op->len);
			assert_memory_equal(op->dst, op->src, op->len);
		}
		break;
	case LX_EVENT_UNLINK:
		break;
	default:
		fail();
	}
	if (event->status && !op->error)
		op->error = event->status;
	op->unlinked = event->unlinked;
}

static void on_target(const struct lx_event *event)
{
	struct op *op = event->user;

	if (event->type == LX_EVENT_UNLINK || event->status)
		return;
	assert_int_equal(event->mlength, op->len);
	assert_int_equal(event->match_bits, op->bits);
	if (event->type == LX_EVENT_PUT) {
		assert_false(op->arrived);
		op->arrived = true;
		assert_memory_equal(op->dst, op->src, op->len);
	}
}

static struct lx_md *attach(struct lx_core *core, struct op *op)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = op->kind == OP_GET ? op->src : op->dst,
		.length = op->len, .threshold = 1, .handler = on_target, .user = op,
		.options = op->kind == OP_GET ? LX_MD_OP_GET : LX_MD_OP_PUT,
	};
	struct lx_me *me;
	struct lx_md *md;

	assert_int_equal(lx_portal_attach(core, 20, &anyone, op->bits, 0, LX_UNLINK, LX_ME_AFTER,
					  &me), 0);
	assert_int_equal(lx_md_new(core, me, &desc, LX_UNLINK, &md), 0);
	return md;
}

static void start_op(void)
{
	struct node *from = &nodes[rnd_below(NODES)], *to = &nodes[rnd_below(NODES)];
	const char *where = to->nid[rnd_below(to->n_nids)];
	struct op *op = &ops[n_ops];
	struct lx_md_desc desc = { .handler = on_initiator, .user = op };
	struct lx_id target = id(where);
	struct lx_md *md;
	int r;

	if (n_ops == OPS)
		return;
	n_ops++;
	memset(op, 0, offsetof(struct op, src));
	op->kind = rnd_below(3);
	op->len = rnd_below(4) ? rnd_below(SLOT) : rnd_below(3) * 2048;
	op->bits = n_ops;
	rnd_fill(op->src, op->len);
	memset(op->dst, 0xaa, op->len);
	attach(to->sim->core, op);
	if (op->kind == OP_GET)
		desc.start = op->dst;
	else
		desc.start = op->src;
	desc.length = op->len;
	desc.threshold = op->kind == OP_PUT ? 1 : 2;
	assert_int_equal(lx_md_new(from->sim->core, NULL, &desc, LX_UNLINK, &md), 0);
	if (op->kind == OP_GET)
		r = lx_msg_get(from->sim->core, NULL, md, &target, 20, op->bits, 0, false);
	else
		r = lx_msg_put(from->sim->core, NULL, md, op->kind == OP_PUT_ACK, &target, 20,
			       op->bits, 0, 0, false);
	assert_int_equal(r, 0);
	if (rnd_below(50) == 0) {
		/* The application cancels an operation. */
		md = NULL;
		for (struct lx_list *l = from->sim->core->msgs.next;
		     l != &from->sim->core->msgs && !md; l = l->next)
			md = lx_container_of(l, struct lx_core_msg, all)->md;
		if (md && !md->internal && md->handler == on_initiator)
			lx_md_retire(md);
	}
}

/* ---- the world ---------------------------------------------------------------------- */

static void random_knobs(void)
{
	struct lx_sim_knobs *k = lx_sim_knobs(sim);

	k->delay_min_ns = rnd_below(100000);
	k->delay_max_ns = k->delay_min_ns + rnd_below(5 * MS);
	k->conns = 1 + rnd_below(4);
	k->loss = rnd_below(4) ? 0 : rnd_below(100);
	k->failure = rnd_below(4) ? 0 : rnd_below(50);
	k->buffered = rnd_below(1001);
	k->rdma_get = rnd_below(2);
}

static void make_nodes(void)
{
	for (int i = 0; i < NODES; i++) {
		struct node *n = &nodes[i];

		n->router = i < 2;
		n->n_nids = 1 + (n->router || rnd_below(3) == 0);
		assert_int_equal(lx_sim_node_new(sim, &n->sim), 0);
		for (int j = 0; j < n->n_nids; j++) {
			/* Routers are on both nets; others on one, perhaps twice. */
			int net = n->router ? j : i % 2;

			snprintf(n->nid[j], sizeof(n->nid[j]), "10.%d.%d.%d@tcp%d", net, j, i + 1,
				 net + 1);
			assert_int_equal(lx_sim_ni_add(n->sim, n->nid[j], 1 + rnd_below(8),
						       8 + rnd_below(250)), 0);
		}
		tune(n->sim, "alive_router_check_interval", "3");
		tune(n->sim, "router_ping_timeout", "2");
		tune(n->sim, "lnet_transaction_timeout", "20");
		if (rnd_below(8) == 0)
			tune(n->sim, "lnet_peer_discovery_disabled", "1");
	}
	for (int i = 0; i < NODES; i++) {
		struct node *n = &nodes[i];

		if (n->router) {
			make_router(n->sim);
			continue;
		}
		for (int r = 0; r < 2; r++)
			add_route(n->sim, i % 2 ? "tcp1" : "tcp2", nodes[r].nid[i % 2],
				  rnd_below(2) ? 1 : LX_UNSET, rnd_below(2));
	}
}

static void disturb(void)
{
	struct node *n = &nodes[rnd_below(NODES)];
	const char *text = n->nid[rnd_below(n->n_nids)];
	struct lx_nid which = nid(text);

	switch (rnd_below(7)) {
	case 0:
		random_knobs();
		break;
	case 1:
		lx_sim_dead(sim, text, true);
		break;
	case 2:
		lx_sim_dead(sim, text, false);
		break;
	case 3: {
		const int64_t sizes[LX_POOLS] = { 1 + rnd_below(8), 1 + rnd_below(8),
						  1 + rnd_below(8) };

		assert_int_equal(lx_credit_pools_resize(n->sim->core, sizes), 0);
		break;
	}
	case 4:
		if (n->router)
			lx_monitor_route(n->sim->core, rnd_below(2), rnd_below(2));
		break;
	case 5:
		if (!n->router && n->n_nids == 2 && lx_ni_lookup(n->sim->core, &which))
			lx_sim_ni_del(n->sim, text);
		break;
	case 6:
		if (!lx_ni_lookup(n->sim->core, &which))
			assert_int_equal(lx_sim_ni_add(n->sim, text, 8, 256), 0);
		break;
	}
}

static void quiet_down(void)
{
	struct lx_sim_knobs *k = lx_sim_knobs(sim);

	k->loss = k->failure = 0;
	for (int i = 0; i < NODES; i++) {
		for (int j = 0; j < nodes[i].n_nids; j++)
			lx_sim_dead(sim, nodes[i].nid[j], false);
		/* Check when no ping of the core is in flight. */
		tune(nodes[i].sim, "alive_router_check_interval", "100000");
	}
	lx_sim_run(sim, 60 * SEC + 500 * MS);
}

static void check_ops(void)
{
	for (unsigned int i = 0; i < n_ops; i++) {
		const struct op *op = &ops[i];

		total_ops++;
		total_answered += op->answered;
		total_failed += op->error != 0;
		/* Complete: sent and answered, failed, or unlinked by the user. */
		if (op->kind == OP_PUT)
			assert_true(op->sent || op->error || op->unlinked);
		else
			assert_true(op->answered || op->error || op->unlinked);
	}
}

static void one_world(void **state)
{
	ops = malloc(OPS * sizeof(*ops));
	assert_non_null(ops);
	for (int world = 0; world < 60; world++) {
		const struct lx_sim_knobs knobs = sim_plain;
		uint64_t seed = rnd();

		rnd_case("one_world", world);
		n_ops = 0;
		assert_int_equal(lx_sim_new(seed, &knobs, &sim), 0);
		make_nodes();
		lx_sim_run(sim, 5 * SEC);
		random_knobs();
		for (int i = 0; i < 600; i++) {
			start_op();
			if (rnd_below(20) == 0)
				disturb();
			lx_sim_run(sim, rnd_below(30) ? rnd_below(MS) : rnd_below(3 * SEC));
		}
		quiet_down();
		check_ops();
		for (int i = 0; i < NODES; i++) {
			assert_at_rest(nodes[i].sim);
			total_forwarded += nodes[i].sim->core->stats.route_count;
		}
		lx_sim_free(sim);
	}
	rnd_case(NULL, 0);
	free(ops);
	printf("one_world: 60 worlds, %lu operations: %lu answered, %lu failed; %lu messages forwarded\n",
	       total_ops, total_answered, total_failed, total_forwarded);
	assert_true(total_answered > total_ops / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_world),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: properties", tests, NULL, NULL);
}
