/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "simib.h"

#include <assert.h>
#include <errno.h>

#include "../../lnd/o2ib/o2ib.h"
#include "../../lnd/o2ib/priv.h"

struct simib_knobs simib;
unsigned int simib_sent[256], simib_rejects[16], simib_established;
unsigned int simib_regs, simib_live;
size_t simib_pinned;

static struct lx_sim *sim;
static const struct lx_o2ib_hw *real_hw;
static uint32_t next_key;

/* One address with its NIs; they may be on several nets. */
struct port {
	struct lx_list link;
	struct in_addr addr;
	struct lx_list nets;
};

/* One end of a connection. Kept until the end of the test. */
struct qp {
	struct lx_list link;
	struct lx_o2ib_conn *conn; /* NULL: closed */
	struct qp *peer;
	uint64_t last_at; /* when the last message arrives */
	unsigned int *recv;
	unsigned int n_recv, recv_at, max_recv;
	void *answer; /* of a raw request: where the answer goes */
	size_t *answer_len;
	int *verdict;
};

struct region {
	struct lx_list link;
	char *addr;
	size_t len;
	uint32_t key;
	bool remote, live;
};

enum what { REQUEST, REPLY, REFUSE, READY, GOODBYE, MESSAGE, COMPLETION };

struct moment {
	enum what what;
	struct qp *qp;
	struct in_addr to;
	uint8_t data[LX_O2IB_MSG_MAX];
	size_t len;
	unsigned int slot;
	bool ok;
	enum lx_o2ib_cm_reject why;
	uint16_t source_port;
	struct lx_o2ib_write *writes;
	unsigned int n_writes;
};

static struct lx_list ports, qps, regions;

/* ---- moments ------------------------------------------------------------------------- */

static void happen(void *arg);

static uint64_t delay(void)
{
	return 1000 + lx_sim_random(sim) % 50000;
}

static struct moment *moment_new(enum what what, struct qp *qp)
{
	struct moment *m = calloc(1, sizeof(*m));

	assert(m);
	m->what = what;
	m->qp = qp;
	return m;
}

/* Messages of one queue pair arrive in order. */
static void later(struct moment *m)
{
	uint64_t at = lx_sim_now(sim) + delay();

	if (m->qp && at <= m->qp->last_at)
		at = m->qp->last_at + 1;
	if (m->qp)
		m->qp->last_at = at;
	lx_sim_at(sim, at - lx_sim_now(sim), happen, m);
}

static bool chance(unsigned int per_mille)
{
	return per_mille && lx_sim_random(sim) % 1000 < per_mille;
}

/* ---- queue pairs --------------------------------------------------------------------- */

static struct qp *qp_new(struct lx_o2ib_conn *conn)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	assert(qp);
	qp->conn = conn;
	if (conn) {
		conn->hw = qp;
		qp->max_recv = conn->n_rxs;
		qp->recv = calloc(conn->n_rxs, sizeof(*qp->recv));
		assert(qp->recv);
	}
	lx_list_append(&qps, &qp->link);
	return qp;
}

static int fake_post_recv(struct lx_o2ib_conn *conn, unsigned int rx)
{
	struct qp *qp = conn->hw;

	assert(qp->n_recv < qp->max_recv);
	qp->recv[(qp->recv_at + qp->n_recv++) % qp->max_recv] = rx;
	return 0;
}

static void post_all(struct lx_o2ib_conn *conn)
{
	for (unsigned int i = 0; i < conn->n_rxs; i++)
		fake_post_recv(conn, i);
}

static void fake_close(struct lx_o2ib_conn *conn)
{
	struct qp *qp = conn->hw;

	conn->hw = NULL;
	if (!qp)
		return;
	qp->conn = NULL;
	if (qp->peer)
		later(moment_new(GOODBYE, qp->peer));
}

static void fake_free(struct lx_o2ib_conn *conn)
{
	assert(!conn->hw);
}

