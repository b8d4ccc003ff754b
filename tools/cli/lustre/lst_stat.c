/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lst stat", "show_error": what nodes count. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/json.h"
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
	nids = lx_lst_verb_nids(name);
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

/* The counters of a group's nodes at two moments. */
struct sample {
	json_t *before, *now; /* NID: { "send_count", ... } */
};

/* Of the options of a kind, by their letters, this one is given, or none: that means all. */
static bool shows(const struct lx_lst *l, char letter, const char *kind)
{
	bool given = false;

	for (; *kind; kind++)
		given = given || l->text[(int)*kind];
	return !given || l->text[(int)letter];
}

/* Of one counter, per second: over the nodes that answered both times. False: there are none. */
static bool rates(const struct sample *s, const char *key, double ret_rate[3])
{
	const char *nid;
	json_t *now;
	int n = 0;

	memset(ret_rate, 0, 3 * sizeof(*ret_rate));
	json_object_foreach (s->now, nid, now) {
		const json_t *before = json_object_get(s->before, nid);
		double rate = lx_trans_rate(before, now, key);

		if (!before)
			continue;
		ret_rate[0] += rate;
		ret_rate[1] = !n || rate < ret_rate[1] ? rate : ret_rate[1];
		ret_rate[2] = !n || rate > ret_rate[2] ? rate : ret_rate[2];
		n++;
	}
	ret_rate[0] /= n ? n : 1;
	return n;
}

/* @way: R: what the nodes receive; W: what they send */
static void print_rates(const struct lx_lst *l, const struct sample *s, char way, bool bytes)
{
	static const char *const keys[2][2] = { { "recv_count", "send_count" },
						{ "recv_length", "send_length" } };
	const char *name = !bytes ? "RPC/s" : l->text['m'] ? "MB/s " : "MiB/s";
	double unit = !bytes ? 1 : l->text['m'] ? 1e6 : 1 << 20, r[3];

	if (!shows(l, way == 'R' ? 'r' : 'w', "rw") || !rates(s, keys[bytes][way == 'W'], r))
		return;
	printf("[%c] ", way);
	if (shows(l, 'g', "gnx"))
		printf("Avg: %-8.*f %s ", bytes * 2, r[0] / unit, name);
	if (shows(l, 'n', "gnx"))
		printf("Min: %-8.*f %s ", bytes * 2, r[1] / unit, name);
	if (shows(l, 'x', "gnx"))
		printf("Max: %-8.*f %s%s", bytes * 2, r[2] / unit, name, bytes ? " " : "");
	printf("\n");
}

static void print_sample(const struct lx_lst *l, const struct sample *s, const char *name)
{
	if (!json_object_size(s->before) || !json_object_size(s->now) || l->text['c'])
		return;
	for (int bytes = 0; bytes < 2; bytes++) {
		if (!shows(l, bytes ? 'b' : 'a', "ab"))
			continue;
		printf("[LNet %s of %s]\n", bytes ? "Bandwidth" : "Rates", name);
		print_rates(l, s, 'R', bytes);
		print_rates(l, s, 'W', bytes);
	}
	fflush(stdout);
}

/* Asks one group's nodes. Returns the number of those that failed. */
static size_t take(struct lx_lst *l, const json_t *nids, struct sample *s)
{
	struct lx_trans t;
	size_t failed;

	lx_trans_of(&t, l->socket, l->file.console, nids, l->number['t']);
	lx_trans_count(&t, false);
	json_decref(s->before);
	s->before = s->now;
	s->now = json_object();
	lx_trans_for_each (one, &t) {
		if (!one->failed)
			json_object_set(s->now, one->nid, one->now);
	}
	failed = lx_lst_verb_note(l, &t, NULL);
	lx_trans_free(&t);
	return failed;
}

/* All groups once. Returns 0, -errno, or 1: nobody is left to ask. */
static int look(struct lx_lst *l, int64_t delay, struct sample *s)
{
	int err = lx_lst_verb_begin_after(l, delay);
	size_t failed = 0, answered = 0;

	for (int i = 0; !err && i < l->n_words; i++) {
		json_t *nids = nodes_of(l, l->word[i]);

		if (nids)
			failed += take(l, nids, &s[i]);
		else
			err = -ENOENT;
		answered += json_object_size(s[i].now);
		json_decref(nids);
	}
	if (err)
		return err;
	for (int i = 0; i < l->n_words; i++)
		print_sample(l, &s[i], l->word[i]);
	if (failed)
		fprintf(stderr, "Failed to stat on %zu nodes\n", failed);
	l->failed += failed;
	return failed && !answered;
}

