/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that the service lends to the node for messages, and where its events go. All functions
 * are called with the service's lock held; so are the callbacks.
 */
#ifndef LX_SELFTEST_PORT_H
#define LX_SELFTEST_PORT_H

#include <lnetx/lnetx.h>

struct lx_selftest;

/* One MD at a time. While it is busy, it and its memory must stay. */
struct lx_lst_port {
	struct lx_selftest *s;
	/*
	 * @status: of the event, or why the request could not even be made. The port is no
	 * longer busy if this was its last event, and may be used again or freed.
	 */
	void (*fn)(struct lx_lst_port *port, const struct lx_event *event, int status);
	struct lx_handle md;
	int refused;
	bool busy;
};

/**
 * lx_lst_port_post - accept messages of others
 * @options: LX_MD_OP_PUT or LX_MD_OP_GET, and others
 * @each: the longest message of several; 0: it accepts one
 * Returns 0, or a negative errno: the port is not busy.
 */
int lx_lst_port_post(struct lx_lst_port *port, uint32_t portal, const struct lx_id *match,
		     uint64_t bits, uint64_t ignore, void *start, size_t len, unsigned int options,
		     size_t each);

/* Sends @len bytes to @target. Returns as above; all other failures come as an event. */
int lx_lst_port_put(struct lx_lst_port *port, const struct lx_nid *self, const struct lx_id *target,
		    uint32_t portal, uint64_t bits, void *start, size_t len);

/* Fetches @len bytes from @target; gives up after the node's own time-out. */
int lx_lst_port_get(struct lx_lst_port *port, const struct lx_nid *self, const struct lx_id *target,
		    uint32_t portal, uint64_t bits, void *start, size_t len);

/* Takes the memory back; if the port is busy, one more event comes, later. */
void lx_lst_port_unlink(struct lx_lst_port *port);

#endif
