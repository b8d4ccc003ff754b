/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prefixes of IPv4 and IPv6 addresses: "10.1.0.0/16", "fd00::/8". No state. */
#ifndef LX_BASE_PREFIX_H
#define LX_BASE_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

/**
 * lx_prefix_parse - parse a prefix; without "/n" a single address
 * @ret_addr: IPv4 mapped
 * @ret_bits: of these 128
 * Returns 0, or -EINVAL, also if bits beyond the prefix are set.
 */
int lx_prefix_parse(const char *text, uint8_t ret_addr[16], uint32_t *ret_bits);

/* Whether the first bits of two addresses are the same. */
bool lx_prefix_shares(const uint8_t *a, const uint8_t *b, unsigned int bits);

#endif
