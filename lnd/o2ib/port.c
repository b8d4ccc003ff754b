/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ports of o2iblnd: what the nets of an address share, and the events that concern all of
 * them: time, links, the device. Whichever port of a device reads its event first passes it on
 * to the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../user/io/netif.h"
#include "../../user/io/poll.h"
#include "verbs.h"

#define TICK_MS 500
#define BACKLOG 128

/* A process may have several nodes, each with its own lock; this one is for all. */
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lx_list ports = { &ports, &ports };

/* ---- events that come with time ---------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
	struct lx_o2ib_port *port = timer->data;
	struct lx_o2ib_net *net, *next;
	struct lx_o2ib_link *link, *tmp;
	uint64_t now;

	lx_loop_enter(port->loop);
	now = lx_env_now(port->env);
	lx_list_for_each_safe (net, next, &port->nets, port_link)
		lx_o2ib_tick(net);
	lx_list_for_each_safe (link, tmp, &port->links, link)
		port->ops->link_tick(link, now);
	lx_loop_leave(port->loop);
}

/* ---- up and down --------------------------------------------------------------------- */

bool lx_o2ib_port_active(const struct lx_o2ib_port *port)
{
	struct ibv_port_attr attr;

	return !port->lost && port->listener &&
	       !ibv_query_port(port->verbs, port->listener->port_num, &attr) &&
	       attr.state == IBV_PORT_ACTIVE;
}

/* Tells the nets if the link has changed. @starting: the kernel may not have noted a carrier. */
static void look(struct lx_o2ib_port *port, bool starting)
{
	struct lx_o2ib_net *net;
	enum lx_down_why down;
	bool was_down;
	struct lx_netif netif;
	union lx_addr addr;

	if (port->stopping)
		return;
	lx_addr_init(&addr, &port->addr, 4, 0);
	if (lx_netif_by_addr(&addr, "", &netif))
		down = LX_DOWN_ADDRESS;
	else
		down = lx_netif_down(&netif, starting);
	if (!down && !lx_o2ib_port_active(port))
		down = LX_DOWN_PORT;
	if (down == port->down)
		return;
	was_down = port->down;
	port->down = down;
	lx_list_for_each (net, &port->nets, port_link) {
		if (!down)
			lx_info("ni=%s state=up", lx_nid_str(&net->ni->nid));
		else if (!was_down && !port->lost)
			lx_warn("ni=%s reason=\"its port is down\" action=\"NI is down\" "
				"next=\"ip link show %s; rdma link\"",
				lx_nid_str(&net->ni->nid), net->ni->ifname);
		lx_lnd_link(net->ni, down);
	}
}

static void on_link_change(void *arg)
{
	struct lx_o2ib_port *port = arg;

	lx_loop_enter(port->loop);
	look(port, false);
	lx_loop_leave(port->loop);
}

/*
 * rxe cannot take its device away from a program: removal waits until the program ends. Other
 * drivers can.
 */
void lx_o2ib_port_lose(struct lx_o2ib_port *port, const char *reason)
{
	struct lx_o2ib_net *net;

	if (port->lost)
		return;
	port->lost = true;
	lx_list_for_each (net, &port->nets, port_link) {
		lx_err("ni=%s reason=\"%s\" action=\"NI is down\" next=\"lnetx net del, and net "
		       "add when it is back; rxe: stop lnetxd, its removal waits for that\"",
		       lx_nid_str(&net->ni->nid), reason);
		lx_o2ib_net_lost(net, -ENODEV);
	}
	look(port, false);
}

/* ---- events of the device ---------------------------------------------------------- */

/* An event of the device, for all of its ports. */
static void device_changed(const struct lx_o2ib_port *from, bool broken)
{
	struct lx_o2ib_port *port;

	pthread_mutex_lock(&ports_lock);
	lx_list_for_each (port, &ports, link) {
		if (port->env != from->env || port->verbs != from->verbs)
			continue;
		if (broken)
			lx_o2ib_port_lose(port, "its RDMA device has failed; see dmesg");
		else
			look(port, false);
	}
	pthread_mutex_unlock(&ports_lock);
}

