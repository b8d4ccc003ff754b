/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The program when called as lnetctl: finds the verb in the tables of lnetctl_cmds.c, parses
 * its options, runs it, and reports errors in the reference's form. Without a command it
 * reads commands from its input.
 */
#include <stdio.h>
#include <string.h>

#include "../common/complete.h"
#include "../common/words.h"
#include "input.h"
#include "lnetctl.h"
#include "options.h"
#include "record.h"

#define STATUS_USAGE 255
#define STATUS_REFUSED 234 /* -EINVAL, as an exit status */

static struct lx_complete end; /* with --complete */

/* ---- errors ------------------------------------------------------------------------ */

/* Prints an error record; returns the exit status. */
static int tell_error(const struct lx_session *s, const struct lx_group *g,
		      const struct lx_lnetctl_cmd *verb)
{
	int error = verb->map_error ? verb->map_error(s->error) : s->error;
	const char *op = verb->op ? verb->op : verb->name;
	const char *object = verb->object ? verb->object : g->name;

	if (verb->style == LX_ERROR_OLD) {
		lx_record_print_old(op, object, error, s->text);
		return error & 0xff;
	}
	lx_record_print(op, object, error, s->text);
	return STATUS_REFUSED;
}

/* ---- help -------------------------------------------------------------------------- */

static void verb_help(FILE *out, const struct lx_group *g, const struct lx_lnetctl_cmd *v)
{
	if (g->is_verb)
		fprintf(out, "%s: %s\n", v->name, v->help);
	else
		fprintf(out, "%s %s: %s\n", g->name, v->name, v->help);
	for (const struct lx_option *o = v->option; o && o->name; o++) {
		if (o->help)
			fprintf(out, "\t--%s: %s\n", o->name, o->help);
	}
}

static void group_help(FILE *out, const struct lx_group *g)
{
	for (const struct lx_lnetctl_cmd *v = g->verb; v->name; v++)
		verb_help(out, g, v);
}

static void all_help(FILE *out)
{
	fputs("usage: lnetctl COMMAND ...; see \"lnetctl help COMMAND\"\n\n", out);
	for (const struct lx_group *g = lx_groups; g->name; g++)
		fprintf(out, "%-16s %s\n", g->name, g->help);
}

static int list_commands(void)
{
	for (const struct lx_group *g = lx_groups; g->name; g++) {
		printf("%s", g->name);
		for (const struct lx_lnetctl_cmd *v = g->is_verb ? NULL : g->verb; v && v->name;
		     v++)
			printf(" %s", v->name);
		putchar('\n');
	}
	return 0;
}

/* A line for each command and each option; docs/lnetctl.md has all of them. */
static void list_verb(const char *group, const struct lx_lnetctl_cmd *v)
{
	printf("%s%s%s\n", group, *group ? " " : "", v->name);
	for (const struct lx_option *o = v->option; o && o->name; o++)
		printf("%s%s%s --%s\n", group, *group ? " " : "", v->name, o->name);
}

static int list_options(void)
{
	char name[40];

	for (const struct lx_group *g = lx_groups; g->name; g++) {
		for (const struct lx_lnetctl_cmd *v = g->verb; v->name; v++) {
			const struct lx_lnetctl_cmd *sub = v->verb;

			snprintf(name, sizeof(name), "%s %s", g->name, v->name);
			for (; sub && sub->name; sub++)
				list_verb(name, sub);
			if (!v->verb)
				list_verb(g->is_verb ? "" : g->name, v);
		}
	}
	return 0;
}

/* ---- dispatch ------------------------------------------------------------------------------- */

/* "help" alone, or "--help" anywhere; "-h" may be an option of the verb. */
static bool wants_help(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "help"))
		return true;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help"))
			return true;
	}
	return false;
}

static int run_group(struct lx_session *s, const struct lx_group *g, int argc, char **argv);

/* argv[0] is the verb. */
static int run_verb(struct lx_session *s, const struct lx_group *g, const struct lx_lnetctl_cmd *v,
		    int argc, char **argv)
{
	struct lx_args a = { .verb = v->name, .object = g->name };
	int err;

	if (v->verb) {
		char name[40];
		const struct lx_group verb = { name, v->help, v->verb, false };

		snprintf(name, sizeof(name), "%s %s", g->name, v->name);
		return run_group(s, &verb, argc, argv);
	}
	if (!end.word && wants_help(argc, argv)) {
		verb_help(stdout, g, v);
		return 0;
	}
	err = lx_options_parse(argc, argv, v, &a);
	if (end.word) {
		end.args = &a;
		end.own = !strcmp(g->name, "net");
		return lx_complete_lnetctl(&end, g, v);
	}
	if (err) {
		verb_help(err > 0 ? stdout : stderr, g, v);
		return err > 0 ? 0 : STATUS_REFUSED;
	}
	s->error = 0;
	err = v->fn(s, &a);
	if (err == LX_WANTS_HELP) {
		verb_help(stdout, g, v);
		return 0;
	}
	if (err >= LX_TOLD)
		return err - LX_TOLD;
	return err ? tell_error(s, g, v) : 0;
}

