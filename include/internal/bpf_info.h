/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * State of the BPF programs, for "lnetx bpf status", "lnetx stream show", "lnetx lane show"
 * and "lnetx guard show". Plain values, as in info.h; user/bpf fills them, the daemon sends
 * them.
 */
#ifndef LNETX_BPF_INFO_H
#define LNETX_BPF_INFO_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <internal/abi.h>
#include <internal/guard_abi.h>
#include <lnetx/nid.h>

#define LX_BPF_FEATURES_MAX 32
#define LX_BPF_SETS_MAX 4
#define LX_BPF_HOOKS_MAX 32
#define LX_BPF_OBJECTS_MAX 32
#define LX_BPF_TABLES_MAX 8
#define LX_BPF_PATH 256
#define LX_BPF_TEXT 240

struct lx_bpf_feature_info {
	const char *name, *help;
	bool have;
	char reason[LX_BPF_TEXT]; /* why not */
};

/* Programs and maps that are loaded together. */
struct lx_bpf_set_info {
	const char *name;
	bool loaded;
	bool taken_over; /* with the state of the previous daemon */
	char reason[LX_BPF_TEXT]; /* why not loaded; or why of no use, as others removed it */
};

struct lx_bpf_hook_info {
	const char *set, *program;
	char ifname[IF_NAMESIZE];
	const char *hook; /* xdp, ingress, egress */
	const char *mode; /* native, generic, tcx, clsact, or none */
	char reason[LX_BPF_TEXT]; /* why not attached, or of no use */
	/* times in the last ten minutes that others removed it, or put theirs in front of it */
	uint32_t removed;
	char front[LX_BPF_TEXT]; /* the last program that was in front of it; "": none was */
	uint64_t tx_dropped; /* by the interface, since the program was attached */
};

struct lx_bpf_object_info {
	const char *set, *kind; /* map, program */
	char name[32];
	uint32_t id; /* as bpftool shows it */
	uint64_t memory; /* bytes; of a program: its code */
	uint32_t entries; /* of a map: the maximum */
};

/* A table of the fast path. */
struct lx_bpf_table_info {
	const char *name;
	uint32_t used, max;
	uint32_t ready;  /* entries that have memory */
	uint64_t memory; /* bytes */
};

struct lx_bpf_info {
	char kernel[80];
	bool enabled; /* false: lnetxd --no-bpf */
	bool fastpath; /* false: lnetx bpf off, tunable tcp fastpath */
	char pins[LX_BPF_PATH]; /* where maps and programs are pinned; "": nowhere */
	char reason[LX_BPF_TEXT]; /* why not pinned, or a remark about it */
	/*
	 * Why the fast path resegments packets, which takes longer than to cut them; "": it cuts.
	 */
	char resegments[LX_BPF_TEXT];
	uint64_t memory; /* of all objects */
	uint64_t tx_dropped; /* by interfaces of the fast path, since its programs were attached */
	/* times that a next hop did not flow; what was stored then */
	uint64_t stores, stored_bytes;
	uint64_t stuck; /* lanes whose socket got nowhere, though the next hop answered */
	uint64_t unpassed; /* segments that sockets did not take: no program had passed them */
	uint64_t n_removed; /* attachments and pins that others removed, since lnetxd started */
	uint32_t n_missing; /* hooks without their program, or with another in front of it */
	uint32_t n_features, n_sets, n_hooks, n_objects, n_tables;
	struct lx_bpf_feature_info feature[LX_BPF_FEATURES_MAX];
	struct lx_bpf_set_info set[LX_BPF_SETS_MAX];
	struct lx_bpf_hook_info hook[LX_BPF_HOOKS_MAX];
	struct lx_bpf_object_info object[LX_BPF_OBJECTS_MAX];
	struct lx_bpf_table_info table[LX_BPF_TABLES_MAX];
};

/* ---- the fast path ----------------------------------------------------------------- */

#define LX_FLOW_TEXT 56 /* "[address]:port" */

