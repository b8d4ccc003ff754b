/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lanes: connections to next hops that the programs send on. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../../user/io/tcpinfo.h"
#include "fast_priv.h"

/*
 * A lane's window has to take a whole message: so much, or the connection is old. Where
 * nobody has sent anything so far it will be small messages; when others come, we take
 * the lane back and send on it until its window is large.
 */
#define WARM_WINDOW ((1u << 20) + (1u << 16))
#define WARM_BYTES (1u << 20)
#define WARM_NS (2 * LX_SOCK_SECOND)
#define UNUSED_NS (50 * LX_SOCK_MSEC)
/* More than a delayed acknowledgement takes. */
#define LEFT_NS (500 * LX_SOCK_MSEC)
/* So often it is asked how large segments may be; at once if a router tells. */
#define MSS_NS (250 * LX_SOCK_MSEC)

static bool is_idle(struct lx_sock_conn *conn)
{
	return conn->phase == LX_SOCK_UP && !conn->closing && !conn->tx_busy &&
	       lx_list_empty(&conn->queue) && lx_list_empty(&conn->sending) &&
	       lx_list_empty(&conn->sent) && !lx_sock_conn_unsent(conn);
}

/* The next hop opens its window when it has seen that we send a lot. */
static bool is_wide(const struct lx_sock_conn *conn)
{
	struct lx_tcpinfo info;

	return !lx_tcpinfo_read(conn->fd, &info) &&
	       (info.window >= WARM_WINDOW || conn->tx_bytes >= WARM_BYTES);
}

/* Whether there is no use in waiting for a larger window. */
static bool is_due(const struct lx_sock_conn *conn, uint64_t now)
{
	uint64_t since = conn->back_ns ? conn->back_ns : conn->up_ns;

	return now >= since + (conn->tx_bytes || conn->back_ns ? WARM_NS : UNUSED_NS);
}

static void refer_all(struct lx_sock_fast *fast)
{
	memset(fast->referred, 0, sizeof(fast->referred));
	lx_forward_for_each (i, fast->forward, LX_FORWARD_STREAMS) {
		const struct lx_stream *s = lx_forward_stream(fast->forward, i);
		uint32_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
		uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);

		for (; fast->stream[i].conn && head != tail; head++) {
			uint16_t lane = s->slot[head % LX_STREAM_SLOTS].lane;

			if (lane < LX_LANES_MAX)
				fast->referred[lane / 64] |= 1ull << lane % 64;
		}
	}
	fast->referred_ns = fast->hops_ns;
}

/*
 * Whether a stream still has to know what has arrived on a lane: behind a message that
 * waits for another lane there may be some that this one has carried. Its positions
 * must not begin anew before that is over. All lanes are looked up at once, with a tick; none
 * that is asked about is one that new messages go to.
 */
static bool lane_is_referred(struct lx_sock_fast *fast, unsigned int index)
{
	if (fast->referred_ns != fast->hops_ns)
		refer_all(fast);
	return fast->referred[index / 64] >> index % 64 & 1;
}

static void hop_lane_add(struct lx_hop *hop, unsigned int index)
{
	hop->lane[hop->n_lanes] = index;
	__atomic_store_n(&hop->n_lanes, hop->n_lanes + 1, __ATOMIC_RELEASE);
}

void lx_fast_hop_lane_del(struct lx_hop *hop, unsigned int index)
{
	for (unsigned int i = 0; i < hop->n_lanes; i++) {
		if (hop->lane[i] != index)
			continue;
		hop->lane[i] = hop->lane[hop->n_lanes - 1];
		__atomic_store_n(&hop->n_lanes, hop->n_lanes - 1, __ATOMIC_RELEASE);
		return;
	}
}

