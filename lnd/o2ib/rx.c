/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving, and posting receive buffers again (o2iblnd.md 7 and 8).
 *
 *	received ── request ──▶ lx_lnd_parse() ──▶ answer, copy ──▶ buffer posted again
 *	         │                 └─ LATER: recv() ──▲
 *	         └─ answer ───▶ the tx it is for ─────────────────▶ buffer posted again
 *
 * While a message waits for recv(), its buffer is not posted again, and the peer does not get
 * its credit back: that is the back-pressure.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

/* The gain from posting a buffer again. */
enum worth {
	NOTHING,  /* its credit is returned later, or it used none */
	CREDIT,   /* one credit for the peer */
	RESERVED, /* a buffer for the answer to one more request */
};

static void repost(struct lx_o2ib_rx *rx, enum worth worth)
{
	struct lx_o2ib_conn *conn = rx->conn;
	int r;

	if (conn->closing)
		return;
	r = lx_o2ib_hw->post_recv(conn, rx - conn->rx);
	if (r) {
		lx_o2ib_conn_close(conn, r, LX_HSTATUS_LOCAL_ERROR);
		return;
	}
	conn->outstanding += worth == CREDIT;
	conn->reserved += worth == RESERVED;
	lx_o2ib_conn_push(conn);
}

/* ---- requests --------------------------------------------------------------------- */

static int check_hdr(const struct lx_o2ib_conn *conn, const struct lx_o2ib_msg *m)
{
	bool carries = m->hdr.type == LX_MSG_PUT || m->hdr.type == LX_MSG_REPLY;

	switch (m->type) {
	case LX_O2IB_PUT_REQ:
		return carries ? 0 : -EPROTO;
	case LX_O2IB_GET_REQ:
		return m->hdr.type == LX_MSG_GET ? 0 : -EPROTO;
	default:
		return carries && m->hdr.payload_length > m->nob - lx_o2ib_proto_nob(m->type, 0)
			       ? -EPROTO
			       : 0;
	}
}

static void finalize(struct lx_msg *msg, int status, enum lx_hstatus hstatus)
{
	if (!msg)
		return;
	msg->hstatus = hstatus;
	lx_lnd_finalize(msg, status);
}

/* Copies the payload of an IMMEDIATE to its destination. */
static int take_immediate(const struct lx_o2ib_rx *rx, const struct lx_payload *dst)
{
	const struct iovec src = { (void *)rx->msg.payload, dst->length };
	struct iovec one;
	const struct iovec *iov = dst->iov;
	void *mem;
	int r;

	if (dst->rbuf) {
		r = lx_rbuf_reserve(dst->rbuf, &mem);
		if (r)
			return r;
		one = (struct iovec){ mem, dst->rbuf->size };
		iov = &one;
		dst->rbuf->length = dst->length;
	}
	lx_iov_copy(iov, dst->offset, &src, 0, dst->length);
	return 0;
}

/* A tx for an answer. NULL: the connection is closed or out of memory; @msg has failed. */
static struct lx_o2ib_tx *answer_new(struct lx_o2ib_rx *rx, uint8_t type, struct lx_msg *msg)
{
	struct lx_o2ib_conn *conn = rx->conn;
	struct lx_o2ib_tx *tx = conn->closing ? NULL : lx_o2ib_tx_new(conn->net, type);

	if (tx) {
		tx->peer_cookie = rx->msg.cookie;
		return tx;
	}
	if (!conn->closing) /* or the peer would wait for the answer */
		lx_o2ib_conn_close(conn, -ENOMEM, LX_HSTATUS_LOCAL_ERROR);
	finalize(msg, -ECONNABORTED, LX_HSTATUS_REMOTE_DROPPED);
	return NULL;
}

static void answer_put(struct lx_o2ib_rx *rx, struct lx_msg *msg)
{
	struct lx_o2ib_conn *conn = rx->conn;
	struct lx_o2ib_tx *tx = answer_new(rx, LX_O2IB_PUT_ACK, msg);
	int r = 0;

	if (!tx)
		return;
	if (msg && msg->payload.length) {
		r = lx_o2ib_tx_map_sink(tx, &msg->payload);
		if (!r) {
			tx->msg = msg;
			lx_o2ib_conn_queue(conn, tx);
			repost(rx, NOTHING);
			return;
		}
	}
	tx->type = LX_O2IB_PUT_NAK;
	tx->answer = r;
	lx_o2ib_conn_queue(conn, tx);
	repost(rx, CREDIT);
	finalize(msg, r, r ? LX_HSTATUS_LOCAL_ERROR : LX_HSTATUS_OK);
}

