/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fault injection: "lnetctl fault drop add", the older "lctl net_drop_add", and "lnetx fault".
 * The first two report errors as plain lines, like the reference; struct tongue has their
 * differences.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../../user/base/integer.h"
#include "../../../user/base/text.h"
#include "../lnetx/lnetx.h"
#include "../lustre/options.h"
#include "fault.h"
#include "json.h"
#include "print.h"

#define STATUS_WRONG 255
#define STATUS_LIST 22 /* of lctl's lists, always */
#define TOLD(status) (LX_TOLD + (status))

struct bit_name {
	unsigned int number;
	const char *name;
};
#define HSTATUS_NAME_(number, name) { number, name },
static const struct bit_name hstatuses[] = { LX_FAULT_HSTATUS(HSTATUS_NAME_) { 0, NULL } };

/* ---- words of a rule ---------------------------------------------------------------------- */

/* A NID, "*", or all of a net: "*@tcp". */
static int parse_nid(const char *text, struct lx_nid *ret_nid)
{
	uint32_t net;

	if (!strncmp(text, "*@", 2)) {
		if (lx_net_parse(text + 2, &net))
			return -EINVAL;
		*ret_nid = lx_fault_net_nid(net);
		return 0;
	}
	return !strcmp(text, "*") || strchr(text, '@') ? lx_nid_parse(text, ret_nid) : -EINVAL;
}

/* The next word of a comma list; advances *@list past it. */
static bool next_word(const char **list, char *word, size_t size)
{
	size_t len = strcspn(*list, ",");

	if (!**list)
		return false;
	snprintf(word, size, "%.*s", (int)len, *list);
	*list += len + ((*list)[len] == ',');
	return true;
}

static const struct bit_name messages[] = { { 0, "ack" }, { 1, "put" }, { 2, "get" },
					    { 3, "reply" }, { 0, NULL } };

/* 0: there is no such name. */
static uint32_t bit_of(const struct bit_name *names, const char *name)
{
	while (names->name && strcasecmp(names->name, name))
		names++;
	return names->name ? 1u << names->number : 0;
}

/* 0 where there is none, or no number. */
static uint32_t number_of(const char *text)
{
	int64_t value;

	return text && !lx_integer_parse(text, 0, 0, INT32_MAX, &value) ? value : 0;
}

static bool take_portals(struct lx_session *s, const char *list, struct lx_fault_rule *r)
{
	char word[24];
	int64_t portal;

	while (list && next_word(&list, word, sizeof(word))) {
		if (lx_integer_parse(word, 0, 0, 63, &portal)) {
			lx_session_fail(s, -EINVAL, "invalid portal: %s", word);
			return false;
		}
		r->portals |= 1ull << portal;
	}
	return true;
}

static bool take_bits(struct lx_session *s, const char *list, const struct bit_name *names,
		      const char *what, uint32_t *bits)
{
	char word[24];

	while (list && next_word(&list, word, sizeof(word))) {
		uint32_t bit = bit_of(names, word);

		if (!bit && names == hstatuses && !strcasecmp(word, "random"))
			bit = LX_FAULT_HSTATUSES;
		if (!bit) {
			lx_session_fail(s, -EINVAL, "unknown %s %s", what, word);
			return false;
		}
		*bits |= bit;
	}
	return true;
}

/* Parses the NIDs and what the rule selects. False: the error is in @s. */
static bool take_selection(struct lx_session *s, const struct lx_args *a, struct lx_fault_rule *r,
			   bool *ret_bad_nid)
{
	const struct {
		enum lx_arg_id id;
		struct lx_nid *nid;
	} nids[] = { { LX_ARG_SOURCE, &r->src }, { LX_ARG_DEST, &r->dst },
		     { LX_ARG_LOCAL_NID, &r->local } };

	r->src = r->dst = r->local = lx_nid_any;
	for (int i = 0; i < 3; i++) {
		if (!a->v[nids[i].id] || !parse_nid(a->v[nids[i].id], nids[i].nid))
			continue;
		*ret_bad_nid = true;
		lx_session_fail(s, -EINVAL, "Invalid NID: %s", a->v[nids[i].id]);
		return false;
	}
	return take_bits(s, a->v[LX_ARG_MESSAGE], messages, "message type", &r->messages) &&
	       take_portals(s, a->v[LX_ARG_PORTAL], r) &&
	       take_bits(s, a->v[LX_ARG_ERROR], hstatuses, "health error", &r->hstatuses);
}

