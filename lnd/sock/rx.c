/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving: bytes of one connection into messages (spec socklnd.md 6).
 *
 *	            NOOP: ACKs are looked after
 *	   ┌───────────────────────────────────┐
 *	   ▼                                   │
 *	 HEADER ── LNet header ── lx_lnd_parse() ─ <0 ─▶ connection fails
 *	   ▲                          │
 *	   │            LATER: WAIT ◀─┤ NOW
 *	   │                   │      │
 *	   │            recv() └──────┴─▶ PAYLOAD ──▶ SLOP ──┐
 *	   │                              into dst    discarded
 *	   └──── checksum, answer to the cookie, lx_lnd_finalize() ◀──┘
 *
 * The connection's own loop does all of it. Only recv() may be called from elsewhere; it
 * notes where the payload goes and wakes the loop.
 *
 * How bytes come off the socket depends on what is expected:
 * - small messages: as many as there are into the loop's scratch buffer with one
 *   call, and from there to their places;
 * - a large payload: straight to its place, and in the same call the next header,
 *   which is read by itself ("large") so that the payload after it goes straight too;
 * - a large payload into a router buffer: spliced into its pipe;
 * - what nobody wants: cut off in the kernel.
 * While WAIT nothing is read: TCP holds the sender back. What had come along in the
 * scratch buffer is kept in a stash, at most RX_BATCH bytes for a connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../../user/base/iov.h"
#include "priv.h"

#define RX_BATCH (64u << 10)
/* So much, then what came is sent on: it is still in the CPU's cache. */
#define RX_TURN (256u << 10)
#define RX_IOV 260

/* From here on a payload is worth a system call of its own. */
#define LARGE_MIN (8u << 10)
/*
 * From here on splicing is cheaper than copying twice. Measured on a router between
 * veths, CPU time of the router for a message of 32 KiB: 18 us copied, 25 us spliced;
 * of 64 KiB: 40 us copied, 28 us spliced; of 1 MiB: 450 us copied, 200 us spliced.
 */
#define SPLICE_MIN (64u << 10)
/* From here on a copy is long enough to let others have the lock. */
#define UNLOCK_MIN (16u << 10)
/* So often may a pipe fill up before we stop using them. */
#define SPLICES_FULL_MAX 3

/* After @n bytes have been dealt with: the peer lives. */
static void note_rx(struct lx_sock_conn *conn, size_t n)
{
	bool between = conn->rx.state == LX_SOCK_RX_HEADER && !conn->rx.have;
	uint64_t now = lx_sock_now();

	conn->rx_bytes += n;
	conn->last_rx_ns = now;
	conn->peer->last_alive_ns = now;
	conn->rx.since_ns = between ? 0 : now;
}

static void fail(struct lx_sock_conn *conn, int error, const char *reason)
{
	lx_sock_conn_fail(conn, error, lx_sock_conn_hstatus(error), reason);
}

/* ---- where a payload goes ------------------------------------------------- */

static bool use_pipe(const struct lx_sock_conn *conn)
{
	const struct lx_sock_rx *rx = &conn->rx;
	const struct lx_rbuf *rbuf = rx->dst.rbuf;

	if (!rbuf || rx->spilled || rx->check || rx->slop || rx->no_splice)
		return false;
	return rbuf->piped || rx->want - rx->done >= SPLICE_MIN;
}

/* Up to @len bytes of the destination as an iovec; how many bytes in @ret_bytes. */
static unsigned int dst_iov(const struct lx_payload *dst, size_t done, size_t len,
			    struct iovec *iov, unsigned int max, size_t *ret_bytes)
{
	size_t from = dst->offset + done;

	if (!dst->rbuf)
		return lx_iov_slice(dst->iov, dst->n_iov, from, len, iov, max, ret_bytes);
	iov[0] = (struct iovec){ (char *)dst->rbuf->mem + from, len };
	*ret_bytes = len;
	return 1;
}

