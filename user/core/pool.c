/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pools of router buffers. Owned by the core; credit.c takes and returns buffers.
 *
 * A pool is a stack of idle buffers, so the most recently used ones - whose backing exists
 * and is warm - are used first. credits is the number of idle buffers minus the
 * number of waiting messages. When a pool shrinks, buffers in use are freed as they
 * return.
 */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "pool.h"

#define PAGE 4096u
/* Bytes of buffers that are allocated together, in one slab. */
#define SLAB_BYTES (16u << 20)

/* Default sizes: those of one CPU partition (lnet.md 9.2). */
static const uint32_t pool_default[LX_POOLS] = { 512, 4096, 256 };
static const uint32_t pool_pages[LX_POOLS] = { 0, LX_SMALL_MAX / PAGE, LX_PAYLOAD_MAX / PAGE };

enum lx_pool_class lx_pool_class_of(size_t payload)
{
	if (!payload)
		return LX_POOL_TINY;
	return payload <= LX_SMALL_MAX ? LX_POOL_SMALL : LX_POOL_LARGE;
}

static int64_t *pool_tunable(struct lx_core *core, unsigned int class)
{
	int64_t *const tunable[LX_POOLS] = {
		&core->tun.tiny_router_buffers,
		&core->tun.small_router_buffers,
		&core->tun.large_router_buffers,
	};

	return tunable[class];
}

static uint32_t wanted_of(const struct lx_pool *pool)
{
	return pool->wanted + pool->kept;
}

static int grow(struct lx_core *core, struct lx_pool *pool)
{
	struct lx_rbuf **free_list;

	if (wanted_of(pool) > pool->cap) {
		free_list = realloc(pool->free, wanted_of(pool) * sizeof(*free_list));
		if (!free_list)
			return -ENOMEM;
		pool->free = free_list;
		pool->cap = wanted_of(pool);
	}
	while (pool->made < wanted_of(pool)) {
		uint32_t n = wanted_of(pool) - pool->made;
		int r;

		if (pool->size && n > SLAB_BYTES / pool->size)
			n = SLAB_BYTES / pool->size;
		r = core->ops->rbuf_new(pool->size, n, &pool->free[pool->n_free]);
		if (r)
			return r;
		pool->made += n;
		pool->n_free += n;
		pool->credits += n;
	}
	return 0;
}

static void shrink(struct lx_core *core, struct lx_pool *pool)
{
	while (pool->made > wanted_of(pool) && pool->n_free) {
		core->ops->rbuf_free(pool->free[--pool->n_free]);
		pool->made--;
		pool->credits--;
	}
}

static int pool_fit(struct lx_core *core, unsigned int class)
{
	struct lx_pool *pool = &core->pool[class];
	int64_t wanted = *pool_tunable(core, class);
	int r;

	pool->npages = pool_pages[class];
	pool->size = (size_t)pool->npages * PAGE;
	pool->wanted = wanted ? wanted : pool_default[class];
	shrink(core, pool);
	r = grow(core, pool);
	/* Keep the buffers that could be allocated. */
	if (r)
		pool->wanted = pool->made - pool->kept;
	pool->credits_min = pool->credits;
	return r;
}

int lx_pool_make_all(struct lx_core *core)
{
	int r = 0;

	core->pools_made = true;
	for (unsigned int i = 0; i < LX_POOLS && !r; i++)
		r = pool_fit(core, i);
	return r;
}

void lx_pool_free_all(struct lx_core *core)
{
	for (unsigned int i = 0; i < LX_POOLS; i++) {
		struct lx_pool *pool = &core->pool[i];

		pool->wanted = pool->kept = 0;
		shrink(core, pool);
		free(pool->free);
		pool->free = NULL;
		pool->cap = 0;
	}
	core->pools_made = false;
}

int lx_pool_resize(struct lx_core *core, const int64_t totals[LX_POOLS])
{
	int r = 0;

	for (unsigned int i = 0; i < LX_POOLS; i++) {
		int64_t most = i == LX_POOL_LARGE ? LX_BUFFERS_LARGE_MAX : LX_BUFFERS_MAX;

		if (totals[i] != LX_UNSET && (totals[i] < 0 || totals[i] > most))
			return -EINVAL;
	}
	for (unsigned int i = 0; i < LX_POOLS && !r; i++) {
		if (totals[i] == LX_UNSET || totals[i] == *pool_tunable(core, i))
			continue;
		*pool_tunable(core, i) = totals[i];
		if (core->pools_made)
			r = pool_fit(core, i);
	}
	return r;
}

int lx_pool_keep(struct lx_core *core, struct lx_pool *pool, bool on)
{
	pool->kept += on ? 1 : -1;
	if (!on || !grow(core, pool))
		return 0;
	pool->kept--;
	return -ENOMEM;
}

struct lx_rbuf *lx_pool_take(struct lx_pool *pool)
{
	return pool->free[--pool->n_free];
}

void lx_pool_give(struct lx_core *core, struct lx_pool *pool, struct lx_rbuf *rbuf)
{
	if (pool->made > wanted_of(pool)) {
		core->ops->rbuf_free(rbuf);
		pool->made--;
		/* Its credit is not returned either. */
		return;
	}
	core->ops->rbuf_reset(rbuf);
	pool->free[pool->n_free++] = rbuf;
	pool->credits++;
}

void lx_pool_describe(struct lx_core *core, struct lx_routing_info *ret_info)
{
	*ret_info = (struct lx_routing_info){ .state = core->routing, .pools = core->pools_made };
	for (unsigned int i = 0; i < LX_POOLS; i++) {
		const struct lx_pool *pool = &core->pool[i];

		ret_info->pool[i] = (struct lx_pool_info){
			.npages = pool->npages,
			.nbuffers = pool->made,
			.credits = pool->credits,
			.mincredits = pool->credits_min,
		};
	}
}
