/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of settings of an NI (lx_conf_ni_settings(), lx_conf_lnd_settings()). */
#ifndef LX_BASE_SETTING_H
#define LX_BASE_SETTING_H

#include <stdbool.h>
#include <string.h>

#include <lnetx/conf.h>

/* The place of a setting in its table, or -1; a NULL table is empty. */
static inline int lx_setting_find(const struct lx_conf_ni_setting *set, const char *name)
{
	for (int i = 0; set && set[i].name; i++) {
		if (!strcmp(set[i].name, name))
			return i;
	}
	return -1;
}

static inline bool lx_setting_fits(const struct lx_conf_ni_setting *set, int32_t value)
{
	return value >= set->min && value <= set->max;
}

#endif
