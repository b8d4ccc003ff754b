/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See fast.h. The life of a stream:
 *
 *	first message to be routed ─▶ ARMED ─ 5 ms ─▶ ON, RAW ─ a boundary ─▶ ON, framed
 *
 * A stream that has messages with us must not overtake them with one on a lane: the
 * programs wait until we say that we are through. With traffic that never pauses that
 * moment does not come by itself, so we make one: HOLD has the sender run dry.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../../user/bpf/forward.h"
#include "../../user/io/tcpinfo.h"
#include "fast.h"

#define TICK_MS 5
#define HELD_TICK_MS 1
#define IDLE_TICK_MS 100
#define ARM_NS (5 * LX_SOCK_MSEC)
/* Held, a sender waits for no more than we still have of it: giving up gains little. */
#define HOLD_MAX_NS (400 * LX_SOCK_MSEC)
/* In the middle of a message the sender does not stand still, unless it cannot end it. */
#define HOLD_STUCK_NS (5 * LX_SOCK_MSEC)
#define HOLD_PAUSE_MIN_NS (20 * LX_SOCK_MSEC)
#define HOLD_PAUSE_MAX_NS (2 * LX_SOCK_SECOND)
/* A hold was worth it if so much went by lanes before the next one was called for. */
#define HOLD_WORTH 64
/*
 * A super-packet whose messages go different ways is cut up into segments, which costs more
 * than the slow path does if it happens for less than so many bytes carried.
 */
#define CUT_WORTH (256u << 10)
#define CUTS_MIN 32
#define ASIDE_MIN_NS (500 * LX_SOCK_MSEC)
#define ASIDE_MAX_NS (8 * LX_SOCK_SECOND)
/* A lane's window has to take a whole message: so much, or the connection is old. */
#define WARM_WINDOW ((1u << 20) + (1u << 16))
#define WARM_BYTES (1u << 20)
#define WARM_NS (2 * LX_SOCK_SECOND)

struct stream_state {
	struct lx_sock_conn *conn; /* NULL: free */
	uint64_t since_ns;
	uint64_t pos_offset;       /* stream socket position less conn->rx.taken */
	uint64_t hold_ns;          /* since when; 0: not held */
	uint64_t hold_after_ns;    /* not again before */
	uint64_t hold_pause_ns;
	uint64_t lanes_at_hold;    /* lane_messages when it was held last */
	uint64_t aside_ns;         /* no lanes until then: cutting costs too much */
	uint64_t aside_pause_ns;
	uint64_t cuts_seen, lane_bytes_seen, no_lane_seen; /* at the last judgement */
	uint64_t order_seen;       /* reasons[ORDER] at the last tick */
	uint64_t high_seen;        /* s->high, held, and since when */
	uint64_t high_ns;
	int to_hop;                /* where the last message of it went; -1: not known */
	uint64_t quiet_pos;        /* everything before it had been sent on ... */
	uint32_t quiet_barrier;    /* ... and has arrived when this barrier is down; 0: none */
};

struct dest {
	struct lx_hash_node node;
	struct lx_list link;
	struct lx_nid nid;
	int hop;
};

struct lx_sock_fast {
	struct lx_sock_host *host; /* NULL: stopping */
	struct lx_loop *loop;
	struct lx_forward *forward;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned int open; /* handles */
	unsigned int pace_ms; /* the timer's */
	uint64_t hops_ns;  /* when hops were looked after */
	unsigned int n_changing; /* streams held, being armed or RAW, at the last look */
	struct stream_state *stream;
	struct lx_sock_conn **lane;
	struct lx_sock_peer **hop;
	bool *shared; /* by hop: the core knows the peer */
	unsigned int n_streams, n_lanes, n_hops; /* in use */
	uint32_t barrier, barrier_down; /* the last one begun, the last one that is down */
	bool barrier_wanted;
	struct lx_hash dests;
	struct lx_list dest_list;
	bool full; /* said that there are no more streams */
};

static struct lx_stream *stream_of(const struct lx_sock_conn *conn)
{
	return lx_forward_stream(conn->host->fast->forward, conn->stream);
}

/* ---- keys ------------------------------------------------------------------- */

static void key_addr(const union lx_addr *addr, uint8_t to[16], __be16 *ret_port)
{
	memset(to, 0, 16);
	if (addr->sa.sa_family == AF_INET6) {
		memcpy(to, &addr->v6.sin6_addr, 16);
		*ret_port = addr->v6.sin6_port;
		return;
	}
	to[10] = to[11] = 0xff;
	memcpy(to + 12, &addr->v4.sin_addr, 4);
	*ret_port = addr->v4.sin_port;
}

static void key_of(struct lx_sock_conn *conn, struct lx_flow_key *ret_key)
{
	union lx_addr local;
	socklen_t len = sizeof(local);

	if (getsockname(conn->fd, &local.sa, &len))
		local = conn->local;
	key_addr(&conn->remote, ret_key->remote, &ret_key->remote_port);
	key_addr(&local, ret_key->local, &ret_key->local_port);
}

