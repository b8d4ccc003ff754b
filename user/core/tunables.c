/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header: values derived from several tunables. */
#include "core.h"
#include "tunables.h"

const struct lx_tunable lx_core_tunables_table[] =
	LX_TUNABLE_TABLE(lx_core_tunables, LX_CORE_TUNABLES);

unsigned int lx_core_tunables_lnd_timeout(const struct lx_core *core)
{
	unsigned int timeout = (core->tun.lnet_transaction_timeout - 1) /
			       (core->tun.lnet_retry_count + 1);

	return timeout ? timeout : 1;
}

uint64_t lx_core_tunables_deadline(struct lx_core *core)
{
	uint64_t attempt = lx_core_tunables_lnd_timeout(core);

	return lx_core_now(core) + (attempt * (core->tun.lnet_retry_count + 1) + 1) * LX_S_NS;
}

int64_t lx_core_tunables_retries(const struct lx_core_tunables *tun)
{
	return tun->lnet_health_sensitivity ? tun->lnet_retry_count : 0;
}

const struct lx_tunable_conflict *lx_core_tunables_conflict(const struct lx_core_tunables *tun)
{
	static const struct lx_tunable_conflict timeout = {
		.name = { "lnet_transaction_timeout", "lnet_retry_count" },
		.why = "transaction_timeout must be greater than retry_count",
	};

	return tun->lnet_transaction_timeout > lx_core_tunables_retries(tun) ? NULL : &timeout;
}
