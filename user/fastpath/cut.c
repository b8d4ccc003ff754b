/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lanes that end inside a message: its sender is gone before the rest came. The next hop cannot
 * deliver the bytes behind it, so the lane has to be reset. Before that,
 *
 * - it is stored, so what others have behind comes from their senders. Each of these messages that
 *   is there goes to the next hop on another connection. It cannot arrive twice: the next hop never
 *   gets all of the one in front;
 * - messages to the next hop wait, until none is on its way to it or from it, or for LX_HOLD_NS:
 *   as soon as one connection ends inside a message, socklnd closes all that come from that
 *   address, with what is queued there.
 *
 * After the reset they wait until the other connections have been closed, too.
 *
 *	 ────────┬─────────────┬──────────────┬──────────────────┬───────▶ lane position
 *	         │ M1     hole │ not sent any │ M2, M3 of others │
 *	         from          una            these go elsewhere
 */
#include <errno.h>

#include "priv.h"

static struct lx_fp_neighbour *neighbour_of(struct lx_fp *fp, unsigned int index)
{
	return fp->peer[lx_fastpath_lane(fp->fastpath, index)->next_hop];
}

/* ---- what is behind ------------------------------------------------------------ */

/* Sends it if it has been stored. Returns whether it has been dealt with. */
static bool send_elsewhere(struct lx_fp *fp, unsigned int index, const struct lx_fp_lost_message *m)
{
	const uint8_t *bytes = lx_fp_store_bytes(fp->run[index].store, m->start, m->end);

	return bytes && !lx_sock_peer_send_bytes(neighbour_of(fp, index)->peer,
						 lx_fastpath_lane(fp->fastpath, index)->version,
						 bytes, m->end - m->start);
}

/* Returns whether messages are still to come. */
static bool gather(struct lx_fp *fp, unsigned int index)
{
	struct lx_fp_lost *lost = lx_fp_store_lost(fp->run[index].store);
	unsigned int n = 0;
	bool more = false;

	for (size_t i = 0; i < lost->n; i++) {
		struct lx_fp_lost_message *m = &lost->message[i];

		if (m->type == LX_LANE_TYPES || m->start < fp->run[index].cut.from)
			continue;
		if (send_elsewhere(fp, index, m)) {
			m->type = LX_LANE_TYPES;
			n++;
		} else if (lx_fp_stream_is_open(fp, m->stream)) {
			more = true;
		}
	}
	if (n)
		lx_info("next_hop=%s lane=%u messages=%u reason=\"they are behind one that its "
			"sender will not finish\" action=\"sent on another connection\"",
			lx_nid_str(&fp->lane[index]->facts.nid), index, n);
	return more;
}

/* ---- the next hop's messages wait ------------------------------------------------- */

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
			n += lx_fastpath_stream(fp->fastpath, conn->stream)->packets;
		if (conn->lane >= 0)
			n += LX_READ(lx_fastpath_lane(fp->fastpath, conn->lane)->una);
	}
	return n;
}

/* Whether a next hop has got everything but what is on lanes that end. */
static bool is_drained(struct lx_fp *fp, const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;
	const struct lx_lane *lane;

	while ((conn = lx_fp_conn_next(peer, conn))) {
		lane = conn->lane >= 0 ? lx_fastpath_lane(fp->fastpath, conn->lane) : NULL;
		if (lane && fp->run[conn->lane].cut.since_ns)
			continue;
		if (lane && lx_fp_is_lane(conn) ? lx_lane_busy(LX_READ(lane->word))
						: !lx_sock_conn_is_idle(conn->conn))
			return false;
	}
	return true;
}

static void hold(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	struct lx_fp_conn *conn = NULL;

	peer->hold_ns = peer->quiet_ns = now;
	peer->reset_ns = 0;
	fp->n_held++;
	lx_sock_peer_hold(peer->peer, true);
	while ((conn = lx_fp_conn_next(peer, conn))) {
		if (conn->lane < 0 || conn->lane_state != LX_FP_LANE_GIVEN)
			continue;
		lx_fp_lane_withdraw(fp, conn, LX_LANE_DRAIN);
		lx_fp_lane_tell(fp, conn->lane);
	}
}