static int fake_post_send(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
			  const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	struct moment *m = moment_new(MESSAGE, conn->hw);
	const char *buf = lx_o2ib_conn_slot_buf(conn, slot);

	assert(nob <= sizeof(m->data));
	memcpy(m->data, buf, nob);
	m->len = nob;
	m->slot = slot;
	if (n_writes) {
		m->writes = calloc(n_writes, sizeof(*writes));
		assert(m->writes);
		memcpy(m->writes, writes, n_writes * sizeof(*writes));
		m->n_writes = n_writes;
	}
	simib_sent[(uint8_t)buf[6]]++;
	later(m);
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------- */

static int fake_reg(struct lx_o2ib_net *net, void *addr, size_t len, bool remote,
		    struct lx_o2ib_mr *ret_mr)
{
	struct region *r;

	if (simib.memlock && simib_pinned + len > simib.memlock)
		return -ENOMEM;
	r = calloc(1, sizeof(*r));
	assert(r && len);
	*r = (struct region){ .addr = addr, .len = len, .key = ++next_key, .remote = remote,
			      .live = true };
	lx_list_append(&regions, &r->link);
	*ret_mr = (struct lx_o2ib_mr){ r, r->key, r->key };
	simib_regs++;
	simib_live++;
	simib_pinned += len;
	return 0;
}

static void fake_dereg(struct lx_o2ib_mr *mr)
{
	struct region *r = mr->priv;

	assert(r->live);
	r->live = false;
	simib_live--;
	simib_pinned -= r->len;
	lx_list_del(&r->link);
	free(r);
}

static bool allowed(const void *addr, size_t len, uint32_t key, bool remote)
{
	struct region *r;

	lx_list_for_each (r, &regions, link) {
		if (r->key == key && (!remote || r->remote) && (const char *)addr >= r->addr &&
		    (const char *)addr + len <= r->addr + r->len)
			return true;
	}
	return false;
}

static bool do_write(const struct lx_o2ib_write *w)
{
	uint64_t to = w->remote;

	for (unsigned int i = 0; i < w->n_sge; i++) {
		assert(allowed(w->sge[i].addr, w->sge[i].length, w->sge[i].lkey, false));
		if (!allowed((void *)(uintptr_t)to, w->sge[i].length, w->rkey, true))
			return false;
		memmove((void *)(uintptr_t)to, w->sge[i].addr, w->sge[i].length);
		to += w->sge[i].length;
	}
	return true;
}

/* ---- connections ------------------------------------------------------------------------- */

static struct port *port_at(struct in_addr addr)
{
	struct port *port;

	lx_list_for_each (port, &ports, link) {
		if (port->addr.s_addr == addr.s_addr)
			return port;
	}
	return NULL;
}

static void tick(void *arg)
{
	struct port *port = arg;
	struct lx_o2ib_net *net, *next;

	if (lx_list_empty(&port->nets))
		return;
	lx_list_for_each_safe (net, next, &port->nets, port_link)
		lx_o2ib_tick(net);
	lx_sim_at(sim, LX_S_NS, tick, port);
}

static int fake_net_open(struct lx_o2ib_net *net)
{
	struct port *port = port_at(net->addr);

	if (!port) {
		port = calloc(1, sizeof(*port));
		assert(port);
		port->addr = net->addr;
		lx_list_init(&port->nets);
		lx_list_append(&ports, &port->link);
	}
	if (lx_list_empty(&port->nets))
		lx_sim_at(sim, LX_S_NS, tick, port);
	net->port = port;
	lx_list_append(&port->nets, &net->port_link);
	return 0;
}

static void fake_net_close(struct lx_o2ib_net *net)
{
	lx_list_del(&net->port_link);
	lx_o2ib_net_closed(net);
}

static int fake_dial(struct lx_o2ib_conn *conn, const void *pdata, size_t len)
{
	struct moment *m = moment_new(REQUEST, qp_new(conn));

	assert(len == LX_O2IB_CONN_BYTES);
	post_all(conn);
	memcpy(m->data, pdata, len);
	m->len = len;
	m->source_port = 1023;
	memcpy(&m->to, conn->nid.addr, 4);
	later(m);
	return 0;
}

static int fake_accept(struct lx_o2ib_conn *conn, void *request, const void *pdata, size_t len)
{
	struct qp *dialler = request, *qp = qp_new(conn);
	struct moment *m = moment_new(REPLY, dialler);

	post_all(conn);
	qp->peer = dialler;
	dialler->peer = qp;
	memcpy(m->data, pdata, len);
	m->len = len;
	later(m);
	return 0;
}

static void fake_reject(struct lx_o2ib_net *net, void *request, const void *pdata, size_t len)
{
	struct moment *m = moment_new(REFUSE, request);

	assert(len <= 24);
	memcpy(m->data, pdata, len);
	m->len = 148; /* as the CM pads it */
	m->why = LX_O2IB_CM_CONSUMER;
	simib_rejects[m->data[6] & 15]++;
	later(m);
}

static void request(struct moment *m)
{
	struct port *port = port_at(m->to);
	struct moment *no;

	if (simib.silent)
		return;
	if (port && !lx_list_empty(&port->nets) && !chance(simib.refuse)) {
		lx_o2ib_peer_request(&port->nets, m->qp, m->data, m->len, m->source_port);
		return;
	}
	no = moment_new(REFUSE, m->qp);
	no->why = port ? LX_O2IB_CM_OTHER : LX_O2IB_CM_NO_LISTENER;
	later(no);
}

static void verdict(struct qp *qp, struct moment *m, int value)
{
	if (!qp->verdict)
		return;
	*qp->verdict = value;
	memcpy(qp->answer, m->data, m->len < 148 ? m->len : 148);
	*qp->answer_len = m->len;
	qp->verdict = NULL;
}

static void reply(struct moment *m)
{
	struct qp *qp = m->qp;

	verdict(qp, m, 0);
	if (!qp->conn) {
		if (qp->peer)
			later(moment_new(GOODBYE, qp->peer));
		return;
	}
	simib_established++;
	later(moment_new(READY, qp->peer));
	lx_o2ib_peer_established(qp->conn, m->data, m->len);
}

/* ---- messages ------------------------------------------------------------------------------ */

static void complete(struct moment *m, bool ok)
{
	struct moment *done = moment_new(COMPLETION, m->qp);

	done->slot = m->slot;
	done->ok = ok;
	/* Completions are not ordered with messages: real hardware reports them at its own time. */
	lx_sim_at(sim, delay(), happen, done);
}

static void message(struct moment *m)
{
	struct qp *to = m->qp->peer;
	unsigned int rx;

	if (simib.silent || !m->qp->conn)
		return;
	if (!to->conn || chance(simib.failure)) {
		complete(m, false);
		return;
	}
	for (unsigned int i = 0; i < m->n_writes; i++) {
		if (!do_write(&m->writes[i])) {
			complete(m, false);
			return;
		}
	}
	assert_true(to->n_recv > 0); /* sent without a credit */
	rx = to->recv[to->recv_at];
	to->recv_at = (to->recv_at + 1) % to->max_recv;
	to->n_recv--;
	memcpy(lx_o2ib_conn_rx_buf(to->conn, rx), m->data, m->len);
	complete(m, true);
	lx_o2ib_rx_received(to->conn, rx, m->len, true);
}

static void happen(void *arg)
{
	struct moment *m = arg;
	struct qp *qp = m->qp;

	switch (m->what) {
	case REQUEST:
		request(m);
		break;
	case REPLY:
		reply(m);
		break;
	case REFUSE:
		verdict(qp, m, m->why == LX_O2IB_CM_CONSUMER ? m->data[6] : -1);
		if (qp->conn)
			lx_o2ib_peer_rejected(qp->conn, m->why, m->data, m->len);
		break;
	case READY:
		if (qp->conn)
			lx_o2ib_peer_established(qp->conn, NULL, 0);
		break;
	case GOODBYE:
		if (qp->conn)
			lx_o2ib_peer_failed(qp->conn, 0);
		break;
	case MESSAGE:
		message(m);
		break;
	case COMPLETION:
		if (qp->conn)
			lx_o2ib_conn_sent(qp->conn, m->slot, m->ok);
		break;
	}
	free(m->writes);
	free(m);
}

int simib_request(const char *addr, const void *pdata, size_t len, uint16_t source_port,
		   void *ret_answer, size_t *ret_len)
{
	struct qp *qp = qp_new(NULL);
	struct moment *m = moment_new(REQUEST, qp);
	struct lx_nid at = nid(addr);
	int found = -2;

	memcpy(m->data, pdata, len);
	m->len = len;
	m->source_port = source_port;
	memcpy(&m->to, at.addr, 4);
	qp->answer = ret_answer;
	qp->answer_len = ret_len;
	qp->verdict = &found;
	later(m);
	lx_sim_run(sim, SEC / 10);
	qp->verdict = NULL;
	return found;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static const struct lx_o2ib_hw fake = {
	.net_open = fake_net_open,
	.net_close = fake_net_close,
	.dial = fake_dial,
	.accept = fake_accept,
	.reject = fake_reject,
	.close = fake_close,
	.free = fake_free,
	.post_recv = fake_post_recv,
	.post_send = fake_post_send,
	.reg = fake_reg,
	.dereg = fake_dereg,
};

void simib_begin(struct lx_sim *the_sim)
{
	sim = the_sim;
	real_hw = lx_o2ib_hw;
	lx_o2ib_hw = &fake;
	lx_list_init(&ports);
	lx_list_init(&qps);
	lx_list_init(&regions);
	memset(&simib, 0, sizeof(simib));
	memset(simib_sent, 0, sizeof(simib_sent));
	memset(simib_rejects, 0, sizeof(simib_rejects));
	simib_established = simib_regs = 0;
	lx_tunable_defaults(lx_o2ib_lnd.tunables, &lx_o2ib_tun);
}

void simib_end(void)
{
	struct port *port;
	struct qp *qp;

	lx_sim_free(sim);
	assert_int_equal(simib_live, 0);
	assert_int_equal(simib_pinned, 0);
	while ((qp = lx_list_first(&qps, struct qp, link))) {
		assert_null(qp->conn);
		lx_list_del(&qp->link);
		free(qp->recv);
		free(qp);
	}
	while ((port = lx_list_first(&ports, struct port, link))) {
		assert_true(lx_list_empty(&port->nets));
		lx_list_del(&port->link);
		free(port);
	}
	lx_o2ib_hw = real_hw;
}

void simib_ni_add(struct lx_sim_node *node, const char *text, int peer_credits)
{
	struct lx_conf_ni conf = { .nid = nid(text) };

	memset(&conf.tun, 0xff, sizeof(conf.tun));
	memset(&conf.lnd_tun, 0xff, sizeof(conf.lnd_tun));
	conf.tun.peer_credits = peer_credits;
	conf.net = lx_nid_net(&conf.nid);
	assert_int_equal(lx_core_ni_start(node->core, &lx_o2ib_lnd, NULL, &conf, NULL), 0);
}
