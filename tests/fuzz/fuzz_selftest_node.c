/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: what peers send to a test node of LNet selftest, one thing after the other:
 * requests of consoles and clients, lists of destinations, replies and bulk to what it asks
 * itself, silence, loss; and its owner who changes its limits or restarts it. In virtual time,
 * through the library's public functions. The limits of priv.h hold at each step; when the
 * service has gone, nothing of it is left on the node.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/core/core.h"
#include "../../user/core/portal.h"
#include "../../user/selftest/priv.h"
#include "../sim/sim.h"
#include "fuzz.h"
#include "wire.h"

#define STEPS 96
#define OURS "10.0.0.1@tcp"
#define PEER "10.0.0.2@tcp"
#define MS 1000000ULL
#define ASKED 8

struct scene {
	struct wire_input in;
	struct lx_sim *sim;
	struct lx_sim_node *sim_us;
	struct lx_node *us, *peer;
	struct lx_selftest *s;
	bool ticking;
	struct lx_lst_sid sid; /* that the console uses */
	uint8_t inbox[LX_LST_MSG_BYTES]; /* latest request of the node */
	struct lx_lst_msg asked[ASKED]; /* latest ones */
	unsigned int n_asked;
	uint8_t out[LX_LST_MSG_BYTES + 64];
	uint8_t dests[2 * LX_LST_PAGE];
	uint8_t sink[LX_LST_BUFFER_BYTES];
};

/* ---- the world ----------------------------------------------------------------------- */

static uint64_t now_ns(void *arg)
{
	return lx_sim_now(((struct scene *)arg)->sim);
}

static void tick(void *arg)
{
	struct scene *w = arg;

	if (!w->ticking)
		return;
	lx_selftest_tick(w->s);
	lx_sim_at(w->sim, LX_LST_SECOND, tick, w);
}

static void service_start(struct scene *w)
{
	const struct lx_selftest_ops ops = { .now_ns = now_ns, .arg = w };
	struct lx_selftest_tunables tun;

	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	tun.bulk_mib = 2;
	if (lx_selftest_new(w->us, &tun, &ops, &w->s))
		abort();
}

static struct lx_node *node_new(struct scene *w, const char *nid, struct lx_sim_node **ret_sim)
{
	if (lx_sim_node_new(w->sim, ret_sim) || lx_sim_ni_add(*ret_sim, nid, 8, 256))
		abort();
	return lx_sim_public_new(*ret_sim);
}

/* The steps are counted, not the time: an endless test takes as many as it gets. */
static void run(struct scene *w, uint64_t ns)
{
	uint64_t until = lx_sim_now(w->sim) + ns;

	for (int i = 0; i < 2000 && lx_sim_step(w->sim, until); i++)
		;
}

/* ---- the peer ------------------------------------------------------------------------- */

static void on_asked(const struct lx_event *event)
{
	struct scene *w = event->user;
	struct lx_lst_msg msg;

	if (event->type == LX_EVENT_PUT && !event->status &&
	    !lx_lst_wire_decode(w->inbox, event->mlength, &msg))
		w->asked[w->n_asked++ % ASKED] = msg;
}

static void ignore(const struct lx_event *event)
{
	(void)event;
}

/* Whatever comes to @portal from now on is written to, or read from, the start of @start. */
static void accept_all(struct scene *w, uint32_t portal, void *start, size_t len, unsigned int op,
		       lx_event_fn handler)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = start,
		.length = len,
		.threshold = LX_MD_UNLIMITED,
		.options = op | LX_MD_MANAGE_REMOTE | LX_MD_TRUNCATE,
		.handler = handler,
		.user = w,
	};
	struct lx_handle me, md;

	if (lx_me_attach(w->peer, portal, &anyone, 0, ~0ULL, LX_UNLINK, LX_ME_AFTER, &me) ||
	    lx_md_attach(w->peer, me, &desc, LX_UNLINK, &md))
		abort();
}

/* @start stays as it is until the message has been sent. */
static void transmit(struct scene *w, uint32_t portal, uint64_t bits, void *start, size_t len, bool get)
{
	const struct lx_md_desc desc = {
		.start = start,
		.length = len,
		.threshold = get ? 2 : 1,
		.handler = ignore,
	};
	struct lx_id to = { wire_nid(OURS), LX_PID_LUSTRE };
	struct lx_handle md;

	if (lx_md_bind(w->peer, &desc, LX_UNLINK, &md))
		abort();
	if (get ? lx_get(w->peer, NULL, md, &to, portal, bits, 0)
		: lx_put(w->peer, NULL, md, false, &to, portal, bits, 0, 0))
		lx_md_unlink(w->peer, md);
	run(w, 100 * MS);
}

static const uint32_t types[] = {
	LX_LST_MAKE_SESSION_REQ, LX_LST_REMOVE_SESSION_REQ, LX_LST_BATCH_REQ, LX_LST_TEST_REQ,
	LX_LST_STAT_REQ, LX_LST_DEBUG_REQ, LX_LST_BRW_REQ, LX_LST_PING_REQ,
};

