/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event loops and the node lock. Owned by the node (user/node); used by every
 * transport that does real I/O.
 *
 * Each loop runs posted work before it sleeps, so work posted from its own thread
 * needs no wake-up.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <internal/units.h>

#include "env.h"

/*
 * Work creates work: a message that is sent returns the credit that the next one
 * waits for. After this many rounds sockets have their turn.
 */
#define ROUNDS_A_TURN 32

struct lx_loop {
	struct lx_env *env;
	uv_loop_t uv;
	uv_async_t wake;
	uv_prepare_t prepare;
	pthread_t thread;
	bool started, stopping;
	struct lx_list posted; /* of lx_work; node lock */
	struct lx_list last; /* the same, for the end of the turn */
	bool has_posted; /* one of them is not empty; may be read without the lock */
	struct lx_work beat; /* queued: it has not turned since lx_env_alive() */
	void *scratch;
};

struct lx_env {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint64_t now_ns; /* 0: not read since the lock was taken */
	void (*idle)(void *arg);
	void *idle_arg;
	unsigned int n_loops;
	struct lx_loop loop[];
};

static __thread struct lx_loop *current_loop;

void lx_env_lock(struct lx_env *env)
{
	pthread_mutex_lock(&env->lock);
	env->now_ns = 0;
}

void lx_env_unlock(struct lx_env *env)
{
	pthread_mutex_unlock(&env->lock);
}

void lx_env_wait(struct lx_env *env)
{
	pthread_cond_wait(&env->cond, &env->lock);
	env->now_ns = 0;
}

int lx_env_wait_until(struct lx_env *env, uint64_t deadline_ns)
{
	struct timespec until = {
		.tv_sec = deadline_ns / LX_S_NS,
		.tv_nsec = deadline_ns % LX_S_NS,
	};
	int r = pthread_cond_timedwait(&env->cond, &env->lock, &until);

	env->now_ns = 0;
	return -r;
}

uint64_t lx_env_now(struct lx_env *env)
{
	if (!env->now_ns)
		env->now_ns = uv_hrtime();
	return env->now_ns;
}

void lx_env_wake(struct lx_env *env)
{
	pthread_cond_broadcast(&env->cond);
}

struct lx_loop *lx_env_loop(struct lx_env *env, unsigned int i)
{
	return &env->loop[i % env->n_loops];
}

uv_loop_t *lx_loop_uv(struct lx_loop *loop)
{
	return &loop->uv;
}

static bool is_current(const struct lx_loop *loop)
{
	return current_loop == loop;
}

bool lx_env_on_loop(const struct lx_env *env)
{
	return current_loop && current_loop->env == env;
}

struct lx_loop *lx_loop_current(const struct lx_env *env)
{
	return lx_env_on_loop(env) ? current_loop : NULL;
}

void lx_loop_enter(struct lx_loop *loop)
{
	lx_env_lock(loop->env);
}

void lx_loop_leave(struct lx_loop *loop)
{
	pthread_mutex_unlock(&loop->env->lock);
	if (loop->env->idle)
		loop->env->idle(loop->env->idle_arg);
}

void *lx_loop_scratch(struct lx_loop *loop)
{
	return loop->scratch;
}

static void post(struct lx_loop *loop, struct lx_list *list, struct lx_work *work)
{
	bool was_empty = lx_list_empty(list);

	if (work->loop)
		return;
	work->loop = loop;
	lx_list_append(list, &work->link);
	__atomic_store_n(&loop->has_posted, true, __ATOMIC_RELAXED);
	if (was_empty && !is_current(loop))
		uv_async_send(&loop->wake);
}

void lx_loop_post(struct lx_loop *loop, struct lx_work *work)
{
	post(loop, &loop->posted, work);
}

void lx_loop_post_last(struct lx_loop *loop, struct lx_work *work)
{
	post(loop, &loop->last, work);
}

void lx_work_cancel(struct lx_work *work)
{
	lx_list_del(&work->link);
	work->loop = NULL;
}

static void on_beat(struct lx_work *work)
{
}

bool lx_env_alive(struct lx_env *env)
{
	for (unsigned int i = 0; i < env->n_loops; i++) {
		if (env->loop[i].beat.loop)
			return false;
	}
	for (unsigned int i = 0; i < env->n_loops; i++)
		lx_loop_post(&env->loop[i], &env->loop[i].beat);
	return true;
}

/* Runs posted work; what that posts is for the next round. */
static void drain_round(struct lx_list *list)
{
	struct lx_work *work;
	struct lx_list batch;

	lx_list_init(&batch);
	lx_list_splice(&batch, list);
	while ((work = lx_list_first(&batch, struct lx_work, link))) {
		lx_work_cancel(work);
		work->fn(work);
	}
}

