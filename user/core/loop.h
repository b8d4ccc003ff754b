/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that go in a circle. LNet's header has no hop limit, so routers whose routes lead
 * back to each other forward one message for ever. Between two routers that cannot happen:
 * nothing is forwarded to the peer that it came from (select.c). Longer circles are found
 * here, by remembering some of the messages that leave for another router: one that comes
 * back from another peer than at first is told of and counted.
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
		uint64_t print; /* of the header, which no router changes */
		uint64_t seen_ns;
		struct lx_nid from; /* the previous hop at first */
		bool repeated;      /* it has come from there again: its sender sends it often */
		unsigned int returns;
	} slot[LX_LOOP_SLOTS];
};

/* A message is about to leave for another router. */
void lx_loop_watch(struct lx_core_msg *msg);

/* A message was not forwarded: its only next hop is the peer that it came from. */
void lx_loop_refused(struct lx_core_msg *msg, const struct lx_peer_ni *next_hop);

#endif
