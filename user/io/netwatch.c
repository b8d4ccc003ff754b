/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rtnetlink, as a doorbell. One per set of interested transports; created when
 * the first NI comes up, freed with the last.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "netlink.h"
#include "netwatch.h"
#include "poll.h"

struct lx_netwatch {
	struct lx_loop *loop;
	struct mnl_socket *nl;
	uv_poll_t poll;
	struct lx_work start;
	bool started;
	void (*fn)(void *arg);
	void (*closed)(void *arg);
	void *arg;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct lx_netwatch *watch = poll->data;
	char buf[8192];
	bool changed = status < 0;

	/* ENOBUFS: messages were lost, so anything may have changed. */
	while (mnl_socket_recvfrom(watch->nl, buf, sizeof(buf)) > 0 || errno == ENOBUFS)
		changed = true;
	lx_poll_go_on(poll, status, UV_READABLE, on_readable);
	if (changed)
		watch->fn(watch->arg);
}

static void on_start(struct lx_work *work)
{
	struct lx_netwatch *watch = lx_container_of(work, struct lx_netwatch, start);

	/* Cannot fail for a good descriptor; without it links are just not watched. */
	if (uv_poll_init(lx_loop_uv(watch->loop), &watch->poll, mnl_socket_get_fd(watch->nl)))
		return;
	watch->poll.data = watch;
	watch->started = true;
	uv_poll_start(&watch->poll, UV_READABLE, on_readable);
}

int lx_netwatch_new(struct lx_loop *loop, void (*fn)(void *arg), void *arg,
		    struct lx_netwatch **ret_watch)
{
	struct lx_netwatch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	watch->loop = loop;
	watch->fn = fn;
	watch->arg = arg;
	lx_work_init(&watch->start, on_start);
	r = lx_netlink_open(NETLINK_ROUTE, SOCK_NONBLOCK,
			    RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, &watch->nl);
	if (r) {
		free(watch);
		return r;
	}
	lx_loop_post(loop, &watch->start);
	*ret_watch = watch;
	return 0;
}

static void end(struct lx_netwatch *watch)
{
	mnl_socket_close(watch->nl);
	watch->closed(watch->arg);
	free(watch);
}

static void on_closed(uv_handle_t *handle)
{
	struct lx_netwatch *watch = handle->data;
	struct lx_loop *loop = watch->loop;

	lx_loop_enter(loop);
	end(watch);
	lx_loop_leave(loop);
}

void lx_netwatch_free(struct lx_netwatch *watch, void (*closed)(void *arg))
{
	watch->closed = closed;
	lx_work_cancel(&watch->start);
	if (watch->started)
		uv_close((uv_handle_t *)&watch->poll, on_closed);
	else
		end(watch);
}
