/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A user-defined selection policy in parsed form: ranges instead of texts, and the action
 * (lnet.md 11.3). The core owns the list of policies and applies them (user/core/udsp.h).
 */
#ifndef LX_BASE_POLICY_H
#define LX_BASE_POLICY_H

#include <lnetx/conf.h>

#include "nidrange.h"

struct lx_policy {
	struct lx_nid_range src, dst, rte; /* NONE: not given */
	int64_t priority; /* LX_UNSET: none */
};

/**
 * lx_policy_parse - parse and check a policy
 * @text: on failure, the wrong clause and what was expected; @size bytes
 * Returns 0 or -EINVAL.
 */
int lx_policy_parse(const struct lx_conf_udsp *conf, struct lx_policy *ret_policy, char *text,
		    size_t size);

/* The inverse; leaves the index alone. */
void lx_policy_format(const struct lx_policy *policy, struct lx_conf_udsp *conf);

/* Whether the clauses are the same, whatever the action. */
bool lx_policy_same(const struct lx_policy *a, const struct lx_policy *b);

static inline bool lx_policy_has(const struct lx_nid_range *clause)
{
	return clause->form != LX_NID_RANGE_NONE;
}

#endif
