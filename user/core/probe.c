/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pings and discoveries requested by users. Each probe ends once: only probe_end()
 * calls the user back and frees it.
 */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "msg.h"
#include "track.h"

/*
 * A ping without a time-out of its own waits for the answer, and longer for the transport's error
 * if its request has not been sent by then: "no route to host" says more than "no answer", and
 * ARP takes 3 s for it.
 */
#define ANSWER_NS LX_S_NS
#define UNSENT_GRACE_NS (5 * LX_S_NS)

static int probe_new(struct lx_core *core, const struct lx_id *target,
		     const struct lx_nid *source, lx_probe_end_fn fn, void *arg,
		     struct lx_probe **ret_probe)
{
	struct lx_probe *probe;

	if (core->stopping)
		return -ESHUTDOWN;
	if (lx_nid_is_any(&target->nid))
		return -EINVAL;
	if (source && !lx_nid_is_any(source) && !lx_ni_lookup(core, source))
		return -EINVAL;
	probe = calloc(1, sizeof(*probe));
	if (!probe)
		return -ENOMEM;
	probe->core = core;
	probe->target = *target;
	probe->source = source ? *source : lx_nid_any;
	probe->deadline_ns = UINT64_MAX;
	probe->fn = fn;
	probe->arg = arg;
	lx_list_init(&probe->waiter_link);
	lx_list_append(&core->probes, &probe->link);
	*ret_probe = probe;
	return 0;
}

/* Abandons the request; its last event only frees the memory. */
static void request_drop(struct lx_probe *probe)
{
	struct lx_md *md = lx_md_lookup(probe->core, probe->md);

	if (probe->buffer)
		probe->buffer->owner = NULL;
	probe->buffer = NULL;
	if (md)
		lx_md_retire(md);
}

static void probe_end(struct lx_probe *probe, int status, struct lx_peer_info *info)
{
	lx_list_del(&probe->link);
	lx_list_del(&probe->waiter_link);
	request_drop(probe);
	probe->fn(status, info, probe->arg);
	free(probe);
}

/* ---- ping ------------------------------------------------------------------------- */

/* 0@lo is another name of this node once it has been discovered. */
static const struct lx_nid *name_of(const struct lx_probe *probe)
{
	const struct lx_nid *target = &probe->target.nid, *self = NULL;
	const struct lx_peer_ni *pni;

	if (target->type == LX_NET_LO)
		self = lx_peer_self_nid(probe->core);
	pni = self ? lx_peer_ni_lookup(probe->core, self) : NULL;
	return pni && (lx_peer_of(pni)->state & LX_PEER_MULTI_RAIL) ? self : target;
}

/* Describes the answer under the peer's name here (control.md 3.7). */
static int answer_describe(struct lx_probe *probe, const struct lx_pinginfo *answer,
			   struct lx_peer_info **ret_info)
{
	const struct lx_nid *name = name_of(probe);
	struct lx_peer_ni *pni = lx_peer_ni_lookup(probe->core, name);
	struct lx_peer_info *info =
		calloc(1, sizeof(*info) + (answer->n_nis + 1) * sizeof(info->ni[0]));

	if (!info)
		return -ENOMEM;
	info->ni = (struct lx_peer_ni_info *)(info + 1);
	lx_peer_primary_of(probe->core, name, &info->primary);
	if (pni) {
		info->multi_rail = lx_peer_of(pni)->state & LX_PEER_MULTI_RAIL;
		info->state = lx_peer_of(pni)->state;
	}
	for (uint32_t i = 0; i < answer->n_nis; i++) {
		info->ni[i].nid = answer->ni[i].nid;
		info->ni[i].alive = answer->ni[i].status == LX_NI_STATUS_UP ? LX_ALIVE_UP
									     : LX_ALIVE_DOWN;
	}
	info->n_nis = answer->n_nis;
	*ret_info = info;
	return 0;
}

static int ping_send(struct lx_probe *probe, size_t room);

static void on_answer(struct lx_probe *probe, const struct lx_event *event)
{
	struct lx_core *core = probe->core;
	size_t room = probe->buffer->length;
	struct lx_pinginfo *answer = NULL;
	struct lx_peer_info *info = NULL;
	size_t need = 0;
	int r;

	r = lx_pinginfo_decode(probe->buffer->data, event->mlength,
			       core->tun.lnet_interfaces_max, &need, &answer);
	if (r == -EMSGSIZE && need > room) {
		request_drop(probe);
		r = ping_send(probe, need);
		if (!r)
			return;
	} else if (r) {
		r = -EPROTO;
	} else {
		r = answer_describe(probe, answer, &info);
		free(answer);
	}
	probe_end(probe, r, info);
}

static void on_event(const struct lx_event *event)
{
	struct lx_ping_buffer *buffer = event->user;
	struct lx_probe *probe = buffer->owner;

	if (probe) {
		if (event->status)
			probe_end(probe, event->status, NULL);
		else if (event->type == LX_EVENT_REPLY)
			on_answer(probe, event);
		else if (event->unlinked)
			probe_end(probe, -ETIMEDOUT, NULL);
	}
	if (event->unlinked)
		lx_ping_buffer_put(buffer);
}