/* The entry of that name, or the only one with that prefix. NULL: error printed. */
static const void *find_name(const void *table, size_t size, const char *name)
{
	size_t n;
	const void *found = lx_words_find(table, size, name, &n);
	const char *meant;
	char list[300];

	if (n == 1)
		return found;
	if (n) {
		lx_words_list(table, size, name, ", ", list, sizeof(list));
		fprintf(stderr, "lnetctl: '%s' is ambiguous: %s\n", name, list + strlen(", "));
		return NULL;
	}
	meant = lx_words_meant(table, size, name);
	fprintf(stderr, "lnetctl: no command '%s'%s%s%s; see 'lnetctl --list-commands'\n", name,
		meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	return NULL;
}

/* argv[0] is the group. */
static int run_group(struct lx_session *s, const struct lx_group *g, int argc, char **argv)
{
	const struct lx_lnetctl_cmd *v;

	if (g->is_verb)
		return run_verb(s, g, g->verb, argc, argv);
	if (end.word && (argc < 2 || lx_words_is_help(argv[1])))
		return lx_complete_lnetctl(&end, g, NULL);
	if (argc < 2) {
		group_help(stderr, g);
		return STATUS_USAGE;
	}
	if (lx_words_is_help(argv[1]) && argc == 2) {
		group_help(stdout, g);
		return 0;
	}
	v = find_name(g->verb, sizeof(*v), argv[lx_words_is_help(argv[1]) ? 2 : 1]);
	if (!v)
		return STATUS_USAGE;
	if (lx_words_is_help(argv[1])) {
		verb_help(stdout, g, v);
		return 0;
	}
	return run_verb(s, g, v, argc - 1, argv + 1);
}

/* "help [GROUP [VERB]]"; argv[0] is the group. */
static int run_help(struct lx_session *s, int argc, char **argv)
{
	char *words[] = { NULL, "help", argc > 1 ? argv[1] : NULL, NULL };
	const struct lx_group *g;

	if (end.word && !argc)
		return lx_complete_lnetctl(&end, NULL, NULL);
	if (!argc) {
		all_help(stdout);
		return 0;
	}
	g = find_name(lx_groups, sizeof(*g), argv[0]);
	words[0] = argv[0];
	return g ? run_group(s, g, g->is_verb || argc == 1 ? 2 : 3, words) : STATUS_USAGE;
}

static int run_words(struct lx_session *s, int argc, char **argv)
{
	const struct lx_group *g;

	if (end.word && (!argc || argv[0][0] == '-'))
		return lx_complete_lnetctl(&end, NULL, NULL);
	if (lx_words_is_help(argv[0]))
		return run_help(s, argc - 1, argv + 1);
	if (!strcmp(argv[0], "--list-commands"))
		return list_commands();
	if (!strcmp(argv[0], "--list-options"))
		return list_options();
	if (!strcmp(argv[0], "--version")) {
		printf("lnetctl (lnetx) %s\n", LX_VERSION);
		return 0;
	}
	g = find_name(lx_groups, sizeof(*g), argv[0]);
	return g ? run_group(s, g, argc, argv) : STATUS_USAGE;
}

/* ---- the program ---------------------------------------------------------------------- */

static int run_line(void *arg, int argc, char **argv)
{
	return run_words(arg, argc, argv);
}

/*
 * Removes an option that the reference lacks, "@name VALUE", wherever it is. NULL: it is not there.
 */
static const char *take_option(int *argc, char **argv, const char *name)
{
	size_t len = strlen(name);
	const char *value = NULL;
	int kept = 1;

	for (int i = 1; i < *argc; i++) {
		if (!strncmp(argv[i], name, len) && argv[i][len] == '=')
			value = argv[i] + len + 1;
		else if (!strcmp(argv[i], name) && i + 1 < *argc)
			value = argv[++i];
		else
			argv[kept++] = argv[i];
	}
	*argc = kept;
	argv[kept] = NULL;
	return value;
}

int lx_lnetctl_main(int argc, char **argv)
{
	const char *wait;
	struct lx_session s;
	int status;

	end.session = &s;
	end.instance =
		lx_complete_begin(&end, &argc, &argv) && !strcmp(argv[argc - 1], "--instance");
	lx_session_init(&s, take_option(&argc, argv, "--instance"));
	wait = take_option(&argc, argv, "--wait");
	if (wait && !lx_session_set_wait(wait)) {
		fprintf(stderr, "lnetctl: --wait: \"%s\": whole seconds are expected\n", wait);
		return STATUS_USAGE;
	}
	lx_lnetctl_cmds_init();
	status = argc > 1 || end.word ? run_words(&s, argc - 1, argv + 1)
				      : lx_input_run("lnetctl> ", run_line, &s);
	lx_session_fini(&s);
	if (!lx_print_end("lnetctl") && !status)
		status = STATUS_USAGE;
	return status;
}
