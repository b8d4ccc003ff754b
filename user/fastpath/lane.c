/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lanes: connections to next hops that the programs send on. */
#include <errno.h>
#include <string.h>

#include "../io/tcpinfo.h"
#include "priv.h"

/* TCP enlarges a receiver's window only after much data has arrived. */
static bool is_wide(const struct lx_fp_conn *conn)
{
	struct lx_tcpinfo info;

	return !lx_tcpinfo_read(conn->facts.fd, &info) &&
	       (info.window >= LX_WARM_WINDOW ||
		lx_sock_conn_tx_bytes(conn->conn) >= LX_WARM_BYTES);
}

/* Whether waiting for a larger window is pointless. */
static bool is_due(const struct lx_fp_conn *conn, uint64_t now)
{
	uint64_t since = conn->back_ns ? conn->back_ns : conn->facts.up_ns;
	bool used = lx_sock_conn_tx_bytes(conn->conn) > LX_UNUSED_BYTES || conn->back_ns;

	return now >= since + (used ? LX_WARM_NS : LX_UNUSED_NS);
}

/*
 * Whether the socket repeats early what gets lost. After an outage it may have taken that for a
 * round trip, and as a lane's it sends nothing by which its timeout would shrink again.
 */
static bool is_prompt(const struct lx_fp_conn *conn)
{
	struct lx_tcpinfo info;

	return !lx_tcpinfo_read(conn->facts.fd, &info) &&
	       info.rto_us <= 2 * (info.srtt_us + LX_RTO_MIN_NS / 1000);
}

static void refer_all(struct lx_fp *fp)
{
	memset(fp->referred, 0, sizeof(fp->referred));
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		const struct lx_stream *s = lx_fp_stream_at(fp, i);
		uint32_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
		uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);

		for (; fp->stream[i].conn && head != tail; head++) {
			uint16_t lane = lx_extent_at(s, head)->lane;

			if (lane < LX_LANES_MAX)
				fp->referred[lane / 64] |= 1ull << lane % 64;
		}
	}
	fp->referred_ns = fp->peers_ns;
}

/*
 * Whether an extent still refers to a lane: behind a message that waits for another lane there may
 * be acknowledged ones of this lane. Its positions must not restart before those are gone. Worked
 * out for all lanes at once, once a tick; callers only ask about lanes that take no new messages.
 */
static bool lane_is_referred(struct lx_fp *fp, unsigned int index)
{
	if (fp->referred_ns != fp->peers_ns)
		refer_all(fp);
	return fp->referred[index / 64] >> index % 64 & 1;
}

static void peer_lane_add(struct lx_fp_peer *fp_peer, unsigned int index)
{
	fp_peer->lane[fp_peer->n_lanes] = index;
	__atomic_store_n(&fp_peer->n_lanes, fp_peer->n_lanes + 1, __ATOMIC_RELEASE);
}

/* Makes the programs watch a connection that may become a lane. */
static void lane_add(struct lx_fp *fp, struct lx_fp_conn *conn, unsigned int next_hop)
{
	int index = lx_fastpath_take(fp->fastpath, LX_FASTPATH_LANES, LX_LANES_MAX);
	uint64_t now = lx_sock_now();
	struct lx_lane *lane;

	if (index < 0)
		return;
	lane = lx_fp_lane_at(fp, index);
	memset(lane, 0, sizeof(*lane));
	lane->word = (uint64_t)LX_LANE_OWNER << 32;
	lane->next_hop = next_hop;
	lane->version = conn->facts.version;
	lane->family = conn->facts.remote.sa.sa_family;
	lane->mss = lx_fp_mss_of(conn);
	lane->tos = lx_fp_tos_of(conn);
	lx_fp_key_of(conn, &lane->key);
	if (lx_fastpath_flow_add(fp->fastpath, &lane->key, LX_FLOW_SHIFT, 0)) {
		lx_fastpath_give(fp->fastpath, LX_FASTPATH_LANES, index);
		return;
	}
	fp->lane[index] = conn;
	fp->run[index] = (struct lx_fp_run){ .una_ns = now, .since_ns = now, .rate_ns = now };
	conn->lane = index;
	conn->lane_state = LX_FP_LANE_UNSEEN;
}

