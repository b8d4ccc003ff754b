/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes the parts of the manual that repeat what tables of the programs say: syntax of commands,
 * tunables, metrics, requests. A part stands between two comments, ".. begin NAME" and ".. end",
 * in Markdown "<!-- begin NAME -->" and "<!-- end -->"; around it pages are written by hand.
 * "make reference" runs it in the root of the tree.
 *
 * usage: reference       write what is out of date
 *        reference -c    only name it; exit status 1 if there is any
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lnd/o2ib/o2ib.h"
#include "../../lnd/sock/sock.h"
#include "../../user/base/key.h"
#include "../../user/core/tunables.h"
#include "../../user/schema/requests.h"
#include "../../user/schema/schema.h"
#include "../cli/common/fault.h"
#include "../cli/lnetx/lnetx.h"
#include "../cli/lnetx/metrics.h"
#include "../cli/lustre/lnetctl.h"

#define COLUMNS 100
#define OBJECTS_MAX 64

static const char *const pages[] = {
	"docs/library.md",
	"docs/metrics.md",
	"tools/dist/man/lnetctl.8.rst",
	"tools/dist/man/lnetx-tunables.7.rst",
	"tools/dist/man/lnetx.conf.5.rst",
	"tools/dist/man/lnetx.8.rst",
};

static bool wrong;

static void complain(const char *page, const char *why, const char *what)
{
	fprintf(stderr, "%s: %s%s\n", page, why, what);
	wrong = true;
}

/* A file in memory: what is printed to it is in @text after the end. */
struct text {
	char *text;
	size_t size;
	FILE *file;
};

static void begin(struct text *t)
{
	t->file = open_memstream(&t->text, &t->size);
	if (!t->file)
		abort();
}

static const char *end(struct text *t)
{
	fclose(t->file);
	return t->text;
}

/* ---- commands ---------------------------------------------------------------------- */

static int count(const char *text, size_t len, char c)
{
	int n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == c;
	return n;
}

/* Names of values, which begin with a capital, in italics, without the brackets around them. */
static void print_word(FILE *out, const char *word)
{
	size_t lead = strspn(word, "["), len = strlen(word + lead);
	const char *name = word + lead;

	while (len && name[len - 1] == ']' && count(name, len, ']') > count(name, len, '['))
		len--;
	if (isupper(*name))
		fprintf(out, "%.*s*%.*s*%s", (int)lead, word, (int)len, name, name + len);
	else
		fputs(word, out);
}

/* As lines of a line block; what is in brackets stays on a line. Takes @text apart. */
static void print_lines(FILE *out, char *text)
{
	size_t column = strlen("|");
	char *save;

	fputs("|", out);
	for (char *w = strtok_r(text, " ", &save); w;) {
		struct text group = { 0 };
		int depth = 0;

		begin(&group);
		do {
			putc(' ', group.file);
			print_word(group.file, w);
			depth += count(w, strlen(w), '[') - count(w, strlen(w), ']');
			w = strtok_r(NULL, " ", &save);
		} while (w && depth > 0);
		end(&group);
		if (column + group.size > COLUMNS)
			column = fprintf(out, "\n|    ") - 1;
		column += fprintf(out, "%s", group.text);
		free(group.text);
	}
	putc('\n', out);
}

static bool documented[OBJECTS_MAX]; /* by place in lx_lnetx_cmds */

static void print_lnetx(FILE *out, const char *name)
{
	const struct lx_lnetx_object *o = lx_lnetx_cmds;

	while (o->name && strcmp(o->name, name))
		o++;
	if (!o->name) {
		complain("lnetx", "no object ", name);
		return;
	}
	documented[o - lx_lnetx_cmds] = true;
	for (const struct lx_command *c = o->command; c->name; c++) {
		struct text t = { 0 };

		begin(&t);
		lx_lnetx_syntax(t.file, o, c);
		end(&t);
		print_lines(out, t.text);
		free(t.text);
	}
}