static void answer_get(struct lx_o2ib_rx *rx, struct lx_msg *msg)
{
	struct lx_o2ib_conn *conn = rx->conn;
	struct lx_o2ib_tx *tx = answer_new(rx, LX_O2IB_GET_DONE, msg);
	int r;

	if (!tx)
		return;
	tx->msg = msg;
	tx->answer = -ENODATA;
	if (msg && msg->payload.length) {
		r = lx_o2ib_tx_plan(tx, &msg->payload, &rx->msg.desc, rx->msg.flip);
		if (r) {
			tx->status = r;
			tx->hstatus = LX_HSTATUS_LOCAL_ERROR;
			tx->n_writes = 0;
		}
		tx->answer = r ? r : (int32_t)tx->length;
	} else if (msg) {
		tx->answer = 0;
	}
	lx_o2ib_conn_queue(conn, tx);
	repost(rx, CREDIT);
}

/* @msg: the message to receive, or (GET_REQ) the answer to write; NULL: dropped. */
static void take(struct lx_o2ib_rx *rx, struct lx_msg *msg)
{
	int r = 0;

	switch (rx->msg.type) {
	case LX_O2IB_PUT_REQ:
		answer_put(rx, msg);
		break;
	case LX_O2IB_GET_REQ:
		answer_get(rx, msg);
		break;
	default:
		if (msg && msg->payload.length)
			r = take_immediate(rx, &msg->payload);
		repost(rx, CREDIT);
		finalize(msg, r, r ? LX_HSTATUS_LOCAL_ERROR : LX_HSTATUS_OK);
	}
}

/* If the message has to wait, it holds the connection until recv(). */
static void request(struct lx_o2ib_rx *rx)
{
	struct lx_o2ib_conn *conn = rx->conn;
	struct lx_rx_from from = {
		.nid = conn->nid,
		.peer = conn->peer ? &conn->peer->shortcut : NULL,
		.rdma_get = rx->msg.type == LX_O2IB_GET_REQ,
	};
	struct lx_msg *msg;
	int r;

	if (check_hdr(conn, &rx->msg)) {
		lx_o2ib_conn_fault(conn, -EPROTO, "LNet header does not match the message type");
		return;
	}
	r = lx_lnd_parse(conn->net->ni, &rx->msg.hdr, &from, rx, &msg);
	if (r == LX_RX_NOW)
		take(rx, msg);
	else if (r == LX_RX_LATER)
		lx_o2ib_conn_get(conn);
	else
		lx_o2ib_conn_fault(conn, -EPROTO, "illegal message");
}

void lx_o2ib_rx_recv(struct lx_ni *ni, void *arg, struct lx_msg *msg)
{
	struct lx_o2ib_rx *rx = arg;
	struct lx_o2ib_conn *conn = rx->conn;

	take(rx, msg);
	lx_o2ib_conn_put(conn);
}

/* ---- answers -------------------------------------------------------------------------- */

/* The tx that waits for this answer. NULL: no such cookie. */
static struct lx_o2ib_tx *waiting_tx(struct lx_o2ib_conn *conn, uint64_t cookie, uint8_t type)
{
	struct lx_o2ib_tx *tx;

	lx_list_for_each (tx, &conn->active_txs, link) {
		if (tx->waiting && tx->cookie == cookie && tx->type == type)
			return tx;
	}
	return NULL;
}

/* The peer has a place for the data: write it, then send PUT_DONE. */
static void put_acked(struct lx_o2ib_conn *conn, struct lx_o2ib_tx *tx,
		      const struct lx_o2ib_msg *m)
{
	int r = lx_o2ib_tx_plan(tx, &tx->msg->payload, &m->desc, m->flip);

	tx->waiting = false;
	tx->type = LX_O2IB_PUT_DONE;
	tx->peer_cookie = m->dst_cookie;
	tx->answer = r;
	if (r) {
		tx->n_writes = 0;
		tx->status = r;
		tx->hstatus = LX_HSTATUS_LOCAL_ERROR;
	}
	lx_o2ib_conn_queue(conn, tx);
}