/* The payload can't be kept: the message ends with an error, its bytes are thrown away. */
static void give_up_dst(struct lx_sock_rx *rx, int error)
{
	rx->status = error;
	rx->slop += rx->want - rx->done;
	rx->want = rx->done;
	rx->wanted = false;
}

/* Makes sure that a router buffer has its memory. */
static bool dst_memory(struct lx_sock_rx *rx)
{
	void *mem;

	if (!rx->dst.rbuf || !lx_rbuf_reserve(rx->dst.rbuf, &mem))
		return true;
	give_up_dst(rx, -ENOMEM);
	return false;
}

/* @n bytes more of the destination are there; they are in memory if a checksum is wanted. */
static void dst_filled(struct lx_sock_rx *rx, const struct iovec *iov, size_t n)
{
	size_t left = n;

	for (; rx->check && left; iov++) {
		size_t part = iov->iov_len < left ? iov->iov_len : left;

		rx->csum = lx_proto_csum(rx->csum, iov->iov_base, part);
		left -= part;
	}
	rx->done += n;
	if (rx->dst.rbuf)
		rx->dst.rbuf->length += n;
}

/* Copies bytes of the scratch buffer to their place; takes as many as it wants. */
static size_t store(struct lx_sock_conn *conn, const uint8_t *p, size_t n)
{
	struct lx_sock_rx *rx = &conn->rx;
	struct iovec iov[RX_IOV];
	size_t len, copied = 0;
	unsigned int n_iov;

	if (n > rx->want - rx->done)
		n = rx->want - rx->done;
	if (!dst_memory(rx))
		return 0;
	n_iov = dst_iov(&rx->dst, rx->done, n, iov, RX_IOV, &len);
	if (len >= UNLOCK_MIN)
		lx_env_unlock(conn->host->env);
	for (unsigned int i = 0; i < n_iov; copied += iov[i++].iov_len)
		memcpy(iov[i].iov_base, p + copied, iov[i].iov_len);
	if (len >= UNLOCK_MIN)
		lx_env_lock(conn->host->env);
	dst_filled(rx, iov, len);
	return len;
}

/* ---- messages ------------------------------------------------------------- */

/* Begins the checksum: with the header as it was on the wire, on V2 (9). */
static void csum_begin(struct lx_sock_conn *conn, size_t len)
{
	struct lx_sock_rx *rx = &conn->rx;
	struct lx_sock_msg wire;

	rx->check = rx->head.csum;
	rx->csum = LX_CSUM_INIT;
	if (!rx->check || conn->version != LX_SOCK_V2)
		return;
	memcpy(&wire, rx->buf, sizeof(wire));
	wire.csum = 0;
	rx->csum = lx_proto_csum(rx->csum, &wire, sizeof(wire));
	rx->csum = lx_proto_csum(rx->csum, rx->buf + sizeof(wire), len - sizeof(wire));
}

static bool csum_wrong(const struct lx_sock_rx *rx)
{
	return rx->check && rx->csum != rx->head.csum;
}

static bool take_acks(struct lx_sock_conn *conn)
{
	if (!lx_sock_zc_acked(conn, &conn->rx.head))
		return true;
	fail(conn, -EPROTO, "acknowledgement of an unknown zero-copy cookie");
	return false;
}

static void noop_done(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;

	csum_begin(conn, sizeof(rx->head));
	if (csum_wrong(rx)) {
		fail(conn, -EPROTO, "checksum error");
		return;
	}
	lx_sock_offload_received(conn, NULL, sizeof(rx->head));
	rx->have -= sizeof(rx->head);
	memmove(rx->buf, rx->buf + sizeof(rx->head), rx->have);
	take_acks(conn);
}

static void decode(const struct lx_sock_conn *conn, struct lx_hdr *hdr)
{
	const uint8_t *at = conn->rx.buf;

	if (conn->version != LX_SOCK_V1)
		at += sizeof(struct lx_sock_msg);
	if (conn->version == LX_SOCK_V4)
		lx_hdr_nid16_decode((const struct lx_hdr_nid16 *)at, hdr);
	else
		lx_hdr_nid4_decode((const struct lx_hdr_nid4 *)at, hdr);
}