static struct lx_o2ib_link *link_of_qp(const struct lx_o2ib_port *from, const struct ibv_qp *qp)
{
	struct lx_o2ib_link *link;

	lx_list_for_each (link, &from->links, link) {
		if (link->conn && link->id && link->id->qp == qp)
			return link;
	}
	return NULL;
}

static struct lx_o2ib_link *link_of_cq(const struct lx_o2ib_port *from, const struct ibv_cq *cq)
{
	struct lx_o2ib_link *link;

	lx_list_for_each (link, &from->links, link) {
		if (link->conn && link->cq == cq)
			return link;
	}
	return NULL;
}

/* The connection of a failed queue, on any port of the device. */
static void device_queue(const struct lx_o2ib_port *from, const struct ibv_async_event *ev,
			 bool is_cq)
{
	struct lx_o2ib_link *link = NULL;
	struct lx_o2ib_port *port;

	pthread_mutex_lock(&ports_lock);
	lx_list_for_each (port, &ports, link) {
		if (!link && port->env == from->env && port->verbs == from->verbs)
			link = is_cq ? link_of_cq(port, ev->element.cq) :
				       link_of_qp(port, ev->element.qp);
	}
	pthread_mutex_unlock(&ports_lock);
	if (link)
		lx_o2ib_conn_fault(link->conn, -EIO, ibv_event_type_str(ev->event_type));
}

static void device_event(struct lx_o2ib_port *port, const struct ibv_async_event *ev)
{
	switch (ev->event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
		device_changed(port, false);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		device_changed(port, true);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_PATH_MIG_ERR:
		device_queue(port, ev, false);
		break;
	case IBV_EVENT_CQ_ERR:
		device_queue(port, ev, true);
		break;
	default:
		break; /* the CM does the rest */
	}
}

static void on_async(uv_poll_t *poll, int status, int events)
{
	struct lx_o2ib_port *port = poll->data;
	struct ibv_async_event ev, copy;

	lx_loop_enter(port->loop);
	for (int i = 0; i < LX_O2IB_EVENTS_A_TURN && !ibv_get_async_event(port->verbs, &ev); i++) {
		copy = ev;
		ibv_ack_async_event(&ev);
		device_event(port, &copy);
	}
	lx_poll_go_on(poll, status, UV_READABLE, on_async);
	lx_loop_leave(port->loop);
}

/* ---- what verbs.c sees to ---------------------------------------------------------- */

static void on_comp(uv_poll_t *poll, int status, int events)
{
	struct lx_o2ib_port *port = poll->data;

	lx_loop_enter(port->loop);
	port->ops->comp_ready(port);
	lx_poll_go_on(poll, status, UV_READABLE, on_comp);
	lx_loop_leave(port->loop);
}

static void on_cm(uv_poll_t *poll, int status, int events)
{
	struct lx_o2ib_port *port = poll->data;

	lx_loop_enter(port->loop);
	port->ops->cm_ready(port);
	lx_poll_go_on(poll, status, UV_READABLE, on_cm);
	lx_loop_leave(port->loop);
}

/* ---- life -------------------------------------------------------------------------- */

/* The part that needs no loop. */
static void port_free(struct lx_o2ib_port *port)
{
	if (port->listener)
		rdma_destroy_id(port->listener);
	if (port->comp)
		ibv_destroy_comp_channel(port->comp);
	if (port->pd)
		ibv_dealloc_pd(port->pd);
	if (port->cm)
		rdma_destroy_event_channel(port->cm);
	if (port->async_fd >= 0)
		close(port->async_fd);
	free(port);
}

static void handle_gone(struct lx_o2ib_port *port)
{
	struct lx_o2ib_net *last = port->last;

	if (--port->n_handles)
		return;
	port_free(port);
	lx_o2ib_net_closed(last);
}

