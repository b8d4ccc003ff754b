/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetx: objects, verbs and keywords, each of which may be abbreviated as long as it stays
 * unambiguous. Shows are tables, JSON or YAML from the same tree.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../user/base/text.h"
#include "../common/complete.h"
#include "../common/print.h"
#include "../common/tree.h"
#include "../common/words.h"
#include "lnetx.h"

#define REST_MAX 64

static struct lx_format format;
static bool printed; /* a document */

/* ---- output ----------------------------------------------------------------------- */

const struct lx_format *lx_lnetx_format(void)
{
	return &format;
}

bool lx_lnetx_as_tree(void)
{
	return format.json || format.yaml;
}

void lx_lnetx_print_map(json_t *map)
{
	if (format.json)
		lx_print_json(stdout, map, format.pretty);
	else
		lx_print_yaml(stdout, map, &lx_print_narrow);
	json_decref(map);
	printed = true;
}

void lx_lnetx_print(const char *key, json_t *value)
{
	lx_lnetx_print_map(json_pack("{so}", key, value));
}

void lx_lnetx_print_rows(json_t *list, const struct lx_ctl_shown *shown)
{
	if (lx_lnetx_as_tree()) {
		lx_lnetx_print(shown->yaml, list);
		return;
	}
	lx_print_table(stdout, list, shown, format.more);
	json_decref(list);
}

json_t *lx_lnetx_error(int error, const char *reason)
{
	return json_pack("{si, ss}", "errno", error, "reason", reason);
}

