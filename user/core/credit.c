/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Credits (lnet.md 9). A negative counter, apart from the credits held by the fast path, is
 * the number of waiting messages.
 *
 *	sending:    peer NI's transmit credit ─▶ NI's transmit credit ─▶ transport
 *	forwarding: peer NI's router credit   ─▶ buffer of its class  ─▶ transport recv
 *
 * A message that waits for its second credit keeps the first one. A returned credit goes to
 * the head of the queue; that message may end immediately (deadline, dead peer) and return
 * the credit again: hence the loops. A waiting message is counted as if it had the credit that
 * it took last. If it ends, there is none to hand on: lx_credit_stop_waiting() comes first.
 */
#include <errno.h>

#include "core.h"
#include "credit.h"

/* ---- sending ---------------------------------------------------------------- */

/*
 * A message to be forwarded to a neighbour that is down would hold its buffer until the transport
 * gives up. But one that was only lost may be back, and wait for this message: one a second tries.
 */
static bool is_dead(const struct lx_core_msg *msg)
{
	struct lx_peer_ni *peer = msg->txpeer;
	uint64_t now = lx_core_now(msg->core);

	if (msg->txni->ni.tun.peer_timeout <= 0 || peer->status != LX_NI_STATUS_DOWN ||
	    (msg->m.target.pid & LX_PID_USERFLAG))
		return false;
	if (!lx_down_is_lost(&peer->down) || now < peer->try_ns)
		return true;
	peer->try_ns = now + LX_NSEC;
	return false;
}

/* Checks again when a message has its credits. 0: send it. */
static int late_check(struct lx_core_msg *msg)
{
	struct lx_core *core = msg->core;

	if (core->stopping || msg->txni->state != LX_NI_UP) {
		msg->m.hstatus = LX_HSTATUS_LOCAL_ABORTED;
		return -ESHUTDOWN;
	}
	/* A router does not know the deadlines of messages it forwards (lnet.md 13.4). */
	if (!msg->m.routing && msg->m.deadline_ns < lx_core_now(core)) {
		msg->m.hstatus = LX_HSTATUS_NETWORK_TIMEOUT;
		msg->drop = LX_REASON_DEADLINE;
		return -ETIMEDOUT;
	}
	if (msg->m.routing && is_dead(msg)) {
		msg->m.hstatus = LX_HSTATUS_REMOTE_DROPPED;
		msg->drop = LX_REASON_PEER_DEAD;
		return -EHOSTUNREACH;
	}
	if (msg->md && msg->md->zombie && !msg->response) {
		msg->m.hstatus = LX_HSTATUS_OK;
		return -ECANCELED;
	}
	return 0;
}

/*
 * Applies rules of fault injection to a message that has its credits. Returns 0: nothing;
 * 1: it is held; -EIO: it fails; -ECANCELED: it vanishes.
 */
static int inject(struct lx_core_msg *msg)
{
	struct lx_core *core = msg->core;
	const struct lx_nid *local = &msg->txni->ni.nid;
	enum lx_hstatus hstatus;

	if (!core->faults.n)
		return 0;
	if (lx_fault_drops(core, &msg->m.hdr, local, true, &hstatus)) {
		msg->m.hstatus = hstatus;
		return hstatus ? -EIO : -ECANCELED;
	}
	if (!lx_fault_holds(core, msg, local))
		return 0;
	msg->phase = LX_PHASE_HELD_TX;
	return 1;
}

void lx_credit_transmit(struct lx_core_msg *msg)
{
	int r = late_check(msg);

	msg->phase = LX_PHASE_TX;
	msg->sent_ns = lx_core_now(msg->core);
	if (!r)
		r = msg->txni->ni.lnd->send(&msg->txni->ni, &msg->m);
	if (r)
		lx_lnd_finalize(&msg->m, r);
}

static void transmit(struct lx_core_msg *msg)
{
	int r = inject(msg);

	if (!r) {
		lx_credit_transmit(msg);
	} else if (r < 0) {
		msg->phase = LX_PHASE_TX;
		msg->sent_ns = lx_core_now(msg->core);
		lx_lnd_finalize(&msg->m, r == -ECANCELED ? 0 : r);
	}
}

/* Has the peer NI's credit. Returns false if it waits. */
static bool take_ni_credit(struct lx_core_msg *msg)
{
	struct lx_core_ni *ni = msg->txni;

	if (--ni->tx_credits < ni->tx_credits_min)
		ni->tx_credits_min = ni->tx_credits;
	msg->has_ni_credit = true;
	if (ni->tx_credits >= 0)
		return true;
	msg->phase = LX_PHASE_TX_WAIT;
	lx_list_append(&ni->tx_queue, &msg->link);
	return false;
}

void lx_credit_send(struct lx_core_msg *msg)
{
	struct lx_peer_ni *peer = msg->txpeer;

	if (msg->txni->ni.lnd->no_credits) {
		transmit(msg);
		return;
	}
	peer->tx_queued_bytes += lx_credit_weight(msg);
	msg->has_peer_credit = true;
	if (lx_credit_take(peer->tx) < 0) {
		msg->phase = LX_PHASE_TX_WAIT;
		lx_list_append(&peer->tx_queue, &msg->link);
		return;
	}
	if (take_ni_credit(msg))
		transmit(msg);
}

