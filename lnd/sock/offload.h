/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What may carry messages of TCP connections in place of this transport: the kernel's fast path
 * (user/fastpath). A node that is given one has it told what the connections do, through the ops;
 * all of it is called with the node lock held. Nodes without one do nothing for it.
 *
 *	lx_sock_set_offload() ─▶ host_start(), of each host, with its next tick
 *	... NULL              ─▶ it ends the connections that it has, then lx_sock_offload_end()
 *	the host is going     ─▶ host_stop() ─▶ lx_sock_offload_end()
 */
#ifndef LX_SOCK_OFFLOAD_H
#define LX_SOCK_OFFLOAD_H

#include <time.h>

#include <internal/lnd.h>

#include "../../user/base/list.h"
#include "../../user/io/netif.h"

#define LX_SOCK_SECOND 1000000000ull
#define LX_SOCK_MSEC 1000000ull

/*
 * This transport lives in real time only; on the clock of lx_lnd_now(), but coarse: a
 * few milliseconds do not matter to it, and it asks several times a message.
 */
static inline uint64_t lx_sock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * LX_SOCK_SECOND + now.tv_nsec;
}

struct lx_env;
struct lx_sock_conn;
struct lx_sock_host;
struct lx_sock_offload;
struct lx_sock_peer;

/* @state: what host_start() returned. */
struct lx_sock_offload_ops {
	/* What it keeps of a host; NULL: not now, it is asked again with the next tick. */
	void *(*host_start)(struct lx_sock_offload *offload, struct lx_sock_host *host,
			    struct lx_env *env);
	/* The host is going; all connections are closed. Must call lx_sock_offload_end(). */
	void (*host_stop)(void *state);

	/*
	 * A header has been read, of a message of @len bytes; @hdr: NULL for a NOOP. False:
	 * earlier messages of the peer are still under way elsewhere, so that this one has to
	 * wait. It goes on when may_resume() says so, which is asked after lx_sock_conn_retry().
	 */
	bool (*received)(void *state, struct lx_sock_conn *conn, const struct lx_hdr *hdr,
			 size_t len);
	bool (*may_resume)(void *state, struct lx_sock_conn *conn);

	/* A message for @dst is being forwarded to @peer, which may be another router. */
	void (*forwarding)(void *state, struct lx_sock_peer *peer, const struct lx_nid *dst,
			   bool is_router);
	/* As policy_changed() (lnd.h): messages may have to go elsewhere. */
	void (*policy_changed)(void *state, const struct lx_nid *nid, uint32_t net);

	/* The connection is being closed; its descriptor has been; the peer is no more. */
	void (*conn_closing)(void *state, struct lx_sock_conn *conn);
	void (*conn_closed)(void *state, struct lx_sock_conn *conn);
	void (*peer_gone)(void *state, struct lx_sock_peer *peer);

	/* Has the core count what it carried, of an NI or (NULL) of all. */
	void (*count)(void *state, const struct lx_ni *ni);
};

/* Embedded in what the owner has; the fields but ops are this transport's. */
struct lx_sock_offload {
	const struct lx_sock_offload_ops *ops;
	struct lx_env *env;  /* the node's; NULL: no node's any more */
	struct lx_list link;
	unsigned int users;  /* hosts */
};

/**
 * lx_sock_set_offload - what the connections of a node may use
 * @offload: ops set, the rest zero; NULL: nothing any more. Then it ends when whoever has it has
 *	let go of it, and the lock, which must be held, is dropped meanwhile.
 */
void lx_sock_set_offload(struct lx_env *env, struct lx_sock_offload *offload);

/* Whether there are to be no more connections that use it. */
static inline bool lx_sock_offload_is_leaving(const struct lx_sock_offload *offload)
{
	return !offload->env;
}

/* ---- what it may call: the host ---------------------------------------------- */

/* No connection of the host uses it, nor will. */
void lx_sock_offload_end(struct lx_sock_host *host);
/* Tunables fastpath and fastpath_streams. */
bool lx_sock_offload_on(void);
unsigned int lx_sock_offload_streams(void);
/* Whether connections of an NI may be offloaded, by its tunable and that of all. */
bool lx_sock_offload_ni_on(const struct lx_ni *ni);
/* For its packets; 0: not set. */
uint8_t lx_sock_offload_ni_tos(const struct lx_ni *ni);
/* Whether messages for a NID are this host's own. */
bool lx_sock_offload_is_local(struct lx_sock_host *host, const struct lx_nid *nid);

/* ---- peers ------------------------------------------------------------------- */

struct lx_sock_peer_facts {
	struct lx_ni *ni;
	struct lx_nid nid;
	unsigned int ifindex; /* the NI's interface */
};

