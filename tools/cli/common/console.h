/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of the console of LNet selftest between commands of "lst", as one JSON value: pure
 * functions. The file that keeps it is in console_file.c, requests are in trans.c.
 *
 *	{ "name", "key", "console", "stamp", "timeout", "used",	of the session; used: last, s
 *	  "nodes": { NID: { "state", "heard", "timeout" } },	heard: last answer, s
 *	  "groups": [ { "name", "nodes": [NID] } ],
 *	  "batches": [ { "name", "id", "running", "tests": [ { "type", "loop", "concurrency",
 *		"from", "to", "clients": [NID], "servers": [NID], ... } ] } ] }
 *
 * Time is in seconds on a clock that never goes back.
 */
#ifndef LX_TOOLS_CONSOLE_H
#define LX_TOOLS_CONSOLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../user/selftest/wire.h"

#define LX_CONSOLE_DEFAULT_BATCH "batch" /* every session has it */

/* A node as the console sees it. */
enum lx_console_state {
	LX_CONSOLE_ACTIVE, /* has our session */
	LX_CONSOLE_BUSY, /* has the session of another console */
	LX_CONSOLE_DOWN, /* does not answer */
	LX_CONSOLE_UNKNOWN, /* has no session, or was not asked yet */
	LX_CONSOLE_STATES,
};

/* All states but active, as a set: 1 << state. */
#define LX_CONSOLE_INVALID                                                                         \
	(1u << LX_CONSOLE_BUSY | 1u << LX_CONSOLE_DOWN | 1u << LX_CONSOLE_UNKNOWN)

/* "Active"; its name in options: "active" */
const char *lx_console_state_name(enum lx_console_state state);

/* A new session without nodes; owned by the caller. NULL: out of memory. */
json_t *lx_console_new(const char *name, uint32_t key, const char *console, int64_t stamp,
		       int64_t timeout, int64_t now);

/* ---- nodes ---------------------------------------------------------------------------- */

/* @nid: as text. LX_CONSOLE_UNKNOWN: it is not in the session, too. */
enum lx_console_state lx_console_node(const json_t *console, const char *nid);

/* The NIDs of all nodes; a new array. */
json_t *lx_console_nodes(const json_t *console);

/* Of @nids those that are active; a new array. */
json_t *lx_console_active(const json_t *console, const json_t *nids);

/* Sets a node's state; it is added if it is new. @timeout: of its session, 0: as before */
void lx_console_heard(json_t *console, const char *nid, enum lx_console_state state,
		      int64_t timeout, int64_t now);

/* The owner of a node's session, by its answer to a debug request (lx_object_answers). */
enum lx_console_state lx_console_judge(const json_t *console, const json_t *answer);

/* How many of @nids (NULL: none) are in each state. */
void lx_console_count(const json_t *console, const json_t *nids,
		      unsigned int ret_count[LX_CONSOLE_STATES]);

/* Active nodes that need a sign of life now: silent for half of their time-out. New array. */
json_t *lx_console_due(const json_t *console, int64_t now);

/* No command has come for longer than the session's time-out. */
bool lx_console_expired(const json_t *console, int64_t now);

/* ---- groups --------------------------------------------------------------------------- */

/* The nodes of a group; NULL: no such group. */
json_t *lx_console_group(const json_t *console, const char *name);

/* -EEXIST: there is one. */
int lx_console_group_add(json_t *console, const char *name);

/* A test uses it. */
bool lx_console_group_busy(const json_t *console, const char *name);

/* Removes a group. -ENOENT, -EBUSY: a test uses it. */
int lx_console_group_del(json_t *console, const char *name);

/* The array has this text. */
bool lx_console_has(const json_t *list, const char *text);

/* Forgets nodes that are in no group any more. @ret_gone: those that were active; a new array */
void lx_console_sweep(json_t *console, json_t **ret_gone);

/* ---- batches -------------------------------------------------------------------------- */

/* NULL: no such batch. */
json_t *lx_console_batch(const json_t *console, const char *name);

/* -EEXIST: there is one. */
int lx_console_batch_add(json_t *console, const char *name);

/* The nodes that have a part of any test (@test 0) or of that one; a new array. */
json_t *lx_console_batch_nodes(const json_t *batch, size_t test, bool server);

/*
 * The number that @nid knows the client part of the @test-th test by: nodes count the parts that
 * they got, of each test the server's first. 0: it has no such part.
 */
uint32_t lx_console_test_index(const json_t *batch, size_t test, const char *nid);

/**
 * lx_console_dests - the destinations of a client
 * @i: which client, from 0
 * @dist, @span: that many clients share that many servers (selftest.md 10)
 * @n: servers
 * @ret_dest: indexes of servers; room for @n
 * Returns how many.
 */
size_t lx_console_dests(size_t i, uint32_t dist, uint32_t span, size_t n, size_t *ret_dest);

#endif
