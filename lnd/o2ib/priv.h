/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of o2iblnd, and who owns whom.
 *
 *	net ────────── per NI
 *	 ├─ peer ───── per NID, while there is a connection, an attempt, or a waiting tx; an hour
 *	 │             longer after a failed attempt
 *	 │   └─ tx waiting for a connection
 *	 └─ conn ───── per queue pair, from the attempt to the last reference
 *	     ├─ slab: receive buffers and send slots, one registration
 *	     └─ tx ─── queued, posted, or waiting for the peer's answer
 *
 * The node lock guards all of it, and is never dropped here.
 */
#ifndef LX_O2IB_PRIV_H
#define LX_O2IB_PRIV_H

#include <internal/lnd.h>
#include <internal/units.h>

#include "../../user/base/hash.h"
#include "../../user/base/iov.h"
#include "../../user/base/list.h"
#include "../../user/base/log.h"
#include "../../user/base/region.h"
#include "../../user/io/rbuf.h"
#include "hw.h"
#include "proto.h"
#include "tunables.h"

/* The most NOOPs without a credit in flight. */
#define LX_O2IB_OOB_NOOPS 2
/* A payload in more pieces of memory than this is copied. */
#define LX_O2IB_PIECES 4

/* ---- registered memory (mem.c) -------------------------------------------------- */

#define LX_O2IB_BOUNCES 8 /* kept */

struct lx_o2ib_reg;

struct lx_o2ib_mem {
	struct lx_hash kept; /* of lx_o2ib_reg that are kept */
	struct lx_list idle; /* of kept, those that no message uses, oldest first */
	size_t bytes;        /* of kept */
	struct lx_rbuf *bounce[LX_O2IB_BOUNCES];
	unsigned int n_bounces;
};

int lx_o2ib_mem_init(struct lx_o2ib_mem *mem); /* -ENOMEM */
void lx_o2ib_mem_fini(struct lx_o2ib_mem *mem);
/* Frees everything that is kept and not in use. */
void lx_o2ib_mem_drop(struct lx_o2ib_mem *mem);
/*
 * Registers @bytes until lx_o2ib_mem_reg_put(), or finds a registration of them. @region: that
 * contains them, or NULL; @remote: the peer writes to it. 0 or an errno.
 */
int lx_o2ib_mem_reg_get(struct lx_o2ib_net *net, struct lx_region *region,
			const struct iovec *bytes, bool remote, struct lx_o2ib_reg **ret_reg);
void lx_o2ib_mem_reg_put(struct lx_o2ib_reg *reg);
const struct lx_o2ib_mr *lx_o2ib_mem_reg_mr(const struct lx_o2ib_reg *reg);
/* A bounce buffer for a payload. -ENOMEM. */
int lx_o2ib_mem_bounce_get(struct lx_o2ib_net *net, struct lx_rbuf **ret_rbuf);
void lx_o2ib_mem_bounce_put(struct lx_o2ib_net *net, struct lx_rbuf *rbuf);

/* ---- net (o2ib.c) ------------------------------------------------------------- */

struct lx_o2ib_net {
	struct lx_list port_link; /* for the hardware */
	void *port;               /* for the hardware */
	struct lx_ni *ni;
	struct in_addr addr;
	uint16_t service; /* that it listens on */
	uint64_t incarnation; /* ours: us of wall clock */
	uint64_t next_cookie;
	struct lx_hash peer_hash;
	struct lx_list peers;
	struct lx_list conns;
	struct lx_o2ib_mem mem;
	unsigned int n_accepting;
	unsigned int pending; /* conns, and the port */
	void (*released)(struct lx_o2ib_net *net); /* nothing is pending any more; frees it */
	bool closing;
};

static inline void lx_o2ib_net_put(struct lx_o2ib_net *net)
{
	if (!--net->pending)
		net->released(net);
}

static inline uint64_t lx_o2ib_net_timeout_ns(const struct lx_o2ib_net *net)
{
	return net->ni->lnd_tun.value[LX_O2IB_NI_TIMEOUT] * LX_S_NS;
}

static inline uint64_t lx_o2ib_now(const struct lx_o2ib_net *net)
{
	return lx_lnd_now(net->ni);
}

/* ---- transmission (tx.c) -------------------------------------------------------- */

