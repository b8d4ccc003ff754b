/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections that transports refused lately, although the other side may mean well: one entry for
 * each address. A new address takes the place of the one that has been quiet for longest.
 */
#ifndef LX_CORE_REFUSED_H
#define LX_CORE_REFUSED_H

#include <lnetx/info.h>

struct lx_core;

struct lx_refused {
	struct lx_refused_info info;
	uint64_t last_ns; /* 0: no entry */
};

void lx_refused_note(struct lx_core *core, enum lx_refused_kind kind, const char *address,
		     const char *reason);

/* The latest first. An array of at least one; returns 0 or -ENOMEM. */
int lx_refused_describe(struct lx_core *core, struct lx_refused_info **ret_list, size_t *ret_n);

#endif
