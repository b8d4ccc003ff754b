/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Credits: who may send now, who may be received for forwarding now, and who is
 * next when one comes back (lnet.md 9).
 */
#ifndef LX_CORE_CREDIT_H
#define LX_CORE_CREDIT_H

#include "msg.h"

/* Takes one whether there is one or not; returns what is left for us, below 0: wait. */
static inline int32_t lx_credit_take(struct lx_credit *credit)
{
	int32_t now = __atomic_sub_fetch(&credit->now, 1, __ATOMIC_ACQ_REL);
	int32_t min = __atomic_load_n(&credit->min, __ATOMIC_RELAXED);

	while (now < min && !__atomic_compare_exchange_n(&credit->min, &min, now, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	/* In doubt more than there is: a message too many, but none that waits for nobody. */
	return now + __atomic_load_n(&credit->lanes, __ATOMIC_ACQUIRE);
}

static inline void lx_credit_give(struct lx_credit *credit)
{
	__atomic_add_fetch(&credit->now, 1, __ATOMIC_ACQ_REL);
}

static inline int32_t lx_credit_now(const struct lx_credit *credit)
{
	return __atomic_load_n(&credit->now, __ATOMIC_ACQUIRE);
}

/*
 * Takes the transmit credits for a message with txni and txpeer set and hands it to
 * the transport, or queues it. The message may have ended when this returns.
 */
void lx_credit_send(struct lx_core_msg *msg);

/* Gives back what the message holds for sending; the next in line are sent. */
void lx_credit_return_tx(struct lx_core_msg *msg);

/*
 * Takes a router credit and a buffer for a message to be forwarded. True: it has both and can
 * be received. False: it waits; the transport's recv() is called when it has them.
 */
bool lx_credit_recv(struct lx_core_msg *msg);
void lx_credit_return_rx(struct lx_core_msg *msg);

/* Brings the pools of router buffers to the configured sizes (tunables); -ENOMEM. */
int lx_credit_pools_make(struct lx_core *core);
/* Changes totals (LX_UNSET: leave); kept as tunables. -EINVAL, -ENOMEM. */
int lx_credit_pools_resize(struct lx_core *core, const int64_t totals[LX_POOLS]);

/* What a message weighs in a peer's queue: payload and header (lnet.md 9.1). */
static inline uint64_t lx_credit_weight(const struct lx_core_msg *msg)
{
	return msg->m.payload.length + sizeof(struct lx_hdr_nid4);
}

#endif
