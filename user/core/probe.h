/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pings and pushes: answering them, and sending them for users (lnet.md 12).
 */
#ifndef LX_CORE_PROBE_H
#define LX_CORE_PROBE_H

#include "md.h"
#include "pinginfo.h"

struct lx_core;

/* A reference-counted buffer: an MD's memory that may outlive its replacement. */
struct lx_ping_buffer {
	unsigned int refs;
	void *owner; /* of the MD: core, peer or probe */
	size_t length;
	char data[] __attribute__((aligned(8)));
};

/* Most buffers for pushes, posted and in use: further pushes wait. */
#define LX_PUSHES_MAX 256

/* Our ping information, and where pushes arrive. One per core. */
struct lx_ping_target {
	uint32_t seqno;
	struct lx_ping_buffer *buffer;  /* our information */
	struct lx_handle ping_me, push_me;
	struct lx_ping_buffer *push;    /* for the next push */
	size_t push_bytes;              /* wanted size */
	bool stale;                     /* lx_core_work() must rebuild and push it */
	unsigned int n_pushes;          /* MDs for pushes: the posted one, and those in use */
	bool push_unposted;             /* none is posted: lx_core_work() has to */
};

int lx_ping_target_start(struct lx_core *core);
void lx_ping_target_stop(struct lx_core *core);

/* Rebuilds our information if it is stale (lx_change_own_info()); part of lx_core_work(). */
void lx_ping_target_refresh(struct lx_core *core);

struct lx_ping_buffer *lx_ping_buffer_new(size_t length);
void lx_ping_buffer_put(struct lx_ping_buffer *buffer);

/* ---- asking --------------------------------------------------------------- */

/* The outcome of a probe; the callee free()s @info, which is NULL on error. */
typedef void (*lx_probe_end_fn)(int status, struct lx_peer_info *info, void *arg);

/*
 * A ping or discovery that a user waits for. Owner: core->probes. It ends with the
 * answer, an error or a timeout, whichever comes first, and then calls fn.
 */
struct lx_probe {
	struct lx_list link;
	struct lx_list waiter_link; /* discovery: in lx_peer.waiters */
	struct lx_core *core;
	struct lx_id target;
	struct lx_nid source;       /* or any */
	struct lx_ping_buffer *buffer;
	struct lx_handle md;
	uint64_t deadline_ns;
	bool patient; /* it waits for the reason why its request cannot be sent */
	lx_probe_end_fn fn;
	void *arg;
};

int lx_probe_ping(struct lx_core *core, const struct lx_id *target, const struct lx_nid *source,
		  unsigned int timeout_ms, lx_probe_end_fn fn, void *arg);
int lx_probe_discover(struct lx_core *core, const struct lx_nid *nid, bool force,
		      lx_probe_end_fn fn, void *arg);

/* Discovery of the peer has ended; called by discover.c. */
void lx_probe_discovered(struct lx_peer *peer, struct lx_probe *probe, int status);

void lx_probe_tick(struct lx_core *core);
void lx_probe_stop_all(struct lx_core *core);
uint64_t lx_probe_deadline(const struct lx_core *core);

#endif
