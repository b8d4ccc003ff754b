/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that are lost with a lane. Streams forget a message as soon as it is acknowledged to its
 * sender, which it also is when it has been stored, or has no lane any more. So those on a lane are
 * noted before.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/grow.h"
#include "priv.h"

static bool add(struct lx_fp_lost *lost, const struct lx_extent *extent,
		const struct lx_fp_conn *conn)
{
	struct lx_fp_lost_message *m = lx_grow(&lost->message, &lost->n, sizeof(*m));

	if (!m)
		return false;
	*m = (struct lx_fp_lost_message){
		.start = extent->lane_start,
		.end = extent->lane_start + extent->len,
		.payload = extent->len - conn->facts.overhead,
		.type = extent->type % LX_LANE_TYPES,
		.stream = conn->stream,
		.from = conn->facts.nid,
	};
	return true;
}

void lx_fp_lost_note(struct lx_fp *fp, struct lx_fp_lost *lost, unsigned int index)
{
	uint64_t next = lx_fp_lane_next(lx_fp_lane_at(fp, index)), from = lost->noted;

	lost->noted = next;
	if (from == next)
		return;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		struct lx_stream *s = lx_fp_stream_at(fp, i);
		uint32_t at = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
		uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);
		const struct lx_fp_conn *conn = fp->stream[i].conn;

		for (; conn && !conn->closing && (int32_t)(tail - at) > 0; at++) {
			struct lx_extent extent = *lx_extent_at(s, at);

			if (extent.lane == index && extent.lane_start >= from &&
			    !lx_extent_is_gone(s, at) && !add(lost, &extent, conn))
				return;
		}
	}
}

/* Reports those of the sender of @first that end after @forwarded. */
static void report(const struct lx_fp_conn *lane, struct lx_fp_lost *lost, size_t first,
		   uint64_t forwarded)
{
	struct lx_nid from = lost->message[first].from;
	uint64_t n[LX_LANE_TYPES] = { 0 }, all = 0, payload = 0;
	struct lx_type_counts counts;

	for (size_t i = first; i < lost->n; i++) {
		struct lx_fp_lost_message *m = &lost->message[i];

		if (m->type == LX_LANE_TYPES || !lx_nid_eq(&m->from, &from))
			continue;
		if (m->end > forwarded) {
			n[m->type]++;
			payload += m->payload;
			all++;
		}
		m->type = LX_LANE_TYPES;
	}
	if (!all)
		return;
	counts = lx_fp_type_counts(n);
	lx_lnd_lost(lane->facts.ni, &lane->facts.nid, &counts, payload,
		    lx_sock_conn_fault(lane->conn));
	lx_warn("nid=%s next_hop=%s messages=%" PRIu64 " reason=\"the connection that they were "
		"sent on has ended\" action=\"dropped; their senders time out or try again\"",
		lx_nid_str(&from), lx_nid_str(&lane->facts.nid), all);
}

void lx_fp_lost_report(const struct lx_fp_conn *lane, struct lx_fp_lost *lost, uint64_t forwarded)
{
	for (size_t i = 0; i < lost->n; i++) {
		if (lost->message[i].type != LX_LANE_TYPES)
			report(lane, lost, i, forwarded);
	}
}

void lx_fp_lost_fini(struct lx_fp_lost *lost)
{
	free(lost->message);
}
