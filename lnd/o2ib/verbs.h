/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by verbs.c and port.c: the objects of libibverbs and librdmacm.
 *
 *	port ──── per IPv4 address: listener, protection domain, event channels, tick; all on
 *	 │        one loop; shared by the nets with that address (port.c)
 *	 └─ link ─ per connection: CM id, queue pair, completion queue, the slab's MR
 *	           (verbs.c)
 */
#ifndef LX_O2IB_VERBS_H
#define LX_O2IB_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "../../user/io/env.h"
#include "../../user/io/netwatch.h"
#include "priv.h"

/* Longest chain of work requests: writes and a message. */
#define LX_O2IB_CHAIN_MAX (LX_O2IB_FRAGS_MAX + 8)
/* Events of one kind per turn; then other descriptors are served. */
#define LX_O2IB_EVENTS_A_TURN 64

struct lx_o2ib_port;
struct lx_o2ib_link;

/* Implemented by verbs.c; called on the port's loop, with the lock held. */
struct lx_o2ib_port_ops {
	void (*cm_ready)(struct lx_o2ib_port *port);   /* events of the connection manager */
	void (*comp_ready)(struct lx_o2ib_port *port); /* completions */
	/* For each link, periodically. */
	void (*link_tick)(struct lx_o2ib_link *link, uint64_t now);
};

struct lx_o2ib_port {
	struct lx_list link; /* in ports */
	const struct lx_o2ib_port_ops *ops;
	struct lx_env *env;
	struct lx_loop *loop;
	struct in_addr addr;
	struct lx_list nets;
	struct lx_list links; /* including closed ones, until their id is destroyed */
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	void *polled; /* the link of the last completion event; may be freed */
	struct lx_netwatch *watch;
	enum lx_down_why down; /* as reported to the nets */
	bool lost; /* the device was removed, or has failed */
	int async_fd; /* a duplicate: ports of a device must not poll the same descriptor */
	uv_poll_t cm_poll, comp_poll, async_poll;
	uv_timer_t tick;
	unsigned int n_handles;
	struct lx_work work;
	bool stopping;
	struct lx_o2ib_net *last; /* gets lx_o2ib_net_closed() when the port is freed */
	/* one chain of work requests at a time */
	struct ibv_send_wr wr[LX_O2IB_CHAIN_MAX];
	struct ibv_sge sge[LX_O2IB_CHAIN_MAX][2];
};

struct lx_o2ib_link {
	struct lx_list link;
	struct lx_o2ib_port *port;
	struct lx_o2ib_conn *conn; /* NULL: closed */
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	bool connected; /* a disconnect request has to be sent */
	bool busy;      /* its completions are being polled */
	bool lingers;   /* closed; only its id is left */
	uint64_t linger_until; /* 0: the disconnect request was not sent yet */
	uint8_t pdata[LX_O2IB_CONN_BYTES];
	size_t pdata_len;
};

static inline struct lx_o2ib_port *lx_o2ib_port_of(const struct lx_o2ib_net *net)
{
	return net->port;
}

/* port.c */
int lx_o2ib_port_open(struct lx_o2ib_net *net, const struct lx_o2ib_port_ops *ops);
void lx_o2ib_port_close(struct lx_o2ib_net *net);
/* Whether packets can be sent. */
bool lx_o2ib_port_active(const struct lx_o2ib_port *port);
/* The device of a port is gone: closes its connections. */
void lx_o2ib_port_lose(struct lx_o2ib_port *port, const char *reason);
/* A link was freed; a stopping port may have waited for it. */
void lx_o2ib_port_link_gone(struct lx_o2ib_port *port);

#endif
