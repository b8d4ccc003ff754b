/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects that users see: the fields of each and of the requests for it, their names and when
 * they are shown. Owns nothing.
 *
 * Keys and their order are the reference's (control.md 3) where it has them. Names of
 * shown fields are defined here only.
 */
#include <internal/ctl.h>
#include <internal/ni_setting.h>

#include "schema.h"

#define END                                                                                        \
	{                                                                                          \
		0                                                                                  \
	}
#define UNSET .omit = LX_OMIT_UNSET
#define BACKUP .backup = true
#define RANGE(min, max) LX_FIELD_RANGE(min, max)
#define OWN .level = LX_LEVEL_OWN

static const char *const up_names[] = { "down", "up" };

/* clang-format off */

/* After the fields of the reference; absent if it is up. */
#define DOWN(n, t, lowest) \
	{ LX_FIELD(n, "down_since", TIME, t, down.since_s), .level = (lowest), \
	  .col = "DOWN SINCE", .rare = true }, \
	{ LX_FIELD((n) + 1, "down_reason", STR, t, down.reason), UNSET, .level = (lowest), \
	  .col = "REASON", .rare = true }

/* ---- counters ---------------------------------------------------------------------- */

#define LATENCY(n, prefix, m) \
	{ LX_FIELD_NUM(n, prefix "_samples", struct lx_traffic, m.samples), .level = 4, \
	  .omit = LX_OMIT_ZERO }, \
	{ LX_FIELD_NUM((n) + 1, prefix "_min_nsec", struct lx_traffic, m.min_nsec), .level = 4, \
	  .omit = LX_OMIT_ZERO }, \
	{ LX_FIELD_NUM((n) + 2, prefix "_max_nsec", struct lx_traffic, m.max_nsec), .level = 4, \
	  .omit = LX_OMIT_ZERO }, \
	{ LX_FIELD_NUM((n) + 3, prefix "_avg_nsec", struct lx_traffic, m.avg_nsec), .level = 4, \
	  .omit = LX_OMIT_ZERO }

static const struct lx_field counts_fields[] = {
	{ LX_FIELD_NUM(1, "send_count", struct lx_traffic, io.send), .col = "SENT" },
	{ LX_FIELD_NUM(2, "recv_count", struct lx_traffic, io.recv), .col = "RECEIVED" },
	{ LX_FIELD_NUM(3, "drop_count", struct lx_traffic, io.drop), .col = "DROPPED" },
	LATENCY(4, "put_egress", put_egress),
	LATENCY(8, "get_rtt", get_rtt),
	LATENCY(12, "put_ack", put_ack),
	END
};
static const struct lx_schema counts = { "statistics", sizeof(struct lx_traffic), counts_fields };

static const struct lx_field types_fields[] = {
	{ LX_FIELD_NUM(1, "put", struct lx_type_counts, put) },
	{ LX_FIELD_NUM(2, "get", struct lx_type_counts, get) },
	{ LX_FIELD_NUM(3, "reply", struct lx_type_counts, reply) },
	{ LX_FIELD_NUM(4, "ack", struct lx_type_counts, ack) },
	{ LX_FIELD_NUM(5, "hello", struct lx_type_counts, hello) },
	END
};
static const struct lx_schema types = { "counts", sizeof(struct lx_type_counts), types_fields };

/* ---- selection policies ------------------------------------------------------------ */

static const struct lx_field udsp_effect_fields[] = {
	{ LX_FIELD_NUM(1, "net priority", struct lx_udsp_effect, net_priority) },
	{ LX_FIELD_NUM(2, "nid priority", struct lx_udsp_effect, nid_priority) },
	{ LX_FIELD(3, "Preferred gateway NIDs", NIDS, struct lx_udsp_effect, gateway),
	  .count_offset = offsetof(struct lx_udsp_effect, n_gateways), .max = LX_UDSP_EFFECT_MAX },
	{ LX_FIELD(4, "Preferred source NIDs", NIDS, struct lx_udsp_effect, source),
	  .count_offset = offsetof(struct lx_udsp_effect, n_sources), .max = LX_UDSP_EFFECT_MAX },
	END
};
static const struct lx_schema udsp_effect = { "udsp info", sizeof(struct lx_udsp_effect),
					      udsp_effect_fields };

static const struct lx_field udsp_action_fields[] = {
	{ .key = "priority", .attr = 1, .type = LX_FIELD_INT, .offset = 0, .size = sizeof(int64_t),
	  .sgn = true, UNSET, RANGE(0, UINT32_MAX), .col = "PRIORITY" },
	END
};
static const struct lx_schema udsp_action = { "action", sizeof(int64_t), udsp_action_fields };

static const struct lx_field udsp_fields[] = {
	{ LX_FIELD_NUM(1, "idx", struct lx_conf_udsp, index), UNSET, BACKUP, .col = "INDEX" },
	{ LX_FIELD(2, "src", STR, struct lx_conf_udsp, src), UNSET, BACKUP, .col = "SRC" },
	{ LX_FIELD(3, "dst", STR, struct lx_conf_udsp, dst), UNSET, BACKUP, .col = "DST" },
	{ LX_FIELD(4, "rte", STR, struct lx_conf_udsp, rte), UNSET, BACKUP, .col = "RTE" },
	{ LX_FIELD(5, "action", NEST, struct lx_conf_udsp, priority), .sub = &udsp_action, UNSET,
	  BACKUP },
	END
};
const struct lx_schema lx_ctl_udsp_schema = { "udsp", sizeof(struct lx_conf_udsp),
						  udsp_fields };

/* ---- local NIs --------------------------------------------------------------------- */

