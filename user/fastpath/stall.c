/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stalled messages on lanes, and senders that are not trusted with lanes.
 *
 * Half a message on a lane costs all users of the next hop: socklnd closes all its connections to
 * an address when one of them ends, or stalls for its timeout, inside a message. So a stalled
 * message is ended before that, by closing the connections of the side at fault, and a sender that
 * left a message unfinished gets no lanes for a while, longer each time. Missing bytes are never
 * made up.
 *
 * On a shared lane, the messages of others wait behind an unfinished one: the next hop's TCP has
 * their bytes, but cannot deliver them. So a slow sender is kept off lanes for a while, and a
 * stalled one gets less time than one that is alone.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "priv.h"

#define PAUSE_MIN_NS (60 * LX_SOCK_SECOND)
#define PAUSE_MAX_NS (3600 * LX_SOCK_SECOND)
/* A next hop that has been silent for this long may itself be at fault. */
#define SILENT_NS LX_SOCK_SECOND
/* Limit while others wait: longer than TCP takes to retransmit four times. */
#define SHARED_NS (4 * LX_SOCK_SECOND)
/* Others wait no longer than this for a message, even if it keeps trickling in. */
#define TRICKLE_NS (10 * LX_SOCK_SECOND)

/* ---- offenders ------------------------------------------------------------------ */

static struct lx_fp_offender *offender_lookup(struct lx_fp *fp, const uint8_t addr[16])
{
	for (unsigned int i = 0; i < LX_FP_OFFENDERS; i++) {
		if (fp->offender[i].pause_ns && !memcmp(fp->offender[i].addr, addr, 16))
			return &fp->offender[i];
	}
	return NULL;
}

/* Replaces the one whose pause ended first. */
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

/* An offence is forgotten after as long again without another. Returns the new pause. */
static uint64_t offend(struct lx_fp *fp, const uint8_t addr[16], uint64_t now)
{
	struct lx_fp_offender *o = offender_lookup(fp, addr);

	if (!o)
		o = offender_new(fp, addr);
	if (now >= o->until_ns + o->pause_ns)
		o->pause_ns = PAUSE_MIN_NS;
	else if (now >= o->until_ns) /* else another lane of the same incident */
		o->pause_ns = 2 * o->pause_ns < PAUSE_MAX_NS ? 2 * o->pause_ns : PAUSE_MAX_NS;
	o->until_ns = now + o->pause_ns;
	return o->pause_ns;
}

/* All streams of an address, whatever NIDs it claims; stream.c does so for later ones. */
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

static void note_progress(struct lx_fp_run *run, const struct lx_lane *lane,
			  const struct lx_stream *s, uint64_t now)
{
	run->una = lane->una;
	run->high = s ? s->high : 0;
	run->packets = lane->packets;
	run->acks = lane->acks;
	run->since_ns = now;
}

/* Segments go out, and nothing comes back. */
static bool next_hop_is_silent(const struct lx_fp_run *run, const struct lx_lane *lane,
			       uint64_t now)
{
	return now >= run->since_ns + SILENT_NS && lane->packets != run->packets &&
	       lane->acks == run->acks;
}

/*
 * The message on a lane of which bytes have not been here yet, or NULL. There is one at most, the
 * stream's last: a message is placed when its header is here.
 */
static const struct lx_extent *unfinished(const struct lx_stream *s, unsigned int index)
{
	uint32_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
	uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);

	for (; head != tail; head++) {
		const struct lx_extent *extent = &s->extent[head % LX_STREAM_EXTENTS];

		if (extent->lane == index && s->high < extent->start + extent->len)
			return extent;
	}
	return NULL;
}

/* The sender has used up the next hop's window: it cannot go on. */
static bool window_is_used_up(struct lx_fp *fp, unsigned int stream, unsigned int index)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	const struct lx_stream *s = lx_fastpath_stream(fp->fastpath, stream);
	const struct lx_extent *extent = unfinished(s, index);

	return extent && extent->start < s->high &&
	       lane->window_edge < extent->lane_start + (s->high - extent->start) + s->mss;
}

