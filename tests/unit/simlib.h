/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Nodes in virtual time with an application on them, for tests of the core: what the
 * application attaches and sends, and its events.
 */
#ifndef LX_TESTS_SIMLIB_H
#define LX_TESTS_SIMLIB_H

#include "testlib.h"

#include "../sim/sim.h"
#include "../../user/core/core.h"
#include "../../user/core/credit.h"
#include "../../user/core/discover.h"
#include "../../user/core/monitor.h"
#include "../../user/core/msg.h"
#include "../../user/core/parse.h"
#include "../../user/core/peerconf.h"

#define MS 1000000ULL
#define SEC LX_S_NS

extern const struct lx_sim_knobs sim_plain; /* 10 us of delay, one conn, nothing lost */

struct lx_nid nid(const char *text);
struct lx_id id(const char *text); /* pid 12345 */

/* A node with the given NIDs (terminated by NULL), 8 credits per peer and 256 in all. */
struct lx_sim_node *node_with(struct lx_sim *sim, const char *const *nids);
#define NODE(sim, ...) node_with(sim, (const char *const[]){ __VA_ARGS__, NULL })

/* A node's NI, or what it knows of a peer's NI, by NID; fails the test if there is none. */
struct lx_core_ni *ni_of(struct lx_sim_node *node, const char *text);
struct lx_peer_ni *pni_of(struct lx_sim_node *node, const char *text);

/* The latest events of all MDs of the test; newest last. */
#define LOG_MAX 4096
extern struct lx_event event_log[LOG_MAX];
extern unsigned int n_events;
void log_event(const struct lx_event *event);
void log_clear(void);
/* Returns the only event of a type; fails the test if there is not exactly one. */
const struct lx_event *the_event(enum lx_event_type type);
unsigned int count_events(enum lx_event_type type);

/* Short forms of the API; they fail the test on errors. */
struct lx_handle post(struct lx_sim_node *node, uint32_t portal, const char *who, uint64_t bits,
		      uint64_t ignore, void *mem, size_t len, unsigned int options,
		      int threshold);
struct lx_handle mem(struct lx_sim_node *node, void *start, size_t len, int threshold);
int put(struct lx_sim_node *node, struct lx_handle md, bool ack, const char *to, uint32_t portal,
	uint64_t bits);
int get(struct lx_sim_node *node, struct lx_handle md, const char *from, uint32_t portal,
	uint64_t bits);
/* Sends an ACK or REPLY, asked for or not, with @hdr->payload_length bytes of @payload; waits 1 s. */
void respond(struct lx_sim *sim, struct lx_sim_node *node, const struct lx_hdr *hdr, void *payload);

void add_route(struct lx_sim_node *node, const char *net, const char *gateway, int hop,
	       int priority);
void make_router(struct lx_sim_node *node);
void tune(struct lx_sim_node *node, const char *name, const char *value);

/* Asserts that all credits are back and nothing waits: the invariant between operations. */
void assert_at_rest(struct lx_sim_node *node);

#endif
