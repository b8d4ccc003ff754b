/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd on libibverbs and librdmacm.
 *
 *	port ──── one an IPv4 address: listener, protection domain, event channels, tick;
 *	 │        all on one loop; shared by the nets of that address
 *	 └─ link ─ one a connection: CM id, queue pair, completion queue, the slab's MR
 *
 * A link that is closed gives up queue pair and memory at once, but its CM id stays for
 * the peer's answer to our goodbye, or LINGER_NS, so that the goodbye is repeated.
 *
 * Events of the CM are acknowledged before they are looked at: an id cannot be
 * destroyed while one of its events is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>

#include "../../user/io/env.h"
#include "../../user/io/netif.h"
#include "../../user/io/netwatch.h"
#include "priv.h"

#define RESOLVE_MS 5000
#define LINGER_NS (2 * LX_O2IB_SECOND)
#define TICK_MS 500
#define BACKLOG 128
#define EVENTS_A_TURN 64
#define PDATA_MAX 256
#define CHAIN_MAX (LX_O2IB_FRAGS_MAX + 8)

/* Reasons of the CM's REJ. */
#define REJ_NO_SERVICE 8
#define REJ_STALE 10
#define REJ_CONSUMER 28

struct port {
	struct lx_list link; /* in ports */
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
	struct lx_netwatch *watch;
	bool link_down;
	uv_poll_t cm_poll, comp_poll;
	uv_timer_t tick;
	unsigned int n_handles;
	struct lx_work work;
	bool stopping;
	struct lx_o2ib_net *last; /* told when the port is gone */
	/* one chain of work requests at a time */
	struct ibv_send_wr wr[CHAIN_MAX];
	struct ibv_sge sge[CHAIN_MAX][2];
};

struct link {
	struct lx_list link;
	struct port *port;
	struct lx_o2ib_conn *conn; /* NULL: closed */
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	bool connected; /* a goodbye is due */
	bool busy;      /* its completions are being looked at */
	uint64_t linger_until;
	uint8_t pdata[LX_O2IB_CONN_BYTES];
	size_t pdata_len;
};

/* One process may have several nodes, each with a lock of its own: hence this one. */
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lx_list ports = { &ports, &ports };

static struct port *port_of(const struct lx_o2ib_net *net)
{
	return net->port;
}

/* ---- links ------------------------------------------------------------------------------ */

static struct link *link_new(struct port *port, struct lx_o2ib_conn *conn)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->port = port;
	link->conn = conn;
	conn->hw = link;
	lx_list_append(&port->links, &link->link);
	return link;
}

static void port_check_gone(struct port *port);

static void link_free(struct link *link)
{
	struct port *port = link->port;

	if (link->id)
		rdma_destroy_id(link->id);
	lx_list_del(&link->link);
	free(link);
	port_check_gone(port);
}

/* Queue pair and memory; the hardware lets go of everything here. */
static void link_release(struct link *link)
{
	if (link->id && link->id->qp)
		rdma_destroy_qp(link->id);
	if (link->mr)
		ibv_dereg_mr(link->mr);
	if (link->cq)
		ibv_destroy_cq(link->cq);
	link->mr = NULL;
	link->cq = NULL;
}

static int link_setup(struct link *link)
{
	struct lx_o2ib_conn *conn = link->conn;
	struct port *port = link->port;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = conn->n_wrs, .max_recv_wr = conn->n_rxs,
			 .max_send_sge = 2, .max_recv_sge = 1 },
	};
	int r;

	if (link->id->verbs != port->verbs)
		return -ENODEV;
	link->cq = ibv_create_cq(port->verbs, conn->n_wrs + conn->n_rxs, link, port->comp, 0);
	if (!link->cq)
		return -errno;
	attr.send_cq = attr.recv_cq = link->cq;
	if (ibv_req_notify_cq(link->cq, 0))
		return -EIO;
	if (rdma_create_qp(link->id, port->pd, &attr))
		return -errno;
	link->mr = ibv_reg_mr(port->pd, conn->slab, lx_o2ib_conn_slab_bytes(conn),
			      IBV_ACCESS_LOCAL_WRITE);
	if (!link->mr)
		return -errno;
	for (unsigned int i = 0; i < conn->n_rxs; i++) {
		r = lx_o2ib_hw->post_recv(conn, i);
		if (r)
			return r;
	}
	return 0;
}

