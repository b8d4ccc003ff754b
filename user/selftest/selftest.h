/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The test node of lnet_selftest, as a service on a node: it obeys the consoles that it may trust,
 * generates the traffic they ask for, and answers that of other nodes. It only uses the library's
 * public interface. Rules: spec selftest.md.
 *
 *	selftest.c          start, stop, state
 *	 └▶ server.c        requests in, replies out, bulk as the active side
 *	     └▶ session.c   sessions, and what a console may ask
 *	         └▶ batch.c   batches, tests, and the units that generate traffic
 *	             └▶ client.c   one request, its reply and its bulk as the passive side
 *	                 └▶ port.c    MDs and their events
 *	pool.c      bulk buffers
 *	pattern.c   what is in them
 *	wire.c      messages
 *	service.c   clock, log, lock
 *
 * Memory is bounded: bulk_mib for bulk buffers, LX_LST_*_MAX (priv.h) for everything else.
 */
#ifndef LX_SELFTEST_SELFTEST_H
#define LX_SELFTEST_SELFTEST_H

#include <lnetx/lnetx.h>

#include "wire.h"

struct lx_selftest;

struct lx_selftest_ops {
	/* Whether this NID may be a console. Called with the service locked: must not call back. */
	bool (*may_console)(const struct lx_nid *nid, void *arg);
	/* Logs a line of key=value; called with the service locked. NULL: no log */
	void (*note)(const char *line, void *arg);
	/* Monotonic clock. NULL: CLOCK_MONOTONIC */
	uint64_t (*now_ns)(void *arg);
	void *arg;
};

/* X(tag, name, default, min, max, names, help) */
#define LX_SELFTEST_TUNABLES(X, tag)                                                               \
	X(tag, session_timeout, 100, 1, LX_SELFTEST_SESSION_MAX, NULL,                             \
	  "seconds without a request of a console after which its session ends")                   \
	X(tag, rpc_timeout, 64, 1, LX_SELFTEST_RPC_MAX, NULL,                                      \
	  "seconds to wait for the reply to a test's request")                                     \
	X(tag, bulk_mib, 64, 1, LX_SELFTEST_BULK_MAX, NULL,                                        \
	  "MiB for buffers of bulk tests; requests beyond it wait")
LX_TUNABLE_STRUCT(lx_selftest_tunables, LX_SELFTEST_TUNABLES);
extern const struct lx_tunable lx_selftest_tunable_table[];

/* State of a service. */
struct lx_selftest_info {
	bool active; /* there is a session, with: */
	struct lx_lst_sid sid;
	char name[LX_LST_NAME];
	uint64_t age_ms; /* of the session */
	uint64_t idle_ms; /* since its console's last request */
	uint32_t batches, tests, units; /* a unit generates traffic to one destination */
	uint32_t active_batches, active_units;
	struct lx_lst_framework_counters framework;
	struct lx_lst_rpc_counters rpc;
	uint64_t refused; /* requests from NIDs that may not be consoles */
	uint32_t bulk_buffers; /* in use, 1 MiB each */
	uint32_t bulk_waiting; /* requests that wait for a buffer */
};

/**
 * lx_selftest_new - start the service
 * @node: must not be freed before the service
 * @tun: limits; copied
 * @ops: copied
 * Returns 0, -ENOMEM, -EPERM: MEs of another kind are on the portals, -ESHUTDOWN.
 */
int lx_selftest_new(struct lx_node *node, const struct lx_selftest_tunables *tun,
		    const struct lx_selftest_ops *ops, struct lx_selftest **ret_s);

/**
 * lx_selftest_free - stop the service; NULL is fine
 * Ends the session and aborts its tests. Does not wait: memory of messages in flight is freed with
 * their last event. Does not call the ops any more.
 */
void lx_selftest_free(struct lx_selftest *s);

/* To be called about once a second: handles time-outs and retries. */
void lx_selftest_tick(struct lx_selftest *s);

/* Changes the limits; frees buffers beyond them as they become idle. */
void lx_selftest_tune(struct lx_selftest *s, const struct lx_selftest_tunables *tun);

void lx_selftest_info(struct lx_selftest *s, struct lx_selftest_info *ret_info);

#endif
