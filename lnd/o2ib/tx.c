/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A transmission: its form, its memory, its end.
 *
 *	            ┌─ peer->waiting: no connection yet
 *	  new ──────┤
 *	            └▶ QUEUED ─── posted ──▶ SENDING ── completion ──▶ done
 *	                 ▲                     │  a request, or PUT_ACK:
 *	                 │                     └─▶ WAITING ── answer ──▶ done
 *	                 └── PUT_ACK came: writes and PUT_DONE ──┘
 *
 * SENDING, WAITING and QUEUED are independent: an answer may arrive before the completion of
 * its request, and PUT_DONE may be queued before PUT_REQ has completed. A tx is done, exactly
 * once, when it is none of the three. An error ends it earlier only if its connection is
 * closed, so that the hardware does not use its memory any more.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

struct lx_o2ib_tx *lx_o2ib_tx_new(struct lx_o2ib_net *net, uint8_t type)
{
	struct lx_o2ib_tx *tx = calloc(1, sizeof(*tx));

	if (!tx)
		return NULL;
	lx_list_init(&tx->link);
	tx->net = net;
	tx->type = type;
	tx->cookie = net->next_cookie++;
	tx->deadline_ns = lx_o2ib_now(net) + lx_o2ib_net_timeout_ns(net);
	return tx;
}

static void unmap(struct lx_o2ib_tx *tx)
{
	while (tx->n_regs)
		lx_o2ib_mem_reg_put(tx->reg[--tx->n_regs]);
}

void lx_o2ib_tx_free(struct lx_o2ib_tx *tx)
{
	unmap(tx);
	if (tx->bounce)
		lx_o2ib_mem_bounce_put(tx->net, tx->bounce);
	free(tx->writes);
	free(tx);
}

/* ---- memory --------------------------------------------------------------------- */

/* Describes a payload as an iovec. @ret_one: room for one element. -ENOMEM, -EIO. */
static int payload_iov(const struct lx_payload *payload, struct iovec *ret_one,
		       const struct iovec **ret_iov, unsigned int *ret_n)
{
	void *mem;
	int r;

	*ret_iov = payload->iov;
	*ret_n = payload->n_iov;
	if (!payload->rbuf)
		return 0;
	r = lx_rbuf_memory(payload->rbuf, &mem);
	if (r)
		return r;
	*ret_one = (struct iovec){ mem, payload->rbuf->size };
	*ret_iov = ret_one;
	*ret_n = 1;
	return 0;
}

/* The payload's pieces, adjacent ones joined; 0 if there are more than @max. */
static unsigned int pieces_of(const struct iovec *iov, unsigned int n_iov, size_t offset,
			      size_t length, struct iovec *piece, unsigned int max)
{
	struct iovec next;
	unsigned int n = 0;

	while (lx_iov_next(&iov, &n_iov, &offset, &length, &next)) {
		if (n && (char *)piece[n - 1].iov_base + piece[n - 1].iov_len == next.iov_base) {
			piece[n - 1].iov_len += next.iov_len;
			continue;
		}
		if (n == max)
			return 0;
		piece[n++] = next;
	}
	return n;
}

/* Uses a bounce buffer for a payload in too many pieces. */
static int bounce(struct lx_o2ib_tx *tx, size_t length, struct iovec *ret_piece)
{
	int r = lx_o2ib_mem_bounce_get(tx->net, &tx->bounce);

	if (!r)
		*ret_piece = (struct iovec){ tx->bounce->mem, length };
	return r;
}

static struct lx_region *region_of(const struct lx_o2ib_tx *tx, const struct lx_payload *payload)
{
	if (tx->bounce)
		return lx_rbuf_region(tx->bounce);
	return payload->rbuf ? lx_rbuf_region(payload->rbuf) : payload->region;
}

static int map(struct lx_o2ib_tx *tx, struct lx_region *region, const struct iovec *piece,
	       bool remote)
{
	int r = lx_o2ib_mem_reg_get(tx->net, region, piece, remote, &tx->reg[tx->n_regs]);

	if (r == -ENOMEM)
		lx_warn("ni=%s reason=\"memory cannot be registered\" action=\"message fails\" "
			"next=\"raise the limit of locked memory: ulimit -l, LimitMEMLOCK=\"",
			lx_nid_str(&tx->net->ni->nid));
	if (!r)
		tx->n_regs++;
	return r;
}

