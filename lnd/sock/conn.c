/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A TCP connection from birth to death. Owner: itself; it is freed by its own loop.
 *
 *	passive:          ACCEPT ──▶ HELLO ──▶ UP       accept.c, then rx.c
 *	active:   DIAL ────────────▶ HELLO ──▶ UP       connect.c, then rx.c
 *	                    any ──▶ closing ──▶ closed ──▶ freed
 *
 * conn->ops says what a connection does in a phase; the file that takes the connection over
 * sets it.
 *
 * Closing takes three steps, since others may be using the connection:
 *
 *	lx_sock_conn_close()  any thread: off the peer's list, so it is not found
 *	take_apart()          its loop, when no thread is in a system call for it:
 *	                      its messages end
 *	gone                  its loop, the handle is closed: freed, unless the core
 *	                      has yet to call recv() for a message
 */
#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../user/io/tcpinfo.h"
#include "priv.h"

/* Maximum age of the backlog by which a connection is chosen. */
#define BACKLOG_AGE_NS (4 * LX_MS_NS)

/* What the kernel may hold unsent: for so long, but this at least; looked at so often. */
#define UNSENT_NS (20 * LX_MS_NS)
#define UNSENT_MIN (128u << 10)
#define UNSENT_LOOK_NS (100 * LX_MS_NS)

/* ---- names, small questions ----------------------------------------------- */

const char *lx_sock_conn_name(const struct lx_sock_conn *conn, char *buf, size_t size)
{
	char id[LX_ID_TEXT] = "unknown";

	if (conn->peer)
		lx_id_format(&conn->peer->id, id, sizeof(id));
	snprintf(buf, size, "peer=%s address=%s%s%s", id, lx_addr_str(&conn->remote),
		 conn->phase == LX_SOCK_UP ? " type=" : "",
		 conn->phase == LX_SOCK_UP ? lx_proto_ctype_name(conn->ctype) : "");
	return buf;
}

size_t lx_sock_conn_unsent(struct lx_sock_conn *conn)
{
	int unsent;

	conn->unsent = ioctl(conn->fd, SIOCOUTQ, &unsent) ? 0 : unsent;
	conn->unsent_ns = lx_env_now(conn->host->env);
	conn->unsent_from = conn->tx_bytes;
	return conn->unsent;
}

size_t lx_sock_conn_backlog(struct lx_sock_conn *conn)
{
	if (lx_env_now(conn->host->env) - conn->unsent_ns > BACKLOG_AGE_NS)
		lx_sock_conn_unsent(conn);
	return conn->queued_bytes + conn->unsent + conn->tx_bytes - conn->unsent_from;
}

enum lx_hstatus lx_sock_hstatus(int error)
{
	switch (error) {
	case 0:
		return LX_HSTATUS_OK;
	case -ETIMEDOUT:
		return LX_HSTATUS_NETWORK_TIMEOUT;
	case -ENETDOWN:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ECONNREFUSED:
	case -ECONNRESET:
		return LX_HSTATUS_REMOTE_DROPPED;
	default:
		return LX_HSTATUS_LOCAL_ERROR;
	}
}

enum lx_hstatus lx_sock_conn_hstatus(int error)
{
	return error == -ETIMEDOUT ? LX_HSTATUS_REMOTE_TIMEOUT : lx_sock_hstatus(error);
}

enum lx_hstatus lx_sock_conn_fault(const struct lx_sock_conn *conn)
{
	return conn->error ? conn->hstatus : LX_HSTATUS_REMOTE_DROPPED;
}

int lx_sock_conn_read(struct lx_sock_conn *conn, unsigned int need)
{
	struct lx_sock_rx *rx = &conn->rx;
	ssize_t n;

	while (rx->have < need) {
		n = recv(conn->fd, rx->buf + rx->have, need - rx->have, MSG_DONTWAIT);
		if (n > 0)
			rx->have += n;
		else if (!n)
			return -ECONNRESET;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
	return 1;
}

/* ---- polling -------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

static int wanted_events(const struct lx_sock_conn *conn)
{
	int events = 0;

	if (conn->phase == LX_SOCK_DIAL || conn->tx_blocked)
		events |= UV_WRITABLE;
	if (conn->phase != LX_SOCK_DIAL && !conn->rx_stopped)
		events |= UV_READABLE;
	return events;
}

static void poll_update(struct lx_sock_conn *conn)
{
	int events = wanted_events(conn);

	if (!conn->poll_open || events == conn->poll_events)
		return;
	conn->poll_events = events;
	if (events)
		uv_poll_start(&conn->poll, events, on_poll);
	else
		uv_poll_stop(&conn->poll);
}

static int socket_error(const struct lx_sock_conn *conn)
{
	socklen_t len = sizeof(int);
	int error = 0;

	getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error;
}

static void fail(struct lx_sock_conn *conn, int error)
{
	/* The peer has closed the connection, and reset what arrived after that: an end as any. */
	if (error == EPIPE)
		lx_sock_conn_ended(conn, 0, NULL);
	else
		lx_sock_conn_ended(conn, -error, strerror(error));
}

