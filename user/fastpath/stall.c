/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stalled messages on lanes, and senders that are not trusted with lanes.
 *
 * socklnd closes all its connections to an address when one of them ends, or stalls for its
 * timeout, inside a message. So a stalled message is ended before that, by closing the connections
 * of the side at fault, and the lane is cut (cut.c). A sender that left a message unfinished gets
 * no lanes for a while, longer each time. Missing bytes are never made up.
 *
 * On a shared lane, the messages of others wait behind an unfinished one: the next hop's TCP has
 * their bytes, but cannot deliver them. The time that they wait for its sender counts, whatever
 * trickles in meanwhile: first the lane is stored, then the sender gets no more lanes, then its
 * connection is closed.
 *
 * Only bytes without a gap before them count as arrived, and only acknowledged ones as taken by the
 * next hop. Bytes behind a hole, and ACKs that bring nothing, are no progress.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "priv.h"

/* ---- offenders ------------------------------------------------------------------ */

static struct lx_fp_offender *offender_lookup(struct lx_fp *fp, const uint8_t addr[16])
{
	for (unsigned int i = 0; i < LX_OFFENDERS; i++) {
		if (fp->offender[i].pause_ns && !memcmp(fp->offender[i].addr, addr, 16))
			return &fp->offender[i];
	}
	return NULL;
}

/* Replaces the one whose pause ended first. */
static struct lx_fp_offender *offender_new(struct lx_fp *fp, const uint8_t addr[16])
{
	struct lx_fp_offender *o = &fp->offender[0];

	for (unsigned int i = 1; i < LX_OFFENDERS; i++) {
		if (fp->offender[i].until_ns < o->until_ns)
			o = &fp->offender[i];
	}
	*o = (struct lx_fp_offender){ 0 };
	memcpy(o->addr, addr, sizeof(o->addr));
	return o;
}

const struct lx_fp_offender *lx_fp_offender(struct lx_fp *fp, const uint8_t addr[16], uint64_t now)
{
	const struct lx_fp_offender *o = offender_lookup(fp, addr);

	return o && now < o->until_ns ? o : NULL;
}

/* All streams of an address, whatever NIDs it claims; stream.c does so for later ones. */
static void keep_off_lanes(struct lx_fp *fp, const struct lx_fp_offender *o)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		struct lx_stream *s = lx_fastpath_stream(fp->fastpath, i);

		if (!fp->stream[i].conn || memcmp(s->key.remote, o->addr, 16))
			continue;
		lx_fp_stream_aside(&fp->stream[i], s, o->why, o->until_ns);
		lx_fp_stream_wake(fp, i);
	}
}

/* An offence is forgotten after as long again without another. Returns the new pause. */
static uint64_t offend(struct lx_fp *fp, const uint8_t addr[16], enum lx_stream_aside why,
		       uint64_t now)
{
	struct lx_fp_offender *o = offender_lookup(fp, addr);
	uint64_t min_ns = why == LX_STREAM_ASIDE_UNSAFE ? LX_UNSAFE_NS : LX_SLOW_NS;

	if (!o)
		o = offender_new(fp, addr);
	if (now >= o->until_ns || why == LX_STREAM_ASIDE_UNSAFE)
		o->why = why;
	if (now >= o->until_ns + o->pause_ns)
		o->pause_ns = 0;
	if (now >= o->until_ns) /* else another lane of the same incident */
		o->pause_ns = 2 * o->pause_ns < LX_PAUSE_MAX_NS ? 2 * o->pause_ns : LX_PAUSE_MAX_NS;
	if (o->pause_ns < min_ns)
		o->pause_ns = min_ns;
	o->until_ns = now + o->pause_ns;
	keep_off_lanes(fp, o);
	return o->pause_ns;
}

static void blame(struct lx_fp *fp, const struct lx_fp_sender *sender,
		  const struct lx_fp_conn *lane, uint64_t now)
{
	uint64_t pause_ns = offend(fp, sender->addr, LX_STREAM_ASIDE_UNSAFE, now);

	lx_warn("nid=%s next_hop=%s reason=\"it left a message unfinished on the fast path\" "
		"action=\"its connection to the next hop is reset, which may close all of ours; "
		"no fast path for this sender for %llu s\"",
		lx_nid_str(&sender->nid), lx_nid_str(&lane->facts.nid),
		(unsigned long long)(pause_ns / LX_SOCK_SECOND));
}