/* The core has decided: the payload goes into @msg, or (NULL) nowhere. */
static void payload_begin(struct lx_sock_conn *conn, struct lx_msg *msg)
{
	struct lx_sock_rx *rx = &conn->rx;

	rx->msg = msg;
	rx->dst = msg ? msg->payload : (struct lx_payload){ 0 };
	rx->done = 0;
	rx->want = rx->dst.length < rx->length ? rx->dst.length : rx->length;
	rx->slop = rx->length - rx->want;
	rx->wanted = !rx->slop;
	rx->check = rx->check && rx->wanted;
	rx->status = 0;
	rx->spilled = false;
	rx->large = rx->length >= LARGE_MIN;
	rx->state = LX_SOCK_RX_PAYLOAD;
}

/* Gives the message in the header buffer to the core. */
static void parse(struct lx_sock_conn *conn, struct lx_hdr *hdr)
{
	const struct lx_rx_from from = {
		.nid = conn->peer->id.nid,
		.peer = &conn->peer->shortcut,
		.forwarding = &conn->forwarding,
	};
	struct lx_sock_rx *rx = &conn->rx;
	struct lx_msg *msg;
	char reason[96];
	int r;

	if (rx->userspace) {
		hdr->src_nid = conn->peer->id.nid;
		hdr->src_pid = conn->peer->id.pid;
	}
	rx->remote = !lx_nid_eq(&hdr->src_nid, &conn->peer->id.nid);
	rx->have = 0;
	rx->length = hdr->payload_length;
	r = lx_lnd_parse(conn->net->ni, hdr, &from, conn, &msg);
	if (r == LX_RX_NOW) {
		payload_begin(conn, msg);
	} else if (r == LX_RX_LATER) {
		conn->awaiting_recv = true;
	} else {
		snprintf(reason, sizeof(reason), "illegal message: type %u, %u bytes, from %s",
			 hdr->type, hdr->payload_length, lx_nid_str(&hdr->src_nid));
		fail(conn, r, reason);
	}
}

static void lnet_done(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;
	struct lx_hdr hdr;

	csum_begin(conn, rx->have);
	if (!take_acks(conn))
		return;
	decode(conn, &hdr);
	rx->state = LX_SOCK_RX_WAIT;
	rx->waits = !lx_sock_offload_received(conn, &hdr, conn->overhead + hdr.payload_length);
	if (!rx->waits)
		parse(conn, &hdr);
}

/* It had to wait for messages that were offloaded. */
static void lnet_wait_is_over(struct lx_sock_conn *conn)
{
	struct lx_hdr hdr;

	conn->rx.waits = false;
	decode(conn, &hdr);
	parse(conn, &hdr);
}

/* Deals with what is complete in the header buffer. */
static void header(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;

	while (!conn->closing && rx->state == LX_SOCK_RX_HEADER) {
		if (conn->version == LX_SOCK_V1) {
			memset(&rx->head, 0, sizeof(rx->head));
			rx->head.type = LX_SOCK_LNET;
		} else if (rx->have >= sizeof(rx->head)) {
			memcpy(&rx->head, rx->buf, sizeof(rx->head));
			if (conn->flip)
				lx_proto_msg_flip(&rx->head);
		} else {
			return;
		}
		if (rx->head.type == LX_SOCK_NOOP) {
			noop_done(conn);
		} else if (rx->head.type != LX_SOCK_LNET) {
			fail(conn, -EPROTO, "unknown message type");
		} else if (rx->have < conn->overhead) {
			return;
		} else {
			lnet_done(conn);
		}
	}
}

/* All of a message has been read. */
static void message_done(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;
	struct lx_msg *msg = rx->msg;
	int status = rx->status, r = 0;
	const char *reason = "checksum error";

	if (rx->wanted && csum_wrong(rx)) {
		r = -EIO;
	} else if (rx->head.cookie[0]) {
		r = lx_sock_send_ack(conn->peer, rx->head.cookie[0],
				     lx_sock_tun.nonblk_zcack || rx->remote);
		reason = "cannot acknowledge a zero-copy message";
	}
	status = r ? r : status;
	rx->msg = NULL;
	rx->state = LX_SOCK_RX_HEADER;
	if (msg) {
		msg->hstatus = status ? LX_HSTATUS_REMOTE_ERROR : LX_HSTATUS_OK;
		lx_lnd_finalize(msg, status);
	}
	if (r && !conn->closing)
		fail(conn, r, reason);
}

