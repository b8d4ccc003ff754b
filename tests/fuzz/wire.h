/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A core on a transport that the fuzzer plays: it decides from its input what arrives,
 * when a payload is there, when something is sent and how that ends. And the rules of
 * internal/lnd.h are watched: one recv() for each message parsed, nothing written beyond
 * what was offered, every credit back in the end.
 */
#ifndef LX_FUZZ_WIRE_H
#define LX_FUZZ_WIRE_H

#include "../../user/core/core.h"
#include "../../user/core/msg.h"

/* ---- input: the bytes decide; when they are used up, all is 0 -------------------- */

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
	struct lx_core *core;
	struct lx_lnd lnd;
	uint64_t now_ns, seq;
	bool kicked;
	bool at_once;  /* what is sent or received ends within the call */
	bool closing;  /* nothing arrives any more, sends fail */
	struct lx_list out; /* of wire_out: sent, not finalized */
	struct lx_list rx;  /* of wire_rx: parsed, not finalized */
	struct lx_list told; /* events for the application */
	struct lx_hdr asked[WIRE_ASKED]; /* last requests that went out */
	unsigned int n_asked;
	unsigned int n_events;
};

struct wire *wire_new(struct wire_input *in);
/* An NI of the transport; its NID as text. */
struct lx_core_ni *wire_ni(struct wire *w, const char *nid);
void wire_tune(struct wire *w, const char *name, const char *value);

struct lx_nid wire_nid(const char *text);

/*
 * A message arrives at an NI, if that is up. Its payload comes from the input when
 * wire_receive() says so, or at once.
 */
void wire_deliver(struct wire *w, struct lx_core_ni *ni, const struct lx_hdr *hdr,
		  const struct lx_nid *from, bool rdma_get);

/* The @i'th (modulo) payload that the core waits for is there, or will never be. */
void wire_receive(struct wire *w, unsigned int i, int status);
/* The @i'th message that goes out is out, or lost. */
void wire_sent(struct wire *w, unsigned int i, int status);

/* A response to one of the last requests; @from: the previous hop. */
void wire_answer(struct wire *w, struct lx_core_ni *ni, const struct lx_nid *from,
		 unsigned int i, uint32_t length);

/* Put-off work, and events; after each step. */
void wire_settle(struct wire *w);
/* Time passes. */
void wire_wait(struct wire *w, unsigned int seconds);

/* All that is under way ends; every credit has to be back. Stops and frees. */
void wire_free(struct wire *w);

#endif
