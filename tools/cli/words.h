/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Words of a command line, in the tables of both grammars. The first member of a table's
 * entries is their name; the last entry has none. A table may be NULL: it is empty.
 */
#ifndef LX_TOOLS_WORDS_H
#define LX_TOOLS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* "help", "--help", "-h" */
bool lx_words_is_help(const char *word);

/*
 * The entry that is called so, or else the last one that begins so.
 * @ret_n: how many could be meant
 */
const void *lx_words_find(const void *table, size_t size, const char *word, size_t *ret_n);

/* Lists the names that begin with @start ("": all), a separator before each. */
void lx_words_list(const void *table, size_t size, const char *start, const char *separator,
		   char *buf, size_t buf_size);

/* The name that may have been meant by an unknown word; NULL: none is near enough. */
const char *lx_words_meant(const void *table, size_t size, const char *word);

#endif
