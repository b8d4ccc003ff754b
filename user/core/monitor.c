/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Periodic work, once a second: checks of gateways and of our own NIs as a router, the
 * start and stop of routing, messages and responses past their deadlines.
 *
 *	        enable                  delay over
 *	OFF ──────────────▶ STARTING ──────────────▶ ON ─ notify remembered neighbours
 *	 ▲                      │                    │ disable
 *	 │                      │ disable            ▼
 *	 └── users told, quiet ─┴────────────── STOPPING ─ notify neighbours
 *	     or timeout
 *
 * While STARTING and STOPPING we forward messages but advertise RTE_DISABLED, so
 * that peers have time to notice. A stop ends when it would lose nothing: all
 * users have been told (announce.c), no message to forward has come for
 * QUIET_NS, and none is in flight. "routing off", a reload that turns routing off and the
 * end of the node all work this way; only their timeouts differ.
 */
#include <errno.h>

#include "../base/text.h"
#include "announce.h"
#include "change.h"
#include "core.h"
#include "credit.h"
#include "discover.h"
#include "monitor.h"
#include "msg.h"
#include "recovery.h"
#include "track.h"

#define QUIET_NS (2 * LX_S_NS)
#define PROGRESS_NS (5 * LX_S_NS)

/* ---- gateways (lnet.md 10.3) ------------------------------------------------------ */

static uint64_t check_interval_ns(struct lx_core *core)
{
	return (uint64_t)core->tun.alive_router_check_interval * LX_S_NS;
}

/* Whether a net has no route up, and may have one through this gateway. */
static bool is_missed(const struct lx_peer *gateway)
{
	const struct lx_route *route;

	lx_list_for_each (route, &gateway->routes, gateway_link) {
		if (!lx_rnet_alive(route->rnet))
			return true;
	}
	return false;
}

/* A cold site: gateways that start later than we do. After 1, 2, 4 ... s, but not in step. */
static void plan_checks(struct lx_peer *peer, struct lx_peer_net *net, uint64_t now)
{
	uint64_t interval = check_interval_ns(peer->core), wait;

	net->n_retries = is_missed(peer) ? net->n_retries + 1 : 0;
	wait = LX_S_NS << (net->n_retries < 32 ? net->n_retries : 32);
	wait += peer->core->ops->random(peer->core->ops_arg) % (wait / 2);
	net->next_check_ns = now + interval;
	net->retry_ns = now + (wait < interval ? wait : interval);
}

/* With checks switched off a gateway is still checked once. */
static bool check_due(const struct lx_peer *peer, const struct lx_peer_net *net, uint64_t now)
{
	if (!lx_net_lookup(peer->core, net->id))
		return false;
	if (!peer->core->tun.alive_router_check_interval)
		return !(peer->state & LX_PEER_RTR_DISCOVERED);
	return now >= net->next_check_ns || (now >= net->retry_ns && is_missed(peer));
}

static void check_gateway(struct lx_peer *peer, uint64_t now)
{
	struct lx_peer_net *net;

	if (peer->state & LX_PEER_RTR_DISCOVERY)
		return;
	lx_list_for_each(net, &peer->nets, link) {
		if (!check_due(peer, net, now))
			continue;
		plan_checks(peer, net, now);
		peer->check_net = net->id;
		peer->state &= ~LX_PEER_NIDS_UPTODATE;
		peer->state |= LX_PEER_FORCE_PING | LX_PEER_FORCE_PUSH | LX_PEER_RTR_DISCOVERY;
		peer->sent_ns = now;
		lx_peer_discover(peer);
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

/* After this time everybody has checked this gateway, or noticed that it does not answer. */
static uint64_t check_round_ns(struct lx_core *core)
{
	return (uint64_t)(core->tun.alive_router_check_interval + core->tun.router_ping_timeout) *
	       LX_S_NS;
}

static uint64_t announce_ns(struct lx_core *core)
{
	int64_t s = core->tun.router_start_delay;

	return s < 0 ? check_round_ns(core) : (uint64_t)s * LX_S_NS;
}

/* Marks NIs down through which no ping has come for too long. */
static void check_own_nis(struct lx_core *core)
{
	uint64_t limit = check_round_ns(core);
	uint64_t now = lx_core_now(core);
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, core) {
		if (!ni->ni.lnd->no_credits && now - net->last_alive_ns >= limit)
			lx_ni_status_set(core, ni, true);
	}
}

static unsigned int seconds(uint64_t ns)
{
	return (ns + LX_S_NS - 1) / LX_S_NS;
}

/* Our advertisement about routing changes with ON only. */
static void routing_changed(struct lx_core *core, enum lx_routing_state state)
{
	if ((core->routing == LX_ROUTING_ON) != (state == LX_ROUTING_ON))
		lx_announce_begin(core);
	core->routing = state;
	core->routing_since_ns = lx_core_now(core);
	if (state == LX_ROUTING_STOPPING)
		core->routing_end_ns = core->routing_since_ns;
	else if (state != LX_ROUTING_OFF)
		core->routing_end_ns = 0;
}

LX_PRINTF(2, 3) static void report(struct lx_core *core, const char *fmt, ...)
{
	char text[sizeof(((struct lx_change *)0)->text)];

	LX_FORMAT(text, sizeof(text), fmt);
	lx_change_tell(core, LX_CHANGE_ROUTING, &lx_nid_any, LX_NET_U32_ANY, "%s", text);
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

static void routing_start(struct lx_core *core, bool at_once)
{
	uint64_t delay = at_once ? 0 : announce_ns(core);

	forget_silence(core);
	routing_changed(core, delay ? LX_ROUTING_STARTING : LX_ROUTING_ON);
	if (delay)
		report(core, "starting, on in %u s: neighbours have to see this node first",
		       seconds(delay));
	else
		report(core, "on");
}

static void routing_end(struct lx_core *core)
{
	struct lx_announce_users users;

	lx_announce_users(core, &users);
	forget_silence(core);
	routing_changed(core, LX_ROUTING_OFF);
	if (users.untold + users.sending)
		report(core, "off, its time is over: %u not told, %u still sending, one is %s",
		       users.untold, users.sending, lx_nid_str(&users.nid));
	else
		report(core, "off");
}

static bool is_gone(const struct lx_peer_ni *pni)
{
	return pni && pni->net && lx_announce_is_gone(lx_peer_of(pni));
}

bool lx_monitor_awaits(const struct lx_core_msg *msg)
{
	return !msg->transit || (!is_gone(msg->txpeer) && !is_gone(msg->rxpeer));
}

static bool forwarded_all(const struct lx_core *core)
{
	struct lx_core_msg *msg;

	lx_list_for_each(msg, &core->msgs, all) {
		if (msg->transit && lx_monitor_awaits(msg))
			return false;
	}
	return true;
}

/* Messages on lanes hold their senders' credits; the core sees nothing else of them. */
static bool lanes_idle(const struct lx_core *core)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->peers, link) {
		if (lx_announce_is_gone(peer))
			continue;
		lx_peer_ni_for_each(net, pni, peer) {
			if (__atomic_load_n(&pni->rtr->lanes, __ATOMIC_ACQUIRE))
				return false;
		}
	}
	return true;
}