/* An established connection has an error, or completions of zero-copy sends. */
static void error_ready(struct lx_sock_conn *conn)
{
	int error = socket_error(conn);

	if (error)
		fail(conn, error);
	else
		conn->ops->completions(conn);
}

bool lx_sock_conn_broken(struct lx_sock_conn *conn)
{
	struct lx_tcpinfo info;
	int error;

	if (!conn->rx_stopped || lx_tcpinfo_read(conn->fd, &info) || info.state != TCP_CLOSE)
		return false;
	error = socket_error(conn);
	fail(conn, error ? error : ECONNRESET);
	return true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct lx_sock_conn *conn = poll->data;
	struct lx_loop *loop = conn->loop;

	lx_loop_enter(loop);
	if (!conn->closing) {
		if (status < 0) /* libuv has stopped polling */
			conn->poll_events = 0;
		if (status < 0 && conn->ops->completions)
			error_ready(conn);
		else
			conn->ops->ready(conn, events);
	}
	if (!conn->closing)
		poll_update(conn);
	lx_loop_leave(loop);
}

/* ---- birth ---------------------------------------------------------------- */

static int start(struct lx_sock_conn *conn)
{
	int r;

	if (conn->ops->open)
		conn->ops->open(conn);
	if (conn->closing)
		return 0;
	r = uv_poll_init(lx_loop_uv(conn->loop), &conn->poll, conn->fd);
	if (r)
		return r;
	conn->poll.data = conn;
	conn->poll_open = true;
	return 0;
}

static void take_apart(struct lx_sock_conn *conn);

static void on_work(struct lx_work *work)
{
	struct lx_sock_conn *conn = lx_container_of(work, struct lx_sock_conn, work);
	unsigned int todo = conn->todo;
	int r;

	conn->todo = 0;
	if (!conn->closing && (todo & LX_SOCK_CONN_START)) {
		r = start(conn);
		if (r)
			lx_sock_conn_close(conn, r, LX_HSTATUS_LOCAL_ERROR);
	}
	if (!conn->closing && (todo & LX_SOCK_CONN_RX))
		conn->ops->resume(conn);
	if (conn->closing)
		take_apart(conn);
	else
		poll_update(conn);
}

void lx_sock_conn_post(struct lx_sock_conn *conn, unsigned int todo)
{
	conn->todo |= todo;
	lx_loop_post(conn->loop, &conn->work);
}

int lx_sock_conn_new(struct lx_sock_host *host, enum lx_sock_phase phase,
		     const struct lx_sock_conn_ops *ops, struct lx_sock_conn **ret_conn)
{
	struct lx_sock_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return -ENOMEM;
	conn->host = host;
	conn->phase = phase;
	conn->ops = ops;
	conn->loop = lx_sock_host_loop(host);
	conn->fd = -1;
	conn->ctype = LX_CTYPE_NONE;
	lx_work_init(&conn->work, on_work);
	lx_work_init(&conn->tx_work, NULL); /* tx.c: lx_sock_tx_setup() */
	lx_list_init(&conn->link);
	lx_queue_init(&conn->queue);
	lx_list_init(&conn->sending);
	lx_list_init(&conn->sent);
	lx_list_append(&host->conns, &conn->host_link);
	lx_sock_conn_post(conn, LX_SOCK_CONN_START);
	lx_sock_host_hurry(host);
	*ret_conn = conn;
	return 0;
}

/* ---- options ------------------------------------------------------------------- */

