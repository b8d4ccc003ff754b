/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Internals of liblnetxctl, also used by the tools of this tree, which fill in the structs of
 * internal/ctl.h themselves. All functions record errors in the handle.
 */
#ifndef LX_CTL_CTL_H
#define LX_CTL_CTL_H

#include <linux/netlink.h>
#include <stdbool.h>

#include <internal/ctl.h>
#include <lnetx/ctl.h>

#include "../base/text.h"

struct lx_ctl {
	char *address; /* as given; may be NULL */
	int fd; /* -1: not connected */
	int give; /* a descriptor to send with the request, or -1 */
	int timeout_ms; /* -1: for ever */
	uint32_t seq;
	bool answering; /* the end of the last answer has not been read */
	bool reset; /* the connection's reset has been reported once */
	struct lx_ctl_error why;
	const struct lx_ctl_shown *shown; /* of the answer; NULL: skip its rows */
	unsigned int level; /* of the answer */
	size_t at, got; /* in buf: the next message, and the end */
	_Alignas(8) char buf[LX_CTL_PACKET];
};

/* Records the outcome of a call. Returns @error. */
int lx_ctl_fail(struct lx_ctl *ctl, enum lx_ctl_origin origin, int error, const char *fmt, ...)
	LX_PRINTF(4, 5);

/* Clears the outcome of the previous call, and the rest of its answer. */
void lx_ctl_discard(struct lx_ctl *ctl);

/* Closes the connection; the next request opens it again. */
void lx_ctl_close(struct lx_ctl *ctl);

/**
 * lx_ctl_send - send a request; read the answer with lx_ctl_receive()
 * @flags: NLM_F_*
 * @schema: of @obj; NULL: a command without arguments
 * Returns 0 or -errno.
 */
int lx_ctl_send(struct lx_ctl *ctl, uint8_t command, uint16_t flags, const struct lx_schema *schema,
		const void *obj);

/**
 * lx_ctl_receive - the next row of the answer
 * @ret_attrs: its attributes, @ret_len bytes; valid until the next call
 * Returns 1: a row; 0: the end of a successful answer; or -errno.
 */
int lx_ctl_receive(struct lx_ctl *ctl, const void **ret_attrs, size_t *ret_len);

#endif
