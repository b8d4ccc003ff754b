/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests served; see the header. Called by selftest.c, and by the node through port.c.
 *
 *	inbox ─▶ rpc_new ─▶ serve ─────────────────────────▶ answer ─▶ reply sent: rpc_free
 *	                     ├─ read: PUT the pattern ────────┤
 *	                     └─ write, or destinations:       │
 *	                        wait for a buffer ─▶ GET, use ┘
 *
 * If the bulk fails there is no reply: the client times out.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

struct lx_lst_rpc {
	struct lx_list link; /* in lx_selftest.served */
	struct lx_selftest *s;
	struct lx_lst_port bulk, out;
	struct lx_lst_waiter waiter; /* for a buffer */
	struct lx_id from;
	struct lx_nid self; /* the NID that the request was sent to */
	struct lx_lst_msg request, reply;
	struct lx_lst_sid sid; /* of the session when it came */
	uint64_t since_ns;
	bool complete; /* the bulk has arrived */
	bool given_up;
	void *buffer; /* from the pool */
	size_t len; /* of the bulk; 0: none yet */
	uint8_t out_buf[LX_LST_MSG_BYTES];
};

static void rpc_free(struct lx_lst_rpc *rpc)
{
	struct lx_selftest *s = rpc->s;
	void *buffer = rpc->buffer;

	lx_list_del(&rpc->link);
	s->n_served--;
	free(rpc);
	lx_lst_pool_put(&s->pool, buffer);
}

static struct lx_lst_sid present_sid(const struct lx_selftest *s)
{
	return s->session ? s->session->sid : LX_LST_SID_NONE;
}

/*
 * Whether its failure counts. Not that of a test whose session has ended: the client has aborted
 * its requests, which may come to light here only during somebody else's session.
 */
static bool counts(const struct lx_lst_rpc *rpc)
{
	const struct lx_lst_sid sid = present_sid(rpc->s);
	uint32_t type = rpc->request.type;

	return (type != LX_LST_BRW_REQ && type != LX_LST_PING_REQ) ||
	       lx_lst_sid_eq(&sid, &rpc->sid);
}

/* ---- replies ------------------------------------------------------------------------ */

static void on_out(struct lx_lst_port *port, const struct lx_event *event, int status)
{
	struct lx_lst_rpc *rpc = lx_container_of(port, struct lx_lst_rpc, out);

	if (status && counts(rpc))
		rpc->s->rpc.errors++;
	if (!port->busy)
		rpc_free(rpc);
	else
		lx_lst_port_unlink(port);
}

static void answer(struct lx_lst_rpc *rpc)
{
	struct lx_selftest *s = rpc->s;

	rpc->out.s = s;
	rpc->out.fn = on_out;
	lx_lst_wire_encode(&rpc->reply, rpc->out_buf);
	if (rpc->given_up ||
	    lx_lst_port_put(&rpc->out, &rpc->self, &rpc->from, LX_LST_PORTAL_DATA,
			    rpc->request.rpyid, rpc->out_buf, sizeof(rpc->out_buf)))
		rpc_free(rpc);
}

static void refuse(struct lx_lst_rpc *rpc, int status)
{
	rpc->reply.status = status;
	answer(rpc);
}

/* ---- bulk --------------------------------------------------------------------------- */

static void serve_framework(struct lx_lst_rpc *rpc, const void *bulk);

/* The bulk has arrived or failed: continue with the request. */
static void bulk_done(struct lx_lst_rpc *rpc)
{
	const struct lx_lst_msg *request = &rpc->request;

	if (request->type == LX_LST_TEST_REQ) {
		serve_framework(rpc, rpc->buffer);
		return;
	}
	if (request->brw.rw == LX_LST_WRITE)
		rpc->reply.status = -lx_lst_pattern_check(rpc->buffer, rpc->len, request->brw.flags,
							  lx_lst_flipped(request));
	answer(rpc);
}

