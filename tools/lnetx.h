/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The program's own grammar: "lnetx [OPTIONS] OBJECT [VERB] [KEYWORD VALUE ...]", with
 * the habits of iproute2.
 */
#ifndef LX_TOOLS_LNETX_H
#define LX_TOOLS_LNETX_H

/* Exit status. */
#define LX_EXIT_REFUSED 1 /* the daemon said no, or is not there */
#define LX_EXIT_USAGE 2 /* the command is not understood */

int lx_lnetx_main(int argc, char **argv);

#endif