static uint8_t tos_of(const struct lx_sock_conn *conn)
{
	int tos = conn->net->ni->lnd_tun.value[LX_SOCK_NI_TOS];

	return tos > 0 ? tos : 0;
}

static uint16_t mtu_of(const struct lx_sock_conn *conn)
{
	struct ifreq ifr = { 0 };

	memcpy(ifr.ifr_name, conn->net->ni->ifname, IFNAMSIZ);
	ifr.ifr_name[IFNAMSIZ - 1] = '\0';
	ifr.ifr_name[strcspn(ifr.ifr_name, ":")] = '\0';
	return ioctl(conn->fd, SIOCGIFMTU, &ifr) ? 0 : ifr.ifr_mtu > 65535 ? 65535 : ifr.ifr_mtu;
}

/* ---- hops: peers that messages come from, or go to ---------------------------- */

static bool lane_is_busy(const struct lx_lane *lane)
{
	return (__atomic_load_n(&lane->word, __ATOMIC_ACQUIRE) >> 32 & LX_LANE_BUSY) != 0;
}

static uint32_t lane_owner(const struct lx_lane *lane)
{
	return (__atomic_load_n(&lane->word, __ATOMIC_ACQUIRE) >> 32) & LX_LANE_OWNER;
}

/*
 * The core and the programs take the same credits. Again after the core has made a new
 * peer of a deleted one.
 */
static void hop_share(struct lx_sock_fast *fast, struct lx_sock_peer *peer)
{
	struct lx_hop *hop = lx_forward_hop(fast->forward, peer->hop);
	int32_t sent = 0, received = 0;

	for (unsigned int i = 0; i < lx_forward_lanes(fast->forward); i++) {
		const struct lx_lane *lane = lx_forward_lane(fast->forward, i);
		const struct lx_stream *s;

		if (!fast->lane[i] || !lane_is_busy(lane))
			continue;
		s = lx_forward_stream(fast->forward, lane_owner(lane));
		sent += lane->hop == (uint32_t)peer->hop;
		received += s && s->hop == (uint32_t)peer->hop;
	}
	/* The core may come to know it only with the message at hand: until then no credits. */
	fast->shared[peer->hop] = !lx_lnd_share_credits(peer->net->ni, &peer->id.nid, &hop->tx,
							&hop->rtr, sent, received);
}

static int hop_obtain(struct lx_sock_fast *fast, struct lx_sock_peer *peer)
{
	struct lx_hop *hop;

	if (peer->hop >= 0)
		return peer->hop;
	for (unsigned int i = 0; i < lx_forward_hops(fast->forward); i++) {
		if (fast->hop[i])
			continue;
		hop = lx_forward_hop(fast->forward, i);
		memset(hop, 0, sizeof(*hop));
		hop->nid = peer->id.nid;
		fast->hop[i] = peer;
		fast->n_hops++;
		peer->hop = (int)i;
		hop_share(fast, peer);
		return peer->hop;
	}
	return -ENOSPC;
}

static void forget(struct lx_sock_fast *fast, struct dest *dest)
{
	lx_forward_dest_set(fast->forward, &dest->nid, NULL);
	lx_hash_del(&fast->dests, &dest->node);
	lx_list_del(&dest->link);
	free(dest);
}

void lx_sock_fast_forget(struct lx_sock_host *host)
{
	struct lx_sock_fast *fast = host->fast;
	struct dest *dest;

	while (fast && (dest = lx_list_first(&fast->dest_list, struct dest, link)))
		forget(fast, dest);
	for (unsigned int i = 0; fast && i < lx_forward_hops(fast->forward); i++) {
		if (fast->hop[i])
			hop_share(fast, fast->hop[i]);
	}
}

void lx_sock_fast_peer_gone(struct lx_sock_peer *peer)
{
	struct lx_sock_fast *fast = peer->net->host ? peer->net->host->fast : NULL;
	struct dest *dest, *next;

	if (!fast || peer->hop < 0)
		return;
	lx_list_for_each_safe (dest, next, &fast->dest_list, link) {
		if (dest->hop == peer->hop)
			forget(fast, dest);
	}
	(void)lx_lnd_share_credits(peer->net->ni, &peer->id.nid, NULL, NULL, 0, 0);
	fast->hop[peer->hop] = NULL;
	fast->n_hops--;
	peer->hop = -1;
}

static struct dest *dest_lookup(struct lx_sock_fast *fast, const struct lx_nid *nid)
{
	struct dest *dest;

	lx_hash_for_each (dest, &fast->dests, lx_nid_hash(nid), node) {
		if (lx_nid_eq(&dest->nid, nid))
			return dest;
	}
	return NULL;
}