static void on_bulk(struct lx_lst_port *port, const struct lx_event *event, int status)
{
	struct lx_lst_rpc *rpc = lx_container_of(port, struct lx_lst_rpc, bulk);
	struct lx_selftest *s = rpc->s;
	bool done = event->type == LX_EVENT_REPLY ||
		    (event->type == LX_EVENT_SEND && rpc->request.type == LX_LST_BRW_REQ &&
		     rpc->request.brw.rw == LX_LST_READ);

	if (done && !status && event->mlength == rpc->len) {
		if (event->type == LX_EVENT_REPLY)
			s->rpc.bulk_get += rpc->len;
		else
			s->rpc.bulk_put += rpc->len;
		rpc->complete = true;
	}
	if (port->busy) {
		if (status)
			lx_lst_port_unlink(port);
		return;
	}
	if (rpc->complete) {
		bulk_done(rpc);
		return;
	}
	if (counts(rpc))
		s->rpc.errors++;
	rpc_free(rpc);
}

/* Fetches the request's bulk from the client. */
static void fetch(struct lx_lst_rpc *rpc, uint64_t bulkid, void *start, size_t len)
{
	rpc->bulk.s = rpc->s;
	rpc->bulk.fn = on_bulk;
	if (lx_lst_port_get(&rpc->bulk, &rpc->self, &rpc->from, LX_LST_PORTAL_DATA, bulkid, start,
			    len))
		rpc_free(rpc);
}

static void on_buffer(struct lx_lst_waiter *waiter, void *buffer)
{
	struct lx_lst_rpc *rpc = lx_container_of(waiter, struct lx_lst_rpc, waiter);
	const struct lx_lst_msg *request = &rpc->request;
	uint64_t bulkid = request->test.bulkid;

	rpc->buffer = buffer;
	if (request->type == LX_LST_BRW_REQ) {
		bulkid = request->brw.bulkid;
		lx_lst_pattern_poison(buffer, rpc->len, request->brw.flags);
	}
	fetch(rpc, bulkid, buffer, rpc->len);
}

/* Fetches @len bytes once there is a buffer. */
static void fetch_buffered(struct lx_lst_rpc *rpc, size_t len)
{
	void *buffer;

	rpc->len = len;
	rpc->waiter.fn = on_buffer;
	buffer = lx_lst_pool_get(&rpc->s->pool, &rpc->waiter);
	if (buffer)
		on_buffer(&rpc->waiter, buffer);
}

/* ---- brw, ping (7, 8) ---------------------------------------------------------------- */

/* All readers get the same bytes. */
static void serve_read(struct lx_lst_rpc *rpc)
{
	rpc->bulk.s = rpc->s;
	rpc->bulk.fn = on_bulk;
	rpc->len = rpc->request.brw.length;
	if (lx_lst_port_put(&rpc->bulk, &rpc->self, &rpc->from, LX_LST_PORTAL_DATA,
			    rpc->request.brw.bulkid, rpc->s->pattern, rpc->len))
		rpc_free(rpc);
}

static bool brw_is_valid(const struct lx_lst_msg *request)
{
	uint32_t unit = request->features & LX_LST_FEAT_BULK_LEN ? 8 : LX_LST_PAGE;

	return (request->brw.rw == LX_LST_READ || request->brw.rw == LX_LST_WRITE) &&
	       request->brw.flags >= LX_LST_CHECK_NONE &&
	       request->brw.flags <= LX_LST_CHECK_DISCARD && request->brw.length > 0 &&
	       request->brw.length <= LX_LST_BULK_MAX && request->brw.length % unit == 0;
}

static void serve_ping(struct lx_lst_rpc *rpc)
{
	if (rpc->request.ping.magic != LX_LST_PING_MAGIC) {
		rpc->s->rpc.dropped++;
		rpc_free(rpc);
		return;
	}
	rpc->reply.ping_reply.magic = LX_LST_PING_MAGIC;
	rpc->reply.ping_reply.sequence = rpc->request.ping.sequence;
	answer(rpc);
}

static void serve_test(struct lx_lst_rpc *rpc)
{
	const struct lx_lst_msg *request = &rpc->request;

	rpc->reply.features = request->features;
	if (request->features & ~LX_LST_FEATURES) {
		rpc->reply.features = LX_LST_FEATURES;
		refuse(rpc, EPROTO);
	} else if (!rpc->s->session) {
		refuse(rpc, ESRCH);
	} else if (request->type == LX_LST_PING_REQ) {
		serve_ping(rpc);
	} else if (!brw_is_valid(request)) {
		refuse(rpc, EINVAL);
	} else if (request->brw.rw == LX_LST_READ) {
		serve_read(rpc);
	} else {
		fetch_buffered(rpc, request->brw.length);
	}
}

