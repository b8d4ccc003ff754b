/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Draws a matrix; see the header. Called by fabric.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"

#define LEVELS 8
#define CELL 12 /* columns of a cell in the terminal: "!1234.567 #" */

/* ---- contents --------------------------------------------------------------------------- */

/* Makes room for another shape; new cells have no value. */
static bool reshape(struct lx_matrix *m, size_t rows, size_t columns)
{
	struct lx_matrix_cell *cell = malloc((rows * columns + 1) * sizeof(*cell));

	if (!cell)
		return false;
	for (size_t i = 0; i < rows * columns; i++)
		cell[i] = (struct lx_matrix_cell){ .value = -1 };
	for (size_t r = 0; r < m->n_rows && r < rows; r++) {
		for (size_t c = 0; c < m->n_columns && c < columns; c++)
			cell[r * columns + c] = m->cell[r * m->n_columns + c];
	}
	free(m->cell);
	m->cell = cell;
	m->n_rows = rows;
	m->n_columns = columns;
	return true;
}

/* The index of a name, added at the end if it is new. */
static int name_at(struct lx_matrix *m, const char *name, bool column)
{
	char(**names)[LX_MATRIX_NAME] = column ? &m->column : &m->row, (*grown)[LX_MATRIX_NAME];
	size_t n = column ? m->n_columns : m->n_rows;

	for (size_t i = 0; i < n; i++) {
		if (!strncmp((*names)[i], name, LX_MATRIX_NAME - 1))
			return i;
	}
	grown = realloc(*names, (n + 1) * LX_MATRIX_NAME);
	if (!grown)
		return -1;
	*names = grown;
	snprintf(grown[n], LX_MATRIX_NAME, "%s", name);
	return reshape(m, m->n_rows + !column, m->n_columns + column) ? (int)n : -1;
}

int lx_matrix_row(struct lx_matrix *m, const char *name)
{
	return name_at(m, name, false);
}

int lx_matrix_column(struct lx_matrix *m, const char *name)
{
	return name_at(m, name, true);
}

struct lx_matrix_cell *lx_matrix_at(const struct lx_matrix *m, size_t row, size_t column)
{
	return &m->cell[row * m->n_columns + column];
}

void lx_matrix_free(struct lx_matrix *m)
{
	free(m->row);
	free(m->column);
	free(m->cell);
}

/* ---- scale ------------------------------------------------------------------------------ */

struct scale {
	double least, most;
	int flat; /* the level if there is nothing to compare */
};

static struct scale scale_of(const struct lx_matrix *m)
{
	struct scale s = { .flat = m->higher_is_better ? LEVELS - 1 : 0 };

	for (size_t i = 0; i < m->n_rows * m->n_columns; i++) {
		double v = m->cell[i].value;

		if (v <= 0)
			continue;
		if (!s.most || v > s.most)
			s.most = v;
		if (!s.least || v < s.least)
			s.least = v;
	}
	return s;
}

/* 0 .. LEVELS - 1. Within a factor of 2 everything is at the same level: that is noise. */
static int level_of(struct scale s, double v)
{
	double span = log2(s.most / s.least);

	if (v <= 0)
		return 0;
	if (span < 1)
		return s.flat;
	return (int)(log2(v / s.least) / span * (LEVELS - 1) + 0.5);
}

/* ---- terminal --------------------------------------------------------------------------- */

static size_t widest(char (*name)[LX_MATRIX_NAME], size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		if (strlen(name[i]) > most)
			most = strlen(name[i]);
	}
	return most;
}