void lx_sock_fast_learn(struct lx_sock_peer *peer, const struct lx_nid *dst)
{
	struct lx_sock_fast *fast = peer->net->host->fast;
	struct lx_dest value = { .n = 1 };
	struct dest *dest;
	int hop;

	if (!fast)
		return;
	dest = dest_lookup(fast, dst);
	if (dest && dest->hop == peer->hop)
		return;
	hop = hop_obtain(fast, peer);
	if (hop < 0)
		return;
	if (!dest) {
		dest = calloc(1, sizeof(*dest));
		if (!dest)
			return;
		dest->nid = *dst;
		lx_hash_add(&fast->dests, &dest->node, lx_nid_hash(dst));
		lx_list_append(&fast->dest_list, &dest->link);
	}
	dest->hop = hop;
	value.hop[0] = hop;
	if (lx_forward_dest_set(fast->forward, dst, &value))
		forget(fast, dest);
}

/* ---- streams ------------------------------------------------------------------- */

/* Bytes of the connection's socket that have been dealt with, from its beginning. */
static int find_offset(struct lx_sock_conn *conn, uint64_t *ret_offset)
{
	struct lx_tcpinfo before, after;
	int waiting, r;

	do {
		r = lx_tcpinfo_read(conn->fd, &before);
		if (!r && ioctl(conn->fd, SIOCINQ, &waiting))
			r = -errno;
		if (!r)
			r = lx_tcpinfo_read(conn->fd, &after);
	} while (!r && before.received != after.received);
	/* What this turn of the loop has read already, but has not come to. */
	*ret_offset = before.received - waiting - conn->rx.ahead - conn->rx.taken;
	return r;
}

static int stream_free_index(struct lx_sock_fast *fast)
{
	for (unsigned int i = 0; i < lx_forward_streams(fast->forward); i++) {
		if (!fast->stream[i].conn)
			return (int)i;
	}
	if (!fast->full)
		lx_warn("streams=%u reason=\"all of them are in use\" action=\"further "
			"connections are served without the kernel\"",
			fast->n_streams);
	fast->full = true;
	return -ENOSPC;
}

static void stream_add(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;
	struct stream_state *state;
	int index = stream_free_index(fast), hop;
	struct lx_stream *s;

	hop = index < 0 ? index : hop_obtain(fast, conn->peer);
	if (hop < 0)
		return;
	s = lx_forward_stream(fast->forward, index);
	state = &fast->stream[index];
	memset(s, 0, sizeof(*s));
	memset(state, 0, sizeof(*state));
	if (find_offset(conn, &state->pos_offset))
		return;
	s->version = conn->version;
	s->family = conn->remote.sa.sa_family;
	s->flip = conn->flip;
	s->hop = hop;
	s->ifindex = conn->net->netif.index;
	s->mtu = mtu_of(conn);
	s->tos = tos_of(conn);
	key_of(conn, &s->key);
	if (lx_forward_flow_add(fast->forward, &s->key, LX_FLOW_STREAM, index))
		return;
	if (lx_forward_arm(fast->forward, LX_FLOW_STREAM, index, false)) {
		lx_forward_flow_del(fast->forward, &s->key);
		conn->no_stream = true;
		return;
	}
	state->conn = conn;
	state->since_ns = lx_sock_now();
	state->hold_pause_ns = HOLD_PAUSE_MIN_NS;
	state->to_hop = -1;
	conn->stream = index;
	fast->n_streams++;
}

static bool may_stream(const struct lx_sock_conn *conn, const struct lx_hdr *hdr)
{
	if (!lx_sock_tun.fast_path || conn->no_stream || conn->lane >= 0 ||
	    !lx_forward_is_attached(conn->host->fast->forward, conn->net->netif.index) || conn->version < LX_SOCK_V2 || conn->loopback ||
	    conn->net->netif.loopback || conn->rx.userspace)
		return false;
	return !lx_sock_net_lookup(conn->host, &hdr->dst_nid);
}

/* Whether all that came before this position of the socket and went to lanes has arrived. */
static bool lanes_are_through(struct lx_sock_fast *fast, struct lx_stream *s, uint64_t pos)
{
	uint32_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
	uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);

	for (; head != tail; head++) {
		const struct lx_slot *slot = &s->slot[head % LX_STREAM_SLOTS];
		const struct lx_lane *lane;

		if (slot->lane == LX_NO_LANE) {
			if (pos < slot->lane_start + slot->len)
				return true;
			continue;
		}
		lane = lx_forward_lane(fast->forward, slot->lane);
		if (lane && __atomic_load_n(&lane->una, __ATOMIC_ACQUIRE) <
				    slot->lane_start + slot->len)
			return false;
	}
	return true;
}

static uint64_t pos_now(const struct lx_sock_conn *conn)
{
	return conn->host->fast->stream[conn->stream].pos_offset + conn->rx.taken;
}

bool lx_sock_fast_clear(struct lx_sock_conn *conn)
{
	if (conn->stream < 0)
		return true;
	return lanes_are_through(conn->host->fast, stream_of(conn), conn->rx.gate);
}

/* Tells the programs where the next message begins. */
static void publish_boundary(struct lx_sock_conn *conn, struct lx_stream *s, uint64_t boundary)
{
	uint64_t stream_pos;

	__atomic_store_n(&s->boundary, boundary, __ATOMIC_RELEASE);
	if (!s->raw || s->state != LX_STREAM_ON || (s->flags & LX_STREAM_NO_LANES))
		return;
	/* The sender may have come to the end of what it was allowed. */
	stream_pos = boundary + s->diverted;
	if (stream_pos >= s->raw_high || s->told_edge <= stream_pos)
		lx_forward_kick(conn->host->fast->forward, conn->stream);
}

