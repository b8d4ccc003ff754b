/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Looks up words of a command line in the tables of both grammars. The first member of an
 * entry is its name; the last entry has none. A NULL table is empty.
 */
#ifndef LX_TOOLS_WORDS_H
#define LX_TOOLS_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* "help", "--help", "-h" */
bool lx_words_is_help(const char *word);

/*
 * The entry of that name, or else the last one with that prefix.
 * @ret_n: number of candidates
 */
const void *lx_words_find(const void *table, size_t size, const char *word, size_t *ret_n);

/* Lists the names that start with @start ("": all), each preceded by a separator. */
void lx_words_list(const void *table, size_t size, const char *start, const char *separator,
		   char *buf, size_t buf_size);

/* The name that an unknown word may have meant; NULL: none is close enough. */
const char *lx_words_meant(const void *table, size_t size, const char *word);

#endif
