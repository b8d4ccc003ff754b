/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Similar words; see the header. No state. */
#include <ctype.h>
#include <string.h>

#include "suggest.h"

#define WORD_MAX 48
#define PART_MIN 4 /* letters: a shorter part of a word means nothing */

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Edit distance: letters added, left out, changed or swapped; ignores case. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[3][WORD_MAX + 1];
	unsigned int la = strlen(a), lb = strlen(b);

	if (la > WORD_MAX || lb > WORD_MAX)
		return WORD_MAX;
	for (unsigned int j = 0; j <= lb; j++)
		row[0][j] = j;
	for (unsigned int i = 1; i <= la; i++) {
		unsigned int *now = row[i % 3], *last = row[(i + 2) % 3],
			     *before = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned int j = 1; j <= lb; j++) {
			int x = tolower((unsigned char)a[i - 1]),
			    y = tolower((unsigned char)b[j - 1]);

			now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]))
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return row[la % 3][lb];
}

struct lx_suggest lx_suggest(const char *word)
{
	/* A third of its letters may be wrong, at least one. */
	unsigned int most = strlen(word) / 3;

	return (struct lx_suggest){ .word = word, .distance = (most ? most : 1) + 1 };
}

void lx_suggest_offer(struct lx_suggest *s, const char *candidate)
{
	unsigned int d = distance(s->word, candidate);

	/* "retry_count" for "lnet_retry_count", "accept_po" for "accept_port". */
	if (strlen(s->word) >= PART_MIN && strcasestr(candidate, s->word))
		d = least(d, 1);
	if (d >= s->distance)
		return;
	s->distance = d;
	s->best = candidate;
}
