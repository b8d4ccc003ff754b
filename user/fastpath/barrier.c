/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Barriers: has what lane 0 sent to next hops arrived there?
 *
 * A barrier marks what all connections to a next hop had queued at one moment. It is down when the
 * next hop's TCP has acknowledged all of that. Each next hop has at most one at a time, so one that
 * does not read holds up only streams with messages for it. A barrier's number is that of the
 * tick at which it began.
 */
#include "priv.h"

/* Without memory, the next tick tries again. */
static void begin(struct lx_fp *fp, struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;

	if (lx_fp_conn_obtain_all(fp, peer))
		return;
	while ((conn = lx_fp_conn_next(peer, conn)))
		lx_sock_tx_mark(conn->conn, &conn->barrier);
	peer->barrier = fp->barrier;
}

static bool is_down(const struct lx_fp_neighbour *peer)
{
	struct lx_fp_conn *conn = NULL;

	while ((conn = lx_fp_conn_next(peer, conn))) {
		if (!lx_sock_tx_has_arrived(conn->conn, &conn->barrier))
			return false;
	}
	return true;
}

/* Returns whether it needs further ticks. */
static bool tick(struct lx_fp *fp, struct lx_fp_neighbour *peer)
{
	uint64_t wanted = peer->barrier_wanted > fp->barrier_wanted ? peer->barrier_wanted
								     : fp->barrier_wanted;

	if (peer->barrier != peer->barrier_down && is_down(peer))
		peer->barrier_down = peer->barrier;
	if (peer->barrier == peer->barrier_down && peer->barrier < wanted)
		begin(fp, peer);
	return peer->barrier_down < wanted;
}

void lx_fp_barrier_tick(struct lx_fp *fp)
{
	uint64_t down = ++fp->barrier;

	if (!fp->barriers)
		return;
	fp->barriers = false;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_PEERS) {
		struct lx_fp_neighbour *peer = fp->peer[i];

		fp->barriers |= tick(fp, peer);
		if (peer->barrier_down < down)
			down = peer->barrier_down;
	}
	fp->barrier_down = down;
}

/* ---- next hops ---------------------------------------------------------------------- */

void lx_fp_hops_add(struct lx_fp_hops *hops, const struct lx_fp_dest *dest)
{
	if (!dest) {
		hops->n = LX_FP_HOPS_ANY;
		return;
	}
	for (unsigned int i = 0; i < dest->to.n; i++) {
		unsigned int at = 0;

		while (at < hops->n && at < LX_FP_HOPS_MAX &&
		       hops->index[at] != dest->to.next_hop[i])
			at++;
		if (at < hops->n || hops->n == LX_FP_HOPS_ANY)
			continue;
		if (hops->n < LX_FP_HOPS_MAX)
			hops->index[at] = dest->to.next_hop[i];
		hops->n++; /* the last one too many: LX_FP_HOPS_ANY */
	}
}

static void want(uint64_t *wanted, uint64_t barrier)
{
	if (*wanted < barrier)
		*wanted = barrier;
}

bool lx_fp_hops_reached(struct lx_fp *fp, const struct lx_fp_hops *hops, uint64_t barrier)
{
	bool reached = true;

	if (hops->n == LX_FP_HOPS_ANY) {
		reached = fp->barrier_down >= barrier;
		want(&fp->barrier_wanted, barrier);
	}
	for (unsigned int i = 0; i < hops->n && hops->n != LX_FP_HOPS_ANY; i++) {
		struct lx_fp_neighbour *peer = fp->peer[hops->index[i]];

		if (!peer || peer->barrier_down >= barrier)
			continue;
		want(&peer->barrier_wanted, barrier);
		reached = false;
	}
	fp->barriers |= !reached;
	return reached;
}
