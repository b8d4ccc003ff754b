/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A node's transports, and the modules of tunables. */
#include <string.h>

#include "../../lnd/o2ib/o2ib.h"
#include "../../lnd/sock/sock.h"
#include "node.h"

const struct lx_lnd *const lx_transport_lnds[LX_NODE_LNDS] = { &lx_sock_lnd, &lx_o2ib_lnd };

const struct lx_lnd *lx_transport_lnd(uint8_t net_type)
{
	for (unsigned int i = 0; i < LX_NODE_LNDS; i++) {
		if (lx_transport_lnds[i]->net_type == net_type)
			return lx_transport_lnds[i];
	}
	return NULL;
}

bool lx_transport_module(struct lx_node *node, const char *module,
			 const struct lx_tunable **ret_table, void **ret_values)
{
	if (!strcmp(module, "lnet")) {
		*ret_table = lx_core_tunables_table;
		*ret_values = node ? &node->core->tun : NULL;
		return true;
	}
	for (unsigned int i = 0; i < LX_NODE_LNDS; i++) {
		if (strcmp(lx_transport_lnds[i]->name, module))
			continue;
		*ret_table = lx_transport_lnds[i]->tunables;
		*ret_values = lx_transport_lnds[i]->tunable_values;
		return true;
	}
	return false;
}
