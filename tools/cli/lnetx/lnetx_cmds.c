/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of lnetx's objects and verbs. Larger ones have files of their own (guard.c,
 * bpf.c, fastpath.c, ping.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../host/mrroute.h"
#include "../common/import_export.h"
#include "../common/json.h"
#include "../common/print.h"
#include "../common/requests.h"
#include "../common/tree.h"
#include "lnetx.h"

/* ---- shows ------------------------------------------------------------------------ */

int lx_lnetx_show(struct lx_session *s, const struct lx_args *a)
{
	const struct lx_ctl_shown *shown = lx_request_find(a->shows, LX_CTL_SHOW)->shown;
	json_t *list;
	int err = lx_request_show(s, a->shows, a, LX_LEVEL_OWN, &list);

	if (err)
		return err;
	lx_lnetx_print_rows(list, shown);
	return 0;
}

/* NIs of the file that wait for an interface; they have no row. */
static void tell_missing(struct lx_session *s)
{
	json_t *status = lx_request_row(s, LX_CTL_DAEMON, NULL);

	if (*lx_json_text(status, "missing"))
		fprintf(stderr, "lnetx: lnetxd runs without NIs of its file: %s\n",
			lx_json_text(status, "missing"));
	json_decref(status);
}

static int show_nets(struct lx_session *s, const struct lx_args *a)
{
	int err = lx_lnetx_show(s, a);

	if (!err && !lx_lnetx_as_tree())
		tell_missing(s);
	return err;
}

/* Words without keyword: a module, or a module and a name. */
static int show_tunables(struct lx_session *s, const struct lx_args *a)
{
	struct lx_args named = *a;

	if (a->n_rest > 0)
		named.v[LX_ARG_MODULE] = a->rest[0];
	if (a->n_rest > 1)
		named.v[LX_ARG_NAME] = a->rest[1];
	return lx_lnetx_show(s, &named);
}

/* One line per counter; those that are 0 only with -s. */
static void print_counters(const json_t *map, const char *prefix)
{
	const json_t *value;
	const char *key;

	json_object_foreach ((json_t *)map, key, value) {
		if (json_is_object(value))
			print_counters(value, "drop: ");
		else if (lx_lnetx_format()->more || json_integer_value(value))
			printf("%s%-*s %12" JSON_INTEGER_FORMAT "\n", prefix,
			       28 - (int)strlen(prefix), key, json_integer_value(value));
	}
}

static int show_stats(struct lx_session *s, const struct lx_args *a)
{
	json_t *map;
	int err = lx_request_first(s, LX_CTL_STATS, NULL, LX_LEVEL_OWN, &map);

	if (err)
		return err;
	if (lx_lnetx_as_tree()) {
		lx_lnetx_print(lx_object_stats.yaml, map);
		return 0;
	}
	print_counters(map, "");
	json_decref(map);
	return 0;
}

static const char *routing_name(const json_t *info)
{
	const char *phase = json_string_value(json_object_get(info, "phase"));

	return phase ? phase : lx_json_int(info, "enable") ? "on" : "off";
}

static void print_routing(const json_t *info)
{
	const json_t *pool, *count, *left = json_object_get(info, "seconds_left");
	const char *name, *key;

	printf("routing %s", routing_name(info));
	if (left)
		printf(", %" JSON_INTEGER_FORMAT " s left", json_integer_value(left));
	putchar('\n');
	json_object_foreach ((json_t *)info, name, pool) {
		if (!json_is_object(pool))
			continue;
		printf("%-6s", name);
		json_object_foreach ((json_t *)pool, key, count)
			printf("  %s %" JSON_INTEGER_FORMAT, key, json_integer_value(count));
		putchar('\n');
	}
}

