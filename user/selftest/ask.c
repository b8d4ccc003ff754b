/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by lnetxd for consoles. An ask embeds a service (priv.h) without a server:
 * client.c and port.c, which send the request, only need its lock, clock and references.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "priv.h"

#include "ask.h"

struct lx_lst_ask {
	struct lx_selftest s;
	struct lx_lst_client client;
	lx_lst_ask_fn fn; /* NULL: called already, or given up */
	void *arg;
	char dests[]; /* used until the other side has fetched them */
};

static void destroy(struct lx_selftest *s)
{
	pthread_mutex_destroy(&s->lock);
	free(lx_container_of(s, struct lx_lst_ask, s));
}

static void tell(struct lx_lst_ask *ask, int status, const struct lx_lst_msg *reply)
{
	lx_lst_ask_fn fn = ask->fn;

	ask->fn = NULL;
	if (fn)
		fn(status, reply, ask->arg);
}

static void done(struct lx_lst_client *client)
{
	tell(lx_container_of(client, struct lx_lst_ask, client), client->status,
	     client->status ? NULL : &client->reply);
}

/* Two per request, which a service on the same node never uses (selftest.md 1). */
static uint64_t next_ids(void)
{
	static _Atomic uint64_t used;

	return ((uint64_t)time(NULL) << 48) + (1ULL << 47) + atomic_fetch_add(&used, 2);
}

static void init(struct lx_lst_ask *ask, struct lx_node *node, lx_lst_ask_fn fn, void *arg)
{
	struct lx_selftest *s = &ask->s;

	pthread_mutex_init(&s->lock, NULL);
	s->node = node;
	s->refs = 1;
	s->destroy = destroy;
	s->next_id = next_ids();
	lx_list_init(&s->clients);
	ask->client.s = s;
	ask->client.done = done;
	ask->fn = fn;
	ask->arg = arg;
}

int lx_lst_ask_new(struct lx_node *node, const struct lx_id *to, enum lx_lst_service service,
		   struct lx_lst_msg *request, const struct lx_lst_dest *dests, uint32_t n_dests,
		   lx_lst_ask_fn fn, void *arg, struct lx_lst_ask **ret_ask)
{
	size_t room = dests ? lx_lst_wire_dests_room(n_dests) : 0;
	struct lx_lst_ask *ask;
	int err;

	if (n_dests > LX_LST_DESTS_MAX || (dests && service != LX_LST_TEST))
		return -EINVAL;
	ask = calloc(1, sizeof(*ask) + room);
	if (!ask)
		return -ENOMEM;
	init(ask, node, fn, arg);
	for (uint32_t i = 0; dests && i < n_dests; i++)
		lx_lst_wire_dest_put(ask->dests, i, &dests[i]);
	if (dests)
		request->test.ndest = n_dests;
	pthread_mutex_lock(&ask->s.lock);
	err = lx_lst_client_call(&ask->client, to, service, request, dests ? ask->dests : NULL,
				 dests ? lx_lst_wire_dests_bytes(n_dests, request->features) : 0,
				 LX_MD_OP_GET);
	lx_lst_service_unlock(&ask->s, err);
	if (!err)
		*ret_ask = ask;
	return err;
}

void lx_lst_ask_give_up(struct lx_lst_ask *ask, int status)
{
	pthread_mutex_lock(&ask->s.lock);
	lx_lst_client_abort(&ask->client, status);
	/* Now, not when its buffers are free: its message may wait for a discovery for minutes. */
	tell(ask, status, NULL);
	lx_lst_service_unlock(&ask->s, false);
}

void lx_lst_ask_free(struct lx_lst_ask *ask)
{
	if (!ask)
		return;
	pthread_mutex_lock(&ask->s.lock);
	ask->fn = NULL;
	lx_lst_client_abort(&ask->client, -ECANCELED);
	lx_lst_service_unlock(&ask->s, true);
}
