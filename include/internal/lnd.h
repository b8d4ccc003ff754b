/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface between the LNet core and its transports (LNDs).
 *
 * A transport is a table of functions (struct lx_lnd) that the core calls, and
 * calls back through the lx_lnd_*() functions below. Neither side knows anything
 * else about the other. Rules for every call in either direction:
 *
 * - The node lock is held. A transport drops it only around system calls and long
 *   copies, from its own event loops, and then revalidates what it relied on.
 *   (In virtual time there is one thread and no lock.)
 * - A message that the core hands over, to be sent or received, belongs to the
 *   transport until it calls lx_lnd_finalize() for it, exactly once. send() and
 *   recv() may do that before they return.
 * - Nothing here blocks.
 *
 * Life of a received message:
 *
 *	transport reads a header ── lx_lnd_parse() ──▶ core decides
 *	        < 0 ◀───────────┤ refused: close the connection
 *	        NOW ◀───────────┤ read the payload into the message, or discard it
 *	      LATER ◀───────────┘ no router credit, no buffer, or no match on a lazy portal:
 *	                          stop reading; flow control holds the sender back
 *	     recv() ◀──────────── after LATER: the same answer as NOW
 *	 payload read
 *	   lx_lnd_finalize() ───▶ event, ACK, REPLY, or forwarding
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

/* Memory, or a router buffer: then rbuf is set and iov is not. */
struct lx_payload {
	const struct iovec *iov;
	unsigned int n_iov;
	size_t offset; /* from the start of iov or rbuf */
	size_t length;
	struct lx_rbuf *rbuf;
	struct lx_region *region; /* contains iov; may be NULL */
};

/* The part of a message that a transport sees. Owner: the core. */
struct lx_msg {
	struct lx_hdr hdr;    /* send: as it must go out */
	struct lx_id target;  /* send: next hop, a peer of this transport */
	struct lx_payload payload;
	uint64_t deadline_ns; /* send: give up after this (lnet.md 13.4); 0 none */
	bool routing;         /* forwarded for another node */
	bool target_is_router;
	bool slow;            /* the fast path must not learn to carry messages to hdr.dst_nid */
	/*
	 * GET only: where a capable transport may write the REPLY directly
	 * (length 0: nowhere). Only for neighbours that are not routers.
	 */
	struct lx_payload sink;
	/* Set by the transport before lx_lnd_finalize() with an error. */
	enum lx_hstatus hstatus;
	void *lnd_priv; /* for the transport, while it owns the message */
};

/* ---- a local NI as a transport sees it ---------------------------------- */

struct lx_ni {
	const struct lx_lnd *lnd;
	struct lx_core *core;
	struct lx_env *env;        /* NULL in virtual time */
	uint32_t net;
	struct lx_nid nid;         /* startup() sets it if only ifname was given */
	char ifname[IFNAMSIZ];     /* startup() sets it if only the NID was given */
	struct lx_ni_tunables tun; /* startup() replaces LX_UNSET by the defaults */
	struct lx_lnd_tunables lnd_tun;
	int32_t dev_cpt;
	uint64_t incarnation_ns;   /* wall clock at startup (socklnd.md 3.5) */
	void *lnd_data;            /* for the transport */
};

/*
 * The core's shortcut to a peer NI, so that it need not look it up for each message. The
 * transport embeds one, zeroed, in what it keeps of a peer, and passes it to lx_lnd_parse().
 * The core clears it when the peer NI is deleted; lx_lnd_peer_forget() before it is freed.
 */
struct lx_peer_ni;
struct lx_lnd_peer {
	struct lx_peer_ni *pni;   /* NULL: not known yet, or deleted */
	struct lx_lnd_peer *next; /* another shortcut to the same peer NI */
};

/* Where a received message comes from. */
struct lx_rx_from {
	struct lx_nid nid; /* the previous hop, as the transport knows it */
	struct lx_lnd_peer *peer; /* the shortcut for nid; NULL: none */
	/*
	 * The machine, as a NID: whose share of a router's buffers the message takes. One for all
	 * nets, and for all that a machine can choose. Zero: as nid.
	 */
	struct lx_nid address;
	bool stranger;     /* maybe not the peer: no sign that it lives */
	bool rdma_get;     /* a GET that carries a sink: the transport writes the answer to it */
};

/* ---- the transport's table ---------------------------------------------- */

