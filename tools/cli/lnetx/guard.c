/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx guard": who may connect to the acceptor, and who is banned. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/base/array.h"
#include "../../../user/base/cleanup.h"
#include "../../../user/base/prefix.h"
#include "../common/json.h"
#include "../common/print.h"
#include "lnetx.h"

/* ---- show -------------------------------------------------------------------------- */

/* @accept: as the tunable; NULL: there is no node. */
static const char *accept_text(const char *accept, bool secure)
{
	if (secure)
		return "secure: only privileged source ports";
	if (!accept)
		return "nobody: LNet is not configured";
	return strcmp(accept, "none") ? "any source port" : "none: no connections";
}

static void print_guard(const json_t *guard)
{
	static const struct {
		const char *name, *help;
	} verdict[] = {
#define VERDICT_(NAME, name, help) { name, help },
		LX_GUARD_VERDICTS(VERDICT_)
#undef VERDICT_
	};
	const json_t *packets = json_object_get(guard, "packets");
	const char *reason = json_string_value(json_object_get(guard, "reason"));

	printf("guard     %s%s%s\n", json_is_true(json_object_get(guard, "active")) ? "on" : "off",
	       reason ? ": " : "", reason ? reason : "");
	printf("mode      %s\n", json_string_value(json_object_get(guard, "mode")));
	printf("accept    %s\n",
	       accept_text(json_string_value(json_object_get(guard, "accept")),
			   json_is_true(json_object_get(guard, "secure"))));
	if (lx_json_int(guard, "rate"))
		printf("rate      %" JSON_INTEGER_FORMAT
		       " connections a second and source, %" JSON_INTEGER_FORMAT " at once\n",
		       lx_json_int(guard, "rate"), lx_json_int(guard, "burst"));
	else
		puts("rate      no limit");
	for (size_t i = 0; i < LX_ARRAY_LEN(verdict); i++)
		printf("%12" JSON_INTEGER_FORMAT "  %-12s  %s\n",
		       lx_json_int(packets, verdict[i].name), verdict[i].name, verdict[i].help);
}

static void print_rows(json_t *list, const struct lx_ctl_shown *object)
{
	if (json_array_size(list))
		putchar('\n');
	lx_print_table(stdout, list, object, lx_lnetx_format()->more);
}

#define REFUSALS_SHOWN 20

/* Latest first; a table has only the first ones unless all are requested. */
static int show_refusals(struct lx_session *s, json_t **ret_list)
{
	int err = lx_request_show_all(s, LX_CTL_REFUSAL, LX_LEVEL_OWN, ret_list);

	while (!err && !lx_lnetx_as_tree() && !lx_lnetx_format()->more &&
	       json_array_size(*ret_list) > REFUSALS_SHOWN)
		json_array_remove(*ret_list, REFUSALS_SHOWN);
	return err;
}

static int show(struct lx_session *s, const struct lx_args *a)
{
	json_t *guard = NULL, *bans = NULL, *prefixes = NULL, *refusals = NULL;
	int err = lx_request_first(s, LX_CTL_GUARD, NULL, LX_LEVEL_OWN, &guard);

	if (!err)
		err = lx_request_show_all(s, LX_CTL_BAN, LX_LEVEL_OWN, &bans);
	if (!err)
		err = lx_request_show_all(s, LX_CTL_PREFIX, LX_LEVEL_OWN, &prefixes);
	if (!err)
		err = show_refusals(s, &refusals);
	if (!err && guard && lx_lnetx_as_tree()) {
		json_object_set(guard, "bans", bans);
		json_object_set(guard, "prefixes", prefixes);
		json_object_set(guard, "refusals", refusals);
		lx_lnetx_print(lx_object_guards.yaml, json_incref(guard));
	} else if (!err && guard) {
		print_guard(guard);
		print_rows(bans, &lx_object_bans);
		print_rows(prefixes, &lx_object_prefixes);
		print_rows(refusals, &lx_object_refusals);
	}
	json_decref(guard);
	json_decref(bans);
	json_decref(prefixes);
	json_decref(refusals);
	return err;
}

/* ---- changes ----------------------------------------------------------------------- */

/* Reports the result for one NID: now, or in the list of all. */
static void tell(const struct lx_session *s, const struct lx_nid *nid, json_t *list)
{
	json_t *entry;

	if (!lx_lnetx_as_tree()) {
		if (*s->text)
			puts(s->text);
		return;
	}
	entry = json_pack("{ss}", "nid", lx_nid_str(nid));
	if (s->count != LX_UNSET)
		json_object_set_new(entry, "connections", json_integer(s->count));
	if (*s->text)
		json_object_set_new(entry, "text", json_string(s->text));
	json_array_append_new(list, entry);
}

/* Bans or unbans the NIDs of all words, of which none may have a mistake. */
static int ban_words(struct lx_session *s, const struct lx_args *a, enum lx_ctl_verb verb,
		     json_t *list)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n;
	int err = lx_args_nids(s, a, "nid", &nids, &n);

	if (!err && !n)
		err = lx_session_fail(s, -EINVAL, "give one or more NIDs");
	for (size_t i = 0; !err && i < n; i++) {
		struct lx_ctl_ban req = { .nid = nids[i] };

		err = lx_session_do(s, verb, LX_CTL_BAN, &req);
		if (!err)
			tell(s, &nids[i], list);
	}
	return err;
}