/* Goes through states that need no more bytes. */
static void advance(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;

	if (!conn->closing && rx->state == LX_SOCK_RX_PAYLOAD && rx->done == rx->want)
		rx->state = LX_SOCK_RX_SLOP;
	if (!conn->closing && rx->state == LX_SOCK_RX_SLOP && !rx->slop)
		message_done(conn);
}

/* Bytes from a buffer; returns how many were taken: all, unless a message waits. */
static size_t consume(struct lx_sock_conn *conn, const uint8_t *p, size_t n)
{
	struct lx_sock_rx *rx = &conn->rx;
	size_t at = 0, part;

	while (!conn->closing) {
		advance(conn);
		if (at == n || rx->state == LX_SOCK_RX_WAIT || conn->closing)
			return at;
		switch (rx->state) {
		case LX_SOCK_RX_HEADER:
			part = conn->overhead - rx->have;
			if (part > n - at)
				part = n - at;
			memcpy(rx->buf + rx->have, p + at, part);
			rx->have += part;
			rx->consumed += part;
			at += part;
			rx->prefetched = n - at;
			header(conn);
			break;
		case LX_SOCK_RX_PAYLOAD:
			part = store(conn, p + at, n - at);
			rx->consumed += part;
			at += part;
			break;
		case LX_SOCK_RX_SLOP:
			part = rx->slop < n - at ? rx->slop : n - at;
			rx->slop -= part;
			rx->consumed += part;
			at += part;
			break;
		case LX_SOCK_RX_WAIT:
			break;
		}
	}
	return at;
}

/* ---- system calls --------------------------------------------------------- */

/* What a read asked for and got; got < 0: -errno. */
struct got {
	size_t asked;
	ssize_t n;
};

static ssize_t sys_recv(struct lx_sock_conn *conn, void *buf, size_t len, int flags)
{
	ssize_t n;

	lx_env_unlock(conn->host->env);
	n = recv(conn->fd, buf, len, MSG_DONTWAIT | flags);
	if (n < 0)
		n = -errno;
	lx_env_lock(conn->host->env);
	return n;
}

/* Keeps what cannot be dealt with before recv() is called. */
static void stash(struct lx_sock_conn *conn, const uint8_t *p, size_t n)
{
	struct lx_sock_rx *rx = &conn->rx;

	if (!n || conn->closing)
		return;
	rx->stash = malloc(n);
	if (!rx->stash) {
		fail(conn, -ENOMEM, "out of memory");
		return;
	}
	memcpy(rx->stash, p, n);
	rx->stash_len = n;
	rx->stash_at = 0;
}

static struct got read_scratch(struct lx_sock_conn *conn)
{
	uint8_t *scratch = lx_loop_scratch(conn->loop);
	struct got got = { .asked = RX_BATCH };
	size_t used;

	got.n = sys_recv(conn, scratch, got.asked, 0);
	if (got.n > 0 && !conn->closing) {
		used = consume(conn, scratch, got.n);
		stash(conn, scratch + used, got.n - used);
	}
	return got;
}

static struct got read_header(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;
	struct got got = { .asked = conn->overhead - rx->have };

	got.n = sys_recv(conn, rx->buf + rx->have, got.asked, 0);
	if (got.n > 0 && !conn->closing) {
		rx->have += got.n;
		rx->consumed += got.n;
		rx->prefetched = 0;
		header(conn);
		advance(conn);
	}
	return got;
}

static struct got read_slop(struct lx_sock_conn *conn)
{
	struct got got = { .asked = conn->rx.slop };

