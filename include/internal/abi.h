/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the fast path's programs and the daemon: keys and values of maps, and
 * the records of the ring buffer.
 *
 * Fixed-width fields, no implicit padding, sizes asserted. A program that opens a pinned map reads
 * struct lx_abi first and fails with -ESTALE on another version. The comment of a field says who
 * writes it: U the daemon, B the programs on the packet path, A the program that reads the
 * kernel's socket at the daemon's request (bpf/takeover.h).
 *
 * Positions. TCP sequence numbers have 32 bits and wrap; on arrival they are converted to 64-bit
 * positions (bpf/pos.h). There are three kinds:
 *
 *	stream	bytes that the peer has sent on a connection, from 0
 *	socket	bytes of these that went up to our own socket: stream positions minus what
 *		was diverted to lanes
 *	lane	bytes sent on a lane, from 0
 */
#ifndef LNETX_ABI_H
#define LNETX_ABI_H

#include <internal/sock_wire.h>

#define LX_ABI_MAGIC 0x6c6e7478u /* "lntx" */
#define LX_ABI_VERSION 18u

struct lx_abi {
	__u32 magic;
	__u32 version;
	__u32 streams_max;
	__u32 lanes_max;
	__u32 peers_max;
	__u32 pid; /* of the daemon that owns the state */
	__u64 started_ns;
};
LX_LAYOUT(struct lx_abi, 32);

/*
 * Streams, lanes and next hops: arrays of maps, each map a block of entries. Blocks are
 * allocated on demand; a tunable limits the number of streams.
 */
#define LX_STREAMS_MAX 16384
#define LX_STREAM_BLOCK 64
#define LX_LANES_MAX 16384
#define LX_LANE_BLOCK 256
#define LX_PEERS_MAX 32768
#define LX_PEER_BLOCK 256
#define LX_FLOWS_MAX 65536

/* ---- flows: which connection is what ------------------------------------------- */

enum lx_flow_kind {
	LX_FLOW_STREAM = 1, /* the programs parse what the peer sends */
	LX_FLOW_LANE = 2,   /* the programs send on it to a next hop */
	/*
	 * Neither, but watched; or a former stream, whose socket does not know the bytes on lanes
	 */
	LX_FLOW_SHIFT = 3,
};

/* As in an incoming packet. IPv4 addresses are mapped (::ffff:a.b.c.d). */
struct lx_flow_key {
	__u8 remote[16];
	__u8 local[16];
	__be16 remote_port;
	__be16 local_port;
};
LX_LAYOUT(struct lx_flow_key, 36);

struct lx_flow {
	__u32 kind; /* enum lx_flow_kind */
	__u32 index; /* of the stream or lane; LX_FLOW_SHIFT: bytes, modulo 2^32 */
	/* B: the interfaces by which packets of the peer, and of our socket, were last seen; 0 */
	__u32 in, out;
	__u64 past_ns; /* B: segments that came past the programs, since then, ... */
	__u32 past_in, past; /* B: ... by this interface, and how many (bpf/past.h) */
};
LX_LAYOUT(struct lx_flow, 32);

/* ---- next hops: where messages may go --------------------------------------------- */

#define LX_DESTS_MAX 16384
#define LX_FP_PEER_LANES 32
#define LX_DEST_NEXT_HOPS 4
#define LX_NO_LANE 0xffffu

/* By destination NID (U). No entry: the slow path decides. */
struct lx_dest {
	__u32 n; /* of next_hop[]; streams are spread over them */
	__u32 next_hop[LX_DEST_NEXT_HOPS];
	__u32 routed; /* the next hops are routers: messages may go in a circle */
};
LX_LAYOUT(struct lx_dest, 24);

/* A peer NI: a sender, or a next hop with lanes. */
struct lx_fp_peer {
	struct lx_nid nid;      /* U */
	__u32 n_lanes;          /* U */
	__u16 lane[LX_FP_PEER_LANES]; /* U */
	struct lx_credit tx;    /* both: transmit credits of the peer NI */
	struct lx_credit rtr;   /* both: its router credits, as a sender to us */
	__u32 node;             /* U: a number that all NIDs of one peer share; 0: unknown */
};
LX_LAYOUT(struct lx_fp_peer, 116);

