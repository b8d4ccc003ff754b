/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The reason of a failure as text, next to its errno. */
#ifndef LX_BASE_EXPLAIN_H
#define LX_BASE_EXPLAIN_H

#include <stddef.h>

#include "text.h"

/* Formats the text, truncated at @size. Returns @error, so that callers can return it. */
int lx_explain(char *text, size_t size, int error, const char *fmt, ...) LX_PRINTF(4, 5);

#endif
