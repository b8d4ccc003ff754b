/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion for the shell (tools/dist/completion): from the tables of either grammar, from
 * the running lnetxd, and from this machine.
 */
#ifndef LX_TOOLS_COMPLETE_H
#define LX_TOOLS_COMPLETE_H

#include "../lnetx/lnetx.h"
#include "../lustre/lnetctl.h"

/* Not a candidate: file names are possible, too. */
#define LX_COMPLETE_FILE ":file"

/*
 * Where a line ends: its last word, which is to be completed, and what the parser of the grammar
 * made of those before it.
 */
struct lx_complete {
	const char *word; /* may be ""; NULL: the line is to be run */
	struct lx_session *session;
	bool instance; /* the word is one */
	bool own; /* NIDs are this node's */
	const struct lx_args *args; /* of a command; it may lack the word as a value */
	size_t done; /* bytes of the word that are fixed: "eth0," of "eth0,et" */
};

/* Takes "--complete", and the last word, out of the arguments. False: it is not there. */
bool lx_complete_begin(struct lx_complete *l, int *argc, char ***argv);

/*
 * Each prints the candidates, one per line; fewer if the user may not read lnetxd's state.
 * NULL: no such word was given. Returns the exit status, 0.
 */
int lx_complete_lnetx(struct lx_complete *l, const struct lx_lnetx_object *o,
		      const struct lx_command *c);
int lx_complete_lnetctl(struct lx_complete *l, const struct lx_group *g,
			const struct lx_lnetctl_cmd *v);

/* Prints what begins with the word. */
void lx_complete_offer(const struct lx_complete *l, const char *candidate);

/* Parts of them, for other grammars: what may stand for NET or NID and begins with the word. */
void lx_complete_nets(struct lx_complete *l);
void lx_complete_nids(struct lx_complete *l);

#endif
