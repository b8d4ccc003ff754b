/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages on lanes that do not go on, and senders that are not trusted with lanes.
 *
 * Half a message on a lane costs all users of the next hop: socklnd gives up all its
 * connections to an address when one of them ends, or stands still for its timeout, inside
 * a message. So one that does not go on is ended before that, at the side whose fault it
 * is; and a sender that left a message unfinished has no lanes for a while, for longer each
 * time. What is missing of a message is never made up.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "priv.h"

#define PAUSE_MIN_NS (60 * LX_SOCK_SECOND)
#define PAUSE_MAX_NS (3600 * LX_SOCK_SECOND)
/* A next hop that has not answered for so long is no witness against a sender. */
#define SILENT_NS LX_SOCK_SECOND

/* ---- offenders ------------------------------------------------------------------ */

static struct lx_fp_offender *offender_lookup(struct lx_fp *fp, const uint8_t addr[16])
{
	for (unsigned int i = 0; i < LX_FP_OFFENDERS; i++) {
		if (fp->offender[i].pause_ns && !memcmp(fp->offender[i].addr, addr, 16))
			return &fp->offender[i];
	}
	return NULL;
}

/* In the place of the one whose time was over first. */
static struct lx_fp_offender *offender_new(struct lx_fp *fp, const uint8_t addr[16])
{
	struct lx_fp_offender *o = &fp->offender[0];

	for (unsigned int i = 1; i < LX_FP_OFFENDERS; i++) {
		if (fp->offender[i].until_ns < o->until_ns)
			o = &fp->offender[i];
	}
	*o = (struct lx_fp_offender){ 0 };
	memcpy(o->addr, addr, sizeof(o->addr));
	return o;
}

uint64_t lx_fp_offender_until(struct lx_fp *fp, const uint8_t addr[16])
{
	const struct lx_fp_offender *o = offender_lookup(fp, addr);

	return o ? o->until_ns : 0;
}

/* Forgotten if there is none for as long again. Returns how long it has no lanes now. */
static uint64_t offend(struct lx_fp *fp, const uint8_t addr[16], uint64_t now)
{
	struct lx_fp_offender *o = offender_lookup(fp, addr);

	if (!o)
		o = offender_new(fp, addr);
	if (now >= o->until_ns + o->pause_ns)
		o->pause_ns = PAUSE_MIN_NS;
	else if (now >= o->until_ns) /* else another lane of the same time */
		o->pause_ns = 2 * o->pause_ns < PAUSE_MAX_NS ? 2 * o->pause_ns : PAUSE_MAX_NS;
	o->until_ns = now + o->pause_ns;
	return o->pause_ns;
}

/* All its streams, whatever NIDs it claims: those that come later as well (stream.c). */
static void keep_off_lanes(struct lx_fp *fp, const uint8_t addr[16], uint64_t until)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		struct lx_stream *s = lx_fastpath_stream(fp->fastpath, i);

		if (!fp->stream[i].conn || memcmp(s->key.remote, addr, 16))
			continue;
		lx_fp_stream_aside(&fp->stream[i], s, LX_STREAM_ASIDE_UNSAFE, until);
		lx_fp_stream_wake(fp, i);
	}
}

static void blame(struct lx_fp *fp, const struct lx_fp_sender *sender,
		  const struct lx_fp_conn *lane, uint64_t now)
{
	uint64_t pause_ns = offend(fp, sender->addr, now);

	keep_off_lanes(fp, sender->addr, now + pause_ns);
	lx_warn("nid=%s next_hop=%s reason=\"it left a message unfinished on the fast path\" "
		"action=\"its connection to the next hop is reset, which may close all of ours; "
		"no fast path for this sender for %llu s\"",
		lx_nid_str(&sender->nid), lx_nid_str(&lane->facts.nid),
		(unsigned long long)(pause_ns / LX_SOCK_SECOND));
}

/* ---- progress ---------------------------------------------------------------------- */

static void note_progress(struct lx_fp_run *run, const struct lx_lane *lane, uint64_t now)
{
	run->una = lane->una;
	run->sent = lane->sent;
	run->packets = lane->packets;
	run->acks = lane->acks;
	run->since_ns = now;
}

/* Segments go to it, and nothing comes back. */
static bool next_hop_is_silent(const struct lx_fp_run *run, const struct lx_lane *lane,
			       uint64_t now)
{
	return now >= run->since_ns + SILENT_NS && lane->packets != run->packets &&
	       lane->acks == run->acks;
}

/* ---- credits ------------------------------------------------------------------------- */

