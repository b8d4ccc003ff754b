/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion for the shell (tools/dist/completion): from the tables of either grammar, from
 * the running lnetxd, and from this machine.
 */
#ifndef LX_TOOLS_COMPLETE_H
#define LX_TOOLS_COMPLETE_H

/* Not a candidate: file names are possible, too. */
#define LX_COMPLETE_FILE ":file"

/*
 * Each prints candidates for the last of the words, one per line; fewer if the user may not
 * read lnetxd's state. Returns the exit status, 0.
 */
int lx_complete_lnetx(char **words); /* terminated by NULL */
int lx_complete_lnetctl(char **words);

/* Parts of them, for other grammars: what may stand for NET or NID and begins with @word. */
void lx_complete_nets(const char *word);
void lx_complete_nids(const char *word);

#endif