static void on_closed(uv_handle_t *handle)
{
	struct lx_o2ib_port *port = handle->data;
	struct lx_loop *loop = port->loop;

	lx_loop_enter(loop);
	handle_gone(port);
	lx_loop_leave(loop);
}

static void on_watch_closed(void *arg)
{
	handle_gone(arg);
}

static void close_handles(struct lx_o2ib_port *port)
{
	uv_close((uv_handle_t *)&port->cm_poll, on_closed);
	uv_close((uv_handle_t *)&port->comp_poll, on_closed);
	uv_close((uv_handle_t *)&port->async_poll, on_closed);
	uv_close((uv_handle_t *)&port->tick, on_closed);
	if (port->watch)
		lx_netwatch_free(port->watch, on_watch_closed);
}

static void open_handles(struct lx_o2ib_port *port)
{
	uv_loop_t *uv = lx_loop_uv(port->loop);

	uv_poll_init(uv, &port->cm_poll, port->cm->fd);
	uv_poll_init(uv, &port->comp_poll, port->comp->fd);
	uv_poll_init(uv, &port->async_poll, port->async_fd);
	uv_timer_init(uv, &port->tick);
	port->cm_poll.data = port->comp_poll.data = port->async_poll.data = port;
	port->tick.data = port;
	uv_poll_start(&port->cm_poll, UV_READABLE, on_cm);
	uv_poll_start(&port->comp_poll, UV_READABLE, on_comp);
	uv_poll_start(&port->async_poll, UV_READABLE, on_async);
	uv_timer_start(&port->tick, on_tick, TICK_MS, TICK_MS);
	port->n_handles += 4;
}

static void on_work(struct lx_work *work)
{
	struct lx_o2ib_port *port = lx_container_of(work, struct lx_o2ib_port, work);

	if (!uv_handle_get_loop((uv_handle_t *)&port->tick))
		open_handles(port);
	if (port->stopping && lx_list_empty(&port->links))
		close_handles(port);
}

void lx_o2ib_port_link_gone(struct lx_o2ib_port *port)
{
	if (port->stopping && lx_list_empty(&port->links))
		lx_loop_post(port->loop, &port->work);
}

static int nonblock(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ? -errno : 0;
}

static int port_listen(struct lx_o2ib_port *port)
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

static int port_new(struct lx_env *env, struct in_addr addr, const struct lx_o2ib_port_ops *ops,
		    struct lx_o2ib_port **ret_port)
{
	struct lx_o2ib_port *port = calloc(1, sizeof(*port));
	int r;

	if (!port)
		return -ENOMEM;
	port->ops = ops;
	port->env = env;
	port->loop = lx_env_loop(env, 0);
	port->addr = addr;
	port->async_fd = -1;
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
	if (!r) {
		port->async_fd = fcntl(port->verbs->async_fd, F_DUPFD_CLOEXEC, 0);
		r = port->async_fd < 0 ? -errno : nonblock(port->async_fd);
	}
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

int lx_o2ib_port_open(struct lx_o2ib_net *net, const struct lx_o2ib_port_ops *ops)
{
	struct lx_o2ib_port *port, *found = NULL;
	int r = 0;

	if (!net->ni->env)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&ports_lock);
	lx_list_for_each (port, &ports, link) {
		if (port->env == net->ni->env && port->addr.s_addr == net->addr.s_addr)
			found = port;
	}
	if (!found) {
		r = port_new(net->ni->env, net->addr, ops, &found);
		if (!r)
			lx_list_append(&ports, &found->link);
	}
	pthread_mutex_unlock(&ports_lock);
	if (r)
		return r;
	net->port = found;
	lx_list_append(&found->nets, &net->port_link);
	look(found, true);
	if (found->down)
		lx_lnd_link(net->ni, found->down);
	return 0;
}

void lx_o2ib_port_close(struct lx_o2ib_net *net)
{
	struct lx_o2ib_port *port = lx_o2ib_port_of(net);

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
	/* A new NI with this address may listen immediately. */
	rdma_destroy_id(port->listener);
	port->listener = NULL;
	lx_o2ib_port_link_gone(port);
}

