/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Encodes a request's arguments, which are texts, as attributes of its schema. */
#ifndef LX_CTL_ARGS_H
#define LX_CTL_ARGS_H

#include <linux/netlink.h>

#include <internal/control.h>
#include <lnetx/ctl.h>

struct lx_ctl_args_error {
	char word[64]; /* the key that is wrong; "" if none is */
	char text[400];
};

/**
 * lx_ctl_args_put - append arguments to a message
 * @size: of the buffer that starts at @nlh
 * @args: ends with a NULL key; may be NULL
 * @given: defaults for arguments that are not in @args; of the same form
 *
 * Checks them as lnetxd does. Returns 0, -EINVAL: @why says which one is wrong, -EMSGSIZE,
 * -ENOMEM.
 */
int lx_ctl_args_put(struct nlmsghdr *nlh, size_t size, const struct lx_schema *schema,
		    const struct lx_ctl_arg *args, const struct lx_ctl_arg *given,
		    struct lx_ctl_args_error *why);

#endif
