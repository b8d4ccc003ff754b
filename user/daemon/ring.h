/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a client that watches has not been told yet. Whoever is too slow loses the
 * newest, and is told how many before the next one that finds room. Owner: its client;
 * main thread only.
 */
#ifndef LX_DAEMON_RING_H
#define LX_DAEMON_RING_H

#include "client.h"

struct lx_ring {
	struct lx_list link; /* of those that are told the same; of use to who fills it */
	struct lx_client *client;
	const struct lx_control_object *object; /* its events begin with struct lx_control_mark */
	size_t size; /* of an event */
	void (*left)(struct lx_ring *ring); /* called when the client goes, off the list; or NULL */
	unsigned int first, n;
	uint64_t lost;
	struct lx_control_filter filter; /* for who fills it */
	char *event;
};

/* From now on the client is told, instead of being answered. -ENOMEM. */
int lx_ring_new(struct lx_client *client, const struct lx_control_object *object, size_t size,
		struct lx_list *rings, struct lx_ring **ret_ring);
/* Its client goes. NULL is fine. */
void lx_ring_free(struct lx_ring *ring);

/* lx_client_kick() sends what was put. */
void lx_ring_put(struct lx_ring *ring, const void *event);

/* Fills a packet. Returns its length; 0: nothing is left. */
size_t lx_ring_fill(struct lx_ring *ring, void *packet);

#endif