static const struct lx_field ni_health_fields[] = {
	{ LX_FIELD_NUM(1, "fatal_error", struct lx_ni_health, fatal) },
	{ LX_FIELD_NUM(2, "health value", struct lx_ni_health, value), .col = "HEALTH",
	  .wide = true },
	{ LX_FIELD_NUM(3, "interrupts", struct lx_ni_health, interrupts),
	  .col = "LOCAL INTR", .wide = true, .rare = true },
	{ LX_FIELD_NUM(4, "dropped", struct lx_ni_health, dropped),
	  .col = "LOCAL DROP", .wide = true, .rare = true },
	{ LX_FIELD_NUM(5, "aborted", struct lx_ni_health, aborted),
	  .col = "LOCAL ABORT", .wide = true, .rare = true },
	{ LX_FIELD_NUM(6, "no route", struct lx_ni_health, no_route),
	  .col = "NO ROUTE", .wide = true, .rare = true },
	{ LX_FIELD_NUM(7, "timeouts", struct lx_ni_health, timeouts),
	  .col = "LOCAL TIMEOUT", .wide = true, .rare = true },
	{ LX_FIELD_NUM(8, "error", struct lx_ni_health, error),
	  .col = "LOCAL ERROR", .wide = true, .rare = true },
	{ LX_FIELD_NUM(9, "ping_count", struct lx_ni_health, ping_count) },
	{ LX_FIELD_NUM(10, "next_ping", struct lx_ni_health, next_ping) },
	END
};
static const struct lx_schema ni_health = { "health stats", sizeof(struct lx_ni_health),
					    ni_health_fields };