bool lx_sock_fast_message(struct lx_sock_conn *conn, const struct lx_hdr *hdr, size_t len)
{
	struct lx_sock_fast *fast = conn->host->fast;
	const struct dest *dest;
	struct lx_stream *s;
	uint64_t start;

	if (!fast || !fast->host)
		return true;
	if (conn->stream < 0) {
		if (!hdr || !may_stream(conn, hdr))
			return true;
		stream_add(conn);
		if (conn->stream < 0)
			return true;
	}
	s = stream_of(conn);
	start = pos_now(conn) - conn->rx.have;
	publish_boundary(conn, s, start + len);
	dest = hdr ? dest_lookup(fast, &hdr->dst_nid) : NULL;
	if (dest)
		fast->stream[conn->stream].to_hop = dest->hop;
	if (!hdr || s->state != LX_STREAM_ON)
		return true;
	conn->rx.gate = start;
	if (lanes_are_through(fast, s, start))
		return true;
	conn->rx.gated = true;
	return false;
}

/* ---- barriers: what was sent has arrived ---------------------------------------- */

/*
 * A barrier is what all connections to next hops had been given at one moment; it is
 * down when the next hops' TCP has acknowledged that much. One at a time.
 */
static void barrier_begin(struct lx_sock_fast *fast)
{
	struct lx_sock_conn *conn;

	for (unsigned int i = 0; i < lx_forward_hops(fast->forward); i++) {
		if (!fast->hop[i])
			continue;
		lx_list_for_each (conn, &fast->hop[i]->conns, link)
			conn->barrier = conn->tx_bytes;
	}
	fast->barrier++;
}

static bool barrier_is_down(struct lx_sock_fast *fast)
{
	struct lx_sock_conn *conn;

	for (unsigned int i = 0; i < lx_forward_hops(fast->forward); i++) {
		if (!fast->hop[i])
			continue;
		lx_list_for_each (conn, &fast->hop[i]->conns, link) {
			if (conn->barrier && conn->tx_bytes - lx_sock_conn_unsent(conn) < conn->barrier)
				return false;
			conn->barrier = 0;
		}
	}
	return true;
}

static void barrier_tick(struct lx_sock_fast *fast)
{
	if (fast->barrier != fast->barrier_down && barrier_is_down(fast))
		fast->barrier_down = fast->barrier;
	if (fast->barrier == fast->barrier_down && fast->barrier_wanted) {
		fast->barrier_wanted = false;
		barrier_begin(fast);
	}
}

/*
 * Publishes how far everything is dealt with: between two messages, when all before has
 * been sent on, and then has arrived.
 */
static void publish_through(struct lx_sock_fast *fast, struct stream_state *state,
			    struct lx_stream *s)
{
	struct lx_sock_conn *conn = state->conn;

	if (state->quiet_barrier && (int32_t)(fast->barrier_down - state->quiet_barrier) >= 0) {
		__atomic_store_n(&s->through, state->quiet_pos, __ATOMIC_RELEASE);
		state->quiet_barrier = 0;
	}
	if (state->quiet_barrier || s->order <= s->through)
		return;
	if (conn->rx.state != LX_SOCK_RX_HEADER || conn->rx.have || conn->rx.stash ||
	    lx_lnd_forwarding(conn->net->ni, conn))
		return;
	state->quiet_pos = pos_now(conn);
	/* The next one to begin; what is under way began too early. */
	state->quiet_barrier = fast->barrier + 1;
	fast->barrier_wanted = true;
}

static void release(struct lx_sock_fast *fast, unsigned int index)
{
	struct stream_state *state = &fast->stream[index];
	struct lx_stream *s = lx_forward_stream(fast->forward, index);

	state->hold_ns = 0;
	__atomic_and_fetch(&s->flags, ~LX_STREAM_HOLD, __ATOMIC_RELEASE);
	lx_forward_kick(fast->forward, index);
}

static void hold(struct lx_sock_fast *fast, unsigned int index, uint64_t now)
{
	struct stream_state *state = &fast->stream[index];
	struct lx_stream *s = lx_forward_stream(fast->forward, index);
	bool worth = s->lane_messages - state->lanes_at_hold >= HOLD_WORTH;

	state->hold_pause_ns = worth ? HOLD_PAUSE_MIN_NS : 2 * state->hold_pause_ns;
	if (state->hold_pause_ns > HOLD_PAUSE_MAX_NS)
		state->hold_pause_ns = HOLD_PAUSE_MAX_NS;
	state->lanes_at_hold = s->lane_messages;
	state->hold_ns = state->high_ns = now;
	state->hold_after_ns = now + state->hold_pause_ns;
	__atomic_or_fetch(&s->flags, LX_STREAM_HOLD, __ATOMIC_RELEASE);
}