/*
 * Whether a next hop is the peer a message came from, under any NID. It must not get the
 * message back: two routers whose routes point at each other would bounce it forever.
 */
LX_INLINE int lx_fp_peer_is_back(const struct lx_fp_peer *to, const struct lx_fp_peer *from)
{
	return to == from || (to->node && to->node == from->node);
}

/* ---- segments that TCP would not accept ------------------------------------------------- */

/* Why a segment of a stream or a lane is refused (bpf/accept.h). */
#define LX_REFUSALS(X) \
	X(CHECKSUM, "checksum", "wrong checksum") \
	X(INTERFACE, "interface", "on another interface, and rp_filter is strict") \
	X(FLAGS, "flags", "neither ACK nor RST is set") \
	X(TIMESTAMP, "timestamp", "older timestamp than the last segment's (PAWS)") \
	X(WINDOW, "window", "beyond the window, or acknowledged already") \
	X(ACK, "ack", "acknowledges what was not sent, or is too old")

enum lx_refusal {
#define LX_REFUSAL_ENUM_(NAME, name, help) LX_REFUSED_##NAME,
	LX_REFUSALS(LX_REFUSAL_ENUM_)
#undef LX_REFUSAL_ENUM_
	LX_REFUSALS_COUNT
};
#define LX_REFUSALS_ROOM 8 /* a power of two */
_Static_assert(LX_REFUSALS_COUNT <= LX_REFUSALS_ROOM, "room in refused[]");

/* ---- lanes ---------------------------------------------------------------------------- */

/* Message types on lanes: LX_MSG_ACK to LX_MSG_REPLY. */
#define LX_LANE_TYPES 4

enum lx_lane_state {
	LX_LANE_FREE,   /* no connection */
	LX_LANE_LIVE,   /* streams may take it */
	LX_LANE_DRAIN,  /* takes no new messages; those on it are completed */
	LX_LANE_DEAD,   /* its connection is being closed */
	LX_LANE_SOCKET, /* taken back: our own socket sends on it */
	/*
	 * Takes no new messages; what comes of those on it is stored, and our own socket sends it.
	 */
	LX_LANE_STORED,
	LX_LANE_ELSEWHERE, /* never live: its packets do not pass the programs */
};

/* Low 32 bits of lx_lane.word: position of the next byte. High 32: */
#define LX_LANE_BUSY 0x80000000u  /* bytes are unacknowledged, credits are held */
#define LX_LANE_TAIL_SHIFT 15     /* 16 bits: the number of the next run */
#define LX_LANE_OWNER 0x7fffu     /* mask of the last run's stream; all ones: none */
#define LX_LANE_OURS 0x7ffeu      /* our own socket, not a stream */

/* Consecutive messages of one stream on a lane. A run ends where the next one begins. */
#define LX_LANE_RUNS 32 /* in flight at most; a power of two */
struct lx_lane_run {
	__u64 start;  /* lane position */
	__u32 tag;    /* LX_LANE_RUN | number; any other value: it is being written */
	__u16 stream; /* LX_LANE_OWNER: the stream has ended */
	__u16 from;   /* the sender, in map "peers", for its router credit */
};
LX_LAYOUT(struct lx_lane_run, 16);
#define LX_LANE_RUN 0x10000u

/* A histogram of how long runs were behind others, by powers of two. A power of two. */
#define LX_LANE_WAITS 16
#define LX_LANE_WAIT_SHIFT 13 /* the unit, in nanoseconds: 8.192 us */

/* Streams that wait for a grant (bpf/grant.h). A power of two. */
#define LX_LANE_WAITING 64

struct lx_sack {
	__u64 start, end;
};

