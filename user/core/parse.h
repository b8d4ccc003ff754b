/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of a message that arrives; the verdicts are in lx_lnd_parse(). */
#ifndef LX_CORE_PARSE_H
#define LX_CORE_PARSE_H

#include "msg.h"

/* Gives a message that was to be received up: payload thrown away, counted. */
void lx_parse_drop(struct lx_core_msg *msg, enum lx_reason reason);
/* Messages that came in through an NI that stops, and wait: nobody receives them now. */
void lx_parse_drop_waiting(struct lx_core_ni *ni);

/* Tries the messages again that a portal keeps, for it has a new MD or is lazy no more. */
void lx_parse_resume(struct lx_core *core, struct lx_portal *portal);
void lx_parse_lazy_set(struct lx_core *core, struct lx_portal *portal, bool lazy);

/* The transport has finished receiving (msg->status says how). */
void lx_parse_received(struct lx_core_msg *msg);

#endif
