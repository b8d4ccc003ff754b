/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface of o2iblnd to RDMA hardware and the connection manager.
 *
 * The rest of the transport is protocol. It runs on libibverbs and librdmacm (verbs.c), and in
 * virtual time on a fake (tests/unit/simib.c). The node lock is held in both directions.
 * Asynchronous results come through lx_o2ib_cm_*(), lx_o2ib_conn_sent() and lx_o2ib_rx_received(),
 * never from within the call.
 */
#ifndef LX_O2IB_HW_H
#define LX_O2IB_HW_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lx_o2ib_conn;
struct lx_o2ib_net;
struct lx_list;

/* Registered memory. */
struct lx_o2ib_mr {
	void *priv;
	uint32_t lkey, rkey;
};

struct lx_o2ib_sge {
	const void *addr;
	uint32_t length, lkey;
};

/* An RDMA write from up to two pieces of memory. */
struct lx_o2ib_write {
	uint64_t remote;
	uint32_t rkey;
	unsigned int n_sge;
	struct lx_o2ib_sge sge[2];
};

/* Why the connection manager rejects. */
enum lx_o2ib_cm_reject {
	LX_O2IB_CM_CONSUMER,    /* by the peer's transport; the private data say why */
	LX_O2IB_CM_STALE,       /* the peer's hardware still has an old connection */
	LX_O2IB_CM_NO_LISTENER, /* nothing listens there */
	LX_O2IB_CM_OTHER,
};

struct lx_o2ib_hw {
	/**
	 * net_open - take the device that has net->addr, and listen
	 * Nets of one address share a port. Returns 0, -ENODEV: the address is not on
	 * an RDMA device; -EADDRINUSE, or another errno.
	 */
	int (*net_open)(struct lx_o2ib_net *net);
	/* Ends with lx_o2ib_net_closed(). The net has no connections any more. */
	void (*net_close)(struct lx_o2ib_net *net);

	/**
	 * dial - connect to conn->peer
	 * @pdata: sent with the request, after the receive buffers have been posted
	 * Returns 0, or an errno: then there is no callback.
	 */
	int (*dial)(struct lx_o2ib_conn *conn, const void *pdata, size_t len);
	/* Accepts a request. 0, or an errno: the request was rejected. */
	int (*accept)(struct lx_o2ib_conn *conn, void *request, const void *pdata, size_t len);
	void (*reject)(struct lx_o2ib_net *net, void *request, const void *pdata, size_t len);
	/*
	 * Ends a connection or an attempt. When it returns, the hardware does not use its
	 * memory any more, and there are no more callbacks for it.
	 */
	void (*close)(struct lx_o2ib_conn *conn);
	/* The connection is about to be freed. */
	void (*free)(struct lx_o2ib_conn *conn);

	int (*post_recv)(struct lx_o2ib_conn *conn, unsigned int rx);
	/**
	 * post_send - RDMA writes and then the message in a send slot
	 * lx_o2ib_conn_sent() is called when all are done, or when one fails.
	 */
	int (*post_send)(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
			 const struct lx_o2ib_write *writes, unsigned int n_writes);

	/* @remote: the peer may write to it. Returns 0 or an errno. */
	int (*reg)(struct lx_o2ib_net *net, void *addr, size_t len, bool remote,
		   struct lx_o2ib_mr *ret_mr);
	void (*dereg)(struct lx_o2ib_mr *mr);
};

/* libibverbs and librdmacm. */
extern const struct lx_o2ib_hw lx_o2ib_verbs;

/* The hardware in use; NULL: built without (make O2IB=0). Tests set their own. */
extern const struct lx_o2ib_hw *lx_o2ib_hw;

/* ---- what it is told ---------------------------------------------------------- */

void lx_o2ib_net_closed(struct lx_o2ib_net *net);

/* Its device is gone, and with it all connections and registrations. */
void lx_o2ib_net_lost(struct lx_o2ib_net *net, int error);

/**
 * lx_o2ib_peer_request - a connection request has arrived
 * @nets: those of the port it arrived on, by port_link
 * @request: for accept() or reject(); one of them is called before this returns
 */
void lx_o2ib_peer_request(struct lx_list *nets, void *request, const void *pdata, size_t len,
			  uint16_t source_port);
/* @pdata: of the answer; NULL on the passive side. */
void lx_o2ib_peer_established(struct lx_o2ib_conn *conn, const void *pdata, size_t len);
void lx_o2ib_peer_rejected(struct lx_o2ib_conn *conn, enum lx_o2ib_cm_reject why, const void *pdata,
			   size_t len);
/* An attempt failed, or a connection ended; 0: the peer ended it. */
void lx_o2ib_peer_failed(struct lx_o2ib_conn *conn, int error);

void lx_o2ib_conn_sent(struct lx_o2ib_conn *conn, unsigned int slot, bool ok);
void lx_o2ib_rx_received(struct lx_o2ib_conn *conn, unsigned int rx, size_t len, bool ok);

/* About once a second. */
void lx_o2ib_tick(struct lx_o2ib_net *net);

#endif
