/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How far messages to a NID get, as text for users. */
#ifndef LX_CORE_REACH_H
#define LX_CORE_REACH_H

#include <lnetx/nid.h>

struct lx_core;

/* As lx_reach_explain() of lnetx.h. */
int lx_reach_why(struct lx_core *core, const struct lx_nid *nid, const struct lx_nid *source,
		 char *buf, size_t size);

#endif
