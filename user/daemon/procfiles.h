/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files in the form of /proc/sys/lnet (columns.h), in the folder "lnet" beside the control
 * socket, for programs that read those: written anew every procfiles_interval seconds, each at
 * once, and readable by everybody. They are removed when the tunable is 0 and while there is no
 * node: an old state is worse than none. Of several lnetxd with one folder, the first has it.
 */
#ifndef LX_DAEMON_PROCFILES_H
#define LX_DAEMON_PROCFILES_H

struct lx_daemon;

/* Call it often, on the main thread: writes the files when it is time to. */
void lx_procfiles_look(struct lx_daemon *d);

/* Removes them. */
void lx_procfiles_end(void);

#endif
