/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory descriptors: created by the application and the core, looked up by handle, freed
 * when they are unlinked and no message uses their memory any more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "track.h"

static struct lx_handle next_handle(struct lx_core *core)
{
	return (struct lx_handle){ ++core->object_seq };
}

/* Length of the memory that @desc describes. -EINVAL if it is malformed. */
static int desc_length(const struct lx_md_desc *desc, size_t *ret_length)
{
	size_t length = 0;

	if (!desc->iov) {
		if (desc->length && !desc->start)
			return -EINVAL;
		*ret_length = desc->length;
		return 0;
	}
	if (desc->n_iov > LX_MD_IOV_MAX)
		return -EINVAL;
	for (unsigned int i = 0; i < desc->n_iov; i++) {
		if (__builtin_add_overflow(length, desc->iov[i].iov_len, &length))
			return -EINVAL;
	}
	*ret_length = length;
	return 0;
}

static int desc_check(const struct lx_md_desc *desc, const struct lx_me *me, size_t length)
{
	unsigned int ops = desc->options & (LX_MD_OP_PUT | LX_MD_OP_GET);

	if (desc->threshold < LX_MD_UNLIMITED)
		return -EINVAL;
	if ((desc->options & LX_MD_MAX_SIZE) && desc->max_size > length)
		return -EINVAL;
	/* A target has to allow some operation, a source must not allow any. */
	if (me ? !ops : ops != 0)
		return -EINVAL;
	return 0;
}

int lx_md_new(struct lx_core *core, struct lx_me *me, const struct lx_md_desc *desc,
	      enum lx_unlink unlink, struct lx_md **ret_md)
{
	unsigned int n_iov = desc->iov ? desc->n_iov : desc->length > 0;
	struct lx_md *md;
	size_t length;
	int r;

	r = desc_length(desc, &length);
	if (!r)
		r = desc_check(desc, me, length);
	if (r)
		return r;
	md = calloc(1, sizeof(*md) + n_iov * sizeof(md->iov[0]));
	if (!md)
		return -ENOMEM;
	md->core = core;
	md->me = me;
	md->length = length;
	md->max_size = desc->max_size;
	md->threshold = desc->threshold;
	md->options = desc->options;
	md->unlink = unlink;
	md->handler = desc->handler;
	md->user = desc->user;
	md->n_iov = n_iov;
	if (desc->iov)
		memcpy(md->iov, desc->iov, n_iov * sizeof(md->iov[0]));
	else if (n_iov)
		md->iov[0] = (struct iovec){ desc->start, desc->length };
	lx_region_init(&md->region, md->iov, n_iov);
	md->memory = lx_core_memory_find(core, md->iov, n_iov);
	if (md->memory)
		md->memory->n_mds++;
	md->handle = next_handle(core);
	lx_hash_add(&core->mds, &md->node, lx_hash_u64(md->handle.cookie));
	if (me)
		me->md = md;
	*ret_md = md;
	return 0;
}

struct lx_md *lx_md_lookup(struct lx_core *core, struct lx_handle handle)
{
	struct lx_md *md;

	lx_hash_for_each(md, &core->mds, lx_hash_u64(handle.cookie), node)
		if (md->handle.cookie == handle.cookie && !md->zombie)
			return md;
	return NULL;
}

struct lx_md *lx_md_lookup_wire(struct lx_core *core, const struct lx_wire_handle *wire)
{
	if (wire->interface_cookie != core->cookie)
		return NULL;
	return lx_md_lookup(core, (struct lx_handle){ wire->object_cookie });
}

void lx_md_wire(const struct lx_md *md, struct lx_wire_handle *ret_wire)
{
	ret_wire->interface_cookie = md->core->cookie;
	ret_wire->object_cookie = md->handle.cookie;
}

int lx_md_take_request(struct lx_md *md, enum lx_response response)
{
	unsigned int reserved = md->awaited[LX_RESPONSE_ACK] + md->awaited[LX_RESPONSE_REPLY];
	bool answered = response != LX_RESPONSE_NONE;

	if (md->zombie || md->me || !md->threshold)
		return -ENOENT;
	if (md->threshold > 0 && (unsigned int)md->threshold < reserved + 1 + answered)
		return -EINVAL;
	if (md->threshold > 0)
		md->threshold--;
	md->awaited[response] += answered;
	return 0;
}

