/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * HELLO: who we are to each other, which version, and whether there shall be a
 * connection at all (spec socklnd.md 3, 4).
 *
 * Called for connections of phase HELLO when there is something to read; the active
 * side has sent its own by then.
 *
 *	              malformed, timeout                wrong peer or type
 *	 HELLO ──────────────────────────▶ closed ◀──────────────────────┐
 *	   │ complete                                                    │
 *	   ├─ passive ─▶ admit ─ yes ─▶ UP, then our HELLO                │
 *	   │               ├─ no ─────▶ our HELLO with type NONE, closed  │
 *	   │               └─ stale ──▶ closed                            │
 *	   └─ active ──▶ the one we dialled? ─ no ────────────────────────┘
 *	                   │ yes
 *	                 admit ─ yes ─▶ UP
 *	                   └─ no ─────▶ closed; perhaps tried again (connect.c)
 *
 * "no" has a positive errno: EALREADY there is one already, EPROTO another version,
 * ESTALE the peer is another than it was. Two nodes that dial each other at once
 * keep the connection which the one with the higher NID dialled.
 */
#include <errno.h>

#include "priv.h"

const char *lx_sock_hello_why(int why)
{
	switch (why) {
	case EALREADY:
		return "duplicate, or both dialled at once";
	case EPROTO:
		return "the peer speaks another version";
	default: /* ESTALE */
		return "the peer restarted or changed its version";
	}
}

