/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lxload: generates LNet traffic, measures and checks it. Each end is an LNet node.
 * This file parses the options; the verbs are in server.c, client.c and idle.c.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

int lx_load_stop;

static const char usage_text[] =
	"usage: lxload server [options]            serve clients\n"
	"       lxload put TARGET... [options]     send messages to a server, or several in turn\n"
	"       lxload get TARGET... [options]     fetch messages from servers\n"
	"       lxload ping TARGET [options]       one empty message at a time: latency\n"
	"       lxload idle TARGET [options]       connect from each NID, ping, then stay idle\n"
	"\n"
	"TARGET is the NID of an \"lxload server\" (idle: of any node).\n"
	"\n"
	"the node:\n"
	"  -n, --nid LIST         NIDs, with ranges: 10.1.0.[11-18]@tcp1. For put, get and ping\n"
	"                         each is a client with its own node; else one node has them all\n"
	"      --net NET --if IF  or: the net, and the interface whose address makes the NID\n"
	"  -c, --config FILE      or: YAML as for lnetxd; these options are applied after it\n"
	"  -r, --route NET=NID    gateway to a net; may be repeated\n"
	"      --set M.NAME=VALUE a tunable: tcp.accept=all, lnet.lnet_transaction_timeout=5\n"
	"\n"
	"the load:\n"
	"  -s, --size BYTES       of a message: 0 to 1m (default: 1m; ping: 0)\n"
	"  -i, --inflight N       messages in flight per client (default: 16)\n"
	"      --train N          messages to a target before the next one's turn\n"
	"                         (default: 1)\n"
	"  -N, --count N          messages per client, or\n"
	"  -t, --seconds S        time (default: 10)\n"
	"  -w, --warmup S         time before that, which does not count (default: 0)\n"
	"  -V, --verify           check every byte; each message has a different pattern\n"
	"  -p, --put              ping: PUT and ACK (default: GET and REPLY)\n"
	"      --mix              put: fetch every second message\n"
	"      --no-ack           put: do not request ACKs; losses show only at the end\n"
	"      --ping NID         put and get: each client also pings a node, ten times a second\n"
	"      --interval S       report progress every S seconds\n"
	"      --timeout S        give up after S seconds without progress (default: 30)\n"
	"      --damage N         corrupt every Nth PUT (server: byte N of what GETs read), to\n"
	"                         check that it is detected\n"
	"\n"
	"the server:\n"
	"      --buffers N        buffers posted for PUTs (default: 8)\n"
	"      --buffer-size B    size of each; full when less than 1m is left\n"
	"                         (default: 2m)\n"
	"\n"
	"  -j, --json             print the result as JSON\n"
	"  -v, --verbose          also print the node's log\n"
	"  -h, --help\n"
	"\n"
	"Exit status: 0 success; 1 messages lost or wrong, or a target unreachable; 2 usage.\n";

enum {
	OPT_NET = 256,
	OPT_IF,
	OPT_SET,
	OPT_INTERVAL,
	OPT_TIMEOUT,
	OPT_DAMAGE,
	OPT_PING,
	OPT_NO_ACK,
	OPT_MIX,
	OPT_BUFFERS,
	OPT_BUFFER_SIZE,
	OPT_TRAIN
};

static const struct option long_options[] = {
	{ "nid", required_argument, NULL, 'n' },
	{ "net", required_argument, NULL, OPT_NET },
	{ "if", required_argument, NULL, OPT_IF },
	{ "config", required_argument, NULL, 'c' },
	{ "route", required_argument, NULL, 'r' },
	{ "set", required_argument, NULL, OPT_SET },
	{ "size", required_argument, NULL, 's' },
	{ "inflight", required_argument, NULL, 'i' },
	{ "train", required_argument, NULL, OPT_TRAIN },
	{ "count", required_argument, NULL, 'N' },
	{ "seconds", required_argument, NULL, 't' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "verify", no_argument, NULL, 'V' },
	{ "put", no_argument, NULL, 'p' },
	{ "no-ack", no_argument, NULL, OPT_NO_ACK },
	{ "mix", no_argument, NULL, OPT_MIX },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "ping", required_argument, NULL, OPT_PING },
	{ "damage", required_argument, NULL, OPT_DAMAGE },
	{ "buffers", required_argument, NULL, OPT_BUFFERS },
	{ "buffer-size", required_argument, NULL, OPT_BUFFER_SIZE },
	{ "json", no_argument, NULL, 'j' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int bad(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "lxload: %s \"%s\": %s is expected\n", option, value, expected);
	return -EINVAL;
}

