/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers, and making connections to them (o2iblnd.md 4 to 6).
 *
 *	            send, nothing there          established
 *	  IDLE ──────────────────────▶ DIALLING ─────────────▶ CONNECTED
 *	   ▲                             │    ▲                   │
 *	   │ failed: what waits fails    │    │ rejected: another version, incarnation, depth or
 *	   ├─────────────────────────────┤    │ number of fragments; after many tries
 *	   │                             └────┘ not before a second has passed
 *	   └───────────────────────────────────────── last connection closed
 *
 * As in the reference, every message tries to connect to a peer that is not there, and fails
 * with its own attempt: one that comes back is found at once. The log says so ever more rarely.
 *
 * The peer may send a request in any of these states. If both sides dial, the request from
 * the higher NID wins.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "priv.h"

#define TRIES_AT_ONCE 10
#define RACES_MAX 20
/* Accepted requests whose connections are not established yet. */
#define ACCEPTING_MAX 128
/* Seconds between two lines about a peer that is not there: they double. */
#define WARN_MIN_S 1
#define WARN_MAX_S 600
/* Seconds without an attempt after which its failures are forgotten. */
#define FORGET_S 3600

/* ---- look-up ------------------------------------------------------------------------ */

/* Forgets what rejects and connections have told about the peer. */
static void peer_reset(struct lx_o2ib_peer *peer)
{
	peer->incarnation = 0;
	peer->version = LX_O2IB_V2;
	peer->depth = peer->net->ni->tun.peer_credits;
	peer->max_frags = LX_O2IB_FRAGS_MAX;
	peer->tries = peer->races = 0;
	peer->retry_at_ns = 0;
}

static struct lx_o2ib_peer *peer_lookup(struct lx_o2ib_net *net, const struct lx_nid *nid)
{
	struct lx_o2ib_peer *peer;

	lx_hash_for_each (peer, &net->peer_hash, lx_nid_hash(nid), node) {
		if (lx_nid_eq(&peer->nid, nid))
			return peer;
	}
	return NULL;
}

static struct lx_o2ib_peer *peer_obtain(struct lx_o2ib_net *net, const struct lx_nid *nid)
{
	struct lx_o2ib_peer *peer = peer_lookup(net, nid);

	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->net = net;
	peer->nid = *nid;
	lx_list_init(&peer->conns);
	lx_list_init(&peer->waiting);
	peer_reset(peer);
	lx_hash_add(&net->peer_hash, &peer->node, lx_nid_hash(nid));
	lx_list_append(&net->peers, &peer->link);
	return peer;
}

static bool peer_in_use(const struct lx_o2ib_peer *peer)
{
	return !lx_list_empty(&peer->conns) || peer->dialling || peer->n_accepting;
}

static unsigned int conns_wanted(const struct lx_o2ib_net *net)
{
	return net->ni->lnd_tun.value[LX_O2IB_NI_CONNS_PER_PEER];
}

/* ---- dialling ----------------------------------------------------------------------- */

/* The side at fault for a missing connection (o2iblnd.md 13). */
static enum lx_hstatus connect_hstatus(int error)
{
	switch (error) {
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return LX_HSTATUS_NETWORK_TIMEOUT;
	case -ECONNREFUSED:
		return LX_HSTATUS_REMOTE_DROPPED;
	default:
		return LX_HSTATUS_LOCAL_DROPPED;
	}
}

static void fail_waiting(struct lx_o2ib_peer *peer, int error, enum lx_hstatus hstatus)
{
	struct lx_list doomed;
	struct lx_o2ib_tx *tx;

	lx_list_init(&doomed);
	lx_list_splice(&doomed, &peer->waiting);
	while ((tx = lx_list_first(&doomed, struct lx_o2ib_tx, link)))
		lx_o2ib_tx_fail(tx, error, hstatus);
}

