/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetx: objects, verbs and keywords; any of them may be cut short as long as it stays
 * unambiguous. Shows are tables, JSON or YAML from the same tree.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lnetx.h"
#include "print.h"
#include "tree.h"

#define REST_MAX 64

static struct lx_format format;

/* ---- output ----------------------------------------------------------------------- */

const struct lx_format *lx_lnetx_format(void)
{
	return &format;
}

bool lx_lnetx_as_tree(void)
{
	return format.json || format.yaml;
}

void lx_lnetx_print(const char *key, json_t *value)
{
	json_t *map = json_pack("{so}", key, value);

	if (format.json)
		lx_print_json(stdout, map, format.pretty);
	else
		lx_print_yaml(stdout, map, &lx_layout_narrow);
	json_decref(map);
}

void lx_lnetx_print_time(const json_t *row, const char *what)
{
	json_int_t us = json_integer_value(json_object_get(row, "time_us"));
	json_int_t lost = json_integer_value(json_object_get(row, "lost"));
	time_t seconds = us / 1000000;
	struct tm tm;
	char when[32];

	localtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	if (lost)
		printf("(%" JSON_INTEGER_FORMAT " %s lost: too slow)\n", lost, what);
	printf("%s.%06d  ", when, (int)(us % 1000000));
}

int lx_lnetx_event(const struct lx_control_object *object, const void *attrs, size_t len,
		   void (*print)(const json_t *row))
{
	json_t *row = lx_tree_fields(object->row, attrs, len, LX_LEVEL_OWN);

	if (!row)
		return -ENOMEM;
	if (format.json)
		lx_print_json(stdout, row, false); /* a line each, for programs that read along */
	else if (format.yaml)
		lx_lnetx_print(object->yaml, json_incref(row));
	else
		print(row);
	json_decref(row);
	return fflush(stdout) ? -EPIPE : 0;
}

/* ---- help ------------------------------------------------------------------------- */

static const char options_text[] =
	"options:\n"
	"  -j, --json            JSON; keys in snake_case\n"
	"  -y, --yaml            YAML, with the keys of lnetctl\n"
	"  -p, --pretty          with -j: line breaks\n"
	"  -s, --stats           more columns, more counters\n"
	"  -n, --instance NAME   which lnetxd (default: $LNETX_INSTANCE, or that of this network\n"
	"                        namespace)\n"
	"  -V, --version\n"
	"  -h, --help\n";

static void help(FILE *out)
{
	fputs("usage: lnetx [OPTIONS] OBJECT [VERB] [KEYWORD VALUE ...]\n"
	      "       lnetx OBJECT help\n\nobjects:\n",
	      out);
	for (const struct lx_object *o = lx_objects; o->name; o++)
		fprintf(out, "  %-12s %s\n", o->name, o->help);
	fputc('\n', out);
	fputs(options_text, out);
}

/* A command that is called as its object has no verb. */
static bool is_verbless(const struct lx_object *o)
{
	return !strcmp(o->name, o->command->name);
}

static void command_help(FILE *out, const struct lx_object *o, const struct lx_command *c)
{
	fprintf(out, "lnetx %s", o->name);
	if (!is_verbless(o))
		fprintf(out, " %s", c->name);
	if (c->rest)
		fprintf(out, " %s", c->rest);
	for (const struct lx_keyword *k = c->keyword; k && k->name; k++)
		fprintf(out, k->value ? " [%s %s]" : " [%s]", k->name, k->value);
	fprintf(out, "\n\t%s\n", c->help);
}

static void object_help(FILE *out, const struct lx_object *o)
{
	for (const struct lx_command *c = o->command; c->name; c++)
		command_help(out, o, c);
}

/* For the shell's completion: words that may come next, a line for each command. */
static void list_words(void)
{
	for (const struct lx_object *o = lx_objects; o->name; o++) {
		for (const struct lx_command *c = o->command; c->name; c++) {
			printf("%s %s", o->name, is_verbless(o) ? "-" : c->name);
			for (const struct lx_keyword *k = c->keyword; k && k->name; k++)
				printf(" %s", k->name);
			putchar('\n');
		}
	}
}

/* ---- the command line ------------------------------------------------------------- */

/*
 * The entry that is called so, or the only one that begins so. For the tables of
 * lnetx.h: their first member is the name.
 */
static const void *find_name(const void *table, size_t size, const char *word)
{
	const void *found = NULL;
	bool ambiguous = false;

	for (const char *p = table; p && *(const char *const *)p; p += size) {
		const char *name = *(const char *const *)p;

		if (!strcmp(name, word))
			return p;
		if (strncmp(name, word, strlen(word)))
			continue;
		ambiguous = found;
		found = p;
	}
	return ambiguous ? NULL : found;
}

