/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Another machine with an address of ours: messages for us arrive there, by turns. Asked for as
 * RFC 5227 (ARP) and RFC 4862 (ND) have it, by a probe that changes no table of others.
 */
#ifndef LX_IO_DUPLICATE_H
#define LX_IO_DUPLICATE_H

#include "netif.h"

#define LX_MAC_TEXT 18 /* "02:00:5e:10:00:01" */

/**
 * lx_duplicate_find - look for another machine with an address
 * @nid: an NI of this machine
 * @ret_mac: of the other one
 * Takes 0.4 s if there is none. Returns 1, 0: no answer; -EOPNOTSUPP: not TCP on Ethernet, or
 * -errno of the address or the socket: -EPERM without CAP_NET_RAW.
 */
int lx_duplicate_find(const struct lx_nid *nid, char ret_mac[LX_MAC_TEXT]);

#endif
