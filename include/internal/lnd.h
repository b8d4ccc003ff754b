/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The border between the LNet core and its transports (LNDs).
 *
 * A transport is a table of functions (struct lx_lnd) that the core calls, and
 * calls back through the lx_lnd_*() functions below. Neither side knows more of
 * the other than this header. Rules that hold for every call in both directions:
 *
 * - The node lock is held. A transport drops it only around system calls and long
 *   copies, from its own event loops, and then looks again at what it relied on.
 *   (In virtual time there is one thread and no lock.)
 * - A message that the core hands over (send, or recv with a message) belongs to
 *   the transport until it calls lx_lnd_finalize() for it, exactly once. That may
 *   happen before the call returns.
 * - Nothing here blocks.
 *
 * Life of a received message:
 *
 *	transport reads a header ── lx_lnd_parse() ──▶ core finds what to do
 *	        <0 ◀───────────────┤ illegal: close the connection, no recv follows
 *	   recv() ◀────────────────┤ at once, or later (no buffer, no credit, lazy
 *	                           │ portal); until then the transport reads no
 *	                           │ payload: its flow control holds the sender back
 *	 payload into dst, rest thrown away
 *	   lx_lnd_finalize() ──────▶ event, ACK, or forwarding
 */
#ifndef LNETX_LND_H
#define LNETX_LND_H

#include <sys/uio.h>

#include <lnetx/info.h>
#include <lnetx/nid.h>
#include <lnetx/tunable.h>

struct lx_env;    /* event loops and the node lock: user/io/env.h */
struct lx_rbuf;   /* storage of a router buffer: user/io/rbuf.h */
struct lx_region; /* memory that outlives a message: user/base/region.h */
struct lx_core;

/* ---- health status of a message (lnet.md 13.2) -------------------------- */

enum lx_hstatus {
	LX_HSTATUS_OK,
	LX_HSTATUS_LOCAL_INTERRUPT,
	LX_HSTATUS_LOCAL_DROPPED,
	LX_HSTATUS_LOCAL_ABORTED,
	LX_HSTATUS_LOCAL_NO_ROUTE,
	LX_HSTATUS_LOCAL_ERROR,
	LX_HSTATUS_LOCAL_TIMEOUT,
	LX_HSTATUS_REMOTE_ERROR,
	LX_HSTATUS_REMOTE_DROPPED,
	LX_HSTATUS_REMOTE_TIMEOUT,
	LX_HSTATUS_NETWORK_TIMEOUT,
	LX_HSTATUSES
};

/* ---- what is sent and where it is received ------------------------------ */

/* A stretch of memory, or a router buffer: then rbuf is set and iov is not. */
struct lx_payload {
	const struct iovec *iov;
	unsigned int n_iov;
	size_t offset; /* from the start of iov or rbuf */
	size_t length;
	struct lx_rbuf *rbuf;
	struct lx_region *region; /* that iov lies in, or NULL */
};

/* The part of a message that a transport sees. Owner: the core. */
struct lx_msg {
	struct lx_hdr hdr;    /* send: as it must go out */
	struct lx_id target;  /* send: next hop, a peer of this transport */
	struct lx_payload payload;
	uint64_t deadline_ns; /* send: give up after this (lnet.md 13.4); 0 none */
	bool routing;         /* forwarded for someone else */
	bool target_is_router;
	/*
	 * GET only: where the REPLY may be put directly by a transport that can
	 * (length 0: it may not). Only for direct, non-router neighbours.
	 */
	struct lx_payload sink;
	/* Set by the transport before lx_lnd_finalize() with an error. */
	enum lx_hstatus hstatus;
	void *lnd_priv; /* the transport's, while it has the message */
};

/* ---- a local NI as a transport sees it ---------------------------------- */

struct lx_ni {
	const struct lx_lnd *lnd;
	struct lx_core *core;
	struct lx_env *env;        /* NULL in virtual time */
	uint32_t net;
	struct lx_nid nid;         /* startup() completes it if only ifname was given */
	char ifname[IFNAMSIZ];     /* likewise if only the NID was given */
	struct lx_ni_tunables tun; /* startup() replaces LX_UNSET by the defaults */
	struct lx_lnd_tunables lnd_tun;
	int32_t dev_cpt;
	uint64_t incarnation_ns;   /* wall clock at startup (socklnd.md 3.5) */
	void *lnd_data;            /* the transport's */
};

