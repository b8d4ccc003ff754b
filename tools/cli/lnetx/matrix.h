/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A matrix of figures, drawn in the terminal and as SVG. */
#ifndef LX_TOOLS_MATRIX_H
#define LX_TOOLS_MATRIX_H

#include <stdbool.h>
#include <stdio.h>

#define LX_MATRIX_NAME 64

struct lx_matrix_cell {
	double value; /* negative: there is none */
	bool bad; /* marked */
	bool lost; /* without a value, but there should be one */
};

/* Owner of its memory: freed with lx_matrix_free(). */
struct lx_matrix {
	const char *title;
	int decimals; /* of a figure */
	bool higher_is_better; /* then a matrix of much the same figures is full, not empty */
	bool compact; /* in the terminal bars only, for columns in the order of the rows */
	size_t n_rows, n_columns;
	char (*row)[LX_MATRIX_NAME], (*column)[LX_MATRIX_NAME];
	struct lx_matrix_cell *cell; /* row by row */
};

/* The row or column of that name, added if it is new; -1: out of memory. */
int lx_matrix_row(struct lx_matrix *m, const char *name);
int lx_matrix_column(struct lx_matrix *m, const char *name);

struct lx_matrix_cell *lx_matrix_at(const struct lx_matrix *m, size_t row, size_t column);
void lx_matrix_free(struct lx_matrix *m);

/*
 * A line per row: figure, and a bar between the smallest and the largest (logarithmic). Bad ones
 * have a '!'. @blocks: the terminal has the bars of Unicode, else digits 1 to 8.
 */
void lx_matrix_draw(FILE *out, const struct lx_matrix *m, bool blocks);

/* The same as a picture: @n matrices, one below the other. */
void lx_matrix_svg(FILE *out, const struct lx_matrix *m, size_t n);

#endif
