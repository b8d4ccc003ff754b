/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A bounded pool of 1 MiB buffers for bulk, with a queue of waiters. The owner of a buffer waits
 * for data of another node, never for a buffer in its pool, so two nodes cannot deadlock. Called
 * with the service's lock held.
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
	void **idle; /* a stack of made - used buffers */
	unsigned int room; /* entries that fit in idle */
};

void lx_lst_pool_init(struct lx_lst_pool *pool, struct lx_node *node, unsigned int max);
/* All buffers must be back. */
void lx_lst_pool_fini(struct lx_lst_pool *pool);

/**
 * lx_lst_pool_get - take a buffer
 * @waiter: embedded in its owner, fn set; fn is called later if there is no buffer now
 * Returns the buffer, or NULL: @waiter is in the queue.
 */
void *lx_lst_pool_get(struct lx_lst_pool *pool, struct lx_lst_waiter *waiter);

/* Returns a buffer; the first waiter gets it at once. NULL is fine. */
void lx_lst_pool_put(struct lx_lst_pool *pool, void *buffer);

/* Removes a waiter from the queue. Returns false if it was not queued. */
bool lx_lst_pool_cancel(struct lx_lst_pool *pool, struct lx_lst_waiter *waiter);

/* Changes the limit: serves waiters, or frees idle buffers beyond it. */
void lx_lst_pool_resize(struct lx_lst_pool *pool, unsigned int max);

#endif