/* ---- progress ---------------------------------------------------------------------- */

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
 * The first message on a lane that the next hop does not have, and of which bytes have not been
 * here yet. false: there is none. Bytes read from an extent count only if that is still there
 * afterwards (bpf/extent.h).
 */
static bool unfinished(struct lx_stream *s, const struct lx_lane *lane, unsigned int index,
		       struct lx_extent *ret_extent)
{
	uint32_t i = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
	uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);
	uint64_t here = lx_stream_arrived(s);

	for (; (int32_t)(tail - i) > 0; i++) {
		*ret_extent = *lx_extent_at(s, i);
		if (ret_extent->lane == index && here < ret_extent->start + ret_extent->len &&
		    lane->una < ret_extent->lane_start + ret_extent->len &&
		    !lx_extent_is_gone(s, i))
			return true;
	}
	return false;
}

/* The next hop misses bytes that have been here, and the sender does not repeat them. */
static bool sender_is_gone(const struct lx_fp_run *run, const struct lx_lane *lane,
			   const struct lx_stream *s, uint64_t now)
{
	return lane->n_sack && lane->una == run->una && s->packets == run->heard &&
	       now >= run->una_ns + LX_LANE_SLOW_NS;
}

/* The next hop also lacks the rest if the sender is gone. */
static enum lx_fp_turn whose_turn(struct lx_fp *fp, unsigned int stream, unsigned int index,
				  uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, stream);
	uint64_t pos = lx_stream_arrived(s), here, next;
	struct lx_extent extent;

	if (sender_is_gone(&fp->run[index], lane, s, now))
		return LX_FP_TURN_SENDER;
	if (!unfinished(s, lane, index, &extent))
		return LX_FP_TURN_NONE;
	here = extent.lane_start + (pos > extent.start ? pos - extent.start : 0);
	next = here + s->mss;
	if (next > extent.lane_start + extent.len)
		next = extent.lane_start + extent.len;
	if (lane->una < here)
		return LX_FP_TURN_NEXT_HOP;
	return lane->window_edge < next ? LX_FP_TURN_WINDOW : LX_FP_TURN_SENDER;
}

/* Segments go out, nothing is acknowledged, and that is not the sender's fault. */
static bool next_hop_is_silent(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	const struct lx_fp_run *run = &fp->run[index];
	uint32_t first = lx_lane_first_stream(lane);

	return lane->una == run->una && now >= run->una_ns + LX_SILENT_NS &&
	       lane->packets != run->packets &&
	       (first >= LX_STREAMS_MAX || whose_turn(fp, first, index, now) != LX_FP_TURN_SENDER);
}

/* ---- credits ------------------------------------------------------------------------- */

