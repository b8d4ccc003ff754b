/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A node's state: snapshots of NIs, peers, routes and counters.
 *
 * These are plain values, copied under the node's lock; nothing in them points
 * back into the node. Field names and order are those of the reference's tools
 * (control.md 3); the CLI decides how to show them.
 */
#ifndef LNETX_INFO_H
#define LNETX_INFO_H

#include <net/if.h>

#include "nid.h"
#include "reasons.h"

/* ---- counters ----------------------------------------------------------- */

struct lx_io_counts { /* messages of an NI or a peer NI */
	uint64_t send, recv, drop;
};

struct lx_type_counts { /* the same by message type */
	uint64_t put, get, reply, ack, hello;
};

struct lx_latency { /* nanoseconds; all 0 without a sample */
	uint64_t samples, min_nsec, max_nsec, avg_nsec;
};

/* Payload that sockets sent, without what the programs of the fast path forward. */
struct lx_tcp_bytes {
	uint64_t sent; /* each time that it was sent */
	uint64_t resent; /* of these: sent again, as it seemed lost */
};

struct lx_traffic {
	struct lx_io_counts io;
	struct lx_type_counts sent, received, dropped;
	struct lx_latency put_egress, get_rtt, put_ack;
	struct lx_tcp_bytes tcp;
};

/* X(number in messages, name): global counters, in the order of control.md 3.5 */
#define LX_STATS(X) \
	X(2, msgs_alloc) X(3, msgs_max) X(4, rst_alloc) X(5, errors) X(6, send_count) \
	X(7, resend_count) X(8, response_timeout_count) X(9, local_interrupt_count) \
	X(10, local_dropped_count) X(11, local_aborted_count) X(12, local_no_route_count) \
	X(13, local_timeout_count) X(14, local_error_count) X(15, remote_dropped_count) \
	X(16, remote_error_count) X(17, remote_timeout_count) X(18, network_timeout_count) \
	X(19, failed_resends) X(20, successful_resends) X(21, recv_count) X(22, route_count) \
	X(23, drop_count) X(24, send_length) X(25, recv_length) X(26, route_length) \
	X(27, drop_length)

struct lx_stats {
#define LX_STATS_FIELD_(number, name) uint64_t name;
	LX_STATS(LX_STATS_FIELD_)
#undef LX_STATS_FIELD_
	uint64_t drops[LX_REASON_COUNT]; /* drop_count, by reason */
	uint64_t loops; /* messages found to go round in a circle of routers */
	uint64_t answer_bytes; /* memory of answers that are not sent yet, as of now */
	uint64_t answer_waits; /* requests that had to wait for answers before them to be sent */
	uint64_t refused_ports; /* connections from ports above 1023 refused (accept=secure) */
};

/* ---- refused connections ---------------------------------------------------- */

#define LX_REFUSED_MAX 16 /* addresses */
#define LX_REFUSED_TEXT 256

enum lx_refused_kind {
	LX_REFUSED_PORT, /* from a port above 1023 (accept=secure) */
	LX_REFUSED_NID, /* for a NID that this node does not have */
	LX_REFUSED_PEER, /* from a NID that cannot be the other side's */
};

struct lx_refused_info {
	char address[64]; /* that it came from, without the port */
	char reason[LX_REFUSED_TEXT]; /* of the latest one */
	enum lx_refused_kind kind;
	uint64_t connections; /* refused for that reason */
	int64_t since_s; /* the first of them, seconds since 1970 */
	uint64_t age_s; /* the latest one, before so many seconds */
};

/* ---- what is down ------------------------------------------------------- */

/* X(NAME, "text"); some texts are followed by a net, or by the text of an errno */
#define LX_DOWN_WHYS(X) \
	X(NO, "") \
	X(INTERFACE, "its interface is switched off") \
	X(CARRIER, "its interface has no carrier") \
	X(ADDRESS, "its interface is gone, or has another address") \
	X(PORT, "its RDMA port is not active") \
	X(SILENT, "no neighbour has pinged this router, or sent through it, on") \
	X(NOT_ASKED, "it has not answered yet") \
	X(LOST, "no connection to it") \
	X(CHECK, "it does not answer pings") \
	X(TOLD, "its node reports it down") \
	X(UNLISTED, "its node no longer lists it") \
	X(GATEWAY, "its gateway does not answer pings") \
	X(GATEWAY_LOST, "no connection to its gateway") \
	X(NOT_ROUTING, "its gateway does not route: routing is off there, or just starting") \
	X(NEAR_NET, "its gateway has no NI that is up on") \
	X(FAR_NET, "its gateway has no NI that is up on the far net,") \
	X(HEALTH, "its health has dropped to 0 and is not yet back at 1000") \
	X(HUNG_UP, "it closes our connections unanswered: " \
		   "it has no NI with this NID (wrong net?), or refuses this node") \
	X(UNPRIVILEGED, "it closes our connections unanswered: our source ports are above 1023 " \
			"(it needs accept=all)")

