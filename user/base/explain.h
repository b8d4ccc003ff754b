/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why something failed, in words for whoever asked for it. */
#ifndef LX_BASE_EXPLAIN_H
#define LX_BASE_EXPLAIN_H

#include <stddef.h>

/* Writes the text, cut off at @size. Returns @error, so that it can be returned at once. */
int lx_explain(char *text, size_t size, int error, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
