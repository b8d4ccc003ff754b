/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Why something is down, and since when. Kept with the state of NIs, peer NIs, gateways and
 * routes.
 */
#ifndef LX_CORE_DOWN_H
#define LX_CORE_DOWN_H

#include <lnetx/info.h>

struct lx_core;

struct lx_cause {
	enum lx_down_why why; /* LX_DOWN_NO: it is up */
	int error;            /* negative errno, or 0 */
	uint32_t net;         /* the net concerned, or LX_NET_U32_ANY */
	uint64_t since_ns;    /* wall clock */
};

/* Sets the reason; down since now, if it was up. */
void lx_down_set(struct lx_core *core, struct lx_cause *cause, enum lx_down_why why, int error,
		 uint32_t net);
void lx_down_clear(struct lx_cause *cause);

/* A transport has no connection to it. */
static inline bool lx_down_is_lost(const struct lx_cause *cause)
{
	return cause->why == LX_DOWN_LOST || cause->why == LX_DOWN_HUNG_UP ||
	       cause->why == LX_DOWN_UNPRIVILEGED;
}

/* As a sentence; "" if it is up. Returns @buf. */
const char *lx_down_text(const struct lx_cause *cause, char *buf, size_t size);
void lx_down_describe(const struct lx_cause *cause, struct lx_down *ret_down);

struct lx_down_buf {
	char text[LX_DOWN_TEXT];
};
#define lx_down_str(cause) lx_down_text((cause), ((struct lx_down_buf){ { 0 } }).text, LX_DOWN_TEXT)

#endif
