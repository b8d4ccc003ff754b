/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The checksum of IP, TCP and ICMP (RFC 1071). */
#ifndef LX_BASE_CHECKSUM_H
#define LX_BASE_CHECKSUM_H

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of @data and @from, in network order; its complement is the checksum. */
static inline uint16_t lx_checksum_add(const void *data, size_t len, uint32_t from)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < len; i++)
		from += i & 1 ? at[i] : at[i] << 8;
	while (from >> 16)
		from = (from & 0xffff) + (from >> 16);
	return htons(from);
}

#endif
