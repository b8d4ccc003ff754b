/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints trees; see the header. Called by both grammars; owns nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/key.h"
#include "../../../user/ctl/codec.h"
#include "print.h"

/* ---- YAML -------------------------------------------------------------------------- */

const struct lx_layout lx_print_wide = { .map = 6, .dash = 0, .item = 6 };
const struct lx_layout lx_print_four = { .map = 4, .dash = 4, .item = 2 };
const struct lx_layout lx_print_narrow = { .map = 2, .dash = 0, .item = 2 };

void lx_print_quoted(FILE *out, const char *text, char quote)
{
	fputc(quote, out);
	for (; *text; text++) {
		if (*text == '\'' && quote == '\'')
			fputc('\'', out);
		else if (quote == '"' && (*text == '"' || *text == '\\'))
			fputc('\\', out);
		if ((unsigned char)*text < ' ')
			fputc(' ', out);
		else
			fputc(*text, out);
	}
	fputc(quote, out);
}

/* True if YAML would read an unquoted text as something else. */
static bool needs_quotes(const char *text)
{
	size_t len = strlen(text);

	return !len || strchr("!&*-?[]{}|>'\"%@`#,:~ ", text[0]) || text[len - 1] == ':' ||
	       text[len - 1] == ' ' || strstr(text, ": ") || strstr(text, " #") ||
	       strpbrk(text, "\n\t");
}

/* A NID such as "::1@tcp" or a value "-1" starts like markup, but is not. */
static bool is_plain(const char *text)
{
	if ((text[0] == '-' || text[0] == ':') && text[1] && text[1] != ' ')
		return text[strlen(text) - 1] != ':' && !strstr(text, ": ") && !strstr(text, " #");
	return !needs_quotes(text);
}

static void yaml_scalar(FILE *out, const json_t *value)
{
	if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "true" : "false", out);
	else if (!json_is_string(value))
		fputs("null", out);
	else if (is_plain(json_string_value(value)))
		fputs(json_string_value(value), out);
	else
		lx_print_quoted(out, json_string_value(value), '"');
}

static void yaml_map(FILE *out, const json_t *map, const struct lx_layout *l, unsigned int column,
		     bool first_line);

static void yaml_list(FILE *out, const json_t *list, const struct lx_layout *l, unsigned int column)
{
	const json_t *item;
	size_t i;

	json_array_foreach ((json_t *)list, i, item) {
		fprintf(out, "%*s-%*s", (int)column, "", (int)l->item - 1, "");
		if (json_is_object(item)) {
			yaml_map(out, item, l, column + l->item, true);
		} else {
			yaml_scalar(out, item);
			fputc('\n', out);
		}
	}
}

/* @first_line: the cursor is where the first key goes. */
static void yaml_map(FILE *out, const json_t *map, const struct lx_layout *l, unsigned int column,
		     bool first_line)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)map, key, value) {
		fprintf(out, "%*s%s:", first_line ? 0 : (int)column, "", key);
		first_line = false;
		if (json_is_object(value) && json_object_size(value)) {
			fputc('\n', out);
			yaml_map(out, value, l, column + l->map, false);
		} else if (json_is_array(value) && json_array_size(value)) {
			fputc('\n', out);
			yaml_list(out, value, l, column + l->dash);
		} else if (json_is_object(value) || json_is_array(value)) {
			fputs(json_is_object(value) ? " {}\n" : " []\n", out);
		} else {
			fputc(' ', out);
			yaml_scalar(out, value);
			fputc('\n', out);
		}
	}
}

void lx_print_yaml(FILE *out, const json_t *map, const struct lx_layout *layout)
{
	yaml_map(out, map, layout, 0, false);
}

/* ---- JSON -------------------------------------------------------------------------- */

static json_t *snake_tree(const json_t *value)
{
	json_t *copy, *child;
	const char *key;
	char name[64];
	size_t i;

	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach ((json_t *)value, i, child)
			json_array_append_new(copy, snake_tree(child));
		return copy;
	}
	if (!json_is_object(value))
		return json_incref((json_t *)value);
	copy = json_object();
	json_object_foreach ((json_t *)value, key, child) {
		lx_key_snake(key, name, sizeof(name));
		json_object_set_new(copy, name, snake_tree(child));
	}
	return copy;
}

void lx_print_json(FILE *out, const json_t *value, bool pretty)
{
	json_t *copy = snake_tree(value);

	json_dumpf(copy, out, JSON_ENCODE_ANY | (pretty ? JSON_INDENT(2) : JSON_COMPACT));
	fputc('\n', out);
	json_decref(copy);
}

/* ---- tables ------------------------------------------------------------------------ */

#define COLUMNS_MAX 24
#define GAP 2

struct table {
	FILE *out;
	bool wide;
	unsigned int n;
	const char *title[COLUMNS_MAX];
	bool number[COLUMNS_MAX];
	bool hidden[COLUMNS_MAX]; /* until it has a value */
	size_t width[COLUMNS_MAX];
	char **cell; /* n per row */
	size_t n_rows;
};

static void out_of_memory(void)
{
	fputs("out of memory\n", stderr);
	exit(1);
}

