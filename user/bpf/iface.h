/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the fast path has to know of an interface and its network namespace before it uses
 * them: whether packets are as it expects them, and what the stack would do to them that
 * programs in front of it do not.
 */
#ifndef LX_BPF_IFACE_H
#define LX_BPF_IFACE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * lx_iface_check - whether the fast path may be used on an interface
 * @ret_reason: why not, in words; of @size bytes
 * Returns 0, -EAFNOSUPPORT no Ethernet, -EOPNOTSUPP it joins packets in a way that loses
 * what TCP says in them (LRO), or the namespace has IPsec policies, or another -errno.
 */
int lx_iface_check(const char *ifname, char *ret_reason, size_t size);

/* Whether packets of IPv4 are dropped that come by another interface (rp_filter 1). */
bool lx_iface_is_strict(const char *ifname);

#endif
