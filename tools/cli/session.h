/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a command talks to: an lnetxd, by way of liblnetxctl. Keeps the last error as errno
 * and text, lnetxd's or the tool's own, for the command to report.
 */
#ifndef LX_TOOLS_SESSION_H
#define LX_TOOLS_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <internal/control.h>
#include <lnetx/ctl.h>

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

void lx_session_init(struct lx_session *s, const char *instance);
void lx_session_fini(struct lx_session *s);

/* False: there is no connection to lnetxd, or no more. */
bool lx_session_connected(const struct lx_session *s);

/**
 * lx_session_request - send a request and wait for the answer
 * @flags: NLM_F_*
 * @schema: of @obj; NULL: a command without arguments
 * @fn: for the rows of a show; may be NULL
 * Connects if need be. Returns 0 or a negative errno, with the reason in s->text.
 */
int lx_session_request(struct lx_session *s, uint8_t command, uint16_t flags,
		       const struct lx_schema *schema, const void *obj, lx_row_fn fn, void *arg);

/* Records an error of the tool itself. Returns @error. */
int lx_session_fail(struct lx_session *s, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
