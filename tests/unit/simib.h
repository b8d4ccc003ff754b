/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDMA hardware and connection manager in virtual time, for tests of o2iblnd: what is
 * behind lnd/o2ib/hw.h, with everything checked that real hardware would punish.
 *
 * - A message that finds no posted receive buffer fails the test: credits must see to it.
 * - An RDMA write goes only to memory that is registered for it, under its key.
 * - Memory is read and written when a message is delivered, after the delay, so memory
 *   given back too early shows under a sanitizer.
 * - Completions come after a delay of their own, so an answer may overtake them.
 */
#ifndef LX_TESTS_SIMIB_H
#define LX_TESTS_SIMIB_H

#include "../../lnd/o2ib/hw.h"
#include "simlib.h"

struct simib_knobs {
	unsigned int failure; /* of 1000 messages: the connection breaks instead */
	unsigned int refuse;  /* of 1000 requests: the CM refuses */
	bool silent;          /* requests and messages are lost without a word */
	size_t memlock;       /* bytes that can be registered at a time; 0: any */
	bool trace;
};
extern struct simib_knobs simib;

/* What went over the wire so far, by type; and connections made. */
extern unsigned int simib_sent[256], simib_rejects[16], simib_established;

/* Memory registered so far, and what is now: registrations, bytes. */
extern unsigned int simib_regs, simib_live;
extern size_t simib_pinned;

/* Puts the fake in place of the hardware; at the end checks that nothing is left of it. */
void simib_begin(struct lx_sim *sim);
void simib_end(void);

/* Gives a node an NI on o2ib. */
void simib_ni_add(struct lx_sim_node *node, const char *nid, int peer_credits);

/*
 * A request of a stranger, as it would come in at an address; waits for the answer.
 * Returns the reason of the reject, 0 if it was accepted, -1 if the CM said no.
 */
int simib_request(const char *addr, const void *pdata, size_t len, uint16_t source_port,
		   void *ret_answer, size_t *ret_len);

#endif