/* Whether its messages could take a lane if it had none of ours before them. */
static bool has_lanes(struct lx_sock_fast *fast, const struct stream_state *state)
{
	const struct lx_hop *hop =
		state->to_hop >= 0 ? lx_forward_hop(fast->forward, state->to_hop) : NULL;

	for (unsigned int i = 0; hop && i < hop->n_lanes; i++) {
		if (!lane_is_busy(lx_forward_lane(fast->forward, hop->lane[i])))
			return true;
	}
	return false;
}

/* Whether a sender that is held has stopped in the middle of a message. */
static bool hold_is_stuck(struct lx_sock_fast *fast, unsigned int index, uint64_t now)
{
	struct stream_state *state = &fast->stream[index];
	const struct lx_stream *s = lx_forward_stream(fast->forward, index);

	if (s->high != state->high_seen || s->raw || s->high == s->parse_next) {
		state->high_seen = s->high;
		state->high_ns = now;
	}
	if (s->told_edge < s->parse_next)
		lx_forward_kick(fast->forward, index); /* to its end now? */
	return now >= state->high_ns + HOLD_STUCK_NS;
}

/* Messages went our way for nothing but the order: find a moment to change over. */
static void stream_order(struct lx_sock_fast *fast, unsigned int index, uint64_t now)
{
	struct stream_state *state = &fast->stream[index];
	struct lx_stream *s = lx_forward_stream(fast->forward, index);
	uint64_t order = s->reasons[LX_LANE0_ORDER];
	bool asked = order != state->order_seen || s->raw;

	state->order_seen = order;
	publish_through(fast, state, s);
	if (state->hold_ns && ((!s->raw && s->order <= s->through) ||
			       now >= state->hold_ns + HOLD_MAX_NS ||
			       hold_is_stuck(fast, index, now)))
		release(fast, index);
	else if (!state->hold_ns && asked && s->order > s->through && has_lanes(fast, state) &&
		 now >= state->hold_after_ns)
		hold(fast, index, now);
}

/* Where there are fewer lanes than streams, those that have them shall keep them for a while. */
static void stream_yield(struct lx_sock_fast *fast, struct stream_state *state,
			 const struct lx_stream *s, uint64_t now)
{
	uint64_t no_lane = s->reasons[LX_LANE0_NO_LANE];

	if (no_lane != state->no_lane_seen && state->to_hop >= 0 &&
	    lx_forward_hop(fast->forward, state->to_hop)->n_lanes)
		state->aside_ns = now + ASIDE_MIN_NS;
	state->no_lane_seen = no_lane;
}

/* Messages that change their destination all the time are better off with us. */
static void stream_judge(struct stream_state *state, const struct lx_stream *s, uint64_t now)
{
	uint64_t cuts = s->cuts - state->cuts_seen;
	uint64_t bytes = s->lane_bytes - state->lane_bytes_seen;

	if (cuts < CUTS_MIN)
		return;
	state->cuts_seen = s->cuts;
	state->lane_bytes_seen = s->lane_bytes;
	if (bytes / cuts >= CUT_WORTH) {
		state->aside_pause_ns = 0;
		return;
	}
	state->aside_pause_ns = state->aside_pause_ns ? 2 * state->aside_pause_ns : ASIDE_MIN_NS;
	if (state->aside_pause_ns > ASIDE_MAX_NS)
		state->aside_pause_ns = ASIDE_MAX_NS;
	state->aside_ns = now + state->aside_pause_ns;
}

/* Goes along with tunable fast_path. Returns whether lanes may be used. */
static bool stream_switch(struct lx_sock_fast *fast, unsigned int index, uint64_t now)
{
	struct lx_stream *s = lx_forward_stream(fast->forward, index);
	bool off = !lx_sock_tun.fast_path || now < fast->stream[index].aside_ns;

	if (off == !!(s->flags & LX_STREAM_NO_LANES))
		return !off;
	if (off)
		__atomic_or_fetch(&s->flags, LX_STREAM_NO_LANES, __ATOMIC_RELEASE);
	else
		__atomic_and_fetch(&s->flags, ~LX_STREAM_NO_LANES, __ATOMIC_RELEASE);
	release(fast, index);
	return !off;
}

static void stream_tick(struct lx_sock_fast *fast, unsigned int index, uint64_t now)
{
	struct stream_state *state = &fast->stream[index];
	struct lx_sock_conn *conn = state->conn;
	struct lx_stream *s = lx_forward_stream(fast->forward, index);

	if (s->state == LX_STREAM_ARMED) {
		if (now >= state->since_ns + ARM_NS &&
		    lx_forward_arm(fast->forward, LX_FLOW_STREAM, index, true))
			lx_debug("stream=%u reason=\"its socket is gone\"", index);
		else if (s->state == LX_STREAM_ON && stream_switch(fast, index, now) &&
			 has_lanes(fast, state))
			hold(fast, index, now); /* from the start, while there is little to wait for */
		fast->n_changing++;
		return;
	}
	if (conn->rx.gated)
		lx_sock_conn_post(conn, LX_SOCK_CONN_RX);
	stream_yield(fast, state, s, now);
	stream_judge(state, s, now);
	if (stream_switch(fast, index, now))
		stream_order(fast, index, now);
	fast->n_changing += state->hold_ns || state->quiet_barrier ||
			    (s->raw && !(s->flags & LX_STREAM_NO_LANES));
}

