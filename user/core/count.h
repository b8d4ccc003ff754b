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

/* A message was dropped on receipt; @bytes: of payload. */
void lx_count_drop(struct lx_core *core, enum lx_reason reason, size_t bytes);
/* The same per NI and, if known, per peer. */
void lx_count_dropped(struct lx_core_ni *ni, struct lx_peer_ni *peer, uint32_t type);

void lx_count_received(struct lx_core_msg *msg);
void lx_count_sent(struct lx_core_msg *msg);
/* Counts @n failures by class (lnet.md 13.2). @ni and @pni may be NULL. */
void lx_count_fault(struct lx_core *core, struct lx_core_ni *ni, struct lx_peer_ni *pni,
		    enum lx_hstatus hstatus, uint64_t n);
/*
 * A message to forward, or an answer, that could not be sent counts as dropped; so does one that
 * waited for a credit past its deadline. Called when it is finalized, whatever the reason, and so
 * once.
 */
void lx_count_lost(struct lx_core_msg *msg);

/* Counts offloaded messages; @pni NULL: unknown. Returns the number received. */
uint64_t lx_count_offloaded(struct lx_core_ni *ni, struct lx_peer_ni *pni,
			    const struct lx_offloaded *c);

/* TCP has sent these bytes, too. @pni NULL: unknown. */
void lx_count_tcp_sent(struct lx_core_ni *ni, struct lx_peer_ni *pni,
		       const struct lx_tcp_bytes *more);

/* Counts offloaded messages that were lost as dropped. Returns how many. */
uint64_t lx_count_offload_lost(struct lx_core_ni *ni, struct lx_peer_ni *pni,
			       const struct lx_type_counts *n, uint64_t payload);

/* Updates the counters with offloaded traffic. */
void lx_count_refresh(struct lx_core *core);

/* Resets all counters, except those of existing objects. */
void lx_count_reset(struct lx_core *core);

#endif
