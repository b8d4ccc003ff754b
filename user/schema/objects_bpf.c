/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control protocol's tables for BPF and the guard; those for LNet are in objects.c. */
#include <internal/ctl.h>

#include "table.h"

#define LIST(n, k, member, count, most, schema)                                                    \
	FIELD(n, k, LIST, member),                                                                 \
		.sub = &schema, .count_offset = offsetof(OF, count), .max = most

/* clang-format off */

/* ---- bpf status -------------------------------------------------------------------- */

#define OF struct lx_bpf_feature_info
TABLE(feature, "feature",
	{ FIELD(1, "name", STRP, name), .col = "KERNEL" },
	{ FIELD(2, "have", BOOL, have), .col = "HAS IT" },
	{ FIELD(3, "help", STRP, help), .col = "FOR" },
	{ FIELD(4, "reason", STR, reason), UNSET, .col = "WHY NOT" },
)
#undef OF

#define OF struct lx_bpf_set_info
TABLE(set, "set",
	{ FIELD(1, "set", STRP, name), .col = "SET" },
	{ FIELD(2, "loaded", BOOL, loaded), .col = "LOADED" },
	{ FIELD(3, "taken_over", BOOL, taken_over), .col = "TAKEN OVER" },
	{ FIELD(4, "reason", STR, reason), UNSET, .col = "WHY NOT" },
)
#undef OF

#define OF struct lx_bpf_hook_info
TABLE(hook, "hook",
	{ FIELD(1, "set", STRP, set), .col = "SET" },
	{ FIELD(2, "interface", STR, ifname), .col = "INTERFACE" },
	{ FIELD(3, "hook", STRP, hook), .col = "HOOK" },
	{ FIELD(4, "mode", STRP, mode), .col = "MODE" },
	{ FIELD(5, "program", STRP, program), .col = "PROGRAM" },
	{ FIELD(6, "reason", STR, reason), UNSET, .col = "WHY NOT" },
	{ NUMBER(7, "tx_dropped", tx_dropped), NONZERO },
	{ NUMBER(8, "removed", removed), NONZERO },
	{ FIELD(9, "front", STR, front), UNSET },
)
#undef OF

#define OF struct lx_bpf_object_info
TABLE(object, "object",
	{ FIELD(1, "set", STRP, set), .col = "SET" },
	{ FIELD(2, "kind", STRP, kind), .col = "KIND" },
	{ NUMBER(3, "id", id), .col = "ID" },
	{ FIELD(4, "name", STR, name), .col = "NAME" },
	{ NUMBER(5, "entries", entries), NONZERO, .col = "ENTRIES" },
	{ NUMBER(6, "memory", memory), .col = "BYTES" },
)
#undef OF

#define OF struct lx_bpf_table_info
TABLE(table, "table",
	{ FIELD(1, "table", STRP, name), .col = "TABLE" },
	{ NUMBER(2, "used", used), .col = "IN USE" },
	{ NUMBER(3, "max", max), .col = "AT MOST" },
	{ NUMBER(4, "ready", ready), NONZERO, .col = "READY" },
	{ NUMBER(5, "memory", memory), NONZERO, .col = "BYTES" },
)
#undef OF

#define OF struct lx_bpf_info
TABLE(bpf, "bpf",
	{ FIELD(1, "kernel", STR, kernel) },
	{ FIELD(2, "enabled", BOOL, enabled) },
	{ FIELD(3, "pins", STR, pins), UNSET },
	{ FIELD(4, "reason", STR, reason), UNSET },
	{ FIELD(13, "resegments", STR, resegments), UNSET },
	{ NUMBER(5, "memory", memory) },
	{ NUMBER(12, "tx_dropped", tx_dropped) },
	{ NUMBER(14, "stores", stores) },
	{ NUMBER(15, "stored_bytes", stored_bytes) },
	{ NUMBER(16, "removed", n_removed) },
	{ NUMBER(17, "missing", n_missing) },
	{ NUMBER(18, "stuck", stuck) },
	{ NUMBER(19, "unpassed", unpassed) },
	{ LIST(6, "features", feature, n_features, LX_BPF_FEATURES_MAX, feature) },
	{ LIST(7, "sets", set, n_sets, LX_BPF_SETS_MAX, set) },
	{ LIST(8, "hooks", hook, n_hooks, LX_BPF_HOOKS_MAX, hook) },
	{ FIELD(10, "fastpath", BOOL, fastpath) },
	{ LIST(9, "objects", object, n_objects, LX_BPF_OBJECTS_MAX, object) },
	{ LIST(11, "tables", table, n_tables, LX_BPF_TABLES_MAX, table) },
)
#undef OF

