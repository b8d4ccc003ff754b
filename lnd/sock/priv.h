/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of socklnd, and who owns whom.
 *
 *	host ──── per node: listeners, the tick, the link watcher
 *	 ├─ listener ── per address and port; shared by the NIs with that address
 *	 ├─ net ─────── per NI
 *	 │   └─ peer ── per (NID, pid): version, cookies, what waits
 *	 │       └─ tx waiting for a connection
 *	 └─ conn ────── per TCP connection, from accept() or connect() to close()
 *	     ├─ tx queued, being sent, or waiting for zero-copy completion
 *	     └─ one message being received
 *
 * The node lock guards everything here, except what a thread uses during a system call for
 * a connection:
 * - receiving: only the connection's own loop receives, so it alone uses rx.buf and the
 *   destination;
 * - sending: the thread that has set tx_busy uses the txs on "sending".
 * A connection is taken apart and freed by its own loop when no thread is in a system call
 * for it. So both may use its memory after they have taken the lock again, and only have to
 * check "closing".
 */
#ifndef LX_SOCK_PRIV_H
#define LX_SOCK_PRIV_H

#include <internal/lnd.h>

#include "../../user/base/freelist.h"
#include "../../user/base/hash.h"
#include "../../user/base/list.h"
#include "../../user/base/log.h"
#include "../../user/base/queue.h"
#include "../../user/base/ratelimit.h"
#include "../../user/io/env.h"
#include "../../user/io/netif.h"
#include "../../user/io/netwatch.h"
#include "../../user/io/rbuf.h"
#include "offload.h"
#include "proto.h"
#include "tunables.h"

/* ---- host (host.c) -------------------------------------------------------- */

struct lx_sock_net;

/* Time has passed. Returns true if something is due soon. */
typedef bool lx_sock_tick_fn(struct lx_sock_host *host);
/* @netif has the net's address: it replaces the interface, or the net is deaf and should retry. */
typedef void lx_sock_moved_fn(struct lx_sock_net *net, const struct lx_netif *netif);

struct lx_sock_host {
	struct lx_list link; /* in the list of hosts */
	struct lx_env *env;
	struct lx_list nets;
	struct lx_list listeners;
	struct lx_list conns;
	struct lx_netwatch *watch;
	uv_timer_t tick;
	lx_sock_tick_fn *on_tick;
	lx_sock_moved_fn *on_moved;
	bool tick_open;     /* the timer has to be closed */
	bool tick_fast;     /* something is due soon */
	int64_t ticked_ns; /* when, by CLOCK_BOOTTIME */
	struct lx_work work; /* starts, re-arms and stops the timer; on loop 0 */
	bool stopping;
	unsigned int next_loop;
	struct lx_sock_net *last; /* gets lx_lnd_stopped() when the host is freed */
	struct lx_ratelimit impostors; /* by NID; hello.c */
	struct lx_ratelimit joiners;   /* the same; origin.c */
	bool warned_port;   /* logged that source ports are not privileged */
	struct lx_sock_offload *offload; /* NULL: none, or not yet */
	void *offload_state;             /* of host_start() */
	struct lx_freelist tx_freelist, batch_freelist;
};

struct lx_sock_listener {
	struct lx_list link;
	struct lx_sock_host *host;
	union lx_addr addr;
	unsigned int users; /* nets */
	int fd;
	uv_poll_t poll;
	bool poll_open;
	bool paused;         /* out of descriptors: accept again at the next tick */
	struct lx_work work; /* start, stop; on loop 0 */
	struct lx_list half_open; /* conns before the end of HELLO, oldest first */
	unsigned int n_half_open;
	struct lx_ratelimit refused_log; /* by address and reason */
	struct lx_ratelimit paused_log;
	struct lx_sock_net *waiter; /* held until this is closed */
};

