/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ping target: our ping information for everybody to GET, and a buffer for
 * pushes (lnet.md 12.1). Both are ordinary MEs on portal 0.
 *
 * A push takes its buffer with its header, and the next buffer is posted at once: a peer that
 * stops in the middle of a push must not hold up the others' connections, on which their
 * pushes wait.
 *
 * The information is rebuilt, with the next sequence number, when its content
 * changes; replies being sent keep the old buffer alive.
 */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "discover.h"
#include "parse.h"

struct lx_ping_buffer *lx_ping_buffer_new(size_t length)
{
	struct lx_ping_buffer *buffer = calloc(1, sizeof(*buffer) + length);

	if (!buffer)
		return NULL;
	buffer->refs = 1;
	buffer->length = length;
	return buffer;
}

void lx_ping_buffer_put(struct lx_ping_buffer *buffer)
{
	if (buffer && !--buffer->refs)
		free(buffer);
}

/* ---- our information --------------------------------------------------------------- */

static uint32_t features(struct lx_core *core)
{
	uint32_t f = LX_PING_NI_STATUS | LX_PING_MULTI_RAIL;

	if (!core->tun.lnet_peer_discovery_disabled)
		f |= LX_PING_DISCOVERY;
	if (core->routing != LX_ROUTING_ON)
		f |= LX_PING_RTE_DISABLED;
	return f;
}

/* Our NIDs, 4-byte ones first, as the wire format requires. */
static int own_info(struct lx_core *core, struct lx_pinginfo **ret_info)
{
	struct lx_pinginfo *info;
	struct lx_core_ni *ni, *first = NULL;
	struct lx_net *net;
	uint32_t n = 0;
	int r;

	lx_ni_for_each(net, ni, core)
		n++;
	r = lx_pinginfo_new(n, &info);
	if (r)
		return r;
	for (int large = 0; large < 2; large++) {
		lx_ni_for_each(net, ni, core) {
			if (ni->ni.nid.type == LX_NET_LO)
				continue;
			if (!first)
				first = ni;
			if (lx_nid_is_nid4(&ni->ni.nid) == large)
				continue;
			info->ni[info->n_nis++] =
				(struct lx_pinginfo_ni){ ni->ni.nid, lx_ni_status(ni) };
		}
	}
	info->features = features(core);
	if (first && !lx_nid_is_nid4(&first->ni.nid))
		info->features |= LX_PING_PRIMARY_LARGE;
	*ret_info = info;
	return 0;
}

static int buffer_build(struct lx_core *core, struct lx_ping_buffer **ret_buffer)
{
	struct lx_ping_buffer *buffer;
	struct lx_pinginfo *info;
	int r;

	r = own_info(core, &info);
	if (r)
		return r;
	info->seqno = core->target.seqno + 1;
	buffer = lx_ping_buffer_new(lx_pinginfo_size(info));
	if (buffer) {
		lx_pinginfo_encode(info, buffer->data);
		buffer->owner = core;
		core->target.seqno++;
		*ret_buffer = buffer;
	}
	free(info);
	return buffer ? 0 : -ENOMEM;
}

/* ---- the two MEs ---------------------------------------------------------------------- */

static int attach(struct lx_core *core, struct lx_ping_buffer *buffer,
		  const struct lx_md_desc *desc, struct lx_handle *ret_me)
{
	const struct lx_id anyone = { .nid = lx_nid_any, .pid = LX_PID_ANY };
	struct lx_me *me;
	struct lx_md *md;
	int r;

	r = lx_portal_attach(core, LX_PORTAL_RESERVED, &anyone, LX_PING_MATCH_BITS, 0, LX_UNLINK,
			     LX_ME_AFTER, &me);
	if (r)
		return r;
	r = lx_md_new(core, me, desc, LX_UNLINK, &md);
	if (r) {
		lx_me_free(me);
		return r;
	}
	md->internal = true;
	buffer->refs++;
	*ret_me = me->handle;
	return 0;
}

