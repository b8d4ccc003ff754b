/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Credits: which message may be sent, or received for forwarding, now, and which is
 * next when a credit is returned (lnet.md 9).
 */
#ifndef LX_CORE_CREDIT_H
#define LX_CORE_CREDIT_H

#include "msg.h"

/* Takes a credit even if there is none. Returns what is left; below 0: wait. */
static inline int32_t lx_credit_take(struct lx_credit *credit)
{
	int32_t now = __atomic_sub_fetch(&credit->now, 1, __ATOMIC_ACQ_REL);
	int32_t min = __atomic_load_n(&credit->min, __ATOMIC_RELAXED);

	while (now < min && !__atomic_compare_exchange_n(&credit->min, &min, now, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	/* May be too high in a race with the fast path: a message too many, but no lost wakeup. */
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

/* The credits there would be without the fast path. */
static inline int32_t lx_credit_without_lanes(const struct lx_credit *credit)
{
	int32_t lanes, now;

	do {
		lanes = __atomic_load_n(&credit->lanes, __ATOMIC_ACQUIRE);
		now = lx_credit_now(credit);
	} while (lanes != __atomic_load_n(&credit->lanes, __ATOMIC_ACQUIRE));
	return now + lanes;
}

/*
 * Takes the transmit credits for a message (txni and txpeer are set) and passes it to
 * the transport, or queues it. The message may have ended when this returns.
 */
void lx_credit_send(struct lx_core_msg *msg);

/* Hands a message that has its credits, and was held, to the transport. */
void lx_credit_transmit(struct lx_core_msg *msg);

/* Returns the transmit credits of a message, and sends the next messages in line. */
void lx_credit_return_tx(struct lx_core_msg *msg);

/*
 * Takes a router credit and a buffer for a message to be forwarded. True: it has both and can
 * be received. False: it waits; the transport's recv() is called when it has them.
 */
bool lx_credit_recv(struct lx_core_msg *msg);
void lx_credit_return_rx(struct lx_core_msg *msg);
/*
 * A received message gives back, but for its buffer, what others of its sender and its address
 * wait for; of buffers there is one more now.
 */
void lx_credit_release(struct lx_core_msg *msg);

/*
 * Takes a message that will be ended off the queue where it waits, for a credit or for something
 * else. It is not counted as waiting any more; credits that it really has, it keeps.
 */
void lx_credit_stop_waiting(struct lx_core_msg *msg);

/* Resizes the pools of router buffers to what the tunables say. -ENOMEM. */
int lx_credit_pools_make(struct lx_core *core);
/* Sets the tunables to @totals (LX_UNSET: unchanged) and resizes. -EINVAL, -ENOMEM. */
int lx_credit_pools_resize(struct lx_core *core, const int64_t totals[LX_POOLS]);

/* How long the oldest message in a queue of those that wait for transmit credits has waited. */
static inline uint64_t lx_credit_oldest_ns(struct lx_core *core, const struct lx_queue *queue)
{
	uint64_t now = lx_core_now(core), oldest = now;
	const struct lx_core_msg *msg;

	lx_list_for_each (msg, &queue->small, at.link)
		oldest = msg->sent_ns < oldest ? msg->sent_ns : oldest;
	lx_list_for_each (msg, &queue->bulk, at.link)
		oldest = msg->sent_ns < oldest ? msg->sent_ns : oldest;
	return now - oldest;
}

/* Bytes a message counts for in a peer NI's queue: payload and header (lnet.md 9.1). */
static inline uint64_t lx_credit_weight(const struct lx_core_msg *msg)
{
	return msg->m.payload.length + sizeof(struct lx_hdr_nid4);
}

#endif
