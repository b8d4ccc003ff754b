/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The program when called as lctl: a thin grammar, of words by position, over the requests of
 * lnetctl. Output is what the reference prints (control.md 8, 9), as scripts cut it into words.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "../../../user/base/array.h"
#include "../../../user/base/cleanup.h"
#include "../../../user/io/netif.h"
#include "../../host/mrroute.h"
#include "../common/complete.h"
#include "../common/fault.h"
#include "../common/json.h"
#include "../common/print.h"
#include "../common/requests.h"
#include "../common/words.h"
#include "input.h"
#include "lctl.h"

#define STATUS_FAILED 1
#define STATUS_NO_PARAMETER 2 /* ENOENT */
#define PING_SECONDS_MAX 120
#define PID_PREFIX "12345-"
#define PING_FAILED "failed to ping "

struct lctl {
	struct lx_session s;
	char net[LX_NET_TEXT]; /* of "--net" or "network NET"; "": not given */
};

struct command {
	const char *name;
	int (*fn)(struct lctl *l, int argc, char **argv); /* argv[0]: the name; an exit status */
	const char *args, *help;
};

static const struct command commands[];

static int failed(const struct lctl *l)
{
	fprintf(stderr, "lctl: %s\n", l->s.text);
	return STATUS_FAILED;
}

static int misused(const char *name)
{
	size_t n;
	const struct command *c = lx_words_find(commands, sizeof(*c), name, &n);

	fprintf(stderr, "usage: lctl %s %s\n", c->name, c->args);
	return STATUS_FAILED;
}

/* ---- the node ---------------------------------------------------------------------- */

static int network_up(struct lctl *l, bool anew)
{
	const struct lx_args all = { .v = { [LX_ARG_ALL] = "" } };

	if (lx_request_up(&l->s, &all)) {
		fprintf(stderr, "LNET configure error %d: %s\n", -l->s.error, l->s.text);
		return STATUS_FAILED;
	}
	puts(anew ? "LNET configured: Overridden existing one" : "LNET configured: New Created");
	return 0;
}

static int network_down(struct lctl *l)
{
	if (lx_mrroute_down(&l->s, NULL)) {
		fprintf(stderr, "LNET unconfigure error %d: %s\n", -l->s.error, l->s.text);
		return STATUS_FAILED;
	}
	puts("LNET ready to unload");
	return 0;
}

static int select_net(struct lctl *l, const char *name)
{
	uint32_t net;

	if (lx_net_parse(name, &net)) {
		fprintf(stderr, "lctl: \"%s\" is not a net (tcp, tcp1, o2ib, ...)\n", name);
		return STATUS_FAILED;
	}
	lx_net_format(net, l->net, sizeof(l->net));
	return 0;
}

static int network(struct lctl *l, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (argc < 2 || argc > 3)
		return misused(argv[0]);
	if (!strcmp(word, "up") || !strcmp(word, "configure"))
		return network_up(l, argc == 3 && !strcmp(argv[2], "-l"));
	if (!strcmp(word, "down") || !strcmp(word, "unconfigure"))
		return network_down(l);
	return select_net(l, word);
}

/* Calls @fn for each NI, until it returns non-zero. 0 or an exit status. */
static int each_ni(struct lctl *l, int (*fn)(struct lctl *l, const json_t *ni, void *arg),
		   void *arg)
{
	json_t *list, *group, *ni;
	int status = 0;
	size_t i, j;

	if (lx_request_show_all(&l->s, LX_CTL_NET, LX_LEVEL_OWN, &list))
		return failed(l);
	json_array_foreach (list, i, group) {
		json_array_foreach (json_object_get(group, lx_object_nets.rows), j, ni) {
			if (!status)
				status = fn(l, ni, arg);
		}
	}
	json_decref(list);
	return status;
}

static int print_nid(struct lctl *l, const json_t *ni, void *arg)
{
	const bool *all = arg;

	if (*all || strcmp(lx_json_text(ni, "nid"), "0@lo"))
		puts(lx_json_text(ni, "nid"));
	return 0;
}