struct lx_o2ib_tx {
	struct lx_list link; /* peer->waiting, a queue of the conn, or conn->active */
	struct lx_o2ib_net *net;
	struct lx_o2ib_conn *conn; /* NULL while it waits for a connection */
	struct lx_msg *msg;        /* finalized with the tx; NULL: a NOOP, or a bare answer */
	struct lx_msg *reply;      /* of an optimised GET */
	uint8_t type;              /* enum lx_o2ib_type: to be sent next */
	bool queued, waiting;
	unsigned int sending;
	int status;
	enum lx_hstatus hstatus;
	uint64_t deadline_ns;
	uint64_t cookie;      /* ours */
	uint64_t peer_cookie; /* in answers */
	int32_t answer;       /* status in PUT_NAK, PUT_DONE, GET_DONE */

	/* memory that we send from, or that the peer writes to */
	struct lx_o2ib_reg *reg[LX_O2IB_PIECES];
	unsigned int n_regs;
	struct lx_rbuf *bounce;  /* instead, if the payload is in too many pieces */
	struct lx_payload sink;  /* destination of the bytes; length 0: none */
	void *sink_addr;         /* where the peer writes */
	size_t length;           /* bytes offered to the peer, or to be written */

	/* writes into the peer's memory */
	struct lx_o2ib_write *writes;
	unsigned int n_writes;
};

struct lx_o2ib_tx *lx_o2ib_tx_new(struct lx_o2ib_net *net, uint8_t type);
/*
 * A tx for a message of the core, in the form that fits it (o2iblnd.md 10). -ENOMEM;
 * -EINVAL: a NID that this transport cannot encode.
 */
int lx_o2ib_tx_for(struct lx_o2ib_net *net, struct lx_msg *msg, struct lx_o2ib_tx **ret_tx);
/* Frees it, but not its message. */
void lx_o2ib_tx_free(struct lx_o2ib_tx *tx);
/* Ends it if it waits for nothing any more. */
void lx_o2ib_tx_check_done(struct lx_o2ib_tx *tx);
/* Ends it with an error. It is on no list, and the hardware does not use it. */
void lx_o2ib_tx_fail(struct lx_o2ib_tx *tx, int status, enum lx_hstatus hstatus);
/* Offers memory to the peer. 0 or an errno. */
int lx_o2ib_tx_map_sink(struct lx_o2ib_tx *tx, const struct lx_payload *sink);
/*
 * Plans the writes of a payload into the peer's memory, as much as goes in; sets
 * tx->length. 0 or an errno.
 */
int lx_o2ib_tx_plan(struct lx_o2ib_tx *tx, const struct lx_payload *payload,
		    const struct lx_o2ib_desc *desc, bool flip);
/* Encodes its next message into @buf of LX_O2IB_MSG_MAX bytes. Returns the length. */
size_t lx_o2ib_tx_encode(struct lx_o2ib_tx *tx, void *buf, uint8_t credits);

struct lx_o2ib_peer;

/* ---- connection (conn.c) ---------------------------------------------------------- */

enum lx_o2ib_state {
	LX_O2IB_DIALLING,
	LX_O2IB_ACCEPTING, /* accepted; not established yet */
	LX_O2IB_UP,
};

struct lx_o2ib_rx {
	struct lx_o2ib_conn *conn;
	struct lx_o2ib_msg msg; /* refers to the buffer */
};

struct lx_o2ib_slot {
	struct lx_o2ib_tx *tx;
	unsigned int n_wrs;
	bool noop;
};

/*
 * Called when a connection of a peer is closed, or an attempt has failed. It is on no list any
 * more. @error: why; 0: it was closed in order.
 */
typedef void lx_o2ib_conn_closed_fn(struct lx_o2ib_peer *peer, int error,
				    enum lx_hstatus hstatus);

struct lx_o2ib_conn {
	struct lx_list link;     /* peer->conns when UP */
	struct lx_list net_link; /* net->conns */
	struct lx_o2ib_net *net;
	struct lx_o2ib_peer *peer; /* NULL when closed */
	lx_o2ib_conn_closed_fn *closed;
	void *hw;
	enum lx_o2ib_state state;
	bool active;
	bool closing;
	unsigned int refs; /* 1 until closed, 1 per rx that awaits recv(), 1 per caller */
	struct lx_nid nid; /* the peer's */
	uint64_t peer_incarnation;
	uint16_t version;
	uint16_t depth, max_frags;
	uint64_t deadline_ns; /* until UP */

	char *slab; /* n_rxs receive buffers, n_slots send slots of LX_O2IB_MSG_MAX */
	unsigned int n_rxs, n_slots, n_wrs;
	struct lx_o2ib_rx *rx;
	struct lx_o2ib_slot *slot;
	unsigned int *free_slot, n_free_slots;
	unsigned int wrs_free;

