/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Next hops to which a lane has to end inside a message (cut.c). A Lustre node then closes all its
 * connections to us, with what is queued on them. So before the lane ends, nothing may be half on
 * its way to the next hop or from it:
 *
 *	NO ─ lx_fp_end_begin() ─▶ WAIT ──▶ DRAIN ──▶ HOLD ──▶ CLOSE ──▶ NO
 *
 *	WAIT   as long as the messages of this next hop were held the last time
 *	DRAIN  no message begins on a lane to it, or from it: lnetxd takes them whole. Those that
 *	       have begun are finished; after LX_HOLD_NS, lanes whose first message is not end, too
 *	HOLD   messages to it wait, until it has sent what it had queued for us
 *	CLOSE  the lanes get a FIN: a Lustre node does not look for a reset, and takes seconds to
 *	       notice one. Messages wait until its other connections have gone, too, and those that
 *	       are there have stayed for LX_ALONE_NS
 */
#include <errno.h>

#include "priv.h"

/* Whether a lane leads to this next hop, and has to end. */
static bool is_cut(const struct lx_fp *fp, unsigned int index, const struct lx_fp_neighbour *peer)
{
	const struct lx_fp_conn *conn = fp->lane[index];

	return conn && !conn->closing && fp->run[index].cut.since_ns &&
	       lx_fp_lane_at(fp, index)->next_hop == peer->index;
}

/* How many have to end, and how many of them may. */
static unsigned int count_cut(struct lx_fp *fp, const struct lx_fp_neighbour *peer,
			      unsigned int *ret_ready)
{
	unsigned int n = 0;

	*ret_ready = 0;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		if (!is_cut(fp, i, peer))
			continue;
		n++;
		*ret_ready += fp->run[i].cut.ready;
	}
	return n;
}

/* ---- DRAIN ----------------------------------------------------------------------- */

static void withdraw_lanes(struct lx_fp *fp, const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;

	while ((conn = lx_fp_conn_next(peer, conn))) {
		if (conn->stream >= 0)
			lx_fp_stream_wake(fp, conn->stream);
		if (conn->lane < 0 || conn->lane_state != LX_FP_LANE_GIVEN)
			continue;
		lx_fp_lane_withdraw(fp, conn, LX_LANE_DRAIN);
		lx_fp_lane_tell(fp, conn->lane);
	}
}

/* Whether what its next hops lack of a stream is only what lnetxd has. */
static bool is_finished(const struct lx_stream *s)
{
	return LX_READ(s->acked) >= LX_READ(s->parse_next) && !LX_READ(s->cookies_due);
}

/* Whether no message is under way on lanes to a next hop, or from it. */
static bool is_drained(struct lx_fp *fp, const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;

	while ((conn = lx_fp_conn_next(peer, conn))) {
		if (conn->lane >= 0 && lx_fp_is_lane(conn) && !is_cut(fp, conn->lane, peer) &&
		    lx_lane_busy(LX_READ(lx_fp_lane_at(fp, conn->lane)->word)))
			return false;
		if (conn->stream >= 0 && !is_finished(lx_fp_stream_of(conn)))
			return false;
	}
	return true;
}

/* ---- HOLD ------------------------------------------------------------------------ */

/* Changes with everything that is sent to a next hop, acknowledged or received. */
static uint64_t activity(struct lx_fp *fp, const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;
	struct lx_sock_conn_rx rx;
	uint64_t n = 0;

	while ((conn = lx_fp_conn_next(peer, conn))) {
		lx_sock_conn_rx(conn->conn, &rx);
		n += rx.consumed + lx_sock_conn_tx_bytes(conn->conn);
		if (conn->stream >= 0)
			n += lx_fp_stream_of(conn)->packets;
	}
	return n;
}

/* Whether a next hop has got what lnetxd has sent to it. */
static bool is_idle(struct lx_fp *fp, const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;

	while ((conn = lx_fp_conn_next(peer, conn))) {
		if (!(conn->lane >= 0 && is_cut(fp, conn->lane, peer)) &&
		    !lx_sock_conn_is_idle(conn->conn))
			return false;
	}
	return true;
}

static bool is_quiet(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	uint64_t n = activity(fp, peer);

	if (n != peer->activity || !is_idle(fp, peer) || !is_drained(fp, peer))
		peer->quiet_ns = now;
	peer->activity = n;
	return now >= peer->quiet_ns + LX_SETTLE_NS;
}

/* ---- CLOSE ----------------------------------------------------------------------- */