struct lx_tcp_ts { /* TCP timestamps of a connection */
	__u32 recent;   /* A, B: the peer's last value, to be echoed */
	__u32 offset;   /* A: our value minus the monotonic clock in milliseconds */
	__u32 recent_s; /* A, B: when "recent" arrived, in seconds of that clock */
	__u32 reserved;
};

struct lx_lane {
	__u64 word;       /* B: next byte (32); busy, number of the next run, owner (32) */
	__u64 una;        /* B: acknowledged by the next hop */
	__u64 window_edge; /* B: right edge of the window last advertised by the next hop */
	__u64 sent;       /* B: highest position put on the wire */
	struct lx_sack sack[3]; /* B */
	__u64 resegment_ns; /* B: when a part of a GSO packet was last sent; parts arrive late */
	__u32 n_sack;     /* B */
	__u32 state;      /* U: enum lx_lane_state */
	__u32 next_hop;   /* U: in map "peers" */
	__u32 ifindex;    /* U, B: by which packets of its socket leave */
	__u32 base_seq;   /* A: sequence number of position 0: the socket's, at the hand-over */
	__u32 ack_seq;    /* A, B: last ACK our socket sent */
	__u16 window;     /* A, B: last window our socket sent, unscaled */
	__u8 wscale;      /* A: shift of the next hop's windows */
	__u8 version;     /* U: socklnd's, decides the header's length */
	__u8 options;     /* A: bytes of TCP options in a data segment: 0 or 12 */
	__u8 family;      /* U: AF_INET, AF_INET6 */
	__u16 mss;        /* U: payload of the largest segment that reaches the next hop */
	struct lx_flow_key key; /* U */
	struct lx_tcp_ts tcp_ts;
	__u64 messages, bytes, acks, takes; /* B: counters */
	__u64 packets;    /* B: segments with data, including retransmissions */
	__u64 types[LX_LANE_TYPES]; /* B: messages by type */
	__u32 tos;        /* U: of packets to it */
	__u32 shift;      /* U: bytes before position 0 that the socket does not know of */
	__u32 probed;     /* B: the socket has sent a keepalive probe */
	__u32 window_edge_seq; /* A, B: sequence number of the segment that said so */
	__u32 window_max; /* A, B: the largest window that the next hop has advertised, bytes */
	__u8 own_wscale;  /* A: shift of the socket's windows */
	__u8 repeats;     /* U: of the socket, in a row, that the next hop answered for nothing */
	__u16 limit; /* U: what may be in flight, KiB; 0: what the window takes */
	__u64 refused[LX_REFUSALS_ROOM]; /* B: segments, by enum lx_refusal */
	__u64 handovers;  /* B: counter: runs that began behind those of other streams */
	__u64 first_ns;   /* B: when the first run became first; if alone, of its last message */
	__u32 run_first;  /* B: if busy: number of the first run that is not fully acknowledged */
	__u32 popping;    /* B: a CPU takes acknowledged runs off the ring */
	__u32 pop_again;  /* B: and must do so once more */
	__u32 handovers_per_s; /* U: recent */
	struct lx_lane_run run[LX_LANE_RUNS]; /* B; U: stream, when it ends */
	__u32 run_begun[LX_LANE_RUNS]; /* B: when it began, in units of 2^LX_LANE_WAIT_SHIFT ns */
	/* B, U: runs that were first after less than 2^i units; the daemon decays the counts */
	__u32 waits[LX_LANE_WAITS];
	/* B: una when a message last went behind another stream's, or wanted to */
	__u64 shared_una;
	__u32 shared;     /* B: it has */
	__u32 granted;    /* B: bytes of grants that are not used yet */
	__u32 waiting_first, waiting_tail; /* B: of waiting[]; they count, and wrap */
	__u32 grants;     /* B: counter */
	/* While the socket sends: what it has sent ends with this number of the connection, ... */
	__u32 socket_sent; /* B, U */
	__u16 waiting[LX_LANE_WAITING]; /* B: streams that wait, plus 1; 0: being written */
	/* U: ... and the connection's sequence numbers minus those of the socket */
	__u32 socket_shift;
	__u32 stores;     /* U: counter: how often it was stored */
	__u64 stored;     /* U: counter: bytes */
};
LX_LAYOUT(struct lx_lane, 1248);

