/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Responses waited for: the REPLY to a GET, the ACK to a PUT (lnet.md 13.5), and
 * how long they took.
 */
#ifndef LX_CORE_TRACK_H
#define LX_CORE_TRACK_H

#include "msg.h"

struct lx_tracker {
	struct lx_list link; /* in core->trackers */
	struct lx_md *md;
	uint64_t sent_ns, deadline_ns;
	enum lx_msg_type request; /* GET or PUT */
	struct lx_nid next_hop;   /* of the request; any: not sent yet */
};

/* A GET or PUT with ACK goes out; an MD tracks one response at a time. */
void lx_track_start(struct lx_core_msg *msg);
/* The response has come (or the MD goes): @rxni and @rxpeer get the latency, or NULL. */
void lx_track_end(struct lx_md *md, struct lx_core_ni *rxni, struct lx_peer_ni *rxpeer);

/* The request goes to this next hop, which is at fault if no response comes. */
void lx_track_sent(struct lx_md *md, const struct lx_peer_ni *next_hop);
/* The response is overdue: counts it and lowers the next hop. */
void lx_track_overdue(struct lx_md *md);

/* Expires what is past its deadline. */
void lx_track_tick(struct lx_core *core);
/* Ends all, as expired: no response will come any more. */
void lx_track_stop(struct lx_core *core);

#endif