static size_t encode_params(struct lx_o2ib_conn *conn, uint8_t type, void *buf)
{
	struct lx_o2ib_msg m = {
		.version = conn->version,
		.type = type,
		.nob = LX_O2IB_CONN_BYTES,
		.src_nid = lx_nid_to_u64(&conn->net->ni->nid),
		.src_incarnation = conn->net->incarnation,
		.dst_nid = lx_nid_to_u64(&conn->nid),
		.dst_incarnation = conn->peer_incarnation,
		.params = { conn->depth, conn->max_frags, LX_O2IB_MSG_MAX },
	};

	lx_o2ib_proto_encode(&m, buf, lx_o2ib_tun.cksum);
	return m.nob;
}

/* Whether to log that the peer cannot be reached, for the first time or after a pause. */
static bool may_warn(struct lx_o2ib_peer *peer)
{
	uint64_t now = lx_o2ib_now(peer->net);

	if (now < peer->warn_at_ns)
		return false;
	peer->warn_pause_s *= 2;
	if (peer->warn_pause_s < WARN_MIN_S)
		peer->warn_pause_s = WARN_MIN_S;
	if (peer->warn_pause_s > WARN_MAX_S)
		peer->warn_pause_s = WARN_MAX_S;
	peer->warn_at_ns = now + peer->warn_pause_s * LX_S_NS;
	return true;
}

/* It can be reached again. */
static void forget_failures(struct lx_o2ib_peer *peer)
{
	if (peer->failures)
		lx_info("ni=%s peer=%s reason=\"connected again\" failed=%u",
			lx_nid_str(&peer->net->ni->nid), lx_nid_str(&peer->nid), peer->failures);
	peer->failures = 0;
	peer->warn_pause_s = 0;
	peer->warn_at_ns = 0;
}

/* If we closed its last connection, or the peer did so in order, it is not lost. */
static void tell_lost(struct lx_o2ib_peer *peer, int error)
{
	if (error && error != -ECONNABORTED)
		lx_lnd_peer_lost(peer->net->ni, &peer->nid, LX_DOWN_LOST, error);
}

static void dial_failed(struct lx_o2ib_peer *peer, int error)
{
	if (peer_in_use(peer))
		return; /* try again for the messages that wait */
	peer->failures++;
	peer->forget_at_ns = lx_o2ib_now(peer->net) + FORGET_S * LX_S_NS;
	if (may_warn(peer))
		lx_warn("ni=%s peer=%s reason=\"cannot connect: %s\" failed=%u "
			"action=\"messages to it fail, each tries again; no further line for "
			"%u s\"",
			lx_nid_str(&peer->net->ni->nid), lx_nid_str(&peer->nid), strerror(-error),
			peer->failures, peer->warn_pause_s);
	peer_reset(peer);
	fail_waiting(peer, error, connect_hstatus(error));
	tell_lost(peer, error);
}

static lx_o2ib_conn_closed_fn conn_closed;

static void dial(struct lx_o2ib_peer *peer)
{
	uint8_t buf[LX_O2IB_CONN_BYTES];
	bool v1 = peer->version == LX_O2IB_V1;
	struct lx_o2ib_conn *conn;
	int r;

	peer->retry_at_ns = 0;
	r = lx_o2ib_conn_new(peer, true, peer->version, v1 ? LX_O2IB_DEPTH_V1 : peer->depth,
			     peer->max_frags, conn_closed, &conn);
	if (!r) {
		conn->peer_incarnation = peer->incarnation;
		peer->dialling = conn;
		peer->tries++;
		r = lx_o2ib_hw->dial(conn, buf, encode_params(conn, LX_O2IB_CONNREQ, buf));
		if (!r)
			return;
		lx_o2ib_conn_close(conn, r, connect_hstatus(r));
		return;
	}
	dial_failed(peer, r);
}

/* The connection with the lowest load; equal ones take turns. */
static struct lx_o2ib_conn *pick(struct lx_o2ib_peer *peer)
{
	struct lx_o2ib_conn *conn, *best = lx_list_first(&peer->conns, struct lx_o2ib_conn, link);
	unsigned int load, least;

	if (!best || best->link.next == &peer->conns)
		return best;
	least = lx_o2ib_conn_load(best);
	lx_list_for_each (conn, &peer->conns, link) {
		load = lx_o2ib_conn_load(conn);
		if (load < least) {
			best = conn;
			least = load;
		}
	}
	lx_list_del(&best->link);
	lx_list_append(&peer->conns, &best->link);
	return best;
}

