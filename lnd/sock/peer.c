/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers: one per (NID, pid) that an NI talks to, or did recently. Owner: the net.
 *
 * A peer is created by the first message to it or the first connection from it. A tick
 * frees it when it has no connection, nothing waits and - if it was dialled - its back-off
 * ended a while ago. So a stranger costs memory only while it holds a connection.
 *
 * Which connection a message takes: socklnd.md 7. The queues of messages that wait for a
 * connection are bounded: LNet messages by credits, acknowledgements by LX_SOCK_NOOPS_MAX.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

#define IDLE_S 60

/* ---- life ----------------------------------------------------------------- */

/* Processes have pids of their own; all others are the node, and have its connections. */
bool lx_sock_peer_is(const struct lx_sock_peer *peer, const struct lx_id *id)
{
	return lx_nid_eq(&peer->id.nid, &id->nid) &&
	       (peer->id.pid == id->pid || !((peer->id.pid | id->pid) & LX_PID_USERFLAG));
}

struct lx_sock_peer *lx_sock_peer_lookup(struct lx_sock_net *net, const struct lx_id *id)
{
	struct lx_sock_peer *peer;

	lx_hash_for_each (peer, &net->peer_hash, lx_nid_hash(&id->nid), node) {
		if (lx_sock_peer_is(peer, id))
			return peer;
	}
	return NULL;
}

int lx_sock_peer_new(struct lx_sock_net *net, const struct lx_id *id,
		     struct lx_sock_peer **ret_peer)
{
	struct lx_sock_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return -ENOMEM;
	peer->net = net;
	peer->id = *id;
	if (!lx_sock_peer_is_userspace(peer))
		peer->id.pid = LX_PID_LUSTRE;
	lx_addr_of_nid(&peer->addr, &id->nid, 0);
	lx_sock_net_set_scope(net, &peer->addr);
	peer->next_cookie = LX_SOCK_COOKIE_FIRST;
	peer->last_alive_ns = lx_sock_now();
	lx_list_init(&peer->conns);
	lx_list_init(&peer->waiting);
	lx_list_init(&peer->zc);
	lx_hash_add(&net->peer_hash, &peer->node, lx_nid_hash(&id->nid));
	lx_list_append(&net->peers, &peer->link);
	*ret_peer = peer;
	return 0;
}

void lx_sock_peer_free(struct lx_sock_peer *peer)
{
	lx_sock_offload_peer_gone(peer);
	lx_lnd_peer_forget(&peer->shortcut);
	lx_hash_del(&peer->net->peer_hash, &peer->node);
	lx_list_del(&peer->link);
	free(peer);
}

bool lx_sock_peer_unused(struct lx_sock_peer *peer, uint64_t now)
{
	if (!lx_list_empty(&peer->conns) || !lx_list_empty(&peer->waiting) ||
	    !lx_list_empty(&peer->zc) || peer->dial != LX_SOCK_DIAL_IDLE)
		return false;
	if (lx_sock_origin_keeps(peer, now))
		return false;
	if (!peer->dialled)
		return true;
	return now >= peer->dial_at_ns && now >= peer->last_alive_ns + IDLE_S * LX_S_NS;
}

/* ---- choosing a connection (7) -------------------------------------------- */

unsigned int lx_sock_peer_count(const struct lx_sock_peer *peer, uint32_t ctype)
{
	const struct lx_sock_conn *conn;
	unsigned int n = 0;

	lx_list_for_each (conn, &peer->conns, link)
		n += conn->ctype == ctype && lx_addr_same_host(&conn->remote, &peer->addr);
	return n;
}

/* A candidate. Its backlog may take a system call, so get it only to compare two. */
struct candidate {
	struct lx_sock_conn *conn;
	size_t backlog;
	bool known;
};

static void compare(struct candidate *best, struct lx_sock_conn *conn)
{
	size_t backlog;

	if (!best->conn) {
		best->conn = conn;
		return;
	}
	if (!best->known)
		best->backlog = lx_sock_conn_backlog(best->conn);
	best->known = true;
	backlog = lx_sock_conn_backlog(conn);
	if (backlog > best->backlog)
		return;
	if (backlog == best->backlog &&
	    (!lx_sock_tun.round_robin || conn->last_pick > best->conn->last_pick))
		return;
	best->conn = conn;
	best->backlog = backlog;
}