/* Who gave a message to a transport's reader. */
struct lx_rx_from {
	struct lx_nid nid; /* the previous hop, as the transport knows it */
	bool rdma_get;     /* a GET that carries a sink: recv() is asked to fill it */
	/*
	 * Counts the messages that came by this way and are being forwarded, to their last
	 * byte; NULL: nobody asks. Valid until lx_lnd_forwarding_end().
	 */
	unsigned int *forwarding;
};

/* ---- the transport's table ---------------------------------------------- */

struct lx_lnd {
	const char *name;       /* "tcp"; also the name of its tunables in a config */
	uint8_t net_type;       /* enum lx_net_type */
	bool no_credits;        /* lo: messages take no credits */
	bool can_rdma_get;      /* lets the core offer lx_msg.sink */
	const struct lx_tunable *tunables; /* module tunables, or NULL */
	void *tunable_values;              /* the struct they describe */
	/* The first conflict among @values, of tunables; NULL: none. May be NULL. */
	const struct lx_tunable_conflict *(*conflict)(const void *values);
	const char *const *ni_tunables;    /* names of lx_lnd_tunables, NULL-terminated */

	/**
	 * startup - bring an NI up
	 * Resolves interface or NID, fills in defaults, starts to accept.
	 * Returns 0, -ENODEV no such interface, -EADDRNOTAVAIL no usable address,
	 * -EADDRINUSE the port is taken, -EINVAL bad setting, or another errno;
	 * after an error nothing is left behind.
	 */
	int (*startup)(struct lx_ni *ni);

	/**
	 * shutdown - take an NI down
	 * Ends every message it has (-ESHUTDOWN), closes connections and then, from
	 * a loop or before it returns, calls lx_lnd_stopped() as its last act.
	 */
	void (*shutdown)(struct lx_ni *ni);

	/**
	 * send - transmit a message to msg->target
	 * Returns 0: the message is the transport's now. <0: it was not taken, the
	 * core ends it with this error.
	 */
	int (*send)(struct lx_ni *ni, struct lx_msg *msg);

	/**
	 * recv - receive the payload of a parsed message
	 * @rx: what the transport gave to lx_lnd_parse()
	 * @msg: ended with lx_lnd_finalize() once @dst is filled; NULL: nobody
	 *	waits for it (the message was dropped)
	 * @dst: where to; NULL or length 0: nowhere
	 * @rlen: payload bytes on the wire; what @dst does not take is thrown away
	 *
	 * After an rdma_get parse, @msg is the REPLY to be written into the sink
	 * (payload msg->payload), or NULL: tell the peer that there is nothing.
	 * Called once for every lx_lnd_parse() that returned 0.
	 */
	void (*recv)(struct lx_ni *ni, void *rx, struct lx_msg *msg,
		     const struct lx_payload *dst, size_t rlen);

	/**
	 * eager_recv - the message will have to wait before recv() is called
	 * A transport whose receive buffers are shared by other messages copies
	 * this one away now. NULL if waiting costs it nothing but back-pressure.
	 * Returns 0, or <0: drop the message (the core then calls recv() with NULL).
	 */
	int (*eager_recv)(struct lx_ni *ni, void *rx);

	/* A peer that discovery or routing found dead or alive again. May be NULL. */
	void (*notify)(struct lx_ni *ni, const struct lx_nid *nid, bool alive);

	/**
	 * policy_changed - next hops seen so far may not hold
	 * @nid: of a peer NI: only for what is sent to it or by way of it; NULL: for all
	 * @net: only for what is sent to this net; LX_NET_U32_ANY: to any
	 * Routes, peers or NIs have changed. May be NULL.
	 */
	void (*policy_changed)(struct lx_ni *ni, const struct lx_nid *nid, uint32_t net);

	/* Calls lx_lnd_offloaded() with what has not been counted yet. May be NULL. */
	void (*count)(struct lx_ni *ni);

	/**
	 * retune - one of @tunables has another value, while NIs are up
	 * Called once, with any NI of the node's. <0: it cannot be; nothing has
	 * changed then, and the old value is put back. May be NULL.
	 */
	int (*retune)(struct lx_ni *ni);

	/* A new value of one of lnd_tun while the NI is up; -EOPNOTSUPP if fixed. */
	int (*set_tunable)(struct lx_ni *ni, unsigned int index, int32_t value);

	/**
	 * conns - describe connections, in no particular order
	 * @nid: only those to this peer; NULL: all. Calls @fn for each; stops when
	 * @fn returns non-zero. May be NULL: the transport has none.
	 */
	void (*conns)(struct lx_ni *ni, const struct lx_nid *nid,
		      int (*fn)(const struct lx_conn_info *info, void *arg), void *arg);

