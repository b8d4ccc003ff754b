/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Logs what happens to the node. */
#ifndef LX_DAEMON_REPORT_H
#define LX_DAEMON_REPORT_H

#include "daemon.h"

/* Changes that are logged together: thousands of routes through one gateway go down at a time. */
struct lx_report_batch {
	struct lx_route_info *routes; /* as one of them went down, to be freed; NULL: none did */
	size_t n_routes;
};

/* Logs a change of the node; for monitoring clients see monitor.h. */
void lx_report_change(struct lx_daemon *daemon, const struct lx_change *change,
		      struct lx_report_batch *batch);

/* Logs that the node runs, and with what. */
void lx_report_start(struct lx_daemon *daemon);

#endif
