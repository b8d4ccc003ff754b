/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which packets get from one NI to another: ICMP echoes, which may not be fragmented. */
#ifndef LX_TOOLS_ECHO_H
#define LX_TOOLS_ECHO_H

#include <lnetx/nid.h>

/**
 * lx_echo_mtu - find the largest packet that a peer answers
 * @own, @peer: their addresses are IP addresses (tcp), of one family
 * @ret_mtu: the MTU of the interface on this way, in bytes; 0: not known
 * @ret_passed: the largest size tried that was answered; 0: none was. Sizes tried are the MTU, and
 *	if that is not answered usual smaller ones
 * Returns 0, -EOPNOTSUPP no IP below these NIDs, or -errno of the socket: without CAP_NET_RAW, or
 * if @own is in another network namespace.
 */
int lx_echo_mtu(const struct lx_nid *own, const struct lx_nid *peer, unsigned int *ret_mtu,
		unsigned int *ret_passed);

/* 1: a peer answers an echo request; 0: it does not, in about a second; or -errno as above. */
int lx_echo_answers(const struct lx_nid *peer);

#endif
