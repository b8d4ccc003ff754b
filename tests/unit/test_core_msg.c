/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages between nodes: data, events, counters. */
#include "simlib.h"

static struct lx_sim *sim;
static struct lx_sim_node *a, *b;
static char src[1 << 20], dst[1 << 20];

static int setup_with(const struct lx_sim_knobs *knobs)
{
	log_clear();
	rnd_fill(src, 4096);
	memset(dst, 0, sizeof(dst));
	if (lx_sim_new(rnd(), knobs, &sim))
		return -1;
	a = NODE(sim, "10.0.0.1@tcp");
	b = NODE(sim, "10.0.0.2@tcp");
	return 0;
}

static int setup(void **state)
{
	return setup_with(&sim_plain);
}

static int setup_rdma(void **state)
{
	struct lx_sim_knobs knobs = sim_plain;

	knobs.rdma_get = true;
	return setup_with(&knobs);
}

static int teardown(void **state)
{
	lx_sim_run(sim, 10 * SEC);
	assert_at_rest(a);
	assert_at_rest(b);
	lx_sim_free(sim);
	return 0;
}

static void put_with_ack(void **state)
{
	const struct lx_event *e;
	struct lx_nid nid_a = nid("10.0.0.1@tcp");

	post(b, 5, NULL, 77, 0, dst, 4096, LX_MD_OP_PUT, 1);
	assert_int_equal(put(a, mem(a, src, 1000, 2), true, "10.0.0.2@tcp", 5, 77), 0);
	lx_sim_run(sim, SEC);

	assert_memory_equal(src, dst, 1000);
	e = the_event(LX_EVENT_PUT);
	assert_int_equal(e->mlength, 1000);
	assert_int_equal(e->rlength, 1000);
	assert_int_equal(e->match_bits, 77);
	assert_int_equal(e->hdr_data, 0x1234);
	assert_int_equal(e->portal, 5);
	assert_int_equal(e->initiator.pid, LX_PID_LUSTRE);
	assert_true(lx_nid_eq(&e->initiator.nid, &nid_a));
	assert_true(lx_nid_eq(&e->source, &nid_a));
	assert_true(e->unlinked);
	assert_int_equal(e->status, 0);
	assert_false(the_event(LX_EVENT_SEND)->unlinked);
	e = the_event(LX_EVENT_ACK);
	assert_int_equal(e->mlength, 1000);
	assert_true(e->unlinked);
	assert_int_equal(n_events, 3);
}

static void put_without_ack(void **state)
{
	post(b, 5, NULL, 77, 0, dst, 4096, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	assert_int_equal(put(a, mem(a, src, 1000, 1), false, "10.0.0.2@tcp", 5, 77), 0);
	lx_sim_run(sim, SEC);
	assert_true(the_event(LX_EVENT_SEND)->unlinked);
	assert_false(the_event(LX_EVENT_PUT)->unlinked);
	assert_int_equal(n_events, 2);
}

static void ack_disabled(void **state)
{
	post(b, 5, NULL, 77, 0, dst, 4096, LX_MD_OP_PUT | LX_MD_ACK_DISABLE, 1);
	assert_int_equal(put(a, mem(a, src, 1000, 2), true, "10.0.0.2@tcp", 5, 77), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_ACK), 0);
	/* The initiator's tracker gives up after the transaction timeout. */
	lx_sim_run(sim, 200 * SEC);
	assert_int_equal(the_event(LX_EVENT_UNLINK)->status, -ETIMEDOUT);
	assert_int_equal(a->core->stats.response_timeout_count, 1);
}

static void get_reply(void **state)
{
	const struct lx_event *e;

	post(b, 9, "10.0.0.1@tcp", 1, 0, src, 4096, LX_MD_OP_GET, 1);
	assert_int_equal(get(a, mem(a, dst, 3000, 2), "10.0.0.2@tcp", 9, 1), 0);
	lx_sim_run(sim, SEC);
	assert_memory_equal(src, dst, 3000);
	e = the_event(LX_EVENT_REPLY);
	assert_int_equal(e->mlength, 3000);
	assert_true(e->unlinked);
	e = the_event(LX_EVENT_GET);
	assert_int_equal(e->mlength, 3000);
	assert_true(e->unlinked);
	the_event(LX_EVENT_SEND);
	assert_int_equal(n_events, 3);
	assert_int_equal(b->core->stats.send_length, 3000 + 48 + 48);
}

