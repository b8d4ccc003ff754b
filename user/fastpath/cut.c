/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lanes that have to end inside a message: its sender is gone before the rest came. The next hop
 * cannot deliver the bytes behind it, so its connection has to end (ending.c). Before that, the
 * lane is stored, so what others have behind comes from their senders. Each of these messages that
 * is there goes to the next hop on another connection. It cannot arrive twice: the next hop never
 * gets all of the one in front, and delivers in order; so does a router of ours, which frames no
 * message of another router behind a hole (bpf/parse.h).
 *
 *	 ────────┬─────────────┬──────────────┬──────────────────┬───────▶ lane position
 *	         │ M1     hole │ not sent any │ M2, M3 of others │
 *	         from          una            these go elsewhere
 */
#include "priv.h"

/* Sends it if it has been stored. Returns whether it has been dealt with. */
static bool send_elsewhere(struct lx_fp *fp, unsigned int index, const struct lx_fp_lost_message *m)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	const uint8_t *bytes = lx_fp_store_bytes(fp->run[index].store, m->start, m->end);

	return bytes && !lx_sock_peer_send_bytes(fp->peer[lane->next_hop]->peer, lane->version,
						 bytes, m->end - m->start);
}

/* Returns whether messages are still to come. */
static bool gather(struct lx_fp *fp, unsigned int index)
{
	struct lx_fp_lost *lost = lx_fp_store_lost(fp->run[index].store);
	const struct lx_fp_cut *cut = &fp->run[index].cut;
	unsigned int n = 0;
	bool more = false;

	for (size_t i = 0; i < lost->n; i++) {
		struct lx_fp_lost_message *m = &lost->message[i];

		if (m->type == LX_LANE_TYPES || m->start < cut->from ||
		    (m->start <= cut->hole && cut->hole < m->end))
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

/* Without memory, what is behind is lost with the lane. */
static void store(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	if (lx_fp_store_begin(fp, index, "a message on it will not be finished", now))
		lx_fp_lane_withdraw(fp, fp->lane[index], LX_LANE_DRAIN);
	else
		fp->run[index].cut.since_ns = now;
}

void lx_fp_cut(struct lx_fp *fp, unsigned int index, uint64_t from, uint64_t hole, uint64_t now)
{
	struct lx_fp_run *run = &fp->run[index];

	if (fp->lane[index]->closing || (run->cut.since_ns && run->cut.hole <= hole))
		return;
	if (!run->cut.since_ns)
		run->cut.since_ns = now;
	run->cut.from = from;
	run->cut.hole = hole;
	if (run->store)
		lx_fp_store_limit(run->store, from);
	else
		store(fp, index, now);
	lx_fp_end_begin(fp, lx_fp_lane_at(fp, index)->next_hop, now);
}

bool lx_fp_cut_tick(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_fp_run *run = &fp->run[index];
	struct lx_fp_cut *cut = &run->cut;
	uint64_t una = LX_READ(lx_fp_lane_at(fp, index)->una);

	if (!cut->since_ns)
		return false;
	/* A program was just at it: the message has arrived. Once ready, una counts a FIN, too. */
	if (una > cut->hole && !cut->ready) {
		*cut = (struct lx_fp_cut){ 0 };
		if (run->store)
			lx_fp_store_limit(run->store, UINT64_MAX);
		return false;
	}
	if (una < cut->from && una < cut->hole) /* what is in front has not arrived */
		return false;
	if (run->store)
		lx_fp_store_watch(fp, index, LX_FP_TURN_NONE, now);
	else if (!cut->ready)
		store(fp, index, now);
	if (now < cut->since_ns + LX_SETTLE_NS)
		return true;
	if (!run->store || !gather(fp, index) || now >= cut->since_ns + LX_SILENT_NS)
		cut->ready = true;
	return true;
}