/* ---- lanes ------------------------------------------------------------------------ */

static bool is_idle(const struct lx_sock_conn *conn)
{
	return conn->phase == LX_SOCK_UP && !conn->closing && !conn->tx_busy &&
	       lx_list_empty(&conn->queue) && lx_list_empty(&conn->sending) &&
	       lx_list_empty(&conn->sent);
}

/* The next hop opens its window when it has seen that we send a lot. */
static bool is_warm(const struct lx_sock_conn *conn, uint64_t now)
{
	struct lx_tcpinfo info;

	if (lx_tcpinfo_read(conn->fd, &info))
		return false;
	return info.window >= WARM_WINDOW || conn->tx_bytes >= WARM_BYTES ||
	       now >= conn->up_ns + WARM_NS;
}

/*
 * Whether a stream still has to know what has arrived on a lane: behind a message that
 * waits for another lane there may be some that this one has carried. Its positions
 * must not begin anew before that is over.
 */
static bool lane_is_referred(const struct lx_sock_fast *fast, unsigned int index)
{
	for (unsigned int i = 0; i < lx_forward_streams(fast->forward); i++) {
		const struct lx_stream *s = lx_forward_stream(fast->forward, i);
		uint32_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
		uint32_t tail = __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE);

		for (; fast->stream[i].conn && head != tail; head++) {
			if (s->slot[head % LX_STREAM_SLOTS].lane == index)
				return true;
		}
	}
	return false;
}

static int lane_free_index(const struct lx_sock_fast *fast)
{
	for (unsigned int i = 0; i < lx_forward_lanes(fast->forward); i++) {
		if (!fast->lane[i] && !lane_is_referred(fast, i))
			return (int)i;
	}
	return -ENOSPC;
}

static void hop_lane_add(struct lx_hop *hop, unsigned int index)
{
	hop->lane[hop->n_lanes] = index;
	__atomic_store_n(&hop->n_lanes, hop->n_lanes + 1, __ATOMIC_RELEASE);
}

static void hop_lane_del(struct lx_hop *hop, unsigned int index)
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
	struct lx_hop *hop = lx_forward_hop(fast->forward, conn->peer->hop);
	int index = lane_free_index(fast), r;
	struct lx_lane *lane;

	if (index < 0 || hop->n_lanes == LX_HOP_LANES)
		return;
	lane = lx_forward_lane(fast->forward, index);
	memset(lane, 0, sizeof(*lane));
	lane->hop = conn->peer->hop;
	lane->ifindex = conn->net->netif.index;
	lane->version = conn->version;
	lane->family = conn->remote.sa.sa_family;
	lane->mtu = mtu_of(conn);
	lane->tos = tos_of(conn);
	key_of(conn, &lane->key);
	if (lx_forward_flow_add(fast->forward, &lane->key, LX_FLOW_LANE, index))
		return;
	r = lx_forward_arm(fast->forward, LX_FLOW_LANE, index, true);
	if (r) {
		lx_forward_flow_del(fast->forward, &lane->key);
		return;
	}
	fast->lane[index] = conn;
	fast->n_lanes++;
	conn->lane = index;
	hop_lane_add(hop, index);
}

/* One bulk connection stays with us, unless it is the only one: then small ones do. */
static void hop_lanes(struct lx_sock_fast *fast, struct lx_sock_peer *peer, uint64_t now)
{
	struct lx_sock_conn *conn;
	unsigned int bulk = 0, lanes = 0, others = 0;

	lx_list_for_each (conn, &peer->conns, link) {
		bulk += conn->ctype == LX_CTYPE_BULK_OUT;
		others += conn->ctype != LX_CTYPE_BULK_OUT;
		lanes += conn->lane >= 0;
	}
	lx_list_for_each (conn, &peer->conns, link) {
		if (conn->ctype != LX_CTYPE_BULK_OUT || conn->lane >= 0 || conn->loopback ||
		    !lx_forward_is_attached(fast->forward, conn->net->netif.index))
			continue;
		if (lanes + 1 >= bulk && (bulk > 1 || !others))
			return;
		if (!is_idle(conn) || !is_warm(conn, now) || lx_sock_conn_unsent(conn))
			continue;
		lane_add(fast, conn);
		lanes += conn->lane >= 0;
	}
}

/* Goes along with tunable fast_path: what is on lanes goes on, nothing more is put there. */
static void lanes_switch(struct lx_sock_fast *fast)
{
	uint32_t from = lx_sock_tun.fast_path ? LX_LANE_DRAIN : LX_LANE_LIVE;
	uint32_t to = lx_sock_tun.fast_path ? LX_LANE_LIVE : LX_LANE_DRAIN;

	for (unsigned int i = 0; i < lx_forward_lanes(fast->forward); i++) {
		struct lx_lane *lane = lx_forward_lane(fast->forward, i);

		if (fast->lane[i] && lane->state == from)
			__atomic_store_n(&lane->state, to, __ATOMIC_RELEASE);
	}
}