static void get_with_rdma(void **state)
{
	post(b, 9, NULL, 1, 0, src, 2000, LX_MD_OP_GET | LX_MD_TRUNCATE, 1);
	assert_int_equal(get(a, mem(a, dst, 3000, 2), "10.0.0.2@tcp", 9, 1), 0);
	lx_sim_run(sim, SEC);
	assert_memory_equal(src, dst, 2000);
	assert_int_equal(the_event(LX_EVENT_REPLY)->mlength, 2000);
	assert_int_equal(the_event(LX_EVENT_GET)->mlength, 2000);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, 0);
	assert_int_equal(n_events, 3);
}

static void get_with_rdma_no_match(void **state)
{
	assert_int_equal(get(a, mem(a, dst, 3000, 2), "10.0.0.2@tcp", 9, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_REPLY)->status, -ENODATA);
	assert_int_equal(b->core->stats.drops[LX_REASON_NO_MATCH], 1);
}

static void get_longer_than_sink(void **state)
{
	post(b, 9, NULL, 1, 0, src, 4096, LX_MD_OP_GET, 1);
	assert_int_equal(get(a, mem(a, dst, 10, 2), "10.0.0.2@tcp", 9, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_REPLY)->mlength, 10);
}

static void get_too_long_is_dropped(void **state)
{
	post(b, 9, NULL, 1, 0, src, 100, LX_MD_OP_GET, 1);
	assert_int_equal(get(a, mem(a, dst, 101, 2), "10.0.0.2@tcp", 9, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(b->core->stats.drops[LX_REASON_TOO_LONG], 1);
	assert_int_equal(n_events, 1); /* SEND */
}

static void loopback(void **state)
{
	post(a, 5, NULL, 1, 0, dst, 4096, LX_MD_OP_PUT | LX_MD_OP_GET, LX_MD_UNLIMITED);
	assert_int_equal(put(a, mem(a, src, 4096, 2), true, "0@lo", 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_memory_equal(src, dst, 4096);
	the_event(LX_EVENT_ACK);
	log_clear();
	memset(src, 0, 4096);
	/* An own NID is loopback too. */
	post(a, 5, NULL, 2, 0, dst, 4096, LX_MD_OP_GET, LX_MD_UNLIMITED);
	assert_int_equal(get(a, mem(a, src, 4096, 2), "10.0.0.1@tcp", 5, 2), 0);
	lx_sim_run(sim, SEC);
	assert_memory_equal(src, dst, 4096);
	the_event(LX_EVENT_REPLY);
	assert_int_equal(a->core->lo->traffic.io.send, 4);
}

static void unreachable(void **state)
{
	assert_int_equal(put(a, mem(a, src, 10, 2), true, "10.9.9.9@tcp7", 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EHOSTUNREACH);
	assert_int_equal(n_events, 1);
	assert_int_equal(a->core->stats.rst_alloc, 0);
}

static void dead_peer(void **state)
{
	lx_sim_dead(sim, "10.0.0.2@tcp", true);
	assert_int_equal(put(a, mem(a, src, 10, 2), true, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EHOSTUNREACH);
	/* The ping of discovery and the message itself. */
	assert_int_equal(a->core->stats.remote_dropped_count, 2);
	lx_sim_dead(sim, "10.0.0.2@tcp", false);
}

static void bad_calls(void **state)
{
	struct lx_handle md = mem(a, src, 10, 1);
	struct lx_id target = id("10.0.0.2@tcp"), nobody = { lx_nid_any, LX_PID_LUSTRE };
	struct lx_md *m = lx_md_lookup(a->core, md);
	struct lx_md_desc desc = { .start = src, .length = 10, .threshold = 1 };

	assert_int_equal(lx_msg_put(a->core, NULL, m, false, &target, 64, 0, 0, 0, false), -EINVAL);
	assert_int_equal(lx_msg_put(a->core, NULL, m, false, &nobody, 1, 0, 0, 0, false), -EINVAL);
	m->threshold = 0;
	assert_int_equal(lx_msg_put(a->core, NULL, m, false, &target, 1, 0, 0, 0, false), -ENOENT);
	assert_int_equal(lx_msg_get(a->core, NULL, m, &target, 1, 0, 0, false), -ENOENT);
	m->length = LX_PAYLOAD_MAX + 1;
	m->threshold = 1;
	assert_int_equal(lx_msg_put(a->core, NULL, m, false, &target, 1, 0, 0, 0, false), -EINVAL);
	lx_md_retire(m);
	desc.threshold = -2;
	assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &m), -EINVAL);
	desc.threshold = 1;
	desc.options = LX_MD_OP_PUT;
	assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &m), -EINVAL);
	desc.options = LX_MD_MAX_SIZE;
	desc.max_size = 11;
	assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &m), -EINVAL);
}

