/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Dialling a peer: one connection after the other until there is one of each type (spec
 * socklnd.md 4.1, 5, 11).
 *
 *	                   nothing missing
 *	          ┌───────────────────────────────────┐
 *	          ▼                                   │
 *	        IDLE ── message, not too early ──▶ BUSY: next type ─▶ result
 *	          ▲                                   ▲                 │
 *	          │ failed: not before dial_at        │ 0, EPROTO, ESTALE
 *	          ├───────────────────────────────────┼─────────────────┤
 *	          │ 3 times in a row, one of each     │ later           │ EALREADY
 *	          └───────────────────────────────────┴────── WAIT ◀────┘
 *
 * A series of attempts has a deadline. When it fails, so do the messages that wait for a
 * connection, unless the peer declined and is dialled again. Declines are counted from IDLE to
 * IDLE: those of the last series do not count in this one.
 */
#include <errno.h>
#include <netinet/ip.h>
#include <string.h>

#include "priv.h"

#define RETRIES_MAX 3

static void attempt(struct lx_sock_peer *peer);
static int dial(struct lx_sock_peer *peer, uint32_t ctype, struct lx_sock_conn **ret_conn);

/* ---- what is missing (5) -------------------------------------------------- */

static uint32_t next_type(const struct lx_sock_peer *peer)
{
	unsigned int in, out;

	if (peer->settled)
		return LX_CTYPE_NONE;
	if (!lx_sock_tun.typed_conns)
		return lx_sock_peer_count(peer, LX_CTYPE_ANY) ? LX_CTYPE_NONE : LX_CTYPE_ANY;
	if (!lx_sock_peer_count(peer, LX_CTYPE_CONTROL))
		return LX_CTYPE_CONTROL;
	in = lx_sock_peer_count(peer, LX_CTYPE_BULK_IN);
	out = lx_sock_peer_count(peer, LX_CTYPE_BULK_OUT);
	if (in < peer->max_conns && in <= out)
		return LX_CTYPE_BULK_IN;
	if (out < peer->max_conns)
		return LX_CTYPE_BULK_OUT;
	return in < peer->max_conns ? LX_CTYPE_BULK_IN : LX_CTYPE_NONE;
}

static bool one_of_each(const struct lx_sock_peer *peer)
{
	return lx_sock_peer_count(peer, LX_CTYPE_CONTROL) &&
	       lx_sock_peer_count(peer, LX_CTYPE_BULK_IN) &&
	       lx_sock_peer_count(peer, LX_CTYPE_BULK_OUT);
}

/* ---- series --------------------------------------------------------------- */

static const char *reason_of(int error)
{
	if (error == -EADDRINUSE)
		return "all source ports from 512 to 1023 to it are in use; see ss -tan";
	return strerror(-error);
}

static void series_start(struct lx_sock_peer *peer)
{
	peer->dial_deadline_ns = lx_sock_now() + lx_sock_net_timeout_ns(peer->net);
	attempt(peer);
}

/*
 * A node whose acceptor has no NI with the NID that we ask for closes the connection without a
 * word, and so does one that refuses our source port.
 */
static enum lx_down_why why_failed(const struct lx_sock_conn *conn, int error)
{
	if (conn->phase != LX_SOCK_HELLO || conn->rx.have ||
	    (error != -ECONNRESET && error != -EPIPE))
		return LX_DOWN_LOST;
	return conn->unprivileged ? LX_DOWN_UNPRIVILEGED : LX_DOWN_HUNG_UP;
}

static const char *next_step(enum lx_down_why why)
{
	if (why == LX_DOWN_UNPRIVILEGED)
		return " next=\"give this process CAP_NET_BIND_SERVICE, or set accept=all there\"";
	if (why == LX_DOWN_HUNG_UP)
		return " next=\"there: has it this NID, or one on another net; what does its log "
		       "say?\"";
	return "";
}

