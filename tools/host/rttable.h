/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of routing tables, as iproute2 keeps them below /etc/iproute2. */
#ifndef LX_TOOLS_RTTABLE_H
#define LX_TOOLS_RTTABLE_H

#include <stdbool.h>

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

#endif