static struct rdma_conn_param param(const struct lx_o2ib_net *net, const void *pdata, size_t len)
{
	return (struct rdma_conn_param){
		.private_data = pdata,
		.private_data_len = len,
		.flow_control = 1,
		.retry_count = lx_o2ib_tun.retry_count,
		.rnr_retry_count = lx_o2ib_tun.rnr_retry_count,
	};
}

static void verbs_close(struct lx_o2ib_conn *conn)
{
	struct link *link = conn->hw;

	conn->hw = NULL;
	if (!link)
		return;
	link->conn = NULL;
	if (link->connected)
		rdma_disconnect(link->id);
	link_release(link);
	if (link->connected)
		link->linger_until = lx_o2ib_now(conn->net) + LINGER_NS;
	else if (!link->busy)
		link_free(link);
}

static void verbs_free(struct lx_o2ib_conn *conn)
{
}

/* ---- work requests ------------------------------------------------------------------------- */

static int verbs_post_recv(struct lx_o2ib_conn *conn, unsigned int rx)
{
	struct link *link = conn->hw;
	struct ibv_sge sge = { (uintptr_t)lx_o2ib_conn_rx_buf(conn, rx), LX_O2IB_MSG_MAX,
			       link->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)rx << 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	return -ibv_post_recv(link->id->qp, &wr, &bad);
}

static int verbs_post_send(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
			   const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	struct link *link = conn->hw;
	struct port *port = link->port;
	struct ibv_send_wr *wr = port->wr, *bad;
	uint64_t id = (uint64_t)slot << 1 | 1;

	if (n_writes + 1 > CHAIN_MAX)
		return -EINVAL;
	for (unsigned int i = 0; i < n_writes; i++) {
		const struct lx_o2ib_write *w = &writes[i];

		for (unsigned int j = 0; j < w->n_sge; j++)
			port->sge[i][j] = (struct ibv_sge){ (uintptr_t)w->sge[j].addr,
							    w->sge[j].length, w->sge[j].lkey };
		wr[i] = (struct ibv_send_wr){ .wr_id = id, .next = &wr[i + 1],
					      .sg_list = port->sge[i], .num_sge = w->n_sge,
					      .opcode = IBV_WR_RDMA_WRITE };
		wr[i].wr.rdma.remote_addr = w->remote;
		wr[i].wr.rdma.rkey = w->rkey;
	}
	port->sge[n_writes][0] = (struct ibv_sge){ (uintptr_t)lx_o2ib_conn_slot_buf(conn, slot),
						   nob, link->mr->lkey };
	wr[n_writes] = (struct ibv_send_wr){ .wr_id = id, .sg_list = port->sge[n_writes],
					     .num_sge = 1, .opcode = IBV_WR_SEND,
					     .send_flags = IBV_SEND_SIGNALED };
	return -ibv_post_send(link->id->qp, wr, &bad);
}

static int verbs_reg(struct lx_o2ib_net *net, void *addr, size_t len, bool remote,
		     struct lx_o2ib_mr *ret_mr)
{
	/* What is only read may be memory that we cannot write to. */
	int access = remote ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
	struct ibv_mr *mr = ibv_reg_mr(port_of(net)->pd, addr, len, access);

	if (!mr)
		return -errno;
	*ret_mr = (struct lx_o2ib_mr){ mr, mr->lkey, mr->rkey };
	return 0;
}

static void verbs_dereg(struct lx_o2ib_mr *mr)
{
	ibv_dereg_mr(mr->priv);
}

