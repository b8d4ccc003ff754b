/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The findings of "lnetx doctor": JSON objects, each with level (problem or advice), about, reason
 * and next, and since where that is known. The worst come first, and causes before what they bring
 * about. Another node has one finding: its worst level with its first cause.
 */
#ifndef LX_TOOLS_FINDINGS_H
#define LX_TOOLS_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>

#include "../../user/base/text.h"

/* Causes first. */
enum lx_finding_rank {
	LX_FINDING_HERE, /* this machine, its interfaces, lnetxd's file */
	LX_FINDING_NET, /* all on a net */
	LX_FINDING_THERE, /* what another machine itself says */
	LX_FINDING_STATE, /* what LNet says of it */
	LX_FINDING_EFFECT, /* what is lost, slower or may be meant that way */
};

struct lx_finding {
	bool problem;
	enum lx_finding_rank rank;
	const char *about;
	const char *node; /* all findings about it become one; NULL: it is about no other node */
	const char *next; /* a command, or what else to do */
	const char *since; /* "" or NULL: not known */
	const char *effect; /* said after another cause, too; NULL: none */
};

struct lx_findings {
	json_t *list; /* owned */
};

/* Adds one. */
LX_PRINTF(3, 4)
void lx_findings_put(struct lx_findings *f, const struct lx_finding *one, const char *fmt, ...);

/* The same: a problem of this machine, or advice. @...: a format and what it names */
#define lx_findings_add(f, is_problem, on, do_next, ...)                                           \
	lx_findings_put(f,                                                                         \
			&(const struct lx_finding){ .problem = is_problem,                         \
						    .rank = (is_problem) ? LX_FINDING_HERE         \
									 : LX_FINDING_EFFECT,      \
						    .about = on,                                   \
						    .next = do_next },                             \
			__VA_ARGS__)

/* Advice, if a table is full. @most: 0: it has no limit */
void lx_findings_add_full(struct lx_findings *f, const char *what, long long used, long long most,
			  const char *next);

/* Whether there is one about this node. */
bool lx_findings_has(const struct lx_findings *f, const char *node);

/* All in their order, a new array; how many of them are problems. */
json_t *lx_findings_sorted(const struct lx_findings *f, unsigned int *ret_problems);

#endif
