/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See sim.h. Apart, because most tests need no environment. */
#include <assert.h>
#include <stdlib.h>

#include "../../user/node/node.h"
#include "sim.h"

struct lx_node *lx_sim_public_new(struct lx_sim_node *sim)
{
	struct lx_node *node = calloc(1, sizeof(*node));
	int r;

	assert(node);
	r = lx_env_new(0, NULL, NULL, &node->env);
	assert(!r);
	node->core = sim->core;
	return node;
}

void lx_sim_public_free(struct lx_node *node)
{
	lx_env_free(node->env);
	free(node);
}
