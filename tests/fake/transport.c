/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A node's table of transports, of which there are only tunables. */
#include <stdlib.h>

#define lx_sock_lnd lx_fake_tcp
#define lx_o2ib_lnd lx_fake_o2ib
#include "../../user/node/transport.c"
#include "state.h"

#define TCP_TUNABLES(X, tag)                                                                       \
	X(tag, sock_timeout, 50, 0, 86400, NULL, "seconds")                                        \
	X(tag, accept, 1, 0, 2, accept_names, "whom to accept")                                    \
	X(tag, accept_port, 988, 1, 65535, NULL, "port")                                           \
	X(tag, skip_mr_route_setup, 1, 0, 1, NULL,                                                 \
	  "1: leave the routes of the tests' machine alone")                                       \
	X(tag, fastpath, 1, 0, 1, switch_names, "whether the kernel forwards")
static const char *const accept_names[] = { "none", "secure", "all", NULL };
static const char *const switch_names[] = { "off", "on", NULL };
#define O2IB_TUNABLES(X, tag) X(tag, service, 987, 1, 65535, NULL, "port")
LX_TUNABLE_STRUCT(tcp_tunables, TCP_TUNABLES);
LX_TUNABLE_STRUCT(o2ib_tunables, O2IB_TUNABLES);
#define DEFAULT(tag, name, def, min, max, names, help) .name = (def),
static struct tcp_tunables tcp = { TCP_TUNABLES(DEFAULT, ) };
static struct o2ib_tunables o2ib = { O2IB_TUNABLES(DEFAULT, ) };
static const struct lx_tunable tcp_table[] = LX_TUNABLE_TABLE(tcp_tunables, TCP_TUNABLES);
static struct lx_tunable o2ib_table[] = LX_TUNABLE_TABLE(o2ib_tunables, O2IB_TUNABLES);

const struct lx_lnd lx_fake_tcp = {
	.name = "tcp",
	.net_type = LX_NET_TCP,
	.tunables = tcp_table,
	.tunable_values = &tcp,
};
const struct lx_lnd lx_fake_o2ib = {
	.name = "o2ib",
	.net_type = LX_NET_O2IB,
	.tunables = o2ib_table,
	.tunable_values = &o2ib,
};

/* Without RDMA, unless a test wants it. */
void fake_transports_init(void)
{
	if (!getenv("FAKENODE_O2IB"))
		o2ib_table[0].name = NULL;
}