enum lx_down_why {
#define LX_DOWN_ENUM_(NAME, text) LX_DOWN_##NAME,
	LX_DOWN_WHYS(LX_DOWN_ENUM_)
#undef LX_DOWN_ENUM_
	LX_DOWN_WHY_COUNT
};

#define LX_DOWN_TEXT 128

struct lx_down {
	char reason[LX_DOWN_TEXT]; /* a sentence; "" if it is up */
	int64_t since_s;           /* seconds since 1970; 0 if it is up */
};

/* ---- selection policies (lnet.md 11.3) ---------------------------------- */

#define LX_UDSP_EFFECT_MAX 16

/* Their effect on an NI of this node or of a peer. */
struct lx_udsp_effect {
	int32_t net_priority, nid_priority; /* 0 best; -1: no policy gives one */
	/* Peer NIs: how many gateways to it, and NIs of ours, are preferred; the first of them. */
	uint32_t n_gateways, n_sources;
	struct lx_nid gateway[LX_UDSP_EFFECT_MAX], source[LX_UDSP_EFFECT_MAX];
};

/* ---- local NIs ---------------------------------------------------------- */

/* A setting that a configuration does not give: use the default. */
#define LX_UNSET (-1)

struct lx_ni_tunables {
	int32_t peer_timeout; /* s */
	int32_t peer_credits;
	int32_t peer_buffer_credits;
	int32_t credits;
};

#define LX_LND_TUNABLES_MAX 12
/* A value not to be shown. */
#define LX_LND_TUNABLE_HIDDEN INT32_MIN

/* Per-NI settings that only the transport understands; names from struct lx_lnd. */
struct lx_lnd_tunables {
	int32_t value[LX_LND_TUNABLES_MAX];
};

struct lx_ni_health {
	uint32_t fatal, value, interrupts, dropped, aborted, no_route, timeouts, error;
	uint32_t ping_count;
	uint64_t next_ping;
};

struct lx_ni_info {
	struct lx_nid nid;
	uint32_t net;
	bool up;
	struct lx_down down;
	char ifname[IF_NAMESIZE]; /* "" for lo */
	struct lx_nid given; /* nid, if the interface alone does not imply it; else any */
	struct lx_traffic traffic;
	struct lx_ni_health health;
	struct lx_ni_tunables tun;
	const char *const *lnd_tunable_names; /* NULL-terminated; static */
	struct lx_lnd_tunables lnd_tun;
	int32_t dev_cpt;
	int32_t tx_credits, tx_credits_min, tx_credits_max;
	int64_t alive_s; /* seconds since the last sign of life on the net; -1 unknown */
	uint32_t refs;
	uint32_t n_peers; /* peers the transport knows */
	uint32_t n_conns;
	struct lx_udsp_effect udsp;
};

/* ---- peers -------------------------------------------------------------- */

/*
 * State bits of a peer (lnet.md 12.3):
 *	MULTI_RAIL               all its NIDs are used
 *	NO_DISCOVERY             it takes no part in discovery
 *	ROUTER_ENABLED           it forwards
 *	CONFIGURED               created by configuration, not by traffic
 *	DISCOVERED               discovery is complete ...
 *	NIDS_UPTODATE            ... and its NIDs are current
 *	REDISCOVER               discover it again
 *	DISCOVERING              in discovery; messages to it wait
 *	PING_SENT, PUSH_SENT     asked for its NIDs, sent it ours: no answer yet
 *	PING_FAILED, PUSH_FAILED the answer did not come
 *	DATA_PRESENT             the answer is here, but not processed yet
 *	FORCE_PING, FORCE_PUSH   do it, whatever is known
 *	RTR_DISCOVERY            a gateway being checked ...
 *	RTR_DISCOVERED           ... and checked
 *	MARK_DELETION, MARK_DELETED  it is being deleted
 *	LOCK_PRIMARY             its primary NID stays, whatever discovery finds
 *	RTR_NI_FORCE_DEL, BAD_CONFIG  not used
 */
