/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control protocol's tables for BPF and the guard; those for LNet are in objects.c. */
#include <internal/ctl.h>

#include "schema.h"

#define END                                                                                        \
	{                                                                                          \
		0                                                                                  \
	}
#define UNSET .omit = LX_OMIT_UNSET
#define LIST(n, k, member, count, most, schema)                                                    \
	LX_FIELD(n, k, LIST, struct lx_bpf_info, member),                                          \
		.sub = &schema, .count_offset = offsetof(struct lx_bpf_info, count), .max = most

/* clang-format off */

/* ---- bpf status -------------------------------------------------------------------- */

static const struct lx_field feature_fields[] = {
	{ LX_FIELD(1, "name", STRP, struct lx_bpf_feature_info, name), .col = "KERNEL" },
	{ LX_FIELD(2, "have", BOOL, struct lx_bpf_feature_info, have), .col = "HAS IT" },
	{ LX_FIELD(3, "help", STRP, struct lx_bpf_feature_info, help), .col = "FOR" },
	{ LX_FIELD(4, "reason", STR, struct lx_bpf_feature_info, reason), UNSET,
	  .col = "WHY NOT" },
	END
};
static const struct lx_schema feature = { "feature", sizeof(struct lx_bpf_feature_info),
					  feature_fields };

static const struct lx_field set_fields[] = {
	{ LX_FIELD(1, "set", STRP, struct lx_bpf_set_info, name), .col = "SET" },
	{ LX_FIELD(2, "loaded", BOOL, struct lx_bpf_set_info, loaded), .col = "LOADED" },
	{ LX_FIELD(3, "taken_over", BOOL, struct lx_bpf_set_info, taken_over),
	  .col = "TAKEN OVER" },
	{ LX_FIELD(4, "reason", STR, struct lx_bpf_set_info, reason), UNSET, .col = "WHY NOT" },
	END
};
static const struct lx_schema set = { "set", sizeof(struct lx_bpf_set_info), set_fields };

static const struct lx_field hook_fields[] = {
	{ LX_FIELD(1, "set", STRP, struct lx_bpf_hook_info, set), .col = "SET" },
	{ LX_FIELD(2, "interface", STR, struct lx_bpf_hook_info, ifname), .col = "INTERFACE" },
	{ LX_FIELD(3, "hook", STRP, struct lx_bpf_hook_info, hook), .col = "HOOK" },
	{ LX_FIELD(4, "mode", STRP, struct lx_bpf_hook_info, mode), .col = "MODE" },
	{ LX_FIELD(5, "program", STRP, struct lx_bpf_hook_info, program), .col = "PROGRAM" },
	{ LX_FIELD(6, "reason", STR, struct lx_bpf_hook_info, reason), UNSET, .col = "WHY NOT" },
	{ LX_FIELD_NUM(7, "tx_dropped", struct lx_bpf_hook_info, tx_dropped),
	  .omit = LX_OMIT_ZERO },
	{ LX_FIELD_NUM(8, "removed", struct lx_bpf_hook_info, removed), .omit = LX_OMIT_ZERO },
	END
};
static const struct lx_schema hook = { "hook", sizeof(struct lx_bpf_hook_info), hook_fields };

static const struct lx_field object_fields[] = {
	{ LX_FIELD(1, "set", STRP, struct lx_bpf_object_info, set), .col = "SET" },
	{ LX_FIELD(2, "kind", STRP, struct lx_bpf_object_info, kind), .col = "KIND" },
	{ LX_FIELD_NUM(3, "id", struct lx_bpf_object_info, id), .col = "ID" },
	{ LX_FIELD(4, "name", STR, struct lx_bpf_object_info, name), .col = "NAME" },
	{ LX_FIELD_NUM(5, "entries", struct lx_bpf_object_info, entries), .omit = LX_OMIT_ZERO,
	  .col = "ENTRIES" },
	{ LX_FIELD_NUM(6, "memory", struct lx_bpf_object_info, memory), .col = "BYTES" },
	END
};
static const struct lx_schema object = { "object", sizeof(struct lx_bpf_object_info),
					 object_fields };