struct lx_sock_net {
	struct lx_list link;
	struct lx_sock_host *host;
	struct lx_ni *ni;
	union lx_addr addr;   /* the NI's, with its scope */
	struct lx_netif netif; /* when it was last found, or replaced */
	struct lx_sock_listener *listener[2]; /* accept_port, accept_port_bulk */
	struct lx_sock_listener *next_listener[2]; /* while they change */
	struct lx_hash peer_hash;
	struct lx_list peers;
	unsigned int n_kept; /* peers without connections, in this tick; origin.c */
	unsigned int pending; /* the NI, conns, listeners being closed */
	void (*released)(struct lx_sock_net *net); /* nothing is pending any more */
	bool closing;
	int claim; /* a socket; or -1 */
	bool deaf; /* could not listen on an interface that has been replaced */
	enum lx_down_why link_down; /* as reported last */
};

/* Finds the net's host, or makes it for the first net of a node. -ENOMEM. */
int lx_sock_host_join(struct lx_sock_net *net, lx_sock_tick_fn *on_tick,
		      lx_sock_moved_fn *on_moved);
void lx_sock_host_leave(struct lx_sock_net *net);
/* The loop for the next connection. */
struct lx_loop *lx_sock_host_loop(struct lx_sock_host *host);
/* A connection has left host->conns. */
void lx_sock_host_conn_freed(struct lx_sock_host *host);
/* Something is due within a second: tick more often. */
void lx_sock_host_hurry(struct lx_sock_host *host);

/* ---- net (net.c) ---------------------------------------------------------- */

/* The caller holds it. @released is called by the last lx_sock_net_release(). -ENOMEM. */
int lx_sock_net_new(struct lx_ni *ni, void (*released)(struct lx_sock_net *net),
		    struct lx_sock_net **ret_net);
void lx_sock_net_free(struct lx_sock_net *net);
/*
 * Takes the NID's name among the abstract sockets of this network namespace. -EADDRINUSE: another
 * node has it, and peers close the connections of one for those of the other.
 */
int lx_sock_net_claim(struct lx_sock_net *net);
/* Keeps a net from being released after shutdown. */
void lx_sock_net_hold(struct lx_sock_net *net);
void lx_sock_net_release(struct lx_sock_net *net);
/* The net with this NID; NULL if there is none, or it is stopping. */
struct lx_sock_net *lx_sock_net_lookup(struct lx_sock_host *host, const struct lx_nid *nid);
/* Link-local addresses are valid on the net's interface only. */
void lx_sock_net_set_scope(const struct lx_sock_net *net, union lx_addr *addr);
uint64_t lx_sock_net_timeout_ns(const struct lx_sock_net *net);
unsigned int lx_sock_net_conns_per_peer(const struct lx_sock_net *net);

/* ---- listener (accept.c) -------------------------------------------------- */

static inline uint16_t lx_sock_bulk_port(void)
{
	return lx_sock_tun.accept_port_bulk ? lx_sock_tun.accept_port_bulk
					    : lx_sock_tun.accept_port;
}

/* @otherwise: the consequence of a failure, for the log; NULL: not logged. */
int lx_sock_accept_start(struct lx_sock_net *net, const char *otherwise);
void lx_sock_accept_stop(struct lx_sock_net *net);
/* Makes all nets listen where the tunables say now; on error, nothing changes. */
int lx_sock_accept_follow(struct lx_sock_host *host);
void lx_sock_accept_tick(struct lx_sock_host *host);
/* An accepted connection takes too long to come up. */
void lx_sock_accept_expire(struct lx_sock_conn *conn);

/* ---- transmission --------------------------------------------------------- */

enum {
	LX_SOCK_TX_SEND = 1,   /* bytes have to be sent */
	LX_SOCK_TX_KERNEL = 2, /* the kernel still uses the memory */
	LX_SOCK_TX_ACK = 4,    /* the peer has not acknowledged the cookie */
};