static void series_failed(struct lx_sock_peer *peer, int error, enum lx_down_why why,
			  const char *reason)
{
	uint64_t min = lx_sock_tun.min_reconnectms * LX_MS_NS;
	uint64_t max = lx_sock_tun.max_reconnectms * LX_MS_NS;
	uint64_t interval = 2 * peer->dial_interval_ns;

	if (interval < min)
		interval = min;
	if (interval > max)
		interval = max;
	peer->dial_interval_ns = interval;
	peer->dial_at_ns = lx_sock_now() + interval;
	peer->dial = LX_SOCK_DIAL_IDLE;
	lx_warn("peer=%s nid=%s reason=\"cannot connect: %s\" action=\"messages to it fail; no new "
		"attempt for %llu ms\"%s",
		lx_nid_str(&peer->id.nid), lx_nid_str(&peer->net->ni->nid), reason,
		(unsigned long long)(interval / LX_MS_NS), next_step(why));
	/* Another address may have its messages now. */
	peer->own_was_up = false;
	lx_sock_origin_review(peer, lx_sock_now());
	lx_sock_peer_send_waiting(peer);
	lx_sock_peer_fail_waiting(peer, error, lx_sock_hstatus(error));
	if (!lx_sock_origin_can_send(peer))
		lx_lnd_peer_lost(peer->net->ni, &peer->id.nid, why, error);
}

static void attempt(struct lx_sock_peer *peer)
{
	uint32_t type = next_type(peer);
	int r = 0;

	if (type == LX_CTYPE_NONE || peer->closing) {
		peer->dial = LX_SOCK_DIAL_IDLE;
		return;
	}
	peer->dial = LX_SOCK_DIAL_BUSY;
	peer->dialling_ns = lx_sock_now();
	if (peer->dialling_ns >= peer->dial_deadline_ns)
		r = -ETIMEDOUT;
	if (!r)
		r = dial(peer, type, &peer->dialling);
	if (r)
		series_failed(peer, r, LX_DOWN_LOST, reason_of(r));
}

static void again_later(struct lx_sock_peer *peer)
{
	if (next_type(peer) == LX_CTYPE_NONE) {
		peer->dial = LX_SOCK_DIAL_IDLE;
		return;
	}
	peer->dial = LX_SOCK_DIAL_WAIT;
	peer->dial_at_ns = lx_sock_now() + lx_sock_tun.min_reconnectms * LX_MS_NS;
	lx_sock_host_hurry(peer->net->host);
}

/* The peer declined, or has restarted. */
static void declined(struct lx_sock_peer *peer, int why)
{
	char reason[96];

	if (++peer->retries < RETRIES_MAX) {
		if (why == EALREADY)
			again_later(peer);
		else
			series_start(peer);
		return;
	}
	if (one_of_each(peer)) {
		peer->settled = true;
		peer->dial = LX_SOCK_DIAL_IDLE;
	} else {
		snprintf(reason, sizeof(reason), "declined %d times, last: %s", RETRIES_MAX,
			 lx_sock_hello_why(why));
		series_failed(peer, why == EALREADY ? -ECONNREFUSED : -why, LX_DOWN_LOST, reason);
	}
}

/*
 * The result of an attempt: 0; a positive errno if it was declined (EALREADY, EPROTO,
 * ESTALE); a negative one if it failed.
 */
static void attempt_done(struct lx_sock_peer *peer, struct lx_sock_conn *conn, int result)
{
	enum lx_down_why why;

	if (peer->dialling != conn)
		return;
	peer->dialling = NULL;
	if (peer->closing) {
		peer->dial = LX_SOCK_DIAL_IDLE;
	} else if (!result) {
		peer->retries = 0;
		peer->dial_interval_ns = 0;
		attempt(peer);
	} else if (result > 0) {
		declined(peer, result);
	} else if (result == -ECONNABORTED) { /* by us: the peer is not lost */
		series_start(peer);
	} else {
		why = why_failed(conn, result);
		series_failed(peer, result, why,
			      why == LX_DOWN_LOST ? reason_of(result)
						  : "it closed the connection unanswered");
	}
}