static const char *bar_of(const struct lx_matrix_cell *cell, struct scale s, bool blocks)
{
	static const char *const bars[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const digits[LEVELS] = { "1", "2", "3", "4", "5", "6", "7", "8" };

	return (blocks ? bars : digits)[level_of(s, cell->value)];
}

static void draw_cell(FILE *out, const struct lx_matrix *m, const struct lx_matrix_cell *cell,
		      struct scale s, bool blocks, int pad)
{
	fprintf(out, "%*s", pad, "");
	if (cell->value < 0)
		fprintf(out, "%*s", CELL, cell->lost ? "!    lost   " : "-   ");
	else
		fprintf(out, "%c%*.*f %s ", cell->bad ? '!' : ' ', CELL - 4, m->decimals,
			cell->value, bar_of(cell, s, blocks));
}

static void draw_compact(FILE *out, const struct lx_matrix *m, bool blocks)
{
	int head = widest(m->row, m->n_rows);
	struct scale s = scale_of(m);

	fprintf(out, "%s, %.*f to %.*f\n", m->title, m->decimals, s.least, m->decimals, s.most);
	for (size_t r = 0; r < m->n_rows; r++) {
		fprintf(out, "%-*s ", head, m->row[r]);
		for (size_t c = 0; c < m->n_columns; c++) {
			const struct lx_matrix_cell *cell = lx_matrix_at(m, r, c);

			if (cell->value < 0)
				fputs(cell->lost ? " !x" : "  -", out);
			else
				fprintf(out, " %c%s", cell->bad ? '!' : ' ',
					bar_of(cell, s, blocks));
		}
		fputc('\n', out);
	}
}

void lx_matrix_draw(FILE *out, const struct lx_matrix *m, bool blocks)
{
	int head = widest(m->row, m->n_rows), width = widest(m->column, m->n_columns);
	struct scale s = scale_of(m);

	if (m->compact) {
		draw_compact(out, m, blocks);
		return;
	}
	if (width < CELL)
		width = CELL;
	fprintf(out, "%s\n%*s", m->title, head, "");
	for (size_t c = 0; c < m->n_columns; c++)
		fprintf(out, "  %*s", width, m->column[c]);
	fputc('\n', out);
	for (size_t r = 0; r < m->n_rows; r++) {
		fprintf(out, "%-*s", head, m->row[r]);
		for (size_t c = 0; c < m->n_columns; c++)
			draw_cell(out, m, lx_matrix_at(m, r, c), s, blocks, 2 + width - CELL);
		fputc('\n', out);
	}
}

/* ---- SVG -------------------------------------------------------------------------------- */

#define SVG_WIDTH 96
#define SVG_HEIGHT 28
#define SVG_LETTER 8 /* of the names, at the most */

/* NIDs have none of these, but file formats are not the place to rely on it. */
static void svg_text(FILE *out, int x, int y, const char *anchor, const char *text)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
	for (; *text; text++) {
		if (strchr("<>&\"", *text))
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
	fputs("</text>\n", out);
}

static void svg_cell(FILE *out, const struct lx_matrix *m, const struct lx_matrix_cell *cell,
		     struct scale s, int x, int y)
{
	char text[32] = "-";
	const char *stroke = cell->bad || cell->lost ? "#b00020" : "#ffffff";
	int light = 92 - 6 * level_of(s, cell->value);

	if (cell->value >= 0)
		snprintf(text, sizeof(text), "%.*f", m->decimals, cell->value);
	else if (cell->lost)
		strcpy(text, "lost");
	fprintf(out,
		"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"hsl(%d,60%%,%d%%)\" "
		"stroke=\"%s\" stroke-width=\"2\"/>\n",
		x + 1, y + 1, SVG_WIDTH - 2, SVG_HEIGHT - 2, cell->bad || cell->lost ? 0 : 210,
		cell->value < 0 && !cell->lost ? 97 : light, stroke);
	svg_text(out, x + SVG_WIDTH / 2, y + SVG_HEIGHT / 2 + 4, "middle", text);
}

struct svg_shape {
	int left, top, step; /* of the cells, and from one column to the next */
	int width, height;
};

static struct svg_shape svg_shape_of(const struct lx_matrix *m)
{
	size_t names = widest(m->column, m->n_columns) * SVG_LETTER + 16;
	struct svg_shape s = { .left = widest(m->row, m->n_rows) * SVG_LETTER + 16,
			       .top = 2 * SVG_HEIGHT,
			       .step = names > SVG_WIDTH ? names : SVG_WIDTH };

	s.width = s.left + m->n_columns * s.step + 8;
	s.height = s.top + m->n_rows * SVG_HEIGHT + 8;
	return s;
}

static void svg_matrix(FILE *out, const struct lx_matrix *m, int y)
{
	struct svg_shape shape = svg_shape_of(m);
	struct scale s = scale_of(m);
	int top = y + shape.top;

	svg_text(out, 8, y + SVG_HEIGHT / 2 + 4, "start", m->title);
	for (size_t c = 0; c < m->n_columns; c++)
		svg_text(out, shape.left + c * shape.step + shape.step / 2, top - 8, "middle",
			 m->column[c]);
	for (size_t r = 0; r < m->n_rows; r++) {
		svg_text(out, shape.left - 8, top + r * SVG_HEIGHT + SVG_HEIGHT / 2 + 4, "end",
			 m->row[r]);
		for (size_t c = 0; c < m->n_columns; c++)
			svg_cell(out, m, lx_matrix_at(m, r, c), s,
				 shape.left + c * shape.step + (shape.step - SVG_WIDTH) / 2,
				 top + r * SVG_HEIGHT);
	}
}

void lx_matrix_svg(FILE *out, const struct lx_matrix *m, size_t n)
{
	int width = 0, height = 0, y = 0;

	for (size_t i = 0; i < n; i++) {
		struct svg_shape shape = svg_shape_of(&m[i]);

		width = shape.width > width ? shape.width : width;
		height += shape.height;
	}
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"font-family=\"monospace\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		width, height);
	for (size_t i = 0; i < n; i++) {
		svg_matrix(out, &m[i], y);
		y += svg_shape_of(&m[i]).height;
	}
	fputs("</svg>\n", out);
}