/* The threshold must cover a request and its response before the request leaves. */
static void no_room_for_the_response(void **state)
{
	struct lx_handle md = mem(a, dst, 100, 1);

	post(b, 5, NULL, 1, 0, src, 4096, LX_MD_OP_PUT | LX_MD_OP_GET, LX_MD_UNLIMITED);
	assert_int_equal(get(a, md, "10.0.0.2@tcp", 5, 1), -EINVAL);
	assert_int_equal(put(a, md, true, "10.0.0.2@tcp", 5, 1), -EINVAL);
	lx_sim_run(sim, SEC);
	assert_int_equal(n_events, 0);
	assert_int_equal(put(a, md, false, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_true(the_event(LX_EVENT_SEND)->unlinked);
	log_clear();
	/* Two in flight: the first one's response does not use up the second one's share. */
	md = mem(a, dst, 100, 3);
	assert_int_equal(get(a, md, "10.0.0.2@tcp", 5, 1), 0);
	assert_int_equal(get(a, md, "10.0.0.2@tcp", 5, 1), -EINVAL);
	assert_int_equal(put(a, md, false, "10.0.0.2@tcp", 5, 1), 0);
	assert_int_equal(put(a, md, false, "10.0.0.2@tcp", 5, 1), -EINVAL);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_SEND), 2);
	assert_int_equal(the_event(LX_EVENT_REPLY)->mlength, 100);
	assert_null(lx_md_lookup(a->core, md));
}

struct failing {
	const char *to;
	int threshold;
	bool get, ack;
	enum lx_unlink unlink;
	bool unlinked; /* in the only event */
};

/* Two ways to fail: no route, or a dead peer. */
#define NOWHERE "10.9.9.9@tcp7"
#define DEAD "10.0.0.2@tcp"

static void fail_once(const struct failing *f)
{
	const struct lx_md_desc desc = { .start = src,
					 .length = 10,
					 .threshold = f->threshold,
					 .handler = log_event };
	struct lx_md *md;
	struct lx_handle handle;

	log_clear();
	assert_int_equal(lx_md_new(a->core, NULL, &desc, f->unlink, &md), 0);
	handle = md->handle;
	assert_int_equal(f->get ? get(a, handle, f->to, 5, 1) : put(a, handle, f->ack, f->to, 5, 1),
			 0);
	lx_sim_run(sim, 200 * SEC); /* longer than any response timeout */
	assert_int_equal(n_events, 1);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EHOSTUNREACH);
	assert_int_equal(the_event(LX_EVENT_SEND)->unlinked, f->unlinked);
	md = lx_md_lookup(a->core, handle);
	assert_int_equal(!md, f->unlinked);
	if (md)
		lx_md_retire(md);
	lx_sim_run(sim, SEC);
	assert_int_equal(n_events, 1 + !f->unlinked);
	assert_true(event_log[n_events - 1].unlinked);
}