static void answered(struct lx_o2ib_tx *tx, int32_t status)
{
	if (status >= 0 && tx->type == LX_O2IB_GET_REQ && (uint32_t)status > tx->length)
		status = -EPROTO;
	if (status < 0 && !tx->status) {
		tx->status = status;
		tx->hstatus = LX_HSTATUS_REMOTE_ERROR;
	} else if (tx->type == LX_O2IB_GET_REQ) {
		tx->length = status;
	}
	tx->waiting = false;
	lx_o2ib_tx_check_done(tx);
}

static void answer(struct lx_o2ib_rx *rx)
{
	static const uint8_t to[] = {
		[LX_O2IB_PUT_NAK - LX_O2IB_PUT_NAK] = LX_O2IB_PUT_REQ,
		[LX_O2IB_PUT_ACK - LX_O2IB_PUT_NAK] = LX_O2IB_PUT_REQ,
		[LX_O2IB_PUT_DONE - LX_O2IB_PUT_NAK] = LX_O2IB_PUT_ACK,
		[LX_O2IB_GET_DONE - LX_O2IB_PUT_NAK] = LX_O2IB_GET_REQ,
	};
	struct lx_o2ib_conn *conn = rx->conn;
	struct lx_o2ib_msg *m = &rx->msg;
	struct lx_o2ib_tx *tx = waiting_tx(conn, m->cookie, to[m->type - LX_O2IB_PUT_NAK]);

	if (!tx) {
		lx_o2ib_conn_fault(conn, -EPROTO, "answer to an unknown request");
		return;
	}
	if (m->type == LX_O2IB_PUT_ACK)
		put_acked(conn, tx, m);
	else
		answered(tx, m->status);
	repost(rx, m->type == LX_O2IB_PUT_DONE ? CREDIT : RESERVED);
}

/* ---- both ------------------------------------------------------------------------------ */

static int check(const struct lx_o2ib_conn *conn, const struct lx_o2ib_msg *m)
{
	const struct lx_o2ib_net *net = conn->net;

	if (m->src_nid != lx_nid_to_u64(&conn->nid) ||
	    m->src_incarnation != conn->peer_incarnation ||
	    m->dst_nid != lx_nid_to_u64(&net->ni->nid) || m->dst_incarnation != net->incarnation)
		return -ESTALE;
	if (m->version != conn->version || m->type < LX_O2IB_NOOP)
		return -EPROTO;
	return conn->credits + m->credits > conn->depth ? -EOVERFLOW : 0;
}

static const char *fault(int error)
{
	switch (error) {
	case -ESTALE:
		return "message from or for another incarnation";
	case -EOVERFLOW:
		return "more credits than the queue depth";
	case -EBADMSG:
		return "wrong checksum; is cksum set on one side only?";
	default:
		return "malformed message";
	}
}

static void dispatch(struct lx_o2ib_rx *rx)
{
	switch (rx->msg.type) {
	case LX_O2IB_NOOP:
		repost(rx, rx->conn->version == LX_O2IB_V1 ? CREDIT : NOTHING);
		break;
	case LX_O2IB_IMMEDIATE:
	case LX_O2IB_PUT_REQ:
	case LX_O2IB_GET_REQ:
		request(rx);
		break;
	default:
		answer(rx);
	}
}

void lx_o2ib_rx_received(struct lx_o2ib_conn *conn, unsigned int i, size_t len, bool ok)
{
	struct lx_o2ib_rx *rx = &conn->rx[i];
	int r;

	if (conn->closing)
		return;
	lx_o2ib_conn_get(conn);
	/* The peer's first message may overtake the end of the handshake. */
	if (ok && conn->state == LX_O2IB_ACCEPTING)
		lx_o2ib_peer_established(conn, NULL, 0);
	conn->last_rx_ns = lx_o2ib_now(conn->net);
	conn->rx_bytes += len;
	r = ok ? lx_o2ib_proto_decode(lx_o2ib_conn_rx_buf(conn, i), len, &rx->msg) : -EIO;
	if (!r)
		r = check(conn, &rx->msg);
	if (!ok) {
		lx_o2ib_conn_close(conn, r, LX_HSTATUS_REMOTE_DROPPED);
	} else if (r) {
		lx_o2ib_conn_fault(conn, r == -ESTALE ? r : -EPROTO, fault(r));
	} else {
		conn->credits += rx->msg.credits;
		dispatch(rx);
		lx_o2ib_conn_push(conn);
	}
	lx_o2ib_conn_put(conn);
}
