/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Discovery of peers by ping and push (lnet.md 12.3 - 12.5). */
#ifndef LX_CORE_DISCOVER_H
#define LX_CORE_DISCOVER_H

#include "msg.h"

/* A push arrived. */
void lx_discover_pushed(struct lx_core *core, const struct lx_event *event, int status,
			const void *data);

/* Our own information changed: push it to the peers that know us. */
void lx_discover_push_all(struct lx_core *core);
/* Our discovery is about to be switched off: the next push goes to all who take it. */
void lx_discover_switched_off(struct lx_core *core);
/* It is on again: every peer is to be discovered again before we send to it. */
void lx_discover_switched_on(struct lx_core *core);

/* A peer goes: end its discovery with -ESHUTDOWN. */
void lx_discover_cancel(struct lx_peer *peer);

void lx_discover_work(struct lx_core *core);
void lx_discover_tick(struct lx_core *core);

#endif
