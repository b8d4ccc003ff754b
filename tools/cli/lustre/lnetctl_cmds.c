/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The commands of lnetctl, with the reference's names, options and errors
 * (control.md 1) and its output.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/integer.h"
#include "../../../user/conf/global.h"
#include "../../host/mrroute.h"
#include "../common/import_export.h"
#include "../common/json.h"
#include "../common/print.h"
#include "lnetctl.h"
#include "record.h"

#define STATUS_PROBE_FAILED 255
#define STATUS_NO_SERVICE 214
#define RDMA_PORT_SPACE_TCP 0x0106ul
#define TOLD(status) (LX_TOLD + (status))

/* ---- shows ------------------------------------------------------------------------- */

static unsigned int level_of(const struct lx_args *a)
{
	unsigned long level = a->v[LX_ARG_VERBOSE] ? strtoul(a->v[LX_ARG_VERBOSE], NULL, 10) : 0;

	return level < LX_LEVEL_MAX ? level : LX_LEVEL_MAX;
}

void lx_lnetctl_print(const char *key, json_t *value, const struct lx_layout *layout)
{
	json_t *map = json_pack("{so}", key, value);

	if (json_array_size(value) || json_object_size(value))
		lx_print_yaml(stdout, map, layout);
	json_decref(map);
}

static int show_rows(struct lx_session *s, const struct lx_args *a, unsigned int object)
{
	json_t *list;
	int err = lx_request_show(s, object, a, level_of(a), &list);

	if (!err && object == LX_CTL_NET && !json_array_size(list)) {
		json_decref(list);
		return lx_session_fail(s, -ENOENT, "there is no NI on net %s",
				       a->v[LX_ARG_NET] ? a->v[LX_ARG_NET] : "?");
	}
	if (!err)
		lx_lnetctl_print(lx_ctl_object_name(object), list, &lx_print_wide);
	return err;
}

static int show_net(struct lx_session *s, const struct lx_args *a)
{
	return show_rows(s, a, LX_CTL_NET);
}

static int show_route(struct lx_session *s, const struct lx_args *a)
{
	return show_rows(s, a, LX_CTL_ROUTE);
}

static int show_peer(struct lx_session *s, const struct lx_args *a)
{
	return show_rows(s, a, LX_CTL_PEER);
}

static int show_routing(struct lx_session *s, const struct lx_args *a)
{
	json_t *map;
	int err = lx_request_routing_show(s, false, &map);

	if (err)
		return err;
	lx_print_yaml(stdout, map, &lx_print_four);
	json_decref(map);
	return 0;
}

static int list_peers(struct lx_session *s, const struct lx_args *a)
{
	json_t *list, *names, *group;
	size_t i;
	int err = lx_request_show(s, LX_CTL_PEER, a, 0, &list);

	if (err)
		return err;
	names = json_array();
	json_array_foreach (list, i, group)
		json_array_append_new(
			names, json_pack("{sO}", "nid", json_object_get(group, "primary nid")));
	lx_lnetctl_print("peer list", names, &lx_print_wide);
	json_decref(list);
	return 0;
}

static int show_stats(struct lx_session *s, const struct lx_args *a)
{
	json_t *map;
	int err = lx_request_first(s, LX_CTL_STATS, NULL, 0, &map);

	if (!err)
		lx_lnetctl_print(lx_object_stats.yaml, map, &lx_print_four);
	return err;
}

static int show_global(struct lx_session *s, const struct lx_args *a)
{
	json_t *map;
	int err = lx_request_globals(s, &map);

	if (!err)
		lx_lnetctl_print("global", map, &lx_print_four);
	return err;
}

/* There is only one CPU partition here. */
static int cpt_of_nid(struct lx_session *s, const struct lx_args *a)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	json_t *list;
	size_t n;
	int err = lx_args_nids(s, a, "nid", &nids, &n);

	if (!err && !n)
		err = lx_session_fail(s, -EINVAL, "give a NID");
	if (err)
		return err;
	list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			list, json_pack("{ss, si}", "nid", lx_nid_str(&nids[i]), "cpt", 0));
	lx_lnetctl_print("cpt-of-nid", list, &lx_print_narrow);
	return 0;
}