static int show_routing(struct lx_session *s, const struct lx_args *a)
{
	json_t *info;
	int err = lx_request_first(s, LX_CTL_ROUTING, NULL, LX_LEVEL_OWN, &info);

	if (err)
		return err;
	if (lx_lnetx_as_tree())
		lx_lnetx_print(lx_object_routing_info.yaml,
			       info ? json_incref(info) : json_pack("{si}", "enable", 0));
	else
		print_routing(info);
	json_decref(info);
	return 0;
}

/* ---- changes ---------------------------------------------------------------------- */

static int routing_on(struct lx_session *s, const struct lx_args *a)
{
	return lx_request_routing(s, true);
}

static int routing_off(struct lx_session *s, const struct lx_args *a)
{
	return lx_request_routing(s, false);
}

static int set_tunable(struct lx_session *s, const struct lx_args *a)
{
	if (a->n_rest != 3)
		return lx_session_fail(s, -EINVAL,
				       "tunable set MODULE NAME VALUE; see \"lnetx "
				       "tunable show\"");
	return lx_request_tunable_set(s, a->rest[0], a->rest[1], a->rest[2]);
}

static int disconnect(struct lx_session *s, const struct lx_args *a)
{
	struct lx_args named = *a;
	int err;

	if (a->n_rest)
		named.v[LX_ARG_NID] = a->rest[0];
	err = lx_request_disconnect(s, &named);
	if (!err && lx_lnetx_as_tree())
		lx_lnetx_print("disconnect",
			       json_pack("{sI}", "connections", (json_int_t)s->count));
	else if (!err && *s->text)
		puts(s->text);
	return err;
}

/* ---- monitor ---------------------------------------------------------------------- */

static void print_event(const json_t *row)
{
	lx_lnetx_print_time(row, "changes");
	printf("%-12s", lx_json_text(row, "change"));
	/* An NI's NID includes its net. */
	if (!strncmp(lx_json_text(row, "change"), "route", strlen("route")))
		printf(" %s via", lx_json_text(row, "net"));
	else if (!json_object_get(row, "nid"))
		printf(" %s", lx_json_text(row, "net"));
	if (json_object_get(row, "nid"))
		printf(" %s", lx_json_text(row, "nid"));
	printf("%s%s\n", *lx_json_text(row, "text") ? "  " : "", lx_json_text(row, "text"));
}

static int on_event(const void *attrs, size_t len, void *arg)
{
	return lx_lnetx_event(&lx_object_events, attrs, len, print_event);
}

static int monitor(struct lx_session *s, const struct lx_args *a)
{
	return lx_session_read(s, LX_CTL_SHOW, LX_CTL_EVENT, NULL, NULL, on_event, NULL);
}

/* ---- import, export --------------------------------------------------------------- */

/* Results and errors of an import; JSON and YAML are printed at its end. */
struct imported {
	json_t *map, *errors;
};

static void report(struct lx_session *s, enum lx_tools_import_mode mode, const char *object,
		   void *arg)
{
	struct imported *im = arg;
	json_t *error;

	if (!lx_lnetx_as_tree()) {
		fprintf(stderr, "lnetx: %s\n", s->text);
		return;
	}
	error = lx_lnetx_error(s->error, s->text);
	json_object_set_new(error, "object", json_string(object));
	json_array_append_new(im->errors, error);
}

static void output(const char *key, json_t *value, void *arg)
{
	struct imported *im = arg;

	if (lx_lnetx_as_tree())
		json_object_set_new(im->map, key, value);
	else
		lx_lnetx_print(key, value);
}

static int import(struct lx_session *s, const struct lx_args *a)
{
	enum lx_tools_import_mode mode = a->v[LX_ARG_DEL]    ? LX_TOOLS_IMPORT_DEL
					 : a->v[LX_ARG_EXEC] ? LX_TOOLS_IMPORT_EXEC
							     : LX_TOOLS_IMPORT_ADD;
	struct imported im = { json_object(), json_array() };
	int err = lx_tools_import(s, a->n_rest ? a->rest[0] : NULL, mode, report, output, &im);

	if (json_array_size(im.errors)) {
		json_object_set(im.map, "error", json_array_get(im.errors, 0));
		json_object_set(im.map, "errors", im.errors);
	}
	if (json_object_size(im.map))
		lx_lnetx_print_map(json_incref(im.map));
	json_decref(im.map);
	json_decref(im.errors);
	s->text[0] = '\0'; /* reported already */
	return err;
}

