/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the options of a command (struct lx_option) with getopt_long(). */
#ifndef LX_TOOLS_OPTIONS_H
#define LX_TOOLS_OPTIONS_H

#include "lnetctl.h"

/**
 * lx_options_parse - read the words of a command
 * @argv: argv[0] is the verb
 * Returns 0, 1: help was asked for, or -EINVAL: complained about.
 */
int lx_options_parse(int argc, char **argv, const struct lx_lnetctl_cmd *v, struct lx_args *a);

#endif