#define LX_PEER_STATES(X) \
	X(MULTI_RAIL, 0) X(NO_DISCOVERY, 1) X(ROUTER_ENABLED, 2) X(CONFIGURED, 3) \
	X(DISCOVERED, 4) X(REDISCOVER, 5) X(DISCOVERING, 6) X(DATA_PRESENT, 7) \
	X(NIDS_UPTODATE, 8) X(PING_SENT, 9) X(PUSH_SENT, 10) X(PING_FAILED, 11) \
	X(PUSH_FAILED, 12) X(FORCE_PING, 13) X(FORCE_PUSH, 14) X(RTR_NI_FORCE_DEL, 15) \
	X(RTR_DISCOVERY, 16) X(RTR_DISCOVERED, 17) X(MARK_DELETION, 18) \
	X(MARK_DELETED, 19) X(LOCK_PRIMARY, 20) X(BAD_CONFIG, 21)

enum lx_peer_state {
#define LX_PEER_STATE_ENUM_(NAME, bit) LX_PEER_##NAME = 1u << (bit),
	LX_PEER_STATES(LX_PEER_STATE_ENUM_)
#undef LX_PEER_STATE_ENUM_
};

struct lx_peer_health {
	uint32_t value, dropped, timeout, error, network_timeout;
	uint32_t ping_count;
	uint64_t next_ping;
};

/* An NI, or one of a peer's, that is below full health and pinged until it is well again. */
struct lx_recovery_info {
	struct lx_nid nid;
	bool peer; /* false: one of our own */
	uint32_t value;
	uint32_t ping_count; /* since the last answer */
	uint32_t next_ping_s; /* until the next ping, unless one is not answered yet */
};

enum lx_alive {
	LX_ALIVE_NA, /* not watched */
	LX_ALIVE_UP,
	LX_ALIVE_DOWN
};

struct lx_peer_ni_info {
	struct lx_nid nid;
	enum lx_alive alive;
	struct lx_down down;
	int32_t tx_credits_max, tx_credits, tx_credits_min;
	uint64_t tx_queued_bytes;
	int32_t rtr_credits, rtr_credits_min;
	uint32_t refs;
	struct lx_traffic traffic;
	struct lx_peer_health health;
	struct lx_udsp_effect udsp;
	uint64_t answer_bytes; /* memory of answers to it that are not sent yet */
	uint64_t tx_oldest_ms; /* how long the oldest message to it has waited for a credit */
	int64_t heard_s; /* since its last message; -1: none came */
};

struct lx_peer_info {
	struct lx_nid primary;
	bool multi_rail;
	bool lock_primary;
	uint32_t state; /* enum lx_peer_state */
	uint32_t n_nis;
	struct lx_peer_ni_info *ni; /* n_nis entries; same allocation as the peer list */
};

/* ---- routes and routing ------------------------------------------------- */

struct lx_route_info {
	uint32_t net;
	struct lx_nid gateway; /* as configured */
	struct lx_nid primary; /* the gateway's primary NID, as far as known */
	int32_t hop; /* -1 undefined */
	uint32_t priority;
	int32_t health_sensitivity;
	bool up;
	struct lx_down down;
	bool multi_hop;
};

enum lx_routing_state { /* the lowest bit is what was asked for; the node routes in all but OFF */
	LX_ROUTING_OFF,
	LX_ROUTING_ON,
	LX_ROUTING_STOPPING,
	LX_ROUTING_STARTING
};

/* A neighbour that uses this node as a router: it pings it, or sends through it. */
struct lx_neighbour_info {
	struct lx_nid nid;
	int64_t idle_s; /* since it last did so */
	bool told;      /* it knows this node's present routing state */
};

enum lx_pool_class { /* by payload length (lnet.md 9.2) */
	LX_POOL_TINY,  /* 0 */
	LX_POOL_SMALL, /* up to a page */
	LX_POOL_LARGE, /* up to 1 MiB */
	LX_POOLS
};

/* Maximum number of buffers in a pool. */
#define LX_BUFFERS_MAX (1 << 24)
#define LX_BUFFERS_LARGE_MAX (1 << 20)

struct lx_pool_info {
	uint32_t npages, nbuffers;
	int32_t credits, mincredits;
};

struct lx_routing_info {
	enum lx_routing_state state;
	bool pools; /* false: never routed, nothing to show */
	uint32_t seconds_left; /* starting: until on; stopping: until off, at most */
	struct lx_pool_info pool[LX_POOLS];
};

/* ---- connections of a transport ----------------------------------------- */