/* Whether the programs see the packets of a connection. */
static bool is_seen(struct lx_fp *fp, struct lx_fp_conn *conn, uint64_t now)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, conn->lane);
	bool seen = lx_fp_conn_is_seen(conn, &lane->key, &lane->ifindex);

	if (seen)
		conn->unseen_ns = 0;
	else if (!conn->unseen_ns)
		conn->unseen_ns = now;
	if (conn->lane_state == LX_FP_LANE_UNSEEN)
		lane->state = !seen && now >= conn->unseen_ns + LX_SEEN_NS ? LX_LANE_ELSEWHERE
									   : LX_LANE_FREE;
	lx_fp_conn_ask(conn, !seen && (now - conn->unseen_ns) % LX_SEEN_AGAIN_NS < LX_SEEN_NS);
	return seen;
}

/* The programs send on it from now on. */
static int lane_begin(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, conn->lane);
	bool unseen = conn->lane_state == LX_FP_LANE_UNSEEN;
	char name[LX_SOCK_NAME_TEXT];
	int r = 0;

	if (unseen)
		r = lx_fastpath_flow_add(fp->fastpath, &lane->key, LX_FLOW_LANE, conn->lane);
	if (!r)
		r = lx_fp_conn_filter(conn, true);
	if (!r)
		r = lx_fastpath_takeover(fp->fastpath, LX_FLOW_LANE, conn->lane, true);
	if (!r || !unseen)
		return r;
	lx_fp_conn_filter(conn, false);
	lx_fp_lane_gone(fp, conn);
	conn->lane = -1;
	conn->no_stream = r == -EOPNOTSUPP;
	if (conn->no_stream)
		lx_warn("%s reason=\"it has ECN (sysctl net.ipv4.tcp_ecn), or timestamps in "
			"microseconds\" action=\"it is no lane\"",
			lx_sock_conn_name(conn->conn, name, sizeof(name)));
	return r;
}

/* Whether the tables have room for another lane. */
static bool has_room(const struct lx_fp *fp, const struct lx_fp_conn *conn, unsigned int next_hop)
{
	return lx_fastpath_peer(fp->fastpath, next_hop)->n_lanes < LX_FP_PEER_LANES &&
	       (conn->lane >= 0 ||
		lx_fastpath_used(fp->fastpath, LX_FASTPATH_LANES) < LX_LANES_MAX);
}

/* Hands a connection to the programs, for the first time or again. */
static void lane_give(struct lx_fp *fp, struct lx_fp_conn *conn, unsigned int next_hop)
{
	struct lx_fp_peer *fp_peer = lx_fastpath_peer(fp->fastpath, next_hop);
	struct lx_tcpinfo info;

	if (lane_is_referred(fp, conn->lane) || lane_begin(fp, conn))
		return;
	conn->narrow = !is_wide(conn);
	if (!lx_tcpinfo_read(conn->facts.fd, &info))
		fp->run[conn->lane].rtt_ns = info.rtt_us * 1000ull;
	fp->run[conn->lane].best = fp->run[conn->lane].n_samples = 0;
	conn->lane_state = LX_FP_LANE_GIVEN;
	conn->back_ns = 0;
	peer_lane_add(fp_peer, conn->lane);
}

