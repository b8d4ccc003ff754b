/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events not sent yet to a client that monitors or traces. A client that is too slow loses
 * the newest, and the next one that finds room says how many. Owner: its client;
 * main thread only.
 */
#ifndef LX_DAEMON_RING_H
#define LX_DAEMON_RING_H

#include "client.h"

struct lx_ring {
	struct lx_list link; /* list of rings with the same source, for that source */
	struct lx_client *client;
	const struct lx_ctl_shown *object; /* its events begin with struct lx_ctl_mark */
	size_t size; /* of an event */
	void (*left)(struct lx_ring *ring); /* called when the client has gone; may be NULL */
	unsigned int first, n;
	uint64_t lost;
	struct lx_ctl_filter filter; /* for the source */
	char *event;
};

/* The client gets events from now on instead of an answer. -ENOMEM. */
int lx_ring_new(struct lx_client *client, const struct lx_ctl_shown *object, size_t size,
		struct lx_list *rings, struct lx_ring **ret_ring);
/* Its client has gone. NULL is fine. */
void lx_ring_free(struct lx_ring *ring);

/* Call lx_client_kick() afterwards to send. */
void lx_ring_put(struct lx_ring *ring, const void *event);

/* Fills a packet. Returns its length; 0: nothing is left. */
size_t lx_ring_fill(struct lx_ring *ring, void *packet);

#endif
