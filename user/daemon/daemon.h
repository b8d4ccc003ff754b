/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of lnetxd. Owner: main.c; only the main thread, which runs the loop, touches
 * it. A worker thread does what may take long (starting, stopping and changing the
 * node), one change after the other (change.c).
 *
 *	server.c               who may connect
 *	 └▶ client.c           packets in and out; hands requests to
 *	     command.c         ├▶ dump.c    shows: answered at once from snapshots
 *	                       ├▶ change.c  changes: queued, worker thread, then answered
 *	                       │   ├▶ lifecycle.c the node as a whole
 *	                       │   └▶ edit.c   pieces of the node's configuration
 *	                       ├▶ interfaces.c what follows them
 *	                       ├▶ programs.c BPF: the guard follows each change
 *	                       │   ├▶ guard.c  what admins change of it
 *	                       │   └▶ refusals.c whose connections it drops, for the log
 *	                       ├▶ tester.c  the selftest on the node
 *	                       ├▶ trace.c   messages that the fast path sees
 *	                       ├▶ probe.c   ping, discover: answered when the node is done
 *	                       ├▶ ask.c     a console's requests to test nodes, likewise
 *	                       └▶ monitor.c changes of the node, as they happen
 */
#ifndef LX_DAEMON_DAEMON_H
#define LX_DAEMON_DAEMON_H

#include <stdbool.h>
#include <uv.h>

#include <internal/ctl.h>
#include <lnetx/lnetx.h>

#include "../base/list.h"
#include "clocks.h"
#include "config.h"
#include "difference.h"
#include "saved.h"

struct lx_server;
struct lx_changes;
struct lx_results;
struct lx_monitor;
struct lx_tracer;
struct lx_programs;
struct lx_neighbours;
struct lx_refusals;
struct lx_tester;
struct lx_edit;

struct lx_daemon {
	uv_loop_t *loop;
	char instance[LX_INSTANCE_TEXT];
	struct lx_config_files config_files;
	const char *config_file; /* the one that was read last, or would be; or NULL */
	const char *group; /* its members may read the state */
	struct lx_conf *conf; /* the last valid content of the file, or NULL */
	char reload_failed[400]; /* why the last one did, or a part of it; "": it did not */
	struct lx_conf *later; /* of it, what waits for an interface; NULL: nothing */
	struct lx_node *node; /* NULL: not configured, or being started or stopped */
	bool large; /* interfaces stand for their IPv6 address */
	struct lx_saved saved; /* tunables of the previous node */
	struct lx_facts read; /* the node as the file, or its start, has made it; the worker's */
	unsigned int drain_ms;
	uint64_t stop_by_ns; /* of uv_hrtime(): the deadline of a stop in progress */
	struct lx_clocks started;

	struct lx_server *server;
	struct lx_changes *changes;
	struct lx_results *results;
	struct lx_monitor *monitor;
	struct lx_tracer *tracer;
	struct lx_programs *programs;
	struct lx_neighbours *neighbours;
	struct lx_refusals *refusals;
	struct lx_tester *tester;
};

#endif
