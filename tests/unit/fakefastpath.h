/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's maps in plain memory and no programs, in place of user/bpf/fastpath.h:
 * for tests of what the transport does with them. What programs would write, the test
 * writes, under the node lock.
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
	uint64_t taken[LX_FASTPATH_TABLES]; /* a bit an entry */
	int fd;
	unsigned int pokes[FAKE_STREAMS];
	struct lx_nid dest[FAKE_DESTS]; /* that are known */
	unsigned int n_dests;
	bool unfit; /* no connection is what programs can serve */
};

/* Every interface is attached; streams and lanes are taken over when that is asked for. */
struct lx_fastpath *fake_fastpath_new(void);
/* After the environment that has it. */
void fake_fastpath_free(struct lx_fastpath *fastpath);

#endif
