/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel has carried, for the counters of LNet, and as a sign of life. Called with
 * the node lock held, with each tick, before counters are looked at, and when a connection
 * ends.
 */
#include "../../user/bpf/forward.h"
#include "fast_priv.h"

/* What the programs have counted, less what is told; now it is. */
static struct lx_type_counts types_since(uint64_t told[LX_LANE_TYPES],
					 const __u64 now[LX_LANE_TYPES])
{
	uint64_t new[LX_LANE_TYPES];

	for (int i = 0; i < LX_LANE_TYPES; i++) {
		uint64_t n = __atomic_load_n(&now[i], __ATOMIC_RELAXED);

		new[i] = n - told[i];
		told[i] = n;
	}
	return (struct lx_type_counts){ .ack = new[LX_MSG_ACK], .put = new[LX_MSG_PUT],
					.get = new[LX_MSG_GET], .reply = new[LX_MSG_REPLY] };
}

/* Whether a position has moved since it was told. */
static bool has_moved(uint64_t *told, const __u64 *now)
{
	uint64_t pos = __atomic_load_n(now, __ATOMIC_RELAXED), before = *told;

	*told = pos;
	return pos != before;
}

/* Bytes that came, or that the peer's TCP has acknowledged, without our socket. */
static void note_life(struct lx_sock_conn *conn, struct lx_forward *forward)
{
	bool rx = conn->stream >= 0 && has_moved(&conn->fast_told.high,
						 &lx_forward_stream(forward, conn->stream)->high);
	bool tx = conn->lane >= 0 && has_moved(&conn->fast_told.una,
					       &lx_forward_lane(forward, conn->lane)->una);
	uint64_t now = lx_sock_now();

	if (rx)
		conn->last_rx_ns = now;
	if (tx)
		conn->last_tx_ns = now;
	if (rx || tx)
		conn->peer->last_alive_ns = now;
}

void lx_sock_fast_count_conn(struct lx_sock_conn *conn)
{
	struct lx_forward *forward = conn->host->fast ? conn->host->fast->forward : NULL;
	struct lx_carried carried = { 0 };
	const struct lx_stream *s;
	uint64_t payload;

	if (!forward || !conn->peer || (conn->stream < 0 && conn->lane < 0))
		return;
	if (conn->stream >= 0) {
		s = lx_forward_stream(forward, conn->stream);
		payload = __atomic_load_n(&s->lane_payload, __ATOMIC_RELAXED);
		carried.received = types_since(conn->fast_told.received, s->lane_types);
		carried.payload = payload - conn->fast_told.payload;
		carried.src_net = __atomic_load_n(&s->src_net, __ATOMIC_RELAXED);
		conn->fast_told.payload = payload;
	}
	if (conn->lane >= 0)
		carried.sent = types_since(conn->fast_told.sent,
					   lx_forward_lane(forward, conn->lane)->types);
	note_life(conn, forward);
	lx_lnd_carried(conn->net->ni, &conn->peer->id.nid, &carried);
}

void lx_sock_fast_count(struct lx_sock_net *net)
{
	struct lx_sock_peer *peer;
	struct lx_sock_conn *conn;

	if (!net)
		return;
	lx_list_for_each (peer, &net->peers, link) {
		lx_list_for_each (conn, &peer->conns, link)
			lx_sock_fast_count_conn(conn);
	}
}
