/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Periodic work (spec socklnd.md 10): keepalive, timeouts, freeing unused peers, the next attempt
 * to connect. Called for each host once a second, ten times as often while something is due soon.
 */
#include <errno.h>

#include "priv.h"

#define KEEPALIVE_PAUSE_S 10
/* The longest time from one tick to the next, unless lnetxd was stopped, or the machine slept. */
#define AWAY_NS (3 * LX_S_NS)

/* Closes connections that take too long to come up. */
static bool tick_conns(struct lx_sock_host *host, uint64_t now)
{
	struct lx_sock_conn *conn;
	bool busy = false;

	lx_list_for_each (conn, &host->conns, host_link) {
		if (conn->closing || conn->phase == LX_SOCK_UP)
			continue;
		busy = true;
		if (now < conn->deadline_ns)
			continue;
		if (conn->active)
			lx_sock_conn_close(conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT);
		else
			lx_sock_accept_expire(conn);
	}
	return busy;
}

static void keepalive(struct lx_sock_peer *peer, uint64_t now)
{
	struct lx_sock_conn *conn;

	if (peer->version < LX_SOCK_V3 || lx_list_empty(&peer->conns) || !lx_sock_tun.keepalive)
		return;
	if (now < peer->last_alive_ns + lx_sock_tun.keepalive * LX_S_NS ||
	    now < peer->next_keepalive_ns)
		return;
	peer->next_keepalive_ns = now + KEEPALIVE_PAUSE_S * LX_S_NS;
	conn = lx_sock_peer_pick(peer, true, 0, true);
	if (conn && conn->queued_bytes)
		return;
	/* If it cannot be sent, we try again in some seconds. */
	(void)lx_sock_send_noop(peer, LX_SOCK_COOKIE_KEEPALIVE, true);
}

/* Whether the peer has acknowledged bytes since the last tick, or had none to. */
static bool tx_progress(struct lx_sock_conn *conn, uint64_t now)
{
	size_t unsent = lx_sock_conn_unsent(conn);
	uint64_t acked = conn->tx_bytes - unsent;
	bool progress = acked != conn->tx_acked;

	if (progress && !conn->read_only)
		conn->peer->last_alive_ns = now;
	conn->tx_acked = acked;
	return progress || !(unsent + conn->queued_bytes);
}

/* Closes the connection and its siblings if it is broken, or has been stuck for too long. */
static bool conn_ended(struct lx_sock_conn *conn, uint64_t now)
{
	uint64_t timeout = lx_sock_net_timeout_ns(conn->net);
	char reason[96];

	if (lx_sock_conn_broken(conn))
		return true;
	if (conn->rx.since_ns && now >= conn->rx.since_ns + timeout &&
	    conn->rx.state != LX_SOCK_RX_WAIT) {
		snprintf(reason, sizeof(reason), "nothing received for %llu s inside a message",
			 (unsigned long long)(timeout / LX_S_NS));
		lx_sock_conn_fail(conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT, reason);
		return true;
	}
	if (tx_progress(conn, now)) {
		conn->tx_since_ns = now;
	} else if (now >= conn->tx_since_ns + timeout) {
		snprintf(reason, sizeof(reason), "the peer has taken no data for %llu s",
			 (unsigned long long)(timeout / LX_S_NS));
		lx_sock_conn_fail(conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT, reason);
		return true;
	}
	if (conn->tx_nomem) {
		conn->tx_nomem = false;
		lx_sock_tx_kick(conn);
	}
	return false;
}

static bool zc_timed_out(struct lx_sock_peer *peer, uint64_t now)
{
	struct lx_sock_tx *tx;
	char reason[96];

	lx_list_for_each (tx, &peer->zc, zc_link) {
		if (now < tx->deadline_ns)
			return false;
		if (tx->conn->closing)
			continue;
		snprintf(reason, sizeof(reason), "zero-copy request %llu not acknowledged",
			 (unsigned long long)tx->head.cookie[0]);
		lx_sock_conn_fail(tx->conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT, reason);
		return true;
	}
	return false;
}

static void tick_peer(struct lx_sock_peer *peer, uint64_t now)
{
	struct lx_sock_conn *conn;

	if (lx_sock_peer_unused(peer, now)) {
		lx_sock_peer_free(peer);
		return;
	}
	keepalive(peer, now);
	lx_sock_hello_tick(peer, now);
	if (peer->first_until_ns)
		lx_sock_origin_review(peer, now);
	/* A failure closes several connections; leave the rest for the next tick. */
	lx_list_for_each (conn, &peer->conns, link) {
		if (conn_ended(conn, now))
			return;
	}
	if (zc_timed_out(peer, now))
		return;
	lx_sock_peer_expire_waiting(peer, now);
	lx_sock_connect_tick(peer, now);
}

static bool tick_net(struct lx_sock_net *net, uint64_t now)
{
	struct lx_sock_peer *peer, *next;
	bool busy = false;

	if (net->closing)
		return false;
	net->n_kept = 0;
	lx_list_for_each_safe (peer, next, &net->peers, link) {
		busy |= peer->dial == LX_SOCK_DIAL_WAIT;
		tick_peer(peer, now);
	}
	return busy;
}

/* What a peer did meanwhile still lies in our sockets: its silence begins now. */
static void hear_anew(struct lx_sock_peer *peer, uint64_t now)
{
	struct lx_sock_conn *conn;
	struct lx_sock_tx *tx;

	lx_list_for_each (conn, &peer->conns, link) {
		conn->tx_since_ns = now;
		if (conn->rx.since_ns)
			conn->rx.since_ns = now;
	}
	lx_list_for_each (tx, &peer->zc, zc_link) {
		if (tx->deadline_ns < now + AWAY_NS)
			tx->deadline_ns = now + AWAY_NS;
	}
}

static void note_absence(struct lx_sock_host *host, uint64_t now)
{
	int64_t away = -host->ticked_ns;
	struct lx_sock_peer *peer;
	struct lx_sock_net *net;

	host->ticked_ns = lx_clock_ns(CLOCK_BOOTTIME);
	away += host->ticked_ns;
	if (away <= (int64_t)AWAY_NS)
		return;
	lx_info("seconds=%lld reason=\"lnetxd did not run: it was stopped, the machine slept, "
		"or has no CPU for it\" action=\"the silence of peers counts from now\"",
		(long long)(away / LX_S_NS));
	lx_list_for_each (net, &host->nets, link) {
		lx_list_for_each (peer, &net->peers, link)
			hear_anew(peer, now);
	}
}

bool lx_sock_tick(struct lx_sock_host *host)
{
	uint64_t now = lx_sock_now();
	struct lx_sock_net *net;
	bool busy;

	note_absence(host, now);
	lx_sock_accept_tick(host);
	busy = tick_conns(host, now);
	lx_list_for_each (net, &host->nets, link)
		busy |= tick_net(net, now);
	return busy;
}
