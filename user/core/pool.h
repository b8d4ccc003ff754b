/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Router buffers: three pools by payload size, with their waiters (lnet.md 9.2).
 */
#ifndef LX_CORE_POOL_H
#define LX_CORE_POOL_H

#include <lnetx/info.h>

#include "../base/list.h"

struct lx_core;
struct lx_core_msg;
struct lx_rbuf;

struct lx_pool {
	size_t size;             /* payload bytes of a buffer */
	uint32_t npages;
	uint32_t wanted;         /* buffers, as configured */
	uint32_t kept;           /* more than that, for messages that are kept (slow.h) */
	uint32_t made;           /* allocated; may exceed the two until buffers return */
	int32_t credits, credits_min;
	unsigned int taken;      /* shares that messages have (origin.h): a buffer, or waiting */
	struct lx_rbuf **free;   /* stack of idle buffers */
	uint32_t n_free, cap;
	struct lx_list queue;    /* of lx_core_msg that wait for a buffer */
};

enum lx_pool_class lx_pool_class_of(size_t payload);

/* Steps of lx_credit_pools_make() and _resize(), which then serve the waiters. */
int lx_pool_make_all(struct lx_core *core);
int lx_pool_resize(struct lx_core *core, const int64_t totals[LX_POOLS]);
void lx_pool_free_all(struct lx_core *core);

/* There is one buffer more, or (@on false) one less when it returns. -ENOMEM. */
int lx_pool_keep(struct lx_core *core, struct lx_pool *pool, bool on);

/* Takes a buffer for a message that has a credit. Never fails. */
struct lx_rbuf *lx_pool_take(struct lx_pool *pool);
void lx_pool_give(struct lx_core *core, struct lx_pool *pool, struct lx_rbuf *rbuf);

void lx_pool_describe(struct lx_core *core, struct lx_routing_info *ret_info);

#endif