static int ping_send(struct lx_probe *probe, size_t room)
{
	struct lx_core *core = probe->core;
	struct lx_ping_buffer *buffer = lx_ping_buffer_new(room);
	struct lx_md_desc desc = {
		.length = room,
		.threshold = 2,
		.options = LX_MD_TRACK_RESPONSE | LX_MD_TRUNCATE,
		.handler = on_event,
		.user = buffer,
	};
	struct lx_md *md;
	int r;

	if (!buffer)
		return -ENOMEM;
	desc.start = buffer->data;
	r = lx_md_new(core, NULL, &desc, LX_UNLINK, &md);
	if (r) {
		lx_ping_buffer_put(buffer);
		return r;
	}
	md->internal = true;
	buffer->owner = probe;
	probe->buffer = buffer;
	probe->md = md->handle;
	/* The probe may end within this call: do not touch it afterwards. */
	r = lx_msg_get(core, lx_nid_is_any(&probe->source) ? NULL : &probe->source, md,
		       &probe->target, LX_PORTAL_RESERVED, LX_PING_MATCH_BITS, 0, true);
	if (r) {
		probe->buffer = NULL;
		lx_md_abandon(md);
		lx_ping_buffer_put(buffer);
	}
	return r;
}

int lx_probe_ping(struct lx_core *core, const struct lx_id *target, const struct lx_nid *source,
		  unsigned int timeout_ms, lx_probe_end_fn fn, void *arg)
{
	struct lx_probe *probe;
	int r;

	r = probe_new(core, target, source, fn, arg, &probe);
	if (r)
		return r;
	probe->deadline_ns = lx_core_now(core) +
			     (timeout_ms ? (uint64_t)timeout_ms * (LX_S_NS / 1000) : ANSWER_NS);
	probe->patient = !timeout_ms;
	r = ping_send(probe, LX_PING_INFO_MIN);
	if (r) {
		lx_list_del(&probe->link);
		free(probe);
		return r;
	}
	lx_core_kick(core); /* its deadline may be the next one */
	return 0;
}

/* ---- discovery ----------------------------------------------------------------------- */

/* No NI can reach this node from outside: it answers, and becomes no peer. */
static int ask_self(struct lx_core *core, lx_probe_end_fn fn, void *arg)
{
	const struct lx_id self = { lx_nid_lo, LX_PID_LUSTRE };

	return lx_probe_ping(core, &self, NULL, core->tun.lnet_transaction_timeout * 1000, fn,
			     arg);
}

int lx_probe_discover(struct lx_core *core, const struct lx_nid *nid, bool force,
		      lx_probe_end_fn fn, void *arg)
{
	struct lx_id target = { *nid, LX_PID_LUSTRE };
	struct lx_peer_ni *pni;
	struct lx_probe *probe;
	struct lx_peer *peer;
	int r;

	/* By 0@lo this node is no peer of its own. */
	if (nid->type == LX_NET_LO)
		nid = lx_peer_self_nid(core);
	if (!nid)
		return ask_self(core, fn, arg);
	if (lx_msg_stays_inside(core, nid))
		return -EINVAL;
	r = lx_peer_ni_obtain(core, nid, &pni);
	if (!r)
		r = probe_new(core, &target, NULL, fn, arg, &probe);
	if (r)
		return r;
	peer = lx_peer_of(pni);
	lx_list_append(&peer->waiters, &probe->waiter_link);
	/* Ask it even if everything about it is known: the user wants to know if it answers. */
	if (!core->tun.lnet_peer_discovery_disabled)
		peer->state &= ~LX_PEER_NIDS_UPTODATE;
	peer->state |= LX_PEER_REDISCOVER;
	if (force)
		peer->state |= LX_PEER_FORCE_PING | LX_PEER_FORCE_PUSH;
	lx_peer_discover(peer);
	return 0;
}

void lx_probe_discovered(struct lx_peer *peer, struct lx_probe *probe, int status)
{
	struct lx_peer_info *info = NULL;

	if (!status && probe->target.nid.type == LX_NET_LO)
		peer->by_lo = true;
	if (!status)
		status = lx_peer_describe(peer, false, &info);
	probe_end(probe, status, info);
}

/* ---- time ----------------------------------------------------------------------------- */

uint64_t lx_probe_deadline(const struct lx_core *core)
{
	uint64_t first = UINT64_MAX;
	struct lx_probe *probe;

	lx_list_for_each(probe, &core->probes, link) {
		if (probe->deadline_ns < first)
			first = probe->deadline_ns;
	}
	return first;
}

static void overdue(struct lx_probe *probe)
{
	struct lx_md *md = lx_md_lookup(probe->core, probe->md);
	bool unsent = md && md->refs;

	if (unsent && probe->patient) {
		probe->deadline_ns += UNSENT_GRACE_NS;
		lx_md_retire(md); /* an answer would be too late */
		return;
	}
	if (md)
		lx_track_overdue(md);
	probe_end(probe, unsent ? -ETIME : -ETIMEDOUT, NULL);
}

void lx_probe_tick(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	struct lx_probe *probe, *tmp;

	lx_list_for_each_safe(probe, tmp, &core->probes, link) {
		if (probe->deadline_ns <= now)
			overdue(probe);
	}
}

void lx_probe_stop_all(struct lx_core *core)
{
	struct lx_probe *probe;

	while ((probe = lx_list_first(&core->probes, struct lx_probe, link)))
		probe_end(probe, -ESHUTDOWN, NULL);
}
