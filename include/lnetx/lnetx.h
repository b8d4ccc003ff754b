/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * liblnetx: an LNet node in a process.
 *
 * A node has NIs on nets, knows peers and routes, and exchanges messages: a PUT
 * moves data into memory that a peer has attached, a GET fetches it. That memory is
 * described by a memory descriptor (MD), either bound (the initiator's side of a PUT
 * or GET) or attached below a match entry (ME) on a portal (the target's side).
 * Events report what happens to an MD. Rules: lnet.md.
 *
 * lnet.md and the other pages cited here are installed in share/doc/lnetx/spec.
 *
 * Threads. Every function may be called from any thread, unless it says
 * otherwise. Event handlers, probe completions and change watchers run on a thread
 * of the node, one at a time per node, in the order of events. They may call
 * everything except functions that wait for them to return: lx_node_stop(),
 * lx_routing_stop(), lx_net_del() and lx_node_apply() with LX_APPLY_DIFF return
 * -EDEADLK there, and lx_node_free() ends the process with a message.
 *
 * A handler must not block: not on another event, not on a lock that is held for
 * long, not on a disk. It runs on a thread that moves messages; while it
 * blocks, no other handler runs and connections stall. Hand long work
 * to a thread of your own. A handler that has not returned after a second is
 * logged (lx_set_log()).
 *
 * Errors are negative errno values, from calls and in the status of events:
 *
 *	-EINVAL           invalid argument                -ENOENT   no such object
 *	-EEXIST           it exists already               -EBUSY    in use
 *	-ENOMEM           out of memory                   -EPERM    the object forbids it
 *	-ERANGE           value out of range              -EDEADLK  called from a handler
 *	-ESHUTDOWN        the NI or the node is going down
 *	-EOPNOTSUPP, -EPROTONOSUPPORT   not in this version, or not in this build
 *	-EHOSTUNREACH     no route, no live gateway, or no host at the address
 *	-ECONNREFUSED, -ECONNRESET      the peer does not listen; it closed the connection
 *	-ETIMEDOUT        no connection, or no response, in time
 *	-ESTALE           the peer has restarted: the message was for its previous life
 *	-EPROTO           the peer sent malformed data
 *	-ENODATA          the target of a GET had nothing for it (RDMA nets only)
 *	-ECANCELED        the MD was unlinked before the message left
 */
#ifndef LNETX_LNETX_H
#define LNETX_LNETX_H

#include <sys/uio.h>

#include "conf.h"
#include "info.h"
#include "nid.h"
#include "tunable.h"
#include "version.h"

#pragma GCC visibility push(default) /* what liblnetx.so exports */

#ifdef __cplusplus
extern "C" {
#endif

struct lx_node;

/* The version of the library: LX_VERSION of the headers that it was built with. */
const char *lx_version(void);

/* ---- life of a node ------------------------------------------------------- */

/**
 * lx_node_new - create a node and bring it up
 * @conf: the configuration; copied. NULL: nothing but 0@lo
 * @ret_err: what was wrong and where; may be NULL
 * @ret_node: the node, to be freed with lx_node_free()
 *
 * Returns 0, or an error of lx_node_apply(); then nothing is left running.
 */
int lx_node_new(const struct lx_conf *conf, struct lx_conf_error *ret_err,
		struct lx_node **ret_node);

/**
 * lx_node_new_yaml - the same from YAML (conf.h)
 * @len: bytes of @yaml
 * Returns 0, or an error of lx_conf_parse() or lx_node_new().
 */
int lx_node_new_yaml(const char *yaml, size_t len, struct lx_conf_error *ret_err,
		     struct lx_node **ret_node);

/**
 * lx_node_stop - take a node down cleanly
 * @drain_ms: time that messages in flight get to complete; 0: none
 *
 * New messages are refused (-ESHUTDOWN). A router first stops routing, as lx_routing_stop()
 * does. After @drain_ms the remaining messages end with -ESHUTDOWN, connections are closed and
 * threads joined. Every MD has had its last event when this returns. If another thread is
 * stopping the node, this waits for it. Returns 0, or -EDEADLK from a handler.
 */
int lx_node_stop(struct lx_node *node, unsigned int drain_ms);

/**
 * lx_node_free - free a node
 * Stops it if need be, without draining. NULL is fine. No other thread may be using the
 * node. Called in one of its handlers, it ends the process with a message on standard error.
 */
void lx_node_free(struct lx_node *node);

/**
 * lx_node_alive - whether all threads of the node have turned since the last time
 * For a watchdog: call it every few seconds. False once means little; false for half a minute, or
 * a call that does not return, that a thread hangs, or a handler (lx_event_fn) on it.
 */
bool lx_node_alive(struct lx_node *node);

/**
 * lx_node_apply - change a running node to match a configuration
 * @conf: the wanted state
 * @flags: LX_APPLY_*
 * @ret_err: the first failure
 *
 * With LX_APPLY_DIFF, whatever is configured but not in @conf is removed, and whatever
 * is the same is left alone, connections included. Without it, @conf is added to the
 * present configuration; what is there already with other settings is a failure (-EEXIST), except
 * for tunables, routing and priorities of selection policies, which change. A failure does not
 * undo earlier changes; the rest is still tried. Returns 0 or the first error.
 */
int lx_node_apply(struct lx_node *node, const struct lx_conf *conf, unsigned int flags,
		  struct lx_conf_error *ret_err);
#define LX_APPLY_DIFF 1u  /* remove what is not in @conf */
#define LX_APPLY_START 2u /* the node is just starting: routing needs no delay (lnet.md 10.3) */

/**
 * lx_node_check - check a configuration without a node
 * @ret_err: the first mistake, in the order of the file; may be NULL
 *
 * Finds what the parser cannot know: unknown tunables, values out of range, duplicates,
 * routes and peers that a node with these NIs cannot have, interfaces and addresses that
 * this machine does not have. lx_node_new() begins with it.
 * Returns 0, or the errno that the node would return: -ENOENT, -ERANGE, -EINVAL, -EEXIST,
 * -EHOSTUNREACH, -EPERM, -ENODEV, -EADDRNOTAVAIL; -ENOMEM.
 */
int lx_node_check(const struct lx_conf *conf, struct lx_conf_error *ret_err);

/**
 * lx_conf_resolve - resolve a configuration for this machine and its present addresses
 * @ret_conf: a copy in which rules ("ip2nets", "networks") and rails have become NIs, and routes
 *	from module parameters have become ordinary routes, or have made the node a router; to be
 *	freed with lx_conf_free()
 * @ret_err: the reason of a failure; may be NULL
 *
 * lx_node_new() and lx_node_apply() start with this (control.md 7). Returns 0, -ENOENT there are
 * rules but none applies, -ENODEV a rule needs an interface that is up, or the interface
 * of rails does not exist, -EADDRNOTAVAIL it lacks addresses for its rails, -ENOMEM.
 */
int lx_conf_resolve(const struct lx_conf *conf, struct lx_conf **ret_conf,
		    struct lx_conf_error *ret_err);

/**
 * lx_conf_part - the same, without what waits for an interface or an address
 * @ret_now: what this machine can have now, resolved; without entries for the node itself as a
 *	peer if anything is missing
 * @ret_later: the NIs that are missing, and routes through gateways on their nets: part it again
 *	later, and give lx_node_apply() what is there then; to be freed with lx_conf_free().
 *	NULL: nothing is missing
 * Returns 0, or an error of lx_conf_resolve(); then there is nothing to free.
 */
int lx_conf_part(const struct lx_conf *conf, struct lx_conf **ret_now, struct lx_conf **ret_later,
		 struct lx_conf_error *ret_err);

/**
 * lx_node_check_yaml - report every mistake in a YAML configuration
 * @len: bytes of @yaml; at most 4 MiB
 * @flags: LX_CHECK_*
 * @fn: called for each mistake, in the order of the file; for the first hundred at most
 * Returns 0: no mistakes; else what lx_conf_parse() or lx_node_check() return for the first.
 */
int lx_node_check_yaml(const char *yaml, size_t len, unsigned int flags,
		       void (*fn)(const struct lx_conf_error *err, void *arg), void *arg);
#define LX_CHECK_FILE 1u /* the file alone: ignore this machine's interfaces */
#define LX_CHECK_PART 2u /* NIs that are missing are no mistakes, unless all of them are */

/**
 * lx_node_check_addition - the same for YAML to be added to a node, and parse it
 * @node: its NIDs, peers and tunables count as if they were in the YAML, too
 * @fn: called for each mistake, with its errno
 * @ret_conf: set if there are none: for lx_node_apply() without LX_APPLY_DIFF; to be freed with
 *	lx_conf_free()
 * What the node has already is no mistake.
 */
int lx_node_check_addition(struct lx_node *node, const char *yaml, size_t len,
			   void (*fn)(int error, const struct lx_conf_error *what, void *arg),
			   void *arg, struct lx_conf **ret_conf);

/* ---- configuration, piece by piece ---------------------------------------- */

/**
 * lx_net_add - bring an NI up (control.md 1.1)
 * @ni: net, and an interface or a NID; LX_UNSET, not 0, requests a default. The NIs of a
 *	net share the first one's tunables
 * Returns 0, -EEXIST the NI exists, -ENODEV no such interface, -EADDRNOTAVAIL,
 * -EPROTONOSUPPORT no transport for this net type, -EINVAL a value out of range, -EADDRINUSE
 * another process listens on its port, or is a node with this NID, -ENOMEM, -ESHUTDOWN.
 * Rails are NIs only after lx_conf_resolve().
 */
int lx_net_add(struct lx_node *node, const struct lx_conf_ni *ni);

/**
 * lx_net_del - take NIs down; their messages in flight end with -ESHUTDOWN
 * @ni: net, and ifname or nid to remove just one
 * Returns 0, -ENOENT no such NI, -EINVAL net "lo", which stays, -EDEADLK in a handler.
 */
int lx_net_del(struct lx_node *node, const struct lx_conf_ni *ni);

/**
 * lx_net_set - change a setting of an NI, or of all NIs of a net
 * @nid: of the NI; any: all of @net
 * @name: a transport tunable ("conns_per_peer"), or "health", 0 to 1000: the NI is recovered
 *	from there (lnet.md 13.3)
 * Returns 0, -ENOENT, -EINVAL, -ERANGE, -EOPNOTSUPP.
 */
int lx_net_set(struct lx_node *node, uint32_t net, const struct lx_nid *nid, const char *name,
	       int32_t value);

/**
 * lx_route_add - add a route (lnet.md 10.1)
 * Name the gateway by its NID on a local net. Two NIDs of one gateway make two routes.
 * Returns 0, -EINVAL, -EHOSTUNREACH no NI on the gateway's net, -EEXIST the net is local or
 * has a route via this NID already, -ELOOP the gateway is this node, -ENOMEM.
 */
int lx_route_add(struct lx_node *node, const struct lx_conf_route *route);

/**
 * lx_route_del - remove routes
 * @gateway: the NID that the route was added with; another NID of the gateway: all
 *	routes to @net through it; any: all routes to @net
 * Returns 0 or -ENOENT.
 */
int lx_route_del(struct lx_node *node, uint32_t net, const struct lx_nid *gateway);

/**
 * lx_peer_add - configure a peer, or add NIDs to one (lnet.md 12.5)
 *
 * NIDs that only discovery has found leave the peer until it is discovered again.
 *
 * Returns 0, -EINVAL, also if some NIDs are this node's and others not; -EEXIST a NID belongs to
 * another configured peer, -EPERM its Multi-Rail setting differs, -EBUSY it is a gateway:
 * configure the peer first, then its routes; -ENOMEM.
 */
int lx_peer_add(struct lx_node *node, const struct lx_conf_peer *peer);

/**
 * lx_peer_del - forget a peer, or some of its NIDs (control.md 1.3)
 * @peer: without NIDs, or with the primary one among them, the whole peer goes, except for
 *	a locked primary NID
 * @force: even a gateway in use, even a locked NID
 * Returns 0, -ENOENT, -ENODEV not its primary NID, -EBUSY it is a gateway in use.
 */
int lx_peer_del(struct lx_node *node, const struct lx_conf_peer *peer, bool force);

/**
 * lx_peer_set - set a value of peers by hand, for tests
 * @nid: of a peer NI; any: all peer NIs (health only)
 * @name: "health", 0 to 1000, of the peer NI, which then recovers (lnet.md 13.3); or "state",
 *	bits of enum lx_peer_state, of its peer. Those of a discovery under way stay as they are:
 *	DISCOVERING, DATA_PRESENT, PING_SENT, PUSH_SENT, PING_FAILED, PUSH_FAILED, RTR_DISCOVERY,
 *	MARK_DELETION
 * Returns 0, -ENOENT no such NID, -EOPNOTSUPP no such name, -ERANGE.
 */
int lx_peer_set(struct lx_node *node, const struct lx_nid *nid, const char *name, int64_t value);

/**
 * lx_recovery_list - NIs and peer NIs that are pinged because they are below full health
 * @ret_list: an array of @ret_n, to be freed with free()
 * Returns 0 or -ENOMEM.
 */
int lx_recovery_list(struct lx_node *node, struct lx_recovery_info **ret_list, size_t *ret_n);

/**
 * lx_udsp_add - add a selection policy (lnet.md 11.3)
 * @udsp: clauses, priority, and place in the list. Of two policies for the same net, NI or NID
 *	the first in the list wins. If a policy with the same clauses exists, this only changes
 *	its priority
 *
 * src alone gives its priority to our nets or NIs, dst alone to nets and NIDs of peers; without a
 * priority they get 0, the best. src and dst: prefer these NIs for these peers. dst and rte: prefer
 * these gateways. rte alone has no effect. A policy applies to present and future NIs and peers.
 * Returns 0, -EINVAL a malformed clause or combination, -EALREADY it exists, -ENOMEM.
 */
int lx_udsp_add(struct lx_node *node, const struct lx_conf_udsp *udsp);

/**
 * lx_udsp_del - remove a selection policy, and its effect
 * @index: in the list, from 0; LX_UNSET: all
 * Returns 0 or -ENOENT.
 */
int lx_udsp_del(struct lx_node *node, int32_t index);

/**
 * lx_routing_set - switch forwarding for others on or off (lnet.md 10.3)
 * Switching it on ends a stop under way. Returns 0, -ENOMEM.
 */
int lx_routing_set(struct lx_node *node, bool enable);

/**
 * lx_routing_stop - stop forwarding without losing messages, and wait until done
 * @limit_ms: wait no longer than this; 0: stop at once, whoever still sends
 *
 * Tells the neighbours, and forwards until all that use this node as a router know
 * and no message is in flight: some seconds if they do discovery, else until they next check
 * their gateways (alive_router_check_interval, 60 s by default). lx_routing_set(false) does the
 * same without waiting. Returns 0, also if the node does not route; -ETIMEDOUT @limit_ms
 * was too short; -ECANCELED another thread switched it on again; -EDEADLK from a handler.
 */
int lx_routing_stop(struct lx_node *node, unsigned int limit_ms);

/**
 * lx_neighbour_list - list the nodes that use this one as a router, for lx_announce()
 * @ret_list: an array of @ret_n, to be freed with free()
 * Returns 0 or -ENOMEM.
 */
int lx_neighbour_list(struct lx_node *node, struct lx_neighbour_info **ret_list, size_t *ret_n);

/**
 * lx_announce - tell neighbours that this node routes (again), as soon as it does
 * @nid: @n of them, saved from lx_neighbour_list(); the most likely ones first
 *
 * Pings and pushes to each, 200 a second at most, up to three times if it does not answer. A
 * neighbour uses a gateway again as soon as it hears from it; otherwise it would wait for its
 * next check. Returns 0, -ENOBUFS too many, -ENOMEM.
 */
int lx_announce(struct lx_node *node, const struct lx_nid *nid, size_t n);

/**
 * lx_buffers_set - set the number of router buffers (lnet.md 9)
 * @totals: by class; LX_UNSET leaves a class alone
 * Returns 0, -EINVAL, -ENOMEM.
 */
int lx_buffers_set(struct lx_node *node, const int64_t totals[LX_POOLS]);

/**
 * lx_fault_add - drop or delay messages from now on (lnet.md 14)
 * @rule: applies until it is deleted or expires. Messages that it may match stay off the fast
 *	path
 * Returns 0, -EINVAL it would match nothing, or has neither rate nor interval; -ENOSPC too many
 * rules, -ENOMEM.
 */
int lx_fault_add(struct lx_node *node, const struct lx_fault_rule *rule);

/**
 * lx_fault_del - delete rules; messages that they hold continue at once
 * @delay: delete delay rules, else drop rules
 * @src, @dst: exactly those of the rule; any: all rules
 * Returns how many, -ENOENT none, -ESHUTDOWN.
 */
int lx_fault_del(struct lx_node *node, bool delay, const struct lx_nid *src,
		 const struct lx_nid *dst);

/** lx_fault_clear - set the counters of all rules of a kind to 0 */
void lx_fault_clear(struct lx_node *node, bool delay);

/** lx_fault_list - all rules, the newest first; free(*ret_list). -ENOMEM. */
int lx_fault_list(struct lx_node *node, struct lx_fault_info **ret_list, size_t *ret_n);

/**
 * lx_tunable_write - set a module or global tunable
 * @module: "lnet" or a transport's name. All nodes of a process share the tunables of a
 *	transport, which return to their defaults with the last node
 * Returns 0, -ENOENT no such module or name, -EINVAL not a value, or not beside another one
 * (lx_node_check() tells which), -ERANGE; -EBUSY it
 * cannot change while NIs are up, -EADDRINUSE another process listens on that port.
 */
int lx_tunable_write(struct lx_node *node, const char *module, const char *name,
		     const char *value);

/**
 * lx_tunable_each - iterate over all tunables
 * @fn: called for each, without locks; non-zero stops the iteration. @value is
 *	valid only during the call.
 */
void lx_tunable_each(struct lx_node *node,
		     int (*fn)(const char *module, const struct lx_tunable *t,
			       const char *value, void *arg),
		     void *arg);

/* ---- state ------------------------------------------------------------------ */

/**
 * lx_ni_list - list the NIs; 0@lo is the first
 * @ret_list: an array of @ret_n, to be freed with free(), as for the next four
 * Returns 0 or -ENOMEM, as do the next four.
 */
int lx_ni_list(struct lx_node *node, struct lx_ni_info **ret_list, size_t *ret_n);

/** lx_peer_list - list the peers, in no order */
int lx_peer_list(struct lx_node *node, struct lx_peer_info **ret_list, size_t *ret_n);

/** lx_route_list - list the routes, by net */
int lx_route_list(struct lx_node *node, struct lx_route_info **ret_list, size_t *ret_n);

/** lx_udsp_list - selection policies, in their order, with their indices */
int lx_udsp_list(struct lx_node *node, struct lx_conf_udsp **ret_list, size_t *ret_n);

/** lx_conn_list - list the connections of all transports */
int lx_conn_list(struct lx_node *node, struct lx_conn_info **ret_list, size_t *ret_n);

/**
 * lx_peer_find - find a peer by any of its NIDs
 * @ret_peer: to be freed with free()
 * Returns 0, -ENOENT, -ENOMEM.
 */
int lx_peer_find(struct lx_node *node, const struct lx_nid *nid, struct lx_peer_info **ret_peer);

/** lx_routing_get - whether the node routes, and its buffer pools */
void lx_routing_get(struct lx_node *node, struct lx_routing_info *ret_info);

/** lx_stats_get - the global counters (lnet.md 15) */
void lx_stats_get(struct lx_node *node, struct lx_stats *ret_stats);

/**
 * lx_refused_list - who was refused lately, the latest first
 * @ret_list: an array of @ret_n, at most LX_REFUSED_MAX, to be freed with free()
 * Returns 0 or -ENOMEM.
 */
int lx_refused_list(struct lx_node *node, struct lx_refused_info **ret_list, size_t *ret_n);

/** lx_stats_reset - set all counters to 0, those of NIs and peers too */
void lx_stats_reset(struct lx_node *node);

/**
 * lx_disconnect - close connections
 * @nid: of the peer; any: all peers
 * Messages on them fail and are not resent. Returns the number of connections.
 */
int lx_disconnect(struct lx_node *node, const struct lx_nid *nid);

/**
 * lx_node_watch - watch for changes (info.h)
 * @fn: called on a thread of the node, in order with events; NULL: stop watching, though one
 *	call may still be running. One watcher per node.
 */
void lx_node_watch(struct lx_node *node, void (*fn)(const struct lx_change *, void *arg),
		   void *arg);

/* ---- memory descriptors ------------------------------------------------------ */

/* Names an MD or an ME. Never reused. */
struct lx_handle {
	uint64_t cookie;
};
#define LX_HANDLE_NONE LX_VALUE(lx_handle, 0)

enum lx_event_type {
	LX_EVENT_GET = 1,    /* target of a GET: the data has been sent */
	LX_EVENT_PUT = 2,    /* target of a PUT: the data is in memory */
	LX_EVENT_REPLY = 3,  /* initiator of a GET: the data is in memory */
	LX_EVENT_ACK = 4,    /* initiator of a PUT: the data is in the target's memory */
	LX_EVENT_SEND = 5,   /* initiator: the request was sent, or failed (lx_put()) */
	LX_EVENT_UNLINK = 6, /* the MD is gone, without a message: on request, or by timeout */
};

struct lx_event {
	enum lx_event_type type;
	struct lx_id target;     /* as the request named it */
	struct lx_id initiator;  /* the peer, by its primary NID */
	struct lx_nid source;    /* the NID on the wire */
	struct lx_nid sender;    /* previous hop */
	uint32_t portal;
	uint64_t match_bits;
	size_t rlength;          /* bytes requested or offered */
	size_t mlength;          /* bytes moved */
	size_t offset;           /* where in the MD */
	uint64_t hdr_data;       /* of a PUT: as given to lx_put() */
	struct lx_handle md;
	void *user;              /* from the MD */
	int status;              /* 0 or a negative errno */
	bool unlinked;           /* the MD is gone; the caller owns its memory again */
	enum lx_msg_type msg_type; /* of the message sent or received */
};

/* @event is valid only during the call. Must not block: see "Threads" above. */
typedef void (*lx_event_fn)(const struct lx_event *event);

#define LX_MD_IOV_MAX 256    /* fragments of one MD */
#define LX_MD_UNLIMITED (-1) /* threshold: any number of operations */

/* The requests that a target's MD accepts, and how. A bound MD has neither OP_PUT nor OP_GET. */
enum lx_md_option {
	LX_MD_OP_PUT = 0x1,             /* accepts PUTs */
	LX_MD_OP_GET = 0x2,             /* accepts GETs */
	LX_MD_MANAGE_REMOTE = 0x4,      /* the initiator gives the offset; else messages
					 * are placed one after the other */
	LX_MD_TRUNCATE = 0x10,          /* truncate a message that is too long; else drop it */
	LX_MD_ACK_DISABLE = 0x20,       /* never acknowledge a PUT, even if it asks for an ACK */
	LX_MD_MAX_SIZE = 0x80,          /* a message has at most max_size bytes, and the MD is
					 * exhausted when less than that is left */
	LX_MD_BULK_HANDLE = 0x200,      /* bulk names an MD; use an NI near it; not used yet */
	LX_MD_TRACK_RESPONSE = 0x400,   /* no response in lnet_transaction_timeout: UNLINK with
					 * -ETIMEDOUT; else as lnet_response_tracking says */
	LX_MD_NO_TRACK_RESPONSE = 0x800, /* wait forever */
	LX_MD_DISCARD = 0x4000,         /* the memory will not be read; not used yet */
};

struct lx_md_desc {
	void *start;             /* memory: contiguous ... */
	size_t length;
	const struct iovec *iov; /* ... or, if not NULL, up to LX_MD_IOV_MAX fragments; copied */
	unsigned int n_iov;
	int threshold;           /* operations it accepts, or LX_MD_UNLIMITED; a request with
				  * a response takes two (lx_put()); 0: none */
	size_t max_size;         /* with LX_MD_MAX_SIZE */
	unsigned int options;    /* enum lx_md_option */
	lx_event_fn handler;     /* NULL: no events */
	void *user;              /* for the handler */
	struct lx_handle bulk;   /* with LX_MD_BULK_HANDLE */
};

/* The fate of an MD or ME that is exhausted: threshold 0, or too little room. */
enum lx_unlink {
	LX_RETAIN = 0, /* it stays, accepting nothing, until it is unlinked */
	LX_UNLINK = 1, /* it goes; the event of the last message has "unlinked" */
};

/* Position in the portal's list, which is searched from the head. */
enum lx_me_pos {
	LX_ME_BEFORE = 0, /* at the head */
	LX_ME_AFTER = 1,  /* at the tail */
	LX_ME_LOCAL = 2,  /* like LX_ME_AFTER: there is one CPU partition */
};

/**
 * lx_me_attach - attach a match entry to a portal
 * @portal: 1 .. LX_PORTALS - 1; LX_PORTAL_RESERVED belongs to the node
 * @match: who may use it; NID and pid may be any (lx_nid_any, LX_PID_ANY)
 * @match_bits: must equal the request's, except for those set in @ignore_bits
 * @unlink: whether the ME goes with its MD
 *
 * Returns 0, -EINVAL portal out of range, -EPERM the portal holds MEs of the
 * other kind, unique or wildcard (lnet.md 6), -ENOMEM, -ESHUTDOWN.
 */
int lx_me_attach(struct lx_node *node, uint32_t portal, const struct lx_id *match,
		 uint64_t match_bits, uint64_t ignore_bits, enum lx_unlink unlink,
		 enum lx_me_pos pos, struct lx_handle *ret_me);

/**
 * lx_me_unlink - remove an ME with its MD, as lx_md_unlink() does
 * Returns 0 or -ENOENT.
 */
int lx_me_unlink(struct lx_node *node, struct lx_handle me);

/**
 * lx_md_attach - give an ME its memory
 * The node owns the memory until an event with "unlinked"; it must stay mapped. Waiting messages
 * of a lazy portal are matched now. Returns 0, -ENOENT no such ME, -EBUSY it has an
 * MD, -EINVAL, -ENOMEM, -ESHUTDOWN.
 */
int lx_md_attach(struct lx_node *node, struct lx_handle me, const struct lx_md_desc *md,
		 enum lx_unlink unlink, struct lx_handle *ret_md);

/**
 * lx_md_bind - create an MD to send from or fetch into
 * The node owns the memory until an event with "unlinked"; it must stay mapped. Returns 0,
 * -EINVAL, -ENOMEM, -ESHUTDOWN.
 */
int lx_md_bind(struct lx_node *node, const struct lx_md_desc *md, enum lx_unlink unlink,
	       struct lx_handle *ret_md);

/**
 * lx_md_unlink - unlink an MD
 * An idle MD goes at once, with an UNLINK event; a busy one after its last
 * message, whose event then has "unlinked". Returns 0, -ENOENT.
 */
int lx_md_unlink(struct lx_node *node, struct lx_handle md);

/**
 * lx_portal_set_lazy - make messages without a match wait instead of dropping them
 * With @lazy false, waiting messages are dropped. Returns 0, or -EINVAL portal out of range.
 */
int lx_portal_set_lazy(struct lx_node *node, uint32_t portal, bool lazy);

/**
 * lx_memory_add - announce memory in which many MDs will lie
 * A transport may have to prepare memory - RDMA hardware wants it registered. It does so once
 * per MD and undoes it with the MD; for MDs in announced memory it does so once for
 * all of them. The memory must stay mapped, unchanged, until lx_memory_del(). Announce a few
 * large areas rather than many small ones.
 * Returns 0, -EINVAL, -EEXIST it overlaps announced memory, -ENOMEM, -ESHUTDOWN.
 */
int lx_memory_add(struct lx_node *node, void *start, size_t length);

/**
 * lx_memory_del - withdraw the memory announced at @start; it may then be unmapped
 * Returns 0, -ENOENT, -EBUSY an MD lies in it, -ESHUTDOWN it is withdrawn already.
 */
int lx_memory_del(struct lx_node *node, void *start);

/* ---- messages ------------------------------------------------------------------ */

/*
 * A request - PUT or GET - takes one from its MD's threshold when it is made, and reserves
 * one more for its response, if any: an ACK or a REPLY (lnet.md 8). So a GET
 * needs an MD with a threshold of 2, and so does a PUT with an ACK; with 1 the response
 * would find the MD exhausted. Such a request is refused.
 *
 * Its events:
 *
 *	SEND, status 0        it was sent, or copied; a response follows, if requested
 *	SEND, status not 0    it was not sent: no response will come, and the threshold
 *	                      reserved for one is used up all the same
 *	ACK, REPLY            the response
 *	UNLINK, -ETIMEDOUT    no response came (lnet_transaction_timeout, 150 s), as when nothing
 *	                      at the target matched; the MD is gone
 *
 * SEND and the response may come in either order. "unlinked" in each event, and nothing else,
 * says what happened to the MD: if true, the MD is gone, this was its last
 * event, and the caller owns its memory again. If false, the MD is unchanged, whatever
 * the status, and can be used for the next request or be unlinked. A refused request
 * has no event and leaves the MD unchanged.
 */

/**
 * lx_put - send an MD's memory to a peer
 * @self: the local NID to send from, or NULL: the node chooses
 * @md: bound with lx_md_bind(); threshold at least 1, or 2 with @ack
 * @ack: request an ACK
 * @target: any of the peer's NIDs; pid LX_PID_LUSTRE
 * @portal: 1 .. LX_PORTALS - 1
 * @offset: where in the target's MD, if it has LX_MD_MANAGE_REMOTE
 * @hdr_data: 8 bytes for the target's event
 *
 * Sends the whole MD; at most LX_PAYLOAD_MAX. Events: see above.
 * Returns 0; -ENOENT no such MD, or its threshold is 0; -EINVAL the threshold is too
 * small, the portal is out of range, the MD is too long or @target is "any";
 * -ESHUTDOWN; -ENOMEM.
 */
int lx_put(struct lx_node *node, const struct lx_nid *self, struct lx_handle md, bool ack,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	   uint64_t hdr_data);

/**
 * lx_get - fetch a peer's memory into an MD
 * @md: bound with lx_md_bind(); threshold 2 or more
 * @offset: where in the target's MD, if it has LX_MD_MANAGE_REMOTE
 *
 * Fetches what the MD has room for; at most LX_PAYLOAD_MAX. Events: see above.
 * Returns what lx_put() does.
 */
int lx_get(struct lx_node *node, const struct lx_nid *self, struct lx_handle md,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset);

/* ---- probes ---------------------------------------------------------------------- */

/* The outcome of a ping or discovery; @info is NULL on error, else valid only during the call. */
typedef void (*lx_probe_fn)(int status, const struct lx_peer_info *info, void *arg);

/**
 * lx_ping - ask a node, known or not, for its NIDs (lnet.md 12)
 * @source: local NID to ask from, or NULL
 * @timeout_ms: for the answer. 0: 1 s, and a request that has not even been sent by then gets
 *	up to 5 s more, so that the reason becomes known.
 * @fn: called once if this returns 0. Status: 0, -ETIMEDOUT no answer, -ETIME not even sent in
 *	@timeout_ms, -EPROTO malformed answer; else why it could not be sent: -EHOSTUNREACH, ...
 * Returns 0, -ENOMEM, -ESHUTDOWN.
 */
int lx_ping(struct lx_node *node, const struct lx_id *target, const struct lx_nid *source,
	    unsigned int timeout_ms, lx_probe_fn fn, void *arg);

/**
 * lx_discover - ask a peer for its NIDs, and tell it ours if it does not know them (lnet.md 12)
 * @force: tell it in any case
 * @fn: as for lx_ping(); the node's own timeouts apply
 * Returns 0, -ENOMEM, -ESHUTDOWN.
 */
int lx_discover(struct lx_node *node, const struct lx_nid *nid, bool force, lx_probe_fn fn,
		void *arg);

/* Room for the text of lx_reach_explain(). */
#define LX_REACH_TEXT 320

/**
 * lx_reach_explain - say how far messages to a NID get, as far as this node knows
 * @source: local NID to send from, or NULL
 * @buf: gets a sentence for people, without a full stop: no route is configured; which
 *	routes are down, and why; it is a neighbour, and how its last connection failed;
 *	or which live gateways lead to it
 * @size: of @buf; LX_REACH_TEXT is enough for two gateways
 *
 * For a probe or a message that has just failed: -EHOSTUNREACH covers all of these. Returns the
 * error of the last connection to a neighbour, which says more than that, or 0.
 */
int lx_reach_explain(struct lx_node *node, const struct lx_nid *nid, const struct lx_nid *source,
		     char *buf, size_t size);

/**
 * lx_dist - distance of a NID (lnet.md 15)
 * Returns 0 own, 1 same net, hops + 1 remote, or -EHOSTUNREACH.
 */
int lx_dist(struct lx_node *node, const struct lx_nid *nid);

/**
 * lx_primary_nid - the primary NID of a peer
 * @ret_primary: as known now; @nid itself if the peer is unknown
 */
void lx_primary_nid(struct lx_node *node, const struct lx_nid *nid, struct lx_nid *ret_primary);

/* ---- log -------------------------------------------------------------------------- */

/**
 * lx_set_log - receive the log: failures that no call can return, such as a malformed HELLO
 * @fn: called with one line of key=value without newline, on any thread; @level as in
 *	syslog(3): 3 error, 4 warning, 6 information, 7 debugging. NULL, the default: no
 *	log. It may be called with the node locked: it must not block or call the library
 * One sink per process.
 */
void lx_set_log(void (*fn)(int level, const char *line, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
