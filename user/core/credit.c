/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Credits (lnet.md 9). A negative counter, apart from the credits held by the fast path, is
 * the number of waiting messages.
 *
 *	sending:    peer NI's transmit credit ─▶ NI's transmit credit ─▶ transport
 *	forwarding: peer NI's router credit   ─▶ buffer of its class  ─▶ transport recv
 *
 * Of the last of these, and of the NI's transmit credits, an address has a share (origin.h): a
 * forwarded message takes it before the buffer, and before it is sent.
 *
 * Those that wait to be sent go small ones first (queue.h), and those, sender by sender.
 *
 * A message that waits for its second credit keeps the first one. A returned credit goes to
 * the next one in the queue; that message may end immediately (deadline, dead peer) and return
 * the credit again: hence the loops. A waiting message is counted as if it had the credit that
 * it took last: call lx_credit_stop_waiting() before ending one, or a credit that it never had is
 * returned.
 */
#include <errno.h>

#include "../base/log.h"
#include "core.h"
#include "credit.h"
#include "slow.h"

/* ---- shares of addresses ------------------------------------------------------ */

static struct lx_share *share_of(const struct lx_core_msg *msg, enum lx_share_of what)
{
	return &msg->origin->share[what];
}

static enum lx_share_of pool_share(const struct lx_core_msg *msg)
{
	return LX_SHARE_POOL + (msg->pool - msg->core->pool);
}

/* How many all forwarded messages have taken; @ret_total: of how many. NULL: not counted. */
static unsigned int *taken_of(const struct lx_core_msg *msg, enum lx_share_of what,
			      unsigned int *ret_total)
{
	*ret_total = 0;
	if (what == LX_SHARE_JOINED)
		return NULL;
	*ret_total = what == LX_SHARE_TX ? (unsigned int)msg->txni->ni.tun.credits
					 : msg->pool->wanted;
	return what == LX_SHARE_TX ? &msg->txni->tx_forwarding : &msg->pool->taken;
}

static bool has_share(const struct lx_core_msg *msg, enum lx_share_of what)
{
	unsigned int total, *taken = taken_of(msg, what, &total);
	unsigned int share = total / LX_ORIGIN_SHARE, one = msg->rxpeer->rtr_max;

	return share_of(msg, what)->held < (share > one ? share : one) ||
	       (taken && *taken < total / 2);
}

static void hold_share(struct lx_core_msg *msg, enum lx_share_of what, int n)
{
	unsigned int total, *taken = taken_of(msg, what, &total);

	share_of(msg, what)->held += n;
	if (taken)
		*taken += n;
	msg->shares ^= 1u << what;
}

static void report_share(struct lx_core_msg *msg, enum lx_share_of what)
{
	const char *of = what == LX_SHARE_TX	   ? "transmit credits"
			 : what == LX_SHARE_JOINED ? "router credits"
						   : "router buffers";
	struct lx_core *core = msg->core;
	unsigned int missed;

	if (lx_ratelimit(&core->origins_full, lx_nid_hash(&msg->origin->address),
			 lx_core_now(core), LX_RATELIMIT_MINUTE, &missed))
		lx_info("address=%s nid=%s messages=%u missed=%u reason=\"it has its share of our "
			"%s\" action=\"its next messages wait\"",
			lx_nid_str(&msg->origin->address), lx_nid_str(&msg->rxpeer->nid),
			share_of(msg, what)->held, missed, of);
}

/* True: it has its share. False: it waits. */
static bool take_share(struct lx_core_msg *msg, enum lx_share_of what)
{
	struct lx_share *share = share_of(msg, what);

	if (lx_list_empty(&share->queue) && has_share(msg, what)) {
		hold_share(msg, what, 1);
		return true;
	}
	report_share(msg, what);
	msg->phase = what == LX_SHARE_TX ? LX_PHASE_TX_WAIT : LX_PHASE_RX_WAIT;
	msg->waits_share = true;
	lx_list_append(&share->queue, &msg->link);
	return false;
}

/* A message gives its share back, if it has it: goes on with those that can have it now. */
static void give_share(struct lx_core_msg *msg, enum lx_share_of what,
		       void (*go_on)(struct lx_core_msg *next))
{
	struct lx_core_msg *next;

	if (!(msg->shares & 1u << what))
		return;
	hold_share(msg, what, -1);
	while ((next = lx_list_first(&share_of(msg, what)->queue, struct lx_core_msg, link)) &&
	       has_share(next, what)) {
		lx_list_del(&next->link);
		next->waits_share = false;
		hold_share(next, what, 1);
		go_on(next);
	}
}

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
	peer->try_ns = now + LX_S_NS;
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

/* Messages of an address, and our own, are those of one sender. */
static void wait_tx(struct lx_queue *queue, struct lx_core_msg *msg)
{
	msg->phase = LX_PHASE_TX_WAIT;
	msg->sent_ns = lx_core_now(msg->core);
	lx_queue_add(queue, &msg->at, lx_credit_weight(msg), msg->m.payload.length > LX_SMALL_MAX,
		     msg->origin ? &msg->origin->waiting : &msg->core->own_waiting);
}

/* Takes the next one off, or returns NULL. */
static struct lx_core_msg *next_tx(struct lx_queue *queue)
{
	struct lx_queued *at = lx_queue_next(queue);

