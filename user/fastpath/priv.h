/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between the files of the fast path's user half (fastpath.h), and for nobody else:
 *
 *	fastpath.c its life, its ticks, records, connections that end
 *	conn.c     what is kept of connections
 *	peer.c     peers in the maps, and what was learned of destinations
 *	stream.c   connections that messages to be routed come in by
 *	source.c   who has how many of them, and those that are idle
 *	order.c    streams between lane 0 and lanes
 *	lane.c     connections that they go out by
 *	stall.c    messages on lanes that do not go on, and their senders
 *	count.c    counters
 *
 * Everything is called with the node lock held.
 */
#ifndef LX_FASTPATH_PRIV_H
#define LX_FASTPATH_PRIV_H

#include <internal/abi.h>
#include <internal/sock_wire.h>

#include "../base/hash.h"
#include "../base/log.h"
#include "../base/ratelimit.h"
#include "../bpf/fastpath.h"
#include "../io/env.h"
#include "fastpath.h"

#define LX_FP_HOLD_PAUSE_MIN_NS (20 * LX_SOCK_MSEC)

/* A connection that messages come in by, or of a neighbour. */
struct lx_fp_conn {
	struct lx_list link;       /* fp->conns */
	struct lx_fp *fp;
	struct lx_sock_conn *conn; /* it is kept there (lx_sock_conn_state()) */
	struct lx_sock_conn_facts facts;
	bool closing;
	bool no_stream; /* the programs cannot have it */
	int stream, lane; /* -1: none */
	struct lx_flow_key key; /* of a connection that is a stream, or was one */
	uint32_t shift;   /* was a stream: bytes that went by lanes, modulo 2^32 */
	uint64_t look_pos; /* no stream before its socket has received so much */
	bool waits;       /* a message has come, and has to wait for earlier ones ... */
	uint64_t wait_pos; /* ... that took lanes; where it begins */
	struct { /* what went by lanes, as far as it is counted (count.c) */
		uint64_t received[LX_LANE_TYPES], sent[LX_LANE_TYPES], payload;
		uint64_t high, una;
	} counted;
	struct lx_sock_tx_mark barrier; /* order.c */

	/* as a lane */
	enum {
		LX_FP_LANE_GIVEN,  /* the programs send on it */
		LX_FP_LANE_WANTED, /* socklnd is to have it back */
		LX_FP_LANE_BACK,   /* it has, and sends on it */
	} lane_state;
	bool lane_due;    /* to become one when all that was sent on it has arrived */
	bool narrow;      /* its window was small when it was made */
	uint64_t mss_ns;  /* when to ask how large segments may be */
	uint64_t left_ns; /* since when what comes next is of a stream that has ended ... */
	uint64_t left_una; /* ... with nothing acknowledged */
	uint64_t back_ns; /* since when it is back */
};

/* A peer of socklnd's that is in the maps. */
struct lx_fp_neighbour {
	struct lx_sock_peer *peer; /* it is kept there (lx_sock_peer_state()) */
	struct lx_sock_peer_facts facts;
	unsigned int index; /* of the struct lx_fp_peer */
	bool shared; /* the core knows it */
	bool wide;   /* messages were too large for windows of lanes to it */
};

/* A host that has streams. */
struct lx_fp_source {
	struct lx_hash_node node;
	uint8_t addr[16];     /* as in struct lx_flow_key */
	unsigned int n_streams;
	uint64_t evicted_ns;  /* when its idle ones were last looked for */
};

struct lx_tcpinfo;

