/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Internals of the fast path's user half (fastpath.h):
 *
 *	fastpath.c start and stop, ticks, records, closed connections
 *	conn.c     per-connection state
 *	peer.c     peers in the maps, destinations
 *	stream.c   connections on which messages to route arrive
 *	source.c   streams per address, idle streams
 *	review.c   which streams use lanes
 *	grant.c    grants that are not used
 *	lane.c     connections on which the programs send
 *	stall.c    stalled messages on lanes
 *	offender.c senders that are not trusted with lanes
 *	run.c      runs that are taken away from the programs
 *	store.c    lanes whose next hop does not flow
 *	lost.c     messages that are lost with a lane
 *	cut.c      lanes that have to end inside a message
 *	ending.c   next hops to which such lanes lead
 *	count.c    counters
 *
 * Everything is called with the node lock held.
 */
#ifndef LX_FASTPATH_PRIV_H
#define LX_FASTPATH_PRIV_H

#include <internal/lanes.h>
#include <internal/sock_wire.h>

#include "../base/hash.h"
#include "../base/log.h"
#include "../base/ratelimit.h"
#include "../bpf/fastpath.h"
#include "../io/env.h"
#include "fastpath.h"

/* A connection on which messages to route arrive, or to a neighbour. */
struct lx_fp_conn {
	struct lx_list link;       /* fp->conns */
	struct lx_fp *fp;
	struct lx_sock_conn *conn; /* refers to this one: lx_sock_conn_state() */
	struct lx_sock_conn_facts facts;
	bool closing;
	bool no_stream; /* the programs do not support it */
	bool has_route; /* the programs reach the peer by the interface that its socket uses */
	uint64_t route_ns; /* when to look again */
	int stream, lane; /* -1: none */
	struct lx_flow_key key; /* if it is or was a stream */
	uint32_t shift;   /* if it was a stream: bytes that went by lanes, modulo 2^32 */
	uint64_t look_pos; /* not a stream before its socket has received this much */
	struct { /* lane traffic that count.c has reported */
		uint64_t received[LX_LANE_TYPES], sent[LX_LANE_TYPES], payload;
		uint64_t high, una;
	} counted;

	/* as a lane */
	enum {
		LX_FP_LANE_GIVEN,  /* the programs send on it */
		LX_FP_LANE_WANTED, /* on its way back to socklnd */
		LX_FP_LANE_BACK,   /* socklnd sends on it */
		LX_FP_LANE_UNSEEN, /* ... and it has not been a lane yet */
	} lane_state;
	bool asked; /* the kernel asks its peer each second whether it lives */
	bool filtered;    /* its socket takes only what the programs have passed */
	uint64_t past_ns, past_last_ns; /* packets came past the programs: since when, and last */
	uint64_t unseen_ns; /* since when the programs should have seen its packets; 0: they have */
	bool lane_due;    /* becomes a lane once everything sent on it is acknowledged */
	bool narrow;      /* its window was small at the hand-over */
	uint64_t mss_ns; /* when to read the MSS, or a stream's interface, again */
	uint64_t left_ns; /* since when the first run is of a stream that has ended ... */
	uint64_t left_una; /* ... with una here */
	uint64_t back_ns; /* since when socklnd has it back */
};

/* What is done about a next hop's lanes that have to end (ending.c). */
enum lx_fp_ending {
	LX_FP_END_NO,
	LX_FP_END_WAIT,
	LX_FP_END_DRAIN,
	LX_FP_END_HOLD,
	LX_FP_END_CLOSE,
};

/* A socklnd peer that is in the maps. */
struct lx_fp_neighbour {
	struct lx_sock_peer *peer; /* refers to this one: lx_sock_peer_state() */
	struct lx_sock_peer_facts facts;
	unsigned int index; /* of the struct lx_fp_peer */
	bool shared; /* the core knows it */
	bool wide;   /* messages were too large for its lanes' windows */
	enum lx_fp_ending ending;
	bool give_up; /* its lanes end if their first messages are unfinished */
	uint64_t since_ns; /* it is in this state */
	uint64_t hold_ns, rest_ns; /* since when messages wait; when the next ones may */
	uint64_t activity, quiet_ns; /* when something moved last */
	uint64_t slow_ns, slow_rate; /* it has no lanes before; 0: it may have some */
	uint64_t fin_ns, reset_ns; /* when its lanes last got them */
	uint64_t gone_ns; /* when one of its old connections went last ... */
	unsigned int n_old; /* ... and how many are left */
};

