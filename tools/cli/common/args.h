/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A command's arguments in either grammar: strings by meaning. They are parsed, and
 * errors reported, when the command uses them.
 */
#ifndef LX_TOOLS_ARGS_H
#define LX_TOOLS_ARGS_H

#include "ni_words.h"
#include "session.h"

enum lx_arg_id {
	LX_ARG_NET,
	LX_ARG_IF,
	LX_ARG_NID,
	LX_ARG_RAILS,
	LX_ARG_GATEWAY,
	LX_ARG_HOP,
	LX_ARG_PRIORITY,
	LX_ARG_SENSITIVITY,
#define LX_NI_WORD_ARG_(NAME, name, value) LX_ARG_##NAME,
	LX_NI_WORDS(LX_NI_WORD_ARG_)
#undef LX_NI_WORD_ARG_
		LX_ARG_CPT,
	LX_ARG_PRIMARY,
	LX_ARG_TIMEOUT,
	LX_ARG_SOURCE,
	LX_ARG_TINY,
	LX_ARG_SMALL,
	LX_ARG_LARGE,
	LX_ARG_MODULE,
	LX_ARG_NAME,
	LX_ARG_HEALTH,
	LX_ARG_STATE,
	LX_ARG_VERBOSE,
	LX_ARG_RATE,
	LX_ARG_BURST,
	LX_ARG_ACCEPT,
	LX_ARG_MODE,
	LX_ARG_TYPE,
	LX_ARG_IP2NETS,
	LX_ARG_SRC,
	LX_ARG_DST,
	LX_ARG_RTE,
	LX_ARG_INDEX,
	LX_ARG_DEST,
	LX_ARG_LOCAL_NID,
	LX_ARG_INTERVAL,
	LX_ARG_PORTAL,
	LX_ARG_MESSAGE,
	LX_ARG_ERROR,
	LX_ARG_LATENCY,
	LX_ARG_RULE_TYPE,
	LX_ARG_FOR,
	LX_ARG_COUNT,
	LX_ARG_SLOW,
	LX_ARG_SVG,
	LX_ARG_BANDWIDTH,
	LX_ARG_PAIRS,
	LX_ARG_LOW,
	LX_ARG_CONSOLES,
	LX_ARG_SESSION_TIMEOUT,
	LX_ARG_RPC_TIMEOUT,
	LX_ARG_BULK_MIB,
	LX_ARG_SIZE,
	LX_ARG_TIME,
	LX_ARG_CONCURRENCY,
	LX_ARG_CHECK,
	/* Flags: NULL or not. */
	LX_ARG_ALL,
	LX_ARG_LOCAL,
	LX_ARG_PEER,
	LX_ARG_LARGE_NIDS,
	LX_ARG_NON_MR,
	LX_ARG_LOCK_PRIMARY,
	LX_ARG_FORCE,
	LX_ARG_BACKUP,
	LX_ARG_ADD,
	LX_ARG_DEL,
	LX_ARG_SHOW,
	LX_ARG_EXEC,
	LX_ARG_OLD_API,
	LX_ARG_NO_MR_ROUTES,
	LX_ARG_RANDOM,
	LX_ARG_DROP_ALL,
	LX_ARG_UNDO,
	LX_ARG_UNDO_ADDED,
	LX_ARG_DRY_RUN,
	LX_ARG_READ,
	LX_ARG_WRITE,
	LX_ARG_PING,
	LX_ARG_OPENMETRICS,
	LX_ARG_NAGIOS,
	LX_ARG_TRACE,
	LX_ARG_KFI, /* settings of a transport that lnetx does not have */
	LX_ARGS
};

struct lx_args {
	const char *v[LX_ARGS];
	char **rest; /* words without a keyword or option */
	int n_rest;
	const char *verb; /* the command's own name */
	const char *object; /* of lnetctl and lctl: what it is a verb of */
	enum lx_ctl_object shows; /* of lnetx: what lx_lnetx_show() shows */
	const enum lx_arg_id *lacks; /* the last word is its name: its value is missing; or NULL */
};

/* Each parses one argument. @name: as the user knows it. Records errors in @s. */

/* A number, or LX_UNSET if not given. -EINVAL. */
int lx_arg_int(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, const char *name,
	       int64_t min, int64_t max, int64_t *ret_value);

/* A time, or LX_UNSET. */
int lx_arg_time(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, const char *name,
		int64_t min_ms, int64_t max_ms, int64_t *ret_ms);

/* A net, or LX_NET_U32_ANY. -ENOENT: no such net (the errno of the reference's tools). */
int lx_arg_net(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, uint32_t *ret_net);

/* A NID, or lx_nid_any. -EINVAL. */
int lx_arg_nid(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, const char *name,
	       struct lx_nid *ret_nid);

/*
 * A request's struct: the fields for which there are arguments, and defaults. -1 counts as not
 * given where scripts give it for what they do not want to set. -EINVAL, -ENOENT as above.
 */
int lx_args_take(struct lx_session *s, const struct lx_args *a, const struct lx_schema *schema,
		 void *obj);

/*
 * NIDs from a list with ranges (lx_nid_expand()), free()d by the caller; host names
 * before the '@' are resolved. -EINVAL.
 */
int lx_arg_nids(struct lx_session *s, const char *text, const char *name, struct lx_nid **ret_nids,
		size_t *ret_n);

/* Those of all words without a keyword; there may be none. -EINVAL. */
int lx_args_nids(struct lx_session *s, const struct lx_args *a, const char *name,
		 struct lx_nid **ret_nids, size_t *ret_n);

/* Checks a list of CPU partitions, "[0,2-3]" or "0"; it has no effect here. -EINVAL. */
int lx_arg_cpt(struct lx_session *s, const char *text);

/* Takes the rails of a new NI, if there are any. -EINVAL, -EOPNOTSUPP. */
int lx_arg_rails(struct lx_session *s, const struct lx_args *a, struct lx_conf_ni *ni);

#endif
