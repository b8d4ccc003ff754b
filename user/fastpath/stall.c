/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stalled messages on lanes.
 *
 * On a shared lane, the messages of others wait behind an unfinished one: the next hop's TCP has
 * their bytes, but cannot deliver them. That is a pause, and most stalls end by themselves. So at
 * first the lane is stored, and the sender's further messages take no lane. Its connection is
 * closed only if nothing has come for LX_SENDER_SILENT_NS, or if others have waited for it for
 * LX_SENDER_MAX_NS in all; then the lane ends inside the message (cut.c), which costs more than a
 * pause. A message that a router forwards is that router's to end, so it gets longer. Missing bytes
 * are never made up.
 *
 * Only the sender's turn counts: the next hop has all that came, and the sender was told that it
 * may send the rest. If nobody waits, the side at fault is closed before a neighbour's sock_timeout
 * ends.
 *
 * Only bytes without a gap before them count as arrived, and only acknowledged ones as taken by the
 * next hop. Bytes behind a hole, and ACKs that bring nothing, are no progress.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "priv.h"

/* ---- whose turn it is ---------------------------------------------------------------- */

static void note_progress(struct lx_fp_run *run, const struct lx_lane *lane,
			  const struct lx_stream *s, uint64_t now)
{
	if (lane->una != run->una || !s) {
		run->una = lane->una;
		run->una_ns = now;
		run->packets = lane->packets;
		run->heard = s ? s->packets : 0;
	}
	run->arrived = s ? lx_stream_arrived(s) : 0;
	run->since_ns = now;
}

/*
 * The first message of a stream on a lane that ends behind stream position @pos, and that the next
 * hop does not have. false: there is none. What is read of an extent counts only if that is still
 * there afterwards (bpf/extent.h).
 */
static bool message_behind(struct lx_stream *s, const struct lx_lane *lane, unsigned int index,
			   uint64_t pos, struct lx_extent *ret_extent)
{
	uint32_t i = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
	uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);

	for (; (int32_t)(tail - i) > 0; i++) {
		*ret_extent = *lx_extent_at(s, i);
		if (ret_extent->lane == index && pos < ret_extent->start + ret_extent->len &&
		    lane->una < ret_extent->lane_start + ret_extent->len &&
		    !lx_extent_is_gone(s, i))
			return true;
	}
	return false;
}

/*
 * The sender has sent nothing since the next hop acknowledged something last, though that tells
 * what it lacks and the sender has room, or was not asked for as long as a sender takes to repeat.
 */
static bool does_not_repeat(const struct lx_fp_run *run, const struct lx_lane *lane,
			    const struct lx_stream *s, uint64_t now)
{
	bool told = lane->n_sack && s->advertised_edge >= lx_stream_arrived(s) + s->mss;

	return s->packets == run->heard &&
	       (told || (lane->packets == run->packets && now >= run->una_ns + LX_LANE_SLOW_NS));
}

/* A stream's first message on a lane, and whom that waits for. */
static enum lx_fp_turn whose_turn(struct lx_fp *fp, unsigned int stream, unsigned int index,
				  uint64_t now, struct lx_extent *ret_extent)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_stream *s = lx_fp_stream_at(fp, stream);
	uint64_t lacks, next, end, una = lane->una;

	if (!message_behind(s, lane, index, 0, ret_extent))
		return LX_FP_TURN_NONE;
	end = ret_extent->start + ret_extent->len;
	lacks = ret_extent->start;
	if (una > ret_extent->lane_start)
		lacks += una - ret_extent->lane_start;
	if (lacks < lx_stream_arrived(s))
		return lacks >= LX_READ(s->acked) && does_not_repeat(&fp->run[index], lane, s, now)
			       ? LX_FP_TURN_REPEAT
			       : LX_FP_TURN_NEXT_HOP;
	next = lacks + s->mss < end ? lacks + s->mss : end;
	if (lane->window_edge < ret_extent->lane_start + (next - ret_extent->start))
		return LX_FP_TURN_WINDOW;
	return s->advertised_edge < next || s->advertised_ack < ret_extent->start
		       ? LX_FP_TURN_NONE
		       : LX_FP_TURN_SENDER;
}