/* An address that has streams. */
struct lx_fp_source {
	struct lx_hash_node node;
	struct lx_nid address; /* as in struct lx_rx_from */
	unsigned int n_streams;
	uint64_t evicted_ns;  /* when idle streams were last searched */
};

struct lx_tcpinfo;

struct lx_fp_stream {
	struct lx_fp_conn *conn;   /* NULL: unused */
	uint64_t gone_ns;          /* since when it is unused */
	struct lx_fp_source *source;
	uint64_t since_ns;
	uint64_t received; /* by its socket, then */
	uint64_t packets_seen;     /* s->packets, and when it last changed */
	uint64_t busy_ns;
	uint64_t pos_offset;       /* socket position minus rx.consumed */
	uint64_t aside_ns;         /* s->aside ends then */
	uint64_t aside_pause_ns;
	uint64_t cost_seen, lane_bytes_seen, lane_messages_seen; /* at the last review */
	uint64_t window_seen;      /* reasons[WINDOW] at the last tick */
	uint64_t gaps_seen, gaps_bytes_seen; /* at the last review */
	uint64_t sample_ns, sample_seen; /* when s->sample was incremented; s->messages then */
	uint64_t waited_ns, waited_at_ns; /* others, for its messages; when that last grew */
	uint64_t stuck_seen;       /* s->progress_ns when the sender was last told what it lost */
	int next_hop;              /* of its last message; -1: unknown */
};

struct lx_fp_dest {
	struct lx_hash_node node;
	struct lx_list link;
	struct lx_nid nid;
	struct lx_dest to; /* as in the map; n is 0 for our own NIDs */
	uint64_t since_ns;
};

struct lx_fp_sender {
	struct lx_nid nid;
	bool forwarded; /* by a router, for others */
	uint8_t addr[16]; /* as in struct lx_flow_key; NIDs can be claimed */
};

/* The bytes in flight on a lane, as of its last progress. */
struct lx_fp_run {
	uint64_t una, una_ns; /* and since when */
	uint64_t packets, heard; /* then: packets of the lane, and of its first stream */
	uint64_t arrived;  /* of the first run's stream, without a gap */
	uint64_t since_ns; /* when either last moved */
	/* how long others have waited for the sender of the first run, as of the last look */
	uint64_t owed_ns, seen_ns;
	uint64_t silent_ns; /* of that, since its last byte */
	uint32_t seen_first;
	bool owes; /* they did at the last look */
	bool lossy; /* something of the first run got lost behind us */
	uint64_t idle_una; /* una if it was idle at the last look; else ~0 */
	uint64_t handovers, rate_ns; /* lx_lane.handovers when the rate was last computed */
	/* limit.c: una and time of the last look, or 0; what came of it while it was queued; */
	uint64_t queued_una, queued_ns, sample, sample_ns;
	/* the best rate of the last seconds, bytes a second, or 0; the smallest round trip */
	uint64_t best, rtt_ns;
	struct lx_fp_sender left_by[LX_LANE_RUNS]; /* by run: who ended its stream */
	/*
	 * Bytes that the next hop should have acknowledged, the time since, and ACKs until then.
	 */
	uint64_t mark, mark_ns, mark_acks, looked_ns;
	uint32_t n_samples; /* that the best rate is of */
	uint32_t repeats; /* of the socket, at the last look ... */
	uint64_t repeat_acks; /* ... and ACKs when it last repeated */
	struct lx_fp_store *store; /* NULL: the lane is not stored */
	struct lx_fp_cut {
		uint64_t since_ns; /* 0: it does not end inside a message */
		uint64_t from; /* messages behind begin here or later: a lane position */
		uint64_t hole; /* bytes that are lost: neither sender nor router has them */
		bool ready; /* all of them are elsewhere */
	} cut;
};