/* Reports a usage error. */
LX_PRINTF(1, 2) static int complain(const char *fmt, ...)
{
	char text[600];

	LX_FORMAT(text, sizeof(text), fmt);
	if (lx_lnetx_as_tree())
		lx_lnetx_print("error", lx_lnetx_error(-EINVAL, text));
	else
		fprintf(stderr, "lnetx: %s\n", text);
	return LX_EXIT_USAGE;
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

int lx_lnetx_event(const struct lx_ctl_shown *object, const void *attrs, size_t len,
		   void (*print)(const json_t *row))
{
	json_t *row = lx_tree_fields(object->row, attrs, len, LX_LEVEL_OWN);

	if (!row)
		return -ENOMEM;
	if (format.json)
		lx_print_json(stdout, row, false); /* one line each, for programs that follow */
	else if (format.yaml)
		lx_lnetx_print(object->yaml, json_incref(row));
	else
		print(row);
	json_decref(row);
	return fflush(stdout) ? -errno : 0;
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
	"  -w, --wait SECONDS    give up if lnetxd gives no sign of life for so long "
	"(default: 10;\n"
	"                        0: never)\n"
	"  -V, --version\n"
	"  -h, --help\n";

static void help(FILE *out)
{
	fputs("usage: lnetx [OPTIONS] OBJECT [VERB] [KEYWORD VALUE ...]\n"
	      "       lnetx help [OBJECT [VERB]]\n\nobjects:\n",
	      out);
	for (const struct lx_lnetx_object *o = lx_lnetx_cmds; o->name; o++)
		fprintf(out, "  %-12s %s\n", o->name, o->help);
	fputs("\nObjects, verbs and keywords may be abbreviated; options may stand anywhere.\n\n",
	      out);
	fputs(options_text, out);
}

/* A command named like its object has no verb. */
static bool is_verbless(const struct lx_lnetx_object *o)
{
	return !strcmp(o->name, o->command->name);
}

static void keyword_help(FILE *out, const struct lx_command *c, const struct lx_keyword *k)
{
	bool required = k - c->keyword < c->required;

	fprintf(out, " %s%s", required ? "" : "[", k->name);
	if (k->value)
		fprintf(out, " %s", k->value);
	fputs(required ? "" : "]", out);
}

void lx_lnetx_syntax(FILE *out, const struct lx_lnetx_object *o, const struct lx_command *c)
{
	fprintf(out, "lnetx %s", o->name);
	if (!is_verbless(o))
		fprintf(out, " %s", c->name);
	if (c->rest)
		fprintf(out, " %s", c->rest);
	for (const struct lx_keyword *k = c->keyword; k && k->name; k++) {
		if (!lx_keyword_is_alias(c, k))
			keyword_help(out, c, k);
	}
}

static void command_help(FILE *out, const struct lx_lnetx_object *o, const struct lx_command *c)
{
	lx_lnetx_syntax(out, o, c);
	fprintf(out, "\n\t%s\n", c->help);
}

static void object_help(FILE *out, const struct lx_lnetx_object *o)
{
	for (const struct lx_command *c = o->command; c->name; c++)
		command_help(out, o, c);
}

/* For the shell's completion: the words that may come next, one line per command. */
static void list_words(void)
{
	for (const struct lx_lnetx_object *o = lx_lnetx_cmds; o->name; o++) {
		for (const struct lx_command *c = o->command; c->name; c++) {
			printf("%s %s", o->name, is_verbless(o) ? "-" : c->name);
			for (const struct lx_keyword *k = c->keyword; k && k->name; k++)
				printf(" %s", k->name);
			putchar('\n');
		}
	}
}

/* ---- the command line ------------------------------------------------------------- */

/* The rest of the line. Options may stand between words, but not in place of a value. */
struct line {
	char **word; /* terminated by NULL */
	const char *instance;
	bool help, version;
	const char *bad; /* what an option lacks */
	struct lx_complete end; /* with --complete */
};

static const struct {
	char letter;
	const char *name;
} options[] = { { 'j', "json" },  { 'y', "yaml" },     { 'p', "pretty" },
		{ 's', "stats" }, { 'n', "instance" }, { 'w', "wait" },
		{ 'h', "help" },  { 'V', "version" },  { 0, NULL } };

static void take_flag(struct line *l, char letter)
{
	if (l->end.word)
		return;
	format.json |= letter == 'j';
	format.yaml |= letter == 'y';
	format.pretty |= letter == 'p';
	format.more |= letter == 's';
	l->help |= letter == 'h';
	l->version |= letter == 'V';
}

/* @value: the rest of the same word; NULL: the value is the next word. */
static void take_value(struct line *l, char letter, const char *value)
{
	if (!value && l->word[1])
		value = *++l->word;
	if (letter == 'n') {
		l->instance = value;
		l->bad = value ? l->bad : "--instance needs a value";
		l->end.instance = !value;
	} else if (!value || !lx_session_set_wait(value)) {
		l->bad = "--wait needs whole seconds";
	}
}

static bool has_value(char letter)
{
	return letter == 'n' || letter == 'w';
}

static char letter_of(const char *name, size_t len)
{
	for (int i = 0; options[i].name; i++) {
		if (strlen(options[i].name) == len && !strncmp(options[i].name, name, len))
			return options[i].letter;
	}
	return 0;
}

/* "--json", "--instance=NAME", "--instance NAME" */
static bool take_long(struct line *l, const char *name)
{
	const char *value = strchr(name, '=');
	char letter = letter_of(name, value ? (size_t)(value - name) : strlen(name));

	if (!letter || (value && !has_value(letter)))
		return false;
	if (has_value(letter))
		take_value(l, letter, value ? value + 1 : NULL);
	else
		take_flag(l, letter);
	return true;
}

/* "-jp", "-nNAME", "-n NAME", "-w5"; but not "-1". */
static bool take_short(struct line *l, const char *letters)
{
	size_t flags = strspn(letters, "jypshV");

	if (letters[flags] && !has_value(letters[flags]))
		return false;
	for (size_t i = 0; i < flags; i++)
		take_flag(l, letters[i]);
	if (letters[flags])
		take_value(l, letters[flags], letters[flags + 1] ? letters + flags + 1 : NULL);
	return true;
}

static bool take_option(struct line *l)
{
	const char *word = *l->word;

	if (word[0] != '-' || !word[1])
		return false;
	if (word[1] == '-' ? !take_long(l, word + 2) : !take_short(l, word + 1))
		return false;
	l->word++;
	return true;
}

/* The next word that is not an option; NULL: there is none. */
static char *next_word(struct line *l)
{
	while (*l->word && take_option(l))
		;
	return *l->word ? *l->word++ : NULL;
}

/* The entry of that name, or the only one with that prefix. */
static const void *find_name(const void *table, size_t size, const char *word, bool *ret_ambiguous)
{
	size_t n;
	const void *found = lx_words_find(table, size, word, &n);

	*ret_ambiguous = n > 1;
	return n == 1 ? found : NULL;
}

/* Reports an unknown word, with the words expected. */
static int unknown(const char *what, const char *word, const void *table, size_t size,
		   bool ambiguous)
{
	const char *meant = lx_words_meant(table, size, word);
	char list[400];

	lx_words_list(table, size, ambiguous ? word : "", " ", list, sizeof(list));
	if (ambiguous)
		return complain("\"%s\" is ambiguous:%s", word, list);
	if (!*list)
		return complain("unknown %s \"%s\"; none is expected", what, word);
	return complain("unknown %s \"%s\"; %s%s%sone of:%s", what, word,
			meant ? "did you mean \"" : "", meant ? meant : "", meant ? "\"? " : "",
			list);
}

/* The keyword that the word looks like a value of: nets and NIDs do. NULL: none */
static const struct lx_keyword *keyword_of(const struct lx_command *c, const char *word)
{
	const struct lx_keyword *k = c->keyword;
	bool is_nid = strchr(word, '@');
	uint32_t net;

	while (k && k->name &&
	       (!k->value || (is_nid ? strncmp(k->value, "NID", 3)
				     : strcmp(k->value, "NET") || lx_net_parse(word, &net))))
		k++;
	return k && k->name ? k : NULL;
}

/* For keywords, shows their values, too. */
static int unknown_keyword(const char *word, const struct lx_lnetx_object *o,
			   const struct lx_command *c, bool ambiguous)
{
	const struct lx_keyword *k = keyword_of(c, word);
	int status = word[0] == '-' ? complain("there is no option \"%s\"", word)
		     : k ? complain("unknown keyword \"%s\"; did you mean \"%s %s\"?", word,
				    k->name, word)
			 : unknown("keyword", word, c->keyword, sizeof(*c->keyword), ambiguous);

	if (!lx_lnetx_as_tree())
		command_help(stderr, o, c);
	return status;
}

/* How many words without a keyword a command takes, as its help says: "[MODULE [NAME]]". */
static int rest_max(const struct lx_command *c)
{
	int n = c->rest != NULL;

	for (const char *p = c->rest; p && *p; p++)
		n += *p == ' ';
	return c->rest && strstr(c->rest, "...") ? REST_MAX : n;
}

/*
 * Parses keywords with their values; other words are the rest, if the command takes any.
 * Returns 0, an exit status, or -1: help was requested.
 */
static int parse_words(struct line *l, const struct lx_lnetx_object *o, const struct lx_command *c,
		       struct lx_args *a)
{
	static char *rest[REST_MAX];
	char *word;

	a->rest = rest;
	while ((word = next_word(l))) {
		bool ambiguous, room = a->n_rest < rest_max(c);
		const struct lx_keyword *k = find_name(c->keyword, sizeof(*k), word, &ambiguous);

		/* Do not take NIDs and files for abbreviated keywords. */
		if (k && room && strcmp(k->name, word))
			k = NULL;
		if (lx_words_is_help(word) && (!c->rest || (!a->n_rest && !*l->word)))
			return -1;
		if (!k && room && strncmp(word, "--", 2)) {
			rest[a->n_rest++] = word;
			continue;
		}
		if (!k && !strcmp(c->name, "show") && (k = keyword_of(c, word))) {
			a->v[k->id] = word; /* what else could it be */
			continue;
		}
		if (!k)
			return unknown_keyword(word, o, c, ambiguous);
		if (k->value && !*l->word) {
			a->lacks = &k->id;
			return complain("\"%s\" needs a value (%s)", k->name, k->value);
		}
		a->v[k->id] = k->value ? *l->word++ : "1";
	}
	return l->help ? -1 : 0;
}

/* Exit status: a usage error, or refused by the daemon. */
static int failed(const struct lx_session *s)
{
	if (*s->text && lx_lnetx_as_tree())
		lx_lnetx_print("error", lx_lnetx_error(s->error, s->text));
	else if (*s->text)
		fprintf(stderr, "lnetx: %s\n", s->text);
	if (s->asked || (!lx_session_connected(s) && s->error != -EINVAL))
		return LX_EXIT_REFUSED;
	return LX_EXIT_USAGE;
}

/* Completes the line's last word, instead of running it. */
static int complete(struct line *l, const struct lx_lnetx_object *o, const struct lx_command *c)
{
	struct lx_session s;

	lx_session_init(&s, l->instance);
	l->end.session = &s;
	l->end.own = o && !strcmp(o->name, "net");
	lx_complete_lnetx(&l->end, o, c);
	lx_session_fini(&s);
	return 0;
}

static int print_version(void)
{
	printf("lnetx %s\n", LX_VERSION);
	return 0;
}

/* So that nobody forgets a rule: it may explain what is shown. */
static void warn_of_faults(struct lx_session *s, const struct lx_lnetx_object *o,
			   const struct lx_command *c)
{
	unsigned int n;

	if (strcmp(c->name, "show") || !strcmp(o->name, "fault") || !lx_session_connected(s))
		return;
	n = lx_request_fault_count(s);
	if (n)
		fprintf(stderr, "lnetx: %u rule%s of fault injection %s active; see \"lnetx fault "
				"show\"\n", n, n > 1 ? "s" : "", n > 1 ? "are" : "is");
}

static int run_command(struct line *l, const struct lx_lnetx_object *o, const struct lx_command *c)
{
	struct lx_args a = { .verb = c->name, .shows = o->shows };
	struct lx_session s;
	int status = parse_words(l, o, c, &a);

	if (l->end.word) {
		l->end.args = &a;
		return complete(l, o, c);
	}
	if (status < 0)
		command_help(stdout, o, c);
	if (status)
		return status < 0 ? 0 : status;
	if (l->version)
		return print_version();
	if (l->bad)
		return complain("%s", l->bad);
	lx_session_init(&s, l->instance);
	status = c->fn(&s, &a);
	if (status < 0)
		status = failed(&s);
	else if (!status)
		warn_of_faults(&s, o, c);
	lx_session_fini(&s);
	/* With -j always print a document. */
	if (format.json && !printed && !status)
		lx_lnetx_print_map(json_object());
	return status;
}

/* "help [OBJECT [VERB]]", with @o if the object is known already. */
static int run_help(struct line *l, const struct lx_lnetx_object *o)
{
	const struct lx_command *c = NULL;
	char *word = next_word(l);
	bool ambiguous;

	if (!o && word) {
		o = find_name(lx_lnetx_cmds, sizeof(*o), word, &ambiguous);
		if (!o)
			return unknown("object", word, lx_lnetx_cmds, sizeof(*o), ambiguous);
		word = next_word(l);
	}
	if (o && word) {
		c = find_name(o->command, sizeof(*c), word, &ambiguous);
		if (!c)
			return unknown("verb", word, o->command, sizeof(*c), ambiguous);
	}
	if (l->end.word)
		return complete(l, o, c);
	if (c)
		command_help(stdout, o, c);
	else if (o)
		object_help(stdout, o);
	else
		help(stdout);
	return 0;
}

static int run_object(struct line *l, const char *name)
{
	bool ambiguous;
	const struct lx_lnetx_object *o = find_name(lx_lnetx_cmds, sizeof(*o), name, &ambiguous);
	const struct lx_command *c;
	char *word;

	if (!o)
		return unknown("object", name, lx_lnetx_cmds, sizeof(*o), ambiguous);
	if (is_verbless(o))
		return run_command(l, o, o->command);
	word = next_word(l);
	if (word ? lx_words_is_help(word) : l->help || l->end.word)
		return run_help(l, o);
	if (!word)
		return run_command(l, o, o->command);
	c = find_name(o->command, sizeof(*c), word, &ambiguous);
	if (!c)
		return unknown("verb", word, o->command, sizeof(*c), ambiguous);
	return run_command(l, o, c);
}

static int run_line(int argc, char **argv)
{
	struct line l = { 0 };
	char *word;

	if (argc > 1 && !strcmp(argv[1], "--list-commands")) {
		list_words();
		return 0;
	}
	lx_complete_begin(&l.end, &argc, &argv);
	l.word = argv + 1;
	word = next_word(&l);
	if (l.end.word && !word)
		return complete(&l, NULL, NULL);
	if (l.version && !word)
		return print_version();
	if (l.bad)
		return complain("%s", l.bad);
	if (word ? lx_words_is_help(word) : l.help)
		return run_help(&l, NULL);
	if (word && word[0] == '-')
		return complain("there is no option \"%s\"; see \"lnetx help\"", word);
	if (word)
		return run_object(&l, word);
	if (lx_lnetx_as_tree())
		return complain("an object is expected; see \"lnetx help\"");
	help(stderr);
	return LX_EXIT_USAGE;
}

int lx_lnetx_main(int argc, char **argv)
{
	int status = run_line(argc, argv);

	if (!lx_print_end("lnetx") && !status)
		status = LX_EXIT_REFUSED;
	return status;
}
