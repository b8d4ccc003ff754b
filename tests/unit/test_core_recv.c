/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Results of lx_lnd_parse(), and when recv() follows (internal/lnd.h). The test plays the
 * transport of one NI: "router" has it on tcp1, and an NI of tests/sim on tcp2.
 */
#include <errno.h>

#include "simlib.h"

static struct lx_sim *sim;
static struct lx_sim_node *router, *far;
static struct lx_core_ni *ni;
static char memory[8192];

/* ---- a transport by hand ---------------------------------------------------------- */

/* recv() calls, in order. */
static struct {
	void *rx;
	struct lx_msg *msg;
} received[16];
static unsigned int n_received, n_sent;
static struct lx_hdr last_sent;
static bool parsing;
static bool recv_at_once; /* the payload is there: recv() completes the message */

static enum lx_down_why down_at_start;

static int hand_startup(struct lx_ni *lni)
{
	lx_lnd_link(lni, down_at_start);
	lni->tun.peer_timeout = 180;
	lni->tun.peer_buffer_credits = 2;
	return 0;
}

static void hand_shutdown(struct lx_ni *lni)
{
	lx_lnd_stopped(lni);
}

static int hand_send(struct lx_ni *lni, struct lx_msg *msg)
{
	last_sent = msg->hdr;
	n_sent++;
	lx_lnd_finalize(msg, 0);
	return 0;
}

static void hand_recv(struct lx_ni *lni, void *rx, struct lx_msg *msg)
{
	assert_false(parsing);
	assert_true(n_received < N_OF(received));
	received[n_received].rx = rx;
	received[n_received++].msg = msg;
	if (recv_at_once && msg)
		lx_lnd_finalize(msg, 0);
}

static const struct lx_lnd hand_lnd = {
	.name = "hand",
	.net_type = LX_NET_TCP,
	.can_rdma_get = true,
	.startup = hand_startup,
	.shutdown = hand_shutdown,
	.send = hand_send,
	.recv = hand_recv,
};

/* Identifies messages by address. */
static char rx[8];

static struct lx_rx_from neighbour(void)
{
	return (struct lx_rx_from){ .nid = nid("10.0.0.1@tcp1") };
}

static int parse_from(const struct lx_hdr *hdr, const struct lx_rx_from *from, void *name,
		      struct lx_msg **ret_msg)
{
	int r;

	parsing = true;
	r = lx_lnd_parse(&ni->ni, hdr, from, name, ret_msg);
	parsing = false;
	return r;
}

static int parse(const struct lx_hdr *hdr, void *name, struct lx_msg **ret_msg)
{
	const struct lx_rx_from from = neighbour();

	return parse_from(hdr, &from, name, ret_msg);
}

static struct lx_hdr put_to(const char *dst, uint32_t length)
{
	return (struct lx_hdr){
		.src_nid = nid("10.0.0.1@tcp1"),
		.dst_nid = nid(dst),
		.type = LX_MSG_PUT,
		.payload_length = length,
		.cmd.put = { .ack_md = LX_WIRE_HANDLE_NONE,
			     .match_bits = lx_le64(7),
			     .portal = lx_le32(5) },
	};
}

static struct lx_hdr get_of(uint32_t length)
{
	return (struct lx_hdr){
		.src_nid = nid("10.0.0.1@tcp1"),
		.dst_nid = ni->ni.nid,
		.type = LX_MSG_GET,
		.cmd.get = { .match_bits = lx_le64(7),
			     .portal = lx_le32(5),
			     .sink_length = lx_le32(length) },
	};
}

static void lazy(bool on)
{
	lx_parse_lazy_set(router->core, &router->core->portal[5], on);
}

static int start_ni(const char *text, struct lx_core_ni **ret_ni)
{
	struct lx_conf_ni conf = {
		.nid = nid(text),
		.tun = { LX_UNSET, 8, LX_UNSET, 256 },
	};

	conf.net = lx_nid_net(&conf.nid);
	return lx_core_ni_start(router->core, &hand_lnd, NULL, &conf, ret_ni);
}

