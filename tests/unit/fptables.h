/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fast path's tables for tests that compile its headers: arrays instead of maps. */
#ifndef LX_TESTS_FPTABLES_H
#define LX_TESTS_FPTABLES_H

#include "../../bpf/compat.h"

/* Arrays, and how many entries each has. The test has lx_dest_of() itself. */
#define FP_TABLES(streams, n_streams, lanes, n_lanes, peers, n_peers)                      \
	static struct lx_stream *lx_stream_at(__u32 i)                                     \
	{                                                                                  \
		return i < (n_streams) ? &(streams)[i] : NULL;                             \
	}                                                                                  \
	static struct lx_lane *lx_lane_at(__u32 i)                                         \
	{                                                                                  \
		return i < (n_lanes) ? &(lanes)[i] : NULL;                                 \
	}                                                                                  \
	static struct lx_fp_peer *lx_fp_peer_at(__u32 i)                                   \
	{                                                                                  \
		return i < (n_peers) ? &(peers)[i] : NULL;                                 \
	}

/* The same tables for the daemon's half: user/bpf/fastpath.h, which the test includes. */
#define FP_DAEMON_TABLES                                                                           \
	struct lx_stream *lx_fastpath_stream(struct lx_fastpath *f, unsigned int i)                \
	{                                                                                          \
		return lx_stream_at(i);                                                            \
	}                                                                                          \
	struct lx_lane *lx_fastpath_lane(struct lx_fastpath *f, unsigned int i)                    \
	{                                                                                          \
		return lx_lane_at(i);                                                              \
	}                                                                                          \
	struct lx_fp_peer *lx_fastpath_peer(struct lx_fastpath *f, unsigned int i)                 \
	{                                                                                          \
		return lx_fp_peer_at(i);                                                           \
	}

/* For tests that only need what the headers define. */
#define FP_NO_TABLES                                                                       \
	static struct lx_stream *lx_stream_at(__u32 i)                                     \
	{                                                                                  \
		(void)i;                                                                   \
		return NULL;                                                               \
	}                                                                                  \
	static struct lx_lane *lx_lane_at(__u32 i)                                         \
	{                                                                                  \
		(void)i;                                                                   \
		return NULL;                                                               \
	}                                                                                  \
	static struct lx_fp_peer *lx_fp_peer_at(__u32 i)                                   \
	{                                                                                  \
		(void)i;                                                                   \
		return NULL;                                                               \
	}

/* For tests whose packets are not looked at. */
#define FP_NO_PACKETS                                                                      \
	static int lx_packet_load(void *packet, __u32 at, void *to, __u32 len)             \
	{                                                                                  \
		(void)packet, (void)at, (void)to, (void)len;                               \
		return -1;                                                                 \
	}

/* For tests where a packet is its payload. */
#define FP_PACKETS                                                                         \
	static int lx_packet_load(void *packet, __u32 at, void *to, __u32 len)             \
	{                                                                                  \
		memcpy(to, (const char *)packet + at, len);                                \
		return 0;                                                                  \
	}

#endif
