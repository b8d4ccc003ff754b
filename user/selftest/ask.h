/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One request of a console to a test node, and its reply (selftest.md 1). The node that asks needs
 * no test service of its own. All functions may be called from any thread.
 */
#ifndef LX_SELFTEST_ASK_H
#define LX_SELFTEST_ASK_H

#include <lnetx/lnetx.h>

#include "wire.h"

struct lx_lst_ask;

/**
 * lx_lst_ask_fn - called with the outcome
 * @status: 0, or a negative errno: there is no reply
 * @reply: valid during the call, if @status is 0; its own status is the test node's answer
 * Called once, on a thread of the node or by lx_lst_ask_give_up(), with the request locked: it must
 * not call back.
 */
typedef void (*lx_lst_ask_fn)(int status, const struct lx_lst_msg *reply, void *arg);

/**
 * lx_lst_ask_new - send a request
 * @service: a framework service (selftest.md 3)
 * @request: the function fills in rpyid; for a test, bulkid and ndest, too
 * @dests: destinations of a test's client part; copied. NULL: none
 * @ret_ask: free it with lx_lst_ask_free()
 *
 * There is no time limit; call lx_lst_ask_give_up(). Returns 0, -EINVAL, -ENOMEM, -ESHUTDOWN, or
 * what lx_me_attach() and lx_put() return. On failure @fn is not called.
 */
int lx_lst_ask_new(struct lx_node *node, const struct lx_id *to, enum lx_lst_service service,
		   struct lx_lst_msg *request, const struct lx_lst_dest *dests, uint32_t n_dests,
		   lx_lst_ask_fn fn, void *arg, struct lx_lst_ask **ret_ask);

/* Ends the request with @status: calls @fn, on this thread, unless it already was. */
void lx_lst_ask_give_up(struct lx_lst_ask *ask, int status);

/* Gives up if no reply came, without calling @fn, and frees it. NULL is fine. */
void lx_lst_ask_free(struct lx_lst_ask *ask);

#endif