/* ---- streams ---------------------------------------------------------------------------- */

#define LX_STREAM_EXTENTS 512 /* a power of two */
#define LX_HEADER_MAX 80      /* of a message: up to and including its payload length */
#define LX_HEADER_ROOM 256    /* larger, because offset and length are masked separately */

#define LX_HEADER_NIDS 40     /* bytes at most of both NIDs, which begin an LNet header */

/* A message on a lane, or a run of bytes that went up to the socket. */
struct lx_extent {
	__u64 start;      /* stream position */
	__u64 lane_start; /* position on the lane, or of the socket */
	__u64 cookie;     /* zero-copy request of the peer; 0: none */
	__u32 len;
	__u16 lane;       /* LX_NO_LANE: the socket */
	/* of a message on a lane */
	__u16 type;       /* LX_MSG_* */
	__u8 nids[LX_HEADER_NIDS]; /* as they came: destination and source */
};
LX_LAYOUT(struct lx_extent, 72);

enum lx_stream_state {
	LX_STREAM_FREE,
	LX_STREAM_TAKEOVER, /* packets go to the socket; the programs only watch */
	LX_STREAM_ON,
	/* Only listed, packets pass: the connection uses a feature the programs do not support. */
	LX_STREAM_ECN,      /* congestion marks, which would have to be passed on */
	LX_STREAM_CLOCK,    /* timestamps in microseconds */
	LX_STREAM_ELSEWHERE, /* (U) its packets do not pass the programs, until some are seen */
};

enum lx_stream_flag { /* U */
	LX_STREAM_NO_LANES = 1, /* policy: everything to the socket */
	LX_STREAM_FAR = 2,      /* the sender is far away: let it fill the lane's window */
	LX_STREAM_GATEWAY = 4,  /* it forwards messages of others */
};

/* Reasons for lane 0 (below) that a stream can count. A power of two. */
#define LX_LANE0_ROOM 32

/* Why the daemon keeps a stream off lanes for a while (LX_STREAM_NO_LANES is set). */
enum lx_stream_aside { /* U */
	LX_STREAM_ASIDE_NO,
	LX_STREAM_ASIDE_SLOW,   /* others had to wait behind its messages */
	LX_STREAM_ASIDE_COSTLY, /* its packets must be cut for several next hops */
	LX_STREAM_ASIDE_LOSSY,  /* its packets get lost or reordered in front of us */
	LX_STREAM_ASIDE_UNSAFE, /* its sender left messages unfinished */
};

/* May the sender send its next large message (bpf/grant.h)? */
enum lx_grant {
	LX_GRANT_NONE,  /* it needs no grant, or has used it */
	LX_GRANT_WAITS,
	LX_GRANT_GIVEN,
	/* the daemon has claimed it, to give it or to return its bytes to the lane */
	LX_GRANT_ENDING,
};

/* Cookies of messages that have arrived; the daemon answers them. */
#define LX_STREAM_COOKIES 256 /* a power of two */

struct lx_stream {
	/* set up by the daemon */
	__u32 state;      /* A: enum lx_stream_state */
	__u32 flags;      /* U: enum lx_stream_flag */
	__u32 peer;       /* U: in map "peers", for its router credits */
	__u32 ifindex;    /* U, B: by which packets of its socket leave */
	__u32 net;        /* U: of the NI; messages to other nodes on it must not be forwarded */
	__u8 version;     /* U: socklnd's */
	__u8 wscale;      /* A: shift of the windows that we advertise */
	__u8 options;     /* A: bytes of TCP options in a data segment: 0 or 12 */
	__u8 family;      /* U */
	__u8 flip;        /* U: the peer has the other byte order */
	__u8 tos;         /* U: of packets to it */
	__u16 mss;        /* U, B: payload of the peer's largest segments; a larger one raises it */
	struct lx_flow_key key; /* U */
	__u32 base_seq;   /* A: sequence number of position 0 */

