/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One request of this node; see the header. Called by batch.c.
 *
 * Three ports, whose events come in any order (selftest.md 1):
 *
 *	out   the request         SEND
 *	in    the reply           PUT
 *	bulk  data, if any        PUT or GET
 *
 * The call is done when none is busy. If one fails, the others are unlinked.
 */
#include <errno.h>

#include "priv.h"

static void take_back(struct lx_lst_client *c)
{
	lx_lst_port_unlink(&c->out);
	lx_lst_port_unlink(&c->in);
	lx_lst_port_unlink(&c->bulk);
}

static void fail(struct lx_lst_client *c, int status)
{
	if (!c->status)
		c->status = status;
	take_back(c);
}

static void finish(struct lx_lst_client *c)
{
	if (c->out.busy || c->in.busy || c->bulk.busy)
		return;
	lx_list_del(&c->link);
	if (!c->status && !c->replied)
		c->status = -ECANCELED;
	if (c->status == -ETIMEDOUT)
		c->s->rpc.expired++;
	else if (c->status && c->status != -EINTR)
		c->s->rpc.errors++;
	c->done(c);
}

static void on_out(struct lx_lst_port *port, const struct lx_event *event, int status)
{
	struct lx_lst_client *c = lx_container_of(port, struct lx_lst_client, out);

	if (status)
		fail(c, status);
	finish(c);
}

static void take_reply(struct lx_lst_client *c, const struct lx_event *event)
{
	uint32_t type = c->reply.type; /* the expected one */
	int err = lx_lst_wire_decode(c->in_buf, event->mlength, &c->reply);

	if (!err && c->reply.type != type)
		err = -EPROTO;
	if (err) {
		fail(c, err);
		return;
	}
	c->replied = true;
	/* A failure: no bulk will come. */
	if (c->reply.status)
		lx_lst_port_unlink(&c->bulk);
}

static void on_in(struct lx_lst_port *port, const struct lx_event *event, int status)
{
	struct lx_lst_client *c = lx_container_of(port, struct lx_lst_client, in);

	if (event->type == LX_EVENT_PUT && !status)
		take_reply(c, event);
	else if (status)
		fail(c, status);
	finish(c);
}

static void on_bulk(struct lx_lst_port *port, const struct lx_event *event, int status)
{
	struct lx_lst_client *c = lx_container_of(port, struct lx_lst_client, bulk);

	if (event->type == LX_EVENT_UNLINK) {
		/* unlinked by us: c->status or the reply's status says why */
	} else if (status) {
		fail(c, status);
	} else if (event->mlength != c->bulk_len) {
		fail(c, -EPROTO);
	}
	finish(c);
}

static int post(struct lx_lst_client *c, const struct lx_id *to, const struct lx_lst_msg *request,
		void *bulk, unsigned int bulk_op)
{
	int err = lx_lst_port_post(&c->in, LX_LST_PORTAL_DATA, to, request->rpyid, 0, c->in_buf,
				   sizeof(c->in_buf), LX_MD_OP_PUT, 0);

	if (!err && bulk)
		err = lx_lst_port_post(&c->bulk, LX_LST_PORTAL_DATA, to, request->brw.bulkid, 0,
				       bulk, c->bulk_len, bulk_op, 0);
	return err;
}

int lx_lst_client_call(struct lx_lst_client *c, const struct lx_id *to, enum lx_lst_service service,
		       struct lx_lst_msg *request, void *bulk, size_t bulk_len,
		       unsigned int bulk_op)
{
	struct lx_selftest *s = c->s;
	int err;

	c->out.s = c->in.s = c->bulk.s = s;
	c->out.fn = on_out;
	c->in.fn = on_in;
	c->bulk.fn = on_bulk;
	c->status = 0;
	c->replied = false;
	c->bulk_len = bulk_len;
	c->reply.type = request->type + 1;
	request->rpyid = s->next_id++;
	if (bulk)
		request->brw.bulkid = s->next_id++;
	lx_lst_wire_encode(request, c->out_buf);
	err = post(c, to, request, bulk, bulk_op);
	if (!err)
		err = lx_lst_port_put(&c->out, NULL, to, lx_lst_wire_portal(service), service,
				      c->out_buf, sizeof(c->out_buf));
	if (err && !c->in.busy)
		return err;
	c->deadline_ns = lx_lst_service_now(s) + s->tun.rpc_timeout * LX_LST_SECOND;
	lx_list_append(&s->clients, &c->link);
	if (err)
		fail(c, err);
	else
		s->rpc.sent++;
	return 0;
}

void lx_lst_client_abort(struct lx_lst_client *c, int status)
{
	if (lx_lst_client_runs(c))
		fail(c, status);
}

void lx_lst_client_tick(struct lx_selftest *s, uint64_t now_ns)
{
	struct lx_lst_client *c;

	/* fail() only unlinks; events take calls off the list, later. */
	lx_list_for_each (c, &s->clients, link) {
		if (now_ns >= c->deadline_ns && !c->status)
			fail(c, -ETIMEDOUT);
	}
}