/* ---- credits ------------------------------------------------------------------------- */

/* As lx_fp_peer_credit_give() in bpf/lane.h. */
static void credit_give(struct lx_credit *credit)
{
	__atomic_add_fetch(&credit->now, 1, __ATOMIC_ACQ_REL);
	__atomic_sub_fetch(&credit->lanes, 1, __ATOMIC_ACQ_REL);
}

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
	const struct lx_lane_run *run = &lane->run[number % LX_LANE_RUNS];

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
	if (lx_fp_lane_owner(lane) == LX_LANE_OURS)
		return;
	stop_popping(lane);
	/* A new tail makes concurrent compare-and-swaps fail. */
	word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);
	do {
		tail = word >> (32 + LX_LANE_TAIL_SHIFT);
		none = (uint64_t)((uint32_t)(uint16_t)(tail + 1) << LX_LANE_TAIL_SHIFT |
				  LX_LANE_OWNER)
			       << 32 |
		       (uint32_t)word;
	} while (!__atomic_compare_exchange_n(&lane->word, &word, none, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	if (!(word >> 32 & LX_LANE_BUSY))
		return;
	n = tail - (uint16_t)lane->run_first;
	for (unsigned int i = 0; i < n && i < LX_LANE_RUNS; i++) {
		const struct lx_lane_run *run = wait_for_run(lane, lane->run_first + i);
		struct lx_fp_peer *from = run ? lx_fastpath_peer(fp->fastpath, run->from) : NULL;

		credit_give(&lx_fastpath_peer(fp->fastpath, lane->next_hop)->tx);
		if (from)
			credit_give(&from->rtr);
	}
}

void lx_fp_lane_disown(struct lx_lane *lane, uint32_t stream)
{
	__u64 word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);

	/* The next stream at this index must start a run of its own. */
	while ((word >> 32 & LX_LANE_OWNER) == stream &&
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

/* Whether we closed the connection ourselves: nobody's fault. */
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
 * Whether all unacknowledged bytes of a stream on a lane have been here. Once the stream has ended,
 * nobody retransmits what is lost behind us.
 */
static bool is_whole(struct lx_fp *fp, unsigned int stream, unsigned int index)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	const struct lx_extent *extent =
		unfinished(lx_fastpath_stream(fp->fastpath, stream), index);

	return !extent || lane->una >= extent->lane_start + extent->len;
}

/*
 * If the stream has begun a message on this lane and not finished it, the next hop must drop the
 * message, and everything behind it.
 */
static void lane_leave(struct lx_fp *fp, struct lx_fp_conn *conn, unsigned int index)
{
	struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t now = lx_sock_now();
	bool ours = is_ours(lx_sock_conn_error(conn->conn));
	struct lx_fp_sender sender = { 0 };

	if (!ours)
		sender_of(conn, &sender);
	for (unsigned int i = 0; i < LX_LANE_RUNS; i++) {
		if (lane->run[i].stream == conn->stream)
			run->left_by[i] = sender;
	}
	if (is_whole(fp, conn->stream, index)) {
		lx_fp_lane_disown(lane, conn->stream);
		return;
	}
	if (!ours && !next_hop_is_silent(run, lane, now))
		blame(fp, &sender, fp->lane[index], now);
	lx_sock_conn_close(fp->lane[index]->conn, -ECONNRESET, LX_HSTATUS_REMOTE_DROPPED);
}

void lx_fp_stream_leave(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		if (fp->lane[i] && lx_fp_lane_has(lx_fastpath_lane(fp->fastpath, i), conn->stream))
			lane_leave(fp, conn, i);
	}
}

void lx_fp_lane_left(struct lx_fp *fp, unsigned int index)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_fp_sender *sender =
		&fp->run[index].left_by[lx_fp_lane_first(lane) % LX_LANE_RUNS];

	/* The next hop has later bytes, and waits for missing ones. */
	if (lane->n_sack && sender->nid.type)
		blame(fp, sender, fp->lane[index], lx_sock_now());
	*sender = (struct lx_fp_sender){ 0 };
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