	__u64 boundary;   /* U: a message begins here; a socket position */

	/* receiving */
	__u64 parse_next;    /* B: first byte that is not part of a known message */
	__u64 diverted;      /* B: bytes before parse_next on lanes; initially U: modulo 2^32 */
	__u64 acked;         /* B: everything below has been acknowledged to the peer */
	__u64 kacked;        /* B: of these, bytes of the socket */
	__u64 window_edge;   /* B: right edge of the window advertised to the peer */
	__u64 arrived;       /* B: everything below has arrived here */
	/* B: and this, beyond something missing; the first of such ranges. Or below arrived */
	__u64 early_start, early_end;
	__u64 now_ns;        /* B: when the last data packet arrived */
	__u64 high;          /* B: highest stream position seen */
	__u64 unframed_high; /* B: unframed: highest position passed up */
	__u32 head, tail;    /* B: of extent[]; they count, and wrap at the ring's size */
	__u32 have;          /* B: bytes of header[] */
	__u32 unframed;      /* B: framing is lost: the last extent has no end */
	__u32 broken;        /* B: and will not resume */
	__u32 cookies_signaled; /* B, cleared by U: a record told the daemon to read cookies */
	__u32 lane;          /* B: the lane taken last */
	__u32 parsing;       /* B: a CPU is framing */
	__u32 ack_building;  /* B: a CPU is building the ACK for the peer */
	__u32 ack_build_again; /* B: and must do so once more */

	/* our own socket, as of its last packet; socket positions */
	__u64 socket_una;
	__u64 socket_window_edge;
	__u64 socket_sent; /* passed up */
	__u32 socket_seq; /* A, B: its send sequence number: the peer cannot acknowledge more */
	__u32 n_sack;
	struct lx_sack sack[3];

	/* last advertised to the peer */
	__u64 advertised_ack, advertised_edge;
	__u32 advertised_sack; /* a digest */
	__u32 force;      /* send an ACK even without news */
	/* B: when the acknowledged prefix last grew, or had something to wait for */
	__u64 progress_ns;
	struct lx_tcp_ts tcp_ts;
	__u64 asked_ns;   /* B: when a refused segment without data was last answered */
	__u32 peer_acked; /* A, B: the peer's acknowledgement of what our socket sends */
	__u32 window_max; /* A, B: the largest window that the peer has advertised, bytes */

	/* counters */
	__u64 packets, bytes, messages, lane_messages, lane_bytes;
	__u64 lane_payload; /* lane_bytes without headers */
	__u64 lane_types[LX_LANE_TYPES]; /* of lane_messages */
	__u64 resegmented, fragments, n_unframed, acks, busy, lost;
	__u64 gaps; /* packets that arrived with something missing in front of them */
	__u64 reasons[LX_LANE0_ROOM]; /* why messages went to the socket: enum lx_lane0_reason */
	__u64 refused[LX_REFUSALS_ROOM]; /* segments, by enum lx_refusal */

	__u32 cookie_head; /* U: read up to here */
	__u32 cookie_tail; /* B */
	__u32 cookies_due; /* B: in extents and in cookie[]: bounded by its size */
	__u32 fin;        /* B: the peer's FIN has gone up, after parse_next */
	__u64 cookie[LX_STREAM_COOKIES]; /* B */