static int list_nids(struct lctl *l, int argc, char **argv)
{
	bool all = argc == 2 && !strcmp(argv[1], "all");

	return argc > 1 && !all ? misused(argv[0]) : each_ni(l, print_nid, &all);
}

/* ---- ping, which_nid ---------------------------------------------------------------- */

/* The reference prints the loopback NID first, which nodes do not send. */
static int ping(struct lctl *l, int argc, char **argv)
{
	json_t *answers = json_array(), *nis, *ni;
	struct lx_ctl_ping req = { .source = lx_nid_any };
	const char *nid = argc > 1 ? argv[1] : "";
	long seconds = argc > 2 ? atol(argv[2]) : 0;
	size_t i;
	int err;

	if (!strncmp(nid, PID_PREFIX, strlen(PID_PREFIX)))
		nid += strlen(PID_PREFIX);
	if (argc < 2 || seconds > PING_SECONDS_MAX) {
		json_decref(answers);
		return misused(argv[0]);
	}
	if (seconds > 0)
		req.timeout_ms = seconds * 1000;
	err = lx_arg_nid(&l->s, &(struct lx_args){ .v = { [LX_ARG_NID] = nid } }, LX_ARG_NID, "nid",
			 &req.nid);
	if (!err)
		err = lx_request_probe(&l->s, &req, false, false, answers);
	if (err) {
		/* lnetxd's reasons begin so, the tool's own do not. */
		if (strncmp(l->s.text, PING_FAILED, strlen(PING_FAILED)))
			printf(PING_FAILED "%s: ", argv[1]);
		puts(l->s.text);
	} else {
		puts(PID_PREFIX "0@lo");
		nis = json_object_get(json_array_get(answers, 0), lx_object_pings.rows);
		json_array_foreach (nis, i, ni)
			puts(lx_json_text(ni, "nid"));
	}
	json_decref(answers);
	return err ? STATUS_FAILED : 0;
}

/* How far a NID is; UINT_MAX: out of reach. */
struct distance {
	const char *nid, *net;
	unsigned int hops;
};

static int closer_by_ni(struct lctl *l, const json_t *ni, void *arg)
{
	const char *own = lx_json_text(ni, "nid"), *at = strchr(own, '@');
	struct distance *d = arg;

	if (!strcmp(own, d->nid))
		d->hops = 0;
	else if (d->hops > 1 && at && !strcmp(at + 1, d->net))
		d->hops = 1;
	return 0;
}

static unsigned int hops_by_route(const json_t *routes, const char *net)
{
	unsigned int best = -1u;
	json_t *r;
	size_t i;

	json_array_foreach ((json_t *)routes, i, r) {
		json_int_t hops = lx_json_int(r, "hop");

		if (strcmp(lx_json_text(r, "net"), net) || strcmp(lx_json_text(r, "state"), "up"))
			continue;
		hops = hops < 1 ? 1 : hops;
		if (hops + 1 < best)
			best = hops + 1;
	}
	return best;
}

static int which_nid(struct lctl *l, int argc, char **argv)
{
	const char *best = NULL;
	unsigned int least = -1u;
	int status = 0;
	json_t *routes;

	if (argc < 2)
		return misused(argv[0]);
	if (lx_request_show_all(&l->s, LX_CTL_ROUTE, LX_LEVEL_OWN, &routes))
		return failed(l);
	for (int i = 1; !status && i < argc; i++) {
		const char *at = strchr(argv[i], '@');
		struct distance d = { argv[i], at ? at + 1 : "tcp", -1u };
		struct lx_nid nid;

		if (lx_nid_parse(argv[i], &nid)) {
			fprintf(stderr, "lctl: \"%s\" is not a NID\n", argv[i]);
			status = STATUS_FAILED;
			break;
		}
		d.hops = hops_by_route(routes, d.net);
		status = each_ni(l, closer_by_ni, &d);
		if (d.hops < least) {
			least = d.hops;
			best = argv[i];
		}
	}
	json_decref(routes);
	if (!status && !best) {
		fputs("No reachable NID\n", stderr);
		status = STATUS_FAILED;
	}
	if (!status)
		puts(best);
	return status;
}

