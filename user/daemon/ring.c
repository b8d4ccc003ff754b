/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See ring.h. Filled by monitor.c and trace.c, drained by client.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define EVENTS 256

int lx_ring_new(struct lx_client *client, const struct lx_ctl_shown *object, size_t size,
		struct lx_list *rings, struct lx_ring **ret_ring)
{
	struct lx_ring *r = calloc(1, sizeof(*r));

	if (r)
		r->event = calloc(EVENTS, size);
	if (!r || !r->event) {
		free(r);
		return -ENOMEM;
	}
	r->client = client;
	r->object = object;
	r->size = size;
	lx_list_append(rings, &r->link);
	client->ring = *ret_ring = r;
	return 0;
}

void lx_ring_free(struct lx_ring *r)
{
	if (!r)
		return;
	lx_list_del(&r->link);
	r->client->ring = NULL;
	if (r->left)
		r->left(r);
	free(r->event);
	free(r);
}

void lx_ring_put(struct lx_ring *r, const void *event)
{
	const struct lx_ctl_mark *mark = event;
	void *slot = r->event + (r->first + r->n) % EVENTS * r->size;

	if (r->n == EVENTS) {
		r->lost += 1 + mark->lost;
		return;
	}
	memcpy(slot, event, r->size);
	((struct lx_ctl_mark *)slot)->lost += r->lost;
	r->lost = 0;
	r->n++;
}

size_t lx_ring_fill(struct lx_ring *r, void *packet)
{
	size_t used = 0, len;

	while (r->n) {
		len = lx_dump_message(r->object, NULL, r->event + r->first * r->size, LX_LEVEL_OWN,
				      r->client->command, r->client->seq, packet, used);
		if (!len)
			break;
		used += len;
		r->first = (r->first + 1) % EVENTS;
		r->n--;
	}
	return used;
}
