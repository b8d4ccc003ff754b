/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The LNet core: one node's NIs, peers, routes, MDs and messages, and the
 * processing of messages. Pure logic: no descriptor, no clock, no thread.
 *
 * The owner of a core (the node, or a test in virtual time) calls it from one thread
 * at a time - holding the node lock - and provides struct lx_core_ops. The core is
 * driven by the functions here, the transports' upcalls (internal/lnd.h),
 * lx_core_work() soon after kick() requested it, and lx_core_tick() as time passes.
 */
#ifndef LX_CORE_CORE_H
#define LX_CORE_CORE_H

#include <internal/lnd.h>
#include <internal/units.h>
#include <lnetx/lnetx.h>

#include "../base/freelist.h"
#include "../base/hash.h"
#include "../base/list.h"
#include "../base/ratelimit.h"
#include "answer.h"
#include "fault.h"
#include "health.h"
#include "loop.h"
#include "md.h"
#include "memory.h"
#include "ni.h"
#include "peer.h"
#include "pinginfo.h"
#include "pool.h"
#include "portal.h"
#include "probe.h"
#include "refused.h"
#include "route.h"
#include "tunables.h"

struct lx_core_ops {
	/* Monotonic and wall-clock time, ns. */
	uint64_t (*now)(void *arg);
	uint64_t (*wall)(void *arg);
	uint64_t (*random)(void *arg);
	/* Requests lx_core_work() soon, but not from within this call. */
	void (*kick)(void *arg);
	/* Hands an event over to @fn, in the order of the calls, without the lock. */
	void (*event)(lx_event_fn fn, const struct lx_event *event, void *arg);
	void (*change)(const struct lx_change *change, void *arg);
	/* The transport is done with an NI (lx_lnd_stopped()). */
	void (*ni_stopped)(struct lx_ni *ni, void *arg);
	/* Storage of router buffers; reset forgets the content. */
	int (*rbuf_new)(size_t size, unsigned int n, struct lx_rbuf **ret_rbufs);
	void (*rbuf_free)(struct lx_rbuf *rbuf);
	void (*rbuf_reset)(struct lx_rbuf *rbuf);
};

struct lx_core {
	const struct lx_core_ops *ops;
	void *ops_arg;
	struct lx_core_tunables tun;
	uint64_t cookie;    /* of this incarnation, in every handle (lnet.md 3.1) */
	uint64_t object_seq;
	bool draining; /* no new requests; messages in flight continue */
	bool stopping;

	/* ni.c */
	struct lx_list nets; /* of lx_net */
	struct lx_core_ni *lo;
	uint64_t net_seq;

	/* peer.c */
	struct lx_list peers;    /* of lx_peer */
	struct lx_hash peer_nis; /* of lx_peer_ni, by NID */
	const struct lx_peer_watcher *peer_watchers;
	struct lx_peer_ni *self; /* 0@lo as a peer; in neither table */
	uint32_t peer_seq;       /* the last peer's number */
	unsigned int unreachables; /* walks that end messages of peers: none may be deleted */

	struct lx_list udsps; /* of lx_udsp, in order; udsp.c */

	/* route.c, pool.c, monitor.c */
	struct lx_list rnets;    /* of lx_rnet */
	struct lx_list gateways; /* of lx_peer that have routes */
	enum lx_routing_state routing;
	uint64_t routing_since_ns;
	uint64_t routing_until_ns; /* STOPPING: deadline */
	uint64_t routing_end_ns;   /* its last stop began; 0: none since it was switched on */
	uint64_t routing_report_ns; /* STOPPING: time of the last progress report */
	struct lx_pool pool[LX_POOLS];
	bool pools_made;

	/* announce.c */
	struct lx_list announcements; /* neighbours to notify that we route, or will not */
	unsigned int n_announcements;
	uint32_t announced_seqno; /* the first information with this routing state */

	struct lx_loops loops;

	/* md.c, memory.c, portal.c */
	struct lx_hash mds;
	struct lx_list memory; /* of lx_memory */
	struct lx_hash mes;
	struct lx_portal portal[LX_PORTALS];

