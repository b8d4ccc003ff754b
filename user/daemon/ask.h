/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A console's requests to test nodes of LNet selftest. */
#ifndef LX_DAEMON_ASK_H
#define LX_DAEMON_ASK_H

#include "client.h"

/* Sends one, and answers the client when the test node has replied, or time is up. */
void lx_ask_request(struct lx_client *client, const void *attrs, size_t len);

#endif
