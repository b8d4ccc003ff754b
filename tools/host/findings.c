/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by the parts of the doctor. */
#include <stdarg.h>

#include "findings.h"

void lx_findings_add(struct lx_findings *f, bool problem, const char *about, const char *next,
		     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_array_append_new(f->list, json_pack("{ss, ss, so, ss}", "level",
						 problem ? "problem" : "advice", "about", about,
						 "reason", json_vsprintf(fmt, ap), "next", next));
	va_end(ap);
	f->n_problems += problem;
}
