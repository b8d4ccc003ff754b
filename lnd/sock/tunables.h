/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tunables of socklnd, with the names and defaults of the reference's module parameters
 * (spec socklnd.md 13). The values, the table for configuration and CLI, and the manual are
 * generated from this list.
 */
#ifndef LX_SOCK_TUNABLES_H
#define LX_SOCK_TUNABLES_H

#include <internal/ni_setting.h>
#include <lnetx/tunable.h>

#define LX_SOCK_TUNABLES(X, tag)                                                                   \
	X(tag, sock_timeout, 50, 0, 86400, NULL,                                                   \
	  "seconds without progress after which a connection is closed; 0: LNet's LND timeout")    \
	X(tag, credits, 256, 1, 1 << 20, NULL, "messages an NI sends at a time")                   \
	X(tag, peer_credits, 8, 1, 1 << 20, NULL, "messages sent to one peer at a time")           \
	X(tag, peer_buffer_credits, 0, 0, 1 << 20, NULL,                                           \
	  "router buffers one peer may occupy; 0: as peer_credits")                                \
	X(tag, peer_timeout, 180, 0, 86400, NULL,                                                  \
	  "seconds without a sign of life until a peer is asked for one")                          \
	X(tag, nscheds, 0, 0, 1 << 10, NULL,                                                       \
	  "event loops, threads that move data; 0: one for each four processors")                  \
	X(tag, nconnds, 4, 1, 1 << 10, NULL,                                                       \
	  "connect threads; accepted without effect: connecting needs no thread")                  \
	X(tag, nconnds_max, 64, 1, 1 << 10, NULL,                                                  \
	  "most connect threads; accepted without effect: connecting needs no thread")             \
	X(tag, min_reconnectms, 1000, 1, 3600000, NULL,                                            \
	  "milliseconds until the first new attempt to connect")                                   \
	X(tag, max_reconnectms, 60000, 1, 3600000, NULL,                                           \
	  "milliseconds, limit of the doubling time between attempts to connect")                  \
	X(tag, eager_ack, 0, 0, 3, NULL,                                                           \
	  "bits of connection types that acknowledge TCP data at once: 1 control and bulk_out, "   \
	  "2 bulk_in and bulk_out")                                                                \
	X(tag, typed_conns, 1, 0, 1, NULL,                                                         \
	  "separate connections for small messages and for bulk each way; 0 works up to V2 only")  \
	X(tag, min_bulk, 1024, 0, 1 << 30, NULL, "bytes from which on a message is bulk")          \
	X(tag, tx_buffer_size, 0, 0, 1 << 30, NULL,                                                \
	  "bytes of the socket's send buffer; 0: system's")                                        \
	X(tag, rx_buffer_size, 0, 0, 1 << 30, NULL,                                                \
	  "bytes of the socket's receive buffer; 0: system's")                                     \
	X(tag, nagle, 0, 0, 1, NULL, "let TCP wait for more small messages before it sends")       \
	X(tag, round_robin, 1, 0, 1, NULL, "take equally busy connections in turn")                \
	X(tag, keepalive, 30, 0, 86400, NULL,                                                      \
	  "seconds of silence after which a peer is sent a NOOP; 0: never")                        \
	X(tag, keepalive_idle, 30, 0, 32767, NULL,                                                 \
	  "seconds of silence after which TCP probes, less where all probes would not fit the "    \
	  "timeout; 0: no TCP probes")                                                             \
	X(tag, keepalive_intvl, 5, 0, 32767, NULL, "seconds between TCP probes; 0: no TCP probes") \
	X(tag, keepalive_count, 5, 0, 127, NULL,                                                   \
	  "TCP probes without answer that end a connection; 0: no TCP probes")                     \
	X(tag, enable_csum, 0, 0, 1, NULL, "send checksums on V2 connections")                     \
	X(tag, inject_csum_error, 0, 0, 1, NULL, "send wrong checksums, for tests")                \
	X(tag, nonblk_zcack, 1, 0, 1, NULL,                                                        \
	  "send zero-copy acknowledgements where no bulk data delays them")                        \
	X(tag, zc_min_payload, 16384, 0, (16 << 20) + 1, NULL,                                     \
	  "bytes of payload from which on zero copy is tried; over 16 MiB: never")                 \
	X(tag, zc_recv, 0, 0, 1, NULL,                                                             \
	  "receive by flipping pages; accepted without effect: the kernel does that for its own")  \
	X(tag, zc_recv_min_nfrags, 16, 0, 1 << 10, NULL,                                           \
	  "least fragments for zc_recv; accepted without effect")                                  \
	X(tag, conns_per_peer, 0, 0, 127, NULL,                                                    \
	  "connections of each bulk type to a peer; 0: by link speed")                             \
	X(tag, enable_irq_affinity, 0, 0, 1, NULL, "obsolete; accepted without effect")            \
	X(tag, skip_mr_route_setup, 0, 0, 1, NULL,                                                 \
	  "1: lnetctl adds no Linux routes and rules for interfaces")                              \
	X(tag, tos, -1, -1, 255, NULL, "IP type of service or traffic class; -1: system's")        \
	X(tag, accept, 0, 0, 2, lx_sock_accept_names,                                              \
	  "whose connections are taken: secure (privileged source ports), all, none")              \
	X(tag, accept_port, 988, 1, 65535, NULL, "TCP port to listen on, and of the peers")        \
	X(tag, accept_port_bulk, 0, 0, 65535, NULL,                                                \
	  "TCP port for bulk connections, here and of the peers; 0: accept_port")                  \
	X(tag, accept_backlog, 127, 1, 65535, NULL, "connections the system keeps waiting")        \
	X(tag, accept_timeout, 5, 1, 3600, NULL,                                                   \
	  "seconds a connecting peer has for each part of its request")                            \
	X(tag, accept_own_address, 0, 0, 1, NULL,                                                  \
	  "1: a NID may only connect from the address in it; lnetx only")                          \
	X(tag, fastpath, 1, 0, 1, lx_sock_switch_names,                                            \
	  "let the kernel forward messages; \"lnetx bpf off\" is the same as 0; lnetx only")       \
	X(tag, fastpath_streams, 4096, 0, 16384, NULL,                                             \
	  "most connections whose messages the kernel forwards, 40 KiB of memory each; "           \
	  "lnetx only")                                                                            \
	X(tag, fastpath_store, 256, 0, 65536, NULL,                                                \
	  "MiB of memory at most for data that the kernel cannot forward, as its next hop does "   \
	  "not take it; lnetx only")

LX_TUNABLE_STRUCT(lx_sock_tunables, LX_SOCK_TUNABLES);

enum lx_sock_accept {
	LX_SOCK_ACCEPT_SECURE,
	LX_SOCK_ACCEPT_ALL,
	LX_SOCK_ACCEPT_NONE,
};

/* Global, like module parameters. Read under the node lock. */
extern struct lx_sock_tunables lx_sock_tun;

/* Settings of an NI (ni_setting.h). */
#define LX_SOCK_NI_SETTINGS(X, tag) \
	X(tag, CONNS_PER_PEER, conns_per_peer, 0, 127) \
	X(tag, TIMEOUT, timeout, 0, 86400) \
	X(tag, TOS, tos, 0, 255) \
	X(tag, FASTPATH, fastpath, 0, 1) /* hidden: as tunable fastpath; 0: not with this NI */

enum lx_sock_ni_setting { LX_SOCK_NI_SETTINGS(LX_NI_SETTING_INDEX, LX_SOCK_NI_) };

/* Longer than any payload: zero copy is off. */
#define LX_SOCK_ZC_OFF ((16 << 20) + 1)

#endif