/* Its link is down when it starts: peers are told so from the first answer on. */
static void ni_starts_down(void **state)
{
	const struct lx_nid other = nid("10.0.9.11@tcp9");
	struct lx_core_ni *second;
	struct lx_pinginfo *info;
	unsigned int found = 0;
	size_t need;

	down_at_start = LX_DOWN_CARRIER;
	assert_int_equal(start_ni("10.0.9.11@tcp9", &second), 0);
	down_at_start = LX_DOWN_NO;
	assert_int_equal(second->down.why, LX_DOWN_CARRIER);
	assert_true(second->health.fatal);
	lx_sim_run(sim, MS);
	assert_int_equal(lx_pinginfo_decode(router->core->target.buffer->data,
					    router->core->target.buffer->length, 100, &need, &info),
			 0);
	for (uint32_t i = 0; i < info->n_nis; i++) {
		found += lx_nid_eq(&info->ni[i].nid, &other);
		assert_int_equal(info->ni[i].status == LX_NI_STATUS_DOWN,
				 lx_nid_eq(&info->ni[i].nid, &other));
	}
	assert_int_equal(found, 1);
	free(info);
	lx_lnd_link(&second->ni, LX_DOWN_NO);
	assert_int_equal(second->down.why, LX_DOWN_NO);
	assert_false(second->health.fatal);
	lx_core_ni_stop(router->core, second);
}

static int setup(void **state)
{
	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	router = NODE(sim, "10.1.0.11@tcp2");
	far = NODE(sim, "10.1.0.1@tcp2");
	assert_int_equal(start_ni("10.0.0.11@tcp1", &ni), 0);
	make_router(router);
	n_received = n_sent = 0;
	recv_at_once = false;
	log_clear();
	return 0;
}

static int teardown(void **state)
{
	lx_sim_run(sim, SEC);
	assert_at_rest(router);
	lx_sim_free(sim);
	return 0;
}

/* ---- now ------------------------------------------------------------------------------ */

static void now_into_the_md(void **state)
{
	struct lx_hdr hdr = put_to("10.0.0.11@tcp1", 100);
	struct lx_msg *msg;

	post(router, 5, NULL, 7, 0, memory, 60, LX_MD_OP_PUT | LX_MD_TRUNCATE, 1);
	assert_int_equal(parse(&hdr, rx, &msg), LX_RX_NOW);
	assert_ptr_equal(msg->payload.iov->iov_base, memory);
	assert_int_equal(msg->payload.length, 60); /* the rest is discarded */
	assert_int_equal(count_events(LX_EVENT_PUT), 0);
	lx_lnd_finalize(msg, 0);
	lx_sim_run(sim, 0);
	assert_int_equal(the_event(LX_EVENT_PUT)->mlength, 60);
	assert_int_equal(n_received, 0);
}

static void now_into_a_router_buffer(void **state)
{
	struct lx_hdr hdr = put_to("10.1.0.1@tcp2", 100);
	struct lx_msg *msg;

	post(far, 5, NULL, 7, 0, memory, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(parse(&hdr, rx, &msg), LX_RX_NOW);
	assert_non_null(msg->payload.rbuf);
	assert_int_equal(msg->payload.length, 100);
	lx_lnd_finalize(msg, 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_PUT)->mlength, 100);
	assert_int_equal(n_received, 0);
}

static void now_nowhere(void **state)
{
	struct lx_hdr hdr = put_to("10.0.0.11@tcp1", 100);
	struct lx_msg *msg = (void *)rx;

	assert_int_equal(parse(&hdr, rx, &msg), LX_RX_NOW);
	assert_null(msg);
	assert_int_equal(router->core->stats.drops[LX_REASON_NO_MATCH], 1);
	hdr.type = LX_MSG_ACK;
	hdr.payload_length = 0;
	msg = (void *)rx;
	assert_int_equal(parse(&hdr, rx, &msg), LX_RX_NOW);
	assert_null(msg);
	assert_int_equal(n_received, 0);
}