struct lx_fp_offender {
	uint8_t addr[16];
	enum lx_stream_aside why; /* of its streams */
	uint64_t pause_ns; /* 0: free */
	uint64_t until_ns; /* no lanes before */
};

struct lx_fp {
	const struct lx_sock_offload *offload;
	struct lx_sock_host *host; /* NULL: released */
	struct lx_loop *loop;
	struct lx_fastpath *fastpath;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned int open; /* handles */
	unsigned int pace_ms; /* of the timer */
	uint64_t peers_ns; /* when peers were last visited */
	unsigned int n_changing; /* streams unframed or in takeover, at the last tick */
	struct lx_fp_stream *stream;
	struct lx_fp_conn **lane; /* NULL for a used entry: extents may still refer to it */
	struct lx_fp_run *run;   /* by lane */
	struct lx_fp_offender offender[LX_OFFENDERS];
	struct lx_fp_neighbour **peer;
	struct lx_list conns;
	uint64_t slow_rate; /* of all next hops without lanes as their lines are slow */
	unsigned int n_ending; /* next hops with lanes that have to end */
	unsigned int peer_at, lane_at; /* where the next tick continues */
	uint64_t look_ns;  /* when all streams were last visited */
	uint64_t active[LX_STREAMS_MAX / 64]; /* bitmap of streams to visit on each tick */
	uint64_t referred[LX_LANES_MAX / 64]; /* bitmap of lanes that extents refer to */
	uint64_t referred_ns; /* the tick (peers_ns) for which it was computed */
	uv_work_t grow;    /* adds blocks to tables */
	bool growing;
	bool stopping;     /* release the host when the tables have grown */
	int grow_error;
	uint64_t grow_ns;  /* do not grow before */
	struct lx_hash sources;
	struct lx_ratelimit full_limit, share_limit, stored_limit, refused_limit;
	uint64_t evicted_ns; /* when idle streams of all addresses were last searched */
	struct lx_hash dests;
	struct lx_list dest_list; /* oldest first */
	bool dests_full;  /* the map had no room for the last one */
	uint64_t room_ns; /* the oldest do not make room before */
	int was_on; /* tunable fastpath, as of the last tick */
	bool full; /* logged that all streams are used */
};

static inline struct lx_stream *lx_fp_stream_at(const struct lx_fp *fp, unsigned int index)
{
	return lx_fastpath_stream(fp->fastpath, index);
}

static inline struct lx_lane *lx_fp_lane_at(const struct lx_fp *fp, unsigned int index)
{
	return lx_fastpath_lane(fp->fastpath, index);
}

static inline struct lx_stream *lx_fp_stream_of(const struct lx_fp_conn *conn)
{
	return lx_fp_stream_at(conn->fp, conn->stream);
}

/* Converts the programs' counters by LX_MSG_* to the core's form. */
static inline struct lx_type_counts lx_fp_type_counts(const uint64_t n[LX_LANE_TYPES])
{
	return (struct lx_type_counts){ .ack = n[LX_MSG_ACK],
					.put = n[LX_MSG_PUT],
					.get = n[LX_MSG_GET],
					.reply = n[LX_MSG_REPLY] };
}

/* ---- used by several files ---- */

/* The position behind all that has been reserved. */
static inline uint64_t lx_fp_lane_next(const struct lx_lane *lane)
{
	uint64_t una = LX_READ(lane->una);

	return una + (int32_t)((uint32_t)LX_READ(lane->word) - (uint32_t)una);
}

/*
 * The lane's socket will send the byte at @pos next, and has sent nothing from there on. In this
 * order: an ACK that is too old does nothing.
 */
static inline void lx_fp_lane_socket_at(struct lx_lane *lane, uint32_t shift, uint64_t pos)
{
	__atomic_store_n(&lane->socket_shift, shift, __ATOMIC_RELEASE);
	__atomic_store_n(&lane->socket_sent, lane->base_seq + (uint32_t)pos, __ATOMIC_RELEASE);
}