/* lst.sh of Lustre leaves an empty word where it has no option. */
static void drop_empty(struct lx_lst *l)
{
	int left = 0;

	for (int i = 0; i < l->n_words; i++) {
		if (*l->word[i])
			l->word[left++] = l->word[i];
	}
	l->n_words = left;
}

static int stat_groups(struct lx_lst *l)
{
	struct sample *s = calloc(l->n_words, sizeof(*s));
	int64_t count = l->number['o'];
	int err = s ? 0 : -ENOMEM;

	drop_empty(l);
	/* The first look is what the next one is compared with. */
	for (int64_t i = 0; !err && count && (count < 0 || i <= count); i++)
		err = look(l, i ? l->number['d'] : 0, s);
	for (int i = 0; s && i < l->n_words; i++) {
		json_decref(s[i].before);
		json_decref(s[i].now);
	}
	free(s);
	return err < 0 ? err : 0;
}

/* ---- show_error ----------------------------------------------------------------------- */

/* Prints a node's errors. Returns true if there are any. */
static bool print_errors(const struct lx_trans_one *one, bool session_only)
{
	json_int_t brw = lx_json_int(one->row, "brw_errors");
	json_int_t ping = lx_json_int(one->row, "ping_errors");
	json_int_t errors = lx_json_int(one->row, "rpc_errors");
	json_int_t dropped = lx_json_int(one->row, "dropped");
	json_int_t expired = lx_json_int(one->row, "expired");

	if (one->failed) {
		fprintf(stderr, "RPC failure, can't show error on 12345-%s\n", one->nid);
		return true;
	}
	if (!brw && !ping && (session_only || (!errors && !dropped && !expired)))
		return false;
	printf("12345-%s: [Session %lld brw errors, %lld ping errors]", one->nid, brw, ping);
	if (!session_only)
		printf(" [RPC: %lld errors, %lld dropped, %lld expired]", errors, dropped, expired);
	printf("\n");
	return true;
}

static void show_one(struct lx_lst *l, const char *name, const json_t *nids)
{
	struct lx_trans t;
	size_t n = 0;

	lx_trans_of(&t, l->socket, l->file.console, nids, 0);
	lx_trans_ask(&t, LX_LST_STAT);
	l->failed += lx_lst_verb_note(l, &t, NULL);
	printf("%s:\n", name);
	fflush(stdout);
	lx_trans_for_each (one, &t)
		n += print_errors(one, l->text['s']);
	printf("Total %zu error nodes in %s\n", n, name);
	fflush(stdout);
	lx_trans_free(&t);
}

static int show_error(struct lx_lst *l)
{
	int err = lx_lst_verb_begin(l, true);

	for (char **name = l->word; !err && *name; name++) {
		json_t *nids = nodes_of(l, *name);

		l->what = *name;
		if (nids)
			show_one(l, *name, nids);
		else
			err = -ENOENT;
		json_decref(nids);
	}
	return err;
}

static const struct lx_lst_option stat_options[] = {
	LX_LST_FLAG("bw", 'b'),
	LX_LST_FLAG("rate", 'a'),
	LX_LST_FLAG("read", 'r'),
	LX_LST_FLAG("write", 'w'),
	LX_LST_FLAG("avg", 'g'),
	LX_LST_FLAG("min", 'n'),
	LX_LST_FLAG("max", 'x'),
	LX_LST_FLAG("mbs", 'm'),
	LX_LST_FLAG("lnet", 'l'),
	LX_LST_FLAG("rpc", 'c'),
	LX_LST_NUMBER("timeout", 't', 1, LX_TRANS_TIMEOUT_MAX_S, 0),
	LX_LST_NUMBER("delay", 'd', 1, 86400, 5),
	LX_LST_NUMBER("count", 'o', -1, INT32_MAX, -1),
	{ 0 },
};

static const struct lx_lst_option error_options[] = { LX_LST_FLAG("session", 's'), { 0 } };

const struct lx_lst_verb lx_lst_stat_verbs[] = {
	{ "stat", stat_groups,
	  "stat [--bw] [--rate] [--read] [--write] [--max] [--min]  [--avg] [--mbs] [--timeout #] "
	  "[--delay #] [--count #] GROUP [GROUP]",
	  "rates of groups, again and again", stat_options, 1, 0, .what = "stat",
	  .failed = "Failed to get stat", .wrong = "Invalid timeout or delay value" },
	{ "show_error", show_error, "show_error NAME | IDS ...",
	  "nodes that have counted errors; --session: only those of the session", error_options, 1,
	  0, .what = "group", .failed = "Failed to show errors" },
	{ 0 }
};
