/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ctrl-C for commands that have something to report, or to clean up, before they end. */
#ifndef LX_TOOLS_INTERRUPT_H
#define LX_TOOLS_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are noted; a second one ends the program. */
void lx_interrupt_catch(void);
bool lx_interrupt_came(void);

#endif