static void drain(struct lx_loop *loop)
{
	/* A thread that posts sets this first, then wakes the loop. */
	if (!__atomic_load_n(&loop->has_posted, __ATOMIC_RELAXED))
		return;
	lx_loop_enter(loop);
	for (int i = 0; i < ROUNDS_A_TURN; i++) {
		if (!lx_list_empty(&loop->posted))
			drain_round(&loop->posted);
		else
			drain_round(&loop->last);
	}
	drain_round(&loop->last);
	__atomic_store_n(&loop->has_posted,
			 !lx_list_empty(&loop->posted) || !lx_list_empty(&loop->last),
			 __ATOMIC_RELAXED);
	lx_loop_leave(loop);
	/* Left over, or posted by a callback that ran when the lock was dropped. */
	if (__atomic_load_n(&loop->has_posted, __ATOMIC_RELAXED))
		uv_async_send(&loop->wake);
}

static void on_prepare(uv_prepare_t *prepare)
{
	drain(prepare->data);
}

/*
 * Only ends the sleep: on_prepare() runs the work. Except for the last time, when queued
 * work may close handles.
 */
static void on_wake(uv_async_t *wake)
{
	struct lx_loop *loop = wake->data;
	bool stopping, more;

	pthread_mutex_lock(&loop->env->lock);
	stopping = loop->stopping;
	more = !lx_list_empty(&loop->posted) || !lx_list_empty(&loop->last);
	pthread_mutex_unlock(&loop->env->lock);
	if (stopping && more) {
		drain(loop);
		uv_async_send(wake);
	} else if (stopping) {
		uv_close((uv_handle_t *)&loop->wake, NULL);
		uv_close((uv_handle_t *)&loop->prepare, NULL);
	}
}

static void *run(void *arg)
{
	struct lx_loop *loop = arg;

	current_loop = loop;
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	return NULL;
}

static int loop_start(struct lx_env *env, unsigned int i)
{
	struct lx_loop *loop = &env->loop[i];
	int r;

	loop->env = env;
	lx_list_init(&loop->posted);
	lx_list_init(&loop->last);
	lx_work_init(&loop->beat, on_beat);
	loop->scratch = malloc(LX_LOOP_SCRATCH);
	if (!loop->scratch)
		return -ENOMEM;
	r = uv_loop_init(&loop->uv);
	if (r)
		return r;
	loop->wake.data = loop->prepare.data = loop;
	r = uv_async_init(&loop->uv, &loop->wake, on_wake);
	if (r) {
		uv_loop_close(&loop->uv);
		return r;
	}
	uv_prepare_init(&loop->uv, &loop->prepare);
	uv_prepare_start(&loop->prepare, on_prepare);
	r = -pthread_create(&loop->thread, NULL, run, loop);
	if (r) {
		loop->stopping = true;
		on_wake(&loop->wake);
		uv_run(&loop->uv, UV_RUN_DEFAULT);
		uv_loop_close(&loop->uv);
		return r;
	}
	loop->started = true;
	return 0;
}

/* Its deadlines are in the time of lx_env_now(), which libuv takes from CLOCK_MONOTONIC. */
static void cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int lx_env_new(unsigned int n_loops, void (*idle)(void *arg), void *arg, struct lx_env **ret_env)
{
	struct lx_env *env;
	int r = 0;

	env = calloc(1, sizeof(*env) + n_loops * sizeof(env->loop[0]));
	if (!env)
		return -ENOMEM;
	pthread_mutex_init(&env->lock, NULL);
	cond_init(&env->cond);
	env->idle = idle;
	env->idle_arg = arg;
	env->n_loops = n_loops;
	/* No thread may see the array of loops half-initialized. */
	pthread_mutex_lock(&env->lock);
	for (unsigned int i = 0; i < n_loops && !r; i++)
		r = loop_start(env, i);
	pthread_mutex_unlock(&env->lock);
	if (r) {
		lx_env_free(env);
		return r;
	}
	*ret_env = env;
	return 0;
}

void lx_env_free(struct lx_env *env)
{
	if (!env)
		return;
	for (unsigned int i = 0; i < env->n_loops; i++) {
		struct lx_loop *loop = &env->loop[i];

		if (loop->started) {
			pthread_mutex_lock(&env->lock);
			loop->stopping = true;
			pthread_mutex_unlock(&env->lock);
			uv_async_send(&loop->wake);
			pthread_join(loop->thread, NULL);
			uv_loop_close(&loop->uv);
		}
		free(loop->scratch);
	}
	pthread_cond_destroy(&env->cond);
	pthread_mutex_destroy(&env->lock);
	free(env);
}
