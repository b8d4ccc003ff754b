/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The tunables of the core: names, defaults and ranges of lnet.md 16.
 *
 * Those without effect here say so. Tunables of connections (accept, accept_port, ...)
 * belong to the transports.
 */
#ifndef LX_CORE_TUNABLES_H
#define LX_CORE_TUNABLES_H

#include <lnetx/info.h>
#include <lnetx/tunable.h>

#define LX_CORE_TUNABLES(X, tag)                                                                   \
	X(tag, lnet_numa_range, 0, 0, INT32_MAX, NULL,                                             \
	  "NUMA distance below which NIs count as equally near")                                   \
	X(tag, lnet_health_sensitivity, 100, 0, 1000, NULL,                                        \
	  "health, of 1000, that an NI loses by a fault and gains by success; 0: no health, "      \
	  "and no resends")                                                                        \
	X(tag, lnet_recovery_interval, 1, 1, INT32_MAX, NULL, "deprecated; no effect")             \
	X(tag, lnet_recovery_limit, 0, 0, INT32_MAX, NULL,                                         \
	  "seconds after its last sign of life that a peer's NI is pinged to recover; 0: forever") \
	X(tag, lnet_max_recovery_ping_interval, 900, 1, INT32_MAX, NULL,                           \
	  "seconds between pings to an NI that does not recover, at most")                         \
	X(tag, lnet_interfaces_max, 4096, 16, 65536, NULL,                                         \
	  "most NIDs accepted in a peer's ping information")                                       \
	X(tag, lnet_peer_discovery_disabled, 0, 0, 1, NULL,                                        \
	  "1: neither discover nor be discovered")                                                 \
	X(tag, lnet_drop_asym_route, 0, 0, 1, NULL,                                                \
	  "1: drop messages for us from a gateway that we have no route through")                  \
	X(tag, lnet_transaction_timeout, 150, 1, INT32_MAX, NULL,                                  \
	  "seconds until a request without a response is given up")                                \
	X(tag, lnet_retry_count, 2, 0, INT32_MAX, NULL,                                            \
	  "times a message is sent again by another path, within the transaction timeout")         \
	X(tag, lnet_response_tracking, 3, 0, 3, NULL,                                              \
	  "bit 0: expect the REPLY to a GET, bit 1: the ACK to a PUT")                             \
	X(tag, lock_prim_nid, 1, 0, 1, NULL, "1: a primary NID given by the user stays primary")   \
	X(tag, portal_rotor, 3, 0, 3, NULL, "no effect: one CPU partition")                        \
	X(tag, tiny_router_buffers, 0, 0, LX_BUFFERS_MAX, NULL, "buffers; 0: 512")                 \
	X(tag, small_router_buffers, 0, 0, LX_BUFFERS_MAX, NULL, "buffers; 0: 4096")               \
	X(tag, large_router_buffers, 0, 0, LX_BUFFERS_LARGE_MAX, NULL, "buffers of 1 MiB; 0: 256") \
	X(tag, router_store, 256, 0, 65536, NULL,                                                  \
	  "MiB of memory for messages to nodes that do not take them; one node gets an eighth; "   \
	  "lnetx only")                                                                            \
	X(tag, peer_buffer_credits, 0, 0, INT32_MAX, NULL,                                         \
	  "router buffers a peer may hold; 0: its peer_credits")                                   \
	X(tag, auto_down, 1, 0, 1, NULL, "1: believe a transport that a peer is down")             \
	X(tag, check_routers_before_use, 0, 0, 1, NULL,                                            \
	  "1: a route is down until its gateway has answered")                                     \
	X(tag, avoid_asym_router_failure, 1, 0, 1, NULL,                                           \
	  "1: a gateway must be up on the far net too")                                            \
	X(tag, alive_router_check_interval, 60, 0, INT32_MAX, NULL,                                \
	  "seconds between pings of a gateway; 0: never")                                          \
	X(tag, router_ping_timeout, 50, 1, INT32_MAX, NULL,                                        \
	  "seconds without an answer until a gateway counts as down")                              \
	X(tag, router_sensitivity_percentage, 100, 0, 100, NULL, "deprecated; no effect")          \
	X(tag, local_nid_dist_zero, 1, 0, 1, NULL, "1: an own NID has distance 0; 0: it has 1")    \
	X(tag, router_start_delay, -1, -1, INT32_MAX, NULL,                                        \
	  "seconds from enabling routing to forwarding; -1: alive_router_check_interval + "        \
	  "router_ping_timeout, the reference's rule")                                             \
	X(tag, enable_sysctl_setup, 0, 0, 1, NULL,                                                 \
	  "1: lnetctl setup-sysctl makes Linux settings for large systems, 0: takes them back")    \
	X(tag, peers_max, 100000, 16, INT32_MAX, NULL,                                             \
	  "most peer NIDs that traffic alone may make known; lnetx only")                          \
	X(tag, procfiles_interval, 0, 0, 3600, NULL,                                               \
	  "seconds between writings of the files in the form of /proc/sys/lnet; 0: none; "         \
	  "lnetx only")

LX_TUNABLE_STRUCT(lx_core_tunables, LX_CORE_TUNABLES);

extern const struct lx_tunable lx_core_tunables_table[];

struct lx_core;

/* The first conflict between values (lnet.md 13.4); NULL: none. */
const struct lx_tunable_conflict *lx_core_tunables_conflict(const struct lx_core_tunables *tun);

/* How often a message is resent: never if health is off. */
int64_t lx_core_tunables_retries(const struct lx_core_tunables *tun);

/* Seconds an LND may take for one attempt (lnet.md 13.4). */
unsigned int lx_core_tunables_lnd_timeout(const struct lx_core *core);

/* The deadline of a message sent now, in ops->now() time. */
uint64_t lx_core_tunables_deadline(struct lx_core *core);

#endif