struct lx_fp_stream {
	struct lx_fp_conn *conn;   /* NULL: it is not used, or not any more */
	uint64_t gone_ns;          /* since then */
	struct lx_fp_source *source;
	uint64_t since_ns;
	uint64_t packets_seen;     /* s->packets, and when that was another number */
	uint64_t busy_ns;
	uint64_t pos_offset;       /* stream socket position less conn->rx.consumed */
	uint64_t hold_ns;          /* since when; 0: not held */
	uint64_t hold_after_ns;    /* not again before */
	uint64_t hold_pause_ns;
	uint64_t lanes_at_hold;    /* lane_messages when it was held last */
	uint64_t aside_ns;         /* lx_stream.aside until then */
	uint64_t aside_pause_ns;
	uint64_t cost_seen, lane_bytes_seen, crowded_seen, window_seen; /* at the last review */
	uint64_t gaps_seen, gaps_bytes_seen; /* likewise */
	uint64_t messages_seen, framed_seen; /* likewise: messages, and stream position behind them */
	uint64_t mean;             /* bytes of a message, of late */
	uint64_t stop_ns;          /* LX_STREAM_STOP at least until then; 0: no */
	uint64_t order_seen;       /* reasons[ORDER] at the last tick */
	uint64_t sample_ns, sample_seen; /* when s->sample was raised; s->messages then */
	uint64_t high_seen;        /* s->high, held, and since when */
	uint64_t high_ns;
	uint64_t high_held;        /* s->high, of a sender far away, when its hold began to count */
	uint64_t far_ns;           /* round trip time of a sender that is far away; 0: it is not */
	int next_hop;              /* where the last message of it went; -1: not known */
	unsigned int next_hop_run; /* and so many before it, without another one between */
	uint64_t quiet_pos;        /* everything before it had been sent on ... */
	uint32_t quiet_barrier;    /* ... and has arrived when this barrier is down; 0: none */
};

struct lx_fp_dest {
	struct lx_hash_node node;
	struct lx_list link;
	struct lx_nid nid;
	struct lx_dest to; /* as the programs have it; without a hop: it is ours */
};

struct lx_fp_sender {
	struct lx_nid nid;
	uint8_t addr[16]; /* as in struct lx_flow_key: whatever NIDs it claims */
};

/* What is under way on a lane, when it last went on. */
struct lx_fp_run {
	uint64_t una, high, packets, acks; /* high: of the first run's stream */
	uint64_t since_ns;
	uint64_t handovers, rate_ns; /* lx_lane.handovers when its rate was worked out */
	struct lx_fp_sender left_by[LX_LANE_RUNS]; /* by run: whose stream has ended */
};

/* Who has left messages unfinished on lanes. */
#define LX_FP_OFFENDERS 256

struct lx_fp_offender {
	uint8_t addr[16];
	uint64_t pause_ns; /* 0: free */
	uint64_t until_ns; /* no lanes before */
};

struct lx_fp {
	const struct lx_sock_offload *offload;
	struct lx_sock_host *host; /* NULL: it has been let go */
	struct lx_loop *loop;
	struct lx_fastpath *fastpath;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned int open; /* handles */
	unsigned int pace_ms; /* the timer's */
	uint64_t peers_ns; /* when peers were looked after */
	unsigned int n_changing; /* streams held, being taken over or unframed, at the last look */
	struct lx_fp_stream *stream;
	struct lx_fp_conn **lane; /* NULL, but taken: extents may still refer to it */
	struct lx_fp_run *run;   /* by lane */
	struct lx_fp_offender offender[LX_FP_OFFENDERS];
	struct lx_fp_neighbour **peer;
	struct lx_list conns;
	unsigned int peer_at, lane_at; /* where the next tick goes on */
	uint64_t look_ns;  /* when all streams were looked at */
	uint64_t active[LX_STREAMS_MAX / 64]; /* a bit a stream: something is going on */
	uint64_t referred[LX_LANES_MAX / 64]; /* a bit a lane: an extent refers to it */
	uint64_t referred_ns; /* the tick (peers_ns) that this is of */
	uv_work_t grow;    /* makes tables larger */
	bool growing;
	bool stopping;     /* the host is let go when the tables have grown */
	int grow_error;
	uint64_t grow_ns;  /* not before */
	uint32_t barrier, barrier_down; /* the last one begun, the last one that is down */
	bool barrier_wanted;
	struct lx_hash sources;
	struct lx_ratelimit share_limit;
	uint64_t evicted_ns; /* when idle ones of all were last looked for */
	struct lx_hash dests;
	struct lx_list dest_list;
	int was_on; /* tunable fastpath at the last tick */
	bool full; /* said that there are no more streams */
};

static inline struct lx_stream *lx_fp_stream_of(const struct lx_fp_conn *conn)
{
	return lx_fastpath_stream(conn->fp->fastpath, conn->stream);
}