void lx_sock_connect_start(struct lx_sock_peer *peer)
{
	if (peer->complete || peer->dial != LX_SOCK_DIAL_IDLE || peer->closing ||
	    lx_sock_peer_is_userspace(peer))
		return;
	if (peer->dial_interval_ns && lx_sock_now() < peer->dial_at_ns)
		return;
	if (!peer->dialled) {
		peer->dialled = true;
		peer->max_conns = lx_sock_net_conns_per_peer(peer->net);
	}
	peer->retries = 0;
	peer->complete = next_type(peer) == LX_CTYPE_NONE;
	if (!peer->complete)
		series_start(peer);
}

void lx_sock_connect_tick(struct lx_sock_peer *peer, uint64_t now)
{
	if (peer->dial == LX_SOCK_DIAL_WAIT && now >= peer->dial_at_ns)
		series_start(peer);
}

/* ---- one attempt ---------------------------------------------------------- */

static void prepare(int fd, void *arg)
{
	const struct lx_sock_conn *conn = arg;
	int size, tos = conn->net->ni->lnd_tun.value[LX_SOCK_NI_TOS];

	/* Before connect(), since the window scale depends on them. */
	size = lx_sock_tun.tx_buffer_size;
	if (size)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	size = lx_sock_tun.rx_buffer_size;
	if (size)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (tos < 0)
		return;
	if (conn->remote.sa.sa_family == AF_INET)
		setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
}

static void open_socket(struct lx_sock_conn *conn)
{
	struct lx_sock_host *host = conn->host;
	struct lx_netif_dial dial = {
		.local = &conn->net->addr,
		.remote = &conn->remote,
		.port_first = LX_SOCK_PRIVILEGED_PORT_MAX,
		.port_last = LX_SOCK_PRIVILEGED_PORT_MIN,
		.prepare = prepare,
		.arg = conn,
	};
	bool privileged;

	conn->fd = lx_netif_dial(&dial, &privileged);
	if (conn->fd < 0) {
		lx_sock_conn_close(conn, conn->fd, lx_sock_hstatus(conn->fd));
		return;
	}
	conn->unprivileged = !privileged;
	if (!privileged && !host->warned_port) {
		host->warned_port = true;
		lx_warn("nid=%s reason=\"no permission for source ports below 1024\" "
			"action=\"peers need accept=all, and see a userspace peer\" "
			"next=\"give this process CAP_NET_BIND_SERVICE\"",
			lx_nid_str(&conn->net->ni->nid));
	}
}

/* ---- the peer's HELLO (4.1) ----------------------------------------------- */

/* The peer violates the protocol. */
static void reject(struct lx_sock_conn *conn, int error, const char *reason)
{
	char name[LX_SOCK_NAME_TEXT];

	lx_warn("%s reason=\"%s\" action=\"connection closed\"",
		lx_sock_conn_name(conn, name, sizeof(name)), reason);
	lx_sock_conn_close(conn, error, LX_HSTATUS_LOCAL_ERROR);
}

/* Declined, by the peer or by us. */
static void decline(struct lx_sock_conn *conn, int why)
{
	char name[LX_SOCK_NAME_TEXT];

	lx_debug("%s reason=\"%s\" action=\"connection closed\"",
		 lx_sock_conn_name(conn, name, sizeof(name)), lx_sock_hello_why(why));
	attempt_done(conn->peer, conn, why);
	lx_sock_conn_close(conn, 0, LX_HSTATUS_LOCAL_ERROR);
}