/* ---- lists ------------------------------------------------------------------------- */

static int route_list(struct lctl *l, int argc, char **argv)
{
	json_t *list, *r;
	size_t i;

	if (lx_request_show_all(&l->s, LX_CTL_ROUTE, LX_LEVEL_OWN, &list))
		return failed(l);
	json_array_foreach (list, i, r)
		printf("net %18s hops %d gw %32s %s pri %u\n", lx_json_text(r, "net"),
		       (int)lx_json_int(r, "hop"), lx_json_text(r, "gateway"),
		       lx_json_text(r, "state"), (unsigned int)lx_json_int(r, "priority"));
	json_decref(list);
	return 0;
}

static bool is_on_net(const struct lctl *l, const char *nid)
{
	const char *at = strchr(nid, '@');

	return at && !strcmp(at + 1, l->net);
}

static bool is_tcp(const struct lctl *l)
{
	return !strncmp(l->net, "tcp", 3);
}

/* The connections on the chosen net, a new array; NULL: said why not. */
static json_t *conns(struct lctl *l, const char *command)
{
	json_t *list, *mine, *c;
	size_t i;

	if (!*l->net) {
		fprintf(stderr, "lctl: of which net? Next: lctl --net tcp %s\n", command);
		return NULL;
	}
	if (lx_request_show_all(&l->s, LX_CTL_CONN, LX_LEVEL_OWN, &list)) {
		failed(l);
		return NULL;
	}
	mine = json_array();
	json_array_foreach (list, i, c) {
		if (is_on_net(l, lx_json_text(c, "nid")))
			json_array_append(mine, c);
	}
	json_decref(list);
	return mine;
}

/* "10.0.0.1:988" without the port. */
static int address_len(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon ? colon - text : (int)strlen(text);
}

static const char *port_of(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon ? colon + 1 : "0";
}

/* Sizes of socket buffers are left to the kernel (0), and Nagle's algorithm is off. */
static int conn_list(struct lctl *l, int argc, char **argv)
{
	static const struct { const char *type, *letter; } letters[] = {
		{ "control", "C" }, { "bulk_in", "I" }, { "bulk_out", "O" }, { "any", "A" } };
	json_t *list = conns(l, argv[0]), *c;
	size_t i;

	if (!list)
		return STATUS_FAILED;
	json_array_foreach (list, i, c) {
		const char *local = lx_json_text(c, "local"), *remote = lx_json_text(c, "remote");
		const char *letter = "?";

		for (size_t t = 0; t < LX_ARRAY_LEN(letters); t++) {
			if (!strcmp(letters[t].type, lx_json_text(c, "type")))
				letter = letters[t].letter;
		}
		if (is_tcp(l))
			printf("%-20s %s[0]%.*s->%.*s:%s 0/0 nonagle\n", lx_json_text(c, "peer"),
			       letter, address_len(local), local, address_len(remote), remote,
			       port_of(remote));
		else
			printf("%s\n", lx_json_text(c, "peer"));
	}
	if (!json_array_size(list))
		puts("<no connections>");
	json_decref(list);
	return 0;
}

static size_t conns_to(const json_t *list, const char *peer)
{
	size_t i, n = 0;
	json_t *c;

	json_array_foreach ((json_t *)list, i, c)
		n += !strcmp(lx_json_text(c, "peer"), peer);
	return n;
}

/* Peers of the transport: those with connections. */
static int peer_list(struct lctl *l, int argc, char **argv)
{
	json_t *list = conns(l, argv[0]), *c, *seen = json_object();
	size_t i;

	json_array_foreach (list, i, c) {
		const char *local = lx_json_text(c, "local"), *remote = lx_json_text(c, "remote");
		const char *peer = lx_json_text(c, "peer");

		if (json_object_get(seen, peer))
			continue;
		json_object_set_new(seen, peer, json_true());
		if (is_tcp(l))
			printf("%-20s [1]%.*s->%.*s:%s #%zu\n", peer, address_len(local), local,
			       address_len(remote), remote, port_of(remote), conns_to(list, peer));
		else
			printf("%-20s [1]\n", peer);
	}
	if (list && !json_object_size(seen))
		puts("<no peers>");
	json_decref(seen);
	json_decref(list);
	return list ? 0 : STATUS_FAILED;
}