/* Where the next hop waits: what was sent behind that does not count (lx_lane_expects()). */
static void send_fins(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	peer->fin_ns = now;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		struct lx_lane *lane = lx_fp_lane_at(fp, i);

		if (!is_cut(fp, i, peer))
			continue;
		__atomic_store_n(&lane->sent, LX_READ(lane->una), __ATOMIC_RELEASE);
		lx_fastpath_poke_fin(fp->fastpath, i);
	}
}

static void reset(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	peer->reset_ns = now;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		if (is_cut(fp, i, peer))
			lx_sock_conn_close(fp->lane[i]->conn, -ECONNRESET,
					   LX_HSTATUS_REMOTE_DROPPED);
	}
}

/* Connections that were there before the lanes ended. */
static unsigned int count_old(const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;
	unsigned int n = 0;

	while ((conn = lx_fp_conn_next(peer, conn)))
		n += conn->facts.up_ns <= peer->since_ns;
	return n;
}

static bool is_closed(struct lx_fp *fp, struct lx_fp_neighbour *peer, unsigned int n_cut,
		      uint64_t now)
{
	unsigned int n = count_old(peer);

	if (n != peer->n_old) {
		peer->gone_ns = now;
		lx_sock_peer_dial(peer->peer);
	}
	peer->n_old = n;
	if (n_cut && now >= peer->since_ns + LX_CLOSE_NS)
		reset(fp, peer, now);
	else if (n_cut && now >= peer->fin_ns + LX_SETTLE_NS)
		send_fins(fp, peer, now);
	return !n_cut && now >= peer->gone_ns + LX_ALONE_NS;
}

bool lx_fp_conn_ended(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	const struct lx_stream *s = conn->stream >= 0 ? lx_fp_stream_of(conn) : NULL;

	if (!(s && LX_READ(s->high) < LX_READ(s->parse_next)) &&
	    !(conn->lane >= 0 && fp->run[conn->lane].cut.since_ns))
		return false;
	lx_sock_conn_close(conn->conn, -ECONNRESET, LX_HSTATUS_REMOTE_DROPPED);
	return true;
}

/* ---- life ------------------------------------------------------------------------ */

static void enter(struct lx_fp_neighbour *peer, enum lx_fp_ending ending, uint64_t now)
{
	peer->ending = ending;
	peer->since_ns = peer->quiet_ns = now;
	peer->give_up = false;
	if (ending == LX_FP_END_HOLD)
		peer->hold_ns = now;
	if (ending == LX_FP_END_HOLD || ending == LX_FP_END_NO)
		lx_sock_peer_hold(peer->peer, ending == LX_FP_END_HOLD);
}

void lx_fp_end_begin(struct lx_fp *fp, unsigned int next_hop, uint64_t now)
{
	struct lx_fp_neighbour *peer = fp->peer[next_hop];

	if (peer->ending)
		return;
	fp->n_ending++;
	enter(peer, LX_FP_END_WAIT, now);
}

void lx_fp_end_done(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	if (!peer->ending)
		return;
	fp->n_ending--;
	if (peer->ending >= LX_FP_END_HOLD)
		peer->rest_ns = now + (now - peer->hold_ns);
	enter(peer, LX_FP_END_NO, now);
}

static void tick(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	unsigned int n_ready, n = count_cut(fp, peer, &n_ready);

	if (!n && peer->ending < LX_FP_END_CLOSE) {
		lx_fp_end_done(fp, peer, now);
		return;
	}
	switch (peer->ending) {
	case LX_FP_END_NO:
		break;
	case LX_FP_END_WAIT:
		if (now >= peer->rest_ns)
			enter(peer, LX_FP_END_DRAIN, now);
		break;
	case LX_FP_END_DRAIN:
		withdraw_lanes(fp, peer);
		peer->give_up = now >= peer->since_ns + LX_HOLD_NS;
		if (n_ready == n &&
		    (is_drained(fp, peer) || now >= peer->since_ns + LX_HOLD_NS + LX_SILENT_NS))
			enter(peer, LX_FP_END_HOLD, now);
		break;
	case LX_FP_END_HOLD:
		if (!is_quiet(fp, peer, now) && now < peer->since_ns + LX_HOLD_NS)
			break;
		enter(peer, LX_FP_END_CLOSE, now);
		peer->n_old = count_old(peer);
		peer->gone_ns = now;
		send_fins(fp, peer, now);
		break;
	case LX_FP_END_CLOSE:
		if (is_closed(fp, peer, n, now))
			lx_fp_end_done(fp, peer, now);
		break;
	}
}

void lx_fp_ends_tick(struct lx_fp *fp, uint64_t now)
{
	if (!fp->n_ending)
		return;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_PEERS) {
		if (fp->peer[i]->ending)
			tick(fp, fp->peer[i], now);
	}
}
