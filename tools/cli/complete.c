/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion; see the header. Runs once per word. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "../../user/conf/global.h"
#include "../../user/io/netif.h"
#include "../../user/schema/schema.h"
#include "complete.h"
#include "fault.h"
#include "json.h"
#include "lnetctl.h"
#include "lnetx.h"
#include "words.h"

#define WORDS_MAX 256
#define HSTATUS_TEXT_(number, name) name " "

/* The line so far, parsed by the tables, and the word to complete. */
struct line {
	const char *word; /* may be "" */
	size_t done; /* bytes of it that are fixed: "eth0," of "eth0,et" */
	const char *instance;
	struct lx_session session;
	const char *rest[WORDS_MAX]; /* words without a keyword or option */
	int n_rest;
};

/* ---- offering ----------------------------------------------------------------------- */

static void offer(const struct line *l, const char *candidate)
{
	const char *typed = l->word + l->done;

	if (!strncmp(candidate, typed, strlen(typed)))
		printf("%.*s%s\n", (int)l->done, l->word, candidate);
}

/* From here on the word is a list, of which only the last part is completed. */
static void as_list(struct line *l)
{
	const char *comma = strrchr(l->word, ',');

	l->done = comma ? comma + 1 - l->word : 0;
}

/* "a|b|c"; capitals stand for a value of that type. */
static void offer_choices(const struct line *l, const char *choices, const char *separators)
{
	char copy[200], *save;

	snprintf(copy, sizeof(copy), "%s", choices);
	for (char *c = strtok_r(copy, separators, &save); c;
	     c = strtok_r(NULL, separators, &save)) {
		if (!isupper((unsigned char)*c))
			offer(l, c);
	}
}

/* ---- from this machine --------------------------------------------------------------- */

static void offer_interfaces(struct line *l)
{
	struct lx_netif_link *list LX_AUTO_FREE = NULL;
	size_t n;

	as_list(l);
	if (lx_netif_links(&list, &n))
		return;
	for (size_t i = 0; i < n; i++)
		offer(l, list[i].name);
}