/* ---- the framework -------------------------------------------------------------------- */

static void serve_framework(struct lx_lst_rpc *rpc, const void *bulk)
{
	struct lx_selftest *s = rpc->s;
	size_t len = 0;

	if (s->stopping) {
		rpc_free(rpc);
		return;
	}
	switch (lx_lst_session_request(s, &rpc->request, bulk, rpc->len, &rpc->reply, &len)) {
	case LX_LST_ANSWER:
		answer(rpc);
		break;
	case LX_LST_FETCH:
		fetch_buffered(rpc, len);
		break;
	case LX_LST_IGNORE:
		rpc_free(rpc);
		break;
	}
}

static bool is_console(struct lx_selftest *s, const struct lx_event *event)
{
	return !s->ops.may_console || s->ops.may_console(&event->source, s->ops.arg) ||
	       s->ops.may_console(&event->initiator.nid, s->ops.arg);
}

static void refuse_console(struct lx_lst_rpc *rpc)
{
	rpc->s->refused++;
	rpc->reply.reply.sid = LX_LST_SID_NONE;
	refuse(rpc, EPERM);
}

/* ---- requests in ------------------------------------------------------------------------ */

/* Some places are kept for consoles, so that others' requests do not shut them out. */
static struct lx_lst_rpc *rpc_new(struct lx_selftest *s, const struct lx_event *event,
				  const struct lx_lst_msg *request, bool console)
{
	unsigned int places = LX_LST_SERVED_MAX + (console ? LX_LST_SERVED_CONSOLES : 0);
	struct lx_lst_rpc *rpc = s->n_served < places ? calloc(1, sizeof(*rpc)) : NULL;

	if (!rpc)
		return NULL;
	rpc->s = s;
	rpc->from = (struct lx_id){ event->source, event->initiator.pid };
	rpc->self = event->target.nid;
	rpc->request = *request;
	rpc->sid = present_sid(s);
	rpc->since_ns = lx_lst_service_now(s);
	lx_lst_wire_init(&rpc->reply, request->type + 1, LX_LST_FEATURES);
	lx_list_append(&s->served, &rpc->link);
	s->n_served++;
	return rpc;
}

/* Whether the service in a request's match bits fits its type and portal (1). */
static bool is_request(const struct lx_event *event, const struct lx_lst_msg *msg)
{
	int type = lx_lst_wire_request_type(event->match_bits);

	return type >= 0 && (uint32_t)type == msg->type && type != LX_LST_JOIN_REQ &&
	       lx_lst_wire_portal(event->match_bits) == event->portal;
}

static void receive(struct lx_selftest *s, const struct lx_event *event, const uint8_t *bytes)
{
	bool console = event->portal == LX_LST_PORTAL_FRAMEWORK && is_console(s, event);
	struct lx_lst_rpc *rpc = NULL;
	struct lx_lst_msg msg;
	int err = lx_lst_wire_decode(bytes, event->mlength, &msg);

	if (err != -EPROTO && is_request(event, &msg))
		rpc = rpc_new(s, event, &msg, console);
	if (!rpc) {
		s->rpc.dropped++;
		return;
	}
	s->rpc.rcvd++;
	if (err == -EPROTONOSUPPORT)
		refuse(rpc, EPROTO);
	else if (event->portal == LX_LST_PORTAL_TEST)
		serve_test(rpc);
	else if (console)
		serve_framework(rpc, NULL);
	else
		refuse_console(rpc);
}

static void lend(struct lx_lst_request_buffer *b)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };

	if (!b->memory)
		b->memory = malloc(LX_LST_INBOX_REQUESTS * LX_LST_MSG_BYTES);
	if (!b->memory)
		return;
	b->used = 0;
	/* Ignore all bits: a request for an unknown service matches, and is dropped. */
	lx_lst_port_post(&b->port, b->inbox->portal, &anyone, 0, ~0ULL, b->memory,
			 LX_LST_INBOX_REQUESTS * LX_LST_MSG_BYTES, LX_MD_OP_PUT, LX_LST_MSG_BYTES);
}

