/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection to lnetxd: requests out, answers in (internal/control.h). What went wrong
 * last is kept as number and text, to be told in whichever way the command has.
 */
#ifndef LX_TOOLS_SESSION_H
#define LX_TOOLS_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include <internal/control.h>

struct lx_session {
	const char *instance; /* as the user said, or NULL */
	int fd; /* -1: not yet connected */
	uint32_t seq;
	int error; /* of the last request, negative; 0 */
	int64_t count; /* how many it was done to; LX_UNSET: it did not say */
	char text[512]; /* why, and what to do */
	_Alignas(8) char buf[LX_CONTROL_PACKET];
};

/* Called with the attributes of each row of an answer. Non-zero ends it with that error. */
typedef int (*lx_row_fn)(const void *attrs, size_t len, void *arg);

void lx_session_init(struct lx_session *s, const char *instance);
void lx_session_fini(struct lx_session *s);

/**
 * lx_session_request - ask for something and wait for the answer
 * @flags: NLM_F_*
 * @schema: of @obj; NULL: nothing to say but the command
 * @fn: for the rows of a show; or NULL
 * Connects if need be. Returns 0 or a negative errno, with s->text saying why.
 */
int lx_session_request(struct lx_session *s, uint8_t command, uint16_t flags,
		       const struct lx_schema *schema, const void *obj, lx_row_fn fn, void *arg);

/* Notes an error of the tool's own. Returns @error. */
int lx_session_fail(struct lx_session *s, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