/* "255.255.255.0"; the reference knows IPv4 only, an IPv6 prefix is shown as its length. */
static const char *mask_of(const char *text, char *buf, size_t size)
{
	struct lx_netif netif = { 0 };
	struct lx_nid nid;
	uint32_t mask;

	if (lx_nid_parse(text, &nid) || lx_netif_by_nid(&nid, "", &netif)) {
		snprintf(buf, size, "?");
	} else if (!lx_nid_is_nid4(&nid)) {
		snprintf(buf, size, "%u", netif.prefix_len);
	} else {
		mask = netif.prefix_len ? ~0u << (32 - netif.prefix_len) : 0;
		snprintf(buf, size, "%u.%u.%u.%u", mask >> 24, mask >> 16 & 255, mask >> 8 & 255,
			 mask & 255);
	}
	return buf;
}

static int print_interface(struct lctl *l, const json_t *ni, void *arg)
{
	const char *nid = lx_json_text(ni, "nid");
	size_t *n = arg;
	char address[LX_NID_TEXT], mask[32];

	if (!is_on_net(l, nid))
		return 0;
	++*n;
	snprintf(address, sizeof(address), "%.*s", (int)strcspn(nid, "@"), nid);
	printf("%s: (%s/%s) npeer %d nroute 0\n", address, address,
	       mask_of(nid, mask, sizeof(mask)), (int)lx_json_int(ni, "peers"));
	return 0;
}

static int interface_list(struct lctl *l, int argc, char **argv)
{
	size_t n = 0;
	int status;

	if (!is_tcp(l)) {
		fprintf(stderr, "lctl: only nets of type tcp have it. Next: lctl --net tcp %s\n",
			argv[0]);
		return STATUS_FAILED;
	}
	status = each_ni(l, print_interface, &n);
	if (!status && !n)
		puts("<no interfaces>");
	return status;
}

/* ---- parameters -------------------------------------------------------------------- */

/* A file of columns, which lnetxd makes, or a value of our own. */
static const struct parameter {
	const char *name;
	const char *fixed;
} parameters[] = {
	{ "stats", NULL },	   { "nis", NULL },	{ "peers", NULL },
	{ "routes", NULL },	   { "routers", NULL }, { "buffers", NULL },
	{ "version", LX_VERSION }, { "debug", "0" }, /* there is no debug log */
	{ "lnet_debug", "0" },
};

#define PARAMETERS (LX_ARRAY_LEN(parameters))

/* The lines of a parameter, a new array. */
static int read_parameter(struct lctl *l, const struct parameter *p, json_t **ret_lines)
{
	const struct lx_args which = { .v = { [LX_ARG_NAME] = p->name } };

	if (!p->fixed)
		return lx_request_show(&l->s, LX_CTL_COLUMNS, &which, LX_LEVEL_OWN, ret_lines);
	*ret_lines = json_pack("[{ss}]", "line", p->fixed);
	return 0;
}

static int print_parameter(struct lctl *l, const struct parameter *p, bool names, bool values)
{
	json_t *lines, *line;
	size_t i;

	if (!values) {
		puts(p->name);
		return 0;
	}
	if (read_parameter(l, p, &lines)) {
		json_decref(lines);
		return failed(l);
	}
	/* A single line has no header. */
	if (names)
		printf("%s=%s", p->name, json_array_size(lines) > 1 ? "\n" : "");
	json_array_foreach (lines, i, line)
		puts(lx_json_text(line, "line"));
	json_decref(lines);
	return 0;
}

