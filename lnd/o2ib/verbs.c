/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd on libibverbs and librdmacm: connections, sending and receiving.
 *
 * Closing a link frees its queue pair and memory at once. Its CM id stays until the peer has
 * answered our disconnect request, or for LINGER_NS, so that the request is retransmitted.
 * While the port is down no request is sent: rxe's CM never recovers from a failed send.
 *
 * CM events are acknowledged before they are processed, since an id cannot be destroyed while
 * one of its events is unacknowledged.
 */
#include <errno.h>
#include <stdlib.h>

#include "verbs.h"

#define RESOLVE_MS 5000
#define LINGER_NS (2 * LX_S_NS)
#define PDATA_MAX 256

/* Reasons in the CM's REJ. */
#define REJ_NO_SERVICE 8
#define REJ_STALE 10
#define REJ_CONSUMER 28

/* ---- links ------------------------------------------------------------------------- */

static struct lx_o2ib_link *link_new(struct lx_o2ib_port *port, struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->port = port;
	link->conn = conn;
	conn->hw = link;
	lx_list_append(&port->links, &link->link);
	return link;
}

static void link_free(struct lx_o2ib_link *link)
{
	struct lx_o2ib_port *port = link->port;

	if (link->id)
		rdma_destroy_id(link->id);
	lx_list_del(&link->link);
	free(link);
	lx_o2ib_port_link_gone(port);
}

/* Frees queue pair and memory; the hardware uses nothing of them afterwards. */
static void link_release(struct lx_o2ib_link *link)
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

static int link_setup(struct lx_o2ib_link *link)
{
	struct lx_o2ib_conn *conn = link->conn;
	struct lx_o2ib_port *port = link->port;
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

static void say_goodbye(struct lx_o2ib_link *link, uint64_t now)
{
	if (!lx_o2ib_port_active(link->port))
		return;
	rdma_disconnect(link->id);
	link->linger_until = now + LINGER_NS;
}

static void link_tick(struct lx_o2ib_link *link, uint64_t now)
{
	if (link->conn)
		return;
	if (link->linger_until ? now >= link->linger_until : link->port->stopping)
		link_free(link);
	else if (!link->linger_until)
		say_goodbye(link, now);
}

static void verbs_close(struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_link *link = conn->hw;

	conn->hw = NULL;
	if (!link)
		return;
	link->conn = NULL;
	link->lingers = link->connected && !link->port->lost;
	if (link->lingers)
		say_goodbye(link, lx_o2ib_now(conn->net));
	link_release(link);
	if (!link->lingers && !link->busy)
		link_free(link);
}

static void verbs_free(struct lx_o2ib_conn *conn)
{
}

/* ---- work requests ----------------------------------------------------------------- */

static int verbs_post_recv(struct lx_o2ib_conn *conn, unsigned int rx)
{
	struct lx_o2ib_link *link = conn->hw;
	struct ibv_sge sge = { (uintptr_t)lx_o2ib_conn_rx_buf(conn, rx), LX_O2IB_MSG_MAX,
			       link->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)rx << 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	return -ibv_post_recv(link->id->qp, &wr, &bad);
}

static int verbs_post_send(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
			   const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	struct lx_o2ib_link *link = conn->hw;
	struct lx_o2ib_port *port = link->port;
	struct ibv_send_wr *wr = port->wr, *bad;
	uint64_t id = (uint64_t)slot << 1 | 1;

	if (n_writes + 1 > LX_O2IB_CHAIN_MAX)
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
	/* Memory that is only read may be read-only. */
	int access = remote ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
	struct ibv_mr *mr = ibv_reg_mr(lx_o2ib_port_of(net)->pd, addr, len, access);

	if (!mr)
		return -errno;
	*ret_mr = (struct lx_o2ib_mr){ mr, mr->lkey, mr->rkey };
	return 0;
}

static void verbs_dereg(struct lx_o2ib_mr *mr)
{
	ibv_dereg_mr(mr->priv);
}

/* ---- completions ------------------------------------------------------------------- */

static void completed(struct lx_o2ib_link *link, const struct ibv_wc *wc)
{
	struct lx_o2ib_conn *conn = link->conn;
	bool ok = wc->status == IBV_WC_SUCCESS;

	if (!ok && wc->status != IBV_WC_WR_FLUSH_ERR)
		lx_warn("ni=%s peer=%s reason=\"RDMA: %s\" action=\"connection closed\"",
			lx_nid_str(&conn->net->ni->nid), lx_nid_str(&conn->nid),
			ibv_wc_status_str(wc->status));
	if (wc->wr_id & 1)
		lx_o2ib_conn_sent(conn, wc->wr_id >> 1, ok);
	else
		lx_o2ib_rx_received(conn, wc->wr_id >> 1, ok ? wc->byte_len : 0, ok);
}

/*
 * Requests the next event when the queue is empty, and polls once more: completions before
 * the request raise no event. While polling, no event is needed.
 */
static void poll_cq(struct lx_o2ib_link *link)
{
	struct ibv_wc wc[16];
	bool asked = false;
	int n;

	while (link->cq) {
		n = ibv_poll_cq(link->cq, 16, wc);
		for (int i = 0; i < n && link->conn; i++)
			completed(link, &wc[i]);
		if (n > 0)
			continue;
		if (asked)
			return;
		ibv_req_notify_cq(link->cq, 0);
		asked = true;
	}
}

static void poll_link(struct lx_o2ib_link *link)
{
	struct lx_o2ib_conn *conn = link->conn;

	if (!conn)
		return;
	link->busy = true;
	lx_o2ib_conn_get(conn);
	poll_cq(link);
	link->busy = false;
	lx_o2ib_conn_put(conn);
	if (!link->conn && !link->lingers)
		link_free(link);
}

/* If one connection has all the traffic, this saves a read that finds nothing. */
static void comp_ready(struct lx_o2ib_port *port)
{
	bool again = true;
	struct ibv_cq *cq;
	void *link;

	for (int i = 0; i < LX_O2IB_EVENTS_A_TURN && again; i++) {
		if (ibv_get_cq_event(port->comp, &cq, &link))
			return;
		ibv_ack_cq_events(cq, 1);
		again = link != port->polled;
		port->polled = link;
		poll_link(link);
	}
}

/* ---- dialling ---------------------------------------------------------------------- */

static int bind_source(struct lx_o2ib_port *port, struct rdma_cm_id *id)
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
	/* Not permitted, or no port is free. */
	sa.sin_port = 0;
	return rdma_bind_addr(id, (struct sockaddr *)&sa) ? -errno : 0;
}