static int send_rule(struct lx_session *s, enum lx_ctl_verb verb, const struct lx_fault_rule *r,
		     bool all)
{
	struct lx_ctl_fault req = { .rule = *r, .all = all };

	return lx_session_do(s, verb, LX_CTL_FAULT, &req);
}

/* ---- lnetctl and lctl ------------------------------------------------------------------------ */

/* The differences. */
struct tongue {
	int wrong; /* exit status for invalid arguments */
	int bad_nid;
	int (*refused)(int error);
	const char *no_nids; /* may name the kind: %s */
};

static int as_byte(int error)
{
	return error & 0xff;
}

static int as_errno(int error)
{
	return -error;
}

static const struct tongue lnetctl = { STATUS_WRONG, 234, as_byte,
				       "Please provide both source and destination of %s rule" };
static const struct tongue lctl = { 1, 1, as_errno,
				    "Failed, please provide source, destination and rate of rule" };

/* "fault delay", "net_delay", "net_delay_add", ... */
static bool is_delay(const struct lx_args *a)
{
	return strstr(a->object, "delay");
}

static const struct tongue *tongue_of(const struct lx_args *a)
{
	return a->object[0] == 'n' ? &lctl : &lnetctl;
}

LX_PRINTF(2, 3) static int wrong(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return TOLD(status);
}

static const char *kind_of(bool delay)
{
	return delay ? "delay" : "drop";
}

/* The reference's text for an error of the daemon. */
static int refused(const struct lx_session *s, const struct tongue *t, const char *what, bool delay)
{
	const char *why = s->error == -ENOENT ? "Object not found" :
			  s->error == -EINVAL ? "Invalid input data or parameter" : s->text;

	return wrong(t->refused(s->error), "failed to %s %s rule: %s", what, kind_of(delay), why);
}

/* Rate, interval, latency and flags. Returns 0, or what wrong() did. */
static int take_times(const struct tongue *t, const struct lx_args *a, struct lx_fault_rule *r)
{
	r->rate = number_of(a->v[LX_ARG_RATE]);
	r->interval_s = number_of(a->v[LX_ARG_INTERVAL]);
	r->random = a->v[LX_ARG_RANDOM];
	r->drop_all = a->v[LX_ARG_DROP_ALL];
	if (r->delay) {
		uint32_t latency = number_of(a->v[LX_ARG_LATENCY]);

		if (!latency || latency > UINT32_MAX / 1000)
			return wrong(t->wrong, "latency cannot be zero");
		r->latency_ms = latency * 1000;
	}
	if (r->random && !r->interval_s)
		return wrong(t->wrong, "please provide an interval to randomize");
	if (!r->rate == !r->interval_s)
		return wrong(t->wrong,
			     "please provide either %s rate or interval but not both "
			     "at the same time.",
			     kind_of(r->delay));
	return 0;
}

static int add(struct lx_session *s, const struct lx_args *a)
{
	const struct tongue *t = tongue_of(a);
	bool delay = is_delay(a);
	struct lx_fault_rule r = { .delay = delay };
	bool bad_nid = false;
	int err;

	if (!take_selection(s, a, &r, &bad_nid))
		return wrong(bad_nid ? t->bad_nid : t->wrong, "%s", s->text);
	if (!a->v[LX_ARG_SOURCE] || !a->v[LX_ARG_DEST])
		return wrong(t->wrong, t->no_nids, kind_of(delay));
	err = take_times(t, a, &r);
	if (err)
		return err;
	return send_rule(s, LX_CTL_ADD, &r, false) ? refused(s, t, "add", delay) : 0;
}

static int del(struct lx_session *s, const struct lx_args *a)
{
	const struct tongue *t = tongue_of(a);
	bool delay = is_delay(a);
	struct lx_fault_rule r = { .delay = delay };
	bool all = a->v[LX_ARG_ALL], bad_nid = false;

	if (all && (a->v[LX_ARG_SOURCE] || a->v[LX_ARG_DEST]))
		return wrong(t->wrong, "'-s' or '-d' cannot be combined with '-a'");
	if (!take_selection(s, a, &r, &bad_nid))
		return wrong(t->bad_nid, "%s", s->text);
	if (!all && (!a->v[LX_ARG_SOURCE] || !a->v[LX_ARG_DEST]))
		return wrong(t->wrong, "Failed, please provide source and destination of rule");
	return send_rule(s, LX_CTL_DEL, &r, all) ? refused(s, t, "delete", delay) : 0;
}