/* Keeps programs from removing runs from now on; waits for one that is doing so. */
static void stop_popping(struct lx_lane *lane)
{
	uint32_t no = 0;

	for (int i = 0;
	     i < 1000 && !__atomic_compare_exchange_n(&lane->popping, &no, 1, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	     i++) {
		no = 0;
		sched_yield();
	}
}

/* Waits for a program that has reserved bytes to fill in the run. */
static const struct lx_lane_run *wait_for_run(const struct lx_lane *lane, uint16_t number)
{
	const struct lx_lane_run *run = lx_lane_run(lane, number);

	for (int i = 0; i < 1000; i++) {
		if (__atomic_load_n(&run->tag, __ATOMIC_ACQUIRE) == (LX_LANE_RUN | number))
			return run;
		sched_yield();
	}
	return NULL;
}

void lx_fp_lane_end_runs(struct lx_fp *fp, struct lx_lane *lane)
{
	__u64 word, none;
	uint16_t tail, n;

	/* Our socket has it: its sequence numbers depend on the word. */
	if (lx_lane_owner(LX_READ(lane->word)) == LX_LANE_OURS)
		return;
	stop_popping(lane);
	/* A new tail makes concurrent compare-and-swaps fail. */
	word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);
	do {
		tail = lx_lane_tail(word);
		none = (uint64_t)((uint32_t)(uint16_t)(tail + 1) << LX_LANE_TAIL_SHIFT |
				  LX_LANE_OWNER)
			       << 32 |
		       (uint32_t)word;
	} while (!__atomic_compare_exchange_n(&lane->word, &word, none, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	if (!lx_lane_busy(word))
		return;
	n = lx_lane_n_runs(lane, word);
	for (unsigned int i = 0; i < n && i < LX_LANE_RUNS; i++) {
		const struct lx_lane_run *run = wait_for_run(lane, lane->run_first + i);
		struct lx_fp_peer *from = run ? lx_fastpath_peer(fp->fastpath, run->from) : NULL;

		lx_fp_peer_credit_give(&lx_fastpath_peer(fp->fastpath, lane->next_hop)->tx);
		if (from)
			lx_fp_peer_credit_give(&from->rtr);
	}
}

void lx_fp_lane_disown(struct lx_lane *lane, uint32_t stream)
{
	__u64 word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);

	/* The next stream at this index must start a run of its own. */
	while (lx_lane_owner(word) == stream &&
	       !__atomic_compare_exchange_n(&lane->word, &word,
					    word | (uint64_t)LX_LANE_OWNER << 32, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	for (unsigned int i = 0; i < LX_LANE_RUNS; i++) {
		uint16_t of = stream;

		if (__atomic_load_n(&lane->run[i].stream, __ATOMIC_RELAXED) != of)
			continue;
		__atomic_compare_exchange_n(&lane->run[i].stream, &of, LX_LANE_OWNER, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

/* ---- streams that end --------------------------------------------------------------- */

/* Whether we closed the connection ourselves, which is no failure. */
static bool is_ours(int error)
{
	return error == -ESHUTDOWN || error == -ECONNABORTED;
}

static void sender_of(const struct lx_fp_conn *conn, struct lx_fp_sender *ret_sender)
{
	ret_sender->nid = conn->facts.nid;
	memcpy(ret_sender->addr, lx_fp_stream_of(conn)->key.remote, sizeof(ret_sender->addr));
}

/* If the stream has begun a message on this lane and not finished it, the lane ends inside it. */
static void lane_leave(struct lx_fp *fp, struct lx_fp_conn *conn, unsigned int index)
{
	struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t now = lx_sock_now(), here;
	bool ours = is_ours(lx_sock_conn_error(conn->conn));
	struct lx_fp_sender sender = { 0 };
	struct lx_extent extent;

	if (!ours)
		sender_of(conn, &sender);
	for (unsigned int i = 0; i < LX_LANE_RUNS; i++) {
		if (lane->run[i].stream == conn->stream)
			run->left_by[i] = sender;
	}
	/* Bytes lost behind us from now on are never retransmitted: lane_is_stuck(). */
	if (!unfinished(lx_fp_stream_of(conn), lane, index, &extent)) {
		lx_fp_lane_disown(lane, conn->stream);
		return;
	}
	if (!ours && !next_hop_is_silent(fp, index, now))
		blame(fp, &sender, fp->lane[index], now);
	here = lx_stream_arrived(lx_fp_stream_of(conn));
	lx_fp_cut(fp, index, extent.lane_start,
		  extent.lane_start + (here > extent.start ? here - extent.start : 0), now);
}

void lx_fp_stream_leave(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		if (fp->lane[i] && lx_lane_has(lx_fastpath_lane(fp->fastpath, i), conn->stream))
			lane_leave(fp, conn, i);
	}
}

void lx_fp_lane_left(struct lx_fp *fp, unsigned int index)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
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

	snprintf(reason, sizeof(reason), "%s for %llu s", what,
		 (unsigned long long)(ns / LX_SOCK_SECOND));
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
	pause_ns = offend(fp, sender.addr, LX_STREAM_ASIDE_SLOW, now);
	lx_info("nid=%s next_hop=%s reason=\"others had to wait for the rest of its message\" "
		"action=\"no fast path for this sender for %llu s\"",
		lx_nid_str(&sender.nid), lx_nid_str(&fp->lane[index]->facts.nid),
		(unsigned long long)(pause_ns / LX_SOCK_SECOND));
}

/* How far a stream's sender has come; the stream may have ended. */
static uint64_t packets_of(struct lx_fp *fp, uint32_t stream)
{
	return lx_fp_stream_is_open(fp, stream) ? lx_fastpath_stream(fp->fastpath, stream)->packets
						: 0;
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

/*
 * Counts for how long others have waited for the sender of a lane's first message, and acts. While
 * bytes trickle in, and are acknowledged, it is the sender that they wait for all the time.
 */
static void others_wait(struct lx_fp *fp, unsigned int index, uint32_t stream, enum lx_fp_turn turn,
			uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t since_ns = now - run->seen_ns, packets = packets_of(fp, stream);
	bool slow = false;

	if (since_ns > LX_LOOK_MAX_NS)
		since_ns = LX_LOOK_MAX_NS;
	if (run->seen_first != LX_READ(lane->run_first)) {
		run->seen_first = LX_READ(lane->run_first);
		run->owed_ns = run->silent_ns = 0;
	} else if (run->owes) {
		run->owed_ns += since_ns;
		run->silent_ns = run->seen_packets == packets ? run->silent_ns + since_ns : 0;
		if (run->owed_ns > LX_WAITED_MIN_NS && turn == LX_FP_TURN_SENDER &&
		    now < run->since_ns + LX_QUIET_NS)
			slow = waited_too_long(&fp->stream[stream], since_ns, now);
	}
	run->seen_ns = now;
	run->seen_packets = packets;
	run->owes = lx_lane_is_shared(lane) &&
		    (turn == LX_FP_TURN_SENDER ||
		     (turn == LX_FP_TURN_NEXT_HOP && now < run->una_ns + LX_QUIET_NS));
	if (run->owes && !run->store && run->owed_ns >= LX_STORE_NS)
		lx_fp_store_begin(fp, index, "others wait for the rest of a message", now);
	if (!run->owes || (!slow && run->owed_ns < LX_LANE_SLOW_NS))
		return;
	sender_is_slow(fp, index, stream, now);
	if (run->owed_ns < LX_OTHERS_NS && run->silent_ns < LX_SILENT_OTHERS_NS)
		return;
	lx_sock_conn_fail(fp->stream[stream].conn->conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT,
			  run->owed_ns < LX_OTHERS_NS
				  ? "it is silent, and others wait for the rest of a message"
				  : "others have waited too long for the rest of a message");
}

/* The first message of a lane has stalled for as long as a peer may: closes the side at fault. */
static void still(struct lx_fp *fp, unsigned int index, uint32_t stream, enum lx_fp_turn turn,
		  uint64_t limit, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);

	if (lx_lane_is_done(lane)) /* its runs go with the next ACK */
		return;
	if (next_hop_is_silent(fp, index, now))
		stalled(fp->lane[index], "the peer has acknowledged nothing of a message", limit);
	else if (turn == LX_FP_TURN_WINDOW)
		stalled(fp->lane[index], "the peer has had no room for the rest of a message",
			limit);
	else
		stalled(fp->stream[stream].conn, "nothing received inside a message", limit);
}

void lx_fp_lane_watch(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	uint32_t first = lx_lane_first_stream(lane);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t limit = deadline_ns(fp->lane[index]);
	const struct lx_stream *s =
		first < LX_STREAMS_MAX ? lx_fastpath_stream(fp->fastpath, first) : NULL;
	enum lx_fp_turn turn = LX_FP_TURN_NONE;

	if (s && lx_fp_stream_is_open(fp, first))
		turn = whose_turn(fp, first, index, now);
	if (!s || lane->una != run->una || lx_stream_arrived(s) != run->arrived)
		note_progress(run, lane, s, now);
	lx_fp_store_watch(fp, index, turn, now);
	others_wait(fp, index, first, turn, now);
	if (now >= run->since_ns + limit && lx_fp_stream_is_open(fp, first))
		still(fp, index, first, turn, limit, now);
}