struct lx_sock_tx {
	struct lx_queued at;    /* in conn->queue; its link: peer->waiting, conn->sending, ->sent */
	struct lx_list zc_link; /* peer->zc while TX_ACK */
	struct lx_msg *msg;     /* NULL: a NOOP */
	struct lx_sock_host *host;
	struct lx_sock_conn *conn;
	struct lx_sock_msg head; /* CPU order, until encoded */
	unsigned int todo;       /* LX_SOCK_TX_* */
	bool nonblk;             /* must not wait behind bulk */
	bool zero_copy;          /* sent with MSG_ZEROCOPY */
	bool piped;              /* the payload is in a pipe */
	bool batch;              /* many small messages, copied and finalized */
	uint32_t wire_len;
	uint32_t room_at; /* batch: 1 + offset of the last header if it can take an ACK */
	uint32_t zc_first, zc_count; /* the kernel's numbers of its sends */
	uint32_t zc_open;            /* sends not yet completed */
	size_t length, done;         /* bytes on the wire, bytes taken by the kernel */
	uint64_t deadline_ns;        /* of waiting, or of the acknowledgement */
	/* Sent before the payload: both headers. In a batch, LX_SOCK_BATCH bytes. */
	uint8_t wire[sizeof(struct lx_sock_msg) + sizeof(struct lx_hdr_nid16)];
};

#define LX_SOCK_BATCH (64u << 10)

/*
 * Copies a small message into the next batch, and finalizes it. False: it is not small, or
 * there is no room; it needs a tx.
 */
bool lx_sock_tx_batch(struct lx_sock_conn *conn, struct lx_msg *msg);
/* Whether a batch with room for such a message is about to be sent. */
bool lx_sock_tx_batching(const struct lx_sock_conn *conn, size_t payload);
/* @msg: NULL for a NOOP. -ENOMEM. */
int lx_sock_tx_new(struct lx_sock_host *host, struct lx_msg *msg, struct lx_sock_tx **ret_tx);
/* Frees a tx, but not its message. */
void lx_sock_tx_free(struct lx_sock_tx *tx);
/* Finalizes the message, if there is one, and frees the tx. @hstatus: if @status is not 0. */
void lx_sock_tx_end(struct lx_sock_tx *tx, int status, enum lx_hstatus hstatus);
static inline size_t lx_sock_tx_payload(const struct lx_sock_tx *tx)
{
	return tx->msg ? tx->msg->payload.length : 0;
}
static inline bool lx_sock_tx_is_noop(const struct lx_sock_tx *tx)
{
	return !tx->msg && !tx->batch;
}

/* Acknowledgements that may wait on a connection, or for one. */
#define LX_SOCK_NOOPS_MAX 1024

/* Queues a tx on a connection; it is sent at the end of the turn. */
void lx_sock_tx_queue(struct lx_sock_conn *conn, struct lx_sock_tx *tx);
/* Queues bytes that are whole messages on the wire; none of them, or all. -ENOMEM. */
int lx_sock_tx_queue_bytes(struct lx_sock_conn *conn, const void *bytes, size_t len);
/* Queues an acknowledgement, in a message if possible. -ENOMEM. */
int lx_sock_tx_queue_ack(struct lx_sock_conn *conn, uint64_t cookie, bool nonblk);
/* The connection is established and may send. */
void lx_sock_tx_setup(struct lx_sock_conn *conn);
/* Makes the connection send at the end of the turn. */
void lx_sock_tx_kick(struct lx_sock_conn *conn);
/* The socket has room again. */
void lx_sock_tx_ready(struct lx_sock_conn *conn);
/* Ends everything that a closed connection still had to send. */
void lx_sock_tx_abort(struct lx_sock_conn *conn, int status, enum lx_hstatus hstatus);
/* Clears LX_SOCK_TX_* bits in tx->todo; ends the tx if none is left. */
void lx_sock_tx_clear(struct lx_sock_tx *tx, unsigned int todo);

/* ---- zero copy (zc.c) ----------------------------------------------------- */

/* Tests: use zero copy even though the kernel says that it copies. */
extern bool lx_sock_zc_force;

void lx_sock_zc_setup(struct lx_sock_conn *conn);
/* Decides whether to send a tx with MSG_ZEROCOPY; if so, gives it a cookie. */
void lx_sock_zc_prepare(struct lx_sock_conn *conn, struct lx_sock_tx *tx);
/* A MSG_ZEROCOPY send took bytes of @tx. */
void lx_sock_zc_sent(struct lx_sock_conn *conn, struct lx_sock_tx *tx);
/* Reads completions off the error queue. */
void lx_sock_zc_reap(struct lx_sock_conn *conn);
/* A received message acknowledges cookies. -EPROTO. */
int lx_sock_zc_acked(struct lx_sock_conn *conn, const struct lx_sock_msg *head);

