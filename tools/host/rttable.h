/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of routing tables, as iproute2 keeps them below /etc/iproute2. */
#ifndef LX_TOOLS_RTTABLE_H
#define LX_TOOLS_RTTABLE_H

#include <net/if.h>
#include <stdbool.h>

#include "rtnl.h"

/* Where names are added; if $LNETX_RT_TABLES is another file, names are only looked up there. */
#define LX_RTTABLE_FILE "/etc/iproute2/rt_tables.d/lnetx.conf"

const char *lx_rttable_path(void);

/**
 * lx_rttable_number - the number of a routing table
 * @create: give it a number if it has none, and add that to lx_rttable_path()
 * Without @create, the number that the next new table would get.
 * Returns 0: it had one, 1: it is new; or -errno of that file.
 */
int lx_rttable_number(const char *name, bool create, unsigned int *ret_number);

/*
 * A table that "net add" has set up for an lnetxd, and nobody else has: a comment behind its name,
 * or behind one that is only a comment, if another file has the name.
 */
struct lx_rttable_mark {
	unsigned int number;
	char name[IFNAMSIZ], by[64]; /* as long as names of instances may be */
	bool named; /* the name goes with it */
};

/* Adds the marks of lx_rttable_path() to a list. 0 or -ENOMEM. */
int lx_rttable_marks(struct lx_rtnl_list *list);

enum lx_rttable_change {
	LX_RTTABLE_ADDED, /* marked, unless another lnetxd's: then it has none any more */
	LX_RTTABLE_KEPT, /* has no mark any more */
	LX_RTTABLE_GONE, /* has neither mark nor, if that was marked, its name */
};

/* 0 or -errno of the file. */
int lx_rttable_mark(const struct lx_rttable_mark *mark, enum lx_rttable_change change);

#endif
