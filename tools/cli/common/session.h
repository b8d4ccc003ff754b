/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A command's connection to an lnetxd, by way of liblnetxctl. Keeps the last error as errno
 * and text, lnetxd's or the tool's own, for the command to report.
 */
#ifndef LX_TOOLS_SESSION_H
#define LX_TOOLS_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <internal/ctl.h>
#include <lnetx/ctl.h>

#include "../../../user/base/text.h"

struct lx_session {
	const char *instance; /* as the user gave it; may be NULL */
	struct lx_ctl *ctl; /* NULL: nothing was asked yet */
	bool asked; /* lnetxd got a request */
	int error; /* of the last request, negative; 0 */
	int64_t count; /* number of objects affected; LX_UNSET: unknown */
	char text[512]; /* the reason, and what to do */
};

/* Called with the attributes of each row of an answer. Non-zero ends it with that error. */
typedef int (*lx_row_fn)(const void *attrs, size_t len, void *arg);

/* Seconds without a sign of life after which lnetxd is given up, by default. */
#define LX_SESSION_WAIT_S 10

void lx_session_init(struct lx_session *s, const char *instance);

/* For all sessions: "--wait" is @text, seconds; 0: for ever. False: it is no such number. */
bool lx_session_set_wait(const char *text);

/* A handle with that limit; otherwise as lx_ctl_new(). */
int lx_session_ctl_new(const char *address, struct lx_ctl **ret_ctl);
void lx_session_fini(struct lx_session *s);

/* False: there is no connection to lnetxd, or no more. */
bool lx_session_connected(const struct lx_session *s);

/*
 * Each sends a request and waits for the answer; connects if need be. Returns 0 or a negative
 * errno, with the reason in s->text.
 */

/* @obj: the request's struct of internal/ctl.h; NULL: it has no arguments */
int lx_session_do(struct lx_session *s, enum lx_ctl_verb verb, unsigned int object,
		  const void *obj);

/* The same with flags (@words, or NULL), and @fn for each row, or NULL. */
int lx_session_read(struct lx_session *s, enum lx_ctl_verb verb, unsigned int object,
		    const void *obj, const struct lx_ctl_arg *words, lx_row_fn fn, void *arg);

/* The same for YAML, to be added or deleted; see lx_ctl_import(). */
int lx_session_import(struct lx_session *s, enum lx_ctl_verb verb, const char *yaml, size_t len,
		      lx_row_fn fn, void *arg);

/* Records an error of the tool itself. Returns @error. */
int lx_session_fail(struct lx_session *s, int error, const char *fmt, ...) LX_PRINTF(3, 4);

#endif
