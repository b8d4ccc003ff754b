/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control socket. */
#ifndef LX_DAEMON_SERVER_H
#define LX_DAEMON_SERVER_H

#include "client.h"

#define LX_CLIENTS_MAX 64
#define LX_CLIENTS_ROOT 8 /* of them, for root alone */

/**
 * lx_server_new - listen on the instance's control socket
 * @group: whose members may look; need not exist
 * @request: does what a client asks for, or says why not
 * A dead daemon's socket is replaced. Returns 0, -EADDRINUSE a daemon with this name
 * runs, -errno of mkdir, bind, ...
 */
int lx_server_new(struct lx_daemon *daemon, const char *group, lx_client_request_fn request,
		  struct lx_server **ret_server);
void lx_server_free(struct lx_server *server);

const char *lx_server_path(const struct lx_server *server);
unsigned int lx_server_clients(const struct lx_server *server);

#endif