/* ---- connection (conn.c) -------------------------------------------------- */

enum lx_sock_phase {
	LX_SOCK_DIAL,   /* connect() under way, or about to be called */
	LX_SOCK_ACCEPT, /* acceptor request awaited */
	LX_SOCK_HELLO,  /* HELLO awaited */
	LX_SOCK_UP,
};

enum lx_sock_rx_state {
	LX_SOCK_RX_HEADER,
	LX_SOCK_RX_WAIT, /* for recv() */
	LX_SOCK_RX_PAYLOAD,
	LX_SOCK_RX_SLOP,
};

struct lx_sock_rx {
	enum lx_sock_rx_state state;
	bool large;        /* the last payload was large: read headers separately */
	bool no_splice;    /* pipes fill up too early on this connection */
	bool check;        /* compute the checksum */
	bool wanted;       /* all of the payload has a destination */
	bool remote;       /* the message was routed: its source is not the peer */
	bool userspace;    /* headers do not have the peer's identity */
	bool spilled;      /* the pipe is full: the rest of this payload goes to memory */
	uint8_t splices_full;
	uint32_t csum;
	unsigned int have; /* bytes in buf */
	struct lx_sock_msg head; /* CPU order */
	uint32_t length; /* of the payload, on the wire */
	struct lx_msg *msg; /* being received; NULL: its payload is discarded */
	int status; /* of the message, if it has already failed */
	struct lx_payload dst;
	size_t done, want; /* bytes of dst received, and expected */
	size_t slop;       /* bytes to discard after them */
	uint8_t *stash;    /* bytes read off the socket but not processed because of RX_WAIT */
	size_t stash_len, stash_at;
	uint64_t consumed; /* bytes processed so far */
	size_t prefetched; /* bytes after them that have been read off the socket */
	uint64_t since_ns; /* of the last byte, inside a message; 0: between messages */
	uint8_t buf[LX_HELLO_MAX];
};

enum {
	LX_SOCK_CONN_START = 1,
	LX_SOCK_CONN_POLL = 2,
	LX_SOCK_CONN_RX = 4,
};

/*
 * The functions of a connection in a phase of its life. Set by the file that takes it over. All but
 * closed() are called on the connection's own loop.
 */
struct lx_sock_conn_ops {
	/* Called first; opens the socket. NULL: it is open. */
	void (*open)(struct lx_sock_conn *conn);
	/* The socket is ready for @events, UV_READABLE and UV_WRITABLE. */
	void (*ready)(struct lx_sock_conn *conn, int events);
	/* Reads the completions of zero-copy sends. NULL: there are none. */
	void (*completions)(struct lx_sock_conn *conn);
	/* LX_SOCK_CONN_RX was posted. NULL: never. */
	void (*resume)(struct lx_sock_conn *conn);
	/* It is being closed, for conn->error: its owner forgets it. */
	void (*closed)(struct lx_sock_conn *conn);
	/* Ends its messages; no thread is in a system call for it. NULL: it has none. */
	void (*abort)(struct lx_sock_conn *conn);
};

