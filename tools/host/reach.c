/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether a machine answers otherwise; see the header. Called by doctor.c. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "../../user/base/cleanup.h"
#include "../../user/io/netif.h"
#include "echo.h"
#include "reach.h"

#define WAIT_MS 1000
/* As a node's own connections: a guard, or accept=secure, takes no others. */
#define PORT_FIRST 1023 /* and downwards */
#define PORT_LAST 512

static int try_tcp(const struct lx_nid *nid, uint16_t port)
{
	union lx_addr local, remote;
	struct lx_netif_dial dial = {
		.local = &local, .remote = &remote, .port_first = PORT_FIRST, .port_last = PORT_LAST
	};
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int fd LX_AUTO_CLOSE = -1;
	bool privileged;
	int error = 0;

	lx_addr_of_nid(&remote, nid, port);
	local = (union lx_addr){ .v6.sin6_family = remote.sa.sa_family };
	fd = p.fd = lx_netif_dial(&dial, &privileged);
	if (fd < 0)
		return fd;
	if (poll(&p, 1, WAIT_MS) <= 0)
		return -ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) ? -errno : -error;
}

void *lx_reach_look(void *reach)
{
	struct lx_reach *r = reach;

	if (r->nid.type == LX_NET_TCP)
		r->tcp = try_tcp(&r->nid, r->port);
	if (r->tcp && r->tcp != -ECONNREFUSED)
		r->icmp = lx_echo_answers(&r->nid);
	return NULL;
}