	/* msg.c */
	struct lx_list msgs;     /* all messages */
	struct lx_list done;     /* finalized, not yet processed */
	bool finalizing;
	struct lx_freelist msg_freelist;
	struct lx_list own_waiting; /* our own messages, as origin->waiting */
	struct lx_hash origins;  /* of lx_origin; origin.c */
	struct lx_freelist origin_freelist;
	struct lx_ratelimit origins_full; /* by address */
	uint64_t slow_bytes; /* of messages that are kept; slow.c */
	struct lx_list trackers; /* responses due; track.c */
	struct lx_stats stats;
	struct lx_list recovery_nis;   /* of lx_core_ni; health.c, recovery.c */
	struct lx_list recovery_peers; /* of lx_peer_ni */
	struct lx_ratelimit no_route; /* by net */

	struct lx_faults faults;
	struct lx_refused refused[LX_REFUSED_MAX];
	struct lx_answers answers;

	/* ping.c, discover.c, probe.c */
	struct lx_ping_target target;
	struct lx_list discover; /* peers queued for lx_discover_work() */
	struct lx_list pings_due; /* of lx_peer: their pushes could not be used; discover.c */
	unsigned int n_asked; /* pings that others made us send since the last second */
	struct lx_ratelimit bad_push; /* by peer */
	struct lx_ratelimit peers_full; /* by peer */
	struct lx_list probes;

	uint64_t next_second_ns; /* of the monitor */
};

static inline uint64_t lx_core_now(struct lx_core *core)
{
	return core->ops->now(core->ops_arg);
}

static inline void lx_core_kick(struct lx_core *core)
{
	core->ops->kick(core->ops_arg);
}

/* ---- life ------------------------------------------------------------------- */

/* Creates a core with empty tables; lx_core_start() adds 0@lo. -ENOMEM. */
int lx_core_new(const struct lx_core_ops *ops, void *ops_arg, struct lx_core **ret_core);
int lx_core_start(struct lx_core *core, const struct lx_lnd *lo);

/* True if no message is in flight except the core's own. */
bool lx_core_idle(const struct lx_core *core);

/**
 * lx_core_ni_start - create an NI and bring it up
 * @env: given to the transport
 * @ret_ni: may be NULL
 * Returns 0, -EEXIST, -EINVAL a value out of range, -ENOMEM, -ESHUTDOWN, or an error of startup().
 */
int lx_core_ni_start(struct lx_core *core, const struct lx_lnd *lnd, struct lx_env *env,
		     const struct lx_conf_ni *conf, struct lx_core_ni **ret_ni);

/*
 * Takes an NI down: removes routes over it, ends messages that wait for it, forgets
 * peers behind it, shuts the transport down. ops->ni_stopped() reports completion;
 * then the NI may be freed.
 */
void lx_core_ni_stop(struct lx_core *core, struct lx_core_ni *ni);

/*
 * Refuses new messages and ends those in the core's own queues (-ESHUTDOWN).
 * Then take the NIs down one by one (lx_core_ni_stop()).
 */
void lx_core_stop(struct lx_core *core);

/* All NIs must have stopped. Unlinks and frees what is left. NULL is fine. */
void lx_core_free(struct lx_core *core);

/* ---- driving ---------------------------------------------------------------- */

/* Runs deferred work: discovery steps, pushes. Not reentrant with other core functions. */
void lx_core_work(struct lx_core *core);

/* Time has passed. Call it at lx_core_deadline() or later. */
void lx_core_tick(struct lx_core *core);

/* When lx_core_tick() is next due, in ops->now() time. */
uint64_t lx_core_deadline(const struct lx_core *core);

/* ---- fault injection ------------------------------------------------------------- */

/* As the functions of lnetx.h. */
int lx_core_fault_add(struct lx_core *core, const struct lx_fault_rule *rule);
int lx_core_fault_del(struct lx_core *core, bool delay, const struct lx_nid *src,
		      const struct lx_nid *dst);

/* ---- tunables ----------------------------------------------------------------- */

/* Sets a tunable by name and applies it. -ENOENT, -EINVAL, -ERANGE (lnet.md 13.4). */
int lx_core_tunable_set(struct lx_core *core, const char *name, const char *value);

#endif
