/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bandwidths between the nodes of a fabric check: a session of LNet selftest with those that
 * take part, in which each pair in turn has a write test in each direction. The nodes' selftest
 * must be on; those that refuse are left out. bandwidth.c judges the result.
 */
#ifndef LX_TOOLS_FABRIC_LOAD_H
#define LX_TOOLS_FABRIC_LOAD_H

#include "bandwidth.h"
#include "fabric.h"

/* Freed with lx_fabric_load_fini(). */
struct lx_fabric_load {
	/* The bounds, from the caller. */
	unsigned int ms; /* of traffic, for each direction of a pair */
	uint32_t size, concurrency; /* of requests: bytes, and how many at a time */
	size_t max_pairs;
	double low; /* below this share of what is expected a pair is measured a second time */

	struct lx_bandwidth b; /* of the nodes that take part */
	struct lx_nid console; /* this node, as they know it */
	size_t pairs, all_pairs; /* measured, and how many there are */
	json_t *silent; /* NIDs of nodes whose selftest does not answer */
	json_t *left_out; /* others that take no part: {"nid", "reason"} */
};

/**
 * lx_fabric_load - measure
 * @f: found and pinged. A node that leaves in the middle is added to its faults
 * On Ctrl-C it sets f->stopped, ends the session as always, and keeps what was measured. Returns 0
 * or a negative errno with the reason in the session.
 */
int lx_fabric_load(struct lx_fabric_load *l, struct lx_fabric *f);

void lx_fabric_load_fini(struct lx_fabric_load *l);

#endif
