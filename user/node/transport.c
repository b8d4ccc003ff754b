/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A node's transports, and the modules of tunables. */
#include <string.h>

#include "../../lnd/o2ib/o2ib.h"
#include "../../lnd/sock/sock.h"
#include "node.h"

static const struct lx_lnd *const transports[] = { &lx_sock_lnd, &lx_o2ib_lnd };

#define N_TRANSPORTS (sizeof(transports) / sizeof(transports[0]))

const struct lx_lnd *lx_node_lnd(uint8_t net_type)
{
	for (unsigned int i = 0; i < N_TRANSPORTS; i++) {
		if (transports[i]->net_type == net_type)
			return transports[i];
	}
	return NULL;
}

bool lx_node_module(struct lx_node *node, const char *module, const struct lx_tunable **ret_table,
		    void **ret_values)
{
	if (!strcmp(module, "lnet")) {
		*ret_table = lx_core_tunables_table;
		*ret_values = node ? &node->core->tun : NULL;
		return true;
	}
	for (unsigned int i = 0; i < N_TRANSPORTS; i++) {
		if (strcmp(transports[i]->name, module))
			continue;
		*ret_table = transports[i]->tunables;
		*ret_values = transports[i]->tunable_values;
		return true;
	}
	return false;
}
