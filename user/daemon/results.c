/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include <errno.h>
#include <stdlib.h>

#include "results.h"

struct lx_results {
	uv_async_t async;
	pthread_mutex_t lock; /* protects done */
	struct lx_list done;
};

void lx_results_put(struct lx_results *results, struct lx_result *result)
{
	pthread_mutex_lock(&results->lock);
	lx_list_append(&results->done, &result->link);
	pthread_mutex_unlock(&results->lock);
	uv_async_send(&results->async);
}

static void on_async(uv_async_t *async)
{
	struct lx_results *results = lx_container_of(async, struct lx_results, async);
	struct lx_result *result, *next;
	struct lx_list done;

	lx_list_init(&done);
	pthread_mutex_lock(&results->lock);
	lx_list_splice(&done, &results->done);
	pthread_mutex_unlock(&results->lock);
	lx_list_for_each_safe (result, next, &done, link)
		result->deliver(result);
}

int lx_results_new(struct lx_daemon *daemon, struct lx_results **ret_results)
{
	struct lx_results *results = calloc(1, sizeof(*results));
	int err;

	if (!results)
		return -ENOMEM;
	err = uv_async_init(daemon->loop, &results->async, on_async);
	if (err) {
		free(results);
		return err;
	}
	pthread_mutex_init(&results->lock, NULL);
	lx_list_init(&results->done);
	*ret_results = results;
	return 0;
}

static void closed(uv_handle_t *handle)
{
	struct lx_results *results = lx_container_of(handle, struct lx_results, async);

	on_async(&results->async); /* the last ones */
	pthread_mutex_destroy(&results->lock);
	free(results);
}

void lx_results_free(struct lx_results *results)
{
	if (results)
		uv_close((uv_handle_t *)&results->async, closed);
}