/* The service that o2iblnd listens on, in RDMA CM's form: port space and port. */
static int service_id(struct lx_session *s, const struct lx_args *a)
{
	const struct lx_args which = {
		.v = { [LX_ARG_MODULE] = "o2ib", [LX_ARG_NAME] = "service" }
	};
	char text[24] = "";
	json_t *row = NULL;
	int err = lx_request_first(s, LX_CTL_TUNABLE, &which, LX_LEVEL_OWN, &row);

	if (row)
		snprintf(text, sizeof(text), "0x%lx",
			 RDMA_PORT_SPACE_TCP << 16 | lx_json_number(row, "value"));
	json_decref(row);
	if (*text) {
		lx_lnetctl_print("service_id", json_pack("{ss}", "value", text), &lx_print_four);
		return 0;
	}
	fprintf(stderr, "error:\n    msg: \"no service id: %s\"\n",
		err ? s->text : "this lnetxd has no o2ib");
	return TOLD(STATUS_NO_SERVICE);
}

/* ---- probes ------------------------------------------------------------------------ */

struct probes {
	bool discover, force;
	json_t *answers;
	/* NID and error of those that failed, in parallel */
	json_t *failed;
};

/*
 * The reference's ping reports every missing answer as an I/O error. A request that was not even
 * sent in time is timed out; the reference waits until it knows why.
 */
static void note_failure(struct probes *p, const struct lx_session *s, const struct lx_nid *nid)
{
	bool silent = !p->discover && s->error == -ETIMEDOUT;
	int error = silent ? -EIO : s->error == -ETIME ? -ETIMEDOUT : s->error;
	const char *why = strstr(s->text, strerror(ETIMEDOUT));
	char text[sizeof(s->text)];

	if (silent) /* in its words, and then where the message went */
		snprintf(text, sizeof(text), "failed to ping %s: %s%s", lx_nid_str(nid),
			 strerror(EIO), why ? why + strlen(strerror(ETIMEDOUT)) : "");
	json_array_append_new(p->failed, json_pack("{si, ss}", "errno", error,
						   "descr", silent ? text : s->text));
}

/* -ECONNREFUSED and the like concern the daemon, not the NID. */
static bool is_ours(const struct lx_session *s)
{
	return !lx_session_connected(s);
}

static int probe_one(struct lx_session *s, const struct lx_ctl_ping *ping, void *arg)
{
	struct probes *p = arg;
	int err = lx_request_probe(s, ping, p->discover, p->force, p->answers);

	if (err && is_ours(s))
		return err;
	if (err)
		note_failure(p, s, &ping->nid);
	return 0;
}

static void print_failures(const struct probes *p)
{
	json_t *one;
	size_t i;

	if (!json_array_size(p->failed))
		return;
	puts("manage:");
	json_array_foreach (p->failed, i, one) {
		printf("- %s:\n  errno: %" JSON_INTEGER_FORMAT "\n  descr: ! ",
		       p->discover ? "discover" : "ping",
		       json_integer_value(json_object_get(one, "errno")));
		lx_print_quoted(stdout, json_string_value(json_object_get(one, "descr")), '\'');
		putchar('\n');
	}
}

static int probe(struct lx_session *s, const struct lx_args *a, bool discover)
{
	struct probes p = { .discover = discover,
			    .force = a->v[LX_ARG_FORCE],
			    .answers = json_array(),
			    .failed = json_array() };
	int err = lx_request_probe_each(s, a, probe_one, &p);

	if (!err) {
		lx_lnetctl_print(discover ? "discover" : "ping", json_incref(p.answers),
				 &lx_print_narrow);
		print_failures(&p);
		if (json_array_size(p.failed))
			err = TOLD(STATUS_PROBE_FAILED);
	}
	json_decref(p.answers);
	json_decref(p.failed);
	return err;
}

static int ping(struct lx_session *s, const struct lx_args *a)
{
	return probe(s, a, false);
}

static int discover(struct lx_session *s, const struct lx_args *a)
{
	return probe(s, a, true);
}

/* ---- set ------------------------------------------------------------------------------------ */

static int set_failed(const char *key, int error, const char *text)
{
	lx_record_print_old("add", key, error, text);
	return TOLD(error & 0xff);
}