/* What the programs count by LX_MSG_*, as the core has it. */
static inline struct lx_type_counts lx_fp_type_counts(const uint64_t n[LX_LANE_TYPES])
{
	return (struct lx_type_counts){ .ack = n[LX_MSG_ACK],
					.put = n[LX_MSG_PUT],
					.get = n[LX_MSG_GET],
					.reply = n[LX_MSG_REPLY] };
}

static inline bool lx_fp_lane_is_busy(const struct lx_lane *lane)
{
	return (__atomic_load_n(&lane->word, __ATOMIC_ACQUIRE) >> 32 & LX_LANE_BUSY) != 0;
}

static inline uint32_t lx_fp_lane_owner(const struct lx_lane *lane)
{
	return (__atomic_load_n(&lane->word, __ATOMIC_ACQUIRE) >> 32) & LX_LANE_OWNER;
}

/* Runs of a lane that is busy: the numbers of the first, and of the one behind the last. */
static inline uint16_t lx_fp_lane_first(const struct lx_lane *lane)
{
	return __atomic_load_n(&lane->run_first, __ATOMIC_ACQUIRE);
}

static inline uint16_t lx_fp_lane_tail(const struct lx_lane *lane)
{
	return __atomic_load_n(&lane->word, __ATOMIC_ACQUIRE) >> (32 + LX_LANE_TAIL_SHIFT);
}

/* Whether others have bytes behind the first run. */
static inline bool lx_fp_lane_is_shared(const struct lx_lane *lane)
{
	return lx_fp_lane_is_busy(lane) &&
	       (uint16_t)(lx_fp_lane_tail(lane) - lx_fp_lane_first(lane)) > 1;
}

/* The stream of a run; LX_LANE_OWNER: it has ended, or the run is not there (any more). */
static inline uint32_t lx_fp_lane_run_stream(const struct lx_lane *lane, uint16_t number)
{
	const struct lx_lane_run *run = &lane->run[number % LX_LANE_RUNS];
	uint32_t stream = __atomic_load_n(&run->stream, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&run->tag, __ATOMIC_ACQUIRE) == (LX_LANE_RUN | number)
		       ? stream : LX_LANE_OWNER;
}

/* Whose bytes the next hop waits for, or will acknowledge next; LX_LANE_OWNER: nobody's. */
static inline uint32_t lx_fp_lane_first_stream(const struct lx_lane *lane)
{
	return lx_fp_lane_is_busy(lane) ? lx_fp_lane_run_stream(lane, lx_fp_lane_first(lane))
					: LX_LANE_OWNER;
}

/* Whether bytes of a stream are on it that have not arrived. */
static inline bool lx_fp_lane_has(const struct lx_lane *lane, uint32_t stream)
{
	uint16_t first = lx_fp_lane_first(lane), n = lx_fp_lane_tail(lane) - first;

	if (!lx_fp_lane_is_busy(lane))
		return false;
	for (unsigned int i = 0; i < n && i < LX_LANE_RUNS; i++) {
		if (lx_fp_lane_run_stream(lane, first + i) == stream)
			return true;
	}
	return false;
}

/* ---- what several ask ---- */

/*
 * Whether the kernel may forward messages that come or go by an NI: it is not switched off, and
 * the programs are on its interface.
 */
static inline bool lx_fp_on(const struct lx_fp *fp, const struct lx_ni *ni, unsigned int ifindex)
{
	return lx_sock_offload_ni_on(ni) && !lx_sock_offload_is_leaving(fp->offload) &&
	       lx_fastpath_is_attached(fp->fastpath, ifindex);
}

static inline bool lx_fp_conn_on(const struct lx_fp_conn *conn)
{
	return lx_fp_on(conn->fp, conn->facts.ni, conn->facts.ifindex);
}

/* A round through a table that takes several ticks; at most so long for each entry. */
#define LX_FP_ROUND_TICKS 20
/* So many entries are looked at with a tick, and a part of those beyond. */
#define LX_FP_ROUND_MIN 64

/*
 * The next entry of a round; -1: this tick has done its part. @left: 0 at the beginning of a
 * tick; @at: kept from tick to tick.
 */
static inline int lx_fp_round(struct lx_fp *fp, enum lx_fastpath_table table, unsigned int *at,
			      unsigned int *left)
{
	int i;

	if (!*left)
		*left = LX_FP_ROUND_MIN + lx_fastpath_used(fp->fastpath, table) / LX_FP_ROUND_TICKS;
	i = --*left ? lx_fastpath_next(fp->fastpath, table, *at) : -1;
	/* At the end of the table it is the next tick that begins anew. */
	if (i >= 0 || *left)
		*at = i + 1;
	return i;
}

