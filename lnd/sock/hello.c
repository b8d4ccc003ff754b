/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * HELLO: both sides say who they are and which version they speak, and decide whether to
 * keep the connection (spec socklnd.md 3, 4). This is what both sides share; the rest is in
 * accept.c and connect.c:
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
 *	                   └─ no ─────▶ closed; perhaps tried again
 *
 * "no" is a positive errno: EALREADY: there is such a connection already; EPROTO: another
 * version; ESTALE: the peer has restarted; EADDRINUSE: somebody else says so. If two nodes dial
 * each other at the same time, the connection dialled by the one with the higher NID stays.
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
	case EADDRINUSE:
		return "from another address than the peer's connections, which live";
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
	/* The first bytes on this socket: they fit, or something is wrong. */
	n = send(conn->fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EPIPE;
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
 * A HELLO with another incarnation or version means that the peer has restarted; its connections
 * end. But anybody on the network can send one in its name. It counts if it comes from the address
 * in the NID, or, while that has no connection, from the only one that the peer is connected from.
 * From elsewhere - the peer may have moved, or be behind NAT - it counts only if the connections of
 * the NID's own address, or else of the first one (origin.c), are dead: they are asked, and when
 * the peer tries again, we know.
 */
#define PROOF_S 4 /* by then a living peer has answered one of the probes */
#define DOUBT_S 15 /* without another such HELLO */

static bool was_heard(const struct lx_sock_peer *peer)
{
	const struct lx_sock_conn *conn;

	lx_list_for_each (conn, &peer->conns, link) {
		if (lx_sock_origin_speaks(peer, conn) &&
		    lx_sock_conn_heard(conn, (PROOF_S - 1) * 1000))
			return true;
	}
	return false;
}

static bool may_replace(struct lx_sock_peer *peer, const struct lx_sock_conn *hello)
{
	uint64_t now = lx_sock_now();
	struct lx_sock_conn *conn;

	if (lx_sock_origin_is_own(peer, hello) || lx_sock_origin_is_only(peer, hello))
		return true;
	if (peer->doubted_ns && now >= peer->doubted_ns + PROOF_S * LX_S_NS)
		return !was_heard(peer);
	if (peer->doubted_ns)
		return false;
	peer->doubted_ns = now;
	lx_list_for_each (conn, &peer->conns, link) {
		if (lx_sock_origin_speaks(peer, conn))
			lx_sock_conn_ask(conn, 3);
	}
	return false;
}

void lx_sock_hello_tick(struct lx_sock_peer *peer, uint64_t now)
{
	struct lx_sock_conn *conn;

	if (!peer->doubted_ns || now < peer->doubted_ns + DOUBT_S * LX_S_NS)
		return;
	peer->doubted_ns = 0;
	lx_list_for_each (conn, &peer->conns, link)
		lx_sock_conn_set_keepalive(conn);
}

static void report_impostor(const struct lx_sock_conn *conn, const struct lx_sock_peer *peer)
{
	const struct lx_sock_conn *known = lx_list_first(&peer->conns, struct lx_sock_conn, link);
	unsigned int missed;

	if (!lx_ratelimit(&conn->host->impostors, lx_nid_hash(&peer->id.nid), lx_sock_now(),
			  LX_RATELIMIT_MINUTE, &missed))
		return;
	lx_warn("peer=%s address=%s connected_from=%s missed=%u reason=\"a HELLO in its name, as "
		"restarted, from another address than its connections, which live\" "
		"action=\"connection declined\" next=\"find out who has that address; if the peer "
		"has moved: lnetx disconnect %s\"",
		lx_nid_str(&peer->id.nid), lx_addr_str(&conn->remote), lx_addr_str(&known->remote),
		missed, lx_nid_str(&peer->id.nid));
}

/*
 * The peer has restarted, or changed its version. Closes its old connections; we dial with the
 * version of @hello next time, so that the peer need not decline the old one.
 */
static void replaced(struct lx_sock_peer *peer, const struct lx_sock_conn *hello,
		     uint64_t incarnation)
{
	struct lx_sock_conn *conn;

	while ((conn = lx_list_first(&peer->conns, struct lx_sock_conn, link)))
		lx_sock_conn_close(conn, -ESTALE, LX_HSTATUS_LOCAL_ERROR);
	peer->version = hello->version;
	peer->incarnation = incarnation;
	peer->doubted_ns = 0;
}

/*
 * Whether a connection that we are dialling has a claim: it is young, or has been answered. Where
 * what we send to the peer's port is dropped, only the peer's own attempts succeed.
 */
#define CLAIM_NS LX_S_NS

static bool we_connect(const struct lx_sock_peer *peer)
{
	return peer->dial == LX_SOCK_DIAL_BUSY && (lx_sock_now() < peer->dialling_ns + CLAIM_NS ||
						   peer->dialling->phase == LX_SOCK_HELLO);
}

int lx_sock_hello_admit(struct lx_sock_conn *conn, struct lx_sock_peer *peer,
			uint64_t incarnation, int answer)
{
	unsigned int max = peer->dialled ? peer->max_conns : lx_sock_net_conns_per_peer(conn->net);

	if (!conn->active && we_connect(peer) &&
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
		if (!may_replace(peer, conn)) {
			report_impostor(conn, peer);
			return EADDRINUSE;
		}
		replaced(peer, conn, incarnation);
		return ESTALE;
	}
	if (answer)
		return answer;
	if (!conn->loopback && duplicates(conn, peer) >= max)
		return EALREADY;
	lx_sock_origin_join(peer, conn);
	return 0;
}

/* ---- reading -------------------------------------------------------------- */

int lx_sock_hello_read(struct lx_sock_conn *conn, struct lx_hello *ret_hello,
		       const char **ret_reason)
{
	int need, r;

	for (;;) {
		need = lx_proto_hello_need(conn->rx.buf, conn->rx.have);
		if (need == -EPROTONOSUPPORT) {
			*ret_reason = "HELLO of unknown version";
			return need;
		}
		*ret_reason = "malformed HELLO";
		if (need < 0)
			return need;
		if ((unsigned int)need == conn->rx.have) {
			r = lx_proto_hello_decode(conn->rx.buf, conn->rx.have, ret_hello);
			return r ? -EPROTO : 1;
		}
		r = lx_sock_conn_read(conn, need);
		if (r < 0)
			*ret_reason = "closed before its HELLO was complete";
		if (r <= 0)
			return r;
		conn->deadline_ns =
			lx_sock_now() + (conn->active ? lx_sock_net_timeout_ns(conn->net)
						      : lx_sock_tun.accept_timeout * LX_S_NS);
	}
}