/* Segments go out, nothing is acknowledged, and that is not the sender's fault. */
static bool next_hop_is_silent(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	const struct lx_fp_run *run = &fp->run[index];
	uint32_t first = lx_lane_first_stream(lane);
	struct lx_extent extent;

	return lane->una == run->una && now >= run->una_ns + LX_SILENT_NS &&
	       lane->packets != run->packets &&
	       (first >= LX_STREAMS_MAX ||
		!lx_fp_is_senders(whose_turn(fp, first, index, now, &extent)));
}

/* ---- streams that end --------------------------------------------------------------- */

/* Who sent a message: the neighbour, or who is behind that router. */
static struct lx_nid source_of(const struct lx_fp_conn *conn, const struct lx_extent *extent)
{
	struct lx_nid nid;
	uint64_t nid4;

	if (conn->facts.version == LX_SOCK_V4) {
		memcpy(&nid, extent->nids + sizeof(nid), sizeof(nid));
		return nid;
	}
	memcpy(&nid4, extent->nids + sizeof(nid4), sizeof(nid4));
	lx_nid_from_u64(le64toh(nid4), &nid);
	return nid;
}

static bool is_forwarded(const struct lx_fp_conn *conn, const struct lx_extent *extent)
{
	struct lx_nid source = source_of(conn, extent);

	return !lx_nid_eq(&source, &conn->facts.nid);
}

/* The offence of one behind a router is for that router to punish. */
static void blame(struct lx_fp *fp, const struct lx_fp_sender *sender,
		  const struct lx_fp_conn *lane, uint64_t now)
{
	uint64_t pause_ns =
		sender->forwarded ? 0 : lx_fp_offend(fp, sender->addr, LX_STREAM_ASIDE_UNSAFE, now);

	lx_warn("nid=%s next_hop=%s reason=\"it left a message unfinished on the fast path\" "
		"action=\"a connection to the next hop has to end, after which it may close all of "
		"ours; no fast path for this sender for %llu s\"",
		lx_nid_str(&sender->nid), lx_nid_str(&lane->facts.nid),
		(unsigned long long)(pause_ns / LX_S_NS));
}

/* Whether the connection was closed by us, or because of what we did. */
static bool is_ours(const struct lx_fp *fp, const struct lx_fp_conn *conn, uint64_t now)
{
	int error = lx_sock_conn_error(conn->conn);
	const struct lx_fp_neighbour *peer = fp->peer[lx_fp_stream_of(conn)->peer];

	/* Which a Lustre node notices late. */
	if (peer && (peer->ending == LX_FP_END_CLOSE ||
		     (peer->reset_ns && now < peer->reset_ns + LX_SENDER_MAX_NS)))
		return true;
	return error == -ESHUTDOWN || error == -ECONNABORTED;
}

static void sender_of(const struct lx_fp_conn *conn, struct lx_fp_sender *ret_sender)
{
	const struct lx_stream *s = lx_fp_stream_of(conn);

	ret_sender->nid = conn->facts.nid;
	ret_sender->forwarded = s->flags & LX_STREAM_GATEWAY;
	memcpy(ret_sender->addr, s->key.remote, sizeof(ret_sender->addr));
}

/* The lane ends inside this message: no more of it than stream position @here will come. */
static void cut_at(struct lx_fp *fp, unsigned int index, const struct lx_extent *extent,
		   uint64_t here, uint64_t now)
{
	lx_fp_cut(fp, index, extent->lane_start,
		  extent->lane_start + (here > extent->start ? here - extent->start : 0), now);
}

/* If the stream has begun a message on this lane and not finished it, the lane ends inside it. */
static void lane_leave(struct lx_fp *fp, struct lx_fp_conn *conn, unsigned int index)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t now = lx_sock_now(), here = lx_stream_arrived(lx_fp_stream_of(conn));
	struct lx_fp_sender sender = { 0 };
	bool ours = is_ours(fp, conn, now);
	struct lx_extent extent;

	if (!ours)
		sender_of(conn, &sender);
	for (unsigned int i = 0; i < LX_LANE_RUNS; i++) {
		if (lane->run[i].stream == conn->stream)
			run->left_by[i] = sender;
	}
	/* Bytes lost behind us from now on are never retransmitted: lane_is_stuck(). */
	if (!message_behind(lx_fp_stream_of(conn), lane, index, here, &extent)) {
		lx_fp_lane_disown(lane, conn->stream);
		return;
	}
	if (!ours && !next_hop_is_silent(fp, index, now)) {
		sender.nid = source_of(conn, &extent);
		blame(fp, &sender, fp->lane[index], now);
	}
	cut_at(fp, index, &extent, here, now);
}

