/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One core: made, driven and taken apart. Called by its owner (user/node, tests).
 */
#include <errno.h>
#include <stdlib.h>

#include "announce.h"
#include "change.h"
#include "core.h"
#include "credit.h"
#include "discover.h"
#include "monitor.h"
#include "msg.h"
#include "track.h"

int lx_core_new(const struct lx_core_ops *ops, void *ops_arg, struct lx_core **ret_core)
{
	struct lx_core *core = calloc(1, sizeof(*core));

	if (!core)
		return -ENOMEM;
	core->ops = ops;
	core->ops_arg = ops_arg;
	lx_tunable_defaults(lx_core_tunables_table, &core->tun);
	core->cookie = ops->wall(ops_arg);
	lx_list_init(&core->nets);
	lx_list_init(&core->peers);
	lx_list_init(&core->rnets);
	lx_list_init(&core->gateways);
	lx_list_init(&core->msgs);
	lx_list_init(&core->done);
	lx_list_init(&core->trackers);
	lx_list_init(&core->discover);
	lx_list_init(&core->probes);
	lx_list_init(&core->memory);
	lx_list_init(&core->announcements);
	for (unsigned int i = 0; i < LX_POOLS; i++)
		lx_list_init(&core->pool[i].queue);
	for (unsigned int i = 0; i < LX_PORTALS; i++)
		lx_portal_init(&core->portal[i]);
	if (lx_hash_init(&core->peer_nis) || lx_hash_init(&core->mds) ||
	    lx_hash_init(&core->mes)) {
		lx_core_free(core);
		return -ENOMEM;
	}
	core->next_second_ns = lx_core_now(core) + LX_NSEC;
	*ret_core = core;
	return 0;
}

int lx_core_start(struct lx_core *core, const struct lx_lnd *lo)
{
	struct lx_conf_ni conf = {
		.net = LX_NET(LX_NET_LO, 0),
		.nid = lx_nid_lo,
	};
	int r;

	r = lx_peer_self_start(core);
	if (!r)
		r = lx_ni_start(core, lo, NULL, &conf, &core->lo);
	if (!r)
		r = lx_ping_target_start(core);
	return r;
}

bool lx_core_idle(const struct lx_core *core)
{
	struct lx_tracker *tracker;
	struct lx_core_msg *msg;

	lx_list_for_each(msg, &core->msgs, all) {
		if (!msg->internal && msg->phase != LX_PHASE_DELAYED)
			return false;
	}
	lx_list_for_each(tracker, &core->trackers, link) {
		if (!tracker->md->internal)
			return false;
	}
	return true;
}

void lx_core_stop(struct lx_core *core)
{
	struct lx_peer *peer;

	core->stopping = true;
	lx_announce_stop(core);
	lx_probe_stop_all(core);
	lx_list_for_each(peer, &core->peers, link)
		lx_discover_cancel(peer, -ESHUTDOWN);
	for (unsigned int i = 0; i < LX_PORTALS; i++)
		lx_portal_lazy_set(core, &core->portal[i], false);
	lx_ping_target_stop(core);
	lx_track_stop(core);
}

/* It may be half built: nothing here looks anything up, as a table may be missing. */
void lx_core_free(struct lx_core *core)
{
	struct lx_peer *peer;

	if (!core)
		return;
	lx_route_delete(core, LX_NET_U32_ANY, &lx_nid_any);
	while ((peer = lx_list_first(&core->peers, struct lx_peer, link)))
		lx_peer_delete(peer);
	lx_peer_self_stop(core);
	lx_md_free_all(core);
	lx_core_memory_free_all(core);
	lx_pool_free_all(core);
	for (unsigned int i = 0; i < LX_PORTALS; i++)
		lx_portal_fini(&core->portal[i]);
	lx_hash_fini(&core->peer_nis);
	lx_hash_fini(&core->mds);
	lx_hash_fini(&core->mes);
	lx_freelist_fini(&core->msg_freelist);
	free(core);
}

/* ---- driving ------------------------------------------------------------------ */

void lx_core_work(struct lx_core *core)
{
	if (core->stopping)
		return;
	lx_ping_target_refresh(core);
	lx_discover_work(core);
	lx_route_report(core);
}

void lx_core_tick(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);

	if (core->stopping)
		return;
	lx_probe_tick(core);
	if (now < core->next_second_ns)
		return;
	core->next_second_ns = now + LX_NSEC;
	lx_monitor_second(core);
}

uint64_t lx_core_deadline(const struct lx_core *core)
{
	uint64_t probe = lx_probe_deadline(core);

	return probe < core->next_second_ns ? probe : core->next_second_ns;
}

/* ---- tunables ------------------------------------------------------------------- */

int lx_core_tunable_set(struct lx_core *core, const char *name, const char *value)
{
	const struct lx_tunable *t = lx_tunable_lookup(lx_core_tunables_table, name);
	struct lx_core_tunables tun = core->tun;
	int r;

	if (!t)
		return -ENOENT;
	r = lx_tunable_set(t, &tun, value);
	if (r)
		return r;
	tun.lnet_retry_count = lx_core_tunables_retries(&tun);
	if (lx_core_tunables_conflict(&tun))
		return -EINVAL;

	if (tun.tiny_router_buffers != core->tun.tiny_router_buffers ||
	    tun.small_router_buffers != core->tun.small_router_buffers ||
	    tun.large_router_buffers != core->tun.large_router_buffers) {
		const int64_t totals[LX_POOLS] = { tun.tiny_router_buffers,
						   tun.small_router_buffers,
						   tun.large_router_buffers };

		return lx_pool_resize(core, totals);
	}
	if (tun.lnet_peer_discovery_disabled != core->tun.lnet_peer_discovery_disabled)
		lx_change_own_info(core);
	core->tun = tun;
	return 0;
}