int lx_o2ib_peer_send(struct lx_o2ib_net *net, const struct lx_nid *nid, struct lx_o2ib_tx *tx)
{
	struct lx_o2ib_peer *peer = peer_obtain(net, nid);
	struct lx_o2ib_conn *conn;

	if (!peer)
		return -ENOMEM;
	conn = pick(peer);
	if (conn) {
		lx_o2ib_conn_queue(conn, tx);
		return 0;
	}
	lx_list_append(&peer->waiting, &tx->link);
	if (!peer_in_use(peer) && !peer->retry_at_ns)
		dial(peer);
	return 0;
}

/* A connection is established: sends what waits. */
static void conn_up(struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_peer *peer = conn->peer;
	struct lx_o2ib_net *net = conn->net;
	struct lx_change change = { LX_CHANGE_CONN_UP, peer->nid, net->ni->net, "" };
	struct lx_o2ib_tx *tx;

	conn->state = LX_O2IB_UP;
	lx_list_append(&peer->conns, &conn->link);
	peer->incarnation = conn->peer_incarnation;
	peer->version = conn->version;
	peer->tries = peer->races = 0;
	peer->retry_at_ns = 0;
	forget_failures(peer);
	snprintf(change.text, sizeof(change.text), "o2ib: version %#x, queue depth %u",
		 conn->version, conn->depth);
	lx_lnd_change(net->ni, &change);
	lx_o2ib_conn_get(conn);
	while (!conn->closing && (tx = lx_list_first(&peer->waiting, struct lx_o2ib_tx, link)))
		lx_o2ib_conn_queue(conn, tx);
	if (!conn->closing && conn->active && lx_list_count(&peer->conns) < conns_wanted(net) &&
	    !peer->dialling)
		dial(peer);
	lx_o2ib_conn_put(conn);
}

static void conn_closed(struct lx_o2ib_peer *peer, int error, enum lx_hstatus hstatus)
{
	if (peer_in_use(peer) || peer->retry_at_ns || peer->net->closing)
		return;
	if (error && !lx_list_empty(&peer->waiting)) {
		dial_failed(peer, error);
		return;
	}
	peer_reset(peer);
	if (!lx_list_empty(&peer->waiting))
		dial(peer);
	else
		tell_lost(peer, error);
}

void lx_o2ib_peer_tick(struct lx_o2ib_peer *peer, uint64_t now)
{
	struct lx_o2ib_tx *tx, *tmp;
	struct lx_list late;

	lx_list_init(&late);
	lx_list_for_each_safe (tx, tmp, &peer->waiting, link) {
		if (now >= tx->deadline_ns) {
			lx_list_del(&tx->link);
			lx_list_append(&late, &tx->link);
		}
	}
	while ((tx = lx_list_first(&late, struct lx_o2ib_tx, link)))
		lx_o2ib_tx_fail(tx, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT);
	if (!peer->retry_at_ns || now < peer->retry_at_ns)
		return;
	peer->retry_at_ns = 0;
	if (!peer_in_use(peer) && !lx_list_empty(&peer->waiting))
		dial(peer);
}

void lx_o2ib_peer_shutdown(struct lx_o2ib_peer *peer)
{
	peer->retry_at_ns = 0;
	fail_waiting(peer, -ESHUTDOWN, LX_HSTATUS_LOCAL_ABORTED);
}

static bool peer_unused(const struct lx_o2ib_peer *peer)
{
	if (peer_in_use(peer) || peer->retry_at_ns || !lx_list_empty(&peer->waiting))
		return false;
	return !peer->failures || peer->net->closing ||
	       lx_o2ib_now(peer->net) >= peer->forget_at_ns;
}

void lx_o2ib_peers_sweep(struct lx_o2ib_net *net)
{
	struct lx_o2ib_peer *peer, *tmp;

	lx_list_for_each_safe (peer, tmp, &net->peers, link) {
		if (!peer_unused(peer))
			continue;
		lx_lnd_peer_forget(&peer->shortcut);
		lx_hash_del(&net->peer_hash, &peer->node);
		lx_list_del(&peer->link);
		free(peer);
	}
}

/* ---- answers to our requests --------------------------------------------------------- */

