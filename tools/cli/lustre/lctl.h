/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The part of the reference's lctl that scripts and monitoring call; see lctl(8). */
#ifndef LX_TOOLS_LCTL_H
#define LX_TOOLS_LCTL_H

/* The program when it is called lctl. Returns the exit status. */
int lx_lctl_main(int argc, char **argv);

#endif
