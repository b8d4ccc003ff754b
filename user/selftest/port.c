/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MDs and MEs of the service; see the header. No other file creates any. A busy port holds a
 * reference to the service, so that the service outlives the port's events.
 */

#include "priv.h"

static void on_event(const struct lx_event *event)
{
	struct lx_lst_port *port = event->user;
	struct lx_selftest *s = port->s;
	bool last = event->unlinked;

	pthread_mutex_lock(&s->lock);
	if (last)
		port->busy = false;
	port->fn(port, event, port->refused ? port->refused : event->status);
	lx_lst_service_unlock(s, last);
}

static void made_busy(struct lx_lst_port *port)
{
	port->refused = 0;
	port->busy = true;
	port->s->refs++;
}

int lx_lst_port_post(struct lx_lst_port *port, uint32_t portal, const struct lx_id *match,
		     uint64_t bits, uint64_t ignore, void *start, size_t len, unsigned int options,
		     size_t each)
{
	const struct lx_md_desc desc = {
		.start = start,
		.length = len,
		.threshold = each ? LX_MD_UNLIMITED : 1,
		.max_size = each,
		.options = options | (each ? LX_MD_MAX_SIZE : 0) | LX_MD_ACK_DISABLE,
		.handler = on_event,
		.user = port,
	};
	struct lx_node *node = port->s->node;
	struct lx_handle me;
	int err;

	err = lx_me_attach(node, portal, match, bits, ignore, LX_UNLINK, LX_ME_AFTER, &me);
	if (err)
		return err;
	/* Messages waiting on a lazy portal match at once, but their events need the lock. */
	err = lx_md_attach(node, me, &desc, LX_UNLINK, &port->md);
	if (err) {
		lx_me_unlink(node, me);
		return err;
	}
	made_busy(port);
	return 0;
}

static int lend(struct lx_lst_port *port, void *start, size_t len, int threshold,
		unsigned int options)
{
	const struct lx_md_desc desc = {
		.start = start,
		.length = len,
		.threshold = threshold,
		.options = options,
		.handler = on_event,
		.user = port,
	};
	int err = lx_md_bind(port->s->node, &desc, LX_UNLINK, &port->md);

	if (!err)
		made_busy(port);
	return err;
}

/* If the request could not be sent, unlinks its MD: that event tells the owner. */
static void requested(struct lx_lst_port *port, int err)
{
	if (!err)
		return;
	port->refused = err;
	lx_md_unlink(port->s->node, port->md);
}

int lx_lst_port_put(struct lx_lst_port *port, const struct lx_nid *self, const struct lx_id *target,
		    uint32_t portal, uint64_t bits, void *start, size_t len)
{
	int err = lend(port, start, len, 1, 0);

	if (!err)
		requested(port,
			  lx_put(port->s->node, self, port->md, false, target, portal, bits, 0, 0));
	return err;
}

int lx_lst_port_get(struct lx_lst_port *port, const struct lx_nid *self, const struct lx_id *target,
		    uint32_t portal, uint64_t bits, void *start, size_t len)
{
	int err = lend(port, start, len, 2, LX_MD_TRACK_RESPONSE);

	if (!err)
		requested(port, lx_get(port->s->node, self, port->md, target, portal, bits, 0));
	return err;
}

void lx_lst_port_unlink(struct lx_lst_port *port)
{
	if (port->busy)
		lx_md_unlink(port->s->node, port->md);
}