/* Hands a returned credit of the peer NI to the first message waiting for one. */
static void serve_tx(struct lx_peer_ni *peer)
{
	struct lx_core_msg *next = lx_list_first(&peer->tx_queue, struct lx_core_msg, link);

	if (!next)
		return;
	lx_list_del(&next->link);
	if (take_ni_credit(next))
		transmit(next);
}

/* The same for a credit of the NI. */
static void serve_ni(struct lx_core_ni *ni)
{
	struct lx_core_msg *next = lx_list_first(&ni->tx_queue, struct lx_core_msg, link);

	if (!next)
		return;
	lx_list_del(&next->link);
	transmit(next);
}

static bool give_ni_credit(struct lx_core_msg *msg)
{
	if (!msg->has_ni_credit)
		return false;
	msg->has_ni_credit = false;
	msg->txni->tx_credits++;
	return true;
}

static bool give_peer_credit(struct lx_core_msg *msg)
{
	if (!msg->has_peer_credit)
		return false;
	msg->has_peer_credit = false;
	lx_credit_give(msg->txpeer->tx);
	msg->txpeer->tx_queued_bytes -= lx_credit_weight(msg);
	return true;
}

void lx_credit_return_tx(struct lx_core_msg *msg)
{
	if (give_ni_credit(msg))
		serve_ni(msg->txni);
	if (give_peer_credit(msg))
		serve_tx(msg->txpeer);
}

/* ---- forwarding -------------------------------------------------------------- */

static void give_buffer(struct lx_core_msg *msg)
{
	msg->rbuf = lx_pool_take(msg->pool);
	msg->m.payload = (struct lx_payload){
		.rbuf = msg->rbuf,
		.length = msg->m.hdr.payload_length,
	};
	msg->phase = LX_PHASE_RX;
}

/* Resumes a message that the transport was told to wait for. */
static void receive(struct lx_core_msg *msg)
{
	msg->rxni->ni.lnd->recv(&msg->rxni->ni, msg->rx, &msg->m);
}

static void wait_in(struct lx_list *queue, struct lx_core_msg *msg)
{
	msg->phase = LX_PHASE_RX_WAIT;
	lx_list_append(queue, &msg->link);
}

/* Has the router credit. Returns false if it waits. */
static bool take_buffer(struct lx_core_msg *msg)
{
	struct lx_pool *pool = msg->pool;

	msg->has_pool_credit = true;
	if (--pool->credits < pool->credits_min)
		pool->credits_min = pool->credits;
	if (pool->credits < 0 || !pool->n_free) {
		wait_in(&pool->queue, msg);
		return false;
	}
	give_buffer(msg);
	return true;
}

bool lx_credit_recv(struct lx_core_msg *msg)
{
	struct lx_peer_ni *peer = msg->rxpeer;

	msg->pool = &msg->core->pool[lx_pool_class_of(msg->m.hdr.payload_length)];
	msg->has_rtr_credit = true;
	if (lx_credit_take(peer->rtr) < 0) {
		wait_in(&peer->rtr_queue, msg);
		return false;
	}
	return take_buffer(msg);
}

/* A buffer was returned or made: hands it to the messages waiting for one. */
static void serve_pool(struct lx_pool *pool)
{
	struct lx_core_msg *msg;

	while (pool->n_free && (msg = lx_list_first(&pool->queue, struct lx_core_msg, link))) {
		lx_list_del(&msg->link);
		give_buffer(msg);
		receive(msg);
	}
}

static void serve_pools(struct lx_core *core)
{
	for (unsigned int i = 0; i < LX_POOLS; i++)
		serve_pool(&core->pool[i]);
}

int lx_credit_pools_make(struct lx_core *core)
{
	int r = lx_pool_make_all(core);

	serve_pools(core);
	return r;
}

int lx_credit_pools_resize(struct lx_core *core, const int64_t totals[LX_POOLS])
{
	int r = lx_pool_resize(core, totals);

	serve_pools(core);
	return r;
}

static void serve_rtr(struct lx_peer_ni *peer)
{
	struct lx_core_msg *next = lx_list_first(&peer->rtr_queue, struct lx_core_msg, link);

	if (!next)
		return;
	lx_list_del(&next->link);
	if (take_buffer(next))
		receive(next);
}

static bool give_pool_credit(struct lx_core_msg *msg)
{
	if (!msg->has_pool_credit)
		return false;
	msg->has_pool_credit = false;
	if (msg->rbuf)
		lx_pool_give(msg->core, msg->pool, msg->rbuf);
	else
		msg->pool->credits++;
	msg->rbuf = NULL;
	return true;
}

static bool give_rtr_credit(struct lx_core_msg *msg)
{
	if (!msg->has_rtr_credit)
		return false;
	msg->has_rtr_credit = false;
	lx_credit_give(msg->rxpeer->rtr);
	return true;
}

void lx_credit_return_rx(struct lx_core_msg *msg)
{
	if (give_pool_credit(msg))
		serve_pool(msg->pool);
	if (give_rtr_credit(msg))
		serve_rtr(msg->rxpeer);
}

/* ---- both ---------------------------------------------------------------------------- */

void lx_credit_stop_waiting(struct lx_core_msg *msg)
{
	lx_list_del(&msg->link);
	if (msg->phase == LX_PHASE_TX_WAIT) {
		if (!give_ni_credit(msg))
			give_peer_credit(msg);
	} else if (msg->phase == LX_PHASE_RX_WAIT) {
		if (!give_pool_credit(msg))
			give_rtr_credit(msg);
	}
	msg->phase = LX_PHASE_NEW;
}

/* ---- with the fast path ------------------------------------------------------------- */