/* A number up to @max; with @units also "64k", "1m", "2g". */
static int number(const char *option, const char *text, bool units, uint64_t max, uint64_t *ret)
{
	static const char unit[] = "kmg";
	unsigned int shift = 0;
	const char *u;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	u = units && *end ? strchr(unit, *end | 0x20) : NULL;
	if (u) {
		shift = 10 * (u - unit + 1);
		end++;
	}
	if (errno || end == text || *end || *text == '-' || value > max >> shift) {
		fprintf(stderr, "lxload: %s \"%s\": a number up to %llu is expected\n", option,
			text, (unsigned long long)max);
		return -EINVAL;
	}
	*ret = value << shift;
	return 0;
}

static int small_number(const char *option, const char *text, uint64_t max, unsigned int *ret)
{
	uint64_t value = 0;
	int r = number(option, text, false, max, &value);

	*ret = value;
	return r;
}

static int size(const char *option, const char *text, uint64_t max, size_t *ret)
{
	uint64_t value = 0;
	int r = number(option, text, true, max, &value);

	*ret = value;
	return r;
}

static int seconds(const char *option, const char *text, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= 1e6))
		return bad(option, text, "a number of seconds");
	*ret = value;
	return 0;
}

static int append(const char *option, const char **list, unsigned int *n, const char *text)
{
	if (*n == LX_LOAD_LIST_MAX)
		return bad(option, text, "not so often it");
	list[(*n)++] = text;
	return 0;
}

static int nid(const char *option, const char *text, struct lx_nid *ret)
{
	return lx_nid_parse(text, ret) ? bad(option, text, "a NID") : 0;
}

static int nids(struct lx_options *opt, const char *text)
{
	free(opt->nid);
	opt->nid = NULL;
	if (lx_nid_expand(text, LX_LOAD_CLIENTS_MAX, &opt->nid, &opt->n_nids))
		return bad("--nid", text, "a list of NIDs, at most 1024,");
	return 0;
}

static int node_option(int option, struct lx_options *opt)
{
	switch (option) {
	case 'n':
		return nids(opt, optarg);
	case OPT_NET:
		return lx_net_parse(optarg, &opt->net) ? bad("--net", optarg, "a net such as tcp1")
						       : 0;
	case OPT_IF:
		opt->ifname = optarg;
		return 0;
	case 'c':
		opt->file = optarg;
		return 0;
	case 'r':
		return append("--route", opt->route, &opt->n_routes, optarg);
	case OPT_SET:
		return append("--set", opt->set, &opt->n_sets, optarg);
	}
	return -ENOENT;
}

static int load_option(int option, struct lx_options *opt)
{
	switch (option) {
	case 's':
		return size("--size", optarg, LX_LOAD_SIZE_MAX, &opt->size);
	case 'i':
		return small_number("--inflight", optarg, LX_LOAD_INFLIGHT_MAX, &opt->inflight);
	case OPT_TRAIN:
		return small_number("--train", optarg, UINT32_MAX, &opt->train);
	case 'N':
		return number("--count", optarg, true, LX_LOAD_SEQ_MASK, &opt->count);
	case 't':
		return seconds("--seconds", optarg, &opt->seconds);
	case 'w':
		return seconds("--warmup", optarg, &opt->warmup);
	case OPT_INTERVAL:
		return seconds("--interval", optarg, &opt->interval);
	case OPT_TIMEOUT:
		return seconds("--timeout", optarg, &opt->timeout);
	case OPT_PING:
		return nid("--ping", optarg, &opt->pinged.nid);
	case OPT_DAMAGE:
		return small_number("--damage", optarg, UINT32_MAX, &opt->damage);
	case OPT_BUFFERS:
		return small_number("--buffers", optarg, 4096, &opt->buffers);
	case OPT_BUFFER_SIZE:
		return size("--buffer-size", optarg, 1u << 30, &opt->buffer_size);
	case OPT_NO_ACK:
		opt->no_ack = opt->verb == LX_VERB_PUT;
		return 0;
	case OPT_MIX:
		opt->mixed = opt->verb == LX_VERB_PUT;
		return 0;
	case 'V':
		opt->verify = true;
		return 0;
	case 'p':
		opt->put = true;
		return 0;
	case 'j':
		opt->json = true;
		return 0;
	case 'v':
		opt->verbose = true;
		return 0;
	}
	return -ENOENT;
}

