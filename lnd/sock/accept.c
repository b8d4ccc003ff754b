/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Listening, and the first thing a peer says: which NID it wants (spec socklnd.md 2).
 *
 * One listener per address and port, shared by the NIs with that address. It accepts
 * connections on loop 0 and assigns each a loop, so a silent client does not delay others:
 *
 *	accept() ──▶ ACCEPT ── request ──▶ HELLO ── admitted (hello.c) ──▶ UP
 *	   │            └─ not a request, unknown NID, timeout ─▶ closed
 *	   └─ source port not privileged, accept=secure ─▶ closed
 *
 * Connections before the end of HELLO are half open. A listener keeps a limited number;
 * beyond that the oldest one is closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/io/poll.h"
#include "priv.h"

#define HALF_OPEN_MAX 512
#define ACCEPTS_A_TURN 64

static struct lx_loop *main_loop(struct lx_sock_listener *listener)
{
	return lx_env_loop(listener->host->env, 0);
}

static const struct lx_sock_conn_ops request_ops;

/* ---- taking connections --------------------------------------------------- */

static int half_open_new(struct lx_sock_listener *listener, int fd, const union lx_addr *remote)
{
	socklen_t len = sizeof(union lx_addr);
	struct lx_sock_conn *conn;
	int r;

	r = lx_sock_conn_new(listener->host, LX_SOCK_ACCEPT, &request_ops, &conn);
	if (r)
		return r;
	conn->fd = fd;
	conn->remote = *remote;
	getsockname(fd, &conn->local.sa, &len);
	conn->loopback = lx_addr_same_host(&conn->local, &conn->remote);
	conn->deadline_ns = lx_sock_now() + lx_sock_tun.accept_timeout * LX_S_NS;
	conn->listener = listener;
	listener->n_half_open++;
	lx_list_append(&listener->half_open, &conn->link);
	return 0;
}

/* The connection is no longer half open: it is up, or being closed. */
static void leave_listener(struct lx_sock_conn *conn)
{
	lx_list_del(&conn->link);
	conn->listener->n_half_open--;
	conn->listener = NULL;
}

/* Key of the log's rate limit; what has the same hash shares it. */
static uint64_t key_of(const union lx_addr *addr, const char *reason)
{
	uint64_t key = lx_hash_bytes(reason, strlen(reason));

	if (addr->sa.sa_family == AF_INET)
		return key ^ addr->v4.sin_addr.s_addr;
	return key ^ lx_hash_bytes(&addr->v6.sin6_addr, sizeof(addr->v6.sin6_addr));
}

/*
 * Whether a connection that is closed before it is up has its line in the log: who dials again and
 * again, scans ports, or checks the health of the service, does not fill it.
 */
static bool is_told(struct lx_sock_listener *listener, const union lx_addr *remote,
		    const char *reason, unsigned int *ret_connections)
{
	bool told = lx_ratelimit(&listener->refused_log, key_of(remote, reason), lx_sock_now(),
				 LX_RATELIMIT_MINUTE, ret_connections);

	++*ret_connections;
	return told;
}

/* The first NI with the listener's address; NULL: it is being taken down. */
static struct lx_ni *ni_of(const struct lx_sock_listener *listener)
{
	struct lx_sock_net *net;

	lx_list_for_each (net, &listener->host->nets, link) {
		if (net->listener[0] == listener || net->listener[1] == listener)
			return net->ni;
	}
	return NULL;
}

/* Both sides may mean well, so the node says whom it refused. */
static void note_refused(const struct lx_sock_listener *listener, const union lx_addr *remote,
			 enum lx_refused_kind kind, const char *reason)
{
	struct lx_ni *ni = ni_of(listener);
	char address[LX_ADDR_TEXT];

	if (ni)
		lx_lnd_refused(ni, kind, lx_addr_host(remote, address, sizeof(address)), reason);
}

static bool refused(struct lx_sock_listener *listener, const union lx_addr *remote)
{
	static const char reason[] = "source port is not privileged";
	unsigned int n;

	if (lx_sock_tun.accept == LX_SOCK_ACCEPT_NONE)
		return true;
	if (lx_sock_tun.accept == LX_SOCK_ACCEPT_ALL ||
	    lx_addr_port(remote) <= LX_SOCK_PRIVILEGED_PORT_MAX)
		return false;
	note_refused(listener, remote, LX_REFUSED_PORT, reason);
	if (is_told(listener, remote, reason, &n))
		lx_warn("address=%s listener=%s connections=%u reason=\"%s\" "
			"action=\"connection refused; accept=all would accept it\"",
			lx_addr_str(remote), lx_addr_str(&listener->addr), n, reason);
	return true;
}

