/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The environment of a node: one lock, and threads that each run a libuv loop.
 *
 * The node lock protects the core and what transports share; it is held by all
 * their code. A loop's callbacks take it with lx_loop_enter(), drop it around
 * system calls that move data, and give it back with lx_loop_leave(). So protocol
 * code reads as if there were one thread, and data moves in parallel.
 *
 * A libuv handle belongs to one loop and is only touched on that loop's thread.
 * Post work that is for another loop.
 */
#ifndef LX_IO_ENV_H
#define LX_IO_ENV_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "../base/list.h"

struct lx_env;
struct lx_loop;

/*
 * A piece of work, embedded in the object it is for. Posting queued work does
 * nothing, so one struct per purpose is enough. The embedding object owns it; it must
 * not be queued when freed (lx_work_cancel()).
 */
struct lx_work {
	struct lx_list link;
	void (*fn)(struct lx_work *work);
	struct lx_loop *loop; /* while queued */
};

static inline void lx_work_init(struct lx_work *work, void (*fn)(struct lx_work *))
{
	lx_list_init(&work->link);
	work->fn = fn;
	work->loop = NULL;
}

/**
 * lx_env_new - create the lock and @n_loops threads, each with a running loop
 * @idle: called on a loop's thread, without the lock, each time the loop has released
 *	it (lx_loop_leave()); may be NULL. Must be quick when there is nothing to do.
 * Returns 0, -ENOMEM, -EAGAIN, or another errno of thread creation.
 */
int lx_env_new(unsigned int n_loops, void (*idle)(void *arg), void *arg,
	       struct lx_env **ret_env);

/* Stops the loops (every handle must be closed or closing), joins, frees. NULL is fine. */
void lx_env_free(struct lx_env *env);

void lx_env_lock(struct lx_env *env);
void lx_env_unlock(struct lx_env *env);

/*
 * Monotonic time in ns, read once each time the lock is taken: critical sections are
 * short and ask often. The lock must be held.
 */
uint64_t lx_env_now(struct lx_env *env);

/* Waits for lx_env_wake(), like a condition variable. The lock must be held. */
void lx_env_wait(struct lx_env *env);
/* The same, but only until @deadline_ns, on the clock of lx_env_now(). -ETIMEDOUT. */
int lx_env_wait_until(struct lx_env *env, uint64_t deadline_ns);
void lx_env_wake(struct lx_env *env);

/* Loop @i modulo their number. Loop 0 is the one for listening and timers. */
struct lx_loop *lx_env_loop(struct lx_env *env, unsigned int i);

uv_loop_t *lx_loop_uv(struct lx_loop *loop);

/* True if the caller runs on the thread of any loop of @env. */
bool lx_env_on_loop(const struct lx_env *env);
/* The loop of @env on whose thread the caller runs; NULL: none. */
struct lx_loop *lx_loop_current(const struct lx_env *env);

/* First and last act of every libuv callback. */
void lx_loop_enter(struct lx_loop *loop);
void lx_loop_leave(struct lx_loop *loop);

/**
 * lx_loop_post - run work on a loop's thread, with the lock held
 * The lock must be held. Work posted from the loop's own thread runs at the end of
 * the current turn, after the callbacks of all ready sockets. Otherwise the loop is
 * woken.
 */
void lx_loop_post(struct lx_loop *loop, struct lx_work *work);

/*
 * The same, but after all other work of this turn: the place to send everything that
 * work has queued, at once.
 */
void lx_loop_post_last(struct lx_loop *loop, struct lx_work *work);

/* Cancels work that has not started. The lock must be held. */
void lx_work_cancel(struct lx_work *work);

/* Whether every loop has run its work since the last call that returned true. The lock must be
 * held. */
bool lx_env_alive(struct lx_env *env);

/* A buffer of LX_LOOP_SCRATCH bytes for the loop's thread, valid within one callback. */
#define LX_LOOP_SCRATCH (256u << 10)
void *lx_loop_scratch(struct lx_loop *loop);

#endif