static bool has_room(const struct lx_lst_request_buffer *b)
{
	return b->port.busy && b->used < LX_LST_INBOX_REQUESTS / 2;
}

static void lend_two(struct lx_lst_inbox *inbox)
{
	unsigned int lent = 0;

	for (int i = 0; i < LX_LST_INBOX_BUFFERS; i++)
		lent += has_room(&inbox->buffer[i]);
	for (int i = 0; i < LX_LST_INBOX_BUFFERS && lent < 2; i++) {
		if (inbox->buffer[i].port.busy)
			continue;
		lend(&inbox->buffer[i]);
		lent += inbox->buffer[i].port.busy;
	}
}

static void on_request(struct lx_lst_port *port, const struct lx_event *event, int status)
{
	struct lx_lst_request_buffer *b = lx_container_of(port, struct lx_lst_request_buffer, port);
	struct lx_selftest *s = port->s;

	if (event->type == LX_EVENT_PUT && event->offset / LX_LST_MSG_BYTES >= b->used)
		b->used = event->offset / LX_LST_MSG_BYTES + 1;
	if (event->type == LX_EVENT_PUT && !status && !s->stopping)
		receive(s, event, b->memory + event->offset);
	if (!has_room(b) && !s->stopping)
		lend_two(b->inbox);
}

/* ---- life -------------------------------------------------------------------------------- */

static int inbox_start(struct lx_selftest *s, struct lx_lst_inbox *inbox, uint32_t portal)
{
	inbox->s = s;
	inbox->portal = portal;
	for (int i = 0; i < LX_LST_INBOX_BUFFERS; i++) {
		struct lx_lst_request_buffer *b = &inbox->buffer[i];

		b->inbox = inbox;
		b->port.s = s;
		b->port.fn = on_request;
	}
	lend_two(inbox);
	if (!inbox->buffer[1].port.busy)
		return inbox->buffer[1].memory ? -EPERM : -ENOMEM;
	return lx_portal_set_lazy(s->node, portal, true);
}

int lx_lst_server_start(struct lx_selftest *s)
{
	int err = inbox_start(s, &s->inbox[0], LX_LST_PORTAL_TEST);

	return err ? err : inbox_start(s, &s->inbox[1], LX_LST_PORTAL_FRAMEWORK);
}

/* Frees a request that waits for a buffer at once, others with their last event. */
static void give_up(struct lx_lst_rpc *rpc)
{
	rpc->given_up = true;
	lx_lst_port_unlink(&rpc->bulk);
	lx_lst_port_unlink(&rpc->out);
	if (lx_lst_pool_cancel(&rpc->s->pool, &rpc->waiter))
		rpc_free(rpc);
}

void lx_lst_server_stop(struct lx_selftest *s)
{
	struct lx_lst_rpc *rpc, *tmp;

	for (int i = 0; i < 2; i++) {
		lx_portal_set_lazy(s->node, LX_LST_PORTAL_TEST + i, false);
		for (int k = 0; k < LX_LST_INBOX_BUFFERS; k++)
			lx_lst_port_unlink(&s->inbox[i].buffer[k].port);
	}
	lx_list_for_each_safe (rpc, tmp, &s->served, link)
		give_up(rpc);
}

void lx_lst_server_fini(struct lx_selftest *s)
{
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < LX_LST_INBOX_BUFFERS; k++)
			free(s->inbox[i].buffer[k].memory);
	}
}

void lx_lst_server_tick(struct lx_selftest *s, uint64_t now_ns)
{
	struct lx_lst_rpc *rpc, *tmp;

	for (int i = 0; i < 2; i++)
		lend_two(&s->inbox[i]);
	lx_list_for_each_safe (rpc, tmp, &s->served, link) {
		if (now_ns - rpc->since_ns >= s->tun.rpc_timeout * LX_LST_SECOND &&
		    !rpc->given_up && !rpc->out.busy) {
			if (counts(rpc))
				s->rpc.expired++;
			give_up(rpc);
		}
	}
}