#define NI_TUNABLE_(n, name, min, max) \
	{ LX_FIELD_NUM(n, #name, struct lx_ni_tunables, name), UNSET, RANGE(min, max) },
static const struct lx_field ni_tunables_fields[] = {
	LX_NI_TUNABLES(NI_TUNABLE_)
	END
};
const struct lx_schema lx_ctl_ni_tunables = { "tunables", sizeof(struct lx_ni_tunables),
					      ni_tunables_fields };

static const struct lx_field net_group_fields[] = {
	{ LX_FIELD(1, "net type", NET, struct lx_ni_info, net), BACKUP, .col = "NET" },
	END
};
static const struct lx_schema net_group = { "net", sizeof(struct lx_ni_info), net_group_fields };

static const char *const one_cpt[] = { "[0]" };

static const struct lx_field ni_fields[] = {
	{ LX_FIELD(2, "nid", NID, struct lx_ni_info, nid), .col = "NID" },
	/* An interface implies its first IPv4 address; another one must be given. */
	{ LX_FIELD(27, "nid", NID, struct lx_ni_info, given), UNSET, .level = LX_LEVEL_BACKUP,
	  BACKUP },
	{ LX_FIELD(3, "status", ENUM, struct lx_ni_info, up), LX_FIELD_NAMES(up_names),
	  .col = "STATUS" },
	{ LX_FIELD(4, "interfaces", IFACE, struct lx_ni_info, ifname), UNSET, BACKUP,
	  .col = "INTERFACE" },
	{ LX_FIELD(5, "statistics", NEST, struct lx_ni_info, traffic), .sub = &counts, .level = 1 },
	{ LX_FIELD(30, "udsp info", NEST, struct lx_ni_info, udsp), .sub = &udsp_effect,
	  .level = 4 },
	{ LX_FIELD(6, "sent_stats", NEST, struct lx_ni_info, traffic.sent), .sub = &types,
	  .level = 2 },
	{ LX_FIELD(7, "received_stats", NEST, struct lx_ni_info, traffic.received), .sub = &types,
	  .level = 2 },
	{ LX_FIELD(8, "dropped_stats", NEST, struct lx_ni_info, traffic.dropped), .sub = &types,
	  .level = 2 },
	{ LX_FIELD(9, "health stats", NEST, struct lx_ni_info, health), .sub = &ni_health,
	  .level = 2 },
	{ LX_FIELD(10, "tunables", NEST, struct lx_ni_info, tun), .sub = &lx_ctl_ni_tunables,
	  .level = 1,
	  BACKUP },
	{ LX_FIELD(11, "lnd tunables", NAMED, struct lx_ni_info, lnd_tun.value), .level = 1, BACKUP,
	  .names_offset = offsetof(struct lx_ni_info, lnd_tunable_names) },
	{ LX_FIELD_NUM(12, "dev cpt", struct lx_ni_info, dev_cpt), .level = 1 },
	{ .key = "CPT", .type = LX_FIELD_FIXED, .names = one_cpt, .level = 1, BACKUP },
	{ LX_FIELD_NUM(20, "tx_credits", struct lx_ni_info, tx_credits), OWN, .col = "TX",
	  .wide = true },
	{ LX_FIELD_NUM(21, "tx_credits_min", struct lx_ni_info, tx_credits_min), OWN, .col = "MIN",
	  .wide = true },
	{ LX_FIELD_NUM(22, "tx_credits_max", struct lx_ni_info, tx_credits_max), OWN, .col = "MAX",
	  .wide = true },
	{ LX_FIELD_NUM(23, "alive_s", struct lx_ni_info, alive_s), OWN, UNSET },
	{ LX_FIELD_NUM(24, "refs", struct lx_ni_info, refs), OWN },
	{ LX_FIELD_NUM(25, "peers", struct lx_ni_info, n_peers), OWN, .col = "PEERS",
	  .wide = true },
	{ LX_FIELD_NUM(26, "conns", struct lx_ni_info, n_conns), OWN, .col = "CONNS",
	  .wide = true },
	DOWN(28, struct lx_ni_info, 0),
	END
};
static const struct lx_schema ni = { "NI", sizeof(struct lx_ni_info), ni_fields };

/* ---- peers ------------------------------------------------------------------------- */

static const struct lx_field peer_health_fields[] = {
	{ LX_FIELD_NUM(1, "health value", struct lx_peer_health, value), .col = "HEALTH",
	  .wide = true },
	{ LX_FIELD_NUM(2, "dropped", struct lx_peer_health, dropped),
	  .col = "REMOTE DROP", .wide = true, .rare = true },
	{ LX_FIELD_NUM(3, "timeout", struct lx_peer_health, timeout),
	  .col = "REMOTE TIMEOUT", .wide = true, .rare = true },
	{ LX_FIELD_NUM(4, "error", struct lx_peer_health, error),
	  .col = "REMOTE ERROR", .wide = true, .rare = true },
	{ LX_FIELD_NUM(5, "network timeout", struct lx_peer_health, network_timeout),
	  .col = "NET TIMEOUT", .wide = true, .rare = true },
	{ LX_FIELD_NUM(6, "ping_count", struct lx_peer_health, ping_count) },
	{ LX_FIELD_NUM(7, "next_ping", struct lx_peer_health, next_ping) },
	END
};
static const struct lx_schema peer_health = { "health stats", sizeof(struct lx_peer_health),
					      peer_health_fields };

static const struct lx_field peer_group_fields[] = {
	{ LX_FIELD(1, "primary nid", NID, struct lx_peer_info, primary), BACKUP, .col = "PRIMARY" },
	{ LX_FIELD(2, "Multi-Rail", BOOL, struct lx_peer_info, multi_rail), BACKUP, .col = "MR" },
	{ LX_FIELD_NUM(3, "peer state", struct lx_peer_info, state), .level = 3 },
	{ LX_FIELD(20, "lock_prim", BOOL, struct lx_peer_info, lock_primary), OWN, BACKUP,
	  .omit = LX_OMIT_ZERO },
	END
};
static const struct lx_schema peer_group = { "peer", sizeof(struct lx_peer_info),
					     peer_group_fields };

static const char *const alive_names[] = { "NA", "up", "down" };

static const struct lx_field peer_ni_fields[] = {
	{ LX_FIELD(4, "nid", NID, struct lx_peer_ni_info, nid), BACKUP, .col = "NID" },
	{ LX_FIELD(23, "udsp info", NEST, struct lx_peer_ni_info, udsp), .sub = &udsp_effect,
	  .level = 4 },
	{ LX_FIELD(5, "state", ENUM, struct lx_peer_ni_info, alive),
	  LX_FIELD_NAMES(alive_names), .col = "STATE" },
	{ LX_FIELD_NUM(6, "max_ni_tx_credits", struct lx_peer_ni_info, tx_credits_max), .level = 1,
	  .col = "MAX", .wide = true },
	{ LX_FIELD_NUM(7, "available_tx_credits", struct lx_peer_ni_info, tx_credits), .level = 1,
	  .col = "TX", .wide = true },
	{ LX_FIELD_NUM(8, "min_tx_credits", struct lx_peer_ni_info, tx_credits_min), .level = 1,
	  .col = "MIN", .wide = true },
	{ LX_FIELD_NUM(9, "tx_q_num_of_buf", struct lx_peer_ni_info, tx_queued_bytes), .level = 1,
	  .col = "QUEUED", .wide = true },
	{ LX_FIELD_NUM(10, "available_rtr_credits", struct lx_peer_ni_info, rtr_credits),
	  .level = 1,
	  .col = "RTR", .wide = true },
	{ LX_FIELD_NUM(11, "min_rtr_credits", struct lx_peer_ni_info, rtr_credits_min),
	  .level = 1 },
	{ LX_FIELD_NUM(12, "refcount", struct lx_peer_ni_info, refs), .level = 1 },
	{ LX_FIELD(13, "statistics", NEST, struct lx_peer_ni_info, traffic), .sub = &counts,
	  .level = 1 },
	{ LX_FIELD(14, "sent_stats", NEST, struct lx_peer_ni_info, traffic.sent), .sub = &types,
	  .level = 2 },
	{ LX_FIELD(15, "received_stats", NEST, struct lx_peer_ni_info, traffic.received),
	  .sub = &types, .level = 2 },
	{ LX_FIELD(16, "dropped_stats", NEST, struct lx_peer_ni_info, traffic.dropped),
	  .sub = &types,
	  .level = 2 },
	{ LX_FIELD(17, "health stats", NEST, struct lx_peer_ni_info, health), .sub = &peer_health,
	  .level = 2 },
	DOWN(21, struct lx_peer_ni_info, 0),
	{ LX_FIELD_NUM(24, "answer_bytes", struct lx_peer_ni_info, answer_bytes), OWN,
	  .omit = LX_OMIT_ZERO, .col = "ANSWERS", .rare = true },
	END
};
static const struct lx_schema peer_ni = { "peer NI", sizeof(struct lx_peer_ni_info),
					  peer_ni_fields };

static const char *const recovery_names[] = { "local", "peer" };

static const struct lx_field recovery_fields[] = {
	{ LX_FIELD(2, "nid", NID, struct lx_recovery_info, nid), .col = "NID" },
	{ LX_FIELD(3, "kind", ENUM, struct lx_recovery_info, peer),
	  LX_FIELD_NAMES(recovery_names), .col = "KIND" },
	{ LX_FIELD_NUM(4, "health value", struct lx_recovery_info, value), .col = "HEALTH" },
	{ LX_FIELD_NUM(5, "ping_count", struct lx_recovery_info, ping_count), .col = "PINGS" },
	{ LX_FIELD_NUM(6, "next_ping_s", struct lx_recovery_info, next_ping_s),
	  .col = "NEXT IN S" },
	END
};
static const struct lx_schema recovery = { "recovery", sizeof(struct lx_recovery_info),
					   recovery_fields };

/* The answer to a ping or discovery is a peer, too, but shown with fewer fields. */
static const struct lx_field ping_ni_fields[] = {
	{ LX_FIELD(4, "nid", NID, struct lx_peer_ni_info, nid), .col = "NID" },
	END
};
static const struct lx_schema ping_ni = { "peer NI", sizeof(struct lx_peer_ni_info),
					  ping_ni_fields };

/* ---- routes, routing --------------------------------------------------------------- */

static const char *const hop_names[] = { "single-hop", "multi-hop" };

static const struct lx_field route_fields[] = {
	{ LX_FIELD(1, "net", NET, struct lx_route_info, net), BACKUP, .col = "NET" },
	{ LX_FIELD(2, "gateway", NID, struct lx_route_info, gateway), BACKUP, .col = "GATEWAY" },
	{ LX_FIELD_NUM(3, "hop", struct lx_route_info, hop), BACKUP, .level = 1, .col = "HOP" },
	{ LX_FIELD_NUM(4, "priority", struct lx_route_info, priority), BACKUP, .level = 1,
	  .col = "PRIORITY" },
	{ LX_FIELD_NUM(5, "health_sensitivity", struct lx_route_info, health_sensitivity), BACKUP,
	  .level = 1, .omit = LX_OMIT_ONE },
	{ LX_FIELD(6, "state", ENUM, struct lx_route_info, up), LX_FIELD_NAMES(up_names),
	  .level = 1, .col = "STATE" },
	{ LX_FIELD(7, "type", ENUM, struct lx_route_info, multi_hop),
	  LX_FIELD_NAMES(hop_names), .level = 1, .col = "TYPE" },
	DOWN(8, struct lx_route_info, 1),
	END
};
static const struct lx_schema route = { "route", sizeof(struct lx_route_info), route_fields };

static const struct lx_field pool_fields[] = {
	{ LX_FIELD_NUM(1, "npages", struct lx_pool_info, npages) },
	{ LX_FIELD_NUM(2, "nbuffers", struct lx_pool_info, nbuffers) },
	{ LX_FIELD_NUM(3, "credits", struct lx_pool_info, credits) },
	{ LX_FIELD_NUM(4, "mincredits", struct lx_pool_info, mincredits) },
	END
};
static const struct lx_schema pool = { "pool", sizeof(struct lx_pool_info), pool_fields };

/* While neighbours are told that routing starts or stops; none otherwise. */
static const char *const routing_phases[] = { "", "", "stopping", "starting" };

static const struct lx_field routing_fields[] = {
	{ LX_FIELD_NUM(1, "enable", struct lx_routing_info, state), .mask = 1 },
	{ LX_FIELD(6, "phase", ENUM, struct lx_routing_info, state), UNSET,
	  LX_FIELD_NAMES(routing_phases) },
	{ LX_FIELD(2, "tiny", NEST, struct lx_routing_info, pool[LX_POOL_TINY]), .sub = &pool },
	{ LX_FIELD(3, "small", NEST, struct lx_routing_info, pool[LX_POOL_SMALL]), .sub = &pool },
	{ LX_FIELD(4, "large", NEST, struct lx_routing_info, pool[LX_POOL_LARGE]), .sub = &pool },
	{ LX_FIELD_NUM(5, "seconds_left", struct lx_routing_info, seconds_left),
	  .omit = LX_OMIT_ZERO },
	END
};
static const struct lx_schema routing = { "routing", sizeof(struct lx_routing_info),
					  routing_fields };

/* ---- statistics -------------------------------------------------------------------- */

#define DROP_FIELD_(NAME, name_, help) \
	{ LX_FIELD_NUM(LX_REASON_##NAME + 1, name_, struct lx_stats, drops[LX_REASON_##NAME]), \
	  .omit = LX_OMIT_ZERO },
static const struct lx_field drops_fields[] = {
	LX_REASONS(DROP_FIELD_)
	END
};
static const struct lx_schema drops = { "drops", sizeof(struct lx_stats), drops_fields };

#define STATS_FIELD_(n, name) { LX_FIELD_NUM(n, #name, struct lx_stats, name) },
static const struct lx_field stats_fields[] = {
	LX_STATS(STATS_FIELD_)
	/* Offset 0: the sub-schema describes the drops array of the same struct. */
	{ .key = "drops", .attr = 28, .type = LX_FIELD_NEST, .offset = 0,
	  .size = 0, .sub = &drops, OWN },
	{ LX_FIELD_NUM(29, "loops", struct lx_stats, loops), OWN, .omit = LX_OMIT_ZERO },
	{ LX_FIELD_NUM(30, "answer_bytes", struct lx_stats, answer_bytes), OWN },
	{ LX_FIELD_NUM(31, "answer_waits", struct lx_stats, answer_waits), OWN },
	{ LX_FIELD_NUM(32, "refused_ports", struct lx_stats, refused_ports), OWN,
	  .omit = LX_OMIT_ZERO },
	END
};
static const struct lx_schema stats = { "statistics", sizeof(struct lx_stats), stats_fields };

/* ---- fault injection --------------------------------------------------------------- */

#define FAULT_FIELDS(t, m) \
	{ LX_FIELD(2, "src", NID, t, m src), UNSET, .col = "FROM" }, \
	{ LX_FIELD(3, "dst", NID, t, m dst), UNSET, .col = "TO" }, \
	{ LX_FIELD(4, "local", NID, t, m local), UNSET, .col = "LOCAL", .rare = true }, \
	{ LX_FIELD_NUM(5, "portals", t, m portals), .omit = LX_OMIT_ZERO, .col = "PORTALS", \
	  .rare = true }, \
	{ LX_FIELD_NUM(6, "messages", t, m messages), .omit = LX_OMIT_ZERO, .col = "MESSAGES" }, \
	{ LX_FIELD_NUM(7, "rate", t, m rate), .omit = LX_OMIT_ZERO, .col = "RATE" }, \
	{ LX_FIELD_NUM(8, "interval_s", t, m interval_s), .omit = LX_OMIT_ZERO, \
	  .col = "INTERVAL", .rare = true }, \
	{ LX_FIELD_NUM(9, "latency_ms", t, m latency_ms), .omit = LX_OMIT_ZERO, \
	  .col = "LATENCY", .rare = true }, \
	{ LX_FIELD_NUM(10, "health_errors", t, m hstatuses), .omit = LX_OMIT_ZERO, \
	  .col = "HEALTH ERRORS", .rare = true }, \
	{ LX_FIELD(11, "random", BOOL, t, m random), .omit = LX_OMIT_ZERO, .col = "RANDOM", \
	  .rare = true }, \
	{ LX_FIELD(12, "drop_all", BOOL, t, m drop_all), .omit = LX_OMIT_ZERO, .col = "ALL", \
	  .rare = true }

static const char *const fault_names[] = { "drop", "delay" };

static const struct lx_field fault_info_fields[] = {
	{ LX_FIELD(1, "type", ENUM, struct lx_fault_info, rule.delay), LX_FIELD_NAMES(fault_names),
	  .col = "RULE" },
	FAULT_FIELDS(struct lx_fault_info, rule.),
	{ LX_FIELD_NUM(20, "matched", struct lx_fault_info, counts.matched), .col = "MATCHED" },
	{ LX_FIELD_NUM(21, "acted_on", struct lx_fault_info, counts.acted), .col = "ACTED ON" },
	{ LX_FIELD_NUM(22, "put", struct lx_fault_info, counts.put), .col = "PUT", .wide = true },
	{ LX_FIELD_NUM(23, "ack", struct lx_fault_info, counts.ack), .col = "ACK", .wide = true },
	{ LX_FIELD_NUM(24, "get", struct lx_fault_info, counts.get), .col = "GET", .wide = true },
	{ LX_FIELD_NUM(25, "reply", struct lx_fault_info, counts.reply), .col = "REPLY",
	  .wide = true },
	{ LX_FIELD_NUM(26, "held", struct lx_fault_info, held), .omit = LX_OMIT_ZERO, .col = "HELD",
	  .rare = true },
	{ LX_FIELD_NUM(27, "seconds_left", struct lx_fault_info, left_s), .omit = LX_OMIT_ZERO,
	  .col = "LEFT", .rare = true },
	END
};
static const struct lx_schema fault_info = { "fault", sizeof(struct lx_fault_info),
					     fault_info_fields };

/* ---- connections ------------------------------------------------------------------- */

static const struct lx_field conn_fields[] = {
	{ LX_FIELD(1, "peer", ID, struct lx_conn_info, peer), .col = "PEER" },
	{ LX_FIELD(2, "nid", NID, struct lx_conn_info, ni), .col = "NID" },
	{ LX_FIELD(3, "type", STR, struct lx_conn_info, type), .col = "TYPE" },
	{ LX_FIELD(4, "local", STR, struct lx_conn_info, local), .col = "LOCAL" },
	{ LX_FIELD(5, "remote", STR, struct lx_conn_info, remote), .col = "REMOTE" },
	{ LX_FIELD_NUM(6, "version", struct lx_conn_info, version), .col = "V" },
	{ LX_FIELD_NUM(7, "tx_queued_bytes", struct lx_conn_info, tx_queued_bytes), .col = "TXQ" },
	{ LX_FIELD_NUM(8, "tx_bytes", struct lx_conn_info, tx_bytes), .col = "TX BYTES" },
	{ LX_FIELD_NUM(9, "rx_bytes", struct lx_conn_info, rx_bytes), .col = "RX BYTES" },
	{ LX_FIELD_NUM(10, "zc_pending", struct lx_conn_info, zc_pending), .col = "ZC",
	  .wide = true },
	{ LX_FIELD_NUM(11, "idle_s", struct lx_conn_info, idle_s), .col = "IDLE", .wide = true },
	END
};
static const struct lx_schema conn = { "conn", sizeof(struct lx_conn_info), conn_fields };

/* ---- tunables, changes, the daemon ------------------------------------------------- */

static const struct lx_field tunable_fields[] = {
	{ LX_FIELD(1, "module", STRP, struct lx_ctl_tunable, module), .col = "MODULE" },
	{ LX_FIELD(2, "name", STRP, struct lx_ctl_tunable, name), .col = "NAME" },
	{ LX_FIELD(3, "value", STR, struct lx_ctl_tunable, value), .col = "VALUE" },
	{ LX_FIELD(4, "default", STR, struct lx_ctl_tunable, def), .col = "DEFAULT" },
	{ LX_FIELD_NUM(5, "min", struct lx_ctl_tunable, min), .col = "MIN", .wide = true },
	{ LX_FIELD_NUM(6, "max", struct lx_ctl_tunable, max), .col = "MAX", .wide = true },
	{ LX_FIELD(7, "choices", STR, struct lx_ctl_tunable, choices), UNSET,
	  .col = "CHOICES", .wide = true },
	{ LX_FIELD(8, "help", STRP, struct lx_ctl_tunable, help), .col = "MEANING" },
	END
};
static const struct lx_schema tunable = { "tunable", sizeof(struct lx_ctl_tunable),
					  tunable_fields };

#define CHANGE_NAME_(NAME, name) name,
static const char *const change_names[] = { LX_CHANGES(CHANGE_NAME_) };

static const struct lx_field event_fields[] = {
	{ LX_FIELD_NUM(1, "time_us", struct lx_ctl_event, mark.time_us) },
	{ LX_FIELD_NUM(2, "lost", struct lx_ctl_event, mark.lost), .omit = LX_OMIT_ZERO },
	{ LX_FIELD(3, "change", ENUM, struct lx_ctl_event, change.type),
	  LX_FIELD_NAMES(change_names) },
	{ LX_FIELD(4, "nid", NID, struct lx_ctl_event, change.nid), UNSET },
	{ LX_FIELD(5, "net", NET, struct lx_ctl_event, change.net), UNSET },
	{ LX_FIELD(6, "text", STR, struct lx_ctl_event, change.text), UNSET },
	END
};
static const struct lx_schema event = { "event", sizeof(struct lx_ctl_event), event_fields };

static const struct lx_field status_fields[] = {
	{ LX_FIELD(1, "version", STRP, struct lx_ctl_status, version), .col = "VERSION" },
	{ LX_FIELD(2, "instance", STRP, struct lx_ctl_status, instance), .col = "INSTANCE" },
	{ LX_FIELD_NUM(3, "pid", struct lx_ctl_status, pid), .col = "PID" },
	{ LX_FIELD_NUM(4, "uptime_s", struct lx_ctl_status, uptime_s), .col = "UPTIME" },
	{ LX_FIELD(5, "configured", BOOL, struct lx_ctl_status, configured),
	  .col = "CONFIGURED" },
	{ LX_FIELD(6, "config", STRP, struct lx_ctl_status, config), UNSET, .col = "FILE" },
	{ LX_FIELD_NUM(7, "clients", struct lx_ctl_status, clients), .col = "CLIENTS",
	  .wide = true },
	{ LX_FIELD(8, "priority", BOOL, struct lx_ctl_status, priority), .col = "PRIORITY",
	  .wide = true },
	{ LX_FIELD_NUM(9, "cpu_ms", struct lx_ctl_status, cpu_ms), .col = "CPU", .wide = true },
	{ LX_FIELD_NUM(10, "waited_ms", struct lx_ctl_status, waited_ms), .col = "WAITED",
	  .wide = true },
	{ LX_FIELD_NUM(11, "interrupts_ms", struct lx_ctl_status, interrupts_ms),
	  .col = "INTERRUPTS", .wide = true },
	{ LX_FIELD_NUM(13, "clock_jump_s", struct lx_ctl_status, clock_jump_s),
	  .omit = LX_OMIT_ZERO },
	{ LX_FIELD(12, "missing", STR, struct lx_ctl_status, missing), UNSET, .col = "MISSING",
	  .rare = true },
	END
};
#define SELFTEST_FIELDS(t, m) \
	{ LX_FIELD_NUM(1, "enable", t, m enable), UNSET, RANGE(0, 1), .backup = true, \
	  .col = "ON" }, \
	{ LX_FIELD(2, "consoles", STR, t, m consoles), UNSET, .backup = true, \
	  .col = "CONSOLES" }, \
	{ LX_FIELD_NUM(3, "session_timeout", t, m session_timeout), UNSET, .backup = true, \
	  RANGE(1, LX_SELFTEST_SESSION_MAX) }, \
	{ LX_FIELD_NUM(4, "rpc_timeout", t, m rpc_timeout), UNSET, .backup = true, \
	  RANGE(1, LX_SELFTEST_RPC_MAX) }, \
	{ LX_FIELD_NUM(5, "bulk_mib", t, m bulk_mib), UNSET, .backup = true, \
	  RANGE(1, LX_SELFTEST_BULK_MAX) }

#define SELFTEST_INFO(n, name) LX_FIELD_NUM(n, #name, struct lx_ctl_selftest_info, name)
static const struct lx_field selftest_info_fields[] = {
	SELFTEST_FIELDS(struct lx_ctl_selftest_info, conf.),
	{ LX_FIELD(6, "session", STR, struct lx_ctl_selftest_info, session), UNSET,
	  .col = "SESSION" },
	{ LX_FIELD(7, "console", NID, struct lx_ctl_selftest_info, console), UNSET,
	  .col = "OF CONSOLE" },
	{ SELFTEST_INFO(8, age_s) },
	{ SELFTEST_INFO(9, idle_s) },
	{ SELFTEST_INFO(10, batches) },
	{ SELFTEST_INFO(11, tests), .col = "TESTS" },
	{ SELFTEST_INFO(12, active_batches) },
	{ SELFTEST_INFO(13, active_units), .col = "ACTIVE UNITS" },
	{ SELFTEST_INFO(14, brw_errors) },
	{ SELFTEST_INFO(15, ping_errors) },
	{ SELFTEST_INFO(16, sent), .col = "SENT" },
	{ SELFTEST_INFO(17, served), .col = "SERVED" },
	{ SELFTEST_INFO(18, dropped), .col = "DROPPED", .wide = true },
	{ SELFTEST_INFO(19, expired), .col = "EXPIRED", .wide = true },
	{ SELFTEST_INFO(20, errors), .col = "ERRORS", .wide = true },
	{ SELFTEST_INFO(21, bulk_get) },
	{ SELFTEST_INFO(22, bulk_put) },
	{ SELFTEST_INFO(23, refused), .col = "REFUSED", .rare = true },
	{ SELFTEST_INFO(24, bulk_buffers) },
	{ SELFTEST_INFO(25, bulk_waiting) },
	END
};
static const struct lx_schema selftest_info = { "selftest", sizeof(struct lx_ctl_selftest_info),
						selftest_info_fields };

static const struct lx_schema status = { "daemon", sizeof(struct lx_ctl_status),
					 status_fields };

const struct lx_ctl_shown lx_ctl_nets = { "net", &net_group, "local NI(s)", &ni };
const struct lx_ctl_shown lx_ctl_peers = { "peer", &peer_group, "peer ni", &peer_ni };
const struct lx_ctl_shown lx_ctl_pings = { "ping", &peer_group, "peer_ni", &ping_ni };
const struct lx_ctl_shown lx_ctl_recovery = { "recovery", NULL, NULL, &recovery };
const struct lx_ctl_shown lx_ctl_routes = { "route", NULL, NULL, &route };
const struct lx_ctl_shown lx_ctl_udsps = { "udsp", NULL, NULL, &lx_ctl_udsp_schema };
const struct lx_ctl_shown lx_ctl_routing_info = { "routing", NULL, NULL, &routing };
const struct lx_ctl_shown lx_ctl_stats = { "statistics", NULL, NULL, &stats };
const struct lx_ctl_shown lx_ctl_faults = { "fault", NULL, NULL, &fault_info };
const struct lx_ctl_shown lx_ctl_conns = { "conn", NULL, NULL, &conn };
const struct lx_ctl_shown lx_ctl_tunables = { "tunable", NULL, NULL, &tunable };
const struct lx_ctl_shown lx_ctl_events = { "event", NULL, NULL, &event };
const struct lx_ctl_shown lx_ctl_selftests = { "selftest", NULL, NULL, &selftest_info };
const struct lx_ctl_shown lx_ctl_statuses = { "daemon", NULL, NULL, &status };

/* ---- LNet selftest ------------------------------------------------------------------ */

static const struct lx_field answer_fields[] = {
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_answer, nid) },
	{ LX_FIELD_NUM(2, "status", struct lx_ctl_answer, status) },
	{ LX_FIELD(3, "session", STR, struct lx_ctl_answer, name), UNSET },
	{ LX_FIELD(4, "console", NID, struct lx_ctl_answer, console), UNSET },
	{ LX_FIELD_NUM(5, "timeout_s", struct lx_ctl_answer, timeout_s) },
	{ LX_FIELD_NUM(6, "active", struct lx_ctl_answer, active) },
	{ LX_FIELD_NUM(7, "brw_errors", struct lx_ctl_answer, brw_errors) },
	{ LX_FIELD_NUM(8, "ping_errors", struct lx_ctl_answer, ping_errors) },
	{ LX_FIELD_NUM(9, "rpc_errors", struct lx_ctl_answer, rpc_errors) },
	{ LX_FIELD_NUM(10, "sent", struct lx_ctl_answer, sent) },
	{ LX_FIELD_NUM(11, "rcvd", struct lx_ctl_answer, rcvd) },
	{ LX_FIELD_NUM(12, "dropped", struct lx_ctl_answer, dropped) },
	{ LX_FIELD_NUM(13, "expired", struct lx_ctl_answer, expired) },
	{ LX_FIELD_NUM(14, "bulk_get", struct lx_ctl_answer, bulk_get) },
	{ LX_FIELD_NUM(15, "bulk_put", struct lx_ctl_answer, bulk_put) },
	{ LX_FIELD_NUM(16, "running_ms", struct lx_ctl_answer, running_ms) },
	{ LX_FIELD_NUM(17, "send_count", struct lx_ctl_answer, send_count) },
	{ LX_FIELD_NUM(18, "recv_count", struct lx_ctl_answer, recv_count) },
	{ LX_FIELD_NUM(19, "send_length", struct lx_ctl_answer, send_length) },
	{ LX_FIELD_NUM(20, "recv_length", struct lx_ctl_answer, recv_length) },
	END
};
static const struct lx_schema answer = { "answer", sizeof(struct lx_ctl_answer),
					 answer_fields };
const struct lx_ctl_shown lx_ctl_answers = { "answer", NULL, NULL, &answer };

static const struct lx_field line_fields[] = {
	{ LX_FIELD(1, "line", STR, struct lx_ctl_line, text) },
	END
};
static const struct lx_schema line = { "line", sizeof(struct lx_ctl_line), line_fields };

const struct lx_ctl_shown lx_ctl_columns = { "columns", NULL, NULL, &line };

/* ---- requests ---------------------------------------------------------------------- */

#define SCHEMA(name, text, type) \
	const struct lx_schema lx_ctl_##name##_schema = { text, sizeof(type), name##_fields }

static const struct lx_field show_fields[] = {
	{ LX_FIELD(1, "net", NET, struct lx_ctl_show, net), UNSET },
	{ LX_FIELD(2, "nid", NID, struct lx_ctl_show, nid), UNSET },
	{ LX_FIELD(3, "gateway", NID, struct lx_ctl_show, gateway), UNSET },
	{ LX_FIELD_NUM(4, "hop", struct lx_ctl_show, hop), UNSET },
	{ LX_FIELD_NUM(5, "priority", struct lx_ctl_show, priority), UNSET },
	{ LX_FIELD(6, "name", STR, struct lx_ctl_show, name), UNSET },
	{ LX_FIELD(7, "module", STR, struct lx_ctl_show, module), UNSET },
	{ LX_FIELD_NUM(8, "level", struct lx_ctl_show, level) },
	{ LX_FIELD_NUM(9, "index", struct lx_ctl_show, index), UNSET },
	END
};
SCHEMA(show, "show", struct lx_ctl_show);

static const struct lx_field lnd_value_fields[] = {
	{ LX_FIELD(1, "name", STR, struct lx_ctl_lnd_value, name) },
	{ LX_FIELD_NUM(2, "value", struct lx_ctl_lnd_value, value) },
	END
};
static const struct lx_schema lnd_value = { "lnd tunable", sizeof(struct lx_ctl_lnd_value),
					    lnd_value_fields };

static const struct lx_field net_fields[] = {
	{ LX_FIELD(1, "net type", NET, struct lx_ctl_net, ni.net), UNSET },
	{ LX_FIELD(2, "nid", NID, struct lx_ctl_net, ni.nid), UNSET },
	{ LX_FIELD(4, "interfaces", IFACE, struct lx_ctl_net, ni.ifname), UNSET },
	{ LX_FIELD(5, "rails", STR, struct lx_ctl_net, ni.rails), UNSET },
	{ LX_FIELD(10, "tunables", NEST, struct lx_ctl_net, ni.tun), .sub = &lx_ctl_ni_tunables },
	{ LX_FIELD(11, "lnd tunables", LIST, struct lx_ctl_net, lnd), .sub = &lnd_value,
	  .count_offset = offsetof(struct lx_ctl_net, n_lnd), .max = LX_LND_TUNABLES_MAX },
	{ LX_FIELD(12, "check", BOOL, struct lx_ctl_net, check), .omit = LX_OMIT_ZERO,
	  .command = true },
	END
};
SCHEMA(net, "net", struct lx_ctl_net);

static const struct lx_field set_fields[] = {
	{ LX_FIELD(1, "net type", NET, struct lx_ctl_set, net), UNSET },
	{ LX_FIELD(2, "nid", NID, struct lx_ctl_set, nid), UNSET },
	{ LX_FIELD(3, "name", STR, struct lx_ctl_set, name) },
	{ LX_FIELD_NUM(4, "value", struct lx_ctl_set, value) },
	END
};
SCHEMA(set, "net", struct lx_ctl_set);

static const struct lx_field ask_dest_fields[] = {
	{ .key = "nid", .attr = 1, .type = LX_FIELD_NID, .offset = 0,
	  .size = sizeof(struct lx_nid) },
	END
};
static const struct lx_schema ask_dest = { "destination", sizeof(struct lx_nid), ask_dest_fields };

static const struct lx_field ask_fields[] = {
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_ask, nid), UNSET },
	{ LX_FIELD(2, "console", NID, struct lx_ctl_ask, console), UNSET },
	{ LX_FIELD_NUM(3, "stamp", struct lx_ctl_ask, stamp) },
	{ LX_FIELD_NUM(4, "service", struct lx_ctl_ask, service) },
	{ LX_FIELD_NUM(5, "timeout_ms", struct lx_ctl_ask, timeout_ms) },
	{ LX_FIELD(6, "name", STR, struct lx_ctl_ask, name), UNSET },
	{ LX_FIELD(7, "force", BOOL, struct lx_ctl_ask, force) },
	{ LX_FIELD_NUM(8, "batch", struct lx_ctl_ask, batch) },
	{ LX_FIELD_NUM(9, "op", struct lx_ctl_ask, op) },
	{ LX_FIELD_NUM(10, "test", struct lx_ctl_ask, test) },
	{ LX_FIELD(11, "client", BOOL, struct lx_ctl_ask, client) },
	{ LX_FIELD_NUM(12, "test_service", struct lx_ctl_ask, test_service) },
	{ LX_FIELD_NUM(13, "loop", struct lx_ctl_ask, loop) },
	{ LX_FIELD_NUM(14, "concurrency", struct lx_ctl_ask, concurrency) },
	{ LX_FIELD_NUM(15, "rw", struct lx_ctl_ask, rw) },
	{ LX_FIELD_NUM(16, "check", struct lx_ctl_ask, check) },
	{ LX_FIELD_NUM(17, "length", struct lx_ctl_ask, length) },
	{ LX_FIELD_NUM(18, "offset", struct lx_ctl_ask, offset) },
	{ LX_FIELD(19, "dest", LIST, struct lx_ctl_ask, dest), .sub = &ask_dest,
	  .count_offset = offsetof(struct lx_ctl_ask, n_dests), .max = LX_CTL_NIDS_MAX },
	END
};
SCHEMA(ask, "ask", struct lx_ctl_ask);

