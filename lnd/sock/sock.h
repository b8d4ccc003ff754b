/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd: LNet over TCP (spec socklnd.md), as far as the node needs to know it.
 */
#ifndef LX_SOCK_SOCK_H
#define LX_SOCK_SOCK_H

#include <internal/lnd.h>

extern const struct lx_lnd lx_sock_lnd;

#endif
