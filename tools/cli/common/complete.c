/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion; see the header. Runs once per word. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/conf/global.h"
#include "../../../user/io/netif.h"
#include "../../../user/schema/schema.h"
#include "complete.h"
#include "json.h"

#define HSTATUS_TEXT_(number, name) name " "

bool lx_complete_begin(struct lx_complete *l, int *argc, char ***argv)
{
	if (*argc < 2 || strcmp((*argv)[1], "--complete"))
		return false;
	l->word = *argc > 2 ? (*argv)[--*argc] : "";
	(*argv)[(*argc)--] = NULL;
	++*argv;
	return true;
}

/* ---- offering ----------------------------------------------------------------------- */

void lx_complete_offer(const struct lx_complete *l, const char *candidate)
{
	const char *typed = l->word + l->done;

	if (!strncmp(candidate, typed, strlen(typed)))
		printf("%.*s%s\n", (int)l->done, l->word, candidate);
}

/* From here on the word is a list, of which only the last part is completed. */
static void as_list(struct lx_complete *l)
{
	const char *comma = strrchr(l->word, ',');

	l->done = comma ? comma + 1 - l->word : 0;
}

/* "a|b|c"; capitals stand for a value of that type. */
static void offer_choices(const struct lx_complete *l, const char *choices, const char *separators)
{
	char copy[200], *save;

	snprintf(copy, sizeof(copy), "%s", choices);
	for (char *c = strtok_r(copy, separators, &save); c;
	     c = strtok_r(NULL, separators, &save)) {
		if (!isupper((unsigned char)*c))
			lx_complete_offer(l, c);
	}
}

/* ---- from this machine --------------------------------------------------------------- */

static void offer_interfaces(struct lx_complete *l)
{
	struct lx_netif_link *list LX_AUTO_FREE = NULL;
	size_t n;

	as_list(l);
	if (lx_netif_links(&list, &n))
		return;
	for (size_t i = 0; i < n; i++)
		lx_complete_offer(l, list[i].name);
}

static void offer_instances(const struct lx_complete *l)
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
		lx_complete_offer(l, entry->d_name);
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
static void add_rows(struct lx_complete *l, json_t *set, enum lx_ctl_object object, const char *key)
{
	const char *rows = lx_request_find(object, LX_CTL_SHOW)->shown->rows;
	json_t *list = lx_request_list(l->session, object), *group, *row;
	size_t i, j;

	json_array_foreach (list, i, group) {
		add(set, group, key);
		json_array_foreach (rows ? json_object_get(group, rows) : NULL, j, row)
			add(set, row, key);
	}
	json_decref(list);
}

static void offer_set(const struct lx_complete *l, json_t *set)
{
	const char *key;
	json_t *value;

	json_object_foreach (set, key, value)
		lx_complete_offer(l, key);
	json_decref(set);
}

void lx_complete_nets(struct lx_complete *l)
{
	json_t *set = json_object();

	add_rows(l, set, LX_CTL_NET, "net type");
	add_rows(l, set, LX_CTL_ROUTE, "net");
	json_object_set_new(set, "tcp", json_true());
	json_object_del(set, "lo");
	offer_set(l, set);
}

static void offer_own_nids(struct lx_complete *l)
{
	json_t *set = json_object();

	as_list(l);
	add_rows(l, set, LX_CTL_NET, "nid");
	offer_set(l, set);
}

void lx_complete_nids(struct lx_complete *l)
{
	json_t *set = json_object();

	as_list(l);
	add_rows(l, set, LX_CTL_PEER, "nid");
	add_rows(l, set, LX_CTL_ROUTE, "gateway");
	offer_set(l, set);
}

