/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clients' pings and discoveries. */
#ifndef LX_DAEMON_PROBE_H
#define LX_DAEMON_PROBE_H

#include "client.h"

/* A client's request; answered now or later. */
void lx_probe_request(struct lx_client *client, const void *attrs, size_t len);

#endif