/* Keeps a stream off lanes for a while if others wait for the rest of its message. */
static void yield(struct lx_fp *fp, unsigned int index, uint32_t stream, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	struct lx_stream *s = lx_fastpath_stream(fp->fastpath, stream);
	uint64_t first_ns = __atomic_load_n(&lane->first_ns, __ATOMIC_ACQUIRE);

	if (lx_fp_lane_is_shared(lane) && !s->aside && (int64_t)(now - first_ns) > 0 &&
	    !is_whole(fp, stream, index))
		lx_fp_stream_delays(&fp->stream[stream], s, now - first_ns, now);
}

/*
 * The lane of a stream's first unacknowledged byte; its last message is on lane @index. If these
 * differ, the sender may be unable to finish the message: its congestion window may be full until
 * the other next hop acknowledges.
 */
static unsigned int waits_for(struct lx_fp *fp, unsigned int stream, unsigned int index)
{
	const struct lx_stream *s = lx_fastpath_stream(fp->fastpath, stream);
	uint32_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
	uint16_t lane = s->extent[head % LX_STREAM_EXTENTS].lane;

	return lane < LX_LANES_MAX && fp->lane[lane] ? lane : index;
}

/* Whether others have waited long enough for a message that keeps trickling in. */
static bool trickles(struct lx_fp *fp, unsigned int index, uint32_t stream, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);

	return lx_fp_lane_is_shared(lane) && lx_fp_lane_takes(lane, TRICKLE_NS, now) &&
	       waits_for(fp, stream, index) == index && !is_whole(fp, stream, index);
}

/* The first message of a lane has stalled for @ns: closes the connections at fault. */
static void still(struct lx_fp *fp, unsigned int index, uint32_t stream, uint64_t ns, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	uint64_t limit = deadline_ns(fp->lane[index]);
	unsigned int other = waits_for(fp, stream, index);
	bool shared = lx_fp_lane_is_shared(lane) && ns >= SHARED_NS;

	if (lx_fp_lane_is_done(lane)) /* its runs go with the next ACK */
		return;
	if (next_hop_is_silent(&fp->run[index], lane, now)) {
		if (ns >= limit)
			stalled(fp->lane[index], "the peer has acknowledged nothing of a message",
				limit);
	} else if (lx_fp_stream_is_open(fp, stream) && window_is_used_up(fp, stream, index)) {
		if (ns >= limit)
			stalled(fp->lane[index], "the peer has had no room for the rest of a message",
				limit);
	} else if (shared && other != index &&
		   next_hop_is_silent(&fp->run[other],
				      lx_fastpath_lane(fp->fastpath, other), now)) {
		stalled(fp->lane[other], "others wait, and the peer has acknowledged nothing",
			SHARED_NS);
	} else if (lx_fp_stream_is_open(fp, stream) && (ns >= limit || (shared && other == index))) {
		stalled(fp->stream[stream].conn, "nothing received inside a message",
			ns < limit ? SHARED_NS : limit);
	}
}

void lx_fp_lane_watch(struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const struct lx_lane *lane = lx_fastpath_lane(fp->fastpath, index);
	uint32_t first = lx_fp_lane_first_stream(lane);
	struct lx_fp_run *run = &fp->run[index];
	const struct lx_stream *s =
		first < LX_STREAMS_MAX ? lx_fastpath_stream(fp->fastpath, first) : NULL;

	if (s && lx_fp_stream_is_open(fp, first)) {
		yield(fp, index, first, now);
		if (trickles(fp, index, first, now)) {
			stalled(fp->stream[first].conn, "others have waited for the rest of a message",
				TRICKLE_NS);
			return;
		}
	}
	if (!s || lane->una != run->una || s->high != run->high)
		note_progress(run, lane, s, now);
	else
		still(fp, index, first, now - run->since_ns, now);
}
