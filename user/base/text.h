/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Strings that grow in a buffer, and are truncated at its end. */
#ifndef LX_BASE_TEXT_H
#define LX_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* A function's parameters are those of printf(), from these on. */
#define LX_PRINTF(format_, first) __attribute__((format(printf, format_, first)))

/* Writes what the function was given by @fmt and the parameters after it. */
#define LX_FORMAT(buf, size, fmt)                                                                  \
	do {                                                                                       \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, fmt);                                                                 \
		vsnprintf(buf, size, fmt, ap);                                                     \
		va_end(ap);                                                                        \
	} while (0)

struct lx_text {
	char *buf; /* a string; "" at first */
	size_t size;
};

/* Appends to it. */
void lx_text_add(const struct lx_text *text, const char *fmt, ...) LX_PRINTF(2, 3);

/* Appends a word to a list in @buf, such as "tcp, o2ib"; @between comes before all but the first.
 */
void lx_text_join(char *buf, size_t size, const char *between, const char *word);

#endif
