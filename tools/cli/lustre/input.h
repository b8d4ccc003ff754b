/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands from standard input, for programs that are started without one. */
#ifndef LX_TOOLS_INPUT_H
#define LX_TOOLS_INPUT_H

/* Runs a command; returns its exit status. @argv ends with NULL. */
typedef int (*lx_input_fn)(void *arg, int argc, char **argv);

/**
 * lx_input_run - run the commands of standard input, a line each, until "quit" or its end
 * @prompt: for a terminal
 * Quotes protect spaces; '#' begins a comment. Returns the status of the last command that
 * failed, 0 if none did.
 */
int lx_input_run(const char *prompt, lx_input_fn fn, void *arg);

#endif