/* A GET is answered after it was received; not if receiving failed. */
static void get_is_answered_when_received(void **state)
{
	struct lx_hdr hdr = get_of(50);
	struct lx_msg *msg;

	post(router, 5, NULL, 7, 0, memory, 50, LX_MD_OP_GET | LX_MD_MANAGE_REMOTE,
	     2);
	assert_int_equal(parse(&hdr, rx, &msg), LX_RX_NOW);
	assert_int_equal(msg->payload.length, 0);
	assert_int_equal(n_sent, 0);
	lx_lnd_finalize(msg, 0);
	assert_int_equal(n_sent, 1);
	assert_int_equal(last_sent.type, LX_MSG_REPLY);
	assert_int_equal(last_sent.payload_length, 50);
	assert_int_equal(parse(&hdr, rx, &msg), LX_RX_NOW);
	msg->hstatus = LX_HSTATUS_REMOTE_ERROR;
	lx_lnd_finalize(msg, -EIO);
	assert_int_equal(n_sent, 1);
	lx_sim_run(sim, 0);
	assert_int_equal(count_events(LX_EVENT_GET), 2);
	assert_int_equal(event_log[n_events - 1].status, -EIO);
}

/* The transport writes the answer itself, into memory that the core provides. */
static void rdma_get_brings_the_answer(void **state)
{
	struct lx_rx_from from = neighbour();
	struct lx_hdr hdr = get_of(50);
	struct lx_msg *msg;

	from.rdma_get = true;
	post(router, 5, NULL, 7, 0, memory, 50, LX_MD_OP_GET, 1);
	assert_int_equal(parse_from(&hdr, &from, rx, &msg), LX_RX_NOW);
	assert_ptr_equal(msg->payload.iov->iov_base, memory);
	assert_int_equal(msg->payload.length, 50);
	lx_lnd_finalize(msg, 0);
	assert_int_equal(n_sent, 0);
	assert_int_equal(parse_from(&hdr, &from, rx, &msg), LX_RX_NOW);
	assert_null(msg);
}

/* ---- refused ------------------------------------------------------------------------- */

static void refused(void **state)
{
	struct lx_hdr hdr = put_to("10.0.0.11@tcp1", LX_PAYLOAD_MAX + 1);
	struct lx_msg *msg;

	assert_int_equal(parse(&hdr, rx, &msg), -EPROTO);
	hdr = put_to("10.0.0.11@tcp1", 100);
	lx_ni_get(ni);
	lx_core_ni_stop(router->core, ni);
	assert_int_equal(parse(&hdr, rx, &msg), -ESHUTDOWN);
	lx_ni_put(ni);
	assert_int_equal(n_received, 0);
}

/* ---- later ----------------------------------------------------------------------------- */

