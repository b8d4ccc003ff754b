/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst stat", "show_error": what nodes count. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "lst_verb.h"

/* The nodes of a group, or of a list of IDs; a new array. NULL: neither. */
static json_t *nodes_of(const struct lx_lst *l, const char *name)
{
	json_t *group = lx_console_group(l->file.console, name), *nids, *nid;
	size_t i;

	if (group)
		return json_copy(group);
	if (!strchr(name, '@'))
		return NULL;
	nids = lx_lst_nids(name);
	json_array_foreach (nids, i, nid) {
		/* Nodes have counters for their own console only. */
		if (!json_object_get(json_object_get(l->file.console, "nodes"),
				     json_string_value(nid))) {
			json_decref(nids);
			return NULL;
		}
	}
	return nids;
}

/* ---- stat ----------------------------------------------------------------------------- */

static const struct option stat_options[] = {
	{ "bw", no_argument, NULL, 'b' },	  { "rate", no_argument, NULL, 'a' },
	{ "read", no_argument, NULL, 'r' },	  { "write", no_argument, NULL, 'w' },
	{ "avg", no_argument, NULL, 'g' },	  { "min", no_argument, NULL, 'n' },
	{ "max", no_argument, NULL, 'x' },	  { "mbs", no_argument, NULL, 'm' },
	{ "lnet", no_argument, NULL, 'l' },	  { "rpc", no_argument, NULL, 'c' },
	{ "timeout", required_argument, NULL, 't' }, { "delay", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'o' }, { 0 }
};

struct view {
	bool bw, rate, read, write, avg, min, max, mbs, rpc;
	int64_t timeout, delay, count;
};

/* The counters of a group's nodes at two moments. */
struct sample {
	json_t *before, *now; /* NID: { "send_count", ... } */
};

static void set_flag(struct view *s, int opt)
{
	switch (opt) {
	case 'b':
		s->bw = true;
		break;
	case 'a':
		s->rate = true;
		break;
	case 'r':
		s->read = true;
		break;
	case 'w':
		s->write = true;
		break;
	case 'g':
		s->avg = true;
		break;
	case 'n':
		s->min = true;
		break;
	case 'x':
		s->max = true;
		break;
	case 'm':
		s->mbs = true;
		break;
	case 'c':
		s->rpc = true;
		break;
	}
}

static bool parse_number(struct view *s, int opt)
{
	if (opt == 't')
		return lx_lst_number(optarg, 1, LX_TRANS_TIMEOUT_MAX_S, &s->timeout);
	if (opt == 'd')
		return lx_lst_number(optarg, 1, 86400, &s->delay);
	return lx_lst_number(optarg, -1, INT32_MAX, &s->count);
}