	if (!at)
		return NULL;
	lx_queue_take(queue, at);
	return lx_container_of(at, struct lx_core_msg, at);
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
	wait_tx(&ni->tx_queue, msg);
	return false;
}

/* A forwarded message has its share. */
static void take_credits(struct lx_core_msg *msg)
{
	struct lx_peer_ni *peer = msg->txpeer;

	peer->tx_queued_bytes += lx_credit_weight(msg);
	msg->has_peer_credit = true;
	if (lx_credit_take(peer->tx) < 0) {
		wait_tx(&peer->tx_queue, msg);
		return;
	}
	if (take_ni_credit(msg))
		transmit(msg);
}

void lx_credit_send(struct lx_core_msg *msg)
{
	if (msg->txni->ni.lnd->no_credits) {
		transmit(msg);
	} else if (msg->origin && !lx_slow_admit(msg)) {
		msg->drop = LX_REASON_NOT_TAKEN;
		lx_msg_finish(msg, -EHOSTUNREACH);
	} else if (!msg->origin || msg->kept || take_share(msg, LX_SHARE_TX)) {
		take_credits(msg);
	}
}

/* Hands a returned credit of the peer NI to the next message waiting for one. */
static void serve_tx(struct lx_peer_ni *peer)
{
	struct lx_core_msg *next = next_tx(&peer->tx_queue);

	if (next && take_ni_credit(next))
		transmit(next);
}

/* The same for a credit of the NI. */
static void serve_ni(struct lx_core_ni *ni)
{
	struct lx_core_msg *next = next_tx(&ni->tx_queue);

	if (next)
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
	give_share(msg, LX_SHARE_TX, take_credits);
	if (msg->origin && msg->txpeer)
		lx_slow_ended(msg);
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

/* Has its share of them. Returns false if it waits. */
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

/* Has the router credit. Returns false if it waits. */
static bool take_share_and_buffer(struct lx_core_msg *msg)
{
	return take_share(msg, pool_share(msg)) && take_buffer(msg);
}

bool lx_credit_recv(struct lx_core_msg *msg)
{
	struct lx_peer_ni *peer = msg->rxpeer;

	msg->pool = &msg->core->pool[lx_pool_class_of(msg->m.hdr.payload_length)];
	/* The peer's credits are not for those who may be somebody else. */
	if (msg->stranger)
		return take_share(msg, LX_SHARE_JOINED) && take_share_and_buffer(msg);
	msg->has_rtr_credit = true;
	if (lx_credit_take(peer->rtr) < 0) {
		wait_in(&peer->rtr_queue, msg);
		return false;
	}
	return take_share_and_buffer(msg);
}

/* A message that waited has what it waited for: takes the rest. */
static void receive_with_share(struct lx_core_msg *msg)
{
	if (take_buffer(msg))
		receive(msg);
}

static void receive_with_credit(struct lx_core_msg *msg)
{
	if (take_share_and_buffer(msg))
		receive(msg);
}

/* A buffer was returned or made: hands it to the messages waiting for one. */
static void serve_pool(struct lx_pool *pool)
{
	struct lx_core_msg *msg;

	while (pool->n_free && (msg = lx_list_pop(&pool->queue, struct lx_core_msg, link))) {
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
	struct lx_core_msg *next = lx_list_pop(&peer->rtr_queue, struct lx_core_msg, link);

	if (next)
		receive_with_credit(next);
}

static bool give_pool_credit(struct lx_core_msg *msg)
{
	if (!msg->has_pool_credit)
		return false;
	msg->has_pool_credit = false;
	if (msg->kept)
		(void)lx_pool_keep(msg->core, msg->pool, false);
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

void lx_credit_release(struct lx_core_msg *msg)
{
	give_share(msg, LX_SHARE_TX, take_credits);
	give_share(msg, pool_share(msg), receive_with_share);
	give_share(msg, LX_SHARE_JOINED, receive_with_credit);
	serve_pool(msg->pool);
	if (give_rtr_credit(msg))
		serve_rtr(msg->rxpeer);
}

void lx_credit_return_rx(struct lx_core_msg *msg)
{
	if (give_pool_credit(msg))
		serve_pool(msg->pool);
	if (!msg->pool)
		return;
	give_share(msg, pool_share(msg), receive_with_share);
	give_share(msg, LX_SHARE_JOINED, receive_with_credit);
	if (give_rtr_credit(msg))
		serve_rtr(msg->rxpeer);
}

/* ---- both ---------------------------------------------------------------------------- */

void lx_credit_stop_waiting(struct lx_core_msg *msg)
{
	lx_list_del(&msg->link);
	lx_queue_del(&msg->at);
	if (msg->waits_share) { /* and is not counted as if it had it */
		msg->waits_share = false;
	} else if (msg->phase == LX_PHASE_TX_WAIT) {
		if (!give_ni_credit(msg))
			give_peer_credit(msg);
	} else if (msg->phase == LX_PHASE_RX_WAIT) {
		if (!give_pool_credit(msg))
			give_rtr_credit(msg);
	}
	msg->phase = LX_PHASE_NEW;
}

/* ---- with the fast path ------------------------------------------------------------- */