static void take(struct lx_sock_listener *listener, int fd, const union lx_addr *remote)
{
	static const char reason[] = "too many connections without HELLO";
	struct lx_sock_conn *oldest;
	unsigned int n;

	if (listener->n_half_open >= HALF_OPEN_MAX) {
		oldest = lx_list_first(&listener->half_open, struct lx_sock_conn, link);
		if (is_told(listener, &oldest->remote, reason, &n))
			lx_warn("address=%s listener=%s connections=%u reason=\"%s\" "
				"action=\"closed the oldest\"",
				lx_addr_str(&oldest->remote), lx_addr_str(&listener->addr), n,
				reason);
		lx_sock_conn_close(oldest, -ETIMEDOUT, LX_HSTATUS_LOCAL_ERROR);
	}
	if (half_open_new(listener, fd, remote)) {
		lx_err("address=%s reason=\"out of memory\" action=\"connection refused\"",
		       lx_addr_str(remote));
		close(fd);
	}
}

/* Out of descriptors, the socket stays readable. Do not spin: try again with the next tick. */
static void pause_accept(struct lx_sock_listener *listener, int error)
{
	unsigned int missed;

	uv_poll_stop(&listener->poll);
	listener->paused = true;
	if (lx_ratelimit(&listener->paused_log, error, lx_sock_now(), LX_RATELIMIT_MINUTE, &missed))
		lx_err("listener=%s missed=%u reason=\"accept: %s\" action=\"peers wait; raise the "
		       "limit of open files\"",
		       lx_addr_str(&listener->addr), missed, strerror(error));
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct lx_sock_listener *listener = poll->data;
	struct lx_loop *loop = main_loop(listener);
	union lx_addr remote;
	socklen_t len;
	int fd;

	lx_loop_enter(loop);
	for (int i = 0; i < ACCEPTS_A_TURN && listener->users; i++) {
		len = sizeof(remote);
		fd = accept4(listener->fd, &remote.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				pause_accept(listener, errno);
			else if (errno == ECONNABORTED || errno == EINTR)
				continue;
			break;
		}
		if (refused(listener, &remote))
			close(fd);
		else
			take(listener, fd, &remote);
	}
	if (!listener->paused && listener->users)
		lx_poll_go_on(poll, status, UV_READABLE, on_connection);
	lx_loop_leave(loop);
}

void lx_sock_accept_tick(struct lx_sock_host *host)
{
	struct lx_sock_listener *listener;

	lx_list_for_each (listener, &host->listeners, link) {
		if (!listener->paused)
			continue;
		listener->paused = false;
		uv_poll_start(&listener->poll, UV_READABLE, on_connection);
	}
}

/* ---- the request ---------------------------------------------------------- */

static void refuse(struct lx_sock_conn *conn, int error, const char *reason)
{
	char name[LX_SOCK_NAME_TEXT];
	unsigned int n;

	if (is_told(conn->listener, &conn->remote, reason, &n))
		lx_warn("%s connections=%u reason=\"%s\" action=\"connection closed\"",
			lx_sock_conn_name(conn, name, sizeof(name)), n, reason);
	lx_sock_conn_close(conn, error, LX_HSTATUS_LOCAL_ERROR);
}

static void refuse_node(struct lx_sock_conn *conn, enum lx_refused_kind kind, const char *reason)
{
	note_refused(conn->listener, &conn->remote, kind, reason);
	refuse(conn, -EPROTO, reason);
}

void lx_sock_accept_expire(struct lx_sock_conn *conn)
{
	refuse(conn, -ETIMEDOUT,
	       conn->phase == LX_SOCK_ACCEPT
		       ? "no complete acceptor request within the time allowed"
		       : "no complete HELLO within the time allowed");
}

static void hello_ready(struct lx_sock_conn *conn, int events);

static const struct lx_sock_conn_ops hello_ops = {
	.ready = hello_ready,
	.closed = leave_listener,
};