static int parse_stat(struct view *s, int argc, char **argv)
{
	int opt;

	while ((opt = lx_lst_option(argc, argv, stat_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		if (strchr("tdo", opt) && !parse_number(s, opt)) {
			fprintf(stderr, "Invalid timeout or delay value\n");
			return LX_LST_EXIT_FAILED;
		}
		set_flag(s, opt);
	}
	/* None of a kind: all. */
	if (!s->bw && !s->rate)
		s->bw = s->rate = true;
	if (!s->read && !s->write)
		s->read = s->write = true;
	if (!s->avg && !s->min && !s->max)
		s->avg = s->min = s->max = true;
	return optind == argc ? LX_LST_EXIT_USAGE : 0;
}

/* Of one counter, per second: over the nodes that answered both times. False: there are none. */
static bool rates(const struct sample *s, const char *key, double ret_rate[3])
{
	bool first = true;
	const char *nid;
	json_t *now;
	int n = 0;

	ret_rate[0] = 0;
	json_object_foreach (s->now, nid, now) {
		const json_t *before = json_object_get(s->before, nid);
		/* Counts and milliseconds are of 32 bits and wrap around. */
		uint32_t ms = lx_json_int(now, "running_ms") - lx_json_int(before, "running_ms");
		int64_t diff = lx_json_int(now, key) - lx_json_int(before, key);
		double rate;

		if (!before || !ms)
			continue;
		if (strstr(key, "count"))
			diff = (uint32_t)diff;
		rate = diff * 1000.0 / ms;
		ret_rate[0] += rate;
		ret_rate[1] = first || rate < ret_rate[1] ? rate : ret_rate[1];
		ret_rate[2] = first || rate > ret_rate[2] ? rate : ret_rate[2];
		first = false;
		n++;
	}
	ret_rate[0] /= n ? n : 1;
	return n;
}

static void print_bandwidth(const struct view *st, const struct sample *s, char way,
			    const char *key)
{
	const double unit = st->mbs ? 1e6 : 1 << 20;
	const char *name = st->mbs ? "MB/s " : "MiB/s";
	double r[3];

	if (!rates(s, key, r))
		return;
	printf("[%c] ", way);
	if (st->avg)
		printf("Avg: %-8.2f %s ", r[0] / unit, name);
	if (st->min)
		printf("Min: %-8.2f %s ", r[1] / unit, name);
	if (st->max)
		printf("Max: %-8.2f %s ", r[2] / unit, name);
	printf("\n");
}

static void print_rate(const struct view *st, const struct sample *s, char way, const char *key)
{
	double r[3];

	if (!rates(s, key, r))
		return;
	printf("[%c] ", way);
	if (st->avg)
		printf("Avg: %-8.0f RPC/s ", r[0]);
	if (st->min)
		printf("Min: %-8.0f RPC/s ", r[1]);
	if (st->max)
		printf("Max: %-8.0f RPC/s", r[2]);
	printf("\n");
}

/* R: what the nodes receive; W: what they send. */
static void print_sample(const struct view *st, const struct sample *s, const char *name)
{
	if (!json_object_size(s->before) || !json_object_size(s->now) || st->rpc)
		return;
	if (st->rate) {
		printf("[LNet Rates of %s]\n", name);
		if (st->read)
			print_rate(st, s, 'R', "recv_count");
		if (st->write)
			print_rate(st, s, 'W', "send_count");
	}
	if (st->bw) {
		printf("[LNet Bandwidth of %s]\n", name);
		if (st->read)
			print_bandwidth(st, s, 'R', "recv_length");
		if (st->write)
			print_bandwidth(st, s, 'W', "send_length");
	}
	fflush(stdout);
}

/* Asks one group's nodes. Returns the number of those that failed. */
static size_t take(struct lx_lst *l, const struct view *st, const json_t *nids, struct sample *s)
{
	struct lx_trans t;
	size_t failed;

	lx_trans_new(&t, l->file.console, nids, LX_LST_STAT, st->timeout);
	lx_lst_run(l, &t);
	json_decref(s->before);
	s->before = s->now;
	s->now = json_object();
	for (size_t i = 0; i < t.n; i++) {
		if (!t.one[i].err && !t.one[i].status)
			json_object_set(s->now, t.one[i].nid, t.one[i].row);
	}
	failed = lx_trans_failed(&t);
	lx_trans_free(&t);
	return failed;
}

/* All groups once. Returns an exit status; LX_LST_EXIT_NODES: some nodes failed. */
static int look(struct lx_lst *l, const struct view *st, char **names, int n, struct sample *s)
{
	size_t failed = 0;
	int err = lx_lst_begin(l, true);

	for (int i = 0; !err && i < n; i++) {
		json_t *nids = nodes_of(l, names[i]);

		if (nids)
			failed += take(l, st, nids, &s[i]);
		else
			err = -ENOENT;
		json_decref(nids);
	}
	if (err)
		return lx_lst_error(l, err, "stat", "Failed to get stat");
	lx_lst_end(l);
	for (int i = 0; i < n; i++)
		print_sample(st, &s[i], names[i]);
	if (failed)
		fprintf(stderr, "Failed to stat on %zu nodes\n", failed);
	return failed ? LX_LST_EXIT_NODES : 0;
}

static bool has_any(const struct sample *s, int n)
{
	for (int i = 0; i < n; i++) {
		if (json_object_size(s[i].now))
			return true;
	}
	return false;
}

/* lst.sh of Lustre leaves an empty word where it has no option. Returns how many are left. */
static int drop_empty(char **names, int n)
{
	int left = 0;

	for (int i = 0; i < n; i++) {
		if (*names[i])
			names[left++] = names[i];
	}
	return left;
}

static int stat_groups(struct lx_lst *l, int argc, char **argv)
{
	struct view st = { .delay = 5, .count = -1 };
	int err = parse_stat(&st, argc, argv), result = 0;
	char **names = argv + optind;
	int n = drop_empty(names, argc - optind);
	struct sample *s = err ? NULL : calloc(n + 1, sizeof(*s));

	if (err || !s)
		return err ? err : LX_LST_EXIT_FAILED;
	/* The first look is what the next one is compared with. */
	for (int64_t i = 0; st.count && result != LX_LST_EXIT_FAILED; i++) {
		if (st.count > 0 && i > st.count)
			break;
		if (i)
			sleep(st.delay);
		err = look(l, &st, names, n, s);
		result = err ? err : result;
		if (err && !has_any(s, n))
			break; /* nobody is left to ask */
	}
	for (int i = 0; i < n; i++) {
		json_decref(s[i].before);
		json_decref(s[i].now);
	}
	free(s);
	return result;
}

/* ---- show_error ----------------------------------------------------------------------- */

static const struct option error_options[] = { { "session", no_argument, NULL, 's' }, { 0 } };

/* Prints a node's errors. Returns true if there are any. */
static bool print_errors(const struct lx_trans_one *one, bool session_only)
{
	int64_t brw = lx_trans_number(one, "brw_errors"), ping = lx_trans_number(one, "ping_errors");
	int64_t errors = lx_trans_number(one, "rpc_errors");
	int64_t dropped = lx_trans_number(one, "dropped"), expired = lx_trans_number(one, "expired");

	if (one->err || one->status) {
		fprintf(stderr, "RPC failure, can't show error on 12345-%s\n", one->nid);
		return true;
	}
	if (!brw && !ping && (session_only || (!errors && !dropped && !expired)))
		return false;
	printf("12345-%s: [Session %lld brw errors, %lld ping errors]", one->nid, (long long)brw,
	       (long long)ping);
	if (!session_only)
		printf(" [RPC: %lld errors, %lld dropped, %lld expired]", (long long)errors,
		       (long long)dropped, (long long)expired);
	printf("\n");
	return true;
}

/* Returns the number of nodes that did not answer. */
static size_t show_one(struct lx_lst *l, const char *name, const json_t *nids, bool session_only)
{
	struct lx_trans t;
	size_t failed, n = 0;

	lx_trans_new(&t, l->file.console, nids, LX_LST_STAT, 0);
	lx_lst_run(l, &t);
	printf("%s:\n", name);
	fflush(stdout);
	for (size_t i = 0; i < t.n; i++)
		n += print_errors(&t.one[i], session_only);
	printf("Total %zu error nodes in %s\n", n, name);
	fflush(stdout);
	failed = lx_trans_failed(&t);
	lx_trans_free(&t);
	return failed;
}

static int show_error(struct lx_lst *l, int argc, char **argv)
{
	bool session_only = false;
	size_t failed = 0;
	int opt, err;

	while ((opt = lx_lst_option(argc, argv, error_options)) != -1) {
		if (opt == '?')
			return LX_LST_EXIT_USAGE;
		session_only = true;
	}
	if (optind == argc)
		return LX_LST_EXIT_USAGE;
	err = lx_lst_begin(l, true);
	for (int i = optind; !err && i < argc; i++) {
		json_t *nids = nodes_of(l, argv[i]);

		if (!nids)
			return lx_lst_error(l, -ENOENT, argv[i], "Failed to show errors");
		failed += show_one(l, argv[i], nids, session_only);
		json_decref(nids);
	}
	if (err)
		return lx_lst_error(l, err, "group", "Failed to show errors");
	lx_lst_end(l);
	return failed ? LX_LST_EXIT_NODES : 0;
}

const struct lx_lst_verb lx_lst_stat_verbs[] = {
	{ "stat", stat_groups,
	  "stat [--bw] [--rate] [--read] [--write] [--max] [--min]  [--avg] [--mbs] [--timeout #] "
	  "[--delay #] [--count #] GROUP [GROUP]",
	  "rates of groups, again and again", stat_options },
	{ "show_error", show_error, "show_error NAME | IDS ...",
	  "nodes that have counted errors; --session: only those of the session", error_options },
	{ 0 }
};
