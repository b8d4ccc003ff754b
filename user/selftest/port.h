/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A port: an MD of the service, and the function that its events go to. Functions and callbacks
 * are called with the service's lock held.
 */
#ifndef LX_SELFTEST_PORT_H
#define LX_SELFTEST_PORT_H

#include <lnetx/lnetx.h>

struct lx_selftest;

/* Has one MD at a time. While it is busy, port and memory must stay. */
struct lx_lst_port {
	struct lx_selftest *s;
	/*
	 * @status: of the event, or why the request could not be sent. After the last event the
	 * port is not busy, and may be used again or freed.
	 */
	void (*fn)(struct lx_lst_port *port, const struct lx_event *event, int status);
	struct lx_handle md;
	int refused;
	bool busy;
};

/**
 * lx_lst_port_post - accept messages from other nodes
 * @options: LX_MD_OP_PUT or LX_MD_OP_GET, and further LX_MD_*
 * @each: accept several messages of at most this length; 0: accept one
 * Returns 0, or a negative errno: the port is not busy.
 */
int lx_lst_port_post(struct lx_lst_port *port, uint32_t portal, const struct lx_id *match,
		     uint64_t bits, uint64_t ignore, void *start, size_t len, unsigned int options,
		     size_t each);

/* Sends @len bytes to @target. Returns as above; later failures come as an event. */
int lx_lst_port_put(struct lx_lst_port *port, const struct lx_nid *self, const struct lx_id *target,
		    uint32_t portal, uint64_t bits, void *start, size_t len);

/* Fetches @len bytes from @target; gives up after the node's own time-out. */
int lx_lst_port_get(struct lx_lst_port *port, const struct lx_nid *self, const struct lx_id *target,
		    uint32_t portal, uint64_t bits, void *start, size_t len);

/* Unlinks the MD. If the port is busy, one more event comes, later. */
void lx_lst_port_unlink(struct lx_lst_port *port);

#endif