	/* With TCP this takes the bytes off the queue without copying them anywhere. */
	got.n = sys_recv(conn, NULL, got.asked, MSG_TRUNC);
	if (got.n > 0 && !conn->closing) {
		conn->rx.slop -= got.n;
		conn->rx.consumed += got.n;
		advance(conn);
	}
	return got;
}

/* Straight into the destination; what follows it too: the next header, or small messages. */
static struct got read_payload(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;
	uint8_t *tail = rx->large ? rx->buf : lx_loop_scratch(conn->loop);
	struct iovec iov[RX_IOV + 1];
	struct msghdr msg = { .msg_iov = iov };
	struct got got = { 0 };
	size_t len, rest, used;

	msg.msg_iovlen = dst_iov(&rx->dst, rx->done, rx->want - rx->done, iov, RX_IOV, &len);
	got.asked = len;
	if (len == rx->want - rx->done && !rx->slop) {
		iov[msg.msg_iovlen].iov_base = tail;
		iov[msg.msg_iovlen].iov_len = rx->large ? conn->overhead : RX_BATCH;
		got.asked += iov[msg.msg_iovlen++].iov_len;
	}
	lx_env_unlock(conn->host->env);
	got.n = recvmsg(conn->fd, &msg, MSG_DONTWAIT);
	if (got.n < 0)
		got.n = -errno;
	lx_env_lock(conn->host->env);
	if (got.n <= 0 || conn->closing)
		return got;
	rest = (size_t)got.n > len ? got.n - len : 0;
	rx->consumed += got.n - rest;
	dst_filled(rx, iov, got.n - rest);
	advance(conn);
	if (conn->closing || !rest)
		return got;
	if (tail == rx->buf) {
		rx->have = rest;
		rx->consumed += rest;
		rx->prefetched = 0;
		header(conn);
		advance(conn);
	} else {
		used = consume(conn, tail, rest);
		stash(conn, tail + used, rest - used);
	}
	return got;
}

/* The pipe took nothing though there is something to take: it is full. */
static bool pipe_is_full(struct lx_sock_conn *conn)
{
	int readable = 0;

	return !ioctl(conn->fd, FIONREAD, &readable) && readable;
}

/* What is left goes to memory; and soon all of them do, if pipes take so little. */
static void spill(struct lx_sock_rx *rx, bool refused)
{
	rx->spilled = true;
	if (refused || rx->dst.rbuf->piped < rx->want / 2)
		rx->no_splice = refused || ++rx->splices_full >= SPLICES_FULL_MAX;
}

static struct got read_pipe(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;
	struct lx_rbuf *rbuf = rx->dst.rbuf;
	struct got got = { .asked = rx->want - rx->done };
	int fd;

	if (!rbuf->piped)
		rbuf->pipe_at = rx->done;
	lx_env_unlock(conn->host->env);
	fd = lx_rbuf_pipe(rbuf);
	got.n = fd;
	if (fd >= 0)
		got.n = splice(conn->fd, NULL, fd, NULL, got.asked, SPLICE_F_NONBLOCK);
	if (fd >= 0 && got.n < 0)
		got.n = -errno;
	lx_env_lock(conn->host->env);
	if (conn->closing)
		return got;
	if (got.n > 0) {
		rx->done += got.n;
		rx->consumed += got.n;
		rbuf->length += got.n;
		rbuf->piped += got.n;
		advance(conn);
	} else if (fd < 0 || got.n == -EINVAL || (got.n == -EAGAIN && pipe_is_full(conn))) {
		spill(rx, got.n != -EAGAIN);
		got.n = -EINTR;
	}
	return got;
}

/* ---- turns ---------------------------------------------------------------- */

static struct got read_some(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;

	switch (rx->state) {
	case LX_SOCK_RX_PAYLOAD:
		if (use_pipe(conn))
			return read_pipe(conn);
		if (rx->want - rx->done < LARGE_MIN)
			break;
		if (!dst_memory(rx)) /* the rest is slop now */
			return (struct got){ .n = -EINTR };
		return read_payload(conn);
	case LX_SOCK_RX_SLOP:
		return read_slop(conn);
	default:
		break;
	}
	if (rx->state == LX_SOCK_RX_HEADER && rx->large)
		return read_header(conn);
	return read_scratch(conn);
}

