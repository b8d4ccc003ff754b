/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP_INFO; separate, because the C library's header is older than the kernel's. */
#ifndef LX_IO_TCPINFO_H
#define LX_IO_TCPINFO_H

#include <stdint.h>

struct lx_tcpinfo {
	uint8_t state;     /* TCP_ESTABLISHED etc., of netinet/tcp.h */
	uint64_t received; /* payload bytes received in order, read or not */
	uint32_t window;   /* advertised by the peer, bytes; 0 below Linux 5.4 */
	uint32_t own_window; /* the largest we can advertise now, bytes */
	uint32_t quiet_ms; /* since the last segment of the peer that the socket has got */
	uint32_t repeats;  /* timeouts in a row, without progress */
	uint32_t rtt_us;   /* recent minimum round trip time; 0: unknown */
	uint32_t srtt_us; /* smoothed round trip time */
	uint32_t rto_us; /* after which it repeats what is not acknowledged */
	uint64_t acked; /* payload bytes that the peer has acknowledged */
	uint64_t sent,
		resent; /* payload bytes sent, and of these, sent again; 0 below Linux 4.19 */
	uint32_t unacked, cwnd; /* segments in flight, and how many may be */
	uint32_t unsent; /* bytes in the socket that were never sent */
};

/* Returns 0 or -errno. */
int lx_tcpinfo_read(int fd, struct lx_tcpinfo *ret_info);

/**
 * lx_tcpinfo_mss - the largest segment that the peer and the path to it accept
 * The kernel updates its own value to the path MTU only when the socket sends, so this asks
 * for the MTU, too. Returns bytes of payload, or -errno.
 */
int lx_tcpinfo_mss(int fd, int family);

#endif