/* Send the version that we speak: a probe, or a newer version of the request (2.3). */
static void tell_version(struct lx_sock_conn *conn)
{
	struct lx_acc_req1 answer;

	lx_proto_acc_version(&answer);
	if (send(conn->fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		lx_debug("address=%s reason=\"cannot send our version\"",
			 lx_addr_str(&conn->remote));
	refuse(conn, -EPROTO, "acceptor request of unknown version");
}

/* The same address on another net. */
static bool is_other_net(const struct lx_nid *a, const struct lx_nid *b)
{
	union lx_addr x, y;

	lx_addr_of_nid(&x, a, 0);
	lx_addr_of_nid(&y, b, 0);
	return lx_nid_net(a) != lx_nid_net(b) && lx_addr_same_host(&x, &y);
}

static void request_done(struct lx_sock_conn *conn)
{
	char reason[LX_REFUSED_TEXT];
	const struct lx_ni *ni;
	struct lx_nid target;

	lx_proto_acc_decode(conn->rx.buf, &target);
	conn->net = lx_sock_net_lookup(conn->host, &target);
	if (!conn->net) {
		ni = ni_of(conn->listener);
		if (ni && is_other_net(&target, &ni->nid))
			snprintf(reason, sizeof(reason),
				 "it asked for %s; this node is %s: wrong net there",
				 lx_nid_str(&target), lx_nid_str(&ni->nid));
		else
			snprintf(reason, sizeof(reason),
				 "it asked for %s, which is not a NID of this node",
				 lx_nid_str(&target));
		refuse_node(conn, LX_REFUSED_NID, reason);
		return;
	}
	lx_sock_net_hold(conn->net);
	conn->phase = LX_SOCK_HELLO;
	conn->ops = &hello_ops;
	conn->rx.have = 0;
	hello_ready(conn, UV_READABLE);
}

static void request_ready(struct lx_sock_conn *conn, int events)
{
	int need, r;

	for (;;) {
		need = lx_proto_acc_need(conn->rx.buf, conn->rx.have);
		if (need == -EPROTONOSUPPORT) {
			tell_version(conn);
			return;
		}
		if (need < 0) {
			refuse(conn, -EPROTO, "not an acceptor request");
			return;
		}
		if ((unsigned int)need == conn->rx.have) {
			request_done(conn);
			return;
		}
		r = lx_sock_conn_read(conn, need);
		if (r < 0 && conn->rx.have)
			refuse(conn, -EPROTO, "closed before its acceptor request was complete");
		else if (r < 0) /* it only looked whether the port is open */
			lx_sock_conn_close(conn, -EPROTO, LX_HSTATUS_LOCAL_ERROR);
		if (r <= 0)
			return;
		conn->deadline_ns = lx_sock_now() + lx_sock_tun.accept_timeout * LX_S_NS;
	}
}

static const struct lx_sock_conn_ops request_ops = {
	.ready = request_ready,
	.closed = leave_listener,
};

/* ---- the peer's HELLO (4.2) ----------------------------------------------- */

static void decline(struct lx_sock_conn *conn, const struct lx_nid *dst, int why)
{
	char name[LX_SOCK_NAME_TEXT];

	lx_debug("%s reason=\"%s\" action=\"connection closed\"",
		 lx_sock_conn_name(conn, name, sizeof(name)), lx_sock_hello_why(why));
	if (lx_sock_hello_send(conn, dst, LX_CTYPE_NONE))
		lx_debug("reason=\"no answer to a HELLO: the peer is gone\"");
	lx_sock_conn_close(conn, 0, LX_HSTATUS_LOCAL_ERROR);
}

/*
 * From an unprivileged port any user may claim any NID: use the address instead (4.4). So for a
 * process at another port: a NID's processes have connections without it.
 */
static void identify(struct lx_sock_conn *conn, const struct lx_hello *hello, struct lx_id *ret_id)
{
	uint16_t port = lx_addr_port(&conn->remote);

	ret_id->nid = hello->src_nid;
	ret_id->pid = hello->src_pid;
	if (port <= LX_SOCK_PRIVILEGED_PORT_MAX && !(hello->src_pid & LX_PID_USERFLAG))
		return;
	ret_id->pid = LX_PID_USERFLAG | port;
	/* Cannot fail: our sockets are AF_INET or AF_INET6. */
	(void)lx_nid_from_sockaddr(conn->net->ni->net, &conn->remote.sa, &ret_id->nid);
}

/* Why nobody can have this NID, or not the other side; NULL: it can. */
static const char *cannot_be(const struct lx_sock_conn *conn, const struct lx_nid *nid)
{
	union lx_addr addr;

	lx_addr_of_nid(&addr, nid, 0);
	if (!lx_sock_origin_is_host(&conn->net->netif, &addr))
		return "HELLO with a NID that is no node's: multicast, broadcast or loopback";
	if (lx_sock_net_lookup(conn->host, nid) && !lx_sock_origin_is_self(conn))
		return "HELLO in the name of this node";
	if (lx_sock_tun.accept_own_address && !lx_addr_same_host(&addr, &conn->remote))
		return "HELLO from another address than the NID's; see tunable accept_own_address";
	return NULL;
}

static void hello_done(struct lx_sock_conn *conn, const struct lx_hello *hello)
{
	char text[LX_NID_TEXT + 96];
	struct lx_sock_peer *peer;
	const char *reason;
	struct lx_id id;
	int r;

	conn->version = hello->version;
	conn->flip = hello->flip;
	conn->ctype = lx_proto_ctype_invert(hello->ctype);
	identify(conn, hello, &id);
	if (conn->ctype == LX_CTYPE_NONE) {
		refuse(conn, -EPROTO, "HELLO with an unknown connection type");
		return;
	}
	/* The peer is a next hop, so it is on our net; the core has no credits for other NIDs. */
	if (lx_nid_net(&id.nid) != conn->net->ni->net) {
		refuse_node(conn, LX_REFUSED_PEER, "HELLO from a NID of another net");
		return;
	}
	reason = cannot_be(conn, &id.nid);
	if (reason) {
		snprintf(text, sizeof(text), "%s: %s", lx_nid_str(&id.nid), reason);
		refuse_node(conn, LX_REFUSED_PEER, text);
		return;
	}
	peer = lx_sock_peer_lookup(conn->net, &id);
	if (!peer && lx_sock_peer_new(conn->net, &id, &peer)) {
		refuse(conn, -ENOMEM, "out of memory");
		return;
	}
	r = lx_sock_hello_admit(conn, peer, hello->src_incarnation, 0);
	if (r < 0) {
		refuse(conn, r, "the NI is being taken down");
	} else if (r) {
		decline(conn, &id.nid, r);
	} else {
		/* In this order: the peer may send as soon as it has our HELLO. */
		leave_listener(conn);
		lx_sock_peer_conn_up(peer, conn);
		r = lx_sock_hello_send(conn, &id.nid, conn->ctype);
		if (r)
			lx_sock_conn_fail(conn, r, lx_sock_hstatus(r), "cannot send HELLO");
	}
}

/* Answer with type NONE in a version that every node of this address family speaks. */
static void unknown_version(struct lx_sock_conn *conn, const char *reason)
{
	uint8_t rest[LX_HELLO_MAX];

	conn->version = conn->remote.sa.sa_family == AF_INET6 ? LX_SOCK_V4 : LX_SOCK_V3;
	/* With unread bytes close() would send a reset, which may overtake the answer. */
	while (recv(conn->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	if (lx_sock_hello_send(conn, &conn->net->ni->nid, LX_CTYPE_NONE))
		lx_debug("reason=\"no answer to a HELLO: the peer is gone\"");
	refuse(conn, -EPROTO, reason);
}

static void hello_ready(struct lx_sock_conn *conn, int events)
{
	struct lx_hello hello;
	const char *reason;
	int r = lx_sock_hello_read(conn, &hello, &reason);

	if (r > 0)
		hello_done(conn, &hello);
	else if (r == -EPROTONOSUPPORT)
		unknown_version(conn, reason);
	else if (r < 0)
		refuse(conn, r, reason);
}

/* ---- life ----------------------------------------------------------------- */

static void listener_end(struct lx_sock_listener *listener)
{
	struct lx_sock_net *net = listener->waiter;

	free(listener);
	lx_sock_net_release(net);
}

static void on_closed(uv_handle_t *handle)
{
	struct lx_sock_listener *listener = handle->data;
	struct lx_loop *loop = main_loop(listener);

	lx_loop_enter(loop);
	close(listener->fd);
	listener_end(listener);
	lx_loop_leave(loop);
}

static void listener_stop(struct lx_sock_listener *listener)
{
	struct lx_sock_conn *conn;

	while ((conn = lx_list_first(&listener->half_open, struct lx_sock_conn, link)))
		lx_sock_conn_close(conn, -ESHUTDOWN, LX_HSTATUS_LOCAL_ERROR);
	if (listener->poll_open) {
		uv_close((uv_handle_t *)&listener->poll, on_closed);
		return;
	}
	close(listener->fd);
	listener_end(listener);
}

static void on_work(struct lx_work *work)
{
	struct lx_sock_listener *listener = lx_container_of(work, struct lx_sock_listener, work);

	if (!listener->users) {
		listener_stop(listener);
		return;
	}
	if (uv_poll_init(lx_loop_uv(main_loop(listener)), &listener->poll, listener->fd)) {
		lx_err("listener=%s reason=\"cannot poll\" action=\"peers cannot connect\"",
		       lx_addr_str(&listener->addr));
		return;
	}
	listener->poll.data = listener;
	listener->poll_open = true;
	uv_poll_start(&listener->poll, UV_READABLE, on_connection);
}

static bool same_scope(const union lx_addr *a, const union lx_addr *b)
{
	return a->sa.sa_family != AF_INET6 || a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

static struct lx_sock_listener *lookup(struct lx_sock_host *host, const union lx_addr *addr)
{
	struct lx_sock_listener *listener;

	lx_list_for_each (listener, &host->listeners, link) {
		if (lx_addr_same_host(&listener->addr, addr) &&
		    same_scope(&listener->addr, addr) &&
		    lx_addr_port(&listener->addr) == lx_addr_port(addr))
			return listener;
	}
	return NULL;
}

/* @otherwise: the consequence of a failure, for the log; NULL: not logged. */
static int listen_on(struct lx_sock_net *net, uint16_t port, const char *otherwise,
		     struct lx_sock_listener **ret_listener)
{
	union lx_addr addr = net->addr;
	struct lx_sock_listener *listener;

	lx_addr_set_port(&addr, port);
	listener = lookup(net->host, &addr);
	if (listener) {
		listener->users++;
		*ret_listener = listener;
		return 0;
	}
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return -ENOMEM;
	listener->fd = lx_netif_listen(&addr, lx_sock_tun.accept_backlog);
	if (listener->fd < 0) {
		int r = listener->fd;

		free(listener);
		if (otherwise)
			lx_err("nid=%s listener=%s reason=\"%s\" action=\"%s%s\"",
			       lx_nid_str(&net->ni->nid), lx_addr_str(&addr), strerror(-r),
			       otherwise,
			       r == -EACCES
				       ? "; give it CAP_NET_BIND_SERVICE or another accept_port"
				       : "");
		return r;
	}
	listener->host = net->host;
	listener->addr = addr;
	listener->users = 1;
	lx_list_init(&listener->half_open);
	lx_work_init(&listener->work, on_work);
	lx_list_append(&net->host->listeners, &listener->link);
	lx_loop_post(main_loop(listener), &listener->work);
	*ret_listener = listener;
	return 0;
}

static void release(struct lx_sock_net *net, struct lx_sock_listener *listener[2])
{
	for (int i = 0; i < 2; i++) {
		struct lx_sock_listener *l = listener[i];

		listener[i] = NULL;
		if (!l || --l->users)
			continue;
		lx_list_del(&l->link);
		l->waiter = net;
		lx_sock_net_hold(net);
		lx_loop_post(main_loop(l), &l->work);
	}
}

/* Listens on the ports in the tunables; listener[1] stays NULL if bulk has no separate port. */
static int obtain(struct lx_sock_net *net, const char *otherwise,
		  struct lx_sock_listener *listener[2])
{
	int r;

	listener[0] = listener[1] = NULL;
	if (lx_sock_tun.accept == LX_SOCK_ACCEPT_NONE)
		return 0;
	r = listen_on(net, lx_sock_tun.accept_port, otherwise, &listener[0]);
	if (!r && lx_sock_bulk_port() != lx_sock_tun.accept_port)
		r = listen_on(net, lx_sock_bulk_port(), otherwise, &listener[1]);
	if (r)
		release(net, listener);
	return r;
}

int lx_sock_accept_start(struct lx_sock_net *net, const char *otherwise)
{
	return obtain(net, otherwise, net->listener);
}

void lx_sock_accept_stop(struct lx_sock_net *net)
{
	release(net, net->listener);
}

/* New listeners first, so that a port in both sets stays open. */
int lx_sock_accept_follow(struct lx_sock_host *host)
{
	struct lx_sock_net *net;
	int r = 0;

	lx_list_for_each (net, &host->nets, link) {
		if (!r && !net->closing)
			r = obtain(net, "listens where it did", net->next_listener);
	}
	lx_list_for_each (net, &host->nets, link) {
		if (net->closing)
			continue;
		if (!r) {
			release(net, net->listener);
			memcpy(net->listener, net->next_listener, sizeof(net->listener));
			memset(net->next_listener, 0, sizeof(net->next_listener));
			net->deaf = false;
		} else {
			release(net, net->next_listener);
		}
	}
	return r;
}
