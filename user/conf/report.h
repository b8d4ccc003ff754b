/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All that is wrong with a configuration, not the first of it. Filled by the walk over
 * the YAML (yaml.c), by what a configuration has to be in itself (check.c) and on this
 * machine (user/node/check.c).
 */
#ifndef LX_CONF_REPORT_H
#define LX_CONF_REPORT_H

#include <errno.h>
#include <stdbool.h>

#include <lnetx/conf.h>

#define LX_CONF_MISTAKES_MAX 100 /* more are not worth telling */

struct lx_conf_mistake {
	int error; /* negative errno */
	struct lx_conf_error what;
};

struct lx_conf_report { /* all 0: empty */
	struct lx_conf_mistake *list;
	size_t n;
	bool nets_unsure; /* section "net" has some: what depends on nets is not looked at */
	bool out_of_memory;
};

/* Whether there is no point in looking further. */
static inline bool lx_conf_is_fatal(int error)
{
	return error == -ENOMEM || error == -E2BIG;
}

/* Notes a mistake; a place has one, the first that was found there. Returns @error. */
int lx_conf_note(struct lx_conf_report *report, int error, struct lx_conf_place at, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));

/* Puts the mistakes into the order of the file; those without a place come last. */
void lx_conf_report_sort(struct lx_conf_report *report);

/**
 * lx_conf_report_end - what a function that tells one mistake has to say
 * @ret_err: gets the first one in the file; may be NULL
 * Empties the report. Returns 0 if there was none, else its errno.
 */
int lx_conf_report_end(struct lx_conf_report *report, struct lx_conf_error *ret_err);

#endif
