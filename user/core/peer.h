/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers: other nodes, each with nets, each net with peer NIs.
 *
 *	lx_peer ──▶ lx_peer_net (tcp) ──▶ lx_peer_ni 10.0.0.2@tcp
 *	        │                     └─▶ lx_peer_ni 10.0.0.3@tcp
 *	        └─▶ lx_peer_net (o2ib) ─▶ ...
 *
 * A NID belongs to one peer only. Traffic creates peers with a single NID; discovery and
 * configuration move NIDs between peers. A peer NI survives such moves, so messages
 * refer to peer NIs.
 */
#ifndef LX_CORE_PEER_H
#define LX_CORE_PEER_H

#include <lnetx/conf.h>
#include <lnetx/info.h>

#include "../base/hash.h"
#include "../base/list.h"
#include "../base/queue.h"
#include "down.h"
#include "health.h"
#include "pinginfo.h"
#include "slow.h"

struct lx_core;
struct lx_core_msg;
struct lx_net;
struct lx_rx_from;

/* Owner: the table core->peer_nis; messages hold references. */
struct lx_peer_ni {
	struct lx_hash_node node;
	struct lx_nid nid;
	struct lx_peer_net *net; /* NULL once deleted */
	struct lx_list link;     /* in the peer net */
	unsigned int refs;

	/* Only a NID on a local net can be a next hop and has credits. */
	struct lx_credit *tx; /* own_tx, or memory shared with the fast path (credit.h) */
	struct lx_credit own_tx;
	int32_t tx_max;
	struct lx_queue tx_queue; /* of lx_core_msg that wait for a transmit credit */
	uint64_t tx_queued_bytes;
	struct lx_credit *rtr, own_rtr; /* the same for router credits */
	int32_t rtr_max;
	struct lx_list rtr_queue; /* of lx_core_msg that wait for a router credit */
	uint64_t answer_bytes;    /* that the answers which we owe it take (answer.h) */
	struct lx_list request_queue; /* of its lx_core_msg that wait for these to end */
	unsigned int awaited; /* answers that we wait for from it, each a reference (track.c) */

	struct lx_slow slow;

	uint32_t status;         /* reported by its node or its transport; INVALID: unknown */
	struct lx_cause down;    /* reason for LX_NI_STATUS_DOWN */
	bool reached;            /* lost: a message has left for it since; it has a connection */
	uint64_t try_ns;         /* lost: not before this may another forwarded message try */
	uint64_t last_alive_ns;
	struct lx_nid preferred; /* local NID a non-Multi-Rail peer knows us by, or any */
	uint32_t priority;       /* of policies (udsp.h); 0 best */
	bool prefers_nis, prefers_gateways; /* some policy says which */
	uint64_t seq;
	struct lx_lnd_peer *shortcuts; /* transports' pointers to this */
	/*
	 * Primary NIDs of peers: the one that lists it, and the one that it says its node has, both
	 * by the answer to a ping. To another peer it moves if they are the same (discover.c).
	 */
	struct lx_nid claimed_by, agrees;
	/* lx_peer.merges as of the last information that listed it; or 0 */
	uint32_t listed;
	struct lx_traffic traffic;
	struct lx_peer_health health;
	struct lx_recovery recovery;
};

struct lx_peer_net {
	struct lx_list link; /* in the peer */
	struct lx_peer *peer;
	uint32_t id;
	struct lx_list nis;
	uint32_t priority; /* of policies; 0 best */
	uint64_t seq;
	/* gateways (lnet.md 10.3) */
	uint64_t next_check_ns;
	uint64_t retry_ns; /* the next check, if a net that it leads to has no route up */
	unsigned int n_retries; /* such checks in a row */
};

/* State bits that belong to a step of discovery: only with what the step has made are they true. */
#define LX_PEER_STEPS \
	(LX_PEER_DISCOVERING | LX_PEER_DATA_PRESENT | LX_PEER_PING_SENT | LX_PEER_PUSH_SENT | \
	 LX_PEER_PING_FAILED | LX_PEER_PUSH_FAILED | LX_PEER_RTR_DISCOVERY | \
	 LX_PEER_MARK_DELETION)

