/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulated transport and the clock that drives it.
 *
 * A message in flight is a struct xfer in the queue of a struct conn. Each conn
 * delivers in order and one at a time: while the head waits for recv(), nothing
 * behind it moves, like TCP's back-pressure.
 *
 *	send() ─▶ conn queue ─ delay ─▶ lx_lnd_parse() ─ NOW ─▶ copy ─▶ next
 *	                                      └─ LATER: recv() ──▲
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/iov.h"
#include "../../user/base/list.h"
#include "../../user/core/core.h"
#include "../../user/core/monitor.h"
#include "../../user/io/rbuf.h"
#include "../../lnd/lo/lo.h"
#include "sim.h"

struct xfer {
	struct lx_list link;
	struct conn *conn;       /* NULL: the connection broke after the receiver got it */
	struct lx_hdr hdr;
	struct lx_msg *msg;      /* the sender's; NULL: already finalized */
	struct lx_msg *reply;    /* of an optimised GET */
	struct lx_payload sink;
	char *copy;              /* of the payload, if buffered */
	uint64_t due_ns;
	bool parsed, received;
};

struct conn {
	struct lx_list link;
	struct lx_sim *sim;
	struct lx_nid from, to;
	unsigned int index;
	struct lx_list queue; /* of xfer */
	bool armed;           /* a timer for the head is pending */
	bool held;
};

struct moment {
	uint64_t at_ns, seq;
	void (*fn)(void *arg);
	void *arg;
};

struct told { /* an event on its way to an application */
	struct lx_list link;
	lx_event_fn fn;
	struct lx_event event;
};

enum trouble { DEAD, MUTE, FAILING, FAILING_FROM };

/* A NID with an injected fault. */
struct ill {
	struct lx_list link;
	enum trouble how;
	struct lx_nid nid;
	enum lx_hstatus hstatus; /* FAILING, FAILING_FROM */
	int status;
};

struct lx_sim {
	struct lx_lnd lnd; /* what cores see; found from an NI by container_of */
	struct lx_sim_knobs knobs;
	uint64_t now_ns, rng, seq;
	struct moment *heap;
	size_t n_moments, cap_moments;
	struct lx_list conns, events, ills, nis;
	struct lx_sim_node *nodes;
	void (*watch)(const struct lx_hdr *hdr, const struct lx_nid *next_hop);
};

struct sim_ni {
	struct lx_list link; /* in lx_sim.nis */
	struct lx_ni *ni;
};

/* ---- randomness and time ------------------------------------------------------------ */

uint64_t lx_sim_random(struct lx_sim *sim)
{
	uint64_t z = (sim->rng += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static bool chance(struct lx_sim *sim, unsigned int per_mille)
{
	return per_mille && lx_sim_random(sim) % 1000 < per_mille;
}

uint64_t lx_sim_now(const struct lx_sim *sim)
{
	return sim->now_ns;
}

struct lx_sim_knobs *lx_sim_knobs(struct lx_sim *sim)
{
	return &sim->knobs;
}

static bool earlier(const struct moment *a, const struct moment *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->seq < b->seq;
}

static void moment_swap(struct moment *a, struct moment *b)
{
	struct moment t = *a;

	*a = *b;
	*b = t;
}

void lx_sim_at(struct lx_sim *sim, uint64_t ns, void (*fn)(void *arg), void *arg)
{
	size_t i = sim->n_moments++;

	if (sim->n_moments > sim->cap_moments) {
		sim->cap_moments = sim->cap_moments ? 2 * sim->cap_moments : 64;
		sim->heap = realloc(sim->heap, sim->cap_moments * sizeof(*sim->heap));
		assert(sim->heap);
	}
	sim->heap[i] = (struct moment){ sim->now_ns + ns, sim->seq++, fn, arg };
	for (; i && earlier(&sim->heap[i], &sim->heap[(i - 1) / 2]); i = (i - 1) / 2)
		moment_swap(&sim->heap[i], &sim->heap[(i - 1) / 2]);
}

static struct moment moment_pop(struct lx_sim *sim)
{
	struct moment first = sim->heap[0];
	size_t i = 0, n = --sim->n_moments;

	sim->heap[0] = sim->heap[n];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < n && earlier(&sim->heap[child + 1], &sim->heap[child]))
			child++;
		if (child >= n || !earlier(&sim->heap[child], &sim->heap[i]))
			return first;
		moment_swap(&sim->heap[i], &sim->heap[child]);
		i = child;
	}
}