/* Whether lanes of a next hop may be reset. */
static bool is_quiet(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	uint64_t n = activity(fp, peer);

	if (n != peer->activity || !is_drained(fp, peer))
		peer->quiet_ns = now;
	peer->activity = n;
	return now >= peer->quiet_ns + LX_QUIET_NS || now >= peer->hold_ns + LX_HOLD_NS;
}

/* ---- reset -------------------------------------------------------------------------- */

/* Where the next hop waits: what was sent behind that does not count (lx_lane_expects()). */
static void reset(struct lx_fp *fp, unsigned int index)
{
	struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);

	__atomic_store_n(&lane->sent, LX_READ(lane->una), __ATOMIC_RELEASE);
	lx_sock_conn_close(fp->lane[index]->conn, -ECONNRESET, LX_HSTATUS_REMOTE_DROPPED);
}

/* Whether a lane leads to a next hop, and ends or may have to. */
static bool is_ending(struct lx_fp *fp, unsigned int index, const struct lx_fp_neighbour *peer)
{
	const struct lx_fp_conn *conn = fp->lane[index];

	return conn && !conn->closing && neighbour_of(fp, index) == peer &&
	       (fp->run[index].cut.since_ns || conn->left_ns);
}

/* Resets the lanes of a next hop that end, if all of them are ready. */
static void reset_all(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		if (is_ending(fp, i, peer) && !fp->run[i].cut.ready)
			return;
	}
	if (!peer->hold_ns)
		hold(fp, peer, now);
	if (peer->reset_ns || !is_quiet(fp, peer, now))
		return;
	peer->reset_ns = now;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		if (is_ending(fp, i, peer))
			reset(fp, i);
	}
}

/* Whether a connection is left that was there when the lane was reset. */
static bool has_old(const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;

	while ((conn = lx_fp_conn_next(peer, conn))) {
		if (conn->facts.up_ns <= peer->reset_ns)
			return true;
	}
	return false;
}

void lx_fp_release(struct lx_fp *fp, struct lx_fp_neighbour *peer)
{
	if (!peer->hold_ns)
		return;
	peer->hold_ns = 0;
	fp->n_held--;
	lx_sock_peer_hold(peer->peer, false);
}

void lx_fp_holds_tick(struct lx_fp *fp, uint64_t now)
{
	if (!fp->n_held)
		return;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_PEERS) {
		struct lx_fp_neighbour *peer = fp->peer[i];
		uint64_t until = peer->reset_ns ? peer->reset_ns + LX_CLOSE_NS
						: peer->hold_ns + 2 * LX_HOLD_NS;

		if (peer->hold_ns && (now >= until || (peer->reset_ns && !has_old(peer))))
			lx_fp_release(fp, peer);
	}
}

/* ---- life -------------------------------------------------------------------------------- */

void lx_fp_cut(struct lx_fp *fp, unsigned int index, uint64_t from, uint64_t hole, uint64_t now)
{
	struct lx_fp_run *run = &fp->run[index];

	if (fp->lane[index]->closing || (run->cut.since_ns && run->cut.hole <= hole))
		return;
	if (!run->store &&
	    lx_fp_store_begin(fp, index, "a message on it will not be finished", now)) {
		reset(fp, index);
		return;
	}
	if (!run->cut.since_ns)
		run->cut.since_ns = now;
	run->cut.from = from;
	run->cut.hole = hole;
	lx_fp_store_limit(run->store, from);
}

bool lx_fp_cut_tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_run *run = &fp->run[index];
	struct lx_fp_cut *cut = &run->cut;
	uint64_t una = LX_READ(lx_fastpath_lane(fp->fastpath, index)->una);

	if (!cut->since_ns)
		return false;
	if (una > cut->hole) { /* a program was just at it: the message has arrived */
		*cut = (struct lx_fp_cut){ 0 };
		lx_fp_store_limit(run->store, UINT64_MAX);
		return false;
	}
	if (una < cut->from && una < cut->hole) /* what is in front has not arrived */
		return false;
	lx_fp_store_watch(fp, index, LX_FP_TURN_NONE, now);
	if (now < cut->since_ns + LX_SETTLE_NS)
		return true;
	if (!gather(fp, index) || now >= cut->since_ns + LX_GATHER_NS)
		cut->ready = true;
	if (cut->ready)
		reset_all(fp, neighbour_of(fp, index), now);
	return true;
}