	unsigned int credits, outstanding, reserved, noops_posted;
	struct lx_list q_reserved; /* requests without a buffer for the answer */
	struct lx_list q_nocred;   /* answers */
	struct lx_list q_normal;   /* messages that need a credit */
	struct lx_list active_txs; /* posted, or waiting for an answer */
	bool pushing;

	uint64_t last_tx_ns, last_rx_ns;
	uint64_t tx_bytes, rx_bytes;
};

/* A connection to dial, or that was accepted. -ENOMEM. */
int lx_o2ib_conn_new(struct lx_o2ib_peer *peer, bool active, uint16_t version, uint16_t depth,
		     uint16_t max_frags, lx_o2ib_conn_closed_fn *closed,
		     struct lx_o2ib_conn **ret_conn);
static inline void *lx_o2ib_conn_rx_buf(const struct lx_o2ib_conn *conn, unsigned int i)
{
	return conn->slab + (size_t)i * LX_O2IB_MSG_MAX;
}
static inline void *lx_o2ib_conn_slot_buf(const struct lx_o2ib_conn *conn, unsigned int i)
{
	return conn->slab + (size_t)(conn->n_rxs + i) * LX_O2IB_MSG_MAX;
}
static inline size_t lx_o2ib_conn_slab_bytes(const struct lx_o2ib_conn *conn)
{
	return (size_t)(conn->n_rxs + conn->n_slots) * LX_O2IB_MSG_MAX;
}
void lx_o2ib_conn_get(struct lx_o2ib_conn *conn);
void lx_o2ib_conn_put(struct lx_o2ib_conn *conn);
/*
 * Iterates over net->conns, any of which may be closed meanwhile: drops the reference to @conn
 * and takes one to the next (@conn NULL: the first). NULL at the end.
 */
struct lx_o2ib_conn *lx_o2ib_conn_next(struct lx_o2ib_net *net, struct lx_o2ib_conn *conn);
/* Sends what the credits allow. */
void lx_o2ib_conn_push(struct lx_o2ib_conn *conn);
/* Queues a tx in its queue, and pushes. */
void lx_o2ib_conn_queue(struct lx_o2ib_conn *conn, struct lx_o2ib_tx *tx);
/* @error: why; 0: in order, by the peer or by us. Does nothing if it is closing. */
void lx_o2ib_conn_close(struct lx_o2ib_conn *conn, int error, enum lx_hstatus hstatus);
/* The same for an error of the peer, with a line in the log. */
void lx_o2ib_conn_fault(struct lx_o2ib_conn *conn, int error, const char *reason);
void lx_o2ib_conn_tick(struct lx_o2ib_conn *conn, uint64_t now);
unsigned int lx_o2ib_conn_load(const struct lx_o2ib_conn *conn);

/* ---- receiving (rx.c) ---------------------------------------------------------------- */

void lx_o2ib_rx_recv(struct lx_ni *ni, void *rx, struct lx_msg *msg);

/* ---- peer (peer.c) ------------------------------------------------------------------- */

struct lx_o2ib_peer {
	struct lx_hash_node node;
	struct lx_list link; /* net->peers */
	struct lx_o2ib_net *net;
	struct lx_nid nid;
	struct lx_lnd_peer shortcut;
	struct lx_list conns;   /* UP */
	struct lx_list waiting; /* txs without a connection */
	struct lx_o2ib_conn *dialling;
	unsigned int n_accepting;
	uint64_t incarnation; /* 0: not known */
	uint16_t version;     /* of the next attempt, and of its connections */
	uint16_t depth, max_frags; /* of the next attempt; lowered by rejects */
	unsigned int tries, races;
	uint64_t retry_at_ns; /* 0: no attempt is scheduled */
	/* since the last connection */
	unsigned int failures;
	unsigned int warn_pause_s;
	uint64_t warn_at_ns;   /* not before this is a failure logged */
	uint64_t forget_at_ns; /* with failures: the peer is kept until then */
};

int lx_o2ib_peer_send(struct lx_o2ib_net *net, const struct lx_nid *nid, struct lx_o2ib_tx *tx);
void lx_o2ib_peer_tick(struct lx_o2ib_peer *peer, uint64_t now);
void lx_o2ib_peer_shutdown(struct lx_o2ib_peer *peer);
/* Frees unused peers. */
void lx_o2ib_peers_sweep(struct lx_o2ib_net *net);

#endif