/* ---- connections ---------------------------------------------------------------------- */

static struct ill *find_ill(struct lx_sim *sim, enum trouble how, const struct lx_nid *nid)
{
	struct ill *ill;

	lx_list_for_each(ill, &sim->ills, link) {
		if (ill->how == how && lx_nid_eq(&ill->nid, nid))
			return ill;
	}
	return NULL;
}

static struct lx_ni *ni_by_nid(struct lx_sim *sim, const struct lx_nid *nid)
{
	struct sim_ni *s;

	if (find_ill(sim, DEAD, nid))
		return NULL;
	lx_list_for_each(s, &sim->nis, link) {
		if (lx_nid_eq(&s->ni->nid, nid))
			return s->ni;
	}
	return NULL;
}

static void xfer_free(struct xfer *x)
{
	lx_list_del(&x->link);
	free(x->copy);
	free(x);
}

/* Completes the message at the sender. */
static void sender_done(struct xfer *x, int status, enum lx_hstatus hstatus)
{
	struct lx_msg *msg = x->msg, *reply = x->reply;

	x->msg = x->reply = NULL;
	if (reply) {
		reply->hstatus = hstatus;
		lx_lnd_finalize(reply, status);
	}
	if (msg) {
		msg->hstatus = hstatus;
		lx_lnd_finalize(msg, status);
	}
}

/*
 * Breaks the connection. Messages that the receiving core holds stay valid as an rx,
 * and fail at recv().
 */
static void conn_break(struct conn *conn, int status, enum lx_hstatus hstatus)
{
	struct xfer *x, *tmp;
	struct lx_list doomed;

	lx_list_init(&doomed);
	lx_list_splice(&doomed, &conn->queue);
	lx_list_for_each_safe(x, tmp, &doomed, link) {
		lx_list_del(&x->link);
		x->conn = NULL;
		sender_done(x, status, hstatus);
		if (!x->parsed || x->received)
			xfer_free(x);
	}
}

static void conn_deliver(void *arg);
static void take(struct xfer *x, struct lx_msg *msg);

static void conn_arm(struct conn *conn)
{
	struct xfer *head = lx_list_first(&conn->queue, struct xfer, link);
	uint64_t now = conn->sim->now_ns;

	if (!head || conn->armed || head->parsed)
		return;
	conn->armed = true;
	lx_sim_at(conn->sim, head->due_ns > now ? head->due_ns - now : 0, conn_deliver, conn);
}

static void head_done(struct xfer *x)
{
	struct conn *conn = x->conn;

	xfer_free(x);
	if (conn)
		conn_arm(conn);
}

static void conn_deliver(void *arg)
{
	struct conn *conn = arg;
	struct lx_sim *sim = conn->sim;
	struct xfer *x = lx_list_first(&conn->queue, struct xfer, link);
	struct lx_rx_from from = { .nid = conn->from };
	struct lx_msg *msg;
	struct lx_ni *to;
	bool lost;
	int r;

	conn->armed = false;
	if (!x || x->parsed || conn->held)
		return;
	to = ni_by_nid(sim, &conn->to);
	if (!to || chance(sim, sim->knobs.failure)) {
		struct lx_ni *sender = ni_by_nid(sim, &conn->from);

		conn_break(conn, to ? -ECONNRESET : -EHOSTUNREACH, LX_HSTATUS_REMOTE_DROPPED);
		if (sender && !to)
			lx_lnd_peer_lost(sender, &conn->to, LX_DOWN_LOST, -EHOSTUNREACH);
		return;
	}
	/* An optimised GET ends with its answer; if that is lost, the sender notices. */
	lost = find_ill(sim, MUTE, &conn->to);
	if (lost || (!x->reply && chance(sim, sim->knobs.loss))) {
		if (x->reply)
			sender_done(x, -ETIMEDOUT, LX_HSTATUS_REMOTE_TIMEOUT);
		else
			sender_done(x, 0, LX_HSTATUS_OK);
		head_done(x);
		return;
	}
	x->parsed = true;
	from.rdma_get = x->sink.length > 0;
	r = lx_lnd_parse(to, &x->hdr, &from, x, &msg);
	if (r == LX_RX_NOW) {
		take(x, msg);
	} else if (r < 0) {
		x->received = true;
		conn_break(conn, -EPROTO, LX_HSTATUS_REMOTE_DROPPED);
	}
}

