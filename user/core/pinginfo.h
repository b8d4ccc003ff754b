/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Codec of ping information: a node's description of itself in the answer to a ping
 * and in a push (lnet.md 12.2).
 */
#ifndef LX_CORE_PINGINFO_H
#define LX_CORE_PINGINFO_H

#include <lnetx/nid.h>

struct lx_pinginfo_ni {
	struct lx_nid nid;
	uint32_t status; /* LX_NI_STATUS_UP, _DOWN */
};

struct lx_pinginfo {
	uint32_t features; /* enum lx_ping_feature; LARGE_ADDR and the like included */
	uint32_t pid;
	uint32_t seqno;
	uint32_t n_nis; /* without 0@lo */
	struct lx_pinginfo_ni ni[]; /* in wire order: nid4 first, then large ones */
};

/* Creates an empty one with room for @n_nis; free() it. -ENOMEM. */
int lx_pinginfo_new(uint32_t n_nis, struct lx_pinginfo **ret_info);

/* The node's primary NID; NULL if it lists none. */
const struct lx_nid *lx_pinginfo_primary(const struct lx_pinginfo *info);

/* Bytes that lx_pinginfo_encode() writes. */
size_t lx_pinginfo_size(const struct lx_pinginfo *info);

/*
 * Encodes the information in CPU order. 4-byte NIDs must come before large ones;
 * LARGE_ADDR is set if there are large ones. METADATA is not written.
 */
void lx_pinginfo_encode(const struct lx_pinginfo *info, void *buf);

/* Changes the status of a NID in encoded information; does nothing if the NID is not there. */
void lx_pinginfo_set_status(void *buf, const struct lx_nid *nid, uint32_t status);

/**
 * lx_pinginfo_decode - read an answer or a push, of either byte order
 * @len: bytes of @buf that arrived
 * @max_nis: refuse more 16-byte records than this
 * @ret_need: size of the complete information, if it says so; else 0
 * @ret_info: to be freed with free()
 *
 * Returns 0, -EPROTO: not ping information, or without NI_STATUS; -ERANGE: too many
 * or no records; -EMSGSIZE: truncated, ping again with *@ret_need bytes; -ENOMEM.
 */
int lx_pinginfo_decode(const void *buf, size_t len, uint32_t max_nis, size_t *ret_need,
		       struct lx_pinginfo **ret_info);

#endif