int lx_sock_hello_send(struct lx_sock_conn *conn, const struct lx_nid *dst, uint32_t ctype)
{
	struct lx_hello hello = {
		.version = conn->version,
		.src_nid = conn->net->ni->nid,
		.dst_nid = *dst,
		.src_pid = LX_PID_LUSTRE,
		.src_incarnation = conn->net->ni->incarnation_ns,
		.ctype = ctype,
	};
	uint8_t buf[LX_ACC_REQ_MAX + LX_HELLO_MAX];
	size_t len = 0;
	ssize_t n;

	if (conn->active)
		len = lx_proto_acc_encode(dst, buf);
	len += lx_proto_hello_encode(&hello, buf + len);
	/* The first bytes ever on this socket: there is room, or something is wrong. */
	n = send(conn->fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EPIPE;
}

/* ---- outcomes ------------------------------------------------------------- */

/* The peer misbehaved: @error negative. */
static void reject(struct lx_sock_conn *conn, int error, const char *reason)
{
	char name[LX_SOCK_NAME_TEXT];

	lx_warn("%s reason=\"%s\" action=\"connection closed\"",
		lx_sock_conn_name(conn, name, sizeof(name)), reason);
	if (conn->active)
		lx_sock_connect_result(conn, error);
	lx_sock_conn_close(conn, error, LX_HSTATUS_LOCAL_ERROR);
}

/* We talk about it: @why positive. */
static void decline(struct lx_sock_conn *conn, const struct lx_nid *dst, int why)
{
	char name[LX_SOCK_NAME_TEXT];

	lx_debug("%s reason=\"%s\" action=\"connection closed\"",
		 lx_sock_conn_name(conn, name, sizeof(name)), lx_sock_hello_why(why));
	if (conn->active)
		lx_sock_connect_result(conn, why);
	else if (lx_sock_hello_send(conn, dst, LX_CTYPE_NONE))
		lx_debug("reason=\"no answer to a HELLO: the peer is gone\"");
	lx_sock_conn_close(conn, 0, LX_HSTATUS_LOCAL_ERROR);
}

/* ---- admission (4.3) ------------------------------------------------------ */

static unsigned int duplicates(const struct lx_sock_conn *conn, const struct lx_sock_peer *peer)
{
	const struct lx_sock_conn *other;
	unsigned int n = 0;

	lx_list_for_each (other, &peer->conns, link)
		n += other->ctype == conn->ctype &&
		     lx_addr_same_host(&other->remote, &conn->remote) &&
		     lx_addr_same_host(&other->local, &conn->local);
	return n;
}

/*
 * The peer is not the one it was: what we agreed on with that one is void, and what
 * @hello says is what we begin with next time. That spares the new one's declining a
 * version that it does not speak, which counts.
 */
static void replaced(struct lx_sock_peer *peer, const struct lx_sock_conn *hello,
		     uint64_t incarnation)
{
	struct lx_sock_conn *conn;

	while ((conn = lx_list_first(&peer->conns, struct lx_sock_conn, link)))
		lx_sock_conn_close(conn, -ESTALE, LX_HSTATUS_LOCAL_ERROR);
	peer->version = hello->version;
	peer->incarnation = incarnation;
}

/* @answer: what the peer said to the active side: 0, EALREADY, EPROTO. */
static int admit(struct lx_sock_conn *conn, struct lx_sock_peer *peer, uint64_t incarnation,
		 int answer)
{
	unsigned int max = peer->dialled ? peer->max_conns : lx_sock_net_conns_per_peer(conn->net);

	if (!conn->active && peer->dial == LX_SOCK_DIAL_BUSY &&
	    lx_nid_cmp(&peer->id.nid, &conn->net->ni->nid) < 0 &&
	    lx_addr_same_host(&conn->remote, &peer->addr))
		return EALREADY;
	if (peer->closing || conn->net->closing)
		return -ESTALE;
	if (!peer->version) {
		peer->version = conn->version;
		peer->incarnation = incarnation;
	}
	if (peer->version != conn->version || peer->incarnation != incarnation) {
		replaced(peer, conn, incarnation);
		return ESTALE;
	}
	if (answer)
		return answer;
	if (!conn->loopback && duplicates(conn, peer) >= max)
		return EALREADY;
	return 0;
}

/* ---- active side (4.1) ---------------------------------------------------- */

static void active_done(struct lx_sock_conn *conn, const struct lx_hello *hello)
{
	struct lx_sock_peer *peer = conn->peer;
	struct lx_id id = { .nid = hello->src_nid, .pid = hello->src_pid };
	bool same_version = conn->version == hello->version;
	char reason[LX_ID_TEXT + 64], text[LX_ID_TEXT];
	int answer = 0, r;

	conn->version = hello->version;
	conn->flip = hello->flip;
	if (!lx_id_eq(&id, &peer->id)) {
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
	r = admit(conn, peer, hello->src_incarnation, answer);
	if (!r) {
		lx_sock_conn_up(conn, peer);
		lx_sock_connect_result(conn, 0);
	} else if (r < 0) {
		reject(conn, r, "the NI is being taken down");
	} else if (r == EALREADY && !answer) {
		/* A duplicate that the peer did not notice: nothing is missing, all is well. */
		lx_sock_connect_result(conn, 0);
		lx_sock_conn_close(conn, 0, LX_HSTATUS_LOCAL_ERROR);
	} else {
		decline(conn, &peer->id.nid, r);
	}
}

/* ---- passive side (4.2) --------------------------------------------------- */

/* From an unprivileged port anyone may claim anything: go by the address (4.4). */
static void identify(struct lx_sock_conn *conn, const struct lx_hello *hello, struct lx_id *ret_id)
{
	uint16_t port = lx_addr_port(&conn->remote);

	ret_id->nid = hello->src_nid;
	ret_id->pid = hello->src_pid;
	if (port <= LX_SOCK_PRIVILEGED_PORT_MAX)
		return;
	ret_id->pid = LX_PID_USERFLAG | port;
	/* Sockets of ours are of one of the two families. */
	(void)lx_nid_from_sockaddr(conn->net->ni->net, &conn->remote.sa, &ret_id->nid);
}

static void passive_done(struct lx_sock_conn *conn, const struct lx_hello *hello)
{
	struct lx_sock_peer *peer;
	struct lx_id id;
	int r;

	conn->version = hello->version;
	conn->flip = hello->flip;
	conn->ctype = lx_proto_ctype_invert(hello->ctype);
	identify(conn, hello, &id);
	if (conn->ctype == LX_CTYPE_NONE) {
		reject(conn, -EPROTO, "HELLO with an unknown connection type");
		return;
	}
	/* A next hop is on our net; the core has no credits for any other one. */
	if (lx_nid_net(&id.nid) != conn->net->ni->net) {
		reject(conn, -EPROTO, "HELLO from a NID of another net");
		return;
	}
	peer = lx_sock_peer_lookup(conn->net, &id);
	if (!peer && lx_sock_peer_new(conn->net, &id, &peer)) {
		reject(conn, -ENOMEM, "out of memory");
		return;
	}
	r = admit(conn, peer, hello->src_incarnation, 0);
	if (r < 0) {
		reject(conn, r, "the NI is being taken down");
	} else if (r) {
		decline(conn, &id.nid, r);
	} else {
		/* In this order: once it has our HELLO, the peer may send at once. */
		lx_sock_conn_up(conn, peer);
		r = lx_sock_hello_send(conn, &id.nid, conn->ctype);
		if (r)
			lx_sock_conn_fail(conn, r, lx_sock_hstatus(r), "cannot send HELLO");
	}
}

/* ---- reading -------------------------------------------------------------- */

/* Type NONE in a version that everyone of this address family speaks: try that one. */
static void unknown_version(struct lx_sock_conn *conn)
{
	uint8_t rest[LX_HELLO_MAX];

	if (!conn->active) {
		conn->version = conn->remote.sa.sa_family == AF_INET6 ? LX_SOCK_V4 : LX_SOCK_V3;
		/* Unread bytes would make close() a reset, and that may overtake the answer. */
		while (recv(conn->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
			;
		if (lx_sock_hello_send(conn, &conn->net->ni->nid, LX_CTYPE_NONE))
			lx_debug("reason=\"no answer to a HELLO: the peer is gone\"");
	}
	reject(conn, -EPROTO, "HELLO of unknown version");
}

static void complete(struct lx_sock_conn *conn)
{
	struct lx_hello hello;

	if (lx_proto_hello_decode(conn->rx.buf, conn->rx.have, &hello))
		reject(conn, -EPROTO, "malformed HELLO");
	else if (conn->active)
		active_done(conn, &hello);
	else
		passive_done(conn, &hello);
}

void lx_sock_hello_ready(struct lx_sock_conn *conn)
{
	int need, r;

	for (;;) {
		need = lx_proto_hello_need(conn->rx.buf, conn->rx.have);
		if (need == -EPROTONOSUPPORT) {
			unknown_version(conn);
			return;
		}
		if (need < 0) {
			reject(conn, need, "malformed HELLO");
			return;
		}
		if ((unsigned int)need == conn->rx.have) {
			complete(conn);
			return;
		}
		r = lx_sock_conn_read(conn, need);
		if (r < 0)
			reject(conn, r, "closed before its HELLO was complete");
		if (r <= 0)
			return;
		conn->deadline_ns = lx_sock_now() +
				    (conn->active ? lx_sock_net_timeout_ns(conn->net)
						  : lx_sock_tun.accept_timeout * LX_SOCK_SECOND);
	}
}
