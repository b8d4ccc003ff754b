/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Doubly linked lists with the links inside the members.
 *
 * A list is a struct lx_list used as head; an entry not on any list points to
 * itself, so lx_list_del() may be called on it again.
 */
#ifndef LX_BASE_LIST_H
#define LX_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct lx_list {
	struct lx_list *next, *prev;
};

#define lx_container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

static inline void lx_list_init(struct lx_list *l)
{
	l->next = l->prev = l;
}

static inline bool lx_list_empty(const struct lx_list *l)
{
	return l->next == l;
}

static inline size_t lx_list_count(const struct lx_list *l)
{
	size_t n = 0;

	for (const struct lx_list *e = l->next; e != l; e = e->next)
		n++;
	return n;
}

static inline void lx_list_insert_(struct lx_list *e, struct lx_list *prev, struct lx_list *next)
{
	e->prev = prev;
	e->next = next;
	prev->next = e;
	next->prev = e;
}

/* Inserts at the head. */
static inline void lx_list_push(struct lx_list *head, struct lx_list *e)
{
	lx_list_insert_(e, head, head->next);
}

/* Inserts at the tail. */
static inline void lx_list_append(struct lx_list *head, struct lx_list *e)
{
	lx_list_insert_(e, head->prev, head);
}

static inline void lx_list_del(struct lx_list *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	lx_list_init(e);
}

static inline struct lx_list *lx_list_taken_(struct lx_list *e)
{
	lx_list_del(e);
	return e;
}

/* Moves all of @from to the end of @to. */
static inline void lx_list_splice(struct lx_list *to, struct lx_list *from)
{
	if (lx_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	lx_list_init(from);
}

/* The entry, or NULL at the end of the list. */
#define lx_list_first(head, type, member) \
	(lx_list_empty(head) ? NULL : lx_container_of((head)->next, type, member))
#define lx_list_last(head, type, member) \
	(lx_list_empty(head) ? NULL : lx_container_of((head)->prev, type, member))

/* The same for the first one, which is taken off the list. */
#define lx_list_pop(head, type, member)                                                            \
	(lx_list_empty(head) ? NULL : lx_container_of(lx_list_taken_((head)->next), type, member))

#define lx_list_for_each(pos, head, member) \
	for (pos = lx_container_of((head)->next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = lx_container_of(pos->member.next, __typeof__(*pos), member))

/* The same when the body may remove @pos (and nothing else). */
#define lx_list_for_each_safe(pos, tmp, head, member) \
	for (pos = lx_container_of((head)->next, __typeof__(*pos), member), \
	    tmp = lx_container_of(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head); \
	     pos = tmp, tmp = lx_container_of(pos->member.next, __typeof__(*pos), member))

#endif