/* ---- conn.c */

/* What is kept of a connection, made if need be. NULL: no memory. */
struct lx_fp_conn *lx_fp_conn_obtain(struct lx_fp *fp, struct lx_sock_conn *sock_conn);
/* It is neither a stream nor a lane. */
void lx_fp_conn_free(struct lx_fp_conn *conn);
/* Those of a neighbour: the first, and (@conn) the one behind another. NULL: no more. */
struct lx_fp_conn *lx_fp_conn_next(const struct lx_fp_neighbour *peer,
				   const struct lx_fp_conn *conn);
/* Has all connections of a neighbour kept. -ENOMEM */
int lx_fp_conn_obtain_all(struct lx_fp *fp, const struct lx_fp_neighbour *peer);
/*
 * It is no stream any more, or not yet: the programs pass its packets up as they are, or with what
 * went by lanes made up for. 0, -ENOMEM: it has to stay one.
 */
int lx_fp_flow_leave(struct lx_fp_conn *conn);

/* ---- peer.c; the first three: ops (offload.h) */

/* What follows can take a lane there. */
void lx_fp_learn(void *state, struct lx_sock_peer *sock_peer, const struct lx_nid *dst,
		 bool is_router);
/* What was learned may not be true any more. */
void lx_fp_forget(void *state, const struct lx_nid *nid, uint32_t net);
void lx_fp_peer_gone(void *state, struct lx_sock_peer *sock_peer);

void lx_fp_addr_of(const union lx_addr *addr, uint8_t ret_addr[16]);
void lx_fp_key_of(struct lx_fp_conn *conn, struct lx_flow_key *ret_key);
uint8_t lx_fp_tos_of(const struct lx_fp_conn *conn);
/* Bytes of payload in the largest segment that gets to the peer; its own are as large, mostly. */
uint16_t lx_fp_mss_of(const struct lx_fp_conn *conn);
/* Has the core and the programs take the same credits; again when a peer was made anew. */
void lx_fp_peer_share(struct lx_fp *fp, struct lx_fp_neighbour *peer);
/* The index of a peer's hop, made if need be; -EAGAIN, -ENOSPC. */
int lx_fp_peer_obtain(struct lx_fp *fp, struct lx_sock_peer *sock_peer);
/* Messages for a NID of this node stay here, and order does not matter to them. */
void lx_fp_learn_local(struct lx_fp *fp, const struct lx_nid *dst);
struct lx_fp_dest *lx_fp_dest_lookup(struct lx_fp *fp, const struct lx_nid *nid);
/* The next hop by which a stream's messages go there; -1: they are ours. */
int lx_fp_dest_next_hop(const struct lx_fp_dest *dest, unsigned int stream);

/* ---- stream.c; the first two: ops */

bool lx_fp_message(void *state, struct lx_sock_conn *sock_conn, const struct lx_hdr *hdr,
		   size_t len);
bool lx_fp_wait_is_over(void *state, struct lx_sock_conn *sock_conn);

/* Any number; false: there is no such stream, or its connection is being closed. */
static inline bool lx_fp_stream_is_open(const struct lx_fp *fp, uint32_t index)
{
	const struct lx_fp_conn *conn = index < LX_STREAMS_MAX ? fp->stream[index].conn : NULL;

	return conn && !conn->closing;
}

/* Whether a sender is so far away that the window bounds it. */
bool lx_fp_is_far(const struct lx_tcpinfo *info);
/* Whether our socket's window is as large as it has to be for the stream. */
bool lx_fp_window_is_open(const struct lx_tcpinfo *info);

/* Whether nothing is going on that time would change. */
static inline bool lx_fp_stream_is_calm(const struct lx_fp *fp, unsigned int index)
{
	const struct lx_stream *s = lx_fastpath_stream(fp->fastpath, index);
	const struct lx_fp_stream *state = &fp->stream[index];

	if (state->conn->no_stream)
		return true;
	return s->state == LX_STREAM_ON && !state->hold_ns && !state->quiet_barrier &&
	       !(s->flags & (LX_STREAM_HOLD | LX_STREAM_STOP)) && !state->conn->waits;
}

