/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Batches and tests of a session, and the units that generate traffic (selftest.md 5). A session
 * owns its batches, a batch its tests, a test its units. Called with the service's lock held.
 */
#ifndef LX_SELFTEST_BATCH_H
#define LX_SELFTEST_BATCH_H

#include "../base/list.h"
#include "wire.h"

struct lx_selftest;

struct lx_lst_session {
	struct lx_selftest *s;
	struct lx_list link; /* in lx_selftest.zombies once it has ended */
	struct lx_lst_sid sid;
	char name[LX_LST_NAME];
	uint32_t features;
	uint32_t refs; /* make session requests minus remove session requests */
	uint64_t started_ns, touched_ns;
	struct lx_list batches;
	uint32_t n_batches, n_tests, n_units;
	uint32_t active_batches, active_units;
	uint32_t brw_errors, ping_errors;
	bool ended;
};

struct lx_lst_batch {
	struct lx_list link;
	struct lx_lst_session *session;
	uint64_t id;
	struct lx_list tests; /* in the order added */
	uint32_t active_tests;
};

/* NULL: there is none. */
struct lx_lst_batch *lx_lst_batch_lookup(struct lx_lst_session *session, uint64_t id);

/* The same, but creates a missing one. Returns 0, or -ENOMEM: no memory, or too many. */
int lx_lst_batch_get(struct lx_lst_session *session, uint64_t id, struct lx_lst_batch **ret_batch);

/**
 * lx_lst_batch_add - add a test
 * @request: the test request; the caller has checked all of it but the parameters
 * @dests, @len: its destinations; NULL, 0 for a server part
 * Returns 0, -EINVAL: bad parameters, -EPROTO: a destination is not a NID, -ENOMEM: no memory, or
 * too many tests or units.
 */
int lx_lst_batch_add(struct lx_lst_batch *batch, const struct lx_lst_msg *request,
		     const void *dests, size_t len);

/* Starts the batch's traffic, unless it is running. */
void lx_lst_batch_run(struct lx_lst_batch *batch);

/* Stops the batch. @force: abort its requests; otherwise they may finish. */
void lx_lst_batch_stop(struct lx_lst_batch *batch, bool force);

/* Returns the number of active units of the @i-th test, from 1; -ENOENT: no such test. */
int lx_lst_batch_query(const struct lx_lst_batch *batch, uint32_t i);

/* Aborts a session's tests, and frees the session when the last one has drained. */
void lx_lst_batch_end(struct lx_lst_session *session);

/* Resumes units that could not send. */
void lx_lst_batch_tick(struct lx_lst_session *session);

#endif
