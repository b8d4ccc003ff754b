/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A queue of messages in which small ones go first, within bounds: locks, pings, requests and
 * replies are small, and a file system waits for them.
 *
 *	small  s s s s ──┐
 *	                 ├──▶ next: small, until as many bytes of small ones have passed the
 *	bulk   B B B   ──┘          first bulk message as it has itself
 *
 * So neither starves. If both wait all the time, each gets half of the bytes; and a small message
 * with N bytes of small ones in front of it, and that has just gone, has at most 1 + N / (length of
 * a bulk message) bulk messages in front. Messages of one class keep their order.
 *
 * If the caller says who sends them, small messages of different senders take turns, so that a
 * flood by one does not keep others waiting: the first one of each sender is in the queue, the
 * others of this sender are behind that one.
 *
 *	small   a ── b ── c
 *	       more: a    c    the next of a goes behind c, when a has gone
 *	             a
 */
#ifndef LX_BASE_QUEUE_H
#define LX_BASE_QUEUE_H

#include "../../include/internal/units.h"
#include "list.h"

/* In a message that waits. */
struct lx_queued {
	struct lx_list link; /* in the queue, or another's more */
	struct lx_list more; /* later ones of the same sender */
	struct lx_list mine; /* the sender's list: its first one in each queue */
	struct lx_queue *queue;
	size_t bytes;
	size_t passed; /* queue->passed when it was taken */
	bool bulk;
	bool joined; /* nothing may come between the one before and this one; both are bulk */
};

struct lx_queue {
	struct lx_list small, bulk;
	size_t passed; /* bytes of small messages, since the first bulk message is the first */
};

static inline void lx_queue_init(struct lx_queue *queue)
{
	lx_list_init(&queue->small);
	lx_list_init(&queue->bulk);
	queue->passed = 0;
}

static inline void lx_queue_init_at(struct lx_queued *at)
{
	lx_list_init(&at->link);
	lx_list_init(&at->more);
	lx_list_init(&at->mine);
}

static inline bool lx_queue_empty(const struct lx_queue *queue)
{
	return lx_list_empty(&queue->small) && lx_list_empty(&queue->bulk);
}

static inline struct lx_list *lx_queue_class(struct lx_queue *queue, const struct lx_queued *at)
{
	return at->bulk ? &queue->bulk : &queue->small;
}

/*
 * Appends a message; @at->bytes may still grow while it is small. @sender: a list that its owner
 * has initialized, of its first messages in all queues; NULL: all have the same sender.
 */
static inline void lx_queue_add(struct lx_queue *queue, struct lx_queued *at, size_t bytes,
				bool bulk, struct lx_list *sender)
{
	struct lx_queued *first;

	at->bytes = bytes;
	at->bulk = bulk;
	at->queue = queue;
	if (sender && !bulk) {
		lx_list_for_each (first, sender, mine) {
			if (first->queue == queue) {
				lx_list_append(&first->more, &at->link);
				return;
			}
		}
		lx_list_append(sender, &at->mine);
	}
	lx_list_append(lx_queue_class(queue, at), &at->link);
}

/* Takes a message off its queue, wherever it is; fine if it is in none. */
static inline void lx_queue_del(struct lx_queued *at)
{
	struct lx_queued *next = lx_list_pop(&at->more, struct lx_queued, link);

	if (next) {
		lx_list_splice(&next->more, &at->more);
		lx_list_append(&at->queue->small, &next->link);
		lx_list_append(&at->mine, &next->mine);
	}
	lx_list_del(&at->mine);
	lx_list_del(&at->link);
}

/* The first bulk message, or NULL. */
static inline struct lx_queued *lx_queue_bulk(const struct lx_queue *queue)
{
	return lx_list_first(&queue->bulk, struct lx_queued, link);
}

/* The one whose turn it is, or NULL. It stays in the queue. */
static inline struct lx_queued *lx_queue_next(const struct lx_queue *queue)
{
	struct lx_queued *small = lx_list_first(&queue->small, struct lx_queued, link);
	struct lx_queued *bulk = lx_queue_bulk(queue);

	return bulk && (!small || bulk->joined || queue->passed >= bulk->bytes) ? bulk : small;
}

/* Takes the one that lx_queue_next() has returned off the queue. */
static inline void lx_queue_take(struct lx_queue *queue, struct lx_queued *at)
{
	at->passed = queue->passed;
	lx_queue_del(at);
	if (!at->bulk)
		queue->passed += lx_queue_bulk(queue) ? at->bytes : 0;
	else if (!at->joined)
		queue->passed = at->passed >= at->bytes ? at->passed % at->bytes : 0;
}

/* Undoes lx_queue_take(), of the one that was taken last first. Not if there are senders. */
static inline void lx_queue_put_back(struct lx_queue *queue, struct lx_queued *at)
{
	lx_list_push(lx_queue_class(queue, at), &at->link);
	queue->passed = at->passed;
}

#endif