static void print_export(FILE *out, const json_t *sections)
{
	if (!lx_lnetx_format()->json)
		lx_tools_import_print(out, sections);
	else if (out == stdout)
		lx_lnetx_print_map(json_incref((json_t *)sections));
	else
		lx_print_json(out, sections, lx_lnetx_format()->pretty);
}

static int export(struct lx_session *s, const struct lx_args *a)
{
	return lx_tools_export(s, !a->v[LX_ARG_ALL], a->n_rest ? a->rest[0] : NULL, print_export);
}

/* ---- tables ----------------------------------------------------------------------- */

/* clang-format off */

#define END { 0 }

static const struct lx_keyword net_filter[] = {
	{ "net", LX_ARG_NET, "NET" }, { "nid", LX_ARG_NID, "NID" }, END
};
#define NI_WORD_(NAME, name, value) { #name, LX_ARG_##NAME, value },
static const struct lx_keyword net_add[] = {
	{ "net", LX_ARG_NET, "NET" }, { "if", LX_ARG_IF, "IF[,IF]" },
	{ "dev", LX_ARG_IF, "IF[,IF]" }, { "rails", LX_ARG_RAILS, "N|ADDRS" },
	{ "nid", LX_ARG_NID, "NID" }, LX_NI_WORDS(NI_WORD_)
	{ "ip2nets", LX_ARG_IP2NETS, "RULES" }, END
};
static const struct lx_keyword net_del[] = {
	{ "net", LX_ARG_NET, "NET" }, { "if", LX_ARG_IF, "IF[,IF]" },
	{ "dev", LX_ARG_IF, "IF[,IF]" }, { "nid", LX_ARG_NID, "NID" },
	  END
};
static const struct lx_keyword net_set[] = {
	{ "net", LX_ARG_NET, "NET" }, { "nid", LX_ARG_NID, "NID" }, { "all", LX_ARG_ALL, NULL },
	LX_NI_LIVE_WORDS(NI_WORD_)
	{ "health", LX_ARG_HEALTH, "0..1000" }, END
};
static const struct lx_command net_commands[] = {
	{ "show", show_nets, net_filter, .help = "nets and their NIs" },
	{ "add", lx_ip2nets_add, net_add,
	  .help = "an NI, by net and interface or by NID; or NIs by rules" },
	{ "del", lx_mrroute_net_del, net_del, .help = "NIs of a net, or one" },
	{ "set", lx_ni_request_net_set, net_set, .help = "a setting of running NIs" },
	END
};

static const struct lx_keyword route_filter[] = {
	{ "net", LX_ARG_NET, "NET" }, { "via", LX_ARG_GATEWAY, "NID" },
	{ "gateway", LX_ARG_GATEWAY, "NID" }, { "hop", LX_ARG_HOP, "N" },
	{ "priority", LX_ARG_PRIORITY, "N" }, END
};
static const struct lx_keyword route_add[] = {
	{ "net", LX_ARG_NET, "NET" }, { "via", LX_ARG_GATEWAY, "NIDS" },
	{ "gateway", LX_ARG_GATEWAY, "NIDS" }, { "hop", LX_ARG_HOP, "N" },
	{ "priority", LX_ARG_PRIORITY, "N" }, { "sensitivity", LX_ARG_SENSITIVITY, "N" }, END
};
static const struct lx_keyword route_del[] = {
	{ "net", LX_ARG_NET, "NET" }, { "via", LX_ARG_GATEWAY, "NIDS" },
	{ "gateway", LX_ARG_GATEWAY, "NIDS" }, END
};
static const struct lx_command route_commands[] = {
	{ "show", lx_lnetx_show, route_filter, .help = "routes" },
	{ "add", lx_request_route_add, route_add, .required = 2,
	  .help = "a route to a net by one or more gateways" },
	{ "del", lx_request_route_del, route_del, .required = 1,
	  .help = "a route, or all to a net" },
	END
};

