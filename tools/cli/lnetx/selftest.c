/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx selftest": the daemon's node as a test node of LNet selftest. */

#include "../common/requests.h"
#include "lnetx.h"
#include "selftest_run.h"

static int on(struct lx_session *s, const struct lx_args *a)
{
	struct lx_conf_selftest req;
	int err = lx_args_take(s, a, &lx_object_selftest_schema, &req);

	req.enable = 1;
	return err ? err : lx_session_do(s, LX_CTL_SET, LX_CTL_SELFTEST, &req);
}

static int off(struct lx_session *s, const struct lx_args *a)
{
	const struct lx_conf_selftest req = {
		.enable = 0,
		.session_timeout = LX_UNSET,
		.rpc_timeout = LX_UNSET,
		.bulk_mib = LX_UNSET,
	};

	return lx_session_do(s, LX_CTL_SET, LX_CTL_SELFTEST, &req);
}

static const struct lx_keyword on_keywords[] = {
	{ "consoles", LX_ARG_CONSOLES, "NIDS" },
	{ "session_timeout", LX_ARG_SESSION_TIMEOUT, "S" },
	{ "rpc_timeout", LX_ARG_RPC_TIMEOUT, "S" },
	{ "bulk_mib", LX_ARG_BULK_MIB, "N" },
	{ 0 },
};

const struct lx_command lx_selftest_commands[] = {
	{ "show", lx_lnetx_show, .help = "who may order tests, and what is going on" },
	{ "on", on, on_keywords,
	  .help = "let consoles (lst) use this node: it makes traffic for them" },
	{ "off", off, .help = "end the session, and obey no console" },
	{ "run", lx_selftest_run, lx_selftest_run_keywords,
	  .help = "traffic between test nodes, of this or other nodes, and how fast it is" },
	{ 0 },
};