/* The reference's tool has one errno for everything the kernel module refuses. */
static int set_global(struct lx_session *s, const char *key, int64_t value)
{
	int err = lx_request_global_set(s, key, value);
	bool early = !strcmp(key, "response_tracking") || !strcmp(key, "recovery_limit") ||
		     !strcmp(key, "max_recovery_ping_interval");

	if (err == -EINVAL || err == -ERANGE)
		return set_failed(key, early ? -EINVAL : -ENODATA, s->text);
	return err ? set_failed(key, err, s->text) : 0;
}

static int set_buffers(struct lx_session *s, const char *key, const char *value)
{
	struct lx_args a = { 0 };
	int err;

	a.v[key[0] == 't' ? LX_ARG_TINY : key[0] == 's' ? LX_ARG_SMALL : LX_ARG_LARGE] = value;
	err = lx_request_buffers(s, &a);
	return err ? set_failed("buf", err, s->text) : 0;
}

static int set(struct lx_session *s, const struct lx_args *a)
{
	const char *key = a->verb, *text = a->rest[0];
	int64_t value;
	int err;

	if (!a->n_rest)
		return lx_session_fail(s, -EINVAL, "%s needs a value", key);
	if (lx_integer_parse(text, 0, INT64_MIN, INT64_MAX, &value)) {
		lx_session_fail(s, -1, "%s \"%s\": a number is expected", key, text);
		lx_record_print_old("parser", "set", -1, s->text);
		return TOLD(255);
	}
	if (strstr(key, "_buffers"))
		return set_buffers(s, key, text);
	if (strcmp(key, "routing"))
		return set_global(s, key, value);
	if (value != 0 && value != 1) {
		lx_session_fail(s, -1, "routing is 0 (off) or 1 (on)");
		lx_record_print_old("parser", "set", -1, s->text);
		return TOLD(255);
	}
	err = lx_request_routing(s, value);
	return err ? set_failed(key, err, s->text) : 0;
}

/* ---- import, export ------------------------------------------------------------------------- */

static int export(struct lx_session *s, const struct lx_args *a)
{
	return lx_tools_export(s, a->v[LX_ARG_BACKUP], a->n_rest ? a->rest[0] : NULL,
			       lx_tools_import_print);
}

static void report(struct lx_session *s, enum lx_tools_import_mode mode, const char *object,
		   void *arg)
{
	static const char *const ops[] = { "add", "del", "show", "exec" };

	lx_record_print(ops[mode], object, s->error, s->text);
}

static void output(const char *key, json_t *value, void *arg)
{
	const struct lx_layout *layout = &lx_print_four;

	if (!strcmp(key, "net") || !strcmp(key, "route") || !strcmp(key, "peer"))
		layout = &lx_print_wide;
	else if (!strcmp(key, "ping") || !strcmp(key, "discover"))
		layout = &lx_print_narrow;
	lx_lnetctl_print(key, value, layout);
}

static int import(struct lx_session *s, const struct lx_args *a)
{
	enum lx_tools_import_mode mode = a->v[LX_ARG_DEL]    ? LX_TOOLS_IMPORT_DEL
					 : a->v[LX_ARG_SHOW] ? LX_TOOLS_IMPORT_SHOW
					 : a->v[LX_ARG_EXEC] ? LX_TOOLS_IMPORT_EXEC
							     : LX_TOOLS_IMPORT_ADD;
	int err = lx_tools_import(s, a->n_rest ? a->rest[0] : NULL, mode, report, output, NULL);

	return err ? TOLD(-EINVAL & 0xff) : 0;
}

/* ---- the reference's numbers ---------------------------------------------------------------- */

static int net_add_errno(int err)
{
	return err == -ENODEV ? -ENETDOWN : err;
}

static int net_del_errno(int err)
{
	return err == -ENOENT ? -EINVAL : err;
}

static int peer_set_errno(int err)
{
	return err == -ENOENT ? -EINVAL : err;
}

/* Linux routes for the new NI; without them it works as far as it goes. */
static void add_routes(struct lx_session *s)
{
	if (lx_mrroute_add(s))
		fprintf(stderr, "lnetctl: the NI is there, but has no Linux routes of its own: %s; "
				"\"net add --skip-mr-route-setup\" does not add any\n", s->text);
}

