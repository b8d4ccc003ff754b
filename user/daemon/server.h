/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control socket and its clients. */
#ifndef LX_DAEMON_SERVER_H
#define LX_DAEMON_SERVER_H

#include <libmnl/libmnl.h>

#include "daemon.h"
#include "dump.h"

#define LX_CLIENTS_MAX 64
#define LX_CLIENTS_ROOT 8 /* of them, for root alone */

struct lx_ring; /* ring.h */

/*
 * A connected client. Owner: server.c. It has one request at a time:
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
	uv_poll_t poll;
	int fd;
	long uid, pid;
	unsigned long netns; /* where it is, by lx_netns_own(); 0: not known */
	bool may_read, may_write;

	uint32_t seq; /* of the request */
	uint16_t flags;
	uint8_t command;

	char *out; /* LX_CONTROL_PACKET bytes, made when first needed */
	size_t out_len;
	struct lx_dump *dump;
	int64_t count; /* for the next reply; LX_UNSET: none */
	struct lx_client **waiting; /* where the one who will answer keeps us */
	struct lx_ring *ring;
};

/**
 * lx_server_new - listen on the instance's control socket
 * @group: whose members may look; need not exist
 * A dead daemon's socket is replaced. Returns 0, -EADDRINUSE a daemon with this name
 * runs, -errno of mkdir, bind, ...
 */
int lx_server_new(struct lx_daemon *daemon, const char *group, struct lx_server **ret_server);
void lx_server_free(struct lx_server *server);

const char *lx_server_path(const struct lx_server *server);
unsigned int lx_server_clients(const struct lx_server *server);

/* Ends a request: done (@error 0) or refused. @object: what it was about. */
void lx_client_reply(struct lx_client *client, int error, const char *object, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Has the next reply tell a number: of connections closed, say. LX_UNSET: none. */
void lx_client_count(struct lx_client *client, int64_t count);

/* Answers a request with rows; @dump is the client's. */
void lx_client_dump(struct lx_client *client, struct lx_dump *dump);

/* The answer comes later: @slot is set to the client, and to NULL if it goes away. */
void lx_client_wait(struct lx_client *client, struct lx_client **slot);

/* There is something new in its ring. */
void lx_client_kick(struct lx_client *client);

#endif