void lx_sock_peer_facts(const struct lx_sock_peer *peer, struct lx_sock_peer_facts *ret_facts);
/* One pointer of whom it is offloaded to; NULL at first. */
void *lx_sock_peer_state(const struct lx_sock_peer *peer);
void lx_sock_peer_set_state(struct lx_sock_peer *peer, void *state);
/* Its connections that are up: the first, and (@conn) the one behind another. NULL: no more. */
struct lx_sock_conn *lx_sock_peer_conn(const struct lx_sock_peer *peer,
				       const struct lx_sock_conn *conn);

/* ---- connections ------------------------------------------------------------- */

/* Of one that is up; all that does not change. */
struct lx_sock_conn_facts {
	struct lx_sock_peer *peer; /* until conn_closing() */
	struct lx_ni *ni;
	struct lx_nid nid; /* the peer's */
	union lx_addr local, remote;
	int fd;
	unsigned int ifindex;  /* the NI's interface */
	unsigned int version;
	unsigned int overhead; /* bytes of the headers of an LNet message */
	uint32_t ctype;        /* seen from our side */
	bool flip;        /* the peer has the other byte order */
	bool loopback;    /* both ends have the same address */
	bool ni_loopback; /* the NI is on the loopback interface */
	bool userspace;   /* the peer's identity is not that of headers */
	uint64_t up_ns;
};

/* Where receiving is. */
struct lx_sock_conn_rx {
	uint64_t consumed; /* bytes that have been dealt with, of all */
	size_t prefetched; /* bytes behind them that were read off the socket */
	unsigned int have; /* of them, bytes of a header that is not through */
	bool quiet; /* between two messages, and all that came has been sent on */
};

/* What had been given to it to send at one moment, messages that are over included. */
struct lx_sock_tx_mark {
	uint64_t number; /* of the last tx; 0: they have all been sent */
	uint64_t bytes;  /* then: of tx_bytes */
};

void lx_sock_conn_facts(const struct lx_sock_conn *conn, struct lx_sock_conn_facts *ret_facts);
void lx_sock_conn_rx(const struct lx_sock_conn *conn, struct lx_sock_conn_rx *ret_rx);
/* One pointer of whom it is offloaded to; NULL at first. */
void *lx_sock_conn_state(const struct lx_sock_conn *conn);
void lx_sock_conn_set_state(struct lx_sock_conn *conn, void *state);

void lx_sock_tx_mark(const struct lx_sock_conn *conn, struct lx_sock_tx_mark *ret_mark);
/* Whether the peer's TCP has acknowledged all of that. May take a system call. */
bool lx_sock_tx_has_arrived(struct lx_sock_conn *conn, struct lx_sock_tx_mark *mark);
/* Whether nothing is queued or unacknowledged. May take a system call. */
bool lx_sock_conn_is_idle(struct lx_sock_conn *conn);
/* Bytes that its socket has taken, ever. */
uint64_t lx_sock_conn_tx_bytes(const struct lx_sock_conn *conn);
/* Why it is being closed, and whose fault it is that its messages do not arrive. */
int lx_sock_conn_error(const struct lx_sock_conn *conn);
enum lx_hstatus lx_sock_conn_fault(const struct lx_sock_conn *conn);
uint64_t lx_sock_conn_timeout_ns(const struct lx_sock_conn *conn);

/* Others of the peer are chosen for what is to be sent; or not any more. */
void lx_sock_conn_reserve(struct lx_sock_conn *conn, bool on);
/* It cannot end in order: it is to be ended with a reset. */
void lx_sock_conn_set_reset(struct lx_sock_conn *conn);
/* Bytes came, or were acknowledged, that its socket does not know of. */
void lx_sock_conn_note_life(struct lx_sock_conn *conn, bool rx, bool tx);
/* A message that had to wait may perhaps go on. */
void lx_sock_conn_retry(struct lx_sock_conn *conn);
/* Acknowledges a zero-copy message that was received by it. -ENOMEM, -ENOBUFS, -EHOSTUNREACH. */
int lx_sock_conn_acknowledge(struct lx_sock_conn *conn, uint64_t cookie, bool nonblk);

/*
 * Ends a connection; harmless if it is ending. Its messages end with @error (0: the
 * peer closed it in order) and @hstatus, from its own loop, soon.
 */
void lx_sock_conn_close(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus);

/*
 * The same for all connections of the peer to the same address, as the protocol
 * has it (10), with one line in the log if there is a @reason.
 */
void lx_sock_conn_fail(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus,
		       const char *reason);

/* Who this is, for the log. */
const char *lx_sock_conn_name(const struct lx_sock_conn *conn, char *buf, size_t size);
#define LX_SOCK_NAME_TEXT (LX_NID_TEXT + LX_ADDR_TEXT + 32)

#endif
