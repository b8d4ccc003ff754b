/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Detects routing loops. LNet's header has no hop limit, so routers whose routes point at
 * each other forward a message forever. Between two routers that cannot happen here:
 * no message is forwarded to the peer it came from (select.c). This file detects longer
 * circles by remembering some of the messages forwarded to other routers: one that comes
 * back from another peer than the first time is logged and counted.
 */
#ifndef LX_CORE_LOOP_H
#define LX_CORE_LOOP_H

#include <lnetx/nid.h>

#include "../base/ratelimit.h"

#define LX_LOOP_SLOTS 512

struct lx_core_msg;
struct lx_peer_ni;

struct lx_loops {
	struct lx_ratelimit refused_log, circle_log; /* by destination net */
	struct lx_loop_slot {
		uint64_t print; /* hash of the header, which no router changes */
		uint64_t seen_ns;
		struct lx_nid from; /* the previous hop, the first time */
		bool repeated;      /* it came from there again: its sender repeats it */
		unsigned int returns;
	} slot[LX_LOOP_SLOTS];
};

/* A message is about to leave for another router. */
void lx_loop_watch(struct lx_core_msg *msg);

/* A message was not forwarded: its only next hop is the peer it came from. */
void lx_loop_refused(struct lx_core_msg *msg, const struct lx_peer_ni *next_hop);

#endif