void lx_fp_stream_leave(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		if (fp->lane[i] && lx_lane_has(lx_fp_lane_at(fp, i), conn->stream))
			lane_leave(fp, conn, i);
	}
}

void lx_fp_lane_left(struct lx_fp *fp, unsigned int index)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_fp_sender *sender =
		&fp->run[index].left_by[LX_READ(lane->run_first) % LX_LANE_RUNS];
	uint64_t now = lx_sock_now();

	/* The next hop has later bytes, and waits for missing ones. */
	if (lane->n_sack && sender->nid.type)
		blame(fp, sender, fp->lane[index], now);
	*sender = (struct lx_fp_sender){ 0 };
	/* If it says nothing, it may have got all of it. */
	lx_fp_cut(fp, index, lane->n_sack ? lane->una : lx_fp_lane_next(lane), lane->una, now);
}

/* ---- messages that stand still ------------------------------------------------------- */

/* Sooner than neighbours with the same timeout act. */
static uint64_t deadline_ns(const struct lx_fp_conn *lane)
{
	return lx_sock_conn_timeout_ns(lane->conn) / 4 * 3;
}

static void stalled(struct lx_fp_conn *conn, const char *what, uint64_t ns)
{
	char reason[96];

	snprintf(reason, sizeof(reason), "%s for %llu s", what, (unsigned long long)(ns / LX_S_NS));
	lx_sock_conn_fail(conn->conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT, reason);
}

/* The sender's address gets no lanes for a while; its connection goes on. */
static void sender_is_slow(struct lx_fp *fp, unsigned int index, uint32_t stream, uint64_t now)
{
	struct lx_fp_conn *conn = fp->stream[stream].conn;
	struct lx_fp_sender sender;
	uint64_t pause_ns;

	if (lx_fp_stream_of(conn)->aside)
		return;
	sender_of(conn, &sender);
	pause_ns = lx_fp_offend(fp, sender.addr, LX_STREAM_ASIDE_SLOW, now);
	lx_info("nid=%s next_hop=%s reason=\"others had to wait for the rest of its message\" "
		"action=\"no fast path for this sender for %llu s\"",
		lx_nid_str(&sender.nid), lx_nid_str(&fp->lane[index]->facts.nid),
		(unsigned long long)(pause_ns / LX_S_NS));
}

/*
 * Others wait for the rest of this stream's message, which keeps coming: it is no loss that TCP
 * mends. Counts for how long they have over all its messages; true: too long.
 */
static bool waited_too_long(struct lx_fp_stream *stream, uint64_t since_ns, uint64_t now)
{
	uint64_t forgotten = (now - stream->waited_at_ns) / LX_WAITED_SHARE;

	stream->waited_ns -= forgotten < stream->waited_ns ? forgotten : stream->waited_ns;
	stream->waited_ns += since_ns;
	stream->waited_at_ns = now;
	return stream->waited_ns >= LX_LANE_SLOW_NS;
}

/* Ends the first message of a lane if others have waited too long for its sender. */
static void end_wait(struct lx_fp *fp, unsigned int index, uint32_t stream,
		     const struct lx_extent *extent)
{
	const struct lx_fp_run *run = &fp->run[index];
	struct lx_fp_conn *conn = fp->stream[stream].conn;
	bool forwarded = is_forwarded(conn, extent);

	/* Does a router live, while what it forwards stands still? */
	lx_fp_conn_ask(conn, forwarded && run->silent_ns >= LX_S_NS);
	if (run->silent_ns >= (forwarded ? LX_FORWARDED_NS : LX_SENDER_SILENT_NS))
		lx_sock_conn_fail(conn->conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT,
				  "others wait for the rest of a message, and nothing of it comes");
	else if (run->owed_ns >= (forwarded ? LX_FORWARDED_NS : LX_SENDER_MAX_NS))
		lx_sock_conn_fail(conn->conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT,
				  "others have waited too long for the rest of a message");
}

