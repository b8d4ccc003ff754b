/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The words of "lst": a verb, or verbs from standard input; help; completion. See the header. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/array.h"
#include "../../../user/base/cleanup.h"
#include "../common/json.h"
#include "../common/print.h"
#include "lst.h"
#include "lst_verb.h"

#define WORDS_MAX 256 /* in a line of standard input */

static const struct lx_lst_verb *const tables[] = { lx_lst_session_verbs, lx_lst_group_verbs,
						    lx_lst_batch_verbs, lx_lst_test_verbs,
						    lx_lst_stat_verbs };

#define N_TABLES (LX_ARRAY_LEN(tables))

/* For each verb, in the order of the tables. */
#define FOR_EACH_VERB(v)                                                                           \
	for (size_t i = 0; i < N_TABLES; i++)                                                      \
		for (const struct lx_lst_verb *v = tables[i]; v->name; v++)

static const struct lx_lst_verb *find(const char *name)
{
	FOR_EACH_VERB(v)
	{
		if (!strcmp(v->name, name))
			return v;
	}
	return NULL;
}

static int unknown(const char *name)
{
	fprintf(stderr, "lst: '%s' is not a valid command. See 'lst --list-commands'.\n", name);
	return LX_LST_EXIT_FAILED;
}

static void list_verb(const char *name, const char *help)
{
	if (help)
		printf("%-14s %s\n", name, help);
	else
		printf("%s\n", name);
}

static int list_verbs(bool help)
{
	FOR_EACH_VERB(v)
	list_verb(v->name, help ? v->help : NULL);
	list_verb("help", help ? "list the commands, or show one's usage" : NULL);
	return 0;
}

static int help(const char *name)
{
	const struct lx_lst_verb *v = name ? find(name) : NULL;

	if (!name)
		return list_verbs(true);
	if (!v)
		return unknown(name);
	printf("%s: %s\nUsage: lst %s\n", v->name, v->help, v->usage);
	return 0;
}

/* argv[0] is the verb. Returns the exit status. */
static int run(int argc, char **argv)
{
	const struct lx_lst_verb *v = find(argv[0]);
	struct lx_lst l;
	int status;

	if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help"))
		return help(argc > 1 ? argv[1] : NULL);
	if (!strcmp(argv[0], "--list-commands"))
		return list_verbs(false);
	if (!v)
		return unknown(argv[0]);
	status = lx_lst_verb_find_daemon(&l);
	return status ? status : lx_lst_verb_do(&l, v, argc, argv);
}

/* Without a verb: one in each line. The status of each is forgotten, as in the reference. */
static int run_lines(void)
{
	char *line LX_AUTO_FREE = NULL, *words[WORDS_MAX + 1], *save;
	bool prompt = isatty(STDIN_FILENO);
	size_t size = 0;
	int n;

	for (;;) {
		if (prompt)
			printf("lst > ");
		fflush(stdout);
		if (getline(&line, &size, stdin) < 0)
			return 0;
		n = 0;
		for (char *w = strtok_r(line, " \t\n", &save); w && n < WORDS_MAX;
		     w = strtok_r(NULL, " \t\n", &save))
			words[n++] = w;
		words[n] = NULL;
		if (n && (!strcmp(words[0], "quit") || !strcmp(words[0], "exit")))
			return 0;
		if (n)
			run(n, words);
	}
}

/* ---- completion ----------------------------------------------------------------------- */

static void offer(const char *word, const char *candidate)
{
	if (!strncmp(candidate, word, strlen(word)))
		printf("%s\n", candidate);
}

static void offer_names(const json_t *list, const char *word)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		offer(word, lx_json_text(json_array_get(list, i), "name"));
}

/* Groups and batches: most words of a verb are one. */
static void offer_objects(const char *word)
{
	struct lx_lst l;

	if (lx_lst_verb_find_daemon(&l))
		return;
	if (!lx_lst_verb_begin(&l, false)) {
		offer_names(json_object_get(l.file.console, "groups"), word);
		offer_names(json_object_get(l.file.console, "batches"), word);
	}
	lx_lst_verb_end(&l);
}

/* Candidates for the last of the words, one per line. */
static int complete(int n, char **words)
{
	const char *word = n ? words[n - 1] : "";
	const struct lx_lst_verb *v = n > 1 ? find(words[0]) : NULL;

	if (n <= 1) {
		FOR_EACH_VERB(t)
		offer(word, t->name);
		offer(word, "help");
		return 0;
	}
	for (const struct lx_lst_option *o = v ? v->option : NULL; o && o->name; o++) {
		char text[40];

		snprintf(text, sizeof(text), "--%s", o->name);
		offer(word, text);
	}
	if (v && !strcmp(v->name, "add_test")) {
		static const char *const words_of_tests[] = { "ping", "brw", "read", "write",
							      "check=none", "check=simple",
							      "check=full", "size=", "off=" };

		for (size_t i = 0; i < LX_ARRAY_LEN(words_of_tests); i++)
			offer(word, words_of_tests[i]);
	}
	if (v && word[0] != '-')
		offer_objects(word);
	return 0;
}

int lx_lst_main(int argc, char **argv)
{
	int status;

	setlinebuf(stdout); /* in order with complaints */
	if (argc > 1 && !strcmp(argv[1], "--complete"))
		return complete(argc - 2, argv + 2);
	status = argc > 1 ? run(argc - 1, argv + 1) : run_lines();
	return lx_print_end("lst") ? status : LX_LST_EXIT_FAILED;
}