static int check_connack(const struct lx_o2ib_conn *conn, const struct lx_o2ib_msg *m)
{
	const struct lx_o2ib_params *p = &m->params;
	bool v1 = conn->version == LX_O2IB_V1;

	if (m->type != LX_O2IB_CONNACK || m->version != conn->version)
		return -EPROTO;
	if (!p->queue_depth || p->queue_depth > conn->depth ||
	    (v1 && p->queue_depth != conn->depth))
		return -EPROTO;
	if (!p->max_frags || p->max_frags > conn->max_frags || p->max_msg_size > LX_O2IB_MSG_MAX)
		return -EPROTO;
	if (m->dst_nid != lx_nid_to_u64(&conn->net->ni->nid) ||
	    m->dst_incarnation != conn->net->incarnation || m->src_nid != lx_nid_to_u64(&conn->nid))
		return -ESTALE;
	return 0;
}

void lx_o2ib_peer_established(struct lx_o2ib_conn *conn, const void *pdata, size_t len)
{
	struct lx_o2ib_msg m;
	int r;

	if (conn->closing || conn->state == LX_O2IB_UP)
		return;
	if (conn->state == LX_O2IB_ACCEPTING) {
		conn->peer->n_accepting--;
		conn->net->n_accepting--;
		conn_up(conn);
		return;
	}
	r = lx_o2ib_proto_decode(pdata, len, &m);
	if (!r)
		r = check_connack(conn, &m);
	if (r) {
		lx_o2ib_conn_fault(conn, r,
				   r == -ESTALE ? "CONNACK for another node or incarnation"
						: "malformed or unacceptable CONNACK");
		return;
	}
	conn->peer_incarnation = m.src_incarnation;
	conn->depth = conn->credits = conn->reserved = m.params.queue_depth;
	conn->max_frags = m.params.max_frags;
	conn->peer->dialling = NULL;
	conn_up(conn);
}

/* Adjusts the next attempt to what the reject asks for. False: it is final. */
static bool learn(struct lx_o2ib_conn *conn, const struct lx_o2ib_rej *rej)
{
	struct lx_o2ib_peer *peer = conn->peer;
	unsigned int why = rej->why;

	if (why == LX_O2IB_REJ_FATAL && rej->version == LX_O2IB_V1 && conn->version != LX_O2IB_V1)
		why = LX_O2IB_REJ_UNCOMPAT;
	switch (why) {
	case LX_O2IB_REJ_RACE:
		return true;
	case LX_O2IB_REJ_STALE:
		peer->incarnation = rej->incarnation;
		return true;
	case LX_O2IB_REJ_UNCOMPAT:
		if (rej->version == conn->version ||
		    (rej->version != LX_O2IB_V1 && rej->version != LX_O2IB_V2))
			return false;
		peer->version = rej->version;
		return true;
	case LX_O2IB_REJ_DEPTH:
		if (!rej->params.queue_depth || rej->params.queue_depth >= conn->depth)
			return false;
		peer->depth = rej->params.queue_depth;
		peer->incarnation = rej->incarnation;
		return true;
	case LX_O2IB_REJ_FRAGS:
		if (!rej->params.max_frags || rej->params.max_frags >= conn->max_frags)
			return false;
		peer->max_frags = rej->params.max_frags;
		peer->incarnation = rej->incarnation;
		return true;
	default:
		return false;
	}
}

/* Schedules another attempt. False: there will be none. */
static bool try_again(struct lx_o2ib_conn *conn, enum lx_o2ib_cm_reject why,
		      const struct lx_o2ib_rej *rej)
{
	struct lx_o2ib_peer *peer = conn->peer;
	uint16_t version = conn->version;
	bool again = why == LX_O2IB_CM_STALE || (why == LX_O2IB_CM_CONSUMER && learn(conn, rej));

	if (!again || peer->n_accepting)
		return false;
	if (lx_list_empty(&peer->waiting) && peer->version == version)
		return false;
	peer->retry_at_ns = lx_o2ib_now(peer->net);
	if (peer->tries > TRIES_AT_ONCE)
		peer->retry_at_ns += LX_S_NS;
	return true;
}