/*
 * What the lane's socket sends has the socket's numbers until the programs shift them; another
 * agent's program may keep them from that. Numbers that lie a window behind the connection's are of
 * bytes that the next hop has: it drops them. After each 4 GiB they come to lie in front, in its
 * window, where it would take them for other bytes. Then the socket gets nothing to send.
 *
 * Four windows: one that the next hop may take, one that the socket may have under way, one by
 * which a store skips at most, and one by which the window may still grow.
 */
static inline bool lx_fp_lane_is_ahead(const struct lx_lane *lane)
{
	uint32_t ahead = -(lane->shift + (uint32_t)LX_READ(lane->una));

	return ahead && ahead < 4ull * lane->window_max;
}

/*
 * Whether the kernel may forward messages that arrive or leave through an NI: not switched off, and
 * programs attached to its interface.
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

/*
 * The next entry of a round; -1: enough for this tick. @left: 0 at the start of a tick; @at: kept
 * from tick to tick.
 */
static inline int lx_fp_round(struct lx_fp *fp, enum lx_fastpath_table table, unsigned int *at,
			      unsigned int *left)
{
	int i;

	if (!*left)
		*left = LX_ROUND_MIN + lx_fastpath_used(fp->fastpath, table) / LX_ROUND_TICKS;
	i = --*left ? lx_fastpath_next(fp->fastpath, table, *at) : -1;
	/* At the end of the table, the next tick starts over. */
	if (i >= 0 || *left)
		*at = i + 1;
	return i;
}

/* ---- conn.c */

/* The state of a connection, allocated if necessary. NULL: no memory. */
struct lx_fp_conn *lx_fp_conn_obtain(struct lx_fp *fp, struct lx_sock_conn *sock_conn);
/* Its packets come past the programs: ends it, unless they are about to come back. */
void lx_fp_conn_past(struct lx_fp_conn *conn, unsigned int ifindex);
/* Whether the programs see its packets, in both directions, and can send where its socket does. */
bool lx_fp_conn_is_seen(struct lx_fp_conn *conn, const struct lx_flow_key *key,
			unsigned int *ret_ifindex);
/* Asks its peer each second whether it lives, and so for packets, or no longer. */
void lx_fp_conn_ask(struct lx_fp_conn *conn, bool on);
/* Before its numbers differ from its socket's, and when they do not any more. -errno */
int lx_fp_conn_filter(struct lx_fp_conn *conn, bool on);
/* The connection must be neither a stream nor a lane. */
void lx_fp_conn_free(struct lx_fp_conn *conn);
/* Iterates over a neighbour's connections; @conn: NULL to start. NULL: no more. */
struct lx_fp_conn *lx_fp_conn_next(const struct lx_fp_neighbour *peer,
				   const struct lx_fp_conn *conn);
/* Allocates the state of all connections of a neighbour. -ENOMEM */
int lx_fp_conn_obtain_all(struct lx_fp *fp, const struct lx_fp_neighbour *peer);
/*
 * Removes a connection from the flow table or, if bytes of it went by lanes, makes the programs
 * shift its sequence numbers. 0, or -ENOMEM: it must stay a stream.
 */
int lx_fp_flow_leave(struct lx_fp_conn *conn);
/* Takes a lane off those that streams choose from. */
void lx_fp_peer_lane_del(struct lx_fp_peer *fp_peer, unsigned int index);
/* It takes no new messages, and is taken back once all its bytes have been acknowledged. */
void lx_fp_lane_withdraw(struct lx_fp *fp, struct lx_fp_conn *conn, enum lx_lane_state state);

/* ---- peer.c; the first three: ops (offload.h) */

/* Later messages for @dst can take lanes to this peer. */
void lx_fp_learn(void *state, struct lx_sock_peer *sock_peer, const struct lx_nid *dst,
		 bool is_router);
/* Destinations that may be concerned are forgotten. */
void lx_fp_forget(void *state, const struct lx_nid *nid, uint32_t net);
void lx_fp_peer_gone(void *state, struct lx_sock_peer *sock_peer);

