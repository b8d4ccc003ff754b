/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One core: creation, driving, teardown. Called by its owner (user/node, tests).
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
#include "parse.h"
#include "track.h"
#include "udsp.h"

static const struct lx_peer_watcher peer_watchers[] = {
	{ .name = "discover", .deleted = lx_discover_cancel },
	{ .name = "route", .deleted = lx_route_delete_through, .merged = lx_route_gateway_moved,
	  .joined = lx_route_nid_moved },
	{ .name = "announce", .merged = lx_announce_absorb },
	{ .name = "msg", .unreachable = lx_msg_fail_peer },
	{ 0 },
};

int lx_core_new(const struct lx_core_ops *ops, void *ops_arg, struct lx_core **ret_core)
{
	struct lx_core *core = calloc(1, sizeof(*core));

	if (!core)
		return -ENOMEM;
	core->ops = ops;
	core->ops_arg = ops_arg;
	core->peer_watchers = peer_watchers;
	lx_tunable_defaults(lx_core_tunables_table, &core->tun);
	core->cookie = ops->wall(ops_arg);
	lx_list_init(&core->nets);
	lx_list_init(&core->peers);
	lx_list_init(&core->udsps);
	lx_list_init(&core->rnets);
	lx_list_init(&core->gateways);
	lx_list_init(&core->msgs);
	lx_list_init(&core->done);
	lx_list_init(&core->own_waiting);
	lx_list_init(&core->trackers);
	lx_list_init(&core->recovery_nis);
	lx_list_init(&core->recovery_peers);
	lx_list_init(&core->discover);
	lx_list_init(&core->pings_due);
	lx_list_init(&core->probes);
	lx_list_init(&core->memory);
	lx_list_init(&core->announcements);
	lx_fault_init(core);
	lx_answers_init(core);
	for (unsigned int i = 0; i < LX_POOLS; i++)
		lx_list_init(&core->pool[i].queue);
	for (unsigned int i = 0; i < LX_PORTALS; i++)
		lx_portal_init(&core->portal[i]);
	if (lx_hash_init(&core->peer_nis) || lx_hash_init(&core->mds) ||
	    lx_hash_init(&core->mes) || lx_hash_init(&core->origins)) {
		lx_core_free(core);
		return -ENOMEM;
	}
	core->next_second_ns = lx_core_now(core) + LX_S_NS;
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
		r = lx_core_ni_start(core, lo, NULL, &conf, &core->lo);
	if (!r)
		r = lx_ping_target_start(core);
	return r;
}

/* ---- fault injection ------------------------------------------------------------- */

/* Messages that were held go on. */
static void resume_held(struct lx_list *held)
{
	struct lx_core_msg *msg;

	while ((msg = lx_list_pop(held, struct lx_core_msg, link))) {
		if (msg->phase == LX_PHASE_HELD_TX)
			lx_credit_transmit(msg);
		else
			lx_parse_again(msg);
	}
}

/* Next hops that the fast path has learned may not hold: the rule has to see these messages. */
int lx_core_fault_add(struct lx_core *core, const struct lx_fault_rule *rule)
{
	int r = lx_fault_new(core, rule);

	if (r)
		return r;
	lx_change_policy(core, NULL, LX_NET_U32_ANY);
	lx_core_kick(core); /* for a new deadline */
	return 0;
}

int lx_core_fault_del(struct lx_core *core, bool delay, const struct lx_nid *src,
		      const struct lx_nid *dst)
{
	struct lx_list held;
	int r;

	lx_list_init(&held);
	r = lx_fault_delete(core, delay, src, dst, &held);
	resume_held(&held);
	return r;
}

/* ---- NIs ------------------------------------------------------------------------- */

int lx_core_ni_start(struct lx_core *core, const struct lx_lnd *lnd, struct lx_env *env,
		     const struct lx_conf_ni *conf, struct lx_core_ni **ret_ni)
{
	struct lx_core_ni *ni;
	int r;

	r = lx_ni_start(core, lnd, env, conf, &ni);
	if (r < 0)
		return r;
	lx_peer_net_up(core, conf->net);
	/* A local net needs no route, and we cannot be our own gateway. */
	lx_route_delete(core, conf->net, &lx_nid_any);
	lx_route_delete_own(core, &ni->ni.nid);
	lx_peer_own_nid_changed(core, &ni->ni.nid);
	lx_change_tell(core, LX_CHANGE_NI_ADD, &ni->ni.nid, conf->net, "interface=%s%s",
		       ni->ni.ifname, r ? " (its tunables are those of the net's first NI)" : "");
	lx_ni_started(core, ni);
	lx_change_own_info(core);
	if (ret_ni)
		*ret_ni = ni;
	return 0;
}

