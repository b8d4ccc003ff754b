/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A client of the control socket: its request, and how it is answered. */
#ifndef LX_DAEMON_CLIENT_H
#define LX_DAEMON_CLIENT_H

#include <libmnl/libmnl.h>

#include "../base/text.h"
#include "daemon.h"
#include "dump.h"

struct lx_ring; /* ring.h */
struct lx_client;

/* Handles a request; may answer at once or later. */
typedef void (*lx_client_request_fn)(struct lx_client *client, const void *attrs, size_t len);

/*
 * A connected client. Owner: server.c, which creates it. It has one request at a time:
 *
 *	       request               answer complete
 *	IDLE ───────────▶ one of:  ───────────────────▶ IDLE
 *	                  out      a packet waits for room in the socket
 *	                  dump     a snapshot is being sent
 *	                  waiting  change.c or probe.c will answer
 *	                  ring     it monitors or traces, until it closes
 */
struct lx_client {
	struct lx_list link;
	struct lx_daemon *daemon;
	lx_client_request_fn request;
	uv_poll_t poll;
	int fd;
	long uid, pid;
	unsigned long netns; /* its network namespace, as lx_netns_own(); 0: unknown */
	bool may_write; /* all may read */

	uint32_t seq; /* of the request */
	uint16_t flags;
	uint8_t command;
	int given; /* a descriptor that came with it, or -1 */

	char *out; /* LX_CTL_PACKET bytes, allocated on first use */
	size_t out_len;
	struct lx_dump *dump;
	int64_t count; /* for the next reply; LX_UNSET: none */
	struct lx_client **waiting; /* the pointer to us of the one who will answer */
	struct lx_ring *ring;
};

/*
 * Starts reading and answering requests; the client is in @clients until it is
 * closed, which frees it. Returns 0, or -errno of the loop: then the caller still owns the client.
 */
int lx_client_start(struct lx_client *client, struct lx_list *clients);

/* After this only the loop knows the client. Idempotent. */
void lx_client_close(struct lx_client *client);

/* Completes a request: done (@error 0) or refused. @object: "net", "route", ... */
void lx_client_reply(struct lx_client *client, int error, const char *object, const char *fmt, ...)
	LX_PRINTF(4, 5);

/* Adds a number to the next reply, of connections closed for example. LX_UNSET: none. */
void lx_client_count(struct lx_client *client, int64_t count);

/* Answers a request with rows; the client owns @dump from now on. */
void lx_client_dump(struct lx_client *client, struct lx_dump *dump);

/* The answer comes later: sets @slot to the client, and to NULL if the client goes away. */
void lx_client_wait(struct lx_client *client, struct lx_client **slot);

/* Tells a waiting client that we work on its request; call it every LX_CTL_ALIVE_MS. */
void lx_client_alive(struct lx_client *client);

/* Its ring has new events. */
void lx_client_kick(struct lx_client *client);

#endif