static int reset_kind(struct lx_session *s, const struct tongue *t, bool delay)
{
	const struct lx_fault_rule r = { .delay = delay,
					 .src = lx_nid_any,
					 .dst = lx_nid_any,
					 .local = lx_nid_any };

	return send_rule(s, LX_CTL_SET, &r, true) ? refused(s, t, "reset", delay) : 0;
}

static int reset(struct lx_session *s, const struct lx_args *a)
{
	return reset_kind(s, tongue_of(a), is_delay(a));
}

/* The rules of a kind, as lnetx shows them. */
static int rules_of(struct lx_session *s, bool delay, json_t **ret_list)
{
	json_t *all, *row;
	size_t i;
	int err = lx_request_show_all(s, LX_CTL_FAULT, LX_LEVEL_OWN, &all);

	if (err)
		return err;
	*ret_list = json_array();
	json_array_foreach (all, i, row) {
		if (!strcmp(json_string_value(json_object_get(row, "type")), kind_of(delay)))
			json_array_append(*ret_list, row);
	}
	json_decref(all);
	return 0;
}

/* A NID that was not given is any; @any is how the reference prints that. */
static const char *nid_text(const json_t *row, const char *key, const char *any)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : any;
}

static void put(json_t *map, const char *key, json_int_t value)
{
	json_object_set_new(map, key, json_integer(value));
}

/* The order and the names of the reference (control.md 3.9). */
static json_t *fault_row(const json_t *row, bool delay)
{
	json_t *map = json_object();
	char text[24];

	json_object_set(map, "rule_type", json_object_get(row, "type"));
	json_object_set_new(map, "fa_src", json_string(nid_text(row, "src", "*")));
	json_object_set_new(map, "fa_dst", json_string(nid_text(row, "dst", "*")));
	snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)lx_json_int(row, "portals"));
	json_object_set_new(map, "fa_ptl_mask", json_string(text));
	snprintf(text, sizeof(text), "0x%x", (unsigned int)lx_json_int(row, "messages"));
	json_object_set_new(map, "fa_msg_mask", json_string(text));
	if (lx_json_int(row, "rate"))
		put(map, delay ? "la_rate" : "da_rate", lx_json_int(row, "rate"));
	else
		put(map, delay ? "la_interval" : "da_interval", lx_json_int(row, "interval_s"));
	if (delay)
		put(map, "la_latency", lx_json_int(row, "latency_ms") / 1000);
	put(map, delay ? "ls_delayed" : "ds_dropped", lx_json_int(row, "acted_on"));
	put(map, "fs_count", lx_json_int(row, "matched"));
	put(map, "fs_put", lx_json_int(row, "put"));
	put(map, "fs_ack", lx_json_int(row, "ack"));
	put(map, "fs_get", lx_json_int(row, "get"));
	put(map, "fs_reply", lx_json_int(row, "reply"));
	return map;
}

static int show(struct lx_session *s, const struct lx_args *a)
{
	bool delay = is_delay(a);
	json_t *list, *rows, *row;
	size_t i;
	int err = rules_of(s, delay, &list);

	if (err)
		return err;
	rows = json_array();
	json_array_foreach (list, i, row)
		json_array_append_new(rows, fault_row(row, delay));
	json_decref(list);
	lx_lnetctl_print("fault", rows, &lx_print_wide);
	return 0;
}

/* clang-format off */

#define VALUE LX_OPTION_VALUE
#define MANY LX_OPTION_MANY
#define FLAG LX_OPTION_FLAG
#define END { 0 }
#define SELECTION \
	{ "source", 's', VALUE, LX_ARG_SOURCE, "NID of the sender; *@tcp: any of a net; *: any" }, \
	{ "dest", 'd', VALUE, LX_ARG_DEST, "NID of the destination, in the same forms" }, \
	{ "rate", 'r', VALUE, LX_ARG_RATE, "one in N matching messages" }, \
	{ "interval", 'i', VALUE, LX_ARG_INTERVAL, "or one every N seconds" }, \
	{ "portal", 'p', MANY, LX_ARG_PORTAL, "only messages for this portal; repeatable" }, \
	{ "message", 'm', MANY, LX_ARG_MESSAGE, "only PUT, ACK, GET or REPLY; repeatable" }, \
	{ "local_nid", 'o', VALUE, LX_ARG_LOCAL_NID, "only by this NI" }, \
	{ "random", 'n', FLAG, LX_ARG_RANDOM, "each match with the probability 1/interval" }

