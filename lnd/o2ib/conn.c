/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections: memory, credits, the order of sending, closing.
 *
 *	DIALLING ── established ─┐
 *	                         ├──▶ UP ── close ──▶ closing ── last user ──▶ freed
 *	ACCEPTING ─ established ─┘      (from any state)
 *
 * Queues (o2iblnd.md 7): a request waits in q_reserved until a receive buffer is reserved for
 * its answer, then in q_normal for a credit. Answers and, from V2 on, NOOPs need no credit:
 * they are in q_nocred, which is served first. conn->outstanding counts buffers posted again
 * that the peer does not know of yet; every message returns them as credits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "priv.h"

/* RDMA writes of the longest plan: the peer's fragments plus the pieces of our memory. */
#define WRITES_MAX (LX_O2IB_FRAGS_MAX + LX_O2IB_PIECES)

/* ---- life --------------------------------------------------------------------------- */

static unsigned int concurrent_sends(const struct lx_o2ib_net *net)
{
	return net->ni->lnd_tun.value[LX_O2IB_NI_CONCURRENT_SENDS];
}

static int slab_new(struct lx_o2ib_conn *conn)
{
	void *slab;

	conn->n_rxs = 2 * conn->depth + LX_O2IB_OOB_NOOPS;
	conn->n_slots = concurrent_sends(conn->net) + LX_O2IB_OOB_NOOPS;
	conn->n_wrs = conn->wrs_free = 2 * (WRITES_MAX + 1) + conn->n_slots;
	if (posix_memalign(&slab, 4096, lx_o2ib_conn_slab_bytes(conn)))
		return -ENOMEM;
	conn->slab = slab;
	memset(slab, 0, lx_o2ib_conn_slab_bytes(conn));
	conn->rx = calloc(conn->n_rxs, sizeof(*conn->rx));
	conn->slot = calloc(conn->n_slots, sizeof(*conn->slot));
	conn->free_slot = calloc(conn->n_slots, sizeof(*conn->free_slot));
	if (!conn->rx || !conn->slot || !conn->free_slot)
		return -ENOMEM;
	for (unsigned int i = 0; i < conn->n_rxs; i++)
		conn->rx[i].conn = conn;
	for (unsigned int i = 0; i < conn->n_slots; i++)
		conn->free_slot[i] = i;
	conn->n_free_slots = conn->n_slots;
	return 0;
}

static void conn_free(struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_net *net = conn->net;

	lx_o2ib_hw->free(conn);
	lx_list_del(&conn->net_link);
	free(conn->free_slot);
	free(conn->slot);
	free(conn->rx);
	free(conn->slab);
	free(conn);
	lx_o2ib_net_put(net);
}

int lx_o2ib_conn_new(struct lx_o2ib_peer *peer, bool active, uint16_t version, uint16_t depth,
		     uint16_t max_frags, lx_o2ib_conn_closed_fn *closed,
		     struct lx_o2ib_conn **ret_conn)
{
	struct lx_o2ib_conn *conn = calloc(1, sizeof(*conn));
	uint64_t now = lx_o2ib_now(peer->net);
	uint64_t limit = lx_o2ib_net_timeout_ns(peer->net) / 4;

	if (!conn)
		return -ENOMEM;
	conn->net = peer->net;
	conn->net->pending++;
	conn->peer = peer;
	conn->closed = closed;
	conn->nid = peer->nid;
	conn->active = active;
	conn->state = active ? LX_O2IB_DIALLING : LX_O2IB_ACCEPTING;
	conn->refs = 1;
	conn->version = version;
	conn->depth = depth;
	conn->max_frags = max_frags;
	conn->credits = conn->reserved = depth;
	conn->deadline_ns = now + (limit > 5 * LX_S_NS ? limit : 5 * LX_S_NS);
	conn->last_tx_ns = conn->last_rx_ns = now;
	lx_list_init(&conn->link);
	lx_list_init(&conn->q_reserved);
	lx_list_init(&conn->q_nocred);
	lx_list_init(&conn->q_normal);
	lx_list_init(&conn->active_txs);
	lx_list_append(&peer->net->conns, &conn->net_link);
	if (slab_new(conn)) {
		conn_free(conn);
		return -ENOMEM;
	}
	*ret_conn = conn;
	return 0;
}

