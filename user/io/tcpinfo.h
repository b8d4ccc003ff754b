/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the kernel knows of a TCP connection; apart, as the C library's header is older. */
#ifndef LX_IO_TCPINFO_H
#define LX_IO_TCPINFO_H

#include <stdint.h>

struct lx_tcpinfo {
	uint64_t received; /* bytes of payload in order, read or not */
	uint32_t window;   /* that the peer offers, bytes; 0 below Linux 5.4 */
	uint32_t own_window; /* as large as ours may be now, bytes */
	uint32_t rtt_us;   /* least round trip time of late; 0: not known */
};

/* Returns 0 or -errno. */
int lx_tcpinfo_read(int fd, struct lx_tcpinfo *ret_info);

/**
 * lx_tcpinfo_mss - how large a segment the peer and the way to it take
 * The kernel's own value follows the MTU of the way only when the socket sends, so that is
 * asked for, too. Returns bytes of payload, or -errno.
 */
int lx_tcpinfo_mss(int fd, int family);

#endif
