/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault injection in three grammars: lnetctl, lctl, lnetx. */
#ifndef LX_TOOLS_FAULT_H
#define LX_TOOLS_FAULT_H

#include <string.h>

#include "lnetctl.h"

extern const struct lx_lnetctl_cmd lx_lnetctl_drop_cmds[], lx_lnetctl_delay_cmds[];

/*
 * The verbs of a verb of lnetctl, as only "fault drop" and "fault delay" have them; ended by
 * name NULL. NULL: it has none.
 */
static inline const struct lx_lnetctl_cmd *lx_fault_verbs(const char *group, const char *verb)
{
	if (strcmp(group, "fault"))
		return NULL;
	return strcmp(verb, "delay") ? lx_lnetctl_drop_cmds : lx_lnetctl_delay_cmds;
}

/* A word of lctl about rules: "net_drop_add", "net_delay" (with the verb as the next word), ... */
bool lx_fault_is_lctl(const char *word);

/* Runs such a command; @argv begins with that word. Returns the exit status. */
int lx_fault_lctl(struct lx_session *s, int argc, char **argv);

#endif
