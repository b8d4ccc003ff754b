/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Configurations looked over: what they are in themselves, without a node or a machine.
 * Used by user/node/check.c, which knows these two.
 */
#ifndef LX_CONF_CHECK_H
#define LX_CONF_CHECK_H

#include <lnetx/tunable.h>

#include "report.h"

/**
 * lx_conf_read - as lx_conf_parse(), but tells all mistakes
 * @report: gets them
 * @ret_conf: what could be understood; the caller's
 * Returns 0, also with mistakes; -E2BIG, -ENOMEM.
 */
int lx_conf_read(const char *yaml, size_t len, struct lx_conf_report *report,
		 struct lx_conf **ret_conf);

struct lx_conf_module {
	const char *name; /* "lnet", "tcp"; NULL ends a list */
	const struct lx_tunable *tunables;
};

/**
 * lx_conf_check - tunables that do not exist or have values out of range, NIs, routes and
 *	peers that are there twice, or that no node with just this configuration could have
 * @modules: those that have tunables
 */
void lx_conf_check(const struct lx_conf *conf, const struct lx_conf_module *modules,
		   struct lx_conf_report *report);

#endif