static void offer_instances(const struct line *l)
{
	char path[200];
	struct dirent *entry;
	DIR *dir;

	if (lx_ctl_path("x", path, sizeof(path)))
		return;
	*strrchr(path, '/') = '\0';
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".sock"))
			continue;
		*dot = '\0';
		offer(l, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* ---- from lnetxd ---------------------------------------------------------------------- */

static void add(json_t *set, const json_t *map, const char *key)
{
	if (*lx_json_text(map, key))
		json_object_set_new(set, lx_json_text(map, key), json_true());
}

/* Adds a key of all rows, in groups or not. */
static void add_rows(struct line *l, json_t *set, enum lx_ctl_object object, const char *key)
{
	const char *rows = lx_request_find(object, LX_CTL_SHOW)->shown->rows;
	json_t *list, *group, *row;
	size_t i, j;

	if (lx_request_show_all(&l->session, object, LX_LEVEL_OWN, &list))
		return;
	json_array_foreach (list, i, group) {
		add(set, group, key);
		json_array_foreach (rows ? json_object_get(group, rows) : NULL, j, row)
			add(set, row, key);
	}
	json_decref(list);
}

static void offer_set(const struct line *l, json_t *set)
{
	const char *key;
	json_t *value;

	json_object_foreach (set, key, value)
		offer(l, key);
	json_decref(set);
}

static void offer_nets(struct line *l)
{
	json_t *set = json_object();

	add_rows(l, set, LX_CTL_NET, "net type");
	add_rows(l, set, LX_CTL_ROUTE, "net");
	json_object_set_new(set, "tcp", json_true());
	json_object_del(set, "lo");
	offer_set(l, set);
}

static void offer_own_nids(struct line *l)
{
	json_t *set = json_object();

	as_list(l);
	add_rows(l, set, LX_CTL_NET, "nid");
	offer_set(l, set);
}

static void offer_nids(struct line *l)
{
	json_t *set = json_object();

	as_list(l);
	add_rows(l, set, LX_CTL_PEER, "nid");
	add_rows(l, set, LX_CTL_ROUTE, "gateway");
	offer_set(l, set);
}

/* Completes module, name and value, one after the other: each of the rows that the others name. */
static void offer_tunables(struct line *l, bool values)
{
	static const char *const keys[] = { "module", "name", "value" };
	json_t *set = json_object(), *list, *row;
	struct lx_args which = { 0 };
	size_t i;

	if (l->n_rest > 0)
		which.v[LX_ARG_MODULE] = l->rest[0];
	if (l->n_rest > 1)
		which.v[LX_ARG_NAME] = l->rest[1];
	if (l->n_rest < 2 + values &&
	    !lx_request_show(&l->session, LX_CTL_TUNABLE, &which, LX_LEVEL_OWN, &list)) {
		json_array_foreach (list, i, row) {
			if (l->n_rest == 2 && json_object_get(row, "choices"))
				offer_choices(l, lx_json_text(row, "choices"), " ");
			else
				add(set, row, keys[l->n_rest]);
		}
		json_decref(list);
	}
	offer_set(l, set);
}

/* ---- common to both grammars ------------------------------------------------------------- */

static bool is_type(const char *type, const char *name)
{
	return !strncmp(type, name, strlen(name));
}

/* @type: as help of lnetx names it: "NET", "NIDS", "0|1". @own: NIDs are this node's */
static void offer_value(struct line *l, enum lx_arg_id id, const char *type, bool own)
{
	if (id == LX_ARG_MESSAGE || id == LX_ARG_ERROR) {
		as_list(l);
		offer_choices(l, id == LX_ARG_MESSAGE ? "put ack get reply"
				 : LX_FAULT_HSTATUS(HSTATUS_TEXT_) "random", " ");
	} else if (strchr(type, '|')) {
		offer_choices(l, type, "[|]");
	} else if (is_type(type, "NET")) {
		offer_nets(l);
	} else if (is_type(type, "IF")) {
		offer_interfaces(l);
	} else if (is_type(type, "NID")) {
		if (own || id == LX_ARG_SOURCE || id == LX_ARG_SRC || id == LX_ARG_LOCAL_NID)
			offer_own_nids(l);
		else
			offer_nids(l);
	}
}

/* Splits off the word to complete. */
static int begin(struct line *l, char **words)
{
	int n = 0;

	while (words[n] && n < WORDS_MAX)
		n++;
	l->word = n ? words[n - 1] : "";
	return n ? n - 1 : 0;
}

/* The entry of a table that a word names. */
static const void *find(const void *table, size_t size, const char *word)
{
	size_t n;

	return lx_words_find(table, size, word, &n);
}

/* ---- lnetx -------------------------------------------------------------------------------- */

static void offer_options(const struct line *l)
{
	offer_choices(l,
		      "-j --json -y --yaml -p --pretty -s --stats -n --instance -w --wait -V "
		      "--version -h --help",
		      " ");
}

/* Completes words without a keyword: by the object whose rows they name, or by their type. */
static void offer_rest(struct line *l, const struct lx_command *c)
{
	const char *type = c->rest + strspn(c->rest, "[");
	json_t *set = json_object();

	if (c->names)
		add_rows(l, set, c->names,
			 lx_request_find(c->names, LX_CTL_SHOW)->shown->row->field[0].key);
	else if (is_type(type, "FILE"))
		puts(LX_COMPLETE_FILE);
	else if (is_type(type, "MODULE"))
		offer_tunables(l, strstr(type, "VALUE"));
	else if (!l->n_rest || !strchr(type, '|'))
		offer_value(l, LX_ARGS, type, false);
	offer_set(l, set);
}

static void offer_words(struct line *l, const struct lx_lnetx_object *o, const struct lx_command *c)
{
	if (l->word[0] == '-') {
		offer_options(l);
		return;
	}
	for (const struct lx_lnetx_object *i = o ? NULL : lx_lnetx_cmds; i && i->name; i++)
		offer(l, i->name);
	for (const struct lx_command *i = o && !c ? o->command : NULL; i && i->name; i++)
		offer(l, i->name);
	if (!c)
		offer(l, "help");
	for (const struct lx_keyword *k = c ? c->keyword : NULL; k && k->name; k++) {
		if (!lx_keyword_is_alias(c, k))
			offer(l, k->name);
	}
	if (c && c->rest)
		offer_rest(l, c);
}

int lx_complete_lnetx(char **words)
{
	struct line l = { 0 };
	const struct lx_keyword *value = NULL; /* a keyword whose value comes next */
	const struct lx_command *c = NULL;
	const struct lx_lnetx_object *o = NULL;
	bool instance = false;
	int n = begin(&l, words);

	for (int i = 0; i < n; i++) {
		const char *word = words[i];

		if (instance) {
			l.instance = word;
			instance = false;
		} else if (value) {
			value = NULL;
		} else if (word[0] == '-') {
			instance = !strcmp(word, "-n") || !strcmp(word, "--instance");
		} else if (!o) {
			o = strcmp(word, "help") ? find(lx_lnetx_cmds, sizeof(*o), word) : NULL;
			c = o && !strcmp(o->name, o->command->name) ? o->command : NULL;
			if (!o && strcmp(word, "help"))
				return 0;
		} else if (!c) {
			c = strcmp(word, "help") ? find(o->command, sizeof(*c), word) : NULL;
			if (!c && strcmp(word, "help"))
				return 0;
		} else {
			value = find(c->keyword, sizeof(*value), word);
			if (!value || (c->rest && strcmp(value->name, word)))
				l.rest[l.n_rest++] = word;
			if (value && (!value->value || (c->rest && strcmp(value->name, word))))
				value = NULL;
		}
	}
	lx_session_init(&l.session, l.instance);
	if (instance)
		offer_instances(&l);
	else if (value)
		offer_value(&l, value->id, value->value, !strcmp(o->name, "net"));
	else
		offer_words(&l, o, c);
	lx_session_fini(&l.session);
	return 0;
}

/* ---- lnetctl ------------------------------------------------------------------------------ */

static const struct lx_option *find_option(const struct lx_lnetctl_cmd *v, const char *word)
{
	for (const struct lx_option *o = v ? v->option : NULL; o && o->name; o++) {
		if ((word[1] == '-' && !strcmp(o->name, word + 2)) ||
		    (o->letter && word[1] == o->letter && !word[2]))
			return o;
	}
	return NULL;
}

/* The type of an argument, which the keywords of lnetx have; "": none of them is for it. */
static const char *type_of(enum lx_arg_id id)
{
	for (const struct lx_lnetx_object *o = lx_lnetx_cmds; o->name; o++) {
		for (const struct lx_command *c = o->command; c->name; c++) {
			for (const struct lx_keyword *k = c->keyword; k && k->name; k++) {
				if (k->id == id && k->value)
					return k->value;
			}
		}
	}
	return "";
}

/* "set NAME": 0 and 1 for a switch, the values of a short range, or else the present one. */
static void offer_setting(struct line *l, const char *name)
{
	const struct lx_global *g = lx_global_lookup(name);
	struct lx_args which = { .v = { [LX_ARG_MODULE] = "lnet" } };
	json_int_t min, max;
	json_t *row;
	char text[24];

	if (!strcmp(name, "routing") || (g && g->inverse)) {
		offer_choices(l, "0 1", " ");
		return;
	}
	which.v[LX_ARG_NAME] = g ? g->tunable : NULL;
	if (!which.v[LX_ARG_NAME] ||
	    lx_request_first(&l->session, LX_CTL_TUNABLE, &which, LX_LEVEL_OWN, &row))
		return;
	min = lx_json_int(row, "min");
	max = lx_json_int(row, "max");
	for (json_int_t v = min; max - min < 4 && v <= max; v++) {
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, v);
		offer(l, text);
	}
	if (max - min >= 4)
		offer(l, lx_json_text(row, "value"));
	json_decref(row);
}