void lx_o2ib_peer_rejected(struct lx_o2ib_conn *conn, enum lx_o2ib_cm_reject why, const void *pdata,
			   size_t len)
{
	struct lx_o2ib_peer *peer = conn->peer;
	struct lx_o2ib_net *net = conn->net;
	struct lx_o2ib_rej rej = { 0 };
	int error = why == LX_O2IB_CM_NO_LISTENER ? -EHOSTUNREACH : -ECONNREFUSED;
	bool again;

	if (conn->closing || conn->state != LX_O2IB_DIALLING)
		return;
	if (why == LX_O2IB_CM_CONSUMER && lx_o2ib_proto_rej_decode(pdata, len, &rej))
		why = LX_O2IB_CM_OTHER;
	again = try_again(conn, why, &rej);
	if (!again && why == LX_O2IB_CM_CONSUMER && rej.why != LX_O2IB_REJ_RACE && may_warn(peer))
		lx_warn("ni=%s peer=%s reason=\"connection rejected: %s\" "
			"next=\"compare the nets and tunables of both\"",
			lx_nid_str(&net->ni->nid), lx_nid_str(&peer->nid),
			lx_o2ib_proto_rej_text(rej.why));
	lx_o2ib_conn_close(conn, error, connect_hstatus(error));
	if (again && peer->retry_at_ns && peer->tries <= TRIES_AT_ONCE)
		dial(peer);
}

void lx_o2ib_peer_failed(struct lx_o2ib_conn *conn, int error)
{
	if (conn->closing)
		return;
	if (conn->state == LX_O2IB_DIALLING && !error)
		error = -ECONNREFUSED;
	lx_o2ib_conn_close(conn, error,
			   conn->state == LX_O2IB_UP ? LX_HSTATUS_REMOTE_DROPPED
						     : connect_hstatus(error));
}

/* ---- requests of others ----------------------------------------------------------------- */

struct request {
	struct lx_o2ib_net *net;
	void *handle;
	struct lx_o2ib_msg m;
	struct lx_nid src; /* of a request that check_request() has passed */
	struct lx_o2ib_rej rej;
};

/* Why to reject; 0: do not. */
static int check_params(struct request *req)
{
	const struct lx_o2ib_params *p = &req->m.params;
	unsigned int depth = req->net->ni->tun.peer_credits;
	bool v1 = req->m.version == LX_O2IB_V1;

	if (v1)
		depth = LX_O2IB_DEPTH_V1;
	if (!p->queue_depth || !p->max_frags)
		return LX_O2IB_REJ_FATAL;
	req->rej.incarnation = req->net->incarnation;
	req->rej.params = (struct lx_o2ib_params){ depth, LX_O2IB_FRAGS_MAX, LX_O2IB_MSG_MAX };
	if (p->queue_depth > depth)
		return v1 ? LX_O2IB_REJ_FATAL : LX_O2IB_REJ_DEPTH;
	if (p->max_frags > LX_O2IB_FRAGS_MAX)
		return v1 ? LX_O2IB_REJ_FATAL : LX_O2IB_REJ_FRAGS;
	return p->max_msg_size > LX_O2IB_MSG_MAX ? LX_O2IB_REJ_FATAL : 0;
}

static int check_request(struct request *req, struct lx_list *nets)
{
	struct lx_o2ib_net *net, *any = lx_list_first(nets, struct lx_o2ib_net, port_link);

	lx_list_for_each (net, nets, port_link) {
		if (!net->closing && lx_nid_to_u64(&net->ni->nid) == req->m.dst_nid)
			req->net = net;
		/* We do not connect to ourselves: our messages stay inside. */
		if (!net->closing && lx_nid_to_u64(&net->ni->nid) == req->m.src_nid)
			return LX_O2IB_REJ_FATAL;
	}
	if (!req->net)
		return any ? LX_O2IB_REJ_FATAL : LX_O2IB_REJ_EARLY;
	if (req->m.dst_incarnation && req->m.dst_incarnation != req->net->incarnation) {
		req->rej.incarnation = req->net->incarnation;
		return LX_O2IB_REJ_STALE;
	}
	if (req->m.type != LX_O2IB_CONNREQ)
		return LX_O2IB_REJ_FATAL;
	/* The peer is a next hop, so it is on our net; the core has no credits for other NIDs. */
	lx_nid_from_u64(req->m.src_nid, &req->src);
	if (lx_nid_net(&req->src) != req->net->ni->net)
		return LX_O2IB_REJ_FATAL;
	return check_params(req);
}

