/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports of what changes: to the owner of the core, to transports, to peers. */
#ifndef LX_CORE_CHANGE_H
#define LX_CORE_CHANGE_H

#include <lnetx/info.h>

struct lx_core;

/* Reports a change, to transports too if next hops may be others now. */
void lx_change_tell(struct lx_core *core, enum lx_change_type type, const struct lx_nid *nid,
		    uint32_t net, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Tells transports that next hops may be others now, and of what; as policy_changed() (lnd.h). */
void lx_change_policy(struct lx_core *core, const struct lx_nid *nid, uint32_t net);

/* What pings tell of this node has changed: lx_core_work() rebuilds it and tells peers. */
void lx_change_own_info(struct lx_core *core);

#endif