struct lx_sock_conn {
	const struct lx_sock_conn_ops *ops;
	struct lx_sock_host *host;
	struct lx_sock_listener *listener; /* while half open */
	struct lx_sock_net *net;           /* held; NULL: not known yet */
	struct lx_sock_peer *peer;         /* NULL: not known yet, or closed */
	struct lx_list link;      /* listener->half_open or peer->conns */
	struct lx_list host_link; /* host->conns */
	struct lx_loop *loop;
	struct lx_work work;    /* on its own loop: does todo, or takes it apart */
	struct lx_work tx_work; /* on any loop */
	unsigned int todo;      /* LX_SOCK_CONN_* */
	int fd;
	uv_poll_t poll;
	int poll_events;
	bool poll_open;
	bool active;        /* dialled by us */
	bool unprivileged;  /* by us, from a port that the peer may refuse */
	bool loopback;      /* both ends have the same address */
	bool flip;          /* the peer has the other byte order */
	bool closing;
	bool awaiting_recv; /* the core will call recv(): do not free it before */
	bool handle_closed; /* free it when recv() is called */
	bool rx_stopped; /* input is not polled */
	bool failed;        /* the socket has an error: do not log more */
	bool reserved;      /* by the offload: do not send on it */
	bool read_only;     /* from another address: only acknowledgements are sent (origin.c) */
	bool reset;         /* close it with a reset */
	void *offload;      /* the offload's state */
	enum lx_sock_phase phase;
	uint32_t ctype; /* seen from our side */
	unsigned int version;
	unsigned int overhead; /* bytes of the headers of an LNet message */
	union lx_addr local, remote;
	struct lx_nid address; /* of remote, as in struct lx_rx_from */
	uint64_t deadline_ns; /* of a phase before UP */
	int error;            /* why it is closed */
	enum lx_hstatus hstatus;

	struct lx_sock_rx rx;

	struct lx_queue queue;  /* txs that have not begun */
	struct lx_list sending; /* encoded; the first may be partly sent */
	struct lx_list sent;    /* waiting for the kernel or an ACK */
	struct lx_sock_tx *carrier; /* in queue: next to take a cookie (tx.c) */
	struct lx_sock_tx *batch;   /* in queue: has room for small messages */
	unsigned int n_noops;  /* in queue */
	size_t queued_bytes;
	bool tx_busy;    /* a thread is sending */
	bool tx_blocked; /* the socket is full */
	bool tx_nomem;   /* the kernel is out of memory: try again at the next tick */
	uint64_t tx_since_ns; /* since when the peer has taken nothing */
	uint64_t tx_acked;    /* bytes it had taken then */
	uint64_t up_ns, last_tx_ns, last_rx_ns;
	uint64_t blocked_ns, blocked_bytes; /* for so long full, and acknowledged meanwhile */
	uint64_t last_pick;   /* peer->picks when it was chosen */
	size_t unsent;        /* in the socket, at unsent_ns */
	uint64_t unsent_ns;
	uint64_t unsent_from; /* tx_bytes then */
	uint64_t tx_bytes, rx_bytes;
	struct lx_tcp_bytes counted; /* told to the core */
	uint32_t zc_next;   /* number of the next MSG_ZEROCOPY send */
	uint8_t zc_copied;  /* times in a row that the kernel copied after all */
	bool zc_on;
};

/* It starts at the end of the turn; the caller fills it in before. -ENOMEM. */
int lx_sock_conn_new(struct lx_sock_host *host, enum lx_sock_phase phase,
		     const struct lx_sock_conn_ops *ops, struct lx_sock_conn **ret_conn);

/* Does @todo on the connection's own loop. */
void lx_sock_conn_post(struct lx_sock_conn *conn, unsigned int todo);

/*
 * While a message waits for the core, input is not polled, nor errors: this looks for them, and
 * fails a connection that was reset or whose keepalive failed. Not one that the peer has only
 * closed: its message may be complete. If nobody is there any more, the keepalive will fail.
 */
bool lx_sock_conn_broken(struct lx_sock_conn *conn);

/* Bytes that the peer's TCP has not acknowledged; a system call. */
size_t lx_sock_conn_unsent(struct lx_sock_conn *conn);
/* The same plus queued bytes, as of a few milliseconds ago. */
size_t lx_sock_conn_backlog(struct lx_sock_conn *conn);

/*
 * The peer has ended it (@error 0), or its socket has failed. Inside a message that is an error, of
 * which a Lustre node closes all connections to the address. Ours only ends this one: a router of
 * ours ends a lane like that whose sender is gone (user/fastpath/ending.c), and the others have
 * nothing to do with it.
 */
void lx_sock_conn_ended(struct lx_sock_conn *conn, int error, const char *reason);

