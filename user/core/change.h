/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports changes to the core's owner, to transports and to peers. */
#ifndef LX_CORE_CHANGE_H
#define LX_CORE_CHANGE_H

#include <lnetx/info.h>

#include "../base/text.h"

struct lx_core;

/* Reports a change, also to transports if next hops may have changed. */
void lx_change_tell(struct lx_core *core, enum lx_change_type type, const struct lx_nid *nid,
		    uint32_t net, const char *fmt, ...) LX_PRINTF(5, 6);

/* Tells transports that next hops may have changed; arguments as for policy_changed() (lnd.h). */
void lx_change_policy(struct lx_core *core, const struct lx_nid *nid, uint32_t net);

/* Our ping information has changed: lx_core_work() rebuilds it and pushes it to peers. */
void lx_change_own_info(struct lx_core *core);

#endif