void lx_fp_key_of(struct lx_fp_conn *conn, struct lx_flow_key *ret_key);
uint8_t lx_fp_tos_of(const struct lx_fp_conn *conn);
/* The largest payload of a segment to the peer; usually also that of its own segments. */
uint16_t lx_fp_mss_of(const struct lx_fp_conn *conn);
/* Makes core and programs share credits; repeated when the core has recreated a peer. */
void lx_fp_peer_share(struct lx_fp *fp, struct lx_fp_neighbour *peer);
/* The index of a peer in the map, added if necessary; -EAGAIN, -ENOSPC. */
int lx_fp_peer_obtain(struct lx_fp *fp, struct lx_sock_peer *sock_peer);
/* Messages for our own NIDs stay here, and others' messages in their names do. */
void lx_fp_learn_own(struct lx_fp *fp);
struct lx_fp_dest *lx_fp_dest_lookup(struct lx_fp *fp, const struct lx_nid *nid);
/* The next hop for a stream's messages to a destination; -1: they are for this node. */
int lx_fp_dest_next_hop(const struct lx_fp_dest *dest, unsigned int stream);

/* ---- stream.c; the first one: op */

void lx_fp_message(void *state, struct lx_sock_conn *sock_conn, const struct lx_hdr *hdr,
		   size_t len);

/* Takes any number; false: no such stream, or its connection is being closed. */
static inline bool lx_fp_stream_is_open(const struct lx_fp *fp, uint32_t index)
{
	const struct lx_fp_conn *conn = index < LX_STREAMS_MAX ? fp->stream[index].conn : NULL;

	return conn && !conn->closing;
}

/* Whether a sender is so far away that the usual window limits it. */
bool lx_fp_is_far(const struct lx_tcpinfo *info);
/* Whether our socket's window is large enough for a stream. */
bool lx_fp_window_is_open(const struct lx_tcpinfo *info);

/* Whether a stream needs no ticks. */
static inline bool lx_fp_stream_is_calm(const struct lx_fp *fp, unsigned int index)
{
	const struct lx_stream *s = lx_fp_stream_at(fp, index);
	const struct lx_fp_stream *state = &fp->stream[index];

	return state->conn->no_stream || s->state != LX_STREAM_ON || s->grant != LX_GRANT_WAITS;
}

/* Visits a stream on each tick, for a while. */
static inline void lx_fp_stream_wake(struct lx_fp *fp, unsigned int index)
{
	fp->active[index / 64] |= 1ull << index % 64;
}

/* Visits active streams; now and then finds out which are active. */
void lx_fp_streams_tick(struct lx_fp *fp, uint64_t now);
/* The connection of a stream is being closed. */
void lx_fp_stream_closing(struct lx_fp *fp, struct lx_fp_conn *conn);

/* The socket position up to which everything has been processed. */
static inline uint64_t lx_fp_pos_now(const struct lx_fp_conn *conn,
				     const struct lx_sock_conn_rx *rx)
{
	return conn->fp->stream[conn->stream].pos_offset + rx->consumed;
}

/* ---- source.c */

/**
 * lx_fp_stream_take - take a stream for a connection, if its address may have one more
 * Evicts idle streams if all are used. Returns the index, -EAGAIN: try later, -ENOSPC, -ENOMEM.
 */
int lx_fp_stream_take(struct lx_fp *fp, const struct lx_fp_conn *conn,
		      struct lx_fp_source **ret_source);
/* The connection of a stream, or of a former stream, has ended. */
void lx_fp_stream_ended(struct lx_fp *fp, struct lx_fp_conn *conn);
/* An address has one stream less. */
void lx_fp_source_put(struct lx_fp *fp, struct lx_fp_source *source);

/* ---- review.c */

void lx_fp_stream_tick(struct lx_fp *fp, unsigned int index, uint64_t now);

/* Keeps a stream off lanes until then, or longer if it already is. */
void lx_fp_stream_aside(struct lx_fp_stream *state, struct lx_stream *s, enum lx_stream_aside why,
			uint64_t until);

/* ---- grant.c */

/* The stream needs its grant no more, or waits no more for one. */
void lx_fp_grant_end(struct lx_fp *fp, struct lx_stream *s);
void lx_fp_grant_tick(struct lx_fp *fp, unsigned int index, uint64_t now);
/*
 * Of a lane that takes nothing more: streams that wait for it look for another one, and those that
 * have messages on it tell their senders what lacks.
 */
