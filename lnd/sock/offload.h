/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface to an offload, which carries messages of TCP connections in place of this
 * transport: the kernel's fast path (user/fastpath). Its ops are called for what happens to
 * connections, always with the node lock held. A node without an offload pays nothing for it.
 *
 *	lx_sock_set_offload() ─▶ host_start() of each host, at its next tick
 *	... NULL              ─▶ it ends its connections, then calls lx_sock_offload_end()
 *	the host stops        ─▶ host_stop() ─▶ lx_sock_offload_end()
 */
#ifndef LX_SOCK_OFFLOAD_H
#define LX_SOCK_OFFLOAD_H

#include <internal/lnd.h>

#include "../../user/base/clock.h"
#include "../../user/base/list.h"
#include "../../user/io/netif.h"

/*
 * Real time; the clock of lx_lnd_now(), but coarse: it is read several times per message,
 * and a few milliseconds do not matter.
 */
static inline uint64_t lx_sock_now(void)
{
	return lx_clock_ns(CLOCK_MONOTONIC_COARSE);
}

struct lx_env;
struct lx_sock_conn;
struct lx_sock_host;
struct lx_sock_offload;
struct lx_sock_peer;

/* @state: what host_start() returned. */
struct lx_sock_offload_ops {
	/* Returns its state for a host. NULL: not now; called again at the next tick. */
	void *(*host_start)(struct lx_sock_offload *offload, struct lx_sock_host *host,
			    struct lx_env *env);
	/* The host stops; all connections are closed. It waits for lx_sock_offload_end(). */
	void (*host_stop)(void *state);

	/* A header has been read, of a message of @len bytes; @hdr is NULL for a NOOP. */
	void (*received)(void *state, struct lx_sock_conn *conn, const struct lx_hdr *hdr,
			 size_t len);

	/* A message for @dst is being forwarded to @peer, which may be another router. */
	void (*forwarding)(void *state, struct lx_sock_peer *peer, const struct lx_nid *dst,
			   bool is_router);
	/* As policy_changed() (lnd.h): next hops may have changed. */
	void (*policy_changed)(void *state, const struct lx_nid *nid, uint32_t net);

	/*
	 * The peer has ended the connection. True: inside a message that went by the offload, or as
	 * the offload asked it to; then it is being closed now, and the peer's others stay.
	 */
	bool (*conn_ended)(void *state, struct lx_sock_conn *conn);
	/* The connection is being closed; its descriptor has been closed; the peer is freed. */
	void (*conn_closing)(void *state, struct lx_sock_conn *conn);
	void (*conn_closed)(void *state, struct lx_sock_conn *conn);
	void (*peer_gone)(void *state, struct lx_sock_peer *peer);

	/* Reports the messages it carried to the core, for @ni or (NULL) for all NIs. */
	void (*count)(void *state, const struct lx_ni *ni);
};

/* Embedded by the offload. All fields but ops belong to this transport. */
struct lx_sock_offload {
	const struct lx_sock_offload_ops *ops;
	struct lx_env *env;  /* of its node; NULL: it has none any more */
	struct lx_list link;
	unsigned int users;  /* hosts */
};

/**
 * lx_sock_set_offload - set the offload of a node
 * @offload: ops set, the rest zero; NULL: none. Then waits until no host uses the old one. The
 *	lock must be held; it is dropped while waiting.
 */
void lx_sock_set_offload(struct lx_env *env, struct lx_sock_offload *offload);

/* It must not take any more connections. */
static inline bool lx_sock_offload_is_leaving(const struct lx_sock_offload *offload)
{
	return !offload->env;
}

/* ---- what an offload may call: the host ---------------------------------------------- */

/* The offload has let go of the host. */
void lx_sock_offload_end(struct lx_sock_host *host);
/* Tunables fastpath, fastpath_streams and fastpath_store (MiB). */
bool lx_sock_offload_on(void);
unsigned int lx_sock_offload_streams(void);
unsigned int lx_sock_offload_store(void);
/* Whether connections of an NI may be offloaded: its own tunable and the global one. */
bool lx_sock_offload_ni_on(const struct lx_ni *ni);
/* Of the NI's packets; 0: not set. */
uint8_t lx_sock_offload_ni_tos(const struct lx_ni *ni);
/* The NIDs of the node, also those of other transports; NULL: no more than @i. */
const struct lx_nid *lx_sock_offload_own_nid(const struct lx_sock_host *host, unsigned int i);

/* ---- peers ------------------------------------------------------------------- */

struct lx_sock_peer_facts {
	struct lx_ni *ni;
	struct lx_nid nid;
	unsigned int ifindex; /* the NI's interface */
};

void lx_sock_peer_facts(const struct lx_sock_peer *peer, struct lx_sock_peer_facts *ret_facts);
/* A pointer that the offload may keep in a peer; NULL at first. */
void *lx_sock_peer_state(const struct lx_sock_peer *peer);
void lx_sock_peer_set_state(struct lx_sock_peer *peer, void *state);
/* Connects to the peer if there is no connection. */
void lx_sock_peer_dial(struct lx_sock_peer *peer);
/*
 * While set, messages to the peer wait as if it had no connection; acknowledgements are sent. Then
 * the messages are sent. Setting it dials, too.
 */