static void hello_done(struct lx_sock_conn *conn, const struct lx_hello *hello)
{
	struct lx_sock_peer *peer = conn->peer;
	struct lx_id id = { .nid = hello->src_nid, .pid = hello->src_pid };
	bool same_version = conn->version == hello->version;
	char reason[LX_ID_TEXT + 64], text[LX_ID_TEXT];
	int answer = 0, r;

	conn->version = hello->version;
	conn->flip = hello->flip;
	if (!lx_sock_peer_is(peer, &id)) {
		snprintf(reason, sizeof(reason), "wrong peer: it says that it is %s",
			 lx_id_format(&id, text, sizeof(text)));
		reject(conn, -EPROTO, reason);
		return;
	}
	if (hello->ctype == LX_CTYPE_NONE)
		answer = same_version ? EALREADY : EPROTO;
	else if (lx_proto_ctype_invert(hello->ctype) != conn->ctype) {
		reject(conn, -EPROTO, "HELLO with another connection type than we asked for");
		return;
	}
	r = lx_sock_hello_admit(conn, peer, hello->src_incarnation, answer);
	if (!r) {
		lx_sock_peer_conn_up(peer, conn);
		attempt_done(peer, conn, 0);
	} else if (r < 0) {
		reject(conn, r, "the NI is being taken down");
	} else if (r == EALREADY && !answer) {
		/* A duplicate that the peer did not notice. Nothing is missing: a success. */
		attempt_done(peer, conn, 0);
		lx_sock_conn_close(conn, 0, LX_HSTATUS_LOCAL_ERROR);
	} else {
		decline(conn, r);
	}
}

static void hello_ready(struct lx_sock_conn *conn, int events)
{
	struct lx_hello hello;
	const char *reason;
	int r = lx_sock_hello_read(conn, &hello, &reason);

	if (r > 0)
		hello_done(conn, &hello);
	else if (r < 0 && why_failed(conn, r) != LX_DOWN_LOST)
		lx_sock_conn_close(conn, r, LX_HSTATUS_LOCAL_ERROR); /* attempt_done() says it */
	else if (r < 0)
		reject(conn, r == -EPROTONOSUPPORT ? -EPROTO : r, reason);
}

/* ---- a connection that is not up yet -------------------------------------- */

static void closed(struct lx_sock_conn *conn)
{
	attempt_done(conn->peer, conn, conn->error ? conn->error : -ECONNABORTED);
}

static const struct lx_sock_conn_ops hello_ops = {
	.ready = hello_ready,
	.closed = closed,
};

static void connected(struct lx_sock_conn *conn, int events)
{
	socklen_t len = sizeof(int);
	int error = 0, r;

	if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		error = errno;
	if (error) {
		lx_sock_conn_close(conn, -error, lx_sock_hstatus(-error));
		return;
	}
	len = sizeof(conn->local);
	getsockname(conn->fd, &conn->local.sa, &len);
	conn->loopback = lx_addr_same_host(&conn->local, &conn->remote);
	conn->version = conn->peer->version;
	if (!conn->version)
		conn->version = conn->remote.sa.sa_family == AF_INET6 ? LX_SOCK_V4 : LX_SOCK_V3;
	conn->phase = LX_SOCK_HELLO;
	conn->ops = &hello_ops;
	conn->deadline_ns = lx_sock_now() + lx_sock_net_timeout_ns(conn->net);
	r = lx_sock_hello_send(conn, &conn->peer->id.nid, conn->ctype);
	if (r)
		lx_sock_conn_close(conn, r, lx_sock_hstatus(r));
}

static const struct lx_sock_conn_ops dial_ops = {
	.open = open_socket,
	.ready = connected,
	.closed = closed,
};

static int dial(struct lx_sock_peer *peer, uint32_t ctype, struct lx_sock_conn **ret_conn)
{
	struct lx_sock_conn *conn;
	int r;

	r = lx_sock_conn_new(peer->net->host, LX_SOCK_DIAL, &dial_ops, &conn);
	if (r)
		return r;
	conn->active = true;
	conn->net = peer->net;
	lx_sock_net_hold(conn->net);
	conn->peer = peer;
	conn->ctype = ctype;
	conn->remote = peer->addr;
	lx_addr_set_port(&conn->remote, ctype == LX_CTYPE_CONTROL ? lx_sock_tun.accept_port
								  : lx_sock_bulk_port());
	conn->local = conn->net->addr;
	conn->deadline_ns = peer->dial_deadline_ns;
	*ret_conn = conn;
	return 0;
}
