/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Recovery pings to NIs and peer NIs below full health (lnet.md 13.3). */
#ifndef LX_CORE_RECOVERY_H
#define LX_CORE_RECOVERY_H

#include <stddef.h>

struct lx_core;
struct lx_recovery_info;

/* Every second: sends the pings that are due. */
void lx_recovery_tick(struct lx_core *core);

/* All NIs, then all peer NIs in recovery. -ENOMEM. */
int lx_recovery_describe(struct lx_core *core, struct lx_recovery_info **ret_list, size_t *ret_n);

#endif
