/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lstworld.h"

#include <errno.h>

struct lx_sim *lst_sim;
struct lst_node lst_node[LST_NODES_MAX];
static unsigned int n_nodes;
static uint64_t next_id;
static bool ticking;

static bool may_console(const struct lx_nid *who, void *arg)
{
	const struct lst_node *n = arg;
	struct lx_nid only;

	if (!n->console)
		return true;
	only = nid(n->console);
	return lx_nid_eq(who, &only);
}

static void note(const char *line, void *arg)
{
	struct lst_node *n = arg;

	n->notes++;
	snprintf(n->note, sizeof(n->note), "%s", line);
}

static uint64_t now_ns(void *arg)
{
	return lx_sim_now(lst_sim);
}

static void tick(void *arg)
{
	for (unsigned int i = 0; i < n_nodes; i++) {
		if (lst_node[i].s)
			lx_selftest_tick(lst_node[i].s);
	}
	if (ticking)
		lx_sim_at(lst_sim, SEC, tick, NULL);
}

void lst_world_begin(const struct lx_sim_knobs *knobs)
{
	assert_int_equal(lx_sim_new(rnd(), knobs, &lst_sim), 0);
	log_clear();
	n_nodes = 0;
	next_id = 1000;
	memset(lst_node, 0, sizeof(lst_node));
	ticking = true;
	lx_sim_at(lst_sim, SEC, tick, NULL);
}

struct lst_node *lst_world_add(const char *const *nids, const struct lx_selftest_tunables *tun)
{
	struct lst_node *node = &lst_node[n_nodes];
	const struct lx_selftest_ops ops = { may_console, note, now_ns, node };
	struct lx_selftest_tunables defaults;

	assert_true(n_nodes < LST_NODES_MAX);
	lx_tunable_defaults(lx_selftest_tunable_table, &defaults);
	node->sim = node_with(lst_sim, nids);
	node->node = lx_sim_public_new(node->sim);
	assert_int_equal(lx_selftest_new(node->node, tun ? tun : &defaults, &ops, &node->s), 0);
	snprintf(node->nid, sizeof(node->nid), "%s", nids[0]);
	n_nodes++;
	return node;
}

void lst_world_new(const struct lx_sim_knobs *knobs, unsigned int n,
		   const struct lx_selftest_tunables *tun)
{
	char text[LX_NID_TEXT];

	lst_world_begin(knobs);
	for (unsigned int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "10.0.0.%u@tcp", i + 1);
		lst_world_add((const char *const[]){ text, NULL }, tun);
	}
}

/* Nothing of the service is left on the node. */
static void expect_nothing(const struct lst_node *node)
{
	for (uint32_t portal = 50; portal <= 52; portal++)
		assert_int_equal(node->sim->core->portal[portal].n_mes, 0);
}

void lst_world_free(void)
{
	ticking = false;
	for (unsigned int i = 0; i < n_nodes; i++) {
		lx_selftest_free(lst_node[i].s);
		lst_node[i].s = NULL;
	}
	lx_sim_run(lst_sim, 400 * SEC);
	for (unsigned int i = 0; i < n_nodes; i++)
		expect_nothing(&lst_node[i]);
	lx_sim_free(lst_sim);
	for (unsigned int i = 0; i < n_nodes; i++)
		lx_sim_public_free(lst_node[i].node);
}

struct lx_sim_node *lst_peer(const char *nid_text)
{
	return NODE(lst_sim, nid_text);
}

struct lst_console lst_console(const char *nid_text, uint64_t stamp)
{
	const struct lx_nid own = nid(nid_text);

	return (struct lst_console){
		.sim = lst_peer(nid_text),
		.sid = { lx_nid_to_u64(&own), stamp },
		.features = LX_LST_FEATURES,
	};
}

int lst_ask(const struct lst_console *c, const char *to, enum lx_lst_service service,
	    struct lx_lst_msg *msg)
{
	static uint8_t out[LX_LST_MSG_BYTES], in[LX_LST_MSG_BYTES];
	uint32_t type = msg->type;
	struct lx_handle reply;
	struct lx_md *md;

