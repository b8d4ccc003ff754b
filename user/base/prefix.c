/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parses prefixes; see the header. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prefix.h"

/* True if all bits from @bits on are 0. */
static bool is_tidy(const uint8_t addr[16], unsigned int bits)
{
	for (unsigned int i = bits; i < 128; i++) {
		if (addr[i / 8] & 0x80 >> i % 8)
			return false;
	}
	return true;
}

int lx_prefix_parse(const char *text, uint8_t ret_addr[16], uint32_t *ret_bits)
{
	char buf[INET6_ADDRSTRLEN + sizeof("/128")], *slash, *end;
	unsigned long bits, most = 128;
	uint8_t addr[16] = { 0 };

	if (strlen(text) >= sizeof(buf))
		return -EINVAL;
	strcpy(buf, text);
	slash = strchr(buf, '/');
	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, buf, addr + 12) == 1) {
		memset(addr + 10, 0xff, 2);
		most = 32;
	} else if (inet_pton(AF_INET6, buf, addr) != 1) {
		return -EINVAL;
	}
	bits = most;
	if (slash) {
		bits = strtoul(slash, &end, 10);
		if (*slash < '0' || *slash > '9' || *end || bits > most)
			return -EINVAL;
	}
	bits += 128 - most;
	if (!is_tidy(addr, bits))
		return -EINVAL;
	memcpy(ret_addr, addr, sizeof(addr));
	*ret_bits = bits;
	return 0;
}

bool lx_prefix_shares(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	return !memcmp(a, b, bytes) && (!rest || !((a[bytes] ^ b[bytes]) >> (8 - rest)));
}