/* To the current values of the NI's tunables. */
void lx_sock_conn_set_options(struct lx_sock_conn *conn);
/*
 * The socket takes no more, or some again. What the kernel has not sent yet is in front of small
 * messages to come: on a connection for both kinds it may be no more than is sent in 20 ms, at the
 * rate at which the peer acknowledges while the socket is full.
 */
void lx_sock_conn_set_blocked(struct lx_sock_conn *conn, bool blocked);
void lx_sock_conn_set_tos(struct lx_sock_conn *conn);
void lx_sock_conn_set_keepalive(struct lx_sock_conn *conn);
/* Asks at once, and then each second, whether the peer lives; the kernel ends it after @count. */
void lx_sock_conn_ask(struct lx_sock_conn *conn, int count);
/* Tells the core what the socket has sent since the last call. The peer must be known. */
void lx_sock_conn_count(struct lx_sock_conn *conn);
/* Whether the peer was heard in the last @ms. */
bool lx_sock_conn_heard(const struct lx_sock_conn *conn, uint32_t ms);

/* Reads into rx.buf until it has @need bytes. 1: done; 0: later; -ECONNRESET: EOF; -errno. */
int lx_sock_conn_read(struct lx_sock_conn *conn, unsigned int need);

/* The side at fault (10) when connecting, or waiting for a connection, failed. */
enum lx_hstatus lx_sock_hstatus(int error);
/* The same for an error of an established connection. */
enum lx_hstatus lx_sock_conn_hstatus(int error);

/* ---- receiving (rx.c) ----------------------------------------------------- */

/* The functions of a connection that is up. */
extern const struct lx_sock_conn_ops lx_sock_rx_ops;
void lx_sock_rx_recv(struct lx_ni *ni, void *rx, struct lx_msg *msg);

/* ---- where connections come from (origin.c) ------------------------------- */

struct lx_sock_peer;

/* Whether a node can have the address: not multicast, broadcast, loopback. */
bool lx_sock_origin_is_host(const struct lx_netif *netif, const union lx_addr *addr);
/* The remote address as that of a machine: of IPv6, outside our prefixes, it has the whole /64. */
void lx_sock_origin_address(const struct lx_sock_conn *conn, struct lx_nid *ret_address);
/* Whether we made the connection ourselves. */
bool lx_sock_origin_is_self(const struct lx_sock_conn *conn);
/* Whether it comes from the address in the NID. */
bool lx_sock_origin_is_own(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn);
/* Whether all of the peer's connections come from the same address as @conn. */
bool lx_sock_origin_is_only(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn);
/* Whether it shows that the peer lives: the NID's own address, or else the first one. */
bool lx_sock_origin_speaks(const struct lx_sock_peer *peer, const struct lx_sock_conn *conn);
/* Whether there is a connection that messages may be sent on. */
bool lx_sock_origin_can_send(const struct lx_sock_peer *peer);
/* A connection comes or went, a dial failed, or time has passed: sets read_only of all. */
void lx_sock_origin_review(struct lx_sock_peer *peer, uint64_t now);
/* A connection is about to come up: makes room for its address. */
void lx_sock_origin_join(struct lx_sock_peer *peer, const struct lx_sock_conn *conn);
/* Whether the first address keeps its place, which needs the peer. */
bool lx_sock_origin_keeps(struct lx_sock_peer *peer, uint64_t now);

/* ---- peer (peer.c) -------------------------------------------------------- */

enum lx_sock_dial {
	LX_SOCK_DIAL_IDLE,
	LX_SOCK_DIAL_BUSY, /* an attempt is under way */
	LX_SOCK_DIAL_WAIT, /* the next attempt begins at dial_at_ns */
};

struct lx_sock_peer {
	struct lx_hash_node node;
	struct lx_list link; /* net->peers */
	struct lx_sock_net *net;
	struct lx_id id;
	struct lx_lnd_peer shortcut;
	union lx_addr addr;   /* where it would be dialled; port 0 */
	unsigned int version; /* 0: none agreed */
	uint64_t incarnation;
	union lx_addr first; /* of other addresses (origin.c); AF_UNSPEC: none */
	uint64_t first_until_ns; /* without a connection it keeps its place until then */
	bool own_was_up; /* a connection with addr, and no dial has failed since */
	/* since when its connections are asked if they live; 0: they are not */
	uint64_t doubted_ns;
	struct lx_list conns;
	struct lx_list waiting; /* txs without a connection */
	unsigned int n_noops;   /* of these, NOOPs */
	struct lx_list zc;      /* txs waiting for their ACK, oldest first */
	uint64_t next_cookie;
	uint64_t picks; /* connections chosen so far */
	void *offload;  /* the offload's state */
	bool held; /* by the offload: messages wait */
	bool closing;

