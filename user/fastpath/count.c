/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reports what the kernel has forwarded to LNet's counters, and as a sign of life. Called with the
 * node lock held: on each tick, before counters are read, and when a connection ends.
 */
#include "priv.h"

/* Messages that the programs have counted since the last call. */
static struct lx_type_counts types_since(uint64_t counted[LX_LANE_TYPES],
					 const __u64 now[LX_LANE_TYPES])
{
	uint64_t new[LX_LANE_TYPES];

	for (int i = 0; i < LX_LANE_TYPES; i++) {
		uint64_t n = __atomic_load_n(&now[i], __ATOMIC_RELAXED);

		new[i] = n - counted[i];
		counted[i] = n;
	}
	return lx_fp_type_counts(new);
}

/* Whether a position has moved since the last call. */
static bool has_moved(uint64_t *counted, const __u64 *now)
{
	uint64_t pos = __atomic_load_n(now, __ATOMIC_RELAXED), before = *counted;

	*counted = pos;
	return pos != before;
}

/* Bytes received or acknowledged that our socket has not seen. */
static void note_life(struct lx_fp_conn *conn, struct lx_fastpath *fastpath)
{
	bool rx = conn->stream >= 0 && has_moved(&conn->counted.high,
						 &lx_fastpath_stream(fastpath, conn->stream)->high);
	bool tx = conn->lane >= 0 && has_moved(&conn->counted.una,
					       &lx_fastpath_lane(fastpath, conn->lane)->una);

	lx_sock_conn_note_life(conn->conn, rx, tx);
}

void lx_fp_count_conn(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	struct lx_fastpath *fastpath = fp->fastpath;
	struct lx_offloaded offloaded = { .stranger = lx_sock_conn_read_only(conn->conn) };
	const struct lx_stream *s;
	uint64_t payload;

	if (conn->stream < 0 && conn->lane < 0)
		return;
	if (conn->stream >= 0) {
		s = lx_fastpath_stream(fastpath, conn->stream);
		payload = __atomic_load_n(&s->lane_payload, __ATOMIC_RELAXED);
		offloaded.received = types_since(conn->counted.received, s->lane_types);
		offloaded.payload = payload - conn->counted.payload;
		offloaded.src_net = __atomic_load_n(&s->src_net, __ATOMIC_RELAXED);
		conn->counted.payload = payload;
	}
	if (conn->lane >= 0)
		offloaded.sent = types_since(conn->counted.sent,
					     lx_fastpath_lane(fastpath, conn->lane)->types);
	note_life(conn, fastpath);
	lx_lnd_offloaded(conn->facts.ni, &conn->facts.nid, &offloaded);
}

void lx_fp_count(void *state, const struct lx_ni *ni)
{
	struct lx_fp *fp = state;
	struct lx_fp_conn *conn;

	lx_list_for_each (conn, &fp->conns, link) {
		if (!conn->closing && (!ni || conn->facts.ni == ni))
			lx_fp_count_conn(fp, conn);
	}
}
