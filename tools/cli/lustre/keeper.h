/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process that keeps a session of LNet selftest alive between commands of "lst": it asks silent
 * nodes for a sign of life, and ends the session when no command has come for its time-out.
 */
#ifndef LX_TOOLS_KEEPER_H
#define LX_TOOLS_KEEPER_H

#include "console_file.h"

/**
 * lx_keeper_start - start one for the session of @f
 * @f: open; its console gets the key "keeper", the process id
 * Returns 0 or -errno.
 */
int lx_keeper_start(struct lx_console_file *f);

/* Ends the session on nodes, as far as they answer. */
void lx_keeper_leave(const json_t *console, const char *socket, const json_t *nids);

/* Ends the session of @f: on all its nodes, its keeper, and here. */
void lx_keeper_end(struct lx_console_file *f);

#endif
