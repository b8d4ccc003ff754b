/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tunables between two starts of LNet; see the header. Called by change.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <lnetx/lnetx.h>

#include "../base/grow.h"
#include "saved.h"

struct walk {
	struct lx_saved saved;
	int err;
};

static int take_one(const char *module, const struct lx_tunable *t, const char *value, void *arg)
{
	struct walk *w = arg;
	struct lx_saved *s = &w->saved;
	struct lx_conf_tunable *one = lx_grow(&s->tunable, &s->n, sizeof(*one));

	if (!one) {
		w->err = -ENOMEM;
		return 1;
	}
	snprintf(one->module, sizeof(one->module), "%s", module);
	snprintf(one->name, sizeof(one->name), "%s", t->name);
	snprintf(one->value, sizeof(one->value), "%s", value);
	return 0;
}

int lx_saved_take(struct lx_node *node, struct lx_saved *ret_saved)
{
	struct walk w = { .err = 0 };

	lx_tunable_each(node, take_one, &w);
	if (w.err) {
		lx_saved_clear(&w.saved);
		return w.err;
	}
	*ret_saved = w.saved;
	return 0;
}

/* Numbers of router buffers are tunables, too. */
void lx_saved_give(const struct lx_saved *saved, struct lx_conf *conf)
{
	if (!saved->tunable)
		return;
	conf->tunable = saved->tunable;
	conf->n_tunables = saved->n;
	for (int i = 0; i < LX_POOLS; i++)
		conf->buffers[i] = LX_UNSET;
}

void lx_saved_clear(struct lx_saved *saved)
{
	free(saved->tunable);
	*saved = (struct lx_saved){ .n = 0 };
}