#define RULE_TYPE \
	{ "rule_type", 't', VALUE, LX_ARG_RULE_TYPE, "accepted and ignored" }

static const struct lx_option drop_options[] = {
	SELECTION,
	RULE_TYPE,
	{ "health_error", 'e', MANY, LX_ARG_ERROR,
	  "fail sent messages with this status (local_error, random, ...); repeatable" },
	{ "drop_all", 'x', FLAG, LX_ARG_DROP_ALL, "every match, sent or received" },
	END
};
static const struct lx_option delay_options[] = {
	SELECTION,
	RULE_TYPE,
	{ "latency", 'l', VALUE, LX_ARG_LATENCY, "seconds to hold messages" },
	END
};
static const struct lx_option del_options[] = {
	{ "all", 'a', FLAG, LX_ARG_ALL, "all rules of this kind" },
	{ "source", 's', VALUE, LX_ARG_SOURCE, "those with exactly this source ..." },
	{ "dest", 'd', VALUE, LX_ARG_DEST, "... and this destination" },
	END
};

#define FAULT .object = "fault"
#define KIND_CMDS(kind) \
	{ "add", add, "add a " #kind " rule", .option = kind##_options, FAULT }, \
	{ "del", del, "delete " #kind " rules", .option = del_options, FAULT }, \
	{ "reset", reset, "set counters of " #kind " rules to 0", FAULT }, \
	{ "show", show, "show " #kind " rules", .option = lx_lnetctl_show_options, FAULT }, \
	{ "list", show, "the same", .option = lx_lnetctl_show_options, .op = "show", \
	  FAULT }, \
	END

const struct lx_lnetctl_cmd lx_fault_drop_cmds[] = { KIND_CMDS(drop) };
const struct lx_lnetctl_cmd lx_fault_delay_cmds[] = { KIND_CMDS(delay) };

/* clang-format on */

/* ---- lctl -------------------------------------------------------------------------------- */

static int lctl_list(struct lx_session *s, const struct lx_args *a)
{
	bool delay = is_delay(a);
	json_t *list, *row;
	size_t i, n;
	int err = rules_of(s, delay, &list);

	if (err)
		return wrong(1, "%s", s->text);
	n = json_array_size(list);
	if (n)
		printf("LNet %s rules:\n", kind_of(delay));
	else
		printf("0@<0:0>->0@<0:0> (1/0 | 0%s) ptl 0, msg 0, 0/0, PUT 0, ACK 0, "
		       "GET 0, REP 0\n",
		       delay ? ", latency 0" : "");
	json_array_foreach (list, i, row) {
		uint64_t portals = lx_json_int(row, "portals");

		printf("%s->%s (1/%d | %d", nid_text(row, "src", "0.0.0.0@tcp"),
		       nid_text(row, "dst", "0.0.0.0@tcp"), (int)lx_json_int(row, "rate"),
		       (int)lx_json_int(row, "interval_s"));
		if (delay)
			printf(", latency %d", (int)lx_json_int(row, "latency_ms") / 1000);
		printf(portals ? ") ptl 0x%" PRIx64 ", msg %x, " : ") ptl %" PRIx64 ", msg %x, ",
		       portals, (unsigned int)lx_json_int(row, "messages"));
		printf("%d/%d, PUT %d, ACK %d, GET %d, REP %d\n", (int)lx_json_int(row, "acted_on"),
		       (int)lx_json_int(row, "matched"), (int)lx_json_int(row, "put"),
		       (int)lx_json_int(row, "ack"), (int)lx_json_int(row, "get"),
		       (int)lx_json_int(row, "reply"));
	}
	printf("found total %zu\n", n);
	json_decref(list);
	return TOLD(STATUS_LIST);
}

bool lx_fault_is_lctl(const char *word)
{
	return !strncmp(word, "net_drop", 8) || !strncmp(word, "net_delay", 9);
}

/* "net_drop add" or "net_drop_add", ... */
int lx_fault_lctl(struct lx_session *s, int argc, char **argv)
{
	struct lx_args a = { .object = argv[0] };
	const struct lx_lnetctl_cmd *cmd = is_delay(&a) ? lx_fault_delay_cmds : lx_fault_drop_cmds;
	const char *verb = argv[0] + strlen(is_delay(&a) ? "net_delay" : "net_drop");
	int status;

	if (!*verb && argc > 1) {
		verb = *++argv;
		argc--;
	} else if (*verb == '_') {
		verb++;
	}
	while (cmd->name && strcmp(cmd->name, verb))
		cmd++;
	if (!cmd->name || lx_options_parse(argc, argv, cmd, &a))
		status = wrong(1, "lctl: %s %s: not understood; see lctl(8)", argv[0], verb);
	else
		status = cmd->fn == show ? lctl_list(s, &a) : cmd->fn(s, &a);
	return status >= LX_TOLD ? status - LX_TOLD : status ? 1 : 0;
}

/* ---- lnetx ------------------------------------------------------------------------------- */

/* The kind of rules that a command is about. */
static int take_kind(struct lx_session *s, const struct lx_args *a, bool *ret_delay)
{
	const char *kind = a->n_rest ? a->rest[0] : "";

	*ret_delay = !strcmp(kind, "delay");
	if (*ret_delay || !strcmp(kind, "drop"))
		return 0;
	return lx_session_fail(s, -EINVAL, "\"%s\": drop or delay is expected", kind);
}

static int take_duration(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id,
			 const char *name, unsigned int unit_ms, uint32_t *ret)
{
	int64_t ms;
	int err = lx_arg_time(s, a, id, name, unit_ms, (int64_t)INT32_MAX * unit_ms, &ms);

	*ret = ms == LX_UNSET ? 0 : ms / unit_ms;
	return err;
}

static bool selects(const struct lx_args *a)
{
	return a->v[LX_ARG_SOURCE] || a->v[LX_ARG_DEST] || a->v[LX_ARG_LOCAL_NID] ||
	       a->v[LX_ARG_MESSAGE] || a->v[LX_ARG_PORTAL];
}

static int lnetx_add(struct lx_session *s, const struct lx_args *a)
{
	struct lx_fault_rule r = { 0 };
	bool bad_nid = false;
	int64_t rate;
	int err = take_kind(s, a, &r.delay);

	if (err || !take_selection(s, a, &r, &bad_nid))
		return -EINVAL;
	err = lx_arg_int(s, a, LX_ARG_RATE, "rate", 1, INT32_MAX, &rate);
	if (!err)
		err = take_duration(s, a, LX_ARG_INTERVAL, "interval", 1000, &r.interval_s);
	if (!err)
		err = take_duration(s, a, LX_ARG_LATENCY, "latency", 1, &r.latency_ms);
	if (!err)
		err = take_duration(s, a, LX_ARG_FOR, "for", 1000, &r.for_s);
	if (err)
		return err;
	r.random = a->v[LX_ARG_RANDOM];
	r.drop_all = a->v[LX_ARG_DROP_ALL];
	if (!r.delay && !r.drop_all && rate == LX_UNSET && !r.interval_s && !selects(a))
		return lx_session_fail(s, -EINVAL,
				       "that would drop every message of this node; say which "
				       "(from, to, local, msg, portal), how many (rate, interval), "
				       "or \"all\"");
	r.rate = rate != LX_UNSET ? rate : r.interval_s || r.drop_all ? 0 : 1;
	if (r.delay && !r.latency_ms)
		return lx_session_fail(s, -EINVAL, "a delay rule needs a latency (500ms, 2s, ...)");
	if (r.rate && r.interval_s)
		return lx_session_fail(s, -EINVAL, "give a rate or an interval, not both");
	if (r.random && !r.interval_s)
		return lx_session_fail(s, -EINVAL, "random needs an interval");
	return send_rule(s, LX_CTL_ADD, &r, false);
}

/* It fails if neither kind has such a rule. */
static int del_both(struct lx_session *s, struct lx_fault_rule *r, bool all)
{
	int drop = send_rule(s, LX_CTL_DEL, r, all), delay;

	if (drop && drop != -ENOENT)
		return drop;
	r->delay = true;
	delay = send_rule(s, LX_CTL_DEL, r, all);
	if (delay != -ENOENT)
		return delay;
	if (!drop)
		return 0;
	if (all)
		return lx_session_fail(s, -ENOENT, "there are no rules");
	return lx_session_fail(s, -ENOENT,
			       "there is no such rule, of either kind; see \"lnetx fault show\"");
}

static int lnetx_del(struct lx_session *s, const struct lx_args *a)
{
	bool bad_nid = false, both = !a->n_rest;
	struct lx_fault_rule r = { 0 };
	bool all = !a->v[LX_ARG_SOURCE] && !a->v[LX_ARG_DEST];
	int err = both ? 0 : take_kind(s, a, &r.delay);

	if (err || !take_selection(s, a, &r, &bad_nid))
		return -EINVAL;
	if (a->v[LX_ARG_ALL] && !all)
		return lx_session_fail(s, -EINVAL, "give NIDs or \"all\", not both");
	if (both && all && !a->v[LX_ARG_ALL])
		return lx_session_fail(s, -EINVAL,
				       "which rules? Give drop or delay, NIDs, or \"all\"");
	return both ? del_both(s, &r, all) : send_rule(s, LX_CTL_DEL, &r, all);
}

static int lnetx_reset(struct lx_session *s, const struct lx_args *a)
{
	int err = reset_kind(s, &lnetctl, false);

	return err ? err : reset_kind(s, &lnetctl, true);
}

static void name_bits(json_t *row, const char *key, const struct bit_name *names)
{
	uint32_t bits = lx_json_int(row, key);
	char text[200] = "";
	size_t used = 0;

	for (; names->name && used < sizeof(text); names++) {
		if (bits >> names->number & 1)
			used += snprintf(text + used, sizeof(text) - used, "%s%s", used ? "," : "",
					 names->name);
	}
	if (used)
		json_object_set_new(row, key, json_string(text));
}

/* In readable form: message names, "*@tcp". */
static void humanize(json_t *row)
{
	static const char *const nids[] = { "src", "dst", "local" };
	char text[LX_NET_TEXT + 2];
	struct lx_nid nid;

	name_bits(row, "messages", messages);
	name_bits(row, "health_errors", hstatuses);
	for (int i = 0; i < 3; i++) {
		const char *old = nid_text(row, nids[i], i < 2 ? "*" : NULL);

		if (old && !lx_nid_parse(old, &nid) && lx_fault_nid_is_net(&nid))
			snprintf(text, sizeof(text), "*@%s", lx_net_str(lx_nid_net(&nid)));
		else
			snprintf(text, sizeof(text), "*");
		if (old && (!strcmp(old, "*") || lx_fault_nid_is_net(&nid)))
			json_object_set_new(row, nids[i], json_string(text));
	}
}

static int lnetx_show(struct lx_session *s, const struct lx_args *a)
{
	json_t *list, *row;
	size_t i;
	int err = lx_request_show_all(s, LX_CTL_FAULT, LX_LEVEL_OWN, &list);

	if (err)
		return err;
	json_array_foreach (list, i, row)
		humanize(row);
	lx_lnetx_print_rows(list, &lx_object_faults);
	return 0;
}

/* clang-format off */
static const struct lx_keyword add_keywords[] = {
	{ "from", LX_ARG_SOURCE, "NID" }, { "to", LX_ARG_DEST, "NID" },
	{ "local", LX_ARG_LOCAL_NID, "NID" }, { "msg", LX_ARG_MESSAGE, "TYPE[,TYPE]" },
	{ "portal", LX_ARG_PORTAL, "N[,N]" }, { "rate", LX_ARG_RATE, "N" },
	{ "interval", LX_ARG_INTERVAL, "TIME" }, { "random", LX_ARG_RANDOM, NULL },
	{ "all", LX_ARG_DROP_ALL, NULL }, { "error", LX_ARG_ERROR, "NAME[,NAME]" },
	{ "latency", LX_ARG_LATENCY, "TIME" }, { "for", LX_ARG_FOR, "TIME" }, END
};
static const struct lx_keyword del_keywords[] = {
	{ "from", LX_ARG_SOURCE, "NID" }, { "to", LX_ARG_DEST, "NID" },
	{ "all", LX_ARG_ALL, NULL }, END
};
const struct lx_command lx_fault_commands[] = {
	{ "show", lnetx_show, .help = "rules that drop or delay messages" },
	{ "add", lnetx_add, add_keywords, "drop|delay",
	  .help = "a rule; \"for 60s\": with an end" },
	{ "del", lnetx_del, del_keywords, "[drop|delay]", .help = "rules; \"all\": both kinds" },
	{ "reset", lnetx_reset, .help = "counters of rules to 0" },
	{ 0 }
};
/* clang-format on */