static struct conn *conn_obtain(struct lx_sim *sim, const struct lx_nid *from,
				const struct lx_nid *to)
{
	unsigned int index = sim->knobs.conns ? lx_sim_random(sim) % sim->knobs.conns : 0;
	struct conn *conn;

	lx_list_for_each(conn, &sim->conns, link) {
		if (conn->index == index && lx_nid_eq(&conn->from, from) &&
		    lx_nid_eq(&conn->to, to))
			return conn;
	}
	conn = calloc(1, sizeof(*conn));
	assert(conn);
	conn->sim = sim;
	conn->from = *from;
	conn->to = *to;
	conn->index = index;
	lx_list_init(&conn->queue);
	lx_list_append(&sim->conns, &conn->link);
	return conn;
}

/* ---- the transport ------------------------------------------------------------------------ */

static struct lx_sim *sim_of(struct lx_ni *ni)
{
	return lx_container_of(ni->lnd, struct lx_sim, lnd);
}

static int sim_startup(struct lx_ni *ni)
{
	struct sim_ni *s = calloc(1, sizeof(*s));

	assert(s);
	s->ni = ni;
	ni->lnd_data = s;
	if (ni->tun.peer_timeout == LX_UNSET)
		ni->tun.peer_timeout = 180;
	if (ni->tun.peer_buffer_credits == LX_UNSET)
		ni->tun.peer_buffer_credits = 0;
	lx_list_append(&sim_of(ni)->nis, &s->link);
	return 0;
}

static void sim_shutdown(struct lx_ni *ni)
{
	struct lx_sim *sim = sim_of(ni);
	struct sim_ni *s = ni->lnd_data;
	struct conn *conn;

	lx_list_del(&s->link);
	free(s);
	ni->lnd_data = NULL;
	lx_list_for_each(conn, &sim->conns, link) {
		if (lx_nid_eq(&conn->from, &ni->nid))
			conn_break(conn, -ESHUTDOWN, LX_HSTATUS_LOCAL_ABORTED);
		else if (lx_nid_eq(&conn->to, &ni->nid))
			conn_break(conn, -ECONNRESET, LX_HSTATUS_REMOTE_DROPPED);
	}
	lx_lnd_stopped(ni);
}

/* Payload bytes of a message, wherever they are. */
static const struct iovec *payload_iov(const struct lx_payload *p, struct iovec *one)
{
	void *mem;
	int r;

	if (!p->rbuf)
		return p->iov;
	r = lx_rbuf_memory(p->rbuf, &mem);
	assert(!r);
	*one = (struct iovec){ mem, p->rbuf->size };
	return one;
}

static void buffered_done(void *arg)
{
	lx_lnd_finalize(arg, 0);
}

static void copy_payload(struct xfer *x, const struct lx_payload *p)
{
	struct iovec one, dst;

	x->copy = malloc(p->length + 1);
	assert(x->copy);
	dst = (struct iovec){ x->copy, p->length };
	lx_iov_copy(&dst, 0, payload_iov(p, &one), p->offset, p->length);
}

