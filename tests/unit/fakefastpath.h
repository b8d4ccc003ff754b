/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's maps in plain memory, without programs, in place of user/bpf/fastpath.h: for
 * tests of the daemon's half. The test writes what the programs would write, under the node
 * lock.
 */
#ifndef LX_TESTS_FAKEFASTPATH_H
#define LX_TESTS_FAKEFASTPATH_H

#include "../../user/bpf/fastpath.h"

#define FAKE_STREAMS 8
#define FAKE_LANES 16
#define FAKE_DESTS 16

#define FAKE_PEERS (FAKE_STREAMS + FAKE_LANES)

#define FAKE_STORED 8

struct fake_stored {
	struct lx_stored head;
	uint8_t bytes[LX_STORED_MAX];
};

struct lx_fastpath {
	struct lx_stream stream[FAKE_STREAMS];
	struct lx_lane lane[FAKE_LANES];
	struct lx_fp_peer peer[FAKE_PEERS];
	uint64_t taken[LX_FASTPATH_TABLES]; /* bitmaps of entries */
	int fd;
	unsigned int pokes[FAKE_STREAMS];
	unsigned int fins[FAKE_LANES];
	struct lx_flow shift; /* the last flow that stopped being a stream */
	struct lx_nid dest[FAKE_DESTS]; /* the known destinations */
	unsigned int n_dests;
	bool unfit; /* no connection is suitable for the programs */
	bool unseen; /* the programs do not see packets */
	bool no_route; /* what they send does not arrive */
	uint32_t moved; /* by which interface packets of all connections come now; 0: as before */
	unsigned int n_filtered; /* sockets that take only what the programs have passed */
	bool is_short;      /* the tables need to grow */
	bool may_grow;      /* until then, growing goes on */
	unsigned int grown; /* how often they grew; each time takes a while */
	struct fake_stored stored[FAKE_STORED]; /* told of with the next record, last first */
	unsigned int n_stored;
};

/* Every interface is attached; takeovers of streams and lanes succeed. */
struct lx_fastpath *fake_fastpath_new(void);
/* Tells of bytes for a stored lane; under the node lock. */
void fake_fastpath_store(struct lx_fastpath *fastpath, uint32_t lane, uint64_t pos, const void *bytes,
			 uint32_t len);
/* Call it after freeing the environment that uses it. */
void fake_fastpath_free(struct lx_fastpath *fastpath);

#endif