static const uint8_t services[] = {
	LX_LST_MAKE_SESSION, LX_LST_REMOVE_SESSION, LX_LST_BATCH, LX_LST_TEST,
	LX_LST_STAT, LX_LST_DEBUG, LX_LST_BRW, LX_LST_PING,
};

static void fill_test(struct scene *w, struct lx_lst_msg *msg)
{
	uint8_t how = wire_byte(&w->in);

	msg->test.bulkid = 0x5000;
	msg->test.sid = w->sid;
	msg->test.batch = how & 1;
	msg->test.service = how & 2 ? LX_LST_BRW : LX_LST_PING;
	msg->test.loop = how & 4 ? LX_LST_LOOP_FOREVER : 3;
	msg->test.concurrency = 1 + (how >> 3 & 3);
	msg->test.is_client = !(how & 32);
	msg->test.stop_on_error = how & 64 ? 1 : 0;
	msg->test.ndest = 1 + (how >> 7);
	if (msg->test.service != LX_LST_BRW)
		return;
	how = wire_byte(&w->in);
	msg->test.params.bulk.rw = how & 1 ? LX_LST_READ : LX_LST_WRITE;
	msg->test.params.bulk.flags = 1 + (how >> 1 & 3);
	msg->test.params.bulk.length = how & 8 ? LX_LST_BULK_MAX : 8u << (how >> 5);
	msg->test.params.bulk.offset = how & 16 ? 8 : 0;
}

/* Messages of a console or client, before the input changes bytes of them. */
static void fill(struct scene *w, struct lx_lst_msg *msg)
{
	uint8_t how = wire_byte(&w->in);

	switch (msg->type) {
	case LX_LST_MAKE_SESSION_REQ:
		w->sid.stamp = how & 7;
		msg->make.force = how >> 7;
		msg->make.sid = w->sid;
		break;
	case LX_LST_REMOVE_SESSION_REQ:
		msg->remove.sid = w->sid;
		break;
	case LX_LST_BATCH_REQ:
		msg->batch.sid = w->sid;
		msg->batch.batch = how & 1;
		msg->batch.op = LX_LST_BATCH_RUN + (how >> 1 & 3);
		msg->batch.test = how >> 3 & 3;
		msg->batch.arg = how >> 7;
		break;
	case LX_LST_TEST_REQ:
		fill_test(w, msg);
		break;
	case LX_LST_STAT_REQ:
		msg->stat.sid = w->sid;
		break;
	case LX_LST_DEBUG_REQ:
		msg->debug.sid = w->sid;
		break;
	case LX_LST_BRW_REQ:
		msg->brw.bulkid = 0x5000;
		msg->brw.rw = how & 1 ? LX_LST_READ : LX_LST_WRITE;
		msg->brw.flags = 1 + (how >> 1 & 3);
		msg->brw.length = how & 8 ? LX_LST_BULK_MAX : 8u << (how >> 5);
		break;
	case LX_LST_PING_REQ:
		msg->ping.magic = LX_LST_PING_MAGIC;
		break;
	}
}

/* Encodes, changes some bytes, perhaps the length. Returns that. */
static size_t spoil(struct scene *w, const struct lx_lst_msg *msg)
{
	uint8_t n = wire_byte(&w->in);
	size_t len = n & 64 ? wire_byte(&w->in) % sizeof(w->out) : LX_LST_MSG_BYTES;

	lx_lst_wire_encode(msg, w->out);
	for (n = n & 128 ? n & 7 : 0; n; n--) {
		uint8_t at = wire_byte(&w->in) % LX_LST_MSG_BYTES;

		w->out[at] = wire_byte(&w->in);
	}
	return len;
}

static void request(struct scene *w)
{
	uint8_t how = wire_byte(&w->in), which = how % 8;
	struct lx_lst_msg msg;
	size_t len;

	lx_lst_wire_init(&msg, types[which], how & 8 ? 0 : LX_LST_FEATURES);
	if (how & 16)
		msg.magic = __builtin_bswap32(LX_LST_MAGIC);
	fill(w, &msg);
	msg.rpyid = 0x4000;
	len = spoil(w, &msg);
	transmit(w, how & 32 ? 50u + (how >> 6) : lx_lst_wire_portal(services[which]),
		 services[which], w->out, len, false);
}

static void answer(struct scene *w)
{
	const struct lx_lst_msg *asked = &w->asked[wire_byte(&w->in) % ASKED];
	uint8_t how = wire_byte(&w->in);
	struct lx_lst_msg msg;
	size_t len;

	lx_lst_wire_init(&msg, asked->type + 1, asked->features);
	msg.status = how & 1 ? 0 : how >> 1;
	if (asked->type == LX_LST_PING_REQ) {
		msg.ping_reply.magic = LX_LST_PING_MAGIC;
		msg.ping_reply.sequence = asked->ping.sequence;
	}
	len = spoil(w, &msg);
	transmit(w, LX_LST_PORTAL_DATA, asked->rpyid, w->out, len, false);
}

