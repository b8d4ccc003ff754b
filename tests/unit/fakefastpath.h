/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's maps in plain memory, without programs, instead of user/bpf/fastpath.h:
 * for tests of what the daemon's half does with them. The test writes what the programs
 * would write, under the node lock.
 */
#ifndef LX_TESTS_FAKEFASTPATH_H
#define LX_TESTS_FAKEFASTPATH_H

#include "../../user/bpf/fastpath.h"

#define FAKE_STREAMS 8
#define FAKE_LANES 16
#define FAKE_DESTS 16

#define FAKE_PEERS (FAKE_STREAMS + FAKE_LANES)

struct lx_fastpath {
	struct lx_stream stream[FAKE_STREAMS];
	struct lx_lane lane[FAKE_LANES];
	struct lx_fp_peer peer[FAKE_PEERS];
	uint64_t taken[LX_FASTPATH_TABLES]; /* bitmaps of entries */
	int fd;
	unsigned int pokes[FAKE_STREAMS];
	struct lx_flow shift; /* the last one that was a stream, and is none any more */
	struct lx_nid dest[FAKE_DESTS]; /* that are known */
	unsigned int n_dests;
	bool unfit; /* no connection is suitable for the programs */
	bool is_short;      /* the tables should grow */
	unsigned int grown; /* how often they have, which takes a while each time */
};

/* Every interface is attached; takeovers of streams and lanes succeed. */
struct lx_fastpath *fake_fastpath_new(void);
/* Call it after freeing the environment that uses it. */
void fake_fastpath_free(struct lx_fastpath *fastpath);

#endif