static enum lx_conn_fit fit(const struct lx_sock_conn *conn, bool noop, size_t payload, bool nonblk)
{
	return lx_proto_conn_fit(conn->version, conn->ctype, noop, payload, nonblk,
				 lx_sock_tun.min_bulk);
}

struct lx_sock_conn *lx_sock_peer_pick(struct lx_sock_peer *peer, bool noop, size_t payload,
				       bool nonblk)
{
	struct candidate best[LX_FIT_YES + 1] = { 0 };
	struct lx_sock_conn *conn;

	lx_list_for_each (conn, &peer->conns, link) {
		if (!conn->reserved && !conn->read_only)
			compare(&best[fit(conn, noop, payload, nonblk)], conn);
	}
	conn = best[LX_FIT_YES].conn ? best[LX_FIT_YES].conn : best[LX_FIT_MAY].conn;
	if (conn)
		conn->last_pick = ++peer->picks;
	return conn;
}

struct lx_sock_conn *lx_sock_peer_batching(struct lx_sock_peer *peer, size_t payload)
{
	struct lx_sock_conn *conn;

	lx_list_for_each (conn, &peer->conns, link) {
		if (!conn->read_only && lx_sock_tx_batching(conn, payload) &&
		    fit(conn, false, payload, false) == LX_FIT_YES)
			return conn;
	}
	return NULL;
}

/* ---- waiting for a connection --------------------------------------------- */

int lx_sock_peer_wait(struct lx_sock_peer *peer, struct lx_sock_tx *tx)
{
	uint64_t latest = lx_sock_now() + lx_sock_net_timeout_ns(peer->net);

	if (lx_sock_tx_is_noop(tx) && peer->n_noops == LX_SOCK_NOOPS_MAX)
		return -ENOBUFS;
	peer->n_noops += lx_sock_tx_is_noop(tx);
	if (!tx->deadline_ns || tx->deadline_ns > latest)
		tx->deadline_ns = latest;
	lx_list_append(&peer->waiting, &tx->at.link);
	return 0;
}

static void unwait(struct lx_sock_peer *peer, struct lx_sock_tx *tx)
{
	lx_list_del(&tx->at.link);
	if (lx_sock_tx_is_noop(tx))
		peer->n_noops--;
}

/* A connection came up: queues what waits and fits it. */
static void flush(struct lx_sock_peer *peer, struct lx_sock_conn *conn)
{
	struct lx_sock_tx *tx, *next;

	if (peer->held || conn->read_only)
		return;
	lx_list_for_each_safe (tx, next, &peer->waiting, at.link) {
		if (!fit(conn, lx_sock_tx_is_noop(tx), lx_sock_tx_payload(tx), tx->nonblk))
			continue;
		unwait(peer, tx);
		lx_sock_tx_queue(conn, tx);
		if (conn->closing)
			return;
	}
}

void lx_sock_peer_send_waiting(struct lx_sock_peer *peer)
{
	struct lx_sock_conn *conn;
	struct lx_sock_tx *tx;

	while ((tx = lx_list_first(&peer->waiting, struct lx_sock_tx, at.link))) {
		conn = lx_sock_peer_pick(peer, lx_sock_tx_is_noop(tx), lx_sock_tx_payload(tx),
					 tx->nonblk);
		if (!conn)
			break;
		unwait(peer, tx);
		lx_sock_tx_queue(conn, tx);
	}
}

/* Ends the txs with a deadline up to @until. */
static void end_waiting(struct lx_sock_peer *peer, uint64_t until, int error,
			enum lx_hstatus hstatus)
{
	struct lx_sock_tx *tx, *next;
	struct lx_list ended;

	/* Ending a message may put the next one on this list: take ours off first. */
	lx_list_init(&ended);
	lx_list_for_each_safe (tx, next, &peer->waiting, at.link) {
		if (tx->deadline_ns > until)
			continue;
		unwait(peer, tx);
		lx_list_append(&ended, &tx->at.link);
	}
	while ((tx = lx_list_pop(&ended, struct lx_sock_tx, at.link))) {
		lx_sock_tx_end(tx, error, hstatus);
	}
}