void lx_fp_lane_tell(struct lx_fp *fp, unsigned int index);
/* Helps those that wait for a lane that rests. */
void lx_fp_grant_lane_tick(struct lx_fp *fp, unsigned int index);

/* ---- stall.c */

/* The stream's connection is being closed: closes lanes on which it leaves a message unfinished. */
void lx_fp_stream_leave(struct lx_fp *fp, struct lx_fp_conn *conn);
/* A lane is given up because it waits for bytes of a stream that has ended. */
void lx_fp_lane_left(struct lx_fp *fp, unsigned int index);
/* Closes the connections of the side at fault if a message on a lane has stalled too long. */
void lx_fp_lane_watch(struct lx_fp *fp, unsigned int index, uint64_t now);

/* The side that the first message of a lane waits for. */
enum lx_fp_turn {
	LX_FP_TURN_NONE, /* all of it has been here */
	/* the next hop has what has been here, and room for more; or lacks the rest */
	LX_FP_TURN_SENDER,
	LX_FP_TURN_REPEAT, /* the same, but it has sent that: it got lost behind us */
	LX_FP_TURN_NEXT_HOP, /* it has not acknowledged it yet */
	LX_FP_TURN_WINDOW, /* it has, and has no room for the rest */
};

static inline bool lx_fp_is_senders(enum lx_fp_turn turn)
{
	return turn == LX_FP_TURN_SENDER || turn == LX_FP_TURN_REPEAT;
}

/* ---- offender.c */

/* Why, and until when, an address gets no lanes. NULL: it may use them. */
const struct lx_fp_offender *lx_fp_offender(struct lx_fp *fp, const uint8_t addr[16], uint64_t now);
/* Keeps an address off lanes, longer each time. Returns for how long. */
uint64_t lx_fp_offend(struct lx_fp *fp, const uint8_t addr[16], enum lx_stream_aside why,
		      uint64_t now);

/* ---- run.c */

/* Removes the runs of a dead lane, and returns their credits. */
void lx_fp_lane_end_runs(struct lx_fp *fp, struct lx_lane *lane);
/* Detaches a stream's runs from it, before its index is reused. */
void lx_fp_lane_disown(struct lx_lane *lane, uint32_t stream);

/* ---- lost.c */

struct lx_fp_lost_message {
	uint64_t start, end; /* lane positions */
	uint32_t payload;
	uint32_t type; /* LX_LANE_TYPES: reported, or sent elsewhere */
	uint32_t stream;
	struct lx_nid from;
};

/* Messages on a lane; noted: 0 or the lane's una, and zeroes. */
struct lx_fp_lost {
	uint64_t noted; /* those that begin before this lane position */
	struct lx_fp_lost_message *message;
	size_t n;
};

/* Notes those that are on the lane and have not been noted. Without memory, some are not. */
void lx_fp_lost_note(struct lx_fp *fp, struct lx_fp_lost *lost, unsigned int index);
/* Counts and logs those that end after @forwarded, by sender: the lane's connection has ended. */
void lx_fp_lost_report(const struct lx_fp_conn *lane, struct lx_fp_lost *lost, uint64_t forwarded);
void lx_fp_lost_fini(struct lx_fp_lost *lost);

/* ---- store.c */

/*
 * Stores a lane whose next hop does not flow, or lets its socket have it back if nothing is under
 * way; goes on with one that is stored.
 */
void lx_fp_store_watch(struct lx_fp *fp, unsigned int index, enum lx_fp_turn turn, uint64_t now);
/*
 * Stores a lane that is not stored, whatever it does. -ENOMEM, -ENOBUFS: no room within the budget,
 * and that is logged.
 */