/* Refuses options of kfilnd. */
static int net_add(struct lx_session *s, const struct lx_args *a)
{
	int err;

	if (a->v[LX_ARG_KFI])
		return lx_session_fail(s, -EOPNOTSUPP,
				       "auth-key and traffic-class are settings of nets of type "
				       "kfi, for which lnetx has no transport; leave them out");
	err = lx_ip2nets_add(s, a);
	if (!err && !a->v[LX_ARG_NO_MR_ROUTES])
		add_routes(s);
	return err;
}

/* Without a NID or "all" the reference does nothing, and says so by success. */
static int peer_set(struct lx_session *s, const struct lx_args *a)
{
	return a->v[LX_ARG_NID] || a->v[LX_ARG_ALL] ? lx_request_peer_set(s, a) : 0;
}

static int route_del(struct lx_session *s, const struct lx_args *a)
{
	if (!a->v[LX_ARG_GATEWAY])
		return lx_session_fail(s, -EINVAL, "give --net and --gateway");
	return lx_request_route_del(s, a);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* clang-format off */

#define FLAG LX_OPTION_FLAG
#define VALUE LX_OPTION_VALUE
#define LEVEL LX_OPTION_LEVEL
#define END { 0 }
#define OLD LX_ERROR_OLD

static const struct lx_option configure_options[] = {
	{ "all", 'a', FLAG, LX_ARG_ALL,
	  "also add the NIs, routes and peers of the configuration file" },
	{ "large", 'l', FLAG, LX_ARG_LARGE_NIDS, "NIs get their interface's IPv6 address" },
	END
};

static const struct lx_lnetctl_cmd lnet_cmds[] = {
	{ "configure", lx_request_up, "start LNet in the running lnetxd",
	  .option = configure_options },
	{ "unconfigure", lx_mrroute_down, "stop LNet; lnetxd itself keeps running",
	  .op = "configure" },
	END
};

static const struct lx_option net_add_options[] = {
	{ "net", 'n', VALUE, LX_ARG_NET, "the net (tcp, tcp1)" },
	{ "if", 'i', VALUE, LX_ARG_IF, "its interface, or several (eth0,eth1)" },
	{ "dev", 0, VALUE, LX_ARG_IF, NULL },
	{ "nid", 0, VALUE, LX_ARG_NID, "instead: the NID of the new NI" },
	{ "peer-timeout", 't', VALUE, LX_ARG_PEER_TIMEOUT,
	  "seconds until a silent peer is asked for a sign of life" },
	{ "peer-credits", 'c', VALUE, LX_ARG_PEER_CREDITS, "messages sent to one peer at a time" },
	{ "peer-buffer-credits", 'b', VALUE, LX_ARG_PEER_BUFFER_CREDITS,
	  "router buffers one peer may occupy" },
	{ "credits", 'r', VALUE, LX_ARG_CREDITS, "messages the NI sends at a time" },
	{ "cpt", 's', VALUE, LX_ARG_CPT, "CPU partitions ([0,1]); checked, without effect here" },
	{ "conns-per-peer", 'm', VALUE, LX_ARG_CONNS_PER_PEER,
	  "bulk connections each way to a peer; 0: by link speed" },
	{ "tos", 0, VALUE, LX_ARG_TOS, "type of service of the IP packets, 0..255" },
	{ "skip-mr-route-setup", 'k', FLAG, LX_ARG_NO_MR_ROUTES,
	  "add no Linux routes, as setup-mrrouting would" },
	{ "ip2net", 'p', VALUE, LX_ARG_IP2NETS,
	  "instead: rules by this machine's addresses (\"tcp(eth0) 10.0.0.*; o2ib 10.1.*.*\")" },
	{ "auth-key", 'a', VALUE, LX_ARG_KFI, "refused: nets of type kfi have it" },
	{ "traffic-class", 'T', VALUE, LX_ARG_KFI, "refused: nets of type kfi have it" },
	END
};

static const struct lx_option net_del_options[] = {
	{ "net", 'n', VALUE, LX_ARG_NET, "the net (tcp, tcp1)" },
	{ "if", 'i', VALUE, LX_ARG_IF, "only the NI on this interface" },
	{ "dev", 0, VALUE, LX_ARG_IF, NULL },
	{ "nid", 0, VALUE, LX_ARG_NID, "instead: the NI's NID" },
	END
};

static const struct lx_option net_show_options[] = {
	{ "net", 'n', VALUE, LX_ARG_NET, "only this net" },
	{ "verbose", 'v', LEVEL, LX_ARG_VERBOSE,
	  "more of each NI; 2: by message type, health; 4: latency" },
	END
};

static const struct lx_option net_set_options[] = {
	{ "nid", 'n', VALUE, LX_ARG_NID, "the NI" },
	{ "net", 'i', VALUE, LX_ARG_NET, "all NIs of a net" },
	{ "all", 'a', FLAG, LX_ARG_ALL, "all NIs" },
	{ "conns-per-peer", 'm', VALUE, LX_ARG_CONNS_PER_PEER,
	  "bulk connections each way to a peer, up to 127" },
	{ "lnd-timeout", 'l', VALUE, LX_ARG_LND_TIMEOUT,
	  "seconds the transport may take; 0: the general value" },
	{ "health", 't', VALUE, LX_ARG_HEALTH, "health, 0..1000, from where it recovers" },
	END
};

static const struct lx_lnetctl_cmd net_cmds[] = {
	{ "add", net_add, "add an NI to a net", .option = net_add_options,
	  .map_error = net_add_errno },
	{ "del", lx_mrroute_net_del, "remove NIs", .option = net_del_options,
	  .map_error = net_del_errno },
	{ "show", show_net, "show nets and their NIs", .option = net_show_options },
	{ "set", lx_ni_request_net_set, "change a setting of NIs", .option = net_set_options,
	  .style = OLD, .op = "net", .object = "set" },
	END
};

static const struct lx_option route_add_options[] = {
	{ "net", 'n', VALUE, LX_ARG_NET, "the remote net (tcp2)" },
	{ "gateway", 'g', VALUE, LX_ARG_GATEWAY,
	  "NID of the gateway, or several (10.0.0.[1-4]@tcp)" },
	{ "hop", 'c', VALUE, LX_ARG_HOP, "how many hops, 1..255" },
	{ "hop-count", 0, VALUE, LX_ARG_HOP, NULL },
	{ "priority", 'p', VALUE, LX_ARG_PRIORITY, "0 is best" },
	{ "health_sensitivity", 0, VALUE, LX_ARG_SENSITIVITY,
	  "how much a fault takes from the gateway, at least 1" },
	END
};

static const struct lx_option route_del_options[] = {
	{ "net", 'n', VALUE, LX_ARG_NET, "the remote net (tcp2)" },
	{ "gateway", 'g', VALUE, LX_ARG_GATEWAY, "NID of the gateway, or several" },
	END
};

static const struct lx_option route_show_options[] = {
	{ "net", 'n', VALUE, LX_ARG_NET, "only to this net" },
	{ "gateway", 'g', VALUE, LX_ARG_GATEWAY, "only by this gateway" },
	{ "hop", 'c', VALUE, LX_ARG_HOP, "only with this many hops" },
	{ "hop-count", 0, VALUE, LX_ARG_HOP, NULL },
	{ "priority", 'p', VALUE, LX_ARG_PRIORITY, "only of this priority" },
	{ "verbose", 'v', LEVEL, LX_ARG_VERBOSE, "more of each route" },
	END
};

static const struct lx_lnetctl_cmd route_cmds[] = {
	{ "add", lx_request_route_add, "add a route", .option = route_add_options },
	{ "del", route_del, "remove a route", .option = route_del_options },
	{ "show", show_route, "show routes", .option = route_show_options },
	END
};

const struct lx_option lx_lnetctl_show_options[] = {
	{ "verbose", 'v', LEVEL, LX_ARG_VERBOSE, "there is no more" },
	END
};

static const struct lx_lnetctl_cmd routing_cmds[] = {
	{ "show", show_routing, "show router buffers and whether routing is on",
	  .option = lx_lnetctl_show_options, .style = OLD },
	END
};

static const struct lx_option peer_options[] = {
	{ "prim_nid", 'k', VALUE, LX_ARG_PRIMARY, "primary NID of the peer" },
	{ "nid", 'n', VALUE, LX_ARG_NID, "its other NIDs (10.0.0.[2-4]@tcp,...)" },
	{ "non_mr", 'm', FLAG, LX_ARG_NON_MR, "the peer does not support Multi-Rail" },
	{ "lock_prim", 'l', FLAG, LX_ARG_LOCK_PRIMARY, "keep the primary NID" },
	{ "force", 'f', FLAG, LX_ARG_FORCE, "even if it is locked or in use" },
	{ "ip2nets", 0, VALUE, LX_ARG_IP2NETS, "the same as --nid" },
	END
};

static const struct lx_option peer_show_options[] = {
	{ "nid", 'n', VALUE, LX_ARG_NID, "only the peer with this NID" },
	{ "verbose", 'v', LEVEL, LX_ARG_VERBOSE,
	  "more of each peer; 2: by message type, health; 4: latency" },
	END
};

static const struct lx_option peer_set_options[] = {
	{ "nid", 'n', VALUE, LX_ARG_NID, "a NID of the peer" },
	{ "health", 't', VALUE, LX_ARG_HEALTH, "health of that NID, 0..1000" },
	{ "all", 'a', FLAG, LX_ARG_ALL, "health of all NIDs of all peers" },
	{ "state", 's', VALUE, LX_ARG_STATE, "state bits of the peer, for tests" },
	END
};

static const struct lx_lnetctl_cmd peer_cmds[] = {
	{ "add", lx_request_peer_add, "configure a peer, or NIDs of it", .option = peer_options },
	{ "del", lx_request_peer_del, "remove a peer, or NIDs of it", .option = peer_options },
	{ "show", show_peer, "show peers and their NIDs", .option = peer_show_options },
	{ "list", list_peers, "show primary NIDs", .option = lx_lnetctl_show_options,
	  .op = "show" },
	{ "set", peer_set, "set health or state of a peer", .option = peer_set_options,
	  .style = OLD, .op = "net", .object = "set", .map_error = peer_set_errno },
	END
};

static const struct lx_lnetctl_cmd stats_cmds[] = {
	{ "show", show_stats, "show the counters of the node", .option = lx_lnetctl_show_options,
	  .style = OLD, .object = "statistics" },
	{ "reset", lx_request_stats_reset, "set the counters to 0", .style = OLD,
	  .object = "statistics" },
	END
};

static const struct lx_lnetctl_cmd global_cmds[] = {
	{ "show", show_global, "show general settings", .option = lx_lnetctl_show_options,
	  .style = OLD },
	END
};

static const struct lx_option import_options[] = {
	{ "add", 'a', FLAG, LX_ARG_ADD, "add what the file says (default)" },
	{ "del", 'd', FLAG, LX_ARG_DEL, "remove it" },
	{ "show", 's', FLAG, LX_ARG_SHOW, "show the sections of the file" },
	{ "exec", 'e', FLAG, LX_ARG_EXEC, "run the file's \"ping\" and \"discover\"" },
	{ "old-api", 'o', FLAG, LX_ARG_OLD_API, "accepted and ignored" },
	END
};

static const struct lx_lnetctl_cmd import_cmd[] = {
	{ "import", import, "apply YAML from a file or standard input", .option = import_options,
	  .object = "file", .max_rest = 1 },
	END
};

static const struct lx_option export_options[] = {
	{ "backup", 'b', FLAG, LX_ARG_BACKUP, "only what an import needs" },
	END
};

static const struct lx_lnetctl_cmd export_cmd[] = {
	{ "export", export, "write the state as YAML, to a file or standard output",
	  .option = export_options, .op = "show", .max_rest = 1 },
	END
};

static const struct lx_option ping_options[] = {
	{ "timeout", 't', VALUE, LX_ARG_TIMEOUT, "seconds to wait for an answer (1)" },
	{ "source", 's', VALUE, LX_ARG_SOURCE, "own NID to ask from" },
	END
};

static const struct lx_lnetctl_cmd ping_cmd[] = {
	{ "ping", ping, "ask nodes for their NIDs", .option = ping_options, .op = "manage",
	  .max_rest = LX_CTL_NIDS_MAX },
	END
};

static const struct lx_option discover_options[] = {
	{ "force", 'f', FLAG, LX_ARG_FORCE, "even if they are known already" },
	END
};

static const struct lx_lnetctl_cmd discover_cmd[] = {
	{ "discover", discover, "learn all NIDs of nodes, and send them ours",
	  .option = discover_options, .op = "manage", .max_rest = LX_CTL_NIDS_MAX },
	END
};

static const struct lx_lnetctl_cmd cpt_cmd[] = {
	{ "cpt-of-nid", cpt_of_nid, "the CPU partition of NIDs: there is one, 0", .op = "show",
	  .max_rest = LX_CTL_NIDS_MAX },
	END
};

static const struct lx_lnetctl_cmd fault_cmds[] = {
	{ "drop", .help = "rules that drop messages: add, del, reset, show", .op = "add",
	  .verb = lx_fault_drop_cmds },
	{ "delay", .help = "rules that delay messages: add, del, reset, show", .op = "add",
	  .verb = lx_fault_delay_cmds },
	END
};

static const struct lx_lnetctl_cmd service_id_cmd[] = {
	{ "service-id", service_id, "the RDMA CM service that o2iblnd listens on", .op = "show" },
	END
};

/* tiny, small, large, routing; then the general settings; then the end. */
static struct lx_lnetctl_cmd set_cmds[40] = {
	{ "tiny_buffers", set, "router buffers for messages without payload; 0: default",
	  .style = OLD, .op = "add", .object = "buf", .max_rest = 1 },
	{ "small_buffers", set, "router buffers for payload up to a page; 0: default",
	  .style = OLD, .op = "add", .object = "buf", .max_rest = 1 },
	{ "large_buffers", set, "router buffers for payload up to 1 MiB; 0: default",
	  .style = OLD, .op = "add", .object = "buf", .max_rest = 1 },
	{ "routing", set, "0: off, 1: forward messages between nets", .style = OLD, .op = "add",
	  .object = "routing", .max_rest = 1 },
	END
};

const struct lx_group lx_groups[] = {
	{ "lnet", "start and stop LNet: configure, unconfigure", lnet_cmds, false },
	{ "net", "nets and NIs: add, del, show, set", net_cmds, false },
	{ "route", "routes: add, del, show", route_cmds, false },
	{ "routing", "forwarding between nets: show", routing_cmds, false },
	{ "set", "general settings; \"lnetctl set help\" lists them", set_cmds, false },
	{ "import", "configure from YAML", import_cmd, true },
	{ "export", "write state or configuration as YAML", export_cmd, true },
	{ "stats", "counters: show, reset", stats_cmds, false },
	{ "global", "general settings: show", global_cmds, false },
	{ "peer", "peers: add, del, show, list, set", peer_cmds, false },
	{ "ping", "ask nodes for their NIDs", ping_cmd, true },
	{ "discover", "learn all NIDs of nodes", discover_cmd, true },
	{ "cpt-of-nid", "CPU partition of a NID", cpt_cmd, true },
	{ "debug", "internal state: recovery, peer, nidlist", lx_lnetctl_debug_cmds, false },
	{ "udsp", "selection policies: add, del, show", lx_lnetctl_udsp_cmds, false },
	{ "fault", "drop or delay messages on purpose: drop, delay", fault_cmds, false },
	{ "service-id", "RDMA service of o2iblnd", service_id_cmd, true },
	{ "setup-mrrouting", "Linux routes for several interfaces on a subnet",
	  lx_lnetctl_mrrouting_cmd,
	  true },
	{ "setup-sysctl", "Linux settings for large systems", lx_lnetctl_sysctl_cmd, true },
	{ 0 }
};

/* clang-format on */

void lx_lnetctl_cmds_init(void)
{
	struct lx_lnetctl_cmd *v = set_cmds;

	while (v->name)
		v++;
	for (const struct lx_global *g = lx_globals; g->key; g++) {
		if (g->tunable)
			*v++ = (struct lx_lnetctl_cmd){ .name = g->key,
							.fn = set,
							.style = LX_ERROR_OLD,
							.help = "a number",
							.op = "add",
							.max_rest = 1 };
	}
}