void lx_o2ib_conn_get(struct lx_o2ib_conn *conn)
{
	conn->refs++;
}

void lx_o2ib_conn_put(struct lx_o2ib_conn *conn)
{
	if (!--conn->refs)
		conn_free(conn);
}

struct lx_o2ib_conn *lx_o2ib_conn_next(struct lx_o2ib_net *net, struct lx_o2ib_conn *conn)
{
	struct lx_list *next = conn ? conn->net_link.next : net->conns.next;
	struct lx_o2ib_conn *found = NULL;

	if (next != &net->conns) {
		found = lx_container_of(next, struct lx_o2ib_conn, net_link);
		lx_o2ib_conn_get(found);
	}
	if (conn)
		lx_o2ib_conn_put(conn);
	return found;
}

/* ---- sending ------------------------------------------------------------------------ */

static bool is_v1(const struct lx_o2ib_conn *conn)
{
	return conn->version == LX_O2IB_V1;
}

/* From this many owed credits on, a NOOP returns them; none is sent if none are owed. */
static unsigned int high_water(const struct lx_o2ib_conn *conn)
{
	const struct lx_ni *ni = conn->net->ni;
	unsigned int mark;

	if (is_v1(conn))
		return 7;
	mark = conn->depth * ni->lnd_tun.value[LX_O2IB_NI_PEERCREDITS_HIW] / ni->tun.peer_credits;
	return mark ? mark : 1;
}

static bool keepalive_due(const struct lx_o2ib_conn *conn)
{
	return lx_o2ib_tun.keepalive &&
	       lx_o2ib_now(conn->net) >= conn->last_tx_ns + lx_o2ib_tun.keepalive * LX_S_NS;
}

static bool need_noop(const struct lx_o2ib_conn *conn)
{
	if (conn->outstanding < high_water(conn) && !keepalive_due(conn))
		return false;
	if (!lx_list_empty(&conn->q_nocred))
		return false;
	if (!is_v1(conn))
		return lx_list_empty(&conn->q_normal) || !conn->credits;
	if (!conn->credits)
		return false;
	/* The last credit is kept for a NOOP, and only for one that returns credits. */
	return conn->credits == 1 ? conn->outstanding > 0 : lx_list_empty(&conn->q_normal);
}

static void queue_noop(struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_tx *tx = lx_o2ib_tx_new(conn->net, LX_O2IB_NOOP);

	if (!tx)
		return; /* the next message returns the credits */
	tx->conn = conn;
	tx->queued = true;
	if (is_v1(conn))
		lx_list_push(&conn->q_normal, &tx->link);
	else
		lx_list_append(&conn->q_nocred, &tx->link);
}

/* Whether a NOOP at the head of its queue is no longer needed. */
static bool drop_noop(struct lx_o2ib_conn *conn, struct lx_o2ib_tx *tx)
{
	bool drop;

	if (tx->type != LX_O2IB_NOOP)
		return false;
	lx_list_del(&tx->link);
	drop = !need_noop(conn) || conn->noops_posted == LX_O2IB_OOB_NOOPS;
	if (drop)
		lx_o2ib_tx_free(tx);
	else if (is_v1(conn))
		lx_list_push(&conn->q_normal, &tx->link);
	else
		lx_list_push(&conn->q_nocred, &tx->link);
	return drop;
}

static bool may_post(const struct lx_o2ib_conn *conn, const struct lx_o2ib_tx *tx, bool credit)
{
	unsigned int posted = conn->n_slots - conn->n_free_slots;

	if (!conn->n_free_slots || conn->wrs_free < tx->n_writes + 1)
		return false;
	if (posted >= concurrent_sends(conn->net))
		return false;
	if (!credit)
		return true;
	return conn->credits > (is_v1(conn) && tx->type != LX_O2IB_NOOP ? 1 : 0);
}