/* Something has happened: it is looked at with each tick for a while. */
static inline void lx_fp_stream_wake(struct lx_fp *fp, unsigned int index)
{
	fp->active[index / 64] |= 1ull << index % 64;
}

/* All streams for which something is going on; finds out now and then whether that is so. */
void lx_fp_streams_tick(struct lx_fp *fp, uint64_t now);
/* The connection is being closed. */
void lx_fp_stream_closing(struct lx_fp *fp, struct lx_fp_conn *conn);

/* Socket position up to which everything has been read and dealt with. */
static inline uint64_t lx_fp_pos_now(const struct lx_fp_conn *conn,
				     const struct lx_sock_conn_rx *rx)
{
	return conn->fp->stream[conn->stream].pos_offset + rx->consumed;
}

/* ---- source.c */

/**
 * lx_fp_stream_take - take a stream for a connection, if its host may have one more
 * Idle ones go if there are no others. Returns the index, -EAGAIN: soon, -ENOSPC, -ENOMEM.
 */
int lx_fp_stream_take(struct lx_fp *fp, const struct lx_fp_conn *conn,
		      struct lx_fp_source **ret_source);
/* A connection that is a stream, or was one, has ended. */
void lx_fp_stream_ended(struct lx_fp *fp, struct lx_fp_conn *conn);
/* A host has one less. */
void lx_fp_source_put(struct lx_fp *fp, struct lx_fp_source *source);

/* ---- order.c */

void lx_fp_barrier_tick(struct lx_fp *fp);
void lx_fp_stream_tick(struct lx_fp *fp, unsigned int index, uint64_t now);

/* Leaves a stream to the daemon until then, unless it is for longer already. */
void lx_fp_stream_aside(struct lx_fp_stream *state, struct lx_stream *s, enum lx_stream_aside why,
			uint64_t until);

/* The same, from now on, for longer each time. */
void lx_fp_stream_no_use(struct lx_fp_stream *state, struct lx_stream *s, enum lx_stream_aside why,
			 uint64_t now);

/* ---- stall.c */

/* The stream's connection is being closed (conn->error): lanes that it is in a message on, too. */
void lx_fp_stream_leave(struct lx_fp *fp, struct lx_fp_conn *conn);
/* The lane is dead: its runs return their credits. */
void lx_fp_lane_end_runs(struct lx_fp *fp, struct lx_lane *lane);
/* Runs of a stream whose place in the table is to be used again are nobody's. */
void lx_fp_lane_disown(struct lx_lane *lane, uint32_t stream);
/* A lane whose stream has ended is given up: what was sent on it has not all arrived. */
void lx_fp_lane_left(struct lx_fp *fp, unsigned int index);
/* Closes the sender, or the next hop, of a message that stands still for too long. */
void lx_fp_lane_watch(struct lx_fp *fp, unsigned int index, uint64_t now);
/* When a sender may have lanes; 0, or past: it may. */
uint64_t lx_fp_offender_until(struct lx_fp *fp, const uint8_t addr[16]);

/* ---- count.c; the first one: op */

void lx_fp_count(void *state, const struct lx_ni *ni);
void lx_fp_count_conn(struct lx_fp *fp, struct lx_fp_conn *conn);

/* ---- lane.c */

/* Whether a connection is a lane, on which socklnd must not send. */
static inline bool lx_fp_is_lane(const struct lx_fp_conn *conn)
{
	return conn->lane >= 0 && conn->lane_state != LX_FP_LANE_BACK;
}

/* Makes lanes of a next hop's connections that can be; takes back those that are wanted. */
void lx_fp_peer_lanes(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now);
void lx_fp_peer_lane_del(struct lx_fp_peer *fp_peer, unsigned int index);
/*
 * Some more lanes: those of streams that have ended are closed if that takes too long, others
 * are measured, and those of connections that are gone can be used again when no extent refers to
 * them any more.
 */
void lx_fp_lanes_tick(struct lx_fp *fp, uint64_t now);
void lx_fp_lane_closing(struct lx_fp *fp, struct lx_fp_conn *conn);
void lx_fp_lane_gone(struct lx_fp *fp, struct lx_fp_conn *conn);

#endif
