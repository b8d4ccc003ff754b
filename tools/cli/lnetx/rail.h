/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rails: the paths of a fabric check, each from an NI of ours to an NI of a peer, and which of
 * them are not as they should be. Pure: fabric.c measures.
 */
#ifndef LX_TOOLS_RAIL_H
#define LX_TOOLS_RAIL_H

#include <lnetx/nid.h>

#define LX_RAIL_PINGS_MAX 100
#define LX_RAIL_GATEWAYS_MAX 8

enum lx_rail_fault {
	LX_RAIL_WELL,
	LX_RAIL_DEAD,  /* no ping was answered */
	LX_RAIL_LOSSY, /* some were not */
	LX_RAIL_SLOW,  /* its latency is far above the median of its kind */
	LX_RAIL_MTU,   /* packets as large as our interface sends get lost */
};

struct lx_rail {
	struct lx_nid own;     /* any: no NI of ours gets there */
	struct lx_nid peer;    /* the peer's NI */
	struct lx_nid primary; /* the peer's name */
	unsigned int n_gateways; /* that LNet may choose from; 0: a direct rail */
	struct lx_nid gateway[LX_RAIL_GATEWAYS_MAX];

	unsigned int measured; /* times; 2: the first time it seemed to be at fault */
	unsigned int sent, answered; /* the last time */
	uint32_t rtt_us[LX_RAIL_PINGS_MAX]; /* of the answered ones */
	unsigned int mtu;     /* of our interface, bytes; 0: not known, or no IP below */
	unsigned int passed;  /* the largest packet answered; 0: none, so nothing is known */
	/* The gateway that answers came by, if none of the above; any: as the pings went. */
	struct lx_nid answers_by;
	char why[760];        /* why the last ping failed */

	enum lx_rail_fault fault; /* by lx_rail_judge() */
	uint32_t usual_us;        /* the median that it was compared with */
};

/* The median of its answers in microseconds; 0: there is none. */
uint32_t lx_rail_median(const struct lx_rail *rail);

/**
 * lx_rail_judge - find out which rails are at fault
 * @factor: a rail is slow if its median is more than so many times that of all rails of its
 *	kind, direct or routed, and by half a millisecond
 * Returns how many are at fault.
 */
size_t lx_rail_judge(struct lx_rail *rails, size_t n, double factor);

/**
 * lx_rail_explain - say what is wrong with a rail: which, the figure, and what to compare it with
 * @rails: all of them, judged
 * @buf: a line without a newline
 */
void lx_rail_explain(const struct lx_rail *rail, const struct lx_rail *rails, size_t n, char *buf,
		     size_t size);

/* "well", "dead", ... */
const char *lx_rail_fault_name(enum lx_rail_fault fault);

#endif