static int sim_send(struct lx_ni *ni, struct lx_msg *msg)
{
	struct lx_sim *sim = sim_of(ni);
	struct lx_sim_knobs *k = &sim->knobs;
	const struct ill *ill = find_ill(sim, FAILING, &msg->target.nid);
	struct conn *conn;
	struct xfer *x;

	/* Nothing is sent over an NI that was shut down. */
	assert(ni->lnd_data);
	if (!ill)
		ill = find_ill(sim, FAILING_FROM, &ni->nid);
	if (ill) {
		msg->hstatus = ill->hstatus;
		return ill->status;
	}
	if (sim->watch)
		sim->watch(&msg->hdr, &msg->target.nid);
	conn = conn_obtain(sim, &ni->nid, &msg->target.nid);
	x = calloc(1, sizeof(*x));
	assert(x);
	x->conn = conn;
	x->hdr = msg->hdr;
	x->due_ns = sim->now_ns + k->delay_min_ns;
	if (k->delay_max_ns > k->delay_min_ns)
		x->due_ns += lx_sim_random(sim) % (k->delay_max_ns - k->delay_min_ns);
	x->msg = msg;
	if (k->rdma_get && msg->sink.length) {
		x->sink = msg->sink;
		x->reply = lx_lnd_reply_msg(ni, msg);
		if (!x->reply)
			x->sink.length = 0;
	}
	if (!x->reply && chance(sim, k->buffered)) {
		copy_payload(x, &msg->payload);
		x->msg = NULL;
		lx_sim_at(sim, 0, buffered_done, msg);
	}
	lx_list_append(&conn->queue, &x->link);
	conn_arm(conn);
	return 0;
}

/* The receiving core answers an optimised GET, or has nothing to send. */
static void recv_rdma_get(struct xfer *x, struct lx_msg *reply)
{
	struct lx_msg *mine = x->reply;
	struct iovec one;
	size_t n = reply ? reply->payload.length : 0;

	if (mine && reply) {
		if (n > x->sink.length)
			n = x->sink.length;
		lx_iov_copy(x->sink.iov, x->sink.offset, payload_iov(&reply->payload, &one),
			    reply->payload.offset, n);
		lx_lnd_reply_length(mine, n);
	}
	if (reply)
		lx_lnd_finalize(reply, mine ? 0 : -ECONNRESET);
	x->reply = NULL;
	if (mine) {
		mine->hstatus = LX_HSTATUS_OK;
		lx_lnd_finalize(mine, reply ? 0 : -ENODATA);
	}
}

static void recv_payload(struct xfer *x, struct lx_msg *msg)
{
	const struct lx_payload *dst = msg ? &msg->payload : NULL;
	struct iovec one, copy = { x->copy, dst ? dst->length : 0 };
	bool gone = !x->msg && !x->copy;

	if (dst && dst->length && !gone) {
		struct iovec dst_one;
		const struct iovec *to = payload_iov(dst, &dst_one);

		if (x->copy)
			lx_iov_copy(to, dst->offset, &copy, 0, dst->length);
		else
			lx_iov_copy(to, dst->offset, payload_iov(&x->msg->payload, &one),
				    x->msg->payload.offset, dst->length);
		if (dst->rbuf)
			dst->rbuf->length = dst->length;
	}
	if (!msg)
		return;
	msg->hstatus = gone ? LX_HSTATUS_REMOTE_DROPPED : LX_HSTATUS_OK;
	lx_lnd_finalize(msg, gone ? -ECONNRESET : 0);
}

static void take(struct xfer *x, struct lx_msg *msg)
{
	assert(!x->received);
	x->received = true;
	if (x->sink.length)
		recv_rdma_get(x, msg);
	else
		recv_payload(x, msg);
	sender_done(x, 0, LX_HSTATUS_OK);
	head_done(x);
}

static void sim_recv(struct lx_ni *ni, void *rx, struct lx_msg *msg)
{
	take(rx, msg);
}

/* ---- cores ----------------------------------------------------------------------------------- */

static uint64_t op_now(void *arg)
{
	struct lx_sim_node *node = arg;

	return node->sim->now_ns;
}

static uint64_t op_wall(void *arg)
{
	struct lx_sim_node *node = arg;

	/* Each incarnation is different, even at the same time. */
	return 1700000000000000000ULL + node->sim->now_ns + ++node->sim->seq;
}

static uint64_t op_random(void *arg)
{
	struct lx_sim_node *node = arg;

	return lx_sim_random(node->sim);
}

static void op_kick(void *arg)
{
	struct lx_sim_node *node = arg;

	node->kicked = true;
}

static void op_event(lx_event_fn fn, const struct lx_event *event, void *arg)
{
	struct lx_sim_node *node = arg;
	struct told *told = malloc(sizeof(*told));

	assert(told);
	told->fn = fn;
	told->event = *event;
	lx_list_append(&node->sim->events, &told->link);
}