static void bulk(struct scene *w)
{
	const struct lx_lst_msg *asked = &w->asked[wire_byte(&w->in) % ASKED];
	uint8_t how = wire_byte(&w->in);
	size_t len = asked->type == LX_LST_BRW_REQ ? asked->brw.length : 0;

	if (how & 4)
		len = wire_u32(&w->in);
	if (len > LX_LST_BULK_MAX)
		len = LX_LST_BULK_MAX;
	transmit(w, LX_LST_PORTAL_DATA, asked->brw.bulkid, w->sink, len, how & 1);
}

/* Never 0@lo: messages to it take no time, and an endless test would never return. */
static void choose_destinations(struct scene *w)
{
	static const char *const nids[] = { PEER, OURS, "10.0.0.3@tcp", "10.9.9.9@o2ib" };
	struct lx_lst_dest dest = { .pid = LX_PID_LUSTRE };
	uint8_t how = wire_byte(&w->in);
	struct lx_nid nid;

	for (unsigned int i = 0; i < 4; i++) {
		nid = wire_nid(nids[how >> 2 * i & 3]);
		dest.nid = lx_nid_to_u64(&nid);
		lx_lst_wire_dest_put(w->dests, i, &dest);
	}
}

/* ---- its owner -------------------------------------------------------------------------- */

static void tune(struct scene *w)
{
	struct lx_selftest_tunables tun;

	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	tun.bulk_mib = 1 + wire_byte(&w->in) % 4;
	tun.session_timeout = 1 + wire_byte(&w->in);
	lx_selftest_tune(w->s, &tun);
}

/* Gone for good only with its last event. */
static void restart(struct scene *w)
{
	lx_selftest_free(w->s);
	service_start(w);
}

static void check(struct scene *w)
{
	struct lx_selftest_info info;

	lx_selftest_info(w->s, &info);
	assert(info.batches <= LX_LST_BATCHES_MAX && info.tests <= LX_LST_TESTS_MAX);
	assert(info.active_units <= info.units && info.units <= LX_LST_UNITS_MAX);
	assert(w->s->n_units <= LX_LST_UNITS_MAX && w->s->n_served <= LX_LST_SERVED_MAX);
	assert(w->s->pool.used <= w->s->pool.made && w->s->pool.made <= 64);
}

static void step(struct scene *w)
{
	uint8_t op = wire_byte(&w->in);

	switch (op % 16) {
	case 0 ... 6:
		request(w);
		break;
	case 7 ... 8:
		answer(w);
		break;
	case 9:
		bulk(w);
		break;
	case 10:
		choose_destinations(w);
		break;
	case 11:
		run(w, (1 + op / 16) * MS);
		break;
	case 12:
		run(w, (1 + op / 16) * 16 * LX_LST_SECOND);
		break;
	case 13:
		tune(w);
		break;
	case 14:
		lx_sim_knobs(w->sim)->loss = op / 16 * 20;
		break;
	case 15:
		restart(w);
		break;
	}
	check(w);
}

static void scene_end(struct scene *w)
{
	w->ticking = false;
	lx_selftest_free(w->s);
	lx_sim_run(w->sim, 400 * LX_LST_SECOND);
	for (uint32_t portal = LX_LST_PORTAL_TEST; portal <= LX_LST_PORTAL_DATA; portal++)
		assert(!w->sim_us->core->portal[portal].n_mes);
	lx_sim_free(w->sim);
	lx_sim_public_free(w->us);
	lx_sim_public_free(w->peer);
	free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct lx_sim_knobs knobs = {
		.delay_min_ns = MS,
		.delay_max_ns = 3 * MS,
		.conns = 2,
		.connects_to_self = true,
	};
	struct scene *w = calloc(1, sizeof(*w));
	struct lx_sim_node *sim_peer;
	struct lx_nid console = wire_nid(PEER);

	if (!w || lx_sim_new(1, &knobs, &w->sim))
		abort();
	w->in = (struct wire_input){ data, size };
	w->us = node_new(w, OURS, &w->sim_us);
	w->peer = node_new(w, PEER, &sim_peer);
	w->sid = (struct lx_lst_sid){ lx_nid_to_u64(&console), 1 };
	service_start(w);
	accept_all(w, LX_LST_PORTAL_TEST, w->inbox, sizeof(w->inbox), LX_MD_OP_PUT, on_asked);
	accept_all(w, LX_LST_PORTAL_DATA, w->sink, sizeof(w->sink), LX_MD_OP_PUT, ignore);
	accept_all(w, LX_LST_PORTAL_DATA, w->dests, sizeof(w->dests), LX_MD_OP_GET, ignore);
	w->ticking = true;
	lx_sim_at(w->sim, LX_LST_SECOND, tick, w);
	for (unsigned int i = 0; w->in.left && i < STEPS; i++)
		step(w);
	scene_end(w);
	return 0;
}
