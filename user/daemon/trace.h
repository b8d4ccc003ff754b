/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx trace": sends each message that the fast path sees to the clients that trace. */
#ifndef LX_DAEMON_TRACE_H
#define LX_DAEMON_TRACE_H

#include "client.h"

int lx_trace_new(struct lx_daemon *daemon, struct lx_tracer **ret_tracer);
/* All clients must be gone. NULL is fine. */
void lx_trace_free(struct lx_tracer *tracer);

/* The fast path is about to be unloaded: end all traces. */
void lx_trace_end(struct lx_tracer *tracer);

/* A client's request: it gets events from now on, or an error. */
void lx_trace_request(struct lx_client *client, const void *attrs, size_t len);

#endif
