/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions for messages, which the selftest needs to start: the fake node never has any. An
 * MD can be attached and unlinked; as in a node, a thread delivers the event of that later.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <lnetx/lnetx.h>

#include "state.h"

#define MDS_MAX 256

static struct md {
	struct lx_md_desc desc; /* keeps what its user has reachable */
	bool used, unlinked;
} mds[MDS_MAX];
static unsigned int n_events; /* to be delivered */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;

static void *deliver(void *arg)
{
	struct md *md = arg;
	const struct lx_event event = { .type = LX_EVENT_UNLINK, .user = md->desc.user,
					.unlinked = true };

	md->desc.handler(&event);
	pthread_mutex_lock(&lock);
	*md = (struct md){ 0 };
	n_events--;
	pthread_cond_broadcast(&delivered);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void fake_messages_wait(void)
{
	pthread_mutex_lock(&lock);
	while (n_events)
		pthread_cond_wait(&delivered, &lock);
	pthread_mutex_unlock(&lock);
}

int lx_me_attach(struct lx_node *node, uint32_t portal, const struct lx_id *match,
		 uint64_t match_bits, uint64_t ignore_bits, enum lx_unlink unlink,
		 enum lx_me_pos pos, struct lx_handle *ret_me)
{
	ret_me->cookie = 1;
	return 0;
}

int lx_me_unlink(struct lx_node *node, struct lx_handle me)
{
	return 0;
}

int lx_md_attach(struct lx_node *node, struct lx_handle me, const struct lx_md_desc *md,
		 enum lx_unlink unlink, struct lx_handle *ret_md)
{
	int err = -ENOMEM;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < MDS_MAX && err; i++) {
		if (mds[i].used)
			continue;
		mds[i] = (struct md){ .desc = *md, .used = true };
		ret_md->cookie = i + 1;
		err = 0;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int lx_md_bind(struct lx_node *node, const struct lx_md_desc *md, enum lx_unlink unlink,
	       struct lx_handle *ret_md)
{
	return -ESHUTDOWN;
}

int lx_md_unlink(struct lx_node *node, struct lx_handle handle)
{
	struct md *md = &mds[handle.cookie - 1];
	pthread_t thread;
	bool first;

	pthread_mutex_lock(&lock);
	first = md->used && !md->unlinked;
	if (first) {
		md->unlinked = true;
		n_events++;
	}
	pthread_mutex_unlock(&lock);
	if (!first)
		return -ENOENT;
	if (pthread_create(&thread, NULL, deliver, md))
		abort();
	pthread_detach(thread);
	return 0;
}

int lx_portal_set_lazy(struct lx_node *node, uint32_t portal, bool lazy)
{
	return 0;
}

int lx_put(struct lx_node *node, const struct lx_nid *self, struct lx_handle md, bool ack,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	   uint64_t hdr_data)
{
	return -ENOENT;
}

int lx_get(struct lx_node *node, const struct lx_nid *self, struct lx_handle md,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset)
{
	return -ENOENT;
}

int lx_memory_add(struct lx_node *node, void *start, size_t length)
{
	return 0;
}

int lx_memory_del(struct lx_node *node, void *start)
{
	return 0;
}
