/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the programs to the clients that trace:
 *
 *	perf events of map "trace" ─ uv_poll ─▶ filter ─▶ ring of each client (ring.h)
 *
 * The first client switches the programs' events on, the last one switches them off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl/codec.h"
#include "../base/clock.h"
#include "../bpf/fastpath.h"
#include "../io/poll.h"
#include "programs.h"
#include "ring.h"
#include "trace.h"

struct lx_tracer {
	struct lx_daemon *daemon;
	struct lx_list rings;
	uv_poll_t *poll; /* NULL: off */
	int64_t wall_offset_ns; /* wall clock minus monotonic clock */
	uint64_t lost;
};

static bool wanted(const struct lx_ctl_filter *filter, const struct lx_ctl_trace *event)
{
	if (filter->type != LX_UNSET && filter->type != event->type)
		return false;
	return lx_nid_eq(&filter->nid, &lx_nid_any) || lx_nid_eq(&filter->nid, &event->src) ||
	       lx_nid_eq(&filter->nid, &event->dst);
}

static void on_message(const struct lx_trace *t, uint64_t lost, void *arg)
{
	static const char *const reasons[] = {
#define NAME_(NAME, name, help) name,
		LX_LANE0_REASONS(NAME_)
#undef NAME_
	};
	struct lx_tracer *tracer = arg;
	struct lx_ctl_trace event;
	struct lx_ring *r;

	tracer->lost += lost;
	if (!t)
		return;
	event = (struct lx_ctl_trace){
		.mark = { .time_us = ((int64_t)t->time_ns + tracer->wall_offset_ns) / 1000,
			  .lost = tracer->lost },
		.stream = t->stream,
		.type = t->type,
		.src = t->src,
		.dst = t->dst,
		.bytes = t->bytes,
		.lane = t->lane == LX_NO_LANE ? -1 : t->lane,
		.reason = t->lane == LX_NO_LANE && t->reason < LX_LANE0_COUNT ? reasons[t->reason]
									      : NULL,
	};
	tracer->lost = 0;
	lx_list_for_each (r, &tracer->rings, link) {
		if (wanted(&r->filter, &event))
			lx_ring_put(r, &event);
		else
			r->lost += event.mark.lost;
	}
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct lx_tracer *tracer = poll->data;
	struct lx_ring *r, *next;

	tracer->wall_offset_ns = lx_clock_ns(CLOCK_REALTIME) - lx_clock_ns(CLOCK_MONOTONIC);
	lx_fastpath_trace_read(lx_programs_fastpath(tracer->daemon->programs), on_message, tracer);
	lx_list_for_each_safe (r, next, &tracer->rings, link)
		lx_client_kick(r->client);
	lx_poll_go_on(poll, status, UV_READABLE, on_readable);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

static int begin(struct lx_tracer *tracer)
{
	struct lx_fastpath *fastpath = lx_programs_fastpath(tracer->daemon->programs);
	int fd = fastpath ? lx_fastpath_trace_start(fastpath) : -EOPNOTSUPP;

	if (fd < 0)
		return fd;
	tracer->poll = calloc(1, sizeof(*tracer->poll));
	if (!tracer->poll || uv_poll_init(tracer->daemon->loop, tracer->poll, fd)) {
		free(tracer->poll);
		tracer->poll = NULL;
		lx_fastpath_trace_stop(fastpath);
		return -ENOMEM;
	}
	tracer->poll->data = tracer;
	uv_poll_start(tracer->poll, UV_READABLE, on_readable);
	return 0;
}

static void end(struct lx_tracer *tracer)
{
	if (!tracer->poll)
		return;
	uv_poll_stop(tracer->poll); /* before its descriptor goes */
	uv_close((uv_handle_t *)tracer->poll, on_closed);
	tracer->poll = NULL;
	lx_fastpath_trace_stop(lx_programs_fastpath(tracer->daemon->programs));
}

static void on_left(struct lx_ring *r)
{
	struct lx_tracer *tracer = r->client->daemon->tracer;

	if (lx_list_empty(&tracer->rings))
		end(tracer);
}

void lx_trace_end(struct lx_tracer *tracer)
{
	struct lx_ring *r, *next;

	lx_list_for_each_safe (r, next, &tracer->rings, link) {
		struct lx_client *client = r->client;

		lx_ring_free(r); /* the last one stops the events */
		lx_client_reply(client, -ENETDOWN, "trace",
				"routing has been switched off, and with it the fast path");
		lx_client_kick(client);
	}
}

void lx_trace_request(struct lx_client *client, const void *attrs, size_t len)
{
	struct lx_tracer *tracer = client->daemon->tracer;
	struct lx_ctl_filter filter;
	struct lx_ring *r;
	char text[200];
	int err = lx_codec_get(attrs, len, &lx_object_filter_schema, &filter, text, sizeof(text));

	if (err) {
		lx_client_reply(client, err, "trace", "%s", text);
		return;
	}
	if (!tracer->poll)
		err = begin(tracer);
	if (!err)
		err = lx_ring_new(client, &lx_object_traces, sizeof(struct lx_ctl_trace),
				  &tracer->rings, &r);
	if (err == -EOPNOTSUPP)
		lx_client_reply(client, err, "trace", "the fast path is not loaded, so there is "
				"nothing to trace; \"lnetx bpf status\" says why");
	else if (err)
		lx_client_reply(client, err, "trace", "cannot trace: %s", strerror(-err));
	if (err)
		return;
	r->filter = filter;
	r->left = on_left;
}

int lx_trace_new(struct lx_daemon *daemon, struct lx_tracer **ret_tracer)
{
	struct lx_tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return -ENOMEM;
	tracer->daemon = daemon;
	lx_list_init(&tracer->rings);
	*ret_tracer = tracer;
	return 0;
}

void lx_trace_free(struct lx_tracer *tracer)
{
	free(tracer);
}