/* Reports what was done before a failure, too. */
static int ban_or_not(struct lx_session *s, const struct lx_args *a, enum lx_ctl_verb verb)
{
	json_t *list = json_array(), *map;
	int err = ban_words(s, a, verb, list);

	if (lx_lnetx_as_tree() && json_array_size(list)) {
		map = json_pack("{sO}", verb == LX_CTL_ADD ? "ban" : "unban", list);
		if (err)
			json_object_set_new(map, "error", lx_lnetx_error(err, s->text));
		lx_lnetx_print_map(map);
		s->text[0] = '\0'; /* reported already */
	}
	json_decref(list);
	return err;
}

static int ban(struct lx_session *s, const struct lx_args *a)
{
	return ban_or_not(s, a, LX_CTL_ADD);
}

static int unban(struct lx_session *s, const struct lx_args *a)
{
	return ban_or_not(s, a, LX_CTL_DEL);
}

static int check_prefixes(struct lx_session *s, const struct lx_args *a)
{
	uint8_t addr[16];
	uint32_t bits;

	if (!a->n_rest)
		return lx_session_fail(s, -EINVAL, "give one or more prefixes (10.1.0.0/16)");
	for (int i = 0; i < a->n_rest; i++) {
		if (lx_prefix_parse(a->rest[i], addr, &bits))
			return lx_session_fail(s, -EINVAL,
					       "\"%s\": an address or a prefix is expected, "
					       "without host bits: 10.1.0.0/16",
					       a->rest[i]);
	}
	return 0;
}

/* Nothing is done if one of them has a mistake. */
static int prefix_words(struct lx_session *s, const struct lx_args *a, enum lx_ctl_verb verb,
			enum lx_guard_action action)
{
	int err = check_prefixes(s, a);

	for (int i = 0; !err && i < a->n_rest; i++) {
		struct lx_ctl_prefix req = { .action = action };

		strcpy(req.prefix, a->rest[i]); /* fits: just checked */
		err = lx_session_do(s, verb, LX_CTL_PREFIX, &req);
	}
	return err;
}

static int allow(struct lx_session *s, const struct lx_args *a)
{
	return prefix_words(s, a, LX_CTL_ADD, LX_GUARD_ALLOW);
}

static int deny(struct lx_session *s, const struct lx_args *a)
{
	return prefix_words(s, a, LX_CTL_ADD, LX_GUARD_DENY);
}

static int forget(struct lx_session *s, const struct lx_args *a)
{
	return prefix_words(s, a, LX_CTL_DEL, 0);
}

/* The acceptor makes the same check: one tunable for both. */
static int set(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_guard req;
	int err = lx_args_take(s, a, &lx_object_guard_schema, &req);

	if (!err && !a->v[LX_ARG_ACCEPT] && !a->v[LX_ARG_RATE] && !a->v[LX_ARG_BURST] &&
	    !a->v[LX_ARG_MODE])
		err = lx_session_fail(s, -EINVAL, "nothing to set; see \"lnetx guard help\"");
	if (!err && a->v[LX_ARG_ACCEPT])
		err = lx_request_tunable_set(s, "tcp", "accept", a->v[LX_ARG_ACCEPT]);
	if (!err && (a->v[LX_ARG_RATE] || a->v[LX_ARG_BURST] || a->v[LX_ARG_MODE]))
		err = lx_session_do(s, LX_CTL_SET, LX_CTL_GUARD, &req);
	return err;
}

static const struct lx_keyword set_keywords[] = {
	{ "accept", LX_ARG_ACCEPT, "secure|all|none" },
	{ "rate", LX_ARG_RATE, "N" },
	{ "burst", LX_ARG_BURST, "N" },
	{ "mode", LX_ARG_MODE, "auto|native|generic|tc" },
	{ 0 },
};

const struct lx_command lx_guard_commands[] = {
	{ "show", show, .help = "rules, bans, and packets passed and dropped" },
	{ "ban", ban, NULL, "NIDS...",
	  .help = "drop all packets of peers, close their connections" },
	{ "unban", unban, NULL, "NIDS...", .names = LX_CTL_BAN, .help = "lift bans" },
	{ "allow", allow, NULL, "PREFIX...", .names = LX_CTL_PREFIX,
	  .help = "let these connect, at any rate" },
	{ "deny", deny, NULL, "PREFIX...", .names = LX_CTL_PREFIX,
	  .help = "refuse these; the longest matching prefix wins" },
	{ "forget", forget, NULL, "PREFIX...", .names = LX_CTL_PREFIX,
	  .help = "remove prefixes" },
	{ "set", set, set_keywords,
	  .help = "which source ports may connect, how often per second and source (rate 0: no\n"
	  "\tlimit), and how the guard is attached" },
	{ 0 },
};
