/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The addresses that a peer's connections come from. Lustre's nodes also connect from others than
 * the one in their NID: a VIP, another NI's alias, a temporary IPv6 address, behind NAT. But so can
 * anybody who has heard the peer's incarnation, which it tells to all that it calls. So a
 * connection from another address is read, but we send only
 *
 *	on those of the NID's own address, while there are any;
 *	else, if there never were any, or a dial to it has failed since: on those of the other
 *	address that came first. It keeps this place until KEEP_S after its last connection.
 *
 * At most OTHERS_MAX other addresses at a time: the one that is silent for longest makes room.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "priv.h"

#define OTHERS_MAX 8
#define KEEP_S 15
/* First addresses of an NI that are kept without a connection. */
#define KEPT_MAX 512

/* ---- who may be in a HELLO ------------------------------------------------------------- */

static bool is_host4(const struct lx_netif *netif, const union lx_addr *addr)
{
	uint32_t ip = ntohl(addr->v4.sin_addr.s_addr), host = 0;

	if (netif->prefix_len < 31)
		host = UINT32_MAX >> netif->prefix_len;
	if (!ip || IN_MULTICAST(ip) || ip == INADDR_BROADCAST || ip >> 24 == IN_LOOPBACKNET)
		return false;
	return !host || (ip & host) != host ||
	       !lx_addr_shares(addr, &netif->addr, netif->prefix_len);
}

bool lx_sock_origin_is_host(const struct lx_netif *netif, const union lx_addr *addr)
{
	const struct in6_addr *ip = &addr->v6.sin6_addr;

	if (netif->loopback)
		return true;
	if (addr->sa.sa_family == AF_INET)
		return is_host4(netif, addr);
	return !IN6_IS_ADDR_MULTICAST(ip) && !IN6_IS_ADDR_LOOPBACK(ip) &&
	       !IN6_IS_ADDR_UNSPECIFIED(ip);
}

bool lx_sock_origin_is_self(const struct lx_sock_conn *conn)
{
	const struct lx_sock_net *net;

	lx_list_for_each (net, &conn->host->nets, link) {
		if (lx_addr_same_host(&net->addr, &conn->remote))
			return true;
	}
	return conn->loopback;
}

/* ---- whose share of buffers and streams its messages take ------------------------------ */

/* A machine on our own link may also have many addresses; the guard knows its neighbours. */
static bool is_of_our_prefix(const struct lx_sock_conn *conn)
{
	const struct lx_sock_net *net;

	lx_list_for_each (net, &conn->host->nets, link) {
		if (lx_addr_shares(&conn->remote, &net->addr, net->netif.prefix_len))
			return true;
	}
	return false;
}

void lx_sock_origin_address(const struct lx_sock_conn *conn, struct lx_nid *ret_address)
{
	/* Cannot fail: our sockets are AF_INET or AF_INET6. */
	(void)lx_nid_from_sockaddr(LX_NET(LX_NET_TCP, 0), &conn->remote.sa, ret_address);
	if (!lx_nid_is_nid4(ret_address) && !is_of_our_prefix(conn))
		memset(ret_address->addr + 8, 0, 8);
}

/* ---- which connections count ----------------------------------------------------------- */

static struct lx_sock_conn *conn_from(const struct lx_sock_peer *peer, const union lx_addr *addr)
{
	struct lx_sock_conn *conn;

	lx_list_for_each (conn, &peer->conns, link) {
		if (lx_addr_same_host(&conn->remote, addr))
			return conn;
	}
	return NULL;
}

bool lx_sock_origin_is_own(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	return lx_addr_same_host(&conn->remote, &peer->addr);
}

bool lx_sock_origin_is_only(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	const struct lx_sock_conn *other;

	lx_list_for_each (other, &peer->conns, link) {
		if (!lx_addr_same_host(&other->remote, &conn->remote))
			return false;
	}
	return true;
}

bool lx_sock_origin_speaks(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	const union lx_addr *who = conn_from(peer, &peer->addr) ? &peer->addr : &peer->first;

	return lx_addr_same_host(&conn->remote, who);
}

