/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes in a configuration; see the header. */
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "report.h"

static bool is_noted(const struct lx_conf_report *r, struct lx_conf_place at)
{
	for (size_t i = 0; at.line && i < r->n; i++) {
		if (r->list[i].what.line == at.line && r->list[i].what.column == at.column)
			return true;
	}
	return false;
}

/* Room for one more; NULL: full, or out of memory. */
static struct lx_conf_mistake *grow(struct lx_conf_report *r)
{
	if (!r->list)
		r->list = calloc(LX_CONF_MISTAKES_MAX, sizeof(*r->list));
	if (!r->list)
		r->out_of_memory = true;
	return r->list && r->n < LX_CONF_MISTAKES_MAX ? &r->list[r->n++] : NULL;
}

int lx_conf_note(struct lx_conf_report *r, int error, struct lx_conf_place at, const char *fmt, ...)
{
	struct lx_conf_mistake *m = is_noted(r, at) ? NULL : grow(r);

	if (!m)
		return error;
	m->error = error;
	m->what.line = at.line;
	m->what.column = at.column;
	LX_FORMAT(m->what.text, sizeof(m->what.text), fmt);
	return error;
}

static int by_place(const void *a, const void *b)
{
	const struct lx_conf_error *x = &((const struct lx_conf_mistake *)a)->what;
	const struct lx_conf_error *y = &((const struct lx_conf_mistake *)b)->what;

	if (!x->line != !y->line)
		return !x->line - !y->line;
	return x->line != y->line ? x->line - y->line : x->column - y->column;
}

void lx_conf_report_sort(struct lx_conf_report *r)
{
	if (r->n)
		qsort(r->list, r->n, sizeof(*r->list), by_place);
}

int lx_conf_report_end(struct lx_conf_report *r, struct lx_conf_error *ret_err)
{
	struct lx_conf_error oom = { .text = "out of memory" };
	int error = 0;

	lx_conf_report_sort(r);
	if (r->n)
		error = r->list[0].error;
	else if (r->out_of_memory)
		error = -ENOMEM;
	if (error && ret_err)
		*ret_err = r->n ? r->list[0].what : oom;
	free(r->list);
	memset(r, 0, sizeof(*r));
	return error;
}
