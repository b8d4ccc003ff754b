/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A replay in progress. Private to replay.c and its two helpers: dials.c, the connections of
 * the far hosts, and actor.c, which owns our node and makes it do what programs and the admin
 * did with the captured one.
 */
#ifndef LX_TESTS_RUN_H
#define LX_TESTS_RUN_H

#include <lnetx/lnetx.h>

#include "mask.h"
#include "replay.h"
#include "script.h"

struct run {
	const struct replay *replay;
	struct lx_node *node;
	struct wires wires;
	struct script script[2];
	unsigned int n_scripts;
	struct mask mask;
	bool taught; /* our node: to dial in another version */

	struct lx_nid nid[8]; /* our node's */
	bool nid_gone[8];
	unsigned int n_nids;
	bool checking; /* our node should check its router */
	unsigned int n_errors; /* of requests and of attaching memory */
	void *memory[1024];
	unsigned int n_memory;

	uint8_t push[2048]; /* the last one of a far host, as sent */
	size_t push_len;
	uint32_t push_payload;

	struct mask_cookie acked[1024]; /* by our node, not yet found in a script */
	unsigned int n_acked;
};

/* Before a script: listens on the far addresses, opens existing connections. */
void dials_prepare(struct run *run, struct script *script);
/* After a script: identifies our node's connections by the captured ports from now on. */
void dials_remember(struct script *script);
/* Answers dials of our node that are in no script. */
void dials_answer(struct run *run);
/* Assigns a wire to the script's connection. */
void dials_own(struct script *script, unsigned int stream, struct wire *wire);

/* -1: not our node's. */
int actor_nid(const struct run *run, const struct lx_nid *nid);
/* Call it first, with every script: collects our node's NIDs. */
void actor_note_nids(struct run *run, const struct script *script);
void actor_start(struct run *run);
void actor_add_routes(struct run *run, const struct script *script);
/* Makes our node connect, by a ping. */
void actor_dial(struct run *run, const struct lx_nid *src, const struct lx_nid *dst);
/* A far host is about to send this: makes a program on our node expect it. */
void actor_expect(struct run *run, const struct script *script, const struct message *m);
/* No more messages arrive: does what the program or the admin did at this point. */
void actor_act(struct run *run, struct script *script);
/* Our node sent this. */
void actor_heard(struct run *run, const struct message *captured);

#endif
