/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffers to receive bulk into: 1 MiB each, at most so many, and a queue of those who wait for
 * one. Nobody who holds one waits for another node's pool, only for its data, so that two nodes
 * never wait for each other. Called with the service's lock held.
 */
#ifndef LX_SELFTEST_POOL_H
#define LX_SELFTEST_POOL_H

#include <lnetx/lnetx.h>

#include "../base/list.h"

/* Room for the longest bulk at any offset in a page. */
#define LX_LST_BUFFER_BYTES (257 * 4096u)

struct lx_lst_waiter {
	struct lx_list link;
	void (*fn)(struct lx_lst_waiter *waiter, void *buffer);
};

struct lx_lst_pool {
	struct lx_node *node;
	unsigned int max; /* buffers */
	unsigned int made, used;
	unsigned int waiting;
	struct lx_list waiters;
	void **idle; /* made - used of them; the last one given back is used first */
	unsigned int room; /* of idle */
};

void lx_lst_pool_init(struct lx_lst_pool *pool, struct lx_node *node, unsigned int max);
/* All buffers must be back. */
void lx_lst_pool_fini(struct lx_lst_pool *pool);

/**
 * lx_lst_pool_get - take a buffer
 * @waiter: embedded in its owner, with fn set; called later if there is none now
 * Returns the buffer, or NULL: @waiter is in the queue.
 */
void *lx_lst_pool_get(struct lx_lst_pool *pool, struct lx_lst_waiter *waiter);

/* Gives one back; the first one in the queue gets it at once. NULL is fine. */
void lx_lst_pool_put(struct lx_lst_pool *pool, void *buffer);

/* Leaves the queue. Returns false: it was not in it. */
bool lx_lst_pool_cancel(struct lx_lst_pool *pool, struct lx_lst_waiter *waiter);

/* Another limit; serves the queue, or frees what is idle and too much. */
void lx_lst_pool_resize(struct lx_lst_pool *pool, unsigned int max);

#endif
