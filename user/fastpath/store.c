/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stored lanes: a next hop does not flow, and what is under way to it would hold up its senders,
 * who keep the data, and with them what they have for others.
 *
 *	LIVE ── what has been sent is not acknowledged for STORE_NS ──▶ STORED
 *	  ▲                                                               │ all of it is
 *	  └───────────────── SOCKET ◀─────────────────────────────────────┘
 *
 * The programs take no new messages for a stored lane; what comes of those that are on it, they
 * hand to us (bpf/store.h), and acknowledge. We write it into the lane's own socket, in the order
 * of the lane: what else a next hop that does not read needs - repeating, probing, giving up - is
 * the kernel's TCP's. New messages take lane 0, as without the fast path.
 *
 *	                base          una           next
 *	 ───────────────┼─────────────┼─────────────┼───────────────────────┼──▶ lane position
 *	                │ acknowledged│ the socket's│ stored, or to come    │ end
 *
 * Before it was stored, the programs sent some of it, too. If una passes next, the socket skips
 * that as soon as it has nothing else to repeat.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

/* A run's bytes are stored in their order: so many ranges at most, and the socket's. */
#define STORE_RANGES (LX_LANE_RUNS + 1)

struct range {
	uint64_t start, end; /* lane positions */
};

struct lx_fp_store {
	struct lx_fp_conn *conn;
	uint64_t base, end;  /* of bytes[], lane positions */
	uint64_t next;       /* of what the socket takes next */
	uint64_t limit; /* of what it may take */
	uint8_t *bytes;
	struct range range[STORE_RANGES]; /* stored and not sent yet, in order */
	unsigned int n_ranges;
	struct lx_fp_lost lost; /* if its connection ends */
};

static struct lx_lane *lane_of(const struct lx_fp_store *store)
{
	return lx_fastpath_lane(store->conn->fp->fastpath, store->conn->lane);
}

/* ---- the budget ------------------------------------------------------------------ */

static bool budget_has(const struct lx_fp_store *mine, uint64_t bytes)
{
	struct lx_fp *fp = mine->conn->fp;
	uint64_t budget = (uint64_t)lx_sock_offload_store() << 20, all = bytes, share = bytes;

	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_LANES) {
		const struct lx_fp_store *store = fp->run[i].store;

		if (!store)
			continue;
		all += store->end - store->base;
		if (lane_of(store)->next_hop == lane_of(mine)->next_hop)
			share += store->end - store->base;
	}
	return all <= budget && share <= budget / LX_STORE_SHARE;
}

/* Makes room up to @end, within the budget. 0, -ENOMEM or -ENOBUFS. */
static int make_room(struct lx_fp_store *store, uint64_t end)
{
	uint8_t *bytes;

	if (!budget_has(store, end - store->end))
		return -ENOBUFS;
	/* Pages that nothing is stored in take no memory. */
	bytes = realloc(store->bytes, end - store->base);
	if (!bytes)
		return -ENOMEM;
	store->bytes = bytes;
	store->end = end;
	return 0;
}

/* ---- ranges ---------------------------------------------------------------------- */

static void range_del(struct lx_fp_store *store, unsigned int i)
{
	store->n_ranges--;
	memmove(&store->range[i], &store->range[i + 1],
		(store->n_ranges - i) * sizeof(store->range[0]));
}

/* Takes off what is before @pos. */
static void ranges_trim(struct lx_fp_store *store, uint64_t pos)
{
	while (store->n_ranges && store->range[0].end <= pos)
		range_del(store, 0);
	if (store->n_ranges && store->range[0].start < pos)
		store->range[0].start = pos;
}

/* Adds one that overlaps none. false: there are too many. */
static bool range_add(struct lx_fp_store *store, uint64_t start, uint64_t end)
{
	struct range *r = store->range;
	unsigned int i = 0;

	while (i < store->n_ranges && r[i].end < start)
		i++;
	if (i == store->n_ranges || r[i].end != start) {
		if (store->n_ranges == STORE_RANGES)
			return false;
		memmove(&r[i + 1], &r[i], (store->n_ranges++ - i) * sizeof(*r));
		r[i] = (struct range){ start, end };
	} else {
		r[i].end = end;
	}
	if (i + 1 < store->n_ranges && r[i + 1].start == r[i].end) {
		r[i].end = r[i + 1].end;
		range_del(store, i + 1);
	}
	return true;
}

/* ---- the socket ------------------------------------------------------------------ */

/*
 * The next hop has more than the socket was given. Skips that, unless the socket has something to
 * repeat or to send first: its bytes must keep their numbers. Returns whether the socket is at una.
 */
