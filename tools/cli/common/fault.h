/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault injection in three grammars: lnetctl, lctl, lnetx. */
#ifndef LX_TOOLS_FAULT_H
#define LX_TOOLS_FAULT_H

#include "../lustre/lnetctl.h"

/* A word of lctl about rules: "net_drop_add", "net_delay" (with the verb as the next word), ... */
bool lx_fault_is_lctl(const char *word);

/* Runs such a command; @argv begins with that word. Returns the exit status. */
int lx_fault_lctl(struct lx_session *s, int argc, char **argv);

#endif
