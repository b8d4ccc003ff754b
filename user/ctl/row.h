/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes rows of attributes; functions that read them are in lnetx/ctl.h. */
#ifndef LX_CTL_ROW_H
#define LX_CTL_ROW_H

#include <internal/ctl.h>
#include <lnetx/ctl.h>

/* @group: of an object with groups, whose fields come first; or NULL. */
void lx_ctl_row_of(struct lx_ctl_row *ret_row, const struct lx_schema *group,
		   const struct lx_schema *schema, const void *attrs, size_t len,
		   unsigned int level);

#endif
