/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's maps in plain memory and no programs, in place of user/bpf/forward.h:
 * for tests of what the transport does with them. What programs would write, the test
 * writes, under the node lock.
 */
#ifndef LX_TESTS_FAKEFORWARD_H
#define LX_TESTS_FAKEFORWARD_H

#include "../../user/bpf/forward.h"

#define FAKE_STREAMS 8
#define FAKE_LANES 16
#define FAKE_DESTS 16

#define FAKE_HOPS (FAKE_STREAMS + FAKE_LANES)

struct lx_forward {
	struct lx_stream stream[FAKE_STREAMS];
	struct lx_lane lane[FAKE_LANES];
	struct lx_hop hop[FAKE_HOPS];
	uint64_t taken[LX_FORWARD_TABLES]; /* a bit an entry */
	int fd;
	unsigned int kicks[FAKE_STREAMS];
	struct lx_nid dest[FAKE_DESTS]; /* that are known */
	unsigned int n_dests;
};

/* Every interface is attached; a stream is armed, and a lane live, when that is asked for. */
struct lx_forward *fake_forward_new(void);
/* After the environment that has it. */
void fake_forward_free(struct lx_forward *forward);

#endif
