/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bulk buffers; see the header. Owned by the service. */
#include <stdlib.h>
#include <sys/mman.h>

#include "pool.h"

void lx_lst_pool_init(struct lx_lst_pool *pool, struct lx_node *node, unsigned int max)
{
	*pool = (struct lx_lst_pool){ .node = node, .max = max };
	lx_list_init(&pool->waiters);
}

/* Whole pages: those that a small bulk does not touch cost no memory. */
static void *make(struct lx_lst_pool *pool)
{
	void *buffer, **idle;

	if (pool->room <= pool->made) {
		idle = realloc(pool->idle, (pool->made + 16) * sizeof(*idle));
		if (!idle)
			return NULL;
		pool->idle = idle;
		pool->room = pool->made + 16;
	}
	buffer = mmap(NULL, LX_LST_BUFFER_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED)
		return NULL;
	/* Saves registrations per message on RDMA nets; a failure does not matter. */
	lx_memory_add(pool->node, buffer, LX_LST_BUFFER_BYTES);
	pool->made++;
	return buffer;
}

static void unmake(struct lx_lst_pool *pool, void *buffer)
{
	lx_memory_del(pool->node, buffer);
	munmap(buffer, LX_LST_BUFFER_BYTES);
	pool->made--;
}

static void *take(struct lx_lst_pool *pool)
{
	void *buffer;

	if (pool->used >= pool->max)
		return NULL;
	buffer = pool->made > pool->used ? pool->idle[pool->made - pool->used - 1] : make(pool);
	pool->used += buffer != NULL;
	return buffer;
}

void *lx_lst_pool_get(struct lx_lst_pool *pool, struct lx_lst_waiter *waiter)
{
	void *buffer = pool->waiting ? NULL : take(pool);

	if (!buffer) {
		lx_list_append(&pool->waiters, &waiter->link);
		pool->waiting++;
	}
	return buffer;
}

bool lx_lst_pool_cancel(struct lx_lst_pool *pool, struct lx_lst_waiter *waiter)
{
	if (!waiter->link.next || lx_list_empty(&waiter->link))
		return false;
	lx_list_del(&waiter->link);
	pool->waiting--;
	return true;
}

static void serve(struct lx_lst_pool *pool)
{
	struct lx_lst_waiter *waiter;
	void *buffer;

	while ((waiter = lx_list_first(&pool->waiters, struct lx_lst_waiter, link))) {
		buffer = take(pool);
		if (!buffer)
			return;
		lx_lst_pool_cancel(pool, waiter);
		waiter->fn(waiter, buffer);
	}
}

void lx_lst_pool_put(struct lx_lst_pool *pool, void *buffer)
{
	if (!buffer)
		return;
	pool->used--;
	if (pool->made > pool->max)
		unmake(pool, buffer);
	else
		pool->idle[pool->made - pool->used - 1] = buffer;
	serve(pool);
}

void lx_lst_pool_resize(struct lx_lst_pool *pool, unsigned int max)
{
	pool->max = max;
	while (pool->made > max && pool->made > pool->used)
		unmake(pool, pool->idle[pool->made - pool->used - 1]);
	serve(pool);
}

void lx_lst_pool_fini(struct lx_lst_pool *pool)
{
	while (pool->made > pool->used)
		unmake(pool, pool->idle[pool->made - pool->used - 1]);
	free(pool->idle);
	pool->idle = NULL;
}
