/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Strings that grow in a buffer, and are truncated at its end. */
#ifndef LX_BASE_TEXT_H
#define LX_BASE_TEXT_H

#include <stddef.h>

struct lx_text {
	char *buf; /* a string; "" at first */
	size_t size;
};

/* Appends to it. */
void lx_text_add(const struct lx_text *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends a word to a list in @buf, such as "tcp, o2ib"; @between comes before all but the first.
 */
void lx_text_join(char *buf, size_t size, const char *between, const char *word);

#endif