static bool skip(struct lx_fp_store *store, uint64_t una)
{
	struct lx_lane *lane = lane_of(store);

	if (store->next >= una)
		return true;
	if (!lx_sock_conn_is_idle(store->conn->conn))
		return false;
	lx_fp_lane_socket_at(lane, lane->socket_shift + (uint32_t)(una - store->next), una);
	store->next = una;
	return true;
}

/* Writes what comes next and has been stored, as far as the socket takes it. */
static void feed(struct lx_fp_store *store)
{
	uint64_t una = LX_READ(lane_of(store)->una);
	const struct range *r = store->range;
	uint64_t end;
	ssize_t n = 1;

	ranges_trim(store, una > store->next ? una : store->next);
	if (!skip(store, una))
		return;
	while (n > 0 && store->n_ranges && r->start == store->next && store->next < store->limit) {
		end = r->end < store->limit ? r->end : store->limit;
		n = lx_sock_conn_write(store->conn->conn, store->bytes + (r->start - store->base),
				       end - r->start);
		if (n > 0)
			store->next += n; /* an error shows when the socket is read */
		ranges_trim(store, store->next);
	}
}

/* ---- life ------------------------------------------------------------------------ */

static void close_for(struct lx_fp_store *store, int error)
{
	lx_sock_conn_fail(
		store->conn->conn, error, LX_HSTATUS_LOCAL_ERROR,
		"it does not take data, and no memory is left to store what is under way");
}

void lx_fp_stored(const struct lx_stored *stored, const void *bytes, void *arg)
{
	struct lx_fp *fp = arg;
	struct lx_fp_store *store =
		stored->lane < LX_LANES_MAX ? fp->run[stored->lane].store : NULL;
	uint64_t start = stored->pos, end = stored->pos + stored->len, una;
	int r = 0;

	if (!store || store->conn->closing)
		return;
	una = LX_READ(lane_of(store)->una);
	if (start < una) /* acknowledged meanwhile */
		start = una;
	if (start >= end)
		return;
	if (end > store->end)
		r = make_room(store, end);
	if (!r && !range_add(store, start, end))
		r = -ENOBUFS;
	if (r) {
		close_for(store, r);
		return;
	}
	memcpy(store->bytes + (start - store->base), (const char *)bytes + (start - stored->pos),
	       end - start);
	lane_of(store)->stored += end - start;
	lx_fastpath_count_stored(fp->fastpath, 0, end - start);
	feed(store);
}

static void refuse(struct lx_fp *fp, const struct lx_fp_conn *conn, uint64_t bytes, uint64_t now)
{
	unsigned int missed;

	if (lx_ratelimit(&fp->refused_limit, lx_nid_hash(&conn->facts.nid), now,
			 LX_RATELIMIT_MINUTE, &missed))
		lx_warn("next_hop=%s bytes=%llu missed=%u reason=\"it does not take what is under "
			"way, and there is no memory to store that (tunable fastpath_store)\" "
			"action=\"its senders wait\"",
			lx_nid_str(&conn->facts.nid), (unsigned long long)bytes, missed);
}

int lx_fp_store_begin(struct lx_fp *fp, unsigned int index, const char *reason, uint64_t now)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_fp_conn *conn = fp->lane[index];
	uint64_t una = LX_READ(lane->una), under_way = lx_fp_lane_next(lane) - una;
	const struct lx_fp_cut *cut = &fp->run[index].cut;
	struct lx_fp_store *store;
	unsigned int missed;
	int r = -ENOMEM;

	/* The senders keep it; nothing of what is behind a cut is for the socket. */
	if (lx_fp_lane_is_ahead(lane) && (!cut->since_ns || una < cut->from))
		return -EAGAIN;
	store = calloc(1, sizeof(*store));
	if (store) {
		store->conn = conn;
		store->base = store->end = store->next = store->lost.noted = una;
		store->limit = cut->since_ns ? cut->from : UINT64_MAX;
		r = make_room(store, una + under_way);
	}
	if (r) {
		free(store);
		refuse(fp, conn, under_way, now);
		return r;
	}
	fp->run[index].store = store;
	lx_fp_lane_socket_at(lane, lane->shift + (uint32_t)una, una);
	lx_fp_lane_withdraw(fp, conn, LX_LANE_STORED);
	lane->stores++;
	lx_fastpath_count_stored(fp->fastpath, 1, 0);
	lx_fp_lost_note(fp, &store->lost, index);
	lx_fp_lane_tell(fp, index);
	if (lx_ratelimit(&fp->stored_limit, lx_nid_hash(&conn->facts.nid), now, LX_RATELIMIT_MINUTE,
			 &missed))
		lx_info("next_hop=%s lane=%u bytes=%llu missed=%u reason=\"%s\" "
			"action=\"what is under way is stored; lnetxd sends it, and new messages\"",
			lx_nid_str(&conn->facts.nid), index, (unsigned long long)under_way, missed,
			reason);
	return 0;
}

