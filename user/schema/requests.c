/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of requests: each verb of each object. Owns nothing. */
#include <linux/netlink.h>

#include "../base/array.h"
#include "requests.h"
#include "schema.h"

static const struct lx_field no_fields[] = { { 0 } };
const struct lx_schema lx_request_nothing = { "nothing", 0, no_fields };

/* Arguments that set flags of the message instead of attributes. */
static const struct lx_flag node_flags[] = { { "all", NLM_F_EXCL, true },
					     { "large", NLM_F_APPEND, false },
					     { NULL, 0, false } };
static const struct lx_flag discover_flags[] = { { "force", NLM_F_EXCL, false },
						 { NULL, 0, false } };

/* As lnetctl sends by default. */
static const struct lx_ctl_arg all_levels[] = { { "level", "9" }, { 0 } };
static const struct lx_ctl_arg one_second[] = { { "timeout", "1000" }, { 0 } };
static const struct lx_ctl_arg multi_rail[] = { { "Multi-Rail", "true" }, { 0 } };

/* clang-format off */

#define SHOW(o, number, shown) \
	{ LX_CTL_##o, LX_CTL_SHOW, LX_CTL_CMD_##number, NLM_F_DUMP, true, &lx_object_show_schema, \
	  &shown, all_levels, NULL }
#define PROBE(o, number, flags, words) \
	{ LX_CTL_##o, LX_CTL_SHOW, LX_CTL_CMD_##number, flags, false, &lx_object_ping_schema, \
	  &lx_object_pings, one_second, words }
