/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine of all consoles of LNet selftest, "lst", "lnetx selftest run" and "lnetx fabric
 * check": requests to many test nodes at a time, by lnetxd, and what they answer (selftest.md 9).
 *
 *	lx_trans_join()                    make session
 *	lx_trans_serve(), lx_trans_test()  server parts, client parts
 *	lx_trans_batch(), lx_trans_drain() run, stop
 *	lx_trans_count(), lx_trans_rate()  counters, and what became of them between two counts
 *	lx_trans_leave()                   remove session
 *
 * All but lx_trans_add() ask each node, and wait for all. Failures are in each one's err and
 * status. A node that fails is not asked again, except to leave: it takes part in nothing more.
 */
#ifndef LX_TOOLS_TRANS_H
#define LX_TOOLS_TRANS_H

#include <internal/ctl.h>
#include <jansson.h>

#include "../../../user/selftest/wire.h"

#define LX_TRANS_TIMEOUT_S 5 /* unless the user says otherwise */
#define LX_TRANS_TIMEOUT_MAX_S 30 /* of a console (selftest.md 10) */
#define LX_TRANS_WINDOW 16 /* nodes that are asked at a time */

/* One node, its last request and its answer. */
struct lx_trans_one {
	struct lx_ctl_ask req;
	char nid[LX_NID_TEXT]; /* req.nid */
	struct lx_nid serves_at; /* where its clients find it: req.nid */
	int err; /* 0, or a negative errno: it did not answer */
	int status; /* 0, or the positive errno that it answered */
	char why[512]; /* lnetxd's words if it did not answer */
	json_t *row; /* the answer (lx_object_answers); NULL: none */
	double heard_s; /* when it came, as lx_trans_now() */
	bool joined; /* has the session */
	bool failed; /* once */
	bool idle; /* when it was last queried: it makes no requests */
	json_t *begin, *now; /* counters: of the count that began, of the last one */
};

/* Some nodes. A part of them has the same ones. */
struct lx_trans {
	const char *address; /* of lnetxd, as of lx_ctl_new() */
	struct lx_trans_one *one;
	size_t n;
};

#define lx_trans_for_each(it, t)                                                                   \
	for (struct lx_trans_one *it = (t)->one; it < (t)->one + (t)->n; it++)

/* A test, between all clients and servers of a batch. */
struct lx_trans_test {
	uint32_t service; /* LX_LST_BRW or LX_LST_PING */
	uint32_t rw, check, length, offset; /* of brw */
	uint32_t loop, concurrency;
	uint32_t dist, span; /* that many clients share that many servers (selftest.md 10) */
};

/* Seconds on a clock that never goes back. */
double lx_trans_now(void);

/* The stamp of a new session: milliseconds of the calendar. */
int64_t lx_trans_stamp(void);

/**
 * lx_trans_new - room for nodes
 * Returns 0, or -ENOMEM: then none can be added. Free it with lx_trans_free(), always.
 */
int lx_trans_new(struct lx_trans *t, const char *address, size_t max);

/**
 * lx_trans_of - the nodes of a session between commands (console.h)
 * @nids: their NIDs as text; those that are none are left out
 * @timeout_s: for each answer; 0: the default
 */
void lx_trans_of(struct lx_trans *t, const char *address, const json_t *console, const json_t *nids,
		 int64_t timeout_s);

/* Adds a node. @base: what is the same in all requests to it: console, stamp, batch, time-out */
struct lx_trans_one *lx_trans_add(struct lx_trans *t, const struct lx_ctl_ask *base,
				  const struct lx_nid *nid);

/* The nodes from @first on; @n: at most. Not to be freed. */
struct lx_trans lx_trans_part(const struct lx_trans *t, size_t first, size_t n);

void lx_trans_free(struct lx_trans *t);

/* Each returns how many did not answer, or answered with an error. */

/* Another request, whose fields have been filled in. */
size_t lx_trans_ask(struct lx_trans *t, enum lx_lst_service service);

size_t lx_trans_join(struct lx_trans *t, const char *name, bool force);
size_t lx_trans_leave(struct lx_trans *t);

/* @clients: that may make requests to a server at a time */
size_t lx_trans_serve(struct lx_trans *t, const struct lx_trans_test *test, size_t clients);
size_t lx_trans_test(struct lx_trans *t, const struct lx_trans_test *test,
		     const struct lx_trans *servers);

/* @op: enum lx_lst_batch_op; @force: abort */
size_t lx_trans_batch(struct lx_trans *t, uint32_t op, bool force);

/* Stops the batch, and lets what is under way end; aborts it after @seconds. */
size_t lx_trans_drain(struct lx_trans *t, double seconds);

size_t lx_trans_count(struct lx_trans *t, bool begin);

/* All nodes that have not failed are idle. */
bool lx_trans_idle(const struct lx_trans *t);

/* Why a node that answered does not do @what: "is in session ..." */
void lx_trans_refusal(const struct lx_trans_one *one, const char *what, char *text, size_t size);

/* "none", "simple", "full": enum lx_lst_check; 0: it is none of them */
uint32_t lx_trans_check(const char *word);

/* Between two counts of a node: by how much a counter has grown, its errors, the time, the rate. */
int64_t lx_trans_grown(const json_t *begin, const json_t *now, const char *key);
int64_t lx_trans_errors(const json_t *begin, const json_t *now);
double lx_trans_seconds(const json_t *begin, const json_t *now);
double lx_trans_rate(const json_t *begin, const json_t *now, const char *key);

#endif
