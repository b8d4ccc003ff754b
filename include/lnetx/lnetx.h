/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * liblnetx: an LNet node in a process.
 *
 * A node has NIs on nets, knows peers and routes, and exchanges messages: a PUT
 * moves data into memory that a peer has attached, a GET fetches it. Memory takes
 * part as a memory descriptor (MD): either bound (the initiator's side of a PUT
 * or GET) or attached below a match entry (ME) on a portal (the target's side).
 * What happens to an MD is told by events. Rules: lnet.md.
 *
 * lnet.md and the other pages that headers cite are installed in share/doc/lnetx/spec.
 *
 * Threads. Every function may be called from any thread, unless it says
 * otherwise. Event handlers, completions of probes and watchers of changes are
 * called on a thread of the node's, one at a time for one node, in the order
 * things happened. From within them everything may be called but what waits for
 * them to end: lx_node_stop(), lx_routing_stop(), lx_net_del() and lx_node_apply()
 * with LX_APPLY_DIFF return -EDEADLK there, lx_node_free() ends the process with a
 * message.
 *
 * A handler must not wait: not for another event, not for a lock that is held for
 * long, not for a disk. The thread that it is called on moves messages; while it
 * waits no other handler is called, and connections stand still. Hand what takes
 * time to a thread of your own. One that has not returned for a second is told of
 * in the log (lx_set_log()).
 *
 * Errors are negative errno values, from calls and in the status of events:
 *
 *	-EINVAL           an argument makes no sense      -ENOENT   no such object
 *	-EEXIST           there is one already            -EBUSY    in use
 *	-ENOMEM           out of memory                   -EPERM    the object forbids it
 *	-ERANGE           a value outside its range       -EDEADLK  called from a handler
 *	-ESHUTDOWN        the NI or the node goes down
 *	-EOPNOTSUPP, -EPROTONOSUPPORT   not in this version, or not in this build
 *	-EHOSTUNREACH     no route, no gateway alive, or nobody at the address
 *	-ECONNREFUSED, -ECONNRESET      the peer does not listen; it closed the connection
 *	-ETIMEDOUT        no connection, or no response, in time
 *	-ESTALE           the peer has restarted: sent to its predecessor
 *	-EPROTO           the peer sent something malformed
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

#pragma GCC visibility push(default) /* what liblnetx.so exports */

#ifdef __cplusplus
extern "C" {
#endif

struct lx_node;

/* ---- life of a node ------------------------------------------------------- */

/**
 * lx_node_new - make a node and bring it up
 * @conf: what to configure; copied. NULL: nothing, only 0@lo
 * @ret_err: what was wrong and where; may be NULL
 * @ret_node: the node, to be freed with lx_node_free()
 *
 * Returns 0, or what lx_node_apply() returns; then nothing is left running.
 */
int lx_node_new(const struct lx_conf *conf, struct lx_conf_error *ret_err,
		struct lx_node **ret_node);

/**
 * lx_node_new_yaml - the same from YAML (conf.h)
 * @len: bytes of @yaml
 * Returns what lx_node_new() and lx_conf_parse() do.
 */
int lx_node_new_yaml(const char *yaml, size_t len, struct lx_conf_error *ret_err,
		     struct lx_node **ret_node);

/**
 * lx_node_stop - take a node down cleanly
 * @drain_ms: how long messages under way may go on; 0: not at all
 *
 * No new message is taken (-ESHUTDOWN). A router first stops routing, as lx_routing_stop()
 * does. After @drain_ms what is left ends with -ESHUTDOWN, connections are closed, threads
 * joined. Every MD has had its last event when this returns. If another thread is stopping
 * the node, this waits for that one. Returns 0, -EDEADLK from a handler.
 */
int lx_node_stop(struct lx_node *node, unsigned int drain_ms);

/**
 * lx_node_free - the end of a node
 * Stops it if need be, without draining. NULL is fine. No other thread may be using the
 * node. In one of its handlers it ends the process, with a message on the standard error.
 */
void lx_node_free(struct lx_node *node);

/**
 * lx_node_apply - change a running node to match a configuration
 * @conf: the wanted state
 * @flags: LX_APPLY_*
 * @ret_err: the first failure
 *
 * With LX_APPLY_DIFF what is configured but not in @conf is removed, what is the
 * same is left alone, connections and all. Without it, @conf is added to what is
 * there. A failure does not undo what was done before it; the rest is still tried.
 * Returns 0 or the first error.
 */
int lx_node_apply(struct lx_node *node, const struct lx_conf *conf, unsigned int flags,
		  struct lx_conf_error *ret_err);
#define LX_APPLY_DIFF 1u  /* what is not in @conf goes */
#define LX_APPLY_START 2u /* the node only just starts: routing needs no delay (lnet.md 10.3) */

/**
 * lx_node_check - look over a configuration without a node
 * @ret_err: the first mistake, in the order of the file; may be NULL
 *
 * Finds what the parser cannot know: tunables that do not exist or have values out of their
 * range, what is there twice, routes and peers that no node with these NIs could have,
 * interfaces and addresses that this machine has not. lx_node_new() begins with it.
 * Returns 0, or the errno that the node would have had: -ENOENT, -ERANGE, -EINVAL, -EEXIST,
 * -EHOSTUNREACH, -EPERM, -ENODEV, -EADDRNOTAVAIL; -ENOMEM.
 */
int lx_node_check(const struct lx_conf *conf, struct lx_conf_error *ret_err);

/**
 * lx_node_check_yaml - all that is wrong with a YAML configuration
 * @len: bytes of @yaml; at most 4 MiB
 * @flags: LX_CHECK_*
 * @fn: told of each mistake, in the order of the file; of a hundred at most
 * Returns 0: there is none; else what lx_conf_parse() or lx_node_check() return for the first.
 */
int lx_node_check_yaml(const char *yaml, size_t len, unsigned int flags,
		       void (*fn)(const struct lx_conf_error *err, void *arg), void *arg);
#define LX_CHECK_FILE 1u /* the file alone: this machine's interfaces do not matter */

/* ---- configuration, piece by piece ---------------------------------------- */

/**
 * lx_net_add - bring an NI up (control.md 1.1)
 * @ni: net, and an interface or a NID; what is to have its default is LX_UNSET, not 0. The
 *	NIs of a net share the first one's tunables
 * Returns 0, -EEXIST the NI exists, -ENODEV no such interface, -EADDRNOTAVAIL,
 * -EPROTONOSUPPORT no transport for this net type, -EINVAL a value out of range.
 */
int lx_net_add(struct lx_node *node, const struct lx_conf_ni *ni);

/**
 * lx_net_del - take NIs down; messages under way on them end with -ESHUTDOWN
 * @ni: net, and ifname or nid to remove just one
 * Returns 0, or -ENOENT: none such.
 */
int lx_net_del(struct lx_node *node, const struct lx_conf_ni *ni);

/**
 * lx_net_set - change a setting of an NI, or of all NIs of a net
 * @nid: of the NI; any: all of @net
 * @name: a transport tunable ("conns_per_peer"), "health" is not there yet.
 * Returns 0, -ENOENT, -EINVAL, -ERANGE, -EOPNOTSUPP.
 */
int lx_net_set(struct lx_node *node, uint32_t net, const struct lx_nid *nid, const char *name,
	       int32_t value);

/**
 * lx_route_add - add a route (lnet.md 10.1)
 * The gateway is named by its NID on a net of ours. Two NIDs of one gateway make two routes.
 * Returns 0, -EINVAL, -EHOSTUNREACH no NI on the gateway's net, -EEXIST the net is local or
 * has a route via this NID, -ELOOP the gateway is this node, -ENOMEM.
 */
int lx_route_add(struct lx_node *node, const struct lx_conf_route *route);

/**
 * lx_route_del - remove routes
 * @gateway: the NID that the route was added with, else any NID of the gateway, for all
 *	routes to @net through it; any: all routes to @net
 * Returns 0 or -ENOENT.
 */
int lx_route_del(struct lx_node *node, uint32_t net, const struct lx_nid *gateway);

/**
 * lx_peer_add - configure a peer, or more NIDs of one (lnet.md 12.5)
 * Returns 0, -EINVAL, -EEXIST a NID belongs to another configured peer, -EPERM its Multi-Rail
 * setting differs, -EBUSY it is a gateway: configure the peer first, then its routes; -ENOMEM.
 */
int lx_peer_add(struct lx_node *node, const struct lx_conf_peer *peer);

/**
 * lx_peer_del - forget a peer, or NIDs of it (control.md 1.3)
 * @peer: without NIDs, or with the primary one among them, the whole peer goes; of one with
 *	a locked primary NID that NID stays
 * @force: also a gateway in use, also a locked NID
 * Returns 0, -ENOENT, -ENODEV not its primary NID, -EBUSY it is a gateway in use.
 */
int lx_peer_del(struct lx_node *node, const struct lx_conf_peer *peer, bool force);

/**
 * lx_routing_set - forward messages for others, or stop doing so (lnet.md 10.3)
 * Returns 0, -EBUSY it is to be switched on while it is stopping, -ENOMEM.
 */
int lx_routing_set(struct lx_node *node, bool enable);

/**
 * lx_routing_stop - stop forwarding messages for others without losing any, and wait for that
 * @limit_ms: at most so long; 0: at once, whoever still sends
 *
 * Neighbours are told. Messages are forwarded until all who use this node as a router know
 * and none is under way: some seconds if they do discovery, else until they next check their
 * gateways (alive_router_check_interval, 60 s by default). lx_routing_set(false) does the same
 * without waiting. Returns 0, also if it does not route; -ETIMEDOUT when the time was over
 * before that, -EDEADLK from a handler.
 */
int lx_routing_stop(struct lx_node *node, unsigned int limit_ms);

/**
 * lx_neighbour_list - those who use this node as a router, to be announced to later
 * @ret_list: an array of @ret_n, to be freed with free()
 * Returns 0 or -ENOMEM.
 */
int lx_neighbour_list(struct lx_node *node, struct lx_neighbour_info **ret_list, size_t *ret_n);

/**
 * lx_announce - tell neighbours that this node routes (again), as soon as it does
 * @nid: @n of them, as lx_neighbour_list() had them before; the most likely ones first
 *
 * Each is pinged and pushed to, up to 200 a second, up to three times if it does not answer. A
 * gateway that has been down is in use again as soon as it has been heard; without this it
 * takes until it is next checked. Returns 0, -ENOBUFS there are too many, -ENOMEM.
 */
int lx_announce(struct lx_node *node, const struct lx_nid *nid, size_t n);

/**
 * lx_buffers_set - how many router buffers there are (lnet.md 9)
 * @totals: by class; LX_UNSET leaves a class alone
 * Returns 0, -EINVAL, -ENOMEM.
 */
int lx_buffers_set(struct lx_node *node, const int64_t totals[LX_POOLS]);

/**
 * lx_tunable_write - set a module or global tunable
 * @module: "lnet" or a transport's name. A transport's are the process's: all its nodes
 *	have the same ones
 * Returns 0, -ENOENT no such module or name, -EINVAL no value, -ERANGE.
 */
int lx_tunable_write(struct lx_node *node, const char *module, const char *name,
		     const char *value);

/**
 * lx_tunable_each - go through all tunables
 * @fn: called for each, with nothing locked; stops when it returns non-zero. @value is
 *	valid only in the call.
 */
void lx_tunable_each(struct lx_node *node,
		     int (*fn)(const char *module, const struct lx_tunable *t,
			       const char *value, void *arg),
		     void *arg);

/* ---- state ------------------------------------------------------------------ */

/**
 * lx_ni_list - what NIs there are; 0@lo is the first
 * @ret_list: an array of @ret_n, to be freed with free(); so are those of the next three
 * Returns 0 or -ENOMEM; so do the next three.
 */
int lx_ni_list(struct lx_node *node, struct lx_ni_info **ret_list, size_t *ret_n);

/** lx_peer_list - what peers there are, in no order */
int lx_peer_list(struct lx_node *node, struct lx_peer_info **ret_list, size_t *ret_n);

/** lx_route_list - what routes there are, by net */
int lx_route_list(struct lx_node *node, struct lx_route_info **ret_list, size_t *ret_n);

/** lx_conn_list - connections of all transports */
int lx_conn_list(struct lx_node *node, struct lx_conn_info **ret_list, size_t *ret_n);

/**
 * lx_peer_find - one peer, by any of its NIDs
 * @ret_peer: to be freed with free()
 * Returns 0, -ENOENT, -ENOMEM.
 */
int lx_peer_find(struct lx_node *node, const struct lx_nid *nid, struct lx_peer_info **ret_peer);

/** lx_routing_get - whether it routes, and its buffer pools */
void lx_routing_get(struct lx_node *node, struct lx_routing_info *ret_info);

/** lx_stats_get - the global counters (lnet.md 15) */
void lx_stats_get(struct lx_node *node, struct lx_stats *ret_stats);

/** lx_stats_reset - set all counters to 0, those of NIs and peers too */
void lx_stats_reset(struct lx_node *node);

/**
 * lx_disconnect - close connections
 * @nid: of the peer; any: all peers
 * Messages on them fail and are not sent again. Returns how many.
 */
int lx_disconnect(struct lx_node *node, const struct lx_nid *nid);

/**
 * lx_node_watch - be told of changes (info.h)
 * @fn: called on a thread of the node's, in order with events; NULL: no more, but for one
 *	call that may be under way. One watcher a node.
 */
void lx_node_watch(struct lx_node *node, void (*fn)(const struct lx_change *, void *arg),
		   void *arg);

/* ---- memory descriptors ------------------------------------------------------ */

/* Names an MD or an ME. It is never used again for another one. */
struct lx_handle {
	uint64_t cookie;
};
#define LX_HANDLE_NONE LX_VALUE(lx_handle, 0)

enum lx_event_type {
	LX_EVENT_GET = 1,    /* target of a GET: the data has been sent */
	LX_EVENT_PUT = 2,    /* target of a PUT: the data is in memory */
	LX_EVENT_REPLY = 3,  /* initiator of a GET: the data is in memory */
	LX_EVENT_ACK = 4,    /* initiator of a PUT: the data is in the target's memory */
	LX_EVENT_SEND = 5,   /* initiator: the request is out, or has failed (lx_put()) */
	LX_EVENT_UNLINK = 6, /* the MD is gone, with no message: asked for, or timed out */
};

struct lx_event {
	enum lx_event_type type;
	struct lx_id target;     /* as the request named it */
	struct lx_id initiator;  /* the peer by its primary NID */
	struct lx_nid source;    /* the NID on the wire */
	struct lx_nid sender;    /* previous hop */
	uint32_t portal;
	uint64_t match_bits;
	size_t rlength;          /* bytes asked for or offered */
	size_t mlength;          /* bytes moved */
	size_t offset;           /* where in the MD */
	uint64_t hdr_data;       /* of a PUT: what lx_put() was given */
	struct lx_handle md;
	void *user;              /* from the MD */
	int status;              /* 0 or a negative errno */
	bool unlinked;           /* the MD is gone; its memory is the caller's again */
	enum lx_msg_type msg_type; /* of the message that was sent, or came */
};

/* @event is valid only in the call. It must not wait: see "Threads" above. */
typedef void (*lx_event_fn)(const struct lx_event *event);

#define LX_MD_IOV_MAX 256    /* stretches of memory of one MD */
#define LX_MD_UNLIMITED (-1) /* threshold: any number of operations */

/* What a target's MD takes, and how. A bound one has neither OP_PUT nor OP_GET. */
enum lx_md_option {
	LX_MD_OP_PUT = 0x1,             /* takes PUTs */
	LX_MD_OP_GET = 0x2,             /* takes GETs */
	LX_MD_MANAGE_REMOTE = 0x4,      /* the offset is the initiator's; else each message
					 * goes behind the one before */
	LX_MD_TRUNCATE = 0x10,          /* what is too long is cut; else it is dropped */
	LX_MD_ACK_DISABLE = 0x20,       /* PUTs are not acknowledged, though they ask for it */
	LX_MD_MAX_SIZE = 0x80,          /* a message has at most max_size bytes, and the MD is
					 * exhausted when less than that is left */
	LX_MD_BULK_HANDLE = 0x200,      /* bulk: an MD near which an NI should be; not used yet */
	LX_MD_TRACK_RESPONSE = 0x400,   /* no response in lnet_transaction_timeout: UNLINK with
					 * -ETIMEDOUT; else as lnet_response_tracking says */
	LX_MD_NO_TRACK_RESPONSE = 0x800, /* wait for ever */
	LX_MD_DISCARD = 0x4000,         /* the memory will not be read; not used yet */
};

struct lx_md_desc {
	void *start;             /* memory: one stretch ... */
	size_t length;
	const struct iovec *iov; /* ... or, if not NULL, up to LX_MD_IOV_MAX of them; copied */
	unsigned int n_iov;
	int threshold;           /* operations that it is good for, or LX_MD_UNLIMITED; a
				  * request with a response takes two (lx_put()); 0: none */
	size_t max_size;         /* with LX_MD_MAX_SIZE */
	unsigned int options;    /* enum lx_md_option */
	lx_event_fn handler;     /* NULL: no events */
	void *user;              /* for the handler */
	struct lx_handle bulk;   /* with LX_MD_BULK_HANDLE */
};

/* What becomes of an MD, or an ME, when it is exhausted: threshold 0, or too little room. */
enum lx_unlink {
	LX_RETAIN = 0, /* it stays, and takes nothing more, until it is unlinked */
	LX_UNLINK = 1, /* it goes; the event of the last message says "unlinked" */
};

/* Where in the portal's list, which is searched from its beginning. */
enum lx_me_pos {
	LX_ME_BEFORE = 0, /* at the beginning */
	LX_ME_AFTER = 1,  /* at the end */
	LX_ME_LOCAL = 2,  /* as LX_ME_AFTER: there is one CPU partition */
};

/**
 * lx_me_attach - put a match entry on a portal
 * @portal: 1 .. LX_PORTALS - 1; LX_PORTAL_RESERVED is the node's own
 * @match: who may use it; NID and pid may be any (lx_nid_any, LX_PID_ANY)
 * @match_bits: must be the request's, but for those set in @ignore_bits
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
 * The memory is the node's until an event with "unlinked"; it stays mapped. Delayed messages of
 * a lazy portal are matched now. Returns 0, -ENOENT no such ME, -EBUSY it has an
 * MD, -EINVAL, -ENOMEM, -ESHUTDOWN.
 */
int lx_md_attach(struct lx_node *node, struct lx_handle me, const struct lx_md_desc *md,
		 enum lx_unlink unlink, struct lx_handle *ret_md);

/**
 * lx_md_bind - make an MD to send from or to fetch into
 * Its memory is the node's until an event with "unlinked"; it stays mapped. Returns 0,
 * -EINVAL, -ENOMEM, -ESHUTDOWN.
 */
int lx_md_bind(struct lx_node *node, const struct lx_md_desc *md, enum lx_unlink unlink,
	       struct lx_handle *ret_md);

/**
 * lx_md_unlink - take an MD out of use
 * An idle one goes at once, with an UNLINK event; a busy one after its last
 * message, whose event then says "unlinked". Returns 0, -ENOENT.
 */
int lx_md_unlink(struct lx_node *node, struct lx_handle md);

/**
 * lx_portal_set_lazy - have messages without a match wait instead of being dropped
 * With @lazy false those that wait are dropped. Returns 0, or -EINVAL portal out of range.
 */
int lx_portal_set_lazy(struct lx_node *node, uint32_t portal, bool lazy);

/**
 * lx_memory_add - tell of memory that MDs will be made of, again and again
 * What a transport has to prepare for memory - RDMA hardware wants it registered - is done
 * once for an MD, and undone with it. For MDs that lie in such memory it is done once for
 * all of them. It must stay mapped, as it is, until lx_memory_del(). A few large stretches
 * serve better than many small ones.
 * Returns 0, -EINVAL, -EEXIST some of it has been told of, -ENOMEM, -ESHUTDOWN.
 */
int lx_memory_add(struct lx_node *node, void *start, size_t length);

/**
 * lx_memory_del - the memory that begins at @start may go away
 * Returns 0, -ENOENT, -EBUSY an MD lies in it, -ESHUTDOWN: it is free already.
 */
int lx_memory_del(struct lx_node *node, void *start);

/* ---- messages ------------------------------------------------------------------ */

/*
 * A request - PUT or GET - takes one of its MD's threshold when it is made, and keeps one
 * more for its response, if there is to be one: an ACK or a REPLY (lnet.md 8). So a GET
 * needs an MD with a threshold of 2, and so does a PUT with an ACK; with 1 the response
 * would find an MD that takes nothing any more. Such a request is refused, instead of
 * telling of a success that is none.
 *
 * Its events:
 *
 *	SEND, status 0        it is out, or copied; a response follows, if one was asked for
 *	SEND, status not 0    it did not go out: no response will come, and what was kept of
 *	                      the threshold for one is taken, as if it had
 *	ACK, REPLY            the response
 *	UNLINK, -ETIMEDOUT    there is no response (lnet_transaction_timeout); the MD is gone
 *
 * SEND and the response may come in either order. What becomes of the MD is told by
 * "unlinked" in each event, and only there: if it is true the MD is gone, this was its last
 * event, and its memory is the caller's again. If it is false the MD is as it was, whatever
 * the status, and can be used for the next request or be unlinked. A request that is
 * refused has no event, and leaves the MD as it was.
 */

/**
 * lx_put - send an MD's memory to a peer
 * @self: the local NID to send from, or NULL: the node chooses
 * @md: bound with lx_md_bind(); threshold 1, with @ack 2, or more
 * @ack: ask for an ACK
 * @target: of any of the peer's NIDs; pid LX_PID_LUSTRE
 * @portal: 1 .. LX_PORTALS - 1
 * @offset: where in the target's MD, if that is managed remotely
 * @hdr_data: 8 bytes for the target's event
 *
 * All of the MD is sent; at most LX_PAYLOAD_MAX. Events: see above.
 * Returns 0; -ENOENT no such MD, or its threshold is 0; -EINVAL too little is left of the
 * threshold, the portal is out of range, the MD is too long or @target is "any";
 * -ESHUTDOWN; -ENOMEM.
 */
int lx_put(struct lx_node *node, const struct lx_nid *self, struct lx_handle md, bool ack,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	   uint64_t hdr_data);

/**
 * lx_get - fetch a peer's memory into an MD
 * @md: bound with lx_md_bind(); threshold 2 or more
 * @offset: where in the target's MD, if that is managed remotely
 *
 * As much as the MD has room for; at most LX_PAYLOAD_MAX. Events: see above.
 * Returns what lx_put() does.
 */
int lx_get(struct lx_node *node, const struct lx_nid *self, struct lx_handle md,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset);

/* ---- finding out ---------------------------------------------------------------- */

/* The outcome of a ping or discovery; @info is NULL on error and else valid only now. */
typedef void (*lx_probe_fn)(int status, const struct lx_peer_info *info, void *arg);

/**
 * lx_ping - ask a node for its NIDs (lnet.md 12); it need not be known
 * @source: local NID to ask from, or NULL
 * @timeout_ms: > 0, for the answer. A request that has not even left by then is given
 *	up to 5 s more, for the reason.
 * @fn: called once if this returns 0. Status: 0, -ETIMEDOUT no answer, -EPROTO the
 *	answer was malformed; else why it could not be sent: -EHOSTUNREACH, ...
 */
int lx_ping(struct lx_node *node, const struct lx_id *target, const struct lx_nid *source,
	    unsigned int timeout_ms, lx_probe_fn fn, void *arg);

/**
 * lx_discover - find out a peer's NIDs, and tell it ours (lnet.md 12)
 * @force: also if it is known already
 * @fn: as for lx_ping(); the node's own timeouts apply
 * Returns 0, -ENOMEM, -ESHUTDOWN.
 */
int lx_discover(struct lx_node *node, const struct lx_nid *nid, bool force, lx_probe_fn fn,
		void *arg);

/* Room for every hop that an explanation names. */
#define LX_REACH_TEXT 320

/**
 * lx_reach_explain - what stands between this node and a NID, as far as it knows
 * @source: local NID to go from, or NULL
 * @buf: gets a sentence for people, without an end: that no route is configured; which
 *	routes are down, and why; that it is a neighbour, and what its last connection ended
 *	with; or by which gateways messages go that are up
 * @size: of @buf; LX_REACH_TEXT is enough for two gateways
 *
 * For a probe or a message that has just failed: -EHOSTUNREACH is all of these.
 */
void lx_reach_explain(struct lx_node *node, const struct lx_nid *nid, const struct lx_nid *source,
		      char *buf, size_t size);

/**
 * lx_dist - how far a NID is (lnet.md 15)
 * Returns 0 own, 1 same net, hops + 1 remote, or -EHOSTUNREACH.
 */
int lx_dist(struct lx_node *node, const struct lx_nid *nid);

/**
 * lx_primary_nid - the name of a peer
 * @ret_primary: as known now; @nid itself if it is unknown
 */
void lx_primary_nid(struct lx_node *node, const struct lx_nid *nid, struct lx_nid *ret_primary);

/* ---- log -------------------------------------------------------------------------- */

/**
 * lx_set_log - hear of failures that no call of yours can return
 * @fn: called with one line, no newline, key=value, on any thread; @level: 3 error, 4 warning,
 *	6 information, 7 for debugging (those of syslog(3)). NULL: nowhere, which is the
 *	default. It may be called with the node locked: it must not wait, and must not call
 *	the library
 * A malformed HELLO, a lost peer. One sink for the process.
 */
void lx_set_log(void (*fn)(int level, const char *line, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