bool lx_md_take_response(struct lx_md *md, enum lx_response response)
{
	if (!md->awaited[response])
		return false;
	md->awaited[response]--;
	if (md->threshold > 0)
		md->threshold--;
	return true;
}

void lx_md_expect_response(struct lx_md *md, enum lx_response response)
{
	md->awaited[response]++;
	if (md->threshold >= 0)
		md->threshold++;
}

bool lx_md_exhausted(const struct lx_md *md)
{
	return !md->threshold ||
	       ((md->options & LX_MD_MAX_SIZE) && md->offset + md->max_size > md->length);
}

struct lx_payload lx_md_payload(struct lx_md *md, size_t offset, size_t length)
{
	return (struct lx_payload){
		.iov = md->iov,
		.n_iov = md->n_iov,
		.offset = offset,
		.length = length,
		.region = md->memory ? &md->memory->region : &md->region,
	};
}

/* No message uses the memory any more; it goes back to its owner. */
static void let_go(struct lx_md *md)
{
	lx_region_end(&md->region);
	if (md->memory)
		md->memory->n_mds--;
	md->memory = NULL;
}

/* Nothing refers to the MD any more. */
static void md_free(struct lx_md *md)
{
	let_go(md);
	lx_hash_del(&md->core->mds, &md->node);
	free(md);
}

static void tell(struct lx_md *md, struct lx_event *event)
{
	event->md = md->handle;
	event->user = md->user;
	if (md->internal)
		md->handler(event);
	else
		md->core->ops->event(md->handler, event, md->core->ops_arg);
}

static void tell_unlink(struct lx_md *md)
{
	struct lx_event event = {
		.type = LX_EVENT_UNLINK,
		.unlinked = true,
		.status = md->unlink_status,
	};

	if (md->handler)
		tell(md, &event);
}

/* Takes an MD out of look-ups. Its ME goes with it, unless it is retained. */
static void md_unlink(struct lx_md *md)
{
	struct lx_me *me = md->me;

	md->zombie = true;
	lx_track_end(md, NULL, NULL);
	if (me) {
		me->md = NULL;
		md->me = NULL;
		if (me->unlink == LX_UNLINK)
			lx_me_free(me);
	}
}

void lx_md_retire(struct lx_md *md)
{
	if (md->zombie)
		return;
	md_unlink(md);
	if (md->refs)
		return;
	let_go(md);
	tell_unlink(md);
	md_free(md);
}

void lx_md_abandon(struct lx_md *md)
{
	md->handler = NULL;
	lx_md_retire(md);
}

void lx_md_get(struct lx_md *md)
{
	md->refs++;
}

void lx_md_put(struct lx_md *md, struct lx_event *event)
{
	bool told = false;

	/* A bound MD is unlinked by its threshold here, an attached one when it was matched. */
	if (md->refs == 1 && !md->zombie && md->unlink == LX_UNLINK && lx_md_exhausted(md))
		md_unlink(md);
	if (md->refs == 1 && md->zombie)
		let_go(md);
	/* Keep the reference while a handler of the core runs: it may retire the MD. */
	if (event && md->handler) {
		told = event->unlinked = md->refs == 1 && md->zombie;
		tell(md, event);
	}
	if (--md->refs || !md->zombie)
		return;
	if (!told)
		tell_unlink(md);
	md_free(md);
}

void lx_md_free_all(struct lx_core *core)
{
	for (uint32_t i = 0; i < LX_PORTALS; i++)
		lx_portal_clear(&core->portal[i]);
	for (uint32_t i = 0; core->mds.bucket && i <= core->mds.mask; i++) {
		while (core->mds.bucket[i]) {
			struct lx_md *md =
				lx_container_of(core->mds.bucket[i], struct lx_md, node);

			md->refs = 0;
			if (md->zombie)
				md_free(md);
			else
				lx_md_retire(md);
		}
	}
}