static void op_change(const struct lx_change *change, void *arg)
{
	struct lx_sim_node *node = arg;

	if (node->change)
		node->change(node, change);
}

static void op_ni_stopped(struct lx_ni *ni, void *arg)
{
	struct lx_sim_node *node = arg;

	node->nis_stopped++;
}

static const struct lx_core_ops sim_ops = {
	.now = op_now,
	.wall = op_wall,
	.random = op_random,
	.kick = op_kick,
	.event = op_event,
	.change = op_change,
	.ni_stopped = op_ni_stopped,
	.rbuf_new = lx_rbuf_new,
	.rbuf_free = lx_rbuf_free,
	.rbuf_reset = lx_rbuf_reset,
};

int lx_sim_node_new(struct lx_sim *sim, struct lx_sim_node **ret_node)
{
	struct lx_sim_node *node = calloc(1, sizeof(*node));
	int r;

	assert(node);
	node->sim = sim;
	r = lx_core_new(&sim_ops, node, &node->core);
	if (!r)
		r = lx_core_start(node->core, &lx_lo_lnd);
	if (r) {
		free(node);
		return r;
	}
	node->next = sim->nodes;
	sim->nodes = node;
	*ret_node = node;
	return 0;
}

int lx_sim_ni_add(struct lx_sim_node *node, const char *nid, int peer_credits, int credits)
{
	struct lx_conf_ni conf = {
		.tun = { LX_UNSET, peer_credits, LX_UNSET, credits },
	};
	int r;

	r = lx_nid_parse(nid, &conf.nid);
	if (r)
		return r;
	conf.net = lx_nid_net(&conf.nid);
	return lx_core_ni_start(node->core, &node->sim->lnd, NULL, &conf, NULL);
}

void lx_sim_ni_del(struct lx_sim_node *node, const char *text)
{
	struct lx_core_ni *ni;
	struct lx_nid nid;

	assert(!lx_nid_parse(text, &nid));
	ni = lx_ni_lookup(node->core, &nid);
	assert(ni);
	lx_core_ni_stop(node->core, ni);
}

/* Sets or clears a fault of a NID; returns the new one. */
static struct ill *set_ill(struct lx_sim *sim, enum trouble how, const char *text, bool ill)
{
	struct lx_nid nid;
	struct ill *i;

	assert(!lx_nid_parse(text, &nid));
	i = find_ill(sim, how, &nid);
	if (i && !ill) {
		lx_list_del(&i->link);
		free(i);
		return NULL;
	}
	if (i || !ill)
		return i;
	i = calloc(1, sizeof(*i));
	assert(i);
	i->how = how;
	i->nid = nid;
	lx_list_append(&sim->ills, &i->link);
	return i;
}

void lx_sim_dead(struct lx_sim *sim, const char *text, bool dead)
{
	set_ill(sim, DEAD, text, dead);
}

void lx_sim_mute(struct lx_sim *sim, const char *text, bool mute)
{
	set_ill(sim, MUTE, text, mute);
}

static void fail(struct lx_sim *sim, enum trouble how, const char *text,
		 enum lx_hstatus hstatus, int status)
{
	struct ill *ill = set_ill(sim, how, text, hstatus != LX_HSTATUS_OK);

	if (!ill)
		return;
	ill->hstatus = hstatus;
	ill->status = status;
}

void lx_sim_fail(struct lx_sim *sim, const char *text, enum lx_hstatus hstatus, int status)
{
	fail(sim, FAILING, text, hstatus, status);
}

void lx_sim_fail_from(struct lx_sim *sim, const char *text, enum lx_hstatus hstatus, int status)
{
	fail(sim, FAILING_FROM, text, hstatus, status);
}

/* For tests with one conn between two NIs. */
void lx_sim_hold(struct lx_sim *sim, const char *from, const char *to, bool hold)
{
	struct lx_nid nid_from, nid_to;
	struct conn *conn;

	assert(!lx_nid_parse(from, &nid_from) && !lx_nid_parse(to, &nid_to));
	assert(sim->knobs.conns <= 1);
	conn = conn_obtain(sim, &nid_from, &nid_to);
	conn->held = hold;
	if (!hold)
		conn_arm(conn);
}