/* Complains about a word, with what could stand there. */
static int unknown(const char *what, const char *word, const void *table, size_t size)
{
	fprintf(stderr, "lnetx: \"%s\" is no %s here; one of:", word, what);
	for (const char *p = table; p && *(const char *const *)p; p += size)
		fprintf(stderr, " %s", *(const char *const *)p);
	fputc('\n', stderr);
	return LX_EXIT_USAGE;
}

/* Keywords with their values; other words are the rest, where a command takes some. */
static int parse_words(int argc, char **argv, const struct lx_object *o, const struct lx_command *c,
		       struct lx_args *a)
{
	static char *rest[REST_MAX];

	a->rest = rest;
	for (int i = 0; i < argc; i++) {
		const struct lx_keyword *k = find_name(c->keyword, sizeof(*k), argv[i]);

		/* NIDs and files are not taken for keywords cut short. */
		if (k && c->rest && strcmp(k->name, argv[i]))
			k = NULL;
		if (!k && c->rest && a->n_rest < REST_MAX) {
			rest[a->n_rest++] = argv[i];
			continue;
		}
		if (!k) {
			unknown("keyword", argv[i], c->keyword, sizeof(*k));
			command_help(stderr, o, c);
			return LX_EXIT_USAGE;
		}
		if (k->value && i + 1 == argc) {
			fprintf(stderr, "lnetx: \"%s\" needs a value (%s)\n", k->name, k->value);
			return LX_EXIT_USAGE;
		}
		a->v[k->id] = k->value ? argv[++i] : "1";
	}
	return 0;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* What could not be understood is the user's affair, what was refused the daemon's. */
static int failed(const struct lx_session *s)
{
	if (*s->text)
		fprintf(stderr, "lnetx: %s\n", s->text);
	return s->seq				  ? LX_EXIT_REFUSED
	       : s->fd < 0 && s->error != -EINVAL ? LX_EXIT_REFUSED
						  : LX_EXIT_USAGE;
}

static int run_command(const char *instance, const struct lx_object *o, const struct lx_command *c,
		       int argc, char **argv)
{
	struct lx_args a = { .verb = c->name };
	struct lx_session s;
	int status = parse_words(argc, argv, o, c, &a);

	if (status)
		return status;
	lx_session_init(&s, instance);
	if (c->fn(&s, &a))
		status = failed(&s);
	lx_session_fini(&s);
	if (fflush(stdout) || ferror(stdout))
		status = status ? status : LX_EXIT_REFUSED;
	return status;
}

/* argv[0] is the object. */
static int run_object(const char *instance, int argc, char **argv)
{
	const struct lx_object *o = find_name(lx_objects, sizeof(*o), argv[0]);
	const struct lx_command *c;

	if (!o)
		return unknown("object", argv[0], lx_objects, sizeof(*o));
	if (argc > 1 && is_help(argv[1])) {
		object_help(stdout, o);
		return 0;
	}
	if (is_verbless(o))
		return run_command(instance, o, o->command, argc - 1, argv + 1);
	if (argc == 1)
		return run_command(instance, o, o->command, 0, argv);
	c = find_name(o->command, sizeof(*c), argv[1]);
	if (!c)
		return unknown("verb", argv[1], o->command, sizeof(*c));
	return run_command(instance, o, c, argc - 2, argv + 2);
}

int lx_lnetx_main(int argc, char **argv)
{
	static const struct option table[] = { { "json", no_argument, NULL, 'j' },
					       { "yaml", no_argument, NULL, 'y' },
					       { "pretty", no_argument, NULL, 'p' },
					       { "stats", no_argument, NULL, 's' },
					       { "instance", required_argument, NULL, 'n' },
					       { "version", no_argument, NULL, 'V' },
					       { "help", no_argument, NULL, 'h' },
					       { "list-commands", no_argument, NULL, 'L' },
					       { NULL, 0, NULL, 0 } };
	const char *instance = NULL;
	int opt;

	/* '+': options end where the object begins. */
	while ((opt = getopt_long(argc, argv, "+jypsn:Vh", table, NULL)) != -1) {
		switch (opt) {
		case 'j':
			format.json = true;
			break;
		case 'y':
			format.yaml = true;
			break;
		case 'p':
			format.pretty = true;
			break;
		case 's':
			format.more = true;
			break;
		case 'n':
			instance = optarg;
			break;
		case 'V':
			printf("lnetx %s\n", LX_VERSION);
			return 0;
		case 'L':
			list_words();
			return 0;
		case 'h':
			help(stdout);
			return 0;
		default:
			help(stderr);
			return LX_EXIT_USAGE;
		}
	}
	if (optind == argc || is_help(argv[optind])) {
		help(optind == argc ? stderr : stdout);
		return optind == argc ? LX_EXIT_USAGE : 0;
	}
	return run_object(instance, argc - optind, argv + optind);
}
