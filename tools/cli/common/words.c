/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Words in tables; see the header. No state. */
#include <stdio.h>
#include <string.h>

#include "../../../user/base/suggest.h"
#include "words.h"

static const char *name_of(const char *entry)
{
	return *(const char *const *)entry;
}

bool lx_words_is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

const void *lx_words_find(const void *table, size_t size, const char *word, size_t *ret_n)
{
	const void *found = NULL;

	*ret_n = 0;
	for (const char *p = table; p && name_of(p); p += size) {
		if (!strcmp(name_of(p), word)) {
			*ret_n = 1;
			return p;
		}
		if (strncmp(name_of(p), word, strlen(word)))
			continue;
		found = p;
		++*ret_n;
	}
	return found;
}

void lx_words_list(const void *table, size_t size, const char *start, const char *separator,
		   char *buf, size_t buf_size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (const char *p = table; p && name_of(p) && used < buf_size; p += size) {
		if (!strncmp(name_of(p), start, strlen(start)))
			used += snprintf(buf + used, buf_size - used, "%s%s", separator,
					 name_of(p));
	}
}

const char *lx_words_meant(const void *table, size_t size, const char *word)
{
	struct lx_suggest meant = lx_suggest(word);

	for (const char *p = table; p && name_of(p); p += size)
		lx_suggest_offer(&meant, name_of(p));
	return meant.best;
}
