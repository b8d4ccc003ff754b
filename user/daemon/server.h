/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control socket. */
#ifndef LX_DAEMON_SERVER_H
#define LX_DAEMON_SERVER_H

#include "client.h"

#define LX_CLIENTS_MAX 64
#define LX_CLIENTS_ROOT 8 /* of these, reserved for root */

/**
 * lx_server_new - listen on the instance's control socket
 * @group: its members may read the state; need not exist
 * @request: handles a client's request
 * Replaces a dead daemon's socket. Returns 0, -EADDRINUSE a daemon of this name
 * is running, -errno of mkdir, bind, ...
 */
int lx_server_new(struct lx_daemon *daemon, const char *group, lx_client_request_fn request,
		  struct lx_server **ret_server);
void lx_server_free(struct lx_server *server);

const char *lx_server_path(const struct lx_server *server);
unsigned int lx_server_clients(const struct lx_server *server);

#endif