	log_clear();
	memset(in, 0, sizeof(in));
	msg->rpyid = ++next_id;
	if (c->flip)
		msg->magic = __builtin_bswap32(LX_LST_MAGIC);
	lx_lst_wire_encode(msg, out);
	reply = post(c->sim, LX_LST_PORTAL_DATA, to, msg->rpyid, 0, in, sizeof(in), LX_MD_OP_PUT,
		     1);
	assert_int_equal(put(c->sim, mem(c->sim, out, sizeof(out), 1), false, to,
			     lx_lst_wire_portal(service), service),
			 0);
	for (int i = 0; i < 10000 && lx_md_lookup(c->sim->core, reply); i++)
		lx_sim_run(lst_sim, MS);
	md = lx_md_lookup(c->sim->core, reply);
	if (md) {
		lx_md_retire(md);
		return -ETIMEDOUT;
	}
	assert_int_equal(lx_lst_wire_decode(in, sizeof(in), msg), 0);
	assert_int_equal(msg->type, type + 1);
	assert_false(lx_lst_flipped(msg));
	return msg->status;
}

int lst_make(const struct lst_console *c, const char *to, const char *name, bool force,
	     struct lx_lst_msg *ret_reply)
{
	struct lx_lst_msg msg;
	int status;

	lx_lst_wire_init(&msg, LX_LST_MAKE_SESSION_REQ, c->features);
	msg.make.sid = c->sid;
	msg.make.force = force;
	snprintf(msg.make.name, sizeof(msg.make.name), "%s", name);
	status = lst_ask(c, to, LX_LST_MAKE_SESSION, &msg);
	if (ret_reply)
		*ret_reply = msg;
	return status;
}

int lst_remove(const struct lst_console *c, const char *to)
{
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_REMOVE_SESSION_REQ, c->features);
	msg.remove.sid = c->sid;
	return lst_ask(c, to, LX_LST_REMOVE_SESSION, &msg);
}

static int ask_batch(const struct lst_console *c, const char *to, uint64_t batch, uint32_t op,
		     uint32_t test, uint32_t arg, struct lx_lst_msg *msg)
{
	lx_lst_wire_init(msg, LX_LST_BATCH_REQ, c->features);
	msg->batch.sid = c->sid;
	msg->batch.batch = batch;
	msg->batch.op = op;
	msg->batch.test = test;
	msg->batch.arg = arg;
	return lst_ask(c, to, LX_LST_BATCH, msg);
}

int lst_batch(const struct lst_console *c, const char *to, uint64_t batch, uint32_t op,
	      uint32_t test, uint32_t arg)
{
	struct lx_lst_msg msg;

	return ask_batch(c, to, batch, op, test, arg, &msg);
}

int lst_query(const struct lst_console *c, const char *to, uint64_t batch, uint32_t test)
{
	struct lx_lst_msg msg;
	int status = ask_batch(c, to, batch, LX_LST_BATCH_QUERY, test, 0, &msg);

	return status ? -status : (int)msg.batch_reply.active;
}

int lst_stat(const struct lst_console *c, const char *to, struct lx_lst_msg *ret_reply)
{
	lx_lst_wire_init(ret_reply, LX_LST_STAT_REQ, c->features);
	ret_reply->stat.sid = c->sid;
	return lst_ask(c, to, LX_LST_STAT, ret_reply);
}

static void set_params(struct lx_lst_msg *msg, const struct lst_test *test)
{
	if (test->service != LX_LST_BRW)
		return;
	if (msg->features & LX_LST_FEAT_BULK_LEN) {
		msg->test.params.bulk.rw = test->rw;
		msg->test.params.bulk.flags = test->check;
		msg->test.params.bulk.length = test->length;
		msg->test.params.bulk.offset = test->offset;
	} else {
		msg->test.params.bulk_pages.rw = test->rw;
		msg->test.params.bulk_pages.flags = test->check;
		msg->test.params.bulk_pages.pages = test->length;
	}
}