/* The order of NIDs that decides races (o2iblnd.md 6, since 2.16). */
static uint32_t order(uint64_t nid)
{
	struct lx_nid n;
	uint32_t word[4], sum;

	lx_nid_from_u64(nid, &n);
	memcpy(word, n.addr, sizeof(word));
	sum = lx_nid_net(&n);
	for (unsigned int i = 0; i < 4; i++)
		sum ^= word[i];
	return sum;
}

static void close_conns(struct lx_o2ib_peer *peer, int error)
{
	struct lx_o2ib_conn *conn = NULL;

	while ((conn = lx_o2ib_conn_next(peer->net, conn))) {
		if (conn->peer == peer && conn != peer->dialling)
			lx_o2ib_conn_close(conn, error, LX_HSTATUS_REMOTE_DROPPED);
	}
}

static int check_peer(struct request *req, struct lx_o2ib_peer *peer)
{
	bool linked = !lx_list_empty(&peer->conns) || peer->n_accepting;

	if (linked &&
	    (peer->incarnation != req->m.src_incarnation || peer->version != req->m.version)) {
		close_conns(peer, -ESTALE);
		peer->incarnation = 0;
		req->rej.incarnation = req->net->incarnation;
		return LX_O2IB_REJ_STALE;
	}
	if (peer->dialling && order(req->m.src_nid) < order(req->m.dst_nid) &&
	    peer->races < RACES_MAX) {
		peer->races++;
		return LX_O2IB_REJ_RACE;
	}
	return req->net->n_accepting >= ACCEPTING_MAX ? LX_O2IB_REJ_RESOURCES : 0;
}

static int accept_request(struct request *req, struct lx_o2ib_peer *peer)
{
	struct lx_o2ib_msg *m = &req->m;
	uint8_t buf[LX_O2IB_CONN_BYTES];
	struct lx_o2ib_conn *conn;
	size_t len;
	int r;

	r = lx_o2ib_conn_new(peer, false, m->version, m->params.queue_depth, m->params.max_frags,
			     conn_closed, &conn);
	if (r)
		return LX_O2IB_REJ_RESOURCES;
	conn->peer_incarnation = m->src_incarnation;
	peer->n_accepting++;
	peer->net->n_accepting++;
	peer->incarnation = m->src_incarnation;
	peer->version = m->version;
	len = encode_params(conn, LX_O2IB_CONNACK, buf);
	r = lx_o2ib_hw->accept(conn, req->handle, buf, len);
	if (r)
		lx_o2ib_conn_close(conn, r, LX_HSTATUS_LOCAL_ERROR);
	return 0;
}

static int take_request(struct request *req, struct lx_list *nets)
{
	struct lx_o2ib_peer *peer;
	int why = check_request(req, nets);

	if (why)
		return why;
	peer = peer_obtain(req->net, &req->src);
	if (!peer)
		return LX_O2IB_REJ_RESOURCES;
	why = check_peer(req, peer);
	return why ? why : accept_request(req, peer);
}

void lx_o2ib_peer_request(struct lx_list *nets, void *handle, const void *pdata, size_t len,
			  uint16_t source_port)
{
	struct request req = { .handle = handle, .rej.version = LX_O2IB_V2 };
	uint8_t buf[sizeof(struct lx_o2ib_rej_wire)];
	int why = LX_O2IB_REJ_FATAL, r;

	req.rej.params.max_msg_size = LX_O2IB_MSG_MAX;
	r = lx_o2ib_proto_decode(pdata, len, &req.m);
	if (!r)
		req.rej.version = req.m.version;
	if (!r && (!lx_o2ib_tun.require_privileged_port || source_port < 1024))
		why = take_request(&req, nets);
	if (!why)
		return;
	req.rej.why = why;
	lx_o2ib_hw->reject(req.net, handle, buf, lx_o2ib_proto_rej_encode(&req.rej, buf));
}