static void stopping_step(struct lx_core *core, uint64_t now)
{
	struct lx_announce_users users;
	uint64_t left = core->routing_until_ns > now ? core->routing_until_ns - now : 0;

	lx_announce_users(core, &users);
	if (!left || (now - core->routing_since_ns >= QUIET_NS && !users.untold && !users.sending &&
		      forwarded_all(core) && lanes_idle(core))) {
		routing_end(core);
		return;
	}
	if (now - core->routing_report_ns < PROGRESS_NS)
		return;
	core->routing_report_ns = now;
	if (users.untold + users.sending)
		report(core, "stopping, %u s left: %u not told, %u still sending, one is %s",
		       seconds(left), users.untold, users.sending, lx_nid_str(&users.nid));
	else
		report(core, "stopping, %u s left: messages are under way", seconds(left));
}

static void routing_step(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);

	if (core->routing == LX_ROUTING_STARTING &&
	    now - core->routing_since_ns >= announce_ns(core)) {
		routing_changed(core, LX_ROUTING_ON);
		report(core, "on");
	} else if (core->routing == LX_ROUTING_STOPPING) {
		stopping_step(core, now);
	}
	if (core->routing == LX_ROUTING_ON)
		check_own_nis(core);
	lx_announce_work(core);
}

int lx_monitor_route(struct lx_core *core, bool enable, bool at_once)
{
	int r;

	if (!enable) {
		lx_monitor_route_stop(core, 3 * check_round_ns(core));
		return 0;
	}
	if (core->routing == LX_ROUTING_ON || core->routing == LX_ROUTING_STARTING)
		return 0;
	r = lx_credit_pools_make(core);
	/* Neighbours have seen one that is stopping, and it forwards still. */
	if (!r)
		routing_start(core, at_once || core->routing == LX_ROUTING_STOPPING);
	return r;
}

void lx_monitor_route_stop(struct lx_core *core, uint64_t limit_ns)
{
	uint64_t now = lx_core_now(core);

	if (core->routing == LX_ROUTING_OFF)
		return;
	if (core->routing == LX_ROUTING_STOPPING) {
		if (now + limit_ns < core->routing_until_ns)
			core->routing_until_ns = now + limit_ns;
	} else {
		core->routing_until_ns = now + limit_ns;
		core->routing_report_ns = now;
		routing_changed(core, LX_ROUTING_STOPPING);
		report(core, "stopping, forwarding until all have moved away, at most %u s",
		       seconds(limit_ns));
	}
	if (core->routing_until_ns <= now)
		routing_end(core);
}

unsigned int lx_monitor_route_left(struct lx_core *core)
{
	uint64_t now = lx_core_now(core), until = now;

	if (core->routing == LX_ROUTING_STARTING)
		until = core->routing_since_ns + announce_ns(core);
	else if (core->routing == LX_ROUTING_STOPPING)
		until = core->routing_until_ns;
	return until > now ? seconds(until - now) : 0;
}

/* ---- messages ------------------------------------------------------------------------------ */

/* Expires messages in our own queues; transports watch theirs. */
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
		if (msg->phase == LX_PHASE_TX_WAIT)
			msg->drop = LX_REASON_DEADLINE;
		lx_credit_stop_waiting(msg);
		lx_list_append(&late, &msg->link);
	}
	lx_msg_fail_queue(&late, -ETIMEDOUT, LX_HSTATUS_NETWORK_TIMEOUT);
}

void lx_monitor_second(struct lx_core *core)
{
	expire_waiting(core);
	lx_track_tick(core);
	lx_slow_second(core);
	lx_recovery_tick(core);
	lx_discover_tick(core);
	lx_peer_tick(core);
	check_gateways(core);
	routing_step(core);
}