	__u64 saved_pos;  /* B: stream position of saved[] */
	__u32 saved_len;  /* B */
	__u32 aside;      /* U: enum lx_stream_aside */
	__u32 src_net;    /* B: of the source of the last message on a lane */
	__u32 peer_wscale; /* A: shift of the peer's windows */
	__u32 sample;     /* U: incremented to request a sample of messages to other routers */
	__u32 sampled;    /* B: its value at the last sample */
	__u32 last_len;   /* B: of the last message that was framed, all of it */
	__u32 grant;      /* B, U: enum lx_grant */
	__u32 grant_lane; /* B: the lane that it waits for, or has it from; fixed meanwhile */
	__u32 grant_len;  /* B: bytes; the same */
	__u64 grant_una;  /* B, U: if given: the lane's una then */
	__u32 limited;    /* B: its window ends with a message */
	__u32 reserved;
	/* B: end of the last message whose rest was still to come when it was framed; 0: it has */
	__u64 begun_end;
	__u64 begun_ns; /* B: how long there was nothing else to wait for */
	__u32 late;       /* B: messages that must arrive in time until one may begin on a lane */
	__u32 storing;    /* B: a CPU is storing */
	__u64 stored;     /* B: up to here, what is for stored lanes has been stored */
	/* B: in this packet, why lanes had no room: enum lx_lane0_reason; 0: they had */
	__u32 full;
	__u32 full_hop;   /* B: the next hop */
	__u8 header[LX_HEADER_ROOM]; /* incomplete header of the next message */
	__u8 saved[LX_HEADER_ROOM];  /* header of the last such message, still to be sent */
	struct lx_extent extent[LX_STREAM_EXTENTS];
};
LX_LAYOUT(struct lx_stream, 40352);

/* Why a message goes to lane 0, our own socket. */
#define LX_LANE0_REASONS(X) \
	X(LOCAL, "local", "for this node or in its name, or a NOOP; or the slow path drops it") \
	X(UNKNOWN, "unknown", "the destination is not in the destination table") \
	X(NO_LANE, "no_lane", "the next hop has no lane") \
	X(WINDOW, "window", "the next hop's window has no room behind what is reserved") \
	X(RING, "ring", "too many messages of the stream are in flight") \
	X(EXTRAS, "extras", "it has a checksum, a ZC-ACK, NIDs of no node, or is for a process") \
	X(FORM, "form", "header form or options differ between the two sides") \
	X(POLICY, "policy", "lanes are switched off for this stream") \
	X(UNFRAMED, "unframed", "a header was lost; framing resumes at a known boundary") \
	X(ODD, "odd", "IP options, extension headers, a fragment, or urgent data") \
	X(MALFORMED, "malformed", "the header is illegal; the slow path closes the connection") \
	X(LOOP, "loop", "the next hop is the peer it came from; the slow path drops it") \
	X(MSS, "mss", "the sender's segments are larger than the next hop takes") \
	X(SAMPLE, "sample", "a sample of messages to another router, to detect circles") \
	X(CROWDED, "crowded", "on the next hop's lanes others are slow, or too many") \
	X(LATE, "late", "the rest of it is still to come, and that of an earlier one came late")

enum lx_lane0_reason {
#define LX_LANE0_ENUM_(NAME, name, help) LX_LANE0_##NAME,
	LX_LANE0_REASONS(LX_LANE0_ENUM_)
#undef LX_LANE0_ENUM_
	LX_LANE0_COUNT
};
_Static_assert(LX_LANE0_COUNT <= LX_LANE0_ROOM, "room in lx_stream.reasons");

/* ---- reading the kernel's socket ---------------------------------------------------------- */

/* "Packet" of program lnetx_takeover, by BPF_PROG_TEST_RUN; the stream or lane has the key. */
struct lx_takeover {
	__u32 kind;   /* enum lx_flow_kind */
	__u32 index;
	__u32 on;     /* streams: 0 TAKEOVER, 1 ON */
	__u32 reserved;
};
LX_LAYOUT(struct lx_takeover, 16);

/* The program's return values. */
enum lx_takeover_result {
	LX_TAKEOVER_OK,
	LX_TAKEOVER_NO_SOCKET,
	/* a lane's socket has bytes in flight, a stream's is receiving: try again */
	LX_TAKEOVER_BUSY,
	LX_TAKEOVER_UNFIT, /* permanent; a stream's state says why */
};

