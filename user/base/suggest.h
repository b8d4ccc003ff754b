/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What somebody may have meant who wrote a word that is not known:
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
	const char *best; /* of those offered; NULL: none is near enough */
	unsigned int distance;
};

struct lx_suggest lx_suggest(const char *word);
/* @candidate is kept. */
void lx_suggest_offer(struct lx_suggest *s, const char *candidate);

#endif