static const struct lx_keyword routing_set[] = {
	{ "tiny", LX_ARG_TINY, "N" }, { "small", LX_ARG_SMALL, "N" }, { "large", LX_ARG_LARGE,
	  "N" }, END
};
static const struct lx_command routing_commands[] = {
	{ "show", show_routing, .help = "whether messages are forwarded, and router buffers" },
	{ "on", routing_on, .help = "forward messages between nets" },
	{ "off", routing_off, .help = "stop forwarding" },
	{ "set", lx_request_buffers, routing_set, .help = "the number of router buffers" },
	END
};

static const struct lx_keyword peer_filter[] = { { "nid", LX_ARG_NID, "NID" }, END };
static const struct lx_keyword peer_add[] = {
	{ "primary", LX_ARG_PRIMARY, "NID" }, { "nid", LX_ARG_NID, "NIDS" },
	{ "non_mr", LX_ARG_NON_MR, NULL }, { "lock", LX_ARG_LOCK_PRIMARY, NULL }, END
};
static const struct lx_keyword peer_del[] = {
	{ "primary", LX_ARG_PRIMARY, "NID" }, { "nid", LX_ARG_NID, "NIDS" },
	{ "force", LX_ARG_FORCE, NULL }, END
};
static const struct lx_keyword peer_set[] = {
	{ "nid", LX_ARG_NID, "NID" }, { "all", LX_ARG_ALL, NULL },
	{ "health", LX_ARG_HEALTH, "0..1000" }, { "state", LX_ARG_STATE, "BITS" }, END
};
static const struct lx_command peer_commands[] = {
	{ "show", lx_lnetx_show, peer_filter, .help = "peers and their NIDs" },
	{ "add", lx_request_peer_add, peer_add, .help = "a peer, or NIDs of it" },
	{ "del", lx_request_peer_del, peer_del, .help = "a peer, or NIDs of it" },
	{ "set", lx_request_peer_set, peer_set, .help = "health of its NIDs, or its state" },
	END
};

static const struct lx_command recovery_commands[] = {
	{ "show", lx_lnetx_show, .help = "NIs below full health, and when they are pinged" },
	END
};

static const struct lx_keyword all_keyword[] = { { "all", LX_ARG_ALL, NULL }, END };
static const struct lx_command conn_commands[] = {
	{ "show", lx_lnetx_show, .help = "connections of the transports" },
	{ "del", disconnect, all_keyword, "[NID]", .help = "close connections to a peer, or all" },
	END
};
static const struct lx_command disconnect_commands[] = {
	{ "disconnect", disconnect, all_keyword, "[NID]", .help = "the same as \"conn del\"" },
	END
};

static const struct lx_command stats_commands[] = {
	{ "show", show_stats, .help = "counters that are not 0; all with -s" },
	{ "reset", lx_request_stats_reset, .help = "set the counters to 0" },
	END
};

static const struct lx_keyword tunable_filter[] = {
	{ "module", LX_ARG_MODULE, "MODULE" }, { "name", LX_ARG_NAME, "NAME" }, END
};
static const struct lx_command tunable_commands[] = {
	{ "show", show_tunables, tunable_filter, "[MODULE [NAME]]",
	  .help = "settings; with -s their ranges" },
	{ "set", set_tunable, NULL, "MODULE NAME VALUE", .help = "a setting" },
	END
};

static const struct lx_command monitor_commands[] = {
	{ "monitor", monitor, .help = "changes as they happen; with -j one object per line" },
	END
};