static void offer_verb(struct line *l, const struct lx_group *g, const struct lx_lnetctl_cmd *v)
{
	bool files = !strcmp(v->name, "import") || !strcmp(v->name, "export");

	if (!l->word[0] || l->word[0] == '-') {
		for (const struct lx_option *o = v->option; o && o->name; o++) {
			char name[40];

			snprintf(name, sizeof(name), "--%s", o->name);
			if (o->help)
				offer(l, name);
		}
		offer(l, "--help");
	}
	if (files)
		puts(LX_COMPLETE_FILE);
	else if (!strcmp(g->name, "set") && !l->n_rest)
		offer_setting(l, v->name);
	else if (v->max_rest && g->is_verb)
		offer_nids(l);
}

int lx_complete_lnetctl(char **words)
{
	const struct lx_option *value = NULL;
	const struct lx_group *g = NULL;
	const struct lx_lnetctl_cmd *v = NULL, *verbs = NULL; /* "fault drop" has its own verbs */
	struct line l = { 0 };
	bool instance = false;
	int n = begin(&l, words);

	lx_lnetctl_cmds_init();
	for (int i = 0; i < n; i++) {
		const char *word = words[i];

		if (instance) {
			l.instance = word;
			instance = false;
		} else if (value) {
			value = NULL;
		} else if (!strcmp(word, "--instance")) {
			instance = true;
		} else if (!g) {
			g = strcmp(word, "help") ? find(lx_groups, sizeof(*g), word) : NULL;
			v = g && g->is_verb ? g->verb : NULL;
			verbs = g ? g->verb : NULL;
			if (!g && strcmp(word, "help"))
				return 0;
		} else if (!v) {
			v = strcmp(word, "help") ? find(verbs, sizeof(*v), word) : NULL;
			if (!v && strcmp(word, "help"))
				return 0;
			if (v && verbs == g->verb && lx_fault_verbs(g->name, v->name)) {
				verbs = lx_fault_verbs(g->name, v->name);
				v = NULL;
			}
		} else if (word[0] == '-') {
			value = find_option(v, word);
			if (value && value->kind != LX_OPTION_VALUE &&
			    value->kind != LX_OPTION_MANY)
				value = NULL;
		} else {
			l.rest[l.n_rest++] = word;
		}
	}
	lx_session_init(&l.session, l.instance);
	if (instance) {
		offer_instances(&l);
	} else if (value) {
		offer_value(&l, value->id, type_of(value->id), !strcmp(g->name, "net"));
	} else if (v) {
		offer_verb(&l, g, v);
	} else {
		for (const struct lx_group *i = g ? NULL : lx_groups; i && i->name; i++)
			offer(&l, i->name);
		for (const struct lx_lnetctl_cmd *i = verbs; i && i->name; i++)
			offer(&l, i->name);
		offer(&l, "help");
		if (!g)
			offer(&l, "--instance");
	}
	lx_session_fini(&l.session);
	return 0;
}

/* ---- for other grammars ------------------------------------------------------------------ */

static void with_session(const char *word, void (*offer_all)(struct line *l))
{
	struct line l = { .word = word };

	lx_session_init(&l.session, NULL);
	offer_all(&l);
	lx_session_fini(&l.session);
}

void lx_complete_nets(const char *word)
{
	with_session(word, offer_nets);
}

void lx_complete_nids(const char *word)
{
	with_session(word, offer_nids);
}
