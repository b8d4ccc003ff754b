/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Awaited responses: the REPLY to a GET, the ACK to a PUT (lnet.md 13.5), and their
 * latency.
 */
#ifndef LX_CORE_TRACK_H
#define LX_CORE_TRACK_H

#include "msg.h"

struct lx_tracker {
	struct lx_list link; /* in core->trackers */
	struct lx_md *md;
	uint64_t sent_ns, deadline_ns;
	enum lx_msg_type request; /* GET or PUT */
	struct lx_peer_ni *next_hop; /* of the request, held; NULL: not sent yet */
};

/* A GET, or a PUT with ACK, is being sent. An MD tracks one response at a time. */
void lx_track_start(struct lx_core_msg *msg);
/* The response has arrived: its latency counts for @rxni and @rxpeer. NULL: there was none. */
void lx_track_end(struct lx_md *md, struct lx_core_ni *rxni, struct lx_peer_ni *rxpeer);

/* The request goes to this next hop, which is at fault if no response comes. */
void lx_track_sent(struct lx_md *md, struct lx_peer_ni *next_hop);
/* The response is overdue: counts it and lowers the next hop. */
void lx_track_overdue(struct lx_md *md);

/* Expires trackers past their deadline. */
void lx_track_tick(struct lx_core *core);
/* Ends all trackers with -ESHUTDOWN. */
void lx_track_stop(struct lx_core *core);

#endif