/* It consumes as much of the threshold as success would; "unlinked" is about the MD. */
static void failed_send(void **state)
{
	static const struct failing cases[] = {
		{ NOWHERE, 1, false, false, LX_UNLINK, true },
		{ NOWHERE, 2, false, false, LX_UNLINK, false },
		{ NOWHERE, 2, false, true, LX_UNLINK, true },
		{ NOWHERE, 2, true, false, LX_UNLINK, true },
		{ NOWHERE, 3, true, false, LX_UNLINK, false },
		{ NOWHERE, 2, true, false, LX_RETAIN, false },
		{ NOWHERE, LX_MD_UNLIMITED, true, false, LX_UNLINK, false },
		{ DEAD, 1, false, false, LX_UNLINK, true },
		{ DEAD, 2, false, true, LX_UNLINK, true },
		{ DEAD, 2, true, false, LX_UNLINK, true },
		{ DEAD, 4, false, true, LX_UNLINK, false },
		{ DEAD, 2, false, true, LX_RETAIN, false },
		{ DEAD, LX_MD_UNLIMITED, false, true, LX_UNLINK, false },
	};

	lx_sim_dead(sim, DEAD, true);
	for (size_t i = 0; i < N_OF(cases); i++)
		fail_once(&cases[i]);
	lx_sim_dead(sim, DEAD, false);
}

/* B sends A a response that A's requests did not ask for. */
static void answer(uint32_t type, struct lx_handle md, uint32_t length)
{
	struct lx_hdr hdr = { .type = type, .dst_nid = nid("10.0.0.1@tcp"), .payload_length = length };

	if (type == LX_MSG_REPLY)
		lx_md_wire(lx_md_lookup(a->core, md), &hdr.cmd.reply.dst_md);
	else
		lx_md_wire(lx_md_lookup(a->core, md), &hdr.cmd.ack.dst_md);
	respond(sim, b, &hdr, src);
	lx_sim_run(sim, SEC);
}

