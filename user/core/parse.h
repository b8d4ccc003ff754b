/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of a message that arrives; the verdicts are in lx_lnd_parse(). */
#ifndef LX_CORE_PARSE_H
#define LX_CORE_PARSE_H

#include "msg.h"

/* The transport has finished receiving (msg->status says how). */
void lx_parse_received(struct lx_core_msg *msg);

#endif