/* Counts for how long others have waited for the sender of a lane's first message, and acts. */
static void others_wait(struct lx_fp *fp, unsigned int index, uint32_t stream, enum lx_fp_turn turn,
			const struct lx_extent *extent, uint64_t now)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t since_ns = now - run->seen_ns;
	bool slow = false;

	if (since_ns > LX_LOOK_MAX_NS)
		since_ns = LX_LOOK_MAX_NS;
	if (run->seen_first != LX_READ(lane->run_first)) {
		run->seen_first = LX_READ(lane->run_first);
		run->owed_ns = run->silent_ns = 0;
		run->lossy = false;
	} else if (run->owes) {
		run->owed_ns += since_ns;
		run->silent_ns = run->since_ns > run->seen_ns ? 0 : run->silent_ns + since_ns;
		if (run->owed_ns > LX_WAITED_MIN_NS && turn == LX_FP_TURN_SENDER &&
		    now < run->since_ns + LX_SETTLE_NS)
			slow = waited_too_long(&fp->stream[stream], since_ns, now);
	}
	run->seen_ns = now;
	run->owes = lx_lane_is_shared(lane) && lx_fp_is_senders(turn);
	run->lossy |= turn == LX_FP_TURN_REPEAT;
	if (run->owes && !run->store && run->owed_ns >= LX_STORE_NS)
		lx_fp_store_begin(fp, index, "others wait for the rest of a message", now);
	if (!run->owes)
		return;
	/* Whose bytes get lost is not slow: TCP repeats them after hundreds of milliseconds. */
	if (!run->lossy && (slow || run->owed_ns >= LX_LANE_SLOW_NS))
		sender_is_slow(fp, index, stream, now);
	end_wait(fp, index, stream, extent);
}

/*
 * The first message of a lane has stalled for as long as a peer may, and nobody waits: closes the
 * side at fault.
 */
static void still(struct lx_fp *fp, unsigned int index, uint32_t stream, enum lx_fp_turn turn,
		  uint64_t limit)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);

	if (lx_lane_is_done(lane)) /* its runs go with the next ACK */
		return;
	if (turn == LX_FP_TURN_NEXT_HOP)
		stalled(fp->lane[index], "the peer has acknowledged nothing of a message", limit);
	else if (turn == LX_FP_TURN_WINDOW)
		stalled(fp->lane[index], "the peer has had no room for the rest of a message",
			limit);
	else
		stalled(fp->stream[stream].conn, "nothing received inside a message", limit);
}

/* The lane ends if its first message, of this stream, is unfinished. */
static void give_up(struct lx_fp *fp, unsigned int index, struct lx_stream *s, uint64_t now)
{
	uint64_t here = lx_stream_arrived(s);
	struct lx_extent extent;

	if (message_behind(s, lx_fp_lane_at(fp, index), index, here, &extent))
		cut_at(fp, index, &extent, here, now);
}

void lx_fp_lane_watch(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, index);
	uint32_t first = lx_lane_first_stream(lane);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t limit = deadline_ns(fp->lane[index]);
	struct lx_stream *s = first < LX_STREAMS_MAX ? lx_fp_stream_at(fp, first) : NULL;
	enum lx_fp_turn turn = LX_FP_TURN_NONE;
	struct lx_extent extent;
	bool queued;

	if (!s || lane->una != run->una || lx_stream_arrived(s) != run->arrived)
		note_progress(run, lane, s, now);
	if (s && lx_fp_stream_is_open(fp, first))
		turn = whose_turn(fp, first, index, now, &extent);
	queued = turn == LX_FP_TURN_NEXT_HOP &&
		 lx_stream_arrived(s) >= LX_READ(s->acked) + LX_AHEAD_MIN;
	lx_fp_limit_lane(lane, run, queued, now);
	lx_fp_limit_slow(fp, index, now);
	lx_fp_store_watch(fp, index, turn, now);
	others_wait(fp, index, first, turn, &extent, now);
	if (now >= run->since_ns + limit && lx_fp_stream_is_open(fp, first))
		still(fp, index, first, turn, limit);
	if (fp->peer[lane->next_hop]->give_up && lx_fp_stream_is_open(fp, first))
		give_up(fp, index, s, now);
}