/* ---- completions ------------------------------------------------------------------------------ */

static void completed(struct link *link, const struct ibv_wc *wc)
{
	struct lx_o2ib_conn *conn = link->conn;
	bool ok = wc->status == IBV_WC_SUCCESS;

	if (!ok && wc->status != IBV_WC_WR_FLUSH_ERR)
		lx_warn("ni=%s peer=%s reason=\"RDMA: %s\" action=\"connection closed\"",
			lx_nid_str(&conn->net->ni->nid), lx_nid_str(&conn->nid),
			ibv_wc_status_str(wc->status));
	if (wc->wr_id & 1)
		lx_o2ib_sent(conn, wc->wr_id >> 1, ok);
	else
		lx_o2ib_received(conn, wc->wr_id >> 1, ok ? wc->byte_len : 0, ok);
}

static void poll_link(struct link *link)
{
	struct ibv_wc wc[16];
	struct lx_o2ib_conn *conn = link->conn;
	int n;

	if (!conn)
		return;
	link->busy = true;
	lx_o2ib_conn_get(conn);
	ibv_req_notify_cq(link->cq, 0);
	while (link->cq && (n = ibv_poll_cq(link->cq, 16, wc)) > 0) {
		for (int i = 0; i < n && link->conn; i++)
			completed(link, &wc[i]);
	}
	link->busy = false;
	lx_o2ib_conn_put(conn);
	if (!link->conn && !link->linger_until)
		link_free(link);
}

static void on_comp(uv_poll_t *poll, int status, int events)
{
	struct port *port = poll->data;
	struct ibv_cq *cq;
	void *link;

	lx_loop_enter(port->loop);
	for (int i = 0; i < EVENTS_A_TURN && !ibv_get_cq_event(port->comp, &cq, &link); i++) {
		ibv_ack_cq_events(cq, 1);
		poll_link(link);
	}
	lx_loop_leave(port->loop);
}

/* ---- dialling ------------------------------------------------------------------------------- */

static int bind_source(struct port *port, struct rdma_cm_id *id)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = port->addr };
	int reuse = 1;

	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &reuse, sizeof(reuse));
	for (int p = lx_o2ib_tun.use_privileged_port ? 1023 : 0; p > 511; p--) {
		sa.sin_port = htons(p);
		if (!rdma_bind_addr(id, (struct sockaddr *)&sa))
			return 0;
		if (errno != EADDRINUSE)
			break;
	}
	/* Not allowed, or none is left. */
	sa.sin_port = 0;
	return rdma_bind_addr(id, (struct sockaddr *)&sa) ? -errno : 0;
}

static int verbs_dial(struct lx_o2ib_conn *conn, const void *pdata, size_t len)
{
	struct port *port = port_of(conn->net);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(lx_o2ib_tun.service) };
	struct link *link = link_new(port, conn);
	int r;

	if (!link)
		return -ENOMEM;
	memcpy(&to.sin_addr, conn->nid.addr, sizeof(to.sin_addr));
	memcpy(link->pdata, pdata, len);
	link->pdata_len = len;
	if (rdma_create_id(port->cm, &link->id, link, RDMA_PS_TCP)) {
		link->id = NULL;
		return -errno;
	}
	r = bind_source(port, link->id);
	if (r)
		return r;
	return rdma_resolve_addr(link->id, NULL, (struct sockaddr *)&to, RESOLVE_MS) ? -errno : 0;
}

static int connect_link(struct link *link)
{
	struct rdma_conn_param p = param(link->conn->net, link->pdata, link->pdata_len);
	int r = link_setup(link);

	if (r)
		return r;
	return rdma_connect(link->id, &p) ? -errno : 0;
}

static int resolve_route(struct link *link)
{
	int32_t tos = link->conn->net->ni->lnd_tun.value[LX_O2IB_NI_TOS];
	uint8_t value = tos;

	if (tos >= 0)
		rdma_set_option(link->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value, sizeof(value));
	return rdma_resolve_route(link->id, RESOLVE_MS) ? -errno : 0;
}

