/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault injection in three grammars: lnetctl, lctl, lnetx. */
#ifndef LX_TOOLS_FAULT_H
#define LX_TOOLS_FAULT_H

#include "lnetctl.h"

/*
 * The verbs of a verb of lnetctl, as only "fault drop" and "fault delay" have them; ended by
 * name NULL. NULL: it has none.
 */
const struct lx_lnetctl_cmd *lx_fault_verbs(const char *group, const char *verb);

/* The names of failures that a rule may cause: from 0 on until NULL. */
const char *lx_fault_error_name(int i);

/* The program when it is called lctl: net_drop_add and the like. */
int lx_lctl_main(int argc, char **argv);

#endif