struct lx_lnd {
	const char *name;       /* "tcp"; also the name of its tunables in a config */
	uint8_t net_type;       /* enum lx_net_type */
	bool no_credits;        /* lo: messages take no credits */
	bool connects_to_self;  /* an NI's own NID is a peer of it like any other */
	bool can_rdma_get;      /* lets the core offer lx_msg.sink */
	const struct lx_tunable *tunables; /* module tunables, or NULL */
	void *tunable_values;              /* the struct they describe */
	/* The first conflict among the tunables' @values; NULL: none. May be NULL. */
	const struct lx_tunable_conflict *(*conflict)(const void *values);
	const char *const *ni_tunables;    /* names of lx_lnd_tunables, NULL-terminated */

	/**
	 * startup - bring an NI up
	 * Resolves interface or NID, fills in defaults, starts accepting.
	 * Returns 0, -ENODEV no such interface, -EADDRNOTAVAIL no usable address,
	 * -EADDRINUSE the port is in use, -EINVAL bad setting, or another errno;
	 * an error leaves nothing behind.
	 */
	int (*startup)(struct lx_ni *ni);

	/**
	 * shutdown - take an NI down
	 * Finalizes every message it has (-ESHUTDOWN), closes connections and then, from
	 * a loop or before it returns, calls lx_lnd_stopped() as its last act.
	 */
	void (*shutdown)(struct lx_ni *ni);

	/**
	 * send - transmit a message to msg->target
	 * Returns 0: the transport owns the message now. <0: not taken; the
	 * core finalizes it with this error.
	 */
	int (*send)(struct lx_ni *ni, struct lx_msg *msg);

	/**
	 * recv - a message that had to wait can be received now
	 * @rx: what the transport passed to lx_lnd_parse()
	 * @msg: as *ret_msg of lx_lnd_parse() that returned LX_RX_NOW
	 * Called once for every lx_lnd_parse() that returned LX_RX_LATER, also after the
	 * connection has closed, but never from within that lx_lnd_parse().
	 */
	void (*recv)(struct lx_ni *ni, void *rx, struct lx_msg *msg);

	/* Discovery or routing found a peer dead, or alive again. May be NULL. */
	void (*notify)(struct lx_ni *ni, const struct lx_nid *nid, bool alive);

	/**
	 * policy_changed - routes, peers or NIs have changed: forget next hops
	 * @nid: of a peer NI: only for messages to it or through it; NULL: for all
	 * @net: only for messages to this net; LX_NET_U32_ANY: to any
	 * May be NULL.
	 */
	void (*policy_changed)(struct lx_ni *ni, const struct lx_nid *nid, uint32_t net);

	/* Calls lx_lnd_offloaded(), lx_lnd_tcp_sent() with what is not counted yet. May be NULL. */
	void (*count)(struct lx_ni *ni);

	/**
	 * retune - one of @tunables has changed while NIs are up
	 * Called once, with any NI of the node. <0: refused; the caller restores
	 * the old value. May be NULL.
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

	/* Number of peers. May be NULL: none. */
	unsigned int (*peers)(struct lx_ni *ni);

	/* Close the connections to a peer (NULL: to all); returns their number. May be NULL. */
	int (*disconnect)(struct lx_ni *ni, const struct lx_nid *nid);
};

/* ---- what a transport calls --------------------------------------------- */

enum lx_rx_when {
	LX_RX_NOW,
	LX_RX_LATER,
};

/**
 * lx_lnd_parse - a message header has arrived
 * @hdr: header; copied if needed
 * @rx: identifies the message to the transport; passed to recv()
 * @ret_msg: with LX_RX_NOW, the message to receive. Read the payload into (*ret_msg)->payload,
 *	discard the bytes that it has no room for, and end it with lx_lnd_finalize(). NULL: the
 *	message was dropped; discard the whole payload. After an rdma_get, the REPLY whose
 *	payload the transport writes into the sink; NULL: tell the peer that there is nothing
 *
 * Returns LX_RX_NOW; LX_RX_LATER: recv() will be called; -EPROTO: the message is illegal,
 * -ESHUTDOWN: the NI is going down: close the connection that it came from (lnet.md 7.1).
 */
int lx_lnd_parse(struct lx_ni *ni, const struct lx_hdr *hdr, const struct lx_rx_from *from,
		 void *rx, struct lx_msg **ret_msg);

