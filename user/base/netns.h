/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Network namespaces: which one a process or a socket is in, and how people call it. */
#ifndef LX_BASE_NETNS_H
#define LX_BASE_NETNS_H

#include <stddef.h>

/* Inode numbers, as in /proc/PID/ns/net. 0: cannot be told. */
unsigned long lx_netns_own(void);
/* Of a unix socket that was accepted: its client's. */
unsigned long lx_netns_of_socket(int fd);

/* "blue" of "ip netns", "the machine's", or else "net:[4026531840]". Returns @buf. */
const char *lx_netns_name(unsigned long inode, char *buf, size_t size);

#endif
