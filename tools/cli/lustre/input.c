/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands from standard input; see the header. No state. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"

#define WORDS_MAX 64

/* Splits a line into words, in place; quotes protect spaces. Returns their number. */
static int split(char *line, char **words, int max)
{
	char *p = line, *to;
	int n = 0;

	while (n < max) {
		p += strspn(p, " \t\n");
		if (!*p || *p == '#')
			break;
		words[n++] = to = p;
		for (char quote = 0; *p && (quote || !strchr(" \t\n", *p)); p++) {
			if (quote ? *p == quote : *p == '"' || *p == '\'')
				quote = quote ? 0 : *p;
			else
				*to++ = *p;
		}
		if (*p)
			p++;
		*to = '\0';
	}
	return n;
}

int lx_input_run(const char *prompt, lx_input_fn fn, void *arg)
{
	bool ask = isatty(STDIN_FILENO);
	char *words[WORDS_MAX + 1];
	int n, one, status = 0;
	char *line = NULL;
	size_t size = 0;

	for (;;) {
		if (ask) {
			fputs(prompt, stdout);
			fflush(stdout);
		}
		if (getline(&line, &size, stdin) < 0)
			break;
		n = split(line, words, WORDS_MAX);
		words[n] = NULL;
		if (n && (!strcmp(words[0], "quit") || !strcmp(words[0], "exit")))
			break;
		one = n ? fn(arg, n, words) : 0;
		if (one)
			status = one;
		fflush(stdout);
	}
	free(line);
	return status;
}