static const struct lx_keyword import_keywords[] = {
	{ "del", LX_ARG_DEL, NULL }, { "exec", LX_ARG_EXEC, NULL }, END
};
static const struct lx_command import_commands[] = {
	{ "import", import, import_keywords, "[FILE]", .help = "apply a YAML file" },
	END
};
static const struct lx_command export_commands[] = {
	{ "export", export, all_keyword, "[FILE]",
	  .help = "the configuration as YAML; \"all\": with counters" },
	END
};

static const struct lx_keyword up_keywords[] = {
	{ "all", LX_ARG_ALL, NULL }, { "large", LX_ARG_LARGE_NIDS, NULL }, END
};
static const struct lx_command daemon_commands[] = {
	{ "show", lx_lnetx_show, .help = "the running lnetxd" },
	{ "up", lx_request_up, up_keywords,
	  .help = "start LNet; \"all\": with the NIs of its file" },
	{ "down", lx_mrroute_down, .help = "stop LNet; lnetxd keeps running" },
	{ "reload", lx_request_reload, .help = "read the file again, apply the differences" },
	END
};

const struct lx_lnetx_object lx_lnetx_cmds[] = {
	{ "net", net_commands, "nets and NIs", LX_CTL_NET },
	{ "route", route_commands, "routes to other nets", LX_CTL_ROUTE },
	{ "routing", routing_commands, "forwarding between nets", LX_CTL_ROUTING },
	{ "peer", peer_commands, "other nodes", LX_CTL_PEER },
	{ "recovery", recovery_commands, "NIDs below full health, and their recovery",
	  LX_CTL_RECOVERY },
	{ "udsp", lx_udsp_commands, "selection policies: which NIs and routers come first",
	  LX_CTL_UDSP },
	{ "conn", conn_commands, "connections", LX_CTL_CONN },
	{ "stats", stats_commands, "counters of the node", LX_CTL_STATS },
	{ "tunable", tunable_commands, "settings of LNet and its transports", LX_CTL_TUNABLE },
	{ "ping", lx_ping_commands, "ask nodes for their NIDs", LX_CTL_DAEMON },
	{ "discover", lx_discover_commands, "learn all NIDs of nodes", LX_CTL_DAEMON },
	{ "fabric", lx_fabric_commands, "check all paths to other nodes", LX_CTL_DAEMON },
	{ "monitor", monitor_commands, "changes as they happen", LX_CTL_DAEMON },
	{ "import", import_commands, "configure from YAML", LX_CTL_DAEMON },
	{ "export", export_commands, "the configuration as YAML", LX_CTL_DAEMON },
	{ "disconnect", disconnect_commands, "the same as \"conn del\"", LX_CTL_DAEMON },
	{ "guard", lx_guard_commands, "who may connect, and who is banned", LX_CTL_GUARD },
	{ "bpf", lx_bpf_commands, "programs in the kernel", LX_CTL_BPF },
	{ "stream", lx_stream_commands, "connections whose messages the kernel forwards",
	  LX_CTL_STREAM },
	{ "lane", lx_lane_commands, "connections to next hops that the kernel sends on",
	  LX_CTL_LANE },
	{ "trace", lx_trace_commands, "messages as the kernel sees them", LX_CTL_DAEMON },
	{ "fault", lx_fault_commands, "drop or delay messages on purpose, for tests",
	  LX_CTL_FAULT },
	{ "doctor", lx_doctor_commands, "what is wrong with this node, and what to do",
	  LX_CTL_DAEMON },
	{ "explain", lx_explain_commands, "one peer: how it is reached, what waits and gets lost",
	  LX_CTL_DAEMON },
	{ "metrics", lx_metrics_commands, "state and counters for monitoring systems",
	  LX_CTL_DAEMON },
	{ "report", lx_report_commands, "a text about this node, for a maintainer", LX_CTL_DAEMON },
	{ "selftest", lx_selftest_commands, "LNet selftest: obey consoles (lst) of other nodes",
	  LX_CTL_SELFTEST },
	{ "daemon", daemon_commands, "lnetxd itself", LX_CTL_DAEMON },
	{ 0 }
};

/* clang-format on */