/* Credits of a run that will not end by itself. */
static void lane_drop_credits(struct lx_sock_fast *fast, struct lx_lane *lane)
{
	uint64_t word = __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE);
	uint32_t owner = (word >> 32) & LX_LANE_OWNER;
	struct lx_stream *s = lx_forward_stream(fast->forward, owner);
	struct lx_hop *from = s ? lx_forward_hop(fast->forward, s->hop) : NULL;
	uint64_t busy = (uint64_t)LX_LANE_BUSY << 32;

	if (!(__atomic_fetch_and(&lane->word, ~busy, __ATOMIC_ACQ_REL) & busy))
		return;
	__atomic_fetch_add(&lx_forward_hop(fast->forward, lane->hop)->tx.now, 1, __ATOMIC_ACQ_REL);
	if (from)
		__atomic_fetch_add(&from->rtr.now, 1, __ATOMIC_ACQ_REL);
}

/* ---- connections end --------------------------------------------------------------- */

/* What this peer has begun on lanes will never be complete: the next hops must drop it. */
static void stream_closing(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_stream *s = stream_of(conn);

	s->flags |= LX_STREAM_NO_LANES;
	lx_sock_fast_count_conn(conn);
	for (unsigned int i = 0; i < lx_forward_lanes(fast->forward); i++) {
		struct lx_lane *lane = lx_forward_lane(fast->forward, i);

		if (fast->lane[i] && lane_is_busy(lane) && lane_owner(lane) == (uint32_t)conn->stream)
			lx_sock_conn_close(fast->lane[i], -ECONNRESET, LX_HSTATUS_REMOTE_DROPPED);
	}
	conn->reset = conn->reset || s->diverted;
}

/* What the next hop has not acknowledged is lost: its sender has to hear of it. */
static void lane_closing(struct lx_sock_fast *fast, struct lx_sock_conn *conn)
{
	struct lx_lane *lane = lx_forward_lane(fast->forward, conn->lane);
	uint32_t owner = lane_owner(lane);

	lane->state = LX_LANE_DEAD;
	lx_sock_fast_count_conn(conn);
	if (conn->peer && conn->peer->hop >= 0)
		hop_lane_del(lx_forward_hop(fast->forward, conn->peer->hop), conn->lane);
	conn->reset = true;
	if (!lane_is_busy(lane))
		return;
	lane_drop_credits(fast, lane);
	if (owner < lx_forward_streams(fast->forward) && fast->stream[owner].conn)
		lx_sock_conn_close(fast->stream[owner].conn, -ECONNRESET,
				   LX_HSTATUS_REMOTE_DROPPED);
}

void lx_sock_fast_conn_closing(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;

	if (fast && conn->stream >= 0)
		stream_closing(fast, conn);
	if (fast && conn->lane >= 0)
		lane_closing(fast, conn);
}

void lx_sock_fast_conn_gone(struct lx_sock_conn *conn)
{
	struct lx_sock_fast *fast = conn->host->fast;

	if (fast && conn->stream >= 0) {
		struct lx_stream *s = stream_of(conn);

		lx_forward_flow_del(fast->forward, &s->key);
		s->state = LX_STREAM_FREE;
		fast->stream[conn->stream].conn = NULL;
		fast->n_streams--;
		fast->full = false;
	}
	if (fast && conn->lane >= 0) {
		struct lx_lane *lane = lx_forward_lane(fast->forward, conn->lane);

		lx_forward_flow_del(fast->forward, &lane->key);
		lane->state = LX_LANE_FREE;
		fast->lane[conn->lane] = NULL;
		fast->n_lanes--;
	}
	conn->stream = conn->lane = -1;
}

/* ---- records ---------------------------------------------------------------------------- */

/* Messages that had cookies have arrived: the peer wants to hear of it. */
static void answer_cookies(struct lx_sock_fast *fast, unsigned int index)
{
	struct lx_stream *s = lx_forward_stream(fast->forward, index);
	struct lx_sock_conn *conn = s ? fast->stream[index].conn : NULL;
	uint64_t cookie;

	if (!conn)
		return;
	__atomic_store_n(&s->cookies_told, 0, __ATOMIC_SEQ_CST);
	while (s->cookie_head != __atomic_load_n(&s->cookie_tail, __ATOMIC_ACQUIRE)) {
		cookie = s->cookie[s->cookie_head++ % LX_STREAM_COOKIES];
		__atomic_sub_fetch(&s->cookies_due, 1, __ATOMIC_ACQ_REL);
		if (!conn->closing && lx_sock_zc_answer(conn, cookie, true))
			lx_sock_conn_fail(conn, -ENOMEM, LX_HSTATUS_LOCAL_ERROR,
					  "cannot acknowledge a zero-copy message");
	}
}

static void credits_back(struct lx_sock_fast *fast, unsigned int hop)
{
	struct lx_sock_peer *peer = hop < lx_forward_hops(fast->forward) ? fast->hop[hop] : NULL;

	if (peer)
		lx_lnd_credits_back(peer->net->ni, &peer->id.nid);
}