int lx_o2ib_tx_map_sink(struct lx_o2ib_tx *tx, const struct lx_payload *sink)
{
	const struct iovec *iov = sink->iov;
	unsigned int n_iov = sink->n_iov;
	struct iovec one, piece;
	void *mem;
	int r = 0;

	if (sink->rbuf) {
		r = lx_rbuf_reserve(sink->rbuf, &mem);
		if (r)
			return r;
		one = (struct iovec){ mem, sink->rbuf->size };
		iov = &one;
		n_iov = 1;
	}
	/* A descriptor has one key, and so offers one registration. */
	if (pieces_of(iov, n_iov, sink->offset, sink->length, &piece, 1) != 1)
		r = bounce(tx, sink->length, &piece);
	if (!r)
		r = map(tx, region_of(tx, sink), &piece, true);
	if (r)
		return r;
	tx->sink = *sink;
	tx->sink_addr = piece.iov_base;
	tx->length = sink->length;
	return 0;
}

/* The peer has written @n bytes: copies them to the destination, if they were bounced. */
static void sink_filled(struct lx_o2ib_tx *tx, size_t n)
{
	const struct iovec all = { tx->sink_addr, n };

	if (tx->sink.rbuf)
		tx->sink.rbuf->length = n;
	else if (tx->bounce && n)
		lx_iov_copy(tx->sink.iov, tx->sink.offset, &all, 0, n);
}

/* ---- writes ---------------------------------------------------------------------- */

static int map_source(struct lx_o2ib_tx *tx, const struct lx_payload *payload,
		      struct iovec *piece, unsigned int *ret_n)
{
	const struct iovec *iov;
	struct iovec one;
	unsigned int n;
	int r;

	r = payload_iov(payload, &one, &iov, &n);
	if (r)
		return r;
	*ret_n = pieces_of(iov, n, payload->offset, payload->length, piece, LX_O2IB_PIECES);
	if (!*ret_n) {
		r = bounce(tx, payload->length, piece);
		if (r)
			return r;
		lx_iov_copy(piece, 0, iov, payload->offset, payload->length);
		*ret_n = 1;
	}
	for (unsigned int i = 0; i < *ret_n; i++) {
		r = map(tx, region_of(tx, payload), &piece[i], false);
		if (r)
			return r;
	}
	return 0;
}

/* Plans a write into one fragment, from as many pieces of memory as a write can have. */
static size_t plan_one(struct lx_o2ib_tx *tx, struct iovec *piece, unsigned int *at,
		       uint64_t remote, size_t room, uint32_t key)
{
	struct lx_o2ib_write *write = &tx->writes[tx->n_writes++];
	unsigned int max = lx_o2ib_tun.wrq_sge;
	size_t done = 0;

	*write = (struct lx_o2ib_write){ .remote = remote, .rkey = key };
	while (done < room && write->n_sge < max) {
		struct iovec *p = &piece[*at];
		size_t len = p->iov_len < room - done ? p->iov_len : room - done;

		write->sge[write->n_sge++] =
			(struct lx_o2ib_sge){ p->iov_base, len,
					      lx_o2ib_mem_reg_mr(tx->reg[*at])->lkey };
		p->iov_base = (char *)p->iov_base + len;
		p->iov_len -= len;
		done += len;
		if (!p->iov_len)
			++*at;
	}
	return done;
}

int lx_o2ib_tx_plan(struct lx_o2ib_tx *tx, const struct lx_payload *payload,
		    const struct lx_o2ib_desc *desc, bool flip)
{
	struct iovec piece[LX_O2IB_PIECES];
	uint64_t sink = lx_o2ib_proto_desc_bytes(desc, flip), addr;
	size_t left = payload->length < sink ? payload->length : sink, room, n;
	unsigned int n_pieces, at = 0;
	uint32_t nob;
	int r;

	tx->length = left;
	if (!left)
		return 0;
	r = map_source(tx, payload, piece, &n_pieces);
	if (r)
		return r;
	/* Each write completes a fragment or at least one piece. */
	tx->writes = calloc(desc->n_frags + n_pieces, sizeof(*tx->writes));
	if (!tx->writes)
		return -ENOMEM;
	for (unsigned int i = 0; i < desc->n_frags && left; i++) {
		lx_o2ib_proto_frag_get(desc, flip, i, &nob, &addr);
		for (room = nob < left ? nob : left; room; room -= n) {
			n = plan_one(tx, piece, &at, addr, room, desc->key);
			addr += n;
			left -= n;
		}
	}
	return 0;
}

/* ---- form -------------------------------------------------------------------------- */

static bool fits_immediate(size_t length)
{
	return length <= LX_O2IB_IMMEDIATE_MAX;
}

static int tx_for_get(struct lx_o2ib_tx *tx, struct lx_msg *msg)
{
	int r;

	if (!msg->sink.length || fits_immediate(msg->sink.length))
		return 0;
	r = lx_o2ib_tx_map_sink(tx, &msg->sink);
	if (r)
		return r;
	tx->reply = lx_lnd_reply_msg(tx->net->ni, msg);
	if (!tx->reply)
		return -ENOMEM;
	tx->type = LX_O2IB_GET_REQ;
	return 0;
}

