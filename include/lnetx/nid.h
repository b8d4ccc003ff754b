/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * NIDs and nets as text; comparing and hashing them.
 *
 * Layout: wire.h. Text forms: spec lnet.md, section 2. Every function here is
 * pure and thread-safe.
 */
#ifndef LNETX_NID_H
#define LNETX_NID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"

#pragma GCC visibility push(default) /* what liblnetx.so exports */

#ifdef __cplusplus
extern "C" {
#endif

struct lx_id {
	struct lx_nid nid;
	uint32_t pid;
};

/* Longest texts, with the terminating NUL. */
#define LX_NID_TEXT 80
#define LX_NET_TEXT 24
#define LX_ID_TEXT (LX_NID_TEXT + 16)

extern const struct lx_nid lx_nid_any;
extern const struct lx_nid lx_nid_lo; /* 0@lo */

static inline bool lx_nid_eq(const struct lx_nid *a, const struct lx_nid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Byte-wise order; for 4-byte NIDs that of the numbers (socklnd.md 4.3). */
static inline int lx_nid_cmp(const struct lx_nid *a, const struct lx_nid *b)
{
	return memcmp(a, b, sizeof(*a));
}

static inline bool lx_id_eq(const struct lx_id *a, const struct lx_id *b)
{
	return a->pid == b->pid && lx_nid_eq(&a->nid, &b->nid);
}

/** lx_nid_hash - hash a NID */
uint32_t lx_nid_hash(const struct lx_nid *nid);

/**
 * lx_nid_parse - read a NID: "10.0.0.1@tcp1", "2001:db8::1@tcp", "0@lo", "7@gni", "*"
 * @text: the NID; without '@' the net is tcp (lnet.md 2)
 * @ret_nid: the NID; an IPv4-mapped IPv6 address stays IPv6
 *
 * Host names are not resolved. Returns 0, or -EINVAL: not a NID.
 */
int lx_nid_parse(const char *text, struct lx_nid *ret_nid);

/**
 * lx_nid_format - write a NID in the form lx_nid_parse() reads; "<?>" for "any"
 * Returns @buf, always terminated. Use LX_NID_TEXT bytes.
 */
const char *lx_nid_format(const struct lx_nid *nid, char *buf, size_t size);

/* A NID as a string for one expression: printf("%s", lx_nid_str(nid)). */
struct lx_nid_buf {
	char text[LX_NID_TEXT];
};
#define lx_nid_str(nid) lx_nid_format((nid), LX_VALUE(lx_nid_buf, { 0 }).text, LX_NID_TEXT)

/**
 * lx_net_parse - read a net: "tcp", "tcp0", "o2ib2", "lo"
 * @ret_net: type << 16 | number
 *
 * Returns 0, or -EINVAL: unknown name, not a number, or a number above 65535.
 */
int lx_net_parse(const char *text, uint32_t *ret_net);

/**
 * lx_net_format - write a net: "tcp", "tcp1", "<7:3>" for an unknown type, "*" for any
 * Returns @buf, always terminated. Use LX_NET_TEXT bytes.
 */
const char *lx_net_format(uint32_t net, char *buf, size_t size);

struct lx_net_buf {
	char text[LX_NET_TEXT];
};
#define lx_net_str(net) lx_net_format((net), LX_VALUE(lx_net_buf, { 0 }).text, LX_NET_TEXT)

/**
 * lx_id_format - write a process: "12345-10.0.0.1@tcp"; 'U' before a userspace pid (lnet.md 2)
 * Returns @buf, always terminated.
 */
const char *lx_id_format(const struct lx_id *id, char *buf, size_t size);

/**
 * lx_id_parse - the inverse of lx_id_format(); a bare NID has pid 12345
 * Returns 0 or -EINVAL.
 */
int lx_id_parse(const char *text, struct lx_id *ret_id);

/* The type of a net, or 0 for an unknown name: "tcp" -> LX_NET_TCP. */
static inline uint8_t lx_net_type(uint32_t net)
{
	return net >> 16;
}

struct sockaddr;
/**
 * lx_nid_from_sockaddr - the NID of an address on a net
 * @sa: AF_INET or AF_INET6; a v4-mapped address counts as IPv4
 * Returns 0, or -EAFNOSUPPORT.
 */
int lx_nid_from_sockaddr(uint32_t net, const struct sockaddr *sa, struct lx_nid *ret_nid);

/**
 * lx_nid_expand - expand a NID list with ranges
 * @text: comma-separated NIDs; IPv4 octets may be ranges, "10.1.1.[2-4,9]@tcp,...",
 *        with strides, "[2-254/2]" (lnet.md 2), and so may numeric addresses, "[2-4]@gni";
 *        "*" is not expanded
 * @max: maximum number of NIDs
 * @ret_nids: malloc'd array, owned by the caller
 * @ret_n: number of NIDs, at least 1
 *
 * Returns 0, -EINVAL: not a NID list; -E2BIG: more than @max; -ENOMEM.
 */
int lx_nid_expand(const char *text, size_t max, struct lx_nid **ret_nids, size_t *ret_n);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
