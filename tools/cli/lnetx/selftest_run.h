/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx selftest run": a whole session of LNet selftest in one command. */
#ifndef LX_TOOLS_SELFTEST_RUN_H
#define LX_TOOLS_SELFTEST_RUN_H

#include "lnetx.h"

/* Words of a test; -EINVAL with its reason. "4k", "1m": up to LX_LST_BULK_MAX */
int lx_selftest_parse_size(struct lx_session *s, const char *text, uint32_t *ret);

lx_request_fn lx_selftest_run;

extern const struct lx_keyword lx_selftest_run_keywords[];

#endif