/* ---- stream show, lane show -------------------------------------------------------- */

#define REASON_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_LANE0_##NAME + 1, name, struct lx_stream_info, \
		       reasons[LX_LANE0_##NAME]), NONZERO },
TABLE_OF(struct lx_stream_info, lane0, "lane0",
	LX_LANE0_REASONS(REASON_)
)

#define STREAM_REFUSAL_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_REFUSED_##NAME + 1, name, struct lx_stream_info, \
		       refused[LX_REFUSED_##NAME]), NONZERO },
TABLE_OF(struct lx_stream_info, stream_refused, "refused",
	LX_REFUSALS(STREAM_REFUSAL_)
)

#define LANE_REFUSAL_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_REFUSED_##NAME + 1, name, struct lx_lane_info, \
		       refused[LX_REFUSED_##NAME]), NONZERO },
TABLE_OF(struct lx_lane_info, lane_refused, "refused",
	LX_REFUSALS(LANE_REFUSAL_)
)

#define NAME_(NAME, name) name,
static const char *const stream_names[] = { LX_STREAM_SHOWN(NAME_) };
static const char *const why_names[] = { LX_STREAM_WHY(NAME_) };
static const char *const lane_names[] = { LX_LANE_SHOWN(NAME_) };

#define OF struct lx_stream_info
TABLE(stream, "stream",
	{ NUMBER(1, "stream", index), .col = "STREAM" },
	{ FIELD(2, "peer", NID, peer), .col = "PEER" },
	{ FIELD(3, "remote", STR, remote), .col = "REMOTE" },
	{ FIELD(4, "local", STR, local), WIDE("LOCAL") },
	{ FIELD(5, "state", ENUM, state), LX_FIELD_NAMES(stream_names), .col = "STATE" },
	{ FIELD(24, "why", ENUM, why), UNSET, LX_FIELD_NAMES(why_names), .col = "WHY" },
	{ NUMBER(6, "messages", messages), .col = "MESSAGES" },
	{ NUMBER(7, "lane_messages", lane_messages), .col = "BY LANES" },
	{ NUMBER(8, "bytes", bytes), .col = "BYTES" },
	{ NUMBER(9, "lane_bytes", lane_bytes), WIDE("LANE BYTES") },
	{ NUMBER(10, "lane_percent", lane_percent), .col = "%" },
	{ NUMBER(11, "extents", extents), .col = "EXTENTS" },
	{ NUMBER(12, "cookies", cookies), WIDE("COOKIES") },
	{ NUMBER(13, "credits", credits), .col = "CREDITS" },
	{ NUMBER(14, "credits_min", credits_min), .col = "MIN" },
	{ NUMBER(15, "packets", packets), WIDE("PACKETS") },
	{ NUMBER(16, "resegmented", resegmented), WIDE("RESEGMENTED") },
	{ NUMBER(17, "fragments", fragments), WIDE("FRAGMENTS") },
	{ NUMBER(18, "unframed", unframed), WIDE("UNFRAMED") },
	{ NUMBER(22, "gaps", gaps), WIDE("GAPS") },
	{ NUMBER(19, "acks", acks), WIDE("ACKS") },
	{ NUMBER(20, "busy", busy), WIDE("BUSY") },
	/* The same struct, as for the guard's counters. */
	{ .key = "lane0", .attr = 21, .type = LX_FIELD_NEST, .sub = &lane0,
	  .col = "TO LANE 0, BECAUSE" },
	{ .key = "refused", .attr = 23, .type = LX_FIELD_NEST, .sub = &stream_refused,
	  WIDE("REFUSED, BECAUSE") },
)
#undef OF

#define OF struct lx_lane_info
TABLE(lane, "lane",
	{ NUMBER(1, "lane", index), .col = "LANE" },
	{ FIELD(2, "next_hop", NID, next_hop), .col = "NEXT HOP" },
	{ FIELD(3, "remote", STR, remote), WIDE("REMOTE") },
	{ FIELD(4, "local", STR, local), .col = "LOCAL" },
	{ FIELD(5, "state", ENUM, state), LX_FIELD_NAMES(lane_names), .col = "STATE" },
	{ NUMBER(6, "stream", stream), UNSET, .col = "STREAM" },
	{ FIELD(16, "behind", STR, behind), .col = "BEHIND" },
	{ NUMBER(21, "waiting", waiting), .col = "WAITING" },
	{ NUMBER(7, "window", window), .col = "WINDOW" },
	{ NUMBER(8, "unacked", unacked), .col = "UNACKED" },
	{ NUMBER(25, "limit", limit), .col = "LIMIT" },
	{ NUMBER(9, "messages", messages), .col = "MESSAGES" },
	{ NUMBER(10, "bytes", bytes), .col = "BYTES" },
	{ NUMBER(11, "takes", takes), .col = "TAKES" },
	{ NUMBER(17, "handovers", handovers), .col = "HANDOVERS" },
	{ NUMBER(18, "handovers_per_s", handovers_per_s), .col = "PER S" },
	{ NUMBER(19, "wait_p50_us", wait_p50_us), .col = "WAIT P50" },
	{ NUMBER(20, "wait_p99_us", wait_p99_us), .col = "P99" },
	{ NUMBER(22, "grants", grants), WIDE("GRANTS") },
	{ NUMBER(23, "stores", stores), WIDE("STORES") },
	{ NUMBER(24, "stored", stored), WIDE("BYTES STORED") },
	{ NUMBER(12, "acks", acks), WIDE("ACKS") },
	{ NUMBER(13, "next_hop_credits", credits), WIDE("CREDITS") },
	{ NUMBER(14, "next_hop_credits_min", credits_min), WIDE("MIN") },
	{ .key = "refused", .attr = 15, .type = LX_FIELD_NEST, .sub = &lane_refused,
	  WIDE("REFUSED, BECAUSE") },
)
#undef OF

/* ---- trace ------------------------------------------------------------------------- */

static const char *const type_names[] = { "ack", "put", "get", "reply", "hello" };

#define OF struct lx_ctl_trace
TABLE(trace, "trace",
	{ NUMBER(1, "time_us", mark.time_us) },
	{ NUMBER(2, "lost", mark.lost), NONZERO },
	{ NUMBER(3, "stream", stream) },
	{ FIELD(4, "src", NID, src) },
	{ FIELD(5, "dst", NID, dst) },
	{ FIELD(6, "type", ENUM, type), LX_FIELD_NAMES(type_names) },
	{ NUMBER(7, "bytes", bytes) },
	{ NUMBER(8, "lane", lane), UNSET },
	{ FIELD(9, "reason", STRP, reason), UNSET },
)
#undef OF

/* ---- guard show -------------------------------------------------------------------- */

#define COUNTER_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_GUARD_##NAME + 1, name, struct lx_guard_info, count[LX_GUARD_##NAME]) },
TABLE_OF(struct lx_guard_info, counters, "packets",
	LX_GUARD_VERDICTS(COUNTER_)
)

#define OF struct lx_guard_listener_info
TABLE(listener, "listener",
	{ FIELD(1, "interface", STR, ifname) },
	{ NUMBER(2, "syns", syns) },
)
#undef OF

static const char *const mode_names[] = { "auto", "native", "generic", "tc" };

#define OF struct lx_guard_info
TABLE(guard, "guard",
	{ FIELD(1, "active", BOOL, active) },
	{ FIELD(2, "reason", STR, reason), UNSET },
	{ FIELD(8, "mode", ENUM, mode), LX_FIELD_NAMES(mode_names) },
	{ FIELD(9, "accept", STR, accept), UNSET },
	{ FIELD(3, "secure", BOOL, secure) },
	{ NUMBER(4, "rate", rate) },
	{ NUMBER(5, "burst", burst), NONZERO },
	{ NUMBER(6, "sources", sources), NONZERO },
	/* Offset 0: the sub-schema describes the counters of the same struct. */
	{ .key = "packets", .attr = 7, .type = LX_FIELD_NEST, .sub = &counters },
	{ LIST(10, "listeners", listener, n_listeners, LX_BPF_HOOKS_MAX, listener) },
)
#undef OF

#define OF struct lx_guard_ban_info
TABLE(ban, "ban",
	{ FIELD(1, "nid", NID, nid), .col = "BANNED" },
	{ NUMBER(2, "age_s", age_s), .col = "SECONDS" },
	{ NUMBER(3, "packets", packets), .col = "DROPPED" },
)
#undef OF

static const char *const action_names[] = { NULL, "allow", "deny" };

#define OF struct lx_guard_prefix_info
TABLE(prefix, "prefix",
	{ FIELD(1, "prefix", STR, prefix), .col = "PREFIX" },
	{ FIELD(2, "action", ENUM, action), LX_FIELD_NAMES(action_names), .col = "ACTION" },
	{ NUMBER(3, "syns", syns), .col = "SYNS" },
)
#undef OF

#define VERDICT_(NAME, name, help) name,
static const char *const verdict_names[] = { LX_GUARD_VERDICTS(VERDICT_) };

#define OF struct lx_guard_refusal_info
TABLE(refusal, "refusal",
	{ FIELD(1, "source", STR, source), .col = "REFUSED" },
	{ FIELD(2, "reason", ENUM, verdict), LX_FIELD_NAMES(verdict_names), .col = "REASON" },
	{ NUMBER(3, "port", port), .col = "FROM PORT" },
	{ NUMBER(4, "syns", syns), .col = "SYNS" },
	{ NUMBER(5, "age_s", age_s), .col = "SECONDS" },
)
#undef OF

const struct lx_ctl_shown lx_object_bpf = { "bpf", NULL, NULL, &bpf };
const struct lx_ctl_shown lx_object_bpf_features = { "features", NULL, NULL, &feature };
const struct lx_ctl_shown lx_object_bpf_sets = { "sets", NULL, NULL, &set };
const struct lx_ctl_shown lx_object_bpf_hooks = { "hooks", NULL, NULL, &hook };
const struct lx_ctl_shown lx_object_bpf_tables = { "tables", NULL, NULL, &table };
const struct lx_ctl_shown lx_object_bpf_objects = { "objects", NULL, NULL, &object };
const struct lx_ctl_shown lx_object_streams = { "stream", NULL, NULL, &stream };
const struct lx_ctl_shown lx_object_lanes = { "lane", NULL, NULL, &lane };
const struct lx_ctl_shown lx_object_traces = { "trace", NULL, NULL, &trace };
const struct lx_ctl_shown lx_object_guards = { "guard", NULL, NULL, &guard };
const struct lx_ctl_shown lx_object_bans = { "ban", NULL, NULL, &ban };
const struct lx_ctl_shown lx_object_prefixes = { "prefix", NULL, NULL, &prefix };
const struct lx_ctl_shown lx_object_refusals = { "refusal", NULL, NULL, &refusal };

/* ---- requests ---------------------------------------------------------------------- */

#define OF struct lx_ctl_guard
REQUEST(OF, lx_object_guard_schema, "guard",
	{ NUMBER(1, "rate", rate), UNSET, LX_FIELD_RANGE(0, INT32_MAX) },
	{ NUMBER(2, "burst", burst), UNSET, LX_FIELD_RANGE(1, INT32_MAX) },
	{ NUMBER(3, "mode", mode), UNSET, LX_FIELD_NAMES(mode_names) },
)
#undef OF

REQUEST(struct lx_ctl_ban, lx_object_ban_schema, "ban",
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_ban, nid), UNSET },
)

REQUEST(struct lx_ctl_prefix, lx_object_prefix_schema, "prefix",
	{ LX_FIELD(1, "prefix", STR, struct lx_ctl_prefix, prefix) },
	{ LX_FIELD_NUM(2, "action", struct lx_ctl_prefix, action),
	  LX_FIELD_NAMES(action_names) },
)

REQUEST(struct lx_ctl_filter, lx_object_filter_schema, "trace",
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_filter, nid), UNSET },
	{ LX_FIELD_NUM(2, "type", struct lx_ctl_filter, type), UNSET,
	  LX_FIELD_NAMES(type_names) },
)

/* clang-format on */
