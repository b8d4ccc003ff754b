/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The way of a message that arrives, after lx_lnd_parse() (internal/lnd.h). */
#ifndef LX_CORE_PARSE_H
#define LX_CORE_PARSE_H

#include "msg.h"

/* The NI is stopping: drops the messages received through it that still wait. */
void lx_parse_drop_waiting(struct lx_core_ni *ni);

/* The peer NI goes: drops the messages received from it that wait. */
void lx_parse_drop_from(struct lx_peer_ni *pni);

/* The portal has a new MD, or is not lazy any more: matches its delayed messages again. */
void lx_parse_resume(struct lx_core *core, struct lx_portal *portal);
void lx_parse_lazy_set(struct lx_core *core, struct lx_portal *portal, bool lazy);

/* A message that had to wait as it arrived, in no portal and no credit's queue, goes on. */
void lx_parse_again(struct lx_core_msg *msg);

/* The transport has finished receiving (msg->status says how). */
void lx_parse_received(struct lx_core_msg *msg);

/* Acknowledges a PUT that was received, while it still has its path. */
void lx_parse_ack(struct lx_core_msg *put);

#endif