/* The transport is about to free what @peer is embedded in. */
void lx_lnd_peer_forget(struct lx_lnd_peer *peer);

/**
 * lx_lnd_finalize - a message handed to the transport is done
 * @status: 0, or a negative errno; msg->hstatus then says whose fault it was
 * Frees @msg.
 */
void lx_lnd_finalize(struct lx_msg *msg, int status);

/**
 * lx_lnd_reply_msg - create the REPLY of an optimised GET (initiator's side)
 * @get: the GET being sent with a sink
 * Returns a message for the transport to finalize with the outcome, after @get
 * itself was sent; NULL: out of memory, or the GET's MD is gone.
 */
struct lx_msg *lx_lnd_reply_msg(struct lx_ni *ni, struct lx_msg *get);

/* Sets the length of an optimised GET's answer; call it before finalizing. */
void lx_lnd_reply_length(struct lx_msg *reply, size_t length);

/*
 * The transport lost a peer: no connection, and it is not connecting. @why: LX_DOWN_LOST, or what
 * the transport knows better.
 */
void lx_lnd_peer_lost(struct lx_ni *ni, const struct lx_nid *nid, enum lx_down_why why,
		      int error);

/**
 * lx_lnd_refused - the transport refused a connection of a node that may mean well
 * @ni: that it was for; if that is not known, another one of the same address
 * @address: that it came from, without the port
 */
void lx_lnd_refused(struct lx_ni *ni, enum lx_refused_kind kind, const char *address,
		    const char *reason);

/* Last act of shutdown(): nothing of the transport touches the NI any more. */
void lx_lnd_stopped(struct lx_ni *ni);

/* ---- what a transport with a fast path calls --------------------------------- */

/**
 * lx_lnd_share_credits - move a neighbour's credits to memory shared with the fast path
 * @tx, @rtr: memory for its transmit and router credits, valid until they are moved again;
 *	credits that the fast path has taken stay taken. NULL: back to the core's own memory
 * Idempotent. Returns 0 or -ENOENT no such peer.
 */
int lx_lnd_share_credits(struct lx_ni *ni, const struct lx_nid *nid, struct lx_credit *tx,
			 struct lx_credit *rtr);

/* A number that all NIDs of one peer share, until peers change; 0: no such peer. */
uint32_t lx_lnd_peer_number(struct lx_ni *ni, const struct lx_nid *nid);

/* Messages from and to a neighbour that were forwarded without the core. */
struct lx_offloaded {
	struct lx_type_counts received, sent; /* from it, to it */
	uint64_t payload; /* bytes of those received */
	uint32_t src_net; /* source net of the last one received, if any */
	bool stranger;    /* maybe not the neighbour: no sign that it lives */
};

/*
 * Counts them. Received messages are a sign of life of the NI, the neighbour and, if
 * it is a gateway, its routes. Call it every second while there are some.
 */
void lx_lnd_offloaded(struct lx_ni *ni, const struct lx_nid *nid,
		      const struct lx_offloaded *offloaded);

/**
 * lx_lnd_lost - messages forwarded to a next hop were lost
 * @n: by type; @payload: total bytes
 * @hstatus: whose fault; costs health as if the core had sent them
 */
void lx_lnd_lost(struct lx_ni *ni, const struct lx_nid *next_hop, const struct lx_type_counts *n,
		 uint64_t payload, enum lx_hstatus hstatus);

/*
 * The NI's link or address went away, with the reason, or came back (LX_DOWN_NO). Also from
 * startup(), if it is down already.
 */
void lx_lnd_link(struct lx_ni *ni, enum lx_down_why why);

/* The NIDs of the node that @ni belongs to, by number; NULL: no more. */
const struct lx_nid *lx_lnd_own_nid(struct lx_ni *ni, unsigned int i);

/* Reports a change to "lnetx monitor". */
void lx_lnd_change(struct lx_ni *ni, const struct lx_change *change);

/* Monotonic time, ns; virtual in tests. */
uint64_t lx_lnd_now(struct lx_ni *ni);

/* TCP has sent these bytes to a peer since the last call; counted for it, if known, and the NI. */
void lx_lnd_tcp_sent(struct lx_ni *ni, const struct lx_nid *nid, const struct lx_tcp_bytes *more);

/* The LND timeout: seconds for one attempt (lnet.md 13.4). */
unsigned int lx_lnd_timeout(struct lx_ni *ni);

#endif
