/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of sockets, IPv4 and IPv6. */
#ifndef LX_IO_ADDR_H
#define LX_IO_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <lnetx/nid.h>

union lx_addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "[2001:db8::1]:65535" with a scope. */
#define LX_ADDR_TEXT 80

/* An address from its bytes, 4 or 16 in network order. */
void lx_addr_init(union lx_addr *addr, const void *bytes, unsigned int n_bytes, uint16_t port);

void lx_addr_of_nid(union lx_addr *addr, const struct lx_nid *nid, uint16_t port);

/* The address alone, in network order: 4 bytes, 16, or none. */
const uint8_t *lx_addr_bytes(const union lx_addr *addr, unsigned int *ret_n);

/* IPv6, or IPv4 mapped: as the programs in the kernel have addresses. */
void lx_addr_map(const union lx_addr *addr, uint8_t ret_mapped[16]);
void lx_addr_unmap(union lx_addr *addr, const uint8_t mapped[16], uint16_t port);

socklen_t lx_addr_len(const union lx_addr *addr);
uint16_t lx_addr_port(const union lx_addr *addr);
void lx_addr_set_port(union lx_addr *addr, uint16_t port);

/* Whether the first bits are the same. Ignores ports, as do the next. */
bool lx_addr_shares(const union lx_addr *a, const union lx_addr *b, unsigned int bits);
bool lx_addr_same_host(const union lx_addr *a, const union lx_addr *b);
bool lx_addr_is_link_local(const union lx_addr *addr); /* IPv6 */

/* "10.0.0.1", "fd00::1"; "?": it is none. Returns @buf. */
const char *lx_addr_host(const union lx_addr *addr, char *buf, size_t size);

/* "10.0.0.1:988", "[fd00::1]:988". Returns @buf. */
const char *lx_addr_format(const union lx_addr *addr, char *buf, size_t size);

struct lx_addr_buf {
	char text[LX_ADDR_TEXT];
};
#define lx_addr_str(addr) lx_addr_format((addr), ((struct lx_addr_buf){ { 0 } }).text, LX_ADDR_TEXT)

#endif
