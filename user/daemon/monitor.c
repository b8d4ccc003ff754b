/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the node's thread to the log and the monitoring clients:
 *
 *	lx_node_watch() ─▶ inbox (bounded, mutex) ─ uv_async ─┬▶ log (report.c)
 *	node's thread                                         └▶ ring of each client
 *	                                                         main thread, client.c
 *
 * A client that is too slow loses the newest changes, and the next one that finds room
 * says how many. Neither the node nor the daemon ever waits for a client.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/clock.h"
#include "monitor.h"
#include "report.h"
#include "ring.h"

#define INBOX 1024

struct lx_monitor {
	struct lx_daemon *daemon;
	lx_monitor_fn follow; /* called last */
	struct lx_list rings;
	uv_async_t async;
	pthread_mutex_t lock; /* protects everything below */
	struct lx_ctl_event *inbox; /* one of @half; the other one is being delivered */
	unsigned int n;
	uint64_t lost;
	struct lx_ctl_event half[2][INBOX];
};

/* On a thread of the node. */
static void on_change(const struct lx_change *change, void *arg)
{
	struct lx_monitor *m = arg;

	pthread_mutex_lock(&m->lock);
	if (m->n == INBOX) {
		m->lost++;
	} else {
		m->inbox[m->n++] = (struct lx_ctl_event){
			.mark = { .time_us = lx_clock_ns(CLOCK_REALTIME) / 1000, .lost = m->lost },
			.change = *change,
		};
		m->lost = 0;
	}
	pthread_mutex_unlock(&m->lock);
	uv_async_send(&m->async);
}

/* Takes its content; the node's thread continues with the other half. */
static const struct lx_ctl_event *empty_inbox(struct lx_monitor *m, unsigned int *ret_n)
{
	const struct lx_ctl_event *full;

	pthread_mutex_lock(&m->lock);
	full = m->inbox;
	*ret_n = m->n;
	m->inbox = m->half[full == m->half[0]];
	m->n = 0;
	pthread_mutex_unlock(&m->lock);
	return full;
}

static void on_async(uv_async_t *async)
{
	struct lx_monitor *m = lx_container_of(async, struct lx_monitor, async);
	const struct lx_ctl_event *event;
	struct lx_report_batch batch = { 0 };
	struct lx_ring *r, *next;
	unsigned int n;

	event = empty_inbox(m, &n);
	for (unsigned int i = 0; i < n; i++) {
		lx_report_change(m->daemon, &event[i].change, &batch);
		lx_list_for_each(r, &m->rings, link)
			lx_ring_put(r, &event[i]);
	}
	lx_list_for_each_safe (r, next, &m->rings, link)
		lx_client_kick(r->client);
	free(batch.routes);
	m->follow(m->daemon, event, n);
}

int lx_monitor_join(struct lx_client *client)
{
	struct lx_ring *r;

	return lx_ring_new(client, &lx_object_events, sizeof(struct lx_ctl_event),
			   &client->daemon->monitor->rings, &r);
}

void lx_monitor_watch(struct lx_daemon *daemon)
{
	lx_node_watch(daemon->node, on_change, daemon->monitor);
}

int lx_monitor_new(struct lx_daemon *daemon, lx_monitor_fn follow, struct lx_monitor **ret_monitor)
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
	m->follow = follow;
	m->inbox = m->half[0];
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
	if (!m)
		return;
	on_async(&m->async); /* the node's last changes */
	uv_close((uv_handle_t *)&m->async, closed);
}