/* How the programs treat the messages of a stream. */
#define LX_STREAM_SHOWN(X)                                                                         \
	X(TAKEOVER, "takeover") /* about to begin: packets are only counted */                     \
	X(UNFRAMED, "unframed") /* all to lane 0, until a boundary is known */                     \
	X(FRAMED, "framed") /* each message goes its own way */                                    \
	X(OFF, "off") /* all to lane 0: lnetx bpf off */                                           \
	X(ASIDE, "aside") /* all to lane 0 for a while */                                          \
	X(BROKEN, "broken") /* not the socklnd protocol; all to lane 0 */                          \
	X(UNSUPPORTED, "unsupported") /* the programs leave the connection alone */

enum lx_stream_shown {
#define LX_STREAM_SHOWN_ENUM_(NAME, name) LX_STREAM_SHOWN_##NAME,
	LX_STREAM_SHOWN(LX_STREAM_SHOWN_ENUM_)
#undef LX_STREAM_SHOWN_ENUM_
	LX_STREAM_SHOWN_COUNT
};

/* Why it is aside, or unsupported: enum lx_stream_aside, and then states from LX_STREAM_ECN on. */
#define LX_STREAM_WHY(X)                                                                           \
	X(NONE, "")                                                                                \
	X(SLOW, "slow") /* others had to wait behind its messages */                               \
	X(COSTLY, "costly") /* its packets must be cut for several next hops */                    \
	X(LOSSY, "lossy") /* its packets get lost or reordered in front of us */                   \
	X(UNSAFE, "unsafe") /* its sender left messages unfinished */                              \
	X(ECN, "ecn") /* the connection negotiated ECN */                                          \
	X(CLOCK, "clock") /* the connection has timestamps in microseconds */                      \
	X(ELSEWHERE, "elsewhere") /* its packets do not pass the programs */

enum lx_stream_why {
#define LX_STREAM_WHY_ENUM_(NAME, name) LX_STREAM_WHY_##NAME,
	LX_STREAM_WHY(LX_STREAM_WHY_ENUM_)
#undef LX_STREAM_WHY_ENUM_
	LX_STREAM_WHY_COUNT
};

struct lx_stream_info {
	uint32_t index;
	uint32_t state;   /* enum lx_stream_shown */
	uint32_t why; /* enum lx_stream_why */
	struct lx_nid peer; /* the sender */
	char remote[LX_FLOW_TEXT], local[LX_FLOW_TEXT];
	uint64_t messages, lane_messages; /* without those that went up unframed */
	uint64_t bytes, lane_bytes; /* since the connection became a stream */
	uint32_t lane_percent; /* of bytes */
	uint32_t extents; /* messages and runs not yet acknowledged to the peer */
	uint32_t cookies; /* messages in flight that want a ZC-ACK */
	int32_t credits, credits_min; /* router credits of the peer */
	uint64_t reasons[LX_LANE0_COUNT]; /* messages to lane 0 */
	uint64_t refused[LX_REFUSALS_COUNT]; /* segments */
	uint64_t packets, resegmented, fragments, unframed, gaps, acks, busy;
};

/* States of a lane: enum lx_lane_state, and more. */
#define LX_LANE_SHOWN(X)                                                                           \
	X(FREE, "dead") /* it has just been closed */                                              \
	X(IDLE, "idle") /* LX_LANE_LIVE */                                                         \
	X(DRAIN, "drain") /* takes no further message */                                           \
	X(DEAD, "dead") /* its connection is being closed */                                       \
	X(SOCKET, "socket") /* the daemon sends on it, until its window is large */                \
	X(STORED, "stored") /* the next hop does not flow: the daemon sends what is under way */   \
	X(ELSEWHERE, "elsewhere") /* its packets do not pass the programs: the daemon sends */     \
	X(BUSY, "busy") /* bytes are in flight, credits are taken */                               \
	X(STUCK, "stuck") /* its socket gets nowhere, though the next hop answers: it will end */