static void lane_add(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	int index = lx_forward_take(fast->forward, LX_FORWARD_LANES, LX_LANES_MAX), r;
	char name[LX_SOCK_NAME_TEXT];
	struct lx_lane *lane;

	if (index < 0)
		return;
	lane = lx_forward_lane(fast->forward, index);
	memset(lane, 0, sizeof(*lane));
	lane->hop = conn->peer->hop;
	lane->ifindex = conn->net->netif.index;
	lane->version = conn->version;
	lane->family = conn->remote.sa.sa_family;
	lane->mss = lx_fast_mss_of(conn);
	lane->tos = lx_fast_tos_of(conn);
	lx_fast_key_of(conn, &lane->key);
	r = lx_forward_flow_add(fast->forward, &lane->key, LX_FLOW_LANE, index);
	if (!r) {
		r = lx_forward_arm(fast->forward, LX_FLOW_LANE, index, true);
		if (r)
			lx_forward_flow_del(fast->forward, &lane->key);
	}
	if (r) {
		lx_forward_give(fast->forward, LX_FORWARD_LANES, index);
		conn->no_stream = r == -EOPNOTSUPP;
		if (conn->no_stream)
			lx_warn("%s reason=\"it has ECN (sysctl net.ipv4.tcp_ecn), or timestamps in "
				"microseconds\" action=\"it is no lane\"",
				lx_sock_conn_name(conn, name, sizeof(name)));
		return;
	}
	fast->lane[index] = conn;
	fast->run[index] = (struct lx_fast_run){ .since_ns = lx_sock_now() };
	conn->lane = index;
}

/* Whether there is room for it in the tables. */
static bool has_room(const struct lx_sock_fast *fast, const struct lx_sock_conn *conn)
{
	return lx_forward_hop(fast->forward, conn->peer->hop)->n_lanes < LX_HOP_LANES &&
	       (conn->lane >= 0 ||
		lx_forward_used(fast->forward, LX_FORWARD_LANES) < LX_LANES_MAX);
}

/* Gives the programs a connection, for the first time or again. */
static void lane_give(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_hop *hop = lx_forward_hop(fast->forward, conn->peer->hop);

	if (conn->lane < 0)
		lane_add(fast, conn);
	else if (lane_is_referred(fast, conn->lane) ||
		 lx_forward_arm(fast->forward, LX_FLOW_LANE, conn->lane, true))
		return;
	if (conn->lane < 0)
		return;
	conn->narrow = !is_wide(conn);
	conn->lane_state = LX_SOCK_LANE_GIVEN;
	conn->back_ns = 0;
	hop_lane_add(hop, conn->lane);
}

