/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions that an offload may call (offload.h). */
#include <errno.h>
#include <sys/socket.h>

#include "priv.h"

#define PROBES 6

bool lx_sock_offload_on(void)
{
	return lx_sock_tun.fastpath;
}

unsigned int lx_sock_offload_streams(void)
{
	return lx_sock_tun.fastpath_streams;
}

unsigned int lx_sock_offload_store(void)
{
	return lx_sock_tun.fastpath_store;
}

bool lx_sock_offload_ni_on(const struct lx_ni *ni)
{
	return lx_sock_tun.fastpath && ni->lnd_tun.value[LX_SOCK_NI_FASTPATH];
}

uint8_t lx_sock_offload_ni_tos(const struct lx_ni *ni)
{
	int tos = ni->lnd_tun.value[LX_SOCK_NI_TOS];

	return tos > 0 ? tos : 0;
}

const struct lx_nid *lx_sock_offload_own_nid(const struct lx_sock_host *host, unsigned int i)
{
	const struct lx_sock_net *net;

	lx_list_for_each (net, &host->nets, link) {
		if (net->ni)
			return lx_lnd_own_nid(net->ni, i);
	}
	return NULL;
}

/* ---- peers ------------------------------------------------------------------- */

void lx_sock_peer_facts(const struct lx_sock_peer *peer, struct lx_sock_peer_facts *ret_facts)
{
	*ret_facts = (struct lx_sock_peer_facts){
		.ni = peer->net->ni,
		.nid = peer->id.nid,
		.ifindex = peer->net->netif.index,
	};
}

void *lx_sock_peer_state(const struct lx_sock_peer *peer)
{
	return peer->offload;
}

void lx_sock_peer_set_state(struct lx_sock_peer *peer, void *state)
{
	peer->offload = state;
}

struct lx_sock_conn *lx_sock_peer_conn(const struct lx_sock_peer *peer,
				       const struct lx_sock_conn *conn)
{
	const struct lx_list *next = conn ? conn->link.next : peer->conns.next;

	return next == &peer->conns ? NULL : lx_container_of(next, struct lx_sock_conn, link);
}

void lx_sock_peer_dial(struct lx_sock_peer *peer)
{
	if (lx_list_empty(&peer->conns))
		lx_sock_connect_start(peer);
}

void lx_sock_peer_hold(struct lx_sock_peer *peer, bool on)
{
	peer->held = on;
	if (on)
		lx_sock_peer_dial(peer);
	if (on || peer->closing)
		return;
	lx_sock_peer_send_waiting(peer);
	if (!lx_list_empty(&peer->waiting))
		lx_sock_connect_start(peer);
	if (peer->dial == LX_SOCK_DIAL_IDLE)
		lx_sock_peer_fail_waiting(peer, -EHOSTUNREACH, lx_sock_hstatus(-EHOSTUNREACH));
}

int lx_sock_peer_send_bytes(struct lx_sock_peer *peer, unsigned int version, const void *bytes,
			    size_t len)
{
	struct lx_sock_conn *conn = lx_sock_peer_pick(peer, false, len, false);

	return conn && conn->version == version ? lx_sock_tx_queue_bytes(conn, bytes, len)
						: -EHOSTUNREACH;
}

/* ---- connections ------------------------------------------------------------- */

void lx_sock_conn_facts(const struct lx_sock_conn *conn, struct lx_sock_conn_facts *ret_facts)
{
	*ret_facts = (struct lx_sock_conn_facts){
		.peer = conn->peer,
		.ni = conn->net->ni,
		.nid = conn->peer->id.nid,
		.local = conn->local,
		.remote = conn->remote,
		.address = conn->address,
		.fd = conn->fd,
		.ifindex = conn->net->netif.index,
		.version = conn->version,
		.overhead = conn->overhead,
		.ctype = conn->ctype,
		.flip = conn->flip,
		.loopback = conn->loopback,
		.ni_loopback = conn->net->netif.loopback,
		.userspace = conn->rx.userspace,
		.up_ns = conn->up_ns,
	};
}

void lx_sock_conn_rx(const struct lx_sock_conn *conn, struct lx_sock_conn_rx *ret_rx)
{
	const struct lx_sock_rx *rx = &conn->rx;

	*ret_rx = (struct lx_sock_conn_rx){
		.consumed = rx->consumed,
		.prefetched = rx->prefetched,
		.have = rx->have,
	};
}

void *lx_sock_conn_state(const struct lx_sock_conn *conn)
{
	return conn->offload;
}

void lx_sock_conn_set_state(struct lx_sock_conn *conn, void *state)
{
	conn->offload = state;
}

bool lx_sock_conn_read_only(const struct lx_sock_conn *conn)
{
	return conn->read_only;
}

bool lx_sock_conn_is_idle(struct lx_sock_conn *conn)
{
	return conn->phase == LX_SOCK_UP && !conn->closing && !conn->tx_busy &&
	       lx_queue_empty(&conn->queue) && lx_list_empty(&conn->sending) &&
	       lx_list_empty(&conn->sent) && !lx_sock_conn_unsent(conn);
}

ssize_t lx_sock_conn_write(struct lx_sock_conn *conn, const void *bytes, size_t len)
{
	ssize_t n = send(conn->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return -errno;
	conn->tx_bytes += n;
	conn->last_tx_ns = lx_sock_now();
	return n;
}

uint64_t lx_sock_conn_tx_bytes(const struct lx_sock_conn *conn)
{
	return conn->tx_bytes;
}

int lx_sock_conn_error(const struct lx_sock_conn *conn)
{
	return conn->error;
}

uint64_t lx_sock_conn_timeout_ns(const struct lx_sock_conn *conn)
{
	return lx_sock_net_timeout_ns(conn->net);
}

void lx_sock_conn_reserve(struct lx_sock_conn *conn, bool on)
{
	conn->reserved = on;
}

void lx_sock_conn_probe(struct lx_sock_conn *conn, bool on)
{
	if (!on) {
		lx_sock_conn_set_keepalive(conn);
		return;
	}
	lx_sock_conn_ask(conn, PROBES);
	if (conn->version >= LX_SOCK_V3 && lx_sock_conn_is_idle(conn))
		(void)lx_sock_tx_queue_ack(conn, LX_SOCK_COOKIE_KEEPALIVE, true);
}

void lx_sock_conn_set_reset(struct lx_sock_conn *conn)
{
	conn->reset = true;
}

void lx_sock_conn_note_life(struct lx_sock_conn *conn, bool rx, bool tx)
{
	uint64_t now = lx_sock_now();

	if (rx)
		conn->last_rx_ns = now;
	if (tx)
		conn->last_tx_ns = now;
	if ((rx || tx) && !conn->read_only)
		conn->peer->last_alive_ns = now;
}

int lx_sock_conn_acknowledge(struct lx_sock_conn *conn, uint64_t cookie, bool nonblk)
{
	return lx_sock_send_ack(conn, cookie, nonblk);
}
