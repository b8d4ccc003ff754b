/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is shown of BPF: "lnetx bpf status", "lnetx stream show", "lnetx lane show" and
 * "lnetx guard show". Plain values, as in info.h; user/bpf fills them, the daemon sends
 * them on.
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
	bool taken_over; /* with the state of the daemon before */
	char reason[LX_BPF_TEXT]; /* why it is not loaded */
};

struct lx_bpf_hook_info {
	const char *set, *program;
	char ifname[IF_NAMESIZE];
	const char *hook; /* xdp, ingress, egress */
	const char *mode; /* native, generic, tcx, clsact, or none */
	char reason[LX_BPF_TEXT]; /* mode none: why it is not attached */
};

struct lx_bpf_object_info {
	const char *set, *kind; /* map, program */
	char name[32];
	uint32_t id; /* as bpftool has it */
	uint64_t memory; /* bytes; of a program: its code */
	uint32_t entries; /* of a map: the most */
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
	char reason[LX_BPF_TEXT]; /* why nowhere, or what to know about it */
	uint64_t memory; /* of all objects */
	uint32_t n_features, n_sets, n_hooks, n_objects, n_tables;
	struct lx_bpf_feature_info feature[LX_BPF_FEATURES_MAX];
	struct lx_bpf_set_info set[LX_BPF_SETS_MAX];
	struct lx_bpf_hook_info hook[LX_BPF_HOOKS_MAX];
	struct lx_bpf_object_info object[LX_BPF_OBJECTS_MAX];
	struct lx_bpf_table_info table[LX_BPF_TABLES_MAX];
};

/* ---- the fast path ----------------------------------------------------------------- */

#define LX_FLOW_TEXT 56 /* "[address]:port" */

/* What programs do with the messages of a stream. */
#define LX_STREAM_SHOWN(X) \
	X(TAKEOVER, "takeover") /* about to begin: packets are only counted */ \
	X(UNFRAMED, "unframed") /* everything to lane 0, until a boundary is known */ \
	X(FRAMED, "framed") /* each goes its way */ \
	X(HELD, "hold") /* the sender runs dry, to change over to lanes in order */ \
	X(OFF, "off") /* everything to lane 0: lnetx bpf off */ \
	X(CROWDED, "crowded") /* likewise, for a while: it found no free lane */ \
	X(COSTLY, "costly") /* likewise: its packets have to be copied for several ways */ \
	X(LOSSY, "lossy") /* likewise: its packets get lost, or overtaken, in front of us */ \
	X(UNSAFE, "unsafe") /* likewise: its sender has left messages unfinished */ \
	X(BROKEN, "broken") /* what came is not socklnd; everything to lane 0 */ \
	X(ECN, "ecn") /* no fast path: its connection has negotiated congestion marks */ \
	X(CLOCK, "clock") /* no fast path: its connection has timestamps in microseconds */

enum lx_stream_shown {
#define LX_STREAM_SHOWN_ENUM_(NAME, name) LX_STREAM_SHOWN_##NAME,
	LX_STREAM_SHOWN(LX_STREAM_SHOWN_ENUM_)
#undef LX_STREAM_SHOWN_ENUM_
	LX_STREAM_SHOWN_COUNT
};

struct lx_stream_info {
	uint32_t index;
	uint32_t state;   /* enum lx_stream_shown */
	struct lx_nid peer; /* that sends */
	char remote[LX_FLOW_TEXT], local[LX_FLOW_TEXT];
	uint64_t messages, lane_messages; /* without those that went up unseen, unframed */
	uint64_t bytes, lane_bytes; /* all that the peer has sent since it is a stream */
	uint32_t lane_percent; /* of bytes */
	uint32_t extents; /* messages and runs that the peer does not know to have arrived */
	uint32_t cookies; /* zero-copy messages to be acknowledged, of those under way */
	int32_t credits, credits_min; /* router credits of the peer */
	uint64_t reasons[LX_LANE0_COUNT]; /* messages to lane 0 */
	uint64_t refused[LX_REFUSALS_COUNT]; /* segments that were not believed */
	uint64_t packets, resegmented, fragments, unframed, gaps, acks, busy;
};

/* What a lane does. */
#define LX_LANE_SHOWN(X) \
	X(IDLE, "idle") \
	X(BUSY, "busy") /* bytes are under way, credits are taken */ \
	X(DRAIN, "drain") /* takes no message more */ \
	X(SOCKET, "socket") /* the daemon sends on it, until its window is large */ \
	X(DEAD, "dead") /* its connection is being closed */

enum lx_lane_shown {
#define LX_LANE_SHOWN_ENUM_(NAME, name) LX_LANE_SHOWN_##NAME,
	LX_LANE_SHOWN(LX_LANE_SHOWN_ENUM_)
#undef LX_LANE_SHOWN_ENUM_
	LX_LANE_SHOWN_COUNT
};

struct lx_lane_info {
	uint32_t index;
	uint32_t state; /* enum lx_lane_shown */
	struct lx_nid next_hop; /* where it goes */
	char remote[LX_FLOW_TEXT], local[LX_FLOW_TEXT];
	int64_t stream; /* whose messages are under way; -1: none */
	uint64_t window; /* bytes that the next hop still takes */
	uint64_t unacked; /* bytes under way */
	uint64_t messages, bytes, takes, acks;
	uint64_t refused[LX_REFUSALS_COUNT];
	int32_t credits, credits_min; /* transmit credits of the next hop */
};

/* ---- the guard --------------------------------------------------------------------- */

struct lx_guard_info {
	bool loaded;
	bool active; /* there is something to watch for, and it is attached somewhere */
	char reason[LX_BPF_TEXT]; /* why it is not */
	uint32_t mode; /* enum lx_guard_mode */
	bool secure; /* tunable tcp accept=secure */
	uint32_t rate, burst; /* SYNs a second and source; 0: no limit */
	uint32_t sources; /* that have a history, if there is a limit */
	uint64_t count[LX_GUARD_COUNT]; /* packets, by enum lx_guard_verdict */
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
	uint64_t syns; /* that it decided about */
};

#define LX_GUARD_ADDRESS_TEXT 46

/* A source whose SYNs for the acceptor were dropped, but for those that are banned. */
struct lx_guard_refusal_info {
	char source[LX_GUARD_ADDRESS_TEXT];
	uint32_t verdict; /* enum lx_guard_verdict; as what follows of the last one */
	uint32_t port; /* that it came from */
	uint64_t last_ns; /* monotonic clock */
	int64_t age_s;
	uint64_t syns; /* that were dropped */
};

#endif
