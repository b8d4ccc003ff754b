/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rounds of each second: gateways to check, our own NIs as a router, routing
 * that starts or stops, messages and responses past their deadlines.
 *
 *	        enable                  delay over
 *	OFF ──────────────▶ STARTING ──────────────▶ ON
 *	 ▲                      │                    │ disable
 *	 │  delay over, and     │ disable            ▼
 *	 └──buffers at home ────┴────────────── STOPPING
 *
 * While STARTING and STOPPING messages are forwarded but RTE_DISABLED is told, so
 * that peers have time to learn.
 */
#include <errno.h>

#include "core.h"
#include "discover.h"
#include "monitor.h"
#include "msg.h"
#include "track.h"

/* ---- gateways (lnet.md 10.3) ------------------------------------------------------ */

static uint64_t check_interval_ns(struct lx_core *core)
{
	return (uint64_t)core->tun.alive_router_check_interval * LX_NSEC;
}

/* With checks switched off a gateway is still asked once. */
static bool check_due(const struct lx_peer *peer, const struct lx_peer_net *net, uint64_t now)
{
	if (!lx_net_lookup(peer->core, net->id))
		return false;
	if (!peer->core->tun.alive_router_check_interval)
		return !(peer->state & LX_PEER_RTR_DISCOVERED);
	return now >= net->next_check_ns;
}

static void check_gateway(struct lx_peer *peer, uint64_t now)
{
	struct lx_peer_net *net;

	if (peer->state & LX_PEER_RTR_DISCOVERY)
		return;
	lx_list_for_each(net, &peer->nets, link) {
		if (!check_due(peer, net, now))
			continue;
		net->next_check_ns = now + check_interval_ns(peer->core);
		peer->check_net = net->id;
		peer->state &= ~LX_PEER_NIDS_UPTODATE;
		peer->state |= LX_PEER_FORCE_PING | LX_PEER_FORCE_PUSH | LX_PEER_RTR_DISCOVERY;
		peer->sent_ns = now;
		lx_discover_queue(peer);
		return;
	}
}

static void check_gateways(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->gateways, gateway_link)
		check_gateway(peer, now);
}

/* ---- as a router ---------------------------------------------------------------------- */

static uint64_t announce_ns(struct lx_core *core)
{
	int64_t s = core->tun.router_start_delay;

	if (s < 0)
		s = core->tun.alive_router_check_interval + core->tun.router_ping_timeout;
	return (uint64_t)s * LX_NSEC;
}

/* An NI through which nobody has pinged us for long is of no use to others. */
static void check_own_nis(struct lx_core *core)
{
	uint64_t limit = (uint64_t)(core->tun.alive_router_check_interval +
				    core->tun.router_ping_timeout) * LX_NSEC;
	uint64_t now = lx_core_now(core);
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, core) {
		if (!ni->ni.lnd->no_credits && now - net->last_alive_ns >= limit)
			lx_ni_status_set(core, ni, true);
	}
}

static void routing_changed(struct lx_core *core, enum lx_routing_state state)
{
	static const char *const name[] = { "off", "on", "stopping", "starting" };

	core->routing = state;
	core->routing_since_ns = lx_core_now(core);
	lx_core_change(core, LX_CHANGE_ROUTING, &lx_nid_any, LX_NET_U32_ANY, "%s", name[state]);
	lx_ping_target_changed(core, true);
}

/* The silence of nets counts only while we are a router. */
static void forget_silence(struct lx_core *core)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, core) {
		net->last_alive_ns = lx_core_now(core);
		lx_ni_status_set(core, ni, false);
	}
}

int lx_monitor_route(struct lx_core *core, bool enable, bool at_once)
{
	int r;

	if (!enable) {
		if (core->routing == LX_ROUTING_ON || core->routing == LX_ROUTING_STARTING)
			routing_changed(core, LX_ROUTING_STOPPING);
		return 0;
	}
	if (core->routing == LX_ROUTING_STOPPING)
		return -EBUSY;
	if (core->routing != LX_ROUTING_OFF)
		return 0;
	r = lx_pool_make_all(core);
	if (r)
		return r;
	forget_silence(core);
	routing_changed(core, at_once || !announce_ns(core) ? LX_ROUTING_ON
							    : LX_ROUTING_STARTING);
	return 0;
}

static void routing_step(struct lx_core *core)
{
	uint64_t waited = lx_core_now(core) - core->routing_since_ns;
	uint64_t delay = announce_ns(core);

	if (core->routing == LX_ROUTING_STARTING && waited >= delay) {
		routing_changed(core, LX_ROUTING_ON);
	} else if (core->routing == LX_ROUTING_STOPPING && waited >= delay &&
		   (lx_pool_idle(core) || waited >= 3 * delay)) {
		forget_silence(core);
		routing_changed(core, LX_ROUTING_OFF);
	}
	if (core->routing == LX_ROUTING_ON)
		check_own_nis(core);
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Those that still wait in a queue of ours; a transport watches its own. */
static void expire_waiting(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	struct lx_core_msg *msg, *tmp;
	struct lx_list late;

	lx_list_init(&late);
	lx_list_for_each_safe(msg, tmp, &core->msgs, all) {
		if ((msg->phase != LX_PHASE_PENDING && msg->phase != LX_PHASE_TX_WAIT) ||
		    msg->m.routing || msg->m.deadline_ns > now)
			continue;
		lx_list_del(&msg->link);
		lx_list_append(&late, &msg->link);
	}
	lx_msg_fail_queue(&late, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT);
}

void lx_monitor_second(struct lx_core *core)
{
	expire_waiting(core);
	lx_track_tick(core);
	lx_discover_tick(core);
	check_gateways(core);
	routing_step(core);
}