void lx_sock_peer_fail_waiting(struct lx_sock_peer *peer, int error, enum lx_hstatus hstatus)
{
	end_waiting(peer, UINT64_MAX, error, hstatus);
}

void lx_sock_peer_expire_waiting(struct lx_sock_peer *peer, uint64_t now)
{
	end_waiting(peer, now, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT);
}

/* The last connection is closed; its cookies need no acknowledgement any more. */
static void drop_noops(struct lx_sock_peer *peer)
{
	struct lx_sock_tx *tx, *next;

	lx_list_for_each_safe (tx, next, &peer->waiting, at.link) {
		if (!lx_sock_tx_is_noop(tx))
			continue;
		unwait(peer, tx);
		lx_sock_tx_end(tx, 0, LX_HSTATUS_OK);
	}
}

/* ---- connections that come and go ------------------------------------------ */

static void tell_change(const struct lx_sock_conn *conn, enum lx_change_type type)
{
	struct lx_change change = {
		.type = type,
		.nid = conn->peer->id.nid,
		.net = LX_NET_U32_ANY,
	};

	snprintf(change.text, sizeof(change.text), "%s v%u %s", lx_proto_ctype_name(conn->ctype),
		 conn->version, lx_addr_str(&conn->remote));
	lx_lnd_change(conn->net->ni, &change);
}

/*
 * The peer is there: none of our NIs on its net need wait before dialling it. The core chooses
 * among them, and messages would fail on those that do.
 */
static void end_backoff(const struct lx_sock_peer *peer)
{
	struct lx_sock_peer *same;
	struct lx_sock_net *net;

	lx_list_for_each (net, &peer->net->host->nets, link) {
		same = lx_sock_peer_lookup(net, &peer->id);
		if (same)
			same->dial_interval_ns = 0;
	}
}

void lx_sock_peer_conn_up(struct lx_sock_peer *peer, struct lx_sock_conn *conn)
{
	uint64_t now = lx_sock_now();

	conn->peer = peer;
	conn->phase = LX_SOCK_UP;
	conn->ops = &lx_sock_rx_ops;
	conn->overhead = lx_proto_overhead(conn->version);
	lx_sock_origin_address(conn, &conn->address);
	conn->up_ns = conn->last_tx_ns = conn->last_rx_ns = now;
	conn->tx_since_ns = now;
	conn->rx.have = 0;
	conn->rx.userspace = lx_sock_peer_is_userspace(peer);
	peer->last_alive_ns = now;
	peer->next_keepalive_ns = 0;
	end_backoff(peer);
	lx_list_append(&peer->conns, &conn->link);
	lx_sock_origin_review(peer, now);
	lx_sock_conn_set_options(conn);
	lx_sock_tx_setup(conn);
	lx_sock_zc_setup(conn);
	flush(peer, conn);
	tell_change(conn, LX_CHANGE_CONN_UP);
}

void lx_sock_peer_conn_closed(struct lx_sock_conn *conn)
{
	int error = conn->error ? conn->error : -ECONNRESET;
	struct lx_sock_peer *peer = conn->peer;

	lx_list_del(&conn->link);
	tell_change(conn, LX_CHANGE_CONN_DOWN);
	peer->settled = peer->complete = false;
	lx_sock_origin_review(peer, lx_sock_now());
	if (lx_list_empty(&peer->conns)) {
		peer->version = 0;
		drop_noops(peer);
	} else if (conn->read_only || lx_sock_origin_can_send(peer)) {
		return;
	}
	if (peer->dial != LX_SOCK_DIAL_IDLE || peer->held)
		return;
	lx_sock_peer_fail_waiting(peer, error, conn->hstatus);
	/* If we closed it, or the peer closed it in order, the peer is not lost. */
	if (conn->error && conn->error != -ESHUTDOWN && conn->error != -ECONNABORTED &&
	    !peer->closing && !conn->read_only && !lx_sock_peer_is_userspace(peer))
		lx_lnd_peer_lost(peer->net->ni, &peer->id.nid, LX_DOWN_LOST, conn->error);
}
