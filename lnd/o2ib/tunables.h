/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tunables of o2iblnd, with the names and defaults of the reference's module
 * parameters (spec o2iblnd.md 14).
 */
#ifndef LX_O2IB_TUNABLES_H
#define LX_O2IB_TUNABLES_H

#include <internal/ni_setting.h>
#include <lnetx/tunable.h>

#define LX_O2IB_TUNABLES(X, tag)                                                                   \
	X(tag, service, 987, 1, 65535, NULL, "port of RDMA CM to listen on, and of the peers")     \
	X(tag, cksum, 0, 0, 1, NULL, "send checksums; bytes count as signed")                      \
	X(tag, timeout, 50, 1, 86400, NULL,                                                        \
	  "seconds after which a message that makes no progress ends its connection")              \
	X(tag, nscheds, 0, 0, 1 << 10, NULL,                                                       \
	  "threads; accepted without effect: a device is served by one event loop")                \
	X(tag, conns_per_peer, 1, 1, 16, NULL, "connections to a peer")                            \
	X(tag, ntx, 512, 1, 1 << 20, NULL,                                                         \
	  "message descriptors; accepted without effect: made as needed")                          \
	X(tag, credits, 256, 1, 1 << 20, NULL, "messages an NI sends at a time")                   \
	X(tag, peer_credits, 8, 8, 254, NULL,                                                      \
	  "messages sent to one peer at a time: the queue depth")                                  \
	X(tag, peer_credits_hiw, 0, 0, 253, NULL,                                                  \
	  "credits owed at which they are returned without waiting; 0: half of peer_credits")      \
	X(tag, peer_buffer_credits, 0, 0, 1 << 20, NULL,                                           \
	  "router buffers one peer may occupy; 0: as peer_credits")                                \
	X(tag, peer_timeout, 180, 0, 86400, NULL,                                                  \
	  "seconds without a sign of life until a peer is asked for one")                          \
	X(tag, retry_count, 5, 0, 7, NULL, "times a packet without acknowledgement is sent again") \
	X(tag, rnr_retry_count, 6, 0, 7, NULL,                                                     \
	  "times a message without receive buffer is sent again")                                  \
	X(tag, keepalive, 100, 0, 86400, NULL,                                                     \
	  "seconds of silence after which a NOOP is sent; 0: never")                               \
	X(tag, mr_cache_mb, 1024, 0, 1 << 20, NULL,                                                \
	  "MiB that stay registered for later messages, per NI; 0: each transfer registers anew")  \
	X(tag, mr_cache_entries, 4096, 1, 1 << 20, NULL,                                           \
	  "registrations of memory that are kept, per NI")                                         \
	X(tag, ib_mtu, 0, 0, 4096, NULL, "accepted without effect: the path's MTU is used")        \
	X(tag, concurrent_sends, 0, 0, 508, NULL,                                                  \
	  "messages posted on a connection at a time; 0: peer_credits")                            \
	X(tag, use_fastreg_gaps, 0, 0, 1, NULL, "accepted without effect")                         \
	X(tag, map_on_demand, 1, 0, 256, NULL,                                                     \
	  "accepted without effect: memory is registered on demand")                               \
	X(tag, fmr_pool_size, 512, 0, 1 << 20, NULL,                                               \
	  "accepted without effect: there are no pools")                                           \
	X(tag, fmr_flush_trigger, 384, 0, 1 << 20, NULL, "accepted without effect")                \
	X(tag, fmr_cache, 1, 0, 1, NULL, "accepted without effect")                                \
	X(tag, dev_failover, 0, 0, 2, NULL, "accepted without effect")                             \
	X(tag, require_privileged_port, 0, 0, 1, NULL,                                             \
	  "take only connections from ports below 1024")                                           \
	X(tag, use_privileged_port, 1, 0, 1, NULL, "connect from ports below 1024")                \
	X(tag, wrq_sge, 2, 1, 2, NULL, "pieces of memory that one RDMA write gathers")             \
	X(tag, tos, -1, -1, 255, NULL, "RDMA type of service; -1: system's")

LX_TUNABLE_STRUCT(lx_o2ib_tunables, LX_O2IB_TUNABLES);

/* Global, like module parameters. Read under the node lock. */
extern struct lx_o2ib_tunables lx_o2ib_tun;

/* Settings of an NI (ni_setting.h). */
#define LX_O2IB_NI_SETTINGS(X, tag) \
	X(tag, PEERCREDITS_HIW, peercredits_hiw, 0, 253) \
	X(tag, CONCURRENT_SENDS, concurrent_sends, 0, 508) \
	X(tag, CONNS_PER_PEER, conns_per_peer, 1, 16) \
	X(tag, MAP_ON_DEMAND, map_on_demand, 0, 256) \
	X(tag, FMR_POOL_SIZE, fmr_pool_size, 0, INT32_MAX) \
	X(tag, FMR_FLUSH_TRIGGER, fmr_flush_trigger, 0, INT32_MAX) \
	X(tag, FMR_CACHE, fmr_cache, 0, 1) \
	X(tag, NTX, ntx, 1, INT32_MAX) \
	X(tag, TIMEOUT, timeout, 1, 86400) \
	X(tag, TOS, tos, 0, 255)

enum lx_o2ib_ni_setting { LX_O2IB_NI_SETTINGS(LX_NI_SETTING_INDEX, LX_O2IB_NI_) };

#endif
