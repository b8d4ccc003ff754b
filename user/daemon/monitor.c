/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the node's thread to the monitoring clients:
 *
 *	lx_node_watch() ─▶ inbox (bounded, mutex) ─ uv_async ─▶ ring of each client
 *	node's thread                                           main thread, server.c
 *
 * Whoever is too slow loses the newest changes and is told how many, before the next
 * one that finds room. Neither the node nor the daemon ever waits for a client.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "monitor.h"

#define INBOX 1024
#define RING 256

struct lx_ring {
	struct lx_list link; /* in the monitor */
	struct lx_client *client;
	struct lx_control_event event[RING];
	unsigned int first, n;
	uint64_t lost;
};

struct lx_monitor {
	struct lx_daemon *daemon;
	struct lx_list rings;
	uv_async_t async;
	pthread_mutex_t lock; /* of what follows */
	struct lx_control_event inbox[INBOX];
	unsigned int n;
	uint64_t lost;
};

static int64_t wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* On a thread of the node's. */
static void on_change(const struct lx_change *change, void *arg)
{
	struct lx_monitor *m = arg;

	pthread_mutex_lock(&m->lock);
	if (m->n == INBOX) {
		m->lost++;
	} else {
		m->inbox[m->n++] = (struct lx_control_event){ .time_us = wall_us(),
							      .lost = m->lost,
							      .change = *change };
		m->lost = 0;
	}
	pthread_mutex_unlock(&m->lock);
	uv_async_send(&m->async);
}

static void ring_put(struct lx_ring *r, const struct lx_control_event *event)
{
	struct lx_control_event *slot = &r->event[(r->first + r->n) % RING];

	if (r->n == RING) {
		r->lost += 1 + event->lost;
		return;
	}
	*slot = *event;
	slot->lost += r->lost;
	r->lost = 0;
	r->n++;
}

static void on_async(uv_async_t *async)
{
	struct lx_monitor *m = lx_container_of(async, struct lx_monitor, async);
	struct lx_ring *r, *next;
	bool interfaces = false;

	pthread_mutex_lock(&m->lock);
	for (unsigned int i = 0; i < m->n; i++) {
		lx_list_for_each (r, &m->rings, link)
			ring_put(r, &m->inbox[i]);
		interfaces |= m->inbox[i].change.type == LX_CHANGE_NI_UP;
	}
	m->n = 0;
	pthread_mutex_unlock(&m->lock);
	lx_list_for_each_safe (r, next, &m->rings, link)
		lx_client_kick(r->client);
	if (interfaces)
		lx_change_interfaces(m->daemon);
}

size_t lx_monitor_fill(struct lx_client *client, void *packet)
{
	struct lx_ring *r = client->ring;
	size_t used = 0, len;

	while (r->n) {
		const struct lx_control_event *event = &r->event[r->first];

		len = lx_dump_message(&lx_control_events, NULL, event, LX_LEVEL_OWN,
				      LX_CONTROL_MONITOR, client->seq, packet, used);
		if (!len)
			break;
		used += len;
		r->first = (r->first + 1) % RING;
		r->n--;
	}
	return used;
}

int lx_monitor_join(struct lx_client *client)
{
	struct lx_ring *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->client = client;
	lx_list_append(&client->daemon->monitor->rings, &r->link);
	client->ring = r;
	return 0;
}

void lx_monitor_leave(struct lx_client *client)
{
	if (!client->ring)
		return;
	lx_list_del(&client->ring->link);
	free(client->ring);
	client->ring = NULL;
}

void lx_monitor_watch(struct lx_daemon *daemon)
{
	lx_node_watch(daemon->node, on_change, daemon->monitor);
}

int lx_monitor_new(struct lx_daemon *daemon, struct lx_monitor **ret_monitor)
{
	struct lx_monitor *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	err = uv_async_init(daemon->loop, &m->async, on_async);
	if (err) {
		free(m);
		return err;
	}
	m->daemon = daemon;
	pthread_mutex_init(&m->lock, NULL);
	lx_list_init(&m->rings);
	*ret_monitor = m;
	return 0;
}

static void closed(uv_handle_t *handle)
{
	struct lx_monitor *m = lx_container_of(handle, struct lx_monitor, async);

	pthread_mutex_destroy(&m->lock);
	free(m);
}

void lx_monitor_free(struct lx_monitor *m)
{
	if (m)
		uv_close((uv_handle_t *)&m->async, closed);
}