enum lx_lane_shown {
#define LX_LANE_SHOWN_ENUM_(NAME, name) LX_LANE_SHOWN_##NAME,
	LX_LANE_SHOWN(LX_LANE_SHOWN_ENUM_)
#undef LX_LANE_SHOWN_ENUM_
	LX_LANE_SHOWN_COUNT
};
_Static_assert((int)LX_LANE_SHOWN_ELSEWHERE == LX_LANE_ELSEWHERE, "the states of abi.h come first");
_Static_assert((int)LX_STREAM_WHY_UNSAFE == LX_STREAM_ASIDE_UNSAFE, "as well");

#define LX_LANE_BEHIND_TEXT 200 /* of as many as there can be */

struct lx_lane_info {
	uint32_t index;
	uint32_t state; /* enum lx_lane_shown */
	struct lx_nid next_hop;
	char remote[LX_FLOW_TEXT], local[LX_FLOW_TEXT];
	int64_t stream; /* whose messages are in flight, or come first; -1: none */
	char behind[LX_LANE_BEHIND_TEXT]; /* streams with messages behind those, "1,5" */
	uint32_t waiting; /* streams that wait until they may send their next large message */
	uint64_t grants;  /* given to streams that had waited */
	uint64_t stores;  /* times that the next hop did not flow */
	uint64_t stored;  /* bytes that the daemon stored, and sent, then */
	uint64_t window; /* bytes that the next hop still accepts */
	uint64_t unacked; /* bytes of messages that have begun */
	uint64_t limit; /* at most in flight, bytes; 0: what the window takes */
	uint64_t messages, bytes, takes, acks;
	uint64_t handovers; /* times that a stream went behind another one */
	uint64_t handovers_per_s; /* of late */
	uint64_t wait_p50_us, wait_p99_us; /* of late, at most: of runs behind others */
	uint64_t refused[LX_REFUSALS_COUNT];
	int32_t credits, credits_min; /* transmit credits of the next hop */
};

/* ---- the guard --------------------------------------------------------------------- */

#define LX_GUARD_ACCEPT_TEXT 16

/* An acceptor of an NI, and the SYNs that have passed, since it is guarded. */
struct lx_guard_listener_info {
	char ifname[IF_NAMESIZE];
	uint32_t syns;
};

struct lx_guard_info {
	bool loaded;
	bool active; /* there is something to enforce, and it sees all packets of all NIs */
	char reason[LX_BPF_TEXT]; /* why not */
	uint32_t mode; /* enum lx_guard_mode */
	char accept[LX_GUARD_ACCEPT_TEXT]; /* tunable tcp accept; "": no node */
	bool secure; /* it is "secure" */
	uint32_t rate, burst; /* SYNs per second and source; 0: no limit */
	uint32_t sources; /* with a history, if there is a limit */
	uint64_t count[LX_GUARD_COUNT]; /* packets, by enum lx_guard_verdict */
	struct lx_guard_listener_info listener[LX_BPF_HOOKS_MAX];
	size_t n_listeners;
};

struct lx_guard_ban_info {
	struct lx_nid nid;
	uint64_t packets; /* dropped */
	int64_t age_s;
};

#define LX_GUARD_PREFIX_TEXT 64

struct lx_guard_prefix_info {
	char prefix[LX_GUARD_PREFIX_TEXT];
	uint32_t action; /* enum lx_guard_action */
	uint64_t syns; /* that it decided on */
};

#define LX_GUARD_ADDRESS_TEXT 46

/* A source whose SYNs for the acceptor were dropped; without banned ones. */
struct lx_guard_refusal_info {
	char source[LX_GUARD_ADDRESS_TEXT];
	uint32_t verdict; /* the latest; enum lx_guard_verdict */
	uint32_t port; /* source port of the latest */
	uint64_t last_ns; /* time of the latest, monotonic clock */
	int64_t age_s;
	uint64_t syns; /* dropped */
};

#endif