static const struct lx_field table_fields[] = {
	{ LX_FIELD(1, "table", STRP, struct lx_bpf_table_info, name), .col = "TABLE" },
	{ LX_FIELD_NUM(2, "used", struct lx_bpf_table_info, used), .col = "IN USE" },
	{ LX_FIELD_NUM(3, "max", struct lx_bpf_table_info, max), .col = "AT MOST" },
	{ LX_FIELD_NUM(4, "ready", struct lx_bpf_table_info, ready), .omit = LX_OMIT_ZERO,
	  .col = "READY" },
	{ LX_FIELD_NUM(5, "memory", struct lx_bpf_table_info, memory), .omit = LX_OMIT_ZERO,
	  .col = "BYTES" },
	END
};
static const struct lx_schema table = { "table", sizeof(struct lx_bpf_table_info),
					table_fields };

static const struct lx_field bpf_fields[] = {
	{ LX_FIELD(1, "kernel", STR, struct lx_bpf_info, kernel) },
	{ LX_FIELD(2, "enabled", BOOL, struct lx_bpf_info, enabled) },
	{ LX_FIELD(3, "pins", STR, struct lx_bpf_info, pins), UNSET },
	{ LX_FIELD(4, "reason", STR, struct lx_bpf_info, reason), UNSET },
	{ LX_FIELD(13, "resegments", STR, struct lx_bpf_info, resegments), UNSET },
	{ LX_FIELD_NUM(5, "memory", struct lx_bpf_info, memory) },
	{ LX_FIELD_NUM(12, "tx_dropped", struct lx_bpf_info, tx_dropped) },
	{ LX_FIELD_NUM(14, "stores", struct lx_bpf_info, stores) },
	{ LX_FIELD_NUM(15, "stored_bytes", struct lx_bpf_info, stored_bytes) },
	{ LX_FIELD_NUM(16, "removed", struct lx_bpf_info, n_removed) },
	{ LX_FIELD_NUM(17, "missing", struct lx_bpf_info, n_missing) },
	{ LIST(6, "features", feature, n_features, LX_BPF_FEATURES_MAX, feature) },
	{ LIST(7, "sets", set, n_sets, LX_BPF_SETS_MAX, set) },
	{ LIST(8, "hooks", hook, n_hooks, LX_BPF_HOOKS_MAX, hook) },
	{ LX_FIELD(10, "fastpath", BOOL, struct lx_bpf_info, fastpath) },
	{ LIST(9, "objects", object, n_objects, LX_BPF_OBJECTS_MAX, object) },
	{ LIST(11, "tables", table, n_tables, LX_BPF_TABLES_MAX, table) },
	END
};
static const struct lx_schema bpf = { "bpf", sizeof(struct lx_bpf_info), bpf_fields };

/* ---- stream show, lane show -------------------------------------------------------- */

