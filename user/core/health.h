/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Health values of NIs and peer NIs, 0 to LX_HEALTH_MAX (lnet.md 13.1, 13.2). A fault lowers
 * them, success raises them; whatever is below the maximum is in recovery (recovery.c).
 *
 *	full ──fault──▶ below full: in a recovery queue ──at 0──▶ our NI is reported down
 *	 ▲                   │                                          │
 *	 └──── messages sent or received, recovery pings answered ◀─────┘
 */
#ifndef LX_CORE_HEALTH_H
#define LX_CORE_HEALTH_H

#include <internal/lnd.h>
#include <lnetx/lnetx.h>

#include "../base/list.h"

#define LX_HEALTH_MAX 1000

struct lx_core;
struct lx_core_ni;
struct lx_peer_ni;

/* Recovery state of an NI or peer NI. */
struct lx_recovery {
	struct lx_list link;   /* in core->recovery_nis or recovery_peers, or on no list */
	struct lx_handle ping; /* MD of the last ping */
};

/* Success: raises the NI, and the peer NI @from that sent a message (NULL: sent by us). */
void lx_health_ok(struct lx_core_ni *ni, struct lx_peer_ni *from);

/**
 * lx_health_fault - count @n failed messages and lower the NI or peer NI at fault
 * @ni: our NI; may be NULL
 * @pni: next hop, or previous hop of a received message; may be NULL
 *
 * A peer's only NI is not lowered, since there is no alternative, unless the peer is a gateway
 * or this node routes.
 */
void lx_health_fault(struct lx_core *core, struct lx_core_ni *ni, struct lx_peer_ni *pni,
		     enum lx_hstatus hstatus, uint64_t n);

/* Lowers a peer NI without counting a failure. */
void lx_health_lower_peer(struct lx_core *core, struct lx_peer_ni *pni);

/*
 * The transport lost a peer NI. If the peer has others this is a fault, unless a message that
 * failed has already cost health: messages avoid it now, so recovery has to bring it back.
 */
void lx_health_lost_peer(struct lx_core *core, struct lx_peer_ni *pni);

/* Raises an NI, when its recovery ping was answered. */
void lx_health_raise_ni(struct lx_core_ni *ni);

/* Sets a value. Below LX_HEALTH_MAX recovery starts, even if never seen alive. */
void lx_health_set_ni(struct lx_core_ni *ni, unsigned int value);
void lx_health_set_peers(struct lx_core *core, unsigned int value); /* all */
void lx_health_set_peer(struct lx_core *core, struct lx_peer_ni *pni, unsigned int value);

/* Health was switched off: all values to the maximum, no recovery. */
void lx_health_off(struct lx_core *core);

/* Whether only the local NI is at fault. */
bool lx_health_is_local(enum lx_hstatus hstatus);
/* Whether the message may be resent: it cannot have arrived (lnet.md 13.2). */
bool lx_health_resends(enum lx_hstatus hstatus);

#endif