static int post(struct lx_o2ib_conn *conn, struct lx_o2ib_tx *tx, bool credit)
{
	unsigned int i = conn->free_slot[--conn->n_free_slots];
	struct lx_o2ib_slot *slot = &conn->slot[i];
	unsigned int back = conn->outstanding < 255 ? conn->outstanding : 255;
	size_t nob;
	int r;

	*slot = (struct lx_o2ib_slot){ tx, tx->n_writes + 1, tx->type == LX_O2IB_NOOP };
	conn->wrs_free -= slot->n_wrs;
	conn->credits -= credit;
	conn->noops_posted += slot->noop;
	conn->outstanding -= back;
	tx->queued = false;
	tx->sending++;
	lx_list_del(&tx->link);
	lx_list_append(&conn->active_txs, &tx->link);
	nob = lx_o2ib_tx_encode(tx, lx_o2ib_conn_slot_buf(conn, i), back);
	r = lx_o2ib_hw->post_send(conn, i, nob, tx->writes, tx->n_writes);
	conn->last_tx_ns = lx_o2ib_now(conn->net);
	conn->tx_bytes += nob + (tx->n_writes ? tx->length : 0);
	return r;
}

/* False: nothing can be sent now. */
static bool push_one(struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_tx *tx = lx_list_first(&conn->q_nocred, struct lx_o2ib_tx, link);
	bool credit = !tx;
	int r;

	if (!tx)
		tx = lx_list_first(&conn->q_normal, struct lx_o2ib_tx, link);
	if (!tx)
		return false;
	if (drop_noop(conn, tx))
		return true;
	if (!may_post(conn, tx, credit))
		return false;
	r = post(conn, tx, credit);
	if (r)
		lx_o2ib_conn_close(conn, r, LX_HSTATUS_LOCAL_ERROR);
	return !r;
}

void lx_o2ib_conn_push(struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_tx *tx;

	if (conn->closing || conn->state != LX_O2IB_UP || conn->pushing)
		return;
	conn->pushing = true;
	lx_o2ib_conn_get(conn);
	while (conn->reserved && !lx_list_empty(&conn->q_reserved)) {
		tx = lx_list_pop(&conn->q_reserved, struct lx_o2ib_tx, link);
		lx_list_append(&conn->q_normal, &tx->link);
		conn->reserved--;
	}
	if (need_noop(conn))
		queue_noop(conn);
	while (!conn->closing && push_one(conn))
		;
	conn->pushing = false;
	lx_o2ib_conn_put(conn);
}

void lx_o2ib_conn_queue(struct lx_o2ib_conn *conn, struct lx_o2ib_tx *tx)
{
	tx->conn = conn;
	tx->queued = true;
	lx_list_del(&tx->link);
	switch (tx->type) {
	case LX_O2IB_PUT_REQ:
	case LX_O2IB_GET_REQ:
		tx->waiting = true;
		lx_list_append(&conn->q_reserved, &tx->link);
		break;
	case LX_O2IB_PUT_ACK:
		tx->waiting = true;
		/* fallthrough */
	case LX_O2IB_PUT_NAK:
	case LX_O2IB_PUT_DONE:
	case LX_O2IB_GET_DONE:
		lx_list_append(&conn->q_nocred, &tx->link);
		break;
	default:
		lx_list_append(&conn->q_normal, &tx->link);
	}
	lx_o2ib_conn_push(conn);
}

void lx_o2ib_conn_sent(struct lx_o2ib_conn *conn, unsigned int i, bool ok)
{
	struct lx_o2ib_slot *slot = &conn->slot[i];
	struct lx_o2ib_tx *tx = slot->tx;

	if (conn->closing)
		return;
	if (!ok) {
		lx_o2ib_conn_close(conn, -EIO, LX_HSTATUS_REMOTE_DROPPED);
		return;
	}
	conn->wrs_free += slot->n_wrs;
	conn->noops_posted -= slot->noop;
	conn->free_slot[conn->n_free_slots++] = i;
	slot->tx = NULL;
	tx->sending--;
	lx_o2ib_conn_get(conn);
	lx_o2ib_tx_check_done(tx);
	lx_o2ib_conn_push(conn);
	lx_o2ib_conn_put(conn);
}

unsigned int lx_o2ib_conn_load(const struct lx_o2ib_conn *conn)
{
	return lx_list_count(&conn->q_reserved) + lx_list_count(&conn->q_nocred) +
	       lx_list_count(&conn->q_normal) + lx_list_count(&conn->active_txs);
}

/* ---- end ------------------------------------------------------------------------------ */