void lx_sim_watch(struct lx_sim *sim,
		  void (*fn)(const struct lx_hdr *hdr, const struct lx_nid *next_hop))
{
	sim->watch = fn;
}

/* ---- driving ----------------------------------------------------------------------------- */

static bool do_work(struct lx_sim *sim)
{
	for (struct lx_sim_node *node = sim->nodes; node; node = node->next) {
		if (!node->kicked)
			continue;
		node->kicked = false;
		lx_core_work(node->core);
		return true;
	}
	return false;
}

static bool do_event(struct lx_sim *sim)
{
	struct told *told = lx_list_first(&sim->events, struct told, link);

	if (!told)
		return false;
	lx_list_del(&told->link);
	assert(told->event.status <= 0);
	told->fn(&told->event);
	free(told);
	return true;
}

static struct lx_sim_node *next_tick(struct lx_sim *sim, uint64_t *ret_at)
{
	struct lx_sim_node *first = NULL;

	*ret_at = UINT64_MAX;
	for (struct lx_sim_node *node = sim->nodes; node; node = node->next) {
		uint64_t at = lx_core_deadline(node->core);

		if (!node->core->stopping && at < *ret_at) {
			*ret_at = at;
			first = node;
		}
	}
	return first;
}

bool lx_sim_step(struct lx_sim *sim, uint64_t until)
{
	struct lx_sim_node *node;
	uint64_t tick_at, at;

	if (do_work(sim) || do_event(sim))
		return true;
	node = next_tick(sim, &tick_at);
	at = sim->n_moments ? sim->heap[0].at_ns : UINT64_MAX;
	if (at > until && tick_at > until) {
		sim->now_ns = until;
		return false;
	}
	if (at <= tick_at) {
		struct moment m = moment_pop(sim);

		sim->now_ns = m.at_ns;
		m.fn(m.arg);
	} else {
		if (tick_at > sim->now_ns)
			sim->now_ns = tick_at;
		lx_core_tick(node->core);
	}
	return true;
}

void lx_sim_run(struct lx_sim *sim, uint64_t ns)
{
	uint64_t until = sim->now_ns + ns;

	while (lx_sim_step(sim, until))
		;
}

int lx_sim_new(uint64_t seed, const struct lx_sim_knobs *knobs, struct lx_sim **ret_sim)
{
	struct lx_sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return -ENOMEM;
	sim->lnd = (struct lx_lnd){
		.name = "sim",
		.net_type = LX_NET_TCP,
		.can_rdma_get = true,
		.connects_to_self = knobs->connects_to_self,
		.startup = sim_startup,
		.shutdown = sim_shutdown,
		.send = sim_send,
		.recv = sim_recv,
	};
	sim->knobs = *knobs;
	sim->rng = seed;
	sim->now_ns = LX_S_NS;
	lx_list_init(&sim->conns);
	lx_list_init(&sim->events);
	lx_list_init(&sim->ills);
	lx_list_init(&sim->nis);
	*ret_sim = sim;
	return 0;
}

static void node_stop(struct lx_sim_node *node)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_core_stop(node->core);
	while ((net = lx_list_first(&node->core->nets, struct lx_net, link))) {
		ni = lx_list_first(&net->nis, struct lx_core_ni, link);
		lx_core_ni_stop(node->core, ni);
	}
}

void lx_sim_free(struct lx_sim *sim)
{
	struct lx_sim_node *node;
	struct conn *conn;
	struct ill *ill;

	if (!sim)
		return;
	for (node = sim->nodes; node; node = node->next)
		node_stop(node);
	while (sim->n_moments) {
		struct moment m = moment_pop(sim);

		m.fn(m.arg);
	}
	while (do_event(sim))
		;
	while ((node = sim->nodes)) {
		sim->nodes = node->next;
		assert(lx_list_empty(&node->core->msgs));
		lx_core_free(node->core);
		while (do_event(sim))
			;
		free(node);
	}
	while ((conn = lx_list_first(&sim->conns, struct conn, link))) {
		assert(lx_list_empty(&conn->queue));
		lx_list_del(&conn->link);
		free(conn);
	}
	while ((ill = lx_list_first(&sim->ills, struct ill, link))) {
		lx_list_del(&ill->link);
		free(ill);
	}
	free(sim->heap);
	free(sim);
}
