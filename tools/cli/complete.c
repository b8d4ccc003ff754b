/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion; see the header. Runs once per word. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "../../user/conf/global.h"
#include "../../user/io/netif.h"
#include "complete.h"
#include "fault.h"
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

/* "a|b|c" */
static void offer_choices(const struct line *l, const char *choices, const char *separators)
{
	char copy[200], *save;

	snprintf(copy, sizeof(copy), "%s", choices);
	for (char *c = strtok_r(copy, separators, &save); c; c = strtok_r(NULL, separators, &save))
		offer(l, c);
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

static json_t *all_of(struct line *l, enum lx_ctl_object object)
{
	json_t *list;

	return lx_request_show_all(&l->session, object, LX_LEVEL_OWN, &list) ? NULL : list;
}

static void add(json_t *set, const json_t *map, const char *key)
{
	const char *text = json_string_value(json_object_get(map, key));

	if (text)
		json_object_set_new(set, text, json_true());
}

/* Adds a key of all rows, in groups or not. */
static void add_rows(struct line *l, json_t *set, enum lx_ctl_object object, const char *key)
{
	const char *rows = lx_request_find(object, LX_CTL_SHOW)->shown->rows;
	json_t *list = all_of(l, object), *group, *row;
	size_t i, j;

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

/* Completes module, name and value, one after the other. */
static void offer_tunables(struct line *l, bool values)
{
	json_t *list = all_of(l, LX_CTL_TUNABLE), *row;
	json_t *set = json_object();
	size_t i;

	json_array_foreach (list, i, row) {
		const char *module = json_string_value(json_object_get(row, "module"));
		const char *name = json_string_value(json_object_get(row, "name"));
		const char *choices = json_string_value(json_object_get(row, "choices"));

		if (!l->n_rest)
			add(set, row, "module");
		else if (!module || !name || strcmp(module, l->rest[0]))
			continue;
		else if (l->n_rest == 1)
			add(set, row, "name");
		else if (l->n_rest == 2 && values && !strcmp(name, l->rest[1]) && choices)
			offer_choices(l, choices, " ");
		else if (l->n_rest == 2 && values && !strcmp(name, l->rest[1]))
			add(set, row, "value");
	}
	json_decref(list);
	offer_set(l, set);
}

/* ---- common to both grammars ------------------------------------------------------------- */

/* @own: NIDs are this node's. @choices: words separated by '|', or else a name. */
static void offer_value(struct line *l, enum lx_arg_id id, const char *choices, bool own)
{
	if (choices && strchr(choices, '|')) {
		offer_choices(l, choices, "|");
		return;
	}
	switch (id) {
	case LX_ARG_NET:
		offer_nets(l);
		break;
	case LX_ARG_IF:
		offer_interfaces(l);
		break;
	case LX_ARG_SOURCE:
	case LX_ARG_SRC:
	case LX_ARG_LOCAL_NID:
		offer_own_nids(l);
		break;
	case LX_ARG_NID:
		if (own)
			offer_own_nids(l);
		else
			offer_nids(l);
		break;
	case LX_ARG_GATEWAY:
	case LX_ARG_PRIMARY:
	case LX_ARG_DST:
	case LX_ARG_DEST:
	case LX_ARG_RTE:
		offer_nids(l);
		break;
	case LX_ARG_MESSAGE:
		as_list(l);
		offer_choices(l, "put ack get reply", " ");
		break;
	case LX_ARG_ERROR:
		as_list(l);
		offer_choices(l, LX_FAULT_HSTATUS(HSTATUS_TEXT_) "random", " ");
		break;
	default:
		break;
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

/* Completes words without a keyword, by their name in help. */
static void offer_rest(struct line *l, const struct lx_command *c)
{
	json_t *set = json_object();

	if (strstr(c->rest, "FILE"))
		puts(LX_COMPLETE_FILE);
	else if (strstr(c->rest, "MODULE"))
		offer_tunables(l, strstr(c->rest, "VALUE"));
	else if (!strcmp(c->name, "unban"))
		add_rows(l, set, LX_CTL_BAN, "nid");
	else if (strstr(c->rest, "PREFIX"))
		add_rows(l, set, LX_CTL_PREFIX, "prefix");
	else if (strstr(c->rest, "NID"))
		offer_nids(l);
	else if (strchr(c->rest, '|') && !l->n_rest)
		offer_choices(l, c->rest, "[|]");
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

/* "set NAME": 0 and 1 for a switch, else the present value. */
static void offer_setting(struct line *l, const char *name)
{
	const struct lx_global *g = lx_global_lookup(name);
	json_t *list, *row;
	size_t i;

	if (!strcmp(name, "routing") || (g && g->inverse)) {
		offer_choices(l, "0 1", " ");
		return;
	}
	list = g && g->tunable ? all_of(l, LX_CTL_TUNABLE) : NULL;
	json_array_foreach (list, i, row) {
		json_int_t min = json_integer_value(json_object_get(row, "min"));
		json_int_t max = json_integer_value(json_object_get(row, "max"));
		char text[24];

		if (strcmp(json_string_value(json_object_get(row, "name")), g->tunable))
			continue;
		for (json_int_t v = min; max - min < 4 && v <= max; v++) {
			snprintf(text, sizeof(text), "%lld", (long long)v);
			offer(l, text);
		}
		if (max - min >= 4)
			offer(l, json_string_value(json_object_get(row, "value")));
	}
	json_decref(list);
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
		offer_value(&l, value->id, NULL, !strcmp(g->name, "net"));
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
