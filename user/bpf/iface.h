/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether the fast path can use an interface in its network namespace: are packets in the
 * form it expects, and does the stack do anything to them that the programs in front of
 * it do not?
 */
#ifndef LX_BPF_IFACE_H
#define LX_BPF_IFACE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * lx_iface_check - check whether the fast path may use an interface
 * @ret_reason: why not, as text; of @size bytes
 * Returns 0, -EAFNOSUPPORT not Ethernet, -EOPNOTSUPP it has LRO on, which loses TCP headers, no
 * packet passes it, it is in a VRF, where the programs do not find the sockets, or the namespace
 * has IPsec policies; or another -errno.
 */
int lx_iface_check(const char *ifname, char *ret_reason, size_t size);

/* What of this concerns the guard, too: 0, or -EOPNOTSUPP no packet passes the interface. */
int lx_iface_carries(const char *ifname, char *ret_reason, size_t size);

/* Whether this network namespace has IPsec policies. Takes some microseconds. */
bool lx_iface_has_ipsec(void);

#endif
