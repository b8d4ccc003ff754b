/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDMA hardware and connection manager in virtual time, for tests of o2iblnd: implements
 * lnd/o2ib/hw.h, and checks everything that real hardware would punish.
 *
 * - A message that finds no posted receive buffer fails the test: credits must prevent that.
 * - An RDMA write needs memory registered for it, and its key.
 * - Memory is read and written when a message is delivered, after the delay, so a
 *   sanitizer detects memory that is freed too early.
 * - Completions have their own delay, so an answer may overtake them.
 */
#ifndef LX_TESTS_SIMIB_H
#define LX_TESTS_SIMIB_H

#include "../../lnd/o2ib/hw.h"
#include "simlib.h"

struct simib_knobs {
	unsigned int failure; /* of 1000 messages: breaks the connection instead */
	unsigned int refuse;  /* of 1000 requests: refused by the CM */
	bool silent;          /* requests and messages are lost silently */
	size_t memlock;       /* limit of registered bytes; 0: none */
	bool trace;
};
extern struct simib_knobs simib;

/* Messages and rejects sent so far, by type; connections established. */
extern unsigned int simib_sent[256], simib_rejects[16], simib_established;

/* Registrations so far, and the ones that exist now. */
extern unsigned int simib_regs, simib_live;
extern size_t simib_pinned;

/* Install the fake hardware; remove it, after a check that everything was released. */
void simib_begin(struct lx_sim *sim);
void simib_end(void);

/* Adds an NI on o2ib to a node. */
void simib_ni_add(struct lx_sim_node *node, const char *nid, int peer_credits);

/*
 * Sends a raw connection request to an address and waits for the answer.
 * Returns the reason of the reject, 0 if accepted, -1 if the CM refused.
 */
int simib_request(const char *addr, const void *pdata, size_t len, uint16_t source_port,
		   void *ret_answer, size_t *ret_len);

#endif
