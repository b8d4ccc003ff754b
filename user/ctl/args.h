/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A request's arguments, which are texts, as the struct that its schema describes. */
#ifndef LX_CTL_ARGS_H
#define LX_CTL_ARGS_H

#include <lnetx/ctl.h>

#include "../schema/schema.h"

struct lx_ctl_args_error {
	char word[64]; /* the key that is wrong; "" if none is */
	char text[400];
};

/**
 * lx_ctl_args_take - fill a request's struct
 * @args: ends with a NULL key; may be NULL
 * @given: defaults for arguments that are not in @args; of the same form
 * @obj: what @schema describes; set as a whole
 *
 * Returns 0, -EINVAL: @why says which one is wrong, -ENOMEM.
 */
int lx_ctl_args_take(const struct lx_schema *schema, const struct lx_ctl_arg *args,
		     const struct lx_ctl_arg *given, void *obj, struct lx_ctl_args_error *why);

#endif