	/* How many peers it knows. May be NULL: none. */
	unsigned int (*peers)(struct lx_ni *ni);

	/* Close the connections to a peer (NULL: to all); returns how many. May be NULL. */
	int (*disconnect)(struct lx_ni *ni, const struct lx_nid *nid);
};

/* ---- what a transport calls --------------------------------------------- */

/**
 * lx_lnd_parse - a message header has arrived
 * @hdr: header; copied if needed
 * @rx: the transport's name for the message, given back in recv()
 *
 * Returns 0: recv() has been or will be called. -EPROTO: the message is illegal,
 * -ESHUTDOWN: the NI is going down; close the connection that it came from
 * (lnet.md 7.1).
 */
int lx_lnd_parse(struct lx_ni *ni, const struct lx_hdr *hdr, const struct lx_rx_from *from,
		 void *rx);

/**
 * lx_lnd_finalize - a message handed to the transport is done
 * @status: 0, or a negative errno with msg->hstatus saying whose fault
 * @msg is gone after this.
 */
void lx_lnd_finalize(struct lx_msg *msg, int status);

/**
 * lx_lnd_reply_msg - the REPLY that an optimised GET stands for (initiator's side)
 * @get: the GET being sent with a sink
 * Returns a message that the transport finalizes with the outcome, after @get
 * itself is sent; NULL: out of memory, or the GET's MD is gone.
 */
struct lx_msg *lx_lnd_reply_msg(struct lx_ni *ni, struct lx_msg *get);

/* Sets how many bytes an optimised GET's answer brought, before finalizing it. */
void lx_lnd_reply_length(struct lx_msg *reply, size_t length);

/* The transport lost a peer for good: no connection, none in the making. */
void lx_lnd_peer_lost(struct lx_ni *ni, const struct lx_nid *nid, int error);

/* Last act of shutdown(): nothing of the transport touches the NI any more. */
void lx_lnd_stopped(struct lx_ni *ni);

/* ---- what a transport with a fast path calls --------------------------------- */

/* A counter that lx_lnd_parse() was given goes away: nobody counts in it any more. */
void lx_lnd_forwarding_end(struct lx_ni *ni, const unsigned int *forwarding);

/**
 * lx_lnd_share_credits - keep a neighbour's credits where the fast path counts its own
 * @tx, @rtr: memory for its transmit and router credits, valid until they are moved again;
 *	what the fast path has taken of them stays taken. NULL: back to the core's own
 * Idempotent. Returns 0 or -ENOENT no such peer.
 */
int lx_lnd_share_credits(struct lx_ni *ni, const struct lx_nid *nid, struct lx_credit *tx,
			 struct lx_credit *rtr);

/* A number that all NIDs of one peer share, until peers change; 0: no such peer. */
uint32_t lx_lnd_peer_number(struct lx_ni *ni, const struct lx_nid *nid);

/* Messages of a neighbour that were forwarded without the core having seen them. */
struct lx_offloaded {
	struct lx_type_counts received, sent; /* from it, to it */
	uint64_t payload; /* bytes of those received */
	uint32_t src_net; /* where the last of those received was sent; if there are any */
};

/*
 * Counts them, and takes those received as a sign of life of the NI, the neighbour and, if
 * it is a gateway, its routes. To be called every second while there are some.
 */
void lx_lnd_offloaded(struct lx_ni *ni, const struct lx_nid *nid,
		      const struct lx_offloaded *offloaded);

/**
 * lx_lnd_lost - messages that were carried to a next hop have not arrived, and will not
 * @n: by type; @payload: bytes of all of them
 */
void lx_lnd_lost(struct lx_ni *ni, const struct lx_nid *next_hop, const struct lx_type_counts *n,
		 uint64_t payload);

/* The NI's link or address went away, and why, or came back (LX_DOWN_NO). */
void lx_lnd_link(struct lx_ni *ni, enum lx_down_why why);

/* Something worth a line in "lnetx monitor". */
void lx_lnd_change(struct lx_ni *ni, const struct lx_change *change);

/* Monotonic time, ns; virtual where time is. */
uint64_t lx_lnd_now(struct lx_ni *ni);

/* Seconds a transport may take for one attempt (lnet.md 13.4). */
unsigned int lx_lnd_timeout(struct lx_ni *ni);

#endif