static void print_options(FILE *out, const struct lx_lnetctl_cmd *v)
{
	static const char *const values[] = {
		[LX_OPTION_VALUE] = " ...", [LX_OPTION_MANY] = " ...", [LX_OPTION_LEVEL] = " [N]"
	};

	for (const struct lx_option *o = v->option; o && o->name; o++) {
		if (o->help)
			fprintf(out, " [--%s%s]", o->name, values[o->kind] ? values[o->kind] : "");
	}
}

/* Verbs without options share a line. */
static void print_verbs(FILE *out, const char *group, const struct lx_lnetctl_cmd *v)
{
	while (v->name) {
		struct text t = { 0 };

		begin(&t);
		fprintf(t.file, "%s%s", group, v->name);
		for (; !v->option && v[1].name && !v[1].option && v->max_rest == v[1].max_rest; v++)
			fprintf(t.file, " | %s", v[1].name);
		fputs(v->max_rest ? " ..." : "", t.file);
		print_options(t.file, v++);
		end(&t);
		print_lines(out, t.text);
		free(t.text);
	}
}

static void print_lnetctl(FILE *out, const char *name)
{
	char words[80];

	for (const struct lx_group *g = lx_groups; g->name; g++) {
		snprintf(words, sizeof(words), "%s ", g->is_verb ? "" : g->name);
		if (!g->verb->verb) {
			print_verbs(out, g->is_verb ? "" : words, g->verb);
			continue;
		}
		for (const struct lx_lnetctl_cmd *v = g->verb; v->name; v++) {
			snprintf(words, sizeof(words), "%s %s ", g->name, v->name);
			print_verbs(out, words, v->verb);
		}
	}
}

/* ---- tunables ---------------------------------------------------------------------- */

static void print_tunable(FILE *out, const struct lx_tunable *t)
{
	struct lx_tunable alone = *t;
	char def[32];

	alone.offset = 0;
	fprintf(out, "%s (%s; ", t->name, lx_tunable_format(&alone, &t->def, def, sizeof(def)));
	for (int i = 0; t->names && t->names[i]; i++)
		fprintf(out, "%s%s", i ? ", " : "", t->names[i]);
	if (!t->names)
		fprintf(out, "%" PRId64 "..%" PRId64, t->min, t->max);
	fprintf(out, ")\n  %s\n", t->help);
}

static void print_tunables(FILE *out, const char *module)
{
	const struct {
		const char *name;
		const struct lx_tunable *table;
	} modules[] = { { "lnet", lx_core_tunables_table },
			{ "tcp", lx_sock_lnd.tunables },
			{ "o2ib", lx_o2ib_lnd.tunables } };

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (strcmp(modules[i].name, module))
			continue;
		for (const struct lx_tunable *t = modules[i].table; t->name; t++)
			print_tunable(out, t);
		return;
	}
	complain("lnetxd", "no module ", module);
}

/* ---- metrics ----------------------------------------------------------------------- */

static void print_metric(FILE *out, const struct lx_metric_source *src, const struct lx_metric *m)
{
	bool counter = m->kind == LX_COUNTER;
	const char *sep = " ";

	fprintf(out, "| `%s%s` | %s |", m->name, counter ? "_total" : "",
		counter ? "counter" : "gauge");
	for (const struct lx_metric_label *l = src->label; l->name; l++, sep = ", ")
		fprintf(out, "%s%s", sep, l->name);
	if (m->label)
		fprintf(out, "%s%.*s", sep, (int)strcspn(m->label, "="), m->label);
	if (m->each)
		fprintf(out, "%s%s", sep, m->each);
	fprintf(out, " | %s |\n", m->help);
}

static void print_table(FILE *out, const struct lx_metric_source *src, const struct lx_metric *m)
{
	for (const char *last = ""; m->name; last = m->name, m++) {
		if (strcmp(m->name, last))
			print_metric(out, src, m);
	}
}