/* Owner: core->peers; discovery holds references. */
struct lx_peer {
	struct lx_list link;
	struct lx_core *core;
	struct lx_nid primary;
	uint32_t number; /* unique */
	struct lx_list nets;
	unsigned int n_nis;
	unsigned int refs;
	bool deleted;
	uint64_t made_ns;
	bool by_lo;     /* this node, discovered as 0@lo, too: shown with that NID */
	uint32_t state; /* enum lx_peer_state */
	uint64_t send_seq;
	struct lx_nid failed;        /* its NID that the last failed message went to; 0: none */

	/* as a gateway: route.c */
	struct lx_list gateway_link; /* in core->gateways */
	struct lx_list routes;       /* of lx_route */
	bool alive;
	struct lx_cause down;        /* reason if not alive */
	uint32_t check_net;          /* net checked last */

	/* discovery: discover.c */
	struct lx_list discover_link; /* in core->discover */
	struct lx_list ping_due_link; /* in core->pings_due */
	uint64_t ask_ns;              /* not before may others make us ping it */
	/* of lx_peer whose data waits for the end of its discovery ... */
	struct lx_list claimants;
	struct lx_list claim_link;    /* ... by this */
	struct lx_list pending;       /* of lx_core_msg that wait for its end */
	struct lx_list waiters;       /* of lx_probe that wait for its end */
	struct lx_pinginfo *data;     /* with DATA_PRESENT */
	bool data_asked;              /* it is the answer to a ping; anybody can push in its name */
	bool data_waited;             /* it has waited for owners of NIDs in it */
	uint32_t merges;
	bool fresh;                   /* its peer NIs are those that it listed last */
	uint32_t seqno;               /* of its information that we have */
	uint32_t acked_seqno;         /* of our information that it has */
	uint32_t pushed_seqno;        /* of our information being pushed */
	size_t data_bytes;            /* room to offer in a ping */
	int ping_error, push_error;
	struct lx_handle ping_md, push_md;
	struct lx_nid push_from, push_to; /* the path its answer took */
	uint64_t sent_ns;             /* of the ping or push in flight */

	/* as a user of this router: announce.c */
	uint64_t routed_ns;           /* it last sent a message for others; 0: never */
	uint64_t asked_ns;            /* it last fetched our ping information; 0: never */
	uint32_t asked_seqno;         /* of the information it got */
};

/* Callbacks for what happens to peers. Owner: core.c, which has a table of them. */
struct lx_peer_watcher {
	const char *name; /* NULL ends the table */
	/* The peer is being deleted; it still has its NIDs. */
	void (*deleted)(struct lx_peer *peer);
	/* @from was found to be the same node as @to; it has no NIDs any more. */
	void (*merged)(struct lx_peer *to, struct lx_peer *from);
	/* The peer got this NID, as it or an admin says: any previous owner loses it. */
	void (*joined)(struct lx_peer *peer, const struct lx_nid *nid);
	/* Nothing can be sent to this NID any more. */
	void (*unreachable)(struct lx_peer_ni *pni);
};

#define lx_peer_ni_for_each(pnetp, pnip, peer) \
	lx_list_for_each(pnetp, &(peer)->nets, link) \
		lx_list_for_each(pnip, &(pnetp)->nis, link)

static inline struct lx_peer *lx_peer_of(const struct lx_peer_ni *pni)
{
	return pni->net->peer;
}

static inline bool lx_peer_ni_up(const struct lx_peer_ni *pni)
{
	return pni->status == LX_NI_STATUS_UP;
}

/* Whether its peer itself has listed it when it was last discovered. */
static inline bool lx_peer_ni_listed(const struct lx_peer_ni *pni)
{
	return pni->listed && pni->listed == lx_peer_of(pni)->merges;
}

/* Creates 0@lo's peer for itself; not visible. -ENOMEM. */
int lx_peer_self_start(struct lx_core *core);
void lx_peer_self_stop(struct lx_core *core);

struct lx_peer_ni *lx_peer_ni_lookup(struct lx_core *core, const struct lx_nid *nid);
/* The same, if it is an NI of this peer. */
struct lx_peer_ni *lx_peer_ni_of(const struct lx_peer *peer, const struct lx_nid *nid);
struct lx_peer_net *lx_peer_net_lookup(struct lx_peer *peer, uint32_t net);

/* Finds a peer NI, or creates it as a peer of its own. -ENOMEM, -ESHUTDOWN, -ENOBUFS too many. */
int lx_peer_ni_obtain(struct lx_core *core, const struct lx_nid *nid,
		      struct lx_peer_ni **ret_pni);

