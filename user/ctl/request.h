/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of callers that fill in their structs; others use lnetx/ctl.h. */
#ifndef LX_CTL_REQUEST_H
#define LX_CTL_REQUEST_H

#include <lnetx/ctl.h>

/**
 * lx_ctl_start_with - lx_ctl_start() for callers that have the request's struct
 * @obj: what the request's schema describes; NULL: no arguments
 * @words: arguments that are flags, as for lx_ctl_start(); may be NULL
 */
int lx_ctl_start_with(struct lx_ctl *ctl, enum lx_ctl_verb verb, unsigned int object,
		      const void *obj, const struct lx_ctl_arg *words);

#endif
