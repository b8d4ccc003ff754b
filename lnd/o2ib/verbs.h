/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What verbs.c and port.c share: the objects of libibverbs and librdmacm.
 *
 *	port ──── one an IPv4 address: listener, protection domain, event channels, tick;
 *	 │        all on one loop; shared by the nets of that address (port.c)
 *	 └─ link ─ one a connection: CM id, queue pair, completion queue, the slab's MR
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
/* Of one kind, before sockets have their turn. */
#define LX_O2IB_EVENTS_A_TURN 64

struct lx_o2ib_port;
struct lx_o2ib_link;

/* What a port leaves to verbs.c; on the port's loop, its lock held. */
struct lx_o2ib_port_ops {
	void (*cm_ready)(struct lx_o2ib_port *port);   /* events of the connection manager */
	void (*comp_ready)(struct lx_o2ib_port *port); /* completions */
	/* Of each link, now and then. */
	void (*link_tick)(struct lx_o2ib_link *link, uint64_t now);
};

struct lx_o2ib_port {
	struct lx_list link; /* in ports */
	const struct lx_o2ib_port_ops *ops;
	struct lx_env *env;
	struct lx_loop *loop;
	struct in_addr addr;
	struct lx_list nets;
	struct lx_list links; /* closed ones, too, until their id is gone */
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	void *polled; /* the link of the last completion event; may be gone */
	struct lx_netwatch *watch;
	enum lx_down_why down; /* as the nets were told */
	bool lost; /* the device was removed, or is broken */
	int async_fd; /* a duplicate: ports of one device must not poll the same */
	uv_poll_t cm_poll, comp_poll, async_poll;
	uv_timer_t tick;
	unsigned int n_handles;
	struct lx_work work;
	bool stopping;
	struct lx_o2ib_net *last; /* told when the port is gone */
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
	bool connected; /* a goodbye is due */
	bool busy;      /* its completions are being looked at */
	bool lingers;   /* closed, but for its id */
	uint64_t linger_until; /* 0: the goodbye has not been said yet */
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
/* Whether packets can leave. */
bool lx_o2ib_port_active(const struct lx_o2ib_port *port);
/* The device of a port is no more: so are its connections. */
void lx_o2ib_port_lose(struct lx_o2ib_port *port, const char *reason);
/* A link is gone: it may have been what a port that stops has waited for. */
void lx_o2ib_port_link_gone(struct lx_o2ib_port *port);

#endif
