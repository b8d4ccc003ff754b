/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bandwidths between nodes, each to each: in which order to measure them, and which of them
 * are not as they should be. Pure: fabric_load.c measures.
 *
 * The model: what node A sends to node B is limited by what A can send or by what B can receive,
 * and each of these shows with its best partner. So one slow node spoils a whole row and column,
 * but not the judgement of the others.
 */
#ifndef LX_TOOLS_BANDWIDTH_H
#define LX_TOOLS_BANDWIDTH_H

#include <stdbool.h>
#include <stddef.h>

#include <lnetx/nid.h>

#define LX_BANDWIDTH_NODES_MAX 256

enum lx_bandwidth_state {
	LX_BANDWIDTH_NONE, /* not measured */
	LX_BANDWIDTH_WELL,
	LX_BANDWIDTH_LOW,
	LX_BANDWIDTH_FAILED, /* no data gets there */
};

struct lx_bandwidth_cell {
	double rate; /* bytes per second */
	unsigned int errors; /* of requests */
	enum lx_bandwidth_state state; /* NONE, WELL or FAILED as measured; judged also LOW */
	double expected; /* judged: what the rate is compared with; 0: nothing */
};

enum lx_bandwidth_way { LX_BANDWIDTH_RECEIVES, LX_BANDWIDTH_SENDS, LX_BANDWIDTH_WAYS };

struct lx_bandwidth_node {
	struct lx_nid nid;
	char rails[200]; /* what is known about its rails: "one of its ..."; "": nothing */
	/* Judged: bytes per second with its best partner; 0: not known. */
	double best[LX_BANDWIDTH_WAYS];
	bool low[LX_BANDWIDTH_WAYS];
};

struct lx_bandwidth {
	size_t n;
	struct lx_bandwidth_node *node;
	struct lx_bandwidth_cell *cell; /* from node to node, row by row */
	double median[LX_BANDWIDTH_WAYS]; /* judged: of the nodes' best */
	double low;
};

/* All cells NONE. 0 or -ENOMEM; freed with lx_bandwidth_fini() in either case. */
int lx_bandwidth_init(struct lx_bandwidth *b, const struct lx_nid *nids, size_t n);
void lx_bandwidth_fini(struct lx_bandwidth *b);

static inline struct lx_bandwidth_cell *lx_bandwidth_at(const struct lx_bandwidth *b, size_t from,
							size_t to)
{
	return &b->cell[from * b->n + to];
}

/* ---- the order ---------------------------------------------------------------------------- */

struct lx_bandwidth_pair {
	size_t a, b;
};

/* How many rounds a tournament of @n nodes has. */
size_t lx_bandwidth_rounds(size_t n);

/**
 * lx_bandwidth_round - the pairs of a round: no node is in two, so they do not disturb each other
 * @round: from 0; after all rounds each node has met each other one once
 * @ret_pair: room for n / 2
 * Returns how many.
 */
size_t lx_bandwidth_round(size_t n, size_t round, struct lx_bandwidth_pair *ret_pair);

/* ---- the judgement -------------------------------------------------------------------------- */

/**
 * lx_bandwidth_judge - find out which nodes and pairs are slow
 * @low: 0 to 1. A node is slow if its best rate is below that part of the median of all nodes'
 *	best rates. A pair of other nodes is slow if its rate is below that part of what both its
 *	ends reach with their best partners. Of two nodes alone, the directions are compared.
 */
void lx_bandwidth_judge(struct lx_bandwidth *b, double low);

/* @reason: "low" or "failed"; @text: the figures, and what they are compared with */
typedef void (*lx_bandwidth_fault_fn)(const struct lx_nid *nid, const char *reason,
				      const char *text, void *arg);

/* Tells each fault once: nodes, then pairs; of a node that is slow with most others as one. */
void lx_bandwidth_explain(const struct lx_bandwidth *b, lx_bandwidth_fault_fn fn, void *arg);

/* "well", "low", ... */
const char *lx_bandwidth_state_name(enum lx_bandwidth_state state);

#endif