/* ---- accepting -------------------------------------------------------------------------------- */

static void verbs_reject(struct lx_o2ib_net *net, void *request, const void *pdata, size_t len)
{
	rdma_reject(request, pdata, len);
	rdma_destroy_id(request);
}

static int verbs_accept(struct lx_o2ib_conn *conn, void *request, const void *pdata, size_t len)
{
	struct rdma_conn_param p = param(conn->net, pdata, len);
	struct link *link = link_new(port_of(conn->net), conn);
	int r;

	if (!link) {
		rdma_destroy_id(request);
		return -ENOMEM;
	}
	link->id = request;
	link->id->context = link;
	r = link_setup(link);
	if (!r && rdma_accept(link->id, &p))
		r = -errno;
	link->connected = !r;
	return r;
}

/* ---- events of the CM --------------------------------------------------------------------------- */

struct cm_event {
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int status;
	uint8_t pdata[PDATA_MAX];
	size_t len;
};

static enum lx_o2ib_cm_reject reject_of(int status)
{
	switch (status) {
	case REJ_CONSUMER:
		return LX_O2IB_CM_CONSUMER;
	case REJ_STALE:
		return LX_O2IB_CM_STALE;
	case REJ_NO_SERVICE:
		return LX_O2IB_CM_NO_LISTENER;
	default:
		return LX_O2IB_CM_OTHER;
	}
}

static void cm_request(struct port *port, const struct cm_event *ev)
{
	uint16_t sport = ntohs(rdma_get_dst_port(ev->id));

	if (port->stopping)
		rdma_destroy_id(ev->id);
	else
		lx_o2ib_cm_request(&port->nets, ev->id, ev->pdata, ev->len, sport);
}

/* The next step of an attempt; if it fails, so does the attempt. */
static void cm_step(struct link *link, int r)
{
	if (r)
		lx_o2ib_cm_failed(link->conn, r);
}