static void on_ping(const struct lx_event *event)
{
	if (event->unlinked)
		lx_ping_buffer_put(event->user);
}

static int ping_post(struct lx_core *core)
{
	struct lx_ping_buffer *buffer = core->target.buffer;
	const struct lx_md_desc desc = {
		.start = buffer->data,
		.length = buffer->length,
		.threshold = LX_MD_UNLIMITED,
		.options = LX_MD_OP_GET | LX_MD_MANAGE_REMOTE | LX_MD_TRUNCATE,
		.handler = on_ping,
		.user = buffer,
	};

	return attach(core, buffer, &desc, &core->target.ping_me);
}

static void push_post(struct lx_core *core);

static void on_push(const struct lx_event *event)
{
	struct lx_ping_buffer *buffer = event->user;
	struct lx_core *core = buffer->owner;

	if (event->type == LX_EVENT_PUT)
		lx_discover_pushed(core, event,
				   event->rlength > event->mlength ? -EMSGSIZE : event->status,
				   buffer->data);
	if (!event->unlinked)
		return;
	lx_ping_buffer_put(buffer);
	core->target.n_pushes--;
	if (!core->stopping && core->target.push_unposted)
		push_post(core);
}

/* The next buffer: the last one again if it is free and long enough. */
static bool push_buffer_obtain(struct lx_core *core)
{
	struct lx_ping_target *target = &core->target;

	if (target->push && target->push->refs == 1 && target->push->length >= target->push_bytes)
		return true;
	lx_ping_buffer_put(target->push);
	target->push = lx_ping_buffer_new(target->push_bytes);
	if (target->push)
		target->push->owner = core;
	return target->push;
}

static void push_post(struct lx_core *core)
{
	struct lx_ping_target *target = &core->target;
	struct lx_md_desc desc = {
		.threshold = 1,
		.options = LX_MD_OP_PUT | LX_MD_TRUNCATE,
		.handler = on_push,
	};

	target->push_unposted = true;
	if (target->n_pushes >= LX_PUSHES_MAX || !push_buffer_obtain(core))
		return;
	desc.start = target->push->data;
	desc.length = target->push->length;
	desc.user = target->push;
	if (attach(core, target->push, &desc, &target->push_me))
		return;
	target->push_unposted = false;
	target->n_pushes++;
	lx_parse_resume(core, &core->portal[LX_PORTAL_RESERVED]);
}

/* ---- life ------------------------------------------------------------------------------- */

int lx_ping_target_start(struct lx_core *core)
{
	int r;

	core->target.push_bytes = LX_PING_INFO_MIN;
	r = buffer_build(core, &core->target.buffer);
	if (!r)
		r = ping_post(core);
	if (r)
		return r;
	lx_parse_lazy_set(core, &core->portal[LX_PORTAL_RESERVED], true);
	push_post(core);
	return core->target.push_unposted ? -ENOMEM : 0;
}

static void me_retire(struct lx_core *core, struct lx_handle *handle)
{
	struct lx_me *me = lx_me_lookup(core, *handle);

	if (me)
		lx_me_retire(me);
	*handle = LX_HANDLE_NONE;
}

void lx_ping_target_stop(struct lx_core *core)
{
	me_retire(core, &core->target.ping_me);
	me_retire(core, &core->target.push_me);
	lx_ping_buffer_put(core->target.buffer);
	lx_ping_buffer_put(core->target.push);
	core->target.buffer = core->target.push = NULL;
}

void lx_ping_target_refresh(struct lx_core *core)
{
	struct lx_ping_target *target = &core->target;
	struct lx_ping_buffer *buffer;

	if (target->push_unposted && target->buffer)
		push_post(core);
	if (!target->stale || !target->buffer || buffer_build(core, &buffer))
		return;
	target->stale = false;
	me_retire(core, &target->ping_me);
	lx_ping_buffer_put(target->buffer);
	target->buffer = buffer;
	if (ping_post(core)) {
		target->stale = true; /* retry with the next lx_core_work() */
		return;
	}
	lx_discover_push_all(core);
}