	/* connect record: of a peer that we have dialled */
	bool dialled;
	bool settled;  /* the peer does not want more connections */
	bool complete; /* nothing was missing when we last looked */
	enum lx_sock_dial dial;
	struct lx_sock_conn *dialling;
	uint64_t dialling_ns; /* since when */
	unsigned int max_conns; /* of each bulk type; set when first dialled */
	unsigned int retries; /* declines in a row since dialling began */
	uint64_t dial_at_ns;       /* WAIT: when; IDLE: not before */
	uint64_t dial_interval_ns; /* 0: the last attempt succeeded */
	uint64_t dial_deadline_ns; /* of the series */

	uint64_t last_alive_ns;
	uint64_t next_keepalive_ns;
};

bool lx_sock_peer_is(const struct lx_sock_peer *peer, const struct lx_id *id);
struct lx_sock_peer *lx_sock_peer_lookup(struct lx_sock_net *net, const struct lx_id *id);
int lx_sock_peer_new(struct lx_sock_net *net, const struct lx_id *id,
		     struct lx_sock_peer **ret_peer);
void lx_sock_peer_free(struct lx_sock_peer *peer);

/* The connection for a message, or NULL. */
struct lx_sock_conn *lx_sock_peer_pick(struct lx_sock_peer *peer, bool noop, size_t payload,
				       bool nonblk);
/*
 * The connection whose batch has room for such a message, or NULL. So small messages are spread
 * over connections batch by batch, not one by one.
 */
struct lx_sock_conn *lx_sock_peer_batching(struct lx_sock_peer *peer, size_t payload);
/* Makes a tx wait for a connection that fits it. -ENOBUFS: too many NOOPs wait. */
int lx_sock_peer_wait(struct lx_sock_peer *peer, struct lx_sock_tx *tx);
/* Queues what waits, as far as there are connections that fit. */
void lx_sock_peer_send_waiting(struct lx_sock_peer *peer);
/* No connection, no attempt, nothing waits: free it. */
bool lx_sock_peer_unused(struct lx_sock_peer *peer, uint64_t now);
/* Ends the waiting txs whose deadline has passed. */
void lx_sock_peer_expire_waiting(struct lx_sock_peer *peer, uint64_t now);
/* Ends all waiting txs. */
void lx_sock_peer_fail_waiting(struct lx_sock_peer *peer, int error, enum lx_hstatus hstatus);
/* The HELLO exchange succeeded: @conn belongs to @peer now; queues what waits for it. */
void lx_sock_peer_conn_up(struct lx_sock_peer *peer, struct lx_sock_conn *conn);
/* It is being closed. */
void lx_sock_peer_conn_closed(struct lx_sock_conn *conn);
unsigned int lx_sock_peer_count(const struct lx_sock_peer *peer, uint32_t ctype);
static inline bool lx_sock_peer_is_userspace(const struct lx_sock_peer *peer)
{
	return peer->id.pid & LX_PID_USERFLAG;
}

/* ---- calls of the offload, if there is one (offload.h) -------------------- */

static inline void lx_sock_offload_stop(struct lx_sock_host *host)
{
	if (host->offload)
		host->offload->ops->host_stop(host->offload_state);
}

static inline void lx_sock_offload_received(struct lx_sock_conn *conn, const struct lx_hdr *hdr,
					    size_t len)
{
	const struct lx_sock_host *host = conn->host;

	if (host->offload)
		host->offload->ops->received(host->offload_state, conn, hdr, len);
}