/* Takes a lane back once all its bytes have been acknowledged, and its socket may go on. */
static void lane_take_back(struct lx_fp *fp, struct lx_fp_conn *conn, uint64_t now)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, conn->lane);
	__u64 word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE), ours;
	struct lx_fp_run *run = &fp->run[conn->lane];

	if (!run->store && lx_fp_lane_is_ahead(lane))
		return;
	if (conn->lane_state == LX_FP_LANE_GIVEN)
		lx_fp_lane_withdraw(fp, conn, LX_LANE_DRAIN);
	if (lx_lane_busy(LX_READ(lane->word)) || (uint32_t)word != (uint32_t)lane->una ||
	    (run->store && !lx_fp_store_is_done(run->store)))
		return;
	if (!run->store)
		lx_fp_lane_socket_at(lane, lane->shift + (uint32_t)word, lane->una);
	/* A program that is about to reserve bytes fails. */
	ours = (word & ~((uint64_t)LX_LANE_OWNER << 32)) | (uint64_t)LX_LANE_OURS << 32;
	if (!__atomic_compare_exchange_n(&lane->word, &word, ours, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	lane->shift = lane->socket_shift;
	__atomic_store_n(&lane->state, LX_LANE_SOCKET, __ATOMIC_RELEASE);
	conn->lane_state = LX_FP_LANE_BACK;
	conn->back_ns = run->store ? 0 : now; /* flows again: it may be a lane at once */
	/* Its packets may pass elsewhere by then. */
	if (!run->store)
		lx_fastpath_flow_add(fp->fastpath, &lane->key, LX_FLOW_LANE, conn->lane);
	lx_fp_store_free(run);
}

/* Whether messages may be sent on a connection without its socket. */
static bool may_be_lane(const struct lx_fp_conn *conn)
{
	return lx_fp_conn_on(conn) && !lx_sock_conn_read_only(conn->conn);
}

/* Whether a lane is switched off, its next hop slow, or its window too small. */
static bool is_wanted_back(const struct lx_fp_neighbour *peer,
			   const struct lx_fp_conn *conn)
{
	return peer->slow_rate || !may_be_lane(conn) || conn->lane_state == LX_FP_LANE_WANTED ||
	       (peer->wide && conn->narrow);
}

/* Keeps socklnd from sending on a lane, or on a connection about to become one. */
static void reserve(struct lx_fp_conn *conn)
{
	lx_sock_conn_reserve(conn->conn, lx_fp_is_lane(conn) || conn->lane_due);
}

/* Without a connection of another type, one bulk connection stays with the slow path. */
void lx_fp_peer_lanes(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now)
{
	unsigned int bulk = 0, lanes = 0, others = 0;
	bool slow = lx_fp_limit_is_slow(fp, peer, now);
	struct lx_fp_conn *conn = NULL;

	if (lx_fp_conn_obtain_all(fp, peer))
		return;
	while ((conn = lx_fp_conn_next(peer, conn))) {
		conn->lane_due = false;
		if (lx_fp_is_lane(conn) && is_wanted_back(peer, conn))
			lane_take_back(fp, conn, now);
		reserve(conn);
		if (!may_be_lane(conn))
			continue;
		bulk += conn->facts.ctype == LX_CTYPE_BULK_OUT;
		others += conn->facts.ctype != LX_CTYPE_BULK_OUT;
		lanes += lx_fp_is_lane(conn);
	}
	peer->wide = false;
	if (slow || lx_fp_is_ending(peer))
		return;
	lx_sock_peer_facts(peer->peer, &peer->facts); /* its interface may have been replaced */
	if (!lx_fp_on(fp, peer->facts.ni, peer->facts.ifindex))
		return;
	/* The sequence numbers of a present or former stream already differ from its socket's. */
	while ((conn = lx_fp_conn_next(peer, conn))) {
		if (conn->facts.ctype != LX_CTYPE_BULK_OUT || lx_fp_is_lane(conn) ||
		    !may_be_lane(conn) || conn->facts.loopback || conn->no_stream ||
		    conn->stream >= 0 || conn->shift)
			continue;
		if (lanes + 1 >= bulk && !others)
			return;
		if (!has_room(fp, conn, peer->index))
			continue;
		if (conn->lane < 0)
			lane_add(fp, conn, peer->index);
		if (conn->lane < 0 || (!is_due(conn, now) && !is_wide(conn)) ||
		    !is_prompt(conn) || !is_seen(fp, conn, now))
			continue;
		conn->lane_due = !lx_sock_conn_is_idle(conn->conn);
		if (!conn->lane_due)
			lane_give(fp, conn, peer->index);
		reserve(conn);
		/* One after the other: meanwhile, what lnetxd still has takes the others. */
		if (conn->lane_due)
			return;
		lanes += lx_fp_is_lane(conn);
	}
}

/* Whether a lane waits for bytes of a stream that has ended, which are never retransmitted. */
static bool lane_is_stuck(const struct lx_fp *fp, const struct lx_lane *lane,
			  struct lx_fp_conn *conn, uint64_t now)
{
	bool waits = lx_lane_busy(LX_READ(lane->word)) &&
		     !lx_fp_stream_is_open(fp, lx_lane_first_stream(lane)) &&
		     lx_fp_store_lacks(fp->run[conn->lane].store);

	if (!waits)
		conn->left_ns = 0;
	else if (!conn->left_ns || conn->left_una != lane->una)
		conn->left_ns = now;
	conn->left_una = lane->una;
	return conn->left_ns && now >= conn->left_ns + LX_LEFT_NS;
}

/*
 * The socket repeats, the next hop answers, and nothing comes of it: it may have got bytes that the
 * socket does not know of. That should not happen, and would never end.
 */
static void watch_socket(struct lx_fp *fp, struct lx_lane *lane, struct lx_fp_conn *conn)
{
	struct lx_fp_run *run = &fp->run[conn->lane];
	struct lx_tcpinfo info = { 0 };

	if (!lx_lane_is_of_socket(lane) || lx_tcpinfo_read(conn->facts.fd, &info) ||
	    info.window < lane->mss)
		info.repeats = 0;
	if (info.repeats < run->repeats || !info.repeats)
		lane->repeats = 0;
	else if (info.repeats > run->repeats && run->repeats && lane->acks != run->repeat_acks &&
		 ++lane->repeats == LX_STUCK_REPEATS)
		lx_fastpath_count_stuck(fp->fastpath);
	if (info.repeats > run->repeats)
		run->repeat_acks = lane->acks;
	run->repeats = info.repeats;
	if (lane->repeats > LX_STUCK_REPEATS)
		lx_sock_conn_fail(conn->conn, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT,
				  "it answers what is sent to it again and again, but with nothing "
				  "that helps; please report this");
}

/* Neither the programs nor its socket will send on it. */
static bool lane_is_stranded(const struct lx_fp *fp, const struct lx_lane *lane,
			     const struct lx_fp_conn *conn)
{
	return conn->lane_state == LX_FP_LANE_WANTED && !fp->run[conn->lane].store &&
	       !lx_lane_busy(LX_READ(lane->word)) && lx_fp_lane_is_ahead(lane) &&
	       !lx_fp_is_ending(fp->peer[lane->next_hop]);
}

/* The MSS may have changed, and the setting. */
static void lane_measure(struct lx_fp *fp, struct lx_lane *lane, struct lx_fp_conn *conn,
			 uint64_t now)
{
	if (now < conn->mss_ns)
		return;
	conn->mss_ns = now + LX_MSS_NS;
	watch_socket(fp, lane, conn);
	__atomic_store_n(&lane->mss, lx_fp_mss_of(conn), __ATOMIC_RELAXED);
	__atomic_store_n(&lane->tos, lx_fp_tos_of(conn), __ATOMIC_RELAXED);
}

/* For "lnetx lane show": the rate of the last second, and the waits of the last few. */
static void lane_rate(struct lx_lane *lane, struct lx_fp_run *run, uint64_t now)
{
	uint64_t handovers = __atomic_load_n(&lane->handovers, __ATOMIC_RELAXED);

	if (now < run->rate_ns + LX_S_NS)
		return;
	__atomic_store_n(&lane->handovers_per_s,
			 (handovers - run->handovers) * LX_S_NS / (now - run->rate_ns),
			 __ATOMIC_RELAXED);
	run->handovers = handovers;
	run->rate_ns = now;
	for (unsigned int i = 0; i < LX_LANE_WAITS; i++) {
		uint32_t n = __atomic_load_n(&lane->waits[i], __ATOMIC_RELAXED);

		__atomic_sub_fetch(&lane->waits[i], (n + LX_WAITS_KEPT - 1) / LX_WAITS_KEPT,
				   __ATOMIC_RELAXED);
	}
}

void lx_fp_lanes_tick(struct lx_fp *fp, uint64_t now)
{
	unsigned int left = 0;
	int i;

	while ((i = lx_fp_round(fp, LX_FASTPATH_LANES, &fp->lane_at, &left)) >= 0) {
		struct lx_lane *lane = lx_fp_lane_at(fp, i);
		struct lx_fp_conn *conn = fp->lane[i];

		if (!conn && !lane_is_referred(fp, i))
			lx_fastpath_give(fp->fastpath, LX_FASTPATH_LANES, i);
		if (!conn || conn->closing || conn->lane_state == LX_FP_LANE_UNSEEN ||
		    lx_fp_cut_tick(fp, i, now))
			continue;
		if (lane_is_stuck(fp, lane, conn, now))
			lx_fp_lane_left(fp, i);
		lane_measure(fp, lane, conn, now);
		if (lane_is_stranded(fp, lane, conn))
			lx_sock_conn_fail(conn->conn, -ECONNABORTED, LX_HSTATUS_LOCAL_ERROR,
					  "its socket is 4 GiB behind, and cannot go on");
		if (conn->closing)
			continue;
		lane_rate(lane, &fp->run[i], now);
		lx_fp_lane_watch(fp, i, now);
		lx_fp_grant_lane_tick(fp, i);
	}
}

/* ---- its connection ends ------------------------------------------------------------- */

/*
 * The position up to which messages count as forwarded. A next hop that closes its connections
 * between messages may still owe us a delayed ACK, so what was sent counts, as on the slow path.
 * After an error only what was acknowledged counts; also where streams share the lane, since
 * one of them may have sent less than those behind it.
 */
static uint64_t forwarded_up_to(struct lx_fp *fp, const struct lx_fp_conn *conn)
{
	const struct lx_lane *lane = lx_fp_lane_at(fp, conn->lane);

	return lx_sock_conn_error(conn->conn) || lx_lane_is_shared(lane) ? lane->una
									    : lane->sent;
}

/*
 * Bytes that the next hop has not acknowledged are lost, as they would be from our buffers. The
 * streams go on: their other messages take other lanes.
 */
void lx_fp_lane_closing(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, conn->lane);
	struct lx_fp_run *run = &fp->run[conn->lane];
	struct lx_fp_lost mine = { 0 };
	struct lx_fp_lost *lost = run->store ? lx_fp_store_lost(run->store) : &mine;

	if (conn->lane_state == LX_FP_LANE_UNSEEN)
		return;
	/* Once the lane is dead, streams forget them; before, more may come. */
	lx_fp_lost_note(fp, lost, conn->lane);
	__atomic_store_n(&lane->state, LX_LANE_DEAD, __ATOMIC_SEQ_CST);
	lx_fp_lost_note(fp, lost, conn->lane);
	lx_fp_count_conn(fp, conn);
	lx_fp_lost_report(conn, lost, forwarded_up_to(fp, conn));
	lx_fp_lost_fini(&mine);
	lx_fp_store_free(run);
	lx_fp_peer_lane_del(lx_fastpath_peer(fp->fastpath, lane->next_hop), conn->lane);
	lx_sock_conn_set_reset(conn->conn);
	lx_fastpath_poke_fin(fp->fastpath, conn->lane);
	lx_fp_lane_tell(fp, conn->lane);
	lx_fp_lane_end_runs(fp, lane);
}

void lx_fp_lane_gone(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	struct lx_lane *lane = lx_fp_lane_at(fp, conn->lane);

	lx_fastpath_flow_del(fp->fastpath, &lane->key);
	lane->state = LX_LANE_FREE;
	fp->lane[conn->lane] = NULL; /* freed by lx_fp_lanes_tick() */
}
