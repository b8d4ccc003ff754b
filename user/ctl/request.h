/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of requests. Tests compare the documentation with it. */
#ifndef LX_CTL_REQUEST_H
#define LX_CTL_REQUEST_H

#include <stdbool.h>

#include <internal/control.h>
#include <lnetx/ctl.h>

/* An argument, "true" or "false", that sets a flag of the message. */
struct lx_ctl_flag {
	const char *key;
	uint16_t flag; /* NLM_F_* */
	bool inverse;
};

struct lx_ctl_request {
	uint8_t object, verb; /* enum lx_ctl_object, enum lx_ctl_verb */
	uint16_t flags; /* NLM_F_* */
	const struct lx_schema *schema; /* of the arguments; NULL: the end of the table */
	const struct lx_control_object *shown; /* of the rows; NULL: there are none */
	const struct lx_ctl_arg *given; /* arguments that the caller may omit; or NULL */
	const struct lx_ctl_flag *words; /* terminated by key NULL; or NULL */
};

extern const struct lx_ctl_request lx_ctl_requests[];

/**
 * lx_ctl_start_with - lx_ctl_start() for callers that have the request's struct
 * @obj: what the request's schema describes; NULL: no arguments
 * @words: arguments that are flags, as for lx_ctl_start(); may be NULL
 */
int lx_ctl_start_with(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
		      const void *obj, const struct lx_ctl_arg *words);

#endif