void lx_sock_conn_set_tos(struct lx_sock_conn *conn)
{
	int tos = conn->net->ni->lnd_tun.value[LX_SOCK_NI_TOS];

	if (tos < 0)
		return;
	if (conn->remote.sa.sa_family == AF_INET)
		setsockopt(conn->fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	else
		setsockopt(conn->fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
}

static void set_option(struct lx_sock_conn *conn, int level, int option, int value)
{
	if (setsockopt(conn->fd, level, option, &value, sizeof(value)))
		lx_debug("address=%s option=%d reason=\"%s\"", lx_addr_str(&conn->remote), option,
			 strerror(errno));
}

static void set_probes(struct lx_sock_conn *conn, int idle, int every, int count)
{
	set_option(conn, IPPROTO_TCP, TCP_KEEPIDLE, idle);
	set_option(conn, IPPROTO_TCP, TCP_KEEPINTVL, every);
	set_option(conn, IPPROTO_TCP, TCP_KEEPCNT, count);
}

/*
 * We have to notice a dead peer before those who wait for it give up their connections to
 * us. So all probes together take less than the timeout, whatever the tunables say.
 */
void lx_sock_conn_set_keepalive(struct lx_sock_conn *conn)
{
	int most = lx_sock_net_timeout_ns(conn->net) / LX_S_NS - 1;
	int idle = lx_sock_tun.keepalive_idle, every = lx_sock_tun.keepalive_intvl;
	int count = lx_sock_tun.keepalive_count;
	bool probe = idle && every && count;

	set_option(conn, SOL_SOCKET, SO_KEEPALIVE, probe);
	if (!probe)
		return;
	if (count > most - 1)
		count = most > 2 ? most - 1 : 1;
	if (every > (most - 1) / count)
		every = most > count ? (most - 1) / count : 1;
	if (idle > most - every * count)
		idle = most > every * count ? most - every * count : 1;
	set_probes(conn, idle, every, count);
}

void lx_sock_conn_ask(struct lx_sock_conn *conn, int count)
{
	set_option(conn, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_probes(conn, 1, 1, count);
}

void lx_sock_conn_count(struct lx_sock_conn *conn)
{
	struct lx_tcp_bytes more;
	struct lx_tcpinfo info;

	if (lx_tcpinfo_read(conn->fd, &info))
		return;
	more.sent = info.sent - conn->counted.sent;
	more.resent = info.resent - conn->counted.resent;
	conn->counted = (struct lx_tcp_bytes){ info.sent, info.resent };
	if (more.sent)
		lx_lnd_tcp_sent(conn->net->ni, &conn->peer->id.nid, &more);
}

bool lx_sock_conn_heard(const struct lx_sock_conn *conn, uint32_t ms)
{
	struct lx_tcpinfo info;

	return !lx_tcpinfo_read(conn->fd, &info) && info.quiet_ms < ms;
}

void lx_sock_conn_set_options(struct lx_sock_conn *conn)
{
	set_option(conn, IPPROTO_TCP, TCP_LINGER2, -1);
	set_option(conn, IPPROTO_TCP, TCP_NODELAY, !lx_sock_tun.nagle);
	if (lx_sock_tun.tx_buffer_size)
		set_option(conn, SOL_SOCKET, SO_SNDBUF, lx_sock_tun.tx_buffer_size);
	if (lx_sock_tun.rx_buffer_size)
		set_option(conn, SOL_SOCKET, SO_RCVBUF, lx_sock_tun.rx_buffer_size);
	lx_sock_conn_set_keepalive(conn);
	lx_sock_conn_set_tos(conn);
}

void lx_sock_conn_set_blocked(struct lx_sock_conn *conn, bool blocked)
{
	bool changes = conn->tx_blocked != blocked;
	struct lx_tcpinfo info;
	uint64_t bytes;

	conn->tx_blocked = blocked;
	if (!changes || conn->ctype == LX_CTYPE_BULK_OUT || lx_tcpinfo_read(conn->fd, &info))
		return;
	if (blocked) {
		conn->blocked_ns -= lx_sock_now();
		conn->blocked_bytes -= info.acked;
		return;
	}
	conn->blocked_ns += lx_sock_now();
	conn->blocked_bytes += info.acked;
	if (conn->blocked_ns < UNSENT_LOOK_NS)
		return;
	bytes = conn->blocked_bytes / (conn->blocked_ns / UNSENT_NS);
	bytes = bytes < UNSENT_MIN ? UNSENT_MIN : bytes;
	set_option(conn, IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes < INT_MAX ? (int)bytes : INT_MAX);
	conn->blocked_ns = conn->blocked_bytes = 0;
}

/* ---- death ---------------------------------------------------------------- */

void lx_sock_conn_close(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus)
{
	if (conn->closing)
		return;
	conn->closing = true;
	conn->error = error;
	conn->hstatus = hstatus;
	lx_sock_conn_post(conn, 0);
	lx_sock_offload_conn_closing(conn);
	if (conn->phase == LX_SOCK_UP)
		lx_sock_conn_count(conn);
	conn->ops->closed(conn);
	conn->peer = NULL;
}

/* Another connection to the same address of the peer. */
static struct lx_sock_conn *sibling(const struct lx_sock_conn *conn)
{
	struct lx_sock_conn *other;

	lx_list_for_each (other, &conn->peer->conns, link) {
		if (other != conn && lx_addr_same_host(&other->remote, &conn->remote))
			return other;
	}
	return NULL;
}

void lx_sock_conn_fail(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus,
		       const char *reason)
{
	struct lx_sock_conn *other;
	char name[LX_SOCK_NAME_TEXT];

	if (conn->closing)
		return;
	if (reason)
		lx_warn("%s reason=\"%s\" action=\"connections to it closed\"",
			lx_sock_conn_name(conn, name, sizeof(name)), reason);
	/*
	 * The failed one last, so that its error is the one the peer is lost for. Closing one may
	 * close others (lanes), so search the list again each time.
	 */
	while (!conn->closing && (other = sibling(conn)))
		lx_sock_conn_close(other, error, hstatus);
	lx_sock_conn_close(conn, error, hstatus);
}

void lx_sock_conn_ended(struct lx_sock_conn *conn, int error, const char *reason)
{
	const struct lx_sock_rx *rx = &conn->rx;
	bool inside = rx->state != LX_SOCK_RX_HEADER || rx->have;
	bool orderly = !error || error == -ECONNRESET;
	char name[LX_SOCK_NAME_TEXT];

	if (conn->closing || (orderly && lx_sock_offload_conn_ended(conn)))
		return;
	if (!inside || !orderly) {
		lx_sock_conn_fail(conn, error,
				  error ? lx_sock_conn_hstatus(error) : LX_HSTATUS_REMOTE_DROPPED,
				  reason);
		return;
	}
	lx_warn("%s reason=\"the peer has %s it inside a message\" action=\"closed\"",
		lx_sock_conn_name(conn, name, sizeof(name)), error ? "reset" : "closed");
	lx_sock_conn_close(conn, -EPROTO, lx_sock_conn_hstatus(-EPROTO));
}

static void conn_free(struct lx_sock_conn *conn)
{
	struct lx_sock_host *host = conn->host;
	struct lx_sock_net *net = conn->net;

	lx_list_del(&conn->host_link);
	lx_work_cancel(&conn->work);
	lx_work_cancel(&conn->tx_work);
	free(conn->rx.stash);
	free(conn);
	lx_sock_host_conn_freed(host);
	if (net)
		lx_sock_net_release(net);
}

static void on_closed(uv_handle_t *handle)
{
	struct lx_sock_conn *conn = handle->data;
	struct lx_loop *loop = conn->loop;

	lx_loop_enter(loop);
	close(conn->fd);
	lx_sock_offload_conn_closed(conn);
	conn->handle_closed = true;
	if (!conn->awaiting_recv)
		conn_free(conn);
	lx_loop_leave(loop);
}

static void take_apart(struct lx_sock_conn *conn)
{
	bool abort = conn->reset || !lx_list_empty(&conn->sent);

	if (conn->tx_busy)
		return;
	if (conn->handle_closed) {
		if (!conn->awaiting_recv)
			conn_free(conn);
		return;
	}
	if (conn->poll_open && uv_is_closing((uv_handle_t *)&conn->poll))
		return;
	if (conn->ops->abort)
		conn->ops->abort(conn);
	/* The kernel must not go on sending memory that we are about to give back. */
	if (abort && conn->fd >= 0)
		setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
			   sizeof(struct linger));
	if (conn->poll_open) {
		uv_close((uv_handle_t *)&conn->poll, on_closed);
		return;
	}
	if (conn->fd >= 0)
		close(conn->fd);
	conn->handle_closed = true;
	if (!conn->awaiting_recv)
		conn_free(conn);
}