int lx_fp_store_begin(struct lx_fp *fp, unsigned int index, const char *reason, uint64_t now);
/* Nothing from @end on is sent by the lane's socket. */
void lx_fp_store_limit(struct lx_fp_store *store, uint64_t end);
/* The bytes from @start to @end, lane positions. NULL: not all of them have been stored. */
const uint8_t *lx_fp_store_bytes(const struct lx_fp_store *store, uint64_t start, uint64_t end);
/* struct lx_fastpath_ops: stored() */
void lx_fp_stored(const struct lx_stored *stored, const void *bytes, void *arg);
/* Whether it cannot go on: what the next hop needs next has not been stored. Also for NULL. */
bool lx_fp_store_lacks(const struct lx_fp_store *store);
/* Whether the next hop has got everything. */
bool lx_fp_store_is_done(const struct lx_fp_store *store);
/* The lane's bytes; owned by @store. */
struct lx_fp_lost *lx_fp_store_lost(struct lx_fp_store *store);
/* Frees it, if there is one. */
void lx_fp_store_free(struct lx_fp_run *run);

/* ---- cut.c */

/*
 * A lane has to end inside a message: the bytes at position @hole are lost. Of messages that
 * begin at @from or later, the next hop gets none on this lane.
 */
void lx_fp_cut(struct lx_fp *fp, unsigned int index, uint64_t from, uint64_t hole, uint64_t now);
/* Goes on with it. false: the lane does not end, or not before what is in front has arrived. */
bool lx_fp_cut_tick(struct lx_fp *fp, unsigned int index, uint64_t now);

/* ---- limit.c */

/*
 * Looks at how fast a lane is, and says how much may be in flight on it. @queued: the next hop
 * lacks some of what has come of the lane's first message, and of what is behind it.
 */
void lx_fp_limit_lane(struct lx_lane *lane, struct lx_fp_run *run, bool queued, uint64_t now);
/* If its next hop has been slow for a while, it gets no lanes for a while. */
void lx_fp_limit_slow(struct lx_fp *fp, unsigned int index, uint64_t now);
/* Whether a next hop gets no lanes now. */
bool lx_fp_limit_is_slow(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now);
/* No longer. */
void lx_fp_limit_end(struct lx_fp *fp, struct lx_fp_neighbour *peer);

/* ---- ending.c */

/* A lane to this next hop has to end. */
void lx_fp_end_begin(struct lx_fp *fp, unsigned int next_hop, uint64_t now);
/* None has, any more, or the next hop is gone. */
void lx_fp_end_done(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now);
void lx_fp_ends_tick(struct lx_fp *fp, uint64_t now);
/* As conn_ended() (offload.h). */
bool lx_fp_conn_ended(struct lx_fp *fp, struct lx_fp_conn *conn);

/* Whether no message may begin on lanes to a node, or from it. */
static inline bool lx_fp_is_ending(const struct lx_fp_neighbour *peer)
{
	return peer && peer->ending >= LX_FP_END_DRAIN;
}

/* Whether a stream may begin messages on lanes, as far as it does not depend on what it did. */
static inline bool lx_fp_stream_may(const struct lx_fp *fp, unsigned int index)
{
	const struct lx_fp_conn *conn = fp->stream[index].conn;

	return lx_fp_conn_on(conn) && !lx_fp_is_ending(fp->peer[lx_fp_stream_of(conn)->peer]);
}

/* ---- count.c; the first one: op */

void lx_fp_count(void *state, const struct lx_ni *ni);
void lx_fp_count_conn(struct lx_fp *fp, struct lx_fp_conn *conn);

/* ---- lane.c */

/* Whether a connection is a lane, on which socklnd must not send. */
static inline bool lx_fp_is_lane(const struct lx_fp_conn *conn)
{
	return conn->lane >= 0 && conn->lane_state != LX_FP_LANE_BACK &&
	       conn->lane_state != LX_FP_LANE_UNSEEN;
}

/* Hands connections of a next hop to the programs, and takes lanes back where necessary. */
void lx_fp_peer_lanes(struct lx_fp *fp, struct lx_fp_neighbour *peer, uint64_t now);
/*
 * Visits some lanes: closes those that wait for a stream that has ended, watches and measures the
 * others, and frees entries of closed connections once no extent refers to them.
 */
void lx_fp_lanes_tick(struct lx_fp *fp, uint64_t now);
void lx_fp_lane_closing(struct lx_fp *fp, struct lx_fp_conn *conn);
void lx_fp_lane_gone(struct lx_fp *fp, struct lx_fp_conn *conn);

#endif