static void later_when_an_md_comes(void **state)
{
	struct lx_hdr hdr = put_to("10.0.0.11@tcp1", 100);
	struct lx_msg *msg;

	lazy(true);
	assert_int_equal(parse(&hdr, &rx[0], &msg), LX_RX_LATER);
	assert_int_equal(parse(&hdr, &rx[1], &msg), LX_RX_LATER);
	assert_int_equal(n_received, 0);
	post(router, 5, NULL, 7, 0, memory, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(n_received, 1);
	assert_ptr_equal(received[0].rx, &rx[0]);
	assert_ptr_equal(received[0].msg->payload.iov->iov_base, memory);
	lx_lnd_finalize(received[0].msg, 0);
	/* The other one was dropped. */
	lazy(false);
	assert_int_equal(n_received, 2);
	assert_ptr_equal(received[1].rx, &rx[1]);
	assert_null(received[1].msg);
	assert_int_equal(router->core->stats.drops[LX_REASON_LAZY_CLEARED], 1);
}

/* Each forwarded message frees the credit that the next one waits for. */
static void later_when_a_credit_comes(void **state)
{
	struct lx_hdr hdr = put_to("10.1.0.1@tcp2", 100);
	struct lx_msg *msg[4];

	assert_int_equal(parse(&hdr, &rx[0], &msg[0]), LX_RX_NOW);
	assert_int_equal(parse(&hdr, &rx[1], &msg[1]), LX_RX_NOW);
	assert_int_equal(parse(&hdr, &rx[2], &msg[2]), LX_RX_LATER);
	assert_int_equal(parse(&hdr, &rx[3], &msg[3]), LX_RX_LATER);
	lx_sim_run(sim, SEC);
	assert_int_equal(n_received, 0);
	lx_lnd_finalize(msg[1], 0);
	lx_sim_run(sim, 100 * MS);
	assert_int_equal(n_received, 1);
	assert_ptr_equal(received[0].rx, &rx[2]); /* in order */
	assert_non_null(received[0].msg->payload.rbuf);
	/* Its connection breaks: its credit goes to the last one. */
	received[0].msg->hstatus = LX_HSTATUS_REMOTE_DROPPED;
	lx_lnd_finalize(received[0].msg, -EIO);
	assert_int_equal(n_received, 2);
	assert_ptr_equal(received[1].rx, &rx[3]);
	lx_lnd_finalize(received[1].msg, 0);
	lx_lnd_finalize(msg[0], 0);
}

static void later_when_a_buffer_comes(void **state)
{
	const int64_t one[LX_POOLS] = { 1, 1, 1 }, two[LX_POOLS] = { 2, 2, 2 };
	struct lx_hdr hdr = put_to("10.1.0.1@tcp2", 100);
	struct lx_msg *msg[2];

	assert_int_equal(lx_credit_pools_resize(router->core, one), 0);
	assert_int_equal(parse(&hdr, &rx[0], &msg[0]), LX_RX_NOW);
	assert_int_equal(parse(&hdr, &rx[1], &msg[1]), LX_RX_LATER);
	assert_int_equal(lx_credit_pools_resize(router->core, two), 0);
	assert_int_equal(n_received, 1);
	assert_ptr_equal(received[0].rx, &rx[1]);
	lx_lnd_finalize(received[0].msg, 0);
	lx_lnd_finalize(msg[0], 0);
}

/* Whatever a message waits for, the transport is notified when it will not come. */
static void ni_stops_while_messages_wait(void **state)
{
	struct lx_hdr ours = put_to("10.0.0.11@tcp1", 100), theirs = put_to("10.1.0.1@tcp2", 100);
	const int64_t one[LX_POOLS] = { 1, 1, 1 };
	struct lx_msg *msg[4];

	lazy(true);
	assert_int_equal(lx_credit_pools_resize(router->core, one), 0);
	assert_int_equal(parse(&theirs, &rx[0], &msg[0]), LX_RX_NOW);
	assert_int_equal(parse(&theirs, &rx[1], &msg[1]), LX_RX_LATER); /* for a buffer */
	assert_int_equal(parse(&theirs, &rx[2], &msg[2]), LX_RX_LATER); /* for a credit */
	assert_int_equal(parse(&ours, &rx[3], &msg[3]), LX_RX_LATER);   /* for an MD */
	lx_core_ni_stop(router->core, ni);
	assert_int_equal(n_received, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_ptr_equal(received[i].rx, &rx[i + 1]);
		assert_null(received[i].msg);
	}
	assert_int_equal(router->core->stats.drops[LX_REASON_SHUTDOWN], 3);
	msg[0]->hstatus = LX_HSTATUS_LOCAL_ABORTED;
	lx_lnd_finalize(msg[0], -ESHUTDOWN);
}

/* So it is when their sender is deleted. Those that have a credit are forwarded. */
static void sender_goes_while_messages_wait(void **state)
{
	struct lx_hdr hdr = put_to("10.1.0.1@tcp2", 100);
	struct lx_rx_from from = neighbour();
	struct lx_msg *msg[4];

	post(far, 5, NULL, 7, 0, memory, 100, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, 2);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(parse_from(&hdr, &from, &rx[i], &msg[i]),
				 i < 2 ? LX_RX_NOW : LX_RX_LATER);
	lx_peer_delete(lx_peer_of(pni_of(router, "10.0.0.1@tcp1")));
	assert_int_equal(n_received, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_ptr_equal(received[i].rx, &rx[i + 2]);
		assert_null(received[i].msg);
	}
	assert_int_equal(router->core->stats.drops[LX_REASON_SHUTDOWN], 2);
	lx_lnd_finalize(msg[0], 0);
	lx_lnd_finalize(msg[1], 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(n_received, 2);
	assert_int_equal(count_events(LX_EVENT_PUT), 2);
}

/* The one that goes with its NI had no credit that another one of the same peer could take. */
static void ni_stops_while_others_wait_for_its_credit(void **state)
{
	struct lx_hdr hdr = put_to("10.1.0.1@tcp2", 100);
	struct lx_core_ni *first = ni, *second;
	struct lx_msg *msg[4];

	assert_int_equal(start_ni("10.0.0.12@tcp1", &second), 0);
	ni = second;
	assert_int_equal(parse(&hdr, &rx[0], &msg[0]), LX_RX_NOW);
	assert_int_equal(parse(&hdr, &rx[1], &msg[1]), LX_RX_NOW);
	ni = first;
	assert_int_equal(parse(&hdr, &rx[2], &msg[2]), LX_RX_LATER);
	ni = second;
	assert_int_equal(parse(&hdr, &rx[3], &msg[3]), LX_RX_LATER);
	lx_core_ni_stop(router->core, first);
	assert_int_equal(n_received, 1);
	assert_ptr_equal(received[0].rx, &rx[2]);
	assert_null(received[0].msg);
	lx_lnd_finalize(msg[0], 0);
	lx_sim_run(sim, 100 * MS);
	assert_int_equal(n_received, 2);
	assert_ptr_equal(received[1].rx, &rx[3]);
	lx_lnd_finalize(received[1].msg, 0);
	lx_lnd_finalize(msg[1], 0);
}

/*
 * A message that fails with its net frees the buffer of one that wants to go to a new peer. The
 * table of peers is full, but the peer whose messages are failing must not make room.
 */
static void net_stops_while_peers_are_many(void **state)
{
	struct lx_hdr first = put_to("10.1.0.1@tcp2", 100), second = put_to("10.1.0.9@tcp2", 100);
	const int64_t one[LX_POOLS] = { 1, 1, 1 };
	struct lx_nid next_hop = nid("10.1.0.1@tcp2"), other;
	struct lx_core *core = router->core;
	struct lx_peer_ni *pni, *dummy;
	struct lx_msg *sent, *msg;
	char text[32];

	tune(router, "peers_max", "16");
	assert_int_equal(lx_credit_pools_resize(core, one), 0);
	assert_int_equal(lx_peer_ni_obtain(core, &next_hop, &pni), 0);
	for (int i = 0; i < 8; i++)
		lx_credit_take(pni->tx);
	assert_int_equal(parse(&first, &rx[0], &sent), LX_RX_NOW);
	assert_int_equal(parse(&second, &rx[1], &msg), LX_RX_LATER);
	lx_lnd_finalize(sent, 0);
	for (int i = 0; core->peer_nis.count < 16; i++) {
		snprintf(text, sizeof(text), "10.0.1.%d@tcp1", i);
		other = nid(text);
		assert_int_equal(lx_peer_ni_obtain(core, &other, &dummy), 0);
	}
	recv_at_once = true;
	lx_sim_ni_del(router, "10.1.0.11@tcp2");
	assert_int_equal(n_received, 1);
	assert_ptr_equal(received[0].rx, &rx[1]);
	assert_ptr_equal(lx_peer_ni_lookup(core, &next_hop), pni);
	for (int i = 0; i < 8; i++)
		lx_credit_give(pni->tx);
}

/*
 * The peer that a message to forward comes from is deleted while the message is received. It has
 * the header of an earlier one, so it is asked whether it came from where its source is.
 */
static void sender_goes_while_its_message_comes(void **state)
{
	struct lx_hdr hdr = put_to("10.9.0.1@tcp9", 100);
	struct lx_nid sender = neighbour().nid;
	struct lx_msg *msg;

	hdr.src_nid = nid("10.7.0.1@tcp7");
	make_router(far);
	add_route(router, "tcp9", "10.1.0.1@tcp2", LX_UNSET, 0);
	add_route(router, "tcp7", "10.0.0.77@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(parse(&hdr, &rx[0], &msg), LX_RX_NOW);
	lx_lnd_finalize(msg, 0);
	assert_int_equal(parse(&hdr, &rx[1], &msg), LX_RX_NOW);
	lx_peer_delete(lx_peer_of(lx_peer_ni_lookup(router->core, &sender)));
	lx_lnd_finalize(msg, 0);
	assert_int_equal(router->core->stats.loops, 0);
}

/* ---- the node's own portal ---------------------------------------------------------------- */

static struct lx_hdr push_of(uint64_t bits)
{
	struct lx_hdr hdr = put_to("10.0.0.11@tcp1", 100);

	hdr.cmd.put.portal = lx_le32(LX_PORTAL_RESERVED);
	hdr.cmd.put.match_bits = lx_le64(bits);
	return hdr;
}

/* A peer that stops in the middle of its push does not hold up those of others. */
static void a_push_waits_for_nobody(void **state)
{
	struct lx_hdr hdr = push_of(LX_PING_MATCH_BITS);
	struct lx_msg *msg[3];

	assert_int_equal(parse(&hdr, &rx[0], &msg[0]), LX_RX_NOW);
	lx_sim_run(sim, MS);
	assert_int_equal(parse(&hdr, &rx[1], &msg[1]), LX_RX_NOW);
	assert_ptr_not_equal(msg[0]->payload.iov->iov_base, msg[1]->payload.iov->iov_base);
	lx_lnd_finalize(msg[1], 0);
	lx_sim_run(sim, MS);
	assert_int_equal(parse(&hdr, &rx[2], &msg[2]), LX_RX_NOW);
	lx_lnd_finalize(msg[2], 0);
	lx_lnd_finalize(msg[0], 0);
}

/* The memory for them is bounded; further ones wait. */
static void pushes_are_bounded(void **state)
{
	struct lx_hdr hdr = push_of(LX_PING_MATCH_BITS);
	struct lx_msg *msg[LX_PUSHES_MAX], *more;

	for (unsigned int i = 0; i < LX_PUSHES_MAX; i++) {
		assert_int_equal(parse(&hdr, &rx[0], &msg[i]), LX_RX_NOW);
		lx_sim_run(sim, MS);
	}
	assert_int_equal(parse(&hdr, &rx[1], &more), LX_RX_LATER);
	lx_sim_run(sim, MS);
	assert_int_equal(n_received, 0);
	lx_lnd_finalize(msg[0], 0);
	lx_sim_run(sim, MS);
	assert_int_equal(n_received, 1);
	assert_ptr_equal(received[0].rx, &rx[1]);
	lx_lnd_finalize(received[0].msg, 0);
	for (unsigned int i = 1; i < LX_PUSHES_MAX; i++)
		lx_lnd_finalize(msg[i], 0);
}

/* Waiting, it would stop the connection of a router for ever: no buffer will match. */
static void no_push_at_all(void **state)
{
	struct lx_hdr hdr = push_of(LX_PING_MATCH_BITS + 1);
	struct lx_msg *msg = (void *)rx;

	assert_int_equal(parse(&hdr, rx, &msg), LX_RX_NOW);
	assert_null(msg);
	assert_int_equal(router->core->stats.drops[LX_REASON_NO_MATCH], 1);
}

/* ---- whose message it is ------------------------------------------------------------------ */

/* With the shortcut the NID is not looked up, so any value will do. */
static void peer_is_looked_up_once(void **state)
{
	struct lx_hdr hdr = put_to("10.0.0.11@tcp1", 10);
	struct lx_rx_from from = neighbour();
	struct lx_nid sender = from.nid;
	struct lx_lnd_peer shortcut = { 0 };
	struct lx_peer_ni *pni;
	struct lx_msg *msg;

	from.peer = &shortcut;
	assert_int_equal(parse_from(&hdr, &from, rx, &msg), LX_RX_NOW);
	pni = lx_peer_ni_lookup(router->core, &sender);
	assert_ptr_equal(shortcut.pni, pni);
	from.nid = nid("10.0.0.77@tcp1");
	assert_int_equal(parse_from(&hdr, &from, rx, &msg), LX_RX_NOW);
	assert_null(lx_peer_ni_lookup(router->core, &from.nid));
	assert_int_equal(pni->traffic.dropped.put, 2);
	lx_lnd_peer_forget(&shortcut);
	assert_null(pni->shortcuts);
}

/* Several peers of a transport may be one to LNet: the same NID with different pids. */
static void shortcuts_end_with_the_peer(void **state)
{
	struct lx_hdr hdr = put_to("10.0.0.11@tcp1", 10);
	struct lx_lnd_peer shortcut[3] = { 0 };
	struct lx_rx_from from = neighbour();
	struct lx_msg *msg;

	for (unsigned int i = 0; i < 3; i++) {
		from.peer = &shortcut[i];
		assert_int_equal(parse_from(&hdr, &from, rx, &msg), LX_RX_NOW);
	}
	lx_lnd_peer_forget(&shortcut[1]);
	assert_null(shortcut[1].pni);
	assert_non_null(shortcut[0].pni);
	lx_peer_delete(lx_peer_of(shortcut[0].pni));
	assert_null(shortcut[0].pni);
	assert_null(shortcut[2].pni);
	lx_lnd_peer_forget(&shortcut[2]);
	/* The next message creates the peer again. */
	from.peer = &shortcut[0];
	assert_int_equal(parse_from(&hdr, &from, rx, &msg), LX_RX_NOW);
	assert_ptr_equal(shortcut[0].pni, lx_peer_ni_lookup(router->core, &from.nid));
	lx_lnd_peer_forget(&shortcut[0]);
}

#define RECV_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECV_TEST(now_into_the_md),
		RECV_TEST(now_into_a_router_buffer),
		RECV_TEST(now_nowhere),
		RECV_TEST(get_is_answered_when_received),
		RECV_TEST(rdma_get_brings_the_answer),
		RECV_TEST(refused),
		RECV_TEST(later_when_an_md_comes),
		RECV_TEST(later_when_a_credit_comes),
		RECV_TEST(later_when_a_buffer_comes),
		RECV_TEST(ni_stops_while_messages_wait),
		RECV_TEST(sender_goes_while_messages_wait),
		RECV_TEST(ni_stops_while_others_wait_for_its_credit),
		RECV_TEST(net_stops_while_peers_are_many),
		RECV_TEST(sender_goes_while_its_message_comes),
		RECV_TEST(a_push_waits_for_nobody),
		RECV_TEST(pushes_are_bounded),
		RECV_TEST(no_push_at_all),
		RECV_TEST(peer_is_looked_up_once),
		RECV_TEST(shortcuts_end_with_the_peer),
		RECV_TEST(ni_starts_down),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: receiving", tests, NULL, NULL);
}