#define CHANGE(o, verb, number, flags, schema) \
	{ LX_CTL_##o, LX_CTL_##verb, LX_CTL_CMD_##number, flags, false, &schema, NULL, NULL, NULL }
#define ADD(o, number, schema) CHANGE(o, ADD, number, NLM_F_CREATE, schema)
#define DEL(o, number, schema) CHANGE(o, DEL, number, 0, schema)
/* The text comes as a descriptor. */
#define IMPORT(verb, flags) \
	{ LX_CTL_CONFIG, LX_CTL_##verb, LX_CTL_CMD_RELOAD, flags, false, &lx_request_nothing, \
	  &lx_object_mistakes, NULL, NULL }
#define SET(o, number, schema) CHANGE(o, SET, number, NLM_F_REPLACE, schema)

const struct lx_request lx_requests[] = {
	SHOW(DAEMON, STATUS, lx_object_statuses),
	{ LX_CTL_NODE, LX_CTL_ADD, LX_CTL_CMD_CONFIGURE, NLM_F_CREATE, false,
	  &lx_request_nothing, NULL, NULL, node_flags },
	DEL(NODE, CONFIGURE, lx_request_nothing),
	SET(CONFIG, RELOAD, lx_request_nothing),
	IMPORT(ADD, NLM_F_CREATE),
	IMPORT(DEL, 0),
	SHOW(NET, NETS, lx_object_nets),
	ADD(NET, NETS, lx_object_net_schema),
	DEL(NET, NETS, lx_object_net_schema),
	SET(NET, NETS, lx_object_set_schema),
	SHOW(PEER, PEERS, lx_object_peers),
	{ LX_CTL_PEER, LX_CTL_ADD, LX_CTL_CMD_PEERS, NLM_F_CREATE, false, &lx_object_peer_schema,
	  NULL, multi_rail, NULL },
	{ LX_CTL_PEER, LX_CTL_DEL, LX_CTL_CMD_PEERS, 0, false, &lx_object_peer_schema,
	  NULL, multi_rail, NULL },
	SET(PEER, PEERS, lx_object_set_schema),
	SHOW(ROUTE, ROUTES, lx_object_routes),
	ADD(ROUTE, ROUTES, lx_object_route_schema),
	DEL(ROUTE, ROUTES, lx_object_route_schema),
	SHOW(ROUTING, ROUTING, lx_object_routing_info),
	SET(ROUTING, ROUTING, lx_object_routing_schema),
	SET(BUFFERS, BUFFERS, lx_object_buffers_schema),
	SHOW(STATS, STATS, lx_object_stats),
	DEL(STATS, STATS, lx_request_nothing),
	SHOW(TUNABLE, TUNABLES, lx_object_tunables),
	SET(TUNABLE, TUNABLES, lx_object_value_schema),
	SHOW(UDSP, UDSP, lx_object_udsps),
	ADD(UDSP, UDSP, lx_object_udsp_schema),
	DEL(UDSP, UDSP, lx_object_udsp_del_schema),
	SHOW(FAULT, FAULT, lx_object_faults),
	ADD(FAULT, FAULT, lx_object_fault_schema),
	DEL(FAULT, FAULT, lx_object_fault_schema),
	SET(FAULT, FAULT, lx_object_fault_schema),
	SHOW(RECOVERY, RECOVERY, lx_object_recovery),
	SHOW(CONN, CONNS, lx_object_conns),
	DEL(CONN, CONNS, lx_object_disconnect_schema),
	PROBE(PING, PING, NLM_F_DUMP, NULL),
	PROBE(DISCOVER, PING, NLM_F_CREATE, discover_flags),
	{ LX_CTL_EVENT, LX_CTL_SHOW, LX_CTL_CMD_MONITOR, NLM_F_DUMP, true,
	  &lx_request_nothing, &lx_object_events, NULL, NULL },
	SHOW(BPF, BPF, lx_object_bpf),
	SHOW(STREAM, STREAMS, lx_object_streams),
	SHOW(LANE, LANES, lx_object_lanes),
	{ LX_CTL_TRACE, LX_CTL_SHOW, LX_CTL_CMD_TRACE, NLM_F_DUMP, false, &lx_object_filter_schema,
	  &lx_object_traces, NULL, NULL },
	SHOW(GUARD, GUARD, lx_object_guards),
	SET(GUARD, GUARD, lx_object_guard_schema),
	SHOW(BAN, BANS, lx_object_bans),
	ADD(BAN, BANS, lx_object_ban_schema),
	DEL(BAN, BANS, lx_object_ban_schema),
	SHOW(PREFIX, PREFIXES, lx_object_prefixes),
	ADD(PREFIX, PREFIXES, lx_object_prefix_schema),
	DEL(PREFIX, PREFIXES, lx_object_prefix_schema),
	SHOW(REFUSAL, REFUSALS, lx_object_refusals),
	SHOW(SELFTEST, SELFTEST, lx_object_selftests),
	SET(SELFTEST, SELFTEST, lx_object_selftest_schema),
	/* Not of lnetx/ctl.h; the last ones. */
	{ LX_CTL_ASK, LX_CTL_SHOW, LX_CTL_CMD_ASK, NLM_F_DUMP, false, &lx_object_ask_schema,
	  &lx_object_answers, NULL, NULL },
	SHOW(COLUMNS, COLUMNS, lx_object_columns),
	{ 0 },
};

/* clang-format on */

const struct lx_request *lx_request_find(unsigned int object, unsigned int verb)
{
	for (const struct lx_request *r = lx_requests; r->schema; r++) {
		if (r->object == object && r->verb == verb)
			return r;
	}
	return NULL;
}

const struct lx_request *lx_request_of(uint8_t command, uint16_t flags)
{
	bool dump = (flags & NLM_F_DUMP) == NLM_F_DUMP; /* of which NLM_F_REPLACE is a part */
	uint16_t kind = dump ? NLM_F_DUMP : flags & (NLM_F_CREATE | NLM_F_REPLACE);

	for (const struct lx_request *r = lx_requests; r->schema; r++) {
		if (r->command == command && r->flags == kind)
			return r;
	}
	return NULL;
}

const char *lx_request_verb(unsigned int verb)
{
	static const char *const names[] = { "show", "add", "del", "set" };

	return verb < LX_ARRAY_LEN(names) ? names[verb] : "?";
}

const char *lx_ctl_object_name(enum lx_ctl_object object)
{
#define NAME_(NAME, name) name,
	static const char *const names[] = { LX_CTL_OBJECTS(NAME_) };

	return (unsigned int)object < LX_CTL_OBJECT_COUNT ? names[object] : NULL;
}