static void on_record(const struct lx_record *record, void *arg)
{
	struct lx_sock_fast *fast = arg;

	switch (record->type) {
	case LX_RECORD_COOKIES:
		answer_cookies(fast, record->index);
		break;
	case LX_RECORD_CREDIT:
		credits_back(fast, record->index);
		break;
	case LX_RECORD_KICK:
		lx_forward_kick(fast->forward, record->index);
		break;
	}
}

static void on_records(uv_poll_t *poll, int status, int events)
{
	struct lx_sock_fast *fast = poll->data;

	lx_loop_enter(fast->loop);
	if (fast->host)
		lx_forward_dispatch(fast->forward, on_record, fast);
	lx_loop_leave(fast->loop);
}

/* ---- life ---------------------------------------------------------------------------------- */

static void set_pace(struct lx_sock_fast *fast)
{
	unsigned int pace_ms = fast->n_changing	 ? HELD_TICK_MS
			       : fast->n_streams ? TICK_MS
						 : IDLE_TICK_MS;

	if (pace_ms == fast->pace_ms)
		return;
	fast->pace_ms = pace_ms;
	uv_timer_set_repeat(&fast->timer, pace_ms);
}

static void hops_tick(struct lx_sock_fast *fast, uint64_t now)
{
	fast->hops_ns = now;
	for (unsigned int i = 0; i < lx_forward_hops(fast->forward); i++) {
		if (!fast->hop[i])
			continue;
		if (!fast->shared[i])
			hop_share(fast, fast->hop[i]);
		if (lx_sock_tun.fast_path)
			hop_lanes(fast, fast->hop[i], now);
		credits_back(fast, i); /* a record may have been lost */
	}
	lanes_switch(fast);
}

static void streams_tick(struct lx_sock_fast *fast, uint64_t now)
{
	barrier_tick(fast);
	fast->n_changing = 0;
	for (unsigned int i = 0; i < lx_forward_streams(fast->forward); i++) {
		if (fast->stream[i].conn && !fast->stream[i].conn->closing)
			stream_tick(fast, i, now);
	}
	barrier_tick(fast); /* one that was asked for can begin at once */
}

static void on_timer(uv_timer_t *timer)
{
	struct lx_sock_fast *fast = timer->data;
	uint64_t now = lx_sock_now();

	lx_loop_enter(fast->loop);
	if (fast->host && now >= fast->hops_ns + (TICK_MS - 1) * LX_SOCK_MSEC)
		hops_tick(fast, now);
	if (fast->host)
		streams_tick(fast, now);
	if (fast->host)
		set_pace(fast);
	lx_loop_leave(fast->loop);
}

static void fast_free(struct lx_sock_fast *fast)
{
	lx_hash_fini(&fast->dests);
	free(fast->stream);
	free(fast->lane);
	free(fast->hop);
	free(fast->shared);
	free(fast);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct lx_sock_fast *fast = handle->data;

	if (!--fast->open)
		fast_free(fast);
}

static struct lx_sock_fast *fast_new(struct lx_sock_host *host, struct lx_forward *forward)
{
	struct lx_sock_fast *fast = calloc(1, sizeof(*fast));

	if (!fast)
		return NULL;
	fast->host = host;
	fast->loop = lx_env_loop(host->env, 0);
	fast->forward = forward;
	lx_list_init(&fast->dest_list);
	fast->stream = calloc(lx_forward_streams(forward), sizeof(*fast->stream));
	fast->lane = calloc(lx_forward_lanes(forward), sizeof(*fast->lane));
	fast->hop = calloc(lx_forward_hops(forward), sizeof(*fast->hop));
	fast->shared = calloc(lx_forward_hops(forward), sizeof(*fast->shared));
	if (!fast->stream || !fast->lane || !fast->hop || !fast->shared || lx_hash_init(&fast->dests)) {
		fast_free(fast);
		return NULL;
	}
	fast->poll.data = fast->timer.data = fast;
	uv_timer_init(lx_loop_uv(fast->loop), &fast->timer);
	uv_timer_start(&fast->timer, on_timer, IDLE_TICK_MS, IDLE_TICK_MS);
	uv_poll_init(lx_loop_uv(fast->loop), &fast->poll, lx_forward_fd(forward));
	uv_poll_start(&fast->poll, UV_READABLE, on_records);
	fast->open = 2;
	return fast;
}

void lx_sock_fast_tick(struct lx_sock_host *host)
{
	struct lx_forward *forward = lx_env_forward(host->env);

	if (!host->fast && forward)
		host->fast = fast_new(host, forward);
}

void lx_sock_fast_stop(struct lx_sock_host *host)
{
	struct lx_sock_fast *fast = host->fast;

	if (!fast)
		return;
	lx_sock_fast_forget(host);
	host->fast = NULL;
	fast->host = NULL;
	uv_close((uv_handle_t *)&fast->timer, on_handle_closed);
	uv_close((uv_handle_t *)&fast->poll, on_handle_closed);
}
