/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending: the messages of a connection, small ones first (queue.h), many per system call.
 *
 *	queue ──────────▶ sending ─────────────▶ sent ──────────▶ ended
 *	may still carry    encoded; the first     waits for the    lx_lnd_finalize()
 *	an ACK (8.2)       perhaps sent in part   kernel or an ACK
 *	  ▲─ socket full ──┘  └──── all done at once ────────────────▲
 *
 * Small ones may pass others, as LNet promises no order (lnet.md 7.2), and no node may rely on one:
 * by their length, messages to it go by different connections (socklnd.md 7).
 *
 * Small messages are copied into a batch, which is a tx like any other, and finalized, as if
 * they were in the socket's buffer. So their credits and router buffers are free again at
 * once, and messages received one by one are sent with one call.
 *
 * Queueing a message posts tx_work, which sends everything at the end of the turn. It runs
 * on the loop that posted it, so the thread that received a message also sends it; "tx_busy"
 * keeps other threads out. When the socket is full, the connection's own loop waits for room.
 *
 * A payload is sent from memory, together with its neighbours; from a router buffer's pipe,
 * with splice(); or alone, with MSG_ZEROCOPY (zc.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../user/base/iov.h"
#include "priv.h"

#define BATCH_BYTES (512u << 10)
#define BATCH_IOV 512
#define BATCH_TXS 128
#define TURN_BYTES (4u << 20)

/* ---- life of a tx --------------------------------------------------------- */

/* Ended txs kept for reuse. */
#define TX_FREELIST_MAX 256
#define BATCH_FREELIST_MAX 16

/* Clears all but the bytes that encode() fills. */
static void tx_init(struct lx_sock_tx *tx, struct lx_sock_host *host)
{
	memset(tx, 0, offsetof(struct lx_sock_tx, wire));
	lx_queue_init_at(&tx->at);
	lx_list_init(&tx->zc_link);
	tx->host = host;
	tx->todo = LX_SOCK_TX_SEND;
}

int lx_sock_tx_new(struct lx_sock_host *host, struct lx_msg *msg, struct lx_sock_tx **ret_tx)
{
	struct lx_sock_tx *tx = lx_freelist_get(&host->tx_freelist, sizeof(*tx));

	if (!tx)
		return -ENOMEM;
	tx_init(tx, host);
	tx->msg = msg;
	tx->head.type = msg ? LX_SOCK_LNET : LX_SOCK_NOOP;
	if (msg)
		tx->deadline_ns = msg->deadline_ns;
	*ret_tx = tx;
	return 0;
}

static struct lx_sock_tx *batch_new(struct lx_sock_host *host)
{
	struct lx_sock_tx *tx = lx_freelist_get(
		&host->batch_freelist, offsetof(struct lx_sock_tx, wire) + LX_SOCK_BATCH);

	if (!tx)
		return NULL;
	tx_init(tx, host);
	tx->batch = true;
	return tx;
}

void lx_sock_tx_free(struct lx_sock_tx *tx)
{
	struct lx_sock_host *host = tx->host;

	lx_list_del(&tx->at.link);
	lx_list_del(&tx->zc_link);
	if (tx->batch)
		lx_freelist_put(&host->batch_freelist, tx, BATCH_FREELIST_MAX);
	else
		lx_freelist_put(&host->tx_freelist, tx, TX_FREELIST_MAX);
}

void lx_sock_tx_end(struct lx_sock_tx *tx, int status, enum lx_hstatus hstatus)
{
	struct lx_msg *msg = tx->msg;

	lx_sock_tx_free(tx);
	if (!msg)
		return;
	msg->hstatus = status ? hstatus : LX_HSTATUS_OK;
	lx_lnd_finalize(msg, status);
}

void lx_sock_tx_clear(struct lx_sock_tx *tx, unsigned int todo)
{
	tx->todo &= ~todo;
	if (!tx->todo)
		lx_sock_tx_end(tx, 0, LX_HSTATUS_OK);
}

/* ---- queue, and who carries an ACK (8.2) ---------------------------------- */

/*
 * "carrier" is the first small tx in the queue that matters for ACKs: a NOOP, whose cookie the
 * next small LNet message can carry instead, or such a message with room for a cookie. From it on,
 * all small txs in the queue are of the same kind, apart from batches, which are passed over. A V3
 * or V4 connection for acknowledgements has NOOPs only; there the carrier is the last one, which
 * can take more cookies. Bulk messages carry none: they go after the small ones.
 */
static bool is_ack_conn(const struct lx_sock_conn *conn)
{
	return conn->version >= LX_SOCK_V3 && conn->ctype == LX_CTYPE_BULK_IN;
}

static void next_carrier(struct lx_sock_conn *conn)
{
	struct lx_list *at = conn->carrier->at.link.next;

	for (; at != &conn->queue.small; at = at->next) {
		conn->carrier = lx_container_of(at, struct lx_sock_tx, at.link);
		if (!conn->carrier->batch)
			return;
	}
	conn->carrier = NULL;
}

/* Puts the cookie into the last message of the batch, if that has none yet. */
static bool batch_ack(struct lx_sock_conn *conn, uint64_t cookie)
{
	struct lx_sock_tx *tx = conn->batch;

	if (!tx || !tx->room_at)
		return false;
	memcpy(tx->wire + tx->room_at - 1 + offsetof(struct lx_sock_msg, cookie[1]), &cookie,
	       sizeof(cookie));
	tx->room_at = 0;
	return true;
}

/* Puts the cookie into a queued message or NOOP. False: none has room. */
static bool merge_ack(struct lx_sock_conn *conn, uint64_t cookie)
{
	struct lx_sock_tx *carrier = conn->carrier;

	if (!carrier)
		return batch_ack(conn, cookie);
	if (is_ack_conn(conn))
		return lx_proto_ack_merge(&carrier->head, cookie);
	if (lx_sock_tx_is_noop(carrier))
		return false;
	carrier->head.cookie[1] = cookie;
	next_carrier(conn);
	return true;
}

static void enqueue(struct lx_sock_conn *conn, struct lx_sock_tx *tx, size_t bytes, bool bulk)
{
	lx_queue_add(&conn->queue, &tx->at, bytes, bulk, NULL);
	tx->conn = conn;
	tx->length = bytes;
	conn->queued_bytes += bytes;
}

static void append(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	enqueue(conn, tx,
		lx_sock_tx_is_noop(tx) ? sizeof(tx->head) : conn->overhead + lx_sock_tx_payload(tx),
		false);
	if (!conn->carrier || is_ack_conn(conn))
		conn->carrier = tx;
}

/* Removes the first queued NOOP and returns its cookie, for a message to carry. 0: none. */
static uint64_t take_noop(struct lx_sock_conn *conn)
{
	struct lx_sock_tx *noop = conn->carrier;
	uint64_t cookie;

	if (conn->version == LX_SOCK_V1 || !noop || !lx_sock_tx_is_noop(noop))
		return 0;
	next_carrier(conn);
	cookie = noop->head.cookie[1];
	conn->queued_bytes -= noop->length;
	conn->n_noops--;
	lx_sock_tx_end(noop, 0, LX_HSTATUS_OK);
	return cookie;
}

static void queue_noop(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	if (merge_ack(conn, tx->head.cookie[1])) {
		lx_sock_tx_end(tx, 0, LX_HSTATUS_OK);
		return;
	}
	append(conn, tx);
	if (++conn->n_noops > LX_SOCK_NOOPS_MAX)
		lx_sock_conn_fail(conn, -EPROTO, LX_HSTATUS_LOCAL_ERROR,
				  "it does not read the acknowledgements that it asks for");
}

static void queue_bulk(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	enqueue(conn, tx, conn->overhead + lx_sock_tx_payload(tx), true);
}

static void queue_small(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	bool others = false;

	conn->batch = NULL; /* later messages must not overtake this one */
	tx->head.cookie[1] = take_noop(conn);
	others = conn->carrier;
	append(conn, tx);
	/* Its room for a cookie is taken. */
	if (tx->head.cookie[1] && !others)
		conn->carrier = NULL;
}

void lx_sock_tx_queue(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	if (lx_sock_tx_is_noop(tx)) {
		queue_noop(conn, tx);
	} else if (lx_sock_tx_payload(tx) > LX_SMALL_MAX) {
		queue_bulk(conn, tx);
	} else if (lx_sock_tx_batch(conn, tx->msg)) {
		lx_sock_tx_free(tx);
		return;
	} else {
		queue_small(conn, tx);
	}
	lx_sock_tx_kick(conn);
}

int lx_sock_tx_queue_ack(struct lx_sock_conn *conn, uint64_t cookie, bool nonblk)
{
	struct lx_sock_tx *tx;
	int r;

	if (merge_ack(conn, cookie))
		return 0;
	r = lx_sock_tx_new(conn->host, NULL, &tx);
	if (r)
		return r;
	tx->head.cookie[1] = cookie;
	tx->nonblk = nonblk;
	lx_sock_tx_queue(conn, tx);
	return 0;
}

/* ---- encoding ------------------------------------------------------------- */

/* Gathers memory into an iovec. */
struct gather {
	struct iovec *iov;
	unsigned int n, max;
	size_t bytes;
};

static bool gather_add(struct gather *gather, void *base, size_t len)
{
	if (!len)
		return true;
	if (gather->n == gather->max)
		return false;
	gather->iov[gather->n].iov_base = base;
	gather->iov[gather->n++].iov_len = len;
	gather->bytes += len;
	return true;
}

/* Adds bytes @from .. @to of a payload in memory. False: no room for all of them. */
static bool gather_payload(struct gather *gather, const struct lx_payload *p, size_t from,
			   size_t to)
{
	unsigned int n;
	size_t bytes;

	if (p->rbuf)
		return gather_add(gather, (char *)p->rbuf->mem + p->offset + from, to - from);
	n = lx_iov_slice(p->iov, p->n_iov, p->offset + from, to - from, gather->iov + gather->n,
			 gather->max - gather->n, &bytes);
	gather->n += n;
	gather->bytes += bytes;
	return bytes == to - from;
}

static bool csum_wanted(const struct lx_sock_conn *conn)
{
	return conn->version == LX_SOCK_V2 && lx_sock_tun.enable_csum;
}

static uint32_t payload_csum(uint32_t sum, const struct lx_payload *payload)
{
	struct iovec iov[64];
	size_t from = 0;

	while (from < payload->length) {
		struct gather gather = { .iov = iov, .max = 64 };

		gather_payload(&gather, payload, from, payload->length);
		for (unsigned int i = 0; i < gather.n; i++)
			sum = lx_proto_csum(sum, iov[i].iov_base, iov[i].iov_len);
		if (!gather.bytes)
			break;
		from += gather.bytes;
	}
	return sum;
}

/* Writes the headers and computes @head->csum. Returns how many bytes. */
static size_t encode(const struct lx_sock_conn *conn, struct lx_sock_msg *head,
		     const struct lx_msg *msg, uint8_t *to)
{
	size_t at = conn->version == LX_SOCK_V1 ? 0 : sizeof(*head);

	if (at)
		memcpy(to, head, at);
	if (msg && conn->version == LX_SOCK_V4)
		lx_hdr_nid16_encode(&msg->hdr, (struct lx_hdr_nid16 *)(to + at));
	else if (msg)
		lx_hdr_nid4_encode(&msg->hdr, (struct lx_hdr_nid4 *)(to + at));
	at += msg ? lx_sock_hdr_bytes(conn->version) : 0;
	if (csum_wanted(conn)) {
		head->csum = lx_proto_csum(LX_CSUM_INIT, to, at);
		if (msg)
			head->csum = payload_csum(head->csum, &msg->payload);
		head->csum ^= lx_sock_tun.inject_csum_error;
		memcpy(to, head, sizeof(*head));
	}
	return at;
}

/* ---- batches -------------------------------------------------------------- */

/* The most that may be queued for copying another message. */
#define BATCH_QUEUED (2 * LX_SOCK_BATCH)

static bool nids_fit(const struct lx_sock_conn *conn, const struct lx_hdr *hdr)
{
	return conn->version == LX_SOCK_V4 ||
	       (lx_nid_is_nid4(&hdr->src_nid) && lx_nid_is_nid4(&hdr->dst_nid));
}

/*
 * Whether the batch has room for @len bytes more. A batch is one small message for the queue, so it
 * is not longer than the bulk message that it may pass.
 */
static bool batch_has_room(const struct lx_sock_conn *conn, size_t len)
{
	const struct lx_queued *bulk = lx_queue_bulk(&conn->queue);
	size_t most = bulk && bulk->bytes < LX_SOCK_BATCH ? bulk->bytes : LX_SOCK_BATCH;

	return conn->batch && conn->batch->wire_len + len <= most;
}

/* The batch with room for @len bytes more, or NULL. */
static struct lx_sock_tx *batch_for(struct lx_sock_conn *conn, size_t len)
{
	struct lx_sock_tx *tx = conn->batch;

	if (batch_has_room(conn, len))
		return tx;
	/* The peer is slow: let the messages keep their credits. */
	if (conn->queued_bytes > BATCH_QUEUED)
		return NULL;
	tx = batch_new(conn->host);
	if (!tx)
		return NULL;
	enqueue(conn, tx, 0, false);
	conn->batch = tx;
	return tx;
}

int lx_sock_tx_queue_bytes(struct lx_sock_conn *conn, const void *bytes, size_t len)
{
	struct lx_sock_tx *tx;
	struct lx_list parts;
	size_t done = 0;

	lx_list_init(&parts);
	for (size_t n; done < len; done += n) {
		n = len - done < LX_SOCK_BATCH ? len - done : LX_SOCK_BATCH;
		tx = batch_new(conn->host);
		if (!tx)
			break;
		memcpy(tx->wire, (const char *)bytes + done, n);
		tx->wire_len = n;
		tx->at.joined = done;
		lx_list_append(&parts, &tx->at.link);
	}
	while ((tx = lx_list_first(&parts, struct lx_sock_tx, at.link))) {
		if (done < len) {
			lx_sock_tx_free(tx);
			continue;
		}
		lx_list_del(&tx->at.link);
		enqueue(conn, tx, tx->wire_len, len > conn->overhead + LX_SMALL_MAX);
		if (!tx->at.joined)
			tx->at.bytes = len;
	}
	lx_sock_tx_kick(conn);
	return done < len ? -ENOMEM : 0;
}

bool lx_sock_tx_batching(const struct lx_sock_conn *conn, size_t payload)
{
	return !conn->tx_blocked && !conn->tx_nomem && payload <= LX_SMALL_MAX &&
	       batch_has_room(conn, conn->overhead + payload);
}

bool lx_sock_tx_batch(struct lx_sock_conn *conn, struct lx_msg *msg)
{
	const struct lx_payload *payload = &msg->payload;
	struct lx_sock_msg head = { .type = LX_SOCK_LNET };
	struct iovec iov[16];
	struct gather gather = { .iov = iov, .max = 16 };
	struct lx_sock_tx *tx;
	size_t len;

	if (payload->length > LX_SMALL_MAX || (payload->rbuf && payload->rbuf->piped) ||
	    !nids_fit(conn, &msg->hdr) || !gather_payload(&gather, payload, 0, payload->length))
		return false;
	len = conn->overhead + payload->length;
	tx = batch_for(conn, len);
	if (!tx)
		return false;
	head.cookie[1] = take_noop(conn);
	tx->room_at = 0;
	if (conn->version != LX_SOCK_V1 && !head.cookie[1] && !csum_wanted(conn))
		tx->room_at = tx->wire_len + 1;
	tx->wire_len += encode(conn, &head, msg, tx->wire + tx->wire_len);
	for (unsigned int i = 0; i < gather.n; i++) {
		memcpy(tx->wire + tx->wire_len, iov[i].iov_base, iov[i].iov_len);
		tx->wire_len += iov[i].iov_len;
	}
	tx->length = tx->at.bytes = tx->wire_len;
	conn->queued_bytes += len;
	lx_sock_tx_kick(conn);
	msg->hstatus = LX_HSTATUS_OK;
	lx_lnd_finalize(msg, 0);
	return true;
}

/* ---- getting ready -------------------------------------------------------- */

/* Decides whether to splice the payload from its pipe; if not, moves it to memory. */
static int settle_rbuf(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	const struct lx_payload *p = &tx->msg->payload;
	void *mem;
	int r;

	if (p->rbuf->piped && !p->offset && p->length == p->rbuf->length && !csum_wanted(conn)) {
		tx->piped = true;
		return 0;
	}
	lx_env_unlock(conn->host->env);
	r = lx_rbuf_memory(p->rbuf, &mem);
	lx_env_lock(conn->host->env);
	return r;
}

/* Makes a tx ready to be sent. -errno: it cannot be. */
static int prepare(struct lx_sock_conn *conn, struct lx_sock_tx *tx)
{
	int r;

	if (tx->wire_len) /* a batch, or it was put back */
		return 0;
	if (tx->msg) {
		if (!nids_fit(conn, &tx->msg->hdr))
			return -EAFNOSUPPORT;
		if (tx->msg->payload.rbuf) {
			r = settle_rbuf(conn, tx);
			if (r)
				return r;
		}
		lx_sock_zc_prepare(conn, tx);
	}
	tx->wire_len = encode(conn, &tx->head, tx->msg, tx->wire);
	return 0;
}

static void drop(struct lx_sock_conn *conn, struct lx_sock_tx *tx, int error)
{
	lx_warn("peer=%s reason=\"cannot send: %s\" action=\"message dropped\"",
		lx_nid_str(&tx->msg->target.nid),
		error == -EAFNOSUPPORT ? "the peer's protocol version has no large NIDs"
				       : strerror(-error));
	conn->queued_bytes -= tx->length;
	lx_sock_tx_end(tx, error, LX_HSTATUS_LOCAL_ERROR);
}

/* Moves txs from queue to sending, until there are enough for a system call. */
static void fill(struct lx_sock_conn *conn)
{
	struct lx_queued *at;
	struct lx_sock_tx *tx;
	size_t bytes = 0;
	unsigned int n = 0;
	int r;

	lx_list_for_each (tx, &conn->sending, at.link) {
		bytes += tx->length - tx->done;
		n++;
	}
	while (!conn->closing && bytes < BATCH_BYTES && n < BATCH_TXS &&
	       (at = lx_queue_next(&conn->queue))) {
		tx = lx_container_of(at, struct lx_sock_tx, at);
		if (tx == conn->carrier)
			next_carrier(conn);
		if (tx == conn->batch)
			conn->batch = NULL;
		lx_queue_take(&conn->queue, at);
		if (lx_sock_tx_is_noop(tx))
			conn->n_noops--;
		lx_list_append(&conn->sending, &tx->at.link);
		r = prepare(conn, tx);
		if (r) {
			drop(conn, tx, r);
			continue;
		}
		bytes += tx->length;
		n++;
	}
}

/* The socket is full: small messages may go before those that have not begun. */
static void put_back(struct lx_sock_conn *conn)
{
	struct lx_sock_tx *tx;

	while ((tx = lx_list_last(&conn->sending, struct lx_sock_tx, at.link)) && !tx->done) {
		lx_list_del(&tx->at.link);
		lx_queue_put_back(&conn->queue, &tx->at);
		conn->n_noops += lx_sock_tx_is_noop(tx);
	}
}

/* ---- system calls --------------------------------------------------------- */

/* Where the bytes in memory end: at the end of the tx, or where those in the pipe begin. */
static size_t memory_end(const struct lx_sock_tx *tx)
{
	return tx->piped ? tx->wire_len + tx->msg->payload.rbuf->pipe_at : tx->length;
}

static bool gather_tx(struct gather *gather, struct lx_sock_tx *tx)
{
	size_t end = memory_end(tx);

	if (tx->done < tx->wire_len &&
	    !gather_add(gather, tx->wire + tx->done, tx->wire_len - tx->done))
		return false;
	if (end == tx->wire_len)
		return true;
	return gather_payload(gather, &tx->msg->payload,
			      tx->done > tx->wire_len ? tx->done - tx->wire_len : 0,
			      end - tx->wire_len);
}

/* Accounts for @n bytes sent; ends complete txs. */
static void account(struct lx_sock_conn *conn, size_t n)
{
	struct lx_sock_tx *tx;
	size_t part;

	conn->tx_bytes += n;
	conn->queued_bytes -= n;
	conn->last_tx_ns = lx_sock_now();
	while (n) {
		tx = lx_list_first(&conn->sending, struct lx_sock_tx, at.link);
		part = tx->length - tx->done < n ? tx->length - tx->done : n;
		tx->done += part;
		n -= part;
		if (tx->done < tx->length)
			break;
		lx_list_del(&tx->at.link);
		if (tx->todo != LX_SOCK_TX_SEND)
			lx_list_append(&conn->sent, &tx->at.link);
		lx_sock_tx_clear(tx, LX_SOCK_TX_SEND);
	}
}

/* Sends as many txs as fit, from memory. Returns bytes or -errno. */
static ssize_t send_memory(struct lx_sock_conn *conn, bool *ret_full)
{
	struct iovec iov[BATCH_IOV];
	struct gather gather = { .iov = iov, .max = BATCH_IOV };
	struct msghdr msg = { .msg_iov = iov };
	int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
	struct lx_sock_tx *tx, *zero_copy = NULL;
	ssize_t n;

	lx_list_for_each (tx, &conn->sending, at.link) {
		if (tx->zero_copy && gather.n)
			break;
		if (!gather_tx(&gather, tx))
			break;
		if (tx->piped) {
			flags |= MSG_MORE;
			break;
		}
		if (tx->zero_copy) {
			flags |= MSG_ZEROCOPY;
			zero_copy = tx;
			break;
		}
	}
	msg.msg_iovlen = gather.n;
	lx_env_unlock(conn->host->env);
	n = sendmsg(conn->fd, &msg, flags);
	if (n < 0)
		n = -errno;
	lx_env_lock(conn->host->env);
	*ret_full = n >= 0 && (size_t)n < gather.bytes;
	if (n > 0 && zero_copy)
		lx_sock_zc_sent(conn, zero_copy);
	if (n == -ENOBUFS && zero_copy) {
		/* Too much memory is pinned: send this one as a copy. */
		zero_copy->zero_copy = false;
		n = 0;
	}
	return n;
}

/* Sends the pipe of the first tx. Returns bytes or -errno. */
static ssize_t send_pipe(struct lx_sock_conn *conn, struct lx_sock_tx *tx, bool *ret_full)
{
	struct lx_rbuf *rbuf = tx->msg->payload.rbuf;
	size_t len = rbuf->piped;
	bool more = tx->done + len < tx->length || tx->at.link.next != &conn->sending ||
		    !lx_queue_empty(&conn->queue);
	ssize_t n;
	void *mem;
	int r;

	lx_env_unlock(conn->host->env);
	n = splice(rbuf->pipe[0], NULL, conn->fd, NULL, len,
		   SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
	if (n < 0)
		n = -errno;
	lx_env_lock(conn->host->env);
	*ret_full = n >= 0 && (size_t)n < len;
	if (n > 0) {
		rbuf->pipe_at += n;
		rbuf->piped -= n;
		tx->piped = rbuf->piped;
	}
	if (n != -EINVAL && n)
		return n;
	/* This socket cannot splice: send the rest from memory. -ENOMEM: try again later. */
	lx_env_unlock(conn->host->env);
	r = lx_rbuf_memory(rbuf, &mem);
	lx_env_lock(conn->host->env);
	if (r)
		return r;
	tx->piped = false;
	*ret_full = false;
	return 0;
}

/* One system call. 1: go on; 0: all sent; -EAGAIN: the socket is full; -errno. */
static int send_some(struct lx_sock_conn *conn, size_t *budget)
{
	struct lx_sock_tx *tx;
	bool full;
	ssize_t n;

	fill(conn);
	if (conn->closing)
		return 1;
	tx = lx_list_first(&conn->sending, struct lx_sock_tx, at.link);
	if (!tx)
		return 0;
	if (tx->piped && tx->done >= memory_end(tx))
		n = send_pipe(conn, tx, &full);
	else
		n = send_memory(conn, &full);
	if (n == -EINTR)
		return 1;
	if (n < 0)
		return n;
	account(conn, n);
	*budget -= (size_t)n < *budget ? (size_t)n : *budget;
	return full ? -EAGAIN : 1;
}

/* ---- turns ---------------------------------------------------------------- */

void lx_sock_tx_kick(struct lx_sock_conn *conn)
{
	struct lx_loop *loop;

	if (conn->closing || conn->tx_busy || conn->tx_blocked || conn->tx_nomem)
		return;
	loop = lx_loop_current(conn->host->env);
	lx_loop_post_last(loop ? loop : conn->loop, &conn->tx_work);
}

static void send_failed(struct lx_sock_conn *conn, int error)
{
	char reason[96];

	if (error == -EAGAIN) {
		put_back(conn);
		lx_sock_conn_set_blocked(conn, true);
		lx_sock_conn_post(conn, LX_SOCK_CONN_POLL);
	} else if (error == -ENOMEM || error == -ENOBUFS) {
		conn->tx_nomem = true;
	} else {
		snprintf(reason, sizeof(reason), "send: %s", strerror(-error));
		lx_sock_conn_fail(conn, error, lx_sock_conn_hstatus(error), reason);
	}
}

static void on_tx_work(struct lx_work *work)
{
	struct lx_sock_conn *conn = lx_container_of(work, struct lx_sock_conn, tx_work);
	size_t budget = TURN_BYTES;
	int r = 1;

	if (conn->closing || conn->tx_busy || conn->tx_blocked || conn->tx_nomem)
		return;
	conn->tx_busy = true;
	while (r > 0 && budget && !conn->closing)
		r = send_some(conn, &budget);
	conn->tx_busy = false;
	if (conn->closing)
		lx_sock_conn_post(conn, 0);
	else if (r < 0)
		send_failed(conn, r);
	else if (r > 0)
		lx_sock_tx_kick(conn);
}

void lx_sock_tx_setup(struct lx_sock_conn *conn)
{
	lx_work_init(&conn->tx_work, on_tx_work);
}

void lx_sock_tx_ready(struct lx_sock_conn *conn)
{
	lx_sock_conn_set_blocked(conn, false);
	on_tx_work(&conn->tx_work);
}

/* ---- the end -------------------------------------------------------------- */

static void abort_list(struct lx_list *list, int status, enum lx_hstatus hstatus)
{
	struct lx_sock_tx *tx;

	while ((tx = lx_list_first(list, struct lx_sock_tx, at.link)))
		lx_sock_tx_end(tx, status, hstatus);
}

/*
 * Of messages that reached the peer's TCP, and perhaps the peer: the core must not resend
 * them, or they could arrive twice.
 */
static enum lx_hstatus sent_hstatus(enum lx_hstatus hstatus)
{
	switch (hstatus) {
	case LX_HSTATUS_NETWORK_TIMEOUT:
		return LX_HSTATUS_REMOTE_TIMEOUT; /* the time ran out at the peer */
	case LX_HSTATUS_REMOTE_DROPPED:
		return LX_HSTATUS_REMOTE_ERROR;
	default:
		return hstatus;
	}
}

void lx_sock_tx_abort(struct lx_sock_conn *conn, int status, enum lx_hstatus hstatus)
{
	conn->carrier = conn->batch = NULL;
	conn->queued_bytes = 0;
	abort_list(&conn->sending, status, hstatus);
	abort_list(&conn->queue.small, status, hstatus);
	abort_list(&conn->queue.bulk, status, hstatus);
	abort_list(&conn->sent, status, sent_hstatus(hstatus));
}
