/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by core.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "refused.h"

/* The entry of an address, or the one that makes room. */
static struct lx_refused *entry_of(struct lx_core *core, const char *address)
{
	struct lx_refused *oldest = core->refused;

	for (unsigned int i = 0; i < LX_REFUSED_MAX; i++) {
		struct lx_refused *r = &core->refused[i];

		if (!strcmp(r->info.address, address))
			return r;
		if (r->last_ns < oldest->last_ns)
			oldest = r;
	}
	return oldest;
}

void lx_refused_note(struct lx_core *core, enum lx_refused_kind kind, const char *address,
		     const char *reason)
{
	struct lx_refused *r = entry_of(core, address);

	/* For another reason it begins anew. */
	if (strcmp(r->info.address, address) || strcmp(r->info.reason, reason)) {
		*r = (struct lx_refused){ .info.kind = kind };
		snprintf(r->info.address, sizeof(r->info.address), "%s", address);
		snprintf(r->info.reason, sizeof(r->info.reason), "%s", reason);
		r->info.since_s = core->ops->wall(core->ops_arg) / LX_S_NS;
	}
	r->info.connections++;
	r->last_ns = lx_core_now(core) + 1;
}

static int by_age(const void *a, const void *b)
{
	const struct lx_refused_info *x = a, *y = b;

	return x->age_s < y->age_s ? -1 : x->age_s > y->age_s;
}

int lx_refused_describe(struct lx_core *core, struct lx_refused_info **ret_list, size_t *ret_n)
{
	struct lx_refused_info *list = calloc(LX_REFUSED_MAX, sizeof(*list));
	uint64_t now = lx_core_now(core) + 1;
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (unsigned int i = 0; i < LX_REFUSED_MAX; i++) {
		const struct lx_refused *r = &core->refused[i];

		if (!r->last_ns)
			continue;
		list[n] = r->info;
		list[n++].age_s = (now - r->last_ns) / LX_S_NS;
	}
	qsort(list, n, sizeof(*list), by_age);
	*ret_list = list;
	*ret_n = n;
	return 0;
}
