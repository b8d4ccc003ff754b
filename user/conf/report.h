/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collects all mistakes in a configuration, not just the first. Filled by the walk over
 * the YAML (yaml.c), by checks of the configuration itself (check.c) and of this
 * machine (user/node/check.c).
 */
#ifndef LX_CONF_REPORT_H
#define LX_CONF_REPORT_H

#include <errno.h>
#include <stdbool.h>

#include <lnetx/conf.h>

#include "../base/text.h"

#define LX_CONF_MISTAKES_MAX 100 /* more are not reported */

struct lx_conf_mistake {
	int error; /* negative errno */
	struct lx_conf_error what;
};

struct lx_conf_report { /* all 0: empty */
	struct lx_conf_mistake *list;
	size_t n;
	bool nets_unsure; /* section "net" has some: skip checks that depend on nets */
	bool out_of_memory;
};

/* True if it makes no sense to continue. */
static inline bool lx_conf_is_fatal(int error)
{
	return error == -ENOMEM || error == -E2BIG;
}

/* Records a mistake; only the first one at each place. Returns @error. */
int lx_conf_note(struct lx_conf_report *report, int error, struct lx_conf_place at, const char *fmt,
		 ...) LX_PRINTF(4, 5);

/* Sorts the mistakes in the order of the file; those without a place come last. */
void lx_conf_report_sort(struct lx_conf_report *report);

/**
 * lx_conf_report_end - reduce a report to its first mistake
 * @ret_err: gets the first one in the file; may be NULL
 * Empties the report. Returns 0 if there was none, else its errno.
 */
int lx_conf_report_end(struct lx_conf_report *report, struct lx_conf_error *ret_err);

#endif