static void print_metrics(FILE *out, const char *name)
{
	static const struct lx_metric_source none;

	fputs("| metric | type | labels | meaning |\n|---|---|---|---|\n", out);
	print_table(out, &none, lx_metrics_always);
	for (const struct lx_metric_source *src = lx_metric_sources; src->metric; src++)
		print_table(out, src, src->metric);
}

/* ---- requests ---------------------------------------------------------------------- */

static void print_limits(FILE *out, const struct lx_field *f)
{
	const char *sep = " (";

	for (int i = 0; i < f->n_names; i++) {
		if (f->names[i]) {
			fprintf(out, "%s%s", sep, f->names[i]);
			sep = ", ";
		}
	}
	if (!f->n_names && f->high > 0 && f->high < INT32_MAX)
		fprintf(out, " (%" PRId64 "..%" PRId64, f->low, f->high);
	else if (!f->n_names && f->low > 0)
		fprintf(out, " (from %" PRId64, f->low);
	else if (*sep == ' ')
		return;
	putc(')', out);
}

/* @inside: "tunables.", "" */
static void print_fields(FILE *out, const struct lx_field *f, const char *inside, const char **sep)
{
	char key[64], prefix[80];

	for (; f->key; f++) {
		lx_key_snake(f->key, key, sizeof(key));
		if (f->type == LX_FIELD_NEST) {
			snprintf(prefix, sizeof(prefix), "%s%s.", inside, key);
			print_fields(out, f->sub->field, prefix, sep);
			continue;
		}
		fprintf(out, "%s`%s%s%s`", *sep, inside, key,
			f->type == LX_FIELD_LIST && f->sub->field[1].key ? ".NAME" : "");
		print_limits(out, f);
		*sep = ", ";
	}
}

static void print_arguments(FILE *out, const struct lx_request *r)
{
	const char *sep = "";

	print_fields(out, r->schema->field, "", &sep);
	for (const struct lx_flag *w = r->words; w && w->key; w++, sep = ", ")
		fprintf(out, "%s`%s`", sep, w->key);
	fprintf(out, "%s |\n", *sep ? "" : "none");
}

static bool is_public(const struct lx_request *r)
{
	return r->schema && r->object < LX_CTL_OBJECT_COUNT;
}

static bool is_show(const struct lx_request *r)
{
	return r->schema == &lx_object_show_schema;
}

static bool is_alike(const struct lx_request *r, const struct lx_request *other)
{
	return is_public(other) && other->object == r->object && other->schema == r->schema &&
	       other->words == r->words;
}

/* Requests for one object with the same arguments share a row. */
static void print_requests(FILE *out, const char *name)
{
	const struct lx_request *show = NULL;

	fputs("| request | arguments |\n|---|---|\n", out);
	for (const struct lx_request *r = lx_requests; is_public(r); r++) {
		if (is_show(r)) {
			show = r;
			continue;
		}
		fprintf(out, "| `%s` %s", lx_ctl_object_name(r->object), lx_request_verb(r->verb));
		for (; is_alike(r, r + 1); r++)
			fprintf(out, ", %s", lx_request_verb(r[1].verb));
		fputs(" | ", out);
		print_arguments(out, r);
	}
	fputs("| every other show | ", out);
	print_arguments(out, show);
}

/* ---- keys of files ----------------------------------------------------------------- */

static void print_settings(FILE *out, const struct lx_conf_ni_setting *s)
{
	for (const char *sep = "Keys: "; s->name; s++, sep = ", ")
		fprintf(out, "%s%s (%d..%d)", sep, s->name, s->min, s->max);
}

static void print_schema(FILE *out, const char *name)
{
	static const struct lx_schema *const schemas[] = { &lx_object_route_schema,
							   &lx_object_buffers_schema,
							   &lx_object_selftest_schema };
	const char *sep = "Keys: ";

	for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
		if (strcmp(schemas[i]->name, name))
			continue;
		for (const struct lx_field *f = schemas[i]->field; f->key; f++) {
			if (f->command)
				continue;
			fprintf(out, "%s%s", sep, f->key);
			print_limits(out, f);
			sep = ", ";
		}
		return;
	}
	complain("schemas", "none for ", name);
}