static const struct lx_field route_request_fields[] = {
	{ LX_FIELD(1, "net", NET, struct lx_conf_route, net), UNSET },
	{ LX_FIELD(2, "gateway", NID, struct lx_conf_route, gateway), UNSET },
	{ LX_FIELD_NUM(3, "hop", struct lx_conf_route, hop), .alias = "hop-count", UNSET,
	  RANGE(1, LX_HOP_MAX) },
	{ LX_FIELD_NUM(4, "priority", struct lx_conf_route, priority), UNSET,
	  RANGE(0, UINT32_MAX) },
	{ LX_FIELD_NUM(5, "health_sensitivity", struct lx_conf_route, health_sensitivity), UNSET,
	  RANGE(1, INT32_MAX) },
	END
};
const struct lx_schema lx_ctl_route_schema = { "route", sizeof(struct lx_conf_route),
						   route_request_fields };

static const struct lx_field nid_fields[] = {
	{ .key = "nid", .attr = 1, .type = LX_FIELD_NID, .offset = 0,
	  .size = sizeof(struct lx_nid) },
	END
};
static const struct lx_schema nid = { "nid", sizeof(struct lx_nid), nid_fields };

static const struct lx_field peer_fields[] = {
	{ LX_FIELD(1, "primary nid", NID, struct lx_ctl_peer, primary), UNSET },
	{ LX_FIELD(2, "Multi-Rail", BOOL, struct lx_ctl_peer, multi_rail) },
	{ LX_FIELD(4, "peer ni", LIST, struct lx_ctl_peer, nid), .sub = &nid,
	  .count_offset = offsetof(struct lx_ctl_peer, n_nids), .max = LX_CTL_NIDS_MAX },
	{ LX_FIELD(20, "lock_prim", BOOL, struct lx_ctl_peer, lock_primary) },
	{ LX_FIELD(21, "force", BOOL, struct lx_ctl_peer, force), .command = true },
	END
};
SCHEMA(peer, "peer", struct lx_ctl_peer);