int lx_o2ib_tx_for(struct lx_o2ib_net *net, struct lx_msg *msg, struct lx_o2ib_tx **ret_tx)
{
	struct lx_o2ib_tx *tx;
	int r = 0;

	if (!lx_nid_is_nid4(&msg->hdr.src_nid) || !lx_nid_is_nid4(&msg->hdr.dst_nid))
		return -EINVAL;
	tx = lx_o2ib_tx_new(net, LX_O2IB_IMMEDIATE);
	if (!tx)
		return -ENOMEM;
	if (msg->deadline_ns && msg->deadline_ns < tx->deadline_ns)
		tx->deadline_ns = msg->deadline_ns;
	if (msg->hdr.type == LX_MSG_GET)
		r = tx_for_get(tx, msg);
	else if (!fits_immediate(msg->payload.length))
		tx->type = LX_O2IB_PUT_REQ;
	if (r) {
		lx_o2ib_tx_free(tx);
		return r;
	}
	tx->msg = msg;
	*ret_tx = tx;
	return 0;
}

static size_t put_payload(const struct lx_payload *payload, char *to)
{
	const struct iovec dst = { to, payload->length }, *iov;
	struct iovec one;
	unsigned int n;

	if (!payload->length || payload_iov(payload, &one, &iov, &n))
		return 0;
	lx_iov_copy(&dst, 0, iov, payload->offset, payload->length);
	return payload->length;
}

size_t lx_o2ib_tx_encode(struct lx_o2ib_tx *tx, void *buf, uint8_t credits)
{
	const struct lx_o2ib_conn *conn = tx->conn;
	struct lx_o2ib_frag frag;
	struct lx_o2ib_msg m = {
		.version = conn->version,
		.type = tx->type,
		.credits = credits,
		.src_nid = lx_nid_to_u64(&tx->net->ni->nid),
		.src_incarnation = tx->net->incarnation,
		.dst_nid = lx_nid_to_u64(&conn->nid),
		.dst_incarnation = conn->peer_incarnation,
		.cookie = tx->peer_cookie,
		.status = tx->answer,
	};
	size_t n = 0;

	if (tx->type == LX_O2IB_IMMEDIATE)
		n = put_payload(&tx->msg->payload, (char *)buf + lx_o2ib_proto_nob(tx->type, 0));
	if (tx->type == LX_O2IB_IMMEDIATE || tx->type == LX_O2IB_PUT_REQ ||
	    tx->type == LX_O2IB_GET_REQ) {
		m.hdr = tx->msg->hdr;
		m.cookie = tx->cookie;
	}
	if (tx->type == LX_O2IB_PUT_ACK)
		m.dst_cookie = tx->cookie;
	if (tx->type == LX_O2IB_PUT_ACK || tx->type == LX_O2IB_GET_REQ) {
		lx_o2ib_proto_frag_put(&frag, 0, tx->length, (uintptr_t)tx->sink_addr);
		m.desc = (struct lx_o2ib_desc){ lx_o2ib_mem_reg_mr(tx->reg[0])->rkey, 1, &frag };
		n = 1;
	}
	m.nob = lx_o2ib_proto_nob(tx->type, n);
	lx_o2ib_proto_encode(&m, buf, lx_o2ib_tun.cksum);
	return m.nob;
}

/* ---- end --------------------------------------------------------------------------- */

static void end(struct lx_o2ib_tx *tx)
{
	struct lx_msg *msg = tx->msg, *reply = tx->reply;
	enum lx_hstatus hstatus = tx->hstatus;
	int status = tx->status;

	lx_list_del(&tx->link);
	unmap(tx);
	if (!status && tx->sink.length) {
		sink_filled(tx, tx->length);
		if (reply)
			lx_lnd_reply_length(reply, tx->length);
	}
	lx_o2ib_tx_free(tx);
	if (reply) {
		reply->hstatus = hstatus;
		lx_lnd_finalize(reply, status);
		/* The peer has no data; the GET itself succeeded. */
		if (status == -ENODATA)
			status = 0;
	}
	if (msg) {
		msg->hstatus = hstatus;
		lx_lnd_finalize(msg, status);
	}
}

void lx_o2ib_tx_check_done(struct lx_o2ib_tx *tx)
{
	if (!tx->sending && !tx->waiting && !tx->queued)
		end(tx);
}

void lx_o2ib_tx_fail(struct lx_o2ib_tx *tx, int status, enum lx_hstatus hstatus)
{
	tx->sending = 0;
	tx->waiting = tx->queued = false;
	if (!tx->status) {
		tx->status = status;
		tx->hstatus = hstatus;
	}
	end(tx);
}