struct lx_conn_info {
	struct lx_id peer;
	struct lx_nid ni;
	char local[64], remote[64]; /* address:port */
	char type[12];              /* control, bulk_in, bulk_out, any */
	uint32_t version;           /* protocol version of the transport */
	uint64_t tx_queued_bytes, tx_bytes, rx_bytes;
	uint32_t zc_pending; /* zero-copy requests not yet acknowledged */
	int64_t idle_s;
	/* What TCP says; -1: this is none. */
	int64_t tcp_sent, tcp_resent; /* as in struct lx_tcp_bytes */
	int64_t srtt_us; /* smoothed round trip time */
	int64_t unacked, cwnd; /* segments in flight, and how many may be */
	int64_t unsent; /* bytes of tx_bytes that were never sent */
};

/* ---- fault injection (lnet.md 14) ---------------------------------------- */

/* Messages that a rule is for. */
#define LX_FAULT_ACK 1u
#define LX_FAULT_PUT 2u
#define LX_FAULT_GET 4u
#define LX_FAULT_REPLY 8u
#define LX_FAULT_MESSAGES 15u

/* Bits of hstatuses, 1 << number (lnet.md 13.2); the names are those of lnetctl. */
#define LX_FAULT_HSTATUS(X) \
	X(1, "local_interrupt") X(2, "local_dropped") X(3, "local_aborted") \
	X(4, "local_no_route") X(5, "local_error") X(6, "local_timeout") X(7, "remote_error") \
	X(8, "remote_dropped") X(9, "remote_timeout") X(10, "network_timeout")
#define LX_FAULT_HSTATUSES 0x7feu

/*
 * Drops or delays messages. A drop rule with hstatuses fails messages that are sent, one without
 * drops messages that arrive. Either rate or interval_s must be set, or drop_all.
 */
struct lx_fault_rule {
	bool delay; /* else drop */
	struct lx_nid src, dst; /* of the message: a NID, any, or lx_fault_net_nid() */
	struct lx_nid local;    /* of the NI: likewise */
	uint64_t portals;       /* 1 << portal; 0: all. Only PUT and GET have one */
	uint32_t messages;      /* LX_FAULT_*; 0: all */
	uint32_t rate;          /* one in this many matches; 0: by interval */
	uint32_t interval_s;    /* one match in this many seconds */
	uint32_t latency_ms;    /* delay */
	uint32_t hstatuses;     /* drop: how sending fails; a random one of several */
	uint32_t for_s;         /* expires after this time; 0: never */
	bool random;            /* each match with probability 1 / interval_s */
	bool drop_all;          /* every match, sent or received */
};

struct lx_fault_counts {
	uint64_t matched, acted; /* messages; acted: dropped or delayed */
	uint64_t put, ack, get, reply; /* of acted */
};

struct lx_fault_info {
	struct lx_fault_rule rule;
	struct lx_fault_counts counts;
	uint32_t held;   /* delayed messages that wait now */
	uint32_t left_s; /* until it expires; 0: never */
};

/* In a rule, all NIDs of a net ("*@tcp"): 255.255.255.255 on it. */
static inline struct lx_nid lx_fault_net_nid(uint32_t net)
{
	struct lx_nid nid;

	memset(&nid, 0, sizeof(nid));
	nid.type = (uint8_t)(net >> 16);
	nid.num = lx_be16((uint16_t)(net & 0xffff));
	memset(nid.addr, 0xff, 4);
	return nid;
}

static inline bool lx_fault_nid_is_net(const struct lx_nid *nid)
{
	struct lx_nid all = lx_fault_net_nid(lx_nid_net(nid));

	return lx_nid_eq(nid, &all);
}

/* ---- changes, as "lnetx monitor" shows them ----------------------------- */

#define LX_CHANGES(X) \
	X(NI_UP, "ni up") X(NI_DOWN, "ni down") X(NI_ADD, "ni add") X(NI_DEL, "ni del") \
	X(PEER_ADD, "peer add") X(PEER_DEL, "peer del") X(PEER_UP, "peer up") \
	X(PEER_DOWN, "peer down") X(PEER_CHANGED, "peer changed") X(ROUTE_ADD, "route add") \
	X(ROUTE_DEL, "route del") X(ROUTE_UP, "route up") X(ROUTE_DOWN, "route down") \
	X(ROUTING, "routing") X(CONN_UP, "conn up") X(CONN_DOWN, "conn down")

enum lx_change_type {
#define LX_CHANGE_ENUM_(NAME, name) LX_CHANGE_##NAME,
	LX_CHANGES(LX_CHANGE_ENUM_)
#undef LX_CHANGE_ENUM_
	LX_CHANGE_TYPES
};

struct lx_change {
	enum lx_change_type type;
	struct lx_nid nid; /* of the NI, peer or gateway; any if none */
	uint32_t net;      /* of a route; LX_NET_U32_ANY if none */
	char text[160];    /* the reason, or the new state; may be empty */
};

#endif