void lx_fp_store_limit(struct lx_fp_store *store, uint64_t end)
{
	store->limit = end;
}

const uint8_t *lx_fp_store_bytes(const struct lx_fp_store *store, uint64_t start, uint64_t end)
{
	for (unsigned int i = 0; i < store->n_ranges; i++) {
		if (store->range[i].start <= start && end <= store->range[i].end)
			return store->bytes + (start - store->base);
	}
	return NULL;
}

/* The longest time between two looks at a lane that counts: after more, the daemon was away. */
static uint64_t look_max_ns(const struct lx_fp *fp)
{
	unsigned int rounds = lx_fastpath_used(fp->fastpath, LX_FASTPATH_LANES) / LX_ROUND_MIN;

	if (rounds > LX_ROUND_TICKS)
		rounds = LX_ROUND_TICKS;
	return (1 + rounds) * LX_LOOK_NS;
}

/* With SACK, the next hop takes data, and tells a sender what it lacks. */
static bool flows(const struct lx_fp_run *run, const struct lx_lane *lane, enum lx_fp_turn turn)
{
	return lx_fp_is_senders(turn) || lane->una >= run->mark ||
	       (lane->n_sack && lane->acks != run->mark_acks);
}

/* An idle lane has no room for a segment: the ACK that would tell of it may be lost. */
static bool is_closed(const struct lx_lane *lane)
{
	return (int64_t)(lane->window_edge - lx_fp_lane_next(lane)) < lane->mss;
}

static void mark(struct lx_fp_run *run, const struct lx_lane *lane, enum lx_fp_turn turn)
{
	uint64_t una = LX_READ(lane->una), sent = LX_READ(lane->sent);

	run->mark = sent > una ? sent : una;
	if (turn == LX_FP_TURN_WINDOW)
		run->mark = una + 1;
	run->mark_acks = lane->acks;
	run->mark_ns = 0;
}

/*
 * The socket of a lane that is idle and closed gets it back: it probes the window as soon as it has
 * something to send.
 */
void lx_fp_store_watch(struct lx_fp *fp, unsigned int index, enum lx_fp_turn turn, uint64_t now)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, index);
	struct lx_fp_run *run = &fp->run[index];
	uint64_t since, max = look_max_ns(fp);
	bool busy;

	if (run->store) {
		lx_fp_lost_note(fp, &run->store->lost, index);
		feed(run->store);
		return;
	}
	since = now - run->looked_ns < max ? now - run->looked_ns : max;
	run->looked_ns = now;
	if ((lane->state != LX_LANE_LIVE && lane->state != LX_LANE_DRAIN) ||
	    lx_fp_lane_is_ahead(lane))
		return;
	busy = lx_lane_busy(LX_READ(lane->word));
	if (busy ? flows(run, lane, turn) : !is_closed(lane)) {
		mark(run, lane, turn);
		return;
	}
	run->mark_ns += since;
	if (run->mark_ns < LX_STORE_NS)
		return;
	if (busy)
		lx_fp_store_begin(fp, index, "it has not acknowledged anything in time", now);
	else if (lane->state == LX_LANE_LIVE)
		lx_fp_lane_withdraw(fp, fp->lane[index], LX_LANE_DRAIN);
}

struct lx_fp_lost *lx_fp_store_lost(struct lx_fp_store *store)
{
	return &store->lost;
}

bool lx_fp_store_lacks(const struct lx_fp_store *store)
{
	return !store || (store->next <= LX_READ(lane_of(store)->una) &&
			  !(store->n_ranges && store->range[0].start <= store->next));
}

bool lx_fp_store_is_done(const struct lx_fp_store *store)
{
	const struct lx_lane *lane = lane_of(store);

	return !store->n_ranges && store->next == LX_READ(lane->una) &&
	       store->next == lx_fp_lane_next(lane) && lx_sock_conn_is_idle(store->conn->conn);
}

void lx_fp_store_free(struct lx_fp_run *run)
{
	struct lx_fp_store *store = run->store;

	if (!store)
		return;
	run->store = NULL;
	lx_fp_lost_fini(&store->lost);
	free(store->bytes);
	free(store);
}
