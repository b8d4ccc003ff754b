/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The loopback transport: 0@lo, a node's messages to itself. */
#ifndef LX_LO_H
#define LX_LO_H

#include <internal/lnd.h>

extern const struct lx_lnd lx_lo_lnd;

#endif