static void tell_down(struct lx_o2ib_conn *conn, int error)
{
	struct lx_change change = { LX_CHANGE_CONN_DOWN, conn->nid, conn->net->ni->net, "" };

	snprintf(change.text, sizeof(change.text), "o2ib: %s",
		 error ? strerror(-error) : "closed in order");
	lx_lnd_change(conn->net->ni, &change);
}

static void fail_all(struct lx_o2ib_conn *conn, int error, enum lx_hstatus hstatus)
{
	struct lx_o2ib_tx *tx;
	struct lx_list doomed;

	lx_list_init(&doomed);
	lx_list_splice(&doomed, &conn->active_txs);
	lx_list_splice(&doomed, &conn->q_nocred);
	lx_list_splice(&doomed, &conn->q_normal);
	lx_list_splice(&doomed, &conn->q_reserved);
	while ((tx = lx_list_first(&doomed, struct lx_o2ib_tx, link)))
		lx_o2ib_tx_fail(tx, error ? error : -ECONNABORTED, hstatus);
}

void lx_o2ib_conn_close(struct lx_o2ib_conn *conn, int error, enum lx_hstatus hstatus)
{
	struct lx_o2ib_peer *peer = conn->peer;

	if (conn->closing)
		return;
	conn->closing = true;
	conn->peer = NULL;
	lx_list_del(&conn->link);
	if (peer->dialling == conn)
		peer->dialling = NULL;
	if (conn->state == LX_O2IB_ACCEPTING) {
		peer->n_accepting--;
		conn->net->n_accepting--;
	}
	/* The hardware does not use any of this memory any more. */
	lx_o2ib_hw->close(conn);
	fail_all(conn, error, hstatus);
	if (conn->state == LX_O2IB_UP)
		tell_down(conn, error);
	conn->closed(peer, error, hstatus);
	lx_o2ib_conn_put(conn);
}

void lx_o2ib_conn_fault(struct lx_o2ib_conn *conn, int error, const char *reason)
{
	if (conn->closing)
		return;
	lx_warn("ni=%s peer=%s reason=\"%s\" action=\"connection closed; the next message opens a "
		"new one\"",
		lx_nid_str(&conn->net->ni->nid), lx_nid_str(&conn->nid), reason);
	lx_o2ib_conn_close(conn, error, LX_HSTATUS_LOCAL_ERROR);
}

static const struct lx_o2ib_tx *late(const struct lx_list *list, uint64_t now)
{
	struct lx_o2ib_tx *tx;

	lx_list_for_each (tx, list, link) {
		if (now >= tx->deadline_ns)
			return tx;
	}
	return NULL;
}

/* The side at fault for a timeout; OK: there is none (o2iblnd.md 13). */
static enum lx_hstatus timed_out(const struct lx_o2ib_conn *conn, uint64_t now)
{
	const struct lx_o2ib_tx *tx;

	if (late(&conn->q_reserved, now) || late(&conn->q_nocred, now) ||
	    late(&conn->q_normal, now))
		return LX_HSTATUS_LOCAL_TIMEOUT;
	tx = late(&conn->active_txs, now);
	if (!tx)
		return LX_HSTATUS_OK;
	return tx->sending ? LX_HSTATUS_NETWORK_TIMEOUT : LX_HSTATUS_REMOTE_TIMEOUT;
}

void lx_o2ib_conn_tick(struct lx_o2ib_conn *conn, uint64_t now)
{
	enum lx_hstatus hstatus;

	if (conn->closing)
		return;
	if (conn->state != LX_O2IB_UP) {
		if (now >= conn->deadline_ns)
			lx_o2ib_conn_close(conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT);
		return;
	}
	hstatus = timed_out(conn, now);
	if (hstatus == LX_HSTATUS_OK) {
		lx_o2ib_conn_push(conn); /* a keepalive may be due */
		return;
	}
	lx_warn("ni=%s peer=%s reason=\"a message %s within the time allowed\" "
		"action=\"connection closed\" next=\"check that the peer is up: lnetx ping\"",
		lx_nid_str(&conn->net->ni->nid), lx_nid_str(&conn->nid),
		hstatus == LX_HSTATUS_REMOTE_TIMEOUT ? "was not answered" : "could not be sent");
	lx_o2ib_conn_close(conn, -ETIMEDOUT, hstatus);
}
