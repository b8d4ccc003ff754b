/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options of lnetctl's commands, by their tables; see the header. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define OPTIONS_MAX 32

struct getopt_tables {
	struct option longs[OPTIONS_MAX + 2];
	char shorts[OPTIONS_MAX * 3 + 4];
};

/* Values of getopt_long(): from 256 on, indexes into the verb's table. */
static void make_tables(const struct lx_option *options, struct getopt_tables *t)
{
	char *p = t->shorts;
	int n = 0;

	memset(t, 0, sizeof(*t));
	for (const struct lx_option *o = options; o && o->name && n < OPTIONS_MAX; o++, n++) {
		t->longs[n] =
			(struct option){ o->name,
					 o->kind == LX_OPTION_VALUE || o->kind == LX_OPTION_MANY
						 ? required_argument
					 : o->kind == LX_OPTION_LEVEL ? optional_argument
								      : no_argument,
					 NULL, 256 + n };
		if (!o->letter)
			continue;
		*p++ = o->letter;
		if (o->kind != LX_OPTION_FLAG)
			*p++ = ':';
		if (o->kind == LX_OPTION_LEVEL)
			*p++ = ':';
	}
	t->longs[n] = (struct option){ "help", no_argument, NULL, 'h' };
	if (!strchr(t->shorts, 'h'))
		*p++ = 'h';
}

static const struct lx_option *option_of(const struct lx_option *options, int opt)
{
	if (opt >= 256)
		return &options[opt - 256];
	for (const struct lx_option *o = options; o && o->name; o++) {
		if (o->letter == opt)
			return o;
	}
	return NULL;
}

/* Names have hyphens or underscores; either is understood for the other. */
static bool same_letter(char a, char b)
{
	return a == b || (a == '_' && b == '-') || (a == '-' && b == '_');
}

/* Spells "--name", "--name=value" or a start of the name as the table does. */
static void mend_name(char *word, const struct lx_option *options)
{
	size_t len, same;

	if (strncmp(word, "--", 2))
		return;
	word += 2;
	len = strcspn(word, "=");
	for (const struct lx_option *o = options; o->name; o++) {
		for (same = 0; same < len && same_letter(word[same], o->name[same]); same++)
			;
		if (same == len) {
			memcpy(word, o->name, len);
			return;
		}
	}
}

/* Hyphens and dashes that word processors make of "-": U+2010..2015, and the minus sign. */
static bool has_odd_dash(const char *word)
{
	return (!strncmp(word, "\xe2\x80", 2) && word[2] >= '\x90' && word[2] <= '\x95') ||
	       !strncmp(word, "\xe2\x88\x92", 3);
}

/* Scripts rely on it that the reference takes no notice of such words. */
static void tell_ignored(const char *word)
{
	fprintf(stderr, "lnetctl: \"%s\" is not expected here: ignored%s\n", word,
		has_odd_dash(word) ? "; its first character only looks like \"-\"" : "");
}

/* An option that the verb does not have. */
static void tell_ignored_option(char **argv)
{
	char letter[] = { '-', (char)optopt, '\0' };

	tell_ignored(optopt ? letter : argv[optind - 1]);
}

/* "-v" alone is level 1; a number after it is its value. */
static const char *level_value(int argc, char **argv)
{
	if (optarg)
		return optarg;
	if (optind < argc && argv[optind][0] &&
	    strspn(argv[optind], "0123456789") == strlen(argv[optind]))
		return argv[optind++];
	return "1";
}

/* Those that were given before, and this one. NULL: out of memory. */
static const char *append(const char *list, enum lx_arg_id id)
{
	static char *lists[LX_ARGS]; /* kept for the next command */
	size_t used = list ? strlen(list) + 1 : 0;
	char *mine = realloc(lists[id], used + strlen(optarg) + 1);

	if (!mine)
		return NULL;
	lists[id] = mine;
	if (used)
		mine[used - 1] = ',';
	strcpy(mine + used, optarg); /* fits: just made */
	return mine;
}

static const char *value_of(const struct lx_option *o, const char *before, int argc, char **argv)
{
	switch (o->kind) {
	case LX_OPTION_VALUE:
		return optarg;
	case LX_OPTION_MANY:
		return append(before, o->id);
	case LX_OPTION_LEVEL:
		return level_value(argc, argv);
	}
	return "1";
}

int lx_options_parse(int argc, char **argv, const struct lx_lnetctl_cmd *v, struct lx_args *a)
{
	/* The reference's shows without options do not look at what follows. */
	const bool any = v->option == lx_lnetctl_show_options;
	struct getopt_tables t;
	int opt;

	make_tables(v->option, &t);
	for (int i = 1; v->option && i < argc; i++)
		mend_name(argv[i], v->option);
	argv[0] = "lnetctl"; /* for error messages */
	optind = 0; /* restart */
	opterr = !any;
	while (v->option && (opt = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		const struct lx_option *o = option_of(v->option, opt);

		if (opt == '?' && any) {
			tell_ignored_option(argv);
			continue;
		}
		if (opt == '?') {
			o = optopt ? option_of(v->option, optopt) : NULL;
			a->lacks = o ? &o->id : NULL;
			return -EINVAL;
		}
		if (!o)
			return 1;
		a->v[o->id] = value_of(o, a->v[o->id], argc, argv);
		if (!a->v[o->id])
			return -ENOMEM;
	}
	/* Verbs without options take every word literally: "set response_tracking -1". */
	a->rest = v->option ? argv + optind : argv + 1;
	a->n_rest = v->option ? argc - optind : argc - 1;
	if (!v->option && a->n_rest && !strcmp(a->rest[0], "-h"))
		return 1;
	for (int i = v->max_rest; i < a->n_rest; i++)
		tell_ignored(a->rest[i]);
	if (a->n_rest > (int)v->max_rest)
		a->n_rest = v->max_rest;
	return 0;
}