void lx_sock_peer_hold(struct lx_sock_peer *peer, bool on);
/*
 * Sends a message that is already as on the wire of a connection of @version, also while messages
 * wait. -EHOSTUNREACH: no connection fits; -ENOMEM.
 */
int lx_sock_peer_send_bytes(struct lx_sock_peer *peer, unsigned int version, const void *bytes,
			    size_t len);
/* Its established connections: the one after @conn, or (NULL) the first. NULL: no more. */
struct lx_sock_conn *lx_sock_peer_conn(const struct lx_sock_peer *peer,
				       const struct lx_sock_conn *conn);

/* ---- connections ------------------------------------------------------------- */

/* An established connection; none of it changes. */
struct lx_sock_conn_facts {
	struct lx_sock_peer *peer; /* until conn_closing() */
	struct lx_ni *ni;
	struct lx_nid nid; /* the peer's */
	union lx_addr local, remote;
	struct lx_nid address; /* of the machine, as in struct lx_rx_from */
	int fd;
	unsigned int ifindex;  /* the NI's interface */
	unsigned int version;
	unsigned int overhead; /* bytes of the headers of an LNet message */
	uint32_t ctype;        /* seen from our side */
	bool flip;        /* the peer has the other byte order */
	bool loopback;    /* both ends have the same address */
	bool ni_loopback; /* the NI is on the loopback interface */
	bool userspace;   /* headers do not have the peer's identity */
	uint64_t up_ns;
};

/* The position of receiving. */
struct lx_sock_conn_rx {
	uint64_t consumed; /* bytes processed so far */
	size_t prefetched; /* bytes after them that have been read off the socket */
	unsigned int have; /* of consumed, bytes of an incomplete header */
};

void lx_sock_conn_facts(const struct lx_sock_conn *conn, struct lx_sock_conn_facts *ret_facts);
void lx_sock_conn_rx(const struct lx_sock_conn *conn, struct lx_sock_conn_rx *ret_rx);
/* A pointer that the offload may keep in a connection; NULL at first. */
void *lx_sock_conn_state(const struct lx_sock_conn *conn);
void lx_sock_conn_set_state(struct lx_sock_conn *conn, void *state);

/* Whether messages to the peer must not be sent on it: it comes from another address. */
bool lx_sock_conn_read_only(const struct lx_sock_conn *conn);
/* Whether nothing is queued or unacknowledged: asks the kernel. */
bool lx_sock_conn_is_idle(struct lx_sock_conn *conn);
/*
 * Writes bytes into its socket, in place of messages; the caller keeps messages off it
 * (lx_sock_conn_reserve()). Returns how many it took, -EAGAIN: none now, or -errno.
 */
ssize_t lx_sock_conn_write(struct lx_sock_conn *conn, const void *bytes, size_t len);
/* Bytes written to its socket so far, whoever did; not the HELLO. */
uint64_t lx_sock_conn_tx_bytes(const struct lx_sock_conn *conn);
/* Why it is being closed, and whose fault it is that its messages do not arrive. */
int lx_sock_conn_error(const struct lx_sock_conn *conn);
enum lx_hstatus lx_sock_conn_fault(const struct lx_sock_conn *conn);
uint64_t lx_sock_conn_timeout_ns(const struct lx_sock_conn *conn);

/* While set, messages to the peer are sent on its other connections. */
void lx_sock_conn_reserve(struct lx_sock_conn *conn, bool on);
/*
 * While set, the kernel asks each second whether the peer lives; some without answer end it. If
 * nothing is under way a keepalive asks at once (socklnd.md 10).
 */
void lx_sock_conn_probe(struct lx_sock_conn *conn, bool on);
/* It cannot be closed in order: reset it. */
void lx_sock_conn_set_reset(struct lx_sock_conn *conn);
/* Bytes were received, or acknowledged, without the socket knowing. */
void lx_sock_conn_note_life(struct lx_sock_conn *conn, bool rx, bool tx);
/* Acknowledges a received zero-copy message. -ENOMEM, -ENOBUFS, -EHOSTUNREACH. */
int lx_sock_conn_acknowledge(struct lx_sock_conn *conn, uint64_t cookie, bool nonblk);

/*
 * Closes a connection; does nothing if it is being closed. Its messages end with @error (0: the
 * peer closed it in order) and @hstatus, later and on its own loop.
 */
void lx_sock_conn_close(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus);

/*
 * Closes all connections to the same address of the peer, as the protocol demands (10). Logs
 * one line if there is a @reason.
 */
void lx_sock_conn_fail(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus,
		       const char *reason);

/* Identifies a connection in the log. */
const char *lx_sock_conn_name(const struct lx_sock_conn *conn, char *buf, size_t size);
#define LX_SOCK_NAME_TEXT (LX_NID_TEXT + LX_ADDR_TEXT + 32)

#endif