/* Completes module, name and value, one after the other: each of the rows that the others name. */
static void offer_tunables(struct lx_complete *l, bool values)
{
	static const char *const keys[] = { "module", "name", "value" };
	json_t *set = json_object(), *list, *row;
	struct lx_args which = { 0 };
	size_t i;

	if (l->args->n_rest > 0)
		which.v[LX_ARG_MODULE] = l->args->rest[0];
	if (l->args->n_rest > 1)
		which.v[LX_ARG_NAME] = l->args->rest[1];
	if (l->args->n_rest < 2 + values &&
	    !lx_request_show(l->session, LX_CTL_TUNABLE, &which, LX_LEVEL_OWN, &list)) {
		json_array_foreach (list, i, row) {
			if (l->args->n_rest == 2 && json_object_get(row, "choices"))
				offer_choices(l, lx_json_text(row, "choices"), " ");
			else
				add(set, row, keys[l->args->n_rest]);
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

/* What lnetx calls the value of an argument; "": it has no such argument. */
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

/* @type: "NET", "NIDS", "0|1", ... */
static void offer_value(struct lx_complete *l, enum lx_arg_id id, const char *type)
{
	if (id == LX_ARG_MESSAGE || id == LX_ARG_ERROR) {
		as_list(l);
		offer_choices(l, id == LX_ARG_MESSAGE ? "put ack get reply"
				 : LX_FAULT_HSTATUS(HSTATUS_TEXT_) "random", " ");
	} else if (strchr(type, '|')) {
		offer_choices(l, type, "[|]");
	} else if (is_type(type, "NET")) {
		lx_complete_nets(l);
	} else if (is_type(type, "IF")) {
		offer_interfaces(l);
	} else if (is_type(type, "NID")) {
		if (l->own || id == LX_ARG_SOURCE || id == LX_ARG_SRC || id == LX_ARG_LOCAL_NID)
			offer_own_nids(l);
		else
			lx_complete_nids(l);
	}
}

/* The same in both grammars. */
static bool offer_common(struct lx_complete *l)
{
	if (l->instance)
		offer_instances(l);
	else if (l->args && l->args->lacks)
		offer_value(l, *l->args->lacks, type_of(*l->args->lacks));
	else
		return false;
	return true;
}

/* ---- lnetx -------------------------------------------------------------------------------- */

/* Completes words without a keyword: by the object whose rows they name, or by their type. */
static void offer_rest(struct lx_complete *l, const struct lx_command *c)
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
	else if (!l->args->n_rest || !strchr(type, '|'))
		offer_value(l, LX_ARGS, type);
	offer_set(l, set);
}

int lx_complete_lnetx(struct lx_complete *l, const struct lx_lnetx_object *o,
		      const struct lx_command *c)
{
	if (offer_common(l))
		return 0;
	if (l->word[0] == '-') {
		offer_choices(l,
			      "-j --json -y --yaml -p --pretty -s --stats -n --instance -w --wait "
			      "-V --version -h --help",
			      " ");
		return 0;
	}
	for (const struct lx_lnetx_object *i = o ? NULL : lx_lnetx_cmds; i && i->name; i++)
		lx_complete_offer(l, i->name);
	for (const struct lx_command *i = o && !c ? o->command : NULL; i && i->name; i++)
		lx_complete_offer(l, i->name);
	if (!c)
		lx_complete_offer(l, "help");
	for (const struct lx_keyword *k = c ? c->keyword : NULL; k && k->name; k++) {
		if (!lx_keyword_is_alias(c, k))
			lx_complete_offer(l, k->name);
	}
	if (c && c->rest)
		offer_rest(l, c);
	return 0;
}

/* ---- lnetctl ------------------------------------------------------------------------------ */

/* "set NAME": 0 and 1 for a switch, the values of a short range, or else the present one. */
static void offer_setting(struct lx_complete *l, const char *name)
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
	    lx_request_first(l->session, LX_CTL_TUNABLE, &which, LX_LEVEL_OWN, &row))
		return;
	min = lx_json_int(row, "min");
	max = lx_json_int(row, "max");
	for (json_int_t v = min; max - min < 4 && v <= max; v++) {
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, v);
		lx_complete_offer(l, text);
	}
	if (max - min >= 4)
		lx_complete_offer(l, lx_json_text(row, "value"));
	json_decref(row);
}

static void offer_verb(struct lx_complete *l, const struct lx_group *g,
		       const struct lx_lnetctl_cmd *v)
{
	bool files = !strcmp(v->name, "import") || !strcmp(v->name, "export");

	if (!l->word[0] || l->word[0] == '-') {
		for (const struct lx_option *o = v->option; o && o->name; o++) {
			char name[40];

			snprintf(name, sizeof(name), "--%s", o->name);
			if (o->help)
				lx_complete_offer(l, name);
		}
		lx_complete_offer(l, "--help");
	}
	if (files)
		puts(LX_COMPLETE_FILE);
	else if (!strcmp(g->name, "set") && !l->args->n_rest)
		offer_setting(l, v->name);
	else if (v->max_rest && g->is_verb)
		lx_complete_nids(l);
}

int lx_complete_lnetctl(struct lx_complete *l, const struct lx_group *g,
			const struct lx_lnetctl_cmd *v)
{
	if (offer_common(l))
		return 0;
	if (v) {
		offer_verb(l, g, v);
		return 0;
	}
	for (const struct lx_group *i = g ? NULL : lx_groups; i && i->name; i++)
		lx_complete_offer(l, i->name);
	for (const struct lx_lnetctl_cmd *i = g ? g->verb : NULL; i && i->name; i++)
		lx_complete_offer(l, i->name);
	lx_complete_offer(l, "help");
	if (!g)
		lx_complete_offer(l, "--instance");
	return 0;
}