static int parse_verb(const char *text, enum lx_load_verb *ret_verb)
{
	for (enum lx_load_verb v = LX_VERB_SERVER; v <= LX_VERB_IDLE; v++) {
		if (!strcmp(text, lx_load_verb_name(v))) {
			*ret_verb = v;
			return 0;
		}
	}
	return bad("verb", text, "server, put, get, ping or idle");
}

static int targets(struct lx_options *opt, int n_args, char **arg)
{
	bool server = opt->verb == LX_VERB_SERVER;
	bool several = opt->verb == LX_VERB_PUT || opt->verb == LX_VERB_GET;
	int max = server ? 0 : several ? LX_LOAD_LIST_MAX : 1;

	if (n_args < !server || n_args > max) {
		fprintf(stderr, server ? "lxload: a server takes no target\n"
				       : "lxload: one target NID is expected, of put and get up to "
					 "%d\n", LX_LOAD_LIST_MAX);
		return -EINVAL;
	}
	for (int i = 0; i < n_args; i++) {
		if (lx_id_parse(arg[i], &opt->target[i]))
			return bad("target", arg[i], "a NID such as 10.0.0.1@tcp");
	}
	opt->n_targets = n_args;
	return 0;
}

static int check(struct lx_options *opt, int n_args, char **arg)
{
	if (targets(opt, n_args, arg))
		return -EINVAL;
	if (!opt->n_nids && !opt->ifname && !opt->file) {
		fprintf(stderr, "lxload: give --nid, or --net and --if, or --config\n");
		return -EINVAL;
	}
	if (!opt->inflight || !opt->train || !opt->buffers || opt->buffer_size < LX_LOAD_SIZE_MAX) {
		fprintf(stderr, "lxload: --inflight, --train and --buffers are at least 1, "
				"--buffer-size is at least 1m\n");
		return -EINVAL;
	}
	return 0;
}

/* Returns 0, 1: help was asked for, or -EINVAL. */
static int parse(int argc, char **argv, struct lx_options *opt)
{
	int option, r;

	if (argc < 2) {
		fputs(usage_text, stderr);
		return -EINVAL;
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		fputs(usage_text, stdout);
		return 1;
	}
	if (parse_verb(argv[1], &opt->verb))
		return -EINVAL;
	if (opt->verb == LX_VERB_PING) {
		opt->size = 0;
		opt->inflight = 1;
	}
	argv++;
	argc--;
	while ((option = getopt_long(argc, argv, "n:c:r:s:i:N:t:w:Vpjvh", long_options, NULL)) !=
	       -1) {
		if (option == 'h') {
			fputs(usage_text, stdout);
			return 1;
		}
		r = node_option(option, opt);
		if (r == -ENOENT)
			r = load_option(option, opt);
		if (r)
			return -EINVAL;
	}
	return check(opt, argc - optind, argv + optind);
}

static void on_signal(int sig)
{
	__atomic_add_fetch(&lx_load_stop, 1, __ATOMIC_RELAXED);
}

static void on_log(int level, const char *line, void *arg)
{
	fprintf(stderr, "<%d>%s\n", level, line);
}

static int run(const struct lx_options *opt)
{
	switch (opt->verb) {
	case LX_VERB_SERVER:
		return lx_server_run(opt);
	case LX_VERB_IDLE:
		return lx_idle_run(opt);
	default:
		return lx_client_run(opt);
	}
}

int main(int argc, char **argv)
{
	struct lx_options opt = {
		.net = LX_NET(LX_NET_TCP, 0),
		.size = 1 << 20,
		.inflight = 16,
		.train = 1,
		.seconds = 10,
		.timeout = 30,
		.buffers = 8,
		.buffer_size = 2 << 20,
		.pinged = { lx_nid_any, LX_PID_LUSTRE },
	};
	struct sigaction action = { .sa_handler = on_signal };
	int r;

	r = parse(argc, argv, &opt);
	if (!r) {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		setvbuf(stdout, NULL, _IOLBF, 0);
		if (opt.verbose)
			lx_set_log(on_log, NULL);
		r = run(&opt);
	} else {
		r = r < 0 ? 2 : 0;
	}
	free(opt.nid);
	return r;
}
