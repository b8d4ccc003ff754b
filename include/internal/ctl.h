/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between lnetxd and its clients.
 *
 * Transport: a SOCK_SEQPACKET unix socket (lx_ctl_path()). A request is one
 * packet with one message; a client sends the next one when the answer is complete.
 *
 *	struct nlmsghdr         type LX_CTL_TYPE, NLM_F_* flags, seq
 *	struct lx_ctl_hdr   command, version
 *	attributes              struct nlattr; the command's schema says which
 *
 * Flags, as the reference's generic netlink family uses them (control.md 5):
 * NLM_F_CREATE add, NLM_F_REPLACE change, none of them delete, NLM_F_DUMP show.
 *
 * Answers carry the request's seq:
 *	dump:   messages of the object's schema with NLM_F_MULTI, many to a packet of
 *	        at most LX_CTL_PACKET bytes, then NLMSG_DONE (an int32_t: 0 or -errno)
 *	others: NLMSG_ERROR (struct nlmsgerr: 0 or -errno)
 * Before that, if the answer takes long and the request has NLM_F_ACK: NLMSG_NOOP, at once and then
 * every LX_CTL_ALIVE_MS, also between the rows of an endless dump.
 * In both, attributes LX_CTL_ERR_* follow the number: the reason for a failure, or
 * further results.
 *
 * A dump has one row per message: an NI, a peer NI (with the fields of its peer),
 * and so on. Rows of one group are adjacent.
 *
 * Numbers are only ever added. A change that an older program would misread gets a
 * new LX_CTL_VERSION; each side refuses any version but its own.
 */
#ifndef LNETX_INTERNAL_CTL_H
#define LNETX_INTERNAL_CTL_H

#include <stddef.h>
#include <stdint.h>

#include <internal/bpf_info.h>
#include <lnetx/conf.h>
#include <lnetx/info.h>

#define LX_CTL_VERSION 1
#define LX_CTL_TYPE 0x6c78 /* "lx"; above the types netlink reserves */
#define LX_CTL_PACKET (32u << 10)
#define LX_CTL_ALIVE_MS 2000
#define LX_CTL_RUNDIR "/run/lnetx"

struct lx_ctl_hdr {
	uint8_t command; /* enum lx_ctl_command */
	uint8_t version;
	uint16_t reserved; /* 0 */
};

/* Numbers below 32 are those of the reference (control.md 5). */
enum lx_ctl_command {
	LX_CTL_CMD_CONFIGURE =
		1, /* add: start (EXCL: without NIs, APPEND: large NIDs); del: stop */
	LX_CTL_CMD_NETS = 2, /* show, add, del, change: struct lx_ctl_set */
	LX_CTL_CMD_PEERS = 3, /* show, add, del, change: struct lx_ctl_set */
	LX_CTL_CMD_ROUTES = 4, /* show, add, del */
	LX_CTL_CMD_CONNS = 5, /* show, del: disconnect */
	LX_CTL_CMD_PING = 6, /* show: ping; add: discover (EXCL: force) */
	LX_CTL_CMD_UDSP = 9, /* show, add, del */
	LX_CTL_CMD_RECOVERY = 11, /* show: who is below full health and pinged */
	LX_CTL_CMD_FAULT = 12, /* show, add, del, change: counters to 0 */
	LX_CTL_CMD_ROUTING = 13, /* show, change */
	LX_CTL_CMD_BUFFERS = 14, /* change */
	LX_CTL_CMD_STATS = 16, /* show, del: reset */
	LX_CTL_CMD_TUNABLES = 32, /* show, change */
	LX_CTL_CMD_MONITOR = 33, /* show: changes, until the client closes */
	LX_CTL_CMD_STATUS = 34, /* show: the daemon itself */
	LX_CTL_CMD_RELOAD = 35, /* change: read the configuration file again; add, del: what YAML
				 * says, in a memfd that comes with the request */
	LX_CTL_CMD_BPF = 36, /* show: what is loaded and attached, what the kernel lacks */
	LX_CTL_CMD_GUARD = 37, /* show, change */
	LX_CTL_CMD_BANS = 38, /* show, add, del */
	LX_CTL_CMD_PREFIXES = 39, /* show, add (also another action), del */
	LX_CTL_CMD_STREAMS = 40, /* show: connections that the fast path receives on */
	LX_CTL_CMD_LANES = 41, /* show: connections that it sends on */
	LX_CTL_CMD_TRACE = 42, /* show: messages it sees, until the client closes */
	LX_CTL_CMD_REFUSALS = 43, /* show: sources whose SYNs the guard dropped */
	LX_CTL_CMD_SELFTEST = 44, /* show, change: struct lx_conf_selftest */
	LX_CTL_CMD_ASK = 45, /* show: the reply of a selftest node: struct lx_ctl_ask */
	LX_CTL_CMD_COLUMNS = 46, /* show: lines of the file @name of /proc/sys/lnet */
};

enum lx_ctl_error_attr {
	LX_CTL_ERR_TEXT = 1, /* string: what, why, what to do */
	LX_CTL_ERR_OBJECT, /* string: which object: "net", "route", ... */
	LX_CTL_ERR_COUNT, /* u64: number of objects affected, if not obvious */
};