/* Settings of the programs (U). */
struct lx_settings {
	__u32 resegment_ifindex; /* of the interface that resegments GSO packets; 0: none */
	__u32 join_ifindex; /* of the interface that joins packets that go the same way */
	__u32 part_ifindex; /* of the interface at which clones become parts of packets */
	__u32 cuts;   /* (U, B) parts longer than a segment can be cut there */
	__u32 trace;  /* emit a struct lx_trace for each message */
	__u32 strict; /* IPv4: packets count only on their connection's interface */
	__u64 untrue; /* (B) parts dropped: the kernel had not set their headers anew */
	__u64 unpassed; /* (B) segments that sockets did not take, as no program had passed them */
};
LX_LAYOUT(struct lx_settings, 40);

/*
 * skb->tc_index and priority of what the programs pass to the socket of a stream or a lane, which
 * takes nothing else. Not the mark: firewalls and container networks set and clear it on the way.
 */
#define LX_PASSED 0x4c58
/*
 * ... and on its way out: it may meet another hook of ours, as that of a macvlan's parent, which is
 * to leave it alone.
 */
#define LX_LEFT 0x4c59

/*
 * Marks of packets in transit between programs: LX_MARK | kind, and 16 bits of argument (#).
 * Removed before a packet leaves the machine or goes to a socket.
 */
#define LX_MARK 0x4c500000u
#define LX_MARK_MASK 0xfff00000u
#define LX_MARK_KIND 0x000f0000u
enum lx_mark_kind {
	LX_MARK_DONE = 1 << 16,  /* leaves as it is */
	LX_MARK_FIN = 2 << 16,  /* from the daemon: make it the end of its lane */
	LX_MARK_RESEGMENT = 3 << 16, /* a GSO packet to resegment, or a part of one */
	LX_MARK_FRAGMENT = 4 << 16, /* only the fragment at payload offset # */
	LX_MARK_RESEGMENT_FRAGMENT = 5 << 16, /* the same, of a part of a GSO packet */
	LX_MARK_SAVED = 6 << 16, /* make it the held-back part of a header */
	LX_MARK_JOIN = 7 << 16,  /* join with others, then send on interface # */
	LX_MARK_JOIN_UP = 8 << 16, /* join with others, then receive on interface #, unchanged */
	LX_MARK_ACK = 9 << 16,   /* make it, without its payload, an ACK for our socket */
	LX_MARK_TELL = 10 << 16, /* make it an ACK for the peer of stream # */
	LX_MARK_CUT = 11 << 16,  /* has been cut: send on interface # */
};

/* ---- tracing -------------------------------------------------------------------------------- */

/* A framed message; an event of perf map "trace". */
struct lx_trace {
	__u64 time_ns; /* monotonic */
	__u32 stream;
	__u32 bytes;   /* of payload */
	__u32 type;    /* LX_MSG_* */
	__u16 lane;    /* LX_NO_LANE: to the socket */
	__u16 reason;  /* then: enum lx_lane0_reason */
	struct lx_nid src, dst;
};
LX_LAYOUT(struct lx_trace, 64);

/* ---- ring buffer records ------------------------------------------------------------------ */

enum lx_record_type {
	LX_RECORD_COOKIES = 1, /* index: stream; acknowledged messages had cookies */
	LX_RECORD_POKE_ACK,    /* index: stream; news for its peer, but no packet to carry it */
	LX_RECORD_MSS,         /* index: lane; a router on the path announced a smaller MTU */
	/* packets come past the programs. value: by this interface */
	LX_RECORD_STREAM_PAST,
	LX_RECORD_LANE_PAST,
};

/* Map "stored" has these, each with at most so many bytes behind it (bpf/store.h). */
#define LX_STORED_MAX 4096
struct lx_stored {
	__u64 pos;  /* lane position of the first byte */
	__u32 lane;
	__u32 len;  /* bytes that follow */
};
LX_LAYOUT(struct lx_stored, 16);

struct lx_record {
	__u32 type;
	__u32 index;
	__u64 value;
	__u64 time_ns;
};
LX_LAYOUT(struct lx_record, 24);

#endif
