/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "o2ibworld.h"

struct lx_sim *sim;
struct lx_sim_node *a, *b;
char *src, *dst;

struct lx_sim_node *node_on(const char *nid, int peer_credits)
{
	struct lx_sim_node *node;

	assert_int_equal(lx_sim_node_new(sim, &node), 0);
	tune(node, "lnet_peer_discovery_disabled", "1");
	simib_ni_add(node, nid, peer_credits);
	return node;
}

int o2ib_world_begin(size_t bytes)
{
	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	simib_begin(sim);
	log_clear();
	src = malloc(bytes);
	dst = calloc(1, bytes);
	assert_non_null(src);
	assert_non_null(dst);
	rnd_fill(src, bytes);
	a = node_on(A, 8);
	b = node_on(B, 8);
	return 0;
}

int o2ib_world_end(void **state)
{
	simib_end();
	free(src);
	free(dst);
	return 0;
}

struct lx_o2ib_net *net_of(struct lx_sim_node *node)
{
	struct lx_net *net;
	struct lx_core_ni *ni;

	lx_ni_for_each (net, ni, node->core) {
		if (ni->ni.lnd == &lx_o2ib_lnd)
			return ni->ni.lnd_data;
	}
	return NULL;
}