/* A response that was not requested, or comes too late, does not reach an MD. */
static void unasked_response(void **state)
{
	struct lx_handle md = mem(a, dst, 100, LX_MD_UNLIMITED);

	post(b, 5, NULL, 1, 0, src, 4096, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	assert_int_equal(put(a, md, false, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	log_clear();
	answer(LX_MSG_REPLY, md, 0);
	assert_int_equal(a->core->stats.drops[LX_REASON_NO_HANDLE], 1);
	assert_int_equal(count_events(LX_EVENT_REPLY), 0);
	lx_md_retire(lx_md_lookup(a->core, md));
}

/* B itself answers nothing: only answer() does. */
static void mute_b(void)
{
	tune(a, "lnet_peer_discovery_disabled", "1");
	memset(src, 'y', 100);
	memset(dst, 'x', 100);
	lx_sim_mute(sim, "10.0.0.2@tcp", true);
}

/* A REPLY to a PUT would overwrite what the PUT sends. The ACK is still awaited. */
static void reply_to_a_put(void **state)
{
	struct lx_handle md = mem(a, dst, 100, 2);

	mute_b();
	assert_int_equal(put(a, md, true, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	log_clear();
	answer(LX_MSG_REPLY, md, 100);
	assert_int_equal(dst[0], 'x');
	assert_int_equal(a->core->stats.drops[LX_REASON_NO_HANDLE], 1);
	assert_int_equal(count_events(LX_EVENT_REPLY), 0);
	answer(LX_MSG_ACK, md, 0);
	assert_int_equal(count_events(LX_EVENT_ACK), 1);
	lx_sim_mute(sim, "10.0.0.2@tcp", false);
}

/* An ACK does not answer a GET, whose REPLY is still awaited. */
static void ack_to_a_get(void **state)
{
	struct lx_handle md = mem(a, dst, 100, 2);

	mute_b();
	assert_int_equal(get(a, md, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	log_clear();
	answer(LX_MSG_ACK, md, 0);
	assert_int_equal(count_events(LX_EVENT_ACK), 0);
	answer(LX_MSG_REPLY, md, 100);
	assert_int_equal(count_events(LX_EVENT_REPLY), 1);
	assert_int_equal(dst[0], 'y');
	lx_sim_mute(sim, "10.0.0.2@tcp", false);
}

static void lazy_portal_parks(void **state)
{
	lx_parse_lazy_set(b->core, &b->core->portal[5], true);
	for (int i = 0; i < 3; i++) {
		src[0] = 'a' + i;
		assert_int_equal(put(a, mem(a, src, 100, 2), true, "10.0.0.2@tcp", 5, 1), 0);
		lx_sim_run(sim, SEC);
	}
	assert_int_equal(count_events(LX_EVENT_PUT), 0);
	/* One connection: the second and third wait behind the first, unread. */
	post(b, 5, NULL, 1, 0, dst, 100, LX_MD_OP_PUT, 1);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 1);
	lx_parse_lazy_set(b->core, &b->core->portal[5], false);
	lx_sim_run(sim, SEC);
	assert_int_equal(b->core->stats.drops[LX_REASON_LAZY_CLEARED], 1);
	assert_int_equal(b->core->stats.drops[LX_REASON_NO_MATCH], 1);
}

static void unlink_busy_md(void **state)
{
	struct lx_handle md = mem(a, src, 100, 2);

	lx_parse_lazy_set(b->core, &b->core->portal[5], true);
	assert_int_equal(put(a, md, true, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	lx_md_retire(lx_md_lookup(a->core, md));
	assert_null(lx_md_lookup(a->core, md));
	assert_int_equal(n_events, 0);
	post(b, 5, NULL, 1, 0, dst, 100, LX_MD_OP_PUT, 1);
	lx_sim_run(sim, SEC);
	assert_true(the_event(LX_EVENT_SEND)->unlinked);
	assert_int_equal(count_events(LX_EVENT_ACK), 0); /* arrived, but found no MD */
	lx_parse_lazy_set(b->core, &b->core->portal[5], false);
}

static void peer_credits_limit(void **state)
{
	struct lx_nid nid_b = nid("10.0.0.2@tcp");
	struct lx_peer_ni *pni;

	/* Discover first, so that only the test's messages take credits. */
	assert_int_equal(put(a, mem(a, src, 1, 1), false, "10.0.0.2@tcp", 6, 1), 0);
	lx_sim_run(sim, SEC);
	log_clear();
	post(b, 5, NULL, 1, 0, dst, sizeof(dst), LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE,
	     LX_MD_UNLIMITED);
	for (int i = 0; i < 20; i++)
		assert_int_equal(put(a, mem(a, src, 100, 2), true, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_ACK), 20);
	pni = lx_peer_ni_lookup(a->core, &nid_b);
	assert_int_equal(pni->tx->min, 8 - 20);
	/* The NI's credits never dropped by more than the peer's credits. */
	assert_int_equal(lx_list_first(&lx_net_lookup(a->core, LX_NET(2, 0))->nis,
				       struct lx_core_ni, link)->tx_credits_min, 256 - 8);
}

/* ---- messages that wait for a credit ------------------------------------------------ */

#define SLOW "10.2.0.2@tcp2"

static unsigned int n_handed;

static void note_handed(const struct lx_hdr *hdr, const struct lx_nid *next_hop)
{
	n_handed += hdr->type == LX_MSG_PUT;
}

static void put_to_slow(void)
{
	assert_int_equal(put(a, mem(a, src, 100, 1), false, SLOW, 5, 1), 0);
}

/* The transport has a message for a peer, and keeps it; with these credits others wait. */
static void make_slow(int peer_credits, int credits)
{
	log_clear();
	n_handed = 0;
	tune(a, "lnet_peer_discovery_disabled", "1");
	tune(a, "lnet_transaction_timeout", "10");
	assert_int_equal(lx_sim_ni_add(a, "10.2.0.1@tcp2", peer_credits, credits), 0);
	assert_int_equal(lx_sim_ni_add(b, SLOW, 8, 256), 0);
	post(b, 5, NULL, 1, 0, dst, 100, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, LX_MD_UNLIMITED);
	lx_sim_hold(sim, "10.2.0.1@tcp2", SLOW, true);
	lx_sim_watch(sim, note_handed);
	put_to_slow();
	assert_int_equal(n_handed, 1);
}

static void go_on(void)
{
	lx_sim_hold(sim, "10.2.0.1@tcp2", SLOW, false);
	lx_sim_run(sim, SEC);
}

/* The one that expires had no credit that the next one could take. */
static void expires(int peer_credits, int credits)
{
	const struct lx_queue *queue;

	make_slow(peer_credits, credits);
	queue = peer_credits == 1 ? &pni_of(a, SLOW)->tx_queue
				  : &ni_of(a, "10.2.0.1@tcp2")->tx_queue;
	assert_int_equal(lx_credit_oldest_ns(a->core, queue), 0);
	put_to_slow();
	lx_sim_run(sim, 5 * SEC);
	put_to_slow();
	assert_int_equal(lx_credit_oldest_ns(a->core, queue), 5 * SEC);
	lx_sim_run(sim, 7 * SEC);
	assert_int_equal(lx_credit_oldest_ns(a->core, queue), 7 * SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ETIMEDOUT);
	assert_int_equal(n_handed, 1);
	assert_int_equal(pni_of(a, SLOW)->traffic.dropped.put, 1);
	assert_int_equal(ni_of(a, "10.2.0.1@tcp2")->traffic.dropped.put, 1);
	assert_int_equal(a->core->stats.drops[LX_REASON_DEADLINE], 1);
	assert_int_equal(a->core->stats.drop_count, 1);
	go_on();
	assert_int_equal(n_handed, 2);
	assert_int_equal(count_events(LX_EVENT_PUT), 2);
	assert_int_equal(count_events(LX_EVENT_SEND), 3);
}

static void expires_waiting_for_the_peers_credit(void **state)
{
	expires(1, 256);
}

static void expires_waiting_for_the_nis_credit(void **state)
{
	expires(8, 1);
}

/* Between two looks at what has expired. */
static void expires_before_its_credit_comes(void **state)
{
	make_slow(1, 256);
	lx_sim_run(sim, 300 * MS);
	put_to_slow();
	lx_sim_run(sim, 10 * SEC + 10 * MS);
	go_on();
	assert_int_equal(n_handed, 1);
	assert_int_equal(pni_of(a, SLOW)->traffic.dropped.put, 1);
	assert_int_equal(a->core->stats.drops[LX_REASON_DEADLINE], 1);
}

static void peer_goes_while_messages_wait(void **state)
{
	make_slow(1, 256);
	for (int i = 0; i < 4; i++)
		put_to_slow();
	lx_peer_delete(lx_peer_of(pni_of(a, SLOW)));
	lx_sim_run(sim, 0);
	assert_int_equal(n_handed, 1);
	assert_int_equal(count_events(LX_EVENT_SEND), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(event_log[i].status, -ESHUTDOWN);
	go_on();
	assert_int_equal(n_handed, 1);
	assert_int_equal(event_log[n_events - 1].status, 0);
}

static void big_iov(void **state)
{
	struct iovec iov[LX_MD_IOV_MAX];
	struct lx_md_desc desc = {
		.iov = iov, .n_iov = LX_MD_IOV_MAX, .threshold = 1, .handler = log_event,
	};
	struct lx_md *md;
	size_t at = 0;

	rnd_fill(src, sizeof(src));
	for (int i = 0; i < LX_MD_IOV_MAX; i++) {
		iov[i] = (struct iovec){ src + at, i == 7 ? 0 : 1 + rnd_below(4096) };
		at += iov[i].iov_len;
	}
	assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &md), 0);
	assert_int_equal(md->length, at);
	post(b, 5, NULL, 1, 0, dst, sizeof(dst), LX_MD_OP_PUT, 1);
	assert_int_equal(put(a, md->handle, false, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_memory_equal(src, dst, at);
	desc.n_iov++;
	assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &md), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		T(put_with_ack), T(put_without_ack), T(ack_disabled), T(get_reply),
		T(get_longer_than_sink), T(get_too_long_is_dropped), T(loopback),
		T(unreachable), T(dead_peer), T(bad_calls),
		T(no_room_for_the_response), T(failed_send), T(unasked_response), T(reply_to_a_put), T(ack_to_a_get),
		T(lazy_portal_parks),
		T(unlink_busy_md), T(peer_credits_limit), T(expires_waiting_for_the_peers_credit),
		T(expires_waiting_for_the_nis_credit), T(expires_before_its_credit_comes),
		T(peer_goes_while_messages_wait), T(big_iov),
		cmocka_unit_test_setup_teardown(get_with_rdma, setup_rdma, teardown),
		cmocka_unit_test_setup_teardown(get_with_rdma_no_match, setup_rdma, teardown),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: messages", tests, NULL, NULL);
}