static void ended(struct lx_sock_conn *conn, ssize_t n)
{
	bool inside = conn->rx.state != LX_SOCK_RX_HEADER || conn->rx.have;
	char reason[96];

	if (n < 0) {
		snprintf(reason, sizeof(reason), "receive: %s", strerror(-n));
		fail(conn, n, reason);
	} else if (inside) {
		fail(conn, -EPROTO, "closed by the peer inside a message");
	} else {
		lx_sock_conn_fail(conn, 0, LX_HSTATUS_REMOTE_DROPPED, NULL);
	}
}

static void rx_ready(struct lx_sock_conn *conn)
{
	size_t budget = RX_TURN;
	struct got got;

	while (budget && !conn->closing) {
		if (conn->rx.state == LX_SOCK_RX_WAIT || conn->rx.stash) {
			/* Only now: recv() is often called before there is more to read. */
			conn->rx_stopped = true;
			return;
		}
		got = read_some(conn);
		if (conn->closing || got.n == -EAGAIN)
			break;
		if (got.n == -EINTR)
			continue;
		if (got.n <= 0) {
			ended(conn, got.n);
			return;
		}
		note_rx(conn, got.n);
		budget -= (size_t)got.n < budget ? (size_t)got.n : budget;
		if ((size_t)got.n < got.asked)
			break;
	}
	if (!conn->closing && (lx_sock_tun.eager_ack & conn->ctype))
		setsockopt(conn->fd, IPPROTO_TCP, TCP_QUICKACK, &(int){ 1 }, sizeof(int));
}

static void resume(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;
	bool stopped = conn->rx_stopped;

	if (rx->waits && lx_sock_offload_may_resume(conn))
		lnet_wait_is_over(conn);
	advance(conn);
	if (rx->stash) {
		rx->stash_at +=
			consume(conn, rx->stash + rx->stash_at, rx->stash_len - rx->stash_at);
		if (rx->stash_at == rx->stash_len) {
			free(rx->stash);
			rx->stash = NULL;
		}
	}
	if (conn->closing || rx->state == LX_SOCK_RX_WAIT || rx->stash)
		return;
	note_rx(conn, 0);
	conn->rx_stopped = false;
	/* Nobody has polled for a while: there may well be something. */
	if (stopped)
		rx_ready(conn);
}

/* The connection closes in the middle of a message. */
static void abort_message(struct lx_sock_conn *conn)
{
	struct lx_msg *msg = conn->rx.msg;
	int error = conn->error;

	conn->rx.msg = NULL;
	if (!msg)
		return;
	msg->hstatus = LX_HSTATUS_REMOTE_ERROR;
	lx_lnd_finalize(msg, error == -ESHUTDOWN || error == -ETIMEDOUT ? error : -EIO);
}

void lx_sock_rx_recv(struct lx_ni *ni, void *arg, struct lx_msg *msg)
{
	struct lx_sock_conn *conn = arg;

	conn->awaiting_recv = false;
	payload_begin(conn, msg);
	if (conn->closing) /* while the message waited */
		abort_message(conn);
	lx_sock_conn_post(conn, LX_SOCK_CONN_RX);
}

/* ---- a connection that is up ------------------------------------------------ */

static void ready(struct lx_sock_conn *conn, int events)
{
	if (events & UV_WRITABLE)
		lx_sock_tx_ready(conn);
	if ((events & UV_READABLE) && !conn->closing)
		rx_ready(conn);
}

static void abort_all(struct lx_sock_conn *conn)
{
	abort_message(conn);
	lx_sock_tx_abort(conn, conn->error ? conn->error : -ECONNRESET,
			 lx_sock_conn_fault(conn));
}

const struct lx_sock_conn_ops lx_sock_rx_ops = {
	.ready = ready,
	.completions = lx_sock_zc_reap,
	.resume = resume,
	.closed = lx_sock_peer_conn_closed,
	.abort = abort_all,
};
