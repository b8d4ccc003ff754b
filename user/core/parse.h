/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of a message that arrives; the verdicts are in lx_lnd_parse(). */
#ifndef LX_CORE_PARSE_H
#define LX_CORE_PARSE_H

#include "msg.h"

/* The transport has finished receiving (msg->status says how). */
void lx_parse_received(struct lx_core_msg *msg);

/* Messages of @from (NULL: not known) came in by @ni, from net @src_net, and did not come here. */
void lx_parse_offloaded(struct lx_core_ni *ni, struct lx_peer_ni *from, uint32_t src_net);

/* msg.c */
void lx_msg_count_received(struct lx_core_msg *msg);
void lx_msg_count_dropped(struct lx_core_ni *ni, struct lx_peer_ni *peer, uint32_t type);

#endif
