/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The answers that we owe: the REPLY to a GET, the ACK to a PUT. A peer that asks, and does not
 * read what it is sent, would fill all memory with them. So they are bounded, for each peer NI
 * and in total; a request over the bound waits, and as its connection is not read meanwhile,
 * TCP holds its sender back.
 *
 * But what comes behind it on that connection may be an answer to us, and if the peer is a node
 * like this one, it may have stopped reading for the same reason: then neither would ever go on.
 * So while we wait for an answer from that peer NI, a request over the bound is dropped.
 */
#ifndef LX_CORE_ANSWER_H
#define LX_CORE_ANSWER_H

#include <stdint.h>

#include "../base/ratelimit.h"

struct lx_core;
struct lx_core_msg;
struct lx_peer_ni;

/* In bytes of memory. A peer with few answers is let in whatever others have made of the total. */
#define LX_ANSWERS_PEER (16u << 20)
#define LX_ANSWERS_TOTAL (128u << 20)
#define LX_ANSWERS_FEW (16u << 10)

struct lx_answers {
	uint64_t peer_max, total_max, few; /* the limits above; smaller in tests */
	struct lx_ratelimit full; /* by peer NI */
};

enum lx_answer_room { LX_ANSWER_ROOM, LX_ANSWER_WAITS, LX_ANSWER_NO_ROOM };

void lx_answers_init(struct lx_core *core);

/* May a request be answered now? WAITS: it is queued; lx_parse_again() when there is room. */
enum lx_answer_room lx_answer_room(struct lx_core_msg *request);

/* @answer is one now, to a request from @asker; until lx_answer_end() it counts. */
void lx_answer_begin(struct lx_core_msg *answer, struct lx_peer_ni *asker);
/* It has ended, if it was one: requests that wait go on. */
void lx_answer_end(struct lx_core_msg *answer);

#endif