static inline void lx_sock_offload_forwarding(struct lx_sock_peer *peer, const struct lx_nid *dst,
					      bool is_router)
{
	const struct lx_sock_host *host = peer->net->host;

	if (host->offload)
		host->offload->ops->forwarding(host->offload_state, peer, dst, is_router);
}

static inline void lx_sock_offload_policy_changed(const struct lx_sock_host *host,
						  const struct lx_nid *nid, uint32_t net)
{
	if (host->offload)
		host->offload->ops->policy_changed(host->offload_state, nid, net);
}

static inline bool lx_sock_offload_conn_ended(struct lx_sock_conn *conn)
{
	const struct lx_sock_host *host = conn->host;

	return host->offload && host->offload->ops->conn_ended(host->offload_state, conn);
}

static inline void lx_sock_offload_conn_closing(struct lx_sock_conn *conn)
{
	const struct lx_sock_host *host = conn->host;

	if (host->offload)
		host->offload->ops->conn_closing(host->offload_state, conn);
}

static inline void lx_sock_offload_conn_closed(struct lx_sock_conn *conn)
{
	const struct lx_sock_host *host = conn->host;

	if (host->offload)
		host->offload->ops->conn_closed(host->offload_state, conn);
}

static inline void lx_sock_offload_peer_gone(struct lx_sock_peer *peer)
{
	const struct lx_sock_host *host = peer->net->host;

	if (host && host->offload)
		host->offload->ops->peer_gone(host->offload_state, peer);
}

static inline void lx_sock_offload_count(const struct lx_sock_net *net)
{
	if (net && net->host->offload)
		net->host->offload->ops->count(net->host->offload_state, net->ni);
}

/* ---- HELLO exchange (hello.c) --------------------------------------------- */

/* Sends our HELLO. -errno. */
int lx_sock_hello_send(struct lx_sock_conn *conn, const struct lx_nid *dst, uint32_t ctype);
/*
 * Reads the peer's HELLO as far as it has arrived. 1: complete; 0: later; -EPROTONOSUPPORT:
 * unknown version; -EPROTO: malformed; or an errno of the socket. @ret_reason: set on error.
 */
int lx_sock_hello_read(struct lx_sock_conn *conn, struct lx_hello *ret_hello,
		       const char **ret_reason);
/*
 * Whether to keep the connection (4.3). @answer: the peer's, on the active side: 0, EALREADY,
 * EPROTO. Returns 0: yes; EALREADY, EPROTO, ESTALE, EADDRINUSE: no; -ESTALE: the NI is stopping.
 */
int lx_sock_hello_admit(struct lx_sock_conn *conn, struct lx_sock_peer *peer,
			uint64_t incarnation, int answer);
/* Ends a doubt that the peer lives: it does, or the answer is no longer needed. */
void lx_sock_hello_tick(struct lx_sock_peer *peer, uint64_t now);
/* The meaning of a positive errno of lx_sock_hello_admit(). */
const char *lx_sock_hello_why(int why);

/* ---- dialling (connect.c) ------------------------------------------------- */

/* Dials what is missing, unless dialling is under way or backing off. */
void lx_sock_connect_start(struct lx_sock_peer *peer);
void lx_sock_connect_tick(struct lx_sock_peer *peer, uint64_t now);

/* ---- sending to a peer (send.c) ------------------------------------------- */

/*
 * Sends a message on the connection that fits it best, or makes it wait for one.
 * -EHOSTUNREACH: there is no connection and no attempt; -ENOMEM.
 */
int lx_sock_send_msg(struct lx_sock_peer *peer, struct lx_msg *msg);
/* The same for a NOOP. Also -ENOBUFS: too many wait already. */
int lx_sock_send_noop(struct lx_sock_peer *peer, uint64_t cookie, bool nonblk);
/*
 * The same for an acknowledgement of what came on @conn; another message may carry it. If the peer
 * does not send on @conn, it does not know the cookie elsewhere.
 */
int lx_sock_send_ack(struct lx_sock_conn *conn, uint64_t cookie, bool nonblk);

/* ---- time (tick.c) -------------------------------------------------------- */

/* For lx_sock_host_join(). */
lx_sock_tick_fn lx_sock_tick;

#endif
