/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Network namespaces: that of a process or a socket, and its name. */
#ifndef LX_BASE_NETNS_H
#define LX_BASE_NETNS_H

#include <stddef.h>

/* Inode numbers, as in /proc/PID/ns/net. 0: unknown. */
unsigned long lx_netns_own(void);
/* The client's, of an accepted unix socket. */
unsigned long lx_netns_of_socket(int fd);
/* That of the process at the other end of a unix socket; its own user, or root, may ask. */
unsigned long lx_netns_of_peer(int fd);

/*
 * "network namespace blue" (of "ip netns"), "the machine's network namespace", or else
 * "network namespace net:[4026531840]". Returns @buf.
 */
const char *lx_netns_name(unsigned long inode, char *buf, size_t size);

#endif
