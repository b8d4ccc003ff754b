/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Another user than root, for an lnetxd that root starts without a service manager: it keeps the
 * capabilities that the unit file gives, and nothing else.
 */
#ifndef LX_DAEMON_USER_H
#define LX_DAEMON_USER_H

/**
 * lx_user_become - go on as this user
 *
 * Gives them the directories for the control socket, the state and the pins of BPF, also with what
 * an lnetxd of root left there. Logs what is missing. Returns 0, also if this is that user already,
 * or -errno: the caller must not go on.
 */
int lx_user_become(const char *name);

#endif