#define REASON_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_LANE0_##NAME + 1, name, struct lx_stream_info, \
		       reasons[LX_LANE0_##NAME]), .omit = LX_OMIT_ZERO },
static const struct lx_field lane0_fields[] = {
	LX_LANE0_REASONS(REASON_)
	END
};
static const struct lx_schema lane0 = { "lane0", sizeof(struct lx_stream_info), lane0_fields };

#define STREAM_REFUSAL_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_REFUSED_##NAME + 1, name, struct lx_stream_info, \
		       refused[LX_REFUSED_##NAME]), .omit = LX_OMIT_ZERO },
static const struct lx_field stream_refused_fields[] = {
	LX_REFUSALS(STREAM_REFUSAL_)
	END
};
static const struct lx_schema stream_refused = { "refused", sizeof(struct lx_stream_info),
						 stream_refused_fields };

#define LANE_REFUSAL_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_REFUSED_##NAME + 1, name, struct lx_lane_info, \
		       refused[LX_REFUSED_##NAME]), .omit = LX_OMIT_ZERO },
static const struct lx_field lane_refused_fields[] = {
	LX_REFUSALS(LANE_REFUSAL_)
	END
};
static const struct lx_schema lane_refused = { "refused", sizeof(struct lx_lane_info),
					       lane_refused_fields };

#define NAME_(NAME, name) name,
static const char *const stream_names[] = { LX_STREAM_SHOWN(NAME_) };
static const char *const why_names[] = { LX_STREAM_WHY(NAME_) };
static const char *const lane_names[] = { LX_LANE_SHOWN(NAME_) };

static const struct lx_field stream_fields[] = {
	{ LX_FIELD_NUM(1, "stream", struct lx_stream_info, index), .col = "STREAM" },
	{ LX_FIELD(2, "peer", NID, struct lx_stream_info, peer), .col = "PEER" },
	{ LX_FIELD(3, "remote", STR, struct lx_stream_info, remote), .col = "REMOTE" },
	{ LX_FIELD(4, "local", STR, struct lx_stream_info, local), .col = "LOCAL", .wide = true },
	{ LX_FIELD(5, "state", ENUM, struct lx_stream_info, state),
	  LX_FIELD_NAMES(stream_names), .col = "STATE" },
	{ LX_FIELD(24, "why", ENUM, struct lx_stream_info, why), UNSET,
	  LX_FIELD_NAMES(why_names), .col = "WHY" },
	{ LX_FIELD_NUM(6, "messages", struct lx_stream_info, messages), .col = "MESSAGES" },
	{ LX_FIELD_NUM(7, "lane_messages", struct lx_stream_info, lane_messages),
	  .col = "BY LANES" },
	{ LX_FIELD_NUM(8, "bytes", struct lx_stream_info, bytes), .col = "BYTES" },
	{ LX_FIELD_NUM(9, "lane_bytes", struct lx_stream_info, lane_bytes),
	  .col = "LANE BYTES", .wide = true },
	{ LX_FIELD_NUM(10, "lane_percent", struct lx_stream_info, lane_percent), .col = "%" },
	{ LX_FIELD_NUM(11, "extents", struct lx_stream_info, extents), .col = "EXTENTS" },
	{ LX_FIELD_NUM(12, "cookies", struct lx_stream_info, cookies), .col = "COOKIES",
	  .wide = true },
	{ LX_FIELD_NUM(13, "credits", struct lx_stream_info, credits), .col = "CREDITS" },
	{ LX_FIELD_NUM(14, "credits_min", struct lx_stream_info, credits_min), .col = "MIN" },
	{ LX_FIELD_NUM(15, "packets", struct lx_stream_info, packets), .col = "PACKETS",
	  .wide = true },
	{ LX_FIELD_NUM(16, "resegmented", struct lx_stream_info, resegmented),
	  .col = "RESEGMENTED", .wide = true },
	{ LX_FIELD_NUM(17, "fragments", struct lx_stream_info, fragments), .col = "FRAGMENTS",
	  .wide = true },
	{ LX_FIELD_NUM(18, "unframed", struct lx_stream_info, unframed), .col = "UNFRAMED",
	  .wide = true },
	{ LX_FIELD_NUM(22, "gaps", struct lx_stream_info, gaps), .col = "GAPS", .wide = true },
	{ LX_FIELD_NUM(19, "acks", struct lx_stream_info, acks), .col = "ACKS", .wide = true },
	{ LX_FIELD_NUM(20, "busy", struct lx_stream_info, busy), .col = "BUSY", .wide = true },
	/* The same struct, as for the guard's counters. */
	{ .key = "lane0", .attr = 21, .type = LX_FIELD_NEST, .sub = &lane0,
	  .col = "TO LANE 0, BECAUSE" },
	{ .key = "refused", .attr = 23, .type = LX_FIELD_NEST, .sub = &stream_refused,
	  .col = "REFUSED, BECAUSE", .wide = true },
	END
};
static const struct lx_schema stream = { "stream", sizeof(struct lx_stream_info), stream_fields };

static const struct lx_field lane_fields[] = {
	{ LX_FIELD_NUM(1, "lane", struct lx_lane_info, index), .col = "LANE" },
	{ LX_FIELD(2, "next_hop", NID, struct lx_lane_info, next_hop), .col = "NEXT HOP" },
	{ LX_FIELD(3, "remote", STR, struct lx_lane_info, remote), .col = "REMOTE",
	  .wide = true },
	{ LX_FIELD(4, "local", STR, struct lx_lane_info, local), .col = "LOCAL" },
	{ LX_FIELD(5, "state", ENUM, struct lx_lane_info, state),
	  LX_FIELD_NAMES(lane_names), .col = "STATE" },
	{ LX_FIELD_NUM(6, "stream", struct lx_lane_info, stream), UNSET, .col = "STREAM" },
	{ LX_FIELD(16, "behind", STR, struct lx_lane_info, behind), .col = "BEHIND" },
	{ LX_FIELD_NUM(21, "waiting", struct lx_lane_info, waiting), .col = "WAITING" },
	{ LX_FIELD_NUM(7, "window", struct lx_lane_info, window), .col = "WINDOW" },
	{ LX_FIELD_NUM(8, "unacked", struct lx_lane_info, unacked), .col = "UNACKED" },
	{ LX_FIELD_NUM(9, "messages", struct lx_lane_info, messages), .col = "MESSAGES" },
	{ LX_FIELD_NUM(10, "bytes", struct lx_lane_info, bytes), .col = "BYTES" },
	{ LX_FIELD_NUM(11, "takes", struct lx_lane_info, takes), .col = "TAKES" },
	{ LX_FIELD_NUM(17, "handovers", struct lx_lane_info, handovers), .col = "HANDOVERS" },
	{ LX_FIELD_NUM(18, "handovers_per_s", struct lx_lane_info, handovers_per_s),
	  .col = "PER S" },
	{ LX_FIELD_NUM(19, "wait_p50_us", struct lx_lane_info, wait_p50_us), .col = "WAIT P50" },
	{ LX_FIELD_NUM(20, "wait_p99_us", struct lx_lane_info, wait_p99_us), .col = "P99" },
	{ LX_FIELD_NUM(22, "grants", struct lx_lane_info, grants), .col = "GRANTS", .wide = true },
	{ LX_FIELD_NUM(23, "stores", struct lx_lane_info, stores), .col = "STORES", .wide = true },
	{ LX_FIELD_NUM(24, "stored", struct lx_lane_info, stored), .col = "BYTES STORED",
	  .wide = true },
	{ LX_FIELD_NUM(12, "acks", struct lx_lane_info, acks), .col = "ACKS", .wide = true },
	{ LX_FIELD_NUM(13, "next_hop_credits", struct lx_lane_info, credits), .col = "CREDITS",
	  .wide = true },
	{ LX_FIELD_NUM(14, "next_hop_credits_min", struct lx_lane_info, credits_min), .col = "MIN",
	  .wide = true },
	{ .key = "refused", .attr = 15, .type = LX_FIELD_NEST, .sub = &lane_refused,
	  .col = "REFUSED, BECAUSE", .wide = true },
	END
};
static const struct lx_schema lane = { "lane", sizeof(struct lx_lane_info), lane_fields };

/* ---- trace ------------------------------------------------------------------------- */

static const char *const type_names[] = { "ack", "put", "get", "reply", "hello" };

static const struct lx_field trace_fields[] = {
	{ LX_FIELD_NUM(1, "time_us", struct lx_ctl_trace, mark.time_us) },
	{ LX_FIELD_NUM(2, "lost", struct lx_ctl_trace, mark.lost), .omit = LX_OMIT_ZERO },
	{ LX_FIELD_NUM(3, "stream", struct lx_ctl_trace, stream) },
	{ LX_FIELD(4, "src", NID, struct lx_ctl_trace, src) },
	{ LX_FIELD(5, "dst", NID, struct lx_ctl_trace, dst) },
	{ LX_FIELD(6, "type", ENUM, struct lx_ctl_trace, type), LX_FIELD_NAMES(type_names) },
	{ LX_FIELD_NUM(7, "bytes", struct lx_ctl_trace, bytes) },
	{ LX_FIELD_NUM(8, "lane", struct lx_ctl_trace, lane), UNSET },
	{ LX_FIELD(9, "reason", STRP, struct lx_ctl_trace, reason), UNSET },
	END
};
static const struct lx_schema trace = { "trace", sizeof(struct lx_ctl_trace), trace_fields };

/* ---- guard show -------------------------------------------------------------------- */

#define COUNTER_(NAME, name, help) \
	{ LX_FIELD_NUM(LX_GUARD_##NAME + 1, name, struct lx_guard_info, count[LX_GUARD_##NAME]) },
static const struct lx_field counters_fields[] = {
	LX_GUARD_VERDICTS(COUNTER_)
	END
};
static const struct lx_schema counters = { "packets", sizeof(struct lx_guard_info),
					   counters_fields };

static const char *const mode_names[] = { "auto", "native", "generic", "tc" };

static const struct lx_field guard_fields[] = {
	{ LX_FIELD(1, "active", BOOL, struct lx_guard_info, active) },
	{ LX_FIELD(2, "reason", STR, struct lx_guard_info, reason), UNSET },
	{ LX_FIELD(8, "mode", ENUM, struct lx_guard_info, mode), LX_FIELD_NAMES(mode_names) },
	{ LX_FIELD(9, "accept", STR, struct lx_guard_info, accept), UNSET },
	{ LX_FIELD(3, "secure", BOOL, struct lx_guard_info, secure) },
	{ LX_FIELD_NUM(4, "rate", struct lx_guard_info, rate) },
	{ LX_FIELD_NUM(5, "burst", struct lx_guard_info, burst), .omit = LX_OMIT_ZERO },
	{ LX_FIELD_NUM(6, "sources", struct lx_guard_info, sources), .omit = LX_OMIT_ZERO },
	/* Offset 0: the sub-schema describes the counters of the same struct. */
	{ .key = "packets", .attr = 7, .type = LX_FIELD_NEST, .sub = &counters },
	END
};
static const struct lx_schema guard = { "guard", sizeof(struct lx_guard_info), guard_fields };

static const struct lx_field ban_fields[] = {
	{ LX_FIELD(1, "nid", NID, struct lx_guard_ban_info, nid), .col = "BANNED" },
	{ LX_FIELD_NUM(2, "age_s", struct lx_guard_ban_info, age_s), .col = "SECONDS" },
	{ LX_FIELD_NUM(3, "packets", struct lx_guard_ban_info, packets), .col = "DROPPED" },
	END
};
static const struct lx_schema ban = { "ban", sizeof(struct lx_guard_ban_info), ban_fields };

static const char *const action_names[] = { NULL, "allow", "deny" };

static const struct lx_field prefix_fields[] = {
	{ LX_FIELD(1, "prefix", STR, struct lx_guard_prefix_info, prefix), .col = "PREFIX" },
	{ LX_FIELD(2, "action", ENUM, struct lx_guard_prefix_info, action),
	  LX_FIELD_NAMES(action_names), .col = "ACTION" },
	{ LX_FIELD_NUM(3, "syns", struct lx_guard_prefix_info, syns), .col = "SYNS" },
	END
};
static const struct lx_schema prefix = { "prefix", sizeof(struct lx_guard_prefix_info),
					 prefix_fields };

#define VERDICT_(NAME, name, help) name,
static const char *const verdict_names[] = { LX_GUARD_VERDICTS(VERDICT_) };

static const struct lx_field refusal_fields[] = {
	{ LX_FIELD(1, "source", STR, struct lx_guard_refusal_info, source), .col = "REFUSED" },
	{ LX_FIELD(2, "reason", ENUM, struct lx_guard_refusal_info, verdict),
	  LX_FIELD_NAMES(verdict_names), .col = "REASON" },
	{ LX_FIELD_NUM(3, "port", struct lx_guard_refusal_info, port), .col = "FROM PORT" },
	{ LX_FIELD_NUM(4, "syns", struct lx_guard_refusal_info, syns), .col = "SYNS" },
	{ LX_FIELD_NUM(5, "age_s", struct lx_guard_refusal_info, age_s), .col = "SECONDS" },
	END
};
static const struct lx_schema refusal = { "refusal", sizeof(struct lx_guard_refusal_info),
					  refusal_fields };

const struct lx_ctl_shown lx_ctl_bpf = { "bpf", NULL, NULL, &bpf };
const struct lx_ctl_shown lx_ctl_bpf_features = { "features", NULL, NULL, &feature };
const struct lx_ctl_shown lx_ctl_bpf_sets = { "sets", NULL, NULL, &set };
const struct lx_ctl_shown lx_ctl_bpf_hooks = { "hooks", NULL, NULL, &hook };
const struct lx_ctl_shown lx_ctl_bpf_tables = { "tables", NULL, NULL, &table };
const struct lx_ctl_shown lx_ctl_bpf_objects = { "objects", NULL, NULL, &object };
const struct lx_ctl_shown lx_ctl_streams = { "stream", NULL, NULL, &stream };
const struct lx_ctl_shown lx_ctl_lanes = { "lane", NULL, NULL, &lane };
const struct lx_ctl_shown lx_ctl_traces = { "trace", NULL, NULL, &trace };
const struct lx_ctl_shown lx_ctl_guards = { "guard", NULL, NULL, &guard };
const struct lx_ctl_shown lx_ctl_bans = { "ban", NULL, NULL, &ban };
const struct lx_ctl_shown lx_ctl_prefixes = { "prefix", NULL, NULL, &prefix };
const struct lx_ctl_shown lx_ctl_refusals = { "refusal", NULL, NULL, &refusal };

/* ---- requests ---------------------------------------------------------------------- */

#define SCHEMA(name, text, type) \
	const struct lx_schema lx_ctl_##name##_schema = { text, sizeof(type), \
							      name##_request_fields }

static const struct lx_field guard_request_fields[] = {
	{ LX_FIELD_NUM(1, "rate", struct lx_ctl_guard, rate), UNSET,
	  LX_FIELD_RANGE(0, INT32_MAX) },
	{ LX_FIELD_NUM(2, "burst", struct lx_ctl_guard, burst), UNSET,
	  LX_FIELD_RANGE(1, INT32_MAX) },
	{ LX_FIELD_NUM(3, "mode", struct lx_ctl_guard, mode), UNSET,
	  LX_FIELD_NAMES(mode_names) },
	END
};
SCHEMA(guard, "guard", struct lx_ctl_guard);

static const struct lx_field ban_request_fields[] = {
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_ban, nid), UNSET },
	END
};
SCHEMA(ban, "ban", struct lx_ctl_ban);

static const struct lx_field prefix_request_fields[] = {
	{ LX_FIELD(1, "prefix", STR, struct lx_ctl_prefix, prefix) },
	{ LX_FIELD_NUM(2, "action", struct lx_ctl_prefix, action),
	  LX_FIELD_NAMES(action_names) },
	END
};
SCHEMA(prefix, "prefix", struct lx_ctl_prefix);

static const struct lx_field filter_request_fields[] = {
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_filter, nid), UNSET },
	{ LX_FIELD_NUM(2, "type", struct lx_ctl_filter, type), UNSET,
	  LX_FIELD_NAMES(type_names) },
	END
};
SCHEMA(filter, "trace", struct lx_ctl_filter);

/* clang-format on */
