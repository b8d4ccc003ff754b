/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of sockets; see the header. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "../base/prefix.h"
#include "addr.h"

void lx_addr_init(union lx_addr *addr, const void *bytes, unsigned int n_bytes, uint16_t port)
{
	memset(addr, 0, sizeof(*addr));
	if (n_bytes == 4) {
		addr->v4.sin_family = AF_INET;
		memcpy(&addr->v4.sin_addr, bytes, 4);
	} else {
		addr->v6.sin6_family = AF_INET6;
		memcpy(&addr->v6.sin6_addr, bytes, 16);
	}
	lx_addr_set_port(addr, port);
}

socklen_t lx_addr_len(const union lx_addr *addr)
{
	return addr->sa.sa_family == AF_INET ? sizeof(addr->v4) : sizeof(addr->v6);
}

/* That of IPv6 is in the same place. */
uint16_t lx_addr_port(const union lx_addr *addr)
{
	return ntohs(addr->v4.sin_port);
}

void lx_addr_set_port(union lx_addr *addr, uint16_t port)
{
	addr->v4.sin_port = htons(port);
}

void lx_addr_of_nid(union lx_addr *addr, const struct lx_nid *nid, uint16_t port)
{
	lx_addr_init(addr, nid->addr, lx_nid_is_nid4(nid) ? 4 : 16, port);
}

const uint8_t *lx_addr_bytes(const union lx_addr *addr, unsigned int *ret_n)
{
	*ret_n = addr->sa.sa_family == AF_INET ? 4 : addr->sa.sa_family == AF_INET6 ? 16 : 0;
	return *ret_n == 4 ? (const uint8_t *)&addr->v4.sin_addr : addr->v6.sin6_addr.s6_addr;
}

void lx_addr_map(const union lx_addr *addr, uint8_t ret_mapped[16])
{
	unsigned int n;
	const uint8_t *bytes = lx_addr_bytes(addr, &n);

	memset(ret_mapped, 0, 10);
	memset(ret_mapped + 10, 0xff, 2);
	memcpy(ret_mapped + 16 - n, bytes, n);
}

void lx_addr_unmap(union lx_addr *addr, const uint8_t mapped[16], uint16_t port)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	unsigned int at = memcmp(mapped, v4, sizeof(v4)) ? 0 : sizeof(v4);

	lx_addr_init(addr, mapped + at, 16 - at, port);
}

bool lx_addr_shares(const union lx_addr *a, const union lx_addr *b, unsigned int bits)
{
	unsigned int n;

	return a->sa.sa_family == b->sa.sa_family &&
	       lx_prefix_shares(lx_addr_bytes(a, &n), lx_addr_bytes(b, &n), bits);
}

bool lx_addr_same_host(const union lx_addr *a, const union lx_addr *b)
{
	unsigned int n;

	lx_addr_bytes(a, &n);
	return lx_addr_shares(a, b, 8 * n);
}

bool lx_addr_is_link_local(const union lx_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&addr->v6.sin6_addr);
}

const char *lx_addr_host(const union lx_addr *addr, char *buf, size_t size)
{
	unsigned int n;

	if (!inet_ntop(addr->sa.sa_family, lx_addr_bytes(addr, &n), buf, size))
		snprintf(buf, size, "?");
	return buf;
}

const char *lx_addr_format(const union lx_addr *addr, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN];
	bool v6 = addr->sa.sa_family == AF_INET6;

	lx_addr_host(addr, host, sizeof(host));
	if (v6 || addr->sa.sa_family == AF_INET)
		snprintf(buf, size, v6 ? "[%s]:%u" : "%s:%u", host, lx_addr_port(addr));
	else
		snprintf(buf, size, "%s", host);
	return buf;
}
