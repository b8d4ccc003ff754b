/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters (lnet.md 15). */
#ifndef LX_CORE_COUNT_H
#define LX_CORE_COUNT_H

#include <internal/lnd.h>
#include <lnetx/info.h>

struct lx_core;
struct lx_core_msg;
struct lx_core_ni;
struct lx_peer_ni;

void lx_count_latency(struct lx_latency *latency, uint64_t nsec);

/* A message thrown away on receipt: @bytes of payload, why. */
void lx_count_drop(struct lx_core *core, enum lx_reason reason, size_t bytes);
/* The same by NI and, if it is known, by peer. */
void lx_count_dropped(struct lx_core_ni *ni, struct lx_peer_ni *peer, uint32_t type);

void lx_count_received(struct lx_core_msg *msg);
void lx_count_sent(struct lx_core_msg *msg);
/* Whose fault it was, as the transport or the core found (lnet.md 13.2). */
void lx_count_failed(struct lx_core_msg *msg);
/*
 * What has come to be forwarded, or was to be the answer to a request, and does not leave is
 * a message that is thrown away. Counted when it ends, whichever way, and so once.
 */
void lx_count_lost(struct lx_core_msg *msg);

/* Messages that a transport carries by itself; @pni NULL: not known. Returns how many came. */
uint64_t lx_count_offloaded(struct lx_core_ni *ni, struct lx_peer_ni *pni,
			    const struct lx_offloaded *c);

/* Brings the counters up to date with what transports carry by themselves. */
void lx_count_refresh(struct lx_core *core);

/* All counters to 0, but for what counts things that exist now. */
void lx_count_reset(struct lx_core *core);

#endif
