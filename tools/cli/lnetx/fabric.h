/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The subject of a fabric check: nodes and the rails to them, found out from lnetxd, pinged one
 * after the other. The command is in fabric_cmds.c.
 */
#ifndef LX_TOOLS_FABRIC_H
#define LX_TOOLS_FABRIC_H

#include <jansson.h>

#include "../common/session.h"
#include "rail.h"

struct lx_fabric {
	struct lx_session *session;
	unsigned int count, ping_ms; /* pings per rail, and time for each; 0: as for "ping" */
	unsigned int ask_ms; /* how long to wait for a test node */
	/* Told before each rail is pinged, and each node looked up; true: stop. */
	bool (*progress)(const char *what, size_t done, size_t all);

	json_t *nets, *routes; /* of this node */
	struct lx_nid *node; /* to check; any of their NIDs */
	json_t *unheard; /* {NID: true}: peers of lnetxd from which nothing has come */
	size_t n_nodes, n_named; /* first those that the user named, or that lnetxd knows */
	struct lx_rail *rail;
	size_t n_rails;
	json_t *faults; /* beyond those of rails: {"nid", "reason"} */
	/*
	 * Peers that lnetxd knows, but that have never sent it anything: configured, or remembered
	 * from before it started. That they do not answer is no fault: {"nid", "reason"}.
	 */
	json_t *silent;
	bool stopped; /* before all was done */
};

/**
 * lx_fabric_find - find the rails to nodes, by asking them for their NIDs
 * @nids: nodes; NULL: all peers that lnetxd knows. Gateways on the way to them are added
 * Returns 0 or a negative errno with the reason in the session.
 */
int lx_fabric_find(struct lx_fabric *f, const struct lx_nid *nids, size_t n);

/* Calls @fn for each NI of this node except 0@lo, until it returns non-zero; returns that. */
typedef int (*lx_fabric_ni_fn)(struct lx_fabric *f, const json_t *ni, const struct lx_nid *nid,
			       void *arg);
int lx_fabric_each_ni(struct lx_fabric *f, lx_fabric_ni_fn fn, void *arg);

/*
 * Shows progress, if @what is not NULL. Returns true if the rest is not to be done: Ctrl-C. Then
 * f->stopped is set.
 */
bool lx_fabric_step(struct lx_fabric *f, const char *what, size_t done, size_t all);

/*
 * Pings each rail, with one message in flight at a time, and probes the MTU of direct ones. Judges
 * them: those that seem to be at fault are pinged a second time, which counts (lx_rail_judge()).
 */
int lx_fabric_ping(struct lx_fabric *f, double slow_factor);

void lx_fabric_fini(struct lx_fabric *f);

#endif