/* The same for a message's previous hop, by the transport's shortcut if there is one. */
int lx_peer_ni_from(struct lx_core *core, const struct lx_rx_from *from,
		    struct lx_peer_ni **ret_pni);

void lx_peer_ni_get(struct lx_peer_ni *pni);
void lx_peer_ni_put(struct lx_core *core, struct lx_peer_ni *pni);
void lx_peer_get(struct lx_peer *peer);
void lx_peer_put(struct lx_peer *peer);

/* Primary NID of the peer that @nid belongs to; @nid itself if unknown. */
void lx_peer_primary_of(struct lx_core *core, const struct lx_nid *nid, struct lx_nid *ret_nid);

/* Whether a peer is this node, by one of its own NIDs; no other peer has one of these. */
bool lx_peer_is_self(const struct lx_peer *peer);

/* A NID became ours, or is no longer: it leaves a peer whose other NIDs are not, or still are. */
void lx_peer_own_nid_changed(struct lx_core *core, const struct lx_nid *nid);

/* The first of our NIDs that this node can be a peer by (lnd.h, connects_to_self); NULL: none. */
const struct lx_nid *lx_peer_self_nid(struct lx_core *core);

/*
 * Whether @peer may lose @nid to another peer. Configured peers keep their NIDs. A locked
 * primary NID leaves with the whole peer only, and stays a primary NID.
 */
bool lx_peer_may_give(const struct lx_peer *peer, const struct lx_nid *nid);
/* Moves @nid to @peer, from another peer that only traffic created. -EEXIST, -ENOMEM. */
int lx_peer_take_nid(struct lx_peer *peer, const struct lx_nid *nid);
/* Removes a NID from its peer; a peer without NIDs is deleted. */
void lx_peer_drop_nid(struct lx_peer_ni *pni);
void lx_peer_delete(struct lx_peer *peer);
/* True if deleting it would lose nothing but its entry. */
bool lx_peer_idle(const struct lx_peer *peer);
/*
 * Limits the number of peer NIs that traffic alone creates, because anybody can put any source
 * NID in a header and list any NID as its own: at the limit (peers_max) the oldest peers without
 * references make room. None does while somebody walks over peers and ends their messages.
 * False: there is no room for another one.
 */
bool lx_peer_make_room(struct lx_core *core);
/* Forgets those, such as mistyped NIDs, that have not answered within an hour. */
void lx_peer_tick(struct lx_core *core);
/* @from and @to are one node: those who wait for @from's discovery now wait for @to's. */
void lx_peer_absorb(struct lx_peer *to, struct lx_peer *from);

static inline struct lx_peer_ni *lx_peer_first_ni(const struct lx_peer *peer)
{
	struct lx_peer_net *net = lx_list_first(&peer->nets, struct lx_peer_net, link);

	return lx_list_first(&net->nis, struct lx_peer_ni, link);
}

/* ---- for discovery (lnet.md 12.3) -------------------------------------------- */

/* Queues the peer for lx_discover_work(). */
void lx_peer_discover(struct lx_peer *peer);
/* True if it is discovered and need not be again. */
bool lx_peer_uptodate(const struct lx_peer *peer);
/* True if either side does no discovery: our knowledge of the peer may be stale. */
bool lx_peer_discovery_off(const struct lx_peer *peer);
/* True if it lacks our present information. */
bool lx_peer_needs_push(const struct lx_peer *peer);

/* ---- status ------------------------------------------------------------------ */

/* A local net comes or goes: adjusts the credits of peer NIs on it, or removes them. */
void lx_peer_net_up(struct lx_core *core, uint32_t net);
void lx_peer_net_down(struct lx_core *core, uint32_t net);

/* The next hops of messages to its NIDs may have changed. */
void lx_peer_policy_changed(struct lx_peer *peer);

/* The only functions that change a peer NI's status; they report the change. */
void lx_peer_ni_set_up(struct lx_core *core, struct lx_peer_ni *pni);
void lx_peer_ni_set_down(struct lx_core *core, struct lx_peer_ni *pni, enum lx_down_why why,
			 int error);

int lx_peer_describe_all(struct lx_core *core, struct lx_peer_info **ret_list, size_t *ret_n);
/* @lo: with 0@lo, if it was discovered by that name */
int lx_peer_describe(struct lx_peer *peer, bool lo, struct lx_peer_info **ret_info);

#endif
