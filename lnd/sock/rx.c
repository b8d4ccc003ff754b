/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving: the bytes of a connection become messages (spec socklnd.md 6).
 *
 *	            NOOP: its ACKs are handled
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
 * How bytes are read off the socket depends on what is expected:
 * - small messages: as many as have arrived, into the loop's scratch buffer with one call,
 *   and copied from there;
 * - a large payload: directly into its destination, with the next header in the same call.
 *   After a large payload headers are read separately ("large"), so that the next payload
 *   can be read directly, too;
 * - a large payload into a router buffer: spliced into the buffer's pipe;
 * - bytes to discard: dropped in the kernel.
 * In WAIT nothing is read, so TCP stops the sender. Bytes already in the scratch buffer are
 * kept in a stash, at most RX_BATCH bytes per connection.
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
/* Bytes read per turn; then they are forwarded, while still in the CPU's cache. */
#define RX_TURN (256u << 10)
#define RX_IOV 260

/* A payload of this size is worth its own system call. */
#define LARGE_MIN (8u << 10)
/*
 * From this size on splicing is cheaper than copying twice. CPU time of a router between
 * veths for a message of 32 KiB: 18 us copied, 25 us spliced; of 64 KiB: 40 us copied, 28 us
 * spliced; of 1 MiB: 450 us copied, 200 us spliced.
 */
#define SPLICE_MIN (64u << 10)
/* Drop the lock while copying this much. */
#define UNLOCK_MIN (16u << 10)
/* Stop using pipes after they have filled up this often. */
#define SPLICES_FULL_MAX 3

/* @n bytes have been processed: the peer is alive. */
static void note_rx(struct lx_sock_conn *conn, size_t n)
{
	bool between = conn->rx.state == LX_SOCK_RX_HEADER && !conn->rx.have;
	uint64_t now = lx_sock_now();

	conn->rx_bytes += n;
	conn->last_rx_ns = now;
	if (!conn->read_only)
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

/* Describes up to @len bytes of the destination as an iovec; @ret_bytes: how many. */
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

/* No memory for the payload: fails the message and discards the rest of it. */
static void give_up_dst(struct lx_sock_rx *rx, int error)
{
	rx->status = error;
	rx->slop += rx->want - rx->done;
	rx->want = rx->done;
	rx->wanted = false;
}

/* Allocates the memory of a router buffer, if it has none. False: the message has failed. */
static bool dst_memory(struct lx_sock_rx *rx)
{
	void *mem;

	if (!rx->dst.rbuf || !lx_rbuf_reserve(rx->dst.rbuf, &mem))
		return true;
	give_up_dst(rx, -ENOMEM);
	return false;
}

/* @n more bytes of the destination are filled; in memory, if there is a checksum. */
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

/* Copies bytes of the scratch buffer to the destination. Returns how many it took. */
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

/* Starts the checksum: in V2 with the header as it was on the wire (9). */
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

/* Passes the header to the core. */
static void parse(struct lx_sock_conn *conn, struct lx_hdr *hdr)
{
	const struct lx_rx_from from = {
		.nid = conn->peer->id.nid,
		.peer = &conn->peer->shortcut,
		.address = conn->address,
		.stranger = conn->read_only,
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
	lx_sock_offload_received(conn, &hdr, conn->overhead + hdr.payload_length);
	parse(conn, &hdr);
}

/* Processes the header buffer, if it holds a complete header. */
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

/* A message has been read completely. */
static void message_done(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;
	struct lx_msg *msg = rx->msg;
	int status = rx->status, r = 0;
	const char *reason = "checksum error";

	if (rx->wanted && csum_wrong(rx)) {
		r = -EIO;
	} else if (rx->head.cookie[0]) {
		r = lx_sock_send_ack(conn, rx->head.cookie[0],
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

/* Leaves the states that need no more bytes. */
static void advance(struct lx_sock_conn *conn)
{
	struct lx_sock_rx *rx = &conn->rx;

	if (!conn->closing && rx->state == LX_SOCK_RX_PAYLOAD && rx->done == rx->want)
		rx->state = LX_SOCK_RX_SLOP;
	if (!conn->closing && rx->state == LX_SOCK_RX_SLOP && !rx->slop)
		message_done(conn);
}

/* Processes bytes from a buffer. Returns how many: all, unless a message has to wait. */
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

/* Bytes that a read asked for and got; n < 0: -errno. */
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

/* Keeps the bytes behind a message that has to wait. */
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

	/* MSG_TRUNC: TCP drops the bytes without copying them. */
	got.n = sys_recv(conn, NULL, got.asked, MSG_TRUNC);
	if (got.n > 0 && !conn->closing) {
		conn->rx.slop -= got.n;
		conn->rx.consumed += got.n;
		advance(conn);
	}
	return got;
}

/* Reads into the destination, and in the same call the next header or small messages. */
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

/* splice() moved nothing although there are bytes to read: the pipe is full. */
static bool pipe_is_full(struct lx_sock_conn *conn)
{
	int readable = 0;

	return !ioctl(conn->fd, FIONREAD, &readable) && readable;
}

/* The rest of the payload goes to memory. If pipes keep filling up, all payloads do. */
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
		if (!dst_memory(rx)) /* the rest is discarded */
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
	char reason[96];

	snprintf(reason, sizeof(reason), "receive: %s", strerror(-n));
	lx_sock_conn_ended(conn, n, n ? reason : NULL);
}

static void rx_ready(struct lx_sock_conn *conn)
{
	size_t budget = RX_TURN;
	struct got got;

	while (budget && !conn->closing) {
		if (conn->rx.state == LX_SOCK_RX_WAIT || conn->rx.stash) {
			/* Not earlier: recv() is often called before more bytes arrive. */
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
	/* The socket was not polled for a while; it may be readable. */
	if (stopped)
		rx_ready(conn);
}

/* Ends the message that is being received when the connection closes. */
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

/* ---- an established connection ---------------------------------------------- */

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
