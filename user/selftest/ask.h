/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One request of a console to a test node, and its reply (selftest.md 1). It needs no service on
 * the node that asks. All functions may be called from any thread.
 */
#ifndef LX_SELFTEST_ASK_H
#define LX_SELFTEST_ASK_H

#include <lnetx/lnetx.h>

#include "wire.h"

struct lx_lst_ask;

/**
 * lx_lst_ask_fn - the outcome
 * @status: 0 or a negative errno: no reply came
 * @reply: valid during the call, if @status is 0; its own status is the test node's answer
 * Called once, on a thread of the node, with the request locked: it must not call back.
 */
typedef void (*lx_lst_ask_fn)(int status, const struct lx_lst_msg *reply, void *arg);

/**
 * lx_lst_ask_new - send a request
 * @service: what @request is for; one of the framework (selftest.md 3)
 * @request: rpyid, and of a test bulkid and ndest, are filled in
 * @dests: destinations of a test's client part; copied. NULL: none
 * @ret_ask: to be freed with lx_lst_ask_free()
 *
 * Waits without limit: the owner gives up. Returns 0, -EINVAL, -ENOMEM, -ESHUTDOWN, and what
 * lx_me_attach() and lx_put() return; then @fn is not called.
 */
int lx_lst_ask_new(struct lx_node *node, const struct lx_id *to, enum lx_lst_service service,
		   struct lx_lst_msg *request, const struct lx_lst_dest *dests, uint32_t n_dests,
		   lx_lst_ask_fn fn, void *arg, struct lx_lst_ask **ret_ask);

/* Ends it with @status; @fn is called soon, unless it was already. */
void lx_lst_ask_give_up(struct lx_lst_ask *ask, int status);

/* Frees it. If it still waits it is given up, and @fn is not called any more. NULL is fine. */
void lx_lst_ask_free(struct lx_lst_ask *ask);

#endif
