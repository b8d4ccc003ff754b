/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hash tables with the links inside the members, growing as they fill.
 *
 * The table knows hashes, not keys: a lookup walks the members with a hash and
 * compares the keys itself.
 *
 *	lx_hash_for_each(peer, &table, lx_nid_hash(nid), node)
 *		if (lx_nid_eq(&peer->nid, nid))
 *			return peer;
 */
#ifndef LX_BASE_HASH_H
#define LX_BASE_HASH_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "list.h"

struct lx_hash_node {
	struct lx_hash_node *next;
	uint32_t hash;
};

struct lx_hash {
	struct lx_hash_node **bucket;
	uint32_t mask; /* buckets - 1 */
	uint32_t count;
};

/* Returns 0 or -ENOMEM. */
static inline int lx_hash_init(struct lx_hash *h)
{
	h->mask = 15;
	h->count = 0;
	h->bucket = calloc(h->mask + 1, sizeof(*h->bucket));
	return h->bucket ? 0 : -ENOMEM;
}

/* Frees the table, not the members. */
static inline void lx_hash_fini(struct lx_hash *h)
{
	free(h->bucket);
	h->bucket = NULL;
	h->count = 0;
}

/* A table that cannot grow only gets slower, so adding never fails. */
static inline void lx_hash_grow_(struct lx_hash *h)
{
	uint32_t mask = h->mask * 2 + 1;
	struct lx_hash_node **bucket = calloc((size_t)mask + 1, sizeof(*bucket));

	if (!bucket)
		return;
	for (uint32_t i = 0; i <= h->mask; i++) {
		for (struct lx_hash_node *n = h->bucket[i], *next; n; n = next) {
			next = n->next;
			n->next = bucket[n->hash & mask];
			bucket[n->hash & mask] = n;
		}
	}
	free(h->bucket);
	h->bucket = bucket;
	h->mask = mask;
}

static inline void lx_hash_add(struct lx_hash *h, struct lx_hash_node *n, uint32_t hash)
{
	if (h->count > h->mask)
		lx_hash_grow_(h);
	n->hash = hash;
	n->next = h->bucket[hash & h->mask];
	h->bucket[hash & h->mask] = n;
	h->count++;
}

static inline void lx_hash_del(struct lx_hash *h, struct lx_hash_node *n)
{
	struct lx_hash_node **p = &h->bucket[n->hash & h->mask];

	for (; *p; p = &(*p)->next) {
		if (*p == n) {
			*p = n->next;
			h->count--;
			return;
		}
	}
}

static inline struct lx_hash_node *lx_hash_first_(const struct lx_hash *h, uint32_t hash)
{
	struct lx_hash_node *n = h->bucket[hash & h->mask];

	while (n && n->hash != hash)
		n = n->next;
	return n;
}

static inline struct lx_hash_node *lx_hash_next_(struct lx_hash_node *n)
{
	uint32_t hash = n->hash;

	do {
		n = n->next;
	} while (n && n->hash != hash);
	return n;
}

/* Every member with this hash; the body must not change the table. */
#define lx_hash_for_each(pos, h, hashval, member) \
	for (struct lx_hash_node *lx_n_ = lx_hash_first_(h, hashval); \
	     lx_n_ && (pos = lx_container_of(lx_n_, __typeof__(*pos), member), 1); \
	     lx_n_ = lx_hash_next_(lx_n_))

/* FNV-1a. */
static inline uint64_t lx_hash_bytes(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

/* Hashes a number to 32 bits. */
static inline uint32_t lx_hash_u64(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ULL;
	return x >> 32;
}

#endif