int lst_add(const struct lst_console *c, const char *to, const struct lst_test *test)
{
	static uint8_t dests[LX_LST_PAGE];
	struct lx_lst_msg msg;
	struct lx_handle bulk;
	struct lx_lst_dest dest;
	struct lx_md *md;
	int status;

	lx_lst_wire_init(&msg, LX_LST_TEST_REQ, c->features);
	msg.test.sid = c->sid;
	msg.test.bulkid = ++next_id;
	msg.test.batch = test->batch;
	msg.test.service = test->service;
	msg.test.loop = test->loop;
	msg.test.concurrency = test->concurrency;
	msg.test.is_client = true;
	msg.test.stop_on_error = !test->go_on;
	set_params(&msg, test);
	for (; test->dests[msg.test.ndest]; msg.test.ndest++) {
		struct lx_nid d = nid(test->dests[msg.test.ndest]);

		dest = (struct lx_lst_dest){ lx_nid_to_u64(&d), LX_PID_LUSTRE };
		if (c->flip) {
			dest.nid = __builtin_bswap64(dest.nid);
			dest.pid = __builtin_bswap32(dest.pid);
		}
		lx_lst_wire_dest_put(dests, msg.test.ndest, &dest);
	}
	bulk = post(c->sim, LX_LST_PORTAL_DATA, to, msg.test.bulkid, 0, dests,
		    lx_lst_wire_dests_bytes(msg.test.ndest, c->features), LX_MD_OP_GET, 1);
	status = lst_ask(c, to, LX_LST_TEST, &msg);
	md = lx_md_lookup(c->sim->core, bulk);
	if (md)
		lx_md_retire(md);
	return status;
}

void lst_drain(const struct lst_console *c, const char *to, uint64_t batch, unsigned int seconds)
{
	int active = 1;

	for (unsigned int i = 0; i < seconds && active; i++) {
		lx_sim_run(lst_sim, SEC);
		active = lst_query(c, to, batch, 0);
		assert_true(active >= 0);
	}
	assert_int_equal(active, 0);
}

void lst_expect_idle(const struct lst_node *node)
{
	assert_int_equal(node->s->n_units, 0);
	assert_int_equal(node->s->n_served, 0);
	assert_int_equal(node->s->pool.used, 0);
	assert_int_equal(node->s->pool.waiting, 0);
	assert_true(lx_list_empty(&node->s->clients));
	assert_true(lx_list_empty(&node->s->zombies));
}

int lst_teardown(void **state)
{
	lst_world_free();
	return 0;
}

struct lst_console lst_begin(void)
{
	struct lst_console c = lst_console("10.0.0.100@tcp", 1);

	assert_int_equal(lst_make(&c, A, "s", false, NULL), 0);
	assert_int_equal(lst_make(&c, B, "s", false, NULL), 0);
	return c;
}

int lst_debug(const struct lst_console *c, const char *to, struct lx_lst_msg *msg)
{
	lx_lst_wire_init(msg, LX_LST_DEBUG_REQ, c->features);
	return lst_ask(c, to, LX_LST_DEBUG, msg);
}

void lst_traffic(const struct lst_console *c, const struct lst_test *test)
{
	struct lx_lst_msg stat;

	assert_int_equal(lst_add(c, A, test), 0);
	assert_int_equal(lst_batch(c, A, test->batch, LX_LST_BATCH_RUN, 0, 0), 0);
	lst_drain(c, A, test->batch, 600);
	assert_int_equal(lst_stat(c, A, &stat), 0);
	assert_int_equal(stat.stat_reply.framework.brw_errors, 0);
	assert_int_equal(stat.stat_reply.framework.ping_errors, 0);
	assert_int_equal(stat.stat_reply.framework.active_batches, 0);
	assert_int_equal(stat.stat_reply.rpc.errors + stat.stat_reply.rpc.expired, 0);
}
