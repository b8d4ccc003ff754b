/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a fake node, from YAML as the tools print it: so the output of a real
 * node can be printed again and compared.
 */
#ifndef LX_TESTS_STATE_H
#define LX_TESTS_STATE_H

#include <lnetx/lnetx.h>

#define FAKE_PEER_NIS 256

struct fake_probe {
	int error; /* the answer for this NID; or 0 and */
	char text[200];
	struct lx_peer_info info; /* the answer */
};

struct fake_state {
	struct lx_ni_info ni[64];
	size_t n_nis;
	struct lx_peer_info peer[256]; /* with FAKE_PEER_NIS each */
	size_t n_peers;
	struct lx_route_info route[4000];
	size_t n_routes;
	struct lx_conn_info conn[64];
	size_t n_conns;
	struct fake_probe probe[16];
	size_t n_probes;
	struct lx_stats stats;
	struct lx_routing_info routing;
};

extern const char *const fake_tcp_names[];

/*
 * Fills @state; and sets tunables ("global:"), selection policies of @node. Exits on a bad
 * file.
 */
void fake_state_load(struct fake_state *state, struct lx_node *node, const char *path);

/* Before tunables are shown (transport.c). */
void fake_transports_init(void);

#endif