/* ---- requests ---------------------------------------------------------------------- */

#define LX_CTL_NIDS_MAX 128 /* NIDs in a request */

/* Filter of a show. */
struct lx_ctl_show {
	uint32_t net; /* 0: any */
	struct lx_nid nid; /* any: all */
	struct lx_nid gateway;
	int32_t hop; /* -1: any */
	int64_t priority; /* -1: any */
	char name[40]; /* of a tunable, "": all; of a file of columns */
	char module[8];
	uint8_t level; /* LX_LEVEL_* */
	int32_t index; /* of a selection policy; -1: any */
};

struct lx_ctl_lnd_value {
	char name[32];
	int32_t value;
};

struct lx_ctl_net {
	struct lx_conf_ni ni; /* without lnd_tun */
	uint32_t n_lnd;
	struct lx_ctl_lnd_value lnd[LX_LND_TUNABLES_MAX];
	bool check; /* add nothing: only say whether there is such an interface or address */
};

/* One setting of an NI (nid), of a net's NIs (net), or of all (neither); or of peers. */
struct lx_ctl_set {
	uint32_t net;
	struct lx_nid nid;
	char name[32];
	int64_t value;
};

struct lx_ctl_peer {
	struct lx_nid primary;
	bool multi_rail, lock_primary, force;
	uint32_t n_nids;
	struct lx_nid nid[LX_CTL_NIDS_MAX];
};

struct lx_ctl_ping {
	struct lx_nid nid, source; /* source any: the node chooses */
	uint32_t timeout_ms; /* 0: as lx_ping() */
};

struct lx_ctl_udsp {
	int32_t index; /* LX_UNSET: all */
};

/* A rule; of a removal its kind, source and destination, or with @all its kind. */
struct lx_ctl_fault {
	struct lx_fault_rule rule;
	bool all;
};

struct lx_ctl_routing {
	int32_t enable;
};

struct lx_ctl_buffers {
	int64_t total[LX_POOLS]; /* LX_UNSET: leave alone */
};

struct lx_ctl_disconnect {
	struct lx_nid nid; /* any: all peers */
};

struct lx_ctl_tunable_value {
	char module[8], name[40], value[24];
};

struct lx_ctl_guard { /* LX_UNSET: leave alone */
	int64_t rate, burst;
	int64_t mode; /* enum lx_guard_mode */
};

struct lx_ctl_ban {
	struct lx_nid nid;
};

struct lx_ctl_prefix {
	char prefix[LX_GUARD_PREFIX_TEXT];
	uint32_t action; /* enum lx_guard_action; 0: remove */
};

/* Which messages to trace. */
struct lx_ctl_filter {
	struct lx_nid nid; /* as source or destination; any: all */
	int64_t type; /* LX_MSG_*; LX_UNSET: all */
};

/* A console's request to a test node (selftest.md 3), which lnetxd sends for it. */
struct lx_ctl_ask {
	struct lx_nid nid; /* of the test node */
	struct lx_nid console; /* with stamp: the session */
	int64_t stamp;
	uint32_t service; /* enum lx_lst_service, of the framework */
	uint32_t timeout_ms;
	char name[32]; /* make session: its name */
	bool force; /* make session: instead of another one; stop: abort */
	uint64_t batch;
	uint32_t op, test; /* batch: run, stop or query, of the batch (0) or a test */
	bool client; /* test: the part that makes requests, to dest; else the one that serves */
	uint32_t test_service, loop, concurrency; /* test: brw or ping */
	uint32_t rw, check, length, offset; /* test: of brw, in bytes */
	uint32_t n_dests;
	struct lx_nid dest[LX_CTL_NIDS_MAX];
};

/* The answer to it. */
struct lx_ctl_answer {
	struct lx_nid nid;
	uint32_t status; /* 0 or a positive errno */
	char name[32]; /* the session's, if another one is in the way */
	struct lx_nid console; /* of that session */
	uint32_t timeout_s, active;
	uint32_t brw_errors, ping_errors; /* of the session */
	uint32_t rpc_errors, sent, rcvd, dropped, expired; /* RPCs, since the node started */
	uint64_t bulk_get, bulk_put; /* bytes */
	uint32_t running_ms; /* of the session */
	/* LNet messages since the node started, and their bytes */
	uint32_t send_count, recv_count;
	uint64_t send_length, recv_length;
};

/* ---- what is shown, beyond info.h -------------------------------------------------- */

struct lx_ctl_tunable {
	const char *module, *name, *help;
	char value[32], def[32], choices[96];
	int64_t min, max;
};

/* Begins every record of a monitor or trace. */
struct lx_ctl_mark {
	int64_t time_us; /* wall clock */
	uint64_t lost; /* records lost before this one because the client was too slow */
};

struct lx_ctl_event {
	struct lx_ctl_mark mark;
	struct lx_change change;
};

