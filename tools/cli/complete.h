/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What may come next on a command line, for the shell (tools/dist/completion): from the tables
 * of either grammar, from the running lnetxd, and from this machine.
 */
#ifndef LX_TOOLS_COMPLETE_H
#define LX_TOOLS_COMPLETE_H

/* A line that is no candidate: names of files may stand here, too. */
#define LX_COMPLETE_FILE ":file"

/*
 * Each prints what the last of the words may become, a line each. Who cannot look at lnetxd
 * is offered less. Returns the exit status, 0.
 */
int lx_complete_lnetx(char **words); /* ended by NULL */
int lx_complete_lnetctl(char **words);

#endif
