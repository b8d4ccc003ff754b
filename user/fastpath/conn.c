/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Per-connection state: allocated on first use, freed when the connection closes; withdrawing
 * lanes.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include "priv.h"

struct lx_fp_conn *lx_fp_conn_obtain(struct lx_fp *fp, struct lx_sock_conn *sock_conn)
{
	struct lx_fp_conn *conn = lx_sock_conn_state(sock_conn);

	if (conn)
		return conn;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->fp = fp;
	conn->conn = sock_conn;
	conn->stream = conn->lane = -1;
	lx_sock_conn_facts(sock_conn, &conn->facts);
	lx_list_append(&fp->conns, &conn->link);
	lx_sock_conn_set_state(sock_conn, conn);
	return conn;
}

void lx_fp_conn_past(struct lx_fp_conn *conn, unsigned int ifindex)
{
	char reason[IFNAMSIZ + 100], ifname[IFNAMSIZ] = "?";
	uint64_t now = lx_sock_now();

	if (!conn || conn->closing)
		return;
	if (now >= conn->past_last_ns + 2 * LX_PAST_NS)
		conn->past_ns = now;
	conn->past_last_ns = now;
	if (lx_fastpath_is_attached(conn->fp->fastpath, ifindex) &&
	    now < conn->past_ns + LX_PAST_NS)
		return;
	lx_netif_name(ifindex, ifname);
	snprintf(reason, sizeof(reason),
		 "its packets come by interface %s, past the programs of the fast path", ifname);
	lx_sock_conn_fail(conn->conn, -ECONNABORTED, LX_HSTATUS_LOCAL_ERROR, reason);
}

bool lx_fp_conn_is_seen(struct lx_fp_conn *conn, const struct lx_flow_key *key,
			unsigned int *ret_ifindex)
{
	struct lx_fastpath *fastpath = conn->fp->fastpath;
	uint64_t now = lx_sock_now();

	if (!lx_fastpath_is_seen(fastpath, key, ret_ifindex))
		return false;
	if (now >= conn->route_ns) {
		conn->route_ns = now + LX_S_NS;
		conn->has_route = lx_fastpath_leads_to(fastpath, key, *ret_ifindex);
	}
	return conn->has_route;
}

void lx_fp_conn_ask(struct lx_fp_conn *conn, bool on)
{
	if (conn->asked == on)
		return;
	conn->asked = on;
	lx_sock_conn_probe(conn->conn, on);
}

int lx_fp_conn_filter(struct lx_fp_conn *conn, bool on)
{
	int r = 0;

	if (conn->filtered != on)
		r = lx_fastpath_filter(conn->fp->fastpath, conn->facts.fd, on);
	if (!r)
		conn->filtered = on;
	return r;
}

int lx_fp_flow_leave(struct lx_fp_conn *conn)
{
	struct lx_fastpath *fastpath = conn->fp->fastpath;

	if (conn->shift)
		return lx_fastpath_flow_add(fastpath, &conn->key, LX_FLOW_SHIFT, conn->shift);
	lx_fp_conn_filter(conn, false);
	lx_fastpath_flow_del(fastpath, &conn->key);
	return 0;
}

void lx_fp_conn_free(struct lx_fp_conn *conn)
{
	lx_sock_conn_reserve(conn->conn, false);
	lx_fp_conn_ask(conn, false);
	lx_sock_conn_set_state(conn->conn, NULL);
	lx_list_del(&conn->link);
	free(conn);
}

struct lx_fp_conn *lx_fp_conn_next(const struct lx_fp_neighbour *peer,
				   const struct lx_fp_conn *conn)
{
	struct lx_sock_conn *next = lx_sock_peer_conn(peer->peer, conn ? conn->conn : NULL);

	while (next && !lx_sock_conn_state(next))
		next = lx_sock_peer_conn(peer->peer, next);
	return next ? lx_sock_conn_state(next) : NULL;
}

int lx_fp_conn_obtain_all(struct lx_fp *fp, const struct lx_fp_neighbour *peer)
{
	struct lx_sock_conn *next = NULL;

	while ((next = lx_sock_peer_conn(peer->peer, next))) {
		if (!lx_fp_conn_obtain(fp, next))
			return -ENOMEM;
	}
	return 0;
}

void lx_fp_peer_lane_del(struct lx_fp_peer *fp_peer, unsigned int index)
{
	for (unsigned int i = 0; i < fp_peer->n_lanes; i++) {
		if (fp_peer->lane[i] != index)
			continue;
		fp_peer->lane[i] = fp_peer->lane[fp_peer->n_lanes - 1];
		__atomic_store_n(&fp_peer->n_lanes, fp_peer->n_lanes - 1, __ATOMIC_RELEASE);
		return;
	}
}

void lx_fp_lane_withdraw(struct lx_fp *fp, struct lx_fp_conn *conn, enum lx_lane_state state)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, conn->lane);

	lx_fp_peer_lane_del(lx_fastpath_peer(fp->fastpath, lane->next_hop), conn->lane);
	__atomic_store_n(&lane->state, state, __ATOMIC_SEQ_CST);
	conn->lane_state = LX_FP_LANE_WANTED;
}