/* As the programs do (bpf/lane.h). */
static void credit_give(struct lx_credit *credit)
{
	__atomic_add_fetch(&credit->now, 1, __ATOMIC_ACQ_REL);
	__atomic_sub_fetch(&credit->lanes, 1, __ATOMIC_ACQ_REL);
}

/* Credits of a run that will not end by itself. */
void lx_fp_lane_drop_credits(struct lx_fp *fp, struct lx_lane *lane)
{
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, lx_fp_lane_owner(lane));
	struct lx_fp_peer *from = s ? lx_fastpath_peer(fp->fastpath, s->peer) : NULL;
	uint64_t busy = (uint64_t)LX_LANE_BUSY << 32;

	if (!(__atomic_fetch_and(&lane->word, ~busy, __ATOMIC_ACQ_REL) & busy))
		return;
	credit_give(&lx_fastpath_peer(fp->fastpath, lane->next_hop)->tx);
	if (from)
		credit_give(&from->rtr);
}

/* ---- streams that end --------------------------------------------------------------- */

/* What we end ourselves is nobody's fault. */
static bool is_ours(int error)
{
	return error == -ESHUTDOWN || error == -ECONNABORTED;
}

static void sender_of(const struct lx_fp_conn *conn, struct lx_fp_sender *ret_sender)
{
	ret_sender->nid = conn->facts.nid;
	memcpy(ret_sender->addr, lx_fp_stream_of(conn)->key.remote, sizeof(ret_sender->addr));
}

/*
 * Returns whether the lane can be used again when what was sent on it is acknowledged; false: it
 * ends in the middle of a message.
 */
static bool lane_end_run(struct lx_fp *fp, struct lx_lane *lane)
{
	if ((uint32_t)lane->word != (uint32_t)lane->sent)
		return false;
	lx_fp_lane_drop_credits(fp, lane);
	__atomic_fetch_or(&lane->word, (uint64_t)LX_LANE_OWNER << 32, __ATOMIC_ACQ_REL);
	return true;
}

/* What the stream has begun on this lane and not ended will never be: the next hop must drop it. */
static void lane_leave(struct lx_fp *fp, struct lx_fp_conn *conn, unsigned int index)
{
	struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t now = lx_sock_now();

	sender_of(conn, &run->left_by);
	if (lane_end_run(fp, lane))
		return;
	if (!is_ours(lx_sock_conn_error(conn->conn)) && !next_hop_is_silent(run, lane, now))
		blame(fp, &run->left_by, fp->lane[index], now);
	lx_sock_conn_close(fp->lane[index]->conn, -ECONNRESET, LX_HSTATUS_REMOTE_DROPPED);
}

void lx_fp_stream_leave(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, i);

		if (fp->lane[i] && lx_fp_lane_is_busy(lane) &&
		    lx_fp_lane_owner(lane) == (uint32_t)conn->stream)
			lane_leave(fp, conn, i);
	}
}

void lx_fp_lane_left(struct lx_fp *fp, unsigned int index)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);

	/* It has what came later, and waits for the rest. */
	if (lane->n_sack)
		blame(fp, &fp->run[index].left_by, fp->lane[index], lx_sock_now());
}

/* ---- messages that stand still ------------------------------------------------------- */

/* Sooner than neighbours with the same timeout would. */
static uint64_t deadline_ns(const struct lx_fp_conn *lane)
{
	return lx_sock_conn_timeout_ns(lane->conn) / 4 * 3;
}

static void stalled(struct lx_fp_conn *conn, const char *what, uint64_t ns)
{
	char reason[96];

	snprintf(reason, sizeof(reason), "%s for %llu s", what,
		 (unsigned long long)(ns / LX_SOCK_SECOND));
	lx_sock_conn_fail(conn->conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT, reason);
}

void lx_fp_lane_watch(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_fp_run *run = &fp->run[index];
	uint32_t owner = lx_fp_lane_owner(lane);
	uint64_t limit = deadline_ns(fp->lane[index]);

	if (!lx_fp_lane_is_busy(lane) || owner >= LX_STREAMS_MAX ||
	    lane->una != run->una || lane->sent != run->sent) {
		note_progress(run, lane, now);
		return;
	}
	if (now < run->since_ns + limit)
		return;
	if (next_hop_is_silent(run, lane, now))
		stalled(fp->lane[index], "the peer has acknowledged nothing of a message", limit);
	else if (lx_fp_stream_is_open(fp, owner))
		stalled(fp->stream[owner].conn, "nothing received inside a message", limit);
}