struct lx_ctl_trace {
	struct lx_ctl_mark mark;
	uint32_t stream;
	uint32_t type; /* LX_MSG_* */
	struct lx_nid src, dst;
	uint64_t bytes; /* of payload */
	int64_t lane; /* -1: lane 0, our own socket */
	const char *reason; /* for lane 0, else NULL */
};

struct lx_ctl_status {
	const char *version, *instance, *config;
	int64_t pid, uptime_s;
	bool configured;
	uint32_t clients;
	bool priority; /* lnetxd comes before other processes */
	uint64_t cpu_ms; /* CPU time of lnetxd */
	uint64_t waited_ms; /* its threads were ready and waited for a CPU, all together */
	uint64_t interrupts_ms; /* interrupts and softirqs of all CPUs, since the machine started */
	int64_t clock_jump_s; /* the wall clock was set forward since the start; below 0: back */
	char missing[400]; /* NIs of the file that wait for an interface, and why; "": none */
	char deviates[400]; /* routing and routes of the file that are off; "": none, or no file */
	char reload_failed[400]; /* why the last one did, at least in part; "": it did not */
	struct lx_refused_info refused[LX_REFUSED_MAX]; /* the latest first */
	uint32_t n_refused;
};

/* A mistake in a client's YAML, or what of it could not be done. */
struct lx_ctl_mistake {
	int32_t error; /* negative errno; 0: a remark */
	int32_t line, column; /* 0: it has no place */
	char text[700];
};

/* A line of a file in /proc/sys/lnet, without its end. */
struct lx_ctl_line {
	char text[256];
};

struct lx_ctl_selftest_info {
	struct lx_conf_selftest conf; /* with its defaults */
	char session[32]; /* "": none */
	struct lx_nid console; /* any: none */
	uint64_t age_s, idle_s; /* of the session */
	uint32_t batches, tests, active_batches, active_units;
	uint32_t brw_errors, ping_errors;
	uint32_t sent, served, dropped, expired, errors;
	uint64_t bulk_get, bulk_put; /* bytes */
	uint64_t refused;
	uint32_t bulk_buffers, bulk_waiting;
};

/* ---- schemas ----------------------------------------------------------------------- */

/*
 * Level of detail: 0..LX_LEVEL_MAX as lnetctl's "--verbose n"; OWN adds what only
 * lnetx has; BACKUP: what a configuration must contain, whatever its level.
 */
#define LX_LEVEL_MAX 8
#define LX_LEVEL_OWN 9
#define LX_LEVEL_BACKUP 255

struct lx_schema; /* user/schema/schema.h */

/*
 * How an object is shown: one line of "yaml:" holds a list of groups, each with
 * rows below a key of its own; or, without @group, a list of rows.
 */
struct lx_ctl_shown {
	const char *yaml; /* "net" */
	const struct lx_schema *group;
	const char *rows; /* "local NI(s)" */
	const struct lx_schema *row;
};

extern const struct lx_ctl_shown lx_object_nets, lx_object_peers, lx_object_routes, lx_object_udsps,
	lx_object_recovery, lx_object_conns, lx_object_pings, lx_object_routing_info,
	lx_object_stats, lx_object_tunables, lx_object_events, lx_object_statuses, lx_object_faults,
	lx_object_selftests, lx_object_answers, lx_object_columns, lx_object_mistakes;

/* "bpf status" and its lists; the fast path's tables; the guard's. */
extern const struct lx_ctl_shown lx_object_bpf, lx_object_bpf_features, lx_object_bpf_sets,
	lx_object_bpf_hooks, lx_object_bpf_tables, lx_object_bpf_objects, lx_object_streams,
	lx_object_lanes, lx_object_traces, lx_object_guards, lx_object_bans, lx_object_prefixes,
	lx_object_refusals;

/* Requests, named after the struct that they describe. */
extern const struct lx_schema lx_object_show_schema, lx_object_net_schema, lx_object_set_schema,
	lx_object_route_schema, lx_object_peer_schema, lx_object_udsp_schema,
	lx_object_udsp_del_schema, lx_object_ping_schema, lx_object_fault_schema,
	lx_object_selftest_schema, lx_object_routing_schema, lx_object_buffers_schema,
	lx_object_disconnect_schema, lx_object_value_schema, lx_object_guard_schema,
	lx_object_ban_schema, lx_object_prefix_schema, lx_object_filter_schema,
	lx_object_ask_schema, lx_request_nothing, lx_object_ni_tunables;

/* ---- where the socket is ----------------------------------------------------------- */

#define LX_INSTANCE_TEXT 64

/**
 * lx_ctl_instance - the name of an instance
 * @name: as the user gave it, or NULL: $LNETX_INSTANCE, else "net-<inode>" of the
 *	caller's network namespace, so that each namespace has its own
 * Returns 0, -EINVAL: not [A-Za-z0-9_.-]+, or too long; -errno of /proc.
 */
int lx_ctl_instance(const char *name, char *buf, size_t size);

/* The directory of the sockets: $LNETX_RUNDIR or LX_CTL_RUNDIR. */
const char *lx_ctl_rundir(void);

/* The instance's socket there. -ENAMETOOLONG. */
int lx_ctl_path(const char *instance, char *buf, size_t size);

#endif
