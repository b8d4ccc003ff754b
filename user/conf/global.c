/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of global settings; see the header. */
#include <stddef.h>
#include <string.h>

#include "global.h"

/* clang-format off */
/* In the order in which "global show" prints them. */
const struct lx_global lx_globals[] = {
	{ "numa_range", "lnet_numa_range", false, false },
	{ "max_interfaces", "lnet_interfaces_max", false, false },
	{ "discovery", "lnet_peer_discovery_disabled", true, true },
	{ "drop_asym_route", "lnet_drop_asym_route", false, true },
	{ "retry_count", "lnet_retry_count", false, false },
	{ "transaction_timeout", "lnet_transaction_timeout", false, false },
	{ "health_sensitivity", "lnet_health_sensitivity", false, false },
	{ "recovery_interval", "lnet_recovery_interval", false, false },
	{ "router_sensitivity", "router_sensitivity_percentage", false, false },
	{ "lnd_timeout", NULL, false, false },
	{ "response_tracking", "lnet_response_tracking", false, false },
	{ "recovery_limit", "lnet_recovery_limit", false, false },
	{ "max_recovery_ping_interval", "lnet_max_recovery_ping_interval", false, false },
	{ NULL, NULL, false, false }
};
/* clang-format on */

const struct lx_global *lx_global_lookup(const char *key)
{
	if (!strcmp(key, "max_intf")) /* its old name */
		key = "max_interfaces";
	for (const struct lx_global *g = lx_globals; g->key; g++) {
		if (!strcmp(g->key, key))
			return g;
	}
	return NULL;
}

int64_t lx_global_lnd_timeout(int64_t transaction_timeout, int64_t retry_count)
{
	int64_t timeout = (transaction_timeout - 1) / (retry_count + 1);

	return timeout > 1 ? timeout : 1;
}
