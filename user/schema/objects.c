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

#include "table.h"

#define BACKUP .backup = true
#define RANGE(min, max) LX_FIELD_RANGE(min, max)
#define OWN .level = LX_LEVEL_OWN

static const char *const up_names[] = { "down", "up" };

/* clang-format off */

/* After the fields of the reference; absent if it is up. */
#define DOWN(n, t, lowest) \
	{ LX_FIELD(n, "down_since", TIME, t, down.since_s), .level = (lowest), \
	  RARE("DOWN SINCE") }, \
	{ LX_FIELD((n) + 1, "down_reason", STR, t, down.reason), UNSET, .level = (lowest), \
	  RARE("REASON") }

/* ---- counters ---------------------------------------------------------------------- */

#define LATENCY(n, prefix, m) \
	{ LX_FIELD_NUM(n, prefix "_samples", struct lx_traffic, m.samples), .level = 4, \
	  NONZERO }, \
	{ LX_FIELD_NUM((n) + 1, prefix "_min_nsec", struct lx_traffic, m.min_nsec), .level = 4, \
	  NONZERO }, \
	{ LX_FIELD_NUM((n) + 2, prefix "_max_nsec", struct lx_traffic, m.max_nsec), .level = 4, \
	  NONZERO }, \
	{ LX_FIELD_NUM((n) + 3, prefix "_avg_nsec", struct lx_traffic, m.avg_nsec), .level = 4, \
	  NONZERO }

#define OF struct lx_traffic
TABLE(counts, "statistics",
	{ NUMBER(1, "send_count", io.send), .col = "SENT" },
	{ NUMBER(2, "recv_count", io.recv), .col = "RECEIVED" },
	{ NUMBER(3, "drop_count", io.drop), .col = "DROPPED" },
	LATENCY(4, "put_egress", put_egress),
	LATENCY(8, "get_rtt", get_rtt),
	LATENCY(12, "put_ack", put_ack),
	{ NUMBER(16, "tcp_sent_bytes", tcp.sent), OWN, WIDE("TCP BYTES") },
	{ NUMBER(17, "tcp_resent_bytes", tcp.resent), OWN, WIDE("SENT AGAIN") },
)
#undef OF

#define OF struct lx_type_counts
TABLE(types, "counts",
	{ NUMBER(1, "put", put) },
	{ NUMBER(2, "get", get) },
	{ NUMBER(3, "reply", reply) },
	{ NUMBER(4, "ack", ack) },
	{ NUMBER(5, "hello", hello) },
)
#undef OF

/* ---- selection policies ------------------------------------------------------------ */

#define OF struct lx_udsp_effect
TABLE(udsp_effect, "udsp info",
	{ NUMBER(1, "net priority", net_priority) },
	{ NUMBER(2, "nid priority", nid_priority) },
	{ FIELD(3, "Preferred gateway NIDs", NIDS, gateway),
	  .count_offset = offsetof(OF, n_gateways), .max = LX_UDSP_EFFECT_MAX },
	{ FIELD(4, "Preferred source NIDs", NIDS, source),
	  .count_offset = offsetof(OF, n_sources), .max = LX_UDSP_EFFECT_MAX },
)
#undef OF

TABLE_OF(int64_t, udsp_action, "action",
	{ .key = "priority", .attr = 1, .type = LX_FIELD_INT, .offset = 0, .size = sizeof(int64_t),
	  .sgn = true, UNSET, RANGE(0, UINT32_MAX), .col = "PRIORITY" },
)

#define OF struct lx_conf_udsp
REQUEST(OF, lx_object_udsp_schema, "udsp",
	{ NUMBER(1, "idx", index), UNSET, BACKUP, .col = "INDEX" },
	{ FIELD(2, "src", STR, src), UNSET, BACKUP, .col = "SRC" },
	{ FIELD(3, "dst", STR, dst), UNSET, BACKUP, .col = "DST" },
	{ FIELD(4, "rte", STR, rte), UNSET, BACKUP, .col = "RTE" },
	{ FIELD(5, "action", NEST, priority), .sub = &udsp_action, UNSET, BACKUP },
)
#undef OF

/* ---- local NIs --------------------------------------------------------------------- */