static void cm_link(struct link *link, const struct cm_event *ev)
{
	struct lx_o2ib_conn *conn = link->conn;

	lx_debug("ni=%s peer=%s cm=%s status=%d", lx_nid_str(&conn->net->ni->nid),
		 lx_nid_str(&conn->nid), rdma_event_str(ev->type), ev->status);
	switch (ev->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		cm_step(link, resolve_route(link));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		cm_step(link, connect_link(link));
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		link->connected = true;
		lx_o2ib_cm_established(conn, ev->pdata, ev->len);
		break;
	case RDMA_CM_EVENT_REJECTED:
		link->connected = false;
		lx_o2ib_cm_rejected(conn, reject_of(ev->status), ev->pdata, ev->len);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		lx_o2ib_cm_failed(conn, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		link->connected = false;
		lx_o2ib_cm_failed(conn, ev->status < 0 ? ev->status : -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		lx_o2ib_cm_failed(conn, 0);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		lx_o2ib_cm_failed(conn, -ENODEV);
		break;
	default:
		break;
	}
}

static void cm_dispatch(struct port *port, const struct cm_event *ev)
{
	struct link *link;

	if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		cm_request(port, ev);
		return;
	}
	link = ev->id->context;
	if (!link) {
		if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			lx_err("reason=\"an RDMA device was removed\" action=\"its NI is of no use\" "
			       "next=\"lnetx net del, and add it again when the device is back\"");
		return;
	}
	if (link->conn) {
		cm_link(link, ev);
		return;
	}
	if (ev->type == RDMA_CM_EVENT_DISCONNECTED || ev->type == RDMA_CM_EVENT_TIMEWAIT_EXIT ||
	    ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		link_free(link);
}

static void on_cm(uv_poll_t *poll, int status, int events)
{
	struct port *port = poll->data;
	struct rdma_cm_event *event;
	struct cm_event ev;

	lx_loop_enter(port->loop);
	for (int i = 0; i < EVENTS_A_TURN && !rdma_get_cm_event(port->cm, &event); i++) {
		ev.type = event->event;
		ev.id = event->id;
		ev.status = event->status;
		ev.len = event->param.conn.private_data_len;
		if (!event->param.conn.private_data || ev.len > sizeof(ev.pdata))
			ev.len = 0;
		if (ev.len)
			memcpy(ev.pdata, event->param.conn.private_data, ev.len);
		rdma_ack_cm_event(event);
		cm_dispatch(port, &ev);
	}
	lx_loop_leave(port->loop);
}

/* ---- ports: events that come with time ------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
	struct port *port = timer->data;
	struct lx_o2ib_net *net, *next;
	struct link *link, *tmp;
	uint64_t now;

	lx_loop_enter(port->loop);
	now = lx_env_now(port->env);
	lx_list_for_each_safe (net, next, &port->nets, port_link)
		lx_o2ib_tick(net);
	lx_list_for_each_safe (link, tmp, &port->links, link) {
		if (!link->conn && now >= link->linger_until)
			link_free(link);
	}
	lx_loop_leave(port->loop);
}

static void on_link_change(void *arg)
{
	struct port *port = arg;
	struct lx_o2ib_net *net;
	struct lx_netif netif;
	union lx_addr addr;
	bool down;

	lx_addr_init(&addr, &port->addr, 4, 0);
	lx_loop_enter(port->loop);
	down = lx_netif_by_addr(&addr, "", &netif) || !netif.up;
	if (down != port->link_down && !port->stopping) {
		port->link_down = down;
		lx_list_for_each (net, &port->nets, port_link)
			lx_lnd_link(net->ni, !down);
	}
	lx_loop_leave(port->loop);
}

/* ---- ports: life ------------------------------------------------------------------------------------- */

/* What needs no loop. */
static void port_free(struct port *port)
{
	if (port->listener)
		rdma_destroy_id(port->listener);
	if (port->comp)
		ibv_destroy_comp_channel(port->comp);
	if (port->pd)
		ibv_dealloc_pd(port->pd);
	if (port->cm)
		rdma_destroy_event_channel(port->cm);
	free(port);
}

static void handle_gone(struct port *port)
{
	struct lx_o2ib_net *last = port->last;

	if (--port->n_handles)
		return;
	port_free(port);
	lx_o2ib_net_closed(last);
}

static void on_closed(uv_handle_t *handle)
{
	struct port *port = handle->data;
	struct lx_loop *loop = port->loop;

	lx_loop_enter(loop);
	handle_gone(port);
	lx_loop_leave(loop);
}

static void on_watch_closed(void *arg)
{
	handle_gone(arg);
}

static void close_handles(struct port *port)
{
	uv_close((uv_handle_t *)&port->cm_poll, on_closed);
	uv_close((uv_handle_t *)&port->comp_poll, on_closed);
	uv_close((uv_handle_t *)&port->tick, on_closed);
	if (port->watch)
		lx_netwatch_free(port->watch, on_watch_closed);
}

static void open_handles(struct port *port)
{
	uv_loop_t *uv = lx_loop_uv(port->loop);

	uv_poll_init(uv, &port->cm_poll, port->cm->fd);
	uv_poll_init(uv, &port->comp_poll, port->comp->fd);
	uv_timer_init(uv, &port->tick);
	port->cm_poll.data = port->comp_poll.data = port->tick.data = port;
	uv_poll_start(&port->cm_poll, UV_READABLE, on_cm);
	uv_poll_start(&port->comp_poll, UV_READABLE, on_comp);
	uv_timer_start(&port->tick, on_tick, TICK_MS, TICK_MS);
	port->n_handles += 3;
}

static void on_work(struct lx_work *work)
{
	struct port *port = lx_container_of(work, struct port, work);

	if (!uv_handle_get_loop((uv_handle_t *)&port->tick))
		open_handles(port);
	if (port->stopping && lx_list_empty(&port->links))
		close_handles(port);
}

/* The last goodbye has been answered. */
static void port_check_gone(struct port *port)
{
	if (port->stopping && lx_list_empty(&port->links))
		lx_loop_post(port->loop, &port->work);
}

static int nonblock(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ? -errno : 0;
}

static int port_listen(struct port *port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = port->addr,
				  .sin_port = htons(lx_o2ib_tun.service) };

	port->cm = rdma_create_event_channel();
	if (!port->cm)
		return errno == ENOENT ? -ENODEV : -errno;
	if (rdma_create_id(port->cm, &port->listener, NULL, RDMA_PS_TCP)) {
		port->listener = NULL;
		return -errno;
	}
	if (rdma_bind_addr(port->listener, (struct sockaddr *)&sa))
		return errno == EADDRNOTAVAIL ? -ENODEV : -errno;
	port->verbs = port->listener->verbs;
	if (!port->verbs)
		return -ENODEV;
	if (rdma_listen(port->listener, BACKLOG))
		return -errno;
	return nonblock(port->cm->fd);
}

static int port_new(struct lx_env *env, struct in_addr addr, struct port **ret_port)
{
	struct port *port = calloc(1, sizeof(*port));
	int r;

	if (!port)
		return -ENOMEM;
	port->env = env;
	port->loop = lx_env_loop(env, 0);
	port->addr = addr;
	lx_list_init(&port->link);
	lx_list_init(&port->nets);
	lx_list_init(&port->links);
	lx_work_init(&port->work, on_work);
	r = port_listen(port);
	if (!r && !(port->pd = ibv_alloc_pd(port->verbs)))
		r = -errno;
	if (!r && !(port->comp = ibv_create_comp_channel(port->verbs)))
		r = -errno;
	if (!r)
		r = nonblock(port->comp->fd);
	if (r) {
		port_free(port);
		return r;
	}
	if (!lx_netwatch_new(port->loop, on_link_change, port, &port->watch))
		port->n_handles++;
	lx_loop_post(port->loop, &port->work);
	*ret_port = port;
	return 0;
}

static int verbs_net_open(struct lx_o2ib_net *net)
{
	struct port *port, *found = NULL;
	int r = 0;

	if (!net->ni->env)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&ports_lock);
	lx_list_for_each (port, &ports, link) {
		if (port->env == net->ni->env && port->addr.s_addr == net->addr.s_addr)
			found = port;
	}
	if (!found) {
		r = port_new(net->ni->env, net->addr, &found);
		if (!r)
			lx_list_append(&ports, &found->link);
	}
	pthread_mutex_unlock(&ports_lock);
	if (r)
		return r;
	net->port = found;
	lx_list_append(&found->nets, &net->port_link);
	return 0;
}

static void verbs_net_close(struct lx_o2ib_net *net)
{
	struct port *port = port_of(net);

	lx_list_del(&net->port_link);
	if (!lx_list_empty(&port->nets)) {
		lx_o2ib_net_closed(net);
		return;
	}
	pthread_mutex_lock(&ports_lock);
	lx_list_del(&port->link);
	pthread_mutex_unlock(&ports_lock);
	port->stopping = true;
	port->last = net;
	/* A new NI of this address may listen at once. */
	rdma_destroy_id(port->listener);
	port->listener = NULL;
	port_check_gone(port);
}

const struct lx_o2ib_hw lx_o2ib_verbs = {
	.net_open = verbs_net_open,
	.net_close = verbs_net_close,
	.dial = verbs_dial,
	.accept = verbs_accept,
	.reject = verbs_reject,
	.close = verbs_close,
	.free = verbs_free,
	.post_recv = verbs_post_recv,
	.post_send = verbs_post_send,
	.reg = verbs_reg,
	.dereg = verbs_dereg,
};
