/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets of IPv4 addresses, octet by octet: "10.0.[1-3,7].[2-8/2]", "10.77.*.*" (lnet.md 2,
 * control.md 7). Used by NID ranges and by rules on a machine's addresses.
 */
#ifndef LX_BASE_OCTETS_H
#define LX_BASE_OCTETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The set of values of each octet. */
struct lx_octets {
	uint64_t has[4][256 / 64];
};

struct lx_span {
	uint32_t first, last, stride;
};

static inline bool lx_octets_has(const struct lx_octets *octets, int i, unsigned int value)
{
	return octets->has[i][value / 64] >> value % 64 & 1;
}

/** lx_octets_match - check whether an address is in the set */
bool lx_octets_match(const struct lx_octets *octets, const uint8_t addr[4]);

/**
 * lx_octets_parse - parse a pattern
 * @star: allow "*" for an octet
 * Returns 0 or -EINVAL.
 */
int lx_octets_parse(const char *text, bool star, struct lx_octets *ret_octets);

/**
 * lx_octets_span - parse "a", "a-b" or "a-b/stride"
 * @len: bytes of @text
 * @max: largest number allowed
 * Returns 0 or -EINVAL.
 */
int lx_octets_span(const char *text, size_t len, uint32_t max, struct lx_span *ret_span);

/**
 * lx_octets_number - parse digits, without sign or space
 * @len: bytes of @text, which need not end there
 * @base: 10 or 16
 * Returns 0, or -EINVAL, also for a number above @max.
 */
int lx_octets_number(const char *text, size_t len, unsigned int base, uint32_t max,
		     uint32_t *ret_value);

#endif