static const struct lx_field udsp_del_fields[] = {
	{ LX_FIELD_NUM(1, "idx", struct lx_ctl_udsp, index), UNSET },
	END
};
SCHEMA(udsp_del, "udsp", struct lx_ctl_udsp);

static const struct lx_field ping_fields[] = {
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_ping, nid), UNSET },
	{ LX_FIELD(2, "source", NID, struct lx_ctl_ping, source), UNSET },
	{ LX_FIELD_NUM(3, "timeout", struct lx_ctl_ping, timeout_ms) },
	END
};
SCHEMA(ping, "ping", struct lx_ctl_ping);

static const struct lx_field fault_fields[] = {
	{ LX_FIELD(1, "delay", BOOL, struct lx_ctl_fault, rule.delay) },
	FAULT_FIELDS(struct lx_ctl_fault, rule.),
	{ LX_FIELD_NUM(13, "for_s", struct lx_ctl_fault, rule.for_s), .omit = LX_OMIT_ZERO },
	{ LX_FIELD(14, "all", BOOL, struct lx_ctl_fault, all), .omit = LX_OMIT_ZERO },
	END
};
SCHEMA(fault, "fault", struct lx_ctl_fault);

static const struct lx_field selftest_fields[] = {
	SELFTEST_FIELDS(struct lx_conf_selftest, ),
	END
};
SCHEMA(selftest, "selftest", struct lx_conf_selftest);

