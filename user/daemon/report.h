/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What happens to the node, as lines of the log. */
#ifndef LX_DAEMON_REPORT_H
#define LX_DAEMON_REPORT_H

#include "daemon.h"

/* A change, as the node tells it; for the monitoring clients: monitor.h. */
void lx_report_change(struct lx_daemon *daemon, const struct lx_change *change);

/* The node runs: with what. */
void lx_report_start(struct lx_daemon *daemon);

#endif