/* @name: of a schema; ni: settings of every NI; or a net type: settings of its NIs */
static void print_keys(FILE *out, const char *name)
{
	struct text t = { 0 };

	begin(&t);
	if (!strcmp(name, "ni"))
		print_settings(t.file, lx_conf_ni_settings());
	else if (!strcmp(name, "tcp"))
		print_settings(t.file, lx_conf_lnd_settings(LX_NET_TCP));
	else if (!strcmp(name, "o2ib"))
		print_settings(t.file, lx_conf_lnd_settings(LX_NET_O2IB));
	else
		print_schema(t.file, name);
	end(&t);
	print_lines(out, t.text);
	free(t.text);
}

/* ---- pages ------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*print)(FILE *out, const char *what);
	bool named; /* which: "lnetx conn" */
} parts[] = {
	{ "lnetx", print_lnetx, true },	       { "lnetctl", print_lnetctl, false },
	{ "tunables", print_tunables, true },  { "metrics", print_metrics, false },
	{ "requests", print_requests, false }, { "keys", print_keys, true },
};

/* @words: "metrics", "lnetx conn disconnect" */
static void print_part(FILE *out, const char *page, char *words)
{
	char *save, *name = strtok_r(words, " ", &save), *what = strtok_r(NULL, " ", &save);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].name, name) || parts[i].named != !!what)
			continue;
		do {
			parts[i].print(out, what);
		} while (what && (what = strtok_r(NULL, " ", &save)));
		return;
	}
	complain(page, "no such part: ", name);
}

static bool is_begin(const char *line, char words[200])
{
	return sscanf(line, ".. begin %199[a-z0-9 ]", words) == 1 ||
	       sscanf(line, "<!-- begin %199[a-z0-9 ]", words) == 1;
}

static bool is_end(const char *line)
{
	return !strcmp(line, ".. end\n") || !strcmp(line, "<!-- end -->\n");
}

/* The page as it should be. */
static void renew(FILE *in, FILE *out, const char *page)
{
	char *line = NULL, words[200], next[200];
	size_t size = 0;
	int n = 0;

	while (getline(&line, &size, in) > 0) {
		fputs(line, out);
		if (!is_begin(line, words))
			continue;
		putc('\n', out);
		print_part(out, page, words);
		n++;
		while (getline(&line, &size, in) > 0 && !is_end(line) && !is_begin(line, next))
			;
		if (!is_end(line))
			complain(page, "no end of ", words);
		fprintf(out, "\n%s", line);
	}
	free(line);
	if (!n)
		complain(page, "no part at all", "");
}

static void write_page(const char *page, const struct text *t)
{
	FILE *f = fopen(page, "w");

	if (!f || fwrite(t->text, t->size, 1, f) != 1 || fclose(f))
		complain(page, "cannot be written", "");
}

static void do_page(const char *page, bool check)
{
	struct text now = { 0 }, before = { 0 };
	FILE *f = fopen(page, "r");
	int c;

	if (!f) {
		complain(page, "cannot be read", "");
		return;
	}
	begin(&before);
	while ((c = getc(f)) != EOF)
		putc(c, before.file);
	end(&before);
	rewind(f);
	begin(&now);
	renew(f, now.file, page);
	end(&now);
	fclose(f);
	if (strcmp(now.text, before.text)) {
		if (check)
			complain(page, "differs from the tables. Next: make reference", "");
		else if (!wrong)
			write_page(page, &now);
	}
	free(now.text);
	free(before.text);
}

int main(int argc, char **argv)
{
	bool check = argc == 2 && !strcmp(argv[1], "-c");

	lx_lnetctl_cmds_init();
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		do_page(pages[i], check);
	for (const struct lx_lnetx_object *o = lx_lnetx_cmds; o->name; o++) {
		if (!documented[o - lx_lnetx_cmds])
			complain("tools/dist/man/lnetx.8.rst", "no part for object ", o->name);
	}
	return wrong;
}
