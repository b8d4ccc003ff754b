/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A message and its life in the core.
 *
 *	outgoing                               incoming
 *	lx_msg_put/get()                       lx_lnd_parse()
 *	     │                                      │ verdict (lnet.md 7.1)
 *	     ▼                                      ▼
 *	  ROUTE ◀────── forwarded, REPLY ───┐   for us: match ── none ─▶ dropped, or
 *	     │ discovery first? ─▶ pending  │       │                     delayed (lazy)
 *	     │ path chosen (select.c)       │       │   not for us: router credit and buffer
 *	     ▼                              │       ▼                     (credit.c)
 *	  CREDIT peer NI, then NI (credit.c)│   transport reads the payload, now
 *	     │ or wait in its queue         │   or later (recv())
 *	     ▼                              │       │ lx_lnd_finalize()
 *	  transport send()                  │       ▼
 *	     │ lx_lnd_finalize()            └── lx_parse_received() ─▶ event, ACK
 *	     ▼
 *	  credits back, event
 */
#ifndef LX_CORE_MSG_H
#define LX_CORE_MSG_H

#include "core.h"
#include "origin.h"
#include "rank.h"

enum lx_msg_phase {
	LX_PHASE_NEW,       /* being prepared; in no queue */
	LX_PHASE_PENDING,   /* waits for discovery of its peer */
	LX_PHASE_TX_WAIT,   /* waits for a transmit credit, or its address's share of them */
	LX_PHASE_TX,        /* owned by the transport, being sent */
	LX_PHASE_RX_WAIT,   /* waits for a router credit, or a buffer, or its share of these */
	LX_PHASE_ANSWER_WAIT, /* waits until we owe its sender fewer answers (answer.h) */
	LX_PHASE_DELAYED,   /* delayed on a lazy portal */
	LX_PHASE_HELD_TX,   /* held by a rule of fault injection, with its credits */
	LX_PHASE_HELD_RX,   /* the same before it is received */
	LX_PHASE_RX,        /* owned by the transport, being received */
};

struct lx_core_msg {
	struct lx_msg m; /* what the transport sees */
	struct lx_core *core;
	struct lx_list all;  /* in core->msgs */
	struct lx_list link; /* in the queue of its phase, or core->done */
	struct lx_queued at; /* TX_WAIT: the same, but in its address's queue by link */
	enum lx_msg_phase phase;
	int status;
	uint64_t held_until_ns; /* HELD_TX, HELD_RX */

	/* sending */
	bool response;            /* ACK or REPLY */
	struct lx_peer_ni *asker; /* response: whom it counts for (answer.h) */
	enum lx_response awaits;  /* its MD reserves one for that */
	bool discovered;          /* has waited for discovery; is now sent whatever the outcome */
	bool internal;            /* the core's own traffic; draining does not wait for it */
	/* GET: the transport's own REPLY has failed, and that was reported */
	bool lnd_answered;
	struct lx_nid dst_param;  /* as given by the caller */
	struct lx_nid src_param;  /* source NID that the caller asked for, or any */
	struct lx_nid rtr_param;  /* the gateway a response must take, or any */
	struct lx_core_ni *txni;
	struct lx_peer_ni *txpeer; /* next hop */
	bool has_peer_credit, has_ni_credit; /* or waits for it */
	uint64_t sent_ns; /* TX_WAIT: since when it waits */
	unsigned int resends;
	struct lx_avoid *avoid;   /* where earlier attempts failed; NULL: nowhere */
	struct lx_core_msg *pair; /* optimised GET: its REPLY, and vice versa */

	/* receiving */
	struct lx_core_ni *rxni;
	struct lx_peer_ni *rxpeer; /* previous hop */
	void *rx;                  /* identifies it to the transport */
	bool stranger; /* received: as in struct lx_rx_from */
	bool rdma_get;
	struct lx_pool *pool;
	struct lx_rbuf *rbuf;
	bool has_rtr_credit, has_pool_credit; /* or waits for it */
	struct lx_origin *origin;  /* to be forwarded: where it came from */
	unsigned int shares;       /* 1 << enum lx_share_of: those that it has */
	bool waits_share;          /* in a queue of its origin */
	uint64_t admitted_ns;      /* to be forwarded: when it had its path */
	size_t kept;               /* bytes of extra memory that it takes (slow.h) */
	bool ack_wanted;
	bool transit;              /* received to be forwarded: dropped if that fails */
	enum lx_reason drop;       /* why it is dropped, if known */

	/* memory, and the event to deliver */
	struct lx_md *md;
	struct lx_event event;
};

static inline struct lx_core_msg *lx_core_msg(struct lx_msg *m)
{
	return lx_container_of(m, struct lx_core_msg, m);
}

/* NULL: out of memory. */
struct lx_core_msg *lx_msg_new(struct lx_core *core);
/* Ends a message with @status: returns credits and references, delivers the event, frees it. */
void lx_msg_finish(struct lx_core_msg *msg, int status);

/* As lx_put() and lx_get() of lnetx.h. @internal: sent by the core itself. */
int lx_msg_put(struct lx_core *core, const struct lx_nid *self, struct lx_md *md, bool ack,
	       const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	       uint64_t hdr_data, bool internal);
int lx_msg_get(struct lx_core *core, const struct lx_nid *self, struct lx_md *md,
	       const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	       bool internal);

/* Between these two, messages that end stay in memory, and in core->msgs. Not while they end. */
void lx_msg_ends_hold(struct lx_core *core);
void lx_msg_ends_go_on(struct lx_core *core);

/* Chooses a path for a message and sends it, or ends it if there is no path. */
void lx_msg_route(struct lx_core_msg *msg);

/* Ends all messages in a queue with @status; none that a transport waits for (parse.h). */
void lx_msg_fail_queue(struct lx_list *queue, int status, enum lx_hstatus hstatus);

/* The NI stops: ends the messages that wait for its credits, or for their share of them. */
void lx_msg_fail_ni(struct lx_core_ni *ni);

/* The peer NI cannot be reached any more: ends the messages that wait for its credits. */
void lx_msg_fail_peer(struct lx_peer_ni *pni);

/* Whether the header of a PUT asks for an ACK. */
bool lx_msg_asks_ack(const struct lx_hdr *put);

/*
 * Whether messages to a NID stay inside: 0@lo, and own NIDs to which the transport cannot connect.
 */
bool lx_msg_stays_inside(struct lx_core *core, const struct lx_nid *nid);

#endif
