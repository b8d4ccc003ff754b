/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Selection policies, in both grammars. Clauses are sent as text: lnetxd parses and checks
 * ranges.
 */
#include <errno.h>
#include <string.h>

#include "../lnetx/lnetx.h"
#include "../lustre/lnetctl.h"
#include "print.h"

/* ---- arguments -------------------------------------------------------------------------- */

static int take_clause(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id,
		       const char *name, char *ret_text)
{
	const char *text = a->v[id] ? a->v[id] : "";

	if (strlen(text) >= LX_UDSP_TEXT)
		return lx_session_fail(s, -EINVAL, "%s \"%.40s...\": too long", name, text);
	strcpy(ret_text, text); /* fits: just checked */
	return 0;
}

static int take_clauses(struct lx_session *s, const struct lx_args *a, struct lx_conf_udsp *udsp)
{
	int err = take_clause(s, a, LX_ARG_SRC, "src", udsp->src);

	if (!err)
		err = take_clause(s, a, LX_ARG_DST, "dst", udsp->dst);
	if (!err)
		err = take_clause(s, a, LX_ARG_RTE, "rte", udsp->rte);
	return err;
}

static int take_index(struct lx_session *s, const struct lx_args *a, int32_t min,
		      int32_t *ret_index)
{
	int64_t index;
	int err = lx_arg_int(s, a, LX_ARG_INDEX, "index", min, INT32_MAX, &index);

	*ret_index = index;
	return err;
}

/* Both grammars, which differ in the range of priorities. */
static int add(struct lx_session *s, const struct lx_args *a, int64_t max)
{
	struct lx_conf_udsp udsp = { 0 };
	int err = take_clauses(s, a, &udsp);

	if (!err)
		err = lx_arg_int(s, a, LX_ARG_PRIORITY, "priority", 0, max, &udsp.priority);
	if (!err && udsp.priority != LX_UNSET)
		udsp.priority = (uint32_t)udsp.priority;
	if (!err)
		err = take_index(s, a, 0, &udsp.index);
	return err ? err : lx_session_do(s, LX_CTL_ADD, LX_CTL_UDSP, &udsp);
}

/* ---- lnetctl -------------------------------------------------------------------------- */

/* Like the reference's tool: IPv4 only, any number as priority, truncated to 32 bits. */
static int ctl_add(struct lx_session *s, const struct lx_args *a)
{
	static const enum lx_arg_id clauses[] = { LX_ARG_SRC, LX_ARG_DST, LX_ARG_RTE };
	bool any = false;

	for (int i = 0; i < 3; i++) {
		const char *text = a->v[clauses[i]];

		any |= text != NULL;
		if (text && strchr(text, ':'))
			return lx_session_fail(s, -EINVAL,
					       "\"%s\": lnetctl has no policies for IPv6; use "
					       "\"lnetx udsp add\"", text);
	}
	return any ? add(s, a, INT64_MAX) : LX_WANTS_HELP;
}

static int ctl_del(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_udsp req;
	int err;

	if (!a->v[LX_ARG_ALL] && !a->v[LX_ARG_INDEX])
		return lx_session_fail(s, -EINVAL, "which policy? Give --idx, or --all");
	if (a->v[LX_ARG_ALL] && a->v[LX_ARG_INDEX])
		return lx_session_fail(s, -EINVAL, "give either --idx or --all");
	err = take_index(s, a, LX_UNSET, &req.index);
	return err ? err : lx_session_do(s, LX_CTL_DEL, LX_CTL_UDSP, &req);
}

static int ctl_show(struct lx_session *s, const struct lx_args *a)
{
	json_t *list;
	int err = lx_request_show(s, LX_CTL_UDSP, a, 0, &list);

	if (!err)
		lx_lnetctl_print(lx_object_udsps.yaml, list, &lx_print_four);
	return err;
}

/* One of the reference's errnos is positive. */
static int ctl_errno(int err)
{
	return err == -EALREADY ? EALREADY : err;
}

/* clang-format off */

static const struct lx_option add_options[] = {
	{ "src", 's', LX_OPTION_VALUE, LX_ARG_SRC,
	  "own nets or NIDs (tcp, tcp[1-3], 10.0.*.[1-9/2]@tcp)" },
	{ "dst", 'd', LX_OPTION_VALUE, LX_ARG_DST, "those of peers" },
	{ "rte", 'r', LX_OPTION_VALUE, LX_ARG_RTE, "NIDs of routers; only with --dst" },
	{ "priority", 'p', LX_OPTION_VALUE, LX_ARG_PRIORITY, "for src or dst alone; 0 is best" },
	{ "idx", 'i', LX_OPTION_VALUE, LX_ARG_INDEX,
	  "place in the list, from 0; default: last" },
	{ 0 }
};

static const struct lx_option del_options[] = {
	{ "idx", 'i', LX_OPTION_VALUE, LX_ARG_INDEX, "which, from 0" },
	{ "all", 'a', LX_OPTION_FLAG, LX_ARG_ALL, "all of them" },
	{ 0 }
};

static const struct lx_option show_options[] = {
	{ "idx", 'i', LX_OPTION_VALUE, LX_ARG_INDEX, "only this one" },
	{ "verbose", 'v', LX_OPTION_LEVEL, LX_ARG_VERBOSE, "there is no more" },
	{ 0 }
};

/* The reference's error records say "add" even for a removal. */
const struct lx_lnetctl_cmd lx_lnetctl_udsp_cmds[] = {
	{ "add", ctl_add, "add a selection policy", .option = add_options, .style = LX_ERROR_OLD,
	  .map_error = ctl_errno },
	{ "del", ctl_del, "remove selection policies", .option = del_options,
	  .style = LX_ERROR_OLD, .op = "add" },
	{ "show", ctl_show, "show selection policies", .option = show_options,
	  .style = LX_ERROR_OLD },
	{ 0 }
};

/* clang-format on */

/* ---- lnetx ----------------------------------------------------------------------------- */

static int own_add(struct lx_session *s, const struct lx_args *a)
{
	return add(s, a, UINT32_MAX - 1); /* UINT32_MAX means unset */
}

static int own_del(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_udsp req;
	int err = take_index(s, a, 0, &req.index);

	if (!err && !a->v[LX_ARG_ALL] == (req.index == LX_UNSET))
		err = lx_session_fail(s, -EINVAL, "which policy? Give its index, or \"all\"");
	return err ? err : lx_session_do(s, LX_CTL_DEL, LX_CTL_UDSP, &req);
}

static const struct lx_keyword add_keywords[] = {
	{ "src", LX_ARG_SRC, "NIDS" },	{ "dst", LX_ARG_DST, "NIDS" },
	{ "rte", LX_ARG_RTE, "NIDS" },	{ "priority", LX_ARG_PRIORITY, "N" },
	{ "index", LX_ARG_INDEX, "N" }, { 0 }
};
static const struct lx_keyword del_keywords[] = { { "index", LX_ARG_INDEX, "N" },
						  { "all", LX_ARG_ALL, NULL },
						  { 0 } };
static const struct lx_keyword show_keywords[] = { { "index", LX_ARG_INDEX, "N" },
						   { 0 } };

const struct lx_command lx_udsp_commands[] = {
	{ "show", lx_lnetx_show, show_keywords, .help = "selection policies" },
	{ "add", own_add, add_keywords, .help = "a policy: src, dst, src and dst, or dst and rte" },
	{ "del", own_del, del_keywords, .help = "a policy, or all" },
	{ 0 }
};
