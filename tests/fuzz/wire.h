/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node of tests/sim on a transport that the fuzzer plays: the input decides what arrives, when a
 * payload is complete, when a message is sent and with what result. Checks the rules of
 * internal/lnd.h: one recv() for each message parsed, no write beyond the memory offered, every
 * credit returned in the end.
 */
#ifndef LX_FUZZ_WIRE_H
#define LX_FUZZ_WIRE_H

#include "../../user/core/core.h"
#include "../../user/core/msg.h"
#include "../sim/sim.h"

/* ---- input: bytes that make decisions; 0 when used up ------------------------------ */

struct wire_input {
	const uint8_t *data;
	size_t left;
};

uint8_t wire_byte(struct wire_input *in);
uint32_t wire_u32(struct wire_input *in);
void wire_bytes(struct wire_input *in, void *buf, size_t len);

/* ---- the wire ---------------------------------------------------------------------- */

#define WIRE_ASKED 8

struct wire {
	struct wire_input *in;
	struct lx_sim *sim;
	struct lx_core *core;
	struct lx_lnd lnd;
	bool at_once;  /* sends and receives complete within the call */
	bool closing;  /* nothing arrives any more, and sends fail */
	struct lx_list out; /* of wire_out: sent, not finalized */
	struct lx_list rx; /* of wire_rx: parsed, not finalized */
	struct lx_hdr asked[WIRE_ASKED]; /* latest requests sent */
	unsigned int n_asked;
};

struct wire *wire_new(struct wire_input *in);
/* Adds an NI of the transport, by its NID as text. */
struct lx_core_ni *wire_ni(struct wire *w, const char *nid);
void wire_tune(struct wire *w, const char *name, const char *value);

struct lx_nid wire_nid(const char *text);

/*
 * Delivers a message to an NI, if that is up. Its payload is filled when wire_receive() says
 * so, or at once.
 */
void wire_deliver(struct wire *w, struct lx_core_ni *ni, const struct lx_hdr *hdr,
		  const struct lx_nid *from, bool rdma_get);

/* Completes or fails the @i'th (modulo) payload that the core waits for. */
void wire_receive(struct wire *w, unsigned int i, int status);
/* The @i'th outgoing message (modulo) was sent or lost. */
void wire_sent(struct wire *w, unsigned int i, int status);

/* Sends a response to one of the latest requests; @from: the previous hop. */
void wire_answer(struct wire *w, struct lx_core_ni *ni, const struct lx_nid *from,
		 unsigned int i, uint32_t length);

/* Runs deferred work and events; call it after each step. */
void wire_settle(struct wire *w);
/* Lets time pass. */
void wire_wait(struct wire *w, unsigned int seconds);

/* Completes everything in flight; checks that every credit is back; stops and frees. */
void wire_free(struct wire *w);

#endif