static int verbs_dial(struct lx_o2ib_conn *conn, const void *pdata, size_t len)
{
	struct lx_o2ib_port *port = lx_o2ib_port_of(conn->net);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(lx_o2ib_tun.service) };
	struct lx_o2ib_link *link = link_new(port, conn);
	int r;

	if (!link)
		return -ENOMEM;
	if (port->lost)
		return -ENODEV;
	if (!lx_o2ib_port_active(port))
		return -ENETDOWN;
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

static int connect_link(struct lx_o2ib_link *link)
{
	struct rdma_conn_param p = param(link->conn->net, link->pdata, link->pdata_len);
	int r = link_setup(link);

	if (r)
		return r;
	return rdma_connect(link->id, &p) ? -errno : 0;
}

static int resolve_route(struct lx_o2ib_link *link)
{
	int32_t tos = link->conn->net->ni->lnd_tun.value[LX_O2IB_NI_TOS];
	uint8_t value = tos;

	if (tos >= 0)
		rdma_set_option(link->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &value,
				sizeof(value));
	return rdma_resolve_route(link->id, RESOLVE_MS) ? -errno : 0;
}

/* ---- accepting --------------------------------------------------------------------- */

static void verbs_reject(struct lx_o2ib_net *net, void *request, const void *pdata, size_t len)
{
	rdma_reject(request, pdata, len);
	rdma_destroy_id(request);
}

static int verbs_accept(struct lx_o2ib_conn *conn, void *request, const void *pdata, size_t len)
{
	struct rdma_conn_param p = param(conn->net, pdata, len);
	struct lx_o2ib_link *link = link_new(lx_o2ib_port_of(conn->net), conn);
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

/* ---- events of the CM -------------------------------------------------------------- */

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

static void cm_request(struct lx_o2ib_port *port, const struct cm_event *ev)
{
	uint16_t sport = ntohs(rdma_get_dst_port(ev->id));

	if (port->stopping)
		rdma_destroy_id(ev->id);
	else
		lx_o2ib_peer_request(&port->nets, ev->id, ev->pdata, ev->len, sport);
}

/* Does the next step of an attempt, or fails the attempt. */
static void cm_step(struct lx_o2ib_link *link, int r)
{
	if (r)
		lx_o2ib_peer_failed(link->conn, r);
}

static void cm_link(struct lx_o2ib_link *link, const struct cm_event *ev)
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
		lx_o2ib_peer_established(conn, ev->pdata, ev->len);
		break;
	case RDMA_CM_EVENT_REJECTED:
		link->connected = false;
		lx_o2ib_peer_rejected(conn, reject_of(ev->status), ev->pdata, ev->len);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		lx_o2ib_peer_failed(conn, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		link->connected = false;
		lx_o2ib_peer_failed(conn, ev->status < 0 ? ev->status : -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		lx_o2ib_peer_failed(conn, 0);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		lx_o2ib_peer_failed(conn, -ENODEV);
		break;
	default:
		break;
	}
}

static void cm_dispatch(struct lx_o2ib_port *port, const struct cm_event *ev)
{
	struct lx_o2ib_link *link;

	if (ev->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		cm_request(port, ev);
		return;
	}
	link = ev->id->context;
	if (!link) {
		if (ev->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			lx_o2ib_port_lose(port, "its RDMA device is being removed");
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

static void cm_ready(struct lx_o2ib_port *port)
{
	struct rdma_cm_event *event;
	struct cm_event ev;

	for (int i = 0; i < LX_O2IB_EVENTS_A_TURN && !rdma_get_cm_event(port->cm, &event); i++) {
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
}

static int verbs_net_open(struct lx_o2ib_net *net)
{
	static const struct lx_o2ib_port_ops ops = {
		.cm_ready = cm_ready,
		.comp_ready = comp_ready,
		.link_tick = link_tick,
	};

	return lx_o2ib_port_open(net, &ops);
}

const struct lx_o2ib_hw lx_o2ib_verbs = {
	.net_open = verbs_net_open,
	.net_close = lx_o2ib_port_close,
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
