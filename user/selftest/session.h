/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The session of a test node, and requests of consoles (selftest.md 4 to 6). Called with the
 * service's lock held.
 */
#ifndef LX_SELFTEST_SESSION_H
#define LX_SELFTEST_SESSION_H

#include <lnetx/lnetx.h>

#include "wire.h"

struct lx_selftest;

enum lx_lst_verdict {
	LX_LST_ANSWER, /* send the reply */
	LX_LST_FETCH, /* fetch the request's bulk from the console, then ask again */
	LX_LST_IGNORE, /* no reply */
};

/**
 * lx_lst_session_request - handle a request from a console that may send it
 * @request: of a service of the framework
 * @bulk, @len: its bulk, or NULL
 * @reply: initialised by the caller; gets status, session and features
 * @ret_fetch: bytes to fetch, with LX_LST_FETCH
 */
enum lx_lst_verdict lx_lst_session_request(struct lx_selftest *s, const struct lx_lst_msg *request,
					   const void *bulk, size_t len, struct lx_lst_msg *reply,
					   size_t *ret_fetch);

/* Ends the session, if there is one. @why: for the log */
void lx_lst_session_end(struct lx_selftest *s, const char *why);

/* Ends a session whose console has gone silent; resumes paused tests. */
void lx_lst_session_tick(struct lx_selftest *s, uint64_t now_ns);

#endif