static int show_parameters(struct lctl *l, int argc, char **argv, bool values)
{
	bool names = true;
	int status = 0;

	for (int i = 1; i < argc; i++) {
		bool found = false;

		if (argv[i][0] == '-') {
			names = names && strcmp(argv[i], "-n") && strcmp(argv[i], "--no-name");
			values = values && strcmp(argv[i], "-N") && strcmp(argv[i], "--only-name");
			continue;
		}
		for (const struct parameter *p = parameters; p < parameters + PARAMETERS; p++) {
			if (fnmatch(argv[i], p->name, 0))
				continue;
			found = true;
			if (!status)
				status = print_parameter(l, p, names, values);
		}
		if (!found) {
			fprintf(stderr, "error: %s: param_path '%s': %s\n", argv[0], argv[i],
				strerror(ENOENT));
			status = STATUS_NO_PARAMETER;
		}
	}
	return status;
}

static int get_param(struct lctl *l, int argc, char **argv)
{
	return argc < 2 ? misused(argv[0]) : show_parameters(l, argc, argv, true);
}

static int list_param(struct lctl *l, int argc, char **argv)
{
	return argc < 2 ? misused(argv[0]) : show_parameters(l, argc, argv, false);
}

/* Counters are set to 0 by any value. Parameters of a kernel are taken, and ignored aloud. */
static int set_param(struct lctl *l, int argc, char **argv)
{
	int status = argc < 2 ? misused(argv[0]) : 0;

	for (int i = 1; !status && i < argc; i++) {
		size_t len = strcspn(argv[i], "=");

		if (argv[i][0] == '-')
			continue;
		if (!argv[i][len])
			status = misused(argv[0]);
		else if (!strncmp(argv[i], "stats=", 6))
			status = lx_request_stats_reset(&l->s, NULL) ? failed(l) : 0;
		else
			fprintf(stderr,
				"lctl: set_param %.*s: ignored; lnetx has no such parameter to "
				"set, see lnetx-tunables(7)\n", (int)len, argv[i]);
	}
	return status;
}

/* ---- the rest ---------------------------------------------------------------------- */

/* Into the system's log, where lnetxd's lines are, too; the words are Lustre's. */
static int mark(struct lctl *l, int argc, char **argv)
{
	char text[400] = "";
	size_t used = 0;

	for (int i = 1; i < argc && used < sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - used, "%s%s", i > 1 ? " " : "",
				 argv[i]);
	openlog("lctl", 0, LOG_USER);
	syslog(LOG_INFO, "DEBUG MARKER: %s", text);
	closelog();
	return 0;
}

/* Devices are a file system's. */
static int device_list(struct lctl *l, int argc, char **argv)
{
	return 0;
}

static int version(struct lctl *l, int argc, char **argv)
{
	puts("lctl (lnetx) " LX_VERSION);
	return 0;
}

static int help(struct lctl *l, int argc, char **argv)
{
	puts("usage: lctl [--net NET] COMMAND ...; without a command, from standard input\n");
	for (const struct command *c = commands; c->name; c++)
		printf("%-20s %-24s %s\n", c->name, c->args, c->help);
	return 0;
}

static int list_commands(struct lctl *l, int argc, char **argv)
{
	for (const struct command *c = commands; c->name; c++)
		puts(c->name);
	return 0;
}

static int fault(struct lctl *l, int argc, char **argv)
{
	return lx_fault_lctl(&l->s, argc, argv);
}

/* clang-format off */
static const struct command commands[] = {
	{ "network", network, "up|down|NET", "start or stop LNet; or choose a net" },
	{ "net", network, "up|down|NET", "the same" },
	{ "list_nids", list_nids, "[all]", "own NIDs; all: with 0@lo" },
	{ "which_nid", which_nid, "NID [NID ...]", "the nearest of them" },
	{ "ping", ping, "NID [SECONDS]", "ask a node for its NIDs" },
	{ "route_list", route_list, "", "routes" },
	{ "show_route", route_list, "", "the same" },
	{ "peer_list", peer_list, "", "peers with connections on the net" },
	{ "conn_list", conn_list, "", "connections on the net" },
	{ "interface_list", interface_list, "", "addresses on the net" },
	{ "get_param", get_param, "[-n] NAME [NAME ...]", "stats, nis, ... as in /proc/sys/lnet" },
	{ "set_param", set_param, "NAME=VALUE ...", "stats=0: counters to 0; others are ignored" },
	{ "list_param", list_param, "NAME [NAME ...]", "names of parameters; * is one" },
	{ "net_drop", fault, "add|del|reset|list", "drop messages; also net_drop_add, ..." },
	{ "net_delay", fault, "add|del|reset|list", "delay messages; also net_delay_add, ..." },
	{ "mark", mark, "TEXT", "a line for the system's log" },
	{ "dl", device_list, "", "devices of a file system: none" },
	{ "device_list", device_list, "", "the same" },
	{ "version", version, "", "of lnetx" },
	{ "lustre_build_version", version, "", "the same" },
	{ "help", help, "", "this list" },
	{ "--list-commands", list_commands, "", "names only" },
	{ 0 }
};
/* clang-format on */

