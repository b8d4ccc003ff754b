/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of a message that arrives, after lx_lnd_parse() (internal/lnd.h). */
#ifndef LX_CORE_PARSE_H
#define LX_CORE_PARSE_H

#include "msg.h"

/* Drops the messages that came in through an NI that stops and that still wait. */
void lx_parse_drop_waiting(struct lx_core_ni *ni);

/* Tries the messages again that a portal keeps, for it has a new MD or is lazy no more. */
void lx_parse_resume(struct lx_core *core, struct lx_portal *portal);
void lx_parse_lazy_set(struct lx_core *core, struct lx_portal *portal, bool lazy);

/* The transport has finished receiving (msg->status says how). */
void lx_parse_received(struct lx_core_msg *msg);

#endif
