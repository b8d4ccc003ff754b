/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The findings of "lnetx doctor": a list of JSON objects, each with level (problem or advice),
 * about, reason and next.
 */
#ifndef LX_TOOLS_FINDINGS_H
#define LX_TOOLS_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>

struct lx_findings {
	json_t *list; /* owned */
	unsigned int n_problems;
};

/* Adds one. @next: a command, or what else to do */
__attribute__((format(printf, 5, 6))) void lx_findings_add(struct lx_findings *f, bool problem,
							   const char *about, const char *next,
							   const char *fmt, ...);

#endif
