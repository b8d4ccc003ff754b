/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Linux' side of a tcp NI: its interface and address. */
#ifndef LX_TOOLS_DEVICE_H
#define LX_TOOLS_DEVICE_H

#include "../../user/io/netif.h"

/**
 * lx_device_of - find an NI's interface
 * @nid: the NI, as text
 * @ret_netif: of an alias, with the name of its interface
 * Returns 0, -EOPNOTSUPP: not tcp; or as lx_netif_by_nid().
 */
int lx_device_of(const char *nid, struct lx_netif *ret_netif);

/* A NID's address. 0, -EOPNOTSUPP: not tcp. */
int lx_device_addr(const char *nid, union lx_addr *ret_addr);

#endif
