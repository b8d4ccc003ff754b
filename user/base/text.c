/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include <string.h>

#include "text.h"

void lx_text_add(const struct lx_text *text, const char *fmt, ...)
{
	size_t used = strlen(text->buf);

	LX_FORMAT(text->buf + used, text->size - used, fmt);
}

void lx_text_join(char *buf, size_t size, const char *between, const char *word)
{
	lx_text_add(&(struct lx_text){ buf, size }, "%s%s", *buf ? between : "", word);
}