void lx_core_ni_stop(struct lx_core *core, struct lx_core_ni *ni)
{
	uint32_t net = ni->ni.net;
	struct lx_list held;

	lx_list_init(&held);
	if (ni->state != LX_NI_UP)
		return;
	lx_fault_let_go(core, ni, &held);
	resume_held(&held);
	lx_ni_stop(ni);
	lx_change_tell(core, LX_CHANGE_NI_DEL, &ni->ni.nid, net, "interface=%s", ni->ni.ifname);
	lx_msg_fail_ni(ni);
	lx_parse_drop_waiting(ni);
	/* Hide it from lookups first: messages that fail now find no path over it. */
	if (lx_ni_leave_net(ni)) {
		lx_route_delete_over(core, net);
		lx_peer_net_down(core, net);
	}
	lx_peer_own_nid_changed(core, &ni->ni.nid);
	if (core->lo == ni)
		core->lo = NULL;
	lx_change_own_info(core);
	ni->ni.lnd->shutdown(&ni->ni);
}

/* ---- the end ---------------------------------------------------------------------- */

bool lx_core_idle(const struct lx_core *core)
{
	struct lx_tracker *tracker;
	struct lx_core_msg *msg;

	lx_list_for_each(msg, &core->msgs, all) {
		if (!msg->internal && msg->phase != LX_PHASE_DELAYED && lx_monitor_awaits(msg))
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
	lx_core_fault_del(core, true, &lx_nid_any, &lx_nid_any);
	lx_core_fault_del(core, false, &lx_nid_any, &lx_nid_any);
	lx_announce_stop(core);
	lx_probe_stop_all(core);
	lx_list_for_each(peer, &core->peers, link)
		lx_discover_cancel(peer);
	for (unsigned int i = 0; i < LX_PORTALS; i++)
		lx_parse_lazy_set(core, &core->portal[i], false);
	lx_ping_target_stop(core);
	lx_track_stop(core);
}

/* May be half-built, with tables missing: must not look anything up. */
void lx_core_free(struct lx_core *core)
{
	struct lx_peer *peer;

	if (!core)
		return;
	lx_route_delete(core, LX_NET_U32_ANY, &lx_nid_any);
	while ((peer = lx_list_first(&core->peers, struct lx_peer, link)))
		lx_peer_delete(peer);
	lx_peer_self_stop(core);
	lx_udsp_delete(core, LX_UNSET);
	lx_md_free_all(core);
	lx_core_memory_free_all(core);
	lx_pool_free_all(core);
	lx_fault_fini(core);
	for (unsigned int i = 0; i < LX_PORTALS; i++)
		lx_portal_fini(&core->portal[i]);
	lx_hash_fini(&core->peer_nis);
	lx_hash_fini(&core->mds);
	lx_hash_fini(&core->mes);
	lx_hash_fini(&core->origins);
	lx_freelist_fini(&core->msg_freelist);
	lx_freelist_fini(&core->origin_freelist);
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

	struct lx_list held;

	if (core->stopping)
		return;
	lx_list_init(&held);
	lx_fault_tick(core, &held);
	resume_held(&held);
	lx_probe_tick(core);
	if (now < core->next_second_ns)
		return;
	core->next_second_ns = now + LX_S_NS;
	lx_monitor_second(core);
}

uint64_t lx_core_deadline(const struct lx_core *core)
{
	uint64_t probe = lx_probe_deadline(core), fault = lx_fault_deadline(core);
	uint64_t first = probe < fault ? probe : fault;

	return first < core->next_second_ns ? first : core->next_second_ns;
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

		return lx_credit_pools_resize(core, totals);
	}
	if (!tun.lnet_health_sensitivity)
		lx_health_off(core);
	if (tun.lnet_peer_discovery_disabled != core->tun.lnet_peer_discovery_disabled) {
		if (tun.lnet_peer_discovery_disabled)
			lx_discover_switched_off(core);
		else
			lx_discover_switched_on(core);
		lx_change_own_info(core);
	}
	core->tun = tun;
	return 0;
}

/* ---- upcalls of transports ----------------------------------------------------------- */

void lx_lnd_refused(struct lx_ni *ni, enum lx_refused_kind kind, const char *address,
		    const char *reason)
{
	ni->core->stats.refused_ports += kind == LX_REFUSED_PORT;
	lx_refused_note(ni->core, kind, address, reason);
}

void lx_lnd_peer_lost(struct lx_ni *ni, const struct lx_nid *nid, enum lx_down_why why,
		      int error)
{
	struct lx_core *core = ni->core;
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, nid);

	if (!pni || core->stopping || !core->tun.auto_down)
		return;
	pni->reached = false;
	lx_peer_ni_set_down(core, pni, why, error);
	lx_health_lost_peer(core, pni);
	lx_route_gateway_lost(core, pni, error);
}
