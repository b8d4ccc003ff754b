/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LX_DAEMON_COMMAND_H
#define LX_DAEMON_COMMAND_H

#include "client.h"

/* Executes a client's request, or refuses it; the answer may come later. */
void lx_command(struct lx_client *client, const void *attrs, size_t len);

#endif
