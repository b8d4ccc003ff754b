/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The file that keeps the console's memory between commands, INSTANCE.lst beside lnetxd's control
 * socket, and the process that keeps the session alive meanwhile (keeper.c), which holds a
 * lock on INSTANCE.lst.keeper. No keeper: no session, whatever the file says.
 */
#ifndef LX_TOOLS_CONSOLE_FILE_H
#define LX_TOOLS_CONSOLE_FILE_H

#include <limits.h>

#include "../common/console.h"

struct lx_console_file {
	char socket[PATH_MAX]; /* lnetxd's: the address for requests */
	int fd; /* locked; -1: closed */
	int keeper_fd; /* -1: closed */
	json_t *console; /* NULL: no session */
};

/* Seconds on the clock of console.h, which runs while the machine sleeps. */
int64_t lx_console_now(void);

/**
 * lx_console_file_open - lock the file, and read it
 * @socket: lnetxd's control socket
 * Returns 0 or -errno. Others wait until lx_console_file_close().
 */
int lx_console_file_open(struct lx_console_file *f, const char *socket);

/* Writes @f->console, and unlocks. Returns 0 or -errno. Nothing if it is closed. */
int lx_console_file_close(struct lx_console_file *f);

/* Takes the keeper's lock, waiting for the keeper before. -errno. It is inherited by fork(). */
int lx_console_file_keep(struct lx_console_file *f);

/* Ends the session's keeper at once, and forgets the session. The file must be open. */
void lx_console_file_drop(struct lx_console_file *f);

#endif
