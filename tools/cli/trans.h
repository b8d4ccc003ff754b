/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of a console of LNet selftest to many nodes at a time, by lnetxd. */
#ifndef LX_TOOLS_TRANS_H
#define LX_TOOLS_TRANS_H

#include <internal/control.h>
#include <jansson.h>

#define LX_TRANS_TIMEOUT_S 5 /* unless the user says otherwise */
#define LX_TRANS_TIMEOUT_MAX_S 30 /* of a console (selftest.md 10) */

/* One node's request, and its answer. */
struct lx_trans_one {
	struct lx_control_ask req; /* filled in by the caller */
	char nid[LX_NID_TEXT]; /* req.nid */
	int err; /* 0, or a negative errno: it did not answer */
	int status; /* 0, or the positive errno that it answered */
	json_t *row; /* the answer (lx_control_answers); NULL: none */
};

struct lx_trans {
	struct lx_trans_one *one;
	size_t n;
};

/**
 * lx_trans_new - prepare the same request to several nodes
 * @console: the session (console.h)
 * @nids: their NIDs as text; those that are none are left out
 * @timeout_s: for each answer; 0: the default
 * Returns 0, or -ENOMEM. Free it with lx_trans_free(), always.
 */
int lx_trans_new(struct lx_trans *t, const json_t *console, const json_t *nids, uint32_t service,
		 int64_t timeout_s);

/*
 * Sends all and waits for all. @address: of lnetxd, as of lx_ctl_new(). What goes wrong is in
 * each request's err.
 */
void lx_trans_run(struct lx_trans *t, const char *address);

/* How many did not answer, or answered with an error. */
size_t lx_trans_failed(const struct lx_trans *t);

/* Complains about each that failed: "create session RPC failed on 12345-10.0.0.1@tcp: ..." */
void lx_trans_print(const struct lx_trans *t, const char *what);

/* A field of the answer; 0 if there is none. */
int64_t lx_trans_number(const struct lx_trans_one *one, const char *key);

void lx_trans_free(struct lx_trans *t);

#endif