bool lx_sock_origin_can_send(const struct lx_sock_peer *peer)
{
	const struct lx_sock_conn *conn;

	lx_list_for_each (conn, &peer->conns, link) {
		if (!conn->read_only)
			return true;
	}
	return false;
}

/* The other address that came first, or the next one in its place. */
static void review_first(struct lx_sock_peer *peer, uint64_t now)
{
	struct lx_sock_conn *conn;

	if (now >= peer->first_until_ns && !conn_from(peer, &peer->first)) {
		peer->first.sa.sa_family = AF_UNSPEC;
		lx_list_for_each (conn, &peer->conns, link) {
			if (lx_sock_origin_is_own(peer, conn))
				continue;
			peer->first = conn->remote;
			break;
		}
	}
	if (conn_from(peer, &peer->first))
		peer->first_until_ns = now + KEEP_S * LX_S_NS;
}

void lx_sock_origin_review(struct lx_sock_peer *peer, uint64_t now)
{
	bool own = conn_from(peer, &peer->addr);
	struct lx_sock_conn *conn;

	review_first(peer, now);
	peer->own_was_up |= own;
	lx_list_for_each (conn, &peer->conns, link)
		conn->read_only = !lx_sock_origin_is_own(peer, conn) &&
				  (peer->own_was_up || !lx_sock_origin_speaks(peer, conn));
}

bool lx_sock_origin_keeps(struct lx_sock_peer *peer, uint64_t now)
{
	return now < peer->first_until_ns && ++peer->net->n_kept <= KEPT_MAX;
}

/* ---- another address joins ------------------------------------------------------------- */

/* The last byte received from the address that @conn comes from. */
static uint64_t last_heard(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	const struct lx_sock_conn *other;
	uint64_t last = 0;

	lx_list_for_each (other, &peer->conns, link) {
		if (lx_addr_same_host(&other->remote, &conn->remote) && other->last_rx_ns > last)
			last = other->last_rx_ns;
	}
	return last;
}

/* Counts the other addresses; @ret_silent: a connection of the one silent for longest. */
static unsigned int count_others(const struct lx_sock_peer *peer, struct lx_sock_conn **ret_silent)
{
	struct lx_sock_conn *conn;
	unsigned int n = 0;

	*ret_silent = NULL;
	lx_list_for_each (conn, &peer->conns, link) {
		/* Each address once: by its first connection. */
		if (lx_sock_origin_is_own(peer, conn) || conn_from(peer, &conn->remote) != conn)
			continue;
		n++;
		if (lx_addr_same_host(&conn->remote, &peer->first))
			continue;
		if (!*ret_silent || last_heard(peer, conn) < last_heard(peer, *ret_silent))
			*ret_silent = conn;
	}
	return n;
}

static void report(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	const struct lx_sock_conn *known = lx_list_first(&peer->conns, struct lx_sock_conn, link);
	unsigned int missed;

	if (!known || !lx_ratelimit(&conn->host->joiners, lx_nid_hash(&peer->id.nid),
				    lx_sock_now(), LX_RATELIMIT_MINUTE, &missed))
		return;
	lx_info("peer=%s address=%s connected_from=%s missed=%u reason=\"it connects from another "
		"address, too\" action=\"read\"",
		lx_nid_str(&peer->id.nid), lx_addr_str(&conn->remote), lx_addr_str(&known->remote),
		missed);
}

void lx_sock_origin_join(struct lx_sock_peer *peer, const struct lx_sock_conn *conn)
{
	struct lx_sock_conn *silent;
	union lx_addr addr;

	if (lx_sock_origin_is_own(peer, conn) || conn_from(peer, &conn->remote))
		return;
	report(peer, conn);
	if (count_others(peer, &silent) < OTHERS_MAX || !silent)
		return;
	addr = silent->remote;
	while ((silent = conn_from(peer, &addr)))
		lx_sock_conn_close(silent, -ECONNABORTED, LX_HSTATUS_REMOTE_DROPPED);
}