/* "order 3, unframed 1": the counters of a mapping. */
static char *counters_text(const json_t *map)
{
	const json_t *value;
	const char *key;
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	json_object_foreach ((json_t *)map, key, value)
		fprintf(out, "%s%s %" JSON_INTEGER_FORMAT, ftell(out) ? ", " : "", key,
			json_integer_value(value));
	if (!json_object_size(map))
		fputc('-', out);
	return fclose(out) ? NULL : text;
}

static char *cell_text(const json_t *value)
{
	char *text = NULL;

	if (json_is_integer(value)) {
		if (asprintf(&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value)) < 0)
			text = NULL;
	} else if (json_is_object(value)) {
		const json_t *name = json_object_get(value, "0"); /* of an interface */

		text = json_is_string(name) ? strdup(json_string_value(name))
					    : counters_text(value);
	} else if (json_is_boolean(value)) {
		text = strdup(json_is_true(value) ? "yes" : "no");
	} else {
		text = strdup(json_is_string(value) ? json_string_value(value) : "-");
	}
	if (!text)
		out_of_memory();
	return text;
}

static bool is_column(const struct table *t, const struct lx_field *f)
{
	return f->col && (t->wide || !f->wide) && t->n < COLUMNS_MAX;
}

static void add_columns(struct table *t, const struct lx_schema *schema)
{
	for (const struct lx_field *f = schema ? schema->field : NULL; f && f->key; f++) {
		/* A nest with a heading is a cell, not columns of its own. */
		if (f->type == LX_FIELD_NEST && !f->col) {
			add_columns(t, f->sub);
		} else if (is_column(t, f)) {
			t->number[t->n] = f->type == LX_FIELD_INT;
			t->hidden[t->n] = f->rare;
			t->title[t->n++] = f->col;
		}
	}
}

static bool says_nothing(const json_t *value)
{
	return !value || (json_is_integer(value) && !json_integer_value(value));
}

/* Fills cells in the order of add_columns(). */
static void add_cells(struct table *t, const struct lx_schema *schema, const json_t *map,
		      unsigned int *at)
{
	for (const struct lx_field *f = schema ? schema->field : NULL; f && f->key; f++) {
		const json_t *value = json_object_get(map, f->key);

		if (f->type == LX_FIELD_NEST && !f->col) {
			add_cells(t, f->sub, value, at);
		} else if (f->col && (t->wide || !f->wide) && *at < t->n) {
			char *text = cell_text(value);

			t->cell[t->n_rows * t->n + *at] = text;
			t->hidden[*at] = t->hidden[*at] && says_nothing(value);
			if (strlen(text) > t->width[*at])
				t->width[*at] = strlen(text);
			++*at;
		}
	}
}

static void add_row(struct table *t, const struct lx_ctl_shown *object, const json_t *group,
		    const json_t *row)
{
	unsigned int at = 0;

	t->cell = realloc(t->cell, (t->n_rows + 1) * t->n * sizeof(*t->cell));
	if (!t->cell)
		out_of_memory();
	add_cells(t, object->group, group, &at);
	add_cells(t, object->row, row, &at);
	t->n_rows++;
}

static void add_rows(struct table *t, const struct lx_ctl_shown *object, const json_t *list)
{
	const json_t *group, *row;
	size_t i, j;

	json_array_foreach ((json_t *)list, i, group) {
		const json_t *rows = object->group ? json_object_get(group, object->rows) : NULL;

		if (!object->group)
			add_row(t, object, NULL, group);
		json_array_foreach ((json_t *)rows, j, row)
			add_row(t, object, group, row);
	}
}

/* Right-aligns numbers; no padding after the last column. */
static void print_line(const struct table *t, char *const *cell)
{
	int gap = 0;

	for (unsigned int i = 0; i < t->n; i++) {
		int pad = (int)(t->width[i] - strlen(cell[i]));

		if (t->hidden[i])
			continue;
		fprintf(t->out, "%*s%s", gap + (t->number[i] ? pad : 0), "", cell[i]);
		gap = GAP + (t->number[i] ? 0 : pad);
	}
	fputc('\n', t->out);
}

void lx_print_table(FILE *out, const json_t *list, const struct lx_ctl_shown *object, bool wide)
{
	struct table t = { .out = out, .wide = wide };

	add_columns(&t, object->group);
	add_columns(&t, object->row);
	for (unsigned int i = 0; i < t.n; i++)
		t.width[i] = strlen(t.title[i]);
	add_rows(&t, object, list);
	if (t.n_rows)
		print_line(&t, (char *const *)t.title);
	for (size_t r = 0; r < t.n_rows; r++)
		print_line(&t, t.cell + r * t.n);
	for (size_t i = 0; i < t.n_rows * t.n; i++)
		free(t.cell[i]);
	free(t.cell);
}

/* ---- the end ----------------------------------------------------------------------- */

bool lx_print_end(const char *program)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	/* The stream has forgotten why an earlier write failed; the next one fails, too. */
	if (!errno && putchar('\n') != EOF)
		fflush(stdout);
	fprintf(stderr, "%s: cannot write the output: %s\n", program,
		errno ? strerror(errno) : "a part of it is missing");
	return false;
}