/* Takes it back, when the last byte on it has been acknowledged. */
static void lane_take_back(struct lx_sock_fast *fast, struct lx_sock_conn *conn, uint64_t now)
{
	struct lx_lane *lane = lx_forward_lane(fast->forward, conn->lane);
	__u64 word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);

	if (conn->lane_state == LX_SOCK_LANE_GIVEN) {
		lx_fast_hop_lane_del(lx_forward_hop(fast->forward, conn->peer->hop), conn->lane);
		__atomic_store_n(&lane->state, LX_LANE_DRAIN, __ATOMIC_RELEASE);
		conn->lane_state = LX_SOCK_LANE_WANTED;
	}
	if (lx_fast_lane_is_busy(lane) || (uint32_t)word != (uint32_t)lane->una)
		return;
	/* Whoever has seen it live and is about to take it, fails. */
	if (!__atomic_compare_exchange_n(&lane->word, &word, (uint64_t)LX_LANE_OURS << 32 |
					 (uint32_t)word, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	lane->shift += (uint32_t)word;
	__atomic_store_n(&lane->state, LX_LANE_SOCKET, __ATOMIC_RELEASE);
	conn->lane_state = LX_SOCK_LANE_BACK;
	conn->back_ns = now;
}

/* Switched off, or of no use to the programs as it is. */
static bool is_wanted_back(const struct lx_sock_conn *conn)
{
	return !lx_sock_fast_on(conn->net) || conn->lane_state == LX_SOCK_LANE_WANTED ||
	       (conn->peer->wide && conn->narrow);
}

/* One bulk connection stays with us, unless it is the only one: then small ones do. */
void lx_fast_hop_lanes(struct lx_sock_fast *fast, struct lx_sock_peer *peer, uint64_t now)
{
	unsigned int bulk = 0, lanes = 0, others = 0;
	struct lx_sock_conn *conn;

	lx_list_for_each (conn, &peer->conns, link) {
		conn->lane_due = false;
		if (lx_sock_fast_has(conn) && is_wanted_back(conn))
			lane_take_back(fast, conn, now);
		bulk += conn->ctype == LX_CTYPE_BULK_OUT;
		others += conn->ctype != LX_CTYPE_BULK_OUT;
		lanes += lx_sock_fast_has(conn);
	}
	peer->wide = false;
	if (!lx_sock_fast_on(peer->net))
		return;
	lx_list_for_each (conn, &peer->conns, link) {
		if (conn->ctype != LX_CTYPE_BULK_OUT || lx_sock_fast_has(conn) || conn->loopback ||
		    conn->no_stream)
			continue;
		if (lanes + 1 >= bulk && (bulk > 1 || !others))
			return;
		if (!has_room(fast, conn) || (!is_due(conn, now) && !is_wide(conn)))
			continue;
		conn->lane_due = !is_idle(conn);
		if (!conn->lane_due)
			lane_give(fast, conn);
		lanes += conn->lane_due || lx_sock_fast_has(conn);
	}
}

bool lx_fast_lane_leave(struct lx_sock_fast *fast, struct lx_lane *lane)
{
	if ((uint32_t)lane->word != (uint32_t)lane->sent)
		return false;
	lx_fast_lane_drop_credits(fast, lane);
	__atomic_fetch_or(&lane->word, (uint64_t)LX_LANE_OWNER << 32, __ATOMIC_ACQ_REL);
	return true;
}

/* Nobody sends again what got lost of a stream that has ended. */
static bool lane_is_stuck(const struct lx_sock_fast *fast, const struct lx_lane *lane,
			  struct lx_sock_conn *conn, uint64_t now)
{
	uint32_t owner = lx_fast_lane_owner(lane);

	if (lx_fast_stream_is_open(fast, owner) || (uint32_t)lane->word == (uint32_t)lane->una)
		conn->left_ns = 0;
	else if (!conn->left_ns)
		conn->left_ns = now;
	return conn->left_ns && now >= conn->left_ns + LEFT_NS;
}

/* The next hop, or a router on the way, may have come to take smaller segments, or larger. */
static void lane_measure(struct lx_lane *lane, struct lx_sock_conn *conn, uint64_t now)
{
	if (now < conn->mss_ns)
		return;
	conn->mss_ns = now + MSS_NS;
	__atomic_store_n(&lane->mss, lx_fast_mss_of(conn), __ATOMIC_RELAXED);
}

void lx_fast_lanes_tick(struct lx_sock_fast *fast, uint64_t now)
{
	unsigned int left = 0;
	int i;

	while ((i = lx_fast_round(fast, LX_FORWARD_LANES, &fast->lane_at, &left)) >= 0) {
		struct lx_lane *lane = lx_forward_lane(fast->forward, i);
		struct lx_sock_conn *conn = fast->lane[i];

		if (!conn && !lane_is_referred(fast, i))
			lx_forward_give(fast->forward, LX_FORWARD_LANES, i);
		if (!conn || conn->closing)
			continue;
		if (lane_is_stuck(fast, lane, conn, now)) {
			lx_fast_lane_left(fast, i);
			lx_sock_conn_close(conn, -ETIMEDOUT, LX_HSTATUS_REMOTE_TIMEOUT);
			continue;
		}
		lane_measure(lane, conn, now);
		lx_fast_lane_watch(fast, i, now);
	}
}

/* ---- its connection ends ------------------------------------------------------------- */

/* What was sent on a lane and has not been acknowledged, by type; the payload of all of it. */
static struct lx_type_counts lost_messages(struct lx_sock_fast *fast, unsigned int stream, int lane,
					   uint64_t *ret_payload)
{
	const struct lx_stream *s = lx_forward_stream(fast->forward, stream);
	uint64_t una = lx_forward_lane(fast->forward, lane)->una;
	uint64_t n[LX_LANE_TYPES] = { 0 };
	size_t overhead = lx_proto_overhead(s->version);

	*ret_payload = 0;
	for (uint32_t i = s->head; i != s->tail; i++) {
		const struct lx_slot *slot = &s->slot[i % LX_STREAM_SLOTS];

		if (slot->lane != lane || una >= slot->lane_start + slot->len)
			continue;
		n[slot->type % LX_LANE_TYPES]++;
		*ret_payload += slot->len - overhead;
	}
	return (struct lx_type_counts){ .ack = n[LX_MSG_ACK], .put = n[LX_MSG_PUT],
					.get = n[LX_MSG_GET], .reply = n[LX_MSG_REPLY] };
}

/* The lane's stream goes on, but for these. */
static void lane_lost(struct lx_sock_fast *fast, struct lx_sock_conn *conn, unsigned int stream)
{
	uint64_t payload;
	struct lx_type_counts n = lost_messages(fast, stream, conn->lane, &payload);

	lx_lnd_lost(conn->net->ni, &conn->peer->id.nid, &n, payload);
	lx_warn("nid=%s next_hop=%s messages=%" PRIu64 " reason=\"the connection that they were "
		"sent on has ended\" action=\"dropped; their senders time out or try again\"",
		lx_nid_str(&fast->stream[stream].conn->peer->id.nid),
		lx_nid_str(&conn->peer->id.nid), n.ack + n.put + n.get + n.reply);
	lx_forward_kick(fast->forward, stream);
}

/*
 * What the next hop has not acknowledged is lost, as it would be if we had it in our
 * buffers. The sender goes on: its other messages go elsewhere.
 */
void lx_fast_lane_closing(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_lane *lane = lx_forward_lane(fast->forward, conn->lane);
	uint32_t owner = lx_fast_lane_owner(lane);

	__atomic_store_n(&lane->state, LX_LANE_DEAD, __ATOMIC_SEQ_CST);
	lx_sock_fast_count_conn(conn);
	if (conn->peer && conn->peer->hop >= 0)
		lx_fast_hop_lane_del(lx_forward_hop(fast->forward, conn->peer->hop), conn->lane);
	conn->reset = true;
	if (!lx_fast_lane_is_busy(lane))
		return;
	lx_fast_lane_drop_credits(fast, lane);
	if (lx_fast_stream_is_open(fast, owner))
		lane_lost(fast, conn, owner);
}

void lx_fast_lane_gone(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_lane *lane = lx_forward_lane(fast->forward, conn->lane);

	lx_forward_flow_del(fast->forward, &lane->key);
	lane->state = LX_LANE_FREE;
	fast->lane[conn->lane] = NULL; /* given back by lx_fast_lanes_tick() */
}

/* ---- credits ------------------------------------------------------------------------- */

/* As the programs do (bpf/lane.h). */
static void credit_give(struct lx_credit *credit)
{
	__atomic_add_fetch(&credit->now, 1, __ATOMIC_ACQ_REL);
	__atomic_sub_fetch(&credit->lanes, 1, __ATOMIC_ACQ_REL);
}

/* Credits of a run that will not end by itself. */
void lx_fast_lane_drop_credits(struct lx_sock_fast *fast, struct lx_lane *lane)
{
	struct lx_stream *s = lx_forward_stream(fast->forward, lx_fast_lane_owner(lane));
	struct lx_hop *from = s ? lx_forward_hop(fast->forward, s->hop) : NULL;
	uint64_t busy = (uint64_t)LX_LANE_BUSY << 32;

	if (!(__atomic_fetch_and(&lane->word, ~busy, __ATOMIC_ACQ_REL) & busy))
		return;
	credit_give(&lx_forward_hop(fast->forward, lane->hop)->tx);
	if (from)
		credit_give(&from->rtr);
}
