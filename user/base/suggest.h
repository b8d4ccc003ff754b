/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Suggests the known word that an unknown one was meant to be:
 *
 *	struct lx_suggest s = lx_suggest("acept");
 *
 *	for each known word: lx_suggest_offer(&s, word);
 *	if (s.best) ... did you mean "accept"?
 */
#ifndef LX_BASE_SUGGEST_H
#define LX_BASE_SUGGEST_H

struct lx_suggest {
	const char *word;
	const char *best; /* of the words offered; NULL: none is close enough */
	unsigned int distance;
};

struct lx_suggest lx_suggest(const char *word);
/* Keeps a pointer to @candidate. */
void lx_suggest_offer(struct lx_suggest *s, const char *candidate);

#endif