static int run_words(void *arg, int argc, char **argv)
{
	struct lctl *l = arg;
	const struct command *c;
	bool joined = !strncmp(argv[0], "--net=", 6);
	size_t n;

	if (joined || (!strcmp(argv[0], "--net") && argc > 1)) {
		int used = joined ? 1 : 2;

		if (select_net(l, joined ? argv[0] + 6 : argv[1]))
			return STATUS_FAILED;
		return argc > used ? run_words(l, argc - used, argv + used) : 0;
	}
	if (lx_words_is_help(argv[0]))
		return help(l, argc, argv);
	if (lx_fault_is_lctl(argv[0]))
		return fault(l, argc, argv);
	c = lx_words_find(commands, sizeof(*c), !strcmp(argv[0], "--version") ? "version" : argv[0],
			  &n);
	if (n == 1)
		return c->fn(l, argc, argv);
	fprintf(stderr, "lctl: %s '%s'; lnetx has those of LNet: see lctl(8)\n",
		n ? "ambiguous:" : "no command", argv[0]);
	return STATUS_FAILED;
}

/* ---- completion ----------------------------------------------------------------------- */

/* One of "up|down|NET", "[-n] NAME [NAME ...]", ...: a word, or what stands for words. */
static void offer_arg(struct lx_complete *end, const char *arg)
{
	if (!strcmp(arg, "NET"))
		lx_complete_nets(end);
	else if (!strcmp(arg, "NID"))
		lx_complete_nids(end);
	else if (!isupper((unsigned char)arg[0]))
		lx_complete_offer(end, arg);
	for (size_t i = 0; !strcmp(arg, "NAME") && i < PARAMETERS; i++)
		lx_complete_offer(end, parameters[i].name);
}

static void offer_args(struct lx_complete *end, const char *args)
{
	static const char between[] = " |[].";
	char copy[80], *save, *arg, *last = "";

	snprintf(copy, sizeof(copy), "%s", args);
	for (arg = strtok_r(copy, between, &save); arg; arg = strtok_r(NULL, between, &save)) {
		if (strcmp(arg, last))
			offer_arg(end, arg);
		last = arg;
	}
}

/* @words: those before the last one. "--net NET" may precede the command. */
static void complete(struct lx_complete *end, int n, char **words)
{
	const struct command *c;
	size_t found;

	if (n > 1 && !strcmp(words[0], "--net")) {
		complete(end, n - 2, words + 2);
	} else if (n && !strcmp(words[0], "--net")) {
		lx_complete_nets(end);
	} else if (n) {
		c = lx_words_find(commands, sizeof(*c), words[0], &found);
		if (found == 1)
			offer_args(end, c->args);
	} else {
		for (c = commands; c->name; c++)
			lx_complete_offer(end, c->name);
		lx_complete_offer(end, "--net");
	}
}

int lx_lctl_main(int argc, char **argv)
{
	struct lctl l = { .net = "" };
	struct lx_complete end = { .session = &l.s };
	int status;

	lx_session_init(&l.s, NULL);
	if (lx_complete_begin(&end, &argc, &argv)) {
		complete(&end, argc - 1, argv + 1);
		lx_session_fini(&l.s);
		return 0;
	}
	status = argc > 1 ? run_words(&l, argc - 1, argv + 1)
			  : lx_input_run("lctl > ", run_words, &l);
	lx_session_fini(&l.s);
	return lx_print_end("lctl") ? status : STATUS_FAILED;
}