#define OF struct lx_ni_health
TABLE(ni_health, "health stats",
	{ NUMBER(1, "fatal_error", fatal) },
	{ NUMBER(2, "health value", value), WIDE("HEALTH") },
	{ NUMBER(3, "interrupts", interrupts), WIDE("LOCAL INTR"), .rare = true },
	{ NUMBER(4, "dropped", dropped), WIDE("LOCAL DROP"), .rare = true },
	{ NUMBER(5, "aborted", aborted), WIDE("LOCAL ABORT"), .rare = true },
	{ NUMBER(6, "no route", no_route), WIDE("NO ROUTE"), .rare = true },
	{ NUMBER(7, "timeouts", timeouts), WIDE("LOCAL TIMEOUT"), .rare = true },
	{ NUMBER(8, "error", error), WIDE("LOCAL ERROR"), .rare = true },
	{ NUMBER(9, "ping_count", ping_count) },
	{ NUMBER(10, "next_ping", next_ping) },
)
#undef OF

#define NI_TUNABLE_(n, name, min, max) \
	{ LX_FIELD_NUM(n, #name, struct lx_ni_tunables, name), UNSET, RANGE(min, max) },
REQUEST(struct lx_ni_tunables, lx_object_ni_tunables, "tunables",
	LX_NI_TUNABLES(NI_TUNABLE_)
)

TABLE_OF(struct lx_ni_info, net_group, "net",
	{ LX_FIELD(1, "net type", NET, struct lx_ni_info, net), BACKUP, .col = "NET" },
)

static const char *const one_cpt[] = { "[0]" };

#define OF struct lx_ni_info
TABLE(ni, "NI",
	{ FIELD(2, "nid", NID, nid), .col = "NID" },
	/* An interface implies its first IPv4 address; another one must be given. */
	{ FIELD(27, "nid", NID, given), UNSET, .level = LX_LEVEL_BACKUP, BACKUP },
	{ FIELD(3, "status", ENUM, up), LX_FIELD_NAMES(up_names), .col = "STATUS" },
	{ FIELD(4, "interfaces", IFACE, ifname), UNSET, BACKUP, .col = "INTERFACE" },
	{ FIELD(5, "statistics", NEST, traffic), .sub = &counts, .level = 1 },
	{ FIELD(30, "udsp info", NEST, udsp), .sub = &udsp_effect, .level = 4 },
	{ FIELD(6, "sent_stats", NEST, traffic.sent), .sub = &types, .level = 2 },
	{ FIELD(7, "received_stats", NEST, traffic.received), .sub = &types, .level = 2 },
	{ FIELD(8, "dropped_stats", NEST, traffic.dropped), .sub = &types, .level = 2 },
	{ FIELD(9, "health stats", NEST, health), .sub = &ni_health, .level = 2 },
	{ FIELD(10, "tunables", NEST, tun), .sub = &lx_object_ni_tunables, .level = 1, BACKUP },
	{ FIELD(11, "lnd tunables", NAMED, lnd_tun.value), .level = 1, BACKUP,
	  .names_offset = offsetof(OF, lnd_tunable_names) },
	{ NUMBER(12, "dev cpt", dev_cpt), .level = 1 },
	{ .key = "CPT", .type = LX_FIELD_FIXED, .names = one_cpt, .level = 1, BACKUP },
	{ NUMBER(20, "tx_credits", tx_credits), OWN, WIDE("TX") },
	{ NUMBER(21, "tx_credits_min", tx_credits_min), OWN, WIDE("MIN") },
	{ NUMBER(22, "tx_credits_max", tx_credits_max), OWN, WIDE("MAX") },
	{ NUMBER(23, "alive_s", alive_s), OWN, UNSET },
	{ NUMBER(24, "refs", refs), OWN },
	{ NUMBER(25, "peers", n_peers), OWN, WIDE("PEERS") },
	{ NUMBER(26, "conns", n_conns), OWN, WIDE("CONNS") },
	DOWN(28, OF, 0),
)
#undef OF

/* ---- peers ------------------------------------------------------------------------- */

#define OF struct lx_peer_health
TABLE(peer_health, "health stats",
	{ NUMBER(1, "health value", value), WIDE("HEALTH") },
	{ NUMBER(2, "dropped", dropped), WIDE("REMOTE DROP"), .rare = true },
	{ NUMBER(3, "timeout", timeout), WIDE("REMOTE TIMEOUT"), .rare = true },
	{ NUMBER(4, "error", error), WIDE("REMOTE ERROR"), .rare = true },
	{ NUMBER(5, "network timeout", network_timeout),
	  WIDE("NET TIMEOUT"), .rare = true },
	{ NUMBER(6, "ping_count", ping_count) },
	{ NUMBER(7, "next_ping", next_ping) },
)
#undef OF

#define OF struct lx_peer_info
TABLE(peer_group, "peer",
	{ FIELD(1, "primary nid", NID, primary), BACKUP, .col = "PRIMARY" },
	{ FIELD(2, "Multi-Rail", BOOL, multi_rail), BACKUP, .col = "MR" },
	{ NUMBER(3, "peer state", state), .level = 3 },
	{ FIELD(20, "lock_prim", BOOL, lock_primary), OWN, BACKUP, NONZERO },
)
#undef OF

static const char *const alive_names[] = { "NA", "up", "down" };

#define OF struct lx_peer_ni_info
TABLE(peer_ni, "peer NI",
	{ FIELD(4, "nid", NID, nid), BACKUP, .col = "NID" },
	{ FIELD(23, "udsp info", NEST, udsp), .sub = &udsp_effect, .level = 4 },
	{ FIELD(5, "state", ENUM, alive), LX_FIELD_NAMES(alive_names), .col = "STATE" },
	{ NUMBER(6, "max_ni_tx_credits", tx_credits_max), .level = 1, WIDE("MAX") },
	{ NUMBER(7, "available_tx_credits", tx_credits), .level = 1, WIDE("TX") },
	{ NUMBER(8, "min_tx_credits", tx_credits_min), .level = 1, WIDE("MIN") },
	{ NUMBER(9, "tx_q_num_of_buf", tx_queued_bytes), .level = 1,
	  WIDE("QUEUED") },
	{ NUMBER(10, "available_rtr_credits", rtr_credits), .level = 1,
	  WIDE("RTR") },
	{ NUMBER(11, "min_rtr_credits", rtr_credits_min), .level = 1 },
	{ NUMBER(12, "refcount", refs), .level = 1 },
	{ FIELD(13, "statistics", NEST, traffic), .sub = &counts, .level = 1 },
	{ FIELD(14, "sent_stats", NEST, traffic.sent), .sub = &types, .level = 2 },
	{ FIELD(15, "received_stats", NEST, traffic.received), .sub = &types, .level = 2 },
	{ FIELD(16, "dropped_stats", NEST, traffic.dropped), .sub = &types, .level = 2 },
	{ FIELD(17, "health stats", NEST, health), .sub = &peer_health, .level = 2 },
	DOWN(21, OF, 0),
	{ NUMBER(24, "answer_bytes", answer_bytes), OWN,
	  NONZERO, RARE("ANSWERS") },
	{ NUMBER(25, "tx_oldest_ms", tx_oldest_ms), OWN,
	  NONZERO, RARE("OLDEST MS") },
	{ NUMBER(26, "heard_s", heard_s), OWN, UNSET },
)
#undef OF

static const char *const recovery_names[] = { "local", "peer" };

#define OF struct lx_recovery_info
TABLE(recovery, "recovery",
	{ FIELD(2, "nid", NID, nid), .col = "NID" },
	{ FIELD(3, "kind", ENUM, peer), LX_FIELD_NAMES(recovery_names), .col = "KIND" },
	{ NUMBER(4, "health value", value), .col = "HEALTH" },
	{ NUMBER(5, "ping_count", ping_count), .col = "PINGS" },
	{ NUMBER(6, "next_ping_s", next_ping_s), .col = "NEXT IN S" },
)
#undef OF

/* The answer to a ping or discovery is a peer, too, but shown with fewer fields. */
TABLE_OF(struct lx_peer_ni_info, ping_ni, "peer NI",
	{ LX_FIELD(4, "nid", NID, struct lx_peer_ni_info, nid), .col = "NID" },
)

/* ---- routes, routing --------------------------------------------------------------- */

static const char *const hop_names[] = { "single-hop", "multi-hop" };

#define OF struct lx_route_info
TABLE(route, "route",
	{ FIELD(1, "net", NET, net), BACKUP, .col = "NET" },
	{ FIELD(2, "gateway", NID, gateway), BACKUP, .col = "GATEWAY" },
	{ NUMBER(3, "hop", hop), BACKUP, .level = 1, .col = "HOP" },
	{ NUMBER(4, "priority", priority), BACKUP, .level = 1, .col = "PRIORITY" },
	{ NUMBER(5, "health_sensitivity", health_sensitivity), BACKUP,
	  .level = 1, .omit = LX_OMIT_ONE },
	{ FIELD(6, "state", ENUM, up), LX_FIELD_NAMES(up_names), .level = 1, .col = "STATE" },
	{ FIELD(7, "type", ENUM, multi_hop), LX_FIELD_NAMES(hop_names), .level = 1, .col = "TYPE" },
	DOWN(8, OF, 1),
)
#undef OF

#define OF struct lx_pool_info
TABLE(pool, "pool",
	{ NUMBER(1, "npages", npages) },
	{ NUMBER(2, "nbuffers", nbuffers) },
	{ NUMBER(3, "credits", credits) },
	{ NUMBER(4, "mincredits", mincredits) },
)
#undef OF

/* While neighbours are told that routing starts or stops; none otherwise. */
static const char *const routing_phases[] = { "", "", "stopping", "starting" };

#define OF struct lx_routing_info
TABLE(routing, "routing",
	{ NUMBER(1, "enable", state), .mask = 1 },
	{ FIELD(6, "phase", ENUM, state), UNSET, LX_FIELD_NAMES(routing_phases) },
	{ FIELD(2, "tiny", NEST, pool[LX_POOL_TINY]), .sub = &pool },
	{ FIELD(3, "small", NEST, pool[LX_POOL_SMALL]), .sub = &pool },
	{ FIELD(4, "large", NEST, pool[LX_POOL_LARGE]), .sub = &pool },
	{ NUMBER(5, "seconds_left", seconds_left), NONZERO },
)
#undef OF

/* ---- statistics -------------------------------------------------------------------- */

#define DROP_FIELD_(NAME, name_, help) \
	{ LX_FIELD_NUM(LX_REASON_##NAME + 1, name_, struct lx_stats, drops[LX_REASON_##NAME]), \
	  NONZERO },
TABLE_OF(struct lx_stats, drops, "drops",
	LX_REASONS(DROP_FIELD_)
)

#define STATS_FIELD_(n, name) { LX_FIELD_NUM(n, #name, struct lx_stats, name) },
#define OF struct lx_stats
TABLE(stats, "statistics",
	LX_STATS(STATS_FIELD_)
	/* Offset 0: the sub-schema describes the drops array of the same struct. */
	{ .key = "drops", .attr = 28, .type = LX_FIELD_NEST, .offset = 0,
	  .size = 0, .sub = &drops, OWN },
	{ NUMBER(29, "loops", loops), OWN, NONZERO },
	{ NUMBER(30, "answer_bytes", answer_bytes), OWN },
	{ NUMBER(31, "answer_waits", answer_waits), OWN },
	{ NUMBER(32, "refused_ports", refused_ports), OWN, NONZERO },
)
#undef OF

/* ---- fault injection --------------------------------------------------------------- */

#define FAULT_FIELDS(t, m) \
	{ LX_FIELD(2, "src", NID, t, m src), UNSET, .col = "FROM" }, \
	{ LX_FIELD(3, "dst", NID, t, m dst), UNSET, .col = "TO" }, \
	{ LX_FIELD(4, "local", NID, t, m local), UNSET, RARE("LOCAL") }, \
	{ LX_FIELD_NUM(5, "portals", t, m portals), NONZERO, RARE("PORTALS") }, \
	{ LX_FIELD_NUM(6, "messages", t, m messages), NONZERO, .col = "MESSAGES" }, \
	{ LX_FIELD_NUM(7, "rate", t, m rate), NONZERO, .col = "RATE" }, \
	{ LX_FIELD_NUM(8, "interval_s", t, m interval_s), NONZERO, \
	  RARE("INTERVAL") }, \
	{ LX_FIELD_NUM(9, "latency_ms", t, m latency_ms), NONZERO, \
	  RARE("LATENCY") }, \
	{ LX_FIELD_NUM(10, "health_errors", t, m hstatuses), NONZERO, \
	  RARE("HEALTH ERRORS") }, \
	{ LX_FIELD(11, "random", BOOL, t, m random), NONZERO, RARE("RANDOM") }, \
	{ LX_FIELD(12, "drop_all", BOOL, t, m drop_all), NONZERO, RARE("ALL") }

static const char *const fault_names[] = { "drop", "delay" };

#define OF struct lx_fault_info
TABLE(fault_info, "fault",
	{ FIELD(1, "type", ENUM, rule.delay), LX_FIELD_NAMES(fault_names), .col = "RULE" },
	FAULT_FIELDS(OF, rule.),
	{ NUMBER(20, "matched", counts.matched), .col = "MATCHED" },
	{ NUMBER(21, "acted_on", counts.acted), .col = "ACTED ON" },
	{ NUMBER(22, "put", counts.put), WIDE("PUT") },
	{ NUMBER(23, "ack", counts.ack), WIDE("ACK") },
	{ NUMBER(24, "get", counts.get), WIDE("GET") },
	{ NUMBER(25, "reply", counts.reply), WIDE("REPLY") },
	{ NUMBER(26, "held", held), NONZERO, RARE("HELD") },
	{ NUMBER(27, "seconds_left", left_s), NONZERO, RARE("LEFT") },
)
#undef OF

/* ---- connections ------------------------------------------------------------------- */

#define OF struct lx_conn_info
TABLE(conn, "conn",
	{ FIELD(1, "peer", ID, peer), .col = "PEER" },
	{ FIELD(2, "nid", NID, ni), .col = "NID" },
	{ FIELD(3, "type", STR, type), .col = "TYPE" },
	{ FIELD(4, "local", STR, local), .col = "LOCAL" },
	{ FIELD(5, "remote", STR, remote), .col = "REMOTE" },
	{ NUMBER(6, "version", version), .col = "V" },
	{ NUMBER(7, "tx_queued_bytes", tx_queued_bytes), .col = "TXQ" },
	{ NUMBER(8, "tx_bytes", tx_bytes), .col = "TX BYTES" },
	{ NUMBER(9, "rx_bytes", rx_bytes), .col = "RX BYTES" },
	{ NUMBER(10, "zc_pending", zc_pending), WIDE("ZC") },
	{ NUMBER(11, "idle_s", idle_s), WIDE("IDLE") },
	{ NUMBER(12, "tcp_sent_bytes", tcp_sent), UNSET, WIDE("TCP BYTES") },
	{ NUMBER(13, "tcp_resent_bytes", tcp_resent), UNSET, WIDE("SENT AGAIN") },
	{ NUMBER(14, "srtt_us", srtt_us), UNSET, WIDE("SRTT US") },
	{ NUMBER(15, "unacked_segments", unacked), UNSET, WIDE("UNACKED") },
	{ NUMBER(16, "cwnd_segments", cwnd), UNSET, WIDE("CWND") },
	{ NUMBER(17, "unsent_bytes", unsent), UNSET, WIDE("UNSENT") },
)
#undef OF

/* ---- tunables, changes, the daemon ------------------------------------------------- */

#define OF struct lx_ctl_tunable
TABLE(tunable, "tunable",
	{ FIELD(1, "module", STRP, module), .col = "MODULE" },
	{ FIELD(2, "name", STRP, name), .col = "NAME" },
	{ FIELD(3, "value", STR, value), .col = "VALUE" },
	{ FIELD(4, "default", STR, def), .col = "DEFAULT" },
	{ NUMBER(5, "min", min), WIDE("MIN") },
	{ NUMBER(6, "max", max), WIDE("MAX") },
	{ FIELD(7, "choices", STR, choices), UNSET, WIDE("CHOICES") },
	{ FIELD(8, "help", STRP, help), .col = "MEANING" },
)
#undef OF

#define CHANGE_NAME_(NAME, name) name,
static const char *const change_names[] = { LX_CHANGES(CHANGE_NAME_) };

#define OF struct lx_ctl_event
TABLE(event, "event",
	{ NUMBER(1, "time_us", mark.time_us) },
	{ NUMBER(2, "lost", mark.lost), NONZERO },
	{ FIELD(3, "change", ENUM, change.type), LX_FIELD_NAMES(change_names) },
	{ FIELD(4, "nid", NID, change.nid), UNSET },
	{ FIELD(5, "net", NET, change.net), UNSET },
	{ FIELD(6, "text", STR, change.text), UNSET },
)
#undef OF

static const char *const refused_names[] = { "port", "nid", "peer" };

#define OF struct lx_refused_info
TABLE(refused, "refused",
	{ FIELD(1, "address", STR, address) },
	{ FIELD(2, "kind", ENUM, kind), LX_FIELD_NAMES(refused_names) },
	{ FIELD(3, "reason", STR, reason) },
	{ NUMBER(4, "connections", connections) },
	{ FIELD(5, "since", TIME, since_s) },
	{ NUMBER(6, "age_s", age_s) },
)
#undef OF

#define OF struct lx_ctl_status
TABLE(status, "daemon",
	{ FIELD(1, "version", STRP, version), .col = "VERSION" },
	{ FIELD(2, "instance", STRP, instance), .col = "INSTANCE" },
	{ NUMBER(3, "pid", pid), .col = "PID" },
	{ NUMBER(4, "uptime_s", uptime_s), .col = "UPTIME" },
	{ FIELD(5, "configured", BOOL, configured), .col = "CONFIGURED" },
	{ FIELD(6, "config", STRP, config), UNSET, .col = "FILE" },
	{ NUMBER(7, "clients", clients), WIDE("CLIENTS") },
	{ FIELD(8, "priority", BOOL, priority), WIDE("PRIORITY") },
	{ NUMBER(9, "cpu_ms", cpu_ms), WIDE("CPU") },
	{ NUMBER(10, "waited_ms", waited_ms), WIDE("WAITED") },
	{ NUMBER(11, "interrupts_ms", interrupts_ms), WIDE("INTERRUPTS") },
	{ NUMBER(13, "clock_jump_s", clock_jump_s), NONZERO },
	{ FIELD(12, "missing", STR, missing), UNSET, RARE("MISSING") },
	{ FIELD(14, "deviates", STR, deviates), UNSET, RARE("DEVIATES") },
	{ FIELD(15, "reload_failed", STR, reload_failed), UNSET, RARE("RELOAD FAILED") },
	{ FIELD(16, "refused", LIST, refused), .sub = &refused,
	  .count_offset = offsetof(OF, n_refused), .max = LX_REFUSED_MAX },
)
#undef OF

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

#define SELFTEST_INFO(n, name) LX_FIELD_NUM(n, #name, OF, name)
#define OF struct lx_ctl_selftest_info
TABLE(selftest_info, "selftest",
	SELFTEST_FIELDS(OF, conf.),
	{ FIELD(6, "session", STR, session), UNSET, .col = "SESSION" },
	{ FIELD(7, "console", NID, console), UNSET, .col = "OF CONSOLE" },
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
	{ SELFTEST_INFO(18, dropped), WIDE("DROPPED") },
	{ SELFTEST_INFO(19, expired), WIDE("EXPIRED") },
	{ SELFTEST_INFO(20, errors), WIDE("ERRORS") },
	{ SELFTEST_INFO(21, bulk_get) },
	{ SELFTEST_INFO(22, bulk_put) },
	{ SELFTEST_INFO(23, refused), RARE("REFUSED") },
	{ SELFTEST_INFO(24, bulk_buffers) },
	{ SELFTEST_INFO(25, bulk_waiting) },
)
#undef OF

const struct lx_ctl_shown lx_object_nets = { "net", &net_group, "local NI(s)", &ni };
const struct lx_ctl_shown lx_object_peers = { "peer", &peer_group, "peer ni", &peer_ni };
const struct lx_ctl_shown lx_object_pings = { "ping", &peer_group, "peer_ni", &ping_ni };
const struct lx_ctl_shown lx_object_recovery = { "recovery", NULL, NULL, &recovery };
const struct lx_ctl_shown lx_object_routes = { "route", NULL, NULL, &route };
const struct lx_ctl_shown lx_object_udsps = { "udsp", NULL, NULL, &lx_object_udsp_schema };
const struct lx_ctl_shown lx_object_routing_info = { "routing", NULL, NULL, &routing };
const struct lx_ctl_shown lx_object_stats = { "statistics", NULL, NULL, &stats };
const struct lx_ctl_shown lx_object_faults = { "fault", NULL, NULL, &fault_info };
const struct lx_ctl_shown lx_object_conns = { "conn", NULL, NULL, &conn };
const struct lx_ctl_shown lx_object_tunables = { "tunable", NULL, NULL, &tunable };
const struct lx_ctl_shown lx_object_events = { "event", NULL, NULL, &event };
const struct lx_ctl_shown lx_object_selftests = { "selftest", NULL, NULL, &selftest_info };
const struct lx_ctl_shown lx_object_statuses = { "daemon", NULL, NULL, &status };

/* ---- LNet selftest ------------------------------------------------------------------ */

#define OF struct lx_ctl_answer
TABLE(answer, "answer",
	{ FIELD(1, "nid", NID, nid) },
	{ NUMBER(2, "status", status) },
	{ FIELD(3, "session", STR, name), UNSET },
	{ FIELD(4, "console", NID, console), UNSET },
	{ NUMBER(5, "timeout_s", timeout_s) },
	{ NUMBER(6, "active", active) },
	{ NUMBER(7, "brw_errors", brw_errors) },
	{ NUMBER(8, "ping_errors", ping_errors) },
	{ NUMBER(9, "rpc_errors", rpc_errors) },
	{ NUMBER(10, "sent", sent) },
	{ NUMBER(11, "rcvd", rcvd) },
	{ NUMBER(12, "dropped", dropped) },
	{ NUMBER(13, "expired", expired) },
	{ NUMBER(14, "bulk_get", bulk_get) },
	{ NUMBER(15, "bulk_put", bulk_put) },
	{ NUMBER(16, "running_ms", running_ms) },
	{ NUMBER(17, "send_count", send_count) },
	{ NUMBER(18, "recv_count", recv_count) },
	{ NUMBER(19, "send_length", send_length) },
	{ NUMBER(20, "recv_length", recv_length) },
)
#undef OF
const struct lx_ctl_shown lx_object_answers = { "answer", NULL, NULL, &answer };

TABLE_OF(struct lx_ctl_line, line, "line",
	{ LX_FIELD(1, "line", STR, struct lx_ctl_line, text) },
)

#define OF struct lx_ctl_mistake
TABLE(mistake, "mistake",
	{ NUMBER(1, "errno", error) },
	{ NUMBER(2, "line", line), NONZERO },
	{ NUMBER(3, "column", column), NONZERO },
	{ FIELD(4, "text", STR, text) },
)
#undef OF

const struct lx_ctl_shown lx_object_mistakes = { "config", NULL, NULL, &mistake };
const struct lx_ctl_shown lx_object_columns = { "columns", NULL, NULL, &line };

/* ---- requests ---------------------------------------------------------------------- */

#define OF struct lx_ctl_show
REQUEST(OF, lx_object_show_schema, "show",
	{ FIELD(1, "net", NET, net), UNSET },
	{ FIELD(2, "nid", NID, nid), UNSET },
	{ FIELD(3, "gateway", NID, gateway), UNSET },
	{ NUMBER(4, "hop", hop), UNSET },
	{ NUMBER(5, "priority", priority), UNSET },
	{ FIELD(6, "name", STR, name), UNSET },
	{ FIELD(7, "module", STR, module), UNSET },
	{ NUMBER(8, "level", level) },
	{ NUMBER(9, "index", index), UNSET },
)
#undef OF

TABLE_OF(struct lx_ctl_lnd_value, lnd_value, "lnd tunable",
	{ LX_FIELD(1, "name", STR, struct lx_ctl_lnd_value, name) },
	{ LX_FIELD_NUM(2, "value", struct lx_ctl_lnd_value, value) },
)

#define OF struct lx_ctl_net
REQUEST(OF, lx_object_net_schema, "net",
	{ FIELD(1, "net type", NET, ni.net), UNSET },
	{ FIELD(2, "nid", NID, ni.nid), UNSET },
	{ FIELD(4, "interfaces", IFACE, ni.ifname), UNSET },
	{ FIELD(5, "rails", STR, ni.rails), UNSET },
	{ FIELD(10, "tunables", NEST, ni.tun), .sub = &lx_object_ni_tunables },
	{ FIELD(11, "lnd tunables", LIST, lnd), .sub = &lnd_value,
	  .count_offset = offsetof(OF, n_lnd), .max = LX_LND_TUNABLES_MAX },
	{ FIELD(12, "check", BOOL, check), NONZERO, .command = true },
)
#undef OF

#define OF struct lx_ctl_set
REQUEST(OF, lx_object_set_schema, "net",
	{ FIELD(1, "net type", NET, net), UNSET },
	{ FIELD(2, "nid", NID, nid), UNSET },
	{ FIELD(3, "name", STR, name) },
	{ NUMBER(4, "value", value) },
)
#undef OF

TABLE_OF(struct lx_nid, ask_dest, "destination",
	{ .key = "nid", .attr = 1, .type = LX_FIELD_NID, .offset = 0,
	  .size = sizeof(struct lx_nid) },
)

#define OF struct lx_ctl_ask
REQUEST(OF, lx_object_ask_schema, "ask",
	{ FIELD(1, "nid", NID, nid), UNSET },
	{ FIELD(2, "console", NID, console), UNSET },
	{ NUMBER(3, "stamp", stamp) },
	{ NUMBER(4, "service", service) },
	{ NUMBER(5, "timeout_ms", timeout_ms) },
	{ FIELD(6, "name", STR, name), UNSET },
	{ FIELD(7, "force", BOOL, force) },
	{ NUMBER(8, "batch", batch) },
	{ NUMBER(9, "op", op) },
	{ NUMBER(10, "test", test) },
	{ FIELD(11, "client", BOOL, client) },
	{ NUMBER(12, "test_service", test_service) },
	{ NUMBER(13, "loop", loop) },
	{ NUMBER(14, "concurrency", concurrency) },
	{ NUMBER(15, "rw", rw) },
	{ NUMBER(16, "check", check) },
	{ NUMBER(17, "length", length) },
	{ NUMBER(18, "offset", offset) },
	{ FIELD(19, "dest", LIST, dest), .sub = &ask_dest,
	  .count_offset = offsetof(OF, n_dests), .max = LX_CTL_NIDS_MAX },
)
#undef OF

#define OF struct lx_conf_route
REQUEST(OF, lx_object_route_schema, "route",
	{ FIELD(1, "net", NET, net), UNSET },
	{ FIELD(2, "gateway", NID, gateway), UNSET },
	{ NUMBER(3, "hop", hop), .alias = "hop-count", UNSET, RANGE(1, LX_HOP_MAX) },
	{ NUMBER(4, "priority", priority), UNSET, RANGE(0, UINT32_MAX) },
	{ NUMBER(5, "health_sensitivity", health_sensitivity), UNSET, RANGE(1, INT32_MAX) },
)
#undef OF

TABLE_OF(struct lx_nid, nid, "nid",
	{ .key = "nid", .attr = 1, .type = LX_FIELD_NID, .offset = 0,
	  .size = sizeof(struct lx_nid) },
)

#define OF struct lx_ctl_peer
REQUEST(OF, lx_object_peer_schema, "peer",
	{ FIELD(1, "primary nid", NID, primary), UNSET },
	{ FIELD(2, "Multi-Rail", BOOL, multi_rail) },
	{ FIELD(4, "peer ni", LIST, nid), .sub = &nid,
	  .count_offset = offsetof(OF, n_nids), .max = LX_CTL_NIDS_MAX },
	{ FIELD(20, "lock_prim", BOOL, lock_primary) },
	{ FIELD(21, "force", BOOL, force), .command = true },
)
#undef OF

REQUEST(struct lx_ctl_udsp, lx_object_udsp_del_schema, "udsp",
	{ LX_FIELD_NUM(1, "idx", struct lx_ctl_udsp, index), UNSET },
)

#define OF struct lx_ctl_ping
REQUEST(OF, lx_object_ping_schema, "ping",
	{ FIELD(1, "nid", NID, nid), UNSET },
	{ FIELD(2, "source", NID, source), UNSET },
	{ NUMBER(3, "timeout", timeout_ms) },
)
#undef OF

#define OF struct lx_ctl_fault
REQUEST(OF, lx_object_fault_schema, "fault",
	{ FIELD(1, "delay", BOOL, rule.delay) },
	FAULT_FIELDS(OF, rule.),
	{ NUMBER(13, "for_s", rule.for_s), NONZERO },
	{ FIELD(14, "all", BOOL, all), NONZERO },
)
#undef OF

REQUEST(struct lx_conf_selftest, lx_object_selftest_schema, "selftest",
	SELFTEST_FIELDS(struct lx_conf_selftest, ),
)

REQUEST(struct lx_ctl_routing, lx_object_routing_schema, "routing",
	{ LX_FIELD_NUM(1, "enable", struct lx_ctl_routing, enable) },
)

#define OF struct lx_ctl_buffers
REQUEST(OF, lx_object_buffers_schema, "buffers",
	{ NUMBER(2, "tiny", total[LX_POOL_TINY]), UNSET, RANGE(0, LX_BUFFERS_MAX) },
	{ NUMBER(3, "small", total[LX_POOL_SMALL]), UNSET, RANGE(0, LX_BUFFERS_MAX) },
	{ NUMBER(4, "large", total[LX_POOL_LARGE]), UNSET, RANGE(0, LX_BUFFERS_LARGE_MAX) },
)
#undef OF

REQUEST(struct lx_ctl_disconnect, lx_object_disconnect_schema, "conn",
	{ LX_FIELD(1, "nid", NID, struct lx_ctl_disconnect, nid), UNSET },
)

#define OF struct lx_ctl_tunable_value
REQUEST(OF, lx_object_value_schema, "tunable",
	{ FIELD(1, "module", STR, module) },
	{ FIELD(2, "name", STR, name) },
	{ FIELD(3, "value", STR, value) },
)
#undef OF

/* clang-format on */
