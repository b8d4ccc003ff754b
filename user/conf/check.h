/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks a configuration itself, without a node or a machine. Used by user/node/check.c,
 * which knows both.
 */
#ifndef LX_CONF_CHECK_H
#define LX_CONF_CHECK_H

#include <lnetx/tunable.h>

#include "report.h"

/**
 * lx_conf_read - like lx_conf_parse(), but reports all mistakes
 * @report: gets them
 * @ret_conf: what could be parsed; owned by the caller
 * Returns 0, even with mistakes; -E2BIG, -ENOMEM.
 */
int lx_conf_read(const char *yaml, size_t len, struct lx_conf_report *report,
		 struct lx_conf **ret_conf);

struct lx_conf_module {
	const char *name; /* "lnet", "tcp"; NULL ends a list */
	const struct lx_tunable *tunables;
};

/**
 * lx_conf_check - report unknown tunables, values out of range, duplicate NIs, routes, peers and
 *	selection policies, and those that a node with this configuration cannot have
 * @all: its NIs, and those of the node that it is to be added to
 * @modules: those that have tunables
 */
void lx_conf_check(const struct lx_conf *conf, const struct lx_conf *all,
		   const struct lx_conf_module *modules, struct lx_conf_report *report);

#endif