static const struct lx_field routing_request_fields[] = {
	{ LX_FIELD_NUM(1, "enable", struct lx_ctl_routing, enable) },
	END
};
const struct lx_schema lx_ctl_routing_schema = { "routing", sizeof(struct lx_ctl_routing),
						     routing_request_fields };

static const struct lx_field buffers_fields[] = {
	{ LX_FIELD_NUM(2, "tiny", struct lx_ctl_buffers, total[LX_POOL_TINY]), UNSET,
	  RANGE(0, LX_BUFFERS_MAX) },
	{ LX_FIELD_NUM(3, "small", struct lx_ctl_buffers, total[LX_POOL_SMALL]), UNSET,
	  RANGE(0, LX_BUFFERS_MAX) },
	{ LX_FIELD_NUM(4, "large", struct lx_ctl_buffers, total[LX_POOL_LARGE]), UNSET,
	  RANGE(0, LX_BUFFERS_LARGE_MAX) },
	END
};
SCHEMA(buffers, "buffers", struct lx_ctl_buffers);

static const struct lx_field disconnect_fields[] = {
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_disconnect, nid), UNSET },
	END
};
SCHEMA(disconnect, "conn", struct lx_ctl_disconnect);

static const struct lx_field value_fields[] = {
	{ LX_FIELD(1, "module", STR, struct lx_ctl_tunable_value, module) },
	{ LX_FIELD(2, "name", STR, struct lx_ctl_tunable_value, name) },
	{ LX_FIELD(3, "value", STR, struct lx_ctl_tunable_value, value) },
	END
};
SCHEMA(value, "tunable", struct lx_ctl_tunable_value);

/* clang-format on */
