/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The program when called as lst: a console of LNet selftest with the grammar, output and exit
 * statuses of the reference's.
 *
 *	lst.c                        verbs, help, completion
 *	 └▶ lst_session.c, lst_group.c, lst_batch.c, lst_test.c, lst_stat.c   verbs
 *	     ├▶ keeper.c             the process that keeps the session alive
 *	     └▶ lst_verb.c           words of a verb, the session between commands
 *	         ├▶ console_file.c   where it is kept
 *	         │   └▶ console.c    what is kept: pure
 *	         └▶ trans.c          the engine: requests to many nodes, by lnetxd
 */
#ifndef LX_TOOLS_LST_H
#define LX_TOOLS_LST_H

int lx_lst_main(int argc, char **argv);

#endif
